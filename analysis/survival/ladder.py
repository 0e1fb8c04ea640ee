"""The ladder: a signal alone, then with one simpler explanation after the other taken from it.

Every rung is a ROC-AUC or a difference of two, with its 95 % interval by question, and answers one question. The
last says what survived. After arXiv 2605.17028, where most detectors are near chance once leaks are controlled.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from analysis.answer_sets.clusters import folds
from analysis.answer_sets.separation import by_length
from analysis.detectors.fit import NUM_FOLDS, group_folds
from analysis.quality.matching import token_f1
from analysis.stats import Estimate, ranks, sign_of
from analysis.survival.beyond import PERMUTATIONS, Beyond, beyond
from analysis.survival.controls import Control, Crossed, all_of, controls_of, crossed, held_out
from analysis.survival.judged import area, area_within, difference_within
from analysis.survival.labelled import LabelledUnits, Level, Signal, by_chance, drawn
from rauq.errors import InvalidInput

Kind = Literal["signal", "chance", "control", "corpus", "difference"]
"""A ROC-AUC of the signal, its range by chance, a ROC-AUC of a control, one that only tells of the corpus, or what
the signal adds."""
LEAST = 20  # answers or tokens with a signal: fewer are no basis for fits
_DRAWN = 2_000_000  # shuffled values of one rung


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
    """All rungs of one signal on answers or their tokens; the last is what is left beyond all controls together.

    `units`: how many of the `level` are used. Others are `without_signal`, `unjudged`, or `undrawn` where there are
    more than are fitted.
    """

    signal: str
    data: str
    level: Level
    units: int
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

    given: LabelledUnits
    fold: np.ndarray
    scores: Mapping[str, np.ndarray]
    together: Crossed
    apart: np.ndarray | None
    together_apart: Crossed | None
    seed: int


def prepare(given: LabelledUnits, *, seed: int = 0) -> Prepared:
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
            for control in controls_of(given)
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

    @property
    def permutations(self) -> int:
        return _permutations(self.given)

    @property
    def given(self) -> LabelledUnits:
        return self.prepared.given

    @property
    def seed(self) -> int:
        return self.prepared.seed

    def area(self, values: np.ndarray, strata: Sequence[str] | np.ndarray | None = None) -> Estimate:
        """ROC-AUC of values (U,), higher where incorrect, among all or within strata."""
        return area(values, self.given, strata)

    def within(self, values: np.ndarray) -> Estimate:
        """ROC-AUC of values (U,) among answers of one fold, or the mean over answers of their tokens."""
        return area_within(values, self.given, self.prepared.fold)


def ladder_of(given: LabelledUnits, signal: Signal, *, seed: int = 0, most: int | None = None) -> Ladder:
    """The ladder of a signal (A,), on `most` of the answers that have it.

    Raises:
        InvalidInput: fewer than 20 answers have a signal, or all of these are correct, or all incorrect.
    """
    return next(ladders_of(given, [signal], seed=seed, most=most))


def ladders_of(
    given: LabelledUnits, signals: Iterable[Signal], *, seed: int = 0, most: int | None = None
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


def prepared_for(given: LabelledUnits, signal: Signal, *, seed: int = 0, most: int | None = None) -> Prepared:
    """What the controls say of the answers that `ladder_of` uses.

    Raises:
        InvalidInput: as `ladder_of`.
    """
    return prepare(given.among(_used(given, signal, seed=seed, most=most)), seed=seed)


def _used(given: LabelledUnits, signal: Signal, *, seed: int, most: int | None) -> np.ndarray:
    """The answers (A,) that have a signal, or as many of them as are fitted."""
    kept = np.isfinite(signal.values)
    check_enough(given.among(kept), f"numbers of {signal.name}")
    used = kept.copy()
    used[kept] = drawn(given.among(kept), most or given.level.most, seed=seed)
    return used


def ladder_on(prepared: Prepared, signal: Signal) -> Ladder:
    """The rungs of a signal that every one of the answers (A,) has."""
    own = prepared.given
    state = _State(prepared=prepared, signal=signal)
    return Ladder(
        signal=signal.name,
        data=own.name,
        level=own.level,
        units=len(own.incorrect),
        incorrect=int(own.incorrect.sum()),
        without_signal=0,
        unjudged=own.unjudged,
        undrawn=0,
        controls=tuple(control.kind for control in controls_of(own) if control.id in prepared.scores),
        rungs=tuple(_rungs(state)),
        seed=prepared.seed,
    )


def check_enough(given: LabelledUnits, what: str) -> None:
    """Require answers of both sides, enough of them to fit anything.

    Raises:
        InvalidInput: too few answers, or all on one side.
    """
    count, wrong = len(given.incorrect), int(given.incorrect.sum())
    if count < LEAST or wrong in {0, count}:
        side = "" if count < LEAST else f", all {'incorrect' if wrong else 'correct'}"
        message = (
            f"Too few {given.level.name}: {given.name} has {count} with {what}{side}. At least {LEAST} are needed, "
            "correct and incorrect ones."
        )
        raise InvalidInput(message)


def _rungs(state: _State) -> Iterator[Rung]:
    for make in _OF_TOKENS if state.given.is_of_tokens else _OF_ANSWERS:
        yield make(state)
    yield from (_by_control(state, control) for control in controls_of(state.given))
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
        question=f"Is the signal higher for incorrect {state.given.level.name}?",
        kind="signal",
        estimate=state.area(state.signal.values),
    )


def _chance(state: _State) -> Rung:
    """The range of ROC-AUC with labels that are shuffled: not around .5 where groups, or answers, leak themselves."""
    given = state.given
    labels = by_chance(given.incorrect, given, count=state.permutations, seed=state.seed)
    wrong = int(given.incorrect.sum())
    sums = labels @ ranks(state.signal.values) - wrong * (wrong + 1) / 2
    reached = sums / (wrong * (len(given.incorrect) - wrong))
    middle, low, high = np.quantile(reached, (0.5, 0.025, 0.975))
    own = _alone(state).estimate.value
    how = "turned in a circle within answers" if given.is_of_tokens else "shuffled within groups"
    return Rung(
        id="chance",
        name="by chance",
        question=f"What would it reach if labels were {how}?",
        kind="chance",
        estimate=Estimate(float(middle), float(low), float(high), len(given.incorrect), 0),
        p=(1 + int((reached >= own - 1e-9).sum())) / (1 + len(reached)),
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
        question=f"Is it still higher among answers with as many {state.given.measured_in}?",
        kind="signal",
        estimate=state.area(state.signal.values, groups),
    )


def _within_answers(state: _State) -> Rung:
    return Rung(
        id="within",
        name="within answers",
        question="Is it still higher among the tokens of one answer?",
        kind="signal",
        estimate=state.within(state.signal.values),
    )


def _same_place(state: _State) -> Rung:
    return Rung(
        id="same_place",
        name="at equal position",
        question="Is it still higher among tokens at the same position of their answers?",
        kind="signal",
        estimate=state.area(state.signal.values, state.given.place.astype(str)),
    )


def _first(state: _State) -> Rung:
    found = state.within(np.where(~state.given.incorrect | begins(state.given), state.signal.values, np.nan))
    question = "Is it higher for the first token of a span than for correct tokens of the answer?"
    return Rung(id="first", name="first token of a span", question=question, kind="signal", estimate=found)


def _later(state: _State) -> Rung:
    found = state.within(np.where(begins(state.given), np.nan, state.signal.values))
    question = "Is it higher for the other tokens of a span?"
    return Rung(id="later", name="other tokens of a span", question=question, kind="signal", estimate=found)


def begins(given: LabelledUnits) -> np.ndarray:
    """Which tokens (U,) begin an incorrect span: those whose predecessor in the answer is correct, or is not there."""
    order = np.lexsort((given.place, given.answer))
    answer, place, incorrect = given.answer[order], given.place[order], given.incorrect[order]
    follows = np.zeros(len(order), dtype=bool)
    follows[1:] = incorrect[:-1] & (answer[1:] == answer[:-1]) & (place[1:] == place[:-1] + 1)
    found = np.empty(len(order), dtype=bool)
    found[order] = incorrect & ~follows
    return found


def _one_a_question(state: _State) -> Rung:
    """One answer, drawn by the seed, to each question and its near-duplicates."""
    given = state.given
    answer, first = np.unique(given.answer, return_index=True)
    cluster = given.clusters[first]
    order = np.random.default_rng(state.seed).permutation(len(cluster))
    kept = answer[order[np.unique(cluster[order], return_index=True)[1]]]
    repeated = len(answer) - len(kept)
    values = np.where(np.isin(given.answer, kept), state.signal.values, np.nan)
    return Rung(
        id="one_a_question",
        name="near-duplicates grouped",
        question="Is it still higher if every question counts once?",
        kind="signal",
        estimate=state.within(values) if given.is_of_tokens else state.area(values),
        note=f"{repeated} answers to repeated questions are left out." if repeated else "None is repeated.",
    )


_OF_ANSWERS = (_alone, _chance, _within, _same_length, _one_a_question)
_OF_TOKENS = (_alone, _chance, _within_answers, _same_place, _first, _later, _one_a_question)


def _by_control(state: _State, control: Control) -> Rung:
    given, scores = state.given, state.prepared.scores
    if control.id in scores:
        estimate = state.within(scores[control.id])
    else:
        estimate = undefined(len(given.incorrect), control.lacking(given))
    return Rung(
        id=control.id, name=f"{control.name} alone", question=control.question, kind="control", estimate=estimate
    )


_CORPUS: tuple[tuple[str, str, str, Callable[[LabelledUnits], list[list[str]]]], ...] = (
    ("reference", "correct answer", " It made the label.", lambda given: [list(texts) for texts in given.references]),
    ("document", "document", "", lambda given: [[text] if text else [] for text in given.sources]),
)


def _corpus(state: _State) -> Iterator[Rung]:
    """How far the labels follow from what the answers share with texts that the model may not have seen."""
    for name, what, about, texts_of in _CORPUS:
        texts = texts_of(state.given)
        if not any(texts):
            continue
        pairs = zip(state.given.texts, texts, strict=True)
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
    one = np.zeros(len(state.given.incorrect), dtype=np.int64)  # answers are compared with all others
    for name, replaced in state.signal.replaced.items():
        both = np.isfinite(replaced).all(axis=0)
        values = np.where(both, state.signal.values, np.nan)
        left = int((~both).sum())
        yield Rung(
            id=f"attention_{name.split()[0]}",
            name=f"minus {name} attention",
            question="Does it rank worse with this in place of its own attention?",
            kind="difference",
            estimate=difference_within(values[:, None], replaced.T, state.given, one),
            note=f"{left} {state.given.level.name} have no other attention." if left else "",
        )


def _beyond(state: _State) -> Iterator[Rung]:
    prepared = state.prepared
    if prepared.apart is not None and prepared.together_apart is not None:
        found = _added(state.signal.values, prepared, prepared.together_apart, prepared.apart)
        question = "Does it add to them in groups that no fit has seen?"
        yield _last(found, LEFT_OUT, "beyond the controls, other groups", question)
    found = added_to(prepared, state.signal.values)
    yield _last(found, BEYOND, "beyond the controls", "Does it add to all of them together?")


def added_to(prepared: Prepared, values: np.ndarray) -> Beyond:
    """What a signal (A,) adds to all controls together."""
    return _added(values, prepared, prepared.together, prepared.fold)


def _added(values: np.ndarray, prepared: Prepared, controls: Crossed, fold: np.ndarray) -> Beyond:
    if not controls.is_whole:
        reason = "too few correct or incorrect ones outside of a fold to fit on"
        return Beyond(estimate=undefined(len(fold), reason), p=math.nan, is_reversed=False)
    permutations = _permutations(prepared.given)
    return beyond(values, prepared.given, controls, fold, permutations=permutations, seed=prepared.seed)


def _permutations(given: LabelledUnits) -> int:
    return min(PERMUTATIONS, _DRAWN // len(given.incorrect))


def _last(found: Beyond, name: str, title: str, question: str) -> Rung:
    note = "A low signal is what tells of an incorrect answer." if found.is_reversed else ""
    return Rung(
        id=name, name=title, question=question, kind="difference", estimate=found.estimate, note=note, p=found.p
    )
