"""What a URL says about an answer is restored exactly; links are not too long and contain a prompt only if needed."""

from itertools import product
from typing import get_args
from urllib.parse import parse_qsl, unquote_plus, urlsplit

import numpy as np
import pytest

from pages.ui.answer_sets import choices as of_sets
from pages.ui.methods import choices as of_methods
from pages.ui.shared import url_state
from pages.ui.shared.run_views.filters import Span
from pages.ui.shared.selection import Chosen
from pages.ui.shared.url_state import (
    DEFAULT_TOKENS,
    LONGEST,
    MOST_TOKENS,
    Asked,
    asking,
    codecs_of,
    link,
    read,
    read_asked,
    read_wrong,
    written,
    written_wrong,
)
from rauq.trace.trace import Alternative, Kind, StopReason
from tests.hostile import ATTACK
from tests.traces import make_trace

BASE = "http://127.0.0.1:8501/inspect"
PIECES = (b" Oslo", b" is", b" it")
GREEDY = tuple((Alternative(token, "", -0.1), Alternative(token + 1, "", -2.0)) for token in range(len(PIECES)))
OTHERWISE = (*GREEDY[:2], (Alternative(0, "", -0.1), Alternative(2, "", -0.2)))
PROMPTS = (
    *(
        "Where?",
        "Q: Who?\nA:",
        " \n",
        "\r\n\t",
        "a&b=c#d+e%20f;g?h/i",
        "%00%",
        "\x00\x07",
        "مرحبا",
        "\u202eabc",
        "🦜🏳️‍🌈",
    ),
    *(ATTACK, "\uffff\U0010ffff", "a" * 3000, "&prompt=other&model=evil&max_new_tokens=3", "+ +", "None", "0"),
)
STOPS = get_args(StopReason)


def long_trace(length, stop):
    """The model's own choice throughout."""
    row = (Alternative(0, "", -0.1),)
    choices = {"answer_ids": np.zeros(length, int), "alternatives": (row,) * length}
    return make_trace((b" a",) * length, stop_reason=stop, **choices)


def brought(address):
    """The parameters that a browser finds in a link."""
    return dict(parse_qsl(urlsplit(address).query, keep_blank_values=True))


def trace_of(prompt, *, stop="eos", alternatives=GREEDY, model="atlas", **changes):
    return make_trace(PIECES, prompt=prompt, stop_reason=stop, alternatives=alternatives, model=model, **changes)


def random_prompt(rng):
    """Any characters that a text can hold, lone surrogates apart."""
    codes = rng.choice([0x80, 0x800, 0x10000, 0x110000], 12)
    drawn = [int(rng.integers(end)) for end in codes] + [ord(mark) for mark in rng.permutation(list("&=#+% \n;?"))]
    return "".join(chr(code) for code in drawn if not 0xD800 <= code < 0xE000)


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: ascii(prompt[:20]))
@pytest.mark.parametrize("stop", STOPS)
def test_a_link_asks_for_what_leads_to_the_answer(prompt, stop):
    models = ("atlas", "some/model", "/a folder/of mine & yours")
    for alternatives, model, kind in product((GREEDY, OTHERWISE), models, get_args(Kind)):
        trace = trace_of(prompt, stop=stop, alternatives=alternatives, model=model, kind=kind)
        found = read_asked(brought(link(BASE, {}, trace)))
        assert found == asking(trace)
        assert found.kind == (None if model == "atlas" else kind)


def test_random_prompts_come_back():
    rng = np.random.default_rng(0)
    for prompt in (random_prompt(rng) for _ in range(500)):
        trace = trace_of(prompt)
        address = link(BASE, {}, trace)
        assert address.isascii()
        assert read_asked(brought(address)) == asking(trace), ascii(prompt)


@pytest.mark.parametrize("prompt", ["\ud800", "a\udfffb", "\udc80" * 100])
def test_a_lone_surrogate_does_not_break_a_link(prompt):
    found = read_asked(brought(link(BASE, {}, trace_of(prompt))))
    assert len(found.prompt) == len(prompt)
    found.prompt.encode()


@pytest.mark.parametrize("stop", STOPS)
@pytest.mark.parametrize("alternatives", [GREEDY, OTHERWISE, ((),) * 3], ids=["greedy", "otherwise", "unknown"])
def test_the_answer_is_asked_for_only_where_the_model_would_not_give_it(stop, alternatives):
    trace = trace_of("Where?", stop=stop, alternatives=alternatives)
    again = alternatives is GREEDY and stop in {"eos", "length"}  # a stop text other than a line break is in no link
    limit = len(PIECES) if again and stop == "length" else DEFAULT_TOKENS
    end = True if stop == "eos" and not again else None  # read as text, the end token would be lost
    expected = Asked(prompt="Where?", answer=None if again else " Oslo is it", max_new_tokens=limit, end=end)
    assert asking(trace) == expected


def test_a_longest_link_is_given_and_a_longer_one_is_not():
    bare = len(link(BASE, {}, trace_of("a")))
    longest = "a" * (LONGEST - bare + 1)
    assert len(link(BASE, {}, trace_of(longest))) == LONGEST
    assert link(BASE, {}, trace_of(longest + "a")) is None
    assert link(BASE, {"alpha": "0.5"}, trace_of(longest)) is None
    assert link(BASE, {}, trace_of("\n" * (LONGEST // 3))) is None


def test_a_link_to_a_recorded_answer_does_not_contain_its_prompt():
    query = {"example": "unknown-place", "alpha": "0.5", "token": "3", "prompt": "SECRET", "answer": "SECRET"}
    address = link(BASE, query, trace_of("SECRET", model="SECRET", alternatives=OTHERWISE))
    assert brought(address) == {"example": "unknown-place", "alpha": "0.5", "token": "3"}
    assert read_asked(brought(address)) is None
    assert link(BASE, query, trace_of("SECRET" * LONGEST)) == address


def test_the_name_of_an_answer_its_settings_selection_and_marks_travel_and_an_earlier_prompt_does_not():
    kept = {
        "kept": "a-name",
        "alpha": "0.5",
        "heads": "2-0.3-1",
        "layer": "1",
        "head": "3",
        "token": "2",
        "wrong": "0.2",
    }
    old = {"prompt": "another", "answer": "another", "model": "other", "max_new_tokens": "7"}
    found = brought(link(BASE, kept | old, trace_of("Where?")))
    assert found == kept | {"prompt": "Where?"}


@pytest.mark.parametrize("name", ["example", "run"])
def test_an_answer_that_anyone_can_open_is_named_by_that_alone(name):
    assert brought(link(BASE, {name: "one", "kept": "a-name"}, trace_of("Where?"))) == {name: "one"}


def test_a_prompt_too_long_for_a_link_is_left_out_where_the_answer_is_named():
    assert brought(link(BASE, {"kept": "a-name", "token": "1"}, trace_of("a" * LONGEST))) == {
        "kept": "a-name",
        "token": "1",
    }
    assert link(BASE, {"kept": "a" * LONGEST}, trace_of("Where?")) is None


def test_marks_that_came_with_a_trace_travel_too():
    assert brought(link(BASE, {}, trace_of("Where?", wrong=(0, 2)))) == {"wrong": "0.2", "prompt": "Where?"}
    assert brought(link(BASE, {"example": "one"}, trace_of("Where?", wrong=(1,)))) == {"wrong": "1", "example": "one"}
    assert brought(link(BASE, {"wrong": "none"}, trace_of("Where?")))["wrong"] == "none"


def test_a_link_has_no_more_than_it_needs():
    assert link(BASE, {}, trace_of("Where?")) == f"{BASE}?prompt=Where%3F"
    assert brought(link(BASE, {}, trace_of("Q", stop="length", model="a/b"))) == {
        "prompt": "Q",
        "model": "a/b",
        "kind": "base",
        "max_new_tokens": "3",
    }


@pytest.mark.parametrize("query", [{}, {"prompt": ""}, {"answer": "x", "model": "y"}, {"Prompt": "x"}])
def test_without_a_prompt_nothing_is_asked(query):
    assert read_asked(query) is None


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        *(("1", 1), ("7", 7), ("1024", MOST_TOKENS), ("0", 1), ("0000", 1), ("1025", MOST_TOKENS)),
        *(
            ("99999", MOST_TOKENS),
            ("999999999", MOST_TOKENS),
            ("9" * 10, DEFAULT_TOKENS),
            ("9" * 5000, DEFAULT_TOKENS),
            ("-1", DEFAULT_TOKENS),
        ),
        *(
            ("", DEFAULT_TOKENS),
            ("x", DEFAULT_TOKENS),
            ("1e3", DEFAULT_TOKENS),
            ("٣", DEFAULT_TOKENS),
            ("²", DEFAULT_TOKENS),
        ),
        *((" 5", DEFAULT_TOKENS), ("5.0", DEFAULT_TOKENS), ("nan", DEFAULT_TOKENS), ("1_0", DEFAULT_TOKENS)),
    ],
)
def test_the_limit_is_brought_into_its_range(text, limit):
    assert read_asked({"prompt": "Q", "max_new_tokens": text}).max_new_tokens == limit


@pytest.mark.parametrize("kind", ["", "x", "Base", "<b>", "instruct\n", "1"])
def test_an_unknown_kind_is_left_to_the_model(kind):
    assert read_asked({"prompt": "Q", "kind": kind}) == Asked(prompt="Q")


@pytest.mark.parametrize("stop", ["length", "eos"])
@pytest.mark.parametrize("length", [1, 3, 200, MOST_TOKENS, MOST_TOKENS + 1])
def test_a_link_asks_for_as_many_tokens_as_the_answer_has(length, stop):
    found = read_asked(brought(link(BASE, {}, long_trace(length, stop))))
    if length > MOST_TOKENS:
        assert found.answer == " a" * length
    else:
        assert found.answer is None
        assert found.max_new_tokens == (length if stop == "length" else max(length, DEFAULT_TOKENS))


def test_marks_come_back():
    rng = np.random.default_rng(0)
    for num_tokens in (1, 2, 17, 200):
        for _ in range(50):
            marked = tuple(np.flatnonzero(rng.random(num_tokens) < rng.random()).tolist())
            assert read_wrong(written_wrong(rng.permutation(marked).tolist()), num_tokens) == (marked, True)
    assert (written_wrong(()), written_wrong([2, 0])) == ("none", "0.2")
    assert read_wrong("none", 0) == ((), True)


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        *(("3", ()), ("0.3", (0,)), ("2.0.99999", (0, 2)), ("100000", ()), ("-1", ()), ("0.-1", ()), ("", ())),
        *(("x", ()), ("1,2", ()), ("1.", ()), ("٣", ()), ("1\n", ()), ("None", ()), ("9" * 5000, ()), ("\ud800", ())),
        (".".join(["0"] * 1001), ()),
        (".".join(map(str, range(10**6))), ()),
    ],
    ids=lambda value: ascii(value)[:12],
)
def test_marks_out_of_range_are_reported(text, marked):
    assert read_wrong(text, 3) == (marked, False)


def test_marks_are_written_once_each_and_in_order():
    assert read_wrong("2.0.2.0", 3) == ((0, 2), True)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0", 0), ("007", 7), ("999999999", 999_999_999), *((bad, None) for bad in ("1" * 10, "", "-1", "1.0", "٣", "²"))],
)
def test_a_number_of_a_link_is_from_0_up_or_none(text, value):
    assert url_state.number(text) == value


def test_the_prompt_of_a_link_is_escaped_whole():
    address = link(BASE, {}, trace_of("a b&c"))
    assert unquote_plus(urlsplit(address).query) == "prompt=a b&c"
    assert "&" not in address


FILTERED = {"group": "a b&c", "quality": Span(-0.5, 1.0), "length": Span(3, 28), "text": "<b>"}


@pytest.mark.parametrize(
    "asked",
    [
        Chosen(layer=3, head=0, token=17, passage=2, colour="entropy"),
        of_sets.Asked(
            view="best",
            listed="unclear",
            layer=31,
            head=5,
            tokens="fact",
            offset=2,
            k=5,
            added=10,
            first="a b&c",
            second="run:other",
            above=0.75,
            below=-2.5,
            **FILTERED,
        ),
        of_methods.Asked(
            view="errors",
            metric="roc_auc",
            method="msp",
            methods=("rauq", "msp"),
            table="update",
            published="llama_functions.Llama-3.1 8B",
            tokens="fact",
            token_signal="entropy",
            signal="entropy",
            alignment="own",
            beside=("one.run", "another-run"),
            layout="tasks_base",
            intervals="yes",
            **FILTERED,
        ),
    ],
    ids=lambda asked: type(asked).__module__.split(".")[2],
)
def test_all_that_a_page_can_say_in_its_url_is_read_back(asked):
    usual = type(asked)()
    query = written(asked, usual)
    assert None not in query.values()
    assert tuple(query) == tuple(codecs_of(type(asked)))
    assert read(query, usual) == (asked, ())
    assert set(written(usual, usual).values()) == {None}
