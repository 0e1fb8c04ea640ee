"""JSON that anyone may have written becomes typed records, or an error that says what was got and what is allowed."""

import json
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from pydantic import Field

from analysis.typed_json import parsed


@dataclass(frozen=True, kw_only=True)
class Inner:
    share: float


@dataclass(frozen=True, kw_only=True)
class Row:
    number: Annotated[int, Field(ge=1, le=9)]
    right: bool
    state: Literal["new", "old"] = "new"
    words: tuple[str, ...] = ()
    inner: Inner | None = None


WHOLE = {"number": 3, "right": True, "state": "old", "words": ["a", "b"], "inner": {"share": 0.5}}


def test_a_record_is_read_back():
    row = Row(number=3, right=True, state="old", words=("a", "b"), inner=Inner(share=0.5))
    assert parsed(Row, json.dumps(WHOLE)) == row
    assert parsed(tuple[Row, ...], json.dumps([WHOLE, WHOLE]).encode()) == (row, row)
    assert parsed(Row, '{"number": 1, "right": false}') == Row(number=1, right=False)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"number": 10}, "number is 10: Input should be less than or equal to 9"),
        ({"number": 10**400}, "number is 1000.*: Input should be less than or equal to 9"),
        ({"number": True}, "number is True: Input should be a valid integer"),
        ({"number": "3"}, "number is '3': Input should be a valid integer"),
        ({"number": 3.0}, r"number is 3\.0: Input should be a valid integer"),
        ({"right": 1}, "right is 1: Input should be a valid boolean"),
        ({"state": "none"}, "state is 'none': Input should be 'new' or 'old'"),
        ({"words": "ab"}, "words is 'ab': Input should be a valid array"),
        ({"words": ["a", None]}, r"words\.1 is None: Input should be a valid string"),
        ({"words": ["\ud800"]}, "the text is .*: Invalid JSON"),
        ({"inner": {"share": "much"}}, r"inner\.share is 'much': Input should be a valid number"),
        ({"more": 1}, "more is 1: Unexpected keyword argument"),
    ],
    ids=str,
)
def test_what_a_record_does_not_hold_is_named(change, said):
    with pytest.raises(ValueError, match=said):
        parsed(Row, json.dumps(WHOLE | change))


@pytest.mark.parametrize(
    "text", ["", "{", b"\xff", "null", "[]", "[" * 100_000, "9" * 100_000, '{"number": 3}'], ids=len
)
def test_what_is_no_record_is_refused_in_one_short_line(text):
    with pytest.raises(ValueError, match="is ") as error:
        parsed(Row, text)
    assert len(str(error.value)) < 300
    assert "\n" not in str(error.value)
