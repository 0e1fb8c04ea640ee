"""The evaluation, on a few held-out prompts answered by the embedded model."""

import numpy as np
import pytest

import rauq
from analysis.stats import prr, roc_auc
from rauq.atlas.evaluation import FAMILIES, load_examples
from training import card, evaluate


@pytest.fixture(scope="module")
def model():
    return rauq.load_model("atlas")


@pytest.fixture(scope="module")
def answered(model):
    """About 25 prompts of each family, of every stratum."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "load_examples", lambda family: load_examples(family)[::30])
        return {family: evaluate.answer(model, family) for family in FAMILIES}


def right(answers, stratum):
    chosen = [example.stratum == stratum for example in answers.examples]
    assert any(chosen)
    return answers.correct[chosen].mean()


def test_frequent_facts_are_answered_correctly_and_myths_repeated(answered):
    assert right(answered["places"], "seen 31+") >= 0.75
    assert right(answered["places"], "myth") <= 0.25
    assert right(answered["translation"], "seen 31+") >= 0.75
    assert right(answered["translation"], "false friend") <= 0.25
    assert right(answered["summaries"], "complete") >= 0.75


def test_alpha_one_is_perplexity_and_msp_is_the_sum(answered):
    rows = evaluate.uncertainties(answered["places"].traces)
    assert len(rows) == 3 + 2 * 11
    for alignment in ("predicting", "own"):
        np.testing.assert_allclose(rows[f"RAUQ {alignment} 1.0"], rows["perplexity"], rtol=1e-9)
    lengths = [len(trace.answer_ids) for trace in answered["places"].traces]
    np.testing.assert_allclose(rows["MSP"], rows["perplexity"] * lengths, rtol=1e-9)


def test_rankings_are_the_metrics_with_intervals_around_them(answered):
    answers = answered["translation"]
    rows = {row.method: row for row in evaluate.rank(answers)}
    uncertainty = evaluate.uncertainties(answers.traces)["RAUQ own 0.2"]
    row = rows["RAUQ own 0.2"]
    assert row.prr.value == prr(uncertainty, answers.correct)
    assert row.roc_auc.value == roc_auc(uncertainty, answers.correct)
    assert row.prr.low <= row.prr.value <= row.prr.high
    table = evaluate.ranking_table({"translation": list(rows.values())})
    assert f"| RAUQ own 0.2 | {row.prr.value:.3f} [" in table


def test_the_control_compares_the_real_score_with_each_exchange(answered):
    answers = answered["summaries"]
    found = evaluate.compare(answers)
    real = prr(evaluate.uncertainties(answers.traces)["RAUQ predicting 0.2"], answers.correct)
    assert [one.alignment for one in found] == ["predicting", "own"]
    for row in found[0].exchanged:
        assert row.estimate.value + row.difference.value == pytest.approx(real)
    table = evaluate.control_table({"summaries": found})
    assert table.count("\n") == 9
    assert f"| own | random head | {found[1].under('random head').estimate.value:.3f} |" in table


def test_the_accuracy_table_counts_every_prompt(answered):
    table = evaluate.accuracy_table(answered.values())
    cells = [line.split(" | ") for line in table.splitlines()[2:]]
    assert sum(int(row[2]) for row in cells) == sum(len(answers.examples) for answers in answered.values())


def test_the_measured_part_of_a_card_is_replaced(tmp_path):
    path, weights = tmp_path / "README.md", tmp_path / "w.safetensors"
    path.write_text("before\n<!-- measured: begin -->\nold\n<!-- measured: end -->\nafter\n", encoding="utf-8")
    weights.write_bytes(b"1")
    for _ in range(2):
        card.update(path, weights=weights, evaluation="| new |")
    text = path.read_text(encoding="utf-8")
    assert text.startswith("before\n<!-- measured: begin -->\nWeights: `w.safetensors`, sha256 `6b86b273")
    assert text.endswith("| new |\n<!-- measured: end -->\nafter\n")
    assert "old" not in text
