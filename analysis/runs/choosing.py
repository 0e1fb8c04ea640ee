"""Which methods a run may be asked for, and what each of them needs beside the model."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from analysis.datasets.example import DataSet
from analysis.runs.manifest import Request
from rauq.atlas.oracles import facts_for_prompt
from rauq.errors import InvalidInput, RunError
from rauq.methods.method import Need
from rauq.methods.table import METHODS

DEFAULT = ("rauq", "msp", "perplexity", "mean_token_entropy")
ASKABLE = tuple(method for method, row in METHODS.items() if row.family != "ablation")
"""Ablations are other settings of RAUQ: a run is scored under any of them at any time."""

EMBEDDED = "atlas"
_WORDS = ("default", "no-download")
_FROM_ELSEWHERE: Mapping[Need, tuple[str, str]] = MappingProxyType(
    {
        "nli": ("a model for natural-language inference", "--nli microsoft/deberta-large-mnli"),
        "similarity": ("a model of sentence similarity", "--similarity cross-encoder/stsb-roberta-large"),
        "keywords": ("a spaCy model that finds keywords", "--tagger en_core_web_sm"),
        "idf": ("document frequencies of the model's tokens", "--idf FILE, made with python -m analysis idf"),
    }
)
"""What has to be named, in words, and how to name it on the command line."""


def named(words: Sequence[str], *, model: str, data: DataSet) -> tuple[str, ...]:
    """The methods that ids and the words `default` and `no-download` stand for, each once.

    Raises:
        InvalidInput: a word that is neither.
    """
    meant = {"default": DEFAULT, "no-download": without_download(model, data)}
    chosen = tuple(dict.fromkeys(method for word in words for method in meant.get(word, (word,))))
    check_methods(chosen)
    return chosen


def check_methods(methods: Sequence[str]) -> None:
    """See that a run may be asked for all of them.

    Raises:
        InvalidInput: one that is unknown or an ablation, one that is named twice, or none at all.
    """
    if unknown := [method for method in methods if method not in ASKABLE]:
        message = f"Unknown method {unknown[0]!r}; choose from {', '.join((*_WORDS, *ASKABLE))}."
        raise InvalidInput(message)
    if not methods or len(set(methods)) < len(methods):
        message = f"Got the methods {', '.join(methods) or '(none)'}; name one or more, each once."
        raise InvalidInput(message)


def without_download(model: str, data: DataSet) -> tuple[str, ...]:
    """The methods that ask no model or file from elsewhere, and look at what is known of some prompt."""
    return tuple(method for method in ASKABLE if METHODS[method].needs <= at_hand(model, data))


def at_hand(model: str, data: DataSet) -> frozenset[Need]:
    """What methods may need and is there: for any run, for one of the embedded model, for prompts of known truth."""
    known = any(facts_for_prompt(example.prompt) is not None for example in data.examples)
    there: dict[Need, bool] = {"samples": True, "facts": known, "idf": model == EMBEDDED}
    return frozenset(need for need, is_there in there.items() if is_there)


def own_idf(request: Request) -> str:
    """The document frequencies that come with the embedded model, where a method weighs its tokens by them."""
    weighed = any("idf" in METHODS[method].needs for method in request.methods)
    return EMBEDDED if weighed and request.model == EMBEDDED else ""


def named_in(request: Request) -> frozenset[Need]:
    """The judges that a request names."""
    given: dict[Need, str] = {
        "nli": request.nli,
        "similarity": request.similarity,
        "keywords": request.tagger,
        "idf": request.idf or own_idf(request),
    }
    return frozenset(need for need, name in given.items() if name)


def lacking(method: str, given: Collection[Need]) -> str:
    """What a method asks from elsewhere that is not given, in words; empty where nothing is lacking."""
    return " and ".join(_FROM_ELSEWHERE[need][0] for need in _wanted(method, given))


def about_unknown_methods(request: Request) -> str:
    """What becomes of a run's methods that this version does not have, as a sentence; empty where it has all."""
    if not request.unknown_methods:
        return ""
    names = ", ".join(request.unknown_methods)
    return f"Methods that this version does not have, kept in the run's table and not ranked: {names}."


def check_known_methods(request: Request) -> None:
    """See that this version has all methods of a run that is to be gone on with.

    Raises:
        RunError: it does not; what is answered can still be looked at.
    """
    if request.unknown_methods:
        message = (
            f"This run asks for {', '.join(request.unknown_methods)}, which this version does not have. What is "
            "answered can be opened; go on with the version that it was begun with, or score into a new folder."
        )
        raise RunError(message)


def check_comparable(request: Request) -> None:
    """See that this version has some method of a run whose methods are to be compared.

    Raises:
        RunError: it has none.
    """
    if not request.known_methods:
        message = f"There is nothing to compare. {about_unknown_methods(request)} Score the data set again."
        raise RunError(message)


def options_for(method: str, given: Collection[Need] = ()) -> str:
    """How what it asks from elsewhere is named on the command line; empty where nothing is lacking."""
    return " ".join(_FROM_ELSEWHERE[need][1] for need in _wanted(method, given))


def check_judges(request: Request) -> None:
    """See that every method is given the judges that it asks, before an answer is.

    Raises:
        InvalidInput: one is not named; it says how to.
    """
    given = named_in(request)
    for method in request.methods:
        if words := lacking(method, given):
            add = options_for(method, given)
            message = f"{METHODS[method].name} needs {words}. Add {add}, or leave {method} out."
            raise InvalidInput(message)


def _wanted(method: str, given: Collection[Need]) -> list[Need]:
    return [need for need in _FROM_ELSEWHERE if need in METHODS[method].needs and need not in given]
