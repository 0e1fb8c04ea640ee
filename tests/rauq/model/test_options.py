"""Options that calls share: each kind has its own, and an unknown one is refused by the name of the call."""

import pytest

from rauq.model.options import (
    AnswerOptions,
    CaptureOptions,
    DrawOptions,
    LimitOptions,
    PromptOptions,
    SampleOptions,
    parts,
)

KINDS = (PromptOptions, CaptureOptions, LimitOptions, DrawOptions)


def test_every_option_has_one_kind_and_goes_to_it():
    named = [name for kind in KINDS for name in kind.__annotations__]
    assert len(set(named)) == len(named)
    assert set(SampleOptions.__annotations__) == set(named)
    assert set(AnswerOptions.__annotations__) == set(named) - set(DrawOptions.__annotations__)
    given = dict.fromkeys(named, 1)
    assert [set(part) for part in parts("call", given, *KINDS)] == [set(kind.__annotations__) for kind in KINDS]
    assert parts("call", {"stop": None}, *KINDS) == [{}, {}, {"stop": None}, {}]


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("generate", {"max_token": 3}),
        ("generate_batch", {"temperature": 1.0}),
        ("read", {"stop": None}),
        ("read_batch", {"cancel": None}),
        ("sample", {"do_sample": True}),
        ("sample_batch", {"top_p": 0.5}),
        ("encode", {"extras": ()}),
    ],
)
def test_an_option_that_a_call_does_not_have_is_refused_with_those_it_has(lm, call, given):
    arguments = {
        "read": ("Q", "A"),
        "read_batch": ([("Q", "A")],),
        "generate_batch": (["Q"],),
        "sample_batch": (["Q"],),
    }
    seeds = {"seeds": [0]} if call == "sample_batch" else {}
    (name,) = given
    with pytest.raises(
        TypeError, match=rf"{call}\(\) got an unexpected keyword argument '{name}'; its options are chat"
    ):
        getattr(lm, call)(*arguments.get(call, ("Q",)), **seeds, **given)
