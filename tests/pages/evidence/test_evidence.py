"""Evidence: bounds kept and missed, missing and damaged records, the self-check, and the paper's tables."""

import re

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

import rauq
from analysis.evidence import record as module
from analysis.evidence import sentences
from analysis.evidence.claims import CLAIMS, quote_of
from analysis.evidence.figures import drawing
from analysis.evidence.record import MODELS, REFERENCE, RESULTS, ROBUSTNESS, SPEED, SUBJECTS, of_subjects, save
from analysis.evidence.sentences import bounds_quote
from analysis.runs import library
from pages.ui.evidence import check
from pages.ui.host import hosting, models
from rauq.checkpoints.named import MODELS_VARIABLE
from rauq.errors import ModelNotFound
from tests.architectures import named, tiny_language_model
from tests.evidence import INCONCLUSIVE, KEPT, MISSED, make_record, peers_memory, peers_time
from tests.pages.reading import APP, charts, interpreted
from tests.pages.sets import drawn, make, said

HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y]"
VIEWS = ("claims", "results", "models", "check", "reference", "speed", "robustness", "paper", "limits")


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A folder of records and one of runs, both empty."""
    monkeypatch.setattr(module, "FOLDER", tmp_path / "records")
    monkeypatch.setenv(library.FOLDER_VARIABLE, str(tmp_path / "runs"))
    monkeypatch.setattr(library, "bundled_folder", lambda: tmp_path / "none")
    return tmp_path / "records"


def open_evidence(**query):
    page = AppTest.from_file(APP, default_timeout=60)
    page.switch_page("pages/evidence.py")
    for name, value in query.items():
        page.query_params[name] = value
    return page.run()


def texts(page):
    return "\n".join(element.value for element in page.text)


def chosen(page, label):
    return next(box for box in page.selectbox if box.label == label)


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("view", VIEWS)
def test_where_nothing_was_measured_every_view_says_so_and_loads_nothing(view):
    page = open_evidence(view=view)
    assert not page.exception
    assert not page.error
    assert page.header
    assert page.query_params == {"view": view}
    commands = [command for frame in page.dataframe for command in frame.value.get("command", [])]
    assert bool(commands) == (view not in {"check", "paper"})


def test_limits_name_every_record_that_is_missing(folder):
    save(make_record(bounds=(MISSED, KEPT)), folder)
    page = open_evidence(view="limits")
    assert "1 bound not met" in page.header[0].value
    assert f"Scoring: {MISSED.text}" in texts(page)
    assert len(page.dataframe[0].value) == len(SUBJECTS) - 1


def test_a_missed_bound_is_in_the_headline_and_in_the_choice(folder):
    save(make_record(bounds=(MISSED, KEPT)), folder)
    save(make_record("runs", title="Runs"), folder)
    page = open_evidence(view="speed")
    headlines = [header.value for header in page.header]
    assert headlines == ["1 of 3 bounds is missed (Scoring), 2 met", "1 bound missed. It is fast"]
    assert f"Missed: {MISSED.text}" in texts(page)
    assert f"Met: {KEPT.text}" in texts(page)
    assert page.code[0].value == "python -m benchmarks scoring --record"
    assert "Measured 2026-01-02, on a processor; Python 3.11." in texts(page)
    (picker,) = (group for group in page.get("button_group") if group.key == "answers_table")
    assert [option.content for option in picker.proto.options] == ["Scoring (missed)", "Runs on disk"]
    picker.set_value("runs").run()
    assert page.query_params["table"] == "runs"
    assert page.header[-1].value == "It is fast"


def test_a_value_beyond_its_bound_is_never_called_met(folder):
    save(make_record(bounds=(KEPT, INCONCLUSIVE)), folder)
    page = open_evidence(view="speed")
    assert f"Inconclusive: {INCONCLUSIVE.text}\nMet: {KEPT.text}" in texts(page)
    assert sentences.INCONCLUSIVE in [caption.value for caption in page.caption]
    assert f"Scoring: {INCONCLUSIVE.text} (inconclusive)" in texts(open_evidence(view="limits"))


def test_an_inconclusive_bound_is_in_the_headline_and_in_the_choice(folder):
    save(make_record(bounds=(KEPT, INCONCLUSIVE, MISSED)), folder)
    save(make_record("runs", title="Runs", bounds=(KEPT, INCONCLUSIVE)), folder)
    page = open_evidence(view="speed")
    assert page.header[-1].value == "1 bound missed, 1 bound inconclusive. It is fast"
    (picker,) = (group for group in page.get("button_group") if group.key == "answers_table")
    assert [option.content for option in picker.proto.options] == ["Scoring (missed)", "Runs on disk (inconclusive)"]


def test_the_page_opens_on_five_claims_and_all_bounds_each_with_its_number_first(folder):
    for record in BUNDLED.values():
        save(record, folder)
    page = open_evidence()
    assert not page.exception
    assert len(CLAIMS) == 5
    told = [element.value for element in page.text]
    quotes = [*(quote_of(claim, BUNDLED[claim.record]) for claim in CLAIMS), bounds_quote(list(BUNDLED.values()))]
    assert told == [text for quote in quotes for text in (quote.number, quote.rest)]
    assert all(re.match(r"\d", quote.number) for quote in quotes)
    assert [button.label for button in page.button] == [*(claim.link for claim in CLAIMS), "Limits"]
    assert not page.dataframe


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.record)
def test_the_link_of_a_claim_opens_its_record(folder, claim):
    for record in BUNDLED.values():
        save(record, folder)
    page = open_evidence()
    page = page.button(key=f"claim_{claim.record}").click().run()
    assert page.query_params == {"view": claim.view, "table": claim.record}
    assert page.header[-1].value.endswith(BUNDLED[claim.record].finding.removesuffix("."))


def test_the_count_of_bounds_leads_to_those_that_are_not_met(folder):
    save(make_record(bounds=(KEPT, INCONCLUSIVE, MISSED)), folder)
    page = open_evidence()
    assert [element.value for element in page.text] == ["1 of 3", "bounds met, 1 missed, 1 inconclusive."]
    page = page.button(key="claim_bounds").click().run()
    assert page.query_params == {"view": "limits"}
    assert page.header[0].value.endswith("2 bounds not met")


def test_a_claim_has_the_verdicts_on_its_bounds_and_one_that_was_not_measured_its_command(folder):
    save(make_record("overhead", bounds=(MISSED, KEPT, INCONCLUSIVE)), folder)
    page = open_evidence()
    said = "1 of 3 bounds set for it are met, 1 missed, 1 inconclusive."
    assert said in [caption.value for caption in page.caption]
    assert "It is fast." in texts(page)  # the finding, since this record lacks the columns of the claim
    assert len(page.dataframe[0].value) == len(CLAIMS) - 1


def test_the_cost_of_other_tools_is_drawn_as_far_as_recorded(folder):
    save(peers_time(), folder)
    page = open_evidence(view="speed")
    assert drawn(page) == {"peers_time"}
    assert [header.value for header in page.header] == ["It takes 5 times as much time"]
    assert sentences.TIMES in [caption.value for caption in page.caption]
    save(peers_memory(), folder)
    (spec,) = charts(open_evidence(view="speed", table="peers_memory")).values()
    assert len(spec["data"]) == 4


BUNDLED = module.records()
SUBJECTS_OF = {"results": RESULTS, "models": MODELS, "reference": REFERENCE, "speed": SPEED, "robustness": ROBUSTNESS}


@pytest.mark.parametrize("view", SUBJECTS_OF)
def test_every_bundled_record_is_shown_in_full(folder, view):
    for record in BUNDLED.values():
        save(record, folder)
    page = open_evidence(view=view)
    for record in of_subjects(SUBJECTS_OF[view], BUNDLED):
        page.query_params["table"] = record.id
        page.run()
        assert not page.exception
        assert page.header[-1].value == sentences.record_sentence(record).removesuffix(".")
        told = texts(page).splitlines()
        verdicts = (f"{bound.verdict.capitalize()}: {bound.text}" for bound in record.bounds)
        assert {*verdicts, *record.notes, record.about} <= set(told)
        assert [block.value for block in page.code] == [record.command]
        assert len(page.dataframe[0].value) == len(record.rows)
        assert drawn(page) == ({record.id} if drawing(record) else set())


@pytest.mark.parametrize("view", ["models", "reference", "speed"])
def test_text_of_a_record_is_drawn_as_it_is(folder, view):
    own = {"models": "models", "reference": "reference", "speed": "scoring"}[view]
    words = {"about": HOSTILE, "notes": (HOSTILE,), "machine": HOSTILE}
    save(make_record(own, columns=(HOSTILE, "mixed"), rows=((HOSTILE, 1), ("b", HOSTILE)), **words), folder)
    page = open_evidence(view=view)
    assert not page.exception
    assert HOSTILE in texts(page)
    assert "evil.example" not in interpreted(page)
    assert page.dataframe[0].value["0"].tolist() == [HOSTILE, "b"]


def test_a_damaged_record_is_an_error_that_says_which(folder):
    folder.mkdir()
    (folder / "capture.json").write_text("{")
    page = open_evidence(view="limits")
    assert not page.exception
    assert page.error[0].value == "This input cannot be used"
    assert "capture.json" in texts(page)


def test_published_costs_are_compared_with_those_measured_one_prompt_at_a_time(folder):
    def caption():
        page = open_evidence(view="paper", published="overall_results_roc_auc.Llama-3.1 8B")
        [found] = [one.value for one in page.caption if "Published overhead" in one.value]
        return found

    assert caption().endswith("with an overhead measured one prompt at a time, not in batches.")
    save(make_record("overhead", finding="RAUQ takes 3 % more."), folder)
    assert caption().endswith("Measured here: RAUQ takes 3 % more.")


@pytest.mark.parametrize("name", ["view", "table", "published", "run"])
def test_wrong_options_of_a_link_are_corrected_and_reported(name):
    page = open_evidence(**{"view": "limits", name: "../x"})
    assert not page.exception
    assert page.query_params.get(name) in (None, "limits")
    assert name in page.toast[0].value


def test_a_table_of_the_paper_is_chosen_by_its_parts():
    page = open_evidence(view="paper")
    chosen(page, "Metric").set_value("roc_auc").run()
    assert page.query_params["published"] == "overall_results_roc_auc.Llama-3.1 8B"
    chosen(page, "Metric").set_value("prr").run()
    chosen(page, "Table").set_value("update rules").run()
    assert page.query_params["published"] == "llama_functions.Llama-3.1 8B"
    assert page.header[0].value == "Published PRR, Llama-3.1 8B: update rules"
    chosen(page, "Model").set_value("GPT-OSS 20B").run()
    assert page.query_params["published"] == "instruction_results.GPT-OSS 20B"
    assert "None of it was measured here" in said(page)


def test_the_published_heads_open_below_the_tables():
    page = open_evidence(view="paper")
    before = len(page.dataframe)
    page.session_state["published_heads"] = True
    page = page.run()
    assert not page.exception
    shown = [table.value.to_string() for table in page.dataframe][before:]
    assert len(shown) == 2
    assert "12 (100.0 %)" in shown[0]


@pytest.mark.parametrize("table", ["overall_results", "llama_functions"])
def test_a_run_is_shown_beside_the_paper_and_labelled_measured_here(tmp_path, table):
    make(tmp_path / "runs", quality=tuple(float(number % 3 > 0) for number in range(45)))
    page = open_evidence(view="paper", published=f"{table}.Llama-3.1 8B", run="small")
    assert not page.exception
    assert "Measured here: the run small, 45 answers of" in texts(page)
    frame = page.dataframe[0].value
    ours = frame[frame["0"] == "RAUQ"]["1"].item()
    assert np.isfinite(ours)
    assert "measured here, mean within groups" in page.dataframe[0].proto.columns


def test_numbers_over_all_answers_are_not_called_means_of_groups(tmp_path):
    make(tmp_path / "runs", quality=tuple(float(number % 3 > 0) for number in range(16)), groups=("",))
    page = open_evidence(view="paper", published="overall_results.Llama-3.1 8B", run="small")
    assert not page.exception
    frame = page.dataframe[0].value
    assert np.isfinite(frame[frame["0"] == "RAUQ"]["1"].item())
    assert "measured here, all answers" in page.dataframe[0].proto.columns


def test_a_run_that_cannot_be_opened_is_reported(tmp_path):
    make(tmp_path / "runs")
    (tmp_path / "runs" / "small" / "manifest.json").write_text("{")
    page = open_evidence(view="paper", run="small")
    assert not page.exception
    assert page.error[0].value == "This run cannot be used"


@pytest.fixture(scope="module")
def tiny():
    return tiny_language_model(named("llama"))


def checked(page):
    """The page once its check is done; the polling is the browser's part."""
    page.button(key="check_now").click().run()
    if check.JOB in page.session_state:
        assert page.session_state[check.JOB].done.wait(60)
    return page.run()


def test_a_model_is_checked_on_request(monkeypatch, tiny):
    monkeypatch.setattr(models, "model", lambda _choice, **_options: tiny)
    monkeypatch.setattr(models, "if_loaded", lambda _choice: tiny)
    page = open_evidence(view="check")
    page.text_area(key=check.PROMPT).set_value(HOSTILE).run()
    checked(page)
    assert not page.exception
    assert "The captured attention equals the model's own" in page.header[0].value
    assert "3 layers; worst is layer" in page.header[0].value
    assert "own eager attention in float32 is up to" in texts(page)
    (spec,) = charts(page).values()
    assert [trace["name"] for trace in spec["data"]][::2] == ["tolerated", "captured"]
    assert spec["data"][0]["x"] == [0, 1, 2]
    assert "evil.example" not in interpreted(page)
    assert f"atlas on “{HOSTILE}”" in texts(page)


def test_a_check_that_fails_says_why(monkeypatch):
    def refuse(_choice):
        message = "There is no such model."
        raise ModelNotFound(message)

    monkeypatch.setattr(models, "if_loaded", lambda _choice: None)
    monkeypatch.setattr(models, "inspect_model", refuse)
    page = checked(open_evidence(view="check"))
    assert not page.exception
    assert page.error[0].value == "No model was loaded"
    assert "There is no such model." in texts(page)
    assert not page.button(key="check_now").disabled


@pytest.mark.usefixtures("no_model", "host")
def test_a_host_checks_only_its_models_and_limits_the_prompt(monkeypatch):
    monkeypatch.setenv(MODELS_VARIABLE, "first,second")
    page = open_evidence(view="check")
    assert chosen(page, "Model").options == ["first", "second"]
    page.text_area(key=check.PROMPT).set_value("x" * (hosting.HOST.characters + 1)).run()
    checked(page)
    assert not page.exception
    assert page.error[0].value == "This input cannot be used"


def test_the_url_comes_back_with_the_page():
    page = open_evidence(view="paper", published="llama_functions.Llama-3.1 8B")
    page.switch_page("pages/learn.py").run()
    page.query_params.clear()
    page.switch_page("pages/evidence.py").run()
    assert page.query_params == {"view": "paper", "published": "llama_functions.Llama-3.1 8B"}
    assert rauq.METHODS["rauq"].name in page.dataframe[0].value["0"].tolist()
