"""The accuracy of the embedded model, how well each uncertainty ranks its answers, and whether attention matters."""

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

import rauq
from analysis.intervals import estimate
from analysis.methods.attention_permutation import GroupControl, control_groups
from analysis.methods.comparison import groups_of
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate, prr, roc_auc
from rauq.atlas.evaluation import FAMILIES, Example, Family, judge, load_examples
from rauq.model.language_model import LanguageModel
from rauq.scoring.settings import Settings
from rauq.trace.trace import Alignment, Trace

_LONGEST = 64  # new tokens; the longest reference has fewer than 40
_TIMED = 40  # prompts of the latency
_ALPHAS = tuple(step / 10 for step in range(11))
_ALIGNMENTS: tuple[Alignment, ...] = ("predicting", "own")


@dataclass(frozen=True)
class Answers:
    """The greedy answers to the held-out prompts of a family, and whether each is correct (A,)."""

    family: Family
    examples: tuple[Example, ...]
    traces: tuple[Trace, ...]
    correct: np.ndarray


@dataclass(frozen=True)
class Ranking:
    """How one uncertainty ranks the answers of a family: PRR and ROC-AUC, each with its interval."""

    method: str
    prr: Estimate
    roc_auc: Estimate


def answer(model: LanguageModel, family: Family) -> Answers:
    """Let the model answer the held-out prompts of a family, greedily.

    Raises:
        RuntimeError: a prompt failed.
    """
    examples = load_examples(family)
    prompts = [example.prompt for example in examples]
    answered = list(model.generate_batch(prompts, max_new_tokens=_LONGEST, batch_size=32, last_row=True))
    traces = [trace for trace in answered if isinstance(trace, Trace)]
    if len(traces) < len(prompts):
        failed = [failure for failure in answered if not isinstance(failure, Trace)]
        message = f"{len(failed)} of {len(prompts)} prompts of {family} failed; the first: {failed[0]}"
        raise RuntimeError(message)
    correct = [judge(example, trace.answer).correct for example, trace in zip(examples, traces, strict=True)]
    return Answers(family, examples, tuple(traces), np.array(correct, dtype=float))


def uncertainties(traces: Sequence[Trace]) -> dict[str, np.ndarray]:
    """Return each method's uncertainty (A,) of the answers: the baselines, then RAUQ by alignment and alpha."""
    rows = {
        "MSP": np.array([-trace.logprobs.sum(dtype=float) for trace in traces]),
        "perplexity": np.array([-trace.logprobs.mean(dtype=float) for trace in traces]),
        "mean entropy": np.array([trace.entropies.mean() for trace in traces]),
    }
    for alignment in _ALIGNMENTS:
        answers = rauq.batch(traces, alignment)
        for alpha in _ALPHAS:
            settings = Settings(alpha=alpha, alignment=alignment)
            rows[f"RAUQ {alignment} {alpha:.1f}"] = rauq.score_many(answers, settings).uncertainty
    return rows


def rank(answers: Answers) -> list[Ranking]:
    """Return PRR and ROC-AUC of every method."""
    return [
        Ranking(method, *(estimate(metric, uncertainty, answers.correct) for metric in (prr, roc_auc)))
        for method, uncertainty in uncertainties(answers.traces).items()
    ]


def compare(answers: Answers) -> list[GroupControl]:
    """Return the effect of permuting attention on the PRR of RAUQ at the paper's alpha, in both alignments."""
    names = [answers.family] * len(answers.traces)
    how = partial(control_groups, metric="prr", thresholds=Thresholds())
    batches = (rauq.batch(answers.traces, alignment) for alignment in _ALIGNMENTS)
    return [how(batch, answers.correct, names, groups_of(names))[0] for batch in batches]


def latency(model: LanguageModel, prompts: Sequence[str]) -> float:
    """Return the mean seconds of one answer, one prompt at a time."""
    model.generate(prompts[0], max_new_tokens=_LONGEST)  # a warm-up call
    started = time.perf_counter()
    for prompt in prompts:
        model.generate(prompt, max_new_tokens=_LONGEST, last_row=True)
    return (time.perf_counter() - started) / len(prompts)


def accuracy_table(families: Iterable[Answers]) -> str:
    """Return the share of correct answers by family and stratum, as Markdown."""
    lines = [
        "| family | stratum | prompts | correct | mean MSP of correct answers | of incorrect answers |",
        "|---|---|---|---|---|---|",
    ]
    for answers in families:
        sizes = Counter(example.stratum for example in answers.examples)
        msp = np.array([-trace.logprobs.sum() for trace in answers.traces])
        for stratum, size in sizes.items():
            inside = np.array([example.stratum == stratum for example in answers.examples])
            right = answers.correct[inside].mean()
            means = [_mean(msp[inside & (answers.correct == value)]) for value in (1, 0)]
            lines.append(f"| {answers.family} | {stratum} | {size} | {right:.2f} | {means[0]} | {means[1]} |")
    return "\n".join(lines)


def _mean(values: np.ndarray) -> str:
    return f"{values.mean():.2f}" if len(values) else "none"


def ranking_table(rankings: Mapping[Family, list[Ranking]], *, methods: Sequence[str] | None = None) -> str:
    """Return PRR and ROC-AUC by method and family, as Markdown."""
    families = list(rankings)
    lines = [
        "| method | " + " | ".join(f"{family} PRR | ROC-AUC" for family in families) + " |",
        "|---|" + "---|---|" * len(families),
    ]
    for rows in zip(*rankings.values(), strict=True):
        cells = [f"{_number(row.prr)} | {_number(row.roc_auc)}" for row in rows]
        if methods is None or rows[0].method in methods:
            lines.append(f"| {rows[0].method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def control_table(controls: Mapping[Family, list[GroupControl]]) -> str:
    """Return the control by alignment, exchange and family, as Markdown: PRR, then real minus it."""
    families = list(controls)
    lines = [
        "| alignment | attention | " + " | ".join(f"{family} PRR | real minus it" for family in families) + " |",
        "|---|---|" + "---|---|" * len(families),
    ]
    for found in zip(*controls.values(), strict=True):
        for rows in zip(*(one.exchanged for one in found), strict=True):
            differences = (row.difference for row in rows)
            numbers = [_number(one, sign="+") for one in differences]
            cells = [f"{row.estimate.value:.3f} | {number}" for row, number in zip(rows, numbers, strict=True)]
            lines.append(f"| {found[0].alignment} | {rows[0].exchange} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _number(one: Estimate, *, sign: str = "") -> str:
    interval = f" [{one.low:{sign}.3f}, {one.high:{sign}.3f}]"
    return f"{one.value:{sign}.3f}{'' if one.no_interval else interval}"


def report(model: LanguageModel) -> str:
    """Return the whole evaluation as Markdown."""
    families = [answer(model, family) for family in FAMILIES]
    ended = np.mean([trace.stop_reason in ("eos", "stop") for answers in families for trace in answers.traces])
    prompts = [example.prompt for answers in families for example in answers.examples]
    seconds = latency(model, prompts[:: len(prompts) // _TIMED])
    rankings = {answers.family: rank(answers) for answers in families}
    controls = {answers.family: compare(answers) for answers in families}
    return "\n\n".join(
        [
            accuracy_table(families),
            f"Ends by itself: {ended:.1%}. Mean latency of an answer: {seconds:.2f} s.",
            ranking_table(rankings),
            control_table(controls),
        ]
    )
