"""A choice that a page does not offer, and a number that it does not take, break nothing."""

import pytest
from streamlit.proto.Common_pb2 import StringArray
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.support.server import serving
from tests.robustness.client import connected

PLACES = {
    "inspect": ("", "model=other"),
    "compare": ("",),
    "answer_sets": ("run=smollm2-facts&view=gap",),
    "methods": ("run=smollm2-facts&view=ranking",),
    "runs": ("view=new",),
    "learn": ("",),
    "evidence": ("",),
}
FOREIGN = {
    "button_group": {"string_array_value": StringArray(data=["nothing offered"])},
    "multiselect": {"string_array_value": StringArray(data=["nothing offered"])},
    "selectbox": {"string_value": "nothing offered"},
    "number_input": {"double_value": 1e308},
}


@pytest.fixture(scope="module")
def server():
    with serving() as address:
        yield address


@pytest.mark.parametrize("place", PLACES)
def test_a_foreign_choice_is_ignored(server, place):
    with connected(server) as client:
        for query in PLACES[place]:
            client.visit(place, query)
            for name in [name for name, kind in client.kinds.items() if kind in FOREIGN]:
                client.change(WidgetState(id=name, **FOREIGN[client.kinds[name]]))
                client.wait_for_page()
                assert client.faults == [], name
        assert any(kind in FOREIGN for kind in client.kinds.values()) == (place != "learn")
