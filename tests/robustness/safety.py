"""Hostile text in every place that shows text: it stays text, becomes no element, sends no request, runs no script.

Chromium visits every place; each text there holds every payload of `tests/hostile.py`.
"""

import csv
import io
import tempfile
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile

from playwright.sync_api import expect

from analysis.evidence.record import Bound
from analysis.exports.page import chart
from analysis.report.results import ReportSettings, results
from analysis.report.tables import report_tables
from analysis.report.writing import report_page
from analysis.runs.library import FOLDER_VARIABLE
from analysis.runs.opened import open_run
from benchmarks.support.recording import measured
from benchmarks.support.server import PATIENCE, started
from tests.browser.chromium import is_foreign, launched, listening
from tests.hostile import ATTACK, PAYLOADS
from tests.robustness.hostile_run import UNDEFINED, broken_run, hostile_run

FILE_NAME = ATTACK.replace("/", "").replace("\x1b", "").replace("\x07", "")
RUN, BROKEN = "hostile", "broken"
# Elements that hostile text could become; the app's own pages have none of them.
_FOREIGN = ", ".join(
    (
        *("#root script", ":is(#root, main) :is(iframe, img, form)", "b", "sup", "svg a", ".katex"),
        *("a[href*=evil]", "a[href^=javascript]", "[onerror]", "[onload]", ".stMarkdownColoredText"),
    )
)
_BIDI = "[\u202a-\u202e\u2066\u2067]"
# A bidi override in these reverses no other text; Streamlit itself draws the name of an uploaded file.
_ISOLATED = "script, style, textarea, canvas, pre, [data-testid=stFileUploader]"
_REVERSED = """(body, [bidi, left_out]) => {
    const roots = [body], found = [];
    for (const root of roots) {  // components draw below roots of their own
        const nodes = document.createTreeWalker(root, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT);
        while (nodes.nextNode()) {
            const node = nodes.currentNode;
            if (node.shadowRoot) roots.push(node.shadowRoot);
            const drawn = node.data && !node.parentElement?.closest(left_out);
            if (drawn && new RegExp(bidi).test(node.data)) found.push(node.data);
        }
    }
    return found;
}"""


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place that shows hostile text; `visit` opens it, and returns once some of that text is shown."""

    name: str
    visit: Callable[[Any, "Host"], None]


@dataclass(frozen=True, kw_only=True)
class Host:
    """A server with a hostile run and a broken one, and the file of a report on the first."""

    address: str
    report: Path


@dataclass(frozen=True, kw_only=True)
class Harm:
    """Effects of hostile text: elements made of it, requests sent, scripts run, texts reversed by bidi overrides."""

    place: str
    elements: tuple[str, ...] = ()
    requests: tuple[str, ...] = ()
    scripts: tuple[str, ...] = ()
    reversed_text: tuple[str, ...] = ()

    @property
    def none(self) -> bool:
        """Whether hostile text had no effect."""
        return not (self.elements or self.requests or self.scripts or self.reversed_text)


@contextmanager
def hostile_app(folder: Path):
    """The app with hostile runs."""
    hostile = hostile_run(folder / RUN)
    broken_run(folder / BROKEN)
    report = folder / "report.html"
    report.write_text(_report_of(open_run(hostile)), encoding="utf-8")
    with started(changes={FOLDER_VARIABLE: str(folder)}) as server:
        yield Host(address=server.address, report=report)


def _report_of(run):
    found = results(run, ReportSettings())
    charts = [chart(drawing, dark=False, first=index == 0) for index, drawing in enumerate(found.drawings)]
    return report_page(found, report_tables(found), charts)


def visited(page, host: Host, place: Place) -> Harm:
    """Visit a place; the effects that its hostile text had."""
    requests, ran = [], []
    heard = {
        "request": lambda request: requests.append(request.url),
        "pageerror": lambda error: ran.append(str(error)),
        "dialog": lambda dialog: (ran.append(dialog.message), dialog.dismiss()),
    }
    with listening(page, **heard):
        place.visit(page, host)
        ran += ["document.title"] if "owned" in page.title() else []
        elements = page.locator(_FOREIGN).evaluate_all("nodes => nodes.map(node => node.outerHTML)")
        reversed_text = page.locator("body").evaluate(_REVERSED, [_BIDI, _ISOLATED])
        page.goto("about:blank")
    return Harm(
        place=place.name,
        elements=tuple(elements),
        requests=tuple(url for url in requests if is_foreign(url) and url != host.report.as_uri()),
        scripts=tuple(ran),
        reversed_text=tuple(reversed_text),
    )


@contextmanager
def patient_page(browser):
    """A page with timeouts long enough for a machine under load."""
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        context.set_default_timeout(PATIENCE * 1000)
        yield context.new_page()


def _opened(path: str, *, shows: str = ".stApp"):
    """A visit to a page of the app; hostile text is shown in the element `shows`."""

    def visit(page, host):
        page.goto(f"{host.address}/{path}")
        _drawn(page, shows)

    return visit


def _drawn(page, where):
    expect(page.locator(where).filter(has_text="<img").first).to_be_attached()
    expect(page.get_by_test_id("stApp")).to_have_attribute("data-test-script-state", "notRunning")


def _upload(page, name, content):
    page.locator("input[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})


def _table(*rows):
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _columns(page, host):
    page.goto(f"{host.address}/runs?view=new")
    head = (ATTACK, f"answer {ATTACK}", f"group {ATTACK}")
    _upload(page, f"{FILE_NAME}.csv", _table(head, *((ATTACK, ATTACK, ATTACK),) * 3, (ATTACK,) * 4, ("", ATTACK, "")))
    expect(page.get_by_test_id("stDataFrame")).to_have_count(2)
    page.get_by_role("combobox", name="Answer to score").click()
    _drawn(page, "[role=option]")


def _refused_file(page, host):
    page.goto(f"{host.address}/runs?view=new")
    _upload(page, f"{FILE_NAME}.csv", b"PK\x03\x04")
    _drawn(page, "[data-testid=stText]")


def _refused_archive(page, host):
    archive = io.BytesIO()
    with ZipFile(archive, "w") as files:
        files.writestr(f"../{ATTACK}".replace("\x07", ""), "{}")
    page.goto(f"{host.address}/runs")
    page.get_by_role("button", name="Import").click()
    _upload(page, f"{FILE_NAME}.zip", archive.getvalue())
    _drawn(page, "[data-testid=stText]")


def _model(page, host):
    page.goto(f"{host.address}/inspect?prompt={quote(ATTACK)}&model={quote(ATTACK)}&alpha={quote(ATTACK)}")
    page.get_by_role("button", name="Generate").first.press("Enter")  # the note on alpha may lie over it
    expect(page.get_by_text("No model was loaded")).to_be_visible()
    _drawn(page, "[data-testid=stText]")


def _details(page, host):
    page.goto(f"{host.address}/runs?run={RUN}")
    page.get_by_text("Last lines of the log").click()
    expect(page.get_by_test_id("stDataFrame")).to_be_visible()
    _drawn(page, "[data-testid=stCode]")


def _filters(page, host):
    page.goto(f"{host.address}/answer_sets?run={RUN}&text={quote('<b>')}")
    page.get_by_role("button", name="answers").first.click()
    page.get_by_role("combobox", name="Group").click()
    _drawn(page, "[role=option]")


def _report(page, host):
    page.goto(host.report.as_uri())
    expect(page.locator(".js-plotly-plot .main-svg").first).to_be_visible()
    expect(page.locator("main").filter(has_text="<img")).to_be_visible()


PLACES = (
    Place(name="column names, cells, file name", visit=_columns),
    Place(name="file that is refused", visit=_refused_file),
    Place(name="archive that is refused", visit=_refused_archive),
    Place(name="model name of a link", visit=_model),
    Place(name="run: manifest, log, failures", visit=_details),
    Place(name="run: broken manifest", visit=_opened(f"answer_sets?run={BROKEN}", shows="[data-testid=stText]")),
    Place(name="answer sets: groups, filters", visit=_filters),
    *(
        Place(name=f"answer sets: {view}", visit=_opened(f"answer_sets?run={RUN}&view={view}"))
        for view in ("best", "answers")
    ),
    *(
        Place(name=f"methods: {view}", visit=_opened(f"methods?run={RUN}&view={view}"))
        for view in ("attention", "errors")
    ),
    Place(name="answer of a run", visit=_opened(f"inspect?run={RUN}&number={UNDEFINED}")),
    Place(name="compare: answers of a run", visit=_opened(f"compare?a=run:{RUN}:1&b=run:{RUN}:{UNDEFINED}")),
    Place(name="report of a run", visit=_report),
)


def measure():
    """Every place, once."""
    with (
        tempfile.TemporaryDirectory() as folder,
        hostile_app(Path(folder) / "runs") as host,
        launched() as browser,
        patient_page(browser) as page,
    ):
        found = [visited(page, host, place) for place in PLACES]
    return measured(
        "safety",
        title="Hostile text",
        about=f"{len(PAYLOADS)} payloads ({', '.join(PAYLOADS)}) in every text of a place, looked at in Chromium.",
        columns=("place", "elements made", "requests sent", "scripts run", "texts turned"),
        rows=[
            (harm.place, *(len(each) for each in (harm.elements, harm.requests, harm.scripts, harm.reversed_text)))
            for harm in found
        ],
        bounds=[Bound(text="Hostile text is shown as text and has no effect", met=all(harm.none for harm in found))],
        finding=f"{len(PAYLOADS)} payloads in {len(found)} places: "
        f"{sum(not harm.none for harm in found)} places where one had an effect.",
        packages=("streamlit", "plotly", "playwright"),
    )
