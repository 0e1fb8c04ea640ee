"""One scored answer as a single HTML file that opens offline: the answer, the figures, the numbers and the code."""

from dataclasses import asdict
from pathlib import Path

from analysis.exports.charts import charts
from analysis.exports.numbers import token_numbers
from analysis.exports.page import own, policy, template
from analysis.exports.python_code import python_code
from analysis.exports.settings_table import settings_table
from analysis.exports.strip import LONG, SWATCHES, level, strip
from rauq import report
from rauq.labels import about_weights, lines, number, running
from rauq.messages import conversation_text
from rauq.score import Score
from rauq.settings import is_paper_setting
from rauq.trace import Trace

_PAGE = Path(__file__).parent / "report.html"


def html_report(trace: Trace, score: Score, *, dark: bool = False) -> str:
    """A whole HTML page, light or dark, with styles, scripts and figures in it: nothing is asked of the network.

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
        headline=headline,
        detail=f"{detail} {report.uncertainty_sentence(score)}",
        prompt=lines(conversation_text(trace.messages) or trace.prompt),
        tokens=tokens,
        long=len(tokens) > LONG,
        swatches=[(value, level(value)) for value in SWATCHES],
        charts=drawn,
        score=score,
        heads=report.picked_heads(score),
        papers=is_paper_setting(score.settings, trace.kind),
        settings=settings_table(trace, score),
        trace=trace,
        facts=_facts(trace),
        rows=list(zip(token_numbers(trace, score), tokens, strict=True)),
        undefined=_undefined(score),
        code=python_code(trace, score),
        number=number,
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
        *((("weights", weights),) if (weights := about_weights(trace.quantisation, trace.dtype)) else ()),
        (
            "size",
            f"{trace.num_layers} layers, {len(trace.layers)} of them with attention, {trace.num_heads} heads each",
        ),
        ("answer", f"{count} token{'' if count == 1 else 's'}, {report.ending(trace)}"),
    )


def _undefined(score: Score) -> list[str]:
    """What is undefined, and why: one text for each reason."""
    reasons = asdict(score.reasons)
    names = {
        why: [name.replace("_", " ") for name in reasons if reasons[name] == why] for why in reasons.values() if why
    }
    return [f"{', '.join(concerned)}: {why}" for why, concerned in names.items()]
