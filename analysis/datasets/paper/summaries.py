"""Data sets of summaries: CNN/DailyMail, SamSum and XSum."""

from functools import partial

from analysis.datasets.example import Example
from analysis.datasets.paper.paper_set import Form, PaperSet, PromptOptions, Row, summary_of

_form = partial(Form, wanted="Summary")
_summaries = partial(PaperSet, task="Summ", split="test", size=2000, max_new_tokens=128, quality="alignscore_source")

_CNN_DAILYMAIL = _form(
    base="A news article and its summary in a few sentences.",
    instruct="Summarise the news article in two or three sentences. Use nothing that the article does not say.",
    given="Article",
)


def cnn_dailymail_example(row: Row, asking: PromptOptions) -> Example:
    r"""CNN/DailyMail (See et al., 2017): news articles with highlights, one a line.

    {"article": "LONDON, England (Reuters) -- Harry Potter star Daniel Radcliffe gains access to ...",
     "highlights": "Harry Potter star Daniel Radcliffe gets £20M fortune as he turns 18 Monday .\nYoung actor says ...",
     "id": "42c027e4ff9730fbb3de84c1af0d2c506e41c3e4"}
    """
    return summary_of(row, asking, _CNN_DAILYMAIL, source="article", summary="highlights")


CNN_DAILYMAIL = _summaries(
    id="cnn_dailymail",
    title="CNN/DailyMail",
    hub_id="abisee/cnn_dailymail",
    config="3.0.0",
    columns=("article", "highlights"),
    example=cnn_dailymail_example,
)


_SAMSUM = _form(
    base="A chat and what was said in it, in one or two sentences.",
    instruct="Say in one or two sentences what was said in the chat. Use nothing that is not in it.",
    given="Chat",
)


def samsum_example(row: Row, asking: PromptOptions) -> Example:
    r"""SamSum (Gliwa et al., 2019): chats with a summary of what was said.

    {"id": "13862856", "dialogue": "Hannah: Hey, do you have Betty's number?\nAmanda: Lemme check\n...",
     "summary": "Hannah needs Betty's number but Amanda doesn't have it. ..."}

    The set that the paper names was taken off the hub; this is a copy of it there, as CSV.
    """
    return summary_of(row, asking, _SAMSUM, source="dialogue", summary="summary")


SAMSUM = _summaries(
    id="samsum",
    title="SamSum",
    hub_id="knkarthick/samsum",
    size=819,
    columns=("dialogue", "summary"),
    example=samsum_example,
)


_XSUM = _form(
    base="A news article and its summary in one sentence.",
    instruct="Summarise the news article in one sentence. Use nothing that the article does not say.",
    given="Article",
)


def xsum_example(row: Row, asking: PromptOptions) -> Example:
    """XSum (Narayan et al., 2018): BBC articles with a summary of one sentence.

    {"document": "The full cost of damage in Newton Stewart, one of the areas worst affected, is still being ...",
     "summary": "Clean-up operations are continuing across the Scottish Borders ...", "id": "35232142"}

    The set itself is a loading script, which no longer runs; the hub keeps it as Parquet in a branch of its own.
    """
    return summary_of(row, asking, _XSUM, source="document", summary="summary")


XSUM = _summaries(
    id="xsum",
    title="XSum",
    hub_id="EdinburghNLP/xsum",
    revision="refs/convert/parquet",
    columns=("document", "summary"),
    example=xsum_example,
)
