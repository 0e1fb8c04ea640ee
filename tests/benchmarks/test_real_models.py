"""The record of real models: its rows about the bundled run are those of the run, and its finding counts its cells."""

import re

import numpy as np
import pytest

from analysis.evidence.record import records
from analysis.methods.comparison import ALL, WITHIN, title_of
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.stats import prr
from benchmarks import real_models
from benchmarks.real_models import BETTER, OTHERS, SOURCES, UNDEFINED, WORSE

NUMBER = re.compile(r"[+−-]?\d+\.\d+")


@pytest.fixture(scope="module")
def run():
    return open_run(bundled_folder())


def numbers(cell):
    return [float(text.replace("−", "-")) for text in NUMBER.findall(str(cell))]


def test_rows_about_the_bundled_run_are_those_of_the_record(run):
    kept = [row for row in records()["real_models"].rows if row[:2] == ("smollm2", "plain")]
    now = real_models._rows(SOURCES[0], run)
    assert [row[:5] for row in now] == [row[:5] for row in kept]
    for one, other in zip(now, kept, strict=True):
        for cell, stored in zip(one[5:], other[5:], strict=True):
            np.testing.assert_allclose(numbers(cell), numbers(stored), atol=0.011)


def test_the_value_of_rauq_and_the_differences_are_those_of_the_columns(run):
    row = real_models._rows(SOURCES[0], run)[0]
    quality = run.answers["quality"].to_numpy(dtype=float)
    own = prr(run.uncertainty("rauq"), quality)
    assert numbers(row[5])[0] == pytest.approx(own, abs=0.006)
    for cell, method in zip(row[6:9], ("msp", "perplexity", "mean_token_entropy"), strict=True):
        assert numbers(cell)[0] == pytest.approx(own - prr(run.uncertainty(method), quality), abs=0.002)
    assert numbers(row[10])[0] == pytest.approx(own - prr(run.lengths.astype(float), quality), abs=0.002)


def test_a_word_says_that_an_interval_does_not_include_zero():
    for row in records()["real_models"].rows:
        for cell in row[-len(OTHERS) :]:
            if "[" not in str(cell):
                continue
            _, low, high = numbers(cell)
            assert cell.endswith(BETTER) <= (low >= 0)
            assert cell.endswith(WORSE) <= (high <= 0)
            assert not (low > 0 and not cell.endswith(BETTER))


def test_each_run_has_all_answers_and_the_mean_within_families():
    cases = [row[:3] for row in records()["real_models"].rows if row[2] in {title_of(ALL), title_of(WITHIN)}]
    assert len(set(cases)) == len(cases) == 2 * len(SOURCES)


def test_the_finding_counts_the_cases():
    rows = [
        ("a", "plain", title_of(ALL), 9, 50, "", *(f"+0.1 [+0.0, +0.2]{BETTER}" for _ in OTHERS)),
        ("a", "plain", title_of(WITHIN), 9, 50, "", *(f"-0.1 [-0.2, -0.0]{WORSE}" for _ in OTHERS)),
        ("a", "plain", "cities", 9, 50, "", *(UNDEFINED for _ in OTHERS)),
    ]
    found = real_models._finding(rows)
    assert found.startswith("In 2 comparisons")
    assert "MSP in 1 (worse in 1)" in found
    assert "answer length" not in found
