"""Invented names of people and towns: too many to learn, so a model has to copy them from the text."""

from random import Random

_ONSETS = "b bl br c ch d dr f fr g gr h j k kl l m n p pr qu r s sh st t tr v w z".split()
_VOWELS = "a a e e i i o o u ai ea io ou".split()
_ENDINGS = {
    "first": ["", "n", "l", "s", "ra", "na", "ko", "li", "mir", "dan"],
    "last": ["ck", "nd", "rt", "ss", "lov", "sen", "berg", "ford", "ski", "mann", "tti", "ley"],
    "town": ["ton", "by", "stad", "ville", "burg", "mo", "field", "wick", "ora", "au"],
}


def invent(kind: str, count: int, rng: Random) -> list[str]:
    """Return `count` distinct invented names of a kind: "first", "last" or "town"."""
    names: dict[str, None] = {}
    while len(names) < count:
        syllables = "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) for _ in range(rng.choice((1, 2, 2))))
        names[(syllables + rng.choice(_ENDINGS[kind])).capitalize()] = None
    return list(names)
