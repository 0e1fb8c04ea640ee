"""The choice of a model: it can be checked before it is loaded, and every part of it reaches the library."""

import json
import shutil
import threading
from contextlib import nullcontext

import pytest

import rauq
from pages.ui.host import models
from pages.ui.host.hosting import MOST_TOKENS, ModelChoice
from pages.ui.host.store import Loaded, store
from pages.ui.shared import state
from pages.ui.shared.model_form import DEVICES, DTYPES, KINDS
from rauq.checkpoints.kinds import PRESETS
from rauq.errors import ModelNotFound
from rauq.labels import ENGINES
from tests.architectures import named, save_tiny, tiny_language_model
from tests.pages.reading import choose, interpreted, written

HOSTILE = "![](http:evil) <img src=x> $x$ :red[y] *m*"
PARAMETERS = "0.0 million parameters\n178.0 kB in memory, float32 on cpu"
AT_HAND = "_at_hand"
PAPERS = [f"{preset.hub_id} (in the paper; must be downloaded)" for preset in PRESETS]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "tiny"
    return save_tiny(folder)


@pytest.fixture
def asked(monkeypatch):
    """What the library was asked for; it has no models."""
    asked = []

    def none(name, *, tokens, **options):
        assert tokens in (0, MOST_TOKENS)
        asked.append({"name": name} | options)
        message = f"There is no {name}."
        raise ModelNotFound(message)

    monkeypatch.setattr(rauq, "inspect_model", none, raising=False)
    return asked


@pytest.fixture(autouse=True)
def nothing_loads(monkeypatch):
    def refuse(*_arguments, **_options):
        raise AssertionError

    monkeypatch.setattr(rauq, "load_model", refuse, raising=False)


def other_model(page, name):
    return written(choose(page, state.MODEL, "another"), other_model=str(name)).run()


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("https://huggingface.co/org/tiny/tree/v2", "org/tiny@v2"),
        ("hf.co/org/tiny/", "org/tiny"),
        ("“org/tiny”", "org/tiny"),
    ],
)
def test_a_name_is_replaced_by_what_it_stands_for_and_that_is_said(typed, read, open_app):
    page = other_model(open_app(), typed)
    assert not page.exception
    assert page.text_input(key=state.OTHER_MODEL).value == read
    assert f"Read {typed} as org/tiny" in said(page)
    again = other_model(page, "org/other")
    assert "Read " not in said(again)


def checked(page):
    return page.button(key="check").click().run()


def said(page):
    return " ".join(text.value for text in page.text)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("device", device) for device in DEVICES),
        *(("dtype", dtype) for dtype in DTYPES),
        *(("kind", kind) for kind in KINDS),
        *(("engine", engine) for engine in ENGINES),
    ],
)
def test_every_choice_reaches_the_library(key, value, open_app, asked):
    page = other_model(open_app(), " some/model ")
    page = choose(page, key, value) if value != "auto" else page
    checked(page)
    usual = {"name": "some/model", "device": "auto", "dtype": "auto", "kind": None, "engine": None}
    assert asked == [usual | ({} if value == "auto" else {key: value})]

    written(page, prompt="Where?").button(key="run").click().run()
    request = page.session_state[state.JOB].request
    assert request.model == ModelChoice(**asked[0])
    assert page.session_state[state.JOB].done.wait(30)
    assert asked[1:] == asked[:1]


@pytest.mark.parametrize("dtype", DTYPES)
def test_the_form_offers_what_the_library_takes(dtype, saved):
    assert rauq.inspect_model(saved, device="cpu", dtype=dtype).dtype == ("float32" if dtype == "auto" else dtype)


def test_the_embedded_model_takes_no_other_choices(open_app):
    page = choose(other_model(open_app(), "some/model"), "dtype", "float16")
    page = choose(page, state.MODEL, "atlas")
    assert not [field for field in page.text_input if field.key == state.OTHER_MODEL]
    written(page, prompt=" ").button(key="run").click().run()
    assert page.session_state[state.JOB].request.model == ModelChoice()


def test_choices_survive_switching_to_the_embedded_model(open_app, asked):
    page = choose(other_model(open_app(), "some/model"), "dtype", "float16")
    page = choose(choose(page, state.MODEL, "atlas"), state.MODEL, "another")
    checked(page)
    assert asked == [{"name": "some/model", "device": "auto", "dtype": "float16", "kind": None, "engine": None}]


def test_a_folder_is_described_before_its_weights_are_read(open_app, saved):
    page = checked(other_model(open_app(), saved))
    assert not page.exception
    assert not page.error
    assert f"LlamaForCausalLM: 3 layers of 4 heads, {PARAMETERS}" in said(page)
    assert "base: it has no chat template" in said(page)
    assert "It fits: " in said(page)
    before = said(page)
    assert said(page.text_area(key=state.PROMPT).set_value("Where?").run()) == before  # until another model is chosen
    page = checked(choose(choose(page, "dtype", "bfloat16"), "kind", "instruct"))
    assert "in memory, bfloat16 on cpu" in said(page)
    assert "instruct: your choice" in said(page)
    assert "does not fit" not in said(page)


def test_the_kind_is_chosen_for_one_model(open_app):
    page = choose(other_model(open_app(), "some/model"), "kind", "base")
    assert page.session_state["kind"] == "base"
    assert other_model(page, "another/model").session_state["kind"] == "auto"


@pytest.mark.parametrize(("works", "beside"), [(False, ""), (True, " alongside the model in use")])
def test_a_model_that_does_not_fit_is_reported(works, beside, open_app, saved, monkeypatch):
    memory = Loaded(model=tiny_language_model(named("llama")) if works else None)
    monkeypatch.setattr(store(), "loaded", memory)
    monkeypatch.setattr("rauq.checkpoints.loading.free_main_memory", lambda: 1000)
    with models.queue(memory.model).turn(threading.Event(), "") if works else nullcontext():
        page = checked(other_model(open_app(), saved))
    assert not page.error
    assert f"It does not fit{beside}: choose a smaller model" in said(page)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        ({"architectures": ["BertForMaskedLM"]}, "not a causal language model"),
        ({"model_type": "nothing of the kind"}, "is a model of the type 'nothing of the kind'"),
    ],
)
def test_a_wrong_folder_is_refused_with_the_reason(damage, words, open_app, saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "wrong")
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | damage))
    page = checked(other_model(open_app(), folder))
    assert not page.exception
    assert len(page.error) == 1
    assert words in said(page)
    assert page.text_input(key=state.OTHER_MODEL).value == str(folder)


def test_an_empty_folder_says_what_a_folder_of_a_model_is(open_app, tmp_path):
    page = checked(other_model(open_app(), tmp_path))
    assert page.error[0].value == "No model was loaded"
    assert f"The folder {tmp_path} has no config.json" in said(page)


def test_there_is_nothing_to_check_without_a_name(open_app):
    page = choose(open_app(), state.MODEL, "another")
    assert page.button(key="check").disabled


def test_models_of_the_typed_folder_are_at_hand_before_those_of_the_paper(open_app, saved, tmp_path, monkeypatch):
    monkeypatch.setattr(rauq, "cached_models", lambda: ("stored/here",))
    monkeypatch.setattr(rauq, "installed_models", lambda: (rauq.Installed(name="/a/blob", label=HOSTILE),))
    inside = [shutil.copytree(saved, tmp_path / name) for name in ("b", "a", HOSTILE)]
    (tmp_path / "no model").mkdir()
    page = other_model(open_app(), tmp_path)
    expected = [*sorted(map(str, inside)), HOSTILE, "stored/here (hub cache)", *PAPERS]
    assert page.selectbox(key=AT_HAND).options == expected
    page.selectbox(key=AT_HAND).select(str(tmp_path / "b")).run()
    assert page.text_input(key=state.OTHER_MODEL).value == str(tmp_path / "b")
    assert page.selectbox(key=AT_HAND).value is None
    assert "3 layers of 4 heads" in said(checked(page))
    assert HOSTILE not in said(page)
    page.selectbox(key=AT_HAND).select("/a/blob").run()
    assert page.text_input(key=state.OTHER_MODEL).value == "/a/blob"
    assert HOSTILE in said(page)


@pytest.mark.parametrize("typed", ["", " ", "nothing/here", "\x00", "a" * 5000, "~nobody", "/root"], ids=ascii)
def test_a_name_that_is_no_folder_leaves_the_papers_models(typed, open_app):
    page = other_model(open_app(), typed)
    assert not page.exception
    assert page.selectbox(key=AT_HAND).options[-len(PRESETS) :] == PAPERS


def test_a_hostile_name_is_drawn_as_text(open_app, saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / HOSTILE)
    page = checked(other_model(open_app(), folder))
    assert "LlamaForCausalLM" in said(page)
    assert "evil" not in interpreted(page)
    (folder / "config.json").unlink()
    page = checked(page)
    assert not page.exception
    assert str(folder) in said(page)
    assert "evil" not in interpreted(page)


def test_a_hostile_description_is_drawn_as_text(open_app, saved, tmp_path):
    folder = shutil.copytree(saved, tmp_path / "hostile")
    config = folder / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"architectures": [HOSTILE]}))
    page = checked(other_model(open_app(), folder))
    assert not page.exception
    assert "evil" in said(page)
    assert "evil" not in interpreted(page)


def test_checking_loads_nothing(open_app, saved):
    choice = ModelChoice(name=str(saved))
    checked(other_model(open_app(), saved))
    assert models.if_loaded(choice) is None
