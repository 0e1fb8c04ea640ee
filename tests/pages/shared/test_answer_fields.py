"""Sampling and the end token go from the form to the library, and from a link back into the form."""

from dataclasses import replace
from urllib.parse import parse_qsl, urlsplit

import pytest

from pages.ui.shared import state, url_state
from pages.ui.shared.url_state import Asked, asking, read_asked
from rauq.arguments import Sampling
from rauq.trace.trace import Alternative
from tests.architectures import save_tiny
from tests.chat_templates import CHATML
from tests.pages.reading import finished, shown_trace
from tests.traces import make_trace

DRAWN = Sampling(temperature=0.75, top_p=0.9, seed=7)


UNLIKELY = ((Alternative(99, "a", -0.1),),) * 3


def brought(trace):
    """What a link to an answer asks for when it is opened."""
    return read_asked(dict(parse_qsl(urlsplit(url_state.link("http://here/inspect", {}, trace)).query)))


@pytest.mark.parametrize(
    "changes",
    [
        {"sampling": DRAWN},
        {"sampling": Sampling(temperature=0.05, top_p=0.05, seed=0)},
        {"sampling": Sampling(temperature=2, seed=url_state.LARGEST_SEED), "stop_reason": "length"},
        {"sampling": Sampling(seed=url_state.LARGEST_SEED + 1)},
        {"sampling": None, "kind": "instruct", "stop_reason": "given"},
        {"sampling": None, "kind": "base", "stop_reason": "eos"},
    ],
)
def test_a_link_leads_back_to_what_was_asked(changes):
    trace = make_trace(alternatives=UNLIKELY, **changes)
    assert brought(trace) == asking(trace)


@pytest.mark.parametrize(
    "query",
    [
        {"temperature": "0.5"},
        {"seed": "-1"},
        {"seed": "1", "temperature": "0"},
        {"seed": "1", "temperature": "2.5"},
        {"seed": "1", "temperature": "nan"},
        {"seed": "1", "top_p": "1.5"},
        {"seed": "1", "top_p": "0"},
        {"seed": "9" * 30},
        {"seed": "1", "temperature": "0.5\n"},
    ],
)
def test_unusable_sampling_is_greedy(query):
    assert read_asked({"prompt": "Who?"} | query) == Asked(prompt="Who?")


def test_a_link_to_a_sampled_answer_asks_for_the_same_sampling():
    trace = make_trace(alternatives=UNLIKELY, sampling=DRAWN)
    assert asking(trace).sampling == DRAWN
    assert asking(trace).answer is None
    for other in (replace(DRAWN, seed=None), replace(DRAWN, top_k=3), replace(DRAWN, temperature=9.0), None):
        assert asking(replace(trace, sampling=other)).answer == trace.answer
        assert asking(replace(trace, sampling=other)).sampling is None
    for stopped in ("cancelled", "alarm"):
        assert asking(replace(trace, stop_reason=stopped)).answer == trace.answer


@pytest.mark.parametrize(
    ("kind", "stop_reason", "end"),
    [("base", "eos", True), ("base", "given", None), ("instruct", "eos", None), ("instruct", "given", False)],
)
def test_a_pasted_answer_keeps_its_end_token(kind, stop_reason, end):
    trace = make_trace(alternatives=((),) * 3, kind=kind, stop_reason=stop_reason)
    assert asking(trace).end is end


def test_the_form_samples_an_answer_and_its_seed_gives_it_again(open_app):
    page = open_app(prompt="Where is Lima?", temperature="1.5", seed="3", max_new_tokens="6")
    assert (page.toggle("sample").value, page.number_input("seed").value) == (True, 3)
    first = shown_trace(finished(page.button("run").click().run()))
    assert first.sampling == Sampling(temperature=1.5, seed=3)
    page.button("run").click().run()
    again = shown_trace(finished(page))
    assert again.answer_ids.tolist() == first.answer_ids.tolist()
    page.toggle("sample").set_value(False).run()
    assert shown_trace(finished(page.button("run").click().run())).sampling is None


def test_a_pasted_answer_gets_the_end_token_where_the_form_says_so(open_app):
    page = open_app(prompt="Where is Lima?", answer=" In Peru.")
    for choice, reason in (("append", "eos"), ("none", "given"), ("auto", "given")):
        page.segmented_control("end").set_value(choice).run()
        page.button("run").click().run()
        assert shown_trace(finished(page)).stop_reason == reason
    assert "auto: left out, since the model is base." in [caption.value for caption in page.caption]


def test_the_other_kind_is_one_click_away(open_app, tmp_path):
    folder = save_tiny(tmp_path / "tiny")
    page = open_app(prompt="Where is it?", model=str(folder), max_new_tokens="3")
    page = finished(page.button("run").click().run())
    assert shown_trace(page).kind == "base"
    assert "other_kind" not in {button.key for button in page.button}, "it has no chat template"
    (folder / "chat_template.jinja").write_text(CHATML.source)
    base = folder.rename(tmp_path / "tiny-base")
    page = open_app(prompt="Where is it?", model=str(base), max_new_tokens="3")
    page = finished(page.button("run").click().run())
    assert page.button("other_kind").label == "Treat as chat model"
    assert "Treated as a base model, judging by its name and chat template." in [c.value for c in page.caption]
    page.session_state[state.TASK] = state.READ
    page.session_state[state.ANSWER] = "a"
    page = finished(page.run().button("other_kind").click().run())
    assert page.session_state[state.KIND] == "instruct"


def test_no_other_kind_is_offered_for_listed_models(open_app):
    page = open_app(make_trace(model="Qwen/Qwen2.5-7B"))
    assert page.session_state[state.OTHER_MODEL] == "Qwen/Qwen2.5-7B"
    assert "other_kind" not in {button.key for button in page.button}
    page = open_app(make_trace(model="Qwen/Qwen3-8B", kind="instruct"))
    assert page.button("other_kind").label == "Treat as base model"


def test_a_base_model_with_a_chat_template_applied_is_reported(open_app):
    page = open_app(make_trace(model="Qwen/Qwen3-8B", kind="base", chat_applied=True))
    assert any("base model" in c.value and "its chat template was still applied" in c.value for c in page.caption)
