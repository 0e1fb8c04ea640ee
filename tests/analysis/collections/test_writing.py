"""The report of a collection: whole, offline, text as text, and from the command line."""

import csv
from html.parser import HTMLParser

import numpy as np
import pytest

from analysis.cli import main
from analysis.collections.collection import collect, overview, rank_collection
from analysis.collections.layouts import (
    CLASS_NAMES,
    COLLECTION,
    by_task,
    cells_table,
    headline,
    latex_layout,
    layouts,
    model_groups,
    runs_table,
)
from analysis.collections.published import DASHES, HEADS, published_beside
from analysis.collections.writing import write_collection
from analysis.stats import Estimate
from rauq.errors import RunError
from tests.analysis.collections.made_cells import METHODS, make_cell, make_run, papers_cells

ATTACK = '<img src=x onerror="alert(1)"></title><script>alert(1)</script> {{ 7 * 7 }} $x^2$ \\input{x}_%'


class Page(HTMLParser):
    """The elements of a page, and its texts."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.texts.append(data.strip())


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    return [
        make_run(root, "one", "SciQ"),
        make_run(root, "two", "SciQ", failures=0),
        make_run(root, "one", ATTACK, name="x"),
    ]


@pytest.fixture(scope="module")
def page(folders, tmp_path_factory):
    return write_collection(folders, tmp_path_factory.mktemp("report"))


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_its_files_hold_every_table_and_its_page_asks_nothing_of_the_network(page):
    found = Page(page.read_text(encoding="utf-8"))
    links = {values["href"] for tag, values in found.elements if tag == "a" and not values["href"].startswith("#")}
    assert all((page.parent / link).is_file() for link in links)
    assert {link.partition("/")[2] for link in links} == {path.name for path in (page.parent / "tables").iterdir()}
    assert not any("src" in values for _, values in found.elements)
    assert "script" not in {tag for tag, _ in found.elements}
    anchors = {values["href"][1:] for tag, values in found.elements if tag == "a"} - {link[1:] for link in links}
    assert anchors == {values["id"] for _, values in found.elements if "id" in values}
    policy = next(values["content"] for _, values in found.elements if "http-equiv" in values)
    assert policy.startswith("default-src 'none'")


def test_text_is_text(page):
    found = Page(page.read_text(encoding="utf-8"))
    assert not any(tag == "img" or "onerror" in values for tag, values in found.elements)
    assert any(ATTACK in text for text in found.texts)
    latex = (page.parent / "tables" / "data_sets_1_one_prr.tex").read_text(encoding="utf-8")
    assert "\\input" not in latex
    assert "\\textbackslash{}input\\{x\\}\\_\\%" in latex


def test_numbers_stand_one_by_one_with_their_reasons(page):
    rows = read(page.parent / "tables" / "cells.csv")
    assert {(row["model"], row["data set"]) for row in rows} == {("one", "SciQ"), ("two", "SciQ"), ("one", ATTACK)}
    assert {row["metric"] for row in rows} == {"prr", "roc_auc"}
    assert all(row["value"] and row["low"] and not row["undefined"] for row in rows)
    runs = read(page.parent / "tables" / "runs.csv")
    assert [(row["run"], row["asked"], row["failed"]) for row in runs] == [
        ("one-SciQ", "31", "1"),
        ("two-SciQ", "30", "0"),
        ("x", "31", "1"),
    ]


def test_what_is_not_answered_is_said():
    cells = [make_cell(asked=50, failed=3), make_cell("b", asked=40), make_cell("b", "CoQA")]
    said = overview(collect(cells))
    assert "3 runs of 2 models on 2 data sets, 120 answers. 1 pair of model and data set has no run." in said
    assert "model-SciQ (7 missing and 3 failed of 50)" in said
    assert "b-SciQ" not in said
    assert "Not the same" not in said
    assert "for every model: SciQ." in overview(collect([*cells[:1], make_cell("c", data_sha256="other")]))
    assert runs_table(collect(cells)).frame["failed"].tolist() == [3, 0, 0]


def test_the_headline_names_the_best_and_rauq():
    def estimates(*values):
        return [Estimate(value, np.nan, np.nan, 1, 0, "none" if np.isnan(value) else "") for value in values]

    methods = ("rauq", "msp")
    assert headline(methods, {"a": estimates(0.4, 0.3)}, "prr") == "Highest mean PRR: RAUQ 0.400"
    assert headline(methods, {"a": estimates(0.1, 0.3)}, "prr") == "Highest mean PRR: MSP 0.300, RAUQ 0.100"
    two = {"base": estimates(np.nan, 0.3), "instruct": estimates(np.nan, np.nan)}
    judged = headline(("semantic_entropy_facts", *methods), {"a": estimates(0.9, 0.4, 0.3)}, "prr")
    assert judged == "Highest mean PRR: RAUQ 0.400"
    assert headline(methods, two, "roc_auc") == "Highest mean ROC-AUC: MSP 0.300 (base); undefined (instruct)"


def test_latex_has_two_rows_of_headings_and_marks():
    cells = [make_cell("a_b"), make_cell("c")]
    layout = by_task(rank_collection(collect(cells), "prr"), ["a_b", "c"], name="t", heading="Means")
    latex = latex_layout(layout)
    for column in zip(*layout.cells, strict=True):
        for cell in column:
            kind = ("{}", r"\textbf{{{}}}", r"\underline{{{}}}")[cell.mark]
            assert kind.format(cell.words.replace("−", "$-$")) in latex
    assert r"\multicolumn{1}{c}{a\_b}" in latex or r" & a\_b & " in latex
    assert r"\label{tab:t_prr}" in latex


def test_a_few_models_of_several_classes_stand_together_first():
    pair = [make_cell("a"), make_cell("b", kind="instruct")]
    assert [words for _, words, _ in model_groups(collect(pair))] == ["all models"]
    found = collect([*pair, make_cell("c"), make_cell("d", kind="instruct")])
    assert [words for _, words, _ in model_groups(found)] == ["all models", *map(CLASS_NAMES.get, ("base", "instruct"))]
    nine = collect(papers_cells())
    assert [words for _, words, _ in model_groups(nine)] == list(CLASS_NAMES.values())


def test_captions_are_short():
    found = collect(papers_cells())
    ranked = rank_collection(found, "prr", methods=METHODS)
    made = (*layouts(found, ranked), *published_beside(found, ranked))
    words = [one.caption for one in made] + [COLLECTION, DASHES, HEADS]
    assert [text for text in words if len(text.split()) > 45] == []
    names = [one.name for one in made]
    assert len(set(names)) == len(names)


def test_a_collection_from_the_command_line(folders, tmp_path, capsys):
    out = tmp_path / "report"
    assert main.main(["report", *map(str, folders[:2]), "--out", str(out), "--intervals"]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == str(out / "index.html")
    assert "Ablations of one on SciQ" in said.err
    rows = read(out / "tables" / "cells.csv")
    assert any(row["low"] for row in rows)
    assert all(row["low"] or row["undefined"] or row["no interval"] for row in rows)


def test_a_collection_needs_a_folder_and_one_run_of_a_cell(folders, tmp_path, capsys):
    assert main.main(["report", *map(str, folders[:2])]) == 2
    assert "--out DIR" in capsys.readouterr().err
    assert main.main(["report", str(folders[0]), str(folders[0]), "--out", str(tmp_path / "a")]) == 2
    assert "2 runs are of one on SciQ" in capsys.readouterr().err


def test_a_report_that_cannot_be_written_says_so(folders, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="cannot be written"):
        write_collection(folders[:1], tmp_path / "file" / "report")


def test_every_cell_of_the_table_of_cells_is_there():
    cells = [make_cell(), make_cell(data="CoQA", methods=METHODS[:2])]
    frame = cells_table([rank_collection(collect(cells), "prr")])
    assert len(frame) == len(cells) * len(METHODS)
    assert frame["undefined"].tolist() == [""] * 6 + ["not computed in model-CoQA"] * 2
