"""The examples of one shard: answered in batches, judged, and scored while their attention is still exact."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from analysis.datasets.example import Example
from analysis.quality.judgement import Judgement
from analysis.quality.measures import Judge
from analysis.runs.manifest import Request
from analysis.runs.shard import Answered, Failed
from analysis.runs.uncertainties import uncertainties
from rauq.methods.method import Uncertainty
from rauq.spans import tokens_in
from rauq.trace import Trace

if TYPE_CHECKING:
    from rauq.batches import Failure
    from rauq.generation import Cancel
    from rauq.language_model import LanguageModel


class Done(NamedTuple):
    """A batch that is done: how many examples and answer tokens, and in how many seconds."""

    examples: int
    tokens: int
    seconds: float


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
    lm: "LanguageModel",
    numbers: range,
    examples: Sequence[Example],
    request: Request,
    *,
    judge: Judge,
    cancel: "Cancel",
    on_batch: Callable[[Done], None],
) -> list[Answered | Failed] | None:
    """Answer the examples of these numbers, or read the answers they have, one outcome each; None once cancelled."""
    chosen = examples[numbers.start : numbers.stop]
    results: dict[int, Trace | Failure] = {}
    for places in batches_of(chosen, request.batch_size):
        begun = time.perf_counter()
        found = [] if cancel.is_set() else _run(lm, [chosen[place] for place in places], request, cancel)
        if cancel.is_set():
            return None
        results.update(zip(places, found, strict=True))
        tokens = sum(len(result.answer_ids) for result in found if isinstance(result, Trace))
        on_batch(Done(len(places), tokens, time.perf_counter() - begun))
    return _outcomes(numbers, chosen, [results[place] for place in range(len(chosen))], judge, request.methods)


def _outcomes(
    numbers: range,
    examples: Sequence[Example],
    results: "Sequence[Trace | Failure]",
    judge: Judge,
    methods: Sequence[str],
) -> list[Answered | Failed]:
    """What is kept of each: with quality, the tokens that carry the fact, and the uncertainties asked for."""
    failed = [
        Failed(number=number, error=str(result.error))
        for number, result in zip(numbers, results, strict=True)
        if not isinstance(result, Trace)
    ]
    rows = [row for row in zip(numbers, examples, results, strict=True) if isinstance(row[2], Trace)]
    traces = [result for result in results if isinstance(result, Trace)]
    judgements = judge([example for _, example, _ in rows], [trace.answer for trace in traces])
    answered = _answered([number for number, _, _ in rows], traces, judgements, methods)
    return sorted([*failed, *answered], key=lambda outcome: outcome.number)


def _run(
    lm: "LanguageModel", examples: Sequence[Example], request: Request, cancel: "Cancel"
) -> "list[Trace | Failure]":
    """One batch, of examples that all have an answer or all have none."""
    prompts = [example.prompt for example in examples]
    answers = [example.answer for example in examples if example.answer is not None]
    if answers:
        pairs = list(zip(prompts, answers, strict=True))
        return list(lm.read_batch(pairs, batch_size=len(pairs), chat=request.chat))
    return list(
        lm.generate_batch(
            prompts,
            batch_size=len(prompts),
            max_new_tokens=request.max_new_tokens,
            stop=request.stop,
            chat=request.chat,
            last_row=True,
            cancel=cancel,
        )
    )


def _answered(
    numbers: Sequence[int], traces: Sequence[Trace], judgements: Sequence[Judgement], methods: Sequence[str]
) -> Iterator[Answered]:
    found = uncertainties(traces, methods)
    for place, (number, trace, judgement) in enumerate(zip(numbers, traces, judgements, strict=True)):
        yield Answered(
            number=number,
            trace=trace,
            fact=tokens_in(trace.answer_tokens, judgement.facts),
            quality=judgement.quality,
            quality_reason=judgement.reason,
            uncertainties=tuple(Uncertainty(found[method][place]) for method in methods),
        )
