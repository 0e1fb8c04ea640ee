"""Tables, figure and sentences of an evaluation hold its numbers; captions are short; the files are written."""

import math
from dataclasses import replace

import pandas as pd
import pytest

from analysis.detectors.evaluation.evaluate import evaluate
from analysis.detectors.evaluation.held_out import SPLITS
from analysis.detectors.evaluation.results import Row, SplitTable
from analysis.detectors.evaluation.tables import (
    dropped_note,
    figure_caption,
    leak_caption,
    leak_table,
    paper_table,
    row_names,
    split_sentence,
    table_caption,
    tidy_table,
    undefined_sentence,
)
from analysis.detectors.figures import supervised_chart
from analysis.report import writing as report
from analysis.report.writing import in_lines, split_files, write_supervised
from analysis.stats import Estimate
from rauq.errors import RunError
from tests.analysis.detectors.evaluation.made_up import Linear, asked_run

QUALITY = [float(place % 3 > 0) for place in range(60)]
DATA = ("facts & more", "all", "method")  # names that a table could take for its own


def cell(value, *, half=0.1):
    reason = "no answer" if math.isnan(value) else ""
    return Estimate(value, value - half, value + half, 40, 0, reason)


def detector(name, values, minus_text, minus_rauq=0.2):
    return Row(
        id=name,
        estimates=tuple(map(cell, values)),
        minus_text=tuple(cell(minus_text) for _ in values),
        minus_rauq=tuple(cell(minus_rauq) for _ in values),
        shuffled=tuple(cell(0.0) for _ in values),
    )


def table(**changes):
    fields = {
        "split": "in_domain",
        "metric": "prr",
        "columns": ("one", "two", "Mean"),
        "rows": (
            detector("tad", (0.6, 0.5, 0.55), 0.15),
            detector("mind", (0.4, 0.3, 0.35), -0.05),
            detector("sheeps", (math.nan,) * 3, math.nan),
            Row(id="text", estimates=tuple(map(cell, (0.4, 0.4, 0.4)))),
            Row(id="rauq", estimates=tuple(map(cell, (0.3, 0.4, 0.35)))),
        ),
    }
    return SplitTable(**(fields | changes))


def test_the_sentence_names_the_best_and_those_that_the_text_explains():
    assert split_sentence(table()).startswith("In-domain: ")
    said = split_sentence(table())
    assert "is first of 2 detectors by mean PRR, 0.55 [0.45, 0.65]. Text" in said
    assert "Text classifier 0.40, RAUQ 0.35 (significantly lower)." in said
    assert said.partition("(†): ")[2].lower() == "mind."
    only = table(rows=(detector("tad", (0.6,) * 3, 0.15, -0.3), *table().rows[3:]))
    said = split_sentence(only)
    assert said.endswith("(significantly higher). Each ranks significantly better than the text classifier.")
    equal = table(rows=(detector("tad", (0.6,) * 3, 0.15, 0.05), *table().rows[3:]))
    assert "(no significant difference)" in split_sentence(equal)


def test_where_no_detector_is_ranked_in_the_mean_the_sentence_is_about_all_answers():
    unfitted = [Row(id=name, estimates=tuple(map(cell, (0.4, 0.3, 0.2)))) for name in ("text", "rauq")]
    rows = (detector("factoscope", (0.6, math.nan, math.nan), 0.15), *unfitted)
    said = split_sentence(table(columns=("all answers", "one", "Mean"), rows=rows))
    assert "Factoscope is first of 1 detectors by PRR of all answers that it scores, 0.60 [0.50, 0.70]. Text" in said
    assert "Text classifier 0.40, RAUQ 0.40 (significantly lower)." in said


def test_what_is_undefined_is_said():
    assert split_sentence(table(rows=(), columns=(), reason="one set")) == "In-domain: undefined. One set."
    none = table(rows=(table().rows[2], *table().rows[3:]))
    assert split_sentence(none) == "In-domain: no detector is ranked. No answer."
    assert "No method was asked for" in split_sentence(table(rows=table().rows[3:]))
    assert undefined_sentence(table()).lower() == "undefined (–): sheeps: no answer."
    assert undefined_sentence(table(rows=table().rows[:2])) == ""
    assert dropped_note(table(dropped=3)).startswith("3 training answers")
    assert dropped_note(table()) == ""


@pytest.mark.parametrize("metric", ["prr", "roc_auc"])
def test_captions_are_short(metric):
    captions = [table_caption(table(split=split, metric=metric)) for split in SPLITS]
    for text in (*captions, leak_caption(metric), figure_caption(metric)):
        assert len(text.replace(" %", "%").split()) <= 45, text


def test_the_table_is_in_the_papers_layout():
    frame = paper_table(table())
    assert list(frame) == ["method", "one", "two", "Mean"]
    assert frame["Mean"].tolist()[:2] == [0.55, 0.35]
    assert [name.endswith("†") for name in frame["method"]] == [False, True, False, False, False]
    assert frame["method"].tolist()[3:] == ["Text classifier", "RAUQ"]
    assert list(paper_table(table(columns=("method", "Mean", "Mean")))) == ["method", "method (2)", "Mean", "Mean (2)"]


def test_the_control_of_leaks_is_a_row_for_each_detector():
    frame = leak_table(table())
    assert frame["detector"].tolist() == row_names(table())[:3]
    assert frame["minus text classifier"].tolist() == ["0.15 [0.05, 0.25]", "−0.05 [−0.15, 0.05]", "–"]
    assert list(frame)[:3] == ["detector", "over", "PRR"]
    assert leak_table(table(rows=table().rows[3:])).empty
    pooled = leak_table(table(columns=("all answers", "two", "Mean")))
    assert pooled["over"].tolist() == ["Mean"] * 3 + ["all answers"] * 3
    first = replace(table().rows[0], minus_text=(cell(0.05), cell(0.15), cell(0.15)))
    of_columns = leak_table(table(columns=("all answers", "two", "Mean"), rows=(first,)))["detector"]
    assert [name.endswith("†") for name in of_columns] == [False, True]  # each row by its own column
    assert row_names(table(columns=("all answers", "two", "Mean"), rows=(first,)))[0].endswith("†")  # one is enough
    assert not row_names(table(rows=(first,)))[0].endswith("†")
    assert pooled["PRR"].tolist()[3] == "0.60 [0.50, 0.70]"


def test_the_tidy_table_has_every_number():
    frame = tidy_table(table())
    assert len(frame) == 3 * (3 * 4 + 2)
    assert frame["marked"].sum() == 3 * 4
    assert tidy_table(table(rows=())).empty
    (row,) = tidy_table(table(rows=(), columns=(), reason="one set")).to_dict("records")
    assert row == {"split": "in_domain", "metric": "prr", "undefined": "one set"}


def test_the_caption_in_a_file_says_why_a_cell_is_undefined_and_what_was_left_out():
    in_papers_layout, _ = split_files(table(dropped=3))
    said = "Undefined (–): Sheeps: no answer. 3 training answers are left out"
    assert said in in_papers_layout.caption
    assert "Undefined" not in split_files(table(rows=table().rows[:2]))[0].caption


def test_the_figure_draws_the_last_column_hollow_where_marked():
    tables = (table(), table(split="family_out"), table(split="out_of_domain", rows=(), columns=(), reason="one set"))
    figure = supervised_chart(tables, dark=True)
    assert [note.text for note in figure.layout.annotations] == ["in-domain", "families left out"]
    assert [trace.marker.symbol for trace in figure.data[:4]] == ["circle", "circle-open", "square", "diamond"]
    assert [trace.x[0] for trace in figure.data[:4]] == [0.55, 0.35, 0.4, 0.35]
    nothing = supervised_chart(tables[2:])
    assert "one set" in nothing.layout.annotations[0].text


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    root = tmp_path_factory.mktemp("texts")
    runs = [asked_run(root / f"run-{place}", data=name, quality=QUALITY) for place, name in enumerate(DATA)]
    return evaluate(runs, [Linear(id="tad")])


def test_all_files_are_written(found, tmp_path, monkeypatch):
    monkeypatch.setattr(report, "write_pictures", lambda *_: "no pictures")  # they have a test of their own
    assert write_supervised(found, tmp_path / "new" / "out") == "no pictures"
    names = {path.name for path in (tmp_path / "new" / "out").iterdir()}
    of_splits = {f"supervised_{split}_{metric}" for split in SPLITS for metric in ("prr", "roc_auc")}
    assert names == {
        *("supervised.json", "supervised.csv"),
        *(f"{name}{end}" for name in of_splits for end in (".csv", ".tex", "_leaks.csv", "_leaks.tex")),
    }
    latex = (tmp_path / "new" / "out" / "supervised_out_of_domain_prr.tex").read_text()
    assert r"facts \& more" in latex
    assert latex.count(r"\textbf{") >= 4  # the best of each column
    everything = pd.read_csv(tmp_path / "new" / "out" / "supervised.csv")
    assert len(everything) == sum(len(tidy_table(one)) for one in found.tables)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunError, match="cannot be written"):
        write_supervised(found, tmp_path / "file")


def test_the_lines_of_the_command_hold_every_split(found):
    lines = in_lines(found)
    assert lines[0].startswith("a, answers to facts & more (60), all (60), method (60). Correct: quality above 0.5.")
    assert [line.partition(":")[0] for line in lines[1:]] == ["In-domain", "Out-of-domain", "Families left out"]
    assert all(one.heading and one.caption for one in split_files(replace(found.tables[0])))
