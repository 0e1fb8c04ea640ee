"""How a page is opened under AppTest, how its fields are filled, and what it shows."""

import json
from base64 import b64decode
from pathlib import Path

import numpy as np
from streamlit.testing.v1 import AppTest

from pages.ui.host import jobs
from pages.ui.inspect.linked_views import MOST_STEPS
from pages.ui.shared import answers, state, url_state

APP = str(Path(__file__).parents[2] / "app.py")


def open_page(name, state=(), **query):
    """A page by its name in the URL, with these parameters and this state of the session."""
    page = AppTest.from_file(APP, default_timeout=60)
    page.switch_page(f"pages/{name}.py")
    for parameter, value in query.items():
        page.query_params[parameter] = value
    for key, value in dict(state).items():
        page.session_state[key] = value
    return page.run()


def drawn_views(page):
    """The linked views that are on the page: one, or none; the key of the tab's job is a component too."""
    return [one for one in page.get("bidi_component") if one.proto.component_name.endswith("linked_views")]


def views(page):
    """What the linked views were given to draw, their numbers as arrays."""
    (component,) = drawn_views(page)
    data = json.loads(component.proto.json)
    arrays = {name: np.frombuffer(b64decode(text), "<f4") for name, text in data.get("arrays", {}).items()}
    steps = np.frombuffer(b64decode(data.get("weights", "")), "<u2").astype(float)
    weights = np.where(steps == MOST_STEPS + 1, np.nan, steps / MOST_STEPS)
    return data | {"arrays": arrays, "weights": weights}


def shown_trace(page):
    """The answer that the page shows, from the store that its URL leads to."""
    return answers.find(page.query_params[url_state.KEPT])


def settings_of(page):
    """The URL without what names the answer."""
    return {name: value for name, value in page.query_params.items() if name not in (url_state.KEPT, url_state.EXAMPLE)}


def charts(page):
    return {chart.proto.id.rpartition("-")[2]: json.loads(chart.proto.spec) for chart in page.get("plotly_chart")}


def interpreted(page):
    """Everything on the page that Streamlit reads as Markdown."""
    kinds = (page.markdown, page.caption, page.title, page.header, page.error, page.toast)
    return " ".join(str(element.value) for kind in kinds for element in kind)


def started(request):
    """A job at work, of no session."""
    job = jobs.Job(request)
    jobs.begin(job)
    return job


def finished(page):
    """The page once its job is done; the polling is the browser's part."""
    if state.JOB in page.session_state:  # else the answer came so fast that the page has taken it over
        assert page.session_state[state.JOB].done.wait(120)
    return page.run()


def written(page, **values):
    """The page after values were typed into its fields."""
    for field in (*page.text_area, *page.text_input, *page.number_input):
        if field.key in values and field.value != values[field.key]:
            field.set_value(values[field.key])
    return page


def choose(page, key, value):
    """The page after one of several was chosen, from a row of buttons or from a list."""
    if key == state.TASK:  # one link switches between the two
        return page if page.session_state[key] == value else page.button(key="task_link").click().run()
    fields = (*page.get("button_group"), *page.selectbox)
    return next(field for field in fields if field.key == key).set_value(value).run()


def unfold(page, *keys):
    """The page with popovers and expanders open, for one run: AppTest does not send their states along."""
    for key in keys:
        page.session_state[key] = True
    return page.run()
