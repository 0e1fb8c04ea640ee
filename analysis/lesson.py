"""The numbers in the figures of the lesson, all of them computed from recorded generations.

Everything here is plain Python numbers and text, ready for JSON. Tokens, layers and heads count from 0.
"""

from dataclasses import dataclass

import numpy as np

import rauq
from rauq import Score, Trace
from rauq.atlas.evaluation import judge
from rauq.atlas.game import GameAnswer, held_out, invented_tokens
from rauq.labels import SPACE, label
from rauq.scoring.settings import signal_and_alpha

BY_HAND = 4  # tokens of the recurrence that the reader works through
_FAINTEST = 0.02  # the weight from which on an arc can be seen


@dataclass(frozen=True)
class Arc:
    """While writing `token`, the head gave the answer token `to` this weight."""

    token: int
    to: int
    weight: float


@dataclass(frozen=True)
class Look:
    """The attention of one head: its arcs inside the answer, and N weights on the previous token (None for the first).

    `offset` is the distance, in tokens, of its largest mean weight.
    """

    layer: int
    head: int
    offset: int
    arcs: tuple[Arc, ...]
    previous: tuple[float | None, ...]


@dataclass(frozen=True)
class Picked:
    """The selected head of one layer of the window, with its weights on the previous token, their mean, and u_l."""

    layer: int
    head: int
    mean: float
    weights: tuple[float | None, ...]
    layer_score: float


@dataclass(frozen=True)
class Recurrence:
    """Inputs to the recurrence at the first tokens; `reference_attention` is the mean weight, used for r."""

    alpha: float
    signal: tuple[float, ...]
    attention: tuple[float | None, ...]
    reference_attention: float


@dataclass(frozen=True)
class Scored:
    """One answer as the figures need it; `invented` are the tokens of its wrong facts, `reference` is right."""

    prompt: str
    answer: str
    tokens: tuple[str, ...]
    invented: tuple[int, ...]
    correct: bool
    probability: tuple[float, ...]
    collapse: tuple[float, ...]
    uncertainty: float
    layer: int
    reference: str


@dataclass(frozen=True)
class Puzzle:
    """One answer of the game: its invented tokens, and the tokens that RAUQ and plain probability would name.

    `parts` is the text before the invented tokens, theirs, and the text behind them.
    """

    prompt: str
    parts: tuple[str, str, str]
    tokens: tuple[str, ...]
    invented: tuple[int, ...]
    rauq: int
    probability: int
    reference: str


@dataclass(frozen=True)
class Lesson:
    """The data of the lesson's figures, most of them about one incorrect answer."""

    near: Look
    far: Look
    head_means: tuple[tuple[float, ...], ...]
    picked: tuple[Picked, ...]
    recurrence: Recurrence
    wrong: Scored
    right: Scored
    myth: Scored


def lesson(*, wrong: Trace, right: Trace, myth: Trace) -> Lesson:
    """Compute the data from an incorrect answer, a correct one, and one that is incorrect and confident.

    Raises:
        RauqError: an answer that cannot be scored, or that is none to a held-out prompt.
    """
    score = rauq.score(wrong)
    return Lesson(
        near=look(wrong, offset=1),
        far=look(wrong, offset=2),
        head_means=tuple(map(_numbers, wrong.previous_token_attention().mean(axis=2))),
        picked=_picked(score),
        recurrence=_recurrence(score),
        wrong=scored(wrong),
        right=scored(right),
        myth=scored(myth),
    )


def puzzle(game_answer: GameAnswer) -> Puzzle:
    """The token of the largest collapse (RAUQ), and the least probable one.

    Raises:
        RauqError: the answer's file is damaged.
    """
    trace = game_answer.trace()
    start, end = game_answer.invented[0], game_answer.invented[-1] + 1
    texts = (trace.answer_tokens[:start], trace.answer_tokens[start:end], trace.answer_tokens[end:])
    before, invention, after = map("".join, texts)
    return Puzzle(
        prompt=trace.prompt,
        parts=(before, invention, after),
        tokens=words(trace),
        invented=game_answer.invented,
        rauq=int(rauq.score(trace).collapse.argmax()),
        probability=int(trace.logprobs.argmin()),
        reference=game_answer.reference,
    )


def look(trace: Trace, *, offset: int) -> Look:
    """The head whose mean weight on the `offset`-th preceding token is the largest."""
    means = np.nanmean(trace.previous_token_attention(offset=offset), axis=2)
    row, head = map(int, np.unravel_index(means.argmax(), means.shape))
    return Look(
        layer=trace.layers[row],
        head=head,
        offset=offset,
        arcs=_arcs(trace.attention[row, head]),
        previous=(None, *_numbers(trace.previous_token_attention()[row, head])),
    )


def scored(trace: Trace) -> Scored:
    """One answer, scored with the paper's settings and judged."""
    score, example = rauq.score(trace), held_out(trace)
    verdict = judge(example, trace.answer)
    return Scored(
        prompt=trace.prompt,
        answer=trace.answer.strip(),
        tokens=words(trace),
        invented=invented_tokens(trace, verdict),
        correct=verdict.correct,
        probability=_numbers(np.exp(trace.logprobs)),
        collapse=_numbers(score.collapse),
        uncertainty=score.uncertainty,
        layer=_decided(score),
        reference=example.reference,
    )


def words(trace: Trace) -> tuple[str, ...]:
    """The answer's tokens to be seen from the last row: without the mark of a space before a word."""
    return tuple(label(piece).removeprefix(SPACE) or SPACE for piece in trace.pieces)


def _arcs(weights: np.ndarray) -> tuple[Arc, ...]:
    """Arcs out of the band (N + 1, K): row r writes token r, and its key k back is token r - 1 - k."""
    return tuple(
        Arc(row, row - 1 - back, float(weights[row, back]))
        for row in range(len(weights) - 1)
        for back in range(min(row, weights.shape[1]))
        if weights[row, back] >= _FAINTEST
    )


def _picked(score: Score) -> tuple[Picked, ...]:
    columns = (score.layers, score.heads, score.attention, score.layer_scores)
    return tuple(
        Picked(layer, int(head), float(weights.mean()), (None, *_numbers(weights)), float(layer_score))
        for layer, head, weights, layer_score in zip(*columns, strict=True)
    )


def _recurrence(score: Score) -> Recurrence:
    attention = score.attention[score.layers.index(_decided(score))]
    return Recurrence(
        alpha=signal_and_alpha(score.settings, kind=None)[1],
        signal=_numbers(score.signal[:BY_HAND]),
        attention=(None, *_numbers(attention[: BY_HAND - 1])),
        reference_attention=float(attention.mean()),
    )


def _decided(score: Score) -> int:
    if score.layer is None:
        message = f"No single layer gives the score of this recording: {score.reasons.uncertainty}. Record it again."
        raise rauq.TraceFileError(message)
    return score.layer


def _numbers(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, values))
