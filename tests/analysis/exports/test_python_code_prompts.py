"""The script gives every form of prompt again: the same ids, the same answer, the same score."""

import ast

import pytest

import rauq
from analysis.exports.python_code import python_code
from rauq.model.loading import wrap
from rauq.scoring.settings import Settings
from tests.analysis.exports.test_python_code import constants, loaded, shape, written
from tests.chat_templates import CHATML, LLAMA3, chat_model
from tests.rauq.trace.test_thinking import CLOSE, OPEN, QUESTION, A, B, C, thinking_lm
from tests.rauq.trace.test_trace_messages import conversation_trace

SYSTEM = {"role": "system", "content": "Be brief: \"'''\n\\ {chat} $call \u202e\x00"}
USER, ASSISTANT = {"role": "user", "content": "Hi\nthere"}, {"role": "assistant", "content": "Hello"}
OFF = {"template_options": {"enable_thinking": False}}
DAY = {"template_options": {"today": 'it\'s "Friday"\n'}}
HOT = {"do_sample": True, "temperature": 5.0, "top_p": 0.95, "top_k": 40, "seed": 3}  # far from greedy
FORMS = {
    "text": (CHATML, "base", "Where?", {}),
    "a begin token in a text": (LLAMA3, "base", "<s>Where?", {}),
    "text with chat": (CHATML, "instruct", "Where?", {}),
    "text with chat to a base model": (CHATML, "base", "Where?", {"chat": True}),
    "text without chat to a chat model": (CHATML, "instruct", "Where?", {"chat": False}),
    "ids": (CHATML, "instruct", [5, 260, 9, 0, 77], {}),
    "ids of no whole character": (CHATML, "base", [200, 201, 5], {}),
    "one message": (CHATML, "instruct", [USER], {}),
    "messages": (CHATML, "instruct", [SYSTEM, USER, ASSISTANT, USER], {}),
    "messages to a base model": (LLAMA3, "base", [USER, ASSISTANT, USER], {}),
    "options": (CHATML, "instruct", "Where?", OFF),
    "messages with options": (LLAMA3, "instruct", [SYSTEM, USER], DAY),
    "templated": (CHATML, "instruct", CHATML.text, {}),
    "templated to a base model": (LLAMA3, "base", f"\n{LLAMA3.text}", {}),
    "templated on Windows": (CHATML, "instruct", CHATML.text.replace("\n", "\r\n"), {}),
    "parts and other roles": (CHATML, "instruct", [{"role": "developer", "content": ["a", "'b"]}, USER], {}),
    "templated twice on purpose": (CHATML, "instruct", CHATML.plain, {"chat": True}),
}


@pytest.fixture(scope="module")
def models():
    """A chat and a base model of each template, by template and kind."""
    made = {}
    for template in (CHATML, LLAMA3):
        model, tokenizer = chat_model(template, adds_begin=template is LLAMA3)
        for kind in ("base", "instruct"):
            made[template.name, kind] = wrap(model, tokenizer, name=template.name, kind=kind)
    return made


@pytest.fixture
def at_hand(models, monkeypatch):
    monkeypatch.setattr(rauq, "load_model", lambda name, *, kind: models[name, kind], raising=False)
    return models


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_prompt_is_given_again(form, at_hand, tmp_path):
    template, kind, prompt, options = FORMS[form]
    lm = at_hand[template.name, kind]
    traces = {
        "generated": lm.generate(prompt, max_new_tokens=5, last_row=True, **options),
        "read": lm.read(prompt, "Here and there", **options),
        "sampled": lm.generate(prompt, max_new_tokens=5, last_row=True, **HOT, **options),
        "in part": lm.generate(prompt, max_new_tokens=5, last_row=True, answer_prefix="He", **HOT, **options),
    }
    for name, trace in traces.items():
        score = rauq.score(trace, Settings(alignment="own"))
        module = loaded(written(trace, score, tmp_path, name))
        again = module.regenerate(rauq.Trace.load(tmp_path / module.TRACE))
        assert again.prompt_ids.tolist() == trace.prompt_ids.tolist()
        assert (again.prompt, again.prompt_form, again.messages) == (trace.prompt, trace.prompt_form, trace.messages)
        assert (again.chat_applied, again.template_options) == (trace.chat_applied, trace.template_options)
        assert again.answer_ids.tolist() == trace.answer_ids.tolist()
        assert (again.sampling == trace.sampling) == (name != "in part")
        assert rauq.score(again, module.SETTINGS).uncertainty == pytest.approx(score.uncertainty, abs=1e-5)


@pytest.mark.parametrize("part", ["answer", "thinking", "all"])
def test_the_part_that_was_scored_is_given_again(part, tmp_path, monkeypatch):
    lm = thinking_lm([QUESTION, OPEN, A, B, CLOSE, C], "{{ messages[0].content }}")
    monkeypatch.setattr(rauq, "load_model", lambda *_name, **_kind: lm, raising=False)
    trace = lm.generate("Say it?", do_sample=True, seed=3, last_row=True)
    assert (trace.thinking, trace.chat_applied) == ((0, 4), True)
    score = rauq.score(trace, Settings(part=part))
    module = loaded(written(trace, score, tmp_path))
    assert module.SETTINGS.part == part
    again = module.regenerate(rauq.Trace.load(tmp_path / module.TRACE))
    assert rauq.score(again, module.SETTINGS).uncertainty == pytest.approx(score.uncertainty, abs=1e-5)


def test_another_prompt_or_answer_is_reported(at_hand, tmp_path):
    lm = at_hand["chatml", "instruct"]
    trace = lm.generate("Where?", max_new_tokens=3, last_row=True)
    module = loaded(written(trace, rauq.score(trace), tmp_path))
    for other, what in ((lm.generate("Who?", max_new_tokens=3), "prompt_ids"), (lm.read("Where?", "x"), "answer_ids")):
        with pytest.raises(SystemExit, match=f"other {what} than those saved"):
            module.regenerate(other)


def test_no_text_of_a_conversation_leaves_its_literal():
    trace = conversation_trace(template_options={"today": "'); raise SystemExit #\n"})
    code = python_code(trace, rauq.score(trace))
    prompt = ast.literal_eval(constants(code)["PROMPT"])
    assert [tuple(turn.values()) for turn in prompt] == [(part.role, part.content) for part in trace.messages]
    assert shape(code).count(ast.Raise) == 1
    assert all(letter.isprintable() or letter == "\n" for letter in code)
