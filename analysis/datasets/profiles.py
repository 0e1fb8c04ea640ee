"""A column as its name and its first cells show it, and the columns that no field has taken yet."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from analysis.datasets import column_names
from analysis.datasets.cells import VERDICT_WORDS, conversation_of, result_of, structure_of, texts, verdict_word
from analysis.datasets.table import Table
from rauq.errors import InvalidInput

_SAMPLE = 2_000  # rows, the first ones
_LOOKED_AT = 50  # cells of them that are parsed
_FEW = 4  # cells of which fewer say nothing about how many values there are
_FEWEST_WORDS = 5  # of a document, in the middle of all


@dataclass(frozen=True)
class Profile:
    """A column: its name as names are compared, and its first cells that hold something."""

    column: str
    cells: Sequence[Any]

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The name in lower case with underscores, and its part behind the last point."""
        snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", self.column.strip())
        name = re.sub(r"[\s:_/-]+", "_", snake.casefold()).strip("_")
        return tuple(dict.fromkeys((name, name.rpartition(".")[2], name.replace("_", ""))))

    @cached_property
    def words(self) -> frozenset[str]:
        """The words of a verdict, if most cells are one; numbers other than 1 and 0, or 1 and -1, are ratings."""
        numbers = {float(cell) for cell in self.cells if _is_number(cell)}
        if not (numbers <= {0, 1} or numbers <= {-1, 1}):
            return frozenset()
        found = [verdict_word(cell) for cell in self.cells if isinstance(cell, str | int | float)]
        known = [word for word in found if word in VERDICT_WORDS]
        return frozenset(known if len(known) * 2 > len(self.cells) else ())

    @cached_property
    def is_two_valued(self) -> bool:
        """Whether it holds two values at most: words of a verdict, or any two in more than a few rows."""
        values = {str(cell) for cell in self.cells}
        is_verdict = len(self.cells) > 1 and {verdict_word(value) for value in values} <= VERDICT_WORDS
        return is_verdict or (len(self.cells) >= _FEW and len(values) <= 2)

    @cached_property
    def is_conversation(self) -> bool:
        """Whether its cells are conversations."""
        return self._mostly(lambda cell: conversation_of(cell) is not None)

    @cached_property
    def is_answered(self) -> bool:
        """Whether its conversations end with a message of the assistant."""
        return self.is_conversation and self._mostly(_ends_with_assistant)

    @cached_property
    def marks_places(self) -> bool:
        """Whether its cells list texts or places in an answer, rather than verdicts."""
        entries = [part for cell in self.cells for part in entries_of(cell)]
        return self.is_structured and all(
            isinstance(part, dict) or (isinstance(part, str) and verdict_word(part) not in VERDICT_WORDS)
            for part in entries
        )

    @cached_property
    def is_document(self) -> bool:
        """Whether its texts are longer than a name or an address."""
        words = sorted(len(str(cell).split()) for cell in self.cells)
        return self.has_texts and bool(words) and words[len(words) // 2] >= _FEWEST_WORDS

    @cached_property
    def is_structured(self) -> bool:
        """Whether its cells are lists or objects."""
        return self._mostly(lambda cell: structure_of(cell) is not None)

    @cached_property
    def has_results(self) -> bool:
        """Whether its cells are solutions with a result behind ####."""
        return self._mostly(lambda cell: bool(result_of(cell)))

    @cached_property
    def is_number(self) -> bool:
        """Whether its cells are numbers."""
        return self._mostly(_is_number)

    @cached_property
    def has_texts(self) -> bool:
        """Whether texts can be read in its cells."""
        return self._mostly(_has_texts)

    @property
    def is_prose(self) -> bool:
        """Whether a prompt may be in it."""
        return self.has_texts and not (self.is_number or self.is_structured or self.is_two_valued)

    @property
    def is_unique(self) -> bool:
        """Whether no value occurs twice."""
        return len({str(cell) for cell in self.cells}) == len(self.cells)

    def rank(self, names: Sequence[str]) -> int | None:
        """The place of its name among these; None where it is none of them."""
        return min((place for place, name in enumerate(names) if name in self.names), default=None)

    def _mostly(self, holds: Callable[[Any], bool]) -> bool:
        some = self.cells[:_LOOKED_AT]
        return sum(map(holds, some)) * 2 > len(some)


def _is_number(cell: Any) -> bool:  # noqa: ANN401 - a cell of a user's file
    try:
        float(cell)
    except (TypeError, ValueError):
        return False
    return True


def _has_texts(cell: Any) -> bool:  # noqa: ANN401
    try:
        return bool(texts(cell, ""))
    except InvalidInput:
        return False


def _ends_with_assistant(cell: Any) -> bool:  # noqa: ANN401
    messages = conversation_of(cell)
    return messages is not None and messages[-1]["role"] == "assistant"


def entries_of(cell: Any) -> Sequence[Any]:  # noqa: ANN401
    """The entries of a list; none where a cell holds no list."""
    found = structure_of(cell)
    return found if isinstance(found, list | tuple) else ()


def _any(_one: Profile) -> bool:
    return True


class Remaining:
    """The columns that no field has taken yet."""

    def __init__(self, table: Table) -> None:
        sample = table.rows.head(_SAMPLE)
        self.num_rows = len(sample)
        self.columns = [
            Profile(column, [cell for cell in sample[column] if cell is not None and str(cell).strip()])
            for column in table.columns
        ]

    def find(self, names: Sequence[str], fits: Callable[[Profile], bool] = _any) -> Profile | None:
        """The column that fits and whose name is first among these."""
        ranked = [
            (rank, column) for column in self.columns if (rank := column.rank(names)) is not None and fits(column)
        ]
        return min(ranked, key=lambda pair: pair[0], default=(0, None))[1]

    def take(self, names: Sequence[str], fits: Callable[[Profile], bool] = _any) -> Profile | None:
        """The same, which no other field can take then."""
        return self.without(self.find(names, fits))

    def without(self, found: Profile | None) -> Profile | None:
        """The column, which no other field can take then."""
        if found is not None:
            self.columns.remove(found)
        return found

    @property
    def unread(self) -> list[Profile]:
        """Those that hold something, besides ids."""
        return [column for column in self.columns if column.cells and column.rank(column_names.IDS) is None]
