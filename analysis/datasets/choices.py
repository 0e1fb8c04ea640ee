"""Multiple choice: the choices of a row, and the letter of the right one."""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.datasets.cells import Cell, structure_of
from analysis.datasets.table import filled, text
from rauq.errors import InvalidInput

LETTERS = "ABCDEFGHIJ"
_MANY = 20  # rows, in which a number 0 would have occurred


@dataclass(frozen=True)
class Choices:
    """The choices of a row in order, and what the data set itself calls them, if it does."""

    texts: tuple[str, ...]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Naming:
    """How a table names the right choice: by its text, or by a label, a letter or a number from `first` on."""

    by_text: bool = False
    first: int = 0


def choices_of(cells: Sequence[Cell], columns: Sequence[str]) -> Choices:
    """The choices that one cell lists, or that a cell each holds.

    Raises:
        InvalidInput: fewer than two, or more than ten.
    """
    found = [one for cell, column in zip(cells, columns, strict=True) for one in _texts(cell, column)]
    if not 2 <= len(found) <= len(LETTERS):
        message = f"{columns[0]!r} gives {len(found)} choice{'' if len(found) == 1 else 's'}; 2 to 10 are needed."
        raise InvalidInput(message)
    return Choices(tuple(found), _labels(cells[0]))


def _texts(cell: Cell, column: str) -> list[str]:
    """The choices of one cell; equal ones stay, since their places count."""
    found = structure_of(cell)
    if isinstance(found, dict):
        found = next((found[name] for name in ("text", "texts") if name in found), list(found.values()))
    if not isinstance(found, list | tuple):
        return [filled(cell, column)]
    return [text(one, column).strip() for one in found]


def _labels(cell: Cell) -> tuple[str, ...]:
    found = structure_of(cell)
    if not isinstance(found, dict):
        return ()
    labels = next((found[name] for name in ("label", "labels") if name in found), None)
    named = labels if isinstance(labels, list | tuple) else () if "text" in found or "texts" in found else found
    return tuple(str(label).strip().upper() for label in named)


def naming_of(rows: Sequence[tuple[Cell, Choices]]) -> Naming:
    """How the right choice is named in a table, from some of its rows.

    By text where that is so in every row; a letter or a number may be the text of a choice, too. Numbers begin at 1
    where one is as large as the number of its row's choices, or where 0 never occurs in many rows.
    """
    by_text = bool(rows) and all(isinstance(cell, str) and cell.strip() in one.texts for cell, one in rows)
    numbers = [(int(words), len(one.texts)) for cell, one in rows if (words := str(cell).strip()).isdecimal()]
    has_zero = any(number == 0 for number, _ in numbers)
    reaches_end = any(number == count for number, count in numbers)
    return Naming(by_text, int(not has_zero and (reaches_end or len(numbers) >= _MANY)))


def letter_of(cell: Cell, column: str, *, choices: Choices, naming: Naming) -> str:
    """The letter of the right choice, which a cell names.

    Raises:
        InvalidInput: it names none.
    """
    named = filled(cell, column).strip()
    bare = named.strip("(). ").upper()
    letters = LETTERS[: len(choices.texts)]
    place = -1
    if naming.by_text:
        place = choices.texts.index(named) if named in choices.texts else -1
    elif bare in choices.labels:
        place = choices.labels.index(bare)
    elif len(bare) == 1 and bare in letters:
        place = letters.index(bare)
    elif named.isdecimal() and 0 <= int(named) - naming.first < len(letters):
        place = int(named) - naming.first
    elif named in choices.texts:
        place = choices.texts.index(named)
    if place < 0:
        message = (
            f"{column!r} is {named[:40]!r}; the letter, the number or the text of one of the {len(letters)} choices is "
            "needed."
        )
        raise InvalidInput(message)
    return letters[place]
