"""Which encodings make sense of bytes that are not UTF-8: decoded, they look like text of a language.

Short files are the rule, so nothing is trained: letters and frequent words of one language, capitals and signs where
words have them, and, in scripts of thousands of characters, the frequent ones.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import NamedTuple
from unicodedata import category

from analysis.datasets.formats import scripts


class Verdict(NamedTuple):
    """How far a text looks like one.

    `rank`: 0 where one language of Latin script has all its letters, 1 where it takes several, 2 for other scripts, 3
    where these have hardly a frequent character. `share`: about that of frequent words, letters or characters, 0 to 1.
    `is_certain`: whether there is enough of them to rely on.
    """

    rank: int
    share: float
    is_certain: bool


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A text as one encoding reads it; `codec` is Python's name of the encoding, `name` what people write."""

    codec: str
    name: str
    text: str
    verdict: Verdict


def readings(sample: bytes) -> list[Reading]:
    """Every reading that looks like text, the most likely first; of encodings that read it the same way, the first."""
    found: dict[str, Reading] = {}
    for codec, (name, judge) in _ENCODINGS.items():
        text = _decoded(sample, codec)
        if text and text not in found and (verdict := judge(text)):
            weight = _RARE if name.startswith(("Mac", "DOS")) else 1
            verdict = verdict._replace(share=weight * verdict.share)
            found[text] = Reading(codec=codec, name=name, text=text, verdict=verdict)
    return sorted(found.values(), key=lambda reading: (reading.verdict.rank, -reading.verdict.share))


_RARE = 0.65  # weight of what few programs still write


def _decoded(sample: bytes, codec: str) -> str:
    try:
        return sample.decode(codec)
    except UnicodeDecodeError:
        return ""


_QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u2039\u203a«»"
_SIGNS = frozenset(_QUOTES + "–—…•·°§€£¥©®™±×÷²³¹½¼¾µ¿¡ªº†‡‰№¶\xa0\xb4")
_MISPLACED = re.compile(
    r"""
    (?<=[^\W\d_]) [^\w\s\x00-\x7f\u2018\u2019·–—] (?=[^\W\d_])  # between letters, and no apostrophe or dash
    | (?<=[^\W\d_]) [¿¡\u201a\u201e\u2039]  # opens something right after a letter
    | ° (?=[^\W\d_]{2}) | (?<!\w) [®™£€¥±¼½¾¶²³¹] (?=[^\W\d_])  # before a word
    | (?<=[^\W\d_]{3}) [²³¼½¾±¶]  # after a word, which no unit is
    | · (?![^\W\d_])
    | [ךםןףץ] (?=[א-ת])  # letters that end a Hebrew word
    """,
    re.VERBOSE,
)
_WORD = re.compile(r"[^\W\d_]+")
_CAPITAL_WITHIN = re.compile("lU|Lu|LU|uUl")
_MOST_FAULTS = 0.05  # of the words


def _has_faults(text: str) -> bool:
    """Whether signs stand within words, or capitals after small letters, as in a text read in a wrong encoding."""
    words = [word.removeprefix("h") for word in _WORD.findall(text) if not word.isascii()]  # Irish writes hÉireann
    signs = {sign for sign in text if not sign.isascii() and not sign.isalpha()}
    cases = sum(_CAPITAL_WITHIN.search(_cases(word)) is not None for word in words)
    return not signs <= _SIGNS or _MISPLACED.search(text) is not None or cases > _MOST_FAULTS * len(words)


def _cases(word: str) -> str:
    """A letter for each: l and u for small and capital ones, L and U beyond a to z, - where there is no such thing."""
    kinds = ("l" if letter.islower() else "u" if letter.isupper() else "-" for letter in word)
    return "".join(kind if letter.isascii() else kind.upper() for kind, letter in zip(kinds, word, strict=True))


_FEW = 2


def _share(hits: int, total: int) -> float:
    """The share of what is frequent, which one word more or less in a short text does not decide."""
    return (hits + _FEW) / (total + 2 * _FEW)


def _latin(languages: Sequence[scripts.Language], text: str) -> Verdict | None:
    words = _WORD.findall(text.lower().replace("\u0307", ""))  # lower() writes a Turkish I as i and this dot
    marked = [word for word in words if not word.isascii()]
    wanted = [{letter for letter in word if not letter.isascii()} - _SIGNS for word in marked]
    if _has_faults(text) or _is_of_marks(marked) or not _has_languages(wanted, languages):
        return None
    letters = set().union(*wanted)
    hits = {language: sum(word in language.words for word in words) for language in languages}
    fitting = [one for one in languages if letters <= set(one.letters) and (hits[one] >= _FEW or not one.quotes)]
    best = max(fitting or languages, key=hits.__getitem__)
    evidence = hits[best] + (0 if best.quotes else len(letters))
    return Verdict(int(not fitting), _share(hits[best], len(words)), bool(fitting) and evidence > _FEW)


def _has_languages(wanted: Sequence[set[str]], languages: Sequence[scripts.Language]) -> bool:
    """Whether the letters of each word are those of one language."""
    return all(any(letters <= set(language.letters) for language in languages) for letters in wanted)


def _is_of_marks(words: Sequence[str]) -> bool:
    """Whether most letters have marks, as no language has them, or words of one letter are none."""
    letters = [letter for word in words if len(word) > 1 for letter in word]
    is_strange = any(len(word) == 1 and word not in scripts.WORDS_OF_ONE_LETTER | _SIGNS for word in words)
    return is_strange or 3 * sum(not letter.isascii() for letter in letters) > 2 * len(letters)


_SCRIPT, _WEAK = 2, 3  # ranks
_FREQUENT_LETTERS = 12  # small ones
_LEAST_LETTERS = 0.3


def _alphabet(languages: Sequence[str], more_signs: str, text: str) -> Verdict | None:
    letters = Counter(one for one in text if not one.isascii() and one not in _SIGNS | set(more_signs))
    marks = {*more_signs, *(one for one in letters if category(one) == "Mn")}
    words = [word for word in _WORD.findall(text) if not word.isascii()]
    mixed = sum(any(letter.isascii() for letter in word) for word in words)
    if mixed > _MOST_FAULTS * len(words) or _has_faults("".join(one for one in text if one not in marks)):
        return None
    fitting = [one for one in languages if set("".join(letters).lower()) <= set(one)]
    hits = max((sum(letters[one] for one in language[:_FREQUENT_LETTERS]) for language in fitting), default=0)
    if hits <= _LEAST_LETTERS * letters.total():
        return None
    return Verdict(_SCRIPT, _share(hits, letters.total()) ** 2, is_certain=True)  # by chance, half are frequent


def _chinese(codec: str, last: int, frequent: str, text: str) -> Verdict | None:
    characters = _characters(text)
    common = sum(count for one, count in characters.items() if _lead(one, codec) in range(0xA4, last + 1))
    if any(character in _JAPANESE for character in characters) or common < _MOSTLY * characters.total():
        return None
    return _ranked(characters, frequent)


def _japanese(text: str) -> Verdict | None:
    characters = _characters(text)
    kana = sum(count for one, count in characters.items() if one in _JAPANESE)
    common = sum(count for one, count in characters.items() if _lead(one, "shift_jis") in range(0x88, 0x98))
    return _ranked(characters, scripts.KANA) if kana + common >= _MOSTLY * characters.total() else None


def _korean(text: str) -> Verdict | None:
    characters = _characters(text)
    hangul = sum(count for one, count in characters.items() if "가" <= one <= "힣")
    return _ranked(characters, scripts.HANGUL) if hangul >= _MOSTLY * characters.total() else None


_MOSTLY = 0.95
_LEAST_FREQUENT = 0.1  # of the characters
_JAPANESE = frozenset(map(chr, range(0x3041, 0x30FF)))
_EASTERN_SIGNS = frozenset(map(chr, (*range(0x3000, 0x3020), *range(0xFF01, 0xFF5F), *range(0x2010, 0x2027)))) | {"·"}


def _characters(text: str) -> "Counter[str]":
    return Counter(one for one in text if not one.isascii() and one not in _EASTERN_SIGNS)


def _lead(character: str, codec: str) -> int:
    """The first byte of a character; 0 where the encoding does not have it."""
    return (character.encode(codec, errors="ignore") or b"\0")[0]


def _ranked(characters: "Counter[str]", frequent: str) -> Verdict | None:
    hits = sum(characters[one] for one in set(frequent))
    is_certain = hits >= max(_FEW, _LEAST_FREQUENT * characters.total())
    share = _share(hits, characters.total())
    return Verdict(_SCRIPT if is_certain else _WEAK, share, is_certain) if characters else None


_WESTERN, _CENTRAL = partial(_latin, scripts.WESTERN), partial(_latin, scripts.CENTRAL)
_CYRILLIC = partial(_alphabet, scripts.CYRILLIC, "")
_GREEK = partial(_alphabet, scripts.GREEK, "")
_ARABIC = partial(_alphabet, scripts.ARABIC, "،؛؟ـ")
_ENCODINGS: Mapping[str, tuple[str, Callable[[str], Verdict | None]]] = MappingProxyType(
    {
        "cp1252": ("Windows-1252", _WESTERN),
        "iso8859-15": ("ISO-8859-15", _WESTERN),
        "cp1250": ("Windows-1250", _CENTRAL),
        "iso8859-2": ("ISO-8859-2", _CENTRAL),
        "cp1254": ("Windows-1254", partial(_latin, scripts.TURKISH)),
        "cp1257": ("Windows-1257", partial(_latin, scripts.BALTIC)),
        "mac_roman": ("Mac Roman", _WESTERN),
        "mac_latin2": ("Mac Central European", _CENTRAL),
        "cp850": ("DOS 850", _WESTERN),
        "cp852": ("DOS 852", _CENTRAL),
        "cp1251": ("Windows-1251", _CYRILLIC),
        "koi8-u": ("KOI8-U", _CYRILLIC),
        "koi8-r": ("KOI8-R", _CYRILLIC),
        "iso8859-5": ("ISO-8859-5", _CYRILLIC),
        "mac_cyrillic": ("Mac Cyrillic", partial(_alphabet, scripts.CYRILLIC[:4], "")),  # no rare letters of others
        "cp866": ("DOS 866", _CYRILLIC),
        "cp1253": ("Windows-1253", _GREEK),
        "iso8859-7": ("ISO-8859-7", _GREEK),
        "cp1255": ("Windows-1255", partial(_alphabet, scripts.HEBREW, "\u05be\u05f3\u05f4")),
        "cp1256": ("Windows-1256", _ARABIC),
        "iso8859-6": ("ISO-8859-6", _ARABIC),
        "cp874": ("Windows-874", partial(_alphabet, scripts.THAI, "฿ฯ๏")),
        "gb18030": ("GBK", partial(_chinese, "gb2312", 0xD7, scripts.SIMPLIFIED)),
        "big5": ("Big5", partial(_chinese, "big5", 0xC6, scripts.TRADITIONAL)),
        "cp932": ("Shift-JIS", _japanese),
        "euc_jp": ("EUC-JP", _japanese),
        "cp949": ("EUC-KR", _korean),
    }
)
