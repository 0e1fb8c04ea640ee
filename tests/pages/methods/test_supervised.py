"""The view Supervised: tables that a command left beside a run, and what it says without them."""

import json
import re
from dataclasses import replace

import pytest

from analysis.detectors.evaluation.evaluate import evaluate
from analysis.detectors.evaluation.results import write_evaluation
from analysis.detectors.supervised.training import SUPERVISED as METHODS
from analysis.evidence.record import find_record
from analysis.runs.library import BUNDLED
from analysis.runs.manifest import SUPERVISED
from analysis.runs.timings import Timing, add_timings
from pages.ui.host.session_runs import duration
from pages.ui.methods.supervised import _commands
from pages.ui.shared.url_state import PUBLISHED
from tests.analysis.detectors.evaluation.made_up import Linear, asked_run
from tests.pages.reading import open_page
from tests.pages.sets import drawn, make, said

QUALITY = [float(place % 3 > 0) for place in range(60)]
HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) :red[y]"

pytestmark = pytest.mark.usefixtures("runs")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    made = [asked_run(root / name, data=name, quality=QUALITY) for name in ("one", "two")]
    hostile = asked_run(root / "hostile", data=HOSTILE, families=(HOSTILE, "mean"), quality=QUALITY)
    for runs in (made, [hostile]):
        found = evaluate(runs, [Linear(id="tad")])
        for run in runs:
            write_evaluation(run.folder / SUPERVISED, found)
    return root


def open_view(run="one", **query):
    return open_page("methods", run=run, view="supervised", **query)


def texts(page):
    return " ".join(text.value for text in page.text)


@pytest.mark.usefixtures("small")
def test_every_split_has_its_table_and_its_control():
    page = open_view()
    assert not page.exception
    assert not page.error
    assert drawn(page) == {"supervised"}
    headers = [header.value for header in page.header]
    assert [text.partition(":")[0] for text in headers[1:]] == ["In-domain", "Out-of-domain", "Families left out"]
    assert len(page.dataframe) == 6
    methods = [name.removesuffix(" †") for name in page.dataframe[0].value["0"]]
    assert methods[1:] == ["Text classifier", "RAUQ", "MSP"]
    assert "answers to one (60), two (60)" in texts(page)
    assert "Make them again" not in said(page)
    assert page.query_params == {"run": "one", "view": "supervised"}


@pytest.mark.usefixtures("small")
def test_rauqs_row_is_tinted_and_the_mean_comes_before_the_data_sets():
    table = open_view(metric="roc_auc").dataframe[0]
    tinted = set(re.findall(r"row(\d+)_col\d+[^}]*background-color", table.proto.arrow_data.styler.styles))
    assert tinted == {"2"}
    headings = [column["label"] for column in json.loads(table.proto.columns).values() if "label" in column]
    assert headings == ["method", "Mean", "one", "two"]


@pytest.mark.usefixtures("small")
def test_filters_do_not_change_the_tables_and_the_page_says_so():
    filtered, whole = open_view(group="a"), open_view()
    assert "The filters do not change these tables." in said(filtered)
    assert "The filters do not change" not in said(whole)
    assert filtered.dataframe[0].value.equals(whole.dataframe[0].value)


@pytest.mark.usefixtures("small")
def test_published_numbers_of_supervised_methods_are_at_hand():
    page = open_view(**{PUBLISHED: "llama_supervised_ood.Llama-3.1 8B"})
    assert not page.exception
    assert "SAPLMA" in set(page.dataframe[-1].value["0"])


@pytest.mark.usefixtures("small")
def test_hostile_names_are_drawn_as_text():
    page = open_view("hostile")
    assert not page.exception
    assert "evil.example" not in said(page)
    assert "evil.example" in texts(page)


def test_scoring_again_is_announced_with_the_time_of_the_run_and_its_disk_space(runs, monkeypatch):
    opened = make(runs)
    add_timings(opened.folder, None, [Timing(stage="generate", examples=10, seconds=300.0)])
    monkeypatch.setattr("pages.ui.methods.supervised._hidden_size", lambda _model: 64)
    (expected,) = [caption.value for caption in open_view("small").caption if "fitting is no job" in caption.value]
    assert f"Answering took about {duration(30.0 * len(opened.answers))} in this run." in expected
    assert re.search(r"takes about \d+(\.\d+)? [kKM]i?B on disk", expected)


def test_without_tables_the_page_gives_the_command(runs):
    opened = make(runs)
    page = open_view("small")
    assert not page.exception
    assert "Score the data set again, then fit" in said(page)
    (expected,) = [caption.value for caption in page.caption if "fitting is no job" in caption.value]
    assert find_record("fitting").finding in expected
    assert "Answering took" not in expected  # no time is known of this run
    assert "on disk" not in expected  # nor is the model on this machine
    lines = page.code[0].value.splitlines()
    assert lines[0].startswith("python -m analysis score --model ")
    options, _, rest = lines[0].partition(" --keep ")
    assert options.endswith("--layers all --offsets 10")
    kept, *rest = rest.split()
    assert rest == ["--out", "runs/kept"]
    assert set(kept.split(",")) == {extra for row in METHODS.values() for extra in row.extras}
    assert lines[1] == "python -m analysis supervised runs/kept --out supervised"
    kept = replace(opened.manifest, request=replace(opened.manifest.request, keep=("lookback",)))
    assert _commands(kept.request, opened.folder) == (
        f"python -m analysis supervised {opened.folder} --out supervised",
    )
    assert not page.dataframe


@pytest.mark.usefixtures("host")
def test_on_a_host_there_is_no_command(tmp_path):
    make(tmp_path, "bundled")
    page = open_view(BUNDLED)
    assert not page.exception
    assert "not available on this host" in said(page)
    assert not page.code


def test_a_damaged_record_is_an_error_of_the_view_alone(runs):
    make(runs)
    (runs / "small" / SUPERVISED).write_text("{")
    page = open_view("small")
    assert not page.exception
    assert page.error[0].value == "This run cannot be used"
    assert "supervised.json is damaged" in texts(page)


def test_tables_of_earlier_verdicts_are_told(runs):
    run = make(runs)
    record = evaluate([asked_run(runs / "other", data="a", quality=QUALITY)], [Linear(id="tad")])
    write_evaluation(run.folder / SUPERVISED, record)
    page = open_view("small")
    assert not page.exception
    assert any("have changed since" in one.value for one in page.warning)
