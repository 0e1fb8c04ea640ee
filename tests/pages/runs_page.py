"""The page Runs under AppTest: helpers to open it on its own folder of runs and to read it."""

from analysis.datasets.example import DataSet, Example
from analysis.runs.create import prepare, request_for
from tests.pages.reading import interpreted, open_page

HOSTILE = "<img src=x onerror=alert(1)> ![](http://evil.example/a.png) $x$ :red[y] [a](http://evil.example)"


def open_runs(**query):
    return open_page("runs", **query)


def open_form():
    return open_runs(view="new")


def new_run(folder, count=3, data="places.csv"):
    """A run that was not started."""
    examples = tuple(Example(id=str(number), prompt=f"Where is {number}?") for number in range(count))
    data = DataSet(name=data, examples=examples)
    prepare(folder, data, request_for(data, model="atlas"))
    return folder


def said(page):
    return "\n".join(text.value for text in page.text)


def captions(page):
    return interpreted(page) + " ".join(element.value for element in page.caption)


def keys(page):
    return {button.key for button in page.button}


def upload(page, content, name="places.csv", field="answers"):
    return page.file_uploader(f"new_run_upload_{field}").upload(name, content).run()


def column(page, name):
    (field,) = (box for box in (*page.selectbox, *page.multiselect) if box.key == f"new_run_column_{name}")
    return field


def rejected(page):
    """The rejected rows, which are below the accepted ones."""
    return page.dataframe[1].value
