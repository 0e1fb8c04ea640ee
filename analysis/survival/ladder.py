"""The ladder: a signal alone, then with one simpler explanation after the other taken from it.

Every rung is a ROC-AUC or a difference of two, with its 95 % interval by question, and answers one question. The
last says what survived. After arXiv 2605.17028, where most detectors are near chance once leaks are controlled.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from analysis.answer_sets.clusters import folds, shuffled
from analysis.answer_sets.separation import area_estimate, by_length, difference_of_areas, labelled
from analysis.detectors.fit import NUM_FOLDS, group_folds
from analysis.quality.matching import token_f1
from analysis.stats import Estimate, ranks, sign_of
from analysis.survival.beyond import PERMUTATIONS, Beyond, beyond
from analysis.survival.controls import CONTROLS, Control, Crossed, all_of, crossed, held_out
from analysis.survival.labelled import LabelledAnswers, Signal, drawn
from rauq.errors import InvalidInput

Kind = Literal["signal", "chance", "control", "corpus", "difference"]
"""A ROC-AUC of the signal, its range by chance, a ROC-AUC of a control, one that only tells of the corpus, or what
the signal adds."""
LEAST, MOST = 20, 2_000
"""Answers with a signal: fewer are no basis for fits, and of more as many are drawn."""
_DRAWN = 1_000_000  # shuffled values of one rung


@dataclass(frozen=True, kw_only=True)
class Rung:
    """One control: its `question` in plain words, what was found, and a `note` on how to read it.

    `p`: how often chance does as well, nan where it was not asked.
    """

    id: str
    name: str
    question: str
    kind: Kind
    estimate: Estimate
    note: str = ""
    p: float = math.nan


@dataclass(frozen=True, kw_only=True)
class Ladder:
    """All rungs of one signal on one set of answers; the last is what is left beyond all controls together.

    Other answers are `without_signal`, `unjudged`, or `undrawn` where there are more than are fitted.
    """

    signal: str
    data: str
    answers: int
    incorrect: int
    without_signal: int
    unjudged: int
    undrawn: int
    controls: tuple[str, ...]
    rungs: tuple[Rung, ...]
    seed: int

    def of(self, rung: str) -> Rung:
        """The rung of this id."""
        return next(one for one in self.rungs if one.id == rung)

    @property
    def survives(self) -> bool:
        """Whether the signal adds to the controls, beyond noise and enough for a claim."""
        return sign_of(self.of(BEYOND).estimate) > 0


ALONE, BEYOND, LEFT_OUT = "alone", "beyond", "groups_left_out"


@dataclass(frozen=True, eq=False, kw_only=True)
class Prepared:
    """What the controls say of A answers, which is the same for every signal.

    `fold` (A,): of questions; `apart` (A,): of whole groups, None where there is one group. `scores`: the held-out
    uncertainty (A,) of each control alone, by its id. `together` and `together_apart`: of all controls, on either kind
    of folds.
    """

    given: LabelledAnswers
    fold: np.ndarray
    scores: Mapping[str, np.ndarray]
    together: Crossed
    apart: np.ndarray | None
    together_apart: Crossed | None
    seed: int


def prepare(given: LabelledAnswers, *, seed: int = 0) -> Prepared:
    """Fit all controls.

    Raises:
        InvalidInput: fewer than 20 answers, or all of them correct, or all incorrect.
    """
    check_enough(given, "verdicts")
    fold = folds(given.groups, given.sides, clusters=given.clusters, count=NUM_FOLDS, seed=seed)
    apart = None
    if given.num_groups > 1:
        named = group_folds(given.groups, [str(one) for one in given.clusters], most=NUM_FOLDS)
        apart = np.unique(named, return_inverse=True)[1].reshape(-1)
    everything = all_of(given)
    return Prepared(
        given=given,
        fold=fold,
        scores={
            control.id: held_out(control.reads(given), given.incorrect, fold)
            for control in CONTROLS
            if not control.lacking(given)
        },
        together=crossed(everything, given.incorrect, fold),
        apart=apart,
        together_apart=None if apart is None else crossed(everything, given.incorrect, apart),
        seed=seed,
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class _State:
    """What every rung is computed from: what the controls say, and a signal that every answer (A,) has."""

    prepared: Prepared
    signal: Signal
    permutations: int

    @property
    def given(self) -> LabelledAnswers:
        return self.prepared.given

    @property
    def seed(self) -> int:
        return self.prepared.seed

    def area(self, values: np.ndarray, groups: Sequence[str] | np.ndarray | None = None) -> Estimate:
        """ROC-AUC of values (A,), higher where incorrect, among all answers or within groups."""
        names = ["all"] * len(values) if groups is None else groups
        return area_estimate(-values, labelled(values, self.given.sides, names, clusters=self.given.clusters))


def ladder_of(given: LabelledAnswers, signal: Signal, *, seed: int = 0, most: int = MOST) -> Ladder:
    """The ladder of a signal (A,), on `most` of the answers that have it.

    Raises:
        InvalidInput: fewer than 20 answers have a signal, or all of these are correct, or all incorrect.
    """
    return next(ladders_of(given, [signal], seed=seed, most=most))


def ladders_of(
    given: LabelledAnswers, signals: Iterable[Signal], *, seed: int = 0, most: int = MOST
) -> Iterator[Ladder]:
    """The ladders of several signals (A,); the controls are fitted once for those that the same answers have.

    Raises:
        InvalidInput: as `ladder_of`.
    """
    before, prepared = np.zeros(0, dtype=bool), None
    for signal in signals:
        used = _used(given, signal, seed=seed, most=most)
        if prepared is None or not np.array_equal(used, before):
            before, prepared = used, prepare(given.among(used), seed=seed)
        without = int((~np.isfinite(signal.values)).sum())
        ladder = ladder_on(prepared, signal.among(used))
        yield replace(ladder, without_signal=without, undrawn=int((~used).sum()) - without)


def prepared_for(given: LabelledAnswers, signal: Signal, *, seed: int = 0, most: int = MOST) -> Prepared:
    """What the controls say of the answers that `ladder_of` uses.

    Raises:
        InvalidInput: as `ladder_of`.
    """
    return prepare(given.among(_used(given, signal, seed=seed, most=most)), seed=seed)


def _used(given: LabelledAnswers, signal: Signal, *, seed: int, most: int) -> np.ndarray:
    """The answers (A,) that have a signal, or as many of them as are fitted."""
    kept = np.isfinite(signal.values)
    check_enough(given.among(kept), f"numbers of {signal.name}")
    used = kept.copy()
    used[kept] = drawn(given.among(kept), most, seed=seed)
    return used


def ladder_on(prepared: Prepared, signal: Signal) -> Ladder:
    """The rungs of a signal that every one of the answers (A,) has."""
    own = prepared.given
    state = _State(prepared=prepared, signal=signal, permutations=min(PERMUTATIONS, _DRAWN // len(own.incorrect)))
    return Ladder(
        signal=signal.name,
        data=own.name,
        answers=len(own.incorrect),
        incorrect=int(own.incorrect.sum()),
        without_signal=0,
        unjudged=own.unjudged,
        undrawn=0,
        controls=tuple(control.kind for control in CONTROLS if control.id in prepared.scores),
        rungs=tuple(_rungs(state)),
        seed=prepared.seed,
    )


def check_enough(given: LabelledAnswers, what: str) -> None:
    """Require answers of both sides, enough of them to fit anything.

    Raises:
        InvalidInput: too few answers, or all on one side.
    """
    count, wrong = len(given.incorrect), int(given.incorrect.sum())
    if count < LEAST or wrong in {0, count}:
        side = "" if count < LEAST else f", all {'incorrect' if wrong else 'correct'}"
        message = (
            f"Too few answers: {given.name} has {count} with {what}{side}. At least {LEAST} are needed, correct and "
            "incorrect ones."
        )
        raise InvalidInput(message)


def _rungs(state: _State) -> Iterator[Rung]:
    for make in (_alone, _chance, _within, _same_length, _one_a_question):
        yield make(state)
    yield from (_by_control(state, control) for control in CONTROLS)
    yield from _corpus(state)
    yield from _attention(state)
    yield from _beyond(state)


def undefined(n: int, reason: str) -> Estimate:
    """A number of n answers that is undefined."""
    return Estimate(math.nan, math.nan, math.nan, n, 0, reason)


def _alone(state: _State) -> Rung:
    return Rung(
        id=ALONE,
        name="signal alone",
        question="Is the signal higher for incorrect answers?",
        kind="signal",
        estimate=state.area(state.signal.values),
    )


def _chance(state: _State) -> Rung:
    """The range of ROC-AUC with labels shuffled within groups: not around .5 where the groups themselves leak."""
    given = state.given
    _, group = np.unique(np.array(given.groups, dtype=object).astype(str), return_inverse=True)
    rng = np.random.default_rng(state.seed)
    labels = shuffled(given.incorrect, group, given.clusters, count=state.permutations, rng=rng)
    wrong = int(given.incorrect.sum())
    sums = labels @ ranks(state.signal.values) - wrong * (wrong + 1) / 2
    by_chance = sums / (wrong * (len(given.incorrect) - wrong))
    middle, low, high = np.quantile(by_chance, (0.5, 0.025, 0.975))
    own = _alone(state).estimate.value
    return Rung(
        id="chance",
        name="by chance",
        question="What would it reach if labels were shuffled within groups?",
        kind="chance",
        estimate=Estimate(float(middle), float(low), float(high), len(given.incorrect), 0),
        p=(1 + int((by_chance >= own - 1e-9).sum())) / (1 + len(by_chance)),
    )


def _within(state: _State) -> Rung:
    one = state.given.num_groups == 1
    return Rung(
        id="within",
        name="within groups",
        question="Is it still higher among answers of one group?",
        kind="signal",
        estimate=state.area(state.signal.values, list(state.given.groups)),
        note="All answers are of one group." if one else "",
    )


def _same_length(state: _State) -> Rung:
    groups = by_length(["all"] * len(state.given.lengths), state.given.lengths)
    return Rung(
        id="same_length",
        name="at equal length",
        question=f"Is it still higher among answers with as many {state.given.unit}?",
        kind="signal",
        estimate=state.area(state.signal.values, groups),
    )


def _one_a_question(state: _State) -> Rung:
    """One answer, drawn by the seed, of each question and its near-duplicates."""
    cluster = state.given.clusters
    order = np.random.default_rng(state.seed).permutation(len(cluster))
    drawn = np.zeros(len(cluster), dtype=bool)
    drawn[order[np.unique(cluster[order], return_index=True)[1]]] = True
    repeated = int((~drawn).sum())
    return Rung(
        id="one_a_question",
        name="near-duplicates grouped",
        question="Is it still higher if every question counts once?",
        kind="signal",
        estimate=state.area(np.where(drawn, state.signal.values, np.nan)),
        note=f"{repeated} answers to repeated questions are left out." if repeated else "None is repeated.",
    )


def _by_control(state: _State, control: Control) -> Rung:
    given, scores = state.given, state.prepared.scores
    if control.id in scores:
        estimate = state.area(scores[control.id], state.prepared.fold.astype(str))
    else:
        estimate = undefined(len(given.incorrect), control.lacking(given))
    return Rung(
        id=control.id, name=f"{control.name} alone", question=control.question, kind="control", estimate=estimate
    )


_CORPUS: tuple[tuple[str, str, str, Callable[[LabelledAnswers], list[list[str]]]], ...] = (
    ("reference", "correct answer", " It made the label.", lambda given: [list(texts) for texts in given.references]),
    ("document", "document", "", lambda given: [[text] if text else [] for text in given.sources]),
)


def _corpus(state: _State) -> Iterator[Rung]:
    """How far the labels follow from what the answers share with texts that the model may not have seen."""
    for name, what, about, texts_of in _CORPUS:
        texts = texts_of(state.given)
        if not any(texts):
            continue
        pairs = zip(state.given.answers, texts, strict=True)
        alike = np.array([max((token_f1(answer, text) for text in own), default=math.nan) for answer, own in pairs])
        yield Rung(
            id=f"like_{name}",
            name=f"unlike the {what}",
            question=f"Do the words shared with the {what} tell?{about}",
            kind="corpus",
            estimate=state.area(-alike),
        )


def _attention(state: _State) -> Iterator[Rung]:
    """The signal minus itself with another attention in place of the answer's own, among answers that have both."""
    for name, replaced in state.signal.replaced.items():
        both = np.isfinite(replaced).all(axis=0)
        values = np.where(both, state.signal.values, np.nan)
        counted = labelled(values, state.given.sides, ["all"] * len(values), clusters=state.given.clusters)
        left = int((~both).sum())
        yield Rung(
            id=f"attention_{name.split()[0]}",
            name=f"minus {name} attention",
            question="Does it rank worse with this in place of its own attention?",
            kind="difference",
            estimate=difference_of_areas(-values[:, None], -replaced.T, counted),
            note=f"{left} answers have no other attention." if left else "",
        )


def _beyond(state: _State) -> Iterator[Rung]:
    prepared = state.prepared
    if prepared.apart is not None and prepared.together_apart is not None:
        found = _added(state, prepared.together_apart, prepared.apart)
        question = "Does it add to them in groups that no fit has seen?"
        yield _last(found, LEFT_OUT, "beyond the controls, other groups", question)
    found = _added(state, prepared.together, prepared.fold)
    yield _last(found, BEYOND, "beyond the controls", "Does it add to words, length and group together?")


def _added(state: _State, controls: Crossed, fold: np.ndarray) -> Beyond:
    if not controls.is_whole:
        reason = "too few correct or incorrect answers outside of a fold to fit on"
        return Beyond(estimate=undefined(len(fold), reason), p=math.nan, is_reversed=False)
    options = {"permutations": state.permutations, "seed": state.seed}
    return beyond(state.signal.values, state.given, controls, fold, **options)


def _last(found: Beyond, name: str, title: str, question: str) -> Rung:
    note = "A low signal is what tells of an incorrect answer." if found.is_reversed else ""
    return Rung(
        id=name, name=title, question=question, kind="difference", estimate=found.estimate, note=note, p=found.p
    )
