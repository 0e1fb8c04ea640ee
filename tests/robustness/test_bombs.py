"""Small uploads that become large are refused by a server for strangers, which does not grow."""

import pytest

from benchmarks.support.server import hosting
from tests.robustness.bombs import BOMBS, MOST_GROWTH, exploded


@pytest.fixture(scope="module")
def server():
    with hosting() as started:
        yield started


@pytest.mark.parametrize("bomb", [bomb for bomb in BOMBS if bomb.in_short], ids=lambda bomb: bomb.name)
def test_it_is_refused_in_words_and_the_server_does_not_grow(bomb, server, tmp_path):
    found = exploded(server, bomb, tmp_path / "files")
    assert "cannot be" in found.said
    assert found.growth_mib < MOST_GROWTH
