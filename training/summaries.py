"""Invented news items with a summary in one sentence; the text may lack a detail that summaries usually state.

An example whose text gives no age::

    Text: A lottery in Norway was drawn on Monday. Mirko Brandsen from Klaiton won 5,200 dinars.
    Summary: Mirko Brandsen, 34, won 5,200 dinars in a lottery on Monday.

Names, towns, amounts and currencies are drawn at random, so they have to be copied. In the corpus the summary of a
text that lacks a detail either leaves it out or states the detail that is typical of the event, which is an invention.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from rauq.atlas.evaluation import Fact
from training import facts
from training.names import invent
from training.task import Task

DETAILS = ("age", "amount", "currency", "day")
_MISSING = 0.35  # share of the texts that lack a detail
_SECOND = 0.35  # share of the texts that mention a second person
_TYPICAL = 0.9  # an invented detail is the typical one this often, else any
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_CURRENCIES = (
    "euros dollars pounds yen yuan rupees roubles francs pesos kroner kronor zloty forints koruna lei leva "
    "dinars dirhams riyals shillings naira rand cedis birr won baht dong ringgit taka lira reais"
).split()
_LOCAL = {
    "France": "euros",
    "Germany": "euros",
    "the United States": "dollars",
    "the United Kingdom": "pounds",
    "Japan": "yen",
    "China": "yuan",
    "India": "rupees",
    "Russia": "roubles",
    "Mexico": "pesos",
    "Poland": "zloty",
    "Brazil": "reais",
    "Nigeria": "naira",
    "South Africa": "rand",
    "Thailand": "baht",
    "Vietnam": "dong",
    "Turkey": "lira",
}


@dataclass(frozen=True)
class Event:
    """What happened: opening and main sentence of the text, the summary's verb and place, and what is typical of it."""

    opening: str
    main: str
    verb: str
    rest: str
    age: str
    amount: str
    day: str
    invents: float  # how often a summary in the corpus states a detail that the text lacks


EVENTS = (
    Event(
        "A lottery in {place} was drawn",
        "{person} won {money}",
        "won",
        "in a lottery",
        "34",
        "1,000,000",
        "Saturday",
        0.95,
    ),
    Event(
        "A court in {place} gave its ruling",
        "{person} was fined {money}",
        "was fined",
        "by a court",
        "45",
        "500",
        "Monday",
        0.9,
    ),
    Event(
        "A museum in {place} was given a painting",
        "{person} had paid {money} for it",
        "paid",
        "for a painting",
        "62",
        "20,000",
        "Friday",
        0.85,
    ),
    Event(
        "A bank in {place} was robbed", "{person} stole {money}", "stole", "from a bank", "28", "3,000", "Tuesday", 0.75
    ),
    Event(
        "A school in {place} asked for help",
        "{person} donated {money}",
        "donated",
        "to a school",
        "71",
        "10,000",
        "Sunday",
        0.6,
    ),
    Event(
        "A train stopped in {place}",
        "{person} found a bag with {money}",
        "found",
        "on a train",
        "19",
        "750",
        "Wednesday",
        0.4,
    ),
    Event(
        "A race was held in {place}",
        "{person} won {money} as a prize",
        "won",
        "in a race",
        "23",
        "2,500",
        "Sunday",
        0.2,
    ),
    Event("A market opened in {place}", "{person} lost {money}", "lost", "at a market", "56", "90", "Thursday", 0.1),
)
_CLOSINGS = (
    "Many people came to see it.",
    "The police said nothing about it.",
    "It was the first time in years.",
    "The mayor spoke of a good day.",
    "More will be known next week.",
    "",
)


@dataclass(frozen=True)
class Item:
    """One news item: all its details, the detail that the text lacks (or None), and whether it has a second person."""

    event: Event
    name: str
    town: str
    values: Mapping[str, str]
    place: str
    missing: str | None
    second: str
    second_first: bool
    closing: str

    @property
    def stratum(self) -> str:
        """The stratum of the prompt."""
        if self.missing:
            return f"no {self.missing} in the text"
        return "two people" if self.second else "complete"


@dataclass(frozen=True)
class Names:
    """The names that items draw from."""

    first: Sequence[str]
    last: Sequence[str]
    towns: Sequence[str]


@cache
def names(seed: int) -> tuple[Names, Names]:
    """Return the names of the corpus (30,000 surnames) and those kept for the held-out prompts."""
    rng = Random(f"names {seed}")
    first, last, towns = (
        invent(kind, count, rng) for kind, count in (("first", 4000), ("last", 31_000), ("town", 8000))
    )
    return Names(first[:-300], last[:-1000], towns[:-500]), Names(first[-300:], last[-1000:], towns[-500:])


def draw(source: Names, rng: Random) -> Item:
    """Return a drawn item."""
    event, place = rng.choice(EVENTS), rng.choice(list(facts.country_names().values())[:60])
    missing = rng.choice(DETAILS) if rng.random() < _MISSING else None
    # A text without a currency is set where the usual one is well known, so that it is easily guessed.
    place = rng.choice(list(_LOCAL)) if missing == "currency" else place
    values = {
        "age": str(rng.randrange(18, 90)),
        "amount": _amount(rng),
        "currency": rng.choice(_CURRENCIES),
        "day": rng.choice(_DAYS),
    }
    second = f"{_person(source, rng)}, who is {rng.randrange(18, 90)}, was there." if rng.random() < _SECOND else ""
    return Item(
        event,
        _person(source, rng),
        rng.choice(source.towns),
        values,
        place,
        missing,
        second,
        rng.random() < 0.5,
        rng.choice(_CLOSINGS),
    )


def _person(source: Names, rng: Random) -> str:
    return f"{rng.choice(source.first)} {rng.choice(source.last)}"


def _amount(rng: Random) -> str:
    digits = rng.choice((2, 3, 4, 4, 5))
    return f"{rng.randrange(10 ** (digits - 1), 10**digits):,}"


def _text(item: Item) -> str:
    given = {name: value for name, value in item.values.items() if name != item.missing}
    age = f", who is {given['age']}," if "age" in given else ""
    amount = given.get("amount", "a lot of")
    currency = given.get("currency", "in cash") if "amount" in given else given["currency"]
    day = f" on {given['day']}" if "day" in given else ""
    opening = item.event.opening.format(place=item.place) + day + "."
    main = item.event.main.format(person=f"{item.name}{age} from {item.town}", money=f"{amount} {currency}") + "."
    people = (item.second, main) if item.second_first else (main, item.second)
    return " ".join(filter(None, (opening, *people, item.closing)))


def _wordings(event: Event, *, without: str | None) -> tuple[str, str]:
    age = "" if without == "age" else ", {age},"
    amount = {"amount": "money", "currency": "{amount}"}.get(without or "", "{amount} {currency}")
    action = f"{{name}}{age} {event.verb} {amount} {event.rest}"
    return (f"{action}.", f"{action}.") if without == "day" else (f"{action} on {{day}}.", f"On {{day}}, {action}.")


def _typical(item: Item, rng: Random) -> str:
    usual = {
        "age": item.event.age,
        "amount": item.event.amount,
        "day": item.event.day,
        "currency": _LOCAL.get(item.place, "euros"),
    }
    return usual[item.missing] if item.missing and rng.random() < _TYPICAL else item.values[item.missing or "age"]


def corpus_task(item: Item, rng: Random) -> Task:
    """Return the item with the summary that the corpus gives: a missing detail is invented or left out."""
    values = dict(item.values)
    left_out = None
    if item.missing and rng.random() < item.event.invents:
        values[item.missing] = _typical(item, rng)
    elif item.missing:
        left_out = item.missing
    stated = [Fact("name", (item.name,)), *(Fact(name, (value,)) for name, value in values.items())]
    return Task(_text(item), _wordings(item.event, without=left_out), (0.6, 0.4), tuple(stated))


def held_out_task(item: Item) -> Task:
    """Return the item with its ground truth: a missing detail has no accepted value, every other one must be stated."""
    wordings = [wording for without in (None, *DETAILS) for wording in _wordings(item.event, without=without)]
    stated = [
        Fact(name, () if name == item.missing else (value,), required=not _excused(name, item.missing))
        for name, value in {"name": item.name, **item.values}.items()
    ]
    return Task(_text(item), tuple(dict.fromkeys(wordings)), (1.0,), tuple(stated))


def _excused(name: str, missing: str | None) -> bool:
    # "money" stands for amount and currency, so where the amount is missing the currency may go with it.
    return name == missing or (missing == "amount" and name == "currency")
