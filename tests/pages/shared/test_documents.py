"""The app shows the documents of this project: one for each page, whose links stay in the app."""

import re
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from pages.ui.answer_sets.choices import TITLES as ANSWER_SETS
from pages.ui.evidence.layout import _VIEW_SPECS as EVIDENCE
from pages.ui.help.documents import DOCUMENT, document, titles
from pages.ui.methods.choices import TITLES as METHODS
from rauq.layout import APP

ROWS = re.findall(r'^ {8}"(\w+)": st\.Page\(.*url_path="(\w+)"', APP.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture
def page():
    return AppTest.from_file(str(APP)).run().switch_page("pages/help.py")


def test_every_page_of_the_navigation_has_a_document():
    assert len(ROWS) == 7
    assert [url for _, url in ROWS if url not in titles()] == []


@pytest.mark.parametrize(
    ("name", "views"),
    [
        ("answer_sets", ANSWER_SETS.values()),
        ("evidence", [view.name for view in EVIDENCE.values()]),
        ("methods", METHODS.values()),
    ],
    ids=["answer_sets", "evidence", "methods"],
)
def test_the_document_of_a_page_describes_all_its_views(name, views):
    assert [view for view in views if view not in document(name)] == []


@pytest.mark.parametrize("name", titles())
def test_links_of_a_document_open_documents_in_the_app(name):
    targets = re.findall(r"\]\((?!https://)([^)]+)\)", document(name))
    assert [target for target in targets if not re.fullmatch(rf"help\?{DOCUMENT}=(\w+)", target)] == []
    assert {target.partition("=")[2] for target in targets} <= set(titles())
    assert "<!--" not in document(name)


@pytest.mark.parametrize(
    ("asked", "shown"), [("models", "models"), ("../README", "inspect"), ("", "inspect"), ("<b>", "inspect")]
)
def test_only_documents_are_shown(page, asked, shown):
    page.query_params[DOCUMENT] = asked
    page.run()
    assert not page.exception
    assert page.markdown[0].value == document(shown).strip()
    assert page.query_params[DOCUMENT] in (shown, [shown])


def test_a_file_that_is_no_document_is_only_named():
    assert Path("examples/rauq.ipynb").name in document("learn")
    assert "../" not in document("learn")
