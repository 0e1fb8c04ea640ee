"""The stated findings are the measured ones: both READMEs are made of the records."""

import math
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from analysis.evidence.record import Bound, Record, records
from benchmarks.excerpts import EXCERPTS, Excerpt, table_of
from benchmarks.readme import WITH_EXCERPTS, page, section, table, with_excerpts, with_findings

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


@pytest.mark.parametrize("document", WITH_EXCERPTS)
def test_a_document_shows_what_the_records_hold(document):
    text = text_of(document)
    assert text.count("<!-- excerpt ") == text.count("<!-- end of excerpt -->") > 0
    assert with_excerpts(text, records()) == text, AGAIN


def test_every_excerpt_is_shown():
    documents = "".join(map(text_of, WITH_EXCERPTS))
    assert all(f"<!-- excerpt {name} -->" in documents for name in EXCERPTS)


def test_an_excerpt_has_a_line_for_each_cell_of_a_column_and_a_column_for_each_run(record):
    rows = (("a", 1, "x", 0.5), ("a", 2, "x", 0.25), ("b", 1, "x", 0.75), ("b", 2, "x", 1.0), ("a", 1, "y", 9.0))
    record = replace(record, columns=("run", "after", "score", "area"), rows=rows)
    excerpt = Excerpt(record="capture", kept={"score": ["x"]}, lines=("after",), cells=("area", "score"))
    assert table_of(excerpt, record) == (("after", "a", "b"), [(1, "0.5 / x", "0.75 / x"), (2, "0.25 / x", "1 / x")])
