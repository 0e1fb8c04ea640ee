"""Data sets of translations into English: WMT14 from French and WMT19 from German."""

from functools import partial

from analysis.datasets.example import Example
from analysis.datasets.paper.paper_set import Form, PaperSet, PromptOptions, Row, translation_of

_form = partial(Form, wanted="English")
_translations = partial(PaperSet, task="MT", size=2000, max_new_tokens=107, quality="comet", columns=("translation",))

_WMT14_FR_EN = _form(
    base="A French sentence and its English translation.",
    instruct="Translate the French sentence into English. Give the translation and nothing else.",
    given="French",
)


def wmt14_fr_en_example(row: Row, asking: PromptOptions) -> Example:
    r"""WMT14, French to English (Bojar et al., 2014): sentences of news with their translation.

    {"translation": {"fr": "Spectaculaire saut en \"wingsuit\" au-dessus de Bogota",
                     "en": "Spectacular Wingsuit Jump Over Bogota"}}
    """
    return translation_of(row, asking, _WMT14_FR_EN, source="fr")


WMT14_FR_EN = _translations(
    id="wmt14_fr_en",
    title="WMT14 Fr-En",
    hub_id="wmt/wmt14",
    config="fr-en",
    split="test",
    example=wmt14_fr_en_example,
)


_WMT19_DE_EN = _form(
    base="A German sentence and its English translation.",
    instruct="Translate the German sentence into English. Give the translation and nothing else.",
    given="German",
)


def wmt19_de_en_example(row: Row, asking: PromptOptions) -> Example:
    """WMT19, German to English (Barrault et al., 2019): sentences of news with their translation.

    {"translation": {"de": "München 1856: Vier Karten, die Ihren Blick auf die Stadt verändern",
                     "en": "Munich 1856: Four maps that will change your view of the city"}}

    The sentences of the competition are the validation split; the set has no test split.
    """
    return translation_of(row, asking, _WMT19_DE_EN, source="de")


WMT19_DE_EN = _translations(
    id="wmt19_de_en",
    title="WMT19 De-En",
    hub_id="wmt/wmt19",
    config="de-en",
    split="validation",
    example=wmt19_de_en_example,
)
