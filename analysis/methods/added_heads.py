"""RAUQ combined with the attention of a few heads that are chosen on labelled answers: ours, not the paper's."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from types import MappingProxyType

import numpy as np

from analysis.answer_sets.separation import Labelled, areas, labelled
from analysis.answer_sets.sides import Sides, sides
from analysis.answer_sets.word_attention import WordAttention
from analysis.methods.comparison import NO_GROUP, JudgedGroups, Ranking, difference, groups_of, judged_groups, ranking
from analysis.quality.judgement import Thresholds
from analysis.runs.opened import Run
from analysis.stats import Estimate, in_words, is_slight, prr, sign_of
from rauq.detectors.added_heads import AddedHeads as FittedHeads
from rauq.labels import listed, number

SIZES = (2, 5, 10)  # heads
DRAWS = 100  # of random heads
LABELS = (30, 50, 100, 200, 400)
_LABEL_DRAWS = 10

ADDED_NAMES = MappingProxyType(
    {
        "heads": "{k} chosen heads",
        "words": "words of these heads",
        "residual": "these heads without words",
        "all": "mean over all heads, no labels",
        "length": "number of tokens",
        "exported": "heads on the scale of other groups",
    }
)

_CONTROLS = MappingProxyType({"length": "the number of tokens", "words": "the words of these heads alone"})

Chooser = Callable[[str], np.ndarray]
_Scored = tuple[np.ndarray, list[Ranking]]  # a score (A,), and its ranking in each part


@dataclass(frozen=True, eq=False, kw_only=True)
class Candidates:
    """A answers, each with RAUQ's `uncertainty` (A,), its `length` in tokens (A,), its quality and its `groups` (A,).

    `heads` are K (layer, head); `means` (A, K) is their mean attention, `expected` (A, K) what is expected of it from
    words alone and `residual` (A, K) what words say nothing of; None where these are unknown. `clusters` (A,): the
    question of each; None: each has its own.
    """

    uncertainty: np.ndarray
    length: np.ndarray
    quality: np.ndarray
    sides: Sides
    groups: tuple[str, ...]
    heads: tuple[tuple[int, int], ...]
    means: np.ndarray
    expected: np.ndarray | None
    residual: np.ndarray | None = None
    clusters: np.ndarray | None = None


def candidates(
    run: Run,
    rows: np.ndarray,
    *,
    uncertainty: np.ndarray,
    means: np.ndarray,
    thresholds: Thresholds,
    words: WordAttention | None = None,
    clusters: np.ndarray | None = None,
) -> Candidates:
    """The heads of the stored layers for the answers `rows` (n,) of a run, with the `uncertainty` (n,) of RAUQ.

    `means` (n, L, H) are of all layers; `words` (A, L', H) and `clusters` (A,) are of all answers of the run.
    """
    quality, stored = run.answers["quality"].to_numpy(dtype=float)[rows], run.stored_layers
    places = [run.answerer.layers.index(layer) for layer in stored]
    return Candidates(
        uncertainty=uncertainty,
        length=run.lengths[rows].astype(float),
        quality=quality,
        sides=sides(quality, thresholds),
        groups=tuple(run.answers["group"].iloc[rows]),
        heads=tuple((layer, head) for layer in stored for head in range(run.answerer.num_heads)),
        means=means[:, places].reshape(len(rows), -1).astype(float),
        expected=None if words is None else words.expected[rows].reshape(len(rows), -1),
        residual=None if words is None else words.residual[rows].reshape(len(rows), -1),
        clusters=None if clusters is None else clusters[rows],
    )


@dataclass(frozen=True)
class WithLabels:
    """The mean difference to RAUQ with `n` labelled answers, over several draws, and the range of the draws."""

    n: int
    mean: float
    low: float
    high: float


@dataclass(frozen=True, eq=False, kw_only=True)
class AddedHeads:
    """PRR within groups that chose no head: of `rauq` alone, of `combined` with `k` heads, and differences to RAUQ.

    `differences` are by what is added to RAUQ: "heads", "words", "residual", "all" (the mean over all heads), "length",
    and "exported" (the heads, with both parts standardised by the other groups, as for an answer of an unknown group);
    `over`: of RAUQ + heads minus RAUQ with another addition, by its name; `random` (D,): of as many random heads, one
    for each draw. `chosen`: how many of the groups each (layer, head) is used in, the most frequent first. `labels`:
    the difference by number of labels. `reason` says why all is undefined.
    """

    k: int
    rauq: Estimate
    combined: Estimate
    differences: dict[str, Estimate]
    over: dict[str, Estimate]
    random: np.ndarray
    chosen: tuple[tuple[tuple[int, int], int], ...]
    labels: tuple[WithLabels, ...]
    reason: str = ""

    @property
    def matched_by(self) -> tuple[str, ...]:
        """The controls, length and words, that RAUQ + heads is not better than beyond noise, by their names.

        What the heads add beyond words must also be there where words are taken out of their attention.
        """
        found = {name: [self.over[name]] for name in _CONTROLS if name in self.over}
        if "residual" in self.differences:
            found.setdefault("words", []).append(self.differences["residual"])
        return tuple(name for name, several in found.items() if min(map(sign_of, several)) < 1)

    @property
    def is_gain(self) -> bool:
        """Whether heads add to RAUQ, and more than the number of tokens and than words do."""
        return not self.reason and sign_of(self.differences["heads"]) == 1 and not self.matched_by


@dataclass(frozen=True, eq=False)
class _Setup:
    """What all additions share: the answers that count, RAUQ standardised (A,), and the rows (n,) of each group."""

    given: Candidates
    counted: Labelled
    base: np.ndarray
    among: JudgedGroups
    rows: dict[str, np.ndarray]


def added_heads(given: Candidates, *, k: int, thresholds: Thresholds, draws: int = DRAWS, seed: int = 0) -> AddedHeads:
    """Choose k heads for each group by ROC-AUC on all other groups, and judge RAUQ with these within the group.

    The score is RAUQ minus the mean of the heads' mean attention, each standardised within the group, which needs no
    labels. The number of tokens is added to RAUQ, since longer answers are often the less certain ones.
    """
    counted = labelled(given.means, given.sides, given.groups, clusters=given.clusters)
    if reason := _why_not(counted, given, k):
        return _undefined(given, k, reason)
    groups = groups_of(given.groups, clusters=given.clusters)
    among = judged_groups(groups, given.quality, metric="prr", thresholds=thresholds)
    if not any(part.is_averaged for part in among.own):
        return _undefined(given, k, NO_GROUP)
    base = standardised(given.uncertainty, given.groups)
    setup = _Setup(given, counted, base, among, {group.name: group.rows for group in groups[1:]})
    chosen = _chosen(given, counted, setup.rows, k)
    scores = {name: _combined(setup, values, chosen.__getitem__) for name, values in _added(given).items()}
    scores["all"] = base - standardised(given.means.mean(axis=1), given.groups)
    scores["length"] = base + standardised(given.length, given.groups)
    scores["exported"] = _scaled_by_others(given, counted, setup.rows, chosen)
    scored = {name: (values, _ranked(values, among)) for name, values in {"rauq": base, **scores}.items()}
    rng = np.random.default_rng(seed)
    return AddedHeads(
        k=k,
        rauq=_within(scored["rauq"][1], among).estimate,
        combined=_within(scored["heads"][1], among).estimate,
        differences={name: _difference(among, scored[name], scored["rauq"]) for name in scores},
        over={name: _difference(among, scored["heads"], scored[name]) for name in scores if name != "heads"},
        random=np.array([_gain(setup, _random(rng, given, k)) for _ in range(draws)]),
        chosen=_frequencies(given, chosen),
        labels=_by_labels(setup, k, rng),
    )


def _undefined(given: Candidates, k: int, reason: str) -> AddedHeads:
    nothing = Estimate(np.nan, np.nan, np.nan, 0, len(given.quality), reason)
    empty = np.empty(0)
    return AddedHeads(
        k=k, rauq=nothing, combined=nothing, differences={}, over={}, random=empty, chosen=(), labels=(), reason=reason
    )


def _why_not(counted: Labelled, given: Candidates, k: int) -> str:
    if counted.reason:
        return counted.reason
    if len(counted.names) < 2:
        return "only one group has correct and incorrect answers, and choosing heads needs another one"
    return f"there are {len(given.heads)} heads to choose {k} of" if len(given.heads) < k else ""


def standardised(values: np.ndarray, groups: Sequence[str]) -> np.ndarray:
    """Values (A,) minus the mean of their group, in units of its standard deviation; 0 in a group of equal ones."""
    found, names = np.full(len(values), np.nan), np.asarray(groups, dtype=object)
    for name in set(groups):
        rows = np.flatnonzero((names == name) & np.isfinite(values))
        if len(rows):
            centred = values[rows] - values[rows].mean()
            found[rows] = centred / (centred.std() or 1.0)
    return found


def _added(given: Candidates) -> dict[str, np.ndarray]:
    """What is taken from RAUQ, by its name (A, K): mean attention, what words explain of it, and the rest."""
    several = {"heads": given.means, "words": given.expected, "residual": given.residual}
    return {name: own for name, own in several.items() if own is not None}


def _combined(setup: _Setup, values: np.ndarray, heads_of: Chooser) -> np.ndarray:
    """RAUQ, standardised (A,), minus the standardised mean of the chosen heads' values (A, K) in each group."""
    taken = np.zeros(len(setup.base))
    for name, rows in setup.rows.items():
        if len(heads := heads_of(name)):
            taken[rows] = values[np.ix_(rows, heads)].mean(axis=1)
    return setup.base - standardised(taken, setup.given.groups)


def _chosen(given: Candidates, counted: Labelled, rows: Mapping[str, np.ndarray], k: int) -> dict[str, np.ndarray]:
    """The k heads of each group, by the answers of all others."""
    return {name: best_heads(areas(given.means, counted.among(_others(counted, name))), k) for name in rows}


def added_scores(given: Candidates, *, k: int) -> np.ndarray:
    """RAUQ minus the mean attention of k heads (A,), which are chosen for each group on all other groups.

    Both are in units of their standard deviation in the other groups. All nan where no heads can be chosen.
    """
    counted = labelled(given.means, given.sides, given.groups, clusters=given.clusters)
    if _why_not(counted, given, k):
        return np.full(len(given.uncertainty), np.nan)
    rows = {group.name: group.rows for group in groups_of(given.groups, clusters=given.clusters)[1:]}
    return _scaled_by_others(given, counted, rows, _chosen(given, counted, rows, k))


def _scaled_by_others(
    given: Candidates, counted: Labelled, rows_of: Mapping[str, np.ndarray], chosen: Mapping[str, np.ndarray]
) -> np.ndarray:
    """RAUQ minus the mean of the heads chosen for each group (A,), both standardised by the answers of other groups."""
    found = np.full(len(given.uncertainty), np.nan)
    for name, rows in rows_of.items():
        heads, others = chosen[name], np.setdiff1d(counted.rows, rows)
        taken = given.means[:, heads].mean(axis=1) if len(heads) else np.zeros(len(found))
        found[rows] = given.uncertainty[rows] / _spread(given.uncertainty[others])
        found[rows] -= taken[rows] / _spread(taken[others])
    return found


def _spread(values: np.ndarray) -> float:
    """The standard deviation, 1 where it is 0; their means would change no ranking within a group."""
    return float(np.nanstd(values)) or 1.0


def best_heads(area: np.ndarray, k: int) -> np.ndarray:
    """The k heads whose attention is most often higher in correct answers; none where the areas are undefined."""
    return np.argsort(-area, kind="stable")[:k] if np.isfinite(area).all() else np.empty(0, int)


def _others(counted: Labelled, name: str) -> np.ndarray:
    """Which of the answers that count (n,) are of other groups, and to questions that this one does not have."""
    own = np.array([one == name for one in counted.names])[counted.group]
    return np.asarray(~np.isin(counted.cluster, counted.cluster[own]))


def _random(rng: np.random.Generator, given: Candidates, k: int) -> Chooser:
    return lambda _: rng.choice(len(given.heads), size=k, replace=False)


def _gain(setup: _Setup, heads_of: Chooser) -> float:
    """Mean over groups of the PRR with the heads of each, minus that of RAUQ alone."""
    combined = _combined(setup, setup.given.means, heads_of)
    parts = [part for part in setup.among.own if part.is_averaged]
    gains = [prr(combined[part.rows], part.truth) - prr(setup.base[part.rows], part.truth) for part in parts]
    return float(np.mean(gains))


def _by_labels(setup: _Setup, k: int, rng: np.random.Generator) -> tuple[WithLabels, ...]:
    """The gain by number of labelled answers, for the numbers that there are without any one group."""
    available = min(int(_others(setup.counted, name).sum()) for name in setup.rows)
    found = []
    for n in takewhile(lambda n: n <= available, LABELS):
        gains = [_gain(setup, _labelling(setup, n, k, rng)) for _ in range(_LABEL_DRAWS)]
        found.append(WithLabels(n, float(np.mean(gains)), min(gains), max(gains)))
    return tuple(found)


def _labelling(setup: _Setup, n: int, k: int, rng: np.random.Generator) -> Chooser:
    """Heads for a group by n answers drawn from the others; none where these have no group with both sides."""

    def heads_of(name: str) -> np.ndarray:
        chosen = np.zeros(len(setup.counted.rows), dtype=bool)
        chosen[rng.choice(np.flatnonzero(_others(setup.counted, name)), size=n, replace=False)] = True
        return best_heads(areas(setup.given.means, setup.counted.among(chosen)), k)

    return heads_of


def _ranked(values: np.ndarray, among: JudgedGroups) -> list[Ranking]:
    return [ranking(values[part.rows], part) for part in among.parts]


def _within(rankings: Sequence[Ranking], among: JudgedGroups) -> Ranking:
    """The mean within groups."""
    return among.reported(rankings)[1]


def _difference(among: JudgedGroups, own: _Scored, other: _Scored) -> Estimate:
    """The mean within groups of the PRR of one score minus that of another, paired."""
    found = [
        difference((own[0][part.rows], own[1][at]), (other[0][part.rows], other[1][at]), part)
        for at, part in enumerate(among.parts)
    ]
    return _within(found, among).estimate


def _frequencies(given: Candidates, chosen: dict[str, np.ndarray]) -> tuple[tuple[tuple[int, int], int], ...]:
    places, counts = np.unique(np.concatenate(list(chosen.values())).astype(int), return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return tuple((given.heads[int(places[at])], int(counts[at])) for at in order)


def added_heads_claim(found: AddedHeads) -> str:
    """Whether RAUQ ranks better with heads in groups that did not choose them."""
    if found.reason:
        return f"RAUQ + heads is undefined: {found.reason}"
    sign = sign_of(found.differences["heads"])
    if sign < 1:
        return f"{found.k} further heads {'make RAUQ rank worse' if sign else 'are not shown to improve RAUQ'}"
    matched = listed([_CONTROLS[name] for name in found.matched_by])
    but = f"; that they do more than {matched} is not shown" if matched else ""
    return f"{found.k} further heads improve RAUQ{but}"


def added_heads_sentence(found: AddedHeads) -> str:
    """Whether RAUQ ranks better with heads in groups that did not choose them, and whether a control does as well."""
    if found.reason:
        return f"RAUQ + heads is undefined: {found.reason}."
    own = found.differences["heads"]
    change = f"PRR within groups {_two(found.rauq.value)} with RAUQ, {_two(found.combined.value)} with"
    return f"{change} RAUQ + {found.k} heads: difference {_signed(own)}, {_verdict(found)}. {_against_controls(found)}"


def _verdict(found: AddedHeads) -> str:
    """Better only where heads add more than the number of tokens and words do."""
    own = found.differences["heads"]
    if sign_of(own) < 1:
        return "worse" if sign_of(own) else "a very small change" if is_slight(own) else "no significant change"
    matched = " or ".join(_CONTROLS[name] for name in found.matched_by)
    return f"better, but not significantly better than RAUQ + {matched}" if matched else "better"


def _against_controls(found: AddedHeads) -> str:
    """Whether the heads add more than what knows less: no labels, words alone, or random heads."""
    reached = number(100 * float((found.random >= found.differences["heads"].value).mean()), places=0)
    names = {"all": "the mean over all heads, which needs no labels", **_CONTROLS}
    others = [
        f"Compared with RAUQ + {name}: {_signed(found.over[key])}{_noise(found.over[key])}."
        for key, name in names.items()
        if key in found.over
    ]
    return f"{' '.join(others)} {reached} % of draws of random heads do as well."


def _noise(estimate: Estimate) -> str:
    return "" if estimate.no_interval or sign_of(estimate) or is_slight(estimate) else ", not significant"


def added_heads_caption(found: AddedHeads) -> str:
    """How heads are chosen and what the figure compares."""
    if found.reason:
        return "Ours, not the paper's."
    return (
        "Ours, not the paper's. Heads of layers stored per token, chosen by ROC-AUC on all other groups; score: RAUQ "
        "minus their mean attention over the whole answer, each standardised within the group. 95 % "
        f"intervals; random heads: 95 % of {len(found.random)} draws."
    )


def chosen_sentence(found: AddedHeads) -> str:
    """Which heads are chosen for most groups; "" where none is."""
    heads = [f"layer {layer} head {head} ({count})" for (layer, head), count in found.chosen[: found.k]]
    return f"Most often chosen, with the number of groups: {', '.join(heads)}." if heads else ""


def added_heads_file_caption(fitted: FittedHeads, *, is_judged: bool) -> str:
    """Which heads a detector adds, on which answers it was fitted, and where it is used.

    `is_judged`: the figure above shows how it ranks answers of groups that it has not seen.
    """
    heads = ", ".join(f"layer {layer} head {head}" for layer, head in fitted.heads)
    return (
        f"The detector adds {heads}, chosen by all {len(fitted.reference):,} answers shown. How it ranks answers of an "
        f"unseen group: {'last row above' if is_judged else 'unknown, as said above'}. It scores answers of this model "
        "in Inspect and in Python."
    )


def _signed(estimate: Estimate) -> str:
    return in_words(estimate) if estimate.value <= 0 or estimate.reason else f"+{in_words(estimate)}"


def _two(value: float) -> str:
    return number(value, places=2)
