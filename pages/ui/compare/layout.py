"""The page Compare: an empty page, an answer being made, or two answers on one grid with their curves."""

from collections.abc import Sequence

import streamlit as st

import rauq
from analysis.two_answers.comparison import (
    Columns,
    UnderOneSetting,
    aligned_answers,
    attention_difference,
    by_position,
    different_scales,
    find_first_difference,
    same_prompt,
    under_each_setting,
    verdict,
    why_no_difference,
)
from analysis.two_answers.figures import difference_map, overlay
from analysis.two_answers.sentences import Scores, about_curves, about_heads, about_scales, settings_in_words
from pages.ui.compare import answers, form
from pages.ui.compare.answers import Answer
from pages.ui.compare.strips import growing_strips, pair_of_strips
from pages.ui.host.jobs import Job
from pages.ui.shared.errors import show_error
from pages.ui.shared.figure_export import buttons, format_picker, is_dark
from rauq.errors import RauqError
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings
from rauq.trace.trace import Trace


def empty_stage() -> None:
    """Say what the page is for, and offer to make the first answer."""
    st.title("Which of two answers is less sure, and from where on?", anchor=False)
    st.write(
        "There is no answer to compare yet. Give a prompt, or open a saved trace: it becomes A. Then make another, or "
        "let A branch: replace one of its tokens, and see how the model would have gone on."
    )
    if error := answers.problem():
        show_error(error)
    job = answers.job()
    if job is None:
        form.prompt_fields(None)
        form.file_field()
    else:
        form.stop_button()
        follow_first(job)


@st.fragment(run_every=0.2)
def follow_first(job: Job) -> None:
    """Show the first answer growing, as bare text."""
    _rerun_when_ended(job)
    st.text(_progress(job))
    st.text("".join(job.pieces))


@st.fragment(run_every=0.2)
def follow(job: Job, a: Answer, settings: Settings) -> None:
    """Show the new answer growing under A."""
    _rerun_when_ended(job)
    pieces = list(job.pieces)
    columns = by_position(len(a.trace.pieces), len(pieces))
    growing_strips(a, _score(a, settings), pieces, columns, headline=_progress(job))


def _rerun_when_ended(job: Job) -> None:
    if not job.live:
        st.rerun()


def _progress(job: Job) -> str:
    if not job.pieces:
        return f"{job.stage} …"
    kept = job.request.branch.token + 1 if job.request.branch else 0
    return f"{job.stage}: {max(0, len(job.pieces) - kept)} new tokens of at most {job.request.max_new_tokens}"


def _score(a: Answer, settings: Settings) -> rauq.Score:
    """A's score; under the paper's setting where the chosen one does not suit A: only the tokens matter now."""
    try:
        return rauq.score(a.trace, settings)
    except RauqError:
        return rauq.score(a.trace)


Pair = tuple[Answer, Answer]
_NUMBER = st.column_config.NumberColumn(format="%.3f")


def views(pair: Pair, settings: tuple[Settings, Settings]) -> None:
    """Both answers, scored.

    Raises:
        RauqError: settings that do not suit one of them.
    """
    (a, b) = (answer.trace for answer in pair)
    scores = (rauq.score(a, settings[0]), rauq.score(b, settings[1]))
    columns = aligned_answers(a, b)
    token = answers.selected_token(a)
    first_difference = find_first_difference(columns, a.pieces, b.pieces)
    scales = different_scales(a, b, *scores)
    pair_of_strips(
        pair,
        scores,
        columns,
        headline=verdict(*scores, scales),
        first_difference=first_difference,
        selected=token,
        on_select=answers.select_token,
        on_branch=lambda at, rank: _branch(pair[0], at, rank),
    )
    if scales:
        st.caption(about_scales(scales))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _curves(pair, scores, columns, scales, first_difference=first_difference, token=token)
    with right:
        _heads(a, b, scores)
    format_picker()
    _table(under_each_setting(a, b, [score.settings for score in scores]))


def _branch(a: Answer, token: int, rank: int) -> None:
    answers.start_branch(a, token, a.trace.alternatives[token][rank].id, form.limit())


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
    st.header("Confidence and collapse, one over the other", anchor=False)
    st.plotly_chart(
        overlay(
            columns,
            scores,
            (a.pieces, b.pieces),
            first_difference=first_difference,
            selected=places[0] if places else None,
            dark=is_dark(),
        ),
        key="overlay",
        config=buttons("confidence-and-collapse"),
        alt="Confidence of one layer each along the aligned tokens, and the collapse of both underneath",
    )
    common = (first_difference or 0) if same_prompt(a, b) else 0
    st.caption(about_curves(scores, scales, common=common))


def _heads(a: Trace, b: Trace, scores: Scores) -> None:
    st.header("Previous-token attention, A minus B", anchor=False)
    if reason := why_no_difference(a, b):
        st.info(reason)
        return
    of_a, of_b = scores
    picked = tuple(list(zip(score.layers, map(int, score.heads), strict=True)) for score in scores)
    st.plotly_chart(
        difference_map(
            attention_difference(a, b, of_a.settings, of_b.settings),
            a.layers,
            picked=(picked[0], picked[1]),
            dark=is_dark(),
        ),
        key="difference_map",
        config=buttons("attention-a-minus-b"),
        alt="Layer by head map of the difference in attention to the previous token, A minus B",
    )
    st.caption(about_heads(scores))


def _table(rows: Sequence[UnderOneSetting]) -> None:
    st.header("The two scores under the same settings", anchor=False)
    sides = {"A": [row.a for row in rows], "B": [row.b for row in rows]}
    columns: dict[str, list[object]] = {"setting": [settings_in_words(row.settings) for row in rows]}
    columns |= {f"uncertainty {name}": [score.uncertainty for score in scores] for name, scores in sides.items()}
    columns["A − B"] = [row.difference for row in rows]
    for name, scores in sides.items():
        columns[f"layer {name}"] = [score.layer for score in scores]
        columns[f"head {name}"] = [_head(score) for score in scores]
    st.dataframe(
        columns, hide_index=True, column_config=dict.fromkeys(("uncertainty A", "uncertainty B", "A − B"), _NUMBER)
    )
    st.caption(
        "One row for each setting in play, and both answers under it: the layer that decided and the head picked in "
        "it, None where no single one did. Higher is less sure. The number ranks answers of one model; it is "
        "not a probability."
    )


def _head(score: Score) -> int | None:
    head = None if score.layer is None else int(score.heads[score.layers.index(score.layer)])
    return head if head is not None and head >= 0 else None
