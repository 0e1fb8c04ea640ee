import shutil

import pytest

from analysis.datasets.example import DataSet, Example
from analysis.runs.create import prepare, request_for
from analysis.runs.files.shards import write_shard
from analysis.runs.files.tables import Answered
from analysis.runs.opened import open_run
from analysis.runs.work import work
from rauq.methods.method import Uncertainty
from tests.architectures import save_tiny

METHODS = ("rauq", "msp", "perplexity", "mean_token_entropy", "attention_score", "degmat_jaccard", "eigen_score")
TOO_LONG = "x" * 300  # the tiny model takes 256 tokens, and a character is one


def examples():
    """Ten to answer, two to read, and one that the model cannot take."""
    asked = [
        Example(id=f"a{place}", prompt="Where is Oslo? " * (1 + place % 3) + str(place), group="ab"[place % 2])
        for place in range(10)
    ]
    read = [
        Example(
            id=f"r{place}", prompt="And Lima?", answer=" In Peru" * (1 + place), quality=float(place), facts=("Peru",)
        )
        for place in range(2)
    ]
    return (*asked[:4], Example(id="long", prompt=TOO_LONG), *read, *asked[4:])


@pytest.fixture(scope="session")
def data():
    return DataSet(name="tiny set", examples=examples(), quality="given", max_new_tokens=4, stop=())


@pytest.fixture(scope="session")
def model(tmp_path_factory):
    return str(save_tiny(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="session")
def request_tiny(data, model):
    return request_for(data, model=model, batch_size=2, shard_size=4, methods=METHODS, samples=2)


@pytest.fixture(scope="session")
def prepared_run(data, request_tiny, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "prepared"
    prepare(folder, data, request_tiny)
    return folder


@pytest.fixture(scope="session")
def finished_run(prepared_run):
    folder = prepared_run.with_name("finished")
    shutil.copytree(prepared_run, folder)
    assert work(folder).state == "finished"
    return folder


@pytest.fixture
def prepared(prepared_run, tmp_path):
    """A run that was not begun, of its own."""
    return shutil.copytree(prepared_run, tmp_path / "run")


@pytest.fixture
def finished(finished_run, tmp_path):
    """A finished run of its own."""
    return shutil.copytree(finished_run, tmp_path / "run")


@pytest.fixture(scope="session")
def run(finished_run):
    return open_run(finished_run)


def write_first_shard(folder, traces, facts):
    """Write a run's first shard again, of these answers; `facts` (N,) mark the tokens that carry the fact of each."""
    uncertainties = (Uncertainty(0),) * len(METHODS)
    rows = zip(traces, facts, strict=True)
    outcomes = [
        Answered(number=number, trace=trace, fact=fact, quality=0.0, quality_reason="", uncertainties=uncertainties)
        for number, (trace, fact) in enumerate(rows)
    ]
    write_shard(folder, 0, outcomes, stored=open_run(folder).stored_layers)
