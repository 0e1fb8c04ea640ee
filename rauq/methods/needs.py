"""What a method lacks, said before it is computed: nothing is greyed out or refused without what to do."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TypeVar, get_args

from rauq.errors import InvalidInput
from rauq.judges.judges import Judges
from rauq.methods.method import Method, Need

_Judge = TypeVar("_Judge")

NEEDS: tuple[Need, ...] = get_args(Need)

_LACKS: Mapping[Need, str] = MappingProxyType(
    {
        "samples": "It compares sampled answers, and there are none. Draw some: lm.sample(prompt, k=5).",
        "nli": "It needs a judge of entailment. Give one: load_judges(nli='microsoft/deberta-large-mnli').",
        "similarity": (
            "It needs a judge of similarity. Give one: load_judges(similarity='cross-encoder/stsb-roberta-large')."
        ),
        "idf": "It needs document frequencies. Give them: load_judges(idf=FILE), made by python -m analysis idf.",
        "keywords": "It needs a judge of keywords. Give one: load_judges(tagger='en_core_web_sm').",
        "facts": "Facts are known of the held-out prompts of the embedded model alone. Ask one of these.",
        "held_out": "Its heads are chosen on other answers. Look for it among the ablations of a run.",
    }
)


def what_lacks(method: Method, given: Collection[Need]) -> str:
    """The first thing that a method needs and is not given, and what to do; empty where it has everything.

    This is known before any answer. What a trace had to capture is told by `evaluate`.
    """
    return next((_LACKS[need] for need in NEEDS if need in method.needs and need not in given), "")


def needs_met(judges: Judges, *, samples: bool) -> frozenset[Need]:
    """What these judges, and samples where there are any, give to methods."""
    there: dict[Need, bool] = {
        "samples": samples,
        "nli": judges.nli is not None,
        "similarity": judges.similarity is not None,
        "idf": judges.idf is not None,
        "keywords": judges.keywords is not None,
        "facts": judges.facts is not None,
    }
    return frozenset(need for need, met in there.items() if met)


def present(judge: _Judge | None, need: Need) -> _Judge:
    """The judge itself.

    Raises:
        InvalidInput: there is none.
    """
    if judge is None:
        raise InvalidInput(_LACKS[need])
    return judge
