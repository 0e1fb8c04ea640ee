"""`python -m analysis train`: a detector from a run of a real tiny model, and runs that are refused."""

import shutil

import numpy as np
import pytest

import rauq
from analysis.cli import main
from analysis.runs.opened import open_run
from analysis.runs.shard import answers_path
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
