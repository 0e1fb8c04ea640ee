"""What one cell of a table holds: texts in the forms in which programs write lists, a verdict, a conversation."""

import ast
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from analysis.datasets.columns import SEPARATORS
from analysis.datasets.table import text
from rauq.errors import InvalidInput

Cell = Any  # of a user's file
Structure = list[Any] | tuple[Any, ...] | dict[str, Any]

_OPENS = re.compile(r"\s*(?:array\s*\(\s*)?[\[({]\s*(?:[\[({'\"\])}]|array|[bru]{1,2}['\"]|[-\d])")
_ESCAPES = frozenset("\\'\"abfnrtvxuUN01234567\n")
_QUOTES = ("'", '"')
_TOKEN = re.compile(r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+"|[^'"]+""", re.DOTALL)
_SHORTENED = re.compile(r"[\s,]*\.\.\.[\s,]*")


def structure_of(cell: Cell) -> Structure | None:
    """The list or object that a cell is, or that its text writes as JSON, Python or numpy do; None for any other.

    An object has texts as its keys. Nothing of the text is evaluated.
    """
    if isinstance(cell, list | tuple):
        return cell
    if isinstance(cell, dict):
        return cell if all(isinstance(key, str) for key in cell) else None
    if not isinstance(cell, str) or not _OPENS.match(cell):
        return None
    try:
        found = json.loads(cell)
    except (ValueError, RecursionError):
        found = _python(cell)
    return structure_of(found) if isinstance(found, list | tuple | dict) else None


def _python(text: str) -> Any:  # noqa: ANN401 - whatever the text holds
    """The value of a text in the form of Python's or numpy's `repr`; None where it is none."""
    if any(escaped not in _ESCAPES for escaped in re.findall(r"\\(.)", text, re.DOTALL)):
        return None
    try:
        return _value(ast.parse(_with_commas(text), mode="eval").body)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None


def _with_commas(text: str) -> str:
    """The text with commas between texts that follow each other: numpy separates them by spaces alone.

    Raises:
        ValueError: a quote that is not closed.
    """
    written, place, is_text = [], 0, False
    while place < len(text):
        if (found := _TOKEN.match(text, place)) is None:
            message = "a quote that is not closed"
            raise ValueError(message)
        piece, place = found[0], found.end()
        if is_text and text[place : place + 1] in _QUOTES and not piece.strip():
            piece = ","
        elif _SHORTENED.fullmatch(piece):
            piece = ",...,"
        is_text = piece[0] in _QUOTES
        written.append(piece)
    return "".join(written).strip()


def _value(node: ast.expr) -> Any:  # noqa: ANN401
    match node:
        case ast.Constant(value=value) if value is Ellipsis:
            return Ellipsis
        case ast.Constant(value=str() | int() | float() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return [_value(part) for part in parts]
        case ast.Dict(keys=keys, values=values):
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True) if key is not None}
        case ast.Call(func=ast.Name(id="array"), args=[ast.List() as listed, *_]):
            return _value(listed)
    message = "a value that is not written out"
    raise ValueError(message)


_TEXT_KEYS = ("value", "text", "answer", "answers", "spans", "input_text", "aliases")
_LONGEST_RESULT = 5  # words; more are a heading of Markdown
_BOXED = re.compile(r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")


def result_of(cell: Cell) -> str:
    r"""The result that a solution marks: behind #### (GSM8K), or in its last \boxed (MATH); "" where it marks none."""
    if not isinstance(cell, str):
        return ""
    *_, last = cell.strip().split("\n")
    if last.startswith("####") and 0 < len(last.split()) - last.startswith("#### ") <= _LONGEST_RESULT:
        return last.removeprefix("####").strip()
    found = _BOXED.match(cell, cell.rfind("\\boxed")) if "\\boxed" in cell else None
    return found[1].strip() if found else ""


def texts(cell: Cell, column: str, *, separator: str = "") -> tuple[str, ...]:
    """Every text that a cell holds, none empty and none twice: those of a list or an object, or the one text of it.

    Of a solution that marks its result it is the result. `separator`: the name of what stands between texts.

    Raises:
        InvalidInput: a cell that is no text, too long, or a list that was shortened when it was written.
    """
    each = (text(value, column) for value in _parts(cell, column, separator))
    return tuple(dict.fromkeys(words for words in each if words.strip()))


def _parts(cell: Cell, column: str, separator: str) -> Sequence[Cell]:
    found = structure_of(cell)
    if isinstance(found, dict):
        keys = [key for key in _TEXT_KEYS if key in found]
        return [one for key in keys for one in _listed(found[key])] if keys else [cell]
    if found is not None and (not isinstance(cell, str) or _has_texts(found, column)):
        return [one for part in found for one in (_listed(_inner(part)) if isinstance(part, dict) else [part])]
    if not isinstance(cell, str):
        return [cell]
    if result := result_of(cell):
        return [result]
    return [part.strip() for part in cell.split(SEPARATORS[separator])] if separator else [cell]


def _has_texts(structure: Structure, column: str) -> bool:
    """Whether a list that a text writes holds texts; numbers in brackets are a text, such as an interval."""
    if Ellipsis in structure:
        message = f"{column!r} was shortened with ... when it was written. Write the whole list, such as JSON."
        raise InvalidInput(message)
    kinds = [type(_inner(part) if isinstance(part, dict) else part) for part in structure]
    return not kinds or (str in kinds and set(kinds) <= {str, int, float, type(None)})


def _inner(part: Mapping[str, Any]) -> Cell:
    return next((part[key] for key in _TEXT_KEYS if key in part), None)


def _listed(value: Cell) -> Sequence[Cell]:
    return value if isinstance(value, list | tuple) else [value]


def joined(cell: Cell, column: str) -> str:
    """The text of a cell, the texts of a list in paragraphs; "" where there is none."""
    return "\n\n".join(texts(cell, column)) if structure_of(cell) is not None else text(cell, column)


def marked_texts(cell: Cell, column: str, *, answer: str | None) -> tuple[str, ...]:
    """The texts that a cell marks in an answer: texts, or places in characters, as `marked_spans`.

    Raises:
        InvalidInput: a place without a text that is not in the answer.
    """
    if spans := marked_spans(cell, answer=answer):
        found = tuple((answer or "")[start:end].strip() for start, end in spans)
    else:
        found = tuple(_text_of(part, column, answer or "") for part in _parts_with_text(cell)) or texts(cell, column)
    return tuple(text for text in dict.fromkeys(found) if text.strip() and text.strip().casefold() not in _NOTHING)


_NOTHING = frozenset({"none", "no", "n/a", "na", "-", "nothing"})
_PLACE = re.compile(r"\s*(\d+)\s*[:-]\s*(\d+)\s*")
Span = tuple[int, int]


def marked_spans(cell: Cell, *, answer: str | None) -> tuple[Span, ...]:
    """The places (first, last exclusive) that a cell marks in an answer, in characters; none where it marks texts.

    They are objects with `start` and `end`, pairs of numbers, or texts such as 12:18, unless the answer has that text.
    Places that are not in the answer, or hold another text than their object says, are none.
    """
    parts = _listed(found) if isinstance(found := structure_of(cell), list | tuple) else re.split("[;,]", str(cell))
    spans = [_span(part, answer or "") for part in parts]
    return tuple(dict.fromkeys(span for span in spans if span)) if spans and all(spans) else ()


def _span(part: Cell, answer: str) -> Span | None:
    start, end, said = _place_of(part, answer)
    is_there = isinstance(start, int) and isinstance(end, int) and 0 <= start < end <= len(answer)
    return (start, end) if is_there and said in {None, "", answer[start:end]} else None


def _place_of(part: Cell, answer: str) -> tuple[Cell, Cell, Cell]:
    """What a part of a cell gives as its start, its end and its text."""
    if isinstance(part, dict):
        return part.get("start"), part.get("end"), part.get("text")
    if isinstance(part, list | tuple) and len(part) == 2:
        return part[0], part[1], None
    if isinstance(part, str) and (found := _PLACE.fullmatch(part)) and part.strip() not in answer:
        return int(found[1]), int(found[2]), None
    return None, None, None


def _parts_with_text(cell: Cell) -> list[Mapping[str, Any]]:
    """The objects of a cell that have a text or a place, where all of them do."""
    found = structure_of(cell)
    parts = found if isinstance(found, list | tuple) else ()
    return list(parts) if all(isinstance(part, dict) and isinstance(part.get("start"), int) for part in parts) else []


def _text_of(part: Mapping[str, Any], column: str, answer: str) -> str:
    """The text of a part; a place alone has to be in the answer."""
    if not (said := str(part.get("text") or "").strip()) and not answer[part["start"] : part.get("end", part["start"])]:
        message = (
            f"{column!r} marks {part['start']} to {part.get('end')}, but the answer has {len(answer)} characters, "
            "counted from 0."
        )
        raise InvalidInput(message)
    return said


_YES = frozenset("true t 1 1.0 yes y oui ja si sí sim да 是 はい 예 نعم ✓ ✔ ✅".split())
_NO = frozenset("false f 0 0.0 -1 -1.0 no n non nein não нет 否 いいえ 아니요 لا ✗ ✘ ❌ ×".split())
_CORRECT = frozenset(
    "correct right pass passed supported factual accurate faithful truthful grounded consistent valid entailed "
    "entailment good ok not_hallucinated non_hallucinated no_hallucination richtig korrekt vrai verdadero correcto "
    "vero corretto верно 正确 对 正しい 맞음".split()
)
_INCORRECT = frozenset(
    "incorrect wrong fail failed unsupported not_supported refuted nonfactual non_factual not_factual inaccurate "
    "unfaithful not_faithful untruthful ungrounded not_grounded inconsistent invalid contradiction contradicted "
    "hallucinated hallucination bad not_correct falsch faux falso incorrecto sbagliato неверно 错误 错 間違い "
    "틀림".split()
)
VERDICT_WORDS = _YES | _NO | _CORRECT | _INCORRECT
NEUTRAL_WORDS = _YES | _NO
"""Words whose meaning depends on what was asked: whether the answer is correct, or whether it is incorrect."""


def verdict_word(cell: Cell) -> str:
    """The word of a verdict as it is compared: without case, its parts joined by underscores; "" for an empty cell."""
    return re.sub(r"[\s_-]+(?!\d)", "_", str("" if cell is None else cell).strip().strip(".!").casefold())


def verdict(cell: Cell, column: str, *, incorrect: bool = False) -> float | None:
    """1 for a correct answer, 0 for an incorrect one; None where the cell is empty.

    `incorrect`: yes, true and 1 mean incorrect, and a list of faults does unless it is empty. Words such as supported
    or hallucinated mean the same either way.

    Raises:
        InvalidInput: no word that is known.
    """
    if (faults := structure_of(cell)) is not None and incorrect:
        return float(not faults)
    word = verdict_word(text(cell, column))
    if not word:
        return None
    if word not in VERDICT_WORDS:
        message = f"{column!r} is {str(cell)[:40]!r}; a verdict such as true or false, 1 or 0, yes or no is needed."
        raise InvalidInput(message)
    return float((word in _YES) != incorrect if word in NEUTRAL_WORDS else word in _CORRECT)


def positive_word(cells: Sequence[Cell]) -> str:
    """How cells of a verdict write yes, true or 1; "1" where none does."""
    return next((str(cell).strip() for cell in cells if verdict_word(cell) in _YES), "1")


_ROLES = {
    **dict.fromkeys(("human", "prompter", "user"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "bot", "bing", "bard", "claude", "model", "assistant"), "assistant"),
    **dict.fromkeys(("function_response", "observation", "tool_response"), "tool"),
}
_ROLE_KEYS, _CONTENT_KEYS = ("role", "from", "speaker"), ("content", "value", "text", "parts", "message")


def conversation_of(cell: Cell) -> list[dict[str, Any]] | None:
    """The messages of a conversation, each with `role` and `content`; None for any other cell.

    Roles and contents of ShareGPT (from human, value), of OpenAssistant and of Gemini are given their usual names; what
    else a message holds stays as it is.
    """
    found = structure_of(cell)
    if not isinstance(found, list | tuple) or not found or not all(isinstance(part, dict) for part in found):
        return None
    return [_message(part) for part in found] if all(map(_is_message, found)) else None


def _is_message(part: Mapping[str, Any]) -> bool:
    return any(isinstance(part.get(key), str) for key in _ROLE_KEYS) and any(
        key in part for key in (*_CONTENT_KEYS, "tool_calls")
    )


def _message(part: Mapping[str, Any]) -> dict[str, Any]:
    role_key = next(key for key in _ROLE_KEYS if isinstance(part.get(key), str))
    content_key = next((key for key in _CONTENT_KEYS if key in part), "content")
    role = part[role_key].strip().lower()
    rest = {key: value for key, value in part.items() if key not in {role_key, content_key} and value is not None}
    return {"role": _ROLES.get(role, role), "content": _content(part.get(content_key)), **rest}


def _content(content: Cell) -> Cell:
    """The content of a message: a text; parts that are all texts, as one."""
    if isinstance(content, list | tuple) and content:
        parts = [part.get("text") if isinstance(part, dict) else part for part in content]
        if all(isinstance(part, str) for part in parts):
            return "\n".join(map(str, parts))
    return content
