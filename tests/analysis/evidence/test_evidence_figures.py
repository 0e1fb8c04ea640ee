"""What the figures of the evidence draw: every layer and every tool, and nothing that was not measured."""

import pytest

from analysis.evidence.figures import Panel, check_differences, costs_by_length, differences
from analysis.evidence.record import computed_memory, margins, memory_curves, time_curves
from analysis.figures import ATTENTION, UNCERTAINTY
from rauq.capture.check import Check
from tests.evidence import make_record, peers_memory, peers_time


@pytest.fixture
def panels():
    memory = peers_memory()
    return [
        Panel("time", "times", time_curves(peers_time()), limit=1.0),
        Panel("memory", "MiB", memory_curves(memory), computed_memory(memory), logarithmic=True),
    ]


def test_every_layer_has_a_dot_its_tolerance_and_eager_attention():
    figure = check_differences(Check((1, 3, 5), (2e-7, 0.0, 4e-3), (3e-6, 1e-5, 2e-5), (1e-6, 2e-3, 0.4)))
    tolerated, eager, captured = figure.data
    assert captured.x == eager.x == tolerated.x == (1, 3, 5)
    assert captured.y == (2e-7, 1e-9, 4e-3)
    assert captured.marker.symbol == ("circle", "circle", "x")
    assert captured.marker.color == (ATTENTION, ATTENTION, UNCERTAINTY)
    assert tolerated.y == (3e-6, 1e-5, 2e-5)
    assert eager.y == (1e-6, 2e-3, 0.4)
    assert figure.layout.yaxis.type == "log"
    assert "0.0e+00" in captured.text[1]


def test_a_model_that_is_fed_step_by_step_has_no_eager_attention_beside_it():
    figure = check_differences(Check((0,), (1e-7,), (1e-5,), (float("nan"),)))
    assert [trace.name for trace in figure.data] == ["tolerated", "captured"]


def test_weights_at_other_positions_are_reported():
    captured = check_differences(Check((0,), (float("inf"),), (2e-2,), (0.0,))).data[-1]
    assert (captured.y, captured.marker.symbol) == ((1.0,), ("x",))
    assert "at the wrong positions" in captured.text[0]


def test_without_layers_the_figure_says_so():
    assert "no attention layer" in check_differences(Check((), (), (), ())).layout.annotations[0].text


@pytest.mark.parametrize("dark", [False, True])
def test_every_tool_is_drawn_where_it_was_measured_and_named_once(panels, dark):
    figure = costs_by_length(panels, dark=dark)
    time = [trace for trace in figure.data if trace.xaxis == "x"]
    memory = [trace for trace in figure.data if trace.xaxis == "x2"]
    assert [trace.name for trace in time] == ["this project", "lm-polygraph"]
    names = ["plain generation", "this project", "lm-polygraph", "lm-polygraph, computed"]
    assert [trace.name for trace in memory] == names
    assert memory[-1].mode == "markers"
    assert memory[-1].marker.symbol == "diamond-open"
    assert (figure.layout.yaxis.type, figure.layout.yaxis2.type) == (None, "log")
    legend = [trace.name for trace in figure.data if trace.showlegend]
    assert sorted(legend) == sorted(set(legend))
    assert set(legend) == set(names)
    assert time[1].error_y.array == pytest.approx((0.2, 0.2))
    assert time[1].error_y.arrayminus == pytest.approx((0.1, 0.1))


def test_a_measure_that_is_missing_leaves_the_other(panels):
    assert len(costs_by_length(panels[:1]).data) == 2
    empty = costs_by_length([Panel("time", "times", ())])
    assert "neither time nor memory of other tools was measured" in empty.layout.annotations[0].text


def test_every_row_stands_beside_its_tolerance_and_one_beyond_it_stands_out():
    rows = (("llama", 7, 1e-7, 0.0, 1e-5, "all"), ("<b>$x$", 7, 2e-7, 3e-4, 1e-5, ""))
    columns = ("name", "count", "read", "generated", "tolerance", "models")
    figure = differences(margins(make_record(columns=columns, rows=rows)))
    read, generated, tolerated = figure.data
    assert (read.name, generated.name, tolerated.name) == ("read", "generated", "tolerated")
    assert tolerated.x == (1e-5, 1e-5)
    assert read.x == (1e-7, 2e-7)
    assert generated.x == (pytest.approx(1e-8), 3e-4)
    assert generated.text == ("0.0e+00", "3.0e-04")
    assert generated.marker.color == (ATTENTION, UNCERTAINTY)
    assert figure.layout.yaxis.ticktext == ("llama", "&lt;b&gt;&#36;x&#36;")


def test_a_record_without_tolerances_has_no_such_picture():
    assert margins(make_record()) is None
