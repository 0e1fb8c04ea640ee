"""Which encoding the bytes of a text file are in, found out without holding the decoded text."""

import codecs
import io
from collections.abc import Iterator

from rauq.errors import InvalidInput

_BLOCK = 1 << 20
_BOMS = ((codecs.BOM_UTF8, "utf-8-sig"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_WINDOWS = "cp1252"


def encoding_of(content: bytes, name: str) -> tuple[str, tuple[str, ...]]:
    """Python's name of the encoding, and a note where it was guessed.

    A byte order mark decides; else UTF-8, and where that fails Windows-1252, which Excel writes.

    Raises:
        InvalidInput: none of them, or zero bytes, which no table has.
    """
    marked = next((encoding for mark, encoding in _BOMS if content.startswith(mark)), None)
    encodings = (marked,) if marked else ("utf-8", _WINDOWS)
    found = next((encoding for encoding in encodings if _decodes(content, encoding)), None)
    if found is None or (not marked and b"\0" in content[:_BLOCK]):
        message = (
            f"{name} is no text in UTF-8, UTF-16 with a byte order mark, or Windows-1252. "
            "Save it again as UTF-8, or give Parquet."
        )
        raise InvalidInput(message)
    if found == _WINDOWS:
        return found, ("The file is not UTF-8; it was read as Windows-1252. Check letters such as é in the preview.",)
    return found, ()


def lines_of(content: bytes, encoding: str) -> Iterator[str]:
    """The lines of a text file, with the line breaks that they end in."""
    return io.TextIOWrapper(io.BytesIO(content), encoding=encoding, newline="")


def start_of(content: bytes, encoding: str) -> str:
    """The first characters of a text file, without the one that may be cut in two."""
    return codecs.getincrementaldecoder(encoding)().decode(content[:4096])


def _decodes(content: bytes, encoding: str) -> bool:
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        for start in range(0, len(content), _BLOCK):
            decoder.decode(content[start : start + _BLOCK])
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
