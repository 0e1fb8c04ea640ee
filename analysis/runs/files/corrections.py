"""What the user corrected of a run, kept beside its shards, which stay as they are: verdicts, and joined questions."""

import json
import math
import reprlib
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from analysis.runs.manifest import (
    CORRECTIONS,
    CORRECTIONS_LOCK,
    MOST_EXAMPLES,
    QUESTIONS_APART,
    cannot_write,
    content_of,
    write_whole,
)
from analysis.typed_json import parsed
from rauq.errors import RunError

SCHEMA = 2
_WITHOUT_LEFT_OUT = 1  # the schema of files from before answers could be left out
LEFT_OUT = "left out by hand"
LARGEST = 128 * 2**20  # bytes; a correction takes about 80

_FIELDS = 3  # of a correction
_MOST = 1_000_000  # made by hand, one by one
_PATIENCE = 10.0  # seconds: another session holds the lock for as long as it takes to write the file


@dataclass(frozen=True, kw_only=True)
class Correction:
    """The user's verdict on the answer to the example `number`; `answer_crc32` identifies the answer.

    `correct` is None for an answer that is left out.
    """

    number: int
    correct: bool | None
    answer_crc32: int

    @property
    def quality(self) -> float:
        """1, 0, or nan for an answer that is left out."""
        return math.nan if self.correct is None else float(self.correct)


def correction(number: int, answer: str, *, correct: bool | None) -> Correction:
    """A verdict on this answer to the example `number`; None leaves it out."""
    return Correction(number=number, correct=correct, answer_crc32=crc32_of(answer))


def fits(correction: Correction, answer: str) -> bool:
    """Whether a correction is of this answer, and not of an earlier one to the same example."""
    return correction.answer_crc32 == crc32_of(answer)


def crc32_of(text: str) -> int:
    """The checksum of an answer's text, by which it is told from an earlier one."""
    return zlib.crc32(text.encode(errors="surrogatepass"))


def corrected(answers: pd.DataFrame, corrections: Sequence[Correction]) -> tuple[pd.DataFrame, int]:
    """The answers of a run, in order, with corrections applied, and how many corrections fit none of them."""
    numbers = answers["number"].to_numpy()
    rows = np.searchsorted(numbers, [one.number for one in corrections]).tolist()
    found = [
        (row, one)
        for row, one in zip(rows, corrections, strict=True)
        if row < len(numbers) and numbers[row] == one.number and fits(one, answers["answer"].iloc[row])
    ]
    places, qualities = [row for row, _ in found], [one.quality for _, one in found]
    changed = answers.assign(
        measured_quality=answers["quality"], corrected=False, unclear=answers["unclear"] & answers["quality"].isna()
    )
    changed.loc[places, "quality"] = qualities
    changed.loc[places, "quality_reason"] = [LEFT_OUT if math.isnan(quality) else "" for quality in qualities]
    changed.loc[places, "unclear"] = False
    changed.loc[places, "corrected"] = True
    return changed, len(corrections) - len(found)


def read_corrections(folder: Path) -> tuple[Correction, ...]:
    """The corrections of a run, by number; none where there is no file.

    Raises:
        RunError: the file is damaged or of another schema.
    """
    path = folder / CORRECTIONS
    try:
        return _read(json.loads(_content(path)))
    except FileNotFoundError:
        return ()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        message = (
            f"The corrected verdicts of {folder.name} cannot be read: {CORRECTIONS} is damaged ({error}). Take that "
            "file from a copy of the run, or discard the corrections on the page Runs or by deleting the file."
        )
        raise RunError(message) from error


def add_correction(folder: Path, added: Correction) -> None:
    """Keep a correction; of two of one answer, the last one holds.

    Raises:
        RunError: the file is damaged or cannot be written.
    """
    with _locked(folder):
        others = [one for one in read_corrections(folder) if one.number != added.number]
        _write(folder, sorted([*others, added], key=lambda one: one.number))


def remove_correction(folder: Path, number: int) -> None:
    """Undo the correction of one answer, if there is one.

    Raises:
        RunError: the file is damaged or cannot be written.
    """
    with _locked(folder):
        _write(folder, [one for one in read_corrections(folder) if one.number != number])


def remove_corrections(folder: Path) -> None:
    """Undo all corrections of a run, readable or not.

    Raises:
        RunError: the file cannot be deleted.
    """
    with _locked(folder):
        _write(folder, [])


def are_apart(folder: Path) -> bool:
    """Whether the user treats near-duplicate questions of a run as different ones."""
    return (folder / QUESTIONS_APART).exists()


def treat_apart(folder: Path, *, apart: bool) -> None:
    """Treat near-duplicate questions of a run as different ones, or as one question again.

    Raises:
        RunError: the folder cannot be written.
    """
    path = folder / QUESTIONS_APART
    try:
        if apart:
            path.touch()
        else:
            path.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(path, error) from error


def _content(path: Path) -> bytes:
    content = content_of(path, largest=LARGEST)
    marks = (b"[", 1), (b"{", _MOST + 1), (b",", _FIELDS * (_MOST + 1))
    if any(content.count(mark) > most for mark, most in marks):  # empty lists take twenty times their text
        message = "it holds other values than corrections"
        raise ValueError(message)
    return content


def _read(found: dict[str, Any]) -> tuple[Correction, ...]:
    if found["schema"] not in (SCHEMA, _WITHOUT_LEFT_OUT):
        message = f"schema {reprlib.repr(found['schema'])}, and this version reads {_WITHOUT_LEFT_OUT} and {SCHEMA}"
        raise ValueError(message)
    text = _text(found["corrections"])
    if found["crc32"] != crc32_of(text):
        message = "it was changed after it was written"
        raise ValueError(message)
    corrections = parsed(tuple[Correction, ...], text)
    numbers = [one.number for one in corrections]
    if numbers != sorted(set(numbers)) or not all(0 <= number < MOST_EXAMPLES for number in numbers):
        message = "its numbers are not unique answer numbers in ascending order"
        raise ValueError(message)
    return corrections


def _write(folder: Path, corrections: Iterable[Correction]) -> None:
    """Write the file whole or not at all; without a correction there is no file."""
    rows, path = [asdict(one) for one in corrections], folder / CORRECTIONS
    if not rows:
        try:
            path.unlink(missing_ok=True)
        except OSError as error:
            raise cannot_write(path, error) from error
        return
    text = json.dumps({"schema": SCHEMA, "crc32": crc32_of(_text(rows)), "corrections": rows}, indent=1)
    write_whole(path, lambda temporary: temporary.write_text(f"{text}\n", encoding="utf-8"))


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock under which corrections are changed; reading them for display needs no lock."""
    try:
        lock = FileLock(folder / CORRECTIONS_LOCK)
        lock.acquire(timeout=_PATIENCE)
    except Timeout as error:
        message = f"The verdicts of {folder.name} are being corrected in another session. Try again in a moment."
        raise RunError(message) from error
    except OSError as error:
        raise cannot_write(folder / CORRECTIONS, error) from error
    try:
        yield
    finally:
        lock.release()


def _text(rows: list[dict[str, Any]]) -> str:
    return json.dumps(rows, sort_keys=True)
