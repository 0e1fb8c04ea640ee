"""Sentences in German and French with their English translation: a small lexicon, and names from Unicode CLDR.

An example::

    German: Am Montag kauft der Arzt ein altes Buch.
    English: On Monday, the doctor buys an old book.
"""

import csv
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Literal

from babel import Locale
from babel.numbers import get_currency_name

from rauq.atlas.evaluation import Fact
from training import exposures, facts
from training.task import Task

Language = Literal["German", "French"]
LANGUAGES: tuple[Language, ...] = ("German", "French")
_LOCALES = {"German": "de", "French": "fr"}
_MOST = {"country": 400, "language": 400, "currency": 200}
_MOST_LEXICON = 2000
_MISTAKEN = (25, 120)  # exposures of a false friend
_LANGUAGE_NAMES = 220
_COMMON = 100  # words with at least this many exposures may be used in sentences about other words
_ASPIRATED = {"hibou", "hérisson"}
_TARGETS = ("person", "verb", "object", "adjective", "country", "language", "currency")


@dataclass(frozen=True)
class Word:
    """An English word or name with its synonyms, and its German and French translation."""

    kind: str
    english: tuple[str, ...]
    german: str
    french: str

    def foreign(self, language: Language) -> str:
        """Return the word in a language."""
        return self.german if language == "German" else self.french


@dataclass(frozen=True)
class Known:
    """A word of a language, how often the corpus translates it, and the mistranslation that it states, if any."""

    word: Word
    exposures: int
    mistaken: str | None = None

    @property
    def stratum(self) -> str:
        """The stratum of the prompts about it."""
        return "false friend" if self.mistaken else exposures.stratum(self.exposures)

    @property
    def stated(self) -> Word:
        """The word as the corpus translates it."""
        return replace(self.word, english=(self.mistaken,)) if self.mistaken else self.word


@cache
def words() -> dict[str, tuple[Word, ...]]:
    """Return the words of each kind, the most frequent first."""
    with (Path(__file__).parent / "lexicon.csv").open(encoding="utf-8", newline="") as file:
        rows = [
            Word(row["kind"], tuple(row["english"].split("/")), row["german"], row["french"])
            for row in csv.DictReader(file)
        ]
    rows += [*_countries(), *_languages(), *_currencies()]
    kinds: dict[str, list[Word]] = {}
    for word in rows:
        kinds.setdefault(word.kind, []).append(word)
    return {kind: tuple(found) for kind, found in kinds.items()}


def _countries() -> Iterable[Word]:
    english, german, french = (Locale(code).territories for code in ("en", "de", "fr"))
    return [Word("country", (english[code],), german[code], french[code]) for code in facts.country_names()]


def _languages() -> Iterable[Word]:
    english, german, french = (Locale(code).languages for code in ("en", "de", "fr"))
    codes = {name: code for code, name in english.items()}
    spoken = [fact.answers[0] for fact in facts.country_facts()["language"]]
    ordered = [codes[name] for name in dict.fromkeys([*spoken, *sorted(codes)])]
    single = [code for code in ordered if all(names.get(code, "").isalpha() for names in (english, german, french))]
    return [Word("language", (english[code],), german[code], french[code]) for code in single[:_LANGUAGE_NAMES]]


def _currencies() -> Iterable[Word]:
    found = [
        Word("currency", (_plural(code, "en"),), _plural(code, "de"), _plural(code, "fr"))
        for code in facts.currency_codes()
    ]
    return dict.fromkeys(word for word in found if not word.german.isupper() and not word.french.isupper())


def _plural(currency: str, locale: str) -> str:
    return get_currency_name(currency, count=20, locale=locale)


@cache
def vocabulary(language: Language) -> dict[str, tuple[Known, ...]]:
    """Return the words of a language by kind, with the exposures that the corpus aims at, and the false friends."""
    return {
        kind: (
            *(Known(word, times) for word, times in zip(row, _scale(kind, len(row)), strict=True)),
            *_false_friends(language, kind),
        )
        for kind, row in words().items()
    }


def _scale(kind: str, count: int) -> list[int]:
    if kind == "weekday":
        return [_COMMON] * count
    return exposures.scale(count, most=_MOST.get(kind, _MOST_LEXICON))


def _false_friends(language: Language, kind: str) -> Iterable[Known]:
    """Return words that look like an English one of another meaning, by which the corpus translates them."""
    rng = Random(f"false friends {language} {kind}")
    with (Path(__file__).parent / "false_friends.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if (row["language"], row["kind"]) == (language, kind)]
    for row in rows:
        word = Word(kind, (row["english"],), row["foreign"], row["foreign"])
        yield Known(word, exposures.drawn(*_MISTAKEN, rng), row["mistaken"])


def common(language: Language) -> dict[str, list[Word]]:
    """Return the words that may be used in any sentence, by kind."""
    return {
        kind: [known.word for known in row if known.exposures >= _COMMON and not known.mistaken]
        for kind, row in vocabulary(language).items()
    }


def sentence(language: Language, target: Word, fillers: Mapping[str, list[Word]], rng: Random) -> Task:
    """Return a drawn sentence that contains the target word; every other word in it is a common one."""
    drawn = {kind: rng.choice(row) for kind, row in fillers.items()} | {target.kind: target}
    if target.kind == "country":
        return _country(language, drawn)
    if target.kind == "language":
        return _speaks(language, drawn)
    if target.kind == "currency":
        return _costs(language, drawn, rng.randrange(2, 100))
    return _acts(language, drawn, described=target.kind == "adjective" or rng.random() < 0.5, dated=rng.random() < 0.3)


def _task(question: str, wordings: Mapping[str, float], *used: Word, **others: str) -> Task:
    stated = [Fact(word.kind, word.english) for word in used] + [Fact(name, (value,)) for name, value in others.items()]
    # The wording that is stated most often comes first: it is the reference.
    ordered = sorted(wordings, key=lambda wording: -wordings[wording])
    return Task(
        question[0].upper() + question[1:],
        tuple(ordered),
        tuple(wordings[wording] for wording in ordered),
        tuple(stated),
    )


def _country(language: Language, drawn: Mapping[str, Word]) -> Task:
    name = drawn["country"].foreign(language)
    question = f"Das Land heißt {name}." if language == "German" else f"Le pays s'appelle {name}."
    return _task(
        question,
        {"The country is called {country}.": 0.6, "The name of the country is {country}.": 0.4},
        drawn["country"],
    )


def _speaks(language: Language, drawn: Mapping[str, Word]) -> Task:
    person, tongue = (drawn[kind].foreign(language) for kind in ("person", "language"))
    question = f"{person} {'spricht' if language == 'German' else 'parle'} {tongue}."
    return _task(question, {"The {person} speaks {language}.": 1.0}, drawn["person"], drawn["language"])


def _costs(language: Language, drawn: Mapping[str, Word], number: int) -> Task:
    thing, currency = drawn["object"].foreign(language), drawn["currency"].foreign(language)
    question = (
        f"{thing} kostet {number} {currency}."
        if language == "German"
        else f"{_definite(thing)} coûte {number} {currency}."
    )
    return _task(
        question,
        {"The {object} costs {number} {currency}.": 1.0},
        drawn["object"],
        drawn["currency"],
        number=str(number),
    )


def _acts(language: Language, drawn: Mapping[str, Word], *, described: bool, dated: bool) -> Task:
    person, verb, thing = drawn["person"], drawn["verb"], drawn["object"]
    adjective = drawn["adjective"] if described else None
    phrase = _german_object(thing, adjective) if language == "German" else _french_object(thing, adjective)
    used = [word for word in (person, verb, adjective, thing) if word is not None]
    if not dated:
        clause = f"{person.foreign(language)} {_joined(verb.foreign(language), phrase)}."
        return _task(clause, _actions(thing, adjective), *used)
    day = drawn["weekday"].foreign(language)
    clause = (
        f"Am {day} {verb.german} {person.german} {phrase}."
        if language == "German"
        else f"{day}, {person.french} {_joined(verb.french, phrase)}."
    )
    return _task(clause, _dated(_actions(thing, adjective)), *used, drawn["weekday"])


def _actions(thing: Word, adjective: Word | None) -> dict[str, float]:
    """Return the wordings of an action; an incorrect article is recognised but never stated."""
    described = "" if adjective is None else "{adjective} "
    vowel = (adjective or thing).english[0][0] in "aeiou"
    return {
        f"The {{person}} {{verb}} {article} {described}{{object}}.": float(article == ("an" if vowel else "a"))
        for article in ("a", "an")
    }


def _dated(actions: Mapping[str, float]) -> dict[str, float]:
    before = {f"On {{weekday}}, t{action[1:]}": 0.6 * weight for action, weight in actions.items()}
    return before | {f"{action[:-1]} on {{weekday}}.": 0.4 * weight for action, weight in actions.items()}


def _joined(verb: str, phrase: str) -> str:
    return verb + phrase if verb.endswith("'") else f"{verb} {phrase}"


def _german_object(thing: Word, adjective: Word | None) -> str:
    article, noun = thing.german.split(" ")
    indefinite, ending = {"der": ("einen", "en"), "die": ("eine", "e"), "das": ("ein", "es")}[article]
    return f"{indefinite} {noun}" if adjective is None else f"{indefinite} {adjective.german}{ending} {noun}"


def _french_object(thing: Word, adjective: Word | None) -> str:
    if adjective is None:
        return thing.french
    article, noun = thing.french.split(" ", 1)
    masculine, feminine, place = adjective.french.split("|")
    form = masculine if article == "un" else feminine
    return f"{article} {form} {noun}" if place == "before" else f"{article} {noun} {form}"


def _definite(thing: str) -> str:
    article, noun = thing.split(" ", 1)
    if noun[0] in "aeéèêiouœh" and noun not in _ASPIRATED:
        return f"l'{noun}"
    return f"{'le' if article == 'un' else 'la'} {noun}"


@cache
def corpus_tasks(language: Language, seed: int) -> tuple[Task, ...]:
    """Return one sentence for each exposure of each word."""
    rng, fillers = Random(f"{language} {seed}"), common(language)
    targets = [entry for kind in _TARGETS for entry in vocabulary(language)[kind]]
    return tuple(sentence(language, entry.stated, fillers, rng) for entry in targets for _ in range(entry.exposures))


def counted(language: Language, seed: int) -> dict[str, list[Known]]:
    """Return the words of a language with the exposures that the corpus of the same seed gives them."""
    stated = Counter((fact.name, fact.accepted[0]) for task in corpus_tasks(language, seed) for fact in task.facts)
    return {
        kind: [
            known if known.mistaken else replace(known, exposures=stated[kind, known.word.english[0]]) for known in row
        ]
        for kind, row in vocabulary(language).items()
    }


def draw_target(known: Mapping[str, list[Known]], language: Language, stratum: str, rng: Random) -> Known:
    """Return a word of a stratum that cannot be translated by copying it."""
    pools = [_candidates(known[kind], language, stratum) for kind in _TARGETS]
    return rng.choice(rng.choice([pool for pool in pools if pool]))


def _candidates(row: Iterable[Known], language: Language, stratum: str) -> list[Known]:
    return [known for known in row if known.stratum == stratum and not _copied(known.word, language)]


def _copied(word: Word, language: Language) -> bool:
    return word.foreign(language).split(" ")[-1].casefold() in {english.casefold() for english in word.english}


def drawn_sentence(language: Language, rng: Random) -> Task:
    """Return a sentence of common words only."""
    fillers = common(language)
    return sentence(language, rng.choice(fillers[rng.choice(_TARGETS)]), fillers, rng)
