import pytest

import rauq
from tests.vllm.stand_in import Behaviour, serving


@pytest.fixture(scope="session")
def embedded():
    return rauq.load_model("atlas")


@pytest.fixture
def behaviour():
    return Behaviour()


@pytest.fixture
def address(embedded, behaviour):
    with serving(embedded, behaviour) as place:
        yield place
