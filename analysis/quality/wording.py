"""Whether the words around a name leave open that it is the answer.

A name is the answer where no word before it, or in its sentence, denies or doubts it, where what stands directly
before it introduces an answer (is, by, in, country of), and where what follows directly ends it (a full stop, is, in).
Anything else is left to a reader: another place or person may have a longer name that begins or ends with this one
(Paris, Texas; hydrogen peroxide), and several names are a list of guesses.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Span = tuple[int, int]
SHORT_YEAR = "a year in two digits"

_IDIOMS = re.compile(r"\b(?:no doubt|without (?:a )?doubt|none other than|not only|formerly known as)\b", re.IGNORECASE)
_NEGATION = re.compile(
    r"\b(?:not|no|never|nor|neither|none|nobody|nothing|cannot|without|hardly|scarcely|barely|unlike|"
    r"except\w*|excluding|anything|far from|rather than|instead of|opposed to|contrary|false\w*|untrue|wrong\w*|"
    r"incorrect\w*|mistak\w+|misconception\w*|myth|den(?:y|ies|ied)|fail(?:s|ed)?|lacks?|ceased?|abolished|replaced|"
    r"former\w*|used to (?:be|have)|until|fictional)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_DOUBT = re.compile(
    r"\b(?:may|(?i:maybe|perhaps|possibl[ey]|probabl[ey]|might|could|would|should|guess\w*|unsure|uncertain|unknown|unclear|"
    r"hard to say|depends|some (?:say|people|believe|think|claim)|others|every(?:body|one|thing)|said to|thought to|"
    r"attributed|alleged\w*|suppos\w+|rumou?red|reportedly|if|whether|either|or|previously|once|originally))\b|\?",
)
_TAKEN_BACK = re.compile(r"\b(?:actually|wait|sorry|correction|mistake\w*|wrong|no,|not true)", re.IGNORECASE)

_INTRODUCED = frozenset(
    "is was are were be being has have as s by in on at called named namely specifically surely yes sure answer number "
    "symbol element country nation city capital currency year author poet writer novelist playwright philosopher "
    "dramatist composer musician painter artist sculptor sir lord lady dr mr mrs st saint use uses using pay metal gas "
    "january february march april may june july august september october november december circa c for "
    "northern southern eastern western central northeastern northwestern southeastern southwestern atomic chemical "
    "means meaning".split()
)
_OF = re.compile(
    r"\b(?:(?:country|nation|state|city|capital|republic|kingdom|islands?|parts?|regions?|province|territory|continent|number|symbol|element|"
    r"name|year|currency|work|novel|play|poem|book|painting|opera|symphony|masterpiece) of|"
    r"(?:translates?|refers?|corresponds?|belongs?) to) $",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?:the|an?) $", re.IGNORECASE)
_BASIS = re.compile(r"\b(?:based|modelled|depend(?:s|ent)) on $", re.IGNORECASE)
_SECOND_ITEM = re.compile(r"^\W*2[.)]\s", re.MULTILINE)
_OPENING = "\"'\u201c\u2018\u00ab([*_ "
_DATE = re.compile(r"\d{1,2}[/.]$|\b\d{1,2}(?:st|nd|rd|th)?,? $")
_BEGINNING = re.compile(r"(?:^|[.!?:;=\n\u2014\u2013]|\s-)\s*$")
_WORD_BEFORE = re.compile(r"([^\W_]+)\.?(,?) *$")
_CAPITALISED = re.compile(r"[A-ZÀ-Þ][^\W_]*")
_CAPITALISED_RUN = re.compile(rf"(?:{_CAPITALISED.pattern}(?:\.\s*|\s+))+\Z")
_INITIALS = re.compile(r"[A-Z]{1,3}")

_FOLLOWING = (
    "is was are were has had lies in on at with which who whose that where when while since during for as by from also "
    "located wrote painted composed won took because currency AD CE BC AUD today itself"
).split()
_GOES_ON_SAFELY = re.compile(
    r"[\"'\u201d\u2019\u00bb)\]*_]*(?:"
    r"\W*$|-\d|\s*[.!:;\n]|,\s*[.!;\n]|\s*\((?![A-Z][a-z])|\s+[-\u2014\u2013]\s|['\u2019]s?\W*$"  # the end of a part
    rf"|,?\s+(?:{'|'.join(_FOLLOWING)})\b"
    r"|,?\s+(?:and|but)\s+(?:it|is|was|has|he|she|they|its|his|her|their|lies|this|that|also|there)\b"
    r"|,\s+(?!or\b|and\b|but\b)[a-z]+\s+\w"  # an aside, and no list
    r")"
)
_UNIT = re.compile(r"\s+(?!(?:hundred|thousand|million|billion|trillion|dozen|percent|to|or|and)\b)[a-z]+\s*[.!,;]?$")
_CAPITALISED_NEXT = re.compile(r",?\s+(?:of (?:the )?)?([A-Z][^\W_]*)")


@dataclass(frozen=True)
class Wording:
    """An answer, with the words (lower case) of the question and of the accepted names.

    `asked_names`: those words of the question that have a capital. `lists_are_known`: every other name that the answer
    could list is known, and looked for by the caller.
    """

    answer: str
    asked: frozenset[str]
    asked_names: frozenset[str]
    own: frozenset[str]
    lists_are_known: bool

    def doubt(self, spans: Sequence[Span]) -> str:
        """Why none of these names (start, end) is clearly the answer; "" where one is."""
        reasons = [self._doubt_at(*span) for span in spans]
        return next((reason for reason in ("", *reasons) if reason in reasons), "")

    def _doubt_at(self, start: int, end: int) -> str:
        name = self.answer[start:end]
        said, later = self._until_sentence_end(end)
        if found := _NEGATION.search(said) or _TAKEN_BACK.search(later):
            return f"{found[0].strip()!r} may deny {name!r}"
        if found := _DOUBT.search(said):
            return f"{found[0]!r} may put {name!r} in doubt or in a list"
        if found := _SECOND_ITEM.search(self.answer):
            return f"{name!r} may be one of several items: {found[0].strip()!r}"
        if not self._is_introduced(start):
            return (
                f"{name!r} may be part of a longer name, or not the answer, after {self.answer[:start].split()[-1]!r}"
            )
        if not self._ends(end):
            return f"{name!r} may be part of a longer name or of a list: {self.answer[start : end + 20]!r}"
        return ""

    def _until_sentence_end(self, end: int) -> tuple[str, str]:
        """The answer up to the end of the sentence with the name, without idioms, and the rest."""
        stop = re.search(r"[.!\n](?=\s|$)", self.answer[end:])
        place = end + stop.start() if stop else len(self.answer)
        return _IDIOMS.sub("", self.answer[:place]), self.answer[place:]

    def _is_introduced(self, start: int) -> bool:
        start -= self._first_names(start)
        before = _ARTICLE.sub("", f"{self.answer[:start].rstrip(_OPENING)} ").rstrip(_OPENING) + " "
        if _BEGINNING.search(before.rstrip()) or _OF.search(before) or _DATE.search(self.answer[:start]):
            return True
        found = _WORD_BEFORE.search(before)
        if not found or _BASIS.search(before):
            return False
        word = found[1].casefold()
        if word == "and":
            return self.lists_are_known
        if found[2]:
            return self.lists_are_known or word in _INTRODUCED | self.asked
        return word in _INTRODUCED or any(word[:4] == asked[:4] for asked in self.asked if len(asked) >= 4)

    def _first_names(self, start: int) -> int:
        """How many characters before a name are first names or initials of it."""
        run = _CAPITALISED_RUN.search(self.answer, 0, start)
        words = list(_CAPITALISED.finditer(run[0])) if run else []
        own = [word.start() for word in words if word[0].casefold() in self.own or _INITIALS.fullmatch(word[0])]
        return len(run[0]) - own[0] if run and own else 0

    def _ends(self, end: int) -> bool:
        after = self.answer[end:]
        if _GOES_ON_SAFELY.match(after) or (self.answer[end - 1].isdigit() and _UNIT.match(after)):
            return True
        found = _CAPITALISED_NEXT.match(after)
        return found is not None and found[1].casefold() in self.asked_names | self.own


def is_short_year(answer: str, names: Iterable[str]) -> bool:
    """Whether an answer has the last two digits of a year among the accepted names: '45."""
    years = [name for name in names if re.fullmatch(r"\d{4}", name)]
    return any(year.endswith(two) for two in re.findall(r"['\u2019](\d\d)\b", answer) for year in years)


def wording(answer: str, *, question: str, names: Iterable[str], lists_are_known: bool = False) -> Wording:
    """The wording of an answer to a question whose accepted answers are these names."""
    asked_names = _words(" ".join(_CAPITALISED.findall(question)))
    return Wording(answer, _words(question), asked_names, frozenset().union(*map(_words, names)), lists_are_known)


def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold() for word in re.findall(r"[^\W_]+", f"{text} {text.replace('.', '')}"))
