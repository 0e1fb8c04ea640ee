"""The judge of facts: an answer is correct if it names an accepted answer, and no other of the same kind.

It is unclear, and has to be read, where the words around the name leave open that it is the answer
(`analysis.quality.wording`), or where another name follows that may be an aside.

Names are compared word by word. Case, accents, punctuation, the article and the plural of a common noun do not matter,
and of several names at one place the longest counts: Papua New Guinea does not name Guinea. These are not named:

- what the question names: an answer may repeat it;
- what is denied: the words before are "not", "not in", "unlike", "rather than", or the like;
- a name within a phrase that means something else: Gulf of Mexico;
- what follows "borders" or "neighbours" in a sentence, and a year of birth, unless the question is about it;
- a single word that is written with a capital, such as Male, where the answer has capitals and does not give it one;
- a symbol, or an abbreviation such as US, in other case, or where it is the first word of a sentence: In, As;
- a surname next to a first name of somebody else.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import pairwise, takewhile
from types import MappingProxyType

from analysis.datasets.example import Example
from analysis.datasets.facts.tables import FAMILIES, KINDS, Family, facts, names, phrases, spoken_year
from analysis.normalisation import plain_text
from analysis.quality.judgement import Judgement, Statement, unclear, undefined
from analysis.quality.matching import is_english_word
from analysis.quality.wording import SHORT_YEAR, is_short_year, wording
from rauq.atlas.evaluation import facts_for_prompt
from rauq.methods.pair_scorers.judges import Facts

_ASIDE = re.compile(r"\b(border|neighbour|neighbor)\w*[^.!?\n]*|\b(born)\b\D*(?:\d{1,2}\D+)?\d{4}", re.IGNORECASE)


def judge_fact(example: Example, answer: str) -> Judgement:
    """Quality is 1 where the answer names an accepted answer and no other, 0 where it names none, or one of several.

    It is unclear where the wording does not say which. The facts are all that the answer names.
    """
    if example.group not in FAMILIES:
        return undefined(f"{example.group!r} is not a family of facts; choose {', '.join(FAMILIES)}")
    stated = _stated(example, answer)
    facts = tuple((mention.start, mention.end) for mention in stated)
    return replace(_judged(example, answer, stated), facts=facts)


def _judged(example: Example, answer: str, stated: Sequence["Mention"]) -> Judgement:
    accepted = [mention for mention in stated if mention.owner == ACCEPTED]
    others = [mention for mention in stated if mention.owner != ACCEPTED and not _is_compared(answer, mention)]
    if not accepted:
        return unclear(SHORT_YEAR) if is_short_year(answer, example.references) else Judgement(0.0)
    if others:
        other = answer[others[0].start : others[0].end]
        return Judgement(0.0) if _are_rivals(answer, accepted[0], others[0]) else unclear(f"it also names {other!r}")
    plain = _without_denied(example, answer)
    spans = [(mention.start, mention.end) for mention in accepted]
    known = FAMILIES[example.group].kind in _WHOLE_KINDS
    said = wording(plain, question=example.question, names=example.references, lists_are_known=known)
    reason = said.doubt(spans)
    return unclear(reason) if reason else Judgement(1.0)


_WHOLE_KINDS = frozenset({"country", "symbol", "element", "atomic_number", "year"})  # every name of them is known
_COMPARED = re.compile(
    r"\b(?:than|near|unlike|like|north of|south of|east of|west of|next to|close to|after|before|since|until|from|"
    r"(?:mass|weight)(?: number)?(?: (?:of|is|about))*)\W+(?:the )?$",
    re.IGNORECASE,
)
_MEASURED = re.compile(r"\s*(?:u|amu|g|kg|K|%|°C?|neutrons?|years?)\b")


def _is_compared(answer: str, mention: "Mention") -> bool:
    """Whether a name says what the answer is compared with, or a number measures something: "larger than London"."""
    return bool(_COMPARED.search(answer[: mention.start]) or _MEASURED.match(answer, mention.end))


def _are_rivals(answer: str, accepted: "Mention", other: "Mention") -> bool:
    """Whether two names are both given as answers: in one sentence the other one first, or in a list."""
    first, second = sorted((accepted, other), key=lambda mention: mention.start)
    between = answer[first.end : second.start]
    listed = re.search(r"^[\s,/&]*$|\b(?:or|and)\b[^,]*$", between, re.IGNORECASE)
    return not re.search(r"[.!?\n]\s", between) and bool(first is other or listed)


def _without_denied(example: Example, answer: str) -> str:
    """The answer with a semicolon and spaces for what it denies, and for the "or" between two accepted names."""
    named = _named_in(example, answer)
    accepted = [mention for mention in named if mention.owner == ACCEPTED and mention.denied_from is None]
    gaps = [(first.end, second.start) for first, second in pairwise(accepted)]
    joined = [gap for gap in gaps if _JOINED.fullmatch(answer[slice(*gap)])]
    others = [mention for mention in named if mention.owner != ACCEPTED]
    denied = [(mention.denied_from, mention.end) for mention in others if mention.denied_from is not None]
    for start, end in (*joined, *denied):
        answer = f"{answer[:start]}{';'.ljust(end - start)}{answer[end:]}"
    return answer


_JOINED = re.compile(r"\W*(?:or|and)(?: the)?\W*", re.IGNORECASE)


def stated_facts(example: Example, answer: str) -> tuple[Statement, ...]:
    """What an answer names in reply to the question, in order; nothing where the group is no family of facts."""
    stated = _stated(example, answer) if example.group in FAMILIES else []
    return tuple(Statement(one.start, one.end, one.owner == ACCEPTED) for one in stated)


def family_of(question: str, references: Iterable[str]) -> str:
    """The family whose question this is, else one with a table of names that has all references; "" where none has.

    Numbers have no table: not every number below 119 is an atomic one.
    """
    names = [tuple(word.plain for word in _words(text)) for text in references]
    asked = [family.id for family in FAMILIES.values() if _asks(family, question)]
    tables = [family for family in FAMILIES.values() if not KINDS[family.kind].numbers]
    named = [family.id for family in tables if names and all(name in _names_of(family.kind) for name in names)]
    return next(iter([*asked, *named]), "")


def _asks(family: Family, question: str) -> bool:
    beginning, end = family.question.casefold().split("{}")
    text = question.strip().casefold()
    return text.startswith(beginning) and text.endswith(end)


def known_facts(example: Example) -> Facts | None:
    """The judge of answers to this example: of an embedded prompt or of a question of facts; None for any other."""
    if (example.id, example.group, example.references) in _questions():
        return _facts_of(example)
    return facts_for_prompt(example.prompt)


@lru_cache(maxsize=1)
def _questions() -> frozenset[tuple[str, str, tuple[str, ...]]]:
    """The id, family and accepted answers of every question of facts: a file of the user's may have one of the ids."""
    return frozenset((fact.id, fact.family.id, fact.accepted) for fact in facts())


def _facts_of(example: Example) -> Facts:
    """Two answers are the same if they name the same things; one that names none is the same as an equal text only."""
    stated = lru_cache(_MOST_KEPT)(partial(_stated, example))

    def same(first: str, second: str) -> bool:
        named, others = ({mention.owner for mention in stated(answer)} for answer in (first, second))
        return first == second or (bool(named) and named == others)

    return Facts(same=same, keywords=lambda answer: [(mention.start, mention.end) for mention in stated(answer)])


def _stated(example: Example, answer: str) -> list["Mention"]:
    """What an answer names in reply to the question, in order, and does not deny."""
    return [mention for mention in _named_in(example, answer) if mention.denied_from is None]


def _named_in(example: Example, answer: str) -> list["Mention"]:
    """What an answer names, in order, denied or not; accepted answers have the owner ACCEPTED."""
    kind = FAMILIES[example.group].kind
    others, accepted = _names_of(kind), _entries(example.references, ACCEPTED)
    right = {ACCEPTED, *(others[words].owner for words in accepted if words in others)}
    asked = {mention.owner for mention in _mentions(example.question, Lexicon(others, KINDS[kind].people))}
    named = _mentions(answer, Lexicon({**others, **accepted}, KINDS[kind].people))
    asides = _asides(answer, example.question)
    return [
        replace(mention, owner=ACCEPTED) if mention.owner in right else mention
        for mention in named
        if mention.owner not in {NOTHING, *asked} - right and not _inside(mention, asides)
    ]


def _asides(answer: str, question: str) -> list[tuple[int, int]]:
    """Characters (start, end) in which names and years are not the answer."""
    return [
        match.span()
        for match in _ASIDE.finditer(answer)
        if (match[1] or match[2]).casefold() not in question.casefold()
    ]


def _inside(mention: "Mention", spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= mention.start < end for start, end in spans)


_WORD = re.compile(r"\d+(?:[.,]\d+)+|(?:[^\W_]|[\u0300-\u036f\u00ad])+|&")
_SAME: Mapping[str, str] = MappingProxyType({"st": "saint", "mt": "mount", "&": "and", "rmb": "renminbi"})


@dataclass(frozen=True)
class Word:
    """A word of a text: as it is compared, as it is written, and its characters (start, end)."""

    plain: str
    written: str
    start: int
    end: int

    @property
    def is_capitalised(self) -> bool:
        """Whether it begins with a capital."""
        return self.written[0].isupper()


def _words(text: str) -> list[Word]:
    """The words of a text in order, without the article."""
    found = [Word(_plain(match[0]), match[0], *match.span()) for match in _WORD.finditer(text)]
    return [word for word in found if word.plain != "the"]


_ZEROS = re.compile(r"(?<=\d)\.0+$")  # 8.0 is 8


def _plain(word: str) -> str:
    folded = _ZEROS.sub("", plain_text(word).casefold())
    return _SAME.get(folded, folded)


_MOST_KEPT = 256  # answers in memory: each answer to a question is compared with all the others

ACCEPTED, NOTHING = -1, -2  # of owners: the answer asked for, and what phrases name
_BY_CASE = re.compile(r"[A-Z][a-z]?|[A-Z]{2,4}")  # Au, US


@dataclass(frozen=True)
class Entry:
    """One text that names a thing: the text, the number of the thing, and every word of all its names."""

    text: str
    owner: int
    own_words: frozenset[str]


Entries = Mapping[tuple[str, ...], Entry]


@lru_cache(maxsize=len(KINDS))
def _names_of(kind: str) -> Entries:
    """Every name of a kind by its words, and the phrases that name nothing of it."""
    found = dict(_entries(phrases(kind), NOTHING))
    for owner, name in enumerate(names(kind)):
        found |= _entries((*name.texts, *(spoken_year(int(name.texts[0])) if kind == "year" else ())), owner)
    return found


def _entries(texts: Iterable[str], owner: int) -> Entries:
    """The texts by their words; an abbreviation also by its letters."""
    pairs = [(text, tuple(word.plain for word in _words(text))) for text in texts]
    own = frozenset(word for _, words in pairs for word in words)
    spelled = [(text, tuple(text.casefold())) for text, _ in pairs if _BY_CASE.fullmatch(text)]
    return {words: Entry(text, owner, own) for text, words in (*pairs, *spelled) if words}


@dataclass(frozen=True)
class Lexicon:
    """What names what; `people`: a surname next to another first name is somebody else."""

    entries: Entries
    people: bool

    def find(self, plain: tuple[str, ...]) -> Entry | None:
        """The entry of these words; one that ends in a common noun is there in the plural too: dollars."""
        found = self.entries.get(plain)
        if found or not plain[-1].endswith("s"):
            return found
        single = self.entries.get((*plain[:-1], plain[-1].removesuffix("s")))
        return single if single and single.text.split()[-1].islower() else None


@dataclass(frozen=True)
class Mention:
    """A name in an answer: which thing it names, its characters (start, end), and where its denial begins, if any."""

    owner: int
    start: int
    end: int
    denied_from: int | None = None


_DENIED = re.compile(
    r"\b(?:not|nor|never|unlike|rather than|instead of|opposed to|anything but|no longer|isn t|wasn t)(?: in| by| a)? $"
)


def _mentions(text: str, lexicon: Lexicon) -> list[Mention]:
    """The names in a text, in order, the denied ones too: at each place the longest."""
    words, place = _words(text), 0
    longest = max(map(len, lexicon.entries), default=0)
    found = []
    while place < len(words):
        sizes = range(min(longest, len(words) - place), 0, -1)
        entry, size = next(
            ((entry, size) for size in sizes if (entry := _named(text, words, place, size, lexicon))), (None, 1)
        )
        if entry:
            denied_from = _denial(words[max(0, place - 3) : place])
            found.append(Mention(entry.owner, words[place].start, words[place + size - 1].end, denied_from))
        place += size
    return found


def _denial(before: Sequence[Word]) -> int | None:
    """Where these words begin to deny what follows them."""
    texts = [f"{word.plain} " for word in before]
    found = _DENIED.search("".join(texts))
    return before["".join(texts)[: found.start()].count(" ")].start if found else None


def _named(text: str, words: Sequence[Word], place: int, size: int, lexicon: Lexicon) -> Entry | None:
    """What the words from `place` on name, if they name anything."""
    here = words[place : place + size]
    entry = lexicon.find(tuple(word.plain for word in here))
    if not entry or not _as_written(entry.text, here, text):
        return None
    return None if lexicon.people and size == 1 and _is_another_person(entry, place, words, text) else entry


def _as_written(name: str, here: Sequence[Word], text: str) -> bool:
    """Whether the letters' case fits a name; see the head of this file."""
    if _BY_CASE.fullmatch(name):
        start, end = here[0].start, here[-1].end
        return "".join(word.written for word in here) == name and not is_english_word(text, start, end)
    return len(here) > 1 or not name[0].isupper() or here[0].is_capitalised or text.islower()


_NO_NAMES = frozenset(
    "sir lord lady mr mrs ms dr count by it is was while although as when and author "
    "surely certainly yes obviously probably perhaps maybe".split()
)
_INITIALS = re.compile(r"[A-Z]{1,3}")


def _is_another_person(entry: Entry, place: int, words: Sequence[Word], text: str) -> bool:
    """Whether a name of one word stands next to a first name or surname that is not of the same person."""
    before = _capitalised(reversed(words[max(0, place - 3) : place + 1]), text)
    if any(word.plain in entry.own_words for word in before):
        return False
    near = [*before, *_capitalised(words[place : place + 2], text)]
    return any(word.plain not in _NO_NAMES | entry.own_words and not _INITIALS.fullmatch(word.written) for word in near)


def _capitalised(words: Iterable[Word], text: str) -> list[Word]:
    """The capitalised words next to the first one, in either direction."""
    return list(takewhile(lambda word: word.is_capitalised, _adjacent(words, text)))


def _adjacent(words: Iterable[Word], text: str) -> Iterator[Word]:
    """The words after the first one, as long as only spaces part them, or the full stop of an initial."""
    for one, other in pairwise(words):
        first, last = sorted((one, other), key=lambda word: word.start)
        if not re.fullmatch(r"\s+" if len(first.written) > 1 else r"\.?\s*", text[first.end : last.start]):
            return
        yield other
