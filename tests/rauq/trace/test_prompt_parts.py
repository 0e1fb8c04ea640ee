"""The parts of a prompt: every token is in one of them or in none, and what does not name parts is refused."""

import json
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from safetensors.numpy import load, save

from rauq.errors import InvalidInput, TraceFileError
from rauq.trace.prompt_parts import (
    FIXED,
    MOST_PARTS,
    PromptPart,
    Span,
    checked_spans,
    columns_of,
    marked_spans,
    numbered,
    tokens_of,
    whole_parts,
)
from rauq.trace.trace import Trace
from tests.traces import make_trace

TEXT = "Answer. <document>It is in Oslo.</document> <question>Where?</question>"
DOCUMENT, QUESTION = Span("document", 18, 32), Span("question", 54, 60)


def cut(text, seed):
    """A text in random tokens."""
    rng = np.random.default_rng(seed)
    places = [0, *sorted(rng.choice(np.arange(1, len(text)), len(text) // 2, replace=False)), len(text)]
    return [text[start:end] for start, end in pairwise(places)]


def test_markers_name_what_stands_between_them():
    assert marked_spans(TEXT, ["document", "question"]) == [DOCUMENT, QUESTION]
    assert marked_spans(TEXT, ["question"]) == [QUESTION]
    assert marked_spans("<a-1>x</a-1><b><i></b>", ["b", "a-1"]) == [Span("a-1", 5, 6), Span("b", 15, 18)]


def test_several_parts_of_a_name_are_numbered():
    text = "<document>A</document><document>B</document><question>C</question><document>D</document>"
    names = [span.name for span in marked_spans(text, ["document", "question"])]
    assert names == ["document", "document 2", "question", "document 3"]
    assert numbered([Span("user", 0, 1), Span("user", 2, 3)])[1] == Span("user 2", 2, 3)


WRONG_MARKS = {
    "<document>It is in Oslo.": "opens <document> at character 0 and does not close it. Put </document>",
    "It is in Oslo.</document>": "closes </document> at character 14, and <document> was not opened before",
    "<document>A<question>B</question></document>": "has <question> at character 11 inside <document>.*nested",
    "<document>A<document>B</document></document>": "has <document> at character 11 inside <document>.*nested",
    "<document>A</question>": "has </question> at character 11 inside <document>",
    "<document> \n </document>": "nothing between <document> and </document>",
    "<question>A</question>": "has no <document>. Put <document> and </document> around",
    "": "has no <document>",
}


@pytest.mark.parametrize("text", WRONG_MARKS)
def test_marks_that_do_not_fit_are_refused(text):
    with pytest.raises(InvalidInput, match=WRONG_MARKS[text]):
        marked_spans(text, ["document", "question"])


@pytest.mark.parametrize("name", ["", "1a", "a b", "<a>", "a" * 101])
def test_a_name_that_is_no_marker_is_refused(name):
    with pytest.raises(InvalidInput, match="name of a marker; it must begin with a letter"):
        marked_spans("text", [name])


WRONG_SPANS = {
    "no span": ([5], "Got 5 as a part of the prompt. Give its name, its first code point"),
    "no end": ([("a", 5)], "one after its last, such as"),
    "no numbers": ([("a", "0", "9")], "Give its name, its first code point"),
    "booleans": ([("a", False, True)], "Give its name, its first code point"),
    "empty": ([("a", 5, 5)], "'a' of the prompt, from 5 to 5, is empty. Give 0 <= start < end <= 20"),
    "reversed": ([("a", 9, 5)], "from 9 to 5, does not lie in its 20 code points"),
    "negative": ([("a", -3, 5)], "from -3 to 5, does not lie in its 20 code points"),
    "beyond": ([("a", 5, 21)], "from 5 to 21, does not lie in its 20 code points"),
    "overlapping": ([("b", 7, 12), ("a", 3, 9)], r"'a' \(3 to 9\) and 'b' \(7 to 12\) of the prompt overlap"),
    "nested": ([("a", 3, 9), ("b", 4, 5)], "overlap. Each character can be in one part: end the first at 4"),
    "of one name": ([("a", 3, 5), ("a", 6, 9)], "two parts have the name 'a'; give each a name of its own"),
    "without a name": ([(" ", 3, 5)], "a part has the name ' '; a name is a text of 1 to 100 characters"),
    "with a number as a name": ([(7, 3, 5)], "a part has the name 7; a name is a text"),
    "with half of a surrogate": ([("\ud800", 3, 5)], r"name '\\ud800'; a name is a text"),
    "with a name that is taken": ([("other", 3, 5)], "'other', which stands for something else"),
}


@pytest.mark.parametrize("case", WRONG_SPANS)
def test_spans_that_are_no_parts_are_refused(case):
    given, said = WRONG_SPANS[case]
    with pytest.raises(InvalidInput, match=said):
        checked_spans(given, 20)


def test_spans_are_sorted_and_may_touch():
    assert checked_spans([["b", 5, 20], ("a", 0, 5)], 20) == [Span("a", 0, 5), Span("b", 5, 20)]


def test_neighbours_of_one_name_that_touch_are_passages_of_one_part():
    spans = [Span("a", 3, 5), Span("a", 5, 9), Span("b", 9, 12), Span("a 2", 12, 13)]
    assert checked_spans(spans, 20) == spans
    assert whole_parts(spans) == (Span("a", 3, 9), Span("b", 9, 12), Span("a 2", 12, 13))
    with pytest.raises(InvalidInput, match="two parts have the name 'a'"):
        checked_spans([("a", 3, 5), ("b", 5, 9), ("a", 9, 12)], 20)


@pytest.mark.parametrize("seed", range(30))
def test_every_token_belongs_to_the_part_with_most_of_its_characters(seed):
    texts = cut(TEXT, seed)
    spans = [DOCUMENT, QUESTION]
    parts, place = tokens_of(spans, texts), 0
    for number, text in enumerate(texts):
        counts = [sum(span.start <= place + i < span.end for i in range(len(text))) for span in spans]
        counts.append(len(text) - sum(counts))
        inside = [part.start <= number < part.stop for part in parts]
        assert [*inside, not any(inside)].index(True) == counts.index(max(counts))
        place += len(text)


def test_a_split_part_has_the_tokens_of_the_whole():
    texts = list(TEXT)
    whole, *halves = tokens_of([DOCUMENT], texts) + tokens_of([Span("a", 18, 25), Span("b", 25, 32)], texts)
    assert [(part.start, part.stop) for part in halves] == [(whole.start, 25), (25, whole.stop)]


def test_the_bytes_of_a_character_stay_together():
    texts = ["a", " ", "", "", "", "🙂", "", "é", "b"]  # what tokens of single bytes give: the last one has the text
    assert tokens_of([Span("faces", 2, 4)], texts) == (PromptPart("faces", 2, 8),)


@pytest.mark.parametrize(("start", "end"), [(0, 2), (8, 10)])
def test_a_part_without_a_token_of_its_own_is_refused(start, end):
    texts = ["Where ", "is Oslo?", " In"]  # the first counts apart
    with pytest.raises(InvalidInput, match=r"'a' .* has no token of its own.*Make it longer"):
        tokens_of([Span("a", start, end)], texts)


def test_more_parts_than_a_trace_holds_are_refused_at_once():
    spans = [Span(str(number), number, number + 1) for number in range(1, MOST_PARTS + 2)]
    with pytest.raises(InvalidInput, match="Got 1,001 parts of the prompt, and at most 1,000 are allowed"):
        tokens_of(spans, ["a"] * 2000)
    assert len(tokens_of(spans[1:], ["a"] * 2000)) == MOST_PARTS


def test_each_token_has_one_column_and_the_first_its_own():
    parts = (PromptPart("a", 0, 3), PromptPart("b", 4, 6))
    assert columns_of(parts, 8).tolist() == [0, 3, 3, 2, 4, 4, 2, 2]
    assert columns_of((), 1).tolist() == [0]


A, B = PromptPart("a", 1, 2), PromptPart("b", 2, 3)
WRONG_PARTS = {
    "a list": [A],
    "tuples": (("a", 1, 2),),
    "beyond the prompt": (PromptPart("a", 1, 4),),
    "negative": (PromptPart("a", -1, 2),),
    "empty": (PromptPart("a", 1, 1),),
    "overlapping": (PromptPart("a", 0, 2), PromptPart("b", 1, 3)),
    "not ascending": (B, A),
    "of one name, apart": (PromptPart("a", 0, 1), PromptPart("a", 2, 3)),
    "a taken name": (A._replace(name=FIXED[0]),),
    "no name": (A._replace(name=""),),
    "a long name": (A._replace(name="a" * 101),),
    "no text as a name": (A._replace(name=7),),
    "a part of a token": (PromptPart("a", 1.0, 2.0),),
    "too many": tuple(PromptPart(str(number), 1, 2) for number in range(MOST_PARTS + 1)),
}


@pytest.mark.parametrize("case", WRONG_PARTS)
def test_a_trace_takes_ascending_parts_of_its_prompt_alone(case):
    with pytest.raises(InvalidInput, match="prompt_parts"):
        make_trace(prompt_parts=WRONG_PARTS[case])


@pytest.mark.parametrize("texts", [("a",), ("a", "b", "c"), ("a", 5), ["a", "b"], "ab"])
def test_a_trace_takes_a_text_for_each_of_its_parts(texts):
    with pytest.raises(InvalidInput, match="part_texts is neither empty nor a tuple"):
        make_trace(prompt_parts=(A, B), part_texts=texts)


def shares_of(trace, num_parts):
    shape = (*trace.attention.shape[:2], len(trace.answer_ids), len(FIXED) + num_parts)
    return np.full(shape, 1 / shape[-1], np.float32)


def test_parts_and_shares_are_saved_and_loaded(tmp_path):
    trace = make_trace(prompt_parts=(A, B._replace(name="Frage é")), part_texts=("<b>", "é"))
    trace = replace(trace, extras={"part_shares": shares_of(trace, 2)})
    trace.save(tmp_path / "t")
    for loaded in (Trace.load(tmp_path / "t"), Trace.from_bytes(trace.to_bytes())):
        assert (loaded.prompt_parts, loaded.part_texts) == (trace.prompt_parts, trace.part_texts)
        assert all(isinstance(part, PromptPart) for part in loaded.prompt_parts)
        np.testing.assert_array_equal(loaded.extras["part_shares"], trace.extras["part_shares"])


@pytest.mark.parametrize("changes", [{"num_parts": 1}, {"num_parts": 3}])
def test_shares_of_other_parts_make_no_file(changes):
    trace = make_trace(prompt_parts=(A, B))
    content = replace(trace, extras={"part_shares": shares_of(trace, **changes)}).to_bytes()
    with pytest.raises(TraceFileError, match="the extra part_shares has shape"):
        Trace.from_bytes(content)


def test_shares_above_one_are_refused():
    trace = make_trace()
    content = replace(trace, extras={"part_shares": 6 * shares_of(trace, 0)}).to_bytes()
    with pytest.raises(TraceFileError, match=r"part_shares must lie in \[-0.01, 1.01\]"):
        Trace.from_bytes(content)


def test_a_file_of_before_has_no_parts():
    content = make_trace(prompt_parts=(A, B)).to_bytes()
    length = int.from_bytes(content[:8], "little")
    known = json.loads(json.loads(content[8 : 8 + length])["__metadata__"]["rauq_trace"])
    del known["part_texts"]
    assert Trace.from_bytes(save(load(content), {"rauq_trace": json.dumps(known)})).prompt_parts == (A, B)
    del known["prompt_parts"]
    assert Trace.from_bytes(save(load(content), {"rauq_trace": json.dumps(known)})).prompt_parts == ()
