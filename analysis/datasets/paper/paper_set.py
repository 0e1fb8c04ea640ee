"""The description of a data set of the paper: its place, its size, and its prompts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from analysis.datasets.example import Example
from rauq.errors import InvalidInput
from rauq.trace.trace import Kind

Row = Mapping[str, Any]
Task = Literal["QA", "Summ", "MT"]


@dataclass(frozen=True)
class PromptOptions:
    """How the prompt of one row is made: its id, the kind of model, and the worked examples before it."""

    id: str
    kind: Kind
    solved: Sequence[Row] = ()


@dataclass(frozen=True, kw_only=True)
class PaperSet:
    """A data set of the paper as its table of data sets has it (appendix, "Statistics of the datasets").

    `example` turns a raw row into an example. `size`: how many are asked. `n_shot`: worked examples before each;
    None: as many as the row brings. `few_shot_split`: where they come from; "" where the set's own file writes them.
    The same name as `split`: one half of it, the other half is asked. `shared`: a column in which they have to be
    equal to the row. `expand`: the rows that are asked, from one raw row. `columns`: those that every row needs.
    `task`: the one under which the paper averages it.
    """

    id: str
    title: str
    task: Task
    hub_id: str
    config: str | None = None
    revision: str | None = None
    split: str
    few_shot_split: str = ""
    n_shot: int | None = 0
    size: int
    max_new_tokens: int
    quality: str
    columns: tuple[str, ...]
    example: Callable[[Row, PromptOptions], Example]
    expand: Callable[[Row], Sequence[Row]] = lambda row: (row,)
    shared: str = ""


@dataclass(frozen=True, kw_only=True)
class Form:
    """The words around a row: a first line for each kind of model, and what stands before what is given and wanted."""

    base: str
    instruct: str
    given: str = "Question"
    wanted: str = "Answer"


def prompt_of(form: Form, kind: Kind, asked: str, solved: Sequence[tuple[str, str]] = ()) -> str:
    """The first line, what is solved, and what is asked, each a block that ends where the answer goes."""
    first = form.base if kind == "base" else form.instruct
    blocks = [f"{form.given}: {given}\n{form.wanted}: {one_line(answer)}" for given, answer in solved]
    return "\n\n".join([first, *blocks, f"{form.given}: {asked}\n{form.wanted}:"])


def one_line(text: str) -> str:
    """The text with every run of spaces and line breaks as one space: a base model stops at the first line break."""
    return " ".join(text.split())


def label_of(row: Row, column: str) -> str:
    """The text of a raw row's column that it may also lack."""
    value = row.get(column)
    return value.strip() if isinstance(value, str) else ""


def text_of(row: Row, column: str) -> str:
    """The text of a raw row's column, without spaces around it.

    Raises:
        InvalidInput: no such column, no text, or nothing but spaces.
    """
    value = row.get(column)
    if not isinstance(value, str) or not value.strip():
        message = f"{column!r} holds {value!r:.40}; a text is needed."
        raise InvalidInput(message)
    return value.strip()


def texts_of(row: Row, column: str) -> list[str]:
    """The texts of a raw row's list, without spaces around them, in order.

    Raises:
        InvalidInput: no such column, or no list of texts.
    """
    values = row.get(column)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        message = f"{column!r} holds {values!r:.40}; a list of texts is needed."
        raise InvalidInput(message)
    return [value.strip() for value in values]


def part_of(row: Row, column: str) -> Row:
    """The named values that stand in one column of a raw row.

    Raises:
        InvalidInput: no such column, or one value.
    """
    value = row.get(column)
    if not isinstance(value, dict):
        message = f"{column!r} holds {value!r:.40}; values with names are needed."
        raise InvalidInput(message)
    return value


def question_of(
    asking: PromptOptions,
    form: Form,
    question: str,
    references: Sequence[str],
    *,
    solved: Sequence[tuple[str, str]] = (),
    stratum: str = "",
) -> Example:
    """A question with its accepted answers, after those that are solved; empty and repeated answers are left out."""
    return Example(
        id=asking.id,
        prompt=prompt_of(form, asking.kind, question, solved),
        references=tuple(dict.fromkeys(filter(None, references))),
        question=question,
        stratum=stratum,
    )


def summary_of(row: Row, asking: PromptOptions, form: Form, *, source: str, summary: str) -> Example:
    """A text to be summed up, from the columns `source` and `summary`; the paper judges against the text."""
    document = text_of(row, source)
    prompt = prompt_of(form, asking.kind, document)
    return Example(
        id=asking.id,
        prompt=prompt,
        references=(text_of(row, summary),),
        source=document,
        question=prompt,
    )


def translation_of(row: Row, asking: PromptOptions, form: Form, *, source: str) -> Example:
    """A sentence to be translated into English from the language `source`."""
    pair = part_of(row, "translation")
    sentence = text_of(pair, source)
    prompt = prompt_of(form, asking.kind, sentence)
    return Example(id=asking.id, prompt=prompt, references=(text_of(pair, "en"),), source=sentence, question=prompt)
