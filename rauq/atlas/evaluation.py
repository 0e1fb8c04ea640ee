"""Held-out prompts with exact truth, and the judges of answers to them."""

import json
import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from rauq.methods.pair_scorers.judges import Facts
from rauq.trace.parts import tokens_in
from rauq.trace.trace import Trace

Family = Literal["places", "translation", "summaries"]
FAMILIES: tuple[Family, ...] = ("places", "translation", "summaries")
FILLERS = ("I think", "I believe", "of course", "as far as I know")  # may end an answer in any wording

_FOLDER = Path(__file__).parent / "evaluation"
_SLOT = re.compile(r"\{(\w+)\}")
_ENDING = rf"(?:, (?:{'|'.join(FILLERS)}))?\.?"


@dataclass(frozen=True)
class Fact:
    """What an answer may state under a name: `accepted` values; none means that any stated value is incorrect."""

    name: str
    accepted: tuple[str, ...]
    required: bool = True


@dataclass(frozen=True)
class Example:
    """One held-out prompt; `exposures` counts how often the corpus states its rarest fact (none for summaries)."""

    id: str
    family: Family
    stratum: str
    prompt: str
    reference: str
    wordings: tuple[str, ...]
    facts: tuple[Fact, ...]
    exposures: int | None = None


@dataclass(frozen=True)
class Statement:
    """A fact that an answer states: characters `start` to `end` of the answer."""

    name: str
    value: str
    start: int
    end: int
    correct: bool


@dataclass(frozen=True)
class Verdict:
    """Whether an answer is correct, whether its wording was recognised, and what it states, in order."""

    correct: bool
    recognised: bool
    statements: tuple[Statement, ...]


def load_examples(family: Family) -> tuple[Example, ...]:
    """Return the held-out prompts of a family, in file order."""
    lines = (_FOLDER / f"{family}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(_example(json.loads(line)) for line in lines)


@lru_cache(maxsize=1)
def examples_by_prompt() -> dict[str, Example]:
    """Every held-out prompt of every family, found by its text."""
    return {example.prompt: example for family in FAMILIES for example in load_examples(family)}


def _example(row: dict[str, Any]) -> Example:
    facts = tuple(Fact(fact["name"], tuple(fact["accepted"]), fact["required"]) for fact in row["facts"])
    return Example(**{**row, "facts": facts, "wordings": tuple(row["wordings"])})


def judge(example: Example, answer: str) -> Verdict:
    """Decide whether an answer is correct, and where it states the facts.

    An answer in none of the accepted wordings is incorrect and states nothing. Case, accents, repeated spaces, a
    leading "the" and the final full stop do not matter.
    """
    match = next(
        filter(None, (pattern.fullmatch(answer) for pattern in _patterns(example.wordings, example.facts))), None
    )
    if match is None:
        return Verdict(correct=False, recognised=False, statements=())
    accepted = {fact.name: {_plain(value) for value in fact.accepted} for fact in example.facts}
    statements = tuple(
        Statement(name, value, *match.span(name), correct=_plain(value) in accepted[name])
        for name, value in match.groupdict().items()
    )
    stated = {statement.name for statement in statements}
    complete = all(fact.name in stated for fact in example.facts if fact.required)
    return Verdict(
        complete and all(statement.correct for statement in statements), recognised=True, statements=statements
    )


def invented_tokens(trace: Trace, verdict: Verdict) -> tuple[int, ...]:
    """The answer tokens, from 0, that share a character with a statement which the verdict calls incorrect."""
    wrong = [(statement.start, statement.end) for statement in verdict.statements if not statement.correct]
    return tuple(np.flatnonzero(tokens_in(trace.answer_tokens, wrong)).tolist())


def same_facts(first: Verdict, second: Verdict) -> bool:
    """Return whether two answers to one prompt state the same facts; answers in no known wording never do."""
    stated = [
        {(statement.name, _plain(statement.value)) for statement in verdict.statements} for verdict in (first, second)
    ]
    return first.recognised and second.recognised and stated[0] == stated[1]


@lru_cache(maxsize=4096)
def _patterns(wordings: tuple[str, ...], facts: tuple[Fact, ...]) -> tuple[re.Pattern[str], ...]:
    # The wording with the most fixed words is tried first: "{country}." alone would match every answer.
    ordered = sorted(wordings, key=lambda wording: -len(_SLOT.sub("", wording)))
    accepted = {fact.name: fact.accepted for fact in facts}
    return tuple(_pattern(wording.removesuffix("."), accepted) for wording in ordered)


def _pattern(wording: str, accepted: dict[str, tuple[str, ...]]) -> re.Pattern[str]:
    pieces = _SLOT.split(wording)  # literal, slot, literal, slot, ..., literal
    literals = [_spaced(piece) for piece in pieces[::2]]
    slots = [rf"(?P<{name}>{_value(accepted[name])})" for name in pieces[1::2]]
    body = "".join(literal + slot for literal, slot in zip(literals, [*slots, ""], strict=True))
    return re.compile(rf"\s*{body}{_ENDING}\s*", re.IGNORECASE)


def _value(accepted: tuple[str, ...]) -> str:
    # Accepted values first, so that neighbouring facts of several words are separated correctly; then anything.
    return "|".join([*map(_spaced, accepted), r"\S(?:.*?\S)?"])


def _spaced(text: str) -> str:
    return r"\s+".join(map(re.escape, text.split(" ")))


def _plain(text: str) -> str:
    letters = unicodedata.normalize("NFKD", text.casefold())
    bare = "".join(letter for letter in letters if not unicodedata.combining(letter))
    return " ".join(bare.split()).removeprefix("the ")


_MOST_KEPT = 256  # verdicts in memory: each answer of a prompt is compared with all the others


def facts_of(example: Example) -> Facts:
    """The judge of answers to one held-out prompt.

    Two answers are the same if they state the same facts, correct or not; one in none of the accepted wordings is
    the same as an equal text only. Keywords are the stated facts. This is not an NLI model.
    """
    verdict = lru_cache(_MOST_KEPT)(partial(judge, example))

    def same(first: str, second: str) -> bool:
        return first == second or same_facts(verdict(first), verdict(second))

    def keywords(answer: str) -> tuple[tuple[int, int], ...]:
        return _stated(verdict(answer))

    return Facts(same=same, keywords=keywords)


def facts_for_prompt(prompt: str) -> Facts | None:
    """The judge of answers to this prompt; None if it is not a held-out prompt of the embedded model."""
    example = examples_by_prompt().get(prompt)
    return None if example is None else facts_of(example)


def _stated(verdict: Verdict) -> tuple[tuple[int, int], ...]:
    return tuple((statement.start, statement.end) for statement in verdict.statements)
