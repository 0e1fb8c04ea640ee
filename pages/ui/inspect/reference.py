"""What a score is compared with, and how it compares: the small table that came with the app, or a run of the model.

A table is read at once. A run is read after the page is drawn, which says so meanwhile: its modules take a second to
import, and it takes a moment to score.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import streamlit as st

from analysis.calibration import Calibration, calibrate, share_halves
from analysis.figures import outcomes
from analysis.one_answer.likeness import why_unlike
from analysis.one_answer.standing import against_verdict, rank_in_words, standing, worth_in_words
from analysis.quality.unclear import about_unclear, bounds_sentence, unclear_bounds
from pages.ui.host import cache, runs
from pages.ui.shared import url_state
from pages.ui.shared.errors import message_text
from pages.ui.shared.url_state import REFERENCE, RUN
from rauq.errors import InvalidInput, RauqError
from rauq.labels import LLAMA, amount, number, running
from rauq.recorded.scores import WRITTEN, ReferenceScores, scores_of
from rauq.scoring.report import was_given
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings, resolve, window
from rauq.trace.trace import Trace

if TYPE_CHECKING:
    from analysis.runs.library import Listed
    from analysis.runs.opened import Run

TABLE = "_table"  # no run can have this name
NO_REFERENCE = (
    "No rank: there are no other answers of this model to compare with. Make a reference, or score a data set on the "
    "page Runs."
)
NO_WRITTEN = (
    "No rank: this model has read no other written answers to compare with. Make a reference: it reads some in minutes."
)
BY_RAUQ = (
    "No rank: the written answers of the table are scored by the largest surprisal. Score by it, or make a reference, "
    "which follows the settings."
)
OTHERS_ANSWERS = "No rank: the answers of the run {} were {}, and this one was {}."
OTHER_SETTING = (
    "No rank: the reference answers are scored with the paper's setting. Reset to it, or make a reference, which "
    "follows the settings."
)
FEWER_LAYERS = (
    "No rank: the run {} stores fewer layers per token than this score uses. Choose the middle layers to compare."
)
OF_ATTENTION = (
    "No rank: reference answers are scored with attention, and the weights of this answer are LIG attributions."
)
OTHER_PART = "No rank: the reference answers are scored without thinking. Choose the answer part to compare."
_WANTING = frozenset({NO_REFERENCE, NO_WRITTEN, BY_RAUQ, OTHER_SETTING})  # where a reference can be made
_LOOKED, _READ, _CHOSEN = "_reference_looked", "_reference_read", "_reference_chosen"
_WRITTEN = "_reference_written"
_MOST_CHOSEN = 8  # of one model, in one session
_MOST_READ = 256  # pairs of a run and settings that one session remembers

Model = tuple[str, str, str]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """The answers that a score is compared with, and their name in words; `run` is that of a run, "" for a table.

    Where `scores` is None, `reason` says why; `pending`: they are being read.
    """

    scores: ReferenceScores | None = None
    name: str = ""
    run: str = ""
    reason: str = ""
    pending: bool = False


def reference(trace: Trace, score: Score) -> Reference:
    """Find what a score is compared with; nothing is imported for it, and a run is not read for the first time."""
    if trace.attribution is not None:
        return Reference(reason=OF_ATTENTION)
    if (kept := table(trace, score)) is not None and not _prefers_run(trace):
        return kept
    if not st.session_state.get(_LOOKED):
        return Reference(reason="Looking for a run of this model to compare with …", pending=True)
    return _among_runs(trace, score)


def finish_reference(trace: Trace, score: Score) -> None:
    """Read the run that `reference` waits for, and draw the page again; call this last."""
    found = reference(trace, score)
    if not found.pending:
        return
    st.session_state[_LOOKED] = True
    if not found.run:
        found = _among_runs(trace, score)
    if found.pending:
        _of_run(found.run, trace, score)
        read = (found.run, score.settings)
        st.session_state[_READ] = (*st.session_state.get(_READ, ()), read)[-_MOST_READ:]
    st.rerun()


def table(trace: Trace, score: Score) -> Reference | None:
    """The table that came with the app, if there is one of this model and of these settings.

    That of written answers, where the model did not write this one either.
    """
    if was_given(trace):
        read = scores_of(trace, WRITTEN) if score.by == "surprisal" else None
        return Reference(scores=read, name="the table of written answers that came with the app") if read else None
    kept = scores_of(trace)
    if kept is None or resolve(score.settings, trace.kind) != resolve(Settings(), trace.kind):
        return None
    made = ", made with transformers" if trace.engine.startswith(LLAMA) else ""
    return Reference(scores=kept, name=f"the table that came with the app{made}")


def settled(trace: Trace) -> "list[Listed]":
    """Return the runs with answers of the same weights and kind of prompt, except those that a job is changing.

    Where somebody else wrote this answer, those in which the model reads written answers, and its own run; else others.
    """
    from analysis.datasets.names import WRITTEN as WRITTEN_SET
    from analysis.runs.job import WORKING

    given, own = was_given(trace), st.query_params.get(RUN)

    return [
        listed
        for listed in runs.at_hand()
        if listed.manifest is not None
        and (model := listed.manifest.answerer) is not None
        and (model.name, model.revision, model.kind) == model_of(trace)
        and (listed.name == own or (listed.manifest.request.data == WRITTEN_SET) == given)
        and listed.status is not None
        and listed.status.state not in WORKING
        and listed.status.saved > listed.status.failed
    ]


def choose(trace: Trace, name: str) -> None:
    """Compare answers of this model with that run, or TABLE, from now on; with the former choice while it is made."""
    _remember(trace, name)
    _write(name)


def model_of(trace: Trace) -> Model:
    """Return what identifies the model: its name, its revision and the kind of its prompts."""
    return trace.model, trace.revision, trace.kind


def _remembered(trace: Trace) -> tuple[str, ...]:
    """Return the runs, or TABLE, that were chosen for this model in this session, the latest first."""
    found: tuple[str, ...] = st.session_state.get(_CHOSEN, {}).get(model_of(trace), ())
    return found


def _remember(trace: Trace, name: str) -> None:
    names = (name, *(other for other in _remembered(trace) if other != name))[:_MOST_CHOSEN]
    st.session_state[_CHOSEN] = st.session_state.get(_CHOSEN, {}) | {model_of(trace): names}


def _linked() -> str | None:
    """Return what a link, or Back, names; None where the URL only has what was written here."""
    named = st.query_params.get(REFERENCE)
    return None if named == st.session_state.get(_WRITTEN) else named


def _write(name: str | None) -> None:
    st.session_state[_WRITTEN] = name
    url_state.update_url({REFERENCE: name})


def _prefers_run(trace: Trace) -> bool:
    """Whether a run is named for this model, or the answer is one of a run."""
    names = [*filter(None, [_linked()]), *_remembered(trace)]
    return names[0] != TABLE if names else RUN in st.query_params


def _among_runs(trace: Trace, score: Score) -> Reference:
    """What the score is compared with, all runs considered; pending where that is a run not read yet."""
    kept = table(trace, score)
    name = _preferred(trace, has_table=kept is not None)
    if name == TABLE:
        return kept or Reference(reason=_why_no_table(trace))
    if (name, score.settings) not in st.session_state.get(_READ, ()):
        return Reference(run=name, reason=f"Comparing with the run {name} …", pending=True)
    return _of_run(name, trace, score)


def _why_no_table(trace: Trace) -> str:
    if was_given(trace):
        return NO_WRITTEN if scores_of(trace, WRITTEN) is None else BY_RAUQ
    return NO_REFERENCE if scores_of(trace) is None else OTHER_SETTING


def _preferred(trace: Trace, *, has_table: bool) -> str:
    """Return the name of the run to compare with, or TABLE: the chosen one, the answer's own, the table, any run.

    The URL gets the chosen one, so that a name that fits nothing here is taken out of it.
    """
    from analysis.runs.library import BUNDLED

    at_hand = [one.name for one in settled(trace)]
    usable = [*at_hand, *([TABLE] if has_table else [])]
    if (linked := _linked()) in usable:
        _remember(trace, str(linked))
    found = next((name for name in _remembered(trace) if name in usable), None)
    _write(found)
    own = st.query_params.get(RUN)
    if found is None and own in at_hand and not (own == BUNDLED and has_table):
        return str(own)
    return found or (TABLE if has_table or not at_hand else at_hand[0])


def _of_run(name: str, trace: Trace, score: Score) -> Reference:
    """Compare with a run under the settings of the score, or say why that is not possible."""
    found = Reference(name=f"the run {name}", run=name)
    try:
        if (folder := runs.folder(name)) is None:
            return replace(found, reason=f"No rank: run {name} not found.")
        run = cache.sampled(cache.run(folder))
        _check(run, name, trace, score)
        about = found.name if run.whole is None else f"a seeded sample of {found.name}"
        return replace(found, name=about, scores=cache.reference_scores(run, score.settings, score.by))
    except RauqError as error:
        return replace(found, reason=message_text(error))


def _check(run: "Run", name: str, trace: Trace, score: Score) -> None:
    from analysis.runs.reference import is_written

    if (written := is_written(run)) != was_given(trace):
        words = {True: "written by others", False: "generated"}
        raise InvalidInput(OTHERS_ANSWERS.format(name, words[written], words[not written]))
    if score.settings.part != "answer":
        raise InvalidInput(OTHER_PART)
    kept = window(score.settings, captured=run.stored_layers, num_layers=run.answerer.num_layers)
    if kept != score.layers:
        raise InvalidInput(FEWER_LAYERS.format(name))


UNDEFINED = "No rank: the score is undefined."


def judged_payload(
    trace: Trace, score: Score, reference: Reference, *, is_correct: bool | None = None
) -> dict[str, Any]:
    """Return what the reference says of the score, its tokens and heads; `is_correct`: None where it is not known."""
    scores = reference.scores
    limits = None if score.shown is not None else scores  # they are those of the heads that give the scores
    is_own = score.settings.alignment == "predicting" and not was_given(trace)
    kept = (scores or scores_of(trace)) if is_own else None  # whatever the alpha
    return {
        "standing": _standing(trace, score, reference, is_correct=is_correct),
        "wanting": reference.reason in _WANTING,
        "heads": None if kept is None else _heads(kept, trace),
        "underline": None if limits is None else limits.token_collapse,
        "underlineNote": "" if limits is None else _underline_note(limits, score),
        "worth": "" if limits is None or limits.weak_point is None else worth_in_words(limits.weak_point),
        "outcomes": {name: [look.colour for look in outcomes(dark=name == "dark")] for name in ("light", "dark")},
    }


def _heads(kept: ReferenceScores, trace: Trace) -> dict[str, Any] | None:
    """Return what each head (L * H,) of the answer says of the reference answers, with the words that explain it."""
    heads = kept.heads and kept.heads.of(trace.layers, trace.num_heads)
    if kept.heads is None or heads is None:
        return None
    low, high = (number(0.5 + side * heads.chance, places=2) for side in (-1, 1))
    count = sum(map(len, kept.heads.auc))
    return {
        "auc": [value for row in heads.auc for value in row],
        "inCorrect": [value for row in heads.in_correct for value in row],
        "chance": heads.chance,
        "sub": f"ROC-AUC in {len(kept.correct):,} answers of this model",
        "caption": (
            "ROC-AUC of each head's attention, correct vs incorrect, within kinds of question. Blue: more in "
            f"correct answers; orange: less; faint: within {low} to {high}, where the best of {count} heads stays with "
            "shuffled labels. Length and words explain a part: see Heads in Answer sets."
        ),
    }


def _underline_note(scores: ReferenceScores, score: Score) -> str:
    if scores.token_collapse is None:
        return ""
    limit, what = amount(scores.token_collapse, places=2), "surprisal" if score.by == "surprisal" else "collapse"
    return f"Underlined: words with a {what} beyond {limit} nats, which one in five tokens of the reference exceeds."


def _standing(trace: Trace, score: Score, reference: Reference, *, is_correct: bool | None) -> dict[str, Any]:
    if reference.scores is None:
        return {"reason": reference.reason} | ({"pending": True} if reference.pending else {})
    scores = reference.scores
    found = standing(score.uncertainty, np.array(scores.uncertainties), np.array(scores.correct))
    if found is None:
        return {"reason": UNDEFINED}
    near, how = _near(trace, score, scores)
    return {
        "rank": rank_in_words(found, written=scores.written),
        "against": "" if is_correct is None else against_verdict(found, is_correct=is_correct),
        "nearest": near,
        "how": how,
        "about": about_reference(score, scores, reference.name),
        "uncertainty": found.uncertainty,
        "edges": found.edges,
        "correct": found.correct,
        "incorrect": found.incorrect,
    }


def calibration(scores: ReferenceScores) -> Calibration:
    """The share of correct answers at each score of a reference."""
    clusters = None if scores.clusters is None else np.array(scores.clusters)
    return calibrate(np.array(scores.uncertainties), np.array(scores.correct, dtype=float), clusters=clusters)


def share_near(trace: Trace, score: Score, scores: ReferenceScores) -> str:
    """How many answers of the reference near a score are correct, beside how many of all are, and are unclear.

    Why this is not said, where the answer is unlike those of the reference.
    """
    return " ".join(filter(None, _near(trace, score, scores)))


def _near(trace: Trace, score: Score, scores: ReferenceScores) -> tuple[str, str]:
    """`share_near` in two halves: the line that stands first, and what stands behind it."""
    if unlike := why_unlike(trace, scores):
        return unlike, ""
    near, how = share_halves(calibration(scores), score.uncertainty, written=scores.written)
    said = near if near.endswith(".") or not near else f"{near}."
    return said, " ".join(filter(None, (how, _unread(scores))))


def _unread(scores: ReferenceScores) -> str:
    """How many answers of the reference are unclear, and what they could change; "" where none is."""
    unclear = np.append(np.zeros(len(scores.correct)), np.ones(scores.unclear))
    found = unclear_bounds(np.mean, np.append(scores.correct, np.full(scores.unclear, np.nan)), unclear)
    if found is None:
        return ""
    share = bounds_sentence("Share correct", found.of(lambda share: f"{100 * share:.0f} %"))
    return f"{about_unclear(found.count)} {share}"


def ranked(uncertainty: float | None, reference: Reference) -> str:
    """How an uncertainty ranks among the reference; empty where it has no rank."""
    scores = reference.scores
    if scores is None or uncertainty is None:
        return ""
    found = standing(uncertainty, np.array(scores.uncertainties), np.array(scores.correct))
    return "" if found is None else rank_in_words(found, written=scores.written)


def about_reference(score: Score, scores: ReferenceScores, name: str) -> str:
    """Say which answers a score is compared with, and what the score is for."""
    model, data = running(scores.model), running(scores.data)
    read = f"written answers that {model} read, data set {data}" if scores.written else ""
    what = "Largest surprisal" if score.by == "surprisal" else "RAUQ"
    return (
        f"Reference: {running(name)}, {read or f'answers of {model} to the data set {data}'}. "
        f"{what} {number(score.uncertainty, places=2)}: for ranking, not a probability."
    )


class Separating(NamedTuple):
    """The selected head that separates the reference's answers best: its layer (absolute), its area under the curve."""

    layer: int
    head: int
    auc: float


def separates_best(score: Score, trace: Trace, reference: ReferenceScores | None = None) -> Separating | None:
    """The selected head with the largest area under the ROC curve in the reference, if that is beyond chance.

    `reference`: None for the table that came with the app.
    """
    known = reference or scores_of(trace)
    heads = None if known is None or known.heads is None else known.heads.of(score.layers, trace.num_heads)
    if heads is None or score.settings.alignment != "predicting" or score.settings.heads != "max":
        return None
    areas = np.array([row[head] for row, head in zip(heads.auc, score.heads, strict=True)])
    if areas.max(initial=0) <= 0.5 + heads.chance:
        return None
    row = int(areas.argmax())
    return Separating(score.layers[row], int(score.heads[row]), float(areas[row]))
