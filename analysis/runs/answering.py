"""The examples of one shard: answered in batches, evaluated while their attention is still exact, and judged."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.datasets.example import Example
from analysis.quality.judgement import Judgement
from analysis.quality.measures import Judge
from analysis.runs.evaluating import Evaluated, Evaluation, evaluated
from analysis.runs.shard import Answered, Failed
from analysis.runs.timings import Timing
from rauq.parts import answer_text, span_of
from rauq.spans import tokens_in
from rauq.trace import Trace

if TYPE_CHECKING:
    from rauq.cancellation import Cancel
    from rauq.errors import Failure

OnDone = Callable[[int, int], None]
"""Told of how many examples more are done, and how many tokens were put out for them."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Outcomes:
    """What became of each example of a shard, in order, and how long that took."""

    rows: tuple[Answered | Failed, ...]
    timings: tuple[Timing, ...]


def batches_of(examples: Sequence[Example], size: int) -> list[list[int]]:
    """Places of a shard's examples, batch by batch: answers to generate, then answers to read.

    Within a batch prompts are alike in group and length, since a batch is as slow as the longest in it. Batches depend
    on the shard's examples alone, so that a resumed run has those of one that was never stopped.
    """

    def likeness(place: int) -> tuple[str, int]:
        return examples[place].group, len(examples[place].prompt) + len(examples[place].answer or "")

    asked = [place for place, example in enumerate(examples) if example.answer is None]
    given = [place for place, example in enumerate(examples) if example.answer is not None]
    ordered = [sorted(places, key=likeness) for places in (asked, given)]
    return [places[start : start + size] for places in ordered for start in range(0, len(places), size)]


def answer_shard(
    evaluation: Evaluation,
    numbers: range,
    examples: Sequence[Example],
    *,
    judge: Judge,
    cancel: "Cancel",
    on_done: OnDone,
) -> Outcomes | None:
    """Answer the examples of these numbers, or read the answers they have, one outcome each; None once cancelled."""
    chosen = examples[numbers.start : numbers.stop]
    results: dict[int, Evaluated | Failure] = {}
    timings: list[Timing] = []
    for places in batches_of(chosen, evaluation.request.batch_size):
        begun = time.perf_counter()
        found = [] if cancel.is_set() else _run(evaluation, [chosen[place] for place in places], cancel)
        if cancel.is_set():
            return None
        timings.append(_generating(found, time.perf_counter() - begun))
        batch = dict(zip(places, found, strict=True))
        for part in _parts(places, evaluation):
            own = {place: _evaluated(evaluation, numbers[place], chosen[place], batch[place], cancel) for place in part}
            if cancel.is_set():
                return None
            results |= own
            on_done(len(part), sum(each.tokens for each in own.values() if isinstance(each, Evaluated)))
    ordered = [results[place] for place in range(len(chosen))]
    timings += [timing for each in ordered if isinstance(each, Evaluated) for timing in each.timings]
    return Outcomes(rows=_rows(numbers, chosen, ordered, judge), timings=tuple(timings))


def _parts(places: Sequence[int], evaluation: Evaluation) -> list[Sequence[int]]:
    """What is told as done at once: a batch, or where samples are drawn, which takes longest, each of its examples."""
    return [[place] for place in places] if evaluation.draws_samples else [places]


def _evaluated(
    evaluation: Evaluation, number: int, example: Example, result: "Trace | Failure", cancel: "Cancel"
) -> "Evaluated | Failure":
    return evaluated(evaluation, number, example, result, cancel=cancel) if isinstance(result, Trace) else result


def _generating(found: "Sequence[Trace | Failure]", seconds: float) -> Timing:
    tokens = sum(len(result.answer_ids) for result in found if isinstance(result, Trace))
    return Timing(stage="generate", examples=len(found), seconds=seconds, tokens=tokens)


def _rows(
    numbers: range, examples: Sequence[Example], results: "Sequence[Evaluated | Failure]", judge: Judge
) -> tuple[Answered | Failed, ...]:
    """What is kept of each: with quality, and the tokens that carry the fact."""
    answered = [example for example, result in zip(examples, results, strict=True) if isinstance(result, Evaluated)]
    answers = [answer_text(result.trace) for result in results if isinstance(result, Evaluated)]
    judgements = iter(judge(answered, answers))
    return tuple(
        _answered(number, result, next(judgements))
        if isinstance(result, Evaluated)
        else Failed(number=number, error=str(result.error))
        for number, result in zip(numbers, results, strict=True)
    )


def _answered(number: int, result: Evaluated, judgement: Judgement) -> Answered:
    return Answered(
        number=number,
        trace=result.trace,
        fact=_fact(result.trace, judgement),
        quality=judgement.quality,
        quality_reason=judgement.reason,
        uncertainties=result.uncertainties,
    )


def _fact(trace: Trace, judgement: Judgement) -> np.ndarray:
    """Which tokens (N,) carry the fact; characters are counted in the text that was judged, the answer part."""
    start, stop = span_of(trace.thinking, len(trace.answer_ids), "answer")
    fact = np.zeros(len(trace.answer_ids), dtype=bool)
    fact[start:stop] = tokens_in(trace.answer_tokens[start:stop], judgement.facts)
    return fact


def _run(evaluation: Evaluation, examples: Sequence[Example], cancel: "Cancel") -> "list[Trace | Failure]":
    """One batch, of examples that all have an answer or all have none."""
    lm, request, idf = evaluation.lm, evaluation.request, evaluation.judges.idf
    prompts = [example.prompt for example in examples]
    answers = [example.answer for example in examples if example.answer is not None]
    if answers:
        pairs = list(zip(prompts, answers, strict=True))
        found = lm.read_batch(pairs, batch_size=len(pairs), chat=request.chat, extras=evaluation.extras, idf=idf)
        return list(found)
    return list(
        lm.generate_batch(
            prompts,
            batch_size=len(prompts),
            max_new_tokens=request.max_new_tokens,
            stop=request.stop,
            chat=request.chat,
            last_row=True,
            extras=evaluation.extras,
            idf=idf,
            cancel=cancel,
        )
    )
