"""The lines of answers that list five facts, as labelled answers of their own, scored within the whole answer."""

from collections.abc import Sequence
from itertools import groupby
from operator import attrgetter

import numpy as np

from analysis.answer_sets.sides import Sides
from analysis.methods.added_heads import Candidates
from analysis.methods.attention_permutation import Control, control_of_groups
from analysis.survival.labelled import LabelledUnits
from benchmarks.lists import answers_of
from benchmarks.lists.items import Item, items_of
from benchmarks.lists.questions import ListQuestion, list_questions
from benchmarks.worth.units import Units, heads_of
from rauq.labels import EngineName
from rauq.scoring.settings import Settings
from rauq.trace.batch import Batch, batch
from rauq.trace.trace import Trace


def items_judged(model: str, engine: EngineName) -> Units:
    """The judged lines of a model's answers."""
    questions = list_questions()
    return judged(questions, answers_of(model, questions, engine=engine))


def judged(questions: Sequence[ListQuestion], answers: Sequence[Trace | None]) -> Units:
    """The judged lines of answers (None: one that failed).

    A line that has no other one to swap its attention with has no RAUQ under other attention.
    """
    items, _ = items_of(questions, answers)
    there = {number: trace for number, trace in enumerate(answers) if trace is not None}
    traces = [there[item.question] for item in items]
    control = _control(items, batch(there.values()), places=[list(there).index(item.question) for item in items])
    given = _labelled(items, [questions[item.question].asked for item in items])
    lengths = given.lengths.astype(float)
    return Units(
        given=given,
        rauq=control.real,
        shuffled=control.shuffled,
        msp=np.array([item.score.mean_surprisal for item in items]) * lengths,
        entropy=np.array([item.score.mean_entropy for item in items]),
        heads=heads_of(_candidates(items, traces, control.real, lengths)),
    )


def _labelled(items: Sequence[Item], asked: Sequence[str]) -> LabelledUnits:
    count = len(items)
    return LabelledUnits(
        name="lists",
        incorrect=np.array([not item.correct for item in items]),
        groups=tuple(item.group for item in items),
        clusters=np.array([item.question for item in items]),
        answer=np.arange(count),
        place=np.zeros(count, dtype=np.int64),
        lengths=np.array([stop - start for start, stop in (item.score.tokens for item in items)]),
        measured_in="tokens",
        questions=tuple(asked),
        texts=tuple(item.text for item in items),
        references=((),) * count,
        sources=("",) * count,
    )


def _control(items: Sequence[Item], answers: Batch, *, places: Sequence[int]) -> Control:
    """RAUQ of the tokens of each line (A,) and under other attention (S, A); lines of an answer never swap theirs."""
    rows, turn = np.array(places), _turns(items)
    tokens = np.arange(answers.lengths.max())
    spans = np.array([item.score.tokens for item in items])
    masks = (tokens >= spans[:, :1]) & (tokens < spans[:, 1:])
    groups = np.array([item.group for item in items], dtype=object)
    found = [
        (own, control_of_groups(answers.take(rows[own]), Settings(), groups[own].tolist(), tokens=masks[own]))
        for own in (np.flatnonzero(turn == one) for one in np.unique(turn))
    ]
    order = np.argsort(np.concatenate([own for own, _ in found]))
    names = ("real", "shuffled", "constant", "random_head", "mean_of_heads")
    joined = {name: np.concatenate([getattr(one, name) for _, one in found], axis=-1)[..., order] for name in names}
    return Control(**joined)


def _turns(items: Sequence[Item]) -> np.ndarray:
    """Which of the lines of its answer each is (A,), from 0."""
    return np.array([turn for _, own in groupby(items, attrgetter("question")) for turn, _ in enumerate(own)])


def _candidates(items: Sequence[Item], traces: Sequence[Trace], rauq: np.ndarray, lengths: np.ndarray) -> Candidates:
    correct = np.array([item.correct for item in items])
    weights = [_mean_weights(trace, *item.score.tokens) for item, trace in zip(items, traces, strict=True)]
    return Candidates(
        uncertainty=rauq,
        length=lengths,
        quality=correct.astype(float),
        sides=Sides(correct, ~correct),
        groups=tuple(item.group for item in items),
        heads=tuple((layer, head) for layer in traces[0].layers for head in range(traces[0].num_heads)),
        means=np.stack(weights).reshape(len(items), -1),
        expected=None,
        clusters=np.array([item.question for item in items]),
    )


def _mean_weights(trace: Trace, start: int, stop: int) -> np.ndarray:
    """The mean weight (L, H) on the previous token over some tokens; that of the answer's first token is in no band."""
    return trace.previous_token_attention()[..., max(start - 1, 0) : stop - 1].mean(axis=2)
