"""The page Compare under AppTest: how it is opened, and what it shows."""

import json

from pages.ui.host.store import store
from pages.ui.shared import answers
from rauq.recorded.answers import load_recorded
from tests.pages.reading import open_page, unfold

FIRST, BESIDE = "example:unknown-place", "example:known-place"
HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y] [a](http://evil.example)"
JOB = "_compare_job"


def open_compare(**query):
    return open_page("compare", **query)


def kept(trace):
    """The reference of an answer that somebody else's link leads to."""
    name = "k" * 8 + str(len(store().answers.kept))
    store().answers.keep(trace, name=name)
    return f"kept:{name}"


def of(name):
    return next(one for one in load_recorded() if one.id == name.removeprefix("example:")).trace()


def strips(page):
    (component,) = page.get("bidi_component")
    return json.loads(component.proto.json)


def charts(page):
    return {chart.proto.id.rpartition("-")[2]: json.loads(chart.proto.spec) for chart in page.get("plotly_chart")}


def interpreted(page):
    """Everything on the page that Streamlit reads as Markdown."""
    kinds = (page.markdown, page.caption, page.title, page.header, page.error, page.info, page.toast, page.warning)
    return " ".join(str(element.value) for kind in kinds for element in kind)


def ended(page):
    """The page once its job is done; the polling is the browser's part."""
    if JOB in page.session_state:  # else it ended before the click's own run did
        assert page.session_state[JOB].done.wait(120)
    return page.run()


def shown(page, side):
    return answers.find(page.query_params[side].removeprefix("kept:"))


def upload(page, trace, name="answer.safetensors"):
    (uploader,) = page.get("file_uploader") or unfold(page, "make").get("file_uploader")
    return uploader.upload(name, trace if isinstance(trace, bytes) else trace.to_bytes()).run()
