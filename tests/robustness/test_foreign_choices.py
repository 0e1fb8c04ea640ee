"""Choices that a page does not offer, no choice where there has to be one, and numbers out of bounds break nothing."""

import pytest
from streamlit.proto.Common_pb2 import StringArray
from streamlit.proto.WidgetStates_pb2 import WidgetState

from benchmarks.support.server import serving
from tests.robustness.client import connected

PLACES = {
    "inspect": "",
    "compare": "",
    "answer_sets": "run=smollm2-facts&view=gap",
    "methods": "run=smollm2-facts&view=ranking",
    "runs": "view=new",
    "learn": "",
    "evidence": "",
}
LABELS = ([], ["nothing offered"])
FOREIGN = {
    "button_group": [{"string_array_value": StringArray(data=labels)} for labels in LABELS],
    "multiselect": [{"string_array_value": StringArray(data=labels)} for labels in LABELS],
    "selectbox": [{"string_value": "nothing offered"}, {"string_value": ""}],
    "number_input": [{"double_value": 1e308}],
}


@pytest.fixture(scope="module")
def server():
    with serving() as address:
        yield address


@pytest.mark.parametrize("place", PLACES)
def test_a_foreign_choice_is_ignored(server, place):
    with connected(server) as client:
        client.visit(place, PLACES[place])
        fields = [(name, kind) for name, kind in client.kinds.items() if kind in FOREIGN]
        assert bool(fields) == (place != "learn")
        for name, value in ((name, value) for name, kind in fields for value in FOREIGN[kind]):
            client.change(WidgetState(id=name, **value))
            client.wait_for_page()
            assert client.faults == [], (name, value)
