"""Simulated tokens, whose errors follow from capitals and position alone, and signals that follow these too."""

import numpy as np

from analysis.stats import sign_of
from analysis.survival.beyond import added_by
from analysis.survival.labelled import TOKENS, LabelledUnits
from analysis.survival.ladder import prepare
from benchmarks.survival import Claims

_ALIKE = 0.6  # correlation of the noise of neighbours: what is uncertain in a model's text comes in runs
_SPAN = 4  # tokens of an incorrect span, at most
_EACH = 10  # signals of one simulated set of answers


def token_claims(answers: int, *, simulations: int, seed: int = 2026) -> Claims:
    """Signals that follow capitals and position, as errors do, and nothing else but noise."""
    rng, claimed = np.random.default_rng(seed), 0
    for _ in range(simulations // _EACH):
        given, risk = simulated_tokens(rng, answers)
        prepared = prepare(given)
        values = np.stack([risk + runs_of_noise(rng, given.answer) for _ in range(_EACH)])
        claimed += sum(sign_of(one) > 0 for one in added_by(values, given, prepared.together, prepared.fold))
    return Claims(answers, claimed, simulations // _EACH * _EACH)


def simulated_tokens(rng: np.random.Generator, answers: int) -> tuple[LabelledUnits, np.ndarray]:
    """Tokens of answers with incorrect spans, which begin at capitals and late in the answer; and that risk (T,)."""
    lengths = rng.integers(15, 50, size=answers)
    answer, place = np.repeat(np.arange(answers), lengths), np.concatenate([np.arange(one) for one in lengths])
    has_capital = rng.uniform(size=len(answer)) < 0.2
    risk = 1.5 * has_capital + 0.04 * place
    starts = rng.uniform(size=len(answer)) < 1 / (1 + np.exp(4.0 - risk))
    words = rng.integers(40, size=len(answer))
    return LabelledUnits(
        level=TOKENS,
        name="simulated",
        incorrect=_spans(starts, answer, rng),
        groups=("",) * len(answer),
        clusters=answer,
        answer=answer,
        place=place,
        lengths=lengths[answer],
        measured_in="tokens",
        questions=tuple(f"question {own}" for own in answer),
        texts=tuple(f"{'W' if upper else 'w'}{word}" for upper, word in zip(has_capital, words, strict=True)),
        references=((),) * len(answer),
        sources=("",) * len(answer),
    ), risk


def _spans(starts: np.ndarray, answer: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Which tokens (T,) are in a span: up to four from each start, within the answer."""
    found, sizes = np.zeros(len(starts), dtype=bool), rng.integers(1, _SPAN + 1, size=len(starts))
    for step in range(_SPAN):
        begun = np.flatnonzero(starts & (sizes > step)) + step
        begun = begun[begun < len(starts)]
        found[begun[answer[begun] == answer[begun - step]]] = True
    return found


def runs_of_noise(rng: np.random.Generator, answer: np.ndarray) -> np.ndarray:
    """Noise (T,) of standard deviation 1, in which neighbours within an answer are alike."""
    fresh, found = rng.normal(size=len(answer)), np.empty(len(answer))
    for token, own in enumerate(answer):
        follows = token > 0 and answer[token - 1] == own
        found[token] = _ALIKE * found[token - 1] + np.sqrt(1 - _ALIKE**2) * fresh[token] if follows else fresh[token]
    return found
