"""Answer the examples of a shard in batches, apply every method to each answer, and judge it; or add methods later.

Methods can also be computed later, on the traces that a finished run stored. Each is a file of its own beside the
shards, `methods-ID.parquet`, and the manifest names it once it is whole. Shards are not rewritten: that would change
their tables and checksums one shard after the other, so that a killed job would leave some shards with the method and
some without. A method is added by two renames instead, of its file and of the manifest; a file that no manifest names
is not read, and is written again. A row belongs to an answer by the answer's checksum, so an example that is answered
anew loses what was computed of another answer.

Attention and extras of stored traces are in half precision, so methods that use them differ in the third digit from
what they would have been at generation; log-probabilities and entropies are stored in full.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from analysis.datasets.example import Example
from analysis.quality.facts import known_facts
from analysis.quality.judgement import Judgement
from analysis.quality.measures import Judge
from analysis.runs.files.corrections import crc32_of
from analysis.runs.files.tables import ADDED, Answered, Failed
from analysis.runs.job import how_to_resume, only_job
from analysis.runs.manifest import LONGEST_REASON, Request, added_path, write_manifest, write_whole
from analysis.runs.methods import check_methods, missing_needs, options_for
from analysis.runs.opened import Run, open_run
from analysis.runs.own import NOTHING_OWN, DetectorFile, Own, check_unseen, load_detectors, within
from analysis.runs.timings import Timing, add_timings
from analysis.runs.traces import traces_of
from rauq.errors import Failure, InvalidInput, RunError
from rauq.methods.evaluate import evaluate
from rauq.methods.method import Method, Need, Uncertainty, needs_met
from rauq.methods.pair_scorers.judges import CachedJudge, Judges
from rauq.methods.table import METHODS
from rauq.trace.parts import answer_text, span_of, tokens_in
from rauq.trace.trace import NUM_BANDS, Extra, Trace

if TYPE_CHECKING:
    from rauq.arguments import Cancel
    from rauq.model.language_model import LanguageModel
    from rauq.model.served import ServedModel

_ROWS = 64  # samples that are drawn at once, of however many prompts


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluated:
    """An answer with its uncertainties in the order of the methods, their timings, and the tokens generated for it.

    The trace has the extras that are kept; `tokens` are those of the answer and of its samples.
    """

    trace: Trace
    uncertainties: tuple[Uncertainty, ...]
    timings: tuple[Timing, ...]
    tokens: int


@dataclass(frozen=True, eq=False, kw_only=True)
class Evaluation:
    """How answers are evaluated: by which model, for which request, with which judges and methods of the user's own."""

    lm: "LanguageModel | ServedModel"
    request: Request
    judges: Judges
    own: Own = NOTHING_OWN

    @property
    def methods(self) -> tuple[Method, ...]:
        """The methods of the request, in order."""
        return self.own.rows(self.request.methods)

    @property
    def draws_samples(self) -> bool:
        """Whether any method compares samples."""
        return any("samples" in method.needs for method in self.methods)

    @property
    def extras(self) -> tuple[Extra, ...]:
        """What answers have to capture: what is kept, and what the methods use as far as the model can give it."""
        used = self._available_extras([extra for method in self.methods for extra in method.extras])
        return tuple(dict.fromkeys([*used, *cast("tuple[Extra, ...]", self.request.keep)]))

    @property
    def sample_extras(self) -> tuple[Extra, ...]:
        """What samples have to capture."""
        return self._available_extras([extra for method in self.methods for extra in method.sample_extras])

    def _available_extras(self, asked: Sequence[Extra]) -> tuple[Extra, ...]:
        there = [extra for extra in self.lm.extras if extra != "focus" or self.judges.idf is not None]
        return tuple(extra for extra in there if extra in asked)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The samples of one example, and why there are none although they were asked for."""

    samples: tuple[Trace, ...] = ()
    failure: str = ""


def evaluated(evaluation: Evaluation, example: Example, trace: Trace, drawn: Drawn) -> Evaluated:
    """Apply every method to an answer and its samples."""
    judges = judges_for(evaluation.judges, example)
    own = {method.id: evaluation.own.seconds for method in evaluation.own.methods}
    found = [
        _timed(method, trace, drawn, judges, question=example.question, seconds=own.get(method.id))
        for method in evaluation.methods
    ]
    return Evaluated(
        trace=replace(trace, extras={name: trace.extras[name] for name in evaluation.request.keep}),
        uncertainties=tuple(uncertainty for uncertainty, _ in found),
        timings=tuple(timing for _, timing in found),
        tokens=sum(len(each.answer_ids) for each in (trace, *drawn.samples)),
    )


def drawn_for(
    evaluation: Evaluation, batch: Sequence[tuple[int, Example]], cancel: "Cancel"
) -> tuple[list[Drawn], list[Timing]]:
    """The samples of each example, with its number, if a method compares any, and how long they took.

    Each example's seed depends on the run and its number alone. Once `cancel` is set, samples are missing or cut short.
    """
    if not (evaluation.draws_samples and batch):
        return [Drawn() for _ in batch], []
    begun = time.perf_counter()
    found = [_drawn(result) for result in _samples(evaluation, batch, cancel)]
    tokens = sum(len(sample.answer_ids) for each in found for sample in each.samples)
    seconds = time.perf_counter() - begun
    return found, [Timing(stage="sample", examples=len(found), seconds=seconds, tokens=tokens)]


def _samples(
    evaluation: Evaluation, batch: Sequence[tuple[int, Example]], cancel: "Cancel"
) -> "Iterator[list[Trace] | Failure]":
    request = evaluation.request
    seeds = [int(np.random.SeedSequence((request.seed, number)).generate_state(1)[0]) for number, _ in batch]
    return evaluation.lm.sample_batch(
        [example.given for _, example in batch],
        seeds=seeds,
        k=request.samples,
        batch_size=max(1, _ROWS // request.samples),
        max_new_tokens=request.max_new_tokens,
        stop=request.stop,
        chat=request.chat,
        extras=evaluation.sample_extras,
        idf=evaluation.judges.idf,
        cancel=cancel,
    )


def _drawn(result: "list[Trace] | Failure") -> Drawn:
    if isinstance(result, list):
        return Drawn(tuple(result))
    return Drawn(failure=f"Its samples could not be drawn. {result.error}"[:LONGEST_REASON])


def judges_for(judges: Judges, example: Example) -> Judges:
    """The judges for one answer: with the facts of its prompt, and each pair of texts judged once."""
    nli = None if judges.nli is None else CachedJudge(judges.nli)
    return replace(judges, nli=nli, facts=known_facts(example))


def _timed(
    method: Method, trace: Trace, drawn: Drawn, judges: Judges, *, question: str, seconds: float | None
) -> tuple[Uncertainty, Timing]:
    spared = judges.nli.spared if isinstance(judges.nli, CachedJudge) else 0.0
    begun = time.perf_counter()
    if drawn.failure and "samples" in method.needs:
        found = Uncertainty(math.nan, drawn.failure)
    else:
        found = within(seconds, lambda: uncertainty_of(method, trace, drawn.samples, judges, question))
    taken = time.perf_counter() - begun
    if isinstance(judges.nli, CachedJudge):
        taken += judges.nli.spared - spared
    return found, Timing(stage="method", examples=1, seconds=taken, method=method.id)


def uncertainty_of(
    method: Method, trace: Trace, samples: tuple[Trace, ...], judges: Judges, question: str
) -> Uncertainty:
    """What a run stores: nan for an infinite number, which would rank above all others without carrying information."""
    found = evaluate(trace, (method,), samples=samples, judges=judges, question=question)[method.id]
    if math.isinf(found):
        return Uncertainty(math.nan, "it is infinite")
    return Uncertainty(found, found.reason[:LONGEST_REASON])


OnDone = Callable[[int, int], None]
"""Called with the number of further examples that are done, and of tokens generated for them."""


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
        one = examples[place]
        return one.group, len(one.conversation or one.prompt) + len(one.answer or "")

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
    evaluation = replace(evaluation, lm=evaluation.lm.with_prefix_cache())
    results: dict[int, Evaluated | Failure] = {}
    timings: list[Timing] = []
    for places in batches_of(examples, evaluation.request.batch_size):
        found, taken = _batch(evaluation, [(numbers[place], examples[place]) for place in places], cancel)
        if cancel.is_set():
            return None
        results |= zip(places, found, strict=True)
        timings += taken
        on_done(len(places), sum(each.tokens for each in found if isinstance(each, Evaluated)))
    ordered = [results[place] for place in range(len(examples))]
    timings += [timing for each in ordered if isinstance(each, Evaluated) for timing in each.timings]
    return Outcomes(rows=_rows(numbers, examples, ordered, judge), timings=tuple(timings))


def _batch(
    evaluation: Evaluation, batch: Sequence[tuple[int, Example]], cancel: "Cancel"
) -> "tuple[list[Evaluated | Failure], list[Timing]]":
    """The outcome of each example of a batch, with its number, and how long generation and sampling took.

    Once `cancel` is set, outcomes are missing or wrong.
    """
    if cancel.is_set():
        return [], []
    begun = time.perf_counter()
    found = _run(evaluation, [example for _, example in batch], cancel)
    generating = _generating(found, time.perf_counter() - begun)
    answered = [pair for pair, result in zip(batch, found, strict=False) if isinstance(result, Trace)]
    drawn, sampling = drawn_for(evaluation, answered, cancel)
    several = dict(zip((number for number, _ in answered), drawn, strict=False))
    outcomes = [
        evaluated(evaluation, example, result, several[number]) if isinstance(result, Trace) else result
        for (number, example), result in zip(batch, found, strict=False)
        if not cancel.is_set()
    ]
    return outcomes, [generating, *sampling]


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
        unclear=judgement.unclear,
    )


def _fact(trace: Trace, judgement: Judgement) -> np.ndarray:
    """Which tokens (N,) carry the fact; characters are counted in the text that was judged, the answer part."""
    start, stop = span_of(trace.thinking, len(trace.answer_ids), "answer")
    fact = np.zeros(len(trace.answer_ids), dtype=bool)
    fact[start:stop] = tokens_in(trace.answer_tokens[start:stop], judgement.facts)
    return fact


def _run(evaluation: Evaluation, examples: Sequence[Example], cancel: "Cancel") -> list[Trace | Failure]:
    """One batch, of examples that all have an answer or all have none."""
    lm, request = evaluation.lm, evaluation.request
    how: dict[str, Any] = {"chat": request.chat, "extras": evaluation.extras, "idf": evaluation.judges.idf}
    how["offsets"] = max(request.offsets, NUM_BANDS)  # means are stored of more offsets than weights
    prompts = [example.given for example in examples]
    answers = [example.answer for example in examples if example.answer is not None]
    if answers:
        pairs = list(zip(prompts, answers, strict=True))
        return list(lm.read_batch(pairs, batch_size=len(pairs), **how))
    return list(
        lm.generate_batch(
            prompts,
            batch_size=len(prompts),
            max_new_tokens=request.max_new_tokens,
            stop=request.stop,
            last_row=True,
            cancel=cancel,
            **how,
        )
    )


_NO_JUDGES = Judges()


def add_methods(
    folder: Path,
    methods: Sequence[str],
    *,
    judges: Judges = _NO_JUDGES,
    detectors: Sequence[DetectorFile] = (),
    lm: "LanguageModel | None" = None,
) -> Run:
    """Compute methods on the answers of a finished run, and return the run with their columns.

    All of them are there afterwards, or none. `detectors` are the files of supervised ones. `lm`: the model of the run,
    which reads its answers again; None: the methods have what the run kept.

    Raises:
        InvalidInput: an unknown method, one that the run has, or one that needs samples, extras or judges that the run
            did not keep or that are not given; or a method that is undefined for every answer.
        RunError: the run is not finished, a job works on it, or it cannot be written.
    """
    with only_job(folder):
        run = open_run(folder)
        check_unseen(detectors, run.questions)
        judges = replace(judges, detectors=load_detectors(detectors))
        _check_finished(run)
        _check_possible(run, methods, judges, lm)
        found = {method: _computed(run, method, judges, lm) for method in methods}
        for method, column in found.items():
            _write(run, method, column.uncertainties)
        added = tuple(dict.fromkeys((*run.manifest.added_methods, *methods)))
        used = tuple({file.method: file for file in (*run.manifest.added_detectors, *detectors)}.values())
        write_manifest(folder, replace(run.manifest, added_methods=added, added_detectors=used))
        if lm is None:  # else most of the time went into reading
            add_timings(folder, None, [column.timing for column in found.values()])
    return open_run(folder)


class _Column(NamedTuple):
    """What a method gives of each answer (A,), and how long that took."""

    uncertainties: list[Uncertainty]
    timing: Timing


def _check_finished(run: Run) -> None:
    if len(run.shards) < run.manifest.num_shards:
        message = (
            f"{run.folder} has {len(run.shards)} of {run.manifest.num_shards} shards. Finish it before methods are "
            f"added. {how_to_resume(run.folder, run.manifest.request)}"
        )
        raise RunError(message)
    if run.answers.empty:
        message = f"{run.folder} has no answers: every example failed. Score the data set again."
        raise RunError(message)


def _check_possible(run: Run, methods: Sequence[str], judges: Judges, lm: "LanguageModel | None") -> None:
    answerer = run.answerer
    if lm is not None and (lm.name, lm.revision, lm.kind) != (answerer.name, answerer.revision, answerer.kind):
        message = f"{run.folder.name} was answered by {answerer.name}, and other weights were given: {lm}."
        raise InvalidInput(message)
    if own := [method for method in methods if ":" in method]:
        message = f"A method of your own, such as {own[0]}, is not added later. Score the data set again with it."
        raise InvalidInput(message)
    check_methods(methods, [detector.method for detector in judges.detectors])
    for method in methods:
        if reason := _obstacle(run, method, judges, is_read=lm is not None):
            message = f"{METHODS[method].name} cannot be added to {run.folder.name}: {reason}"
            raise InvalidInput(message)


def _obstacle(run: Run, method: str, judges: Judges, *, is_read: bool) -> str:
    """Why a method cannot be computed on what the run stored, and what to do; empty if it can."""
    row, keep = METHODS[method], run.manifest.request.keep
    if method in run.methods:
        return "the run has it already."
    if "samples" in row.needs:
        return "it compares samples, which runs do not store. Score the data set again with this method."
    if not is_read and (missing := [extra for extra in row.extras if extra not in keep]):
        names = ",".join(missing)
        return f"it needs {names}, which the run did not keep. Score the data set again with --keep {names}."
    given: set[Need] = {*needs_met(judges, samples=False), "facts", "written"}
    if "focus" in keep:  # its document frequencies were used when the traces were captured
        given.add("idf")
    if words := missing_needs(method, given):
        return f"it needs {words}. Add {options_for(method, given)}."
    return ""


def _computed(run: Run, method: str, judges: Judges, lm: "LanguageModel | None") -> _Column:
    """Apply a method to each answer.

    Raises:
        InvalidInput: it is undefined for all of them.
    """
    begun = time.perf_counter()
    examples = [run.examples[number] for number in run.answers["number"]]
    found = [
        uncertainty_of(METHODS[method], trace, (), judges_for(judges, example), example.question)
        for trace, example in zip(_traces(run, method, judges, lm), examples, strict=True)
    ]
    if all(uncertainty.reason for uncertainty in found):
        message = f"{METHODS[method].name} is undefined for every answer of {run.folder.name}: {found[0].reason}"
        raise InvalidInput(message)
    seconds = time.perf_counter() - begun
    return _Column(found, Timing(stage="method", examples=len(found), seconds=seconds, method=method))


def _traces(run: Run, method: str, judges: Judges, lm: "LanguageModel | None") -> Iterator[Trace]:
    """The answers as the run kept them, or as the model reads them again, with what the method needs."""
    kept = traces_of(run)
    if lm is None:
        yield from kept
        return
    request, extras = run.manifest.request, METHODS[method].extras
    while some := list(islice(kept, request.batch_size)):
        pairs = [(one.prompt, one.answer_ids.tolist()) for one in some]
        read = lm.read_batch(pairs, batch_size=len(pairs), chat=request.chat, extras=extras, idf=judges.idf)
        for before, now in zip(some, read, strict=True):
            if isinstance(now, Failure):
                raise now.error
            yield replace(now, stop_reason=before.stop_reason)


def _write(run: Run, method: str, found: Sequence[Uncertainty]) -> None:
    rows = [
        {"number": number, "answer_crc32": crc32_of(text), "value": float(value), "reason": value.reason}
        for number, text, value in zip(run.answers["number"].tolist(), run.answers["answer"], found, strict=True)
    ]
    rows += [
        {"number": number, "answer_crc32": 0, "value": float("nan"), "reason": "it has no answer"}
        for number in run.failures["number"].tolist()
    ]
    table = pa.Table.from_pylist(rows, schema=ADDED)
    path = added_path(run.folder, method)
    write_whole(path, lambda temporary: pq.write_table(table, temporary, compression="zstd", write_page_checksum=True))
