"""One quantity of one run has one value, on every page, in the report and in the command line."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from analysis.answer_sets.outcomes import outcomes
from analysis.calibration import share_at
from analysis.methods.comparison import ALL, RAUQ, WITHIN, name_of
from analysis.methods.tables import ranking_table
from analysis.report.results import ReportSettings, answers_of, choices_of
from analysis.runs.library import bundled_folder
from analysis.views import answer_sets
from analysis.views.answer_set import AnswerSet, Choices
from analysis.views.answer_sets import MEANING, SELECTED
from analysis.views.heads import HEADS
from analysis.views.methods import RANKING, SCORES, usual
from analysis.views.variants import ABLATIONS, ALPHA, ATTENTION
from pages.ui.host import cache
from pages.ui.inspect.reference import calibration
from pages.ui.shared.run_views.page import READER
from rauq.recorded.scores import load_scores
from rauq.scoring.settings import Settings

PRR, ROC = 0, 1  # the order of the metrics wherever both are computed


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What the places show of the bundled run: its pages, its report, its table in Inspect, and the command line."""

    answers: AnswerSet
    report: AnswerSet
    inspect: Any
    computed: dict[Any, Any] = field(default_factory=dict)

    @property
    def run(self):
        return self.answers.run

    def on_page(self, view, **changes):
        """What a view shows under its usual choices with these changes."""
        choices = usual(self.run)
        if view in answer_sets.VIEWS:
            choices = Choices(layer=self.run.stored_layers[0])
        return cache.seen(view, self.answers, replace(choices, **changes)).result

    def in_report(self, view, **choices):
        """What the report shows of a view under the first of its choices that have these."""
        return next(self.each_in_report(view, **choices))

    def each_in_report(self, view, **choices):
        for one, shown in choices_of(self.report, ReportSettings()):
            if one is view and all(getattr(shown, name) == choices[name] for name in choices):
                if (key := (view.id, shown)) not in self.computed:
                    self.computed[key] = view.seen(self.report, shown).result
                yield self.computed[key]


@pytest.fixture(scope="module")
def shown():
    run = cache.run(bundled_folder())
    answers = AnswerSet(
        run=run, rows=np.arange(len(run.answers)), thresholds=cache.usual_thresholds(run), reader=READER
    )
    table = next(one for one in load_scores() if one.model == run.answerer.name)
    return Shown(answers=answers, report=answers_of(run, ReportSettings()), inspect=table)


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
    table = ranking_table(
        shown.run.answers, shown.run.methods, shown.answers.thresholds, clusters=shown.answers.clusters
    )
    row = table[(table["method"] == name_of(RAUQ)) & (table["group"] == group)].iloc[0]
    return (*(row[f"{metric}{end}"] for end in ("", "_low", "_high")), row["answers"])


OF_ENTROPY = {"signal": "entropy", "alignment": "predicting"}  # the paper's for this run's model


def prr_places(group):
    return {
        "Methods, Ranking": lambda shown: of_rauq(shown.on_page(RANKING).comparison, group),
        "Methods, Score and quality": lambda shown: of_rauq(shown.on_page(SCORES).ranked[PRR], group),
        "Methods, Alpha": lambda shown: at_paper(shown.on_page(ALPHA, **OF_ENTROPY), group),
        "Methods, Does attention matter?": lambda shown: real(shown.on_page(ATTENTION), group),
        "Answer sets, What a score means": lambda shown: of_rauq(shown.on_page(MEANING).ranked[PRR], group),
        "report, methods": lambda shown: of_rauq(shown.in_report(RANKING, metric="prr").comparison, group),
        "report, score": lambda shown: of_rauq(shown.in_report(SCORES).ranked[PRR], group),
        "report, alpha": lambda shown: at_paper(shown.in_report(ALPHA, **OF_ENTROPY), group),
        "report, control": lambda shown: real(shown.in_report(ATTENTION, tokens="all"), group),
        "report, meaning": lambda shown: of_rauq(shown.in_report(MEANING).ranked[PRR], group),
        "command line": lambda shown: in_command_line(shown, "prr", group),
    }


def of_ablations(tables):
    """RAUQ in every table of ablations over all answers; some are over those that chose no heads."""
    found = {of_rauq(one.comparison) for one in tables if RAUQ in one.comparison.methods}
    most = max(count for *_, count in found)
    (value,) = (one for one in found if one[-1] == most)
    return value


def ablations_of_report(shown):
    return list(shown.each_in_report(ABLATIONS))


def ablations_of_page(shown):
    return [shown.on_page(ABLATIONS, table=one.ablation.id) for one in ablations_of_report(shown)]


def real_minus_shuffled(group):
    def of_sweep(found):
        return ends(found.under("shuffled", group)[found.alphas.index(found.paper_alpha)].difference)

    def of_control(controls):
        return ends(next(one for one in controls if one.group == group).under("shuffled").difference)

    return {
        "Methods, Alpha": lambda shown: of_sweep(shown.on_page(ALPHA, **OF_ENTROPY)),
        "Methods, Does attention matter?": lambda shown: of_control(shown.on_page(ATTENTION)),
        "report, alpha": lambda shown: of_sweep(shown.in_report(ALPHA, **OF_ENTROPY)),
        "report, control": lambda shown: of_control(shown.in_report(ATTENTION, tokens="all")),
    }


def bounds(found):
    """A value with all unclear answers as correct, and with all as incorrect."""
    return tuple(of_rauq(side)[0] for side in (found.correct, found.incorrect))


def prr_bounds(scored):
    return bounds(scored.bounds.of(lambda one: one[PRR]))


def counted(found):
    return (found.correct, found.incorrect, found.unclear)


def counted_in_table(scores):
    return (sum(scores.correct), len(scores.correct) - sum(scores.correct), scores.unclear)


def shares(curve):
    """The share of correct answers near scores across the run, in percent as it is shown."""
    return tuple(round(100 * share_at(curve, score).value) for score in (-2.5, -2.2, -2.0, -1.8, -1.5))


def best_head(auc):
    """Row and head of the one that separates best, and its ROC-AUC to the digits of the table in Inspect."""
    place = np.unravel_index(np.abs(np.array(auc) - 0.5).argmax(), np.shape(auc))
    return (*map(int, place), round(float(np.array(auc)[place]), 3))


def shares_selected(found):
    return tuple(found.heads.shares.ravel().tolist())


QUANTITIES: Mapping[str, Mapping[str, Callable[[Shown], object]]] = {
    "PRR of RAUQ, with interval and count": prr_places(ALL)
    | {
        "Methods, Ablations": lambda shown: of_ablations(ablations_of_page(shown)),
        "report, ablations": lambda shown: of_ablations(ablations_of_report(shown)),
    },
    "PRR of RAUQ, mean within groups": prr_places(WITHIN),
    "ROC-AUC of RAUQ, with interval and count": {
        "Methods, Ranking": lambda shown: of_rauq(shown.on_page(RANKING, metric="roc_auc").comparison),
        "Methods, Score and quality": lambda shown: of_rauq(shown.on_page(SCORES).ranked[ROC]),
        "Answer sets, What a score means": lambda shown: of_rauq(shown.on_page(MEANING).ranked[ROC]),
        "report, methods": lambda shown: of_rauq(shown.in_report(RANKING, metric="roc_auc").comparison),
        "command line": lambda shown: in_command_line(shown, "roc_auc"),
    },
    "PRR of RAUQ with unclear answers on either side": {
        "Methods, Ranking": lambda shown: bounds(shown.on_page(RANKING).bounds),
        "Methods, Score and quality": lambda shown: prr_bounds(shown.on_page(SCORES)),
        "Answer sets, What a score means": lambda shown: prr_bounds(shown.on_page(MEANING)),
        "report, methods": lambda shown: bounds(shown.in_report(RANKING, metric="prr").bounds),
    },
    "real minus shuffled attention": real_minus_shuffled(ALL),
    "real minus shuffled attention, mean within groups": real_minus_shuffled(WITHIN),
    "answers correct, incorrect and unclear": {
        "Runs, Methods, Answer sets, command line": lambda shown: counted(
            outcomes(shown.run.answers, shown.answers.thresholds)
        ),
        "Inspect": lambda shown: counted_in_table(shown.inspect),
        "Inspect, of the run": lambda shown: counted_in_table(cache.reference_scores(shown.run, Settings())),
    },
    "share correct near a score": {
        "Inspect": lambda shown: shares(calibration(shown.inspect)),
        "Inspect, of the run": lambda shown: shares(calibration(cache.reference_scores(shown.run, Settings()))),
        "Answer sets, What a score means": lambda shown: shares(shown.on_page(MEANING).calibration),
        "report": lambda shown: shares(shown.in_report(MEANING).calibration),
    },
    "head that separates answers best": {
        "Inspect": lambda shown: best_head(shown.inspect.heads.auc),
        "Answer sets, Heads": lambda shown: best_head(shown.on_page(HEADS).found.auc),
        "report": lambda shown: best_head(shown.in_report(HEADS).found.auc),
    },
    "how often each head is selected": {
        "Answer sets": lambda shown: shares_selected(shown.on_page(SELECTED)),
        "report": lambda shown: shares_selected(shown.in_report(SELECTED)),
    },
}


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_place_shows_the_same_value(shown, quantity):
    found = {place: value(shown) for place, value in QUANTITIES[quantity].items()}
    (first, expected), *others = found.items()
    assert len(others) > 0
    for place, value in others:
        assert value == pytest.approx(expected, abs=1e-12, nan_ok=True), f"{quantity}: {first} and {place} differ"
