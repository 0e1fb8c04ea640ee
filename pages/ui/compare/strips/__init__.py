"""Two answers as two rows of tokens on one grid, coloured by collapse on one scale: a click selects a token of A."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from analysis.figures import looks
from analysis.one_answer.colours import COLOURINGS
from analysis.two_answers.comparison import Columns, layer_and_head
from pages.ui.compare.answers import Answer
from pages.ui.shared import words as field_words
from pages.ui.shared.assets import joined
from pages.ui.shared.components import component
from pages.ui.shared.figure_export import is_dark
from pages.ui.shared.sent import events
from rauq.labels import (
    NEWLINE,
    SPACE,
    Part,
    boxed_parts,
    direction,
    letters_direction,
    number,
    order_marks,
    shortened,
    token_labels,
    visible,
)
from rauq.scoring import report
from rauq.scoring.report import weights_of, words
from rauq.scoring.score import Measure, Score
from rauq.scoring.shown import shown_layer
from rauq.trace.attribution import weight_name
from rauq.trace.trace import Trace

KEY = "pair"
_LONG = 60  # columns: longer strips use smaller type, and scroll
_FOLDER = Path(__file__).parent
_mount = component(
    "compare_strips",
    _FOLDER / "js/strips.js",
    html=joined(_FOLDER, "strips.html"),
    css=f"{joined(_FOLDER, 'strips.css')}\n{field_words.STYLE}",
)


def pair_of_strips(
    answers: tuple[Answer, Answer],
    scores: tuple[Score, Score],
    columns: Columns,
    *,
    headline: str,
    first_difference: int | None,
    selected: int | None,
    on_select: Callable[[int | None], None],
    on_branch: Callable[[int, int], None],
) -> None:
    """Draw two scored answers; `selected` is a token of A.

    `on_select` gets the token of A that is selected now; `on_branch` a token and the rank of the alternative to
    replace it.
    """
    both = _said_of_both([answer.trace for answer in answers])
    sides = [_scored_side(answer, score, both=both) for answer, score in zip(answers, scores, strict=True)]
    data = {
        "headline": headline,
        "folds": folds(columns, [answer.trace for answer in answers]),
        "sides": _with_looks(sides),
        "both": both,
        "columns": columns,
        "direction": direction(answers[0].trace.pieces),
        "first_difference": first_difference,
        "selected": selected,
        "live": False,
        "words": field_words.word_list(),
        "legend": _legend(answers, scores[0].by, differ=first_difference is not None),
        "branches": _branches(answers[0].trace),
    }
    _draw(data, on_select, on_branch)


def growing_strips(a: Answer, score: Score) -> Callable[[Sequence[str], Columns, str], None]:
    """Return what draws A, and under it the pieces of an answer that is still being generated, without numbers.

    A is described once, not each time a token has come: it does not change meanwhile.
    """
    constant: dict[str, Any] = {
        "direction": direction(a.trace.pieces),
        "legend": _legend([a], score.by, differ=False),
        "live": True,
        "both": "",
        "folds": [],
        "branches": [],
        "first_difference": None,
        "selected": None,
    }
    return partial(_draw_growing, constant, _scored_side(a, score, both=""))


def _draw_growing(
    constant: dict[str, Any], side_a: dict[str, Any], pieces: Sequence[str], columns: Columns, headline: str
) -> None:
    cells = _bare_cells([piece.encode("utf-8", "replace") for piece in pieces])
    side_b = {"cells": cells, "uncertainty": "…", "source": "", "said": ""}
    _draw(
        constant | {"headline": headline, "sides": _with_looks([side_a, side_b]), "columns": columns}, _ignore, _ignore
    )


def folds(columns: Columns, traces: Sequence[Trace]) -> list[tuple[int, int]]:
    """Return runs of columns (first, end), end excluded, in which every token is part of the thinking."""
    thinking = [
        all(token is None or _thinks(trace, token) for token, trace in zip(column, traces, strict=True))
        for column in columns
    ]
    edges = np.flatnonzero(np.diff([False, *thinking, False]))
    return [(int(first), int(last)) for first, last in edges.reshape(-1, 2)]


def _thinks(trace: Trace, token: int) -> bool:
    start, stop = trace.thinking or (0, 0)
    return start <= token < stop


def _draw(data: dict[str, Any], on_select: Callable[[int | None], None], on_branch: Callable[[int, int], None]) -> None:
    data["long"] = len(data["columns"]) > _LONG
    _mount(
        key=KEY,
        data=data,
        on_select_change=partial(_select, on_select),
        on_branch_change=partial(_branch_off, on_branch),
    )


@dataclass(frozen=True, kw_only=True)
class Selected:
    """What the browser reports: the token of A that is selected now, if any."""

    token: int | None


def _select(act: Callable[[int | None], None]) -> None:
    if (event := events.event(KEY, "select", Selected)) is not None:
        act(event.token)


def _branch_off(act: Callable[[int, int], None]) -> None:
    if (event := events.event(KEY, "branch", tuple[int, int])) is not None:
        act(*event)


def _ignore(*_: int | None) -> None:
    """Ignore selections while an answer is being generated."""


def _with_looks(sides: list[dict[str, Any]]) -> list[dict[str, Any]]:
    dark = is_dark()
    return [
        side | {"name": look.name, "colour": look.colour} for side, look in zip(sides, looks(dark=dark), strict=True)
    ]


def _said_of_both(traces: Sequence[Trace]) -> str:
    """Return how the weights of both answers are stored, where that is the same, to be said once."""
    same = {weights_of(trace) for trace in traces}
    return same.pop() if len(same) == 1 else ""


def _scored_side(answer: Answer, score: Score, *, both: str) -> dict[str, Any]:
    """Return what is drawn of an answer; what is said of `both` is left out of its source."""
    trace = answer.trace
    source = words(trace, score, answer.note).source
    collapse_point = report.collapse(trace, score)
    weakest = collapse_point.token if collapse_point else None
    labels = token_labels(trace.pieces)
    cells = [
        bare
        | _scored_cell(trace, score, token, labels[token], is_collapse=token == weakest, is_wrong=token in answer.wrong)
        for token, bare in enumerate(_bare_cells(trace.pieces))
    ]
    return {
        "cells": cells,
        "uncertainty": number(score.uncertainty, places=2),
        "source": source.replace(f" {both}", "", 1) if both else source,
        "said": report.sentence(trace, score),
    }


def _bare_cells(pieces: Sequence[bytes]) -> list[dict[str, Any]]:
    drawn = zip(pieces, token_labels(pieces), boxed_parts(pieces), order_marks(pieces), strict=True)
    otherwise = direction(pieces)  # a token without letters runs as the answer does
    return [
        _bare_cell(token, text, parts) | {"order": mark, "direction": letters_direction([piece]) or otherwise}
        for token, (piece, text, parts, mark) in enumerate(drawn)
    ]


def _bare_cell(token: int, text: str, drawn: tuple[Part, ...]) -> dict[str, Any]:
    """Return what is drawn of a token before it has numbers."""
    return {
        "parts": [[part.text, part.mark] for part in drawn],
        "title": shortened(text, longest=60),
        "spoken": f"token {token}: {text}",
        "level": 0,
        "number": "",
        "collapse": False,
        "wrong": False,
        "facts": [],
    }


def _scored_cell(
    trace: Trace, score: Score, token: int, label: str, *, is_collapse: bool, is_wrong: bool
) -> dict[str, Any]:
    value = float(score.collapse[token])
    shown = number(value, places=2)
    colouring = COLOURINGS[score.by]
    notes = f"{f', largest {colouring.name}' if is_collapse else ''}{', marked as incorrect' if is_wrong else ''}"
    return {
        "level": colouring.level(value),
        "number": shown,
        "collapse": is_collapse,
        "wrong": is_wrong,
        "spoken": f"token {token}: {label}, {colouring.name} {shown}{notes}",
        "facts": _facts(trace, score, token),
    }


def _facts(trace: Trace, score: Score, token: int) -> list[tuple[str, str]]:
    layer = shown_layer(score)
    row = score.layers.index(layer)
    attention = score.attention[row][token - 1] if token else math.nan
    return [
        ("probability", f"{math.exp(trace.logprobs[token]):.4f}"),
        (f"{weight_name(trace.attribution)}, {layer_and_head(score)}", number(attention)),
        (f"confidence c, layer {layer}", number(score.confidence[row][token])),
        ("r, fully confident model", number(score.reference_confidence[row][token])),
        ("collapse, log r − log c" if score.by == "rauq" else "surprisal", number(score.collapse[token])),
    ]


def _branches(trace: Trace) -> list[dict[str, Any]]:
    """Return the alternatives to each token of A."""
    labels = token_labels(trace.pieces, longest=40)
    return [_branch(trace, token, label) for token, label in enumerate(labels)]


def _branch(trace: Trace, token: int, label: str) -> dict[str, Any]:
    chosen = int(trace.answer_ids[token])
    alternatives = [
        [rank, visible(other.text) or "∅", round(math.exp(other.logprob), 4), _probability(other.logprob)]
        for rank, other in enumerate(trace.alternatives[token])
        if other.id != chosen
    ]
    title = f"Branch off A at token {token}: replace “{label}” "
    return {
        "title": f"{title}({_probability(float(trace.logprobs[token]))}) by",
        "alternatives": alternatives,
    }


def _legend(answers: Sequence[Answer], by: Measure, *, differ: bool) -> dict[str, Any]:
    """Return the colours, and the signs that stand in these answers; `differ`: a line is at the first difference."""
    colouring = COLOURINGS[by]
    text = b"".join(piece for answer in answers for piece in answer.trace.pieces)
    marks = any(answer.wrong for answer in answers)
    return {
        "name": colouring.title,
        "swatches": [[level, f"{value:g}"] for value, level in colouring.swatches],
        "key": [
            f"▲ largest {colouring.name} of a token with text",
            *[f"{SPACE} space"] * (b" " in text),
            *[f"{NEWLINE} line break"] * (b"\n" in text),
            *["┊ first difference"] * differ,
            *["✗ marked as incorrect"] * marks,
        ],
    }


def _probability(logprob: float) -> str:
    return f"{math.exp(logprob):.3f}" if math.exp(logprob) >= 0.0005 else "<0.001"
