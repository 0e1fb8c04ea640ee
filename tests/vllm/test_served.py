"""A model behind a vLLM server answers as the same model in memory, and what a server cannot do is refused."""

from threading import Event

import numpy as np
import pytest

import rauq
from rauq.errors import EngineStopped, Failure, InvalidInput, ModelNotFound, UnsupportedModel
from rauq.model import served
from rauq.model.http_json import KEY
from rauq.model.served import served_model
from tests.vllm.stand_in import CONTEXT

ASKED = [
    "In which country is Lyon?\n",
    "Q: In which country is Edinburgh?\nA: It is in the United Kingdom.\nQ: Where is Melilla?\nA:",
    "Name the seven days of the week:",
]
MEANT = ("answer_tokens", "pieces", "stop_reason", "chat_applied", "prompt", "prompt_form", "messages", "thinking")
HOW = {"max_new_tokens": 24, "last_row": True}


def same(one, other):
    """Whether two traces are of the same tokens, with the same numbers but for how sums round."""
    assert [getattr(one, name) for name in MEANT] == [getattr(other, name) for name in MEANT]
    for name in ("prompt_ids", "answer_ids", "logprobs", "entropies", "attention"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), atol=2e-5)
    for mine, theirs in zip(one.alternatives, other.alternatives, strict=True):
        assert [row.text for row in mine] == [row.text for row in theirs]


@pytest.mark.parametrize(("stop", "part"), [(None, 32), (None, 1), ((), 32), (("\n", "ar"), 3), ((" France.",), 2)])
def test_it_answers_as_the_model_does(address, embedded, monkeypatch, stop, part):
    monkeypatch.setattr(served, "_PART", part)
    lm = served_model(address, kind="base")
    for one, prompt in zip(lm.generate_batch(ASKED, stop=stop, batch_size=2, **HOW), ASKED, strict=True):
        same(one, embedded.generate(prompt, stop=stop, **HOW))


@pytest.mark.parametrize("part", [2, 3, 5])
def test_a_character_of_several_tokens_is_not_cut_by_a_part(address, behaviour, embedded, monkeypatch, part):
    monkeypatch.setattr(served, "_PART", part)
    behaviour.shared = True
    how = {"max_new_tokens": 17, "stop": ("never said",)}
    (found,) = served_model(address, kind="base").generate_batch(ASKED[2:], **how)
    whole = embedded.generate(ASKED[2], **how)
    assert found.answer_ids.tolist() == whole.answer_ids.tolist()
    np.testing.assert_allclose(found.attention[:, :, :-1], whole.attention[:, :, :-1], atol=2e-5)
    np.testing.assert_allclose(found.entropies, whole.entropies, atol=2e-5)
    assert "\ufffd" not in found.answer
    assert whole.answer.startswith(found.answer)
    assert len(found.answer) > len(whole.answer) - 10


def test_messages_are_a_chat(address, embedded, behaviour):
    lm = served_model(address)
    said = [{"role": "system", "content": "Be brief. "}, {"role": "user", "content": ASKED[0]}]
    of_text, of_messages = lm.generate_batch([ASKED[0], said], **HOW)
    assert (of_text.prompt, of_text.prompt_form, of_text.messages) == (ASKED[0], "text", ())
    assert (of_messages.prompt_form, len(of_messages.messages), of_messages.chat_applied) == ("messages", 2, True)
    assert of_text.answer == embedded.generate(ASKED[0], stop=(), **HOW).answer
    assert next(path for path, body in behaviour.sent if "messages" in body) == "/v1/chat/completions"
    (options,) = lm.generate_batch([ASKED[0]], template_options={"enable_thinking": False}, **HOW)
    assert behaviour.sent[-2][1]["chat_template_kwargs"] == dict(options.template_options)


def test_an_answer_ends_with_the_context(address, embedded):
    lm = served_model(address, kind="base")
    prompt = "one two three " * 35
    (found,) = lm.generate_batch([prompt], stop=(), max_new_tokens=4000, last_row=True)
    whole = embedded.generate(prompt, stop=(), max_new_tokens=4000)
    assert found.answer_ids.tolist() == whole.answer_ids.tolist()
    assert len(found.prompt_ids) + len(found.answer_ids) == lm.context_length
    assert np.isnan(found.attention[:, :, -1]).all()
    (in_parts,) = lm.generate_batch([prompt], stop=("never said",), max_new_tokens=4000)
    assert in_parts.answer_ids.tolist() == whole.answer_ids.tolist()


def test_samples_follow_from_their_seed_and_are_asked_for_as_a_whole(address, behaviour, monkeypatch):
    monkeypatch.setattr(served, "_PART", 2)
    lm = served_model(address, kind="base")
    before = len(behaviour.sent)
    how = {"seeds": [7, 8], "k": 3, "max_new_tokens": 24, "stop": ("\n",)}
    first, again = (list(lm.sample_batch(ASKED[1:], **how)) for _ in range(2))
    assert [[one.answer for one in each] for each in first] == [[one.answer for one in each] for each in again]
    assert len({one.answer for one in first[1]}) > 1
    asked = [body for _, body in behaviour.sent[before:]]
    assert len(asked) == 12
    assert len({body["seed"] for body in asked}) == 6
    assert all(0 <= body["seed"] < 2**63 and body["max_tokens"] == 24 for body in asked)
    assert first[0][0].sampling.temperature == 1
    assert all(one.answer.count("\n") <= 1 for each in first for one in each)


def test_requests_are_greedy_and_share_no_keys(address, behaviour):
    lm = served_model(address)
    before = len(behaviour.sent)
    list(lm.generate_batch(ASKED[:2], max_new_tokens=4))
    bodies = [body for path, body in behaviour.sent[before:] if path == "/v1/chat/completions"]
    assert len({body["cache_salt"] for body in bodies}) == 2
    for body in bodies:
        assert (body["temperature"], body["top_p"], body["repetition_penalty"]) == (0, 1, 1)
        assert body["kv_transfer_params"] == {"rauq": True}


def test_the_key_is_read_from_the_environment_and_never_said(address, behaviour, monkeypatch):
    monkeypatch.setenv(KEY, " of-vllm\r\n")
    served_model(address, kind="base")
    assert behaviour.keys == ["Bearer of-vllm"]
    monkeypatch.setenv(KEY, "se\rcret")
    with pytest.raises(InvalidInput, match="has characters that no key has") as refused:
        served_model(address)
    assert "cret" not in str(refused.value)


def test_prompts_and_key_go_to_no_other_place(address, behaviour, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    lm = served_model(address, kind="base")
    behaviour.fails, behaviour.fails_after = (302, "over there"), 0
    with pytest.raises(EngineStopped, match="answered 302: over there"):
        list(lm.generate_batch(ASKED[:1]))


@pytest.mark.parametrize(
    ("name", "template", "found"),
    [
        ("served", True, ("instruct", "it has a chat template")),
        ("served", False, ("base", "it has no chat template")),
        ("meta-llama/Llama-3.1-8B", True, ("base", "the paper's list of models")),
        ("mine-base", True, ("base", "its name says base")),
    ],
)
def test_the_kind_is_found_as_of_a_model_that_is_loaded(address, behaviour, name, template, found):
    behaviour.names, behaviour.template = (name,), template
    lm = served_model(address)
    assert (lm.kind, lm.why) == found


def test_an_adapter_has_the_context_of_its_model(address, behaviour):
    behaviour.cards = ({"id": "tuned", "root": "/weights/tuned", "parent": "served", "max_model_len": None},)
    lm = served_model(address, name="tuned", kind="base")
    assert (lm.context_length, lm.adapter) == (CONTEXT, "/weights/tuned")
    assert served_model(address, name="served", kind="base").adapter == ""


@pytest.mark.parametrize("change", [{"dtype": "bfloat16"}, {"reason": "abort"}])
def test_another_model_and_an_answer_that_was_cut_short_end_the_batch(address, behaviour, change):
    lm = served_model(address, kind="base")
    for name, value in change.items():
        setattr(behaviour, name, value)
    with pytest.raises(EngineStopped, match=r"dtype changed|before its end \(abort\)"):
        list(lm.generate_batch(ASKED[:1]))


def test_messages_need_the_template(address):
    lm = served_model(address, kind="base")
    said = [{"role": "user", "content": "Is it?"}]
    for prompt, how in ((said, {"chat": False}), ("Is it?", {"template_options": {"a": 1}})):
        (found,) = lm.generate_batch([prompt], **how)
        assert "need the chat template" in str(found.error)


def test_a_server_without_the_plugin_is_refused(address, behaviour):
    behaviour.plugin = False
    with pytest.raises(InvalidInput, match="plugin rauq-vllm"):
        served_model(address)


def test_another_server_is_refused(address, behaviour):
    lm = served_model(address, kind="base")
    behaviour.fails, behaviour.fails_after = (200, "this is no vLLM"), len(behaviour.sent)
    (found,) = lm.generate_batch(ASKED[:1])
    assert "lacks what a trace is made of (KeyError: 'choices')" in str(found.error)
    with pytest.raises(InvalidInput, match="lacks what a trace is made of"):
        served_model(address)


def test_a_model_that_is_not_served_is_named(address, behaviour):
    behaviour.names = ("one", "other")
    for name, got in ((None, "no name was given"), ("third", "got 'third'")):
        with pytest.raises(ModelNotFound, match=f"serves one, other; {got}"):
            served_model(address, name=name)
    assert served_model(address, name="other").name == "other"


@pytest.mark.parametrize(
    "url", ["", "8000", "ftp://here", "http://", "http://host:port", "http://a?key=1", "http://u:p@h"]
)
def test_an_address_that_is_none_is_refused(url):
    with pytest.raises(InvalidInput, match=r"give one such as http://127\.0\.0\.1:8000"):
        served_model(url)


def test_what_a_server_cannot_do_is_refused(address, behaviour):
    behaviour.offsets = 2
    lm = served_model(address)
    assert lm.offsets == 2
    with pytest.raises(InvalidInput, match='"offsets": 8'):
        list(lm.generate_batch(ASKED))
    with pytest.raises(UnsupportedModel, match="hidden"):
        list(lm.generate_batch(ASKED, extras=["hidden"]))
    with pytest.raises(UnsupportedModel, match="cannot read 1 given answers"):
        lm.read_batch([("Is it?", "Yes")])
    one, other = lm.generate_batch([[3, 4], "Is it?"], offsets=2, max_new_tokens=3)
    assert isinstance(one, Failure)
    assert "given a text, or messages" in str(one.error)
    assert isinstance(other, rauq.Trace)
    (parts,) = lm.generate_batch(["Is it?"], offsets=2, prompt_parts="roles")
    assert "prompt_parts" in str(parts.error)


def test_a_refused_prompt_is_its_own_failure_and_a_lost_server_ends_the_batch(address, behaviour):
    lm = served_model(address, kind="base")
    behaviour.fails, behaviour.fails_after = (400, "your prompt is\ntoo long"), len(behaviour.sent)
    (found,) = lm.generate_batch(ASKED[:1])
    assert str(found.error).endswith("answered 400: your prompt is too long")
    for code in (401, 404, 429, 500, 503):
        for said in ("no", {"error": {"message": None}}, {"detail": "no"}, {}):
            behaviour.fails = (code, said)
            with pytest.raises(EngineStopped, match=f"answered {code}: "):
                list(lm.generate_batch(ASKED[:1]))


def test_nothing_is_asked_once_cancelled(address, behaviour):
    lm, cancel = served_model(address, kind="base"), Event()
    cancel.set()
    before = len(behaviour.sent)
    assert list(lm.generate_batch(ASKED, batch_size=1, cancel=cancel)) == []
    assert len(behaviour.sent) == before


def test_an_answer_that_is_cancelled_ends_with_its_part(address, monkeypatch):
    monkeypatch.setattr(served, "_PART", 2)
    lm, cancel = served_model(address, kind="base"), Event()
    post = served.ServedModel._post

    def cancelling(self, path, body):
        cancel.set()
        return post(self, path, body)

    monkeypatch.setattr(served.ServedModel, "_post", cancelling)
    (found,) = lm.generate_batch(ASKED[2:], stop=("never said",), max_new_tokens=24, cancel=cancel, last_row=True)
    assert (len(found.answer_ids), found.stop_reason) == (2, "cancelled")


def test_nothing_answers_there():
    with pytest.raises(EngineStopped, match="does not answer"):
        served_model("http://127.0.0.1:9")
