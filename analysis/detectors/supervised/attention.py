"""Fitting the detectors of attention (`rauq.detectors.attention`): LookBackLens, Head Entropy and TAD, all linear.

LookBackLens (Chuang et al., 2024): logistic regression on the mean lookback ratio of each head.

Head Entropy (arXiv 2602.13699): as in its paper, logistic regression with an L1 penalty, so that the signs are learned
and few heads count. Ours: each feature is divided by its standard deviation over the training answers, so that the
penalty is the same for all; the strength of the penalty is chosen by five folds. The solver is liblinear, which
penalises the intercept too.

TAD: two stages of ridge regressions over the tokens of all training answers. As in the reference: no scaling; every
token after the first has its answer's quality as target; the settings are chosen by the mean raw area under the
rejection curve; in stage 1 the target is a feature, since the values of earlier tokens are the quality itself, so that
the regression copies it. Ours: equal uncertainties are averaged over their orders; the sums over rows are kept by fold,
so that the rows are read once a stage; the number of offsets is that of the features. `threshold` only checks that both
classes are there.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from analysis.detectors.supervised.training_set import SEED, TrainingSet, check_training_set, folds, training_set
from analysis.stats import is_constant, rejection_curve, roc_auc
from rauq.detectors.attention import (
    AGGREGATIONS,
    HeadEntropy,
    LookbackLens,
    Tad,
    aggregated,
    design,
    fixed_part,
    free_run,
    probabilities_of,
)
from rauq.errors import InvalidInput

ALPHAS = (10.0, 1.0, 0.1, 0.01, 1e-3, 1e-4)
PENALTIES = (0.01, 0.03, 0.1, 0.3, 1.0)  # inverse strengths
_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, kw_only=True)
class TadSettings:
    """Penalties of the ridge regressions of both stages, and how token values become a score."""

    first_alpha: float
    alpha: float
    aggregation: str


@dataclass(frozen=True, eq=False)
class _Given:
    """Training answers: features (N, n, L H + 1) each, quality (A,) and fold (A,)."""

    features: Sequence[np.ndarray]
    quality: np.ndarray
    fold: np.ndarray

    @property
    def num_folds(self) -> int:
        return int(self.fold.max()) + 1

    def of_quality(self) -> list[np.ndarray]:
        """The values of stage 1: the quality at every token."""
        return [np.full(len(one), quality) for one, quality in zip(self.features, self.quality, strict=True)]


def search_tad(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    seed: int = SEED,  # noqa: ARG001 - one interface for all methods; nothing but the folds is drawn
    full: bool = False,  # noqa: ARG001 - the grid is small
) -> TadSettings:
    """Choose the penalty of stage 1, then that of stage 2 and the aggregation, each by five-fold cross-validation.

    Raises:
        InvalidInput: the answers cannot be fitted; the message says why.
    """
    given = _checked(features, quality, threshold)
    unseen = _values_unseen(given, given.of_quality(), ALPHAS)
    first, _ = _best(given, unseen)
    second, aggregation = _best(given, _values_unseen(given, [one[first] for one in unseen], ALPHAS))
    return TadSettings(first_alpha=ALPHAS[first], alpha=ALPHAS[second], aggregation=aggregation)


def fit_tad(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: TadSettings,
    seed: int = SEED,  # noqa: ARG001 - see `search`
) -> Tad:
    """Fit on all answers, with values of earlier tokens from the five fold models of stage 1, unseen by each.

    Raises:
        InvalidInput: the answers cannot be fitted; the message says why.
    """
    given = _checked(features, quality, threshold)
    values = [one[0] for one in _values_unseen(given, given.of_quality(), (settings.first_alpha,))]
    weights, intercepts = _ridge(reduce(np.add, _moments(given, values)), (settings.alpha,))
    offsets = features[0].shape[1]
    return Tad(weights=weights[0], intercept=float(intercepts[0]), offsets=offsets, aggregation=settings.aggregation)


def _checked(features: Sequence[np.ndarray], quality: np.ndarray, threshold: float) -> _Given:
    check_training_set(features, quality, threshold=threshold, token_axis=0, method="TAD")
    fold = folds(len(features))
    with_rows = {int(own) for own, one in zip(fold, features, strict=True) if len(one) > 1}
    if len(with_rows) < 2:
        message = "TAD cannot be fitted: hardly any answer has two tokens. Give longer answers."
        raise InvalidInput(message)
    return _Given(features, quality, fold)


def _values_unseen(given: _Given, values: Sequence[np.ndarray], alphas: Sequence[float]) -> list[np.ndarray]:
    """Token values (len(alphas), N) of each answer, from its own earlier ones, by the fits on the other folds.

    `values` (N,) are what the fits take for the values of earlier tokens.
    """
    moments = _moments(given, values)
    found: list[np.ndarray] = [np.empty(0)] * len(given.features)
    for number in range(len(moments)):
        weights, intercepts = _ridge(reduce(np.add, moments[:number] + moments[number + 1 :]), alphas)
        rows = np.flatnonzero(given.fold == number)
        for row, own in zip(rows, _stepped(given, rows, weights, intercepts), strict=True):
            found[row] = own
    return found


def _stepped(given: _Given, rows: np.ndarray, weights: np.ndarray, intercepts: np.ndarray) -> Iterator[np.ndarray]:
    """Token values (m, N) of these answers by each of m models, all answers stepped together, padded to the longest."""
    lengths = [len(given.features[row]) for row in rows]
    fixed = np.zeros((len(weights), len(rows), max(lengths)))
    probabilities = np.zeros(fixed.shape[1:])
    for place, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        fixed[:, place, :length] = fixed_part(given.features[row], weights, intercepts)
        probabilities[place, :length] = probabilities_of(given.features[row])
    values = free_run(fixed, probabilities, weights[:, None], given.features[0].shape[1])
    return (values[:, place, :length] for place, length in enumerate(lengths))


def _moments(given: _Given, values: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The products Z'Z (D + 2, D + 2) of each fold's rows z = [x, 1, quality], one for each token after the first."""
    size = design(given.features[0], values[0]).shape[1] + 2
    products = ((rows.T @ rows for rows in _blocks(given, values, number)) for number in range(given.num_folds))
    return [reduce(np.add, own, np.zeros((size, size))) for own in products]


def _blocks(given: _Given, values: Sequence[np.ndarray], number: int) -> Iterator[np.ndarray]:
    """Rows z of a fold, some thousand at once: those of all answers would take gigabytes."""
    block: list[np.ndarray] = []
    for row in np.flatnonzero(given.fold == number).tolist():
        columns = design(given.features[row], values[row])[1:]
        block.append(np.column_stack([columns, np.ones(len(columns)), np.full(len(columns), given.quality[row])]))
        if sum(map(len, block)) >= _ROWS_AT_ONCE:
            yield np.concatenate(block)
            block = []
    if block:
        yield np.concatenate(block)


def _ridge(moment: np.ndarray, alphas: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Weights (len(alphas), D) and intercepts (len(alphas),) of ridge regressions, from Z'Z of z = [x, 1, target]."""
    from scipy.linalg import cho_factor, cho_solve

    means = moment[-2] / moment[-2, -2]
    centred = moment - np.outer(moment[-2], means)
    size = len(moment) - 2
    weights = np.empty((len(alphas), size))
    for place, alpha in enumerate(alphas):
        penalised = centred[:size, :size].copy()
        penalised.flat[:: size + 1] += alpha
        weights[place] = cho_solve(cho_factor(penalised, overwrite_a=True), centred[:size, -1])
    return weights, means[-1] - weights @ means[:size]


def _best(given: _Given, unseen: Sequence[np.ndarray]) -> tuple[int, str]:
    """The place of the penalty, and the aggregation, of the largest mean area over the folds; of equal ones the first.

    `unseen` are token values (len(alphas), N) of each answer.
    """
    scores = np.array([[aggregated(one, way) for way in AGGREGATIONS] for one in unseen]).T  # (alphas, ways, A)
    parts = [given.fold == number for number in range(given.num_folds)]
    areas = [[np.mean([_area(score[own], given.quality[own]) for own in parts]) for score in ways] for ways in scores]
    best = int(np.argmax(areas))  # penalties outermost
    return best // len(AGGREGATIONS), AGGREGATIONS[best % len(AGGREGATIONS)]


def _area(uncertainty: np.ndarray, quality: np.ndarray) -> float:
    """The raw area under the whole rejection curve, quality scaled to [0, 1]; .5 where it is constant (reference)."""
    if is_constant(quality):
        return 0.5
    scaled = (quality - quality.min()) / np.ptp(quality)
    return float(rejection_curve(uncertainty, scaled).kept_quality.mean())


def search_lookback_lens(
    features: Sequence[np.ndarray], quality: np.ndarray, *, threshold: float, seed: int, full: bool
) -> None:
    """Choose nothing: the paper of RAUQ searches no setting of this method."""


def fit_lookback_lens(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: None = None,  # noqa: ARG001 - the signature of every method
    seed: int = 42,  # noqa: ARG001
) -> LookbackLens:
    """Fit the regression to A answers of quality (A,) and features (L H,) each: L2 with C = 1, lbfgs, 1,000 iterations.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    from sklearn.linear_model import LogisticRegression

    given = training_set(features, quality, threshold=threshold)
    fitted = LogisticRegression(C=1.0, max_iter=1000).fit(given.features, given.correct)
    return LookbackLens(coefficients=fitted.coef_[0].astype(np.float64), intercept=float(fitted.intercept_[0]))


@dataclass(frozen=True, kw_only=True)
class HeadEntropySettings:
    """The inverse strength of the penalty, C of scikit-learn: smaller leaves fewer heads."""

    inverse_strength: float


def search_head_entropy(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    seed: int,
    full: bool,  # noqa: ARG001 - the grid is small
) -> HeadEntropySettings:
    """Choose the penalty of the highest mean ROC-AUC over five folds; of equal ones the strongest.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    given = training_set(features, quality, threshold=threshold)
    fold = folds(len(given.quality))
    parts = [(given.take(fold != own), given.take(fold == own)) for own in np.unique(fold)]
    areas = [[_entropy_area(*part, strength, seed) for part in parts] for strength in PENALTIES]
    means = np.nan_to_num(np.ma.masked_invalid(areas).mean(axis=1).filled(0))
    return HeadEntropySettings(inverse_strength=PENALTIES[int(np.argmax(means))])


def fit_head_entropy(
    features: Sequence[np.ndarray],
    quality: np.ndarray,
    *,
    threshold: float,
    settings: HeadEntropySettings,
    seed: int = 42,
) -> HeadEntropy:
    """Fit the regression to A answers of quality (A,) and features (L H,) each.

    Raises:
        InvalidInput: too few answers of a class, or features of different models.
    """
    return _fitted_entropy(training_set(features, quality, threshold=threshold), settings.inverse_strength, seed)


def _entropy_area(seen: TrainingSet, held: TrainingSet, strength: float, seed: int) -> float:
    """The ROC-AUC of a fit on the first part over the second; nan where either has one class."""
    if len(set(seen.correct.tolist())) < 2 or len(set(held.correct.tolist())) < 2:
        return np.nan
    fitted = _fitted_entropy(seen, strength, seed)
    return roc_auc(np.array([fitted.value(one) for one in held.features]), held.correct)


def _fitted_entropy(given: TrainingSet, strength: float, seed: int) -> HeadEntropy:
    from sklearn.linear_model import LogisticRegression

    mean, scale = given.features.mean(axis=0), given.features.std(axis=0)
    scale[scale == 0] = 1.0
    model = LogisticRegression(l1_ratio=1.0, C=strength, solver="liblinear", max_iter=1000, random_state=seed)
    model.fit((given.features - mean) / scale, given.correct)
    coefficients = model.coef_[0] / scale
    return HeadEntropy(coefficients=coefficients, intercept=float(model.intercept_[0] - coefficients @ mean))
