"""What a new answer of a model is compared with: the scores and verdicts of a run, under any settings."""

from collections.abc import Sequence

import numpy as np

from analysis.answer_sets.separation import separation
from analysis.answer_sets.sides import Sides, sides
from analysis.one_answer.likeness import scripts_of
from analysis.one_answer.standing import weak_point_share, weak_token
from analysis.quality.measures import measure
from analysis.runs.attention import batch, means
from analysis.runs.opened import Run
from analysis.runs.traces import Tokens, tokens
from rauq.recorded.scores import ReferenceHeads, ReferenceScores, WeakPointWorth
from rauq.scoring.score import Measure, collapse_many, score_many
from rauq.scoring.settings import Settings
from rauq.scoring.surprisal import compared_tokens, token_surprisals
from rauq.trace.batch import Blocks
from rauq.trace.words import named_tokens

FOUR_OF_FIVE = 0.8


def reference_scores(
    run: Run, settings: Settings | None = None, *, by: Measure = "rauq", scored: Blocks | None = None
) -> ReferenceScores:
    """The uncertainties of a run's answers with their verdicts; answers without either are left out.

    Settings of None are the paper's, and then uncertainties are those that were stored with the answers, to 4 decimals;
    else they come from the run's weights in half precision. `by` surprisal the settings do not matter.
    `scored`: what `batch` gives of the run for the alignment of the settings, where it is at hand.

    Raises:
        InvalidInput: the settings need layers that the run does not store, or another part than its answers.
        RunError: a shard can no longer be read.
    """
    how, thresholds = settings or Settings(), measure(run.manifest.request.quality).thresholds
    scored, about = scored or batch(run, how.alignment), tokens(run)
    if by == "surprisal":
        uncertainty, collapse = surprisals(run, scored, about)
        marks = tuple(np.nan_to_num(one, nan=-np.inf) for one in collapse)  # what is not compared is never marked
    else:
        uncertainty = _stored(run) if settings is None else score_many(scored, how).uncertainty
        marks = collapse = collapse_many(scored, how)
    quality = run.answers["quality"].to_numpy(dtype=float)
    known, verdicts = np.isfinite(uncertainty) & np.isfinite(quality), sides(quality, thresholds)
    return ReferenceScores(
        model=run.answerer.name,
        revision=run.answerer.revision,
        kind=run.answerer.kind,
        data=run.manifest.request.data,
        uncertainties=tuple(uncertainty[known].tolist()),
        correct=tuple((quality[known] > thresholds.roc).tolist()),
        heads=_heads(run, verdicts) if how.alignment == "predicting" and by == "rauq" else None,
        longest=int(scored.lengths[known].max(initial=0)),
        token_collapse=_token_collapse([(collapse[row], about[row]) for row in np.flatnonzero(known)]),
        weak_point=_worth(run, marks, about, verdicts),
        clusters=tuple(run.clusters[known].tolist()),
        unclear=int((run.answers["unclear"].to_numpy(dtype=bool) & np.isfinite(uncertainty)).sum()),
        written=is_written(run),
        scripts=scripts_of(run.answers["answer"][known]),
    )


def is_written(run: Run) -> bool:
    """Whether the answers of a run were given to the model, as its first one was."""
    numbers = run.answers["number"].iloc[:1]
    return any(run.examples[number].answer is not None for number in numbers)


def surprisals(run: Run, scored: Blocks, about: Sequence[Tokens]) -> tuple[np.ndarray, tuple[np.ndarray, ...]]:
    """The largest surprisal of every answer (A,), and those that are compared (N,), nan elsewhere."""
    values = [np.empty(0)] * len(about)
    for places, block in scored.blocks():
        for place, logprobs, entropies, length in zip(
            places.tolist(), block.logprobs, block.entropies, block.lengths.tolist(), strict=True
        ):
            values[place] = token_surprisals(logprobs[:length], entropies[:length])
    asked = [run.examples[number].asked for number in run.answers["number"]]
    compared = [
        np.where(compared_tokens(one.texts, question)[1], own, np.nan) if one.texts else np.full(len(own), np.nan)
        for own, one, question in zip(values, about, asked, strict=True)
    ]
    largest = [np.nan if np.isnan(own).all() else float(np.nanmax(own)) for own in compared]
    return np.array(largest), tuple(compared)


def _stored(run: Run) -> np.ndarray:
    """The uncertainty that was stored with every answer (A,), to 4 decimals; from weights in full precision."""
    return run.uncertainty("rauq").round(4)


def _token_collapse(answers: Sequence[tuple[np.ndarray, Tokens]]) -> float | None:
    """The collapse in nats that four of five tokens with text do not exceed; None where there is none."""
    values = [collapse[about.shown & ~np.isnan(collapse)] for collapse, about in answers if len(about.texts)]
    joined = np.concatenate(values) if values else np.empty(0)
    found = float(np.quantile(joined, FOUR_OF_FIVE, method="inverted_cdf")) if joined.size else np.inf
    return round(found, 4) if np.isfinite(found) else None


def _worth(run: Run, collapse: Sequence[np.ndarray], about: Sequence[Tokens], verdicts: Sides) -> WeakPointWorth:
    """How often the weakest token of the answers of each side carries the fact.

    The run's own marks say which tokens do, where most incorrect answers have some: marks of correct names alone would
    leave out what was invented.
    """
    has_marks = (run.answers["num_fact_tokens"] > 0).to_numpy()
    marked = bool(has_marks[verdicts.incorrect].mean() >= 0.5) if verdicts.incorrect.any() else bool(has_marks.any())
    questions = [run.examples[number].asked for number in run.answers["number"]]
    found = [
        weak_token(values, one.shown, one.fact if marked else named_tokens(one.texts, question)) if one.texts else None
        for values, one, question in zip(collapse, about, questions, strict=True)
    ]
    incorrect, correct = (
        weak_point_share([found[row] for row in np.flatnonzero(side)], clusters=run.clusters[side])
        for side in (verdicts.incorrect, verdicts.correct)
    )
    return WeakPointWorth(incorrect=incorrect, correct=correct, marked=marked)


def _heads(run: Run, verdicts: Sides) -> ReferenceHeads | None:
    """What the mean attention of each head says of the answers; None where no group has both sides."""
    weights = means(run)
    found = separation(weights, verdicts, run.answers["group"].tolist(), clusters=run.clusters)
    if found.best is None:
        return None
    in_correct = np.nanmean(weights[verdicts.correct], axis=0, dtype=float)
    return ReferenceHeads(
        layers=run.answerer.layers,
        auc=tuple(map(tuple, found.auc.round(3).tolist())),
        in_correct=tuple(map(tuple, in_correct.round(4).tolist())),
        chance=round(found.chance, 4),
    )
