"""What the columns of a stranger's table hold, by their names and their cells, and where that has to be asked."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any

from analysis.datasets import column_names
from analysis.datasets.cells import (
    NEUTRAL_WORDS,
    VERDICT_WORDS,
    conversation_of,
    positive_word,
    result_of,
    structure_of,
    texts,
    verdict_word,
)
from analysis.datasets.columns import SEPARATORS, Columns, text_of
from analysis.datasets.table import Table
from rauq.errors import InvalidInput

_SAMPLE = 2_000  # rows, the first ones
_LOOKED_AT = 50  # cells of them that are parsed
_FEW = 4  # cells of which fewer say nothing about how many values there are
_MOST_OPTIONS = 6


@dataclass(frozen=True)
class Option:
    """One reading of a column: in words, and the fields of `Columns` that it sets."""

    label: str
    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Doubt:
    """A question that names and cells leave open, with the readings that are likely, the likeliest first."""

    question: str
    options: tuple[Option, ...]


@dataclass(frozen=True, kw_only=True)
class Understanding:
    """Which columns hold what, under the first reading of every doubt."""

    columns: Columns
    doubts: tuple[Doubt, ...] = ()

    @property
    def readings(self) -> tuple[tuple[str, Columns], ...]:
        """Every combination of the doubts' options, in words and as columns."""
        chosen = list(product(*(doubt.options for doubt in self.doubts)))
        labels = ["; ".join(option.label for option in options) for options in chosen]
        return tuple((label, decided(self.columns, options)) for label, options in zip(labels, chosen, strict=True))


def decided(columns: Columns, options: Iterable[Option]) -> Columns:
    """The columns under these readings."""
    for option in options:
        columns = replace(columns, **option.fields)
    return columns


class UnclearColumns(InvalidInput):
    """Columns that can be read in several ways, which `understanding` lists; the text is that for Python."""

    def __init__(self, table: str, understanding: Understanding) -> None:
        self.table, self.understanding = table, understanding
        super().__init__(self._with(lambda columns: f"columns=analysis.Columns({_arguments(columns)})", between="\n"))

    @property
    def for_shell(self) -> str:
        """The message of the command line, in one line."""
        return self._with(lambda columns: f"--columns {_quoted(text_of(columns))}", between=" ")

    def _with(self, option: Callable[[Columns], str], *, between: str) -> str:
        """The message, with what to type for each reading."""
        asked = " ".join(doubt.question for doubt in self.understanding.doubts)
        listed = [f"If {label}, give {option(columns)}" for label, columns in self.understanding.readings]
        return between.join([f"{self.table}: {asked}", *listed])


def _arguments(columns: Columns) -> str:
    several = {"references", "choices"}
    found = {name: columns.of(name) for name, _ in columns.pairs}
    pairs = {name: value if name in several or len(value) > 1 else value[0] for name, value in found.items()}
    if columns.separator:
        pairs["separator"] = columns.separator
    return ", ".join(f"{name}={value!r}" for name, value in pairs.items())


def _quoted(text: str) -> str:
    return text if re.fullmatch(r"[\w.,=-]+", text) else "'" + text.replace("'", "'\\''") + "'"


def guess_columns(table: Table) -> Columns:
    """What names and cells suggest, where something has to be asked its likeliest reading."""
    return understand(table).columns


def known_columns(table: Table) -> Columns:
    """The same, where nothing has to be asked.

    Raises:
        UnclearColumns: something has.
    """
    found = understand(table)
    if found.doubts:
        raise UnclearColumns(table.name, found)
    return found.columns


@dataclass(frozen=True)
class _Seen:
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
        """The words of a verdict, if most cells are one."""
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


def _is_number(cell: Any) -> bool:  # noqa: ANN401 - a cell of a stranger's file
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


def _any(_one: _Seen) -> bool:
    return True


class _Left:
    """The columns that no field has taken yet."""

    def __init__(self, table: Table) -> None:
        sample = table.rows.head(_SAMPLE)
        self.num_rows = len(sample)
        self.columns = [
            _Seen(column, [cell for cell in sample[column] if cell is not None and str(cell).strip()])
            for column in table.columns
        ]

    def find(self, names: Sequence[str], fits: Callable[[_Seen], bool] = _any) -> _Seen | None:
        """The column that fits and whose name is first among these."""
        ranked = [(rank, one) for one in self.columns if (rank := one.rank(names)) is not None and fits(one)]
        return min(ranked, key=lambda pair: pair[0], default=(0, None))[1]

    def take(self, names: Sequence[str], fits: Callable[[_Seen], bool] = _any) -> _Seen | None:
        """The same, which no other field can take then."""
        return self.without(self.find(names, fits))

    def without(self, found: _Seen | None) -> _Seen | None:
        """The column, which no other field can take then."""
        if found is not None:
            self.columns.remove(found)
        return found

    @property
    def unread(self) -> list[_Seen]:
        """Those that hold something, besides ids."""
        return [one for one in self.columns if one.cells and one.rank(column_names.IDS) is None]


def understand(table: Table) -> Understanding:
    """What the columns hold; each is used once.

    A column of two values is never taken for a reference, an id never for a prompt, and answers for references only
    where no other column is left unread. What has two likely readings is left as a doubt.
    """
    if len(table.columns) == 1:
        return Understanding(columns=Columns(prompt=table.columns[0]))
    left = _Left(table)
    doubts: list[Doubt] = []
    found: dict[str, Any] = _id(left)
    named = _named_prompt(left)
    chat = named is not None and named.is_conversation
    found |= _choices(left) or _references(left, doubts, chat=chat)
    if not found.get("choices"):
        found |= _answer(left, found["references"], doubts, chat=chat)
    if named is None and not left.columns:  # all were taken for other things
        return Understanding(columns=Columns(prompt=table.columns[0]), doubts=(_which_prompt(table.columns),))
    prompt = named or _other_prompt(left, doubts)
    found |= _prompt(left, prompt, is_answered=chat or bool(found.get("answer")))
    found |= {field: _take(left, names) for field, names in column_names.OTHERS.items() if field not in found}
    found |= _lone_answer(left, found, prompt, doubts)
    return Understanding(columns=Columns(**found), doubts=tuple(doubts))


def _id(left: _Left) -> dict[str, Any]:
    """The id, if every row has its own; the numbers that tables written with their index have are none."""
    found = left.take(column_names.IDS, lambda one: one.is_unique and len(one.cells) == left.num_rows)
    return {"id": None if found is None or found.names[0] in column_names.UNNAMED else found.column}


def _take(left: _Left, names: Sequence[str]) -> str | None:
    """The column of texts with the first of these names, which no other field can take then."""
    found = left.take(names, lambda one: one.has_texts)
    return None if found is None else found.column


def _named_prompt(left: _Left) -> _Seen | None:
    """A conversation, or the column that is called like a prompt."""
    conversations = [one for one in left.columns if one.is_conversation]
    named = [one for one in conversations if one.rank(column_names.CONVERSATIONS) is not None]
    if conversations:
        return left.without((named or conversations)[0])
    return left.take(column_names.PROMPTS, lambda one: not one.is_structured)


def _choices(left: _Left) -> dict[str, Any]:
    """Choices in one column, or in one column each, and the column that names the right one; nothing without both."""
    listed = left.find(column_names.CHOICES, lambda one: one.is_structured)
    each = [[one for name in names if (one := left.find((name,)))] for names in column_names.LETTERED]
    columns = [listed] if listed else max(each, key=len)
    right = left.find(column_names.RIGHT_CHOICE, lambda one: one not in columns)
    if right is None or (listed is None and len(columns) < 2):
        return {}
    for one in (*columns, right):
        left.without(one)
    return {"choices": tuple(one.column for one in columns), "references": (right.column,)}


def _references(left: _Left, doubts: list[Doubt], *, chat: bool) -> dict[str, Any]:
    """The references, by their name; answers that are lists, or solutions, or stand beside a model's, are some, too."""
    first = left.take(column_names.REFERENCES, _may_be_references)
    if first is None:
        answers = left.find(column_names.ANSWERS, lambda one: one.has_texts and not one.is_two_valued)
        beside = chat or left.find(column_names.OUTPUTS, lambda one: one.has_texts) is not None
        if answers is not None and (beside or answers.is_structured or answers.has_results):
            first = left.without(answers)
    if first is None:
        _two_valued_reference(left, doubts)
        return {"references": ()}
    more = left.take(column_names.ALSO_REFERENCES, lambda one: one.has_texts)
    columns = [first, *([more] if more else [])]
    return {"references": tuple(one.column for one in columns), "separator": _separator(columns)}


def _may_be_references(one: _Seen) -> bool:
    return one.has_texts and not one.is_two_valued and not (one.words and _is_label(one))


def _two_valued_reference(left: _Left, doubts: list[Doubt]) -> None:
    """Ask about a column that is called like references and holds two values."""
    names = (*column_names.REFERENCES, *column_names.ANSWERS)
    found = left.find(names, lambda one: one.is_two_valued and not _is_label(one))
    if found is not None:
        values = " and ".join(sorted({repr(str(cell)) for cell in found.cells})[:3])
        left.without(found)
        doubts.append(
            Doubt(
                f"{found.column!r} holds only {values}. Is that what a correct answer says?",
                (
                    Option(f"{found.column!r} holds references", {"references": (found.column,)}),
                    Option(f"{found.column!r} is not to be used", {"references": ()}),
                ),
            )
        )


def _separator(columns: Sequence[_Seen]) -> str:
    """What stands between the references of one cell: between texts of a few words, in a tenth of the cells or more.

    A slash is never taken for one: it occurs in units and names.
    """
    cells = [cell for one in columns for cell in one.cells if isinstance(cell, str) and not _is_parsed(cell)]
    are_several = any(name.endswith("s") for one in columns for name in one.names)
    for name, longest in (("semicolon", 15 if are_several else 5), ("bar", 15), ("line", 5)):
        split = [parts for cell in cells if len(parts := cell.strip().split(SEPARATORS[name])) > 1]
        short = [parts for parts in split if all(len(part.split()) <= longest for part in parts)]
        if short and len(short) * 10 >= len(cells):
            return name
    return ""


def _is_parsed(cell: str) -> bool:
    return bool(result_of(cell)) or structure_of(cell) is not None


def _answer(left: _Left, references: tuple[str, ...], doubts: list[Doubt], *, chat: bool) -> dict[str, Any]:
    """The answer to be scored and what says how good it is; a verdict without an answer says nothing."""
    verdict, fields, doubt = _verdict(left)
    names = (*column_names.OUTPUTS, *column_names.ANSWERS)
    answer = None if chat else left.find(names, lambda one: one.has_texts and not (one in verdict or one.is_two_valued))
    if (answer is None and not chat) or not (references or verdict):
        return {}
    for one in (*verdict, *([answer] if answer else [])):
        left.without(one)
    doubts += [doubt] if doubt else []
    return {"answer": answer.column if answer else None, **fields}


def _verdict(left: _Left) -> tuple[list[_Seen], dict[str, Any], Doubt | None]:
    """The columns that judge answers, the fields that they fill, and what has to be asked about them.

    Places that are marked in an answer judge it, unless a column says outright whether it is correct.
    """
    marked = left.find(column_names.WRONG, lambda one: one.is_structured or (one.has_texts and one.is_prose))
    fields = {} if marked is None else {"wrong": marked.column}
    side, judging = _named_verdict(left, _OUTRIGHT) or ("", None)
    if judging is None and marked is not None and marked.is_structured:
        return [marked], {**fields, "incorrect": marked.column}, None
    if judging is None:
        side, judging = _named_verdict(left, _RATED) or _rating(left) or ("", None)
    columns = [one for one in (marked, judging) if one is not None]
    if judging is None:
        return columns, fields, None
    is_open = side == "correct" and _is_label(judging) and bool(judging.words & NEUTRAL_WORDS)
    return columns, {**fields, side: judging.column}, _which_side(judging) if is_open else None


_OUTRIGHT = (("correct", column_names.CORRECT), ("incorrect", column_names.INCORRECT))
_RATED = (("correct", column_names.RATED), ("correct", column_names.LABELS))


def _named_verdict(left: _Left, sides: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, _Seen] | None:
    """The first column of one of these names that holds words of a verdict, with its field."""
    found = ((side, left.find(names, lambda one: bool(one.words))) for side, names in sides)
    return next(((side, one) for side, one in found if one is not None), None)


def _rating(left: _Left) -> tuple[str, _Seen] | None:
    found = left.find(column_names.QUALITY, lambda one: one.is_number)
    return None if found is None else ("quality", found)


def _is_label(one: _Seen) -> bool:
    return one.rank(column_names.LABELS) is not None


def _which_side(one: _Seen) -> Doubt:
    word = positive_word(one.cells)
    return Doubt(
        f"Does {word} in {one.column!r} mean that an answer is correct, or that it is incorrect?",
        (
            Option(f"{word} means correct", {"correct": one.column, "incorrect": None}),
            Option(f"{word} means incorrect", {"correct": None, "incorrect": one.column}),
        ),
    )


def _other_prompt(left: _Left, doubts: list[Doubt]) -> _Seen:
    """The one column of prose where none is called like a prompt; asked where there are several."""
    likely = [one for one in left.unread if one.is_prose] or left.unread or left.columns
    if len(likely) > 1:
        doubts.append(_which_prompt([one.column for one in likely]))
    left.columns.remove(likely[0])
    return likely[0]


def _which_prompt(columns: Sequence[str]) -> Doubt:
    options = [Option(f"the prompts are in {column!r}", {"prompt": column}) for column in columns[:_MOST_OPTIONS]]
    return Doubt("Which column holds the prompts? None is called prompt or question.", tuple(options))


def _prompt(left: _Left, prompt: _Seen, *, is_answered: bool) -> dict[str, Any]:
    """The prompt's columns: an instruction with its input, and a passage before a question that the model answers."""
    if prompt.rank(column_names.INSTRUCTIONS) is not None and (given := _take(left, column_names.THEIR_INPUTS)):
        return {"prompt": (prompt.column, given)}
    if (
        is_answered
        or prompt.rank(column_names.QUESTIONS) is None
        or not (passage := _take(left, column_names.PASSAGES))
    ):
        return {"prompt": prompt.column}
    return {"prompt": (passage, prompt.column), "source": passage, "question": prompt.column}


def _lone_answer(left: _Left, found: Mapping[str, Any], prompt: _Seen, doubts: list[Doubt]) -> dict[str, Any]:
    """Answers that no verdict and no reference stand beside: references, if nothing else is unread and no model's."""
    if found.get("references") or found.get("answer") or prompt.is_conversation:
        return {}
    lone = left.take(
        (*column_names.ANSWERS, *column_names.OUTPUTS), lambda one: one.has_texts and not one.is_two_valued
    )
    if lone is None:
        return {}
    reference = Option(f"{lone.column!r} holds correct answers", {"references": (lone.column,), "answer": None})
    answer = Option(f"{lone.column!r} holds answers to be scored", {"references": (), "answer": lone.column})
    is_models = lone.rank(column_names.ANSWERS) is None
    if prompt.rank(column_names.INSTRUCTIONS) is None and (is_models or left.unread):
        asked = f"Are the texts in {lone.column!r} correct answers, or answers of a model to be scored?"
        doubts.append(Doubt(asked, (answer, reference) if is_models else (reference, answer)))
        return dict((answer if is_models else reference).fields)
    return {"references": (lone.column,), "separator": _separator([lone])}
