r"""WMT14, French to English (Bojar et al., 2014): sentences of news with their translation.

{"translation": {"fr": "Spectaculaire saut en \"wingsuit\" au-dessus de Bogota",
                 "en": "Spectacular Wingsuit Jump Over Bogota"}}
"""

from analysis.datasets.example import Example
from analysis.datasets.paper_set import Asking, Form, PaperSet, Row
from analysis.datasets.paper_tasks import translation_of

_FORM = Form(
    base="A French sentence and its English translation.",
    instruct="Translate the French sentence into English. Give the translation and nothing else.",
    given="French",
    wanted="English",
)


def example(row: Row, asking: Asking) -> Example:
    """One sentence."""
    return translation_of(row, asking, _FORM, source="fr")


WMT14_FR_EN = PaperSet(
    id="wmt14_fr_en",
    title="WMT14 Fr-En",
    hub_id="wmt/wmt14",
    config="fr-en",
    split="test",
    size=2000,
    max_new_tokens=107,
    quality="comet",
    columns=("translation",),
    example=example,
)
