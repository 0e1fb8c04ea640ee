"""The examples that the page offers show what is said of them."""

import pytest

import rauq
from pages.ui.inspect.form import EXAMPLES
from rauq.scoring import report

SHOWN = {
    "A known capital": (" The capital of Germany is Berlin.", "Confidence holds"),
    "A town it never met": (" Sodo is in Peru.", "Confidence collapsed at token 4, “·Peru”"),
    "False friends": (" The chef becomes a gift.", "Confidence holds"),
    "A rare word": (" The hunter finds a basket.", "Confidence collapsed at token 6, “·b”"),
    "Two missing details": (" Maria Keller, 34, won 2,500 yen in", "Confidence collapsed at token 16, “·yen”"),
}


@pytest.fixture(scope="module")
def atlas():
    return rauq.load_model("atlas")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_the_example_shows_what_it_promises(example, atlas):
    answer, headline = SHOWN[example.name]
    trace = atlas.generate(example.prompt, last_row=True)
    assert trace.answer.startswith(answer)
    assert report.sentence(trace, rauq.score(trace)).startswith(headline)
