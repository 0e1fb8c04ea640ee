"""A scored answer drawn in a terminal: coloured tokens with their numbers, the picked heads, and what they say."""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from rauq import report
from rauq.empty_answers import why_empty
from rauq.labels import about_weights, label, number, running
from rauq.score import Score
from rauq.settings import is_paper_setting
from rauq.trace import Trace

MARK = "*"
_PROMPT_CHARACTERS = 300
# One warm hue from strong to pale, black text readable on each. At 1 nat, confidence is 37 % of a sure model's.
_SHADES = (
    (1.0, "black on #f2701d"),
    (0.5, "black on #fd9a4d"),
    (0.25, "black on #fdc086"),
    (0.1, "black on #fee6ce"),
)


class _Cell(NamedTuple):
    """One token with its number beneath, both padded to the same width."""

    token: str
    number: str
    style: str
    width: int


def draw(console: Console, trace: Trace, score: Score) -> None:
    """Print the whole picture of one answer."""
    if why_empty(trace, score.settings.part):
        for line in (_heading(trace), Text(), Text(report.sentence(trace, score))):
            console.print(line, soft_wrap=True)
        return
    found = report.collapse(score)
    marked = found.token if found else None
    blocks = (
        _heading(trace),
        Text(),
        *token_strip(trace.pieces, score.collapse.tolist(), marked=marked, width=console.width),
        _legend(),
        Text(),
        heads_table(score),
        Text(),
        *map(Text, sentences(trace, score)),
    )
    for block in blocks:
        console.print(block, soft_wrap=isinstance(block, Text))


def token_strip(pieces: Sequence[bytes], values: Sequence[float], *, marked: int | None, width: int) -> Iterator[Text]:
    """Lines of tokens with their numbers beneath; colour says the same as the number, and one token has a mark."""
    cells = [
        _cell(piece, value, mark=index == marked)
        for index, (piece, value) in enumerate(zip(pieces, values, strict=True))
    ]
    for line in _lines(cells, width):
        yield Text(" ").join(Text(_padded(cell.token, cell.width), cell.style) for cell in line)
        yield Text(" ".join(_padded(cell.number, cell.width) for cell in line))


def heads_table(score: Score) -> Table:
    """Which head was picked in each layer of the window, and which layer decided."""
    table = Table(title="Picked heads", title_justify="left", title_style="bold", box=box.SIMPLE)
    for name in ("layer", "head", "mean attention", "margin", "u_l"):
        table.add_column(name, justify="right")
    table.add_column("")
    for row in report.picked_heads(score):
        decides = row.layer == score.layer
        head = "none" if row.head is None else str(row.head)
        numbers = (_number(value) for value in (row.mean_attention, row.margin, row.layer_score))
        cells = (str(row.layer), head, *numbers, "decides" if decides else "")
        table.add_row(*cells, style="bold" if decides else "")
    return table


def sentences(trace: Trace, score: Score) -> Iterator[str]:
    """The score, how it was made, and where confidence collapsed, in numbers."""
    settings = score.settings
    papers = "the paper's setting" if is_paper_setting(settings, trace.kind) else "not the paper's setting"
    yield f"Uncertainty {_number(score.uncertainty)}: higher is less sure. It ranks answers; it is not a probability."
    yield f"Signal {settings.signal}, alpha {settings.alpha:g}, alignment {settings.alignment}: {papers}."
    yield report.sentence(trace, score)


def _heading(trace: Trace) -> Text:
    note = report.prompt_note(trace)
    chat = f", {note}" if note else ""
    return Text.assemble(
        (running(trace.model), "bold"),
        f" ({trace.kind}{chat})\n",
        *([f"{weights}\n"] if (weights := about_weights(trace.quantisation, trace.dtype)) else []),
        *(part for message in trace.messages[:-1] for part in _said(message.role.capitalize(), message.content)),
        *_said("Prompt", trace.prompt),
        ("Answer ", "bold"),
        f"{running(trace.answer)} ({_count(len(trace.answer_ids), 'token')}, {report.ending(trace)})",
    )


def _said(who: str, what: str) -> tuple[tuple[str, str], str]:
    text = running(what)
    shown = text if len(text) <= _PROMPT_CHARACTERS else f"... {text[-_PROMPT_CHARACTERS:]}"
    return (f"{who} ", "bold"), f"{shown}\n"


def _legend() -> Text:
    swatches = [(f" from {edge:g} ", style) for edge, style in reversed(_SHADES)]
    return Text.assemble("Collapse of confidence in nats: ", *swatches, f"  {MARK} the largest")


def _cell(piece: bytes, value: float, *, mark: bool) -> _Cell:
    token = label(piece)
    written = _number(value, places=2) + (MARK if mark else "")
    style = next((style for edge, style in _SHADES if value >= edge), "")
    return _Cell(token, written, style, max(cell_len(token), cell_len(written)))


def _lines(cells: Sequence[_Cell], width: int) -> Iterator[list[_Cell]]:
    line: list[_Cell] = []
    for cell in cells:
        if line and sum(other.width + 1 for other in line) + cell.width > width:
            yield line
            line = []
        line.append(cell)
    yield line


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _number(value: float, *, places: int = 3) -> str:
    return "undefined" if math.isnan(value) else number(value, places=places)


def _count(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
