"""The sentences of a long answer, as the browser gets them."""

import math

import numpy as np
import pytest

from pages.ui.inspect.linked_views import live_payload, payload
from pages.ui.inspect.linked_views.sentences import READS, sentence_payload, sentence_ranks
from rauq.labels import number
from rauq.scoring.report import Words, words
from rauq.scoring.score import score
from rauq.scoring.sentence_scores import SentenceScore, sentence_scores
from rauq.scoring.settings import Settings
from rauq.scoring.surprisal import score_surprisal
from tests.traces import make_trace, trace_of_text

TEXT = "Oslo is <b>in</b> Norway.\nIt has ![a](b) museum of Vikings. שלום לכולם! "


def long_trace(num_tokens=READS, **changes):
    pieces = trace_of_text(TEXT * num_tokens).pieces[:num_tokens]
    texts = tuple(piece.decode("utf-8", "replace") for piece in pieces)
    probabilities = np.random.default_rng(0).uniform(0.05, 1, num_tokens)
    return make_trace(pieces, probabilities=probabilities, answer_tokens=texts, **changes)


@pytest.mark.parametrize("num_tokens", [READS - 1, READS])
def test_an_answer_reads_by_sentences_from_80_tokens_on(num_tokens):
    trace = long_trace(num_tokens)
    scored = score(trace)
    data = payload(trace, scored, words(trace, scored))
    assert data["reads"] == bool(data["sentences"]) == (num_tokens == 80)
    live = live_payload(trace, scored, Words(source="", headline="", detail=""))
    assert (live["reads"], live["sentences"]) == (False, [])


def test_each_sentence_has_its_numbers_and_its_text_on_one_line():
    trace = long_trace()
    scored = score(trace)
    drawn = sentence_payload(trace, scored)["sentences"]
    found = sentence_scores(trace, scored)
    assert [one["tokens"] for one in drawn] == [one.tokens for one in found]
    assert [one["weakest"] for one in drawn] == [one.weakest_token for one in found]
    assert [one["uncertainty"] for one in drawn] == [number(one.uncertainty, places=2) for one in found]
    assert drawn[0]["text"] == "Oslo is <b>in</b> Norway."
    assert drawn[1]["text"] == "It has ![a](b) museum of Vikings."
    assert not any(one["reason"] for one in drawn)


def sentence_of(uncertainty):
    numbers = {"uncertainty": uncertainty, "mean_surprisal": 0.0, "mean_entropy": 0.0}
    return SentenceScore(start=0, end=1, tokens=(0, 1), weakest_token=0, reason="", **numbers)


def test_a_rank_counts_the_more_uncertain_and_nothing_undefined_is_ranked():
    values = (0.5, math.nan, 2.0, 0.5, math.inf, -1.0)
    assert sentence_ranks([sentence_of(value) for value in values]) == [3, None, 2, 3, 1, 5]
    assert sentence_ranks([]) == []


def test_an_undefined_uncertainty_is_a_dash_with_its_reason():
    trace = long_trace()
    for one in sentence_payload(trace, score(trace, Settings(layer_aggregation="median")))["sentences"]:
        assert (one["rank"], one["uncertainty"]) == (None, "–")
        assert one["reason"] == "a median over layers does not belong to a single layer"


def test_the_score_of_a_pasted_answer_is_named_as_a_largest_surprisal():
    trace = long_trace(stop_reason="given")
    by_surprisal, by_rauq = sentence_payload(trace, score_surprisal(trace)), sentence_payload(trace, score(trace))
    assert by_surprisal["sentenceScore"]["name"] == "largest surprisal"
    assert by_rauq["sentenceScore"]["name"] == "uncertainty"
    largest = max(np.nan_to_num(one.uncertainty) for one in sentence_scores(trace, score_surprisal(trace)))
    assert [one["uncertainty"] for one in by_surprisal["sentences"] if one["rank"] == 1] == [number(largest, places=2)]
