"""A run that a vLLM server answers is that of the same model in memory, can be resumed, or is refused."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from analysis.cli.main import main
from analysis.datasets.names import load
from analysis.runs.attention import means, picks
from analysis.runs.create import prepare, request_for
from analysis.runs.job import how_to_resume
from analysis.runs.manifest import Request, answers_path, read_manifest, traces_path
from analysis.runs.opened import open_run
from analysis.runs.traces import trace
from analysis.sources.on_vllm import check_served
from rauq.errors import InvalidInput
from rauq.model.served import ServedModel
from rauq.scoring.score import score
from tests.vllm.conftest import address, behaviour, embedded

__all__ = ["address", "behaviour", "embedded"]
DATA = ("--data", "atlas", "--limit", "6", "--batch-size", "2", "--kind", "base")
METHODS = ("--methods", "default", "lexical_similarity", "--samples", "2")


def scored(out, *options):
    return main(["score", "--out", str(out), *options])


def test_it_is_the_run_of_the_same_model(address, tmp_path):
    assert scored(tmp_path / "served", "--endpoint", address, *DATA, *METHODS) == 0
    assert scored(tmp_path / "here", "--model", "atlas", *DATA, *METHODS) == 0
    served, here = open_run(tmp_path / "served"), open_run(tmp_path / "here")
    assert (served.answerer.name, served.answerer.engine) == ("served", "vllm 0.32.0")
    assert served.answers["answer"].tolist() == here.answers["answer"].tolist()
    for method in ("rauq", "msp", "perplexity", "mean_token_entropy", "quality"):
        np.testing.assert_allclose(served.answers[method], here.answers[method], atol=1e-4)
    assert served.answers["lexical_similarity"].notna().any()
    for alignment in ("predicting", "own"):
        np.testing.assert_array_equal(picks(served, alignment).heads, picks(here, alignment).heads)
        for offset in (1, 6):
            mine, theirs = (means(run, alignment, offset=offset) for run in (served, here))
            np.testing.assert_allclose(mine, theirs, rtol=2e-3)  # in half precision
    one, other = trace(served, 0), trace(here, 0)
    assert score(one).uncertainty == pytest.approx(score(other).uncertainty, abs=1e-3)
    assert one.engine == "vllm 0.32.0"


def test_a_run_that_was_stopped_has_the_bytes_of_one_that_was_not(address, behaviour, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("analysis.runs.create.Request", partial(Request, shard_size=2))
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert scored(whole, "--endpoint", address, *DATA) == 0
    behaviour.fails, behaviour.fails_after = (503, "busy"), 6 + len(behaviour.sent)
    assert scored(parts, "--endpoint", address, *DATA) == 1
    assert "answered 503: busy. Everything saved is intact: resume the run." in capsys.readouterr().err
    assert answers_path(parts, 0).exists()
    assert not answers_path(parts, 2).exists()
    behaviour.fails = None
    assert "--resume --endpoint URL" in how_to_resume(parts, read_manifest(parts).request)
    assert scored(parts, "--resume") == 2
    assert "run by a vLLM server. Give its address: --endpoint" in capsys.readouterr().err
    assert scored(parts, "--resume", "--endpoint", address) == 0
    assert read_manifest(parts).num_shards == 3
    for shard in range(3):
        for path in (answers_path, traces_path):
            assert path(parts, shard).read_bytes() == path(whole, shard).read_bytes()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--methods", "p_true"), "which is not enough for p_true"),
        (("--methods", "default", "self_certainty"), "which is not enough for self_certainty"),
        (("--keep", "hidden"), "which is not enough for hidden"),
        (("--on", "ray"), "--on has no effect on a server"),
        (("--dtype", "float32"), "--dtype has no effect on a server"),
        (("--model", "another"), "serves served; got 'another'"),
        (("--layers", "all", "--offsets", "9"), '"offsets": 9'),
    ],
)
def test_what_it_cannot_be_is_refused(address, tmp_path, capsys, options, says):
    assert scored(tmp_path / "run", "--endpoint", address, *DATA, *options) != 0
    assert says in capsys.readouterr().err


def test_no_download_means_what_a_server_is_enough_for(address, tmp_path):
    data, own = ("--data", "atlas", "--limit", "1", "--kind", "base"), ("--methods", "no-download", "--samples", "2")
    assert scored(tmp_path / "run", "--endpoint", address, *data, *own) == 0
    methods = set(read_manifest(tmp_path / "run").request.methods)
    assert {"rauq", "lexical_similarity"} < methods
    assert not methods & {"p_true", "self_certainty", "attention_score"}


def test_answers_that_are_there_are_refused(address, tmp_path, capsys):
    (tmp_path / "own.csv").write_text("prompt,answer\nIs it?,Yes\n", encoding="utf-8")
    columns = ("--columns", "prompt=prompt,answer=answer")
    assert scored(tmp_path / "run", "--endpoint", address, "--data", str(tmp_path / "own.csv"), *columns) == 2
    assert "has answers, and a vLLM server cannot read them" in capsys.readouterr().err


def test_a_host_asks_no_other_server(address, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("RAUQ_HOSTED", "1")
    assert scored(tmp_path / "run", "--endpoint", address, *DATA) == 2
    assert "leave --endpoint out" in capsys.readouterr().err


def test_a_server_has_to_return_the_layers_of_the_run():
    about = {"url": "", "name": "served", "kind": "base", "revision": "", "dtype": "float32", "quantisation": ""}
    about |= {"engine": "vllm 0.32.0", "num_heads": 8, "vocab_size": 9, "context_length": 9, "num_layers": 12}
    request = Request(model="served", data="own", data_sha256="", count=1, engine="vllm")
    check_served(ServedModel(**about, layers=tuple(range(4, 9)), offsets=8), request)
    for layers, offsets, stored in (((4, 5), 8, "middle"), (range(4, 9), 8, "all"), (range(12), 7, "middle")):
        with pytest.raises(InvalidInput, match=f'"layers": "{stored}", "offsets": 8'):
            check_served(
                ServedModel(**about, layers=tuple(layers), offsets=offsets), replace(request, stored_layers=stored)
            )


def test_a_run_that_is_not_for_a_server_is_not_resumed_by_one(address, tmp_path, capsys):
    data = load("atlas", kind="base", limit=2)
    prepare(tmp_path / "here", data, request_for(data, model="atlas"))
    assert scored(tmp_path / "here", "--resume", "--endpoint", address) != 0
    assert "was not prepared for a vLLM server" in capsys.readouterr().err
