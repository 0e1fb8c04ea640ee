"""The document that is drawn below an answer: its passages, and the shares of attention on each."""

from base64 import b64decode
from dataclasses import replace

import numpy as np
import pytest

import rauq
from pages.ui.inspect.linked_views import live_payload, payload
from rauq.scoring.report import Words
from rauq.scoring.shown import show_head
from rauq.trace.prompt_parts import PromptPart
from tests.traces import make_trace

WORDS = Words(source="", headline="", detail="")
PARTS = (PromptPart("document", 1, 2), PromptPart("document", 2, 3), PromptPart("question", 3, 4))
TEXTS = ("One.\n", "<b>\u202etwo", "Who?")


def documented(**changes):
    trace = make_trace(prompt_ids=np.arange(5), prompt_parts=PARTS, part_texts=TEXTS, **changes)
    shape = (*trace.attention.shape[:2], len(trace.pieces), 3 + len(PARTS))
    shares = np.random.default_rng(5).dirichlet(np.ones(shape[-1]), shape[:-1])
    return replace(trace, extras={"part_shares": shares.astype(np.float32)})


def table(drawn):
    return np.frombuffer(b64decode(drawn["shares"]), "<f4").reshape(-1, 5)


def drawn(trace, layer=None, head=None, **settings):
    scored = show_head(trace, rauq.score(trace, rauq.Settings(**settings)), layer, head)
    return payload(trace, scored, WORDS)["document"]


def test_each_passage_has_its_text_and_the_shares_of_the_head_that_is_shown():
    trace = documented()
    found, shares = drawn(trace, 3, 1), rauq.part_shares(trace, by_passage=True)
    assert found["passages"] == ({"of": "document", "text": "One.\n"}, {"of": "document", "text": "<b>⟨U+202E⟩two"})
    assert found["head"]["name"] == "layer 3, head 1"
    first, so_far, rest, question = (shares.of_head(3, 1)[:, column] for column in (0, 1, 2, 5))
    expected = np.column_stack([first, so_far, rest + question, shares.of_head(3, 1)[:, 3:5]])
    np.testing.assert_allclose(table(found["head"]), expected, atol=1e-6)
    np.testing.assert_allclose(table(found["mean"])[:, 3:], shares.mean()[:, 3:5], atol=1e-6)


def test_where_heads_are_averaged_the_shares_are_the_mean_of_the_layer():
    trace = documented()
    found = drawn(trace, 3, heads="mean")
    assert found["head"]["name"] == "layer 3, mean of its heads"
    expected = rauq.part_shares(trace, by_passage=True).mean([3])[:, 3:5]
    np.testing.assert_allclose(table(found["head"])[:, 3:], expected, atol=1e-6)


def test_without_shares_or_while_an_answer_is_generated_there_is_the_text_alone():
    trace = documented()
    texts = {"passages": drawn(trace)["passages"]}
    assert drawn(replace(trace, extras={})) == texts
    for scored in (None, rauq.score(trace)):
        assert live_payload(trace, scored, WORDS)["document"] == texts


@pytest.mark.parametrize("changes", [{"part_texts": ()}, {"prompt_parts": (), "part_texts": (), "extras": {}}])
def test_no_document_is_drawn_where_its_text_is_not_known(changes):
    assert drawn(replace(documented(), **changes)) is None
