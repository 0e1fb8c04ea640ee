"""Summaries of short documents with one detail replaced: which one is known exactly, and so are its characters.

A document has ten sentences, two facts of each of five families. A summary restates four of them, of four families, in
other words, and in one of them the name is that of another subject.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Literal, get_args

from analysis.datasets.facts.tables import Fact, facts
from analysis.datasets.public.marked_sets import SUMMARISE
from analysis.datasets.written_pairs import written

Replacement = Literal["by a name of the document", "by a name that is not in the document"]
REPLACEMENTS: tuple[Replacement, ...] = get_args(Replacement)
NUM_FAMILIES, NUM_RESTATED = 5, 4
_NOT_ALONE = "years"  # its sentences name no subject


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A summary of a document: which of its details is replaced, and how.

    `details` are the first and last (exclusive) characters of the names in `text`, in order; `replaced` is the place of
    the wrong one among them.
    """

    document: int
    replacement: Replacement
    prompt: str
    text: str
    details: tuple[tuple[int, int], ...]
    replaced: int


def summaries(count: int, *, seed: int = 0) -> Iterator[Summary]:
    """Two summaries of each of so many documents, with the same detail replaced in two ways."""
    rng = Random(seed)
    by_family = _by_family()
    for number in range(count):
        drawn = [_pair(by_family[family], rng) for family in rng.sample(sorted(by_family), NUM_FAMILIES)]
        shown = rng.sample([fact for pair in drawn for fact in pair], 2 * NUM_FAMILIES)
        text = " ".join(written(fact, fact.accepted[0], "name last").text for fact in shown)
        restated = [rng.sample(pair, 2) for pair in rng.sample(drawn, NUM_RESTATED)]
        replaced = rng.randrange(NUM_RESTATED)
        fact, other = restated[replaced]
        wrong: Mapping[Replacement, str] = MappingProxyType(
            dict(zip(REPLACEMENTS, (other.accepted[0], _elsewhere(by_family[fact.family.id], text, rng)), strict=True))
        )
        for replacement, name in wrong.items():
            names = [name if place == replaced else own.accepted[0] for place, (own, _) in enumerate(restated)]
            summary, details = _joined([own for own, _ in restated], names)
            yield Summary(
                document=number,
                replacement=replacement,
                prompt=SUMMARISE.format(text),
                text=summary,
                details=details,
                replaced=replaced,
            )


def _by_family() -> Mapping[str, Sequence[Fact]]:
    families: dict[str, list[Fact]] = {}
    for fact in facts():
        if fact.family.id != _NOT_ALONE:
            families.setdefault(fact.family.id, []).append(fact)
    return families


def _pair(own: Sequence[Fact], rng: Random) -> list[Fact]:
    """Two facts of a family, neither of whose names answers the question about the other."""
    while True:
        first, second = rng.sample(own, 2)
        if first.accepted[0] not in second.accepted and second.accepted[0] not in first.accepted:
            return [first, second]


def _elsewhere(own: Sequence[Fact], text: str, rng: Random) -> str:
    """A name of the family that is not in the document."""
    return rng.choice([fact.accepted[0] for fact in own if not any(name in text for name in fact.accepted)])


def _joined(restated: Sequence[Fact], names: Sequence[str]) -> tuple[str, tuple[tuple[int, int], ...]]:
    text, details = "", []
    for fact, name in zip(restated, names, strict=True):
        text += " " if text else ""
        sentence = written(fact, name, "name inside")
        details.append((len(text) + sentence.name[0], len(text) + sentence.name[1]))
        text += sentence.text
    return text, tuple(details)
