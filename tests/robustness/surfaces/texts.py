"""Texts of users and models: prompts and answers through the model, then every export and figure of an answer."""

import ast
import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from random import Random
from typing import NamedTuple, get_args

import numpy as np
from rich.console import Console

import rauq
from analysis.exports.html_report import html_report
from analysis.exports.numbers import numbers_csv, selected_heads_csv
from analysis.exports.python_code import python_code
from pages.ui.inspect.linked_views import payload
from pages.ui.shared import url_state
from rauq import labels
from rauq.cli import inspect
from rauq.scoring import report
from rauq.scoring.report import words
from rauq.scoring.score import Score, score
from rauq.scoring.settings import Settings, Update
from rauq.trace.trace import Alternative, Kind, StopReason, Trace
from tests.robustness.malformed import Surface, hostile_text, mutated_text
from tests.traces import make_trace

Pair = tuple[str, str]

_SETTINGS = (
    Settings(),
    Settings(signal="entropy", alignment="own", heads="mean"),
    Settings(layers="all", layer_aggregation="mean", heads="top5"),
    *(Settings(update=update, token_aggregation="mean") for update in get_args(Update)),
)
_PROMPTS = ("Question: Where is Oslo?\nAnswer:", "German: Hund\nEnglish:", "?")
_ANSWERS = (" In Norway.\n", " dog", "…")
_ISOLATES = dict.fromkeys(map(ord, "\N{FIRST STRONG ISOLATE}\N{POP DIRECTIONAL ISOLATE}"))  # inserted on purpose
_JOINER = re.compile("(?<=[\u0590-\U0010ffff])[\u200c\u200d]")  # letters of some scripts are written with one


class Answer(NamedTuple):
    """A trace, and settings to score it by."""

    trace: Trace
    settings: Settings


def prompts(_folder: Path) -> Surface:
    """A prompt and an answer, read by the embedded model."""
    lm = rauq.load_model("atlas")

    def check(pair: Pair) -> None:
        prompt, answer = pair
        trace = lm.read(prompt, answer)
        assert trace.prompt_ids.tolist() == list(lm.encode(prompt).ids)
        assert (trace.prompt, b"".join(trace.pieces).decode()) == pair
        assert Trace.from_bytes(trace.to_bytes()).to_bytes() == trace.to_bytes()
        assert np.isfinite(score(trace).uncertainty)

    return Surface(name="prompts and answers", seeds=list(product(_PROMPTS, _ANSWERS)), mutate=_mutated, target=check)


def _mutated(pair: Pair, rng: Random) -> Pair:
    prompt, answer = pair
    match rng.randrange(4):
        case 0:
            return prompt, mutated_text(answer, rng)
        case 1:
            return mutated_text(prompt, rng), answer
        case 2:
            return hostile_text(rng), hostile_text(rng)
        case _:
            return mutated_text(prompt, rng), mutated_text(answer, rng)


def answers(_folder: Path) -> Surface:
    """Prompts, model names and tokens of any text, in the sentences, tables, code and links of a page."""
    return Surface(name="texts on a page", seeds=[_SEED], mutate=_with_texts, target=lambda given: check_answer(*given))


def reports(_folder: Path) -> Surface:
    """The same in the HTML report."""
    return Surface(name="HTML reports", seeds=[_SEED], mutate=_with_texts, target=_check_report, share=0.01)


def check_answer(trace: Trace, settings: Settings) -> None:
    """Every text that a page shows of a scored answer, and every export, is well-formed.

    Raises:
        RauqError: the trace cannot follow the settings.
    """
    scored = score(trace, settings)
    said = words(trace, scored)
    assert math.isnan(scored.uncertainty) == bool(scored.reasons.uncertainty)
    assert _JOINER.sub("", "".join(said).translate(_ISOLATES)).isprintable()
    json.dumps(payload(trace, scored, said), allow_nan=False).encode()
    _check_exports(trace, scored)


def _check_exports(trace: Trace, scored: Score) -> None:
    rows = list(csv.reader(io.StringIO(numbers_csv(trace, scored), newline="")))
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(rows) == 1 + len(trace.pieces)
    selected_heads_csv(trace, scored)
    json.dumps(report.as_json(trace, scored), allow_nan=False)
    assert _constants(python_code(trace, scored))["PROMPT"] == trace.prompt
    inspect.draw(Console(file=io.StringIO(), width=100), trace, scored)
    address = url_state.link("http://127.0.0.1/inspect", {}, trace)
    assert address is None or address.isascii()
    assert labels.visible(trace.prompt).isprintable()


def _constants(code: str) -> dict[str, object]:
    """The literals that a script assigns to names; a syntax error means that a text in it became code."""
    assigned = [node for node in ast.parse(code).body if isinstance(node, ast.Assign)]
    return {ast.unparse(node.targets[0]): _literal(node.value) for node in assigned}


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def _check_report(given: Answer) -> None:
    page = html_report(given.trace, score(*given))
    page.encode()
    assert _elements(page) == _elements_of_a_report()


class _Elements(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: Counter[str] = Counter()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        handlers = [name for name, _ in attrs if name.startswith("on")]
        self.found[" ".join([tag, *handlers])] += 1


def _elements(page: str) -> set[str]:
    parser = _Elements()
    parser.feed(page)
    return set(parser.found)


@cache
def _elements_of_a_report() -> set[str]:
    """Those of reports on harmless texts."""
    traces = (make_trace(), make_trace((b" one\n", b" more")), make_trace((b" one",)))
    return set().union(
        *(_elements(html_report(trace, score(trace, chosen))) for trace in traces for chosen in _SETTINGS[:3])
    )


def _with_texts(answer: Answer, rng: Random) -> Answer:
    """An answer with other texts."""
    pieces = tuple(_piece(rng) for _ in range(rng.randint(1, 5)))
    trace = make_trace(
        pieces,
        num_layers=3,
        num_heads=2,
        logprobs=np.array([rng.choice((-np.inf, -20.0, -0.7, 0.0)) for _ in pieces]),
        prompt=mutated_text(answer.trace.prompt, rng),
        model=hostile_text(rng),
        revision=hostile_text(rng),
        kind=rng.choice(get_args(Kind)),
        stop_reason=rng.choice(get_args(StopReason)),
        alternatives=tuple(tuple(_alternatives(rng)) for _ in pieces),
        wrong=tuple(token for token in range(len(pieces)) if rng.random() < 0.2),
    )
    return Answer(trace, rng.choice(_SETTINGS))


def _piece(rng: Random) -> bytes:
    return (
        rng.randbytes(rng.randint(0, 6)) if rng.random() < 0.3 else hostile_text(rng).encode("utf-8", "surrogatepass")
    )


def _alternatives(rng: Random) -> Iterator[Alternative]:
    for _ in range(rng.randint(0, 3)):
        yield Alternative(rng.randrange(100), hostile_text(rng), rng.choice((-np.inf, -2.0, 0.0)))


_SEED = Answer(make_trace(), Settings())
