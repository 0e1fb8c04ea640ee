"""Near-duplicate questions of a run count as one, until its user treats them as different; the run keeps that."""

from dataclasses import replace

import pytest

from analysis.cli import main
from analysis.datasets.example import fingerprint
from analysis.detectors.evaluation.answers import answers_of
from analysis.runs.archive import export_zip, import_zip
from analysis.runs.files.corrections import are_apart, treat_apart
from analysis.runs.files.examples import write_examples
from analysis.runs.manifest import QUESTIONS_APART, foreign, state_of, write_manifest
from analysis.runs.opened import open_run, part_of
from rauq.errors import RunError
from tests.analysis.report.made_run import made_run

ASKED = ("Who wrote Dune?", "who wrote dune", "Who wrote Emma?", "Who wrote Emma?")


@pytest.fixture
def folder(tmp_path):
    run = made_run(tmp_path / "run", quality=[1.0, 0.0, 1.0, 0.0], failures=0, shard_size=2)
    examples = tuple(replace(one, question=own) for one, own in zip(run.examples, ASKED, strict=True))
    write_examples(run.folder, examples)
    request = replace(run.manifest.request, data_sha256=fingerprint(examples))
    write_manifest(run.folder, replace(run.manifest, request=request))
    return run.folder


def test_near_duplicates_are_joined_and_taken_apart_and_equal_questions_stay_one(folder):
    before = state_of(folder)
    assert open_run(folder).clusters.tolist() == [0, 0, 1, 1]
    treat_apart(folder, apart=True)
    assert open_run(folder).clusters.tolist() == [0, 1, 2, 2]
    assert part_of(open_run(folder), open_run(folder).shards[1:]).clusters.tolist() == [0, 0]
    assert answers_of([open_run(folder)], threshold=0.5).questions == ASKED
    assert state_of(folder) != before
    assert foreign(folder) == []
    treat_apart(folder, apart=False)
    treat_apart(folder, apart=False)
    assert open_run(folder).clusters.tolist() == [0, 0, 1, 1]
    assert state_of(folder) == before


def test_it_travels_with_the_run(finished, tmp_path):
    treat_apart(finished, apart=True)
    with export_zip(finished) as packed:
        again = import_zip(packed, tmp_path, "again")
    assert are_apart(again)


def test_a_folder_that_cannot_be_written_is_an_error(folder):
    (folder / QUESTIONS_APART).mkdir()
    with pytest.raises(RunError, match=QUESTIONS_APART):
        treat_apart(folder, apart=False)


def test_the_command_says_how_many_were_joined_and_changes_it(folder, capsys):
    asked = ["score", "--out", str(folder), "--resume"]
    assert main.main(asked) == 0
    said = "2 near-duplicate questions count as 1 question. To change that: --resume --questions apart."
    assert said in capsys.readouterr().out
    assert main.main([*asked, "--questions", "apart"]) == 0
    said = "2 near-duplicate questions count as different questions. To change that: --resume --questions joined."
    assert said in capsys.readouterr().out
    assert are_apart(folder)
    assert main.main([*asked, "--questions", "joined"]) == 0
    assert not are_apart(folder)
