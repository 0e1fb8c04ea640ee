"""One scored answer as a single HTML file that opens offline: the answer, the figures, the numbers and the code."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import NamedTuple

from analysis.exports.file_names import file_name
from analysis.exports.numbers import token_numbers
from analysis.exports.page import charts, own, policy, template
from analysis.exports.python_code import python_code
from analysis.one_answer.colours import COLOURINGS
from analysis.one_answer.statements import Statements, known_from_answer
from rauq.labels import (
    Direction,
    Part,
    amount,
    boxed_parts,
    direction,
    letters_direction,
    lines,
    order_marks,
    running,
)
from rauq.scoring import report
from rauq.scoring.declaration import declared
from rauq.scoring.score import Score
from rauq.scoring.settings import is_paper_setting, papers
from rauq.scoring.shown import head_in_words, shown_head
from rauq.trace.attribution import about_attribution, weight_name
from rauq.trace.messages import conversation_text
from rauq.trace.trace import Trace


class SettingRow(NamedTuple):
    """One setting in words: what was used, what the paper uses with this signal, and whether they differ."""

    name: str
    value: str
    paper: str
    changed: bool


def settings_table(trace: Trace, score: Score) -> tuple[SettingRow, ...]:
    """Every setting of a score; the paper has a number for alpha with either signal."""
    paper = papers(score.settings, trace.kind)
    rows = (
        (one.label, getattr(score.settings, name), getattr(paper, name))
        for name, one in declared(type(score.settings)).items()
    )
    return tuple(SettingRow(label, _in_words(used), _in_words(usual), used != usual) for label, used, usual in rows)


def _in_words(value: object) -> str:
    if not isinstance(value, tuple):
        return str(value)
    return ", ".join("layer {} head {}".format(*item) if isinstance(item, tuple) else str(item) for item in value)


LONG = 60  # tokens, from which on they are set smaller


class StripToken(NamedTuple):
    """One token to draw: its parts, the strength of its colour from 0 to 1, and what is marked at it."""

    parts: tuple[Part, ...]
    level: float
    number: str
    collapse: bool
    wrong: bool
    ends_line: bool
    order: str
    direction: Direction


def strip(trace: Trace, score: Score) -> tuple[StripToken, ...]:
    """The tokens of an answer in the colours of its score; a line break is drawn, save after the last token."""
    collapse_point, colouring = report.collapse(trace, score), COLOURINGS[score.by]
    last, values = len(trace.pieces) - 1, report.settled(score.collapse).tolist()
    drawn = zip(trace.pieces, boxed_parts(trace.pieces), order_marks(trace.pieces), strict=True)
    own = direction(trace.pieces)
    return tuple(
        StripToken(
            parts=shown,
            level=colouring.level(value),
            number=amount(value, places=2),
            collapse=collapse_point is not None and index == collapse_point.token,
            wrong=index in trace.wrong,
            ends_line=piece.endswith(b"\n") and index < last,
            order=mark,
            direction=letters_direction([piece]) or own,
        )
        for index, ((piece, shown, mark), value) in enumerate(zip(drawn, values, strict=True))
    )


_PAGE = Path(__file__).parent / "report.html"


def html_report(trace: Trace, score: Score, *, said: Statements | None = None, dark: bool = False) -> str:
    """A whole HTML page, light or dark, with styles, scripts and figures in it: nothing is loaded from the network.

    `said`: what is known of the answer besides; None: the cautions that follow from the answer alone.

    Text of models and users is escaped, and the page's content policy lets only its own scripts run.
    """
    drawn = charts(trace, score, dark=dark)
    script = own("report.js")
    tokens = strip(trace, score)
    headline, detail = report.sentence_halves(trace, score)
    return template(_PAGE).render(
        dark=dark,
        policy=policy((*(chart.html for chart in drawn), f"<script>{script}</script>")),
        style=own("report.css"),
        script=script,
        title="How uncertain the model is about this text" if report.was_given(trace) else "Where the model was unsure",
        writer=report.writer_of(trace),
        said=said or known_from_answer(trace, score),
        headline=headline,
        detail=f"{detail} {report.uncertainty_sentence(score)}",
        prompt=lines(conversation_text(trace.messages) or trace.prompt),
        tokens=tokens,
        long=len(tokens) > LONG,
        direction=direction(trace.pieces),
        colouring=COLOURINGS[score.by],
        charts=drawn,
        score=score,
        by_surprisal=score.by == "surprisal",
        shown=shown_head(score) if score.shown or score.layer is not None else None,
        in_words=partial(head_in_words, score),
        heads=report.selected_heads(score),
        papers=is_paper_setting(score.settings, trace.kind),
        settings=settings_table(trace, score),
        trace=trace,
        facts=_facts(trace),
        rows=list(zip(token_numbers(trace, score), tokens, strict=True)),
        undefined=_undefined(score),
        trace_file=(trace_file := file_name(trace, "answer.safetensors")),
        code=python_code(trace, score, trace_file=trace_file),
        number=amount,
        weight=weight_name(trace.attribution),
        running=running,
    )


def _facts(trace: Trace) -> tuple[tuple[str, str], ...]:
    """Where the answer comes from, line by line."""
    count = len(trace.pieces)
    note = report.prompt_note(trace)
    return (
        ("model", running(trace.model)),
        ("revision", running(trace.revision)),
        ("kind", f"{trace.kind}, {note}" if note else trace.kind),
        *((("attribution", made),) if (made := about_attribution(trace.attribution, trace.dtype)) else ()),
        *((("weights", weights),) if (weights := report.weights_of(trace)) else ()),
        (
            "size",
            _size(trace),
        ),
        ("answer", f"{count} token{'' if count == 1 else 's'}, {report.ending(trace)}"),
    )


def _size(trace: Trace) -> str:
    weight = weight_name(trace.attribution)
    return f"{trace.num_layers} layers, {len(trace.layers)} of them with {weight}, {trace.num_heads} heads each"


def _undefined(score: Score) -> list[str]:
    """What is undefined, and why: one text for each reason."""
    reasons = asdict(score.reasons)
    names = {
        why: [name.replace("_", " ") for name in reasons if reasons[name] == why] for why in reasons.values() if why
    }
    return [f"{', '.join(concerned)} ({why})" for why, concerned in names.items()]
