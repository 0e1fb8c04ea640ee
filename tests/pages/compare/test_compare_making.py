"""Compare: how B is made from a branch, another prompt or a file; progress and failures."""

import threading
from types import SimpleNamespace

import numpy as np
import pytest
from streamlit.runtime.scriptrunner import StopException

import rauq
from pages.ui.host import jobs, models
from pages.ui.host.store import store
from pages.ui.shared import state, url_state
from pages.ui.shared.model_form import model_of
from rauq.errors import InvalidInput
from rauq.recorded import answers as recorded
from rauq.trace.trace import Alternative
from tests.pages.comparing import (
    BESIDE,
    FIRST,
    HOSTILE,
    JOB,
    charts,
    ended,
    interpreted,
    kept,
    of,
    open_compare,
    shown,
    strips,
    upload,
)
from tests.pages.reading import choose, unfold
from tests.traces import make_trace


@pytest.fixture(autouse=True)
def no_answers_of_other_tests():
    store().answers.kept.clear()


@pytest.fixture
def nothing_recorded(monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "INDEX", tmp_path / "index.json")


@pytest.mark.usefixtures("nothing_recorded")
def test_without_any_answer_the_page_offers_to_make_one():
    page = open_compare()
    assert not page.exception
    assert "no answer to compare yet" in interpreted(page)
    page.button(key="make_answer").click().run()
    assert page.error[0].value == "This input cannot be used"
    assert "There is no prompt" in page.text[0].value
    assert JOB not in page.session_state


@pytest.mark.usefixtures("nothing_recorded")
def test_the_first_answer_becomes_a_and_the_next_one_b():
    page = upload(open_compare(), make_trace())
    assert list(page.query_params) == ["a"]
    page = upload(page, make_trace((b" Lima",)))
    assert shown(page, "a").answer == " Oslo is it"
    assert shown(page, "b").answer == " Lima"


@pytest.mark.parametrize("content", [b"", b"garbage", make_trace().to_bytes()[:-20]])
def test_a_file_that_is_not_a_trace_is_refused_and_nothing_is_lost(content):
    page = upload(open_compare(b="example:myth"), content, name=f"{HOSTILE}.safetensors")
    assert not page.exception
    assert page.error
    assert page.query_params == {"b": "example:myth"}
    assert len(charts(page)) == 2
    assert "evil" not in interpreted(page)
    page.selectbox(key="answer_b").set_value(BESIDE).run()
    assert not page.error


def test_a_branch_keeps_the_tokens_before_it_and_has_the_chosen_one():
    page = unfold(open_compare(a=FIRST, b=BESIDE), "make")
    origin = of(FIRST)
    token = int(rauq.score(origin).collapse.argmax())
    assert page.number_input(key="branch_token").value == token
    second = [other.id for other in origin.alternatives[token] if other.id != origin.answer_ids[token]][1]
    page.selectbox(key=f"instead_{FIRST}_{token}").set_value(second)
    page = ended(page.button(key="make_branch").click().run())
    assert not page.exception
    assert not page.error
    branch = shown(page, "b")
    assert branch.prompt == origin.prompt
    np.testing.assert_array_equal(branch.answer_ids[:token], origin.answer_ids[:token])
    np.testing.assert_allclose(branch.logprobs[:token], origin.logprobs[:token], atol=1e-5)
    assert branch.answer_ids[token] == second
    assert branch.logprobs[token] == pytest.approx(origin.alternatives[token][:3][-1].logprob, abs=1e-5)
    assert strips(page)["first_difference"] == token
    assert strips(page)["columns"][token] == [token, token]
    (line,) = charts(page)["overlay"]["layout"]["shapes"]
    assert line["x0"] == token - 0.5
    assert np.isfinite(branch.attention[:, :, -1, 0]).all()  # so that the own alignment can be scored


def test_a_branch_can_continue_with_a_text():
    page = unfold(open_compare(a=FIRST, token="5"), "make")
    page.selectbox(key=f"instead_{FIRST}_5").set_value(-1).run()
    page.text_input(key="branch_text").set_value(" Lima is")
    page = ended(page.button(key="make_branch").click().run())
    origin, branch = of(FIRST), shown(page, "b")
    np.testing.assert_array_equal(branch.answer_ids[:5], origin.answer_ids[:5])
    assert "".join(branch.answer_tokens[5:]).startswith(" Lima is")


def test_a_branch_to_nothing_is_refused():
    page = unfold(open_compare(a=FIRST, token="5"), "make")
    page.selectbox(key=f"instead_{FIRST}_5").set_value(-1).run()
    page.button(key="make_branch").click().run()
    assert page.error[0].value == "This input cannot be used"
    assert JOB not in page.session_state


def test_another_prompt_becomes_b():
    page = unfold(open_compare(a=FIRST), "make")
    field = next(field for field in page.text_area if field.label == "Prompt")
    assert field.value == of(FIRST).prompt
    field.set_value("Q: What is the capital of Peru?\nA:")
    page.number_input(key="compare_max_new_tokens").set_value(4)
    page = ended(page.button(key="make_answer").click().run())
    assert shown(page, "b").prompt == "Q: What is the capital of Peru?\nA:"
    assert len(shown(page, "b").pieces) <= 4
    assert page.selectbox(key="answer_a").value == FIRST


def test_a_pasted_answer_is_scored():
    page = choose(unfold(open_compare(a=FIRST), "make"), "compare_task", "paste")
    page.text_area(key="compare_answer").set_value(" Nowhere.")
    page = ended(page.button(key="make_answer").click().run())
    assert shown(page, "b").answer == " Nowhere."


def test_typed_text_survives_folding_and_another_page():
    page = unfold(open_compare(a=FIRST, token="5"), "make")
    page.number_input(key="compare_max_new_tokens").set_value(7).run()
    page = unfold(choose(page, "compare_task", "paste"), "make")
    next(field for field in page.text_area if field.label == "Prompt").set_value("Q: Who?")
    page.text_area(key="compare_answer").set_value(" Nobody.")
    page.selectbox(key=f"instead_{FIRST}_5").set_value(-1)
    page = unfold(page, "make")
    page.text_input(key="branch_text").set_value(" Lima").run()
    page.session_state["make"] = False
    page.run()
    assert not page.text_area
    page.switch_page("pages/learn.py").run()
    page.switch_page("pages/compare.py").run()
    page = unfold(page, "make")
    assert [field.value for field in page.text_area] == ["Q: Who?", " Nobody."]
    assert page.number_input(key="compare_max_new_tokens").value == 7
    assert page.text_input(key="branch_text").value == " Lima"


def test_a_model_that_does_not_exist_is_refused_and_the_page_stays():
    page = choose(unfold(open_compare(a=FIRST, b=BESIDE), "make"), state.MODEL, state.OTHER)
    page.text_input(key=state.OTHER_MODEL).set_value("/no/such/folder")
    page = ended(page.button(key="make_answer").click().run())
    assert page.error[0].value == "No model was loaded"
    assert page.query_params == {"a": FIRST, "b": BESIDE}
    assert len(charts(page)) == 2


class SlowModel:
    """Generates the forced tokens, then waits until it is cancelled."""

    def __init__(self):
        self.lock, self.begun, self.calls = threading.RLock(), threading.Event(), 0
        self.kind, self.engine = "base", SimpleNamespace(about=make_trace().engine)

    def encode(self, _prompt, *, chat, template_options):
        assert (chat, dict(template_options)) == (False, {})
        return type("Prompt", (), {"ids": tuple(make_trace().prompt_ids.tolist())})

    def generate(self, prompt, *, on_token, cancel, answer_prefix, **_options):
        self.calls += 1
        for index, token in enumerate(answer_prefix):
            on_token(index, token, f" {token}")
        self.begun.set()
        assert cancel.wait(60)
        return make_trace((b" Oslo", b" was"), prompt=prompt, stop_reason="cancelled")


@pytest.fixture
def slow(monkeypatch):
    model = SlowModel()
    monkeypatch.setattr(models, "model", lambda _choice, **_options: model)
    monkeypatch.setattr(models, "if_loaded", lambda _choice: model)
    return model


def test_a_branch_being_generated_is_shown_under_a_and_stop_keeps_it(slow):
    a = kept(make_trace(alternatives=((Alternative(7, " was", -1.0),),) * 3))
    page = open_compare(a=a, token="1")
    for _ in range(5):
        page = unfold(page, "make").button(key="make_branch").click().run()
    assert slow.begun.wait(30)
    page.run()
    assert not page.exception
    assert strips(page)["live"]
    assert [cell["title"] for cell in strips(page)["sides"][1]["cells"]] == ["·0", "·7"]
    assert strips(page)["columns"][1] == [1, 1]
    assert not charts(page)
    page.button(key="stop_making").click().run()
    page = ended(page)
    assert slow.calls == 1
    assert shown(page, "b").stop_reason == "cancelled"
    assert page.query_params["a"] == a


def test_a_branch_survives_a_visit_to_another_page(slow):
    a = kept(make_trace(alternatives=((Alternative(7, " was", -1.0),),) * 3))
    page = open_compare(a=a, token="1")
    unfold(page, "make").button(key="make_branch").click().run()
    assert slow.begun.wait(30)
    page.switch_page("pages/learn.py").run()
    job = page.session_state[JOB]
    job.cancel.set()
    assert job.done.wait(30)
    page.query_params.clear()
    page.switch_page("pages/compare.py").run()
    assert page.query_params["a"] == a
    assert shown(page, "b").stop_reason == "cancelled"


def test_a_branch_survives_an_interrupted_script_run(slow, monkeypatch):
    def cut_short(*_arguments):
        raise StopException

    a = kept(make_trace(alternatives=((Alternative(7, " was", -1.0),),) * 3))
    page = unfold(open_compare(a=a, token="1"), "make").button(key="make_branch").click().run()
    assert slow.begun.wait(30)
    job = page.session_state[JOB]
    job.cancel.set()
    assert job.done.wait(30)
    with monkeypatch.context() as patched:
        patched.setattr(url_state, "write", cut_short)
        page.run()
    assert shown(page.run(), "b") is job.trace
    assert JOB not in page.session_state


def test_a_failed_branch_leaves_the_page_as_it_was(slow, monkeypatch):
    def fail(*_arguments, **_options):
        message = "too long"
        raise InvalidInput(message)

    monkeypatch.setattr(slow, "generate", fail)
    page = unfold(open_compare(a=kept(make_trace()), b=FIRST), "make")
    page.selectbox(key=next(box.key for box in page.selectbox if box.key.startswith("instead"))).set_value(-1).run()
    page.text_input(key="branch_text").set_value(" x")
    monkeypatch.setattr(jobs, "_prefix", lambda *_: [1])
    page = ended(page.button(key="make_branch").click().run())
    assert page.text[0].value == "too long"
    assert page.query_params["b"] == FIRST


def test_a_model_treated_as_another_kind_is_requested_by_kind(slow):
    slow.kind = "instruct"
    assert model_of(make_trace(model="m")).kind == "base"
    slow.kind = "base"
    assert model_of(make_trace(model="m")).kind is None
