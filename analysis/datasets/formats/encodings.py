"""The encoding of a text file: by its mark, as UTF-8, or by what makes sense of its bytes."""

import codecs
import io
import re
from collections.abc import Iterator, Sequence

from analysis.datasets.formats.detection import Reading, readings
from rauq.errors import InvalidInput

_BLOCK = 1 << 20
_SAMPLE = 1 << 16  # bytes of lines that are not ASCII
_BOMS = (  # that of UTF-32 begins as that of UTF-16
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_WINDOWS = "cp1252"  # what Excel writes in most of the world
_CLEARLY = 1.6  # times the share of a likely reading has to exceed that of others
_MOST_NAMED = 3
_SAVE = "Save it as UTF-8 (in Excel: CSV UTF-8) and give that."

Found = tuple[str, tuple[str, ...]]  # Python's name of an encoding, and a note where it was guessed


def encoding_of(content: bytes, name: str) -> Found:
    """Python's name of the encoding, and a note where neither a mark nor UTF-8 tells.

    Raises:
        InvalidInput: no encoding that is known, or several that make sense; where Windows-1252 does, it is taken.
    """
    marked = next((encoding for mark, encoding in _BOMS if content.startswith(mark)), None)
    if marked and _decodes(content, marked):
        return marked, ()
    if not marked and b"\0" in content[:_BLOCK]:
        return _wide(content, name)
    if marked:
        message = f"{name} begins as {marked[:6].upper()}, but is damaged. Write it again as UTF-8."
        raise InvalidInput(message)
    if b"\x1b$" in content and _decodes(content, "iso2022_jp"):
        return "iso2022_jp", ("The file was read as ISO-2022-JP.",)
    return ("utf-8", ()) if _decodes(content, "utf-8") else _detected(content, name)


def lines_of(content: bytes, encoding: str) -> Iterator[str]:
    """The lines of a text file, with the line breaks that they end in."""
    return io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")


def _decodes(content: bytes, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for start in range(0, len(content), _BLOCK):
            decoder.decode(content[start : start + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True


def _wide(content: bytes, name: str) -> Found:
    """UTF-16 without a mark: of two bytes, one is often zero, always the same."""
    even, odd = content[:_BLOCK:2].count(0), content[1:_BLOCK:2].count(0)
    encoding = "utf-16-le" if odd > even else "utf-16-be"
    is_clear = max(even, odd) > 4 * min(even, odd)
    if is_clear and _decodes(content, encoding) and not _CONTROLS.search(content[:_BLOCK].decode(encoding, "ignore")):
        return encoding, (f"The file has no byte-order mark; it was read as {encoding.upper()}.",)
    message = f"{name} contains zero bytes and is not text in UTF-16. {_SAVE}"
    raise InvalidInput(message)


_CONTROLS = re.compile(r"[\0-\x08\x0e-\x1f\ufffe\uffff]")


def _detected(content: bytes, name: str) -> Found:
    lines = list(_lines_beyond_ascii(content))
    _check_mixture(lines, name)
    found = [reading for reading in readings(b"".join(text for _, text in lines)) if _decodes(content, reading.codec)]
    if not found:
        message = f"{name} is not text in UTF-8, UTF-16 or another encoding that is recognised. {_SAVE}"
        raise InvalidInput(message)
    best = found[0]
    likely = [one for one in found if _is_as_good(one, best)]
    others = [one.name for one in likely[1:]][:_MOST_NAMED]
    if best.codec != _WINDOWS and (others or not best.verdict.is_certain):
        message = f"{name} is not UTF-8 and may be {' or '.join((best.name, *others))}. {_SAVE}"
        raise InvalidInput(message)
    return best.codec, (_note(best, others),)


def _is_as_good(reading: Reading, best: Reading) -> bool:
    return reading.verdict.rank == best.verdict.rank and _CLEARLY * reading.verdict.share >= best.verdict.share


def _note(chosen: Reading, others: Sequence[str]) -> str:
    characters = list(dict.fromkeys(one for one in chosen.text if not one.isascii() and one.isprintable()))
    beside = f", though it may be {' or '.join(others)}" if others else ""
    check = " ".join(characters[:5])
    return f"The file is not UTF-8; it was read as {chosen.name}{beside}. Check characters such as {check}"


def _lines_beyond_ascii(content: bytes) -> Iterator[tuple[int, bytes]]:
    """The first lines that are not ASCII, each with its number; a long one from before the first such byte."""
    left = _SAMPLE
    for number, line in enumerate(io.BytesIO(content), 1):
        if begin := _BEYOND_ASCII.search(line):
            text = line[max(0, begin.start() - 200) :][:left]
            left -= len(text)
            yield number, text
        if not left:
            return


_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")


def _check_mixture(lines: Sequence[tuple[int, bytes]], name: str) -> None:
    """Raise InvalidInput where most lines are UTF-8: the file is damaged, or of two files in different encodings."""
    bad = [number for number, text in lines if not _decodes(text, "utf-8")]
    if 2 * len(bad) < len(lines):
        message = f"{name} is UTF-8, but not in line {bad[0]}, which is damaged or in another encoding. {_SAVE}"
        raise InvalidInput(message)
