import random
from dataclasses import replace
from time import process_time

import numpy as np
import pytest

import rauq
from rauq.errors import InvalidInput
from rauq.scoring.score import collapse_token, score
from rauq.scoring.sentence_scores import sentence_borders, sentence_scores, span_scores
from rauq.scoring.settings import Settings
from rauq.scoring.shown import show_head
from rauq.scoring.surprisal import score_surprisal
from tests.token_texts import token_texts
from tests.traces import make_trace, trace_of_text

LONG = "Lima is in Peru. Dr. Smith lives there.\n- 日本の首都は東京です。 It is big!\n\n- 😀 Oslo"


def long_trace(**changes):
    trace = trace_of_text(LONG, **changes)
    probabilities = np.random.default_rng(1).uniform(0.05, 1, len(trace.pieces))
    return replace(trace, logprobs=np.log(probabilities))


def texts_of(trace, found):
    return [trace.answer[one.start : one.end] for one in found]


def test_each_sentence_has_its_text_and_its_tokens():
    pieces = (b"Oslo", b" is", b" old", b".\n", b"Lima", b" is", b" too", b".", b"")
    trace = make_trace(pieces)
    found = sentence_scores(trace, score(trace))
    assert texts_of(trace, found) == ["Oslo is old.\n", "Lima is too."]
    assert [one.tokens for one in found] == [(0, 4), (4, 9)]


@pytest.mark.parametrize(
    ("texts", "characters", "tokens"),
    [
        (("Oslo.", " B"), [0, 6], [0, 1]),  # the space is of the first sentence, and its token of the second
        (("A.\n\n", "B"), [0, 4], [0, 1]),
        (("Oslo", ". B", "ob. ", "C"), [0, 6, 11], [0, 2, 3]),
        (("Oslo", ".\nB\n", "Lima"), [0, 8], [0, 2]),  # no token begins in the second line
        (("A\n", "", "", "é"), [0, 2], [0, 1]),  # the first parts of a character have no text
        (("A\n", "B", ""), [0, 2], [0, 1]),
        (("A", "\n", " ", "B"), [0, 2], [0, 2]),
        (("",), [0], [0]),
        ((" ", "\n"), [0], [0]),
    ],
)
def test_a_token_belongs_to_the_sentence_of_its_first_visible_character(texts, characters, tokens):
    found = sentence_borders(texts)
    assert (found.characters.tolist(), found.tokens.tolist()) == (characters, tokens)


def cut(text, chosen):
    places = sorted(chosen.choices(range(len(text) + 1), k=chosen.randint(0, len(text))))
    return [text[start:stop] for start, stop in zip([0, *places], [*places, len(text)], strict=True)]


def test_tokens_of_any_tokenizer_are_partitioned_and_so_is_the_text():
    chosen = random.Random(0)
    for text in (*token_texts(), LONG, *["A. B\n- c d! 日。e "] * 20):
        texts = cut(text, chosen)
        characters, tokens = sentence_borders(texts)
        assert characters[0] == tokens[0] == 0
        assert (np.diff(tokens) > 0).all()
        assert (np.diff(characters) > 0).all()
        assert tokens[-1] < len(texts)
        assert characters[-1] <= len(text)


@pytest.mark.parametrize("sizes", [(1,), (2, 3), (5, 4, 7), (40,)])
def test_tokens_that_cut_characters_are_partitioned(sizes):
    trace = trace_of_text(LONG, sizes=sizes)
    found = sentence_scores(trace, score(trace))
    assert "".join(texts_of(trace, found)) == trace.answer == LONG
    assert [token for one in found for token in range(*one.tokens)] == list(range(len(trace.pieces)))
    assert len(found) == 5


def weighted(found, name):
    counts = [one.tokens[1] - one.tokens[0] for one in found]
    return np.average([getattr(one, name) for one in found], weights=counts)


@pytest.mark.parametrize("layers", ["max", "mean"])
def test_weighted_by_tokens_the_sentences_are_the_score_of_the_answer(layers):
    trace = long_trace()
    whole = score(trace, Settings(layer_aggregation=layers))
    found = sentence_scores(trace, whole)
    assert weighted(found, "uncertainty") == pytest.approx(whole.uncertainty)
    assert weighted(found, "mean_surprisal") == pytest.approx(-trace.logprobs.mean())
    assert weighted(found, "mean_entropy") == pytest.approx(trace.entropies.mean())


def test_the_uncertainty_is_that_of_the_layer_of_the_score_and_confidence_flows_in_from_before():
    trace = long_trace()
    whole = score(trace)
    second = sentence_scores(trace, whole)[1]
    start, stop = second.tokens
    confidence = [whole.signal[0]]
    row = whole.layers.index(whole.layer)
    for token in range(1, stop):  # equation 2 of the paper
        inflow = whole.attention[row, token - 1] * confidence[-1]
        confidence.append(whole.settings.alpha * whole.signal[token] + (1 - whole.settings.alpha) * inflow)
    assert second.uncertainty == pytest.approx(-np.log(confidence[start:stop]).mean())


def test_the_largest_collapse_of_the_answer_is_that_of_a_sentence():
    trace = long_trace()
    whole = score(trace)
    found = sentence_scores(trace, whole)
    weakest = [one.weakest_token for one in found]
    assert collapse_token(trace, whole) in weakest
    for one in found:
        shown = [token for token in range(*one.tokens) if trace.pieces[token].strip()]
        assert one.weakest_token == max(shown, key=lambda token: whole.collapse[token])


def test_a_token_of_white_space_is_the_weakest_only_where_no_token_shows_text():
    trace = make_trace((b"Oslo", b"\n", b"Lima"), probabilities=(0.9, 0.01, 0.9))
    assert [one.weakest_token for one in sentence_scores(trace, score(trace))] == [0, 2]


def test_a_head_that_is_shown_does_not_change_the_uncertainty():
    trace = long_trace()
    whole = score(trace)
    found, other = (sentence_scores(trace, one) for one in (whole, show_head(trace, whole, layer=1, head=3)))
    assert [one.uncertainty for one in found] == [one.uncertainty for one in other]


def test_an_answer_that_was_given_has_the_largest_surprisal_of_each_sentence():
    trace = make_trace(
        (b"Oslo", b" is", b" old", b".\n", b"It", b" is", b" so", b".\n", b"In", b" Rome"), stop_reason="given"
    )
    trace = replace(trace, logprobs=np.log(np.linspace(0.9, 0.1, 10)))
    whole = score_surprisal(trace)
    found = sentence_scores(trace, whole)
    assert max(one.uncertainty for one in found if not np.isnan(one.uncertainty)) == whole.uncertainty
    assert [one.reason for one in found] == ["", "none of these tokens is compared", ""]


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        (Settings(layer_aggregation="median"), "a median over layers"),
        (Settings(update="mean_product"), "no token confidences"),
        (Settings(update="mean_sum"), "no token confidences"),
    ],
)
def test_an_undefined_uncertainty_is_nan_with_a_reason(settings, reason):
    trace = long_trace()
    for one in sentence_scores(trace, score(trace, settings)):
        assert np.isnan(one.uncertainty)
        assert reason in one.reason
        assert np.isfinite([one.mean_surprisal, one.mean_entropy]).all()


@pytest.mark.parametrize(("name", "reason"), [("logprobs", "log-probability"), ("entropies", "an entropy")])
def test_a_mean_without_a_value_is_nan_with_a_reason_in_its_sentence_alone(name, reason):
    trace = long_trace()
    values = getattr(trace, name).copy()
    values[0] = np.nan
    trace = replace(trace, **{name: values})
    settings = Settings(signal="entropy" if name == "logprobs" else "probability")
    first, *others = sentence_scores(trace, score(trace, settings))
    assert reason in first.reason
    assert np.isfinite(first.uncertainty)
    assert [one.reason for one in others] == [""] * len(others)


def test_the_thinking_of_an_answer_is_in_no_sentence_of_its_answer_part():
    pieces = (b"<think>", b"Hm.", b"</think>", b" Oslo.", b" Lima.")
    trace = make_trace(pieces, thinking=(0, 3))
    found = sentence_scores(trace, score(trace))
    assert texts_of(trace, found) == [" Oslo. ", "Lima."]
    assert [one.tokens for one in found] == [(3, 4), (4, 5)]
    parts = sentence_scores(trace, score(trace, Settings(part="all")))
    assert parts[0].tokens[0] == 0


def test_an_answer_that_is_all_thinking_has_no_sentence():
    trace = make_trace((b"<think>", b"Hm."), thinking=(0, 2))
    assert sentence_scores(trace, score(trace)) == ()


def test_an_answer_of_an_end_token_alone_is_one_sentence_without_text():
    trace = make_trace((b"<end>",), answer_tokens=("",))
    (found,) = sentence_scores(trace, score(trace))
    assert (found.start, found.end, found.tokens, found.weakest_token) == (0, 0, (0, 1), 0)


def test_a_score_of_another_answer_is_refused():
    with pytest.raises(InvalidInput, match="give the answer that was scored"):
        sentence_scores(long_trace(), score(make_trace()))


def test_4000_tokens_take_milliseconds():
    trace = make_trace((b"Lima", b" is", b" old", b". ") * 1000)
    whole = score(trace)
    start = process_time()
    assert len(sentence_scores(trace, whole)) == 1000
    assert process_time() - start < 0.2


def test_an_answer_of_the_embedded_model_has_its_sentences():
    trace = rauq.load_model("atlas").generate("Q: In which country is Kyoto? A:", max_new_tokens=30)
    found = rauq.sentence_scores(trace, rauq.score(trace))
    assert "".join(texts_of(trace, found)) == trace.answer


@pytest.mark.parametrize("settings", [Settings(), Settings(layer_aggregation="mean"), Settings(update="mean_sum")])
def test_the_sentences_as_spans_have_the_same_scores(settings):
    trace = replace(long_trace(), stop_reason="eos")
    whole = score(trace, settings)
    found = sentence_scores(trace, whole)
    spans = span_scores(trace, whole, [(one.start, one.end) for one in found])
    assert str(spans) == str(found)  # nan differs from itself


def test_spans_in_any_order_that_overlap_have_the_scores_of_their_tokens():
    trace = long_trace()
    whole = score(trace)
    row, end = whole.layers.index(whole.layer), len(trace.answer)
    for one in span_scores(trace, whole, [(5, end), (0, end), (5, 9)]):
        tokens = slice(*one.tokens)
        assert one.uncertainty == pytest.approx(-np.log(whole.confidence[row, tokens]).mean())
        assert one.mean_surprisal == pytest.approx(-trace.logprobs[tokens].mean())
        assert one.mean_entropy == pytest.approx(trace.entropies[tokens].mean())


@pytest.mark.parametrize(
    ("texts", "span", "tokens"),
    [
        (("Oslo", " is", "."), (0, 4), (0, 1)),
        (("Oslo", " is", "."), (0, 5), (0, 1)),  # the space of the second token is not one of its letters
        (("Oslo", " is", "."), (4, 7), (1, 2)),
        (("Oslo", " is", "."), (3, 6), (0, 2)),
        (("Oslo", "\n\n", "is"), (0, 5), (0, 2)),
        (("Oslo", "\n\n", "is"), (0, 4), (0, 1)),
        (("Oslo", "\n\n", "is"), (5, 7), (2, 3)),
        (("A", "", "é", "."), (1, 2), (1, 3)),  # the first part of a character has no text
        (("A", "", "é", "."), (0, 1), (0, 1)),
        (("Oslo", ".", ""), (4, 5), (1, 3)),  # the end token
        (("Oslo", ".", ""), (0, 4), (0, 1)),
        (("Oslo", ".", ""), (0, 5), (0, 3)),
    ],
)
def test_a_token_belongs_to_a_span_that_has_a_character_that_it_shows(texts, span, tokens):
    trace = make_trace(tuple(text.encode() or b"\xc3" for text in texts), answer_tokens=texts)
    (found,) = span_scores(trace, score(trace), [span])
    assert (found.start, found.end, found.tokens) == (*span, tokens)


def test_every_span_with_a_visible_character_has_tokens_that_show_all_of_it():
    trace = trace_of_text(LONG)
    whole = score(trace)
    spans = [(a, b) for a in range(len(LONG)) for b in range(a + 1, len(LONG) + 1) if LONG[a:b].strip()]
    for one in span_scores(trace, whole, spans):
        shown = "".join(trace.answer_tokens[slice(*one.tokens)])
        assert LONG[one.start : one.end].strip() in shown


def test_no_spans_have_no_scores():
    trace = long_trace()
    assert span_scores(trace, score(trace), []) == ()


@pytest.mark.parametrize(
    ("span", "message"),
    [
        ((3, 3), "from 3 to 3; it must have at least one character"),
        ((4, 3), "from 4 to 3"),
        ((-1, 3), "from -1 to 3"),
        ((0, len(LONG) + 1), f"within 0 to {len(LONG)}"),
        ((LONG.index(" "), LONG.index(" ") + 1), "white space alone"),
        ((0.5, 3), "two integers"),
        ((1, 2, 3), "two integers"),
        (5, "two integers"),
    ],
)
def test_a_span_that_is_none_of_the_answer_is_refused(span, message):
    trace = long_trace()
    with pytest.raises(InvalidInput, match=message):
        span_scores(trace, score(trace), [(0, 4), span])


def test_a_span_of_the_thinking_is_beyond_the_scored_part():
    trace = make_trace((b"<think>", b"Hm.", b"</think>", b"Oslo", b" so."), thinking=(0, 3))
    with pytest.raises(InvalidInput, match="within 18 to 26"):
        span_scores(trace, score(trace), [(0, 7)])
    (found,) = span_scores(trace, score(trace), [(18, 22)])
    assert (found.tokens, found.weakest_token) == ((3, 4), 3)


def test_spans_of_a_score_of_another_answer_are_refused():
    with pytest.raises(InvalidInput, match="give the answer that was scored"):
        span_scores(long_trace(), score(make_trace()), [(0, 3)])
