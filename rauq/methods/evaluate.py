"""Any methods on answers: those of the table, and one's own."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from rauq.errors import InvalidInput, RauqError
from rauq.methods.method import Evidence, Method, Uncertainty, missing_requirement, needs_met, text_of
from rauq.methods.pair_scorers.judges import CachedJudge, Judges, PairJudge
from rauq.methods.table import METHODS
from rauq.scoring.report import was_given
from rauq.trace.parts import NO_PART, part_of
from rauq.trace.trace import Trace

_NO_JUDGES = Judges()
_UNDEFINED = "a log-probability, an attention weight or a judge's output is nan, or infinite terms cancel"


def evaluate(
    trace: Trace,
    methods: Iterable[str | Method],
    *,
    samples: Sequence[Trace] | None = None,
    judges: Judges = _NO_JUDGES,
    question: str = "",
) -> dict[str, Uncertainty]:
    """The uncertainty of an answer by each of these methods: higher is less certain.

    `methods` are ids of `rauq.METHODS`, and methods of one's own as `rauq.Method`, whose faults are reasons of nan too.
    Methods and judges see only the answer part of answers and samples with thinking.
    What cannot be computed is nan with a `reason` that says what to do; it does not affect the other methods.
    `samples` are drawn from the same prompt; empty ones are left out. `question` is the prompt without its
    worked examples, by default all of it. Judges score each pair of texts once.

    Raises:
        InvalidInput: an unknown method, two of one id, or a sample of another prompt or model.

    Example:
        >>> trace = rauq.load_model("atlas").generate("Q: In which country is Kyoto? A:")
        >>> values = rauq.evaluate(trace, ["rauq", "msp", "semantic_entropy"])
        >>> round(values["rauq"], 2), round(values["msp"], 2), values["semantic_entropy"].reason[:25]
        (1.44, 0.61, 'It compares sampled answe')
    """
    chosen = _chosen(methods)
    samples = tuple(samples or ())
    _check_samples(trace, samples)
    if (answer := part_of(trace, "answer")) is None:
        return {method.id: Uncertainty(math.nan, NO_PART["answer"]) for method in chosen}
    parts = [part_of(sample, "answer") for sample in samples]
    evidence = Evidence(
        trace=answer,
        samples=tuple(sample for sample in parts if sample is not None and text_of(sample)),
        judges=_asked_once(judges),
        question=question or trace.prompt,
    )
    return {method.id: _computed(method, evidence, len(samples)) for method in chosen}


def evaluate_many(
    traces: Sequence[Trace],
    methods: Iterable[str | Method],
    *,
    samples: Sequence[Sequence[Trace]] | None = None,
    judges: Judges = _NO_JUDGES,
) -> list[dict[str, Uncertainty]]:
    """The uncertainties of several answers, each as `evaluate` gives them; `samples` are those of each answer.

    Raises:
        InvalidInput: as `evaluate`, or other than one sequence of samples for each answer.

    Example:
        >>> lm = rauq.load_model("atlas")
        >>> answers = (" Kyoto is in Japan.", " Kyoto is in Peru.")
        >>> traces = [lm.read("Q: In which country is Kyoto? A:", answer) for answer in answers]
        >>> [round(values["msp"], 1) for values in rauq.evaluate_many(traces, ["msp"])]
        [0.6, 17.8]
    """
    drawn = [()] * len(traces) if samples is None else samples
    if len(drawn) != len(traces):
        message = f"Got samples of {len(drawn)} answers for {len(traces)} answers. Give one sequence for each."
        raise InvalidInput(message)
    chosen, asked = _chosen(methods), _asked_once(judges)
    return [evaluate(trace, chosen, samples=own, judges=asked) for trace, own in zip(traces, drawn, strict=True)]


def _chosen(methods: Iterable[str | Method]) -> list[Method]:
    given = [methods] if isinstance(methods, str) else list(methods)
    unknown = [one for one in given if not isinstance(one, Method) and one not in METHODS]
    if unknown or isinstance(methods, str):
        message = f"Got methods {', '.join(map(repr, unknown or given))}; give a list of some of {', '.join(METHODS)}."
        raise InvalidInput(message)
    chosen = [one if isinstance(one, Method) else METHODS[one] for one in given]
    different = {*chosen, *(METHODS[method.id] for method in chosen if method.id in METHODS)}
    if len({method.id for method in different}) < len(different):
        message = (
            f"Got methods {', '.join(method.id for method in chosen)}, two of which have the same id. Rename yours."
        )
        raise InvalidInput(message)
    return chosen


def _check_samples(trace: Trace, samples: Sequence[Trace]) -> None:
    for number, sample in enumerate(samples):
        if (sample.model, sample.revision) != (trace.model, trace.revision):
            message = f"Sample {number} is of {sample.model}, the answer of {trace.model}. Draw samples from one model."
            raise InvalidInput(message)
        if not np.array_equal(sample.prompt_ids, trace.prompt_ids):
            message = f"Sample {number} answers another prompt. Draw samples from the prompt of the answer."
            raise InvalidInput(message)


def _asked_once(judges: Judges) -> Judges:
    return replace(judges, nli=_once(judges.nli), similarity=_once(judges.similarity))


def _once(judge: PairJudge | None) -> PairJudge | None:
    return judge if judge is None or isinstance(judge, CachedJudge) else CachedJudge(judge)


def _computed(method: Method, evidence: Evidence, drawn: int) -> Uncertainty:
    given = needs_met(evidence.judges, samples=bool(drawn))
    if "focus" in evidence.trace.extras:  # document frequencies were used when the trace was captured
        given |= {"idf"}
    if evidence.trace.attribution is not None:
        given |= {"attribution"}
    if was_given(evidence.trace):
        given |= {"written"}
    if lacking := missing_requirement(method, given):
        return Uncertainty(math.nan, lacking)
    if "samples" in method.needs and not evidence.samples:
        return Uncertainty(math.nan, f"all samples ({drawn}) are empty")
    try:
        with np.errstate(all="ignore"):  # the result is infinite, or nan with a reason
            found = method.uncertainty(evidence) if method.id in METHODS else _own(method, evidence)
    except RauqError as error:
        return Uncertainty(math.nan, str(error))
    return Uncertainty(found, found.reason or _UNDEFINED) if math.isnan(found) else found


def _own(method: Method, evidence: Evidence) -> Uncertainty:
    """What a method of the user's own gives; what it lacks or raises is the reason of nan."""
    if lacking := [extra for extra in method.extras if extra not in evidence.trace.extras]:
        return Uncertainty(math.nan, f"The trace lacks {', '.join(lacking)}. Capture it: extras={tuple(lacking)}.")
    try:
        return method.uncertainty(evidence) if method.compute is None else _one_number(method.compute(evidence))
    except RauqError:
        raise
    except (Exception, SystemExit) as error:  # noqa: BLE001 - one method that fails stops no other
        return Uncertainty(math.nan, f"the method failed ({type(error).__name__}: {error})")


def _one_number(found: object) -> Uncertainty:
    """What a method of the user's own returned; a text, a truth value or several numbers are none.

    Raises:
        TypeError: it is not one real number.
    """
    if isinstance(found, Uncertainty):
        return found
    value = np.asarray(found)
    if value.shape or value.dtype.kind not in "fiu":
        what = f"{type(found).__name__} of shape {value.shape}" if value.shape else type(found).__name__
        message = f"it returned a value of type {what}; one number is needed"
        raise TypeError(message)
    return Uncertainty(float(value))
