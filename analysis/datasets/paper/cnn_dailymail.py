r"""CNN/DailyMail (See et al., 2017): news articles with highlights, one a line.

{"article": "LONDON, England (Reuters) -- Harry Potter star Daniel Radcliffe gains access to ...",
 "highlights": "Harry Potter star Daniel Radcliffe gets £20M fortune as he turns 18 Monday .\nYoung actor says ...",
 "id": "42c027e4ff9730fbb3de84c1af0d2c506e41c3e4"}
"""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, PaperSet, Row
from analysis.datasets.paper_tasks import summary_of

_FORM = Form(
    base="A news article and its summary in a few sentences.",
    instruct="Summarise the news article in two or three sentences. Use nothing that the article does not say.",
    given="Article",
    wanted="Summary",
)


def example(row: Row, asking: Asking) -> Example:
    """One article."""
    return summary_of(row, asking, _FORM, source="article", summary="highlights")


CNN_DAILYMAIL = PaperSet(
    id="cnn_dailymail",
    title="CNN/DailyMail",
    hub_id="abisee/cnn_dailymail",
    config="3.0.0",
    split="test",
    size=2000,
    max_new_tokens=128,
    quality="alignscore_source",
    columns=("article", "highlights"),
    example=example,
)
