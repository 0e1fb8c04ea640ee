"""Questions about capitals and countries in languages with other scripts, and a judge of their answers.

Names come from CLDR, whose places of a time zone include most capitals. Each fact is asked in one language only.
"""

import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import cycle
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from babel import Locale
from babel.core import get_global

from analysis.datasets.facts.tables import facts

_INFLECTED = frozenset({"Cyrillic", "Greek"})  # of a longer name, the last letter may change


class Language(NamedTuple):
    """A language: code, name, script, and two questions, each with a place for a name."""

    code: str
    name: str
    script: str
    capital: str
    country: str


# The two questions name what they are about before they ask, so that no name has to be inflected.
LANGUAGES = (
    Language(
        *("ru", "Russian", "Cyrillic"),
        "Страна: {}. Какой город — столица этой страны?",
        "Город: {}. В какой стране он находится?",  # noqa: RUF001 - Russian
    ),
    Language("el", "Greek", "Greek", "Χώρα: {}. Ποια είναι η πρωτεύουσά της;", "Πόλη: {}. Σε ποια χώρα βρίσκεται;"),
    Language("ar", "Arabic", "Arabic", "الدولة: {}. ما هي عاصمتها؟", "المدينة: {}. في أي دولة تقع؟"),
    Language("zh", "Chinese", "Chinese", "国家：{}。它的首都是哪里？", "城市：{}。它在哪个国家？"),  # noqa: RUF001 - Chinese
    Language("hi", "Hindi", "Devanagari", "देश: {}। इसकी राजधानी क्या है?", "शहर: {}। यह किस देश में है?"),
)
NAMES = tuple(one.name for one in LANGUAGES)


class Names(NamedTuple):
    """Names of cities by time zone, and of countries by code."""

    city: Mapping[str, str]
    country: Mapping[str, str]


class Asked(NamedTuple):
    """A question in a language: which names answer it, and the key of the right one."""

    language: Language
    kind: str
    question: str
    right: str


@cache
def names_in(code: str) -> Names:
    """What a language calls cities and countries, where CLDR says so; English calls most cities as their zone."""
    locale = Locale.parse(code)
    own = {zone: _city(zone) for zone in get_global("zone_territories")} if code == "en" else {}
    zones = own | {zone: place["city"] for zone, place in locale.time_zones.items() if "city" in place}
    countries = {key: name for key, name in locale.territories.items() if len(key) == 2 and key.isalpha()}
    return Names(MappingProxyType(zones), MappingProxyType(countries))


def _city(zone: str) -> str:
    return zone.rpartition("/")[2].replace("_", " ")


def capitals() -> tuple[tuple[str, str], ...]:
    """The time zone and the country of each capital of the facts that gives a time zone its name."""
    countries = {name: key for key, name in names_in("en").country.items()}
    zones = {_city(zone): zone for zone in get_global("zone_territories")}
    asked = [(fact.accepted[0], fact.subject.removeprefix("the ")) for fact in facts() if fact.family.id == "capitals"]
    found = [(zones.get(city), countries.get(country)) for city, country in asked]
    return tuple((zone, country) for zone, country in found if zone and country and _is_named(zone, country))


def _is_named(zone: str, country: str) -> bool:
    """Whether a time zone is of the country, and has a name in every language."""
    is_own = get_global("zone_territories")[zone] == country
    return is_own and all(zone in names_in(language.code).city for language in LANGUAGES)


def questions(count: int) -> tuple[Asked, ...]:
    """So many questions, seeded, of all languages in turn; none names its answer."""
    places = [(kind, *place) for place in capitals() for kind in Names._fields]
    Random(0).shuffle(places)
    asked = [_asked(language, *one) for language, one in zip(cycle(LANGUAGES), places, strict=False)]
    return tuple(one for one in asked if not _names_its_answer(one))[:count]


def _asked(language: Language, kind: str, zone: str, country: str) -> Asked:
    names = names_in(language.code)
    if kind == "city":
        return Asked(language, kind, language.capital.format(names.country[country]), zone)
    return Asked(language, kind, language.country.format(names.city[zone]), country)


def _names_its_answer(asked: Asked) -> bool:
    names = getattr(names_in(asked.language.code), asked.kind)
    return _stem(names[asked.right], asked.language.script) in _plain(asked.question)


def is_correct(asked: Asked, answer: str) -> bool:
    """Whether the first name of the kind in an answer, in its language or in English, is the right one.

    A name that the question gives does not count, since an answer may repeat it.
    """
    found = [(place, -len(name), key) for name, key in _known(asked) if (place := _plain(answer).find(name)) >= 0]
    return bool(found) and min(found)[2] == asked.right


def _known(asked: Asked) -> Iterator[tuple[str, str]]:
    """How the names of the kind begin, with their keys, those of the question left out."""
    question = _plain(asked.question)
    for code in (asked.language.code, "en"):
        for key, name in getattr(names_in(code), asked.kind).items():
            stem = _stem(name, asked.language.script if code != "en" else "Latin")
            if stem not in question:
                yield stem, key


def _stem(name: str, script: str) -> str:
    plain = _plain(name)
    return plain[:-1] if script in _INFLECTED and len(plain) > 4 else plain


def _plain(text: str) -> str:
    """Without case, and without accents that are marks of their own."""
    split = unicodedata.normalize("NFD", text.casefold())
    return unicodedata.normalize("NFC", "".join(one for one in split if not "\u0300" <= one <= "\u036f"))
