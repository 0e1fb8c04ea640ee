"""The page Compare: an empty page, an answer being generated, or two answers on one grid with their curves."""

from collections.abc import Sequence

import streamlit as st

import rauq
from analysis.exports.csv_text import csv_columns
from analysis.two_answers.comparison import (
    Columns,
    PairScores,
    Scores,
    about_curves,
    about_heads,
    about_scales,
    aligned_answers,
    attention_difference,
    by_position,
    different_scales,
    find_first_difference,
    reference_of,
    same_prompt,
    score_by_surprisal,
    score_each_setting,
    verdict,
    why_no_difference,
)
from analysis.two_answers.figures import difference_map, overlay
from pages.ui.compare import answers, form
from pages.ui.compare.answers import Answer
from pages.ui.compare.strips import growing_strips, pair_of_strips
from pages.ui.host.jobs import Job
from pages.ui.host.looking import has_moved, poll_seconds, stage
from pages.ui.shared import figure_export
from pages.ui.shared.errors import show_error
from pages.ui.shared.figure_export import format_picker, is_dark
from pages.ui.shared.measure import measure_of_both
from pages.ui.shared.words import explained
from rauq.errors import RauqError
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings, resolve
from rauq.scoring.surprisal import score_surprisal
from rauq.trace.attribution import weight_name
from rauq.trace.trace import Trace


def empty_state() -> None:
    """Say what the page is for, and offer to make the first answer."""
    st.title("Which of two answers is less confident, and from which token on?", anchor=False)
    st.write(
        "There is no answer to compare yet. Type a prompt or open a saved trace: the answer becomes A. Then *Make "
        "another B* makes B from another prompt, or from A: it replaces one of A's tokens and lets the model continue."
    )
    if error := answers.problem():
        show_error(error)
    job = answers.job()
    if job is None:
        form.prompt_fields(None)
        form.file_field()
    else:
        form.stop_button(job)
        follow_first(job)


def answers_gone(sides: tuple[str, ...]) -> None:
    """Say which answers of the address are gone, and how to make them again; the address keeps their names."""
    which = "Answers A and B are" if len(sides) > 1 else f"Answer {sides[0].upper()} is"
    st.title(f"{which} no longer in memory", anchor=False)
    st.write(
        "The app keeps answers in memory, until it restarts or newer answers need the room. The address above holds "
        "the names of both answers, not their prompts. To compare them again, use the link of *Export*, *Copy link*, "
        "which holds the prompt and leads to the page Inspect, and press *Compare* there."
    )
    st.button("Show other answers", key="leave_gone", on_click=answers.leave_gone, args=(sides,))


def follow_first(job: Job) -> None:
    """Show the first answer while it is being generated, as plain text."""
    every = poll_seconds(job)
    st.fragment(_show_first, run_every=every)(job, waiting=job.waiting, every=every)


def _show_first(job: Job, *, waiting: bool, every: float) -> None:
    if has_moved(job, waiting=waiting, every=every):
        st.rerun()
    st.text(_progress(job))
    st.text("".join(job.pieces))


def follow(job: Job, a: Answer, settings: Settings) -> None:
    """Show the new answer under A while it is being generated."""
    strips, length = growing_strips(a, _score(a, settings)), len(a.trace.pieces)
    waiting, every = job.waiting, poll_seconds(job)

    def show() -> None:
        if has_moved(job, waiting=waiting, every=every):
            st.rerun()
        pieces = list(job.pieces)
        strips(pieces, by_position(length, len(pieces)), _progress(job))

    st.fragment(show, run_every=every)()


def _progress(job: Job) -> str:
    if not job.pieces:
        return f"{stage(job)} …"
    kept = job.request.branch.token + 1 if job.request.branch else 0
    return f"{stage(job)}: {max(0, len(job.pieces) - kept)} new tokens of at most {job.request.max_new_tokens}"


def _score(a: Answer, settings: Settings) -> rauq.Score:
    """Return A's score, under the paper's setting if the chosen one does not fit A: only the tokens matter here."""
    try:
        return rauq.score(a.trace, settings)
    except RauqError:
        return rauq.score(a.trace)


Pair = tuple[Answer, Answer]
_OTHER_PAIR = "Choose another answer above to compare heads."
_NUMBER = st.column_config.NumberColumn(format="%.3f")


def views(pair: Pair, settings: tuple[Settings, Settings]) -> None:
    """Draw both answers with their scores.

    Raises:
        RauqError: settings that do not fit one of them.
    """
    (a, b) = (answer.trace for answer in pair)
    scores = _scores(a, b, settings)
    columns = aligned_answers(a, b)
    token = answers.selected_token(a)
    first_difference = find_first_difference(columns, a.pieces, b.pieces)
    scales = different_scales(a, b, *scores)
    pair_of_strips(
        pair,
        scores,
        columns,
        headline=verdict(*scores, scales, reference_of(a, scores[0])),
        first_difference=first_difference,
        selected=token,
        on_select=answers.select_token,
        on_branch=lambda at, rank: _branch(pair[0], at, rank),
    )
    if scales:
        st.caption(about_scales(scales))
    _other_pair(pair[0])
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _curves(pair, scores, columns, scales, first_difference=first_difference, token=token)
    with right:
        _heads(a, b, scores)
    format_picker()
    resolved = [resolve(one, trace.kind) for one, trace in zip(settings, (a, b), strict=True)]
    _table([*score_by_surprisal(a, b), *score_each_setting(a, b, resolved)])


def _scores(a: Trace, b: Trace, settings: tuple[Settings, Settings]) -> Scores:
    if measure_of_both(a, b) == "surprisal":
        return score_surprisal(a), score_surprisal(b)
    return rauq.score(a, settings[0]), rauq.score(b, settings[1])


def _other_pair(a: Answer) -> None:
    """Offer the recorded branch, whose score hardly differs from that of its origin, beside the pair that opens."""
    origin = answers.branched()
    if a.ref == answers.default_first() and origin not in ("", a.ref):
        st.button(
            "Show two answers with similar scores",
            key="not_apart",
            type="tertiary",
            on_click=answers.choose_pair,
            args=(origin,),
        )


def _branch(a: Answer, token: int, rank: int) -> None:
    """Branch off A where the answer has such an alternative: the browser may have drawn another pair."""
    rows = a.trace.alternatives
    offered = rows[token] if 0 <= token < len(rows) else ()
    if 0 <= rank < len(offered):
        answers.start_branch(a, token, offered[rank].id, form.limit())


def _curves(
    pair: Pair,
    scores: Scores,
    columns: Columns,
    scales: Sequence[str],
    *,
    first_difference: int | None,
    token: int | None,
) -> None:
    a, b = (answer.trace for answer in pair)
    places = [place for place, (own, _) in enumerate(columns) if own is not None and own == token]
    st.header("Confidence and collapse", anchor=False)
    figure_export.draw(
        overlay(
            columns,
            scores,
            (a.pieces, b.pieces),
            first_difference=first_difference,
            selected=places[0] if places else None,
            dark=is_dark(),
        ),
        "confidence-and-collapse",
        key="overlay",
        alt="Confidence of one layer of each answer along the aligned tokens, and the collapse of both below",
    )
    common = (first_difference or 0) if same_prompt(a, b) else 0
    about = about_curves(scores, scales, common=common)
    st.caption(about, help=explained(about))


def _heads(a: Trace, b: Trace, scores: Scores) -> None:
    names = dict.fromkeys(weight_name(trace.attribution) for trace in (a, b))
    st.header(f"Previous-token {' and '.join(names)}, A minus B", anchor=False)
    if reason := why_no_difference(a, b):
        st.write(f"{reason} {_OTHER_PAIR}")
        return
    of_a, of_b = scores
    picked = tuple(list(zip(score.layers, map(int, score.heads), strict=True)) for score in scores)
    figure_export.draw(
        difference_map(
            attention_difference(a, b, of_a.settings, of_b.settings),
            a.layers,
            picked=(picked[0], picked[1]),
            dark=is_dark(),
        ),
        "attention-a-minus-b",
        key="difference_map",
        alt="Layer by head map of the difference in attention to the previous token, A minus B",
    )
    st.caption(about_heads(scores), help=explained(about_heads(scores)))


def _table(rows: Sequence[PairScores]) -> None:
    st.header("The two scores under the same settings", anchor=False)
    sides = {"A": [row.a for row in rows], "B": [row.b for row in rows]}
    columns: dict[str, list[object]] = {"setting": [row.in_words for row in rows]}
    columns |= {f"uncertainty {name}": [score.uncertainty for score in scores] for name, scores in sides.items()}
    columns["A − B"] = [row.difference for row in rows]
    for name, scores in sides.items():
        columns[f"layer {name}"] = ["-" if score.layer is None else str(score.layer) for score in scores]
        columns[f"head {name}"] = [_head(score) for score in scores]
    st.dataframe(
        columns, hide_index=True, column_config=dict.fromkeys(("uncertainty A", "uncertainty B", "A − B"), _NUMBER)
    )
    st.download_button(
        "Table as CSV", lambda: csv_columns(columns), "scores.csv", "text/csv", key="save_scores", on_click="ignore"
    )
    st.caption(
        'Both answers under each setting: uncertainty, and the layer and head that give the score, "-" where no single '
        "layer gives the score. Higher is less confident. For ranking answers of one model, not a probability."
    )


def _head(score: Score) -> str:
    head = -1 if score.layer is None else int(score.heads[score.layers.index(score.layer)])
    return str(head) if head >= 0 else "-"
