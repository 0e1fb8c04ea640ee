"""The numbers in the figures of the lesson, all of them computed from recorded answers of a real model.

Everything here is plain Python numbers and text, ready for JSON. Tokens, layers and heads count from 0.
"""

from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np

import rauq
from rauq import Score, Trace
from rauq.labels import SPACE, label
from rauq.recorded.answers import GameAnswer, Recorded
from rauq.scoring.report import collapse as collapse_of
from rauq.scoring.settings import signal_and_alpha
from rauq.trace.parts import shows_text

# The paper's, with the signal that is easiest to teach: a probability, so that confidence lies between 0 and 1.
TAUGHT = rauq.Settings(signal="probability")
END = "(end)"  # what is drawn for the token that ends an answer
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
class Drop:
    """One selected head at the incorrect word: N weights on the previous token (None for the first).

    `corrected` is its weight on the `correct` word, in the answer that has this word in place of the incorrect one.
    """

    layer: int
    head: int
    weights: tuple[float | None, ...]
    correct: str
    corrected: float


@dataclass(frozen=True)
class Recurrence:
    """Inputs to the recurrence at N tokens; `reference_attention` is the mean weight, used for r."""

    alpha: float
    signal: tuple[float, ...]
    attention: tuple[float | None, ...]
    reference_attention: float


@dataclass(frozen=True)
class Scored:
    """One answer of N tokens as the figures need it: `invented` are its incorrect tokens, `reference` is correct.

    `collapse` is in nats, and `attention_shares` are the parts of it that come from attention, not from the signal.
    """

    prompt: str
    answer: str
    tokens: tuple[str, ...]
    invented: tuple[int, ...]
    correct: bool
    probability: tuple[float, ...]
    collapse: tuple[float, ...]
    attention_shares: tuple[float, ...]
    uncertainty: float
    layer: int
    reference: str


@dataclass(frozen=True)
class Opening:
    """A fluent, incorrect answer: stretches of its text, each with whether it is incorrect, and what is correct."""

    prompt: str
    parts: tuple[tuple[str, bool], ...]
    num_tokens: int
    num_incorrect: int
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
    """The data of the lesson's figures, most of them about one incorrect answer of the named model.

    `mean_weights`: N means of the selected heads' weights on the previous token (None for the first).
    """

    model: str
    opening: Opening
    near: Look
    far: Look
    head_means: tuple[tuple[float, ...], ...]
    picked: tuple[Picked, ...]
    mean_weights: tuple[float | None, ...]
    drop: Drop
    recurrence: Recurrence
    wrong: Scored
    right: Scored
    confident: Scored


def lesson(
    *, fluent: Recorded, wrong: Recorded, corrected: Recorded, right: Recorded, confident: Recorded, layer: int
) -> Lesson:
    """Compute the data from two incorrect answers, a correct one, and one that is incorrect and confident.

    The lesson begins with `fluent`. `corrected` is `wrong` with the correct word; `layer` is the one whose selected
    head is shown at that word.

    Raises:
        RauqError: a file that is damaged, or an answer that cannot be scored.
    """
    trace = wrong.trace()
    score = rauq.score(trace, TAUGHT)
    return Lesson(
        model=trace.model,
        opening=opening(fluent),
        near=look(trace, offset=1),
        far=look(trace, offset=2),
        head_means=tuple(map(_numbers, trace.previous_token_attention().mean(axis=2))),
        picked=_picked(score),
        mean_weights=(None, *_numbers(score.attention.mean(axis=0))),
        drop=drop(score, trace, corrected.trace(), layer),
        recurrence=_recurrence(score),
        wrong=scored(wrong),
        right=scored(right),
        confident=scored(confident),
    )


def opening(recorded: Recorded) -> Opening:
    """What is shown of the answer that the lesson begins with.

    Raises:
        RauqError: its file is damaged.
    """
    trace = recorded.trace()
    marked = [(text, token in trace.wrong) for token, text in enumerate(trace.answer_tokens)]
    stretches = [(wrong, "".join(text for text, _ in run)) for wrong, run in groupby(marked, key=itemgetter(1))]
    return Opening(
        prompt=trace.prompt,
        parts=tuple((text, wrong) for wrong, text in stretches),
        num_tokens=len(marked),
        num_incorrect=len(trace.wrong),
        reference=recorded.correct_answer,
    )


def drop(score: Score, wrong: Trace, corrected: Trace, layer: int) -> Drop:
    """The selected head of a layer in `wrong`, and its weight on the word that `corrected` has there."""
    picked = next(one for one in _picked(score) if one.layer == layer)
    word = wrong.wrong[0]
    weights = corrected.previous_token_attention()[corrected.layers.index(layer), picked.head]
    return Drop(layer, picked.head, picked.weights, words(corrected)[word], float(weights[word]))


def puzzle(game_answer: GameAnswer) -> Puzzle:
    """The token of the largest collapse with the paper's defaults (RAUQ), and the least probable one.

    Neither is white space or the end token.

    Raises:
        RauqError: the answer's file is damaged.
    """
    trace = game_answer.trace()
    collapse = collapse_of(trace, rauq.score(trace))
    start, end = trace.wrong[0], trace.wrong[-1] + 1
    texts = (trace.answer_tokens[:start], trace.answer_tokens[start:end], trace.answer_tokens[end:])
    before, invention, after = map("".join, texts)
    return Puzzle(
        prompt=trace.prompt,
        parts=(before, invention, after),
        tokens=words(trace),
        invented=trace.wrong,
        rauq=collapse.token if collapse else 0,
        probability=int(np.where(shows_text(trace), trace.logprobs, np.inf).argmin()),
        reference=game_answer.correct_answer,
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


def scored(recorded: Recorded) -> Scored:
    """One answer with its verdict, scored with the settings that are taught."""
    trace = recorded.trace()
    score = rauq.score(trace, TAUGHT)
    return Scored(
        prompt=trace.prompt,
        answer=trace.answer.strip(),
        tokens=words(trace),
        invented=trace.wrong,
        correct=recorded.correct,
        probability=_numbers(np.exp(trace.logprobs)),
        collapse=_numbers(score.collapse),
        attention_shares=_numbers(score.collapse_shares[:, 1]),
        uncertainty=score.uncertainty,
        layer=_decided(score),
        reference=recorded.correct_answer,
    )


def words(trace: Trace) -> tuple[str, ...]:
    """The answer's tokens to be seen from the last row: a space before a word is not marked, and the end is END."""
    found = tuple(label(piece).removeprefix(SPACE) or SPACE for piece in trace.pieces)
    return (*found[:-1], END) if trace.stop_reason == "eos" else found


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
        signal=_numbers(score.signal),
        attention=(None, *_numbers(attention)),
        reference_attention=float(attention.mean()),
    )


def _decided(score: Score) -> int:
    if score.layer is None:
        message = f"No single layer gives the score of this recording: {score.reasons.uncertainty}. Record it again."
        raise rauq.TraceFileError(message)
    return score.layer


def _numbers(values: np.ndarray) -> tuple[float, ...]:
    return tuple(map(float, values))
