"""The stated findings are the measured ones: both READMEs are made of the records."""

import math
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from analysis.evidence.record import Bound, Record, records
from benchmarks.readme import page, section, table, with_findings

ROOT = Path(__file__).parents[2]
AGAIN = "run `python -m benchmarks.readme`"


@pytest.fixture
def record():
    return Record(
        id="capture",
        title="What it costs: 1 of 2",
        about="Beside plain generation.",
        command="python -m benchmarks capture --record",
        made=date(2026, 11, 22),
        machine="a machine",
        versions=(("numpy", "2.0"),),
        columns=("way", "s"),
        rows=(("a|b", 0.12345), ("c", math.nan)),
        bounds=(
            Bound(text="at most 1", met=True),
            Bound(text="at most 0.1", met=False),
            Bound(text="at most 0.12", met=None),
        ),
        finding="It costs 0.123 s.",
    )


def text_of(path):
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_page_of_figures_is_made_of_the_records():
    assert text_of("benchmarks/README.md") == page(records()), AGAIN


def test_the_readme_states_the_findings_of_the_records():
    readme = text_of("README.md")
    assert with_findings(readme, records()) == readme, AGAIN


def test_findings_replace_those_of_before(record):
    marked = "before\n<!-- findings -->\n- It costs 9 s.\n<!-- end of findings -->\nafter\n"
    assert with_findings(marked, {"capture": record}) == marked.replace("9", "0.123")
    assert with_findings(text_of("README.md"), {"capture": record}).count(record.finding) == 1


def test_an_overview_comes_first_and_leads_to_each_table(record):
    text = page({"fuzz": replace(record, id="fuzz", title="Broken"), "capture": record})
    assert text.index("1 of 2](#what-it-costs-1-of-2) | It costs 0.123 s. | 1 of 3 |") < text.index("[Broken](#broken)")
    assert text.index("[Broken]") < text.index("## What it costs") < text.index("## Broken")


def test_what_was_missed_is_said_and_what_is_not_known_is_no_number(record):
    text = section(record)
    assert "- met: at most 1\n- **missed**: at most 0.1\n- **inconclusive**: at most 0.12\n" in text
    assert "| c | - |" in text


def test_a_cell_does_not_end_its_column(record):
    assert table(record.columns, record.rows) == "| way | s |\n| --- | ---: |\n| a\\|b | 0.123 |\n| c | - |\n"
