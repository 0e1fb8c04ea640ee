"""The families of facts and their tables: what is asked, names of one kind, and questions whose answers they are.

`names/KIND.csv` has a row for each thing of a kind: its name, and what else it is called. `questions/FAMILY.csv` has a
row for each question: its subject, the names that answer it, texts accepted for this question alone, and how widely
the fact is known. `phrases.csv` has phrases that contain a name and mean something else, such as Gulf of Mexico.
Several texts in one cell are separated by " | ".
"""

import csv
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from analysis.normalisation import plain_words
from rauq.errors import InvalidInput


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of answers: their names are in `names/KIND.csv`, unless they are `numbers`.

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


TABLES = Path(__file__).parent
SEPARATOR = " | "
STRATA = ("common", "middle", "rare")
NAME_COLUMNS = ("name", "aliases")
PHRASE_COLUMNS = ("kind", "phrase")
QUESTION_COLUMNS = ("subject", "answers", "also", "stratum")

Texts = tuple[str, ...]


@dataclass(frozen=True)
class Name:
    """A thing of a kind, under all its names; the first is the usual one."""

    texts: Texts


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A question with its answers: `accepted` are all texts that answer it, the first as a worked example states it."""

    family: Family
    subject: str
    accepted: Texts
    stratum: str

    @property
    def id(self) -> str:
        """The family and the subject, as in capitals-france."""
        return "-".join((self.family.id, *_words(self.subject)))

    @property
    def question(self) -> str:
        """The question as a sentence."""
        return self.family.question.format(self.subject)


class _Row(NamedTuple):
    """Cells of a row by column, and where it stands: file and number, counted from 1 below the header."""

    place: str
    cells: dict[str, str]

    def fault(self, message: str) -> InvalidInput:
        return InvalidInput(f"{self.place}: {message}")

    def texts(self, column: str) -> Texts:
        """The texts of a cell.

        Raises:
            InvalidInput: an empty text between separators.
        """
        cell = self.cells[column]
        texts = tuple(cell.split(SEPARATOR)) if cell else ()
        if any(not _words(text) or text != text.strip() for text in texts):
            message = f"{column!r} is {cell!r}; give texts separated by {SEPARATOR!r}, without empty ones."
            raise self.fault(message)
        return texts


@cache
def names(kind: str, folder: Path = TABLES) -> tuple[Name, ...]:
    """Everything of a kind, in the order of its table; numbers and years have none.

    Raises:
        InvalidInput: the table has a row that cannot be used, or two rows share a text.
    """
    numbers = KINDS[kind].numbers
    if numbers:
        return tuple(Name((str(number), *_in_words(number))) for number in numbers)
    found, seen = [], dict[Texts, str]()
    for row in _rows(folder / "names" / f"{kind}.csv", NAME_COLUMNS):
        texts = (*row.texts("name"), *row.texts("aliases"))
        if len(row.texts("name")) != 1:
            message = f"'name' is {row.cells['name']!r}; give one name, and others under 'aliases'."
            raise row.fault(message)
        for text in texts:
            _new(row, text, seen)
        found.append(Name(texts))
    return tuple(found)


def _new(row: _Row, text: str, seen: dict[Texts, str]) -> None:
    """Check that a text names one thing only; otherwise it would be a correct answer to two questions."""
    words = _words(text)
    if words in seen:
        message = f"{text!r} is also in {seen[words]}; a name or alias belongs to one row. Remove it from one of them."
        raise row.fault(message)
    seen[words] = row.place


_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()


def _in_words(number: int) -> Texts:
    """A number below 100 in words; one is no number where it stands alone, as in one of the elements."""
    if number == 1:
        return ("number one", "number is one", "number of one")
    if number < len(_ONES):
        return (_ONES[number],)
    ten, one = divmod(number, 10)
    if number < 100:
        return (f"{_TENS[ten - 2]}-{_ONES[one]}" if one else _TENS[ten - 2],)
    return ()


def spoken_year(year: int) -> Texts:
    """A year of four digits as it is said: nineteen forty-five, two thousand and eight, nineteen hundred."""
    century, rest = divmod(year, 100)
    if not 11 <= century <= 20:
        return ()
    if century == 20 and rest < 10:
        return tuple(
            f"two thousand{joint}{_ONES[rest] if rest else ''}".strip()
            for joint in (" ", " and ")
            if rest or joint == " "
        )
    if rest < 10:
        return (f"{_in_words(century)[0]} hundred",) if not rest else (f"{_in_words(century)[0]} oh {_ONES[rest]}",)
    return (f"{_in_words(century)[0]} {_in_words(rest)[0]}",)


@cache
def phrases(kind: str, folder: Path = TABLES) -> Texts:
    """Phrases that contain a name of this kind and mean something else.

    Raises:
        InvalidInput: the table has a row that cannot be used.
    """
    rows = list(_rows(folder / "phrases.csv", PHRASE_COLUMNS))
    for row in rows:
        if row.cells["kind"] not in KINDS:
            message = f"'kind' is {row.cells['kind']!r}; it is one of {', '.join(KINDS)}."
            raise row.fault(message)
    return tuple(text for row in rows if row.cells["kind"] == kind for text in row.texts("phrase"))


@cache
def facts(folder: Path = TABLES) -> tuple[Fact, ...]:
    """Every fact of every family, in the order of the tables.

    Raises:
        InvalidInput: a row that cannot be used: an unknown stratum or answer, an empty cell, a subject asked twice, or
            a question that contains its answer.
    """
    return tuple(fact for family in FAMILIES.values() for fact in _of_family(family, folder))


def _of_family(family: Family, folder: Path) -> Iterator[Fact]:
    texts = {name.texts[0]: name.texts for name in names(family.kind, folder)}
    known = {_words(text) for own in texts.values() for text in own}
    asked: dict[str, _Row] = {}
    for row in _rows(folder / "questions" / f"{family.id}.csv", QUESTION_COLUMNS):
        fact = _fact(family, row, texts, known)
        if fact.id in asked:
            message = (
                f"{fact.subject!r} is also in {asked[fact.id].place}, so that the question has two answers. "
                f"Put all that are right in one row, separated by {SEPARATOR!r}."
            )
            raise row.fault(message)
        asked[fact.id] = row
        yield fact
    subjects = {row.cells["subject"] for row in asked.values()}
    if lacking := [subject for subject in family.solved if subject not in subjects]:
        message = f"{family.id}.csv has no row for {lacking[0]!r}, a worked example of the family."
        raise InvalidInput(message)


def _fact(family: Family, row: _Row, texts: Mapping[str, Texts], known: Collection[Texts]) -> Fact:
    subject, answers, also = row.cells["subject"], row.texts("answers"), row.texts("also")
    _check(family, row, texts, known)
    accepted = dict.fromkeys((*(text for answer in answers for text in texts[answer]), *also))
    fact = Fact(family=family, subject=subject, accepted=tuple(accepted), stratum=row.cells["stratum"])
    asked = f" {' '.join(plain_words(fact.question))} "
    if given := [text for text in fact.accepted if f" {' '.join(_words(text))} " in asked]:
        message = f"the question {fact.question!r} contains its answer {given[0]!r}. Remove the row."
        raise row.fault(message)
    return fact


def _check(family: Family, row: _Row, texts: Collection[str], known: Collection[Texts]) -> None:
    """See that the cells of a question can be used; `texts` are the names of its kind, `known` all their words."""
    numbers, stratum = KINDS[family.kind].numbers, row.cells["stratum"]
    if not _words(row.cells["subject"]) or not row.texts("answers"):
        message = "'subject' or 'answers' is empty; give both."
        raise row.fault(message)
    if stratum not in STRATA:
        message = f"'stratum' is {stratum!r}; it is one of {', '.join(STRATA)}."
        raise row.fault(message)
    if unknown := [answer for answer in row.texts("answers") if answer not in texts]:
        allowed = f"a number from {numbers[0]} to {numbers[-1]}" if numbers else f"a name of names/{family.kind}.csv"
        message = f"the answer {unknown[0]!r} is unknown; it is {allowed}."
        raise row.fault(message)
    if others := [text for text in row.texts("also") if _words(text) in known]:
        message = (
            f"'also' is {others[0]!r}, which names/{family.kind}.csv has already. Put every name that is right under "
            "'answers'."
        )
        raise row.fault(message)


@cache
def _words(text: str) -> Texts:
    return plain_words(text)


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[_Row]:
    shown = path.relative_to(path.parents[1]) if path.parent.name in {"names", "questions"} else Path(path.name)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines: Iterable[list[str]] = list(csv.reader(file, strict=True))
    except (OSError, ValueError, csv.Error) as error:
        message = f"{shown} cannot be read ({error}). Take it from the repository."
        raise InvalidInput(message) from error
    header, *rest = lines or [[]]
    if tuple(header) != columns:
        message = f"{shown} has the columns {', '.join(header)}; it needs {', '.join(columns)}, in this order."
        raise InvalidInput(message)
    for number, cells in enumerate(rest, start=1):
        if len(cells) != len(columns):
            message = (
                f"{shown}, row {number}: it has {len(cells)} cells; it needs {len(columns)}, {', '.join(columns)}."
            )
            raise InvalidInput(message)
        yield _Row(f"{shown}, row {number}", dict(zip(columns, cells, strict=True)))
