"""What is known of each answer of a run after each of its tokens, by several scores."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Literal, get_args

import numpy as np

from analysis.runs.attention import batch, means
from analysis.runs.opened import Run
from rauq.errors import InvalidInput
from rauq.scoring.algorithm import head_weights, log_of, select_heads
from rauq.scoring.online import online_states
from rauq.scoring.settings import Settings, window
from rauq.trace.batch import Answers, Batch

OnlineScore = Literal[
    "rauq",
    "rauq_fixed",
    "rauq_mean",
    "mean_entropy",
    "mean_logprob",
    "token_confidence",
    "token_entropy",
    "token_logprob",
    "num_tokens",
]
ONLINE_SCORES: tuple[OnlineScore, ...] = get_args(OnlineScore)
NAMES: Mapping[OnlineScore, str] = MappingProxyType(
    {
        "rauq": "RAUQ, heads selected so far",
        "rauq_fixed": "RAUQ, heads fixed",
        "rauq_mean": "RAUQ, mean of heads",
        "mean_entropy": "mean entropy",
        "mean_logprob": "mean −log p",
        "token_confidence": "−log c of the token",
        "token_entropy": "entropy of the token",
        "token_logprob": "−log p of the token",
        "num_tokens": "control: number of tokens",
    }
)


@dataclass(frozen=True, eq=False, kw_only=True)
class Curves:
    """A answers of at most T tokens: `values` (A, T) by score, higher where less certain, nan after the last token.

    In nats: RAUQ so far in the paper's settings, `rauq` with the heads selected so far, `rauq_fixed` with those that
    are selected in the mean over the answers to all other questions, `rauq_mean` with the mean of all heads;
    `mean_entropy` and `mean_logprob`, means of entropy and -log p over the tokens so far; of the last token alone
    `token_confidence`, -log c of the layer and head that give `rauq`, `token_entropy` and `token_logprob`, -log p.
    `num_tokens` is the number of tokens, a control that looks at nothing else; equal numbers are put in a random order.

    `lengths` (A,) in tokens. `correct` (A,) is 1, 0, or nan where that is not known. `clusters` (A,): the question.
    `groups` (A): the family of facts.
    """

    values: Mapping[OnlineScore, np.ndarray]
    lengths: np.ndarray
    correct: np.ndarray
    clusters: np.ndarray
    groups: tuple[str, ...]


def curves_of(run: Run, correct: np.ndarray, *, seed: int = 0) -> Curves:
    """The curves of all answers of a run, by all scores; `correct` (A,) is 1, 0 or nan.

    Raises:
        InvalidInput: the run lacks layers of RAUQ's window.
        RunError: a shard can no longer be read.
    """
    return curves(
        batch(run, "predicting"),
        correct,
        clusters=run.clusters,
        groups=tuple(run.answers["group"]),
        heads=usual_heads(run),
        seed=seed,
    )


def curves(
    answers: Answers,
    correct: np.ndarray,
    *,
    clusters: np.ndarray,
    groups: tuple[str, ...] = (),
    heads: np.ndarray | None = None,
    names: Sequence[OnlineScore] = ONLINE_SCORES,
    seed: int = 0,
) -> Curves:
    """The curves of A answers, without their thinking.

    Args:
        answers: The answers side by side, aligned with the predicting query.
        correct: 1, 0 or nan of each answer (A,).
        clusters: The question of each answer (A,).
        groups: The group of each answer.
        heads: The fixed heads of each answer (A, Lw), which `rauq_fixed` needs.
        names: The scores.
        seed: Of the order of equal numbers of tokens.

    Raises:
        InvalidInput: the answers lack layers of RAUQ's window.
    """
    lengths = answers.lengths
    longest = int(lengths.max(initial=0))
    values = {name: np.full((len(lengths), longest), np.nan) for name in names}
    for places, block in answers.blocks():
        known = _Answers(block, None if heads is None else heads[places])
        width = min(longest, block.logprobs.shape[1])
        for name in names:
            values[name][places, :width] = np.where(known.written, _SCORES[name](known), np.nan)[:, :width]
    if "num_tokens" in values:
        values["num_tokens"] += np.random.default_rng(seed).random((len(lengths), 1))
    correct = np.asarray(correct, dtype=float)
    return Curves(values=values, lengths=lengths, correct=correct, clusters=clusters, groups=groups)


def usual_heads(run: Run) -> np.ndarray:
    """For each answer (A, Lw), the head of each layer with the most attention in the answers to all other questions."""
    layers = run.used_layers
    weights = means(run)[:, [run.answerer.layers.index(layer) for layer in layers]]
    weights = np.nan_to_num(weights.astype(np.float64))  # (A, Lw, H); an answer of one token has none
    of_question = np.zeros((run.clusters.max(initial=-1) + 1, *weights.shape[1:]))
    np.add.at(of_question, run.clusters, weights)
    return select_heads(weights.sum(axis=0) - of_question, layers)[run.clusters, :, 0]


@dataclass(frozen=True, eq=False)
class _Answers:
    """Answers (a,) of at most N tokens, and the fixed heads of each (a, Lw)."""

    batch: Batch
    heads: np.ndarray | None

    @cached_property
    def counts(self) -> np.ndarray:
        """The number of tokens so far (N,)."""
        return np.arange(1, self.batch.logprobs.shape[1] + 1)

    @property
    def written(self) -> np.ndarray:
        """Which tokens (a, N) there are."""
        return self.counts <= self.batch.lengths[:, None]

    @cached_property
    def so_far(self) -> tuple[np.ndarray, np.ndarray]:
        """RAUQ with the heads selected so far (a, N), and the last confidence in the layer that gives it."""
        scores, confidence = _after_each(self.batch, Settings())
        layer = scores.argmax(axis=-1)[..., None]
        return scores.max(axis=-1), np.take_along_axis(confidence, layer, axis=-1)[..., 0]

    @property
    def fixed(self) -> Batch:
        """The same with the attention of the fixed heads alone."""
        if self.heads is None:
            message = "rauq_fixed needs the fixed heads of each answer; give `heads`."
            raise InvalidInput(message)
        layers = window(Settings(), captured=self.batch.layers, num_layers=self.batch.num_layers)
        weights = head_weights(self.batch.attention, self.batch.rows(layers), self.heads[..., None])
        return replace(self.batch, attention=weights, layers=layers)


def _after_each(answers: Batch, settings: Settings) -> tuple[np.ndarray, np.ndarray]:
    """Scores and confidence of each layer after each token: (a, N, Lw)."""
    scores, confidence = zip(*(state.layer_scores() for state in online_states(answers, settings)), strict=True)
    return np.stack(scores, axis=1), np.stack(confidence, axis=1)


def _uncertainty(answers: Batch, settings: Settings) -> np.ndarray:
    return _after_each(answers, settings)[0].max(axis=-1)


# The settings are the paper's, whose score is the maximum over layers.
_SCORES: Mapping[OnlineScore, Callable[[_Answers], np.ndarray]] = MappingProxyType(
    {
        "rauq": lambda known: known.so_far[0],
        "rauq_fixed": lambda known: _uncertainty(known.fixed, Settings()),
        "rauq_mean": lambda known: _uncertainty(known.batch, Settings(heads="mean")),
        "mean_entropy": lambda known: np.cumsum(known.batch.entropies, axis=1, dtype=np.float64) / known.counts,
        "mean_logprob": lambda known: -np.cumsum(known.batch.logprobs, axis=1, dtype=np.float64) / known.counts,
        "token_confidence": lambda known: -log_of(known.so_far[1]),
        "token_entropy": lambda known: known.batch.entropies,
        "token_logprob": lambda known: -known.batch.logprobs,
        "num_tokens": lambda known: np.broadcast_to(known.counts.astype(float), known.batch.logprobs.shape),
    }
)
