"""How a measurement ends: bounds missed only by a whole interval, a table, and a record that reads back."""

import math

import pytest

from analysis.evidence import record as records
from benchmarks.support.paired import Ratio, ratio, seconds
from benchmarks.support.recording import at_least, at_most, measured, show, shown

NOISY = Ratio(1.2, 0.9, 1.5, 15)


@pytest.fixture
def kept(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    return tmp_path


def made(*bounds):
    return measured(
        "capture",
        title="What it costs",
        about="Beside plain generation.",
        columns=("way", "tokens", "CPU s"),
        rows=[("[red]plain", 4096, 0.125)],
        bounds=bounds,
        notes=["One thread."],
        finding="It costs 0.125 s.",
        packages=["numpy"],
    )


@pytest.mark.parametrize(
    ("bound", "met"),
    [
        (at_most("ratio", NOISY, 1.2), True),
        (at_most("ratio", NOISY, 1.19), None),
        (at_most("ratio", NOISY, 0.9), None),
        (at_most("ratio", NOISY, 0.89), False),
        (at_least("ratio", NOISY, 1.2), True),
        (at_least("ratio", NOISY, 1.21), None),
        (at_least("ratio", NOISY, 1.5), None),
        (at_least("ratio", NOISY, 1.51), False),
    ],
)
def test_a_bound_is_met_by_the_median_and_missed_only_by_a_whole_interval(bound, met):
    assert bound.met is met
    assert "1.200 [0.900, 1.500]" in bound.text


@pytest.mark.parametrize(
    ("bound", "met"),
    [
        (at_most("MiB", 48.0, 48), True),
        (at_most("MiB", 48.5, 48), False),
        (at_least("times", 15.0, 15), True),
        (at_least("times", 14.9, 15), False),
        (at_most("MiB", math.nan, 48), False),
        (at_least("times", math.nan, 15), False),
    ],
)
def test_a_single_number_meets_its_bound_or_misses_it_and_an_undefined_one_misses_it(bound, met):
    assert bound.met is met


@pytest.mark.parametrize(
    ("bound", "text"),
    [
        (at_most("ratio", 1.014, 1.01), "ratio: 1.014, at most 1.01"),
        (at_least("ratio", 0.9996, 1), "ratio: 0.9996, at least 1"),
        (at_most("ratio", 1.01, 1.01), "ratio: 1.01, at most 1.01"),
        (at_most("ratio", Ratio(1.0302, 1.0299, 1.04, 5), 1.03), "ratio: 1.030200 [1.029900, 1.040], at most 1.03"),
    ],
)
def test_a_value_beyond_its_bound_is_never_rounded_onto_it(bound, text):
    assert bound.text == text


def test_seconds_have_the_interval_of_a_ratio():
    samples = [1.0, 2.0, 4.0]
    assert seconds(samples) == ratio([2 * each for each in samples], [2.0] * 3)
    assert (seconds(samples).median, seconds(samples).low, seconds(samples).high) == (2, 1, 4)


def test_everything_of_a_record_is_printed(capsys):
    missed = made(at_most("ratio", NOISY, 0.5), at_most("ratio", NOISY, 2))
    show(missed)
    printed = capsys.readouterr().out
    assert all(
        text in printed for text in ("What it costs", "4,096", "missed  ", "met  ", "One thread.", missed.finding)
    )
    assert "[red]plain" in printed


def test_a_record_reads_back(kept):
    record = made(at_most("ratio", NOISY, 2))
    records.save(record, kept)
    assert records.records() == {"capture": record}


@pytest.mark.parametrize(
    ("cell", "text"), [(123_456, "123,456"), (0.123456, "0.123"), (1234.5, "1,234"), (float("nan"), "-"), ("a", "a")]
)
def test_a_number_keeps_what_is_known_of_it(cell, text):
    assert shown(cell) == text
