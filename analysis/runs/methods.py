"""Which methods a run can have: the words for them, what they need from elsewhere, and what this version lacks."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType

from analysis.datasets.example import DataSet, Example
from analysis.quality.facts import known_facts
from analysis.runs.files.tables import LIGHT
from analysis.runs.manifest import Request
from analysis.runs.own import needs_of, row_of
from rauq.errors import InvalidInput, RunError
from rauq.layout import ANALYSIS_COMMAND
from rauq.methods.method import Need
from rauq.methods.table import METHODS

DEFAULT = ("rauq", "msp", "perplexity", "mean_token_entropy")
ASKABLE = tuple(method for method, row in METHODS.items() if row.family not in ("ablation", "supervised"))
"""Ablations are other settings of RAUQ, and any run can be scored with them later; supervised ones need a detector."""

EMBEDDED = "atlas"
_WORDS = ("default", "no-download")
FROM_ELSEWHERE: Mapping[Need, tuple[str, str]] = MappingProxyType(
    {
        "nli": ("a model for natural-language inference", "--nli microsoft/deberta-large-mnli"),
        "similarity": ("a model of sentence similarity", "--similarity cross-encoder/stsb-roberta-large"),
        "keywords": ("a spaCy model that finds keywords", "--tagger en_core_web_sm"),
        "idf": ("document frequencies of the model's tokens", f"--idf FILE, made with {ANALYSIS_COMMAND} idf"),
    }
)
"""What has to be named, in words, and how to name it on the command line."""

COLUMNS = frozenset({*LIGHT.names, *(field.name for field in fields(Example)), "measured_quality", "corrected"})
"""The columns of a run's table besides those of its methods."""


def named(
    words: Sequence[str], *, model: str, data: DataSet, own: Collection[str] = (), served: bool = False
) -> tuple[str, ...]:
    """The methods that ids, those that the user gives (`own`), and the words `default` and `no-download` mean.

    `served`: whether a vLLM server answers, which is enough for some of them alone.

    Raises:
        InvalidInput: a word that is neither.
    """
    there = tuple(method for method in without_download(model, data) if not (served and needs_the_model(method)))
    meant = {"default": default_methods(data), "no-download": there}
    chosen = tuple(dict.fromkeys(method for word in words for method in meant.get(word, (word,))))
    check_methods(chosen, own)
    return chosen


def default_methods(data: DataSet) -> tuple[str, ...]:
    """The methods of a run that names none: DEFAULT, and for given answers the one that finds errors there."""
    return (*DEFAULT, "surprisal") if data.is_written else DEFAULT


def check_methods(methods: Sequence[str], own: Collection[str] = ()) -> None:
    """Check that a run can have all of these methods; `own` are the user's own, and those with a fitted detector.

    Raises:
        InvalidInput: one that is unknown, an ablation, or supervised without a detector, one that is named twice, none
            at all, or an id of one's own that is a column of a run's table.
    """
    if lacking := [one for one in methods if one not in own and one in METHODS and "detector" in METHODS[one].needs]:
        message = f"{METHODS[lacking[0]].name} needs a fitted detector. Name its file: --methods {lacking[0]}=FILE."
        raise InvalidInput(message)
    if unknown := [method for method in methods if method not in ASKABLE and method not in own]:
        message = (
            f"Unknown method {unknown[0]!r}; choose from {', '.join((*_WORDS, *ASKABLE))}, or name one of your own as "
            "module:method."
        )
        raise InvalidInput(message)
    if taken := COLUMNS.intersection(own):
        message = f"Your method has the id {min(taken)!r}, which is a column of every run. Rename it."
        raise InvalidInput(message)
    if not methods or len(set(methods)) < len(methods):
        message = f"Got the methods {', '.join(methods) or '(none)'}; name at least one, each once."
        raise InvalidInput(message)


def without_download(model: str, data: DataSet) -> tuple[str, ...]:
    """The methods that need no further model or file, and whose inputs are known for some prompts.

    P(True) is one: the run's own model is its judge.
    """
    return tuple(method for method in ASKABLE if METHODS[method].needs <= available_needs(model, data))


def needs_the_model(method: str) -> bool:
    """Whether a method needs more of the model than its answers: extras, or to be asked about them."""
    row = METHODS[method]
    return bool(row.extras or row.sample_extras) or "p_true" in row.needs


def available_needs(model: str, data: DataSet) -> frozenset[Need]:
    """The needs of methods that are met: in any run, with the embedded model, for known facts, or for given answers."""
    known = any(known_facts(example) is not None for example in data.examples)
    there: dict[Need, bool] = {"samples": True, "p_true": True, "facts": known, "idf": model == EMBEDDED}
    there["written"] = data.is_written
    return frozenset(need for need, is_there in there.items() if is_there)


def own_idf(request: Request) -> str:
    """The document frequencies that come with the embedded model, where a method or an extra weighs its tokens."""
    weighed = "focus" in request.keep or any("idf" in needs_of(method) for method in request.known_methods)
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


def missing_needs(method: str, given: Collection[Need]) -> str:
    """The further models or files that a method needs and does not have, in words; empty if none."""
    return " and ".join(FROM_ELSEWHERE[need][0] for need in _wanted(method, given))


def about_unknown_methods(request: Request) -> str:
    """A sentence about the methods of a run that this version does not have; empty if it has all."""
    if not request.unknown_methods:
        return ""
    names = ", ".join(request.unknown_methods)
    return f"Methods unknown to this version, kept in the run's table but not ranked: {names}."


def check_known_methods(request: Request) -> None:
    """Check that this version has all methods of a run that is to be resumed.

    Raises:
        RunError: it does not; the answers can still be opened.
    """
    if request.unknown_methods:
        message = (
            f"This run uses {', '.join(request.unknown_methods)}, unknown to this version. Its "
            "answers can be opened; resume it with the version that started it, or score into a new folder."
        )
        raise RunError(message)


def check_comparable(request: Request) -> None:
    """Check that this version has at least one method of the run.

    Raises:
        RunError: it has none.
    """
    if not request.known_methods:
        message = f"Nothing to compare. {about_unknown_methods(request)} Score the data set again."
        raise RunError(message)


def options_for(method: str, given: Collection[Need] = ()) -> str:
    """The command-line options that give what the method still needs; empty if nothing."""
    return " ".join(FROM_ELSEWHERE[need][1] for need in _wanted(method, given))


def check_judges(request: Request) -> None:
    """Check that every method has the judges that it needs.

    Raises:
        InvalidInput: one is not named; it says how to.
    """
    given = named_in(request)
    for method in request.known_methods:
        if (words := missing_needs(method, given)) and (row := row_of(method)):
            add = options_for(method, given)
            message = f"{row.name} needs {words}. Add {add}, or leave {method} out."
            raise InvalidInput(message)


def _wanted(method: str, given: Collection[Need]) -> list[Need]:
    return [need for need in FROM_ELSEWHERE if need in needs_of(method) and need not in given]
