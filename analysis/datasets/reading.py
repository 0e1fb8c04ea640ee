"""How the columns of a table were read, in one line with an example of each; the page and the command line show it."""

from collections.abc import Callable, Sequence
from types import MappingProxyType

from analysis.datasets.cells import VERDICT_WORDS, Cell, structure_of, verdict, verdict_word
from analysis.datasets.columns import SEPARATORS, Columns
from analysis.datasets.example import Example
from analysis.datasets.table import Table
from rauq.labels import shortened

_LONGEST = 48  # characters of an example
_MOST_VALUES = 3
_TITLES = MappingProxyType(
    {
        "group": "group",
        "stratum": "stratum",
        "error_label": "kind of error",
        "facts": "facts",
        "wrong": "wrong texts",
        "source": "source",
        "question": "question",
        "id": "id",
    }
)
_BETWEEN = MappingProxyType({"semicolon": "semicolons", "bar": "bars", "slash": "slashes", "line": "line breaks"})


def reading_of(table: Table, columns: Columns, examples: Sequence[Example]) -> str:
    """One line such as "prompt: question; references: answers, 2 on average, such as 'Lisbon'; not used: url".

    A column whose examples have nothing of a kind is named without one.
    """
    used = {column for _, column in columns.pairs}
    others = [f"{title}: {getattr(columns, name)}" for name, title in _TITLES.items() if _is_apart(columns, name)]
    unused = [column for column in table.columns if column not in used]
    parts = (
        _prompt(columns, examples),
        _answer(columns, examples),
        _references(columns, examples),
        _judgement(table, columns),
        *others,
        f"not used: {', '.join(unused)}" if unused else "",
    )
    return "; ".join(filter(None, parts))


def _is_apart(columns: Columns, name: str) -> bool:
    """Whether a field has a column that the prompt does not have already."""
    column = getattr(columns, name)
    return column is not None and column not in columns.prompts


def _prompt(columns: Columns, examples: Sequence[Example]) -> str:
    named = ", then ".join(columns.prompts)
    choices = f", with the choices in {', '.join(columns.choices)}" if columns.choices else ""
    form = ", as conversations" if any(example.conversation for example in examples) else ""
    return f"prompt: {named}{choices}{form}{_such_as(examples, lambda example: example.asked)}"


def _answer(columns: Columns, examples: Sequence[Example]) -> str:
    given = any(example.answer is not None for example in examples)
    if not given and columns.answer is None:
        return "the model answers"
    named = columns.answer or "the assistant's last message"
    return f"answer to score: {named}{_such_as(examples, lambda example: example.answer or '')}"


def _references(columns: Columns, examples: Sequence[Example]) -> str:
    if not columns.references:
        return ""
    numbers = [len(example.references) for example in examples if example.references]
    mean = sum(numbers) / len(numbers) if numbers else 0
    count = f", {mean:.2g} on average" if mean > 1 else ""
    between = f", between {_BETWEEN[columns.separator]}" if columns.separator in SEPARATORS else ""
    letter = ", as the letter of the right choice" if columns.choices else ""
    example = _such_as(examples, lambda example: next(iter(example.references), ""))
    return f"references: {', '.join(columns.references)}{between}{letter}{count}{example}"


def _judgement(table: Table, columns: Columns) -> str:
    if columns.quality:
        return f"quality: {columns.quality}, higher is better"
    if not (column := columns.correct or columns.incorrect):
        return ""
    cells = table.rows[column].head(1000).tolist()
    if columns.incorrect and any(structure_of(cell) is not None for cell in cells[:20]):
        return f"verdict: {column}, an empty list = correct"
    return f"verdict: {column}, {_meaning(cells, column, incorrect=columns.incorrect is not None)}"


def _meaning(cells: Sequence[Cell], column: str, *, incorrect: bool) -> str:
    """Which values of a verdict mean correct; where none does, which mean incorrect."""
    values = dict.fromkeys(str(cell).strip() for cell in cells if verdict_word(cell) in VERDICT_WORDS)
    found = {value: verdict(value, column, incorrect=incorrect) for value in values}
    correct = [value for value, side in found.items() if side]
    if correct or not found:
        return f"{' or '.join(correct[:_MOST_VALUES]) or 'no known value'} = correct"
    return f"{' or '.join(list(found)[:_MOST_VALUES])} = incorrect"


def _such_as(examples: Sequence[Example], of: Callable[[Example], str]) -> str:
    first = next((found for example in examples if (found := " ".join(of(example).split()))), "")
    return f", such as {shortened(first, longest=_LONGEST)!r}" if first else ""
