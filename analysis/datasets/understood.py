"""What the columns of a user's table hold, by their names and cells, and what has to be asked about them."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from analysis.datasets import column_names
from analysis.datasets.cells import (
    NEUTRAL_WORDS,
    positive_word,
    result_of,
    structure_of,
)
from analysis.datasets.columns import SEPARATORS, Columns, text_of
from analysis.datasets.profiles import Profile, Remaining, entries_of
from analysis.datasets.table import Table
from rauq.errors import InvalidInput

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


def known_columns(table: Table, *, as_understood: Callable[[Table], Understanding] | None = None) -> Columns:
    """What names and cells say, where nothing has to be asked; `as_understood`: `understand`, or `for_two_files`.

    Raises:
        UnclearColumns: something has.
    """
    found = (as_understood or understand)(table)
    if found.doubts:
        raise UnclearColumns(table.name, found)
    return found.columns


def understand(table: Table) -> Understanding:
    """What the columns hold; each is used once.

    A column of two values is never taken for a reference, an id never for a prompt, and answers for references only
    where no other column is left unread. What has two likely readings is left as a doubt.
    """
    if len(table.columns) == 1:
        return Understanding(columns=Columns(prompt=table.columns[0]))
    left = Remaining(table)
    doubts: list[Doubt] = []
    found: dict[str, Any] = _id(left)
    named = _named_prompt(left, doubts)
    is_answered = named is not None and named.is_answered
    found |= _choices(left) or _references(left, doubts, is_answered=is_answered)
    found |= _answer(left, found["references"], doubts, is_answered=is_answered)
    if named is None and not left.columns:  # all were taken for other things
        return Understanding(columns=Columns(prompt=table.columns[0]), doubts=(_which_prompt(table.columns),))
    prompt = named or _other_prompt(left, doubts)
    found |= _prompt(left, prompt, is_answered=is_answered or bool(found.get("answer")))
    found |= {field: _take(left, names) for field, names in column_names.OTHERS.items() if field not in found}
    if not (found["references"] or found.get("answer") or is_answered):
        found |= _lone_answer(left, prompt, doubts)
    return Understanding(columns=Columns(**found), doubts=tuple(doubts))


def _id(left: Remaining) -> dict[str, Any]:
    """The id, if every row has its own; the numbers that tables written with their index have are none."""
    found = left.take(column_names.IDS, lambda one: one.is_unique and len(one.cells) == left.num_rows)
    return {"id": None if found is None or found.names[0] in column_names.UNNAMED else found.column}


def _take(left: Remaining, names: Sequence[str]) -> str | None:
    """The column of texts with the first of these names, which no other field can take then.

    What is called a source may be its address or its name: a text of some words is needed.
    """
    found = left.take(
        names, lambda one: one.is_document if one.rank(column_names.SOURCES) is not None else one.has_texts
    )
    return None if found is None else found.column


def _named_prompt(left: Remaining, doubts: list[Doubt]) -> Profile | None:
    """A conversation, or the column that is called like a prompt; asked where there are several conversations."""
    conversations = [one for one in left.columns if one.is_conversation]
    if not conversations:
        return left.take(column_names.PROMPTS, lambda one: not one.is_structured)
    if len(conversations) > 1:
        options = [
            Option(f"{conversation.column!r} does", {"prompt": conversation.column})
            for conversation in conversations[:_MOST_OPTIONS]
        ]
        doubts.append(Doubt("Which column holds the conversations?", tuple(options)))
    ranked = [
        conversation for conversation in conversations if conversation.rank(column_names.CONVERSATIONS) is not None
    ]
    return left.without((ranked or conversations)[0])


def _choices(left: Remaining) -> dict[str, Any]:
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


def _references(left: Remaining, doubts: list[Doubt], *, is_answered: bool) -> dict[str, Any]:
    """The references, by their name; answers that are lists, or solutions, or stand beside a model's, are some, too."""
    first = left.take(column_names.REFERENCES, _may_be_references)
    if first is None:
        answers = left.find(column_names.ANSWERS, lambda one: one.has_texts and not one.is_two_valued)
        beside = is_answered or left.find(column_names.OUTPUTS, lambda one: one.has_texts) is not None
        if answers is not None and (beside or answers.is_structured or answers.has_results):
            first = left.without(answers)
    if first is None:
        _two_valued_reference(left, doubts)
        return {"references": ()}
    more = left.take(column_names.ALSO_REFERENCES, lambda one: one.has_texts)
    columns = [first, *([more] if more else [])]
    return {"references": tuple(one.column for one in columns), "separator": _separator(columns)}


def _may_be_references(profile: Profile) -> bool:
    return (
        profile.has_texts
        and not profile.is_two_valued
        and not (_is_label(profile) and (profile.words or profile.is_number))
    )


def _two_valued_reference(left: Remaining, doubts: list[Doubt]) -> None:
    """Ask about a column that is called like references and holds two values."""
    names = (*column_names.REFERENCES, *column_names.ANSWERS)
    found = left.find(names, lambda one: one.is_two_valued and not _is_label(one))
    if found is not None:
        values = " and ".join(sorted({repr(str(cell)) for cell in found.cells})[:3])
        left.without(found)
        doubts.append(
            Doubt(
                f"{found.column!r} has only the values {values}. Are these reference answers?",
                (
                    Option(f"{found.column!r} holds references", {"references": (found.column,)}),
                    Option(f"{found.column!r} is not to be used", {"references": ()}),
                ),
            )
        )


def _separator(columns: Sequence[Profile]) -> str:
    """What stands between the references of one cell: between texts of a few words, in a tenth of the cells or more.

    A slash is never taken for one: it occurs in units and names.
    """
    cells = [cell for one in columns for cell in one.cells if isinstance(cell, str) and not _is_parsed(cell)]
    are_several = any(name.endswith("s") for one in columns for name in one.names)
    for name, longest in (("semicolon", 15 if are_several else 5), ("bar", 15), ("line", 5)):
        mark = " | " if name == "bar" and not are_several else SEPARATORS[name]
        split = [parts for cell in cells if len(parts := cell.strip().split(mark)) > 1]
        short = [parts for parts in split if all(len(part.split()) <= longest for part in parts)]
        if short and len(short) * 10 >= len(cells):
            return name
    return ""


def _is_parsed(cell: str) -> bool:
    return bool(result_of(cell)) or structure_of(cell) is not None


def _answer(left: Remaining, references: tuple[str, ...], doubts: list[Doubt], *, is_answered: bool) -> dict[str, Any]:
    """The answer to be scored and what says how good it is; a verdict without an answer says nothing."""
    verdict, fields, asked = _verdict(left)
    names = (*column_names.OUTPUTS, *column_names.ANSWERS)
    answer = left.find(names, lambda one: one.has_texts and not (one in verdict or one.is_two_valued))
    answer = None if is_answered else answer
    if (answer is None and not is_answered) or not (references or verdict):
        return {}
    for one in (*verdict, *([answer] if answer else [])):
        left.without(one)
    doubts += asked
    return {"answer": answer.column if answer else None, **fields}


def _verdict(left: Remaining) -> tuple[list[Profile], dict[str, Any], list[Doubt]]:
    """The columns that judge answers, the fields that they fill, and what has to be asked about them.

    Places that are marked in some answers, and in others not, judge them, unless a column says outright whether an
    answer is correct.
    """
    marked = left.find(column_names.WRONG, lambda one: one.marks_places or (one.has_texts and one.is_prose))
    fields = {} if marked is None else {"wrong": marked.column}
    outright = _named_verdict(left, _OUTRIGHT)
    if not outright and marked is not None and marked.marks_places and not all(map(entries_of, marked.cells)):
        return [marked], {**fields, "incorrect": marked.column}, []
    rated = outright or _rated(left) or _rating(left)
    columns = [one for one in (marked, *(one for _, one in rated)) if one is not None]
    if not rated:
        return columns, fields, []
    side, judging = rated[0]
    asked = [_which_verdict([one for _, one in rated])] if len(rated) > 1 and not outright else []
    if side == "correct" and _is_label(judging) and judging.words & NEUTRAL_WORDS:
        asked = [*asked, _which_side(judging)]
    return columns[: 2 if marked else 1], {**fields, side: judging.column}, asked


_OUTRIGHT = (("correct", column_names.CORRECT), ("incorrect", column_names.INCORRECT))
_Judging = list[tuple[str, Profile]]


def _named_verdict(left: Remaining, sides: Sequence[tuple[str, Sequence[str]]]) -> _Judging:
    """The columns of these names that hold words of a verdict, with their fields."""
    found = ((side, left.find(names, lambda one: bool(one.words))) for side, names in sides)
    return [(side, one) for side, one in found if one is not None]


def _rated(left: Remaining) -> _Judging:
    """Verdicts whose names do not say what yes means, first those whose words do."""
    judging = _named_verdict(left, (("correct", column_names.RATED), ("correct", column_names.LABELS)))
    return sorted(judging, key=lambda pair: bool(pair[1].words & NEUTRAL_WORDS))


def _rating(left: Remaining) -> _Judging:
    found = left.find(column_names.QUALITY, lambda one: one.is_number)
    return [] if found is None else [("quality", found)]


def _which_verdict(several: Sequence[Profile]) -> Doubt:
    options = [Option(f"{one.column!r} does", {"correct": one.column}) for one in several]
    return Doubt("Which column says whether an answer is correct?", tuple(options))


def _is_label(profile: Profile) -> bool:
    return profile.rank(column_names.LABELS) is not None


def _which_side(profile: Profile) -> Doubt:
    word = positive_word(profile.cells)
    return Doubt(
        f"Does {word} in {profile.column!r} mean that an answer is correct, or that it is incorrect?",
        (
            Option(f"{word} means correct", {"correct": profile.column, "incorrect": None}),
            Option(f"{word} means incorrect", {"correct": None, "incorrect": profile.column}),
        ),
    )


def _other_prompt(left: Remaining, doubts: list[Doubt]) -> Profile:
    """The column of prose where none is called like a prompt; asked unless nothing else can hold prompts."""
    prose = [one for one in left.unread if one.is_prose]
    likely = prose or left.unread or left.columns
    others = [one for one in left.unread if one.is_structured and one not in likely]
    if len(likely) > 1 or others or likely[0].rank(column_names.NO_PROMPTS) is not None:
        doubts.append(_which_prompt([one.column for one in (*likely, *others)]))
    left.columns.remove(likely[0])
    return likely[0]


def _which_prompt(columns: Sequence[str]) -> Doubt:
    options = [Option(f"the prompts are in {column!r}", {"prompt": column}) for column in columns[:_MOST_OPTIONS]]
    return Doubt("Which column holds the prompts? None is called prompt or question.", tuple(options))


def _prompt(left: Remaining, prompt: Profile, *, is_answered: bool) -> dict[str, Any]:
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


def _lone_answer(left: Remaining, prompt: Profile, doubts: list[Doubt]) -> dict[str, Any]:
    """Answers beside which no verdict and no reference stands: references, if nothing else is unread."""
    names = (*column_names.ANSWERS, *column_names.OUTPUTS)
    lone = left.take(names, lambda one: one.has_texts and not one.is_two_valued)
    if lone is None:
        return _unnamed_references(left, doubts)
    reference = Option(f"{lone.column!r} holds correct answers", {"references": (lone.column,), "answer": None})
    answer = Option(f"{lone.column!r} holds answers to be scored", {"references": (), "answer": lone.column})
    is_models = lone.rank(column_names.ANSWERS) is None
    if left.unread or (is_models and prompt.rank(column_names.INSTRUCTIONS) is None):
        asked = f"Are the texts in {lone.column!r} correct answers, or answers of a model to be scored?"
        doubts.append(Doubt(asked, (answer, reference) if is_models else (reference, answer)))
        return dict((answer if is_models else reference).fields)
    return {"references": (lone.column,), "separator": _separator([lone])}


def _unnamed_references(left: Remaining, doubts: list[Doubt]) -> dict[str, Any]:
    """Ask which column holds correct answers, where several may and none is called so."""
    likely = [one.column for one in left.unread if one.has_texts and not (one.is_number or one.is_two_valued)]
    if likely and not doubts:
        options = [Option(f"{column!r} does", {"references": (column,)}) for column in likely[: _MOST_OPTIONS - 1]]
        doubts.append(Doubt("Which column holds correct answers?", (Option("none does", {}), *options)))
    return {}


def for_two_files(table: Table) -> Understanding:
    """What the columns hold of a file of answers that all are correct, or all incorrect: no verdict is read."""
    understanding = understand(table)
    columns = understanding.columns
    if columns.references and not columns.answer:
        columns = replace(columns, answer=columns.references[0], references=columns.references[1:])
    doubts = tuple(doubt for doubt in understanding.doubts if "prompt" in doubt.options[0].fields)
    return Understanding(columns=replace(columns, quality=None, correct=None, incorrect=None), doubts=doubts)
