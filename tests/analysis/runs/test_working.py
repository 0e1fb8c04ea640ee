"""A run is worked on shard by shard; stopped, killed or out of disk, it goes on and ends as if nothing had happened."""

import errno
import json
import os
import shutil
import threading
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from analysis.runs import job
from analysis.runs.create import prepare, request_for
from analysis.runs.files.examples import write_examples
from analysis.runs.job import STOP, only_job, read_status, write_status
from analysis.runs.manifest import MANIFEST, TIMINGS, answers_path, is_of_run, read_manifest, write_manifest
from analysis.runs.opened import open_run
from analysis.runs.traces import fact_tokens, trace
from analysis.runs.work import load_for, work
from rauq.checkpoints.named import MODELS_VARIABLE
from rauq.errors import ModelNotFound, RunError
from rauq.scoring.score import score
from tests.architectures import save_tiny

SHARDS = 4


def contents(folder):
    """Everything that a run is: times and status are not."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_of_run(path.name)}


LOAD_ONCE = cache(load_for)


@pytest.fixture(autouse=True)
def one_model(monkeypatch):
    """Each model is loaded once, except by processes of their own."""
    monkeypatch.setattr("analysis.runs.work.load_for", LOAD_ONCE)


class Killed(BaseException):
    """What no handler of errors catches."""


def test_every_example_is_answered_or_failed_with_its_reason(run, data):
    assert len(run.answers) == 12
    assert run.faults == ()
    assert run.failures["id"].tolist() == ["long"]
    assert "256" in run.failures["error"][0]
    assert run.answers["id"].tolist() == [example.id for example in data.examples if example.id != "long"]


def test_an_answer_that_was_given_is_read(run, data):
    given = run.answers[run.answers["stop_reason"] == "given"]
    assert given["answer"].tolist() == [" In Peru", " In Peru In Peru"]
    assert given["quality"].tolist() == [0.0, 1.0]
    asked = run.answers[run.answers["stop_reason"] != "given"]
    assert (asked["num_tokens"] <= data.max_new_tokens).all()
    assert asked["quality"].isna().all()
    assert (asked["quality_reason"] != "").all()


def test_tokens_of_the_fact_are_those_that_share_a_character_with_it(run):
    row = int(run.answers.index[run.answers["id"] == "r1"][0])
    assert "".join(np.array(list(" In Peru In Peru"))[fact_tokens(run, row)]) == "PeruPeru"


def test_scores_are_those_of_the_traces(run):
    for row in range(len(run.answers)):
        kept, found = trace(run, row), run.answers.iloc[row]
        assert score(kept).uncertainty == pytest.approx(found["rauq"], abs=1e-3)
        assert found["msp"] == pytest.approx(-kept.logprobs.sum(dtype=float))
        assert found["perplexity"] == pytest.approx(-kept.logprobs.mean(dtype=float))
        assert found["mean_token_entropy"] == pytest.approx(kept.entropies.mean(dtype=float))


def test_methods_that_were_not_asked_for_have_no_column(data, model, tmp_path):
    prepare(tmp_path / "run", data, request_for(data, model=model, methods=("msp",)))
    work(tmp_path / "run")
    run = open_run(tmp_path / "run")
    assert run.answers["msp"].notna().all()
    assert run.methods == tuple(run.reasons.columns) == ("msp",)
    assert "rauq" not in run.answers
    assert np.isnan(run.uncertainty("rauq")).all()


@pytest.mark.parametrize("batch_size", [1, 8])
def test_batches_change_no_answer(batch_size, data, model, run, tmp_path):
    prepare(tmp_path / "run", data, request_for(data, model=model, batch_size=batch_size))
    work(tmp_path / "run")
    other = open_run(tmp_path / "run")
    for row in range(len(run.answers)):
        ours, theirs = trace(run, row), trace(other, row)
        same = np.cumprod(ours.answer_ids == theirs.answer_ids).astype(bool)
        assert same.all() or gap_of_best(ours, int(same.sum())) < 1e-4
        assert ours.logprobs[same] == pytest.approx(theirs.logprobs[same], abs=1e-5)
        assert np.nan_to_num(ours.attention[:, :, : same.sum()]) == pytest.approx(
            np.nan_to_num(theirs.attention[:, :, : same.sum()]), abs=1e-3
        )  # half precision


def gap_of_best(answer, token):
    first, second = answer.alternatives[token][:2]
    return first.logprob - second.logprob


def test_progress_counts_up_to_all(prepared):
    told = []
    ended = work(prepared, on_progress=told.append)
    assert [status.state for status in told][:2] == ["loading", "answering"]
    assert told[-1] == ended == read_status(prepared)
    assert (ended.state, ended.saved, ended.failed, ended.total) == ("finished", 13, 1, 13)
    assert [status.done for status in told] == sorted(status.done for status in told)
    assert all(status.seconds_left is not None for status in told if status.answered and status.state == "answering")
    times = [json.loads(line) for line in (prepared / TIMINGS).read_text().splitlines()]
    made = [row for row in times if row["stage"] == "generate"]
    assert sum(row["examples"] for row in made) == 13
    assert sum(row["tokens"] for row in made) == open_run(prepared).answers["num_tokens"].sum()
    assert sum(row["tokens"] for row in times) == ended.tokens


def test_a_finished_run_loads_no_model(finished, monkeypatch):
    monkeypatch.setattr("analysis.runs.work.load_for", lambda _request: pytest.fail("a model was loaded"))
    before = contents(finished)
    assert work(finished).state == "finished"
    assert contents(finished) == before


@pytest.mark.parametrize("wish", ["cancel", "file"])
def test_a_stopped_run_goes_on_to_the_same_end(wish, prepared, finished_run):
    cancel = threading.Event()

    def stop_in_the_second_shard(status):
        if status.saved and status.in_works:
            cancel.set() if wish == "cancel" else (prepared / STOP).touch()

    stopped = work(prepared, on_progress=stop_in_the_second_shard, cancel=cancel)
    assert (stopped.state, stopped.saved, stopped.in_works) == ("stopped", 4, 0)
    assert "--resume" in stopped.message
    assert len(open_run(prepared).answers) == 4
    assert not (prepared / STOP).exists()
    assert work(prepared).state == "finished"
    assert contents(prepared) == contents(finished_run)


@pytest.mark.parametrize(
    ("broken", "how"),
    [
        ("answers-00001.parquet", "missing"),
        ("answers-00001.parquet", "cut"),
        ("answers-00001.parquet", "another's"),
        ("answers-00001.parquet", "a bit changed"),
        ("traces-00002.safetensors", "missing"),
        ("traces-00002.safetensors", "cut"),
        ("traces-00002.safetensors", "another's"),
        ("traces-00002.safetensors", "a bit changed"),
    ],
)
def test_a_broken_shard_is_left_out_reported_and_answered_again(broken, how, finished, finished_run):
    path = finished / broken
    whole = path.read_bytes()
    if how == "missing":
        path.unlink()
    else:
        other = (finished / broken.replace("00001", "00003").replace("00002", "00003")).read_bytes()
        changed = bytearray(whole)
        changed[len(whole) // 2] ^= 1  # a number that is as likely as the one that was there
        path.write_bytes({"cut": whole[:-7], "another's": other, "a bit changed": changed}[how])
    run = open_run(finished)
    assert len(run.faults) == 1
    assert "esume" in run.faults[0]
    assert len(run.answers) + len(run.failures) == 13 - 4
    told = []
    assert work(finished, on_progress=told.append).state == "finished"
    assert told[0].saved == 13 - 4  # what is there is never told as less
    assert (how == "missing" and "answers" in broken) or any("is broken" in status.message for status in told)
    assert contents(finished) == contents(finished_run)


@pytest.mark.parametrize("write", [1, 2, 3, 1 + 2 * SHARDS])  # the manifest, both files of a shard, the last one
def test_ended_before_any_write_it_goes_on_to_the_same_end(write, prepared, finished_run, monkeypatch):
    replace, left = Path.replace, [write]

    def or_end(path, target):
        left[0] -= is_of_run(target.name)
        if left[0] == 0:
            raise Killed
        return replace(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", or_end)
        with pytest.raises(Killed):
            work(prepared)
    assert work(prepared).state == "finished"
    assert contents(prepared) == contents(finished_run)


def test_two_jobs_do_not_work_on_one_run(prepared):
    with only_job(prepared), pytest.raises(RunError, match="Another job is using"):
        work(prepared)
    assert read_status(prepared).state == "new"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"revision": "other"}, "revision other, not local"),
        ({"weights_sha256": "0"}, "weights sha256 0, not"),
        ({"kind": "instruct"}, "kind instruct, not base"),
        ({"packages": (("torch", "0.1"),)}, "torch 0.1, not"),
    ],
)
def test_a_run_resumes_with_its_own_model_and_packages(change, said, finished):
    manifest = read_manifest(finished)
    if "packages" in change:
        write_manifest(finished, replace(manifest, **change))
    else:
        write_manifest(finished, replace(manifest, answerer=replace(manifest.answerer, **change)))
    answers_path(finished, 3).unlink()
    with pytest.raises(RunError, match=said):
        work(finished)
    assert read_status(finished).state == "failed"
    assert said in read_status(finished).message


def test_other_examples_are_refused(finished, data):
    write_examples(finished, data.examples[::-1])
    with pytest.raises(RunError, match="do not match its manifest"):
        work(finished)


def test_a_model_that_is_not_there_is_a_failed_run_that_can_be_tried_again(data, tmp_path):
    prepare(tmp_path / "run", data, request_for(data, model=str(tmp_path / "none")))
    with pytest.raises(ModelNotFound):
        work(tmp_path / "run")
    status = read_status(tmp_path / "run")
    assert (status.state, status.saved) == ("failed", 0)
    assert "none" in status.message


def test_a_model_deleted_after_loading_is_reported_and_can_be_restored(data, tmp_path, monkeypatch):
    folder, elsewhere = save_tiny(tmp_path / "model"), tmp_path / "elsewhere"

    def load_and_lose(request):
        lm = load_for(request)
        folder.rename(elsewhere)
        return lm

    prepare(tmp_path / "run", data, request_for(data, model=str(folder)))
    with monkeypatch.context() as patched:
        patched.setattr("analysis.runs.work.load_for", load_and_lose)
        with pytest.raises(ModelNotFound, match="Restore it"):
            work(tmp_path / "run")
    elsewhere.rename(folder)
    assert work(tmp_path / "run").state == "finished"


def test_a_run_of_an_offered_folder_keeps_its_short_name(data, tmp_path, monkeypatch):
    monkeypatch.setenv(MODELS_VARIABLE, str(save_tiny(tmp_path / "offered")))
    prepare(tmp_path / "run", data, request_for(data, model="offered"))
    assert work(tmp_path / "run").state == "finished"
    answerer = read_manifest(tmp_path / "run").answerer
    assert (answerer.name, len(answerer.weights_sha256)) == ("offered", 64)
    assert str(tmp_path) not in (tmp_path / "run" / MANIFEST).read_text()


def test_a_full_disk_leaves_a_run_that_can_be_read_and_gone_on_with(prepared, finished_run, monkeypatch):
    write_bytes = Path.write_bytes

    def until_full(path, content):
        if "traces-00002" in path.name:
            write_bytes(path, content[:100])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write_bytes(path, content)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_bytes", until_full)
        with pytest.raises(RunError, match=r"traces-00002.safetensors cannot be written \(No space left on device\)"):
            work(prepared)
    status = read_status(prepared)
    assert (status.state, status.saved) == ("failed", 8)
    assert "free disk space" in status.message
    assert len(open_run(prepared).answers) + len(open_run(prepared).failures) == 8
    assert work(prepared).state == "finished"
    assert contents(prepared) == contents(finished_run)


def test_an_unexpected_error_is_recorded_and_raised(prepared, monkeypatch):
    def fail(*_args, **_kwargs):
        message = "out of luck"
        raise RuntimeError(message)

    monkeypatch.setattr("analysis.runs.work.answer_shard", fail)
    with pytest.raises(RuntimeError):
        work(prepared)
    assert read_status(prepared).message == "RuntimeError: out of luck"


def test_a_job_that_ends_between_two_looks_is_not_called_interrupted(finished_run, tmp_path, monkeypatch):
    run = Path(shutil.copytree(finished_run, tmp_path / "run"))
    finished = read_status(run)
    write_status(run, replace(finished, state="answering"))

    def ends_now(folder):
        write_status(folder, finished)
        return False

    monkeypatch.setattr(job, "is_held", ends_now)
    assert read_status(run).state == "finished"
    monkeypatch.setattr(job, "is_held", lambda _: False)
    write_status(run, replace(finished, state="answering"))
    assert read_status(run).state == "interrupted"
