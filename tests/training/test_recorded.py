"""Choosing what to record: an answer without the wanted feature is not used."""

from dataclasses import replace

import pytest

from rauq.atlas.evaluation import load_examples
from rauq.recorded.answers import load_recorded
from training import recorded


@pytest.mark.parametrize("name", ["unknown-place", "known-place", "myth", "unknown-word"])
def test_a_collapse_is_recorded_where_one_is_wanted_and_only_there(name, monkeypatch, tmp_path):
    (wanted,) = (wanted for wanted in recorded.WANTED if wanted.id == name)
    (found,) = (row for row in load_recorded() if row.id == name)
    trace = found.trace()
    (example,) = (example for example in load_examples(wanted.family) if example.prompt == trace.prompt)
    monkeypatch.setattr(recorded, "_answers", lambda _model, _wanted: [(example, trace)])
    monkeypatch.setattr("rauq.recorded.answers.FOLDER", tmp_path)
    monkeypatch.setattr(recorded, "WANTED", (wanted,))
    assert recorded.record(None) == (found,)
    monkeypatch.setattr(recorded, "WANTED", (replace(wanted, collapses=not wanted.collapses),))
    with pytest.raises(RuntimeError, match=f"No answer of the model shows {name!r}"):
        recorded.record(None)
