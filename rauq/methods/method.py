"""What a method is: a row of the table, its requirements, its result, and its evidence.

Methods read the answer of a trace without its end token, and the arrays that the trace captured.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Literal, Self, TypeVar, get_args

import numpy as np

from rauq.errors import InvalidInput
from rauq.layout import ANALYSIS_COMMAND
from rauq.methods.pair_scorers.judges import Judges
from rauq.scoring.score import score_many
from rauq.scoring.settings import Settings
from rauq.trace.batch import Batch, batch
from rauq.trace.extras import extra_of
from rauq.trace.trace import Extra, Trace

Need = Literal[
    "samples",
    "nli",
    "similarity",
    "idf",
    "keywords",
    "facts",
    "p_true",
    "written",
    "held_out",
    "attribution",
    "detector",
]
Family = Literal["one generation", "samples", "supervised", "ablation"]
Direction = Literal["higher is less certain"]
_Judge = TypeVar("_Judge")

NEEDS: tuple[Need, ...] = get_args(Need)

_MISSING: Mapping[Need, str] = MappingProxyType(
    {
        "samples": "It compares sampled answers, and none were given. Draw some: lm.sample(prompt, k=5).",
        "nli": "It needs an entailment model. Give one: load_judges(nli='microsoft/deberta-large-mnli').",
        "similarity": (
            "It needs a similarity model. Give one: load_judges(similarity='cross-encoder/stsb-roberta-large')."
        ),
        "idf": f"It needs document frequencies. Give them: load_judges(idf=FILE), made by {ANALYSIS_COMMAND} idf.",
        "keywords": "It needs a tagger for keywords. Give one: load_judges(tagger='en_core_web_sm').",
        "facts": "Facts are known only for the embedded prompts and the data sets of facts. Use one of these.",
        "p_true": "It asks the model itself about its answer. Give it: Judges(p_true=rauq.p_true_judge(lm)).",
        "written": (
            "It is for answers that the model did not write. Give one: lm.read(prompt, answer), or a column of answers."
        ),
        "held_out": "Its heads are selected on other answers. See the ablations of a run.",
        "attribution": (
            "It needs LIG weights in place of attention, which only the model can compute. Give it "
            f"lm.attribute(trace), or run {ANALYSIS_COMMAND} attribute."
        ),
        "detector": (
            "It needs a fitted detector. Train one: "
            f"{ANALYSIS_COMMAND} train --run RUN --method {{method}} --out FILE. "
            "Give it: Judges(detectors=(rauq.Detector.load(FILE),))."
        ),
    }
)

_NOT_ATTENTION = (
    "the weights of this trace are LIG attributions, not attention: use rauq_lig, or rauq.score with the same settings"
)


class Uncertainty(float):
    """A number, and where it is nan the reason why."""

    reason: str

    def __new__(cls, value: float, reason: str = "") -> Self:
        """Make a number of it; `reason` is empty where the value is defined."""
        made = super().__new__(cls, value)
        made.reason = reason
        return made


@dataclass(frozen=True, eq=False, kw_only=True)
class Evidence:
    """The input of a method: the greedy answer, the samples that are not empty, the judges.

    `question`: the prompt without its worked examples, for methods that put it before an answer.
    """

    trace: Trace
    samples: tuple[Trace, ...] = ()
    judges: Judges = field(default_factory=Judges)
    question: str = ""

    @cached_property
    def answers(self) -> Batch:
        """The greedy answer as a batch of one, whose head means are computed once for all settings of RAUQ."""
        return batch([self.trace])


@dataclass(frozen=True, eq=False, kw_only=True)
class Method:
    """A row of the table: a function of the evidence, or else RAUQ under `settings`, a preset.

    `needs`: what it asks for besides the greedy answer; `extras`: arrays that the greedy trace must have captured, and
    `sample_extras` each sample. `cost`: forward passes beyond the greedy answer, in words, with K samples of N tokens.
    `source`: its publication.
    """

    id: str
    name: str
    family: Family = "one generation"
    source: str = "own"
    cost: str = "not stated"
    compute: Callable[[Evidence], float] | None = None
    settings: Settings | None = None
    needs: frozenset[Need] = frozenset()
    extras: tuple[Extra, ...] = ()
    sample_extras: tuple[Extra, ...] = ()
    direction: Direction = "higher is less certain"

    def uncertainty(self, evidence: Evidence) -> Uncertainty:
        """The uncertainty of an answer; signal and alpha that a preset leaves open are the paper's for the model.

        Raises:
            RauqError: something that this method needs is missing, or does not fit.
        """
        if self.compute is not None:
            uncertainty = self.compute(evidence)
            return uncertainty if isinstance(uncertainty, Uncertainty) else Uncertainty(float(uncertainty))
        if evidence.trace.attribution is not None:
            return Uncertainty(math.nan, _NOT_ATTENTION)
        scores = score_many(evidence.answers, self.settings)
        return Uncertainty(scores.uncertainty[0], str(scores.reasons[0]))


def missing_requirement(method: Method, given: Collection[Need]) -> str:
    """The first thing that a method needs and is not given, and what to do; empty where it has everything.

    This is known before any answer. What a trace had to capture is told by `evaluate`.
    """
    missing = next((need for need in NEEDS if need in method.needs and need not in given), None)
    if missing == "detector":
        return no_detector(method.id)
    return "" if missing is None else _MISSING[missing]


def no_detector(method: str) -> str:
    """What to do if no fitted detector is given for the method with this id."""
    return _MISSING["detector"].format(method=method)


def needs_met(judges: Judges, *, samples: bool) -> frozenset[Need]:
    """The needs that these judges, and samples if there are any, meet."""
    there: dict[Need, bool] = {
        "samples": samples,
        "nli": judges.nli is not None,
        "similarity": judges.similarity is not None,
        "idf": judges.idf is not None,
        "keywords": judges.keywords is not None,
        "facts": judges.facts is not None,
        "detector": bool(judges.detectors),
        "p_true": judges.p_true is not None,
    }
    return frozenset(need for need, met in there.items() if met)


def present(judge: _Judge | None, need: Need) -> _Judge:
    """The judge itself.

    Raises:
        InvalidInput: there is none.
    """
    if judge is None:
        raise InvalidInput(_MISSING[need])
    return judge


def tokens_of(trace: Trace) -> tuple[str, ...]:
    """The texts of the answer's tokens without the end token; a stop token is a token like others."""
    return trace.answer_tokens[: _length(trace)]


def text_of(trace: Trace) -> str:
    """The answer as judges read it: without the end token and the white space around it."""
    return "".join(tokens_of(trace)).strip()


def texts_of(traces: Sequence[Trace]) -> tuple[str, ...]:
    """The answers as judges read them."""
    return tuple(map(text_of, traces))


def logprobs_of(trace: Trace) -> np.ndarray:
    """Log-probabilities (n,) in nats of the n tokens without the end token."""
    return trace.logprobs[: _length(trace)].astype(np.float64)


def sums_of(traces: Sequence[Trace]) -> np.ndarray:
    """The log-probability of each answer, end token included: (K,) nats."""
    return np.array([trace.logprobs.sum(dtype=np.float64) for trace in traces])


def captured(trace: Trace, name: Extra) -> np.ndarray:
    """An extra of the trace, as float64.

    Raises:
        NotCaptured: the trace has none of this name.
        InvalidInput: its shape is not that of the answer.
    """
    return extra_of(trace, name, _shape(trace, name)).astype(np.float64)


def _length(trace: Trace) -> int:
    return len(trace.answer_ids) - (trace.stop_reason == "eos")


def _shape(trace: Trace, name: Extra) -> tuple[int, ...]:
    num_tokens = len(trace.answer_ids)
    shapes: dict[Extra, tuple[int, ...]] = {
        "max_attention": (num_tokens, num_tokens),
        "diagonal": (-1, len(trace.prompt_ids) + num_tokens),
        "hidden": (-1,),
        "lookback": (-1, -1, num_tokens, 2),
        "focus": (num_tokens, 2),
        "attention_entropy": (-1, -1, num_tokens, 2),
        "part_shares": (-1, -1, num_tokens, -1),
        "mean_logprob": (num_tokens,),
    }
    return shapes[name]
