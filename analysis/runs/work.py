"""Work on a run, shard by shard: answer the examples, evaluate and judge them. Killed at any time, it can resume."""

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from analysis.datasets.example import Example
from analysis.quality.facts import known_facts
from analysis.quality.judgement import Judgement
from analysis.quality.measures import Judge, load_judge
from analysis.runs.create import check_examples, check_known_methods, read_examples
from analysis.runs.job import STOP, Job, OnProgress, Status, Stop, how_to_resume, new_job, only_job
from analysis.runs.manifest import LONGEST_REASON, Answerer, Manifest, Request, read_manifest, sha256_of, write_manifest
from analysis.runs.own import NOTHING_OWN, Own, check_given, load_detectors, within
from analysis.runs.shard import Answered, Failed, answers_path, layers_to_store, read_table, write_shard
from analysis.runs.timings import Timing, add_timings
from rauq.checkpoints.named import place_of
from rauq.errors import RauqError, RunError
from rauq.methods.evaluate import evaluate
from rauq.methods.method import Method, Uncertainty
from rauq.methods.pair_scorers.judges import CachedJudge, Judges
from rauq.trace.parts import answer_text, span_of, tokens_in
from rauq.trace.trace import NUM_BANDS, Extra, Trace

if TYPE_CHECKING:
    from rauq.arguments import Cancel
    from rauq.errors import Failure
    from rauq.model.language_model import LanguageModel

_PACKAGES = ("numpy", "torch", "transformers")
_ROWS = 64  # samples that are drawn at once, of however many prompts
_COMMIT = re.compile(r"[0-9a-f]{40}")


def load_for(request: Request) -> "LanguageModel":
    """Load the model that a run asks for.

    Raises:
        ModelNotFound, UnsupportedModel, OutOfMemory, InvalidInput: as `rauq.load_model`.
    """
    from rauq.model.loading import load_model

    return load_model(
        request.model, device=request.device, dtype=request.dtype, revision=request.revision, kind=request.kind
    )


def started_commit(manifest: Manifest) -> str | None:
    """The commit of the hub that a run was started with; None before that, and for a model that has no commit."""
    revision = manifest.answerer.revision if manifest.answerer else ""
    return revision if _COMMIT.fullmatch(revision) else None


def with_started_commit(manifest: Manifest) -> Request:
    """What `load_for` has to load for a run: the commit that it was started with, for a branch may have moved since."""
    return replace(manifest.request, revision=started_commit(manifest) or manifest.request.revision)


def with_answerer(folder: Path, manifest: Manifest, lm: "LanguageModel") -> Answerer:
    """The model as the manifest has it: written there with the packages at the first time, compared at every other.

    Raises:
        RunError: the run was started with another model or other packages, or the manifest cannot be written.
        ModelNotFound: the model's folder was deleted after it was loaded.
    """
    answerer = _answerer(lm, manifest.request)
    packages = tuple((name, version(name)) for name in _PACKAGES)
    found = replace(manifest, answerer=answerer, packages=packages)
    if manifest.answerer is None:
        write_manifest(folder, found)
    elif found != manifest:
        message = (
            f"{folder} was started with {_differences(manifest, found)}. "
            "Resume it with the same, or score into a new folder."
        )
        raise RunError(message)
    return answerer


def _answerer(lm: "LanguageModel", request: Request) -> Answerer:
    return Answerer(
        name=lm.name,
        revision=lm.revision,
        kind=lm.kind,
        dtype=lm.dtype,
        quantisation=lm.quantisation,
        layers=lm.layers,
        num_layers=lm.num_layers,
        num_heads=lm.num_heads,
        vocab_size=lm.vocab_size,
        weights_sha256=sha256_of(Path(place_of(request.model)).expanduser()) if lm.revision == "local" else "",
    )


def _differences(before: Manifest, now: Manifest) -> str:
    sides = [{**vars(side.answerer), **dict(side.packages)} for side in (before, now)]
    return ", ".join(
        f"{name.replace('_', ' ')} {value}, not {sides[1][name]}"
        for name, value in sides[0].items()
        if value != sides[1].get(name)
    )


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

    lm: "LanguageModel"
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
        [example.prompt for _, example in batch],
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
    """What a run stores: an infinite number would rank above all others, and says no more than that it is none."""
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
    evaluation = replace(evaluation, lm=evaluation.lm.with_prefix_cache())
    results: dict[int, Evaluated | Failure] = {}
    timings: list[Timing] = []
    for places in batches_of(chosen, evaluation.request.batch_size):
        found, taken = _batch(evaluation, [(numbers[place], chosen[place]) for place in places], cancel)
        if cancel.is_set():
            return None
        results |= zip(places, found, strict=True)
        timings += taken
        on_done(len(places), sum(each.tokens for each in found if isinstance(each, Evaluated)))
    ordered = [results[place] for place in range(len(chosen))]
    timings += [timing for each in ordered if isinstance(each, Evaluated) for timing in each.timings]
    return Outcomes(rows=_rows(numbers, chosen, ordered, judge), timings=tuple(timings))


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
    )


def _fact(trace: Trace, judgement: Judgement) -> np.ndarray:
    """Which tokens (N,) carry the fact; characters are counted in the text that was judged, the answer part."""
    start, stop = span_of(trace.thinking, len(trace.answer_ids), "answer")
    fact = np.zeros(len(trace.answer_ids), dtype=bool)
    fact[start:stop] = tokens_in(trace.answer_tokens[start:stop], judgement.facts)
    return fact


def _run(evaluation: Evaluation, examples: Sequence[Example], cancel: "Cancel") -> "list[Trace | Failure]":
    """One batch, of examples that all have an answer or all have none."""
    lm, request = evaluation.lm, evaluation.request
    how: dict[str, Any] = {"chat": request.chat, "extras": evaluation.extras, "idf": evaluation.judges.idf}
    how["offsets"] = max(request.offsets, NUM_BANDS)  # means are stored of more offsets than weights
    prompts = [example.prompt for example in examples]
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


def work(
    folder: Path, *, own: Own = NOTHING_OWN, on_progress: OnProgress | None = None, cancel: "Cancel | None" = None
) -> Status:
    """Answer the remaining examples of a run, and return its state: "finished", or "stopped" by `cancel`.

    `own`: what the user gives to it. A file named `stop` in the folder stops it too. Shards that are whole stay; broken
    ones are answered again.

    Raises:
        RunError: another job is working on it, it was started with another model, other packages or other methods of
            the user's own, this version does not have one of its methods, or it cannot be written.
        RauqError: the model cannot be loaded, or quality cannot be measured.
    """
    with only_job(folder):
        manifest, examples = read_manifest(folder), read_examples(folder)
        check_examples(folder, manifest, examples)
        job = new_job(folder, total=manifest.request.count, on_progress=on_progress)
        try:
            _answer_all(job, manifest, examples, Stop(folder, cancel), own)
        except KeyboardInterrupt:
            job.end("stopped", how_to_resume(folder, manifest.request))
            raise
        except Exception as error:
            job.end("failed", str(error) if isinstance(error, RauqError) else f"{type(error).__name__}: {error}")
            raise
        finally:
            (folder / STOP).unlink(missing_ok=True)
        return job.status


def _answer_all(job: Job, manifest: Manifest, examples: tuple[Example, ...], stop: Stop, own: Own) -> None:
    still_open = _still_open(job, manifest)
    if still_open:
        check_known_methods(manifest.request)
        check_given(own, manifest.request.own_methods, manifest.request.own_quality)
        judge, evaluation = _judge(manifest.request, own), evaluation_of(manifest, own)
        evaluation.lm.check_extras(manifest.request.keep)  # before the run belongs to this model
        answerer = with_answerer(job.folder, manifest, evaluation.lm)
        stored = layers_to_store(manifest, answerer)
        job.begin_answering()
        for shard in still_open:
            outcomes = answer_shard(
                evaluation, manifest.numbers(shard), examples, judge=judge, cancel=stop, on_done=job.count
            )
            if outcomes is None:
                job.end("stopped", how_to_resume(job.folder, manifest.request))
                return
            write_shard(
                job.folder,
                shard,
                outcomes.rows,
                stored=stored,
                offsets=manifest.request.offsets,
                keep=manifest.request.keep,
            )
            add_timings(job.folder, shard, outcomes.timings)
            job.save(examples=len(outcomes.rows), failed=sum(isinstance(row, Failed) for row in outcomes.rows))
    job.tell(state="finished", message="")


def _still_open(job: Job, manifest: Manifest) -> list[int]:
    """The shards to answer; what is whole is counted, what is broken is said."""
    if manifest.answerer is None:
        job.tell()
        return list(range(manifest.num_shards))
    saved, failed = 0, 0
    still_open: list[int] = []
    faults: list[str] = []
    for shard in range(manifest.num_shards):
        try:
            errors = read_table(job.folder, manifest, manifest.answerer, shard)["error"]
            saved, failed = saved + len(errors), failed + int((errors != "").sum())
        except RunError as error:
            still_open.append(shard)
            faults += [str(error)] if answers_path(job.folder, shard).exists() else []
    job.tell(saved=saved, failed=failed, message=" ".join(faults))
    return still_open


def _judge(request: Request, own: Own) -> Judge:
    """Loaded before the model, since a missing file is reported at once."""
    weights = Path(request.weights) if request.weights else None
    return load_judge(request.quality, weights=weights, function=own.quality)


def evaluation_of(manifest: Manifest, own: Own = NOTHING_OWN) -> Evaluation:
    """The model and the judges of a run, loaded; the model judges its own answers in P(True).

    The other judges come first: they are smaller than the model, as a rule, and may be missing.
    """
    from rauq.methods.pair_scorers.loading import load_judges
    from rauq.model.language_model import p_true_judge

    request = manifest.request
    judges = load_judges(
        nli=request.nli, similarity=request.similarity, tagger=request.tagger, idf=request.idf, device=request.device
    )
    lm = load_for(with_started_commit(manifest))
    judges = replace(judges, p_true=p_true_judge(lm, chat=request.chat), detectors=load_detectors(request.detectors))
    return Evaluation(lm=lm, request=request, judges=judges, own=own)
