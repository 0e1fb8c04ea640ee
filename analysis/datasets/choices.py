"""Multiple choice: the choices of a row, and the letter of the right one."""

from collections.abc import Sequence

from analysis.datasets.cells import Cell, structure_of
from analysis.datasets.table import filled, text
from rauq.errors import InvalidInput

LETTERS = "ABCDEFGHIJ"


def choices_of(cells: Sequence[Cell], columns: Sequence[str]) -> tuple[str, ...]:
    """The choices that one cell lists, or that a cell each holds, in order.

    Raises:
        InvalidInput: fewer than two, or more than ten.
    """
    found = [one for cell, column in zip(cells, columns, strict=True) for one in _texts(cell, column)]
    if not 2 <= len(found) <= len(LETTERS):
        message = f"{columns[0]!r} gives {len(found)} choices; 2 to {len(LETTERS)} are needed."
        raise InvalidInput(message)
    return tuple(found)


def _texts(cell: Cell, column: str) -> list[str]:
    """The choices of one cell; equal ones stay, since their places count."""
    listed = _part(cell, "text", "texts")
    return [filled(cell, column)] if listed is None else [text(one, column).strip() for one in listed]


def _part(cell: Cell, *names: str) -> Sequence[Cell] | None:
    """A list, or the list that an object holds under one of these names."""
    found = structure_of(cell)
    if isinstance(found, dict):
        found = next((found[name] for name in names if name in found), None)
    return found if isinstance(found, list | tuple) else None


def first_number(cells: Sequence[Cell], *, count: int) -> int:
    """What the first of `count` choices is called where the right one is named by its number: 1, or 0.

    Numbers that never are 0 and reach `count` begin at 1.
    """
    numbers = {int(words) for cell in cells if (words := str(cell).strip()).isdecimal()}
    return int(bool(numbers) and min(numbers) > 0 and max(numbers) == count)


def letter_of(cell: Cell, column: str, *, choices: Sequence[str], listed: Cell, first: int) -> str:
    """The letter of the right choice, which a cell names by its letter, number, label or text.

    `listed`: the cell of the choices, which may hold labels of its own. `first`: the number of the first choice.

    Raises:
        InvalidInput: it names none.
    """
    named = filled(cell, column).strip()
    bare = named.strip("(). ").upper()
    labels = [str(label).strip().upper() for label in _labels(listed)]
    letters = LETTERS[: len(choices)]
    place = -1
    if bare in labels:
        place = labels.index(bare)
    elif len(bare) == 1 and bare in letters:
        place = letters.index(bare)
    elif named.isdecimal() and 0 <= int(named) - first < len(choices):
        place = int(named) - first
    elif named in choices:
        place = choices.index(named)
    if place < 0:
        message = (
            f"{column!r} is {named[:40]!r}; the letter, the number or the text of one of the {len(choices)} choices is "
            "needed."
        )
        raise InvalidInput(message)
    return letters[place]


def _labels(cell: Cell) -> Sequence[Cell]:
    found = structure_of(cell)
    return (_part(cell, "label", "labels") or ()) if isinstance(found, dict) else ()
