"""XSum (Narayan et al., 2018): BBC articles with a summary of one sentence.

{"document": "The full cost of damage in Newton Stewart, one of the areas worst affected, is still being assessed. ...",
 "summary": "Clean-up operations are continuing across the Scottish Borders ...", "id": "35232142"}

The set itself is a loading script, which no longer runs; the hub keeps it as Parquet in a branch of its own.
"""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, PaperSet, Row
from analysis.datasets.paper_tasks import summary_of

_FORM = Form(
    base="A news article and its summary in one sentence.",
    instruct="Summarise the news article in one sentence. Use nothing that the article does not say.",
    given="Article",
    wanted="Summary",
)


def example(row: Row, asking: Asking) -> Example:
    """One article."""
    return summary_of(row, asking, _FORM, source="document", summary="summary")


XSUM = PaperSet(
    id="xsum",
    title="XSum",
    hub_id="EdinburghNLP/xsum",
    revision="refs/convert/parquet",
    split="test",
    size=2000,
    max_new_tokens=128,
    quality="alignscore_source",
    columns=("document", "summary"),
    example=example,
)
