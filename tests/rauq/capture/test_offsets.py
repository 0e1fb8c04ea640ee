"""How many keys back attention is captured can be chosen, in every call."""

import numpy as np
import pytest

from rauq.errors import InvalidInput
from tests.architectures import named, seeded_prompts, tiny_language_model
from tests.exactness import EXACT, difference

NAMES = ("llama", "mistral-window", "gpt-oss-sinks-window", "falcon-alibi")
PROMPTS = seeded_prompts(30, 3, 25)
OPTIONS = {"max_new_tokens": 14, "stop": (), "last_row": True}


@pytest.fixture(scope="module", params=NAMES)
def lm(request):
    return tiny_language_model(named(request.param))


@pytest.fixture(scope="module")
def llama():
    return tiny_language_model(named("llama"))


@pytest.mark.parametrize("offsets", [1, 10, 64])
def test_so_many_keys_back_are_those_of_eager_attention(lm, offsets):
    alone = [lm.generate(prompt, **OPTIONS, offsets=offsets) for prompt in PROMPTS]
    padded = list(lm.generate_batch(PROMPTS, **OPTIONS, offsets=offsets))
    pairs = [(trace.prompt_ids, trace.answer_ids) for trace in alone]
    read = [lm.read(*pair, offsets=offsets) for pair in pairs]
    together = list(lm.read_batch(pairs, offsets=offsets))
    assert {trace.attention.shape[3] for trace in (*alone, *padded, *read, *together)} == {offsets}
    assert max(difference(lm, [trace]) for trace in (*alone, *read)) <= EXACT
    assert max(difference(lm, padded), difference(lm, together)) <= EXACT


def test_samples_and_a_shared_beginning_have_them_too(llama):
    samples = llama.sample(PROMPTS[0], k=2, max_new_tokens=12, stop=(), last_row=True, offsets=10)
    sets = llama.sample_batch([PROMPTS[0]], seeds=[0], k=2, max_new_tokens=12, stop=(), offsets=10)
    sharing = [PROMPTS[0] * 2 + PROMPTS[1], PROMPTS[0] * 2 + PROMPTS[2]]
    answered = list(llama.generate_batch(sharing, **OPTIONS, offsets=10))
    assert max(difference(llama, [trace]) for trace in samples) <= EXACT
    assert difference(llama, answered) <= EXACT
    assert {trace.attention.shape[3] for traces in sets for trace in traces} == {10}


def test_the_eight_of_every_trace_are_the_first_of_more(llama):
    plain, more = (llama.generate(PROMPTS[0], **OPTIONS, **given) for given in ({}, {"offsets": 10}))
    assert plain.attention.shape[3] == 8
    np.testing.assert_allclose(more.attention[..., :8], plain.attention, atol=1e-6)


@pytest.mark.parametrize("offsets", [0, -1, 65, 2.0, "8", None])
def test_other_numbers_are_refused_at_once(llama, offsets):
    for call in (llama.generate, llama.sample):
        with pytest.raises(InvalidInput, match=r"Got offsets=.*from 1 to 64"):
            call(PROMPTS[0], offsets=offsets)
    with pytest.raises(InvalidInput, match="from 1 to 64"):
        llama.read_batch([("a", "b")], offsets=offsets)


def test_an_offset_that_was_not_captured_says_how_to_capture_it(llama):
    trace = llama.generate(PROMPTS[0], **OPTIONS)
    with pytest.raises(InvalidInput, match=r"Offset 10 is not captured.*offsets=10 "):
        trace.previous_token_attention(offset=10)
    with pytest.raises(InvalidInput, match=r"from 1 to 7.*offsets=9 "):
        trace.previous_token_attention("own", offset=8)
    more = llama.generate(PROMPTS[0], **OPTIONS, offsets=10)
    found = more.previous_token_attention(offset=10, into_prompt=True)
    np.testing.assert_array_equal(found, more.attention[:, :, 1:-1, 9])
