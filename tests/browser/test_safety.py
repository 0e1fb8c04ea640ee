"""Hostile text in every place that shows any: `python -m benchmarks safety` prints the same."""

import pytest

from tests.robustness.safety import PLACES, Harm, Place, hosting, looking, visited


@pytest.fixture(scope="module")
def host(tmp_path_factory):
    with hosting(tmp_path_factory.mktemp("hostile") / "runs") as host:
        yield host


@pytest.fixture(scope="module")
def page(chromium):
    with looking(chromium) as page:
        yield page


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
def test_hostile_text_is_drawn_as_text_and_does_nothing(place, page, host):
    assert visited(page, host, place) == Harm(place=place.name)


def test_text_that_gets_in_is_seen(page, host):
    """The watch itself: what is put into a page as HTML is told, whichever way it takes."""
    place = next(place for place in PLACES if place.name == "run: broken manifest")

    def spoilt(page, host):
        place.visit(page, host)
        page.evaluate(
            "document.querySelector('[data-testid=stMain]').innerHTML += "
            "'<b>x</b><img src=http://evil.example/a.png onerror=\"document.title=\\'owned\\'\">\u202e'"
        )
        page.wait_for_function("document.title === 'owned'")

    harm = visited(page, host, Place(name="spoilt", visit=spoilt))
    assert len(harm.elements) == 2
    assert harm.requests == ("http://evil.example/a.png",)
    assert harm.scripts == ("document.title",)
    assert harm.turned == ("\u202e",)
