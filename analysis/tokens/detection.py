"""Which tokens of an answer state something incorrect, and which signal finds them: ROC-AUC and average precision.

Tokens are marked by the judge of facts, by a column of the file, or by hand. Three comparisons, since a signal can be
high on every name, wrong or not:

- `wrong`: wrong tokens against the other tokens of the same incorrect answers;
- `right`: tokens that state a correct fact against the other tokens of the same correct answers, the control;
- `place`: the first token of a wrong fact against that of a correct one, in answers of one group, at one position.

All tokens counted show text and have a previous token within the answer. Ours, not the paper's.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, get_args

import numpy as np

from analysis.answer_sets.clusters import LEAST_FOR_INTERVAL, clusters_or_own
from analysis.answer_sets.separation import Separation, areas_with_interval, labelled, separation
from analysis.answer_sets.sides import Sides
from analysis.datasets.example import Example
from analysis.intervals import estimate, mean_estimate, scale_of
from analysis.quality.facts import stated_facts
from analysis.quality.judgement import Statement, Thresholds, fact_spans, load_statements
from analysis.quality.measures import EXACT_TRUTH, FACTS
from analysis.runs.opened import Run
from analysis.runs.traces import Tokens, tokens
from analysis.stats import Estimate, Metric, average_precision, roc_auc
from analysis.tokens.each_answer import average_precision_of_each, roc_auc_of_each
from rauq.scoring.score import collapse_many, score_many
from rauq.scoring.settings import Settings
from rauq.trace.batch import Batch, Blocks
from rauq.trace.parts import shows_text, tokens_in
from rauq.trace.trace import Trace


@dataclass(frozen=True, eq=False)
class Marks:
    """The N tokens of an answer part: which are `wrong`, which state a correct fact (`right`), which are `shown`.

    A token is shown where it has text: white space alone and the end token are never counted.
    """

    wrong: np.ndarray
    right: np.ndarray
    shown: np.ndarray


def marks_of_run(run: Run, thresholds: Thresholds) -> tuple[Marks, ...]:
    """The marks of every answer of a run (A,).

    Where the data set marks the wrong spans of an answer, these are wrong, and nothing is right; unclear spans are left
    out. Where it names wrong texts, these are wrong, and its other facts are right. Else the
    judge of the run says of each fact that an answer states whether it is correct; where it does not, the facts of an
    answer are wrong if the answer is incorrect by the thresholds, and right if it is correct.

    Raises:
        RunError: a shard can no longer be read.
    """
    judge = {FACTS: stated_facts, EXACT_TRUTH: load_statements()}.get(run.manifest.request.quality)
    answers = run.answers
    rows = zip(answers["number"], answers["answer"], answers["quality"], tokens(run), strict=True)
    found = []
    for number, text, quality, own in rows:
        example = run.examples[number]
        stated = judge(example, text) if judge and not example.wrong else None
        found.append(marks_of_answer(example, text, own, stated, correct=thresholds.decide(float(quality))))
    return tuple(found)


def marks_of_answer(
    example: Example, text: str, own: Tokens, stated: Sequence[Statement] | None, *, correct: bool | None
) -> Marks:
    """The marks of one answer, whose judged `text` is that of its tokens."""
    if example.wrong_spans or example.unclear_spans:
        wrong = _tokens(own, example.wrong_spans)
        unclear = _tokens(own, example.unclear_spans) & ~wrong
        return Marks(wrong, np.zeros_like(wrong), own.shown & ~unclear)
    if example.wrong:
        wrong = _tokens(own, fact_spans(text, example.wrong))
        return Marks(wrong, own.fact & ~wrong, own.shown)
    if stated is None:
        none = np.zeros_like(own.fact)
        return Marks(own.fact if correct is False else none, own.fact if correct else none, own.shown)
    sides = [[(one.start, one.end) for one in stated if one.correct is side] for side in (False, True)]
    wrong, right = (_tokens(own, spans) for spans in sides)
    return Marks(wrong, right & ~wrong, own.shown)


def _tokens(own: Tokens, spans: Iterable[tuple[int, int]]) -> np.ndarray:
    return tokens_in(own.texts, spans) & own.shown


def marks_by_hand(trace: Trace) -> Marks:
    """The marks that a user made in Inspect: `trace.wrong`, and nothing is marked as right."""
    wrong = np.isin(np.arange(len(trace.answer_ids)), trace.wrong)
    return Marks(wrong, np.zeros_like(wrong), shows_text(trace))


Signal = Literal["collapse", "probability", "entropy", "selected", "best"]
Comparison = Literal["wrong", "right", "place"]
SIGNALS: tuple[Signal, ...] = get_args(Signal)
COMPARISONS: tuple[Comparison, ...] = get_args(Comparison)
LEAST = 10  # answers, or pairs of a place: with fewer there is no number
_PERMUTATIONS = 200


@dataclass(frozen=True, eq=False, kw_only=True)
class TokenSignals:
    """T tokens of A answers that show text and have attention: higher is less certain.

    `answer` (T,) and `position` (T,) say where a token stands. `signals` (T, 4): collapse in nats, 1 - probability,
    entropy in nats, 1 - attention of the head that gives the score. `heads` (T, L', H): 1 - attention of every head of
    `layers`. `wrong` and `right` (T,) are the marks, and a fact `begins` (T,) at the first of its tokens.
    """

    answer: np.ndarray
    position: np.ndarray
    signals: np.ndarray
    heads: np.ndarray
    layers: tuple[int, ...]
    wrong: np.ndarray
    right: np.ndarray
    begins: np.ndarray


class Ranked(NamedTuple):
    """ROC-AUC and average precision: means over answers, and pooled over all their tokens."""

    auc: Estimate
    pooled_auc: Estimate
    precision: Estimate
    pooled_precision: Estimate


@dataclass(frozen=True, eq=False, kw_only=True)
class Found:
    """What one signal finds; `place` is a ROC-AUC alone."""

    wrong: Ranked
    right: Ranked
    place: Estimate


@dataclass(frozen=True, eq=False, kw_only=True)
class Detection:
    """Every signal, in the order of SIGNALS, and every head by itself.

    `heads`: ROC-AUC of each head's attention (L', H) within incorrect answers, above 0.5 where wrong tokens have less.
    `incorrect` and `correct`: how many answers have such tokens and others; `share`: of their tokens, the wrong ones
    and the right ones; `places`: how many wrong and correct facts are compared at the same place.
    `answers`: all with a token that counts.
    """

    found: tuple[Found, ...]
    heads: Separation
    layers: tuple[int, ...]
    answers: int
    incorrect: int
    correct: int
    shares: tuple[float, float]
    places: tuple[int, int]


def token_signals(answers: Batch | Blocks, marks: Sequence[Marks], settings: Settings | None = None) -> TokenSignals:
    """The signals of all answers of a batch under settings, with the marks of each answer's tokens.

    Raises:
        InvalidInput: settings that do not fit the batch.
    """
    settings = settings or Settings(alignment=answers.alignment)
    collapse = collapse_many(answers, settings)
    parts = [
        _signals_in(one, places, [collapse[place] for place in places], settings, marks)
        for places, one in answers.blocks()
    ]
    answer, position, signals, heads = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.lexsort([position, answer])
    answer, position = answer[order], position[order]
    wrong, right = (_at([getattr(mark, side) for mark in marks], answer, position) for side in ("wrong", "right"))
    facts = [mark.wrong | mark.right for mark in marks]
    return TokenSignals(
        answer=answer,
        position=position,
        signals=signals[order],
        heads=heads[order],
        layers=answers.layers,
        wrong=wrong,
        right=right,
        begins=_at(facts, answer, position) & ~_at(facts, answer, position - 1),
    )


def _at(masks: Sequence[np.ndarray], answer: np.ndarray, position: np.ndarray) -> np.ndarray:
    starts = np.cumsum([0, *(len(mask) for mask in masks)])
    return np.concatenate([*masks, np.zeros(0, dtype=bool)])[starts[answer] + position]


def _signals_in(
    batch: Batch, places: np.ndarray, collapse: Sequence[np.ndarray], settings: Settings, marks: Sequence[Marks]
) -> tuple[np.ndarray, ...]:
    """Answers (t,), positions (t,), signals (t, 4) and heads (t, L', H) of the t tokens of one batch that count."""
    empty = np.zeros(len(places), dtype=bool) if batch.empty is None else batch.empty
    shown = [marks[place].shown[1:] & ~none for place, none in zip(places, empty, strict=True)]
    kept = [np.flatnonzero(mask) + 1 for mask in shown]
    row = np.repeat(np.arange(len(places)), [len(tokens) for tokens in kept])
    token = np.concatenate([*kept, np.zeros(0)]).astype(np.int64)
    heads = 1 - batch.attention[row, :, :, token - 1].astype(np.float32)  # (t, L', H)
    signals = [
        np.concatenate([*(own[tokens] for own, tokens in zip(collapse, kept, strict=True)), np.zeros(0)]),
        -np.expm1(batch.logprobs[row, token]),
        batch.entropies[row, token],
        _of_selected_head(batch, heads, row, settings),
    ]
    return places[row], token, np.stack(signals, axis=-1), heads


def _of_selected_head(batch: Batch, heads: np.ndarray, row: np.ndarray, settings: Settings) -> np.ndarray:
    """The signal (t,) of the head that gives the score; nan where no single one does."""
    scores = score_many(batch, settings)
    inside = np.isin(scores.layer, scores.layers)
    column = np.where(inside, np.searchsorted(scores.layers, scores.layer), 0)
    head = np.where(inside, scores.heads[np.arange(len(column)), column], -1)
    layer = batch.rows(scores.layers)[column]
    values = heads[np.arange(len(row)), layer[row], np.maximum(head[row], 0)]
    return np.where(head[row] < 0, np.nan, values)


def detect(given: TokenSignals, groups: Sequence[str], *, clusters: np.ndarray | None = None) -> Detection:
    """Compare every signal; `groups` (A,) are those of the answers, `clusters` (A,) those that answer one question.

    The best head of an answer is chosen on the answers of the other half, by ROC-AUC within incorrect answers.
    """
    wrong = _Marked(_with_both(given, given.wrong), given.wrong)
    right = _Marked(_with_both(given, given.right & ~_has(given, given.wrong)), given.right)
    signals = np.column_stack([given.signals, _best_head(given, wrong.kept)])
    cluster = clusters_or_own(clusters, len(groups))
    place = _places(given, groups)
    return Detection(
        found=tuple(
            Found(
                wrong=_ranked(values, given, wrong, cluster),
                right=_ranked(values, given, right, cluster),
                place=_at_place(values, place, cluster[given.answer]),
            )
            for values in signals.T
        ),
        heads=_separated(given, wrong.kept, given.wrong),
        layers=given.layers,
        answers=len(np.unique(given.answer)),
        incorrect=len(np.unique(given.answer[wrong.kept])),
        correct=len(np.unique(given.answer[right.kept])),
        shares=(wrong.share, right.share),
        places=(int(place.wrong.sum()), int((~place.wrong).sum())),
    )


class _Marked(NamedTuple):
    """Tokens (T,) to compare: those of answers that have marked and other ones, and which are marked."""

    kept: np.ndarray
    marked: np.ndarray

    @property
    def share(self) -> float:
        return float(self.marked[self.kept].mean()) if self.kept.any() else math.nan


def _has(given: TokenSignals, marked: np.ndarray) -> np.ndarray:
    """Whether the answer of each token has a marked one: (T,)."""
    return np.bincount(given.answer, marked)[given.answer] > 0 if len(marked) else marked


def _with_both(given: TokenSignals, marked: np.ndarray) -> np.ndarray:
    """Which tokens (T,) are of an answer that has both marked and other tokens."""
    return _has(given, marked) & _has(given, ~marked)


def _separated(given: TokenSignals, kept: np.ndarray, marked: np.ndarray) -> Separation:
    sides = Sides(correct=marked & kept, incorrect=~marked & kept)  # more of the signal in marked tokens is above 0.5
    return separation(given.heads, sides, given.answer.astype(str), permutations=_PERMUTATIONS)


def _best_head(given: TokenSignals, kept: np.ndarray) -> np.ndarray:
    """The signal (T,) of the head that is best on the other half of the answers; nan where none can be chosen."""
    found = np.full(len(given.answer), np.nan)
    half = _halves(given.answer, kept)
    for own in (0, 1):
        best = _separated(given, kept & (half != own), given.wrong)
        if not best.labelled.reason:
            layer, head = np.unravel_index(int(best.auc.argmax()), best.auc.shape)
            found[half == own] = given.heads[half == own, layer, head]
    return found


def _halves(answer: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """0 or 1 for each token (T,), by its answer: every other one of those `kept`, and of the rest."""
    names, own = np.unique(answer, return_inverse=True)
    used = np.bincount(own, kept, minlength=len(names)) > 0
    return np.where(used, np.cumsum(used), np.cumsum(~used))[own] % 2


def _ranked(values: np.ndarray, given: TokenSignals, of: _Marked, cluster: np.ndarray) -> Ranked:
    used = of.kept & np.isfinite(values)
    answer, count = given.answer[used], len(np.unique(given.answer[used]))
    if reason := _why_not(count, of):
        none = Estimate(math.nan, math.nan, math.nan, count, 0, reason)
        return Ranked(none, none, none, none)
    own = _Own(values[used], of.marked[used], answer, cluster[answer])
    return Ranked(
        auc=_over_answers(roc_auc, own),
        pooled_auc=_pooled(roc_auc, own),
        precision=_over_answers(average_precision, own),
        pooled_precision=_pooled(average_precision, own),
    )


class _Own(NamedTuple):
    """Values of the tokens (T,) that are compared, which are marked, and their answers and questions, by number."""

    values: np.ndarray
    marked: np.ndarray
    answer: np.ndarray
    cluster: np.ndarray


def _why_not(count: int, of: _Marked) -> str:
    if count >= LEAST:
        return ""
    if of.kept.any() and not count:
        return "the signal is undefined under these settings"
    return f"{count or 'no'} answer{'s' * (count != 1)} with such tokens and others: at least {LEAST} are needed"


def _truth(metric: Metric, marked: np.ndarray) -> np.ndarray:
    """What a metric ranks tokens by: ROC-AUC by those that are correct, average precision by those to be found."""
    return (~marked if metric is roc_auc else marked).astype(float)


def _over_answers(metric: Metric, own: _Own) -> Estimate:
    """Mean of a metric of each answer."""
    truth = _truth(metric, own.marked)
    of_each = roc_auc_of_each if metric is roc_auc else average_precision_of_each
    _, first = np.unique(own.answer, return_index=True)
    return mean_estimate(of_each(own.values, truth, own.answer), own.cluster[first], scale=scale_of(metric, truth))


def _pooled(metric: Metric, own: _Own) -> Estimate:
    """The metric over all tokens."""
    return estimate(metric, own.values, _truth(metric, own.marked), clusters=own.cluster)


class _Places(NamedTuple):
    """First tokens of facts, by their place among all tokens (F,): whose fact is wrong, and their strata (F,)."""

    rows: np.ndarray
    wrong: np.ndarray
    stratum: np.ndarray


def _places(given: TokenSignals, groups: Sequence[str]) -> _Places:
    """The first token of the first fact of each answer, wrong or correct, by group and position."""
    facts = np.flatnonzero(given.begins)
    _, first = np.unique(given.answer[facts], return_index=True)
    rows = facts[first]
    strata = [
        f"{position} {groups[answer]}"
        for answer, position in zip(given.answer[rows], given.position[rows], strict=True)
    ]
    return _Places(rows, given.wrong[rows], np.array(strata, dtype=object))


def _at_place(values: np.ndarray, place: _Places, cluster: np.ndarray) -> Estimate:
    """Mean ROC-AUC over strata with both, weighted as `Labelled.weights`; `cluster` (T,): the question of a token."""
    own, sides = values[place.rows][:, None], Sides(correct=~place.wrong, incorrect=place.wrong)
    counted = labelled(own, sides, place.stratum, clusters=cluster[place.rows])
    n = len(counted.rows)
    if min(counted.correct.sum(), (~counted.correct).sum()) < LEAST:
        reason = f"fewer than {LEAST} wrong or correct facts begin at one position of answers of one group"
        return Estimate(math.nan, math.nan, math.nan, n, 0, reason)
    intervals = areas_with_interval(-own, counted)
    value, low, high = (float(one[0]) for one in (intervals.value, intervals.low, intervals.high))
    few = f"fewer than {LEAST_FOR_INTERVAL} questions have a wrong or a correct fact" if math.isnan(low) else ""
    return Estimate(value, low, high, n, len(place.rows) - n, no_interval=few)
