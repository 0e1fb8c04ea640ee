"""Methods: every view of a run, its empty states, and the way to one answer."""

import json
import re

import pyarrow as pa
import pytest
from streamlit.runtime.context import ContextProxy

import rauq
from analysis.runs.timings import Alone, Cost
from pages.ui.shared.url_state import PUBLISHED
from tests.analysis.report.made_run import rename_methods, with_own_method
from tests.pages.reading import charts, open_page
from tests.pages.sets import clicked, drawn, make, number_of, said, undefined

CHARTS = {
    "ranking": {"paired_prr"},
    "rejection": {"rejection"},
    "alpha": {"alpha_probability", "alpha_groups_probability"},
    "ablations": {"ablation_token_aggregation"},
    "survives": {"survival_ranking", "survival_added"},
    "token_survives": {"token_survival_ranking", "token_survival_added"},
    "attention": {"control_all"},
    "scores": {"score_and_quality"},
    "agreement": {"agreement_of_methods"},
    "errors": set(),
    "supervised": set(),
}
TABLES = {"ranking": 1, "ablations": 1, "survives": 1, "token_survives": 1, "attention": 1, "agreement": 1, "errors": 1}
HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y]"
OTHERS = ("msp", "perplexity", "mean_token_entropy")


pytestmark = pytest.mark.usefixtures("runs")


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    root = tmp_path_factory.mktemp("shared")
    make(root)
    make(root, "hostile", quality=undefined(6), text=HOSTILE, groups=(HOSTILE, "mean"))
    make(root, "alone", quality=(1.0,))
    return root


def open_methods(state=(), **query):
    return open_page("methods", state, **query)


def test_without_a_run_the_page_says_what_to_do():
    page = open_methods()
    assert not page.exception
    assert "There is no run here yet" in said(page)
    assert "python -m analysis score" in page.code[0].value


def test_a_run_that_cannot_be_opened_is_reported(runs):
    make(runs)
    (runs / "small" / "manifest.json").write_text("{")
    page = open_methods()
    assert not page.exception
    assert page.error[0].value == "This run cannot be used"


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("view", CHARTS)
def test_a_view_draws_only_its_figures_and_always_shows_n(view):
    page = open_methods(run="small", view=view)
    assert not page.exception
    assert not page.error
    assert drawn(page) == CHARTS[view]
    assert len(page.dataframe) == TABLES.get(view, 0)
    assert page.header
    assert "n = 45 answers: 30 correct (quality above 0.9), 15 incorrect (below 0.1). Not shown: 1 failed." in said(
        page
    )
    assert page.query_params == {"run": "small", "view": view}


@pytest.mark.usefixtures("small")
def test_the_control_is_drawn_for_the_run_and_on_request_for_each_group():
    page = open_methods(run="small", view="attention")
    rows = charts(page)["answers_control_all"]["layout"]["yaxis"]["ticktext"]
    assert {re.sub("<.*?>", "", row).partition(" · ")[0] for row in rows} == {"all", "mean within groups"}
    page.session_state["figure_control_groups_all"] = True
    page = page.run()
    assert not page.exception
    assert drawn(page) == {"control_all", "control_groups_all"}


@pytest.mark.parametrize("view", CHARTS)
def test_a_method_that_this_version_does_not_have_is_not_ranked(view, runs):
    rename_methods(make(runs).folder, rauq="gone_rauq")
    page = open_methods(run="small", view=view, method="gone_rauq")
    assert not page.exception
    assert not page.error
    shown = " ".join(str(table.value) for table in page.dataframe)
    assert "gone" not in shown + said(page)
    texts = [text.value for text in page.text]
    assert any("not ranked: gone_rauq." in text for text in texts) is (view == "ranking")


@pytest.mark.parametrize("view", CHARTS)
def test_a_method_of_the_users_own_is_ranked_under_its_name(view, runs):
    with_own_method(make(runs).folder, "msp", id="weakest", name="Weakest token")
    page = open_methods(run="small", view=view, method="weakest", methods="weakest.rauq")
    assert not page.exception
    assert not page.error
    assert "not ranked" not in " ".join(text.value for text in page.text)
    if view == "ranking":
        assert "Weakest token" in set(page.dataframe[0].value["0"])
    if view in ("scores", "errors"):
        assert next(box for box in page.selectbox if box.label == "Method").value == "weakest"
        assert "Weakest token" in said(page)
    if view == "rejection":
        assert page.multiselect[0].value == ["weakest", "rauq"]
        assert "Weakest token" in page.header[0].value


def test_a_run_of_such_methods_alone_has_nothing_to_compare(runs):
    rename_methods(make(runs).folder, **{name: f"gone_{name}" for name in ("rauq", *OTHERS)})
    page = open_methods(run="small")
    assert not page.exception
    assert page.error[0].value == "This run cannot be used"
    assert any("Nothing to compare" in text.value and "gone_rauq" in text.value for text in page.text)
    assert "small" in page.get("page_link")[0].proto.query_string


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("run", ["hostile", "alone"])
@pytest.mark.parametrize("view", CHARTS)
def test_no_answers_break_a_view(run, view):
    page = open_methods(run=run, view=view)
    assert not page.exception
    assert not page.error
    assert "n = " in said(page)
    assert "evil.example" not in said(page)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("name", "text"),
    [
        *(("view", "best"), ("metric", "f1"), ("method", "sar"), ("methods", "rauq.nothing"), ("table", "none")),
        *(("published", "x"), ("tokens", "other"), ("signal", "logits"), ("group", "three")),
    ],
)
def test_wrong_options_of_a_link_are_corrected_and_reported(name, text):
    page = open_methods(run="small", **({"view": "errors"} if name != "view" else {}) | {name: text})
    assert not page.exception
    assert name not in page.query_params
    assert name in page.toast[0].value


@pytest.mark.usefixtures("small")
def test_the_ranking_has_every_method_the_best_on_top_and_what_the_run_lacks():
    page = open_methods(run="small", state={"methods_lacking": True}, metric="roc_auc")
    table, lacking = (element.value for element in page.dataframe)
    assert sorted(table["0"]) == sorted(rauq.METHODS[method].name for method in ("rauq", *OTHERS))
    assert table["1"].is_monotonic_decreasing
    assert "by ROC-AUC" in said(page)
    to_do = dict(zip(lacking["method"], lacking["what to do"], strict=True))
    assert to_do["SAR"] == "Score again with --methods sar --similarity cross-encoder/stsb-roberta-large"
    assert not set(to_do) & set(table["0"])


@pytest.mark.usefixtures("small")
def test_the_best_of_a_column_is_bold_and_the_best_two_have_a_sign():
    page = open_methods(run="small", view="ablations")
    styler, values = page.dataframe[0].proto.arrow_data.styler, page.dataframe[0].value["1"]
    read = pa.ipc.open_stream(styler.display_values).read_all().to_pandas()["1"]
    best, second = values.sort_values(ascending=False).index[:2]
    assert (read[best][0], read[second][0]) == ("①", "②")
    assert not read.drop([best, second]).str.contains("①|②").any()
    assert f"row{best}_col1" in styler.styles
    assert f"row{second}_col1" not in styler.styles


def headings(table):
    return [column["label"] for column in json.loads(table.proto.columns).values() if "label" in column]


PHONE = "Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0 Mobile Safari/537.36"


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(("agent", "is_narrow"), [(PHONE, True), (PHONE.replace(" Mobile", ""), False)])
def test_on_a_phone_a_value_stands_beside_the_names_which_are_wrapped(agent, is_narrow, monkeypatch):
    monkeypatch.setattr(ContextProxy, "headers", {"User-Agent": agent})
    long = "A method with a name that is as long as it is allowed to be"
    monkeypatch.setattr("pages.ui.methods.views.name_of", lambda method: "RAUQ" if method == "rauq" else long)
    table = open_methods(run="small", view="ablations").dataframe[0]
    widths = [column.get("width") for column in json.loads(table.proto.columns).values() if "label" in column]
    assert (widths[0] + widths[1] <= 292) == is_narrow
    assert (table.proto.row_height > 64) == is_narrow


@pytest.mark.usefixtures("small")
def test_a_table_is_as_wide_as_its_names_and_a_few_columns_need_no_button():
    page = open_methods(run="small", view="ablations")
    widths = [column.get("width") for column in json.loads(page.dataframe[0].proto.columns).values()]
    assert 100 < widths[0] < 345
    assert not [toggle for toggle in page.toggle if toggle.label.endswith("columns")]


def test_rauqs_row_is_tinted_and_costs_come_before_the_groups(runs, monkeypatch):
    make(runs)
    alone = Alone(overhead=0.02, low=-0.01, high=0.05, pairs=30)
    known = [Cost("rauq", 0.5, 0.25, alone=alone), *(Cost(method, 0.5, 0.25) for method in OTHERS)]
    monkeypatch.setattr("analysis.views.methods.costs", lambda _run: known)
    page = open_methods(run="small")
    first = ["method", "PRR, all answers", "mean within groups", "mean rank", "overhead one at a time, %"]
    assert headings(page.dataframe[0]) == [*first, "extra forward passes"]
    table = (
        next(toggle for toggle in page.toggle if toggle.label == "All 10 columns").set_value(True).run().dataframe[0]
    )
    own = table.value["0"].tolist().index("RAUQ")
    tinted = re.findall(r"row(\d+)_col\d+[^}]*background-color", table.proto.arrow_data.styler.styles)
    assert set(tinted) == {str(own)}
    assert headings(table) == [
        *first,
        *("overhead in batches, %", "seconds in batches", "one", "two", "extra forward passes"),
    ]
    assert table.value["4"].tolist().count(2.0) == 1  # in percent, and unknown of the others


@pytest.mark.usefixtures("small")
def test_published_numbers_are_shown_only_on_demand_and_labelled_published():
    plain = open_methods(run="small", view="ablations", table="update")
    choice = next(box for box in plain.selectbox if box.label.startswith("Published numbers"))
    assert (choice.value, len(plain.dataframe)) == ("", 1)
    page = choice.set_value("llama_functions.Llama-3.1 8B").run()
    assert page.query_params[PUBLISHED] == "llama_functions.Llama-3.1 8B"
    assert "RAUQ" in set(page.dataframe[1].value["0"])
    assert "Published by the authors of RAUQ, with another model on other data" in said(page)


@pytest.mark.usefixtures("small")
def test_choices_are_written_into_the_url():
    page = open_methods(run="small", view="rejection")
    page.multiselect[0].set_value(["msp", "rauq"]).run()
    assert page.query_params["methods"] == "msp.rauq"
    assert "MSP" in page.header[0].value
    assert "Perplexity" not in page.header[0].value
    next(group for group in page.get("button_group") if group.key == "answers_topic").set_value(
        "What does the ranking rest on?"
    ).run()
    assert page.query_params["view"] == "survives"
    next(button for button in page.button if button.key == "other_view").click().run()
    next(group for group in page.get("button_group") if group.key == "answers_tokens").set_value("fact").run()
    assert page.query_params == {"run": "small", "view": "attention", "methods": "msp.rauq", "tokens": "fact"}
    assert "on the fact tokens" in said(page)


@pytest.mark.usefixtures("small")
def test_a_signal_of_tokens_is_chosen_and_in_the_url():
    page = open_methods(run="small", view="token_survives")
    assert page.header[0].value.startswith("Collapse")
    page.selectbox(key="answers_token_signal").set_value("entropy").run()
    assert not page.exception
    assert page.query_params == {"run": "small", "view": "token_survives", "token_signal": "entropy"}
    assert page.header[0].value.startswith("Entropy")


@pytest.mark.usefixtures("small")
def test_a_click_on_a_score_opens_the_answer_in_inspect():
    """Of the group "two", place 3 is the example 7."""
    query = {"run": "small", "view": "scores", "group": "two"}
    page = open_methods({"answers_score_and_quality": {"selection": clicked(3)}}, **query)
    assert not page.exception
    assert page.query_params == query | {"number": "7", "from": "methods"}
    assert "Back to the methods of the run" in [link.label for link in page.get("page_link")]


@pytest.mark.usefixtures("small")
def test_where_methods_disagree_a_row_opens_in_inspect():
    query = {"run": "small", "view": "agreement", "method": "msp"}
    ticked = {"disagreement_table": {"selection": {"rows": [1], "columns": [], "cells": []}}}
    page = open_methods(ticked, **query)
    table = page.dataframe[0].value
    assert list(table.columns[:2]) == ["question", "answer"]
    assert list(table.columns[2:5]) == ["more uncertain", "percentile of RAUQ", "percentile of MSP"]
    assert list(table.columns[-2:]) == ["group", "id"]
    page.button(key="open_answer").click().run()
    assert page.query_params == query | {"number": str(number_of(table.iloc[1])), "from": "methods"}


@pytest.mark.usefixtures("small")
def test_the_url_comes_back_with_the_page():
    page = open_methods(run="small", view="errors", method="msp")
    page.switch_page("pages/learn.py").run()
    page.query_params.clear()
    page.switch_page("pages/methods.py").run()
    assert page.query_params == {"run": "small", "view": "errors", "method": "msp"}
    assert "MSP" in page.header[0].value
