"""What other people's tables hold, by their columns: known layouts, further ones, and what has to be asked."""

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

ASKED = ("Capital of Portugal?", "Capital of Austria?", "Who painted the Night Watch?", "Largest planet?", "Gold?")
RIGHT = ("Lisbon", "Vienna", "Rembrandt", "Jupiter", "Au")
WRONG = ("Porto", "Graz", "Vermeer", "Mars", "Ag")


def chat(*texts, role="role", content="content", names=("user", "assistant")):
    return [{role: names[place % 2], content: text} for place, text in enumerate(texts)]


def placed(right, number):
    """Three choices, of which the right one has another place in every row."""
    others = ["x", "y"]
    others.insert(number % 3, right)
    return others


def letter(number):
    return "ABC"[number % 3]


# One row of each layout, from a question, a correct and an incorrect answer and a number, and what its columns are.
KNOWN = {
    "OpenAI": (lambda q, a, w, n: {"messages": chat(q, a)}, "prompt=messages"),
    "OpenAI, parts": (
        lambda q, a, w, n: {"messages": chat([{"type": "text", "text": q}], [{"type": "text", "text": a}])},
        "prompt=messages",
    ),
    "ShareGPT": (
        lambda q, a, w, n: {
            "id": n,
            "conversations": chat(q, a, role="from", content="value", names=("human", "gpt")),
        },
        "prompt=conversations,id=id",
    ),
    "OpenAssistant": (
        lambda q, a, w, n: {"messages": chat(q, a, content="text", names=("prompter", "assistant"))},
        "prompt=messages",
    ),
    "Gemini": (
        lambda q, a, w, n: {"contents": chat([{"text": q}], [{"text": a}], content="parts", names=("user", "model"))},
        "prompt=contents",
    ),
    "messages as text": (lambda q, a, w, n: {"messages": repr(chat(q, f"it's {a}"))}, "prompt=messages"),
    "messages, reference": (
        lambda q, a, w, n: {"messages": chat(q), "answer": a},
        "prompt=messages,references=answer",
    ),
    "SQuAD": (
        lambda q, a, w, n: {
            "id": f"5{n}",
            "title": "T",
            "context": f"It is {a}.",
            "question": q,
            "answers": {"text": [a, a.upper()], "answer_start": [6, 6]},
        },
        "prompt=context,prompt=question,references=answers,source=context,question=question,id=id",
    ),
    "TriviaQA": (
        lambda q, a, w, n: {
            "question": q,
            "question_id": f"t{n}",
            "entity_pages": {"title": []},
            "answer": {"aliases": [a, a.lower()], "type": "W", "normalized_value": a.lower(), "value": a},
        },
        "prompt=question,references=answer,id=question_id",
    ),
    "MMLU": (
        lambda q, a, w, n: {"question": q, "subject": "geography", "choices": placed(a, n), "answer": n % 3},
        "prompt=question,references=answer,choices=choices,group=subject",
    ),
    "MMLU as CSV": (
        lambda q, a, w, n: {"question": q, **dict(zip("ABC", placed(a, n), strict=True)), "answer": letter(n)},
        "prompt=question,references=answer,choices=A,choices=B,choices=C",
    ),
    "MMLU-Pro": (
        lambda q, a, w, n: {
            "question_id": n,
            "question": q,
            "options": placed(a, n),
            "answer": letter(n),
            "answer_index": n % 3,
        },
        "prompt=question,references=answer,choices=options,id=question_id",
    ),
    "ARC": (
        lambda q, a, w, n: {
            "id": f"M{n}",
            "question": q,
            "choices": {"text": placed(a, n), "label": ["1", "2", "3"]},
            "answerKey": str(n % 3 + 1),
        },
        "prompt=question,references=answerKey,choices=choices,id=id",
    ),
    "CommonsenseQA": (
        lambda q, a, w, n: {
            "id": n,
            "question": q,
            "choices": {"text": placed(a, n), "label": ["A", "B", "C"]},
            "answerKey": letter(n),
        },
        "prompt=question,references=answerKey,choices=choices,id=id",
    ),
    "MedMCQA": (
        lambda q, a, w, n: {
            "id": n,
            "question": q,
            **dict(zip(("opa", "opb", "opc"), placed(a, n), strict=True)),
            "cop": n % 3,
        },
        "prompt=question,references=cop,choices=opa,choices=opb,choices=opc,id=id",
    ),
    "MedMCQA, from 1": (
        lambda q, a, w, n: {
            "id": n,
            "question": q,
            **dict(zip(("opa", "opb", "opc"), placed(a, n), strict=True)),
            "cop": n % 3 + 1,
        },
        "prompt=question,references=cop,choices=opa,choices=opb,choices=opc,id=id",
    ),
    "SocialIQA": (
        lambda q, a, w, n: {
            "context": "C.",
            "question": q,
            **dict(zip(("answerA", "answerB", "answerC"), placed(a, n), strict=True)),
            "label": str(n % 3 + 1),
        },
        (
            "prompt=context,prompt=question,references=label,choices=answerA,choices=answerB,choices=answerC,"
            "source=context,question=question"
        ),
    ),
    "CosmosQA": (
        lambda q, a, w, n: {
            "id": f"c{n}",
            "context": "C.",
            "question": q,
            **dict(zip(("answer0", "answer1", "answer2"), placed(a, n), strict=True)),
            "label": n % 3,
        },
        (
            "prompt=context,prompt=question,references=label,choices=answer0,choices=answer1,choices=answer2,"
            "source=context,question=question,id=id"
        ),
    ),
    "MedQA": (
        lambda q, a, w, n: {
            "question": q,
            "answer": a,
            "options": dict(zip("ABC", placed(a, n), strict=True)),
            "meta_info": "step1",
            "answer_idx": letter(n),
        },
        "prompt=question,references=answer,choices=options",
    ),
    "the text of the right choice": (
        lambda q, a, w, n: {"question": q, "options": placed(a, n), "answer": a},
        "prompt=question,references=answer,choices=options",
    ),
    "RACE": (
        lambda q, a, w, n: {"article": "T.", "answer": letter(n), "question": q, "options": placed(a, n)},
        "prompt=article,prompt=question,references=answer,choices=options,source=article,question=question",
    ),
    "GSM8K": (
        lambda q, a, w, n: {"question": q, "answer": f"{n} + 1 = <<{n}+1={n + 1}>>{n + 1}.\n#### {n + 1}"},
        "prompt=question,references=answer",
    ),
    "MATH": (
        lambda q, a, w, n: {
            "problem": q,
            "level": f"Level {n}",
            "solution": rf"So it is $\boxed{{\frac{{{n}}}{{7}}}}$.",
        },
        "prompt=problem,references=solution,stratum=level",
    ),
    "HaluEval": (
        lambda q, a, w, n: {
            "ID": n,
            "knowledge": "K",
            "question": q,
            "answer": w,
            "hallucination": "yes" if n else "no",
        },
        "prompt=question,answer=answer,incorrect=hallucination,source=knowledge,id=ID",
    ),
    "HaluEval, pairs": (
        lambda q, a, w, n: {"knowledge": "K", "question": q, "right_answer": a, "hallucinated_answer": w},
        "prompt=knowledge,prompt=question,references=right_answer,source=knowledge,question=question",
    ),
    "Alpaca": (
        lambda q, a, w, n: {"instruction": "Name the capital.", "input": q, "output": a},
        "prompt=instruction,prompt=input,references=output",
    ),
    "Dolly": (
        lambda q, a, w, n: {"instruction": q, "context": "" if n else "C", "response": a, "category": "open_qa"},
        "prompt=instruction,prompt=context,references=response,group=category",
    ),
    "TruthfulQA": (
        lambda q, a, w, n: {
            "Type": "Adversarial",
            "Category": "Myths",
            "Question": q,
            "Best Answer": a,
            "Correct Answers": f"{a}; It is {a}",
            "Incorrect Answers": w,
        },
        "prompt=Question,references=Correct Answers,references=Best Answer,group=Category,separator=semicolon",
    ),
    "RAGTruth": (
        lambda q, a, w, n: {
            "id": n,
            "source_id": "1",
            "prompt": q,
            "labels": [{"start": 0, "end": 2, "text": w[:2], "label_type": "Conflict"}] if n % 2 else [],
            "quality": "good",
            "response": w,
        },
        "prompt=prompt,answer=response,incorrect=labels,wrong=labels,id=id",
    ),
    "LettuceDetect": (
        lambda q, a, w, n: {
            "prompt": q,
            "answer": w,
            "labels": [{"start": 0, "end": 2}] if n % 2 else [],
            "split": "x",
        },
        "prompt=prompt,answer=answer,incorrect=labels,wrong=labels",
    ),
    "ragas": (
        lambda q, a, w, n: {"question": q, "answer": w, "contexts": ["c", "d"], "ground_truth": a},
        "prompt=question,references=ground_truth,answer=answer,source=contexts",
    ),
    "ragas 0.2": (
        lambda q, a, w, n: {"user_input": q, "retrieved_contexts": ["c"], "response": w, "reference": a},
        "prompt=user_input,references=reference,answer=response,source=retrieved_contexts",
    ),
    "deepeval": (
        lambda q, a, w, n: {"input": q, "actual_output": w, "expected_output": a, "context": ["c"]},
        "prompt=input,references=expected_output,answer=actual_output,source=context",
    ),
    "PopQA": (
        lambda q, a, w, n: {"id": n, "subj": "s", "obj": a, "question": q, "possible_answers": json.dumps([a, "x"])},
        "prompt=question,references=possible_answers,id=id",
    ),
    "predictions": (
        lambda q, a, w, n: {"question": q, "answer": a, "prediction": w},
        "prompt=question,references=answer,answer=prediction",
    ),
    "camel case": (
        lambda q, a, w, n: {"userQuery": q, "groundTruth": a, "modelResponse": w},
        "prompt=userQuery,references=groundTruth,answer=modelResponse",
    ),
    "Chinese": (
        lambda q, a, w, n: {"问题": q, "标准答案": a, "模型回答": w},
        "prompt=问题,references=标准答案,answer=模型回答",
    ),
    "German verdict": (
        lambda q, a, w, n: {"Frage": q, "Antwort": w, "richtig": "nein" if n else "ja"},
        "prompt=Frage,answer=Antwort,correct=richtig",
    ),
    "words of a verdict": (
        lambda q, a, w, n: {"question": q, "model_answer": w, "label": "hallucinated" if n else "supported"},
        "prompt=question,answer=model_answer,correct=label",
    ),
    "pass and fail": (
        lambda q, a, w, n: {"query": q, "output": w, "verdict": "FAIL" if n else "PASS"},
        "prompt=query,answer=output,correct=verdict",
    ),
    "a verdict as bool": (
        lambda q, a, w, n: {"prompt": q, "completion": w, "is_hallucinated": bool(n)},
        "prompt=prompt,answer=completion,incorrect=is_hallucinated",
    ),
    "ratings": (
        lambda q, a, w, n: {"prompt": q, "response": w, "rating": n},
        "prompt=prompt,answer=response,quality=rating",
    ),
    "index of pandas": (lambda q, a, w, n: {"": n, "question": q, "answer": a}, "prompt=question,references=answer"),
    "TruthfulQA, with the address of its source": (
        lambda q, a, w, n: {
            "Question": q,
            "Best Answer": a,
            "Correct Answers": f"{a}; It is {a}",
            "Source": f"https://en.wikipedia.org/wiki/{n}",
        },
        "prompt=Question,references=Correct Answers,references=Best Answer,separator=semicolon",
    ),
    "WinoGrande": (
        lambda q, a, w, n: {
            "sentence": f"{q} Since _ is.",
            "option1": w if n % 2 else a,
            "option2": a if n % 2 else w,
            "answer": str(n % 2 + 1),
        },
        "prompt=sentence,references=answer,choices=option1,choices=option2",
    ),
    "OpenAI evals": (
        lambda q, a, w, n: {"input": [{"role": "system", "content": "Be brief."}, *chat(q)], "ideal": a},
        "prompt=input,references=ideal",
    ),
    "a conversation and an answer beside it": (
        lambda q, a, w, n: {"messages": chat(q), "response": w, "correct": n % 2 == 0},
        "prompt=messages,answer=response,correct=correct",
    ),
    "SimpleQA, graded": (
        lambda q, a, w, n: {"problem": q, "answer": a, "response": w, "grade": "INCORRECT" if n % 2 else "CORRECT"},
        "prompt=problem,references=answer,answer=response,correct=grade",
    ),
    "ratings, most of them 1": (
        lambda q, a, w, n: {"prompt": q, "response": w, "rating": [1, 1, 2, 1, 5][n]},
        "prompt=prompt,answer=response,quality=rating",
    ),
    "half a point": (
        lambda q, a, w, n: {"question": q, "model_answer": w, "score": n % 3 / 2},
        "prompt=question,answer=model_answer,quality=score",
    ),
    "from -1 to 1": (
        lambda q, a, w, n: {"query": q, "response": w, "score": [-1, -1, 0, 1, 2][n]},
        "prompt=query,answer=response,quality=score",
    ),
    "MTurk": (
        lambda q, a, w, n: {
            "HITId": f"H{n}",
            "Input.question": q,
            "Input.response": w,
            "Answer.label": "Incorrect" if n % 2 else "Correct",
        },
        "prompt=Input.question,answer=Input.response,correct=Answer.label",
    ),
    "ids that repeat": (
        lambda q, a, w, n: {"question_id": n // 2, "question": q, "response": w, "reference": a},
        "prompt=question,references=reference,answer=response",
    ),
}
# The same where something has two likely readings: the columns of each, in order.
ASKED_ABOUT = {
    "a label": (
        lambda q, a, w, n: {"prompt": q, "response": w, "label": n % 2},
        ["prompt=prompt,answer=response,correct=label", "prompt=prompt,answer=response,incorrect=label"],
    ),
    "a conversation with a label": (
        lambda q, a, w, n: {"messages": chat(q, w), "label": "yes" if n % 2 else "no"},
        ["prompt=messages,correct=label", "prompt=messages,incorrect=label"],
    ),
    "an answer beside an unread column": (
        lambda q, a, w, n: {"question": q, "answer": a, "remark": f"R{n}"},
        ["prompt=question,references=answer", "prompt=question,answer=answer"],
    ),
    "a response alone": (
        lambda q, a, w, n: {"prompt": q, "response": w},
        ["prompt=prompt,answer=response", "prompt=prompt,references=response"],
    ),
    "a hallucination score": (
        lambda q, a, w, n: {"prompt": q, "response": w, "hallucination_score": n / 7},
        ["prompt=prompt,answer=response", "prompt=prompt,references=response"],
    ),
    "yes and no": (
        lambda q, a, w, n: {"qid": f"a{n}", "question": q, "answer": "yes" if n % 2 else "no"},
        ["prompt=question,references=answer,id=qid", "prompt=question,id=qid"],
    ),
    "BoolQ": (
        lambda q, a, w, n: {"question": q, "passage": "P.", "answer": bool(n % 2)},
        [
            "prompt=passage,prompt=question,references=answer,source=passage,question=question",
            "prompt=passage,prompt=question,source=passage,question=question",
        ],
    ),
    "FELM": (
        lambda q, a, w, n: {
            "prompt": q,
            "response": f"{w}. Yes.",
            "segmented_response": [f"{w}.", "Yes."],
            "labels": [True, n % 2 == 0],
        },
        ["prompt=prompt,answer=response", "prompt=prompt,references=response"],
    ),
    "MT-Bench": (
        lambda q, a, w, n: {"question_id": n, "category": f"C{n}", "turns": [q, "Why?"], "reference": [a, a]},
        [
            "prompt=category,references=reference,id=question_id",
            "prompt=turns,references=reference,id=question_id",
        ],
    ),
    "two verdicts": (
        lambda q, a, w, n: {
            "question": q,
            "answer": w,
            "label": "FAIL" if n % 2 else "PASS",
            "score": n % 2,
        },
        ["prompt=question,answer=answer,correct=label", "prompt=question,answer=answer,correct=score"],
    ),
    "two conversations": (
        lambda q, a, w, n: {"prompt": q, "chosen": chat(q, a), "rejected": chat(q, w)},
        ["prompt=chosen", "prompt=rejected"],
    ),
    "AlpacaEval": (
        lambda q, a, w, n: {"instruction": q, "output": w, "generator": "gpt4"},
        ["prompt=instruction,answer=output", "prompt=instruction,references=output"],
    ),
    "PubMedQA": (
        lambda q, a, w, n: {
            "question": q,
            "long_answer": f"It is {a}.",
            "final_decision": ["yes", "no", "maybe"][n % 3],
        },
        ["prompt=question", "prompt=question,references=long_answer", "prompt=question,references=final_decision"],
    ),
    "nothing but choices": (
        lambda q, a, w, n: {"options": [a, w], "answer": n % 2},
        ["prompt=options", "prompt=answer"],
    ),
    "no known name": (lambda q, a, w, n: {"left": q, "right": a}, ["prompt=left", "prompt=right"]),
    "a label, no known prompt": (
        lambda q, a, w, n: {"left": q, "remark": f"R{n}", "response": w, "label": n % 2},
        [
            "prompt=left,answer=response,correct=label",
            "prompt=remark,answer=response,correct=label",
            "prompt=left,answer=response,incorrect=label",
            "prompt=remark,answer=response,incorrect=label",
        ],
    ),
}


def rows_of(layout):
    return [layout(*texts, number) for number, texts in enumerate(zip(ASKED, RIGHT, WRONG, strict=True))]


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
