r"""SamSum (Gliwa et al., 2019): chats with a summary of what was said.

{"id": "13862856", "dialogue": "Hannah: Hey, do you have Betty's number?\nAmanda: Lemme check\n...",
 "summary": "Hannah needs Betty's number but Amanda doesn't have it. ..."}

The set that the paper names was taken off the hub; this is a copy of it there, as CSV.
"""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, PaperSet, Row
from analysis.datasets.paper_tasks import summary_of

_FORM = Form(
    base="A chat and what was said in it, in one or two sentences.",
    instruct="Say in one or two sentences what was said in the chat. Use nothing that is not in it.",
    given="Chat",
    wanted="Summary",
)


def example(row: Row, asking: Asking) -> Example:
    """One chat."""
    return summary_of(row, asking, _FORM, source="dialogue", summary="summary")


SAMSUM = PaperSet(
    id="samsum",
    title="SamSum",
    hub_id="knkarthick/samsum",
    split="test",
    size=819,
    max_new_tokens=128,
    quality="alignscore_source",
    columns=("dialogue", "summary"),
    example=example,
)
