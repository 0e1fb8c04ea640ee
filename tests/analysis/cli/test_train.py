"""`python -m analysis train`: a detector from a run of a real tiny model, and runs that are refused."""

import shutil

import numpy as np
import pytest

import rauq
from analysis.cli import main
from analysis.runs.manifest import answers_path
from analysis.runs.opened import open_run
from analysis.runs.traces import traces_of
from tests.architectures import save_tiny

NUM = 12


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    rows = [
        f"Where is {place}?,answer {'ab'[place % 2]} {place},{'yes' if place % 2 else 'no'}" for place in range(NUM)
    ]
    (folder / "asked.csv").write_text("\n".join(["question,answer,right", *rows]))
    columns = ["--columns", "prompt=question,answer=answer,correct=right"]
    model = str(save_tiny(folder / "model"))
    asked = ["score", "--model", model, "--data", str(folder / "asked.csv"), *columns, "--methods", "msp"]
    assert main.main([*asked, "--out", str(folder / "bare")]) == 0
    keep = ["--keep", "lookback,hidden_mean,hidden_layers"]
    assert main.main([*asked, *keep, "--out", str(folder / "run")]) == 0
    return folder / "run"


def trained(run, out, method="lookback_lens", *more):
    return main.main(["train", "--run", str(run), "--method", method, "--out", str(out), *more])


@pytest.mark.parametrize("method", ["lookback_lens", "saplma", "mind"])
def test_a_run_gives_a_detector_that_scores_its_answers(method, run, tmp_path, capsys):
    out = tmp_path / "own.safetensors"
    assert trained(run, out, method) == 0
    said = capsys.readouterr().out
    assert f"trained on {NUM} answers to asked.csv: 6 correct, 6 incorrect (quality above 0.5 is correct)." in said
    assert ("none to search" in said) == (method == "lookback_lens")
    assert ("learning rate" in said) == (method != "lookback_lens")
    assert said.endswith(f"{out}\n")
    detector = rauq.Detector.load(out)
    opened = open_run(run)
    assert (detector.model, detector.revision) == (opened.answerer.name, opened.answerer.revision)
    scores = [detector.score(trace) for trace in traces_of(opened)]
    assert np.isfinite(scores).all()
    assert len(set(scores)) == NUM


def test_what_cannot_be_trained_is_said_in_one_line(run, tmp_path, capsys):
    out = tmp_path / "own.safetensors"
    for arguments, said in (
        ((run.parent / "bare", out), "The run bare did not keep lookback, which lookback_lens reads."),
        ((run, out, "luck"), "Unknown supervised method 'luck'"),
        ((run, tmp_path / "no" / "own"), "there is no such folder"),
        ((tmp_path / "nothing", out), "is not a run"),
    ):
        assert trained(*arguments) in (1, 2)
        assert said in capsys.readouterr().err
    twice = ["train", "--run", str(run), str(run), "--method", "mind", "--out", str(out)]
    assert main.main(twice) == 2
    assert "A run is given twice" in capsys.readouterr().err
    assert not out.exists()


def test_an_unfinished_run_is_refused(run, tmp_path, capsys):
    half = shutil.copytree(run, tmp_path / "half")
    answers_path(half, 0).unlink()
    assert trained(half, tmp_path / "own") == 2
    assert "The run half has 0 of 12 answers. Resume it first." in capsys.readouterr().err


@pytest.fixture
def detector(run, tmp_path):
    out = tmp_path / "lens.safetensors"
    assert trained(run, out) == 0
    return out


def score(run, data, out, *more):
    columns = ["--columns", "prompt=question,answer=answer,correct=right"]
    asked = ["--model", str(run.parent / "model"), "--data", str(data), *columns, "--keep", "lookback"]
    return main.main(["score", *asked, *more, "--out", str(out)])


def test_other_answers_are_scored_with_a_detector_at_once_or_later(run, detector, tmp_path, capsys):
    other = tmp_path / "others.csv"
    other.write_text("question,answer,right\nWhere is Oslo?,In Norway,yes\nWhere is Rome?,In Peru,no\n")
    assert score(run, other, tmp_path / "at-once", "--methods", "msp", f"lookback_lens={detector}") == 0
    found = open_run(tmp_path / "at-once")
    assert found.methods == ("msp", "lookback_lens")
    kept = [rauq.Detector.load(detector).score(trace) for trace in traces_of(found)]
    np.testing.assert_allclose(found.uncertainty("lookback_lens"), kept, rtol=1e-3)  # kept in half precision
    (file,) = found.manifest.request.detectors
    assert (file.method, file.path, file.data) == ("lookback_lens", str(detector.resolve()), ("asked.csv",))
    assert score(run, other, tmp_path / "later", "--methods", "msp") == 0
    assert main.main(["add-methods", str(tmp_path / "later"), "--methods", f"lookback_lens={detector}"]) == 0
    added = open_run(tmp_path / "later")
    assert added.methods == ("msp", "lookback_lens")
    assert added.manifest.added_detectors == found.manifest.request.detectors
    np.testing.assert_allclose(added.uncertainty("lookback_lens"), kept)
    assert "LookBackLens" in capsys.readouterr().out


def test_a_detector_never_scores_the_answers_that_it_was_fitted_on(run, detector, tmp_path, capsys):
    words = f"{detector.resolve()} was fitted on answers to {len(open_run(run).answers)} of these"
    method = f"lookback_lens={detector}"
    assert score(run, run.parent / "asked.csv", tmp_path / "again", "--methods", method) == 2
    assert words in capsys.readouterr().err
    assert main.main(["add-methods", str(run), "--methods", method]) == 2
    assert words in capsys.readouterr().err
    assert "lookback_lens" not in open_run(run).methods


def test_what_a_detector_was_fitted_on_is_known_by_its_questions_and_not_by_a_name(run, detector, tmp_path, capsys):
    method = f"lookback_lens={detector}"
    first = open_run(run).questions[0]
    renamed, namesake = tmp_path / "others.csv", tmp_path / "asked.csv"
    renamed.write_text(f"question,answer,right\nWhere is Oslo?,In Norway,yes\nQ: {first.upper()} A:,In Peru,no\n")
    namesake.write_text("question,answer,right\nWhere is Oslo?,In Norway,yes\nWhere is Rome?,In Peru,no\n")
    assert score(run, renamed, tmp_path / "renamed", "--methods", method) == 2
    assert "was fitted on answers to 1 of these 2 questions, such as 'Q: " in capsys.readouterr().err
    assert score(run, namesake, tmp_path / "namesake", "--methods", "msp", method) == 0
    assert open_run(tmp_path / "namesake").methods == ("msp", "lookback_lens")


def test_a_detector_that_does_not_belong_to_a_run_is_refused(run, detector, tmp_path, capsys):
    other = tmp_path / "others.csv"
    other.write_text("question,answer,right\nWhere is Oslo?,In Norway,yes\nWhere is Rome?,In Peru,no\n")
    for words, said in (
        (["lookback_lens"], "LookBackLens needs a fitted detector. Name its file: --methods lookback_lens=FILE."),
        ([f"mind={detector}"], f"is a detector of lookback_lens, not of mind. Name it lookback_lens={detector}"),
        ([f"lookback_lens={detector}", f"lookback_lens={tmp_path}/b"], "give one file for each method"),
        ([f"lookback_lens={tmp_path / 'none'}"], "There is no file"),
    ):
        assert score(run, other, tmp_path / "none", "--methods", *words) == 2
        assert said in capsys.readouterr().err
    assert score(run, other, tmp_path / "run", "--methods", f"lookback_lens={detector}") == 0
    answers_path(tmp_path / "run", 0).unlink()
    shutil.copy(detector, tmp_path / "copy")
    assert trained(run, detector, "mind") == 0
    assert main.main(["score", "--out", str(tmp_path / "run"), "--resume"]) == 1
    assert "is not the detector that the run was started with" in capsys.readouterr().err
    shutil.copy(tmp_path / "copy", detector)
    assert main.main(["score", "--out", str(tmp_path / "run"), "--resume"]) == 0
    assert np.isfinite(open_run(tmp_path / "run").uncertainty("lookback_lens")).all()
