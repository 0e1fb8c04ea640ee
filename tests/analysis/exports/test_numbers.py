"""The tables of numbers: every digit, undefined as empty, and nothing that a spreadsheet would run."""

import csv
import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import rauq
from analysis.exports.csv_text import as_text
from analysis.exports.numbers import TokenNumbers, numbers_csv, selected_heads_csv
from rauq.labels import label
from rauq.scoring.shown import show_head
from tests.answers import random_trace
from tests.traces import as_lig, make_trace


def table(text):
    """The table as text, cell by cell."""
    return list(csv.DictReader(io.StringIO(text)))


ORIGIN = ("model", "engine", "layer", "head", "gives_score", "scored_by", "alignment", "signal_name", "alpha", "units")


def column(text, name):
    return np.array([float(row[name] or "nan") for row in table(text)])


@pytest.fixture
def trace():
    return random_trace(7, seed=2, layers=(1, 3, 5), num_layers=6)


@pytest.fixture
def score(trace):
    return rauq.score(trace, rauq.Settings(layers="all"))


def test_numbers_are_those_of_trace_and_score_to_the_last_digit(trace, score):
    text = numbers_csv(trace, score)
    row = score.layers.index(score.layer)
    expected = {
        "token": range(7),
        "id": trace.answer_ids,
        "logprob": trace.logprobs,
        "probability": np.exp(trace.logprobs.astype(float)),
        "entropy": trace.entropies,
        "signal": score.signal,
        "attention": [np.nan, *score.attention[row]],
        "confidence": score.confidence[row],
        "sure_confidence": score.reference_confidence[row],
        "collapse": score.collapse,
        "collapse_from_signal": score.collapse_shares[:, 0],
        "collapse_from_attention": score.collapse_shares[:, 1],
        "contribution": score.contributions,
    }
    for name, values in expected.items():
        np.testing.assert_array_equal(column(text, name), np.asarray(values, dtype=float), err_msg=name)
    assert set(TokenNumbers._fields) == {*expected, "text", "marked_wrong", *ORIGIN}
    assert text.startswith("token,text,id,")


@pytest.mark.parametrize("chosen", [None, (3, 2), (1, 0)])
def test_every_row_names_what_its_numbers_are_of(trace, score, chosen):
    layer, head = chosen or (score.layer, int(score.heads[score.layers.index(score.layer)]))
    rows = table(numbers_csv(trace, show_head(trace, score, *(chosen or ()))))
    gives = "true" if chosen is None else "false"
    named = ("made-up", "", str(layer), str(head), gives, "rauq", "predicting", "probability", "0.2")
    assert {tuple(row[name] for name in ORIGIN[:-1]) for row in rows} == {named}
    assert all("nats" in row["units"] for row in rows)


def test_texts_and_marks_are_written():
    trace = replace(make_trace((b" a,b", b'"\n', b"\xf0\x9f")), wrong=(0, 2))
    rows = table(numbers_csv(trace, rauq.score(trace)))
    assert [row["text"] for row in rows] == [label(piece) for piece in trace.pieces]
    assert [row["marked_wrong"] for row in rows] == ["true", "false", "true"]


def test_undefined_is_an_empty_cell_and_infinite_is_not():
    trace = make_trace(logprobs=np.array([-np.inf, -0.5, 0.0]))
    rows = table(numbers_csv(trace, rauq.score(trace, rauq.Settings(layer_aggregation="median"))))
    assert {rows[i][name] for i in range(3) for name in ("attention", "confidence", "collapse", "contribution")} == {""}
    assert rows[0]["logprob"] == "-inf"
    assert "nan" not in numbers_csv(trace, rauq.score(trace, rauq.Settings(update="mean_sum")))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])  # noqa: RUF001
def test_no_text_is_a_formula(start):
    attack = f"{start}cmd|' /C calc'!A0"
    assert as_text(attack) == f"'{attack}"
    trace = make_trace((attack.encode(),))
    text = table(numbers_csv(trace, rauq.score(trace)))[0]["text"]
    assert text[0] not in start


@pytest.mark.parametrize("text", ["", "a=b", "'=", "·=1", "é"])
def test_other_texts_stay(text):
    assert as_text(text) == text


def test_pandas_reads_the_columns_and_their_types(trace, score):
    frame = pd.read_csv(io.BytesIO(numbers_csv(trace, score).encode("utf-8")))
    assert frame.columns[0] == "token"
    assert frame["marked_wrong"].dtype == bool
    assert frame["attention"].isna().tolist() == [True] + [False] * 6
    np.testing.assert_array_equal(frame["id"], trace.answer_ids)


def test_selected_heads(trace, score):
    rows = table(selected_heads_csv(trace, score))
    assert [int(row["layer"]) for row in rows] == list(score.layers)
    assert [int(row["head"]) for row in rows] == list(score.heads)
    assert [row["layer"] for row in rows if row["decides"] == "true"] == [str(score.layer)]
    text = selected_heads_csv(trace, score)
    np.testing.assert_array_equal(column(text, "margin"), score.margins)
    np.testing.assert_array_equal(column(text, "layer_score"), score.layer_scores)
    np.testing.assert_array_equal(column(text, "mean_attention"), score.attention.mean(axis=-1))


def test_an_answer_of_one_token_picks_no_head():
    trace = make_trace((b"a",))
    rows = table(selected_heads_csv(trace, rauq.score(trace)))
    assert {(row["head"], row["mean_attention"], row["margin"]) for row in rows} == {("", "", "")}


def test_lig_weights_are_called_so():
    lig = as_lig(make_trace())
    names = numbers_csv(lig, rauq.score(lig)).splitlines()[0].split(",")
    assert {"lig", "collapse_from_lig"} <= set(names)
    assert not any("attention" in name for name in names)
    assert "mean_lig" in selected_heads_csv(lig, rauq.score(lig)).splitlines()[0]
