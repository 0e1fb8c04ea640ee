"""What a page under AppTest shows, and how its fields are filled."""

import json

from pages.ui import state


def strip(page):
    """What the token strip was given to draw."""
    (component,) = page.get("bidi_component")
    return json.loads(component.proto.json)


def charts(page):
    return {chart.proto.id.rpartition("-")[2]: json.loads(chart.proto.spec) for chart in page.get("plotly_chart")}


def interpreted(page):
    """Everything on the page that Streamlit reads as Markdown."""
    kinds = (page.markdown, page.caption, page.title, page.header, page.error, page.toast)
    return " ".join(str(element.value) for kind in kinds for element in kind)


def finished(page):
    """The page once its job is done; the polling is the browser's part."""
    assert page.session_state[state.JOB].done.wait(120)
    return page.run()


def written(page, **values):
    """The page after values were typed into its fields."""
    for field in (*page.text_area, *page.text_input, *page.number_input):
        if field.key in values:
            field.set_value(values[field.key])
    return page


def choose(page, key, value):
    return next(group for group in page.get("button_group") if group.key == key).set_value(value).run()
