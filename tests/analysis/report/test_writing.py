"""A report holds the numbers of its run, opens without a network, and takes text for text."""

import csv
import importlib
import re
import sys
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from analysis.exports import pictures
from analysis.exports.tables import latex_table, rows_of_cells
from analysis.methods.comparison import WITHIN, name_of
from analysis.quality.judgement import Thresholds
from analysis.report import writing
from analysis.report.results import ReportSettings, results
from analysis.report.tables import report_tables
from analysis.report.writing import write_report
from analysis.runs.opened import open_run
from analysis.views import answer_sets
from analysis.views.all_views import OF_METHODS
from analysis.views.answer_sets import BEST, GAP, SELECTED
from analysis.views.heads import ADDED
from analysis.views.methods import ERRORS, RANKING
from analysis.views.variants import ABLATIONS, ATTENTION
from rauq.errors import InvalidInput, RunError
from rauq.labels import number
from tests.analysis.report.made_run import HEADS, LAYERS, made_run
from tests.shards import change_arrays, without_picks

ATTACK = '<img src=x onerror="alert(1)"></title></style><script>alert(1)</script> {{ 7 * 7 }} $x^2$ &lt; \\input{x}_%'
QUICK = ReportSettings()


class Page(HTMLParser):
    """The elements of a page, and the text of its cells and paragraphs."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_data(self, data):
        self.texts.append(data.strip())


@pytest.fixture(scope="module", autouse=True)
def _no_pictures():
    """Drawing SVG takes seconds, and has a test of its own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "write_pictures", lambda *_: "")
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return made_run(tmp_path_factory.mktemp("made") / "run", quality=[1.0, 0.0, 1.0, 0.5, 0.0] * 8)


@pytest.fixture(scope="module")
def found(run):
    return results(run, QUICK)


@pytest.fixture(scope="module")
def figures(found):
    return found.drawings


@pytest.fixture(scope="module")
def page(run, found, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "results", lambda *_: found)  # the same once more takes seconds
        return write_report(run, tmp_path_factory.mktemp("report"), QUICK).page


@pytest.fixture
def without_methods(monkeypatch):
    """Reports without the views of methods: they take seconds, and are not looked at."""
    monkeypatch.setattr("analysis.report.results.OF_METHODS", ())


def one(found, view):
    """What a view of one figure has found."""
    (seen,) = found.of(view)
    return seen.result


def read(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_its_tables_hold_the_numbers_of_the_run(run, found, page):
    tables = page.parent / "tables"
    names = {path.stem for path in tables.glob("*.csv")}
    assert {path.stem for path in tables.glob("*.tex")} == names - {"answers"}
    rows = read(tables / "answers.csv")
    assert [float(row["quality"]) for row in rows] == run.answers["quality"].tolist()
    assert [float(row["rauq"]) for row in rows] == run.answers["rauq"].tolist()
    first, *groups = read(tables / "summary.csv")
    assert (first["group"], first["answers"], first["correct"], first["incorrect"]) == ("all", "40", "16", "16")
    assert (first["neither"], first["failed"]) == ("8", "1")
    assert [row["group"] for row in groups] == ["one", "two"]
    gaps = read(tables / "by_verdict.csv")
    assert [float(row["difference"]) for row in gaps[:LAYERS]] == one(found, GAP).picked.absolute.value.tolist()
    assert len(gaps) == 2 * LAYERS
    assert len(read(tables / "separation.csv")) == LAYERS * HEADS
    added = read(tables / "added_heads.csv")
    assert [row["added to RAUQ"] for row in added][:2] == ["5 chosen heads", "words of these heads"]
    assert [float(row["difference"]) for row in added] == [one.value for one in one(found, ADDED).differences.values()]


def test_its_tables_hold_what_came_out_of_the_methods(run, found, page):
    tables = page.parent / "tables"
    by_prr = found.of(RANKING)[0].result.comparison
    rows = read(tables / "methods_prr.csv")
    by_method = dict(zip(map(name_of, run.methods), by_prr.of_group(WITHIN), strict=True))
    assert {row["method"]: float(row["mean PRR within groups"]) for row in rows} == {
        name: one.value for name, one in by_method.items()
    }
    whole = [float(row["PRR of all"]) for row in rows]
    assert whole == sorted((one.value for one in by_prr.of_group("all")), reverse=True)
    assert len(read(tables / "paired_roc_auc.csv")) == (len(run.methods) - 1) * 4  # two groups, all, and the mean
    sweeps = [read(path) for path in tables.glob("alpha_*.csv")]
    assert [len(rows) for rows in sweeps] == [11 * 4 * 4] * 4
    assert {path.stem for path in tables.glob("ablation_*.csv")} == {
        f"ablation_{one.result.ablation.id}" for one in found.of(ABLATIONS)
    }
    shuffled = found.of(ATTENTION)[1].result[0].under("shuffled").difference.value
    assert float(read(tables / "control_fact.csv")[0]["real minus replaced"]) == shuffled
    assert {row["method"] for row in read(tables / "errors.csv")} == set(map(name_of, run.methods))
    published = {(row["model"], row["metric"], row["method"]): row["QA"] for row in read(tables / "published.csv")}
    assert float(published["Llama-3.1 8B", "PRR", "RAUQ"]) == 0.396
    assert len({model for model, _, _ in published}) == 9


def test_its_page_shows_every_figure_and_table_and_asks_nothing_of_the_network(found, figures, page):
    text = page.read_text(encoding="utf-8")
    read_page = Page(text)
    drawn = [values["id"] for tag, values in read_page.elements if values.get("class") == "plotly-graph-div"]
    assert drawn == [drawing.name for drawing in figures]
    assert len(set(drawn)) == len(drawn)
    assert {reported.view for reported in found.reported if not reported.drawings} == {ERRORS}
    assert [reported.view for reported in found.reported if reported.seen is found.of(reported.view)[0]] == [
        *(*answer_sets.VIEWS, *OF_METHODS)
    ]
    tables = {path.stem for path in (page.parent / "tables").glob("*.tex")}
    links = [values["href"] for tag, values in read_page.elements if tag == "a"]
    assert {link.removeprefix("tables/").partition(".")[0] for link in links} == tables
    assert all((page.parent / link).is_file() for link in links)
    assert not any("src" in values for _, values in read_page.elements)
    policy = next(values["content"] for tag, values in read_page.elements if tag == "meta" and "content" in values)
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert sum(len(script) > 1_000_000 for script in re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL)) == 1
    assert number(one(found, GAP).mean.absolute.value[0]) in read_page.texts
    for words in (*figures, *report_tables(found)):
        assert words.heading in read_page.texts
        assert any(text.startswith(words.caption) for text in read_page.texts)


def test_a_table_has_the_intervals_that_its_caption_names_in_every_format(found):
    for table in report_tables(found):
        named = "interval" in table.caption.lower()
        in_csv = {end for end in ("low", "high") for name in table.frame if str(name).endswith(end)}
        in_words = any("[" in cell for row in rows_of_cells(table.shown) for cell in row)
        assert not named or in_csv == {"low", "high"}, table.name
        assert not named or in_words or {"low", "high"} <= {str(name)[-4:].strip("_ ") for name in table.shown}, (
            table.name
        )


def test_text_is_escaped(tmp_path, page):
    quality = [1.0, 0.0, 1.0, 0.5, 0.0] * 8
    run = made_run(tmp_path / "run", quality=quality, text=ATTACK, name=ATTACK, groups=(ATTACK, "=1+1"))
    out = tmp_path / "out"
    plain, hostile = (Page(one.read_text(encoding="utf-8")) for one in (page, write_report(run, out, QUICK).page))
    assert Counter(tag for tag, _ in plain.elements) == Counter(tag for tag, _ in hostile.elements)
    assert ATTACK in hostile.texts
    figure = next(text for text in hostile.texts if "Plotly.newPlot" in text)
    assert "<img" not in figure
    assert "$x^2" not in figure
    tables = out / "tables"
    assert {row["group"] for row in read(tables / "answers.csv")} == {ATTACK, "'=1+1"}
    latex = (tables / "summary.tex").read_text(encoding="utf-8")
    assert r"\$x\textasciicircum{}2\$ \&lt; \textbackslash{}input\{x\}\_\%" in latex


@pytest.mark.parametrize(
    ("quality", "lengths", "tokens"),
    [
        ([np.nan] * 8, None, "all"),
        ([1.0], None, "all"),
        ([1.0, 0.0] * 4, [1] * 8, "all"),
        ([1.0, 0.0] * 4, [2] * 8, "other"),
        ([1.0, 0.0] + [np.nan] * 6, None, "fact"),
    ],
)
def test_every_run_has_a_report(tmp_path, quality, lengths, tokens):
    run = made_run(tmp_path / "run", quality=quality, lengths=lengths, groups=("",), failures=0)
    settings = replace(QUICK, tokens=tokens, alignment="own")
    found = results(run, settings)
    assert {reported.view for reported in found.reported if not reported.drawings} == {ERRORS}
    for table in report_tables(found):
        assert latex_table(table.shown, caption=table.caption, label=table.name)
        assert not any("nan" in cell for row in rows_of_cells(table.shown) for cell in row)


@pytest.mark.usefixtures("without_methods")
def test_of_hundreds_of_groups_the_largest_have_rows(tmp_path):
    groups = tuple(f"g{number}" for number in range(60))
    run = made_run(tmp_path / "run", quality=[1.0, 0.0] * 30, groups=groups)
    tables = {table.name: table for table in report_tables(results(run, QUICK))}
    summary, agreement = tables["summary"], tables["agreement"]
    assert (len(summary.frame), len(agreement.frame.columns)) == (21, 22)
    assert summary.caption.endswith("Only the 20 largest of 60 groups are shown.")


@pytest.mark.usefixtures("without_methods")
def test_settings_determine_the_results(run, found):
    assert (found.of(BEST)[0].choices.layer, found.thresholds) == (3, Thresholds())
    other = results(run, replace(QUICK, layer=0, thresholds=Thresholds(0.4, 0.4), tokens="fact", k=2))
    assert (other.of(BEST)[0].choices.layer, one(other, BEST).k) == (0, 2)
    assert one(other, GAP).picked.correct.count[0] == 24
    assert not one(other, SELECTED).as_scored  # as on the page: by attention over these tokens, and it is said
    with pytest.raises(InvalidInput, match="Layer 9 has no attention in this run; choose one of 0, 1, 2, 3, 4, 5"):
        results(run, ReportSettings(layer=9))


@pytest.mark.usefixtures("without_methods")
def test_heads_are_counted_as_they_were_stored_and_it_is_said_where_they_were_not(tmp_path):
    folder = made_run(tmp_path / "run", quality=[1.0, 0.0] * 4).folder
    change_arrays(folder, 0, lambda arrays: arrays | {"picks": np.full_like(arrays["picks"], 2)})
    found = results(open_run(folder), QUICK)
    np.testing.assert_array_equal(one(found, SELECTED).heads.shares, np.tile([0.0, 0.0, 1.0, 0.0], (LAYERS, 1)))
    without_picks(folder)
    older = results(open_run(folder), QUICK)
    said = [one.caption for each in (found, older) for one in each.drawings if one.name == "picked-heads"]
    assert ["does not store the selected heads of 8 answers" in caption for caption in said] == [False, True]


def test_a_run_without_answers_and_a_folder_that_cannot_be_one_are_refused(tmp_path, run, found, monkeypatch):
    empty = made_run(tmp_path / "empty", quality=[], failures=3)
    with pytest.raises(InvalidInput, match="no answers to report"):
        write_report(empty, tmp_path / "out")
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(writing, "results", lambda *_: found)
    with pytest.raises(RunError, match="cannot be written to"):
        write_report(run, tmp_path / "file", QUICK)


def test_figures_are_drawn_as_svg_and_png_without_a_network(figures, tmp_path):
    chosen = figures[:1]
    assert pictures.write_pictures(chosen, tmp_path / "figures") == ""
    for drawing in chosen:
        assert (tmp_path / "figures" / f"{drawing.name}.svg").read_text(encoding="utf-8").startswith("<svg")
        assert (tmp_path / "figures" / f"{drawing.name}.png").read_bytes().startswith(b"\x89PNG")


def test_without_kaleido_or_a_browser_one_line_reports_it(figures, tmp_path, monkeypatch):
    chosen = figures[:1]
    kaleido = importlib.import_module("kaleido")

    def none_found(*_, **__):
        raise importlib.import_module("kaleido.errors").ChromeNotFoundError

    monkeypatch.setattr(kaleido, "write_fig_from_object_sync", none_found)
    assert "no Chromium" in pictures.write_pictures(chosen, tmp_path)
    monkeypatch.setitem(sys.modules, "kaleido", None)
    assert pictures.write_pictures(chosen, tmp_path).endswith("`pip install -r requirements-extra.txt` adds it.")
