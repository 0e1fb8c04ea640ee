"""Hostile text in every place that shows text, as `python -m benchmarks safety` prints it."""

import pytest

from tests.robustness.safety import PLACES, Harm, Place, hostile_app, visited


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with hostile_app(tmp_path_factory.mktemp("hostile") / "runs") as host:
        yield host


@pytest.fixture
def page(tab):
    """The page of all tests, which listens to nothing but to what `visited` looks for."""
    return tab


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_hostile_text_is_drawn_as_text_and_does_nothing(place, page, host):
    assert visited(page, host, place) == Harm(place=place.name)


def test_effects_of_html_in_a_page_are_detected(page, host):
    """The detection itself: an element, a request, a script and a bidi override, each put into a page as HTML."""
    place = next(place for place in PLACES if place.name == "run: broken manifest")

    def with_html(page, host):
        place.visit(page, host)
        page.evaluate(
            "document.querySelector('[data-testid=stMain]').innerHTML += "
            "'<b>x</b><img src=http://evil.example/a.png onerror=\"document.title=\\'owned\\'\">\u202e'"
        )
        page.wait_for_function("document.title === 'owned'")

    harm = visited(page, host, Place(name="with HTML", visit=with_html))
    assert len(harm.elements) == 2
    assert harm.requests == ("http://evil.example/a.png",)
    assert harm.scripts == ("document.title",)
    assert harm.reversed_text == ("\u202e",)
