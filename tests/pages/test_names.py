"""A sentence of the app that names a button, a view or a field names one that exists."""

import pytest

from tests.pages.names import ROOT, VERBS, buttons, complaints, complaints_of_documents, read_product


@pytest.fixture(scope="module")
def product():
    return read_product()


@pytest.fixture(scope="module")
def documents():
    """What the link Help of each page opens."""
    files = (ROOT / "docs" / f"{page.stem}.md" for page in (ROOT / "pages").glob("*.py"))
    return {file.name: file.read_text(encoding="utf-8") for file in files if file.exists()}


def test_every_name_in_a_sentence_of_the_app_is_there(product):
    assert complaints(product) == []


def test_every_name_in_a_document_of_a_page_is_there(product, documents):
    assert len(documents) == 7
    assert complaints_of_documents(product, documents) == []


def test_every_verb_of_a_command_begins_a_button(product):
    pressed = buttons(product)
    assert [verb for verb in VERBS if not any(name.split()[0] == verb for name in pressed)] == []


# A button of the app as it is written in the code, and a sentence that names it.
NAMED = [
    ("Check model", None, "The kind of this model is unknown. Check the model to see it."),
    ("Make a reference", None, "No rank: make a reference, which follows the settings."),
    ("Reset to paper's setting", "Reset to defaults", "The table follows the paper's setting; reset to paper's."),
    ("Load", "Load model and check attention", "Nothing is read before you click Load."),
    ("Load", "Load model and check attention", "Load the data first."),
    ("Start", "Start a new conversation", "Another one runs. Start again once it has ended."),
    ("Make another B", None, "Then *Make another B* changes it."),
    ("No stop text", None, "The answer continues past line breaks; see No stop text."),
    ("Wrong tokens", None, "The view Wrong tokens lists them; the view Wrong tokens counts them."),
]


@pytest.mark.parametrize(("name", "beside", "sentence"), NAMED)
def test_a_sentence_is_noticed_once_its_button_has_another_name(product, name, beside, sentence):
    """`beside` begins with the same verb, and is another button."""
    caption = {"pages/caption.py": f"import streamlit as st\n\nst.caption({sentence!r})\n"}
    renamed = {path: text.replace(f'"{name}"', '"Elsewhere"') for path, text in product.items()}
    assert beside is None or any(f'"{beside}"' in text for text in renamed.values())
    assert complaints({**product, **caption}) == []
    assert any(found.startswith("pages/caption.py") for found in complaints({**renamed, **caption}))


# Buttons that sentences of the app name today.
@pytest.mark.parametrize(
    "name",
    [
        *("Make a reference", "Load", "Paste an answer", "**Copy link**", "Make another B", "Open a saved trace"),
        *("Fit detectors", "Ask a follow-up", "New run"),
    ],
)
def test_a_button_that_the_app_names_cannot_be_renamed_alone(product, documents, name):
    renamed = {path: text.replace(f'"{name}"', '"Elsewhere"') for path, text in product.items()}
    assert renamed != product
    assert complaints(renamed) + complaints_of_documents(renamed, documents)


@pytest.mark.parametrize(
    "code",
    [
        'st.button("Elsewhere")\nst.caption("Choose another one, or type a number.")',
        'st.caption("Score it with `make score`.")\nst.text("Start it with: make host NAMES=a.example.org")',
        'def draw():\n    """Check what is drawn, and load it."""',
        'label = "Stop" if live else "Go"\nst.button(label)\nst.caption("Stop it first, then go.")',
        'def field(label):\n    st.button(label)\n\nfield("Load it")\nst.caption("Load the file first.")',
    ],
)
def test_what_names_nothing_and_what_a_name_is_given_by_the_way_are_no_faults(code):
    assert complaints({"pages/a.py": f"import streamlit as st\n\n{code}\n"}) == []
