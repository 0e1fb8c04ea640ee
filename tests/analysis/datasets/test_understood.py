"""What other people's tables hold, by their columns, and what has to be asked."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from analysis.datasets.columns import columns_of, text_of
from analysis.datasets.own_files import read_table
from analysis.datasets.rows import data_set, examples_from
from analysis.datasets.understood import UnclearColumns, known_columns, understand
from rauq.errors import InvalidInput
from tests.analysis.datasets.layouts import ASKED, ASKED_ABOUT, KNOWN, RIGHT, chat, rows_of


def table_of(rows, name="mine.jsonl"):
    return read_table("".join(json.dumps(row) + "\n" for row in rows).encode(), name)


@pytest.mark.parametrize(("layout", "columns"), KNOWN.values(), ids=KNOWN)
def test_layouts_are_known_by_their_columns(layout, columns):
    table = table_of(rows_of(layout))
    found = understand(table)
    assert found.doubts == ()
    assert text_of(found.columns) == columns
    assert columns_of(columns) == found.columns
    data = examples_from(table, found.columns)
    assert (len(data.examples), data.rejected) == (len(ASKED), ())
    assert all(text in example.prompt for text, example in zip(ASKED, data.examples, strict=True))


@pytest.mark.parametrize(("layout", "readings"), ASKED_ABOUT.values(), ids=ASKED_ABOUT)
def test_what_has_two_likely_readings_is_asked(layout, readings):
    table = table_of(rows_of(layout))
    found = understand(table)
    assert found.doubts
    assert sorted(text_of(columns) for _, columns in found.readings) == sorted(readings)
    assert len({label for label, _ in found.readings}) == len(readings)
    with pytest.raises(UnclearColumns, match=r"^mine\.jsonl: .*\?") as caught:
        known_columns(table)
    assert all(f"--columns {reading}" in caught.value.for_shell for reading in readings)


def test_the_options_for_python_give_the_same_columns():
    from analysis.datasets.columns import Columns

    with pytest.raises(UnclearColumns) as caught:
        data_set(pd.DataFrame(rows_of(ASKED_ABOUT["BoolQ"][0])))
    lines = [line for line in str(caught.value).splitlines() if "columns=analysis." in line]
    written = [eval(line.partition("columns=analysis.")[2], {"Columns": Columns}) for line in lines]  # noqa: S307 - ours
    assert written == [columns for _, columns in caught.value.understanding.readings]


def examples_of(name, layouts=KNOWN):
    table = table_of(rows_of(layouts[name][0]))
    return examples_from(table, understand(table).columns)


@pytest.mark.parametrize("name", ["OpenAI", "OpenAI, parts", "ShareGPT", "OpenAssistant", "Gemini", "messages as text"])
def test_the_last_message_of_the_assistant_is_the_answer(name):
    data = examples_of(name)
    assert [example.prompt for example in data.examples] == list(ASKED)
    assert [example.answer.removeprefix("it's ") for example in data.examples] == list(RIGHT)
    assert {example.conversation for example in data.examples} == {""}  # one question is a prompt as any other


def test_earlier_messages_stay_with_the_prompt():
    system = {"role": "system", "content": "Be brief."}
    rows = [{"messages": [system, *chat(ASKED[0], "Porto", "Sure?", "Lisbon")]}]
    (example,) = examples_from(table_of(rows), columns_of("prompt=messages")).examples
    assert (example.prompt, example.answer) == ("Sure?", "Lisbon")
    assert example.given == [system, *chat(ASKED[0], "Porto", "Sure?")]


def test_a_conversation_that_cannot_be_answered_is_rejected_with_the_reason():
    rows = [{"messages": chat(ASKED[0], RIGHT[0])}, {"messages": [{"role": "wizard", "content": "Hi"}]}]
    data = examples_from(table_of(rows), columns_of("prompt=messages"))
    assert len(data.examples) == 1
    assert "'wizard'" in data.rejected[0].reason


@pytest.mark.parametrize(
    ("name", "quality"),
    [
        ("HaluEval", [1, 0, 0, 0, 0]),
        ("RAGTruth", [1, 0, 1, 0, 1]),
        ("LettuceDetect", [1, 0, 1, 0, 1]),
        ("German verdict", [1, 0, 0, 0, 0]),
        ("words of a verdict", [1, 0, 0, 0, 0]),
        ("pass and fail", [1, 0, 0, 0, 0]),
        ("a verdict as bool", [1, 0, 0, 0, 0]),
        ("ratings", [0, 1, 2, 3, 4]),
    ],
)
def test_verdicts_are_read_the_right_way_round(name, quality):
    assert [example.quality for example in examples_of(name).examples] == quality


def test_marked_places_are_texts_of_the_answer():
    for name in ("RAGTruth", "LettuceDetect"):
        assert [example.wrong for example in examples_of(name).examples] == [(), ("Gr",), (), ("Ma",), ()]


@pytest.mark.parametrize("name", [name for name, (_, columns) in KNOWN.items() if "choices=" in columns])
def test_choices_follow_the_question_and_the_reference_is_a_letter(name):
    data = examples_of(name)
    assert data.quality == "accuracy"
    for example, asked, right in zip(data.examples, ASKED, RIGHT, strict=True):
        (correct,) = example.references
        assert asked in example.prompt
        assert f"\n{correct}. {right}\n" in example.prompt
        assert re.search(r"\nA\. .+\nB\. .+\n(C\. .+\n)?Answer:$", example.prompt)
    assert len({example.references for example in data.examples}) > 1


def test_a_solution_gives_its_result():
    assert [example.references for example in examples_of("GSM8K").examples] == [(f"{n}",) for n in range(1, 6)]
    assert examples_of("MATH").examples[3].references == (r"\frac{3}{7}",)
    assert {examples_of(name).quality for name in ("GSM8K", "MATH")} == {"accuracy"}


def test_squad_as_pandas_writes_it():
    rows = rows_of(KNOWN["SQuAD"][0])
    for row in rows:
        row["answers"] = {key: np.array(value) for key, value in row["answers"].items()}
    content = pd.DataFrame(rows).to_csv(index=False).encode()
    assert "array([" in content.decode()
    table = read_table(content, "squad.csv")
    assert examples_from(table, understand(table).columns).examples == examples_of("SQuAD").examples


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (
            "ragas",
            (
                "prompt: question, such as 'Capital of Portugal?'; answer to score: answer, such as 'Porto'; "
                "references: ground_truth, such as 'Lisbon'; source: contexts"
            ),
        ),
        (
            "TruthfulQA",
            (
                "prompt: Question, such as 'Capital of Portugal?'; the model answers; references: Correct Answers, "
                "Best Answer, between semicolons, 2 on average, such as 'Lisbon'; group: Category; not used: Type, "
                "Incorrect Answers"
            ),
        ),
        (
            "HaluEval",
            (
                "prompt: question, such as 'Capital of Portugal?'; answer to score: answer, such as 'Porto'; verdict: "
                "hallucination, no = correct; source: knowledge; id: ID"
            ),
        ),
        (
            "MMLU",
            (
                "prompt: question, with the choices in choices, such as 'Capital of Portugal? A. Lisbon B. x C. y "
                "Answer:'; the model answers; references: answer, as the letter of the right choice, such as 'A'; "
                "group: subject"
            ),
        ),
        (
            "RAGTruth",
            (
                "prompt: prompt, such as 'Capital of Portugal?'; answer to score: response, such as 'Porto'; verdict: "
                "labels, an empty list = correct; wrong texts: labels; id: id; not used: source_id, quality"
            ),
        ),
        (
            "OpenAI",
            (
                "prompt: messages, such as 'Capital of Portugal?'; answer to score: the assistant's last message, such "
                "as 'Lisbon'"
            ),
        ),
    ],
)
def test_what_was_understood_is_said_in_one_line(name, said):
    assert examples_of(name).understood == said


@pytest.mark.parametrize("text", ["prompt", "answer=a", "prompt=", "prompt=a,luck=b", "prompt=a,answer=b,answer=c", ""])
def test_columns_that_cannot_be_named_are_an_error(text):
    with pytest.raises(InvalidInput, match="give FIELD=COLUMN"):
        columns_of(text)


def test_a_column_whose_name_has_a_comma_is_quoted():
    columns = columns_of('"prompt=a, b",references=c,references=d,separator=bar')
    assert (columns.prompt, columns.references, columns.separator) == ("a, b", ("c", "d"), "bar")
    assert columns_of(text_of(columns)) == columns
    assert columns_of('prompt=q, "references=a, b"').references == ("a, b",)  # also after a space
