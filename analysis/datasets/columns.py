"""Which columns of a table hold what: as a value, and as the text of `--columns`."""

import csv
from dataclasses import dataclass, fields
from typing import Any

from rauq.errors import InvalidInput

SEPARATORS = {"semicolon": ";", "bar": "|", "slash": " / ", "line": "\n"}
"""What may stand between the references of one cell, by the name that the command line and the page give it."""


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Names of the columns that hold each thing; None, or no name, where no column does.

    Several columns of the `prompt` are joined in their order; a cell of one may hold a conversation, whose last message
    of the assistant is then the answer. References may be in several columns, or several in one, as a list or between
    `separator`s (a name of `SEPARATORS`). `choices`: one column with a list, or one for each choice; they are listed
    after the prompt, and the reference is the letter of the right one. `quality` is a number, higher is better;
    `correct` and `incorrect` hold a verdict in words or as 1 and 0, which means correct in the one and incorrect in the
    other; at most one of the three is given. `facts` and `wrong` are a text or a list; the latter are texts in the
    answer that are incorrect, or their places.
    """

    prompt: str | tuple[str, ...]
    references: tuple[str, ...] = ()
    answer: str | None = None
    quality: str | None = None
    correct: str | None = None
    incorrect: str | None = None
    choices: tuple[str, ...] = ()
    group: str | None = None
    stratum: str | None = None
    error_label: str | None = None
    facts: str | None = None
    wrong: str | None = None
    source: str | None = None
    question: str | None = None
    id: str | None = None
    separator: str = ""

    @property
    def prompts(self) -> tuple[str, ...]:
        """The columns of the prompt."""
        return (self.prompt,) if isinstance(self.prompt, str) else self.prompt

    @property
    def judged(self) -> str | None:
        """The column that says how good the answers are."""
        return self.quality or self.correct or self.incorrect

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every field with a column, once for each of its columns."""
        return tuple((name, column) for name in FIELDS for column in self.of(name))

    def of(self, field: str) -> tuple[str, ...]:
        """The columns of a field."""
        value = getattr(self, field)
        return (value,) if isinstance(value, str) else tuple(value or ())


FIELDS = tuple(field.name for field in fields(Columns) if field.name != "separator")
SEVERAL = ("prompt", "references", "choices")
"""The fields that may have several columns."""


def columns_of(text: str) -> Columns:
    """The columns that `--columns` names: FIELD=COLUMN, separated by commas; a pair that holds a comma is quoted.

    Raises:
        InvalidInput: an unknown field, a field without a column, two columns where one is allowed, or no prompt.
    """
    found: dict[str, list[str]] = {}
    for part in next(csv.reader([text], skipinitialspace=True), []):
        name, _, column = part.partition("=")
        found.setdefault(name.strip(), []).append(column.strip())
    separator = found.pop("separator", [""])
    too_many = [name for name, columns in found.items() if len(columns) > 1 and name not in SEVERAL]
    named = "prompt" in found and all(map(all, found.values())) and found.keys() <= set(FIELDS)
    if not named or too_many or len(separator) > 1 or separator[0] not in {"", *SEPARATORS}:
        message = (
            f"--columns {text}: give FIELD=COLUMN, separated by commas, prompt among them. The fields are "
            f"{', '.join(FIELDS)}; {', '.join(SEVERAL[:-1])} and {SEVERAL[-1]} may be given several times, and "
            f"separator={'|'.join(SEPARATORS)} says what stands between references in one cell."
        )
        raise InvalidInput(message)
    values: dict[str, Any] = {name: tuple(found[name]) if name in SEVERAL else found[name][0] for name in found}
    if len(values["prompt"]) == 1:
        values["prompt"] = values["prompt"][0]
    return Columns(separator=separator[0], **values)


def text_of(columns: Columns) -> str:
    """The text of `--columns` that names these columns."""
    pairs = [f"{name}={column}" for name, column in columns.pairs]
    if columns.separator:
        pairs.append(f"separator={columns.separator}")
    return ",".join(f'"{pair}"' if "," in pair else pair for pair in pairs)
