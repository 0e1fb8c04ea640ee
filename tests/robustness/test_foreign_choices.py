"""Choices that a page does not offer, no choice where there has to be one, and numbers out of bounds break nothing."""

import pytest
from streamlit.proto.Common_pb2 import StringArray
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.support.server import serving
from tests.listed import PAGES
from tests.robustness.client import connected

PLACES = dict.fromkeys(PAGES, "") | {
    "answer_sets": "run=smollm2-facts&view=gap",
    "methods": "run=smollm2-facts&view=ranking",
    "runs": "view=new",
}
# Each kind of field gets one value in each round.
NOTHING, ANOTHER = StringArray(), StringArray(data=["nothing offered"])
ROUNDS = (
    {
        "button_group": {"string_array_value": NOTHING},
        "multiselect": {"string_array_value": NOTHING},
        "selectbox": {"string_value": ""},
        "number_input": {"double_value": 1e308},
    },
    {
        "button_group": {"string_array_value": ANOTHER},
        "multiselect": {"string_array_value": ANOTHER},
        "selectbox": {"string_value": "nothing offered"},
        "number_input": {"double_value": -1e308},
    },
)


@pytest.fixture(scope="module")
def server():
    with serving() as address:
        yield address


@pytest.mark.parametrize("place", PLACES)
def test_a_foreign_choice_is_ignored(server, place):
    with connected(server) as client:
        client.visit(place, PLACES[place])
        for values in ROUNDS:
            fields = [(name, kind) for name, kind in client.kinds.items() if kind in values]
            assert bool(fields) == (place != "learn")
            client.change(*(WidgetState(id=name, **values[kind]) for name, kind in fields))
            client.wait_for_page()
            assert client.faults == []
