"""A new run: from a file to a job, with rejected rows, and unusable input."""

import pytest

from analysis.exports.csv_text import csv_table
from analysis.runs.files.examples import read_examples
from analysis.runs.manifest import read_manifest
from analysis.runs.methods import ASKABLE, DEFAULT
from analysis.runs.opened import open_run
from pages.ui.runs.example_file import NAME, ROWS
from pages.ui.runs.listing import about_request
from pages.ui.runs.new_run import METHOD
from pages.ui.shared import state
from rauq.methods.table import METHODS
from tests.jobs import ended
from tests.pages.reading import choose, written
from tests.pages.runs_page import HOSTILE, captions, column, keys, open_form, rejected, said, upload

CSV = b"""question,answer,right,task
Q: In which country is Lyon? A:,Lyon is in France.,yes,places
Q: In which country is Kyoto? A:,Kyoto is in Japan.,yes,places
Q: In which country is Porto? A:,Porto is in Peru.,no,places
one,cell,too,many,here
,an answer to nothing,yes,places
Q: In which country is Turin? A:,Turin is in Italy.,perhaps,places
"""


pytestmark = pytest.mark.usefixtures("runs")


def start(page):
    return page.button(key="start_run").click().run()


def embedded(page, name="places", examples=3):
    page = choose(page, "new_run_source", "Embedded")
    page.selectbox(key="new_run_embedded").select(name)
    page.number_input(key="new_run_limit").set_value(examples)
    return page.run()


def test_a_file_becomes_a_run_and_its_job_answers_it(runs):
    page = upload(open_form(), CSV)
    assert not page.exception
    assert column(page, "prompt").value == ["question"]
    assert column(page, "answer").value == "answer"
    assert column(page, "correct").value == "right"
    assert column(page, "group").value == "task"
    assert "3 rows accepted, 3 rows rejected." in captions(page)
    assert page.dataframe[0].value["quality"].tolist() == [1.0, 1.0, 0.0]
    assert rejected(page)["row"].tolist() == [4, 5, 6]

    page = start(page)
    assert not page.exception
    assert not page.error
    assert page.query_params["run"] == "places-atlas"
    assert "view" not in page.query_params
    assert ended(runs / "places-atlas").state == "finished"
    page = page.run()
    assert "3 answers" in said(page)
    run = open_run(runs / "places-atlas")
    assert run.answers["quality"].tolist() == [1.0, 1.0, 0.0]
    assert run.answers["group"].tolist() == ["places"] * 3
    assert run.manifest.request.quality == "given"
    page = page.button(key="new_run").click().run()
    assert page.text_input(key="new_run_name").placeholder == "places-atlas-2"


def test_every_rejected_row_is_there_with_its_reason():
    page = upload(open_form(), CSV)
    rows = rejected(page)
    reasons = dict(zip(rows["row"], rows["reason"], strict=True))
    assert "5 cells" in reasons[4]
    assert "question" in reasons[5]
    assert "perhaps" in reasons[6]
    (button,) = (one for one in page.get("download_button") if "save_rejected" in one.proto.id)
    assert button.proto.label == "Save as CSV"


def test_a_reason_too_long_for_its_cell_can_be_read_in_full():
    word = "perhaps " * 30
    page = upload(open_form(), CSV.replace(b"perhaps", word.encode()))
    assert "reasons_in_full" in page.session_state
    assert "6: " not in said(page)
    page.session_state["reasons_in_full"] = True
    page = page.run()
    assert not page.exception
    full = next(text.value for text in page.text if text.value.startswith("6: "))
    assert full == f"6: {dict(zip(rejected(page)['row'], rejected(page)['reason'], strict=True))[6]}"
    assert "reasons_in_full" not in upload(open_form(), CSV).session_state


def test_the_question_is_shown_and_the_prompt_with_its_worked_examples_on_request():
    page = choose(open_form(), "new_run_source", "Facts")
    page = page.selectbox(key="new_run_facts").select("facts_few_shot").run()
    table = page.dataframe[0].value
    assert "prompt" not in table
    assert not table["question"].str.contains("\n").any()
    page.session_state["first_prompt"] = True
    page = page.run()
    (prompt,) = (text.value for text in page.text if table["question"][0] in text.value)
    assert prompt.count("\n") > 3


def test_the_example_file_is_accepted_as_it_is(monkeypatch):
    begun = without_a_job(monkeypatch)
    page = open_form()
    (example,) = (table.value for table in page.dataframe)
    assert [button.label for button in page.get("download_button")] == ["Example file"]
    page = upload(page, csv_table(example).encode(), NAME)
    assert "3 rows accepted, 0 rows rejected." in captions(page)
    assert not page.get("download_button")
    start(page)
    assert [(one.prompt, *one.references, one.answer) for one in read_examples(begun[0])] == list(ROWS)
    assert not choose(open_form(), "new_run_source", "Two files").dataframe


def test_columns_can_be_mapped_otherwise(monkeypatch):
    begun = without_a_job(monkeypatch)
    page = upload(open_form(), CSV)
    column(page, "answer").set_value(None)
    column(page, "correct").set_value(None)
    column(page, "references").set_value(["answer", "task"])
    page = page.run()
    assert "4 rows accepted, 2 rows rejected." in captions(page)
    assert "new_run_column_correct" not in [box.key for box in page.selectbox]
    start(page)
    examples = read_examples(begun[0])
    assert examples[0].references == ("Lyon is in France.", "places")
    assert examples[0].answer is None


def test_what_has_two_likely_readings_is_asked_before_a_run_can_start(monkeypatch):
    begun = without_a_job(monkeypatch)
    rows = "".join(f"Question {n}?,Answer {n},{n % 2}\n" for n in range(6))
    page = upload(open_form(), f"prompt,response,label\n{rows}".encode())
    assert "Does 1 in 'label' mean that an answer is correct, or that it is incorrect?" in said(page)
    question = page.selectbox(key="new_run_doubt_0")
    assert (question.value, question.options) == (None, ["1 means correct", "1 means incorrect"])
    assert "Until you answer the question, read as: prompt: prompt" in said(page)
    assert "start_run" not in keys(page)
    page = question.select_index(1).run()
    assert not page.exception
    assert "new_run_doubt_0" not in [box.key for box in page.selectbox]
    assert (
        "Read as: prompt: prompt, such as 'Question 0?'; answer to score: response, such as 'Answer 0'; verdict: "
        in (said(page))
    )
    assert "label, 0 = correct" in said(page)
    page = page.button(key="turn_verdict").click().run()
    assert "label, 1 = correct" in said(page)
    start(page)
    assert [example.quality for example in read_examples(begun[0])] == [0, 1] * 3


def test_a_field_chosen_by_hand_answers_what_was_asked_about_it():
    page = upload(open_form(), b"left,right\nWhere?,Here\nWhen?,Now\n")
    assert "start_run" not in keys(page)
    page = column(page, "prompt").set_value(["right"]).run()
    assert "new_run_doubt_0" not in [box.key for box in page.selectbox]
    assert "start_run" in keys(page)


def without_a_job(monkeypatch):
    """The folders whose jobs would have been started; none is."""
    begun = []
    monkeypatch.setattr("pages.ui.host.session_runs.start_job", lambda folder, **_: begun.append(folder))
    return begun


def test_the_request_has_the_chosen_options(monkeypatch):
    begun = without_a_job(monkeypatch)
    page = embedded(open_form())
    page = choose(page, "new_run_layers", "all")
    page.selectbox(key="new_run_measure_exact_truth").select("token_f1")
    written(page, new_run_name="mine", new_run_batch=3, new_run_tokens_64=7)
    page = start(page.run())
    assert not page.error
    request = read_manifest(begun[0]).request
    assert begun[0].name == "mine"
    assert (request.data, request.count, request.model) == ("places", 3, "atlas")
    assert (request.quality, request.batch_size, request.max_new_tokens) == ("token_f1", 3, 7)
    assert request.stored_layers == "all"


@pytest.mark.parametrize(
    ("model", "kind", "wording"),
    [("atlas", "auto", "base"), ("another", "auto", "instruct"), ("another", "base", "base")],
)
def test_facts_are_worded_for_the_kind_of_the_model(model, kind, wording, monkeypatch):
    begun = without_a_job(monkeypatch)
    page = choose(open_form(), state.MODEL, model)
    if model == "another":
        page = written(page, **{state.OTHER_MODEL: "org/name"}).run()
        page = choose(page, state.KIND, kind)
    page = choose(page, "new_run_source", "Facts")
    assert f"Worded for {wording} models." in captions(page)
    page.number_input(key="new_run_limit").set_value(5)
    page = start(page.run())
    assert not page.error
    request, examples = read_manifest(begun[0]).request, read_examples(begun[0])
    assert (request.data, request.count, request.quality) == ("facts", 5, "facts")
    assert {example.prompt == example.question for example in examples} == {wording == "instruct"}


def test_few_shot_facts_can_be_chosen(monkeypatch):
    begun = without_a_job(monkeypatch)
    page = choose(open_form(), "new_run_source", "Facts")
    page = page.selectbox(key="new_run_facts").select("facts_few_shot").run()
    assert not page.exception
    assert "No chat template is applied." in captions(page)
    start(page)
    request = read_manifest(begun[0]).request
    assert (request.data, request.chat) == ("facts_few_shot", False)
    assert read_examples(begun[0])[0].prompt.count("Question: ") == 5


def test_two_files_are_correct_and_incorrect(monkeypatch):
    begun = without_a_job(monkeypatch)
    page = choose(open_form(), "new_run_source", "Two files")
    page = upload(page, b"prompt,answer\nWhere?,Here.\nWho?,Me.\n", "good.csv", "correct")
    assert not page.error
    assert "start_run" not in keys(page)
    page = upload(page, b"prompt,answer\nWhere?,There.\n", "bad.csv", "incorrect")
    assert "3 rows accepted, 0 rows rejected." in captions(page)
    page = start(page)
    assert [example.quality for example in read_examples(begun[0])] == [1.0, 1.0, 0.0]
    assert begun[0].name == "good.csv-bad-atlas"


def test_the_disk_space_is_shown_before_the_start():
    page = embedded(open_form(), examples=300)
    assert "25.8 kB for an answer of 64 tokens" in captions(page)
    assert "At most 7.7 MB" in captions(page)
    page = choose(page, state.MODEL, "another")
    assert "it is shown after Check model" in captions(page)
    assert "Check model" in [button.label for button in page.button]


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"", "empty.csv", "empty.csv is empty"),
        (b"PAR1 and no more PAR1", "broken.parquet", "broken.parquet"),
    ],
)
def test_a_file_that_cannot_be_read_leaves_the_rest_of_the_form(content, name, words):
    page = written(upload(open_form(), CSV), new_run_name="typed").run()
    page = upload(page, content, name)
    assert not page.exception
    assert len(page.error) == 1
    assert words in said(page)
    assert "start_run" not in keys(page)
    page = upload(page, CSV)
    assert not page.error
    assert page.text_input(key="new_run_name").value == "typed"


def test_a_removed_file_leaves_nothing_behind():
    page = upload(open_form(), CSV)
    page.file_uploader("new_run_upload_answers").set_value(None).run()
    assert not page.exception
    assert "start_run" not in keys(page)
    assert "places.csv" not in said(page)


def test_columns_that_cannot_be_combined_are_reported():
    page = upload(open_form(), CSV)
    column(page, "quality").set_value("answer")
    page = page.run()
    assert not page.exception
    assert [error.value for error in page.error] == ["This input cannot be used"]
    assert "Choose one." in said(page)
    column(page, "quality").set_value(None)
    assert not page.run().error


def test_a_run_without_examples_cannot_be_started():
    page = upload(open_form(), b"prompt,answer\n,none\n")
    assert "0 rows accepted, 1 row rejected." in captions(page)
    assert page.button(key="start_run").disabled


@pytest.mark.parametrize(("name", "words"), [("smollm2-facts", "already"), (HOSTILE, "is not a valid name for a run")])
def test_a_name_that_is_not_allowed_is_reported(name, words, runs, tmp_path):
    (tmp_path / "bundled").mkdir()
    page = start(written(embedded(open_form()), new_run_name=name).run())
    assert not page.exception
    assert words in said(page)
    assert "evil" not in captions(page)
    assert not runs.exists()
    assert page.query_params["view"] == "new"


def test_a_taken_name_is_reported_with_a_free_one(runs, monkeypatch):
    begun = without_a_job(monkeypatch)
    start(written(embedded(open_form()), new_run_name="mine").run())
    page = start(written(embedded(open_form()), new_run_name="mine").run())
    assert "A run named mine already exists. Choose another name, such as mine-2." in said(page)
    assert begun == [runs / "mine"]


def test_without_a_model_there_is_nothing_to_start(runs):
    page = choose(embedded(open_form()), state.MODEL, "another")
    page = start(page)
    assert "No model is given." in said(page)
    assert not runs.exists()


def test_a_revision_is_used_only_for_its_model(monkeypatch):
    begun = without_a_job(monkeypatch)
    key = "new_run_revision_org/name"
    page = embedded(open_form())
    assert not [field for field in page.text_input if "revision" in field.key]
    page = written(choose(page, state.MODEL, "another"), **{state.OTHER_MODEL: "org/name"}).run()
    assert page.text_input(key=key).placeholder == "main"
    page = start(written(page, **{key: " v1 "}).run())
    assert not page.error
    request = read_manifest(begun[0]).request
    assert (request.model, request.revision) == ("org/name", "v1")
    assert "Revision requested: v1" in about_request(read_manifest(begun[0]))

    page = written(choose(embedded(open_form()), state.MODEL, "another"), **{state.OTHER_MODEL: "org/name"}).run()
    page = written(page, **{key: "v1"}).run()
    page = start(written(page, **{state.OTHER_MODEL: "org/other"}).run())
    assert not page.error
    assert read_manifest(begun[1]).request.revision is None


def test_a_missing_data_set_of_the_paper_is_reported(tmp_path):
    page = choose(open_form(), "new_run_source", "The paper's")
    assert "start_run" not in keys(page)
    written(page, new_run_copy=str(tmp_path / "nothing"))
    page = page.button(key="load_paper_set").click().run()
    assert not page.exception
    assert len(page.error) == 1
    assert str(tmp_path / "nothing") in said(page)
    assert choose(page, "new_run_source", "Embedded").button(key="start_run")


def test_texts_of_a_file_are_drawn_as_text():
    rows = f'"{HOSTILE}",answer\nprompt,"{HOSTILE}"\n,no prompt\n'.encode()
    page = upload(open_form(), rows, f"{HOSTILE[:40]}.csv".replace("/", ""))
    assert not page.exception
    assert "1 row accepted, 1 row rejected." in captions(page)
    assert "evil" not in captions(page)


def test_a_visit_to_another_page_keeps_the_form():
    page = written(upload(open_form(), CSV), new_run_name="typed").run()
    column(page, "group").set_value(None)
    page = page.run().switch_page("pages/learn.py").run()
    page = page.switch_page("pages/runs.py").run()
    assert not page.exception
    assert "3 rows accepted, 3 rows rejected." in captions(page)
    assert "places.csv, uploaded before" in said(page)
    assert column(page, "group").value is None
    assert column(page, "prompt").value == ["question"]
    assert page.text_input(key="new_run_name").value == "typed"


def test_methods_without_their_judge_are_disabled_until_one_is_given(monkeypatch):
    begun = without_a_job(monkeypatch)
    page = embedded(open_form())
    boxes = {box.key.removeprefix(METHOD): box for box in page.checkbox}
    assert set(boxes) == set(ASKABLE) - {"surprisal"}  # which is for given answers alone
    assert {method for method, box in boxes.items() if box.value} == set(DEFAULT)
    assert {method for method, box in boxes.items() if box.disabled} == {
        method for method in ASKABLE if METHODS[method].needs & {"nli", "similarity", "keywords"}
    }
    assert "enter it below" in boxes["luq"].help
    page = written(page, new_run_judge_nli="a/judge").run()
    box = page.checkbox(key=f"{METHOD}luq")
    assert not box.disabled
    box.check()
    page.checkbox(key=f"{METHOD}msp").uncheck()
    written(page, new_run_samples=3)
    assert not start(page.run()).error
    request = read_manifest(begun[0]).request
    assert request.methods == ("rauq", "perplexity", "mean_token_entropy", "luq")
    assert (request.samples, request.nli) == (3, "a/judge")


def test_a_run_needs_a_method_and_all_without_a_download_can_be_chosen_at_once(runs, monkeypatch):
    begun = without_a_job(monkeypatch)
    page = embedded(open_form())
    for method in DEFAULT:
        page.checkbox(key=f"{METHOD}{method}").uncheck()
    page = start(page.run())
    assert "name at least one" in said(page)
    assert not runs.exists()
    page = start(page.button(key="no_download").click().run())
    assert not page.error
    request = read_manifest(begun[0]).request
    needs = {need for method in request.methods for need in METHODS[method].needs}
    assert needs == {"samples", "p_true", "facts", "idf"}
    assert request.idf == "atlas"
