"""MMLU (Hendrycks et al., 2021): multiple choice in 57 subjects; the answer is a letter.

{"question": "Find the degree for the given field extension Q(sqrt(2)) over Q.", "subject": "abstract_algebra",
 "choices": ["0", "4", "2", "6"], "answer": 2}
"""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, PaperSet, Row, prompt_of, text_of, texts_of
from rauq.errors import InvalidInput

LETTERS = "ABCD"

_FORM = Form(
    base="Multiple choice questions about {subject}, each answered with its letter.",
    instruct="Answer the last question about {subject} with the letter of the right choice, and nothing else.",
)


def example(row: Row, asking: Asking) -> Example:
    """One question with its choices, after solved ones of the same subject; the stratum is the subject."""
    subject = text_of(row, "subject").replace("_", " ")
    form = Form(base=_FORM.base.format(subject=subject), instruct=_FORM.instruct.format(subject=subject))
    solved = [(_asked(shot), _letter(shot)) for shot in asking.solved]
    return Example(
        id=asking.id,
        prompt=prompt_of(form, asking.kind, _asked(row), solved),
        references=(_letter(row),),
        question=_asked(row),
        stratum=subject,
    )


def _asked(row: Row) -> str:
    choices = texts_of(row, "choices")
    if len(choices) != len(LETTERS):
        message = f"'choices' holds {len(choices)}; {len(LETTERS)} are needed."
        raise InvalidInput(message)
    listed = [f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=True)]
    return "\n".join([text_of(row, "question"), *listed])


def _letter(row: Row) -> str:
    answer = row.get("answer")
    if not isinstance(answer, int) or not 0 <= answer < len(LETTERS):
        message = f"'answer' is {answer!r:.40}; a number from 0 to {len(LETTERS) - 1} is needed."
        raise InvalidInput(message)
    return LETTERS[answer]


MMLU = PaperSet(
    id="mmlu",
    title="MMLU",
    hub_id="cais/mmlu",
    config="all",
    split="test",
    few_shot_split="dev",
    n_shot=5,
    shared="subject",
    size=2000,
    max_new_tokens=3,
    quality="accuracy",
    columns=("question", "subject", "choices", "answer"),
    example=example,
)
