"""The judge of facts: an answer is correct if it names an accepted answer, and no other of the same kind.

Names are compared word by word. Case, accents, punctuation and the article do not matter, and of several names at one
place the longest counts: Papua New Guinea does not name Guinea. These are not named:

- what the question names: an answer may repeat it;
- what is denied: the words before are "not", "unlike", "rather than", or the like;
- a name within a phrase that means something else: Gulf of Mexico;
- another country after "borders" or "neighbours" in a sentence, and a year of birth, unless the question is about it;
- a single word that is written with a capital, such as Male, where the answer has capitals and does not give it one;
- a symbol, or an abbreviation such as US, in other case, or where it is the first word of a sentence: In, As;
- a surname next to a first name of somebody else.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile
from types import MappingProxyType

from analysis.datasets.example import Example
from analysis.datasets.facts.families import FAMILIES, KINDS
from analysis.datasets.facts.tables import names, phrases
from analysis.normalisation import plain_text
from analysis.quality.judgement import Judgement, undefined
from analysis.quality.matching import is_english_word


@dataclass(frozen=True)
class Word:
    """A word of a text: as it is compared, as it is written, and its characters (start, end)."""

    plain: str
    written: str
    start: int
    end: int


@dataclass(frozen=True)
class Entry:
    """One text that names a thing: the text, the number of the thing, and every word of all its names."""

    text: str
    owner: int
    own_words: frozenset[str]


ACCEPTED, NOTHING = -1, -2  # of owners: the answer asked for, and what phrases name
Lexicon = Mapping[tuple[str, ...], Entry]

_WORD = re.compile(r"\d+(?:[.,]\d+)+|(?:[^\W_]|[\u0300-\u036f\u00ad])+|&")
_SAME: Mapping[str, str] = MappingProxyType({"st": "saint", "mt": "mount", "&": "and"})
_BY_CASE = re.compile(r"[A-Z][a-z]?|[A-Z]{2,4}")  # Au, US
_DENIED = re.compile(r"\b(?:not|nor|never|unlike|rather than|instead of|opposed to|isn t|wasn t) $")
_ASIDE = re.compile(r"\b(border|neighbour|neighbor)\w*[^.!?\n]*|\b(born)\b\D*(?:\d{1,2}\D+)?\d{4}", re.IGNORECASE)
_NO_NAMES = frozenset("sir lord lady mr mrs ms dr count by it is was while although as when and author".split())
_INITIALS = re.compile(r"[A-Z]{1,3}")


@dataclass(frozen=True)
class Mention:
    """A name in an answer: which thing it names, and its characters (start, end)."""

    owner: int
    start: int
    end: int


def judge_fact(example: Example, answer: str) -> Judgement:
    """Quality is 1 where the answer names an accepted answer and no other, else 0; the facts are all that it names."""
    if example.group not in FAMILIES:
        return undefined(f"{example.group!r} is not a family of facts; choose {', '.join(FAMILIES)}")
    kind = FAMILIES[example.group].kind
    others, accepted = _lexicon(kind), _entries(example.references, ACCEPTED)
    right = {ACCEPTED, *(others[words].owner for words in accepted if words in others)}
    asked = {mention.owner for mention in mentions(example.question, others, people=KINDS[kind].people)} - right
    named = mentions(answer, {**others, **accepted}, people=KINDS[kind].people)
    asides = _asides(answer, example.question)
    stated = [
        mention
        for mention in named
        if mention.owner in right or not (mention.owner in {NOTHING, *asked} or _inside(mention, asides))
    ]
    correct = bool(stated) and all(mention.owner in right for mention in stated)
    return Judgement(float(correct), facts=tuple((mention.start, mention.end) for mention in stated))


def _asides(answer: str, question: str) -> list[tuple[int, int]]:
    """Characters (start, end) in which names and years are not the answer."""
    return [
        match.span()
        for match in _ASIDE.finditer(answer)
        if (match[1] or match[2]).casefold() not in question.casefold()
    ]


def _inside(mention: Mention, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= mention.start < end for start, end in spans)


@lru_cache(maxsize=len(KINDS))
def _lexicon(kind: str) -> Lexicon:
    """Every name of a kind, and the phrases that name nothing of it."""
    found = dict(_entries(phrases(kind), NOTHING))
    for owner, name in enumerate(names(kind)):
        found |= _entries(name.texts, owner)
    return found


def _entries(texts: Iterable[str], owner: int) -> Lexicon:
    """The texts by their words; an abbreviation also by its letters."""
    pairs = [(text, tuple(word.plain for word in words_of(text))) for text in texts]
    own = frozenset(word for _, words in pairs for word in words)
    spelled = [(text, tuple(text.casefold())) for text, _ in pairs if _BY_CASE.fullmatch(text)]
    return {words: Entry(text, owner, own) for text, words in (*pairs, *spelled) if words}


def words_of(text: str) -> list[Word]:
    """The words of a text in order, without the article."""
    found = [Word(_plain(match[0]), match[0], *match.span()) for match in _WORD.finditer(text)]
    return [word for word in found if word.plain != "the"]


def _plain(word: str) -> str:
    folded = plain_text(word).casefold()
    return _SAME.get(folded, folded)


def mentions(text: str, lexicon: Lexicon, *, people: bool) -> list[Mention]:
    """The names in a text, in order: at each place the longest."""
    words, found, place = words_of(text), [], 0
    longest = max(map(len, lexicon), default=0)
    while place < len(words):
        entry, size = _longest_at(place, text, words, lexicon, longest, people=people)
        if entry and not _DENIED.search("".join(f"{word.plain} " for word in words[max(0, place - 2) : place])):
            found.append(Mention(entry.owner, words[place].start, words[place + size - 1].end))
        place += size
    return found


def _longest_at(
    place: int, text: str, words: Sequence[Word], lexicon: Lexicon, longest: int, *, people: bool
) -> tuple[Entry | None, int]:
    for size in range(min(longest, len(words) - place), 0, -1):
        here = words[place : place + size]
        entry = lexicon.get(tuple(word.plain for word in here))
        if (
            entry
            and _as_written(entry.text, here, text)
            and not (people and size == 1 and _somebody_else(entry, place, words, text))
        ):
            return entry, size
    return None, 1


def _as_written(name: str, here: Sequence[Word], text: str) -> bool:
    """Whether the letters' case fits a name; see the head of this file."""
    if _BY_CASE.fullmatch(name):
        start, end = here[0].start, here[-1].end
        return "".join(word.written for word in here) == name and not is_english_word(text, start, end)
    if len(here) > 1 or not name[0].isupper() or text.islower():
        return True
    return here[0].written[0].isupper()


def _somebody_else(entry: Entry, place: int, words: Sequence[Word], text: str) -> bool:
    """Whether a name of one word stands next to a first name or surname that is not of the same person."""
    before = list(takewhile(_is_capitalised, _adjacent(reversed(words[max(0, place - 3) : place + 1]), text)))
    if any(word.plain in entry.own_words for word in before):
        return False
    after = list(takewhile(_is_capitalised, _adjacent(words[place : place + 2], text)))
    near = [word for word in (*before, *after) if word.plain not in _NO_NAMES and not _INITIALS.fullmatch(word.written)]
    return any(word.plain not in entry.own_words for word in near)


def _is_capitalised(word: Word) -> bool:
    return word.written[0].isupper()


def _adjacent(words: Iterable[Word], text: str) -> Iterator[Word]:
    """The words after the first one, as long as only spaces part them, or the full stop of an initial."""
    for one, next_one in pairwise(words):
        first, last = sorted((one, next_one), key=lambda word: word.start)
        if not re.fullmatch(r"\s+" if len(first.written) > 1 else r"\.?\s*", text[first.end : last.start]):
            return
        yield next_one
