"""SciQ (Welbl et al., 2017): science exam questions, most with a paragraph that supports the answer.

{"question": "What type of organism is used to make cheese and yogurt?", "distractor1": "protozoa",
 "distractor2": "gymnosperms", "distractor3": "viruses", "correct_answer": "mesophilic organisms",
 "support": "Mesophiles grow best in moderate temperature, ..."}
"""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, PaperSet, Row, label_of, prompt_of, text_of

_FORM = Form(
    base="Science questions with short answers.",
    instruct="Answer the science question in a few words, without explaining.",
)


def example(row: Row, asking: Asking) -> Example:
    """One question, after the paragraph that supports it where there is one."""
    question = text_of(row, "question")
    support = label_of(row, "support")
    asked = prompt_of(_FORM, asking.kind, question)
    first, _, rest = asked.partition("\n\n")
    return Example(
        id=asking.id,
        prompt=f"{first}\n\nText: {support}\n{rest}" if support else asked,
        references=(text_of(row, "correct_answer"),),
        question=question,
    )


SCIQ = PaperSet(
    id="sciq",
    title="SciQ",
    hub_id="allenai/sciq",
    split="validation",
    size=1000,
    max_new_tokens=20,
    quality="alignscore",
    columns=("question", "correct_answer"),
    example=example,
)
