"""What each method costs beyond plain generation, one prompt at a time, as the paper's table of runtimes has it.

Plain: generation without capture, by the same loop. A method is charged with all that it needs, as if it were alone:
with the capture of attention where it looks at attention, with its own samples, drawn without capture where it needs
none of them, and with its own computation. CPU times; all ways to answer a prompt run in turn. The run keeps what was
measured, and shows it beside its overhead in batches. Bound: RAUQ takes less than any method that compares samples.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor
from transformers import PreTrainedModel

from analysis.datasets.example import Example
from analysis.evidence.record import Bound, Cell, Record
from analysis.methods.comparison import name_of
from analysis.quality.facts import known_facts
from analysis.runs.answering import Evaluation
from analysis.runs.library import bundled_folder
from analysis.runs.opened import Run, open_run
from analysis.runs.timings import Timing, add_timings, costs
from analysis.runs.work import ready
from benchmarks.support.paired import Ratio, cpu_seconds, one_turn, ratio
from benchmarks.support.recording import at_most, measured, tell
from rauq import LanguageModel
from rauq.arguments import Act, nothing
from rauq.capture.cache import NO_PREFIX, CachedModel, Prefix
from rauq.capture.extras import NOTHING, Kept
from rauq.labels import number
from rauq.methods.evaluate import evaluate
from rauq.methods.table import METHODS
from rauq.model.engines.transformers_engine import TransformersEngine
from rauq.trace.trace import NUM_BANDS, Extra, Trace

PAIRS = 40
QUIET = 0.05  # of plain generation: a wider interval shows that other programs had the machine too

Extras = tuple[Extra, ...]
Way = tuple[str, Extras | None]
"""What is run, "answer" or "samples", and what is captured besides attention; None where nothing is captured."""


def measure(*, keep: bool = False) -> Record:
    """Prompts of the bundled run, one by one; the run keeps their times if asked."""
    folder = bundled_folder()
    run = open_run(folder)
    tell(f"{PAIRS} prompts of {folder}")
    taken = _in_turn(ready(run.manifest).evaluation, _spread(run.examples, PAIRS))
    if keep:
        add_timings(folder, None, _timings(taken))
    return _record(run, taken)


class PlainFeed:
    """Feeds tokens and captures nothing: what is left of generation without this project's capture."""

    def __init__(
        self,
        model: PreTrainedModel,
        padding: Sequence[int],
        kept: Kept = NOTHING,
        prefix: Prefix = NO_PREFIX,
        *,
        offsets: int = NUM_BANDS,
    ) -> None:
        self.cached, self.kept, self.rows, self.batch = CachedModel(model, padding, prefix), kept, 0, len(padding)
        self.offsets = offsets

    def feed(self, ids: Tensor, *, tail: int, meanwhile: Act = nothing) -> Tensor:
        """See `rauq.capture.session.CaptureSession`."""
        meanwhile()
        self.rows += tail
        logits: Tensor = self.cached.forward(ids, tail=tail).logits[:, -tail:]
        return logits

    def repeat(self, times: int) -> None:
        """See `rauq.capture.session.CaptureSession`."""
        self.batch *= times
        self.cached.repeat(times)

    def band(self) -> Tensor:
        """A band of zeros of one layer and head, as a trace has to have one."""
        return torch.zeros(self.batch, 1, 1, self.rows, self.offsets)

    def close(self) -> None:
        """See `rauq.capture.session.CaptureSession`."""

    def latest(self, layers: Sequence[int]) -> Tensor:
        """The same of the last row."""
        return torch.zeros(self.batch, len(layers), 1)


def _without_capture(lm: LanguageModel) -> LanguageModel:
    """The same model, whose answers have no attention."""
    return replace(lm, engine=TransformersEngine(lm.model, cast("Any", PlainFeed)), layers=(0,), num_heads=1)


def _ways(method: str) -> tuple[Way, ...]:
    """What a method is charged with besides its own computation: an answer, and samples where it compares them."""
    row = METHODS[method]
    answer: Way = ("answer", row.extras if row.extras or row.settings else None)
    return (answer, ("samples", row.sample_extras or None)) if "samples" in row.needs else (answer,)


def _charged(method: str, samples: int) -> str:
    """The same in words."""
    words = []
    for what, extras in _ways(method):
        captured = "" if extras is None else f" with {' and '.join(extras) or 'attention'} captured"
        if what == "samples":
            words.append(f"{samples} samples{captured}")
        elif extras is not None:
            words.append(f"the answer{captured}")
    return ", ".join([*words, "its own computation"])


@dataclass(frozen=True, eq=False, kw_only=True)
class Bench:
    """One example of a run, its prompt asked for by itself."""

    evaluation: Evaluation
    example: Example

    def run(self, way: Way) -> tuple[Trace, ...]:
        """Generate the answer, or draw the samples."""
        (what, extras), request = way, self.evaluation.request
        loaded = cast("LanguageModel", self.evaluation.lm)  # `ready` loads it
        lm = loaded if extras is not None else _without_capture(loaded)
        given: Any = {"max_new_tokens": request.max_new_tokens, "stop": request.stop, "chat": request.chat}
        given |= {"extras": extras or (), "idf": self.evaluation.judges.idf if "focus" in (extras or ()) else None}
        if what == "samples":
            return tuple(lm.sample(self.example.prompt, k=request.samples, seed=0, **given))
        return (lm.generate(self.example.prompt, **given),)

    def seconds(self, turn: int) -> dict[str, float]:
        """CPU seconds of each method with all that it is charged with, and of plain generation under ""."""
        methods = self.evaluation.request.methods
        plain: Way = ("answer", None)
        ways = list(dict.fromkeys([plain, *(way for method in methods for way in _ways(method))]))
        every = one_turn(turn, *(partial(self.run, way) for way in ways))
        taken = {way: each.cpu for way, each in zip(ways, every, strict=True)}
        own = self._own(methods)
        return {"": taken[plain]} | {
            method: own[method] + sum(taken[way] for way in _ways(method)) for method in methods
        }

    def _own(self, methods: Sequence[str]) -> dict[str, float]:
        """CPU seconds of the computation of each method, every judge asked anew."""
        evaluation = self.evaluation
        [trace] = self.run(("answer", evaluation.extras))
        samples = self.run(("samples", evaluation.sample_extras)) if evaluation.draws_samples else ()
        given: Any = {
            "samples": samples,
            "judges": replace(evaluation.judges, facts=known_facts(self.example)),
            "question": self.example.question,
        }
        return {method: cpu_seconds(partial(evaluate, trace, (method,), **given)) for method in methods}


def _in_turn(evaluation: Evaluation, examples: Sequence[Example]) -> list[dict[str, float]]:
    """The seconds of each example, after one that only warms up."""
    _, *taken = (
        Bench(evaluation=evaluation, example=example).seconds(turn)
        for turn, example in enumerate([examples[0], *examples])
    )
    return taken


def _timings(taken: Sequence[Mapping[str, float]]) -> list[Timing]:
    """What the run keeps: for each method its seconds, and beside those of plain generation, pair by pair."""
    return [
        Timing(
            stage="alone",
            examples=1,
            seconds=seconds[method],
            method=method,
            ratios=(round(seconds[method] / seconds[""], 6),) if method else (),
        )
        for seconds in taken
        for method in seconds
    ]


def _spread(examples: Iterable[Example], pairs: int) -> list[Example]:
    """So many of the examples that the model answered itself, from all of the data set."""
    asked = [example for example in examples if example.answer is None]
    return [asked[place * len(asked) // pairs] for place in range(min(pairs, len(asked)))]


def _record(run: Run, taken: Sequence[Mapping[str, float]]) -> Record:
    base = [seconds[""] for seconds in taken]
    asked = run.manifest.request.known_methods  # methods that were added later have no time at generation
    found = {method: ratio([seconds[method] for seconds in taken], base) for method in asked}
    batched = {cost.method: 100 * cost.overhead for cost in costs(run)}
    samples = run.manifest.request.samples
    return measured(
        "overhead",
        title="Overhead of each method, one prompt at a time",
        about=f"CPU time beyond plain generation, in percent of it, for {len(taken)} prompts of the run of "
        f"{run.answerer.name}, each asked by itself, as in the paper's table of runtimes. Last column: the same run in "
        "batches, by wall time, where answers share their passes and include the capture, and so do samples. That "
        "figure cannot be compared with the paper's.",
        columns=("method", "charged with", "overhead, one at a time, %", "low", "high", "pairs", "in batches, %"),
        rows=[
            (name_of(method), _charged(method, samples), *_percent(one), one.pairs, batched.get(method, float("nan")))
            for method, one in found.items()
        ],
        bounds=_bounds(taken),
        notes=_notes(found),
        finding=_finding(found),
    )


def _percent(found: Ratio) -> tuple[Cell, ...]:
    return tuple(100 * (value - 1) for value in (found.median, found.low, found.high))


def _bounds(taken: Sequence[Mapping[str, float]]) -> list[Bound]:
    """RAUQ, with its capture, takes less than any method that compares samples."""
    sampled = [method for method in taken[0] if method and "samples" in METHODS[method].needs]
    if "rauq" not in taken[0] or not sampled:
        return []
    cheapest = [min(seconds[method] for method in sampled) for seconds in taken]
    return [at_most("RAUQ / the cheapest with samples", ratio([one["rauq"] for one in taken], cheapest), 1)]


def _notes(found: Mapping[str, Ratio]) -> list[str]:
    notes = [
        "Plain generation: the same loop without capture. It also gives the token probabilities.",
        "Medians over interleaved pairs. Each method is charged as if it ran alone.",
        "The samples of one prompt are drawn together and share its prefill.",
    ]
    widest = max(one.high - one.low for method, one in found.items() if "samples" not in METHODS[method].needs)
    if widest > QUIET:
        notes.append(
            f"The machine was shared with other programs: the widest interval of a method without samples spans "
            f"{100 * widest:.0f} % of plain generation."
        )
    return notes


def _finding(found: Mapping[str, Ratio]) -> str:
    sampled = [100 * (one.median - 1) for method, one in found.items() if "samples" in METHODS[method].needs]
    own = found.get("rauq")
    if own is None or not sampled:
        return ""
    return (
        f"RAUQ adds {number(100 * (own.median - 1), places=1)} % to the time of an answer, and methods that compare "
        f"several samples add {min(sampled):,.0f} to {max(sampled):,.0f} %, one prompt at a time."
    )
