"""What is claimed of heads without an effect, where length, words or repeated questions are at work, and with one."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Literal, get_args

import numpy as np

from analysis.answer_sets.carry_over import HeadSet, carry_over
from analysis.answer_sets.clusters import folds
from analysis.answer_sets.gaps import gaps
from analysis.answer_sets.separation import (
    Separation,
    areas_with_interval,
    by_length,
    held_out,
    labelled,
    separation,
    top_heads,
)
from analysis.answer_sets.sides import Sides
from analysis.answer_sets.word_attention import WordAttention, word_attention
from analysis.methods.added_heads import Candidates, added_heads
from analysis.quality.judgement import Thresholds
from analysis.stats import Intervals
from benchmarks.coverage.row import Row, Task
from rauq.trace.batch import Batch

Case = Literal["no effect", "length alone", "words alone", "repeated questions", "true effect"]
CLAIMED = 0.065  # of simulations without an effect: a right test of 5 % stays below in 98 % of cases
RESIDUAL = 0.098  # the same of 8 %, which is allowed to residuals
ANSWERS, LAYERS, HEADS, WORDS = 300, 6, 15, 100
_FIXED = 50  # a head without an effect of its own
_EFFECTIVE = 10  # heads with one, in the case of a true effect
_PERMUTATIONS = 400
_PARTS = 8  # of the simulations of a case
_NOT_ASKED = {  # what a cause does bring about, so that its claim is right
    "length alone": ("map of heads", "held-out heads", "fixed head", "gap", "carry over"),
    "words alone": (
        *("map of heads", "held-out heads", "fixed head", "gap", "carry over"),
        *("map at equal length", "chosen head at equal length"),
    ),
}


def tasks() -> tuple[Task, ...]:
    """Several for each case, since one takes minutes."""
    return tuple(partial(_part_of, case, part) for case in get_args(Case) for part in range(_PARTS))


def _part_of(case: Case, part: int, *, simulations: int, seed: int) -> Iterator[Row]:
    size = simulations // _PARTS
    return rows_of(case, simulations=size, seed=seed + part * size)


def rows_of(case: Case, *, simulations: int, seed: int) -> Iterator[Row]:
    """A row for each statement in one case: in how many simulations it is claimed."""
    counts: Counter[str] = Counter()
    for number in range(simulations):
        counts.update(claims(simulated(case, seed=seed + number)))
    for statement, hits in counts.items():
        if statement in _NOT_ASKED.get(case, ()):
            continue
        allowed = RESIDUAL if "residual" in statement else CLAIMED
        yield Row(
            statement=statement,
            case=case,
            nominal=0.05,
            hits=hits,
            shown=simulations,
            simulations=simulations,
            bound=None if case == "true effect" else allowed,
            is_claim=True,
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class Answers:
    """Simulated answers: attention by token, tokens, sides, groups, and the question of each."""

    batch: Batch
    ids: tuple[np.ndarray, ...]
    sides: Sides
    groups: tuple[str, ...]
    clusters: np.ndarray
    uncertainty: np.ndarray
    fixed: int

    @property
    def means(self) -> np.ndarray:
        """The mean attention of each head (A, L, H)."""
        return np.nanmean(self.batch.attention.astype(float), axis=-1)


def simulated(case: Case, *, seed: int, effect: float = 0.3) -> Answers:
    """Attention of the pair of tokens, the position, the question and chance; correctness of what the case says."""
    rng = np.random.default_rng(seed)
    copies = 2 if case == "repeated questions" else 1
    count, num = ANSWERS // copies, LAYERS * HEADS
    frequency = 1 / np.arange(1, WORDS + 1)
    length = 2 + rng.binomial(8, 0.35, size=count)
    ids = [rng.choice(WORDS, size=size, p=frequency / frequency.sum()) for size in length]
    good = rng.normal(size=WORDS)  # words of correct answers
    logit = np.zeros(count)
    if case == "length alone":
        logit = -0.8 * (length - length.mean())
    if case == "words alone":
        logit = 2.5 * np.array([good[own].mean() * np.sqrt(len(own)) for own in ids])
    correct = rng.uniform(size=count) < 1 / (1 + np.exp(logit.mean() - logit))
    pair = 0.5 * rng.normal(size=(WORDS, WORDS, num)) + 0.5 * rng.normal(size=(WORDS, 1, num))
    if case == "words alone":
        pair += good[:, None] * rng.normal(size=num)
    position = 0.25 * rng.normal(size=(length.max(), num)) - 0.1 * np.arange(length.max())[:, None] * rng.normal(
        size=num
    )
    own = rng.normal(size=num) + 0.5 * rng.normal(size=(count, num))
    own[:, :_EFFECTIVE] += effect * (case == "true effect") * correct[:, None]
    question = np.repeat(np.arange(count), copies)
    attention = np.full((ANSWERS, num, length.max() - 1), np.nan, np.float16)
    for row, one in enumerate(question.tolist()):
        tokens, steps = ids[one], len(ids[one]) - 1
        logits = own[one] + pair[tokens[:-1], tokens[1:]] + position[:steps] + 0.4 * rng.normal(size=(steps, num))
        attention[row, :, :steps] = (1 / (1 + np.exp(-logits))).T
    blank = np.zeros((ANSWERS, length.max()))
    return Answers(
        batch=Batch(
            attention=attention.reshape(ANSWERS, LAYERS, HEADS, -1), logprobs=blank, entropies=blank,
            lengths=length[question], alignment="predicting", kind="base", vocab_size=WORDS,
            layers=tuple(range(LAYERS)), num_layers=LAYERS,
        ),
        ids=tuple(ids[one] for one in question),
        sides=Sides(correct[question], ~correct[question]),
        groups=tuple(rng.choice(["a", "b", "c"], size=count)[question].tolist()),
        clusters=question,
        uncertainty=rng.normal(size=ANSWERS) - 0.7 * correct[question],
        fixed=0 if case == "true effect" else _FIXED,
    )  # fmt: skip


def claims(given: Answers) -> dict[str, bool]:
    """What is claimed of these answers, by statement."""
    means, sides, groups, lengths = given.means, given.sides, given.groups, given.batch.lengths
    found, same = (
        separation(means, sides, within, clusters=given.clusters, permutations=_PERMUTATIONS)
        for within in (groups, by_length(groups, lengths))
    )
    words = word_attention(given.batch, given.ids, folds(groups, sides, clusters=given.clusters))
    one = means.reshape(ANSWERS, -1)[:, [given.fixed]]
    left = words.residual.reshape(ANSWERS, -1)[:, [given.fixed]]
    return {
        "map of heads": found.beyond_chance,
        "map at equal length": same.beyond_chance,
        "fixed head": _excludes(areas_with_interval(one, found.labelled)),
        "residual of a fixed head": _excludes(
            areas_with_interval(left, labelled(left, sides, groups, clusters=given.clusters))
        ),
        "gap": _excludes(gaps(one, sides, clusters=given.clusters).absolute, chance=0.0),
        **_of_chosen(given, found, same, words),
        "carry over": _carries_over(given),
        "RAUQ + heads": _gains(given, words),
    }


def _excludes(found: Intervals, at: int = 0, *, chance: float = 0.5) -> bool:
    return bool(found.low[at] > chance or found.high[at] < chance)


def _of_chosen(given: Answers, found: Separation, same: Separation, words: WordAttention) -> dict[str, bool]:
    """Claims about the head that one half of the questions chose, on the other."""
    half = held_out(given.means, found.labelled, permutations=_PERMUTATIONS)
    top = top_heads(
        given.means,
        found,
        half,
        same_length=same.labelled,
        expected=words.expected,
        residual=words.residual,
        shares=np.zeros((LAYERS, HEADS)),
    )
    best = top.heads.index(half.heads[0])
    return {
        "held-out heads": half.num_beyond > 0,
        "chosen head at equal length": _excludes(top.same_length, best),
        "residual of a chosen head": _excludes(top.residual, best),
    }


def _carries_over(given: Answers) -> bool:
    """Whether the heads of group "a" are said to carry over to the others, as they are or reversed."""
    first = np.array(given.groups) == "a"
    one, other = (
        HeadSet(
            given.means[rows],
            separation(
                given.means[rows],
                Sides(given.sides.correct[rows], given.sides.incorrect[rows]),
                np.array(given.groups)[rows],
                clusters=given.clusters[rows],
                permutations=1,
            ),
        )
        for rows in (np.flatnonzero(first), np.flatnonzero(~first))
    )
    found = carry_over(one, other, permutations=_PERMUTATIONS)
    return not found.low <= found.correlation <= found.high


def _gains(given: Answers, words: WordAttention) -> bool:
    candidates = Candidates(
        uncertainty=given.uncertainty,
        length=given.batch.lengths.astype(float),
        quality=given.sides.correct.astype(float),
        sides=given.sides,
        groups=given.groups,
        heads=tuple((layer, head) for layer in range(LAYERS) for head in range(HEADS)),
        means=given.means.reshape(ANSWERS, -1),
        expected=words.expected.reshape(ANSWERS, -1),
        residual=words.residual.reshape(ANSWERS, -1),
        clusters=given.clusters,
    )
    return added_heads(candidates, k=5, thresholds=Thresholds(), draws=1).is_gain
