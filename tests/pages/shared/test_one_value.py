"""One quantity of one run has one value, on every page, in the report and in the command line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from analysis.answer_sets.heads import selected_heads
from analysis.answer_sets.outcomes import outcomes
from analysis.answer_sets.separation import separation
from analysis.answer_sets.sides import sides
from analysis.calibration import calibrate, share_at
from analysis.methods.comparison import ALL, RAUQ, WITHIN, name_of
from analysis.methods.tables import ranking_table
from analysis.report.results import method_results
from analysis.runs.attention import means, picks
from analysis.runs.library import bundled_folder
from pages.ui.host import cache, head_cache
from pages.ui.inspect.reference import calibration
from rauq.recorded.scores import load_scores
from rauq.scoring.settings import Settings

PRR, ROC = 0, 1  # the order of the metrics wherever both are computed


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the places show of the bundled run: its pages, its report, its table in Inspect, and the command line."""

    run: Any
    rows: np.ndarray
    limits: Any
    report: Any
    inspect: Any

    def ranking(self, metric):
        return cache.comparison(self.run, self.rows, metric)

    def score_view(self, uncertainty):
        return cache.score_ranking(self.run, uncertainty, self.rows, self.limits)

    def bounds_of(self, uncertainty):
        return cache.score_bounds(self.run, uncertainty, self.rows, self.limits)

    @property
    def stored(self):
        """What the view Score and quality ranks."""
        return self.run.uncertainty(RAUQ)

    @property
    def scored_again(self):
        """What the view What a score means ranks."""
        return cache.scores(self.run, Settings())[self.rows]

    @property
    def sweep(self):
        return cache.sweep(self.run, self.rows, "prr", "entropy", "predicting")

    @property
    def control(self):
        return cache.control(self.run, self.rows, "prr", "all")

    @property
    def sweep_of_report(self):
        return next(one for one in self.report.sweeps if (one.signal, one.alignment) == ("entropy", "predicting"))

    @property
    def quality(self):
        return self.run.answers["quality"].to_numpy(dtype=float)

    @property
    def separation_of_report(self):
        groups = self.run.answers["group"].tolist()
        weights, verdicts = means(self.run), sides(self.quality, self.limits)
        return separation(weights, verdicts, groups, clusters=self.run.clusters, permutations=20)


@pytest.fixture(scope="module")
def shown():
    run = cache.run(bundled_folder())
    limits = cache.usual_thresholds(run)
    table = next(one for one in load_scores() if one.model == run.answerer.name)
    report = method_results(run, limits, seed=0)
    return Shown(run=run, rows=np.arange(len(run.answers)), limits=limits, report=report, inspect=table)


def of_rauq(found, group=ALL):
    """The estimate of RAUQ in a comparison, which may be of one score alone."""
    place = found.methods.index(RAUQ) if RAUQ in found.methods else 0
    return ends(found.of_group(group)[place])


def ends(estimate):
    return (estimate.value, estimate.low, estimate.high, estimate.n)


def at_paper(found, group=ALL):
    return ends(found.of_group(group)[found.alphas.index(found.paper_alpha)])


def real(controls, group=ALL):
    return ends(next(one.real for one in controls if one.group == group))


def in_command_line(shown, metric, group=ALL):
    table = ranking_table(shown.run.answers, shown.run.methods, shown.limits, clusters=shown.run.clusters)
    row = table[(table["method"] == name_of(RAUQ)) & (table["group"] == group)].iloc[0]
    return (*(row[f"{metric}{end}"] for end in ("", "_low", "_high")), row["answers"])


def prr_places(group):
    return {
        "Methods, Ranking": lambda shown: of_rauq(shown.ranking("prr"), group),
        "Methods, Score and quality": lambda shown: of_rauq(shown.score_view(shown.stored)[PRR], group),
        "Methods, Alpha": lambda shown: at_paper(shown.sweep, group),
        "Methods, Does attention matter?": lambda shown: real(shown.control, group),
        "Answer sets, What a score means": lambda shown: of_rauq(shown.score_view(shown.scored_again)[PRR], group),
        "report, methods": lambda shown: of_rauq(shown.report.comparisons[PRR], group),
        "report, alpha": lambda shown: at_paper(shown.sweep_of_report, group),
        "report, control": lambda shown: real(shown.report.controls[0], group),
        "command line": lambda shown: in_command_line(shown, "prr", group),
    }


def of_ablations(tables):
    """RAUQ in every table of ablations over all answers; some are over those that chose no heads."""
    found = {of_rauq(one.comparison) for one in tables if RAUQ in one.comparison.methods}
    most = max(count for *_, count in found)
    (value,) = (one for one in found if one[-1] == most)
    return value


def ablations_of_page(shown):
    return [cache.ablated(shown.run, shown.rows, "prr", one.ablation.id) for one in shown.report.ablated]


def real_minus_shuffled(group):
    def of_sweep(found):
        return ends(found.under("shuffled", group)[found.alphas.index(found.paper_alpha)].difference)

    def of_control(controls):
        return ends(next(one for one in controls if one.group == group).under("shuffled").difference)

    return {
        "Methods, Alpha": lambda shown: of_sweep(shown.sweep),
        "Methods, Does attention matter?": lambda shown: of_control(shown.control),
        "report, alpha": lambda shown: of_sweep(shown.sweep_of_report),
        "report, control": lambda shown: of_control(shown.report.controls[0]),
    }


def bounds(found):
    """A value with all unclear answers as correct, and with all as incorrect."""
    return tuple(of_rauq(side)[0] for side in (found.correct, found.incorrect))


def counted(found):
    return (found.correct, found.incorrect, found.unclear)


def counted_in_table(scores):
    return (sum(scores.correct), len(scores.correct) - sum(scores.correct), scores.unclear)


def shares(curve):
    """The share of correct answers near scores across the run, in percent as it is shown."""
    return tuple(round(100 * share_at(curve, score).value) for score in (-2.5, -2.2, -2.0, -1.8, -1.5))


def calibration_of_report(shown):
    correct = np.where(np.isnan(shown.quality), np.nan, shown.quality > shown.limits.roc)
    return calibrate(shown.stored, correct, clusters=shown.run.clusters)


def best_head(auc):
    """Row and head of the one that separates best, and its ROC-AUC to the digits of the table in Inspect."""
    place = np.unravel_index(np.abs(np.array(auc) - 0.5).argmax(), np.shape(auc))
    return (*map(int, place), round(float(np.array(auc)[place]), 3))


def shares_selected(shown, found):
    run = shown.run
    return tuple(selected_heads(found.heads, run.answerer.layers, run.answerer.num_heads).shares.ravel().tolist())


QUANTITIES: Mapping[str, Mapping[str, Callable[[Shown], object]]] = {
    "PRR of RAUQ, with interval and count": prr_places(ALL)
    | {
        "Methods, Ablations": lambda shown: of_ablations(ablations_of_page(shown)),
        "report, ablations": lambda shown: of_ablations(shown.report.ablated),
    },
    "PRR of RAUQ, mean within groups": prr_places(WITHIN),
    "ROC-AUC of RAUQ, with interval and count": {
        "Methods, Ranking": lambda shown: of_rauq(shown.ranking("roc_auc")),
        "Methods, Score and quality": lambda shown: of_rauq(shown.score_view(shown.stored)[ROC]),
        "Answer sets, What a score means": lambda shown: of_rauq(shown.score_view(shown.scored_again)[ROC]),
        "report, methods": lambda shown: of_rauq(shown.report.comparisons[ROC]),
        "command line": lambda shown: in_command_line(shown, "roc_auc"),
    },
    "PRR of RAUQ with unclear answers on either side": {
        "Methods, Ranking": lambda shown: bounds(cache.comparison_bounds(shown.run, shown.rows, "prr")),
        "Methods, Score and quality": lambda shown: bounds(shown.bounds_of(shown.stored).of(lambda one: one[PRR])),
        "Answer sets, What a score means": lambda shown: bounds(
            shown.bounds_of(shown.scored_again).of(lambda one: one[PRR])
        ),
        "report, methods": lambda shown: bounds(shown.report.bounds[PRR]),
    },
    "real minus shuffled attention": real_minus_shuffled(ALL),
    "real minus shuffled attention, mean within groups": real_minus_shuffled(WITHIN),
    "answers correct, incorrect and unclear": {
        "Runs, Methods, Answer sets, command line": lambda shown: counted(outcomes(shown.run.answers, shown.limits)),
        "Inspect": lambda shown: counted_in_table(shown.inspect),
        "Inspect, of the run": lambda shown: counted_in_table(cache.reference_scores(shown.run, Settings())),
    },
    "share correct near a score": {
        "Inspect": lambda shown: shares(calibration(shown.inspect)),
        "Inspect, of the run": lambda shown: shares(calibration(cache.reference_scores(shown.run, Settings()))),
        "Answer sets, What a score means": lambda shown: shares(
            cache.calibration(shown.run, Settings(), shown.limits.roc, shown.rows)
        ),
        "report": lambda shown: shares(calibration_of_report(shown)),
    },
    "head that separates answers best": {
        "Inspect": lambda shown: best_head(shown.inspect.heads.auc),
        "Answer sets, Heads": lambda shown: best_head(
            head_cache.heads(shown.run, shown.rows, "predicting", "all", shown.limits)[0].auc
        ),
        "report": lambda shown: best_head(shown.separation_of_report.auc),
    },
    "how often each head is selected": {
        "Answer sets": lambda shown: shares_selected(shown, cache.picks(shown.run, "predicting")),
        "report": lambda shown: shares_selected(shown, picks(shown.run, "predicting")),
    },
}


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_place_shows_the_same_value(shown, quantity):
    found = {place: value(shown) for place, value in QUANTITIES[quantity].items()}
    (first, expected), *others = found.items()
    assert len(others) > 0
    for place, value in others:
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True), f"{quantity}: {first} and {place} differ"
