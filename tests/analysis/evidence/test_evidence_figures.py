"""The figures of the evidence: every layer and every tool, numbers as the records have them, nothing not measured."""

from dataclasses import replace

import pytest

from analysis.evidence.figures import (
    check_differences,
    differences,
    drawing,
    margins,
    memory_by_length,
    memory_costs,
    runs_compared,
    sets_compared,
    time_by_length,
    time_costs,
)
from analysis.evidence.record import records
from analysis.figures import ATTENTION, QUIET, UNCERTAINTY, outcomes
from benchmarks.peers import memory, times
from rauq.capture.check import Check
from tests.evidence import make_record, peers_memory, peers_time, real_models


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
def test_time_of_every_tool_is_drawn_with_its_interval_beside_plain_generation(dark):
    figure = time_by_length(peers_time(), dark=dark)
    ours, theirs = figure.data
    assert (ours.name, theirs.name) == ("this project", "lm-polygraph")
    assert theirs.error_y.array == pytest.approx((0.2, 0.2))
    assert theirs.error_y.arrayminus == pytest.approx((0.1, 0.1))
    (plain,) = figure.layout.shapes
    assert (plain.y0, plain.y1) == (1.0, 1.0)
    assert figure.layout.yaxis.type is None


@pytest.mark.parametrize("dark", [False, True])
def test_memory_is_drawn_and_what_was_computed_only_is_open(dark):
    figure = memory_by_length(peers_memory(), dark=dark)
    names = ["plain generation", "this project", "lm-polygraph", "lm-polygraph, computed"]
    assert [trace.name for trace in figure.data] == names
    assert figure.data[-1].mode == "markers"
    assert figure.data[-1].marker.symbol == "diamond-open"
    assert figure.layout.yaxis.type == "log"
    assert not figure.layout.shapes


@pytest.mark.parametrize("dark", [False, True])
def test_what_rauq_is_compared_with_is_drawn_for_whole_runs_in_the_colour_of_its_verdict(dark):
    figure = runs_compared(real_models(), dark=dark)
    better, worse = (look.colour for look in outcomes(dark=dark))
    assert [(dot.x[0], dot.y[0], dot.marker.color) for dot in figure.data] == [
        (0.021, 0, better),
        (-0.081, 1, worse),
        (0.0, 2, QUIET),
    ]
    assert [dot.error_x.array[0] for dot in figure.data] == pytest.approx([0.041, 0.019, 0.062])
    assert list(figure.layout.yaxis.ticktext)[:2] == ["one, plain: all answers", "two, few-shot: all answers"]
    assert "cities" not in str(figure.layout.yaxis.ticktext)


def test_scores_of_sets_are_compared_in_a_panel_each_row_by_row():
    columns = ("data", "model", "engine", "judged", "RAUQ", "minus MSP", "minus entropy")
    row = (
        "facts",
        "one",
        "llama.cpp",
        30,
        "0.7 [0.6, 0.8]",
        "+0.031 [+0.010, +0.052] better",
        "−0.002 [−0.010, +0.006]",
    )
    figure = sets_compared(make_record(columns=columns, rows=(row,)))
    assert [dot.x[0] for dot in figure.data] == [0.031, -0.002]
    assert [dot.marker.color for dot in figure.data] == [outcomes(dark=False)[0].colour, QUIET]
    assert figure.layout.yaxis.ticktext == ("facts, one, llama.cpp",)


@pytest.mark.parametrize(("draw", "record"), [(time_by_length, peers_time()), (memory_by_length, peers_memory())])
def test_without_a_measured_tool_the_figure_says_so(draw, record):
    unknown = tuple((row[0], "another", *row[2:]) for row in record.rows)
    assert "no tool was measured" in draw(replace(record, rows=unknown)).layout.annotations[0].text


def test_every_row_stands_beside_its_tolerance_and_one_beyond_it_stands_out():
    rows = (("llama", 7, 1e-7, 0.0, 1e-5, "all"), ("<b>$x$", 7, 2e-7, 3e-4, 1e-5, ""))
    columns = ("name", "count", "read", "generated", "tolerance", "models")
    figure = differences(make_record(columns=columns, rows=rows))
    read, generated, tolerated = figure.data
    assert (read.name, generated.name, tolerated.name) == ("read", "generated", "tolerated")
    assert tolerated.x == (1e-5, 1e-5)
    assert read.x == (1e-7, 2e-7)
    assert generated.x == (pytest.approx(1e-8), 3e-4)
    assert generated.text == ("0.0e+00", "3.0e-04")
    assert generated.marker.color == (ATTENTION, UNCERTAINTY)
    assert figure.layout.yaxis.ticktext == ("llama", "&lt;b&gt;&#36;x&#36;")


def test_a_record_is_drawn_if_its_columns_are_known():
    assert drawing(make_record()) is None
    assert drawing(make_record(columns=("name", "read", "tolerance"), rows=())) is None
    drawn = {name: found.draw for name, record in records().items() if (found := drawing(record))}
    assert drawn == {
        **{"models": differences, "reference": differences, "real_models": runs_compared, "worth": sets_compared},
        **{"peers_time": time_by_length, "peers_memory": memory_by_length},
    }


def test_time_is_that_of_the_processor_by_length():
    ours, theirs = time_costs(peers_time()).curves
    assert (ours.tool, ours.lengths, ours.values) == ("rauq", (32, 4096), (1.02, 1.01))
    assert (theirs.tool, theirs.values) == ("lm-polygraph", (1.5, 5.0))
    assert theirs.low == pytest.approx((1.4, 4.9))
    assert theirs.high == pytest.approx((1.7, 5.2))


def test_what_was_computed_is_not_among_what_was_measured():
    found = memory_costs(peers_memory())
    assert [curve.tool for curve in found.curves] == ["plain", "rauq", "lm-polygraph"]
    assert {curve.lengths for curve in found.curves} == {(32, 4096)}
    (computed,) = found.computed
    assert (computed.tool, computed.lengths, computed.values) == ("lm-polygraph", (8192,), (17_000.0,))


def test_differences_are_the_fractions_before_the_tolerance():
    rows = (("llama", 7, 1e-7, 0.0, 1e-5, 0.5), ("gpt2", 7, 2e-7, 3e-4, 2e-5, 0.5))
    columns = ("name", "count", "read", "generated", "tolerance", "share")
    found = margins(make_record(columns=columns, rows=rows))
    assert found.names == ("llama", "gpt2")
    assert found.series == (("read", (1e-7, 2e-7)), ("generated", (0.0, 3e-4)))
    assert found.tolerated == (1e-5, 2e-5)


def test_the_measurements_make_records_that_can_be_drawn():
    tools = [(length, tool, clock) for length in (32, 512) for tool in times.TOOLS for clock in times.CLOCKS]
    turns = times.Turns(plain=(1.0, 1.0), tool=(2.0, 2.0))
    timed = times._record(dict.fromkeys(tools, turns))
    assert drawing(timed).draw == time_by_length
    assert [curve.values for curve in time_costs(timed).curves] == [(2.0, 2.0)] * 2
    peaks = dict.fromkeys([(length, way) for length in (32, 512) for way in memory.WAYS], (1.0, 2.0, 3.0))
    record = memory._record(peaks)
    assert drawing(record).draw == memory_by_length
    assert [curve.values for curve in memory_costs(record).curves] == [(2.0, 2.0)] * 3
    assert [curve.lengths for curve in memory_costs(record).computed] == [(memory.COMPUTED_ONLY,)]
