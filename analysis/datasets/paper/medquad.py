"""MedQUAD (Ben Abacha and Demner-Fushman, 2019): medical questions with long answers from health institutes.

{"qtype": "symptoms", "Question": "What are the symptoms of Glaucoma ?",
 "Answer": "Open-angle glaucoma has no symptoms at first. ..."}

The set has one split; a seeded half of it is asked, worked examples come from the other half.
"""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, PaperSet, Row, label_of, one_line, prompt_of, text_of

_FORM = Form(
    base="Medical questions, answered by experts.",
    instruct="Answer the last medical question in one paragraph, as in the examples.",
)


def example(row: Row, asking: Asking) -> Example:
    """One question after solved ones; the stratum is the type of the question."""
    question = one_line(text_of(row, "Question"))
    solved = [(one_line(text_of(shot, "Question")), text_of(shot, "Answer")) for shot in asking.solved]
    return Example(
        id=asking.id,
        prompt=prompt_of(_FORM, asking.kind, question, solved),
        references=(text_of(row, "Answer"),),
        question=question,
        stratum=label_of(row, "qtype"),
    )


MEDQUAD = PaperSet(
    id="medquad",
    title="MedQUAD",
    hub_id="keivalya/MedQuad-MedicalQnADataset",
    split="train",
    few_shot_split="train",
    n_shot=5,
    size=1000,
    max_new_tokens=128,
    quality="alignscore",
    columns=("Question", "Answer"),
    example=example,
)
