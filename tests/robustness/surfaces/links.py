"""Deep links: each parameter of a query string is used, or left out and named; a page opens on any query string."""

from collections.abc import Mapping
from pathlib import Path
from random import Random
from urllib.parse import parse_qsl, urlencode
from zlib import crc32

from streamlit.testing.v1 import AppTest

from analysis.quality.measures import measure
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from benchmarks.support.server import ROOT
from pages.ui.answer_sets import choices as of_sets
from pages.ui.host import hosting
from pages.ui.inspect.verdict import LONGEST, NOTHING, read_said, said_in_link
from pages.ui.methods import choices as of_methods
from pages.ui.shared import url_state
from pages.ui.shared.run_views.filters import passing
from rauq.scoring.score import score
from tests.listed import PAGES
from tests.robustness.malformed import Surface, hostile_text, mutated_text
from tests.traces import make_trace

Query = dict[str, str]

APP = str(ROOT / "app.py")
_VALID: Query = {
    **{
        "signal": "entropy",
        "alpha": "0.5",
        "alignment": "own",
        "layers": "2.3",
        "heads": "2-0.3-1",
        "update": "product",
    },
    **{"token_aggregation": "mean", "layer_aggregation": "median", "layer": "2", "head": "1", "token": "0"},
    **{"colour": "entropy", "example": "myth", "kept": "x", "wrong": "0.2", "run": "smollm2-facts", "number": "3"},
    **{"from": "methods", "view": "best", "tokens": "fact", "offset": "2", "k": "5", "above": "0.7", "below": "0.3"},
    **{"metric": "prr", "method": "msp", "methods": "rauq.msp", "table": "update", "published": "1", "group": "cities"},
    **{
        "quality": "0..1",
        "length": "1..50",
        "text": "Oslo",
        "a": "example:myth",
        "b": "run:smollm2-facts:3",
        "a_wrong": "0",
    },
    **{
        "verdict": f"incorrect.{crc32(make_trace().answer.encode()):08x}",
        "correct_answer": "Oslo | Norway",
        "b_settings": "own",
        "b_alpha": "0.1",
        "branch": "1",
        "step": "3",
        "goto": "learn",
        "max_new_tokens": "7",
    },
}
_PROMPT: Query = {"prompt": "Where is Oslo?", "answer": " In Norway", "model": "some/model", "kind": "base"}
_VALUES = (
    *("", "-1", "0", "1", "1024", "9" * 9, "9" * 10, "9" * 5000, "1.5", "1e9", "nan", "٣", "²", "none", "None", "true"),
    *("0.0.0", "0-0", "1-1.1-1", ".", "..", "1..0", "-1..-0", "../../etc", "/etc/passwd", "run:", "run::", "example:"),
    *("kept:", "run:smollm2-facts:999999999", "all", "middle_five", "max", "top5", "http://127.0.0.1:1/x", "\ud800"),
)


def links_read(_folder: Path) -> Surface:
    """Query strings, through every function that reads one."""
    run, trace = open_run(bundled_folder()), make_trace()

    def read(query: Query) -> None:
        found = url_state.fitted(url_state.read_settings(query).asked, trace).asked
        again = {name: text for name, text in url_state.written_settings(found, trace.kind).items() if text}
        assert url_state.fitted(url_state.read_settings(again).asked, trace).wrong == ()
        asked = url_state.read_asked(query)
        assert asked is None or 1 <= asked.max_new_tokens <= hosting.MOST_TOKENS
        url_state.read_wrong(query.get(url_state.WRONG, ""), len(trace.pieces))
        said = read_said(query, trace).asked
        assert len(said.correct_answer) <= LONGEST
        assert said == NOTHING or read_said(said_in_link("", trace, said), trace) == (said, ())
        of_methods.fitted(url_state.read(query, of_methods.Asked()).asked, run)
        passing(run, url_state.read(query, of_sets.Asked()).asked)
        of_sets.fitted(url_state.read(query, of_sets.Asked()).asked, run, measure("given").thresholds)
        address = url_state.link("http://127.0.0.1/inspect", query, trace)
        assert address is None or len(address) <= url_state.LONGEST
        score(trace, found)

    return Surface(name="deep links", seeds=[_VALID | _PROMPT], mutate=_mutated, target=read)


def pages_opened(_folder: Path) -> Surface:
    """Query strings with which a whole page opens; without a prompt, which would load a model."""
    return Surface(name="pages opened by links", seeds=[_VALID], mutate=_mutated_page, target=_open, share=0.03)


def _open(query: Query) -> None:
    page = AppTest.from_file(APP, default_timeout=60)
    for name, value in query.items():
        page.query_params[name] = value
    page.run()
    assert not page.exception, [error.message for error in page.exception]


def hostile_query(rng: Random) -> Query:
    """A query string made from a valid one, of any page."""
    return _mutated(_VALID | _PROMPT, rng)


def _mutated_page(valid: Query, rng: Random) -> Query:
    return _mutated(valid, rng) | {"goto": rng.choice(PAGES)}


def _mutated(valid: Mapping[str, str], rng: Random) -> Query:
    """Some of the parameters, 40 % of them valid, encoded and decoded as a browser and a server do."""
    names = rng.sample(sorted(valid), rng.randint(0, 8))
    query = {name: valid[name] if rng.random() < 0.4 else _value(valid[name], rng) for name in names}
    if rng.random() < 0.1:
        query[hostile_text(rng)] = hostile_text(rng)
    return dict(parse_qsl(urlencode(query, errors="replace"), keep_blank_values=True))


def _value(valid: str, rng: Random) -> str:
    return rng.choice(_VALUES) if rng.random() < 0.6 else mutated_text(valid, rng)
