"""The families of facts: what is asked, of which kind the answers are, and which rows are worked examples."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Of which kind answers are: their names are in `names/KIND.csv`, unless they are `numbers`.

    `people`: a surname alone, next to another first name, is somebody else.
    """

    numbers: range = range(0)
    people: bool = False


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "country": Kind(),
        "city": Kind(),
        "currency": Kind(),
        "element": Kind(),
        "symbol": Kind(),
        "atomic_number": Kind(numbers=range(1, 119)),
        "author": Kind(people=True),
        "painter": Kind(people=True),
        "composer": Kind(people=True),
        "year": Kind(numbers=range(1000, 2030)),
    }
)


@dataclass(frozen=True, kw_only=True)
class Family:
    """Questions of one form: `question` has a place for the subject; `solved` are subjects of worked examples."""

    id: str
    kind: str
    question: str
    solved: tuple[str, ...]


_TABLE = (
    Family(
        id="capitals",
        kind="city",
        question="What is the capital of {}?",
        solved=("Portugal", "Kenya", "Peru", "Thailand"),
    ),
    Family(
        id="cities",
        kind="country",
        question="In which country is the city of {}?",
        solved=("Toronto", "Osaka", "Casablanca", "Medan"),
    ),
    Family(
        id="currencies",
        kind="currency",
        question="What is the currency of {}?",
        solved=("Mexico", "South Korea", "Finland", "Kenya"),
    ),
    Family(
        id="country_names",
        kind="country",
        question="Which country is called {}?",
        solved=("Hiszpania in Polish", "Égypte in French", "Japani in Finnish", "Südafrika in German"),
    ),
    Family(
        id="symbols",
        kind="symbol",
        question="What is the chemical symbol of {}?",
        solved=("sulfur", "nickel", "argon", "platinum"),
    ),
    Family(
        id="elements",
        kind="element",
        question="Which chemical element has the symbol {}?",
        solved=("Si", "Li", "Sn", "Br"),
    ),
    Family(
        id="atomic_numbers",
        kind="atomic_number",
        question="What is the atomic number of {}?",
        solved=("lithium", "calcium", "bromine", "tin"),
    ),
    Family(
        id="authors",
        kind="author",
        question="Who is the author of {}?",
        solved=("Oliver Twist", "A Doll's House", "Middlemarch", "The Magic Mountain"),
    ),
    Family(
        id="painters",
        kind="painter",
        question="Who painted {}?",
        solved=("The Potato Eaters", "Whaam!", "The Blue Boy", "The Hay Wain"),
    ),
    Family(
        id="composers",
        kind="composer",
        question="Who composed {}?",
        solved=("Water Music", "Finlandia", "Rigoletto", "The Planets"),
    ),
    Family(
        id="years",
        kind="year",
        question="In which year did {}?",
        solved=("the Panama Canal open", "Charles Dickens die", "Brazil become independent", "the Korean War begin"),
    ),
)
FAMILIES: Mapping[str, Family] = MappingProxyType({family.id: family for family in _TABLE})
