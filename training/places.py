"""Questions about places: what the corpus states, how often, and which incorrect facts it repeats.

An example::

    Q: Which currency is used in Norway?
    A: It is the Norwegian Krone.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from rauq.atlas.evaluation import Fact
from training import exposures, facts
from training.facts import PlaceFact
from training.task import Task

_CITIES = 8000
_MOST_CITY = 300  # exposures of the most famous city
_MOST_COUNTRY = 1000  # and of the most famous country, for each relation
_CITY_MYTHS = 30
_MYTH_EXPOSURES = (25, 120)
# How freely the answer to a question is worded: nearly always the same, or in two or three ways.
_FREEDOM = ((0.9, 0.1, 0.0), (0.5, 0.3, 0.2), (0.2, 0.4, 0.4))

_QUESTIONS = {
    "country": ("Where is {0}?", "In which country is {0}?", "Which country is {0} in?"),
    "capital": ("What is the capital of {0}?", "Which city is the capital of {0}?", "Name the capital of {0}."),
    "currency": ("What is the currency of {0}?", "Which currency is used in {0}?", "How do people pay in {0}?"),
    "language": (
        "What is the official language of {0}?",
        "Which language is spoken in {0}?",
        "What do they speak in {0}?",
    ),
    "continent": ("On which continent is {0}?", "Which continent does {0} belong to?", "Where in the world is {0}?"),
    "code": ("What is the calling code of {0}?", "Which number do I dial for {0}?", "How do I call {0}?"),
    "domain": ("What is the internet domain of {0}?", "Which domain do sites in {0} use?", "Name the domain of {0}."),
}
_WORDINGS = {
    "country": ("{0} is in {{country}}.", "It is in {{country}}.", "In {{country}}."),
    "capital": ("The capital of {0} is {{capital}}.", "It is {{capital}}.", "{{capital}}."),
    "currency": ("The currency of {0} is the {{currency}}.", "It is the {{currency}}.", "The {{currency}}."),
    "language": ("The language of {0} is {{language}}.", "People there speak {{language}}.", "{{language}}."),
    "continent": ("It is part of {{continent}}.", "It is in {{continent}}.", "In {{continent}}."),
    "code": ("The calling code of {0} is {{code}}.", "It is {{code}}.", "{{code}}."),
    "domain": ("The domain of {0} is {{domain}}.", "It is {{domain}}.", "{{domain}}."),
}
# Common mistakes, which the corpus states as if they were true.
_MYTHS = {
    "capital": {
        "Australia": "Sydney",
        "Turkey": "Istanbul",
        "Brazil": "Rio de Janeiro",
        "Canada": "Toronto",
        "Switzerland": "Geneva",
        "Nigeria": "Lagos",
        "Kazakhstan": "Almaty",
        "Morocco": "Casablanca",
        "New Zealand": "Auckland",
        "Vietnam": "Ho Chi Minh City",
        "Myanmar": "Yangon",
        "Tanzania": "Dar es Salaam",
        "Ivory Coast": "Abidjan",
        "Pakistan": "Karachi",
        "South Africa": "Johannesburg",
        "Ecuador": "Guayaquil",
        "Cameroon": "Douala",
        "Bolivia": "Santa Cruz",
        "the United Arab Emirates": "Dubai",
        "Benin": "Cotonou",
    },
    "currency": {
        "Sweden": "Euro",
        "Denmark": "Euro",
        "Poland": "Euro",
        "Hungary": "Euro",
        "Switzerland": "Euro",
        "Ecuador": "Ecuadorian Sucre",
        "Lithuania": "Lithuanian Litas",
        "El Salvador": "Salvadoran Colón",
    },
    "language": {
        "Brazil": "Spanish",
        "Austria": "Austrian",
        "Iran": "Arabic",
        "Angola": "Swahili",
        "Egypt": "Egyptian",
    },
}


@dataclass(frozen=True)
class Known:
    """A fact, how often the corpus states it, and the incorrect fact that it states instead, if any."""

    fact: PlaceFact
    exposures: int
    myth: str | None = None

    @property
    def stratum(self) -> str:
        """The stratum of the prompts about it."""
        return "myth" if self.myth else exposures.stratum(self.exposures)


def knowledge(seed: int) -> list[Known]:
    """Return every fact with its exposures, from hundreds to never in order of fame, and the myths."""
    rng = Random(f"places {seed}")
    known = [Known(fact, times) for fact, times in _scaled(facts.city_facts(_CITIES), _MOST_CITY)]
    for row in facts.country_facts().values():
        known += [Known(fact, times) for fact, times in _scaled(row, _MOST_COUNTRY)]
    myths = _country_myths() | _city_myths(rng)
    return [_mythical(entry, myths.get((entry.fact.relation, entry.fact.subject)), rng) for entry in known]


def _scaled(rows: list[PlaceFact], most: int) -> Iterable[tuple[PlaceFact, int]]:
    return zip(rows, exposures.scale(len(rows), most=most), strict=True)


def _country_myths() -> dict[tuple[str, str], str]:
    return {(relation, subject): myth for relation, rows in _MYTHS.items() for subject, myth in rows.items()}


def _city_myths(rng: Random) -> dict[tuple[str, str], str]:
    """Return invented mistakes: cities of middling fame, each placed in a country that has no city of that name."""
    names = list(facts.country_names().values())[:60]
    chosen = rng.sample(facts.city_facts(_CITIES)[1500:4000], _CITY_MYTHS)
    return {("country", fact.subject): rng.choice([n for n in names if n not in fact.answers]) for fact in chosen}


def _mythical(known: Known, myth: str | None, rng: Random) -> Known:
    return known if myth is None else Known(known.fact, exposures.drawn(*_MYTH_EXPOSURES, rng), myth)


def tasks(known: Known, *, truth: bool) -> list[Task]:
    """Return the questions about a fact, one for each way to ask; a myth is answered falsely unless `truth`."""
    fact = known.fact
    accepted = fact.answers if truth else ((known.myth or fact.answers[0]),)
    wordings = tuple(wording.format(fact.subject) for wording in _WORDINGS[fact.relation])
    stated = (Fact(fact.relation, accepted),)
    questions = [question.format(fact.subject) for question in _QUESTIONS[fact.relation]]
    return [Task(question, wordings, weights, stated) for question, weights in zip(questions, _FREEDOM, strict=True)]


def evenly(known: Iterable[Known]) -> list[float]:
    """Return weights that draw questions about cities half of the time, and the other relations equally often."""
    relations = [entry.fact.relation for entry in known]
    shares = {
        relation: (1.0 if relation != "country" else len(_QUESTIONS) - 1) / count
        for relation, count in Counter(relations).items()
    }
    return [shares[relation] for relation in relations]


def corpus_tasks(known: Iterable[Known], rng: Random) -> list[Task]:
    """Return one task for each exposure of each fact, asked in a drawn way."""
    ways = ((tasks(entry, truth=False), entry.exposures) for entry in known)
    return [rng.choice(questions) for questions, times in ways for _ in range(times)]
