"""How answers end: the end token, stop strings, and the number of tokens, with no minimum."""

import numpy as np
import pytest

from rauq.errors import InvalidInput, UnsupportedModel
from rauq.model.loading import wrap
from tests.architectures import byte_tokenizer, named, tiny_model
from tests.tiny import END, PROMPT, assert_close, chained


def test_a_first_token_that_ends_makes_an_answer_of_one(fresh_lm):
    trace = chained(fresh_lm, "", end=True).generate(PROMPT, last_row=True)
    assert (trace.answer_ids.tolist(), trace.answer, trace.pieces, trace.stop_reason) == ([END], "", (b"</s>",), "eos")
    assert trace.logprobs[0] == pytest.approx(0, abs=1e-6)
    assert trace.attention.shape[2] == 2
    assert np.isfinite(trace.attention).all()


def test_the_end_token_counts(fresh_lm):
    trace = chained(fresh_lm, "Oslo".swapcase(), end=True).generate(PROMPT)
    assert (trace.answer, len(trace.answer_ids), trace.stop_reason) == ("oSLO", 5, "eos")


@pytest.mark.parametrize("most", [1, 2, 33])
def test_the_most_new_tokens(lm, most):
    trace = lm.generate(PROMPT, max_new_tokens=most, stop=())
    assert (len(trace.answer_ids), trace.stop_reason) == (most, "length")


@pytest.mark.parametrize(
    ("stop", "length"),
    [
        ("a", 1),
        ("ab", 2),
        ("b é", 5),
        ("é", 5),
        ("é\n", 6),
        (["\n", "never"], 6),
        (("c", " "), 3),
        (None, 6),
        ("bé", 7),
    ],
    ids=repr,
)
def test_stop_strings_end_the_answer_and_stay_in_it(fresh_lm, stop, length):
    trace = chained(fresh_lm, "ab é\nc").generate(PROMPT, max_new_tokens=7, stop=stop)
    assert b"".join(trace.pieces) == "ab é\nc".encode()[:length]
    assert trace.stop_reason == ("stop" if length < 7 else "length")


def test_a_stop_string_inside_a_token_ends_after_that_token(fresh_lm):
    lm = chained(fresh_lm, "ab")
    (token,) = lm.tokens.encode("a", special=False)
    lm.tokens._pieces[token] = b"one. Two"
    trace = lm.generate(PROMPT, max_new_tokens=2, stop=". ")
    assert (trace.answer, trace.stop_reason) == ("one. Two", "stop")


def test_newline_ends_the_answer_of_a_base_model_alone():
    for kind, answer in [("base", "a\n"), ("instruct", "a\nb")]:
        lm = wrap(tiny_model(named("llama")), byte_tokenizer(), name="tiny", kind=kind)
        trace = chained(lm, "a\nb", end=True).generate(PROMPT, chat=False)
        assert trace.answer == answer


def test_several_end_tokens_of_the_generation_config():
    model = tiny_model(named("llama"))
    tokenizer = byte_tokenizer()
    model.generation_config.eos_token_id = [1, tokenizer.convert_tokens_to_ids("c")]
    lm = chained(wrap(model, tokenizer, name="tiny"), "abcd")
    trace = lm.generate(PROMPT)
    assert lm.end_ids == {1, END, tokenizer.convert_tokens_to_ids("c")}
    assert (trace.pieces, trace.answer, trace.stop_reason) == ((b"a", b"b", b"c"), "ab", "eos")


@pytest.mark.parametrize("given", ["2", [2, [3]], 2.0, True])
def test_an_end_token_that_is_no_whole_number_is_refused(given):
    model = tiny_model(named("llama"))
    model.generation_config.eos_token_id = given
    with pytest.raises(UnsupportedModel, match=r"eos_token_id=.*; it must be a whole number, or a list of them"):
        wrap(model, byte_tokenizer(), name="tiny")


def test_end_tokens_that_the_model_cannot_give_do_not_end_an_answer():
    model, tokenizer = tiny_model(named("llama")), byte_tokenizer()
    model.generation_config.eos_token_id = [-1, None, 99999]
    tokenizer.add_special_tokens({"eos_token": "<|end|>"})
    lm = wrap(model, tokenizer, name="tiny")
    assert lm.end_ids == frozenset()
    with pytest.raises(InvalidInput, match="no known end token"):
        lm.read(PROMPT, "a", end=True)


def test_nothing_else_of_the_generation_config_counts(lm):
    model = tiny_model(named("llama"))
    config = model.generation_config
    config.do_sample, config.temperature, config.repetition_penalty, config.min_new_tokens = True, 5.0, 100.0, 20
    config.max_new_tokens, config.no_repeat_ngram_size, config.suppress_tokens = 1, 1, [list(range(4, 100))]
    other = wrap(model, byte_tokenizer(), name="tiny-llama")
    assert_close(other.generate(PROMPT, max_new_tokens=12, stop=()), lm.generate(PROMPT, max_new_tokens=12, stop=()))


@pytest.mark.parametrize("most", [0, -1, 2.5, float("nan")])
def test_a_number_of_tokens_that_makes_no_answer_is_refused(lm, most):
    with pytest.raises(InvalidInput, match=rf"max_new_tokens={most}; it must be a whole number, at least 1"):
        lm.generate(PROMPT, max_new_tokens=most)


@pytest.mark.parametrize(("stop", "says"), [("", "stop=\\(\\) for none"), (["a", ""], "empty"), ("\ud800", "Unicode")])
def test_a_stop_string_that_cannot_occur_is_refused(lm, stop, says):
    with pytest.raises(InvalidInput, match=says):
        lm.generate(PROMPT, stop=stop)
