"""Tables of the user as data sets: what each cell means, and why a row is rejected."""

import json
from decimal import Decimal

import pytest

from analysis.datasets.columns import Columns
from analysis.datasets.own_files import read_table
from analysis.datasets.rows import correct_and_incorrect, examples_from
from analysis.datasets.table import make_table
from analysis.datasets.understood import understand
from rauq.errors import InvalidInput

PROMPT = Columns(prompt="prompt")


def table_of(*rows, name="a.jsonl"):
    return read_table("".join(json.dumps(row) + "\n" for row in rows).encode(), name)


def reasons(data):
    return [(row.row, row.reason) for row in data.rejected]


def test_every_column_goes_to_its_field():
    row = {
        **{"p": "Say 2?", "r": "two", "s": ["2", "II"], "a": "2", "q": "0.25", "g": "maths", "t": "easy"},
        **{"e": "factual", "f": '["2"]', "d": "A text.", "w": "2?", "i": 7, "x": ["II", "3"]},
    }
    columns = Columns(
        prompt="p",
        references=("r", "s"),
        answer="a",
        quality="q",
        group="g",
        stratum="t",
        error_label="e",
        facts="f",
        wrong="x",
        source="d",
        question="w",
        id="i",
    )
    (example,) = examples_from(table_of(row), columns).examples
    assert vars(example) == {
        **{"id": "7", "prompt": "Say 2?", "references": ("two", "2", "II"), "source": "A text.", "question": "2?"},
        "conversation": "",
        **{"answer": "2", "quality": 0.25, "group": "maths", "stratum": "easy", "error_label": "factual"},
        "facts": ("2",),
        **{"wrong": ("II", "3"), "wrong_spans": (), "unclear_spans": ()},
    }


def test_the_row_number_is_the_id_and_the_prompt_the_question_where_no_column_is():
    data = examples_from(read_table(b"prompt\nfirst\nsecond\n", "a.csv"), PROMPT)
    assert [(example.id, example.question) for example in data.examples] == [("1", "first"), ("2", "second")]
    assert (data.name, data.quality) == ("a.csv", "none")


@pytest.mark.parametrize(
    ("cell", "references"),
    [
        ("Paris", ("Paris",)),
        (["Paris", "paris", "Paris"], ("Paris", "paris")),
        ('["Paris", "Lutetia"]', ("Paris", "Lutetia")),
        ([4, "four"], ("4", "four")),
        ("[1, 2]", ("[1, 2]",)),
        ("[see below", ("[see below",)),
        (4, ("4",)),
        (True, ("True",)),
        ("", ()),
        (None, ()),
        (["", " "], ()),
    ],
)
def test_references(cell, references):
    (example,) = examples_from(
        table_of({"prompt": "Q", "r": cell}), Columns(prompt="prompt", references=("r",))
    ).examples
    assert example.references == references


@pytest.mark.parametrize(
    ("cells", "references"),
    [
        (["1969.0", "", "-3.0"], ["1969", "", "-3"]),
        ([7.0, None, 8.0], ["7", "", "8"]),
        (["1969.0", "1.5"], ["1969.0", "1.5"]),
        (["2.0"], ["2.0"]),
        (["2.0", "3.00"], ["2.0", "3.00"]),
        (["2.0", "version 3.0"], ["2.0", "version 3.0"]),
    ],
)
def test_whole_numbers_that_pandas_wrote_as_floats_are_whole_and_that_is_said(cells, references):
    table = table_of(*({"prompt": f"Q{number}", "r": cell} for number, cell in enumerate(cells)))
    data = examples_from(table, Columns(prompt="prompt", references=("r",)))
    assert ["".join(example.references) for example in data.examples] == references
    is_changed = references != ["" if cell is None else str(cell) for cell in cells]
    assert data.notes == (("The numbers in 'r' end with .0 and are read as whole numbers.",) if is_changed else ())


@pytest.mark.parametrize(("cell", "quality"), [(0.5, 0.5), ("1e-1", 0.1), (" 2 ", 2.0), (True, 1.0), ("", None)])
def test_quality_is_a_number(cell, quality):
    columns = Columns(prompt="prompt", answer="a", quality="q")
    data = examples_from(table_of({"prompt": "Q", "a": "A", "q": cell}), columns)
    assert [example.quality for example in data.examples] == [quality]
    assert data.quality == "given"


@pytest.mark.parametrize("cell", ["nan", "inf", "-Infinity", float("nan"), float("inf"), "0,5", "good", "1_0", [1]])
def test_a_quality_that_is_no_finite_number_is_rejected(cell):
    columns = Columns(prompt="prompt", answer="a", quality="q")
    data = examples_from(table_of({"prompt": "Q", "a": "A", "q": cell}), columns)
    assert data.examples == ()
    assert "number is needed" in data.rejected[0].reason


def test_a_decimal_of_parquet_is_a_number():
    table = make_table("a", ["prompt", "a", "q"], {1: ["Q", "A", Decimal("0.25")]})
    data = examples_from(table, Columns(prompt="prompt", answer="a", quality="q"))
    assert [example.quality for example in data.examples] == [0.25]


@pytest.mark.parametrize("words", ["true false", "1 0", "yes no", "right wrong", "Correct INCORRECT", "1.0 0.0"])
def test_correct_and_incorrect_columns(words):
    rows = [{"prompt": "Q", "a": "A", "c": word} for word in words.split()]
    data = examples_from(table_of(*rows), Columns(prompt="prompt", answer="a", correct="c"))
    assert [example.quality for example in data.examples] == [1.0, 0.0]
    assert data.quality == "given"


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"prompt": ""}, "'prompt' is empty"),
        ({"prompt": " \n"}, "'prompt' is empty"),
        ({"a": "A"}, "'prompt' is empty"),
        ({"prompt": {"role": "user"}}, "'prompt' holds an object; a text or a number is needed"),
        ({"prompt": ["a", "b"]}, "'prompt' holds a list"),
        ({"prompt": float("nan")}, "'prompt' holds nan"),
        ({"prompt": "a\ud800b"}, "not valid Unicode: it contains a lone surrogate"),
        ({"prompt": "a\0b"}, "zero byte"),
        ({"prompt": "x" * 100_001}, "100,001 characters; at most 100,000"),
        ({"prompt": "Q", "a": ""}, "'a' is empty"),
        ({"prompt": "Q", "a": "A", "r": [["nested"]]}, "'r' holds a list"),
        ({"prompt": "Q", "a": "A", "r": {"page": "x"}}, "'r' holds an object"),
        ({"prompt": "Q", "a": "A", "c": "maybe"}, "'c' is 'maybe'; a verdict such as true or false"),
        ({"prompt": "Q", "a": "A", "id": "used"}, "the id 'used' is used by an earlier row"),
        ({"prompt": "Q", "a": "A", "id": " "}, "'id' is empty"),
    ],
)
def test_a_row_that_cannot_be_used_is_rejected_and_the_others_are_not(row, reason):
    good = [{"prompt": "Q", "a": "A", "r": "R", "c": True, "id": name} for name in ("used", "other")]
    row = {"id": "third"} | row
    columns = Columns(prompt="prompt", answer="a", references=("r",), correct="c", id="id")
    data = examples_from(table_of(good[0], row, good[1]), columns)
    assert [example.id for example in data.examples] == ["used", "other"]
    assert [number for number, _ in reasons(data)] == [2]
    assert reason in data.rejected[0].reason


def test_what_reading_rejected_and_what_its_cells_reject_stand_in_the_order_of_the_file():
    data = examples_from(read_table(b"prompt,b\n ,1\n1\nQ,2\n,3\n1,2,3\n", "a.csv"), PROMPT)
    assert [row.row for row in data.rejected] == [1, 2, 4, 5]
    assert [example.id for example in data.examples] == ["3"]


def test_notes_on_reading_stay_with_the_examples():
    table = read_table("prompt,answer\né,è\n".encode("cp1252"), "a.csv")
    assert examples_from(table, PROMPT).notes == table.notes != ()
    both = correct_and_incorrect(table, table, Columns(prompt="prompt", answer="answer"))
    assert both.notes == tuple(f"a.csv: {note}" for note in table.notes) * 2


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (Columns(prompt="missing"), "no column 'missing'. It has 'prompt', 'a', 'q', 'c'"),
        (Columns(prompt="prompt", references=("r",)), "no column 'r'"),
        (Columns(prompt="prompt", answer="a", quality="q", correct="c"), "Choose one"),
        (Columns(prompt="prompt", quality="q"), "Name that column too"),
    ],
)
def test_columns_that_cannot_be_are_an_error(columns, said):
    with pytest.raises(InvalidInput, match=said):
        examples_from(table_of({"prompt": "Q", "a": "A", "q": 1, "c": 1}), columns)


def test_two_files_of_correct_and_of_incorrect_answers():
    right = read_table(b"id,prompt,answer,correct\n1,Q,A,0\n2,R,B,0\n", "right.csv")
    wrong = read_table(b"id,prompt,answer,correct\n1,Q,X,maybe\n2,R,,1\n", "wrong.csv")
    columns = Columns(prompt="prompt", answer="answer", correct="correct", id="id")
    data = correct_and_incorrect(right, wrong, columns)
    assert [(example.id, example.answer, example.quality) for example in data.examples] == [
        ("correct 1", "A", 1.0),
        ("correct 2", "B", 1.0),
        ("incorrect 1", "X", 0.0),
    ]
    assert reasons(data) == [(2, "wrong.csv: 'answer' is empty.")]
    assert data.quality == "given"
    with pytest.raises(InvalidInput, match="need a column with the answer"):
        correct_and_incorrect(right, wrong, PROMPT)


@pytest.mark.parametrize(
    ("header", "guessed"),
    [
        ("question,answer", Columns(prompt="question", references=("answer",))),
        ("Prompt,Response,is_correct", Columns(prompt="Prompt", answer="Response", correct="is_correct")),
        ("input,target,output", Columns(prompt="input", references=("target",), answer="output")),
        (
            "id,prompt,question,answer,score,correct,category",
            Columns(
                prompt="prompt",
                question="question",
                answer="answer",
                correct="correct",
                group="category",
                id="id",
            ),
        ),
        ("x,y", Columns(prompt="x")),
        ("id", Columns(prompt="id")),
        ("question,label,score", Columns(prompt="question")),
    ],
)
def test_guesses_of_columns_can_be_used(header, guessed):
    table = read_table(f"{header}\n{','.join('1' * len(header.split(',')))}\n".encode(), "a.csv")
    assert understand(table).columns == guessed
    assert len(examples_from(table, understand(table).columns).examples) == 1


def test_the_measure_can_be_chosen():
    table = table_of({"prompt": "Q", "reference": "A"})
    assert examples_from(table, understand(table).columns).quality == "contains"
    chosen = examples_from(table, understand(table).columns, quality="rouge_l", name="mine")
    assert (chosen.quality, chosen.quality_reason) == ("rouge_l", "")
