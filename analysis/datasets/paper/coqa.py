"""CoQA (Reddy et al., 2019): conversations about a story; each question follows on those before it.

{"source": "wikipedia", "story": "The Vatican Apostolic Library is the library of the Holy See. ...",
 "questions": ["When was the Vat formally opened?", "what is the library for?", ...],
 "answers": {"input_text": ["It was formally established in 1475", "research", ...],
             "answer_start": [151, 454, ...], "answer_end": [179, 494, ...]}}

One row gives an example for each of its questions: the story, all questions before it with their true answers, then
the question itself.
"""

from collections.abc import Sequence

from analysis.datasets.example import Example
from analysis.datasets.paper_set import (
    Asking,
    Form,
    PaperSet,
    Row,
    label_of,
    part_of,
    prompt_of,
    text_of,
    texts_of,
)
from rauq.errors import InvalidInput

_FORM = Form(
    base="Questions about the text, with short answers.",
    instruct="Answer the last question about the text in a few words.",
)


def expand(row: Row) -> Sequence[Row]:
    """One row for each question of the conversation, with `turn`, its place in it."""
    return [{**row, "turn": turn} for turn in range(len(texts_of(row, "questions")))]


def example(row: Row, asking: Asking) -> Example:
    """The question at the row's `turn`, after those before it; the stratum is where the story is from."""
    turn, questions, answers = row["turn"], texts_of(row, "questions"), texts_of(part_of(row, "answers"), "input_text")
    if len(answers) != len(questions):
        message = f"'answers' holds {len(answers)}, and 'questions' {len(questions)}; as many are needed."
        raise InvalidInput(message)
    before = list(zip(questions[:turn], answers[:turn], strict=True))
    first, _, conversation = prompt_of(_FORM, asking.kind, questions[turn], before).partition("\n\n")
    return Example(
        id=f"{asking.id}-{turn}",
        prompt=f"{first}\n\nText: {text_of(row, 'story')}\n\n{conversation}",
        references=(answers[turn],) if answers[turn] else (),
        question=questions[turn],
        stratum=label_of(row, "source"),
    )


COQA = PaperSet(
    id="coqa",
    title="CoQA",
    hub_id="stanfordnlp/coqa",
    split="validation",
    n_shot=None,
    size=2000,
    max_new_tokens=20,
    quality="alignscore",
    columns=("story", "questions", "answers"),
    example=example,
    expand=expand,
)
