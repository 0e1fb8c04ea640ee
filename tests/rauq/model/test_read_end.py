"""An answer that is read with its end token scores as the same answer that was generated."""

import pytest

import rauq
from rauq.errors import InvalidInput
from rauq.model.context import end_token
from rauq.model.loading import wrap
from tests.architectures import byte_tokenizer, named, tiny_model
from tests.real_models import SMOLLM2
from tests.tiny import END, PROMPT, assert_close, chained

TEMPLATE = "{% for m in messages %}{{ m.content }}<unk>{% endfor %}"


def tiny(*, template=None, ends=None):
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = template
    model = tiny_model(named("llama"))
    model.generation_config.eos_token_id = ends
    return wrap(model, tokenizer, name="tiny")


@pytest.fixture
def smollm2(monkeypatch, tmp_path):
    monkeypatch.setenv("RAUQ_CACHE", str(tmp_path))
    return rauq.load_model(SMOLLM2)


def test_on_real_weights_the_two_scores_are_equal(smollm2):
    written = smollm2.generate("What is the capital of France?", max_new_tokens=40, last_row=True)
    assert (written.chat_applied, written.stop_reason) == (True, "eos")
    read = smollm2.read(written.prompt, written.answer, end=True)
    assert read.answer_ids.tolist() == written.answer_ids.tolist()
    assert read.pieces[-1] == b"<|im_end|>"
    assert read.stop_reason == "eos"
    assert rauq.score(read).uncertainty == pytest.approx(rauq.score(written).uncertainty, abs=1e-4)
    without = smollm2.read(written.prompt, written.answer)
    assert without.answer_ids.tolist() == written.answer_ids[:-1].tolist()
    assert abs(rauq.score(without).uncertainty - rauq.score(written).uncertainty) > 1e-3


def test_a_batch_appends_it_too():
    lm = chained(tiny(), "abc", end=True)
    written = lm.generate(PROMPT, last_row=True)
    assert_close(lm.read(PROMPT, "abc", end=True), written)
    pairs = [(PROMPT, "abc"), (PROMPT, "a"), (PROMPT, written.answer_ids.tolist())]
    assert [trace.stop_reason for trace in lm.read_batch(pairs)] == ["given", "given", "eos"]
    batch = list(lm.read_batch(pairs, end=True))
    assert [trace.answer_ids[-1] for trace in batch] == [END] * 3
    assert [len(trace.answer_ids) for trace in batch] == [4, 2, 4]


@pytest.mark.parametrize(
    ("template", "ends", "chat", "token"),
    [
        (None, [7, 3], False, 7),
        (None, None, False, END),
        (TEMPLATE, [7, 3], True, 3),  # the template writes token 3 after an answer
        (TEMPLATE, [7, 3], False, 7),
        (TEMPLATE, [7], True, 7),  # what it writes does not end an answer
        ("{{ raise_exception('no') }}", [7, 3], True, 7),
    ],
)
def test_of_several_end_tokens_the_template_names_the_one(template, ends, chat, token):
    assert end_token(tiny(template=template, ends=ends), chat=chat) == token


def test_a_model_without_an_end_token_says_so():
    lm = tiny()
    lm.tokens.tokenizer.eos_token = None
    with pytest.raises(
        InvalidInput, match=r"tiny has no known end token, so none can be appended\. Score the answer without one\."
    ):
        lm.read(PROMPT, "a", end=True)
