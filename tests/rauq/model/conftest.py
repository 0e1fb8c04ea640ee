"""A tiny model for the tests of a file, and one of its own for a test that changes it."""

import pytest

from tests.architectures import named, tiny_language_model


@pytest.fixture(scope="module")
def lm():
    return tiny_language_model(named("llama"))


@pytest.fixture
def fresh_lm():
    return tiny_language_model(named("llama"))
