"""Comparisons as tables: a row a finding, numbers in full, and nothing that a group or a label is called gets lost."""

import numpy as np
import pytest

from analysis.exports.csv_text import csv_table
from analysis.exports.tables import in_brackets, latex_table
from analysis.methods.agreement import disagreement, method_agreement
from analysis.methods.comparison import WITHIN, compare, groups_of, rejections
from analysis.methods.errors import error_analysis
from analysis.methods.tables import (
    agreement_table,
    comparison_table,
    disagreement_table,
    errors_table,
    methods_table,
    paired_table,
    rejections_table,
)
from analysis.quality.judgement import Thresholds
from analysis.runs.timings import Alone, Cost
from tests.analysis.methods.made_up import SKILL, made_up

HOSTILE = ("mean", "=1+1 \\ & _ <b>\n")


@pytest.fixture(scope="module")
def answers():
    table = made_up(60, groups=HOSTILE)
    return table.assign(number=range(60), id="i", answer="an answer", prompt="a prompt")


@pytest.fixture(scope="module")
def found(answers):
    groups = groups_of(list(answers["group"]))
    return compare(answers, tuple(SKILL), groups, metric="prr", thresholds=Thresholds())


def test_the_papers_layout_has_a_row_a_method_and_says_what_it_cost(found):
    alone = Alone(overhead=0.02, low=-0.01, high=0.05, pairs=30)
    costs = (Cost("msp", 0.5, 0.25), Cost("rauq", 0.001, 0.003, alone=alone))
    table = methods_table(found, costs).set_index("method")
    assert table.index[0] == "RAUQ"
    assert table.loc["RAUQ", "PRR of all"] == found.of_group("all")[0].value
    assert table.loc["RAUQ", "PRR of mean"] == found.of_group("mean")[0].value  # a group called so
    assert table.loc["RAUQ", "mean PRR within groups"] == found.of_group(WITHIN)[0].value
    assert table["mean rank"].tolist() == found.mean_ranks.tolist()
    assert table.loc["MSP", ["seconds an answer, in batches", "overhead percent, in batches"]].tolist() == [0.5, 25]
    assert table["seconds an answer, in batches"].isna().sum() == 2  # no time is known of the others
    one_at_a_time = [f"overhead percent, one at a time{end}" for end in ("", ", low", ", high")]
    assert table.loc["RAUQ", one_at_a_time].tolist() == [2, -1, 5]
    assert table.loc["MSP", one_at_a_time].isna().all()
    assert table["forward passes"].all()


def test_every_value_has_its_interval_and_number_of_answers_beside_it(found):
    table = methods_table(found)
    for name, group in (("PRR of all", "all"), ("mean PRR within groups", WITHIN)):
        estimates = found.of_group(group)
        ends = [f"{name}{end}" for end in (", low", ", high", ", answers")]
        assert table[ends].to_numpy().tolist() == [[one.low, one.high, one.n] for one in estimates]
    words = in_brackets(table)
    one = found.of_group("all")[0]
    assert words["PRR of all (n = 60)"][0] == f"{one.value:.3f} [{one.low:.3f}, {one.high:.3f}]".replace("-", "−")
    assert not any(str(name).endswith((", low", ", high")) for name in words)
    assert in_brackets(comparison_table(found)).equals(comparison_table(found))


def test_every_estimate_has_its_row(found):
    table = comparison_table(found)
    assert len(table) == 4 * 4
    cells = table.iloc[1]
    one = found.estimates[0][1]
    assert cells[["prr", "low", "high", "answers"]].tolist() == [one.value, one.low, one.high, one.n]
    assert table["group"].tolist()[:4] == ["all", WITHIN, *sorted(HOSTILE)]
    pairs = paired_table(found.paired)
    assert len(pairs) == 3 * 4
    assert set(pairs["base"]) == {"RAUQ"}
    assert pairs["difference"].iloc[0] == found.paired.differences[0][0].value


def test_curves_correlations_and_disagreements_are_those_of_the_results(answers):
    uncertainties = {method: answers[method].to_numpy() for method in SKILL}
    quality = answers["quality"].to_numpy()
    curves = rejections_table(rejections(uncertainties, quality))
    assert curves.columns[0] == "rejected"
    assert curves.columns[-2:].tolist() == ["oracle", "random"]
    assert (curves["oracle"] >= curves["RAUQ"] - 1e-12).all()
    pairs = agreement_table(method_agreement(uncertainties))
    assert (len(pairs), pairs["answers"].unique().tolist()) == (6, [60])
    rows = disagreement(uncertainties["rauq"], uncertainties["msp"], most=5)
    table = disagreement_table(rows, answers, "rauq", "msp")
    assert table["more uncertain"].tolist() == ["RAUQ"] * 5 + ["MSP"] * 5
    assert table.index.tolist() == [*rows.first_more_uncertain.rows, *rows.second_more_uncertain.rows]
    assert (table["percentile of RAUQ"] > table["percentile of MSP"]).tolist() == [True] * 5 + [False] * 5
    assert table["quality"].tolist() == answers["quality"].iloc[table.index].tolist()


def test_errors_have_a_row_an_end_and_a_column_a_kind():
    uncertainty, quality = np.arange(10.0), np.array([1.0, 1, 1, 0, 1, 1, 0, 0, 0, 0])
    labels = ["erroneous"] * 8 + ["factual"] * 2  # a kind that is called as another column
    table = errors_table(error_analysis(uncertainty, quality, labels, thresholds=Thresholds(), most=4), "rauq")
    assert table["uncertainty"].tolist() == ["highest", "lowest", "all"]
    assert table["percent erroneous"].tolist() == [100, 25, 50]
    assert table["percent erroneous, factual"].tolist() == [50, 0, 20]
    assert table["percent erroneous, erroneous"].tolist() == [50, 25, 30]


def test_every_table_is_csv_and_latex(found, answers):
    uncertainties = {method: answers[method].to_numpy() for method in SKILL}
    tables = (
        methods_table(found),
        comparison_table(found),
        paired_table(found.paired),
        rejections_table(rejections(uncertainties, answers["quality"].to_numpy())),
        agreement_table(method_agreement(uncertainties)),
        disagreement_table(disagreement(uncertainties["rauq"], uncertainties["msp"]), answers, "rauq", "msp"),
    )
    for table in tables:
        written = csv_table(table)
        assert "\n=1" not in written
        assert "," not in written.partition("\r\n")[0].replace('","', "") or len(table.columns) > 1
        assert latex_table(table, caption="a", label="b").count(r"\\") == len(table) + 1
