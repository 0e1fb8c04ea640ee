"""The shares of attention that go to the parts of a prompt, against the model's own full attention."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import rauq
from rauq.capture.recompute import attention_matrices
from rauq.errors import Failure, InvalidInput, NotCaptured
from rauq.model.loading import load_model, wrap
from rauq.scoring.part_shares import part_shares
from rauq.trace.prompt_parts import FIXED
from tests.architectures import named, tiny_language_model
from tests.chat_templates import CHATML, TEMPLATES, chat_model
from tests.tiny import PROMPT

EXACT = 1e-5
SHARES = {"extras": ("part_shares",)}
MARKED = "See <document>The river runs to Oslo.</document> and <question>Where?</question> A"
NAMES = ("document", "question")
PROMPTS = [MARKED, MARKED.replace("Oslo.", "the sea, past Oslo, in May."), MARKED.replace("See ", "")]
WINDOWS = ("mistral-window", "gemma2-softcap-window", "gpt-oss-sinks-window", "llama4-chunked")
ROWS = ("llama", *WINDOWS, "jamba-hybrid", "falcon-alibi")  # four heads share two of keys; the last runs step by step


@pytest.fixture(scope="module", params=ROWS)
def lm(request):
    return tiny_language_model(named(request.param))


@pytest.fixture(scope="module")
def llama():
    return tiny_language_model(named("llama"))


@pytest.fixture(scope="module")
def atlas():
    return load_model("atlas")


def chat_language_model(template):
    return wrap(*chat_model(template), name="chat")


def naive(lm, trace):
    """The sums from the eager attention of one pass over everything."""
    full = np.stack(attention_matrices(lm.model, [*trace.prompt_ids, *trace.answer_ids], lm.layers))
    start, count = len(trace.prompt_ids), len(trace.answer_ids)
    rows = full[:, :, start - 1 : start - 1 + count]
    in_parts = [rows[..., max(1, part.start) : part.stop].sum(-1) for part in trace.prompt_parts]
    other = rows[..., 1:start].sum(-1) - sum(in_parts)
    return np.stack([rows[..., 0], rows[..., start:].sum(-1), other, *in_parts], axis=-1), rows.sum(-1)


def assert_exact(lm, traces):
    for trace in traces:
        shares = part_shares(trace)
        expected, totals = naive(lm, trace)
        np.testing.assert_allclose(shares.shares, expected, atol=EXACT)
        np.testing.assert_allclose(shares.shares.sum(-1), totals, atol=EXACT)
        assert shares.shares.dtype == np.float32
        assert shares.names == (*FIXED, *(part.name for part in trace.prompt_parts))


def test_shares_are_sums_of_the_full_attention(lm):
    options = {"prompt_parts": NAMES, **SHARES}
    traces = [lm.generate(MARKED, max_new_tokens=14, stop=(), **options), lm.read(MARKED, " Oslo", **options)]
    traces += lm.generate_batch(PROMPTS, max_new_tokens=9, stop=(), **options)
    traces += lm.read_batch([(PROMPTS[0], "a"), (PROMPTS[1], "abc"), (PROMPTS[2], "ab")], **options)
    traces += lm.sample(MARKED, k=2, max_new_tokens=4, stop=(), **options)
    assert len({part.start for trace in traces for part in trace.prompt_parts}) > 4
    assert_exact(lm, traces)


def test_shares_of_the_embedded_model_are_exact(atlas):
    options = {"prompt_parts": NAMES, **SHARES}
    answers = ["It is Oslo.", "Where?", "O"]
    assert_exact(atlas, atlas.read_batch(list(zip(PROMPTS, answers, strict=True)), **options))


def test_shares_sum_to_one_unless_a_learned_sink_takes_some(lm):
    shares = part_shares(lm.read(MARKED, " Oslo", prompt_parts=NAMES, **SHARES)).shares
    assert (shares >= 0).all()
    if "gpt-oss" in lm.name:
        assert (shares.sum(-1) < 1).all()
    else:
        np.testing.assert_allclose(shares.sum(-1), 1, atol=EXACT)


def test_what_lies_beyond_a_window_gets_nothing():
    lm = tiny_language_model(named("mistral-window"))
    window = lm.model.config.sliding_window
    spans = [("far", 0, 30), ("near", len(MARKED) - 6, len(MARKED))]
    trace = lm.read(MARKED, " the answer is that it runs to Oslo", prompt_parts=spans, **SHARES)
    shares = part_shares(trace)
    rows = len(trace.prompt_ids) - 1 + np.arange(len(trace.answer_ids))
    for part in trace.prompt_parts:
        gone = part.stop <= rows - window + 1
        given = shares.of_part(part.name)
        assert (given[..., gone] == 0).all()
        assert (given[..., ~gone] > 0).all()
        assert gone.any()
        assert gone.all() == (part.name == "far")


def test_a_part_that_is_split_adds_up(llama):
    start, middle, end = 14, 20, 37
    whole, split = (
        part_shares(llama.read(MARKED, " Oslo", prompt_parts=spans, **SHARES))
        for spans in ([("a", start, end)], [("a", start, middle), ("b", middle, end)])
    )
    both = split.of_part("a") + split.of_part("b")
    np.testing.assert_allclose(both, whole.of_part("a"), atol=EXACT)
    np.testing.assert_allclose(split.of_part("other"), whole.of_part("other"), atol=EXACT)


def test_passages_add_up_to_their_part_and_are_told_apart_where_asked(llama):
    spans = [("document", 14, 20), ("document", 20, 37), ("question", 63, 69)]
    whole = part_shares(llama.read(MARKED, " Oslo", prompt_parts=NAMES, **SHARES))
    split = llama.read(MARKED, " Oslo", prompt_parts=spans, **SHARES)
    found, by_passage = part_shares(split), part_shares(split, by_passage=True)
    assert (found.names, found.parts) == (whole.names, whole.parts)
    np.testing.assert_allclose(found.shares, whole.shares, atol=EXACT)
    assert by_passage.names == (*FIXED, "document", "document", "question")
    assert (by_passage.of_head(1, 2)[:, 3:5] > 0).all()
    np.testing.assert_array_equal(by_passage.shares, split.extras["part_shares"])
    np.testing.assert_allclose(by_passage.of_part("document"), whole.of_part("document"), atol=EXACT)


def test_a_trace_keeps_the_texts_of_its_parts(llama):
    spans = [("document", 14, 20), ("document", 20, 37)]
    assert "".join(llama.read(MARKED, "a", prompt_parts=spans).part_texts) == MARKED[14:37]
    assert llama.read(MARKED, "a", prompt_parts=NAMES).part_texts == (MARKED[14:37], "Where?")
    assert llama.read(MARKED, "a").part_texts == ()


def test_spans_and_markers_name_the_same_tokens(llama):
    start = MARKED.index("The river")
    span = ("document", start, MARKED.index("</document>"))
    assert llama.encode(MARKED, prompt_parts=[span]).parts == llama.encode(MARKED, prompt_parts=("document",)).parts
    ids = llama.tokens.encode(MARKED, special=True)
    assert llama.encode(ids, prompt_parts=[span]).parts == llama.encode(ids, prompt_parts=["document"]).parts


def test_without_parts_the_prompt_is_other(llama):
    trace = llama.read(MARKED, " Oslo", **SHARES)
    assert (trace.prompt_parts, part_shares(trace).names) == ((), FIXED)
    marked = part_shares(llama.read(MARKED, " Oslo", prompt_parts=NAMES, **SHARES)).shares
    np.testing.assert_allclose(trace.extras["part_shares"][..., 2], marked[..., 2:].sum(-1), atol=EXACT)


def test_parts_alone_cost_nothing(llama):
    trace = llama.read(MARKED, " Oslo", prompt_parts=NAMES)
    assert [part.name for part in trace.prompt_parts] == list(NAMES)
    with pytest.raises(NotCaptured, match=r"lacks the extra 'part_shares'. Generate the answer again"):
        part_shares(trace)


def test_the_tensors_grow_with_the_prompt_and_not_with_its_square(llama, monkeypatch):
    sizes = []
    reduce = rauq.capture.extras.PartShares.reduce
    monkeypatch.setattr(
        rauq.capture.extras.PartShares,
        "reduce",
        lambda self, rows, first: sizes.append(rows.numel()) or reduce(self, rows, first),
    )
    for prompt in (MARKED, MARKED.replace("river", "river " * 8)):
        sizes.append(0)
        length = len(llama.read(prompt, "abc", prompt_parts=NAMES, **SHARES).prompt_ids)
        assert max(sizes[sizes.index(0) :]) <= llama.num_heads * 4 * (length + 3)


# Means and heads.


def test_the_mean_is_over_the_heads_of_the_window_or_of_the_layers_that_are_named(llama):
    shares = part_shares(llama.read(MARKED, " Oslo", prompt_parts=NAMES, **SHARES))
    assert shares.window == (1, 2)
    np.testing.assert_allclose(shares.mean(), shares.shares[[1, 2]].mean((0, 1)), atol=EXACT)
    np.testing.assert_allclose(shares.mean([0]), shares.shares[0].mean(0), atol=EXACT)
    np.testing.assert_array_equal(shares.of_head(2, 3), shares.shares[2, 3])
    np.testing.assert_array_equal(shares.of_part("question"), shares.shares[..., 4])
    every = part_shares(llama.read(MARKED, "a", **SHARES), rauq.Settings(layers="all"))
    assert every.window == (0, 1, 2)


def test_layers_are_named_by_their_number_in_the_model():
    lm = tiny_language_model(named("jamba-hybrid"))
    shares = part_shares(lm.read(MARKED, " Oslo", **SHARES), rauq.Settings(layers="all"))
    assert shares.layers == lm.layers != tuple(range(len(lm.layers)))
    np.testing.assert_array_equal(shares.of_head(lm.layers[0], 1), shares.shares[0, 1])


@pytest.mark.parametrize(("layer", "head"), [(3, 0), (-1, 0), (0, 4), (0, -1)])
def test_a_head_that_is_not_there_is_refused(llama, layer, head):
    shares = part_shares(llama.read(MARKED, "a", **SHARES))
    with pytest.raises(InvalidInput, match=r"the layers with attention are 0, 1, 2, with heads 0 to 3"):
        shares.of_head(layer, head)
    with pytest.raises(InvalidInput, match="There is no part 'document'; there are 'first token'"):
        shares.of_part("document")


# Parts of conversations.

TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "user"},
    {"role": "assistant", "content": "assistant"},
    {"role": "user", "content": " Who is it? "},
]


@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_the_messages_of_a_conversation_are_its_parts(template):
    lm = chat_language_model(template)
    talk = TALK if template.takes_system else TALK[1:]
    encoded = lm.encode(talk, prompt_parts="roles")
    texts = [lm.tokens.text(encoded.ids[part.start : part.stop]).strip() for part in encoded.parts]
    assert texts == [message["content"].strip() for message in talk]
    names = ["system", "user", "assistant", "user 2"]
    assert [part.name for part in encoded.parts] == names[len(names) - len(talk) :]
    whole, *_ = lm.encode("user", chat=True, prompt_parts="roles").parts
    assert (whole.name, whole.stop - whole.start) == ("user", 4)


@pytest.mark.parametrize("template", TEMPLATES, ids=str)
def test_spans_of_a_conversation_are_of_its_last_message(template):
    lm = chat_language_model(template)
    talk = TALK if template.takes_system else TALK[1:]
    encoded = lm.encode(talk, prompt_parts=[("name", 1, 4), ("rest", 4, 12)])
    texts = [lm.tokens.text(encoded.ids[part.start : part.stop]).strip() for part in encoded.parts]
    assert texts == ["Who", "is it?"]


def test_markers_are_found_in_every_message():
    lm = chat_language_model(CHATML)
    talk = [{**TALK[0], "content": "<document>A river.</document>"}, {**TALK[3], "content": "<question>?</question>"}]
    encoded = lm.encode(talk, prompt_parts=NAMES)
    assert [lm.tokens.text(encoded.ids[part.start : part.stop]) for part in encoded.parts] == ["A river.", "?"]


def test_an_earlier_answer_that_the_template_shortens_is_what_is_left_of_it():
    short = "{{ message.content.split('</think>')[-1] if message.role == 'assistant' else message.content }}"
    lm = chat_language_model(replace(CHATML, source=CHATML.source.replace("{{ message.content }}", short)))
    talk = [TALK[0], TALK[1], {"role": "assistant", "content": "<think>Hm.</think>Hello"}, TALK[3]]
    encoded = lm.encode(talk, prompt_parts="roles")
    texts = [lm.tokens.text(encoded.ids[part.start : part.stop]) for part in encoded.parts]
    assert texts == ["Be brief.", "user", "Hello", " Who is it? "]


def test_texts_that_are_not_told_apart_are_refused():
    counted = "{{ message.content }}{{ message.content | length }}"
    lm = chat_language_model(replace(CHATML, source=CHATML.source.replace("{{ message.content }}", counted)))
    for parts in ("roles", [("a", 1, 4)]):
        with pytest.raises(InvalidInput, match=r"texts are not told apart. Put markers such as <document>"):
            lm.encode(TALK, prompt_parts=parts)
    assert lm.encode([*TALK[:3], {**TALK[3], "content": MARKED}], prompt_parts=NAMES).parts


REFUSED = {
    "a name alone": ("document", r"Got prompt_parts='document'. Give prompt_parts='roles' for the messages"),
    "nothing": ((), r"Got prompt_parts=\(\). Give prompt_parts='roles'"),
    "a number": (5, "Got prompt_parts=5. Give prompt_parts='roles'"),
    "a name and a span": (["document", ("a", 0, 5)], "Give prompt_parts='roles'"),
    "roles of a text": ("roles", "a prompt to which no chat template was applied, so that it has no messages. Put"),
    "a mark that is not there": (("context",), "The prompt has no <context>"),
    "a span beyond the prompt": ([("a", 0, 500)], r"from 0 to 500, does not lie in its 12 code points"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_parts_that_cannot_be_used_are_refused_at_once(llama, case):
    given, said = REFUSED[case]
    for call in (llama.generate, llama.sample, lambda prompt, **how: llama.read(prompt, "a", **how)):
        with pytest.raises(InvalidInput, match=said):
            call(PROMPT, prompt_parts=given)


def test_a_prompt_without_its_parts_fails_alone(llama):
    prompts = [MARKED, PROMPT, MARKED]
    found = list(llama.generate_batch(prompts, max_new_tokens=2, stop=(), prompt_parts=NAMES, **SHARES))
    assert [isinstance(one, Failure) for one in found] == [False, True, False]
    assert "The prompt has no <document>" in str(found[1].error)


def test_a_part_of_the_answer_keeps_the_shares_if_it_begins_there(llama):
    trace = llama.read(MARKED, " It is Oslo", prompt_parts=NAMES, **SHARES)
    first = rauq.trace.parts.first_tokens(trace, 4)
    assert first.prompt_parts == trace.prompt_parts
    np.testing.assert_array_equal(first.extras["part_shares"], trace.extras["part_shares"][:, :, :4])
    later = rauq.trace.parts._cut(trace, 2, 5)
    assert later.prompt_parts == trace.prompt_parts
    assert "part_shares" not in later.extras
    assert all(before.stop <= after.start for before, after in pairwise(later.prompt_parts))
