"""The judges of these names, together, and keywords by a spaCy model."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rauq.errors import MissingPackage, ModelNotFound, UnsupportedModel
from rauq.methods.pair_scorers.classifiers import load_nli, load_similarity
from rauq.methods.pair_scorers.idf import load_idf
from rauq.methods.pair_scorers.judges import Judges, Keywords

if TYPE_CHECKING:
    from spacy.language import Language


TAGGER = "en_core_web_sm"
ENTITIES = frozenset(
    "CARDINAL DATE EVENT FAC GPE LANGUAGE LAW LOC MONEY NORP ORDINAL ORG PERCENT PERSON PRODUCT QUANTITY TIME "
    "WORK_OF_ART".split()
)
"""The types of OntoNotes."""

_PARTS = frozenset(("NOUN", "NUM", "PROPN"))
_UNUSED = ("parser", "lemmatizer")


def load_tagger(name: str = TAGGER) -> Keywords:
    """The judge of keywords that an installed spaCy model or the folder of one is.

    A word is a keyword if it belongs to an entity of OntoNotes, or is a noun, a number or a proper name; it is given
    by its characters, from the first to before the last, and `rauq.trace.parts` finds its tokens. The reference
    walks over words and decoded tokens in step instead, and with transformers 5 that walk sees one keyword at most.

    Raises:
        MissingPackage: spaCy is not installed.
        ModelNotFound: no such model is installed, and no folder of that name can be read.
        UnsupportedModel: it tags nothing.
    """
    language = _language(name)
    if not language.pipe_names:
        message = (
            f"The spaCy model {name} tags nothing. Choose one with parts of speech and entities, such as {TAGGER}."
        )
        raise UnsupportedModel(message)
    return partial(_keywords, language)


def _language(name: str) -> "Language":
    try:
        import spacy
        from spacy.util import get_installed_models
    except ImportError as error:
        message = "Keywords need spaCy. pip install -r requirements-extra.txt"
        raise MissingPackage(message) from error
    folder = Path(name).expanduser()
    if name not in get_installed_models() and not folder.is_dir():  # spaCy would import any package of that name
        message = f"{name!r} is neither an installed spaCy model nor a folder. python -m spacy download {TAGGER}"
        raise ModelNotFound(message)
    try:
        return spacy.load(folder if folder.is_dir() else name, exclude=_UNUSED)
    except Exception as error:  # other people's files fail in any way
        reason = str(error).strip().partition("\n")[0]
        message = f"The spaCy model {name} cannot be read ({reason}). Save it again with to_disk, or install it again."
        raise ModelNotFound(message) from error


def _keywords(language: "Language", text: str) -> tuple[tuple[int, int], ...]:
    return tuple(
        (word.idx, word.idx + len(word))
        for word in language(text)
        if (word.ent_type_ in ENTITIES or word.pos_ in _PARTS) and word.text not in ENTITIES
    )


def load_judges(
    *, nli: str = "", similarity: str = "", tagger: str = "", idf: str = "", device: str = "auto"
) -> Judges:
    """Load each judge that is named: a model or a folder, for `idf` a file or "atlas"; without a name it is None.

    Facts are known of a prompt, not by name: `replace(judges, facts=rauq.atlas.evaluation.facts_for_prompt(prompt))`.

    Raises:
        ModelNotFound, UnsupportedModel, OutOfMemory, MissingPackage, InvalidInput: as the loader of each judge says.
    """
    return Judges(
        nli=load_nli(nli, device=device) if nli else None,
        similarity=load_similarity(similarity, device=device) if similarity else None,
        keywords=load_tagger(tagger) if tagger else None,
        idf=load_idf(idf) if idf else None,
    )
