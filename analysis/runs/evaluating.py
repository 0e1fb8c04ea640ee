"""One answer of a run under the methods that the run was asked for: its samples drawn, and every method timed."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.datasets.example import Example
from analysis.runs.manifest import LONGEST_REASON, Request
from analysis.runs.timings import Timing
from rauq.atlas.oracles import facts_for_prompt
from rauq.errors import RauqError
from rauq.judges.judges import AskedOnce, Judges
from rauq.methods.evaluate import evaluate
from rauq.methods.method import Uncertainty
from rauq.methods.table import METHODS
from rauq.trace import Extra, Trace

if TYPE_CHECKING:
    from rauq.cancellation import Cancel
    from rauq.language_model import LanguageModel


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluated:
    """An answer with its uncertainties in the order of the methods, how long they took, and the tokens put out for it.

    The trace has no extras any more; `tokens` are those of the answer and of its samples.
    """

    trace: Trace
    uncertainties: tuple[Uncertainty, ...]
    timings: tuple[Timing, ...]
    tokens: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """How answers are evaluated: by which model, for which request, with which judges."""

    lm: "LanguageModel"
    request: Request
    judges: Judges

    @property
    def draws_samples(self) -> bool:
        """Whether any method compares samples."""
        return any("samples" in METHODS[method].needs for method in self.request.methods)

    @property
    def extras(self) -> tuple[Extra, ...]:
        """What answers have to capture: no more than the methods look at, and no more than the model can give."""
        return self._at_hand([extra for method in self.request.methods for extra in METHODS[method].extras])

    @property
    def sample_extras(self) -> tuple[Extra, ...]:
        """What samples have to capture."""
        return self._at_hand([extra for method in self.request.methods for extra in METHODS[method].sample_extras])

    def _at_hand(self, asked: Sequence[Extra]) -> tuple[Extra, ...]:
        there = [extra for extra in self.lm.extras if extra != "focus" or self.judges.idf is not None]
        return tuple(extra for extra in there if extra in asked)


def evaluated(evaluation: Evaluation, number: int, example: Example, trace: Trace, *, cancel: "Cancel") -> Evaluated:
    """Draw the samples of an example, if a method compares any, and apply every method.

    Once `cancel` is set the samples are cut short, and what is returned is worth nothing.
    """
    samples, timings, failure = _drawn(evaluation, number, example, cancel)
    judges = _for_prompt(evaluation.judges, example.prompt)
    found = [
        _timed(method, trace, samples, judges, question=example.question, failure=failure)
        for method in evaluation.request.methods
        if not cancel.is_set()
    ]
    return Evaluated(
        trace=replace(trace, extras={}),
        uncertainties=tuple(uncertainty for uncertainty, _ in found),
        timings=(*timings, *(timing for _, timing in found)),
        tokens=sum(len(each.answer_ids) for each in (trace, *samples)),
    )


def _drawn(
    evaluation: Evaluation, number: int, example: Example, cancel: "Cancel"
) -> tuple[tuple[Trace, ...], tuple[Timing, ...], str]:
    """Samples, how long they took, and why there are none although they were asked for."""
    if not evaluation.draws_samples:
        return (), (), ""
    begun = time.perf_counter()
    try:
        samples, failure = _samples(evaluation, number, example, cancel), ""
    except RauqError as error:
        samples, failure = (), f"Its samples could not be drawn. {error}"[:LONGEST_REASON]
    tokens, seconds = sum(len(sample.answer_ids) for sample in samples), time.perf_counter() - begun
    return samples, (Timing(stage="sample", examples=1, seconds=seconds, tokens=tokens),), failure


def _samples(evaluation: Evaluation, number: int, example: Example, cancel: "Cancel") -> tuple[Trace, ...]:
    """The same ones in whatever batch and after whatever stop: their seed is of the run and the example."""
    request = evaluation.request
    seed = int(np.random.SeedSequence((request.seed, number)).generate_state(1)[0])
    drawn = evaluation.lm.sample(
        example.prompt,
        k=request.samples,
        seed=seed,
        max_new_tokens=request.max_new_tokens,
        stop=request.stop,
        chat=request.chat,
        extras=evaluation.sample_extras,
        idf=evaluation.judges.idf,
        cancel=cancel,
    )
    return tuple(drawn)


def _for_prompt(judges: Judges, prompt: str) -> Judges:
    """The judges as they are asked about one answer: what is known of its prompt, and no pair of texts twice."""
    nli = None if judges.nli is None else AskedOnce(judges.nli)
    return replace(judges, nli=nli, facts=facts_for_prompt(prompt))


def _timed(
    method: str, trace: Trace, samples: tuple[Trace, ...], judges: Judges, *, question: str, failure: str
) -> tuple[Uncertainty, Timing]:
    spared = judges.nli.spared if isinstance(judges.nli, AskedOnce) else 0.0
    begun = time.perf_counter()
    if failure and "samples" in METHODS[method].needs:
        found = Uncertainty(math.nan, failure)
    else:
        found = _evaluate(method, trace, samples, judges, question)
    seconds = time.perf_counter() - begun
    if isinstance(judges.nli, AskedOnce):
        seconds += judges.nli.spared - spared
    return found, Timing(stage="method", examples=1, seconds=seconds, method=method)


def _evaluate(method: str, trace: Trace, samples: tuple[Trace, ...], judges: Judges, question: str) -> Uncertainty:
    """A number that is infinite would rank above all others, and says no more than that it is none."""
    found = evaluate(trace, (method,), samples=samples, judges=judges, question=question)[method]
    if math.isinf(found):
        return Uncertainty(math.nan, "it is infinite")
    return Uncertainty(found, found.reason[:LONGEST_REASON])
