"""What all sessions of the app share: one loaded model, answers that links lead back to, and opened runs."""

import atexit
import shutil
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import numpy as np
import streamlit as st

import rauq
from pages.ui.host import hosting, model_queue
from pages.ui.host.hosting import ModelChoice
from rauq.checkpoints.memory import give_back
from rauq.scoring.settings import Settings, Signal
from rauq.trace.batch import Blocks
from rauq.trace.trace import Alignment, Trace

if TYPE_CHECKING:
    from analysis.answer_sets.calibration import Calibration
    from analysis.methods.ablations import Ablated, Sweep
    from analysis.methods.attention_permutation import GroupControl, TokensScored
    from analysis.methods.comparison import Comparison, Group, Metric
    from analysis.quality.judgement import Thresholds
    from analysis.runs.arrays import Picks, TokenChoice
    from analysis.runs.opened import Run
    from analysis.runs.timings import Cost
    from rauq.arguments import Cancel
    from rauq.checkpoints.gguf.weights import OnProgress
    from rauq.checkpoints.model_info import ModelInfo
    from rauq.model.language_model import LanguageModel


_RUN = "analysis.runs.opened.Run"


def _arrays(run: "Run") -> tuple[object, ...]:
    """Shards never change once they are written."""
    return str(run.folder), run.manifest.created, tuple((shard.number, shard.size) for shard in run.shards)


def _verdicts(run: "Run") -> tuple[object, ...]:
    """The same, and the verdicts that the user corrected."""
    corrected = run.answers.loc[run.answers["corrected"], ["number", "quality"]]
    return *_arrays(run), corrected.to_numpy(dtype=float).tobytes()


BY_ARRAYS: Mapping[str | type[Any], Callable[[Any], Any]] = MappingProxyType({_RUN: _arrays})
BY_VERDICTS: Mapping[str | type[Any], Callable[[Any], Any]] = MappingProxyType({_RUN: _verdicts})


_RESAMPLES = 500  # so that thirty methods are ranked in two seconds; a report takes more
MOST_ANSWERS_BYTES = 256 * 2**20  # of attention and extras: 35 answers of 200 tokens with 32 layers of 32 heads


@dataclass(eq=False)
class Loaded:
    """The model in memory, if any: another one takes its place, and the first is freed before that loads.

    `choice` is what was loaded, of no kind: a kind is a view of the same weights. A job that is still at work with the
    first model keeps it until it ends; asked for again meanwhile, it is found among those `alive`.
    """

    lock: threading.Lock = field(default_factory=threading.Lock)
    choice: ModelChoice | None = None
    model: "LanguageModel | None" = None
    alive: "WeakValueDictionary[ModelChoice, LanguageModel]" = field(default_factory=WeakValueDictionary)


@dataclass(eq=False)
class KeptAnswers:
    """Answers by a name that cannot be guessed, the least recently used first."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    traces: OrderedDict[str, Trace] = field(default_factory=OrderedDict)


def model(
    choice: ModelChoice, *, on_progress: "OnProgress | None" = None, cancel: "Cancel | None" = None
) -> "LanguageModel":
    """Load a model, or return the one that is loaded. Torch is imported by this, long after the first widgets.

    Raises:
        RauqError: no such model, it does not fit, or its attention cannot be captured exactly; or cancelled.
    """
    hosting.check_model(choice)
    loaded, weights = _loaded(), replace(choice, kind=None)
    with loaded.lock:
        if loaded.model is None or loaded.choice != weights:
            loaded.model, loaded.choice = None, None
            give_back()
            if (found := loaded.alive.get(weights)) is None:
                found = rauq.load_model(**asdict(weights), on_progress=on_progress, cancel=cancel)
            loaded.model = loaded.alive[weights] = found
            loaded.choice = weights
        return loaded.model.with_kind(choice.kind)


def inspect_model(choice: ModelChoice, *, tokens: int = 0) -> "ModelInfo":
    """What is known of a model before it is loaded; after one that is loading, for imports do not bear two threads.

    What is free for it includes what the model in memory will give back, unless a job still uses that one.

    Raises:
        RauqError: no such model, or none of a kind that can be used.
    """
    hosting.check_model(choice)
    with _loaded().lock:
        candidate, leaving = rauq.inspect_model(**asdict(choice), tokens=tokens), _loaded().model
    if candidate.bytes_free is None or leaving is None:
        return candidate
    return replace(candidate, bytes_free=candidate.bytes_free + model_queue.bytes_leaving(leaving, choice.device))


def busy() -> bool:
    """Whether a model is being loaded or looked at: who asks for one now has to wait."""
    return _loaded().lock.locked()


def in_use() -> bool:
    """Whether a model is loaded that jobs use: another one would come beside it."""
    found = _loaded().model
    return found is not None and model_queue.is_in_use(found)


def if_loaded(choice: ModelChoice) -> "LanguageModel | None":
    """The model if it is in memory; nothing is loaded, and nobody waits for one that is."""
    loaded = _loaded()
    found = loaded.model
    return found.with_kind(choice.kind) if found is not None and loaded.choice == replace(choice, kind=None) else None


def run(folder: Path) -> "Run":
    """Open a run, or return it as it was opened; it is read again once its files have changed.

    Raises:
        RunError: it cannot be opened.
    """
    from analysis.runs.files import state_of

    return _opened(str(folder), state_of(folder))


@st.cache_resource(max_entries=12, show_spinner=False, hash_funcs=dict(BY_ARRAYS))
def means(run: "Run", alignment: Alignment, tokens: "TokenChoice", offset: int) -> np.ndarray:
    """Mean attention of every head of a run (A, L, H); not to be written into."""
    from analysis.runs import arrays

    return arrays.means(run, alignment, tokens=tokens, offset=offset)


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=dict(BY_ARRAYS))
def picks(run: "Run", alignment: Alignment) -> "Picks":
    """The heads that the answers of a run pick; not to be written into."""
    from analysis.runs import arrays

    return arrays.picks(run, alignment)


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=dict(BY_ARRAYS))
def scores(run: "Run", settings: Settings) -> np.ndarray:
    """Uncertainty of every answer of a run (A,) under these settings; not to be written into.

    Raises:
        InvalidInput: settings that do not suit the layers that the run keeps.
    """
    return rauq.score_many(_batch(run, settings.alignment), settings).uncertainty


@st.cache_resource(max_entries=8, show_spinner=False, hash_funcs=dict(BY_VERDICTS))
def calibration(run: "Run", settings: Settings, correct_above: float, rows: np.ndarray) -> "Calibration":
    """The share of correct answers at each score under these settings, among the answers `rows` (n,) of a run.

    Raises:
        InvalidInput: settings that do not suit the layers that the run keeps.
    """
    from analysis.answer_sets.calibration import calibrate

    quality = run.answers["quality"].to_numpy(dtype=float)[rows]
    return calibrate(scores(run, settings)[rows], np.where(np.isnan(quality), np.nan, quality > correct_above))


@st.cache_resource(max_entries=4, show_spinner=False, hash_funcs=dict(BY_ARRAYS))
def costs(run: "Run") -> "tuple[Cost, ...]":
    """What each method of a run cost."""
    from analysis.runs.timings import costs as measured

    return measured(run)


@st.cache_resource(
    max_entries=16, show_spinner="Ranking by every method", show_time=False, hash_funcs=dict(BY_VERDICTS)
)
def comparison(run: "Run", rows: np.ndarray, metric: "Metric") -> "Comparison":
    """The methods of a run side by side, on its answers `rows` (n,)."""
    from analysis.methods.comparison import compare

    asked: Any = {"metric": metric, "thresholds": _thresholds(run), "resamples": _RESAMPLES}
    answers = run.answers.iloc[rows].reset_index(drop=True)
    return compare(answers, run.methods, _groups(run, rows), **asked)


@st.cache_resource(
    max_entries=16, show_spinner="Scoring with eleven alphas", show_time=False, hash_funcs=dict(BY_VERDICTS)
)
def sweep(run: "Run", rows: np.ndarray, metric: "Metric", signal: Signal, alignment: Alignment) -> "Sweep":
    """RAUQ over alpha, on the answers `rows` (n,) of a run.

    Raises:
        InvalidInput: the run does not keep the layers of the paper's window.
    """
    from analysis.methods.ablations import sweep as swept

    asked: Any = {"signal": signal, "metric": metric, "thresholds": _thresholds(run)}
    return swept(_batch(run, alignment).take(rows), _quality(run, rows), _groups(run, rows), **asked)


@st.cache_resource(max_entries=32, show_spinner="Scoring every variant", show_time=False, hash_funcs=dict(BY_VERDICTS))
def ablated(run: "Run", rows: np.ndarray, metric: "Metric", table: str) -> "Ablated":
    """One of the paper's tables of ablations, on the answers `rows` (n,) of a run."""
    from analysis.methods.ablations import ablate, ablations

    wanted = next(one for one in ablations(run.answerer.layers) if one.id == table)
    return ablate(
        wanted,
        _batch(run, "predicting").take(rows),
        _quality(run, rows),
        _group_names(run, rows),
        _groups(run, rows),
        layers=run.answerer.layers,
        metric=metric,
        thresholds=_thresholds(run),
    )


@st.cache_resource(max_entries=8, show_spinner="Exchanging attention", show_time=False, hash_funcs=dict(BY_VERDICTS))
def control(run: "Run", rows: np.ndarray, metric: "Metric", tokens: "TokensScored") -> "tuple[GroupControl, ...]":
    """RAUQ with its attention exchanged, on the answers `rows` (n,) of a run."""
    from analysis.methods.attention_permutation import control_groups
    from analysis.runs.traces import fact_masks

    return control_groups(
        _batch(run, "predicting").take(rows),
        _quality(run, rows),
        _group_names(run, rows),
        _groups(run, rows),
        metric=metric,
        thresholds=_thresholds(run),
        facts=fact_masks(run)[rows] if tokens == "fact" else None,
    )


@st.cache_resource(max_entries=1, show_spinner=False)
def answers() -> KeptAnswers:
    """The answers of all sessions; `pages.ui.shared.answers` keeps and finds them."""
    return KeptAnswers()


@st.cache_resource(max_entries=1, show_spinner=False)
def private_place() -> Path:
    """A folder for what sessions keep to themselves; it goes with the server."""
    place = Path(tempfile.mkdtemp(prefix="rauq-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    return place


@st.cache_resource(max_entries=1, show_spinner=False)
def _loaded() -> Loaded:
    return Loaded()


@st.cache_resource(max_entries=2, show_spinner=False)
def _opened(folder: str, state: tuple[int, int, int]) -> "Run":
    from analysis.runs.opened import open_run

    del state  # it tells this state of the folder from others
    return open_run(Path(folder))


@st.cache_resource(max_entries=2, show_spinner=False, hash_funcs=dict(BY_ARRAYS))
def _batch(run: "Run", alignment: Alignment) -> Blocks:
    from analysis.runs import arrays

    return arrays.batch(run, alignment)


def _quality(run: "Run", rows: np.ndarray) -> np.ndarray:
    return run.answers["quality"].to_numpy(dtype=float)[rows]


def _group_names(run: "Run", rows: np.ndarray) -> list[str]:
    return run.answers["group"].iloc[rows].tolist()


def _groups(run: "Run", rows: np.ndarray) -> "tuple[Group, ...]":
    from analysis.methods.comparison import groups_of

    return groups_of(_group_names(run, rows))


def _thresholds(run: "Run") -> "Thresholds":
    from analysis.quality.measures import measure

    return measure(run.manifest.request.quality).thresholds
