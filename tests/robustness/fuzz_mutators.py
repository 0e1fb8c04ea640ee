"""How valid inputs are spoilt: bytes, texts and JSON, by the faults that files and strangers have."""

import json
from random import Random
from typing import Any

from tests.hostile import ATTACK

_BYTES = (
    *(b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\x80", b'"', b"'", b"\\", b",", b";", b"\t", b"\n", b"\r", b"{"),
    *(b"}", b"[", b"]", b"null", b"NaN", b"-1", b"1e999", b"9" * 400, b"[" * 3000, b"PK\x03\x04", b"PAR1", b"\\ud800"),
)
_NUMBERS = (0, 1, 2**7, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**62, 2**63 - 1, 2**64 - 1)
_TEXTS = (
    *("", " ", "\0", "\n", "\r\n", "\t", "\x1b[31m", "\x7f", "\x85", "\u2028", "\u2029", "\ufeff", "\ufffd"),
    *("\uffff", "\ud800", "\udfff", "\udc80", "\U0010ffff", "\u202e", "\u2066", "\u2069", "\u200d", "\u00ad"),
    *("e\u0301", "\u0301" * 50, "شلوم", "漢字", "🏳️‍🌈", "👩‍👩‍👧", "ﷺ", "İ", "ß", "\ufb01"),
    *("\uff1d1+1", "=1+1", "@x", "-2", "+3"),
    *("|", "`", "$$x^2$$", "{{ 7 * 7 }}", "{% raw %}", "%s%n", "../..", "C:\\con", "</script>", "<!--", "]]>", "&amp;"),
    *("\\", '"""', "'''", "${x}", "$x", ATTACK, "nan", "inf", "null", "None", "True", "0", "-0.0", "1e400", "٣"),
    *("<0x0A>", "</s>", "<|endoftext|>", "[INST]"),
)
_VALUES = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 10**30, 10**400, 0.5, -0.0, 1e308, [], {}, ""),
    *(float("nan"), float("inf")),
)
_HUGE = 20_000
_BLOCKS = (0x80, 0x800, 0x10000, 0x110000)


def spoilt_bytes(content: bytes, rng: Random) -> bytes:
    """A few bytes changed, put in, left out, doubled, exchanged or cut off."""
    for _ in range(rng.choice((1, 1, 2, 4))):
        content = rng.choice(_WAYS)(content, rng)
    return content


def spoilt_text(text: str, rng: Random) -> str:
    """Hostile characters put into a text or in its place, or the text cut, doubled or very long."""
    place = rng.randint(0, len(text))
    match rng.randrange(8):
        case 0:
            return hostile_text(rng)
        case 1:
            return text[:place]
        case 2:
            return text * rng.randint(2, 5)
        case 3:
            return (text + hostile_text(rng)) * (_HUGE // (len(text) + 1) if rng.random() < 0.05 else 2)
        case _:
            return text[:place] + hostile_text(rng) + text[place:]


def hostile_text(rng: Random) -> str:
    """A few hostile texts, or characters of any kind, lone surrogates among them."""
    parts = [rng.choice(_TEXTS) if rng.random() < 0.7 else _characters(rng) for _ in range(rng.randint(0, 4))]
    return "".join(parts)


def spoilt_json(value: Any, rng: Random) -> Any:
    """One part of it, at any depth, replaced, left out, put in twice or under another name."""
    if not value or not isinstance(value, dict | list) or rng.random() < 0.1:
        return _other_value(value, rng)
    copy = dict(value) if isinstance(value, dict) else list(value)
    place = rng.choice(list(copy)) if isinstance(copy, dict) else rng.randrange(len(copy))
    match rng.randrange(8):
        case 0:
            del copy[place]
        case 1 if isinstance(copy, dict):
            copy[hostile_text(rng)] = copy.pop(place)
        case 1:
            copy += copy[: rng.choice((1, 1000))]
        case _:
            copy[place] = spoilt_json(copy[place], rng)
    return copy


def spoilt_json_bytes(content: bytes, rng: Random) -> bytes:
    """A JSON text with one part spoilt, or a few of its bytes."""
    if rng.random() < 0.4:
        return spoilt_bytes(content, rng)
    return json.dumps(spoilt_json(json.loads(content), rng)).encode()


def _other_value(value: Any, rng: Random) -> Any:
    ways = (
        lambda: hostile_text(rng),
        lambda: _near(value, rng),
        lambda: [value] * rng.choice((0, 1, 2, 500)),
        lambda: json.loads("[" * 100 + "]" * 100),
        lambda: rng.choice(_NUMBERS),
        lambda: rng.choice(_VALUES),
    )
    return rng.choice(ways)()


def _near(value: Any, rng: Random) -> Any:
    """Another value of the same kind."""
    if isinstance(value, int | float):
        return rng.choice((-value, value + 1, value - 1, value * 10**6, str(value)))
    return spoilt_text(value, rng) if isinstance(value, str) else value


def _characters(rng: Random) -> str:
    return "".join(chr(rng.randrange(rng.choice(_BLOCKS))) for _ in range(rng.randint(1, 8)))


def _piece(content: bytes, rng: Random) -> tuple[int, int]:
    start = rng.randint(0, len(content))
    return start, min(len(content), start + rng.choice((0, 1, 2, 8, 64, 1024)))


def _changed(content: bytes, rng: Random) -> bytes:
    start, end = _piece(content, rng)
    return content[:start] + rng.randbytes(min(end - start, 8)) + content[start + min(end - start, 8) :]


def _with_more(content: bytes, rng: Random) -> bytes:
    start, _ = _piece(content, rng)
    return content[:start] + (rng.choice(_BYTES) if rng.random() < 0.7 else rng.randbytes(8)) + content[start:]


def _with_less(content: bytes, rng: Random) -> bytes:
    start, end = _piece(content, rng)
    return content[:start] + content[end:]


def _doubled(content: bytes, rng: Random) -> bytes:
    start, end = _piece(content, rng)
    return content[:end] + content[start:end] * rng.choice((1, 1, 1, 50)) + content[end:]


def _exchanged(content: bytes, rng: Random) -> bytes:
    start, end = _piece(content, rng)
    return content[:start] + content[end : 2 * end - start] + content[start:end] + content[2 * end - start :]


def _with_number(content: bytes, rng: Random) -> bytes:
    """A length or an offset of a binary format overwritten."""
    start, width = rng.randint(0, min(len(content), rng.choice((16, 10**9)))), rng.choice((1, 2, 4, 8))
    number = (rng.choice(_NUMBERS) % 2 ** (8 * width)).to_bytes(width, "little")
    return content[:start] + number + content[start + width :]


def _cut(content: bytes, rng: Random) -> bytes:
    return content[: rng.randint(0, len(content))]


_WAYS = (_changed, _changed, _with_more, _with_more, _with_less, _doubled, _exchanged, _with_number, _cut)
