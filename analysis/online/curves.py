"""What is known of each answer of a run after each of its tokens, by several scores."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from analysis.runs.attention import means
from analysis.runs.opened import Run
from analysis.runs.traces import traces_of
from rauq.scoring.algorithm import log_of, select_heads
from rauq.scoring.online import partial_scores
from rauq.scoring.settings import Settings
from rauq.trace.trace import Trace

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
Heads = tuple[tuple[int, int], ...]  # layer and head


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
    """The curves of all answers of a run without thinking; `correct` (A,) is 1, 0 or nan.

    Raises:
        RunError: a shard can no longer be read.
    """
    rows = [_of_answer(trace, heads) for trace, heads in zip(traces_of(run), usual_heads(run), strict=True)]
    lengths = np.array([len(row["num_tokens"]) for row in rows])
    values = {name: _padded([row[name] for row in rows]) for name in ONLINE_SCORES}
    values["num_tokens"] += np.random.default_rng(seed).random((len(rows), 1))
    return Curves(
        values=values,
        lengths=lengths,
        correct=np.asarray(correct, dtype=float),
        clusters=run.clusters,
        groups=tuple(run.answers["group"]),
    )


def usual_heads(run: Run) -> tuple[Heads, ...]:
    """For each answer, the head of each layer with the most attention in the answers to all other questions."""
    layers = run.used_layers
    weights = means(run)[:, [run.answerer.layers.index(layer) for layer in layers]]
    weights = np.nan_to_num(weights.astype(np.float64))  # (A, Lw, H); an answer of one token has none
    of_question = np.zeros((run.clusters.max(initial=-1) + 1, *weights.shape[1:]))
    np.add.at(of_question, run.clusters, weights)
    picked = select_heads(weights.sum(axis=0) - of_question, layers)[run.clusters, :, 0]
    return tuple(tuple(zip(layers, heads, strict=True)) for heads in picked.tolist())


def _of_answer(trace: Trace, heads: Heads) -> Mapping[OnlineScore, np.ndarray]:
    """Each score (N,) after each token."""
    so_far = partial_scores(trace)
    confidence = np.array([one.confidence[one.layer] for one in so_far])
    tokens = np.arange(1.0, len(trace.logprobs) + 1)
    return {
        "rauq": np.array([one.uncertainty for one in so_far]),
        "rauq_fixed": _uncertainties(trace, Settings(heads=heads)),
        "rauq_mean": _uncertainties(trace, Settings(heads="mean")),
        "mean_entropy": np.cumsum(trace.entropies, dtype=np.float64) / tokens,
        "mean_logprob": -np.cumsum(trace.logprobs, dtype=np.float64) / tokens,
        "token_confidence": -log_of(confidence),
        "token_entropy": trace.entropies,
        "token_logprob": -trace.logprobs,
        "num_tokens": tokens,
    }


def _uncertainties(trace: Trace, settings: Settings) -> np.ndarray:
    return np.array([one.uncertainty for one in partial_scores(trace, settings)])


def _padded(rows: list[np.ndarray]) -> np.ndarray:
    padded = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for row, values in zip(padded, rows, strict=True):
        row[: len(values)] = values
    return padded
