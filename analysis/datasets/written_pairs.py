"""Written pairs about facts: two answers to one question, which differ in one name, the right and a wrong one.

The wrong name is the right one of another question of the same family, and each name is as often wrong as it is right,
so that neither its words nor its length tell which answer is wrong.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from analysis.datasets.facts.tables import FAMILIES, Fact, facts
from analysis.normalisation import plain_words

Form = Literal["name alone", "name first", "name last", "name inside", "the answer is"]
FORMS: tuple[Form, ...] = get_args(Form)


class _Sentences(NamedTuple):
    """Sentences with places for the subject, {s} or {S} with a capital, and for the name, {a}."""

    first: str
    last: str
    inside: str


_SENTENCES: Mapping[str, _Sentences] = MappingProxyType(
    {
        "capitals": _Sentences(
            "{a} is the capital of {s}.", "The capital of {s} is {a}.", "You find the government of {s} in {a} today."
        ),
        "cities": _Sentences(
            "{a} is the country of {s}.", "The city of {s} is in {a}.", "You have to travel to {a} to see {s}."
        ),
        "currencies": _Sentences(
            "The {a} is the currency of {s}.",
            "The currency of {s} is the {a}.",
            "People use the {a} when they pay in {s}.",
        ),
        "country_names": _Sentences(
            "{a} is called {s}.", "{S} means {a}.", "The name of {a} is {s}, as a dictionary says."
        ),
        "symbols": _Sentences(
            "{a} is the chemical symbol of {s}.",
            "The chemical symbol of {s} is {a}.",
            "Chemists write {a} when they mean {s}.",
        ),
        "elements": _Sentences(
            "The element {a} has the symbol {s}.",
            "The symbol {s} stands for {a}.",
            "Chemists who mean {a} write {s}.",
        ),
        "atomic_numbers": _Sentences(
            "{a} is the atomic number of {s}.",
            "The atomic number of {s} is {a}.",
            "There are {a} protons in an atom of {s}.",
        ),
        "authors": _Sentences("{a} is the author of {s}.", "{S} was written by {a}.", "It was {a} who wrote {s}."),
        "painters": _Sentences("{a} painted {s}.", "{S} was painted by {a}.", "It was {a} who painted {s}."),
        "composers": _Sentences("{a} composed {s}.", "{S} was composed by {a}.", "It was {a} who composed {s}."),
        "years": _Sentences(
            "{a} was the year in which this happened.", "This happened in {a}.", "It was in {a} that this happened."
        ),
    }
)
_AROUND = (
    "Good question. {}",
    "{} I am quite sure of that.",
    "Let me think about it. {}",
    "{} You can look it up in any encyclopedia.",
)


@dataclass(frozen=True, kw_only=True)
class Written:
    """An answer that somebody wrote: its text, and the characters (start, end) of the name in it."""

    text: str
    name: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A question with a right and a wrong written answer.

    `group` is the family of facts, `stratum` how widely the fact is known. `paraphrased`: the two answers have other
    words around the name; else they are one sentence, of the form `form`.
    """

    id: str
    group: str
    stratum: str
    question: str
    form: Form
    paraphrased: bool
    right: Written
    wrong: Written


def written_pairs(*, per_family: int = 100, seed: int = 0) -> tuple[Pair, ...]:
    """Draw so many questions of each family of facts, and write a pair for each; about one in ten is paraphrased.

    Each form is as frequent as any other in every family. A question whose wrong name would be right, or is named in
    the question, has no pair.
    """
    return tuple(pair for family in FAMILIES for pair in _of_family(family, per_family, seed))


def _of_family(family: str, count: int, seed: int) -> Iterator[Pair]:
    rng = Random(f"{seed} {family}")  # noqa: S311 - draws questions, nothing secret
    own = [fact for fact in facts() if fact.family.id == family]
    drawn = rng.sample(own, min(count, len(own)))
    for place, (fact, wrong) in enumerate(_with_wrong_names(drawn, rng)):
        if _is_wrong(wrong, fact):
            yield _pair(fact, wrong, place)


def _with_wrong_names(drawn: Sequence[Fact], rng: Random) -> list[tuple[Fact, str]]:
    """Each question with the name of another: questions of one name stand together, and all names are moved past them.

    So each name is wrong as often as it is right.
    """
    names = [fact.accepted[0] for fact in drawn]
    places = {name: place for place, name in enumerate(rng.sample(sorted(set(names)), len(set(names))))}
    ordered = sorted(drawn, key=lambda fact: places[fact.accepted[0]])
    step = max(Counter(names).values())
    moved = [*ordered[step:], *ordered[:step]]
    found = [(fact, other.accepted[0]) for fact, other in zip(ordered, moved, strict=True)]
    return rng.sample(found, len(found))


def _is_wrong(name: str, fact: Fact) -> bool:
    """Whether a name is wrong, and not one that the question names."""
    words = plain_words(name)
    asked = f" {' '.join(plain_words(fact.question))} "
    return words not in map(plain_words, fact.accepted) and f" {' '.join(words)} " not in asked


def _pair(fact: Fact, wrong: str, place: int) -> Pair:
    """The pair at a place of its family: forms take turns, and every tenth question or so is paraphrased."""
    form = FORMS[place % len(FORMS)]
    paraphrased = place % 100 % 9 == 8
    around = (_AROUND[place % len(_AROUND)], _AROUND[(place + 1) % len(_AROUND)]) if paraphrased else ("{}", "{}")
    right, other = (
        written(fact, name, form, around=words) for name, words in zip((fact.accepted[0], wrong), around, strict=True)
    )
    return Pair(
        id=fact.id,
        group=fact.family.id,
        stratum=fact.stratum,
        question=fact.question,
        form=form,
        paraphrased=paraphrased,
        right=right,
        wrong=other,
    )


def written(fact: Fact, name: str, form: Form, *, around: str = "{}") -> Written:
    """A sentence of this form that gives the fact with this name, right or wrong, with the words `around` it."""
    before, after = around.format(_sentence(fact, form)).split("{a}")
    return Written(text=f"{before}{name}{after}", name=(len(before), len(before) + len(name)))


def _sentence(fact: Fact, form: Form) -> str:
    """The sentence of a form, with a place for the name."""
    own = _SENTENCES[fact.family.id]
    sentences: Mapping[Form, str] = {
        "name alone": "{a}.",
        "name first": own.first,
        "name last": own.last,
        "name inside": own.inside,
        "the answer is": "The answer is {a}.",
    }
    subject = fact.subject
    return sentences[form].format(s=subject, S=f"{subject[:1].upper()}{subject[1:]}", a="{a}")
