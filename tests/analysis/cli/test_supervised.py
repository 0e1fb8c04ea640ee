"""The command writes tables and the record that the page reads; bad input is one line."""

from pathlib import Path

import pytest

from analysis.cli import main, supervised
from analysis.detectors.evaluation.results import read_evaluation
from analysis.detectors.supervised.training import SUPERVISED as METHODS
from analysis.report import writing as report
from analysis.runs.manifest import SUPERVISED
from tests.analysis.detectors.evaluation.made_up import Linear, asked_run

QUALITY = [float(place % 3 > 0) for place in range(60)]


@pytest.fixture(autouse=True)
def _no_pictures(monkeypatch):
    """They take seconds, and have a test of their own."""
    monkeypatch.setattr(report, "write_pictures", lambda *_: "No pictures.")


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setattr(supervised, "METHODS", {"tad": Linear(id="tad"), "mind": Linear(id="mind")})
    made = [asked_run(tmp_path / name, data=name, quality=QUALITY) for name in ("one", "two")]
    return [str(run.folder) for run in made]


def test_every_method_of_the_table_is_used_and_the_record_is_beside_each_run(folders, tmp_path, capsys):
    assert main.main(["supervised", *folders, "--out", str(tmp_path / "out"), "--seed", "3"]) == 0
    said = capsys.readouterr()
    for words in ("In-domain: ", "Out-of-domain: ", "Families left out: ", str(tmp_path / "out")):
        assert words in said.out
    assert "tad: features of 120 answers" in said.err
    assert "No pictures." in said.err
    records = [read_evaluation(folder) for folder in (tmp_path / "one", tmp_path / "two", tmp_path / "out")]
    assert {repr(record) for record in records} == {repr(records[0])}
    assert [row.id for row in records[0].tables[0].rows] == ["tad", "mind", "text", "rauq", "msp"]
    assert (records[0].seed, records[0].threshold, records[0].full) == (3, 0.5, False)


def test_chosen_methods_and_a_threshold_are_used(folders, tmp_path):
    asked = [
        "supervised",
        folders[0],
        "--methods",
        "mind",
        "--threshold",
        "0.3",
        "--full-search",
        "--out",
        str(tmp_path / "o"),
    ]
    assert main.main(asked) == 0
    found = read_evaluation(tmp_path / "one")
    assert [row.id for row in found.tables[0].detectors] == ["mind"]
    assert (found.threshold, found.full) == (0.3, True)
    assert found.tables[0].rows[0].settings == "2.0"


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["{one}", "--methods", "luck"], 2, "Unknown supervised method 'luck'; choose among tad, mind."),
        (["{one}", "{one}"], 2, "Two runs are of the data set one"),
        (["{one}", "--threshold", "2"], 2, "at least 0 and below 1; got 2."),
        (["{one}/none"], 1, "is not a run"),
    ],
)
def test_bad_input_is_one_line(arguments, code, complaint, folders, capsys):
    given = [text.replace("{one}", folders[0]) for text in arguments]
    out = Path(folders[0]).parent / "out"
    assert main.main(["supervised", *given, "--out", str(out)]) == code
    said = capsys.readouterr()
    assert complaint in said.err
    assert len(said.err.splitlines()) == 1
    assert not out.exists()


def test_the_run_of_the_app_is_not_written_to(folders, tmp_path, monkeypatch):
    monkeypatch.setattr(supervised, "bundled_folder", lambda: tmp_path / "one")
    assert main.main(["supervised", *folders, "--methods", "tad", "--out", str(tmp_path / "out")]) == 0
    assert not (tmp_path / "one" / SUPERVISED).exists()
    assert (tmp_path / "two" / SUPERVISED).exists()


def test_each_row_of_the_table_has_what_the_evaluation_asks_for():
    for name, method in METHODS.items():
        assert method.id == name
        assert callable(method.features)
        assert callable(method.fit)
