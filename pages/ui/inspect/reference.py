"""What a score is compared with: the small table that came with the app, or a run of the same model.

A table is read at once. A run is read after the page is drawn, which says so meanwhile: its modules take a second to
import, and it takes a moment to score.
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import streamlit as st

from pages.ui.host import cache, runs
from pages.ui.shared import url_state
from pages.ui.shared.errors import message_text
from pages.ui.shared.url_state import REFERENCE, RUN
from rauq.errors import InvalidInput, RauqError
from rauq.recorded.scores import ReferenceScores, scores_of
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
        _of_run(found.run, score)
        read = (found.run, score.settings)
        st.session_state[_READ] = (*st.session_state.get(_READ, ()), read)[-_MOST_READ:]
    st.rerun()


def table(trace: Trace, score: Score) -> Reference | None:
    """The table that came with the app, if there is one of this model and of these settings."""
    kept = scores_of(trace)
    if kept is None or resolve(score.settings, trace.kind) != resolve(Settings(), trace.kind):
        return None
    return Reference(scores=kept, name="the table that came with the app")


def settled(trace: Trace) -> "list[Listed]":
    """Return the runs with answers of the same weights and kind of prompt, except those that a job is changing."""
    from analysis.runs.job import WORKING

    return [
        listed
        for listed in runs.at_hand()
        if listed.manifest is not None
        and (model := listed.manifest.answerer) is not None
        and (model.name, model.revision, model.kind) == model_of(trace)
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
        return kept or Reference(reason=NO_REFERENCE if scores_of(trace) is None else OTHER_SETTING)
    if (name, score.settings) not in st.session_state.get(_READ, ()):
        return Reference(run=name, reason=f"Comparing with the run {name} …", pending=True)
    return _of_run(name, score)


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


def _of_run(name: str, score: Score) -> Reference:
    """Compare with a run under the settings of the score, or say why that is not possible."""
    found = Reference(name=f"the run {name}", run=name)
    try:
        if (folder := runs.folder(name)) is None:
            return replace(found, reason=f"No rank: run {name} not found.")
        run = cache.run(folder)
        _check(run, name, score)
        return replace(found, scores=cache.reference_scores(run, score.settings))
    except RauqError as error:
        return replace(found, reason=message_text(error))


def _check(run: "Run", name: str, score: Score) -> None:
    if score.settings.part != "answer":
        raise InvalidInput(OTHER_PART)
    kept = window(score.settings, captured=run.stored_layers, num_layers=run.answerer.num_layers)
    if kept != score.layers:
        raise InvalidInput(FEWER_LAYERS.format(name))
