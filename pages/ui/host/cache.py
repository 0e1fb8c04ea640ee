"""What all sessions of the app share of runs: opened ones, and what was computed from them."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

import numpy as np
import streamlit as st

import rauq
from rauq.layout import ANALYSIS
from rauq.scoring.score import Measure
from rauq.scoring.settings import Settings
from rauq.trace.batch import Blocks
from rauq.trace.trace import Alignment

if TYPE_CHECKING:
    from analysis.answer_sets.word_attention import WordAttention
    from analysis.collections.collection import Collection, RankedCollection
    from analysis.methods.comparison import Metric
    from analysis.quality.judgement import Thresholds
    from analysis.runs.attention import Picks, TokenChoice
    from analysis.runs.opened import Run
    from analysis.views.answer_set import AnswerSet
    from analysis.views.view import Seen, View
    from rauq.recorded.scores import ReferenceScores


_P = ParamSpec("_P")
_R = TypeVar("_R")
C = TypeVar("C")
R = TypeVar("R")
_RUN = f"{ANALYSIS}.runs.opened.Run"


def _arrays(run: "Run") -> tuple[object, ...]:
    """Return what identifies the shards, which never change once written."""
    shards = np.array([(shard.number, shard.size) for shard in run.shards])  # a tuple takes a second to hash
    return str(run.folder), run.manifest.created, shards.tobytes()


def _verdicts(run: "Run") -> tuple[object, ...]:
    """Return the same with what the user corrected: verdicts, and whether near-duplicate questions are one."""
    corrected = run.answers.loc[run.answers["corrected"], ["number", "quality"]]
    return *_arrays(run), run.apart, corrected.to_numpy(dtype=float).tobytes()


def _kept(most: int, by: "Callable[[Run], object]") -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    return st.cache_resource(max_entries=most, show_spinner=False, hash_funcs={_RUN: by})


def by_arrays(*, most: int) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Keep the `most` last results of a function of a run, which depend on its shards alone."""
    return _kept(most, _arrays)


def by_verdicts(*, most: int) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Keep the `most` last results of a function of a run, which depend on its shards and its verdicts."""
    return _kept(most, _verdicts)


def run(folder: Path) -> "Run":
    """Open a run, or return the opened one; it is read again if its files have changed.

    Raises:
        RunError: it cannot be opened.
    """
    from analysis.runs.manifest import state_of

    return _opened(str(folder), state_of(folder))


def sampled(run: "Run", *, most: int | None = None) -> "Run":
    """Return a run itself, or a seeded sample of a large one: of `most` answers, or of as many as attention is read."""
    from analysis.runs.opened import MOST_SAMPLED

    most = MOST_SAMPLED if most is None else most
    return run if len(run.answers) <= most else _sampled(run, most, run.methods)


@by_verdicts(most=4)
def _sampled(run: "Run", most: int, methods: tuple[str, ...]) -> "Run":
    from analysis.runs import opened

    del methods  # part of the cache key: some may have been added
    return opened.sampled(run, most=most)


@by_arrays(most=12)
def means(run: "Run", alignment: Alignment, tokens: "TokenChoice", offset: int) -> np.ndarray:
    """Return mean attention of every head of a run (A, L, H), read-only."""
    from analysis.runs import attention

    return attention.means(run, alignment, tokens=tokens, offset=offset)


@by_arrays(most=4)
def picks(run: "Run", alignment: Alignment) -> "Picks":
    """Return the heads selected for the answers of a run, read-only."""
    from analysis.runs import attention

    return attention.picks(run, alignment)


@by_arrays(most=8)
def scores(run: "Run", settings: Settings) -> np.ndarray:
    """Return the uncertainty of every answer of a run (A,) under these settings, read-only.

    Raises:
        InvalidInput: the settings need layers that the run does not store.
    """
    return rauq.score_many(batch(run, settings.alignment), settings).uncertainty


@by_verdicts(most=8)
def reference_scores(run: "Run", settings: Settings, by: Measure = "rauq") -> "ReferenceScores":
    """Return what an answer of the run's model is compared with, by RAUQ under these settings or by surprisal.

    Raises:
        InvalidInput: the settings need layers that the run does not store, or another part than its answers.
    """
    from analysis.runs import reference

    return reference.reference_scores(run, settings, by=by, scored=batch(run, settings.alignment))


@by_verdicts(most=4)
def words(run: "Run", alignment: Alignment) -> "WordAttention":
    """Return the attention expected from words alone, of every answer of a run, read-only."""
    from analysis.views.answer_set import word_attention_of

    return word_attention_of(run, batch(run, alignment))


def seen(view: "View[C, R]", answers: "AnswerSet", choices: "C") -> "Seen[C, R]":
    """Return what a view finds in a set of answers; errors are those of its computation."""
    from analysis.views.view import Seen

    needed = tuple((name, getattr(choices, name)) for name in sorted(view.needs) if hasattr(choices, name))
    asked = (view.id, needed, answers.run.methods, answers.thresholds, answers.settings)
    result = _result(answers.run, answers.rows, asked, lambda: view.compute(answers, choices))
    return Seen(answers=answers, choices=choices, result=result)


@by_verdicts(most=64)
def _result(run: "Run", rows: np.ndarray, asked: tuple[object, ...], _compute: "Callable[[], R]") -> "R":
    del run, rows, asked  # they are the key
    return _compute()


def collection(folders: tuple[str, ...]) -> "Collection":
    """Put runs side by side; they are read again if their files have changed.

    Raises:
        InvalidInput: two runs of the same model on the same data set.
        RunError: one cannot be opened.
    """
    return _collected(folders, _states(folders))


def ranked_collection(folders: tuple[str, ...], metric: "Metric", *, intervals: bool) -> "RankedCollection":
    """Rank the answers of each run by each method; `intervals`: whether tables show them."""
    return _ranked_collection(folders, _states(folders), metric, intervals=intervals)


def ablated_collection(folders: tuple[str, ...]) -> "Mapping[str, Collection]":
    """Score the answers of each run by the variants of each table of ablations."""
    return _ablated_collection(folders, _states(folders))


def _states(folders: tuple[str, ...]) -> tuple[tuple[int, int, int], ...]:
    from analysis.runs.manifest import state_of

    return tuple(state_of(Path(folder)) for folder in folders)


_States = tuple[tuple[int, int, int], ...]  # part of the cache key: distinguishes states of the folders


@st.cache_resource(max_entries=4, show_spinner=False)
def _collected(folders: tuple[str, ...], states: _States) -> "Collection":
    from analysis.collections.collection import cell_of, collect
    from analysis.runs.opened import open_run

    del states
    return collect(cell_of(open_run(Path(folder))) for folder in folders)


@st.cache_resource(max_entries=8, show_spinner=False)
def _ranked_collection(
    folders: tuple[str, ...], states: _States, metric: "Metric", *, intervals: bool
) -> "RankedCollection":
    from analysis.collections.collection import rank_collection

    return rank_collection(_collected(folders, states), metric, intervals=intervals)


@st.cache_resource(max_entries=4, show_spinner=False)
def _ablated_collection(folders: tuple[str, ...], states: _States) -> "Mapping[str, Collection]":
    from analysis.collections.ablated import ablated as scored

    return scored(_collected(folders, states))


@st.cache_resource(max_entries=2, show_spinner=False)
def _opened(folder: str, state: tuple[int, int, int]) -> "Run":
    from analysis.runs.opened import open_run

    del state  # part of the cache key: distinguishes states of the folder
    return open_run(Path(folder))


@by_arrays(most=2)
def batch(run: "Run", alignment: Alignment) -> Blocks:
    """Return all that scoring the answers of a run needs, read-only."""
    from analysis.runs import attention

    return attention.batch(run, alignment)


def quality_of(run: "Run", rows: np.ndarray) -> np.ndarray:
    """Return the quality (n,) of the answers `rows` (n,) of a run, nan where undefined."""
    return run.answers["quality"].to_numpy(dtype=float)[rows]


def group_names(run: "Run", rows: np.ndarray) -> list[str]:
    """Return the group of each of the answers `rows` (n,) of a run."""
    return run.answers["group"].iloc[rows].tolist()


def usual_thresholds(run: "Run") -> "Thresholds":
    """Return the thresholds of the run's measure of quality."""
    from analysis.quality.measures import measure

    return measure(run.manifest.request.quality).thresholds
