"""WMT19, German to English (Barrault et al., 2019): sentences of news with their translation.

{"translation": {"de": "München 1856: Vier Karten, die Ihren Blick auf die Stadt verändern",
                 "en": "Munich 1856: Four maps that will change your view of the city"}}

The sentences of the competition are the validation split; the set has no test split.
"""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, PaperSet, Row
from analysis.datasets.paper_tasks import translation_of

_FORM = Form(
    base="A German sentence and its English translation.",
    instruct="Translate the German sentence into English. Give the translation and nothing else.",
    given="German",
    wanted="English",
)


def example(row: Row, asking: Asking) -> Example:
    """One sentence."""
    return translation_of(row, asking, _FORM, source="de")


WMT19_DE_EN = PaperSet(
    id="wmt19_de_en",
    title="WMT19 De-En",
    hub_id="wmt/wmt19",
    config="de-en",
    split="validation",
    size=2000,
    max_new_tokens=107,
    quality="comet",
    columns=("translation",),
    example=example,
)
