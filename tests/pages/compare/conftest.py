"""Compare opens on the recorded answers of the embedded model here, whose layers and heads the tests name."""

import json

import pytest

from rauq.recorded import answers


@pytest.fixture(autouse=True)
def recorded_by_atlas(tmp_path, monkeypatch):
    rows = json.loads(answers.INDEX.read_text(encoding="utf-8"))
    of_atlas = [row for row in rows if answers.loaded(answers.FOLDER / f"{row['id']}.safetensors").model == "atlas"]
    (tmp_path / "atlas.json").write_text(json.dumps(of_atlas), encoding="utf-8")
    monkeypatch.setattr(answers, "INDEX", tmp_path / "atlas.json")
