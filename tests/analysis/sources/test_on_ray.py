"""A run on Ray has the bytes of a plain one, even if an actor is killed; another machine is refused or noted."""

import json
import socket
import uuid
from collections import deque
from dataclasses import replace
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
import torch

from analysis.datasets.names import load
from analysis.runs.create import prepare, request_for
from analysis.runs.manifest import MANIFEST, answers_path, read_manifest, write_files, write_manifest
from analysis.runs.opened import about_machines, open_run
from analysis.runs.work import Undone, answered_here, work
from analysis.sources import on_ray
from analysis.sources.on_ray import Loaded, _Pool, _Worker, ray_source
from rauq.errors import InvalidInput, MissingPackage, RunError
from rauq.layout import HOSTED_VARIABLE
from tests.ray_cluster import MARK, free_port, kill_actor
from tests.robustness.ray_runs import contents, score

SHARDS, SHARD = 6, 4


@pytest.fixture(scope="module")
def prepared_run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "new"
    data = load("atlas", kind="base", limit=SHARDS * SHARD)
    prepare(folder, data, request_for(data, model="atlas", shard_size=SHARD, batch_size=SHARD, threads=1), name="run")
    return folder


@pytest.fixture
def prepared(prepared_run, tmp_path):
    return copy(prepared_run, tmp_path / "run")


@pytest.fixture(scope="module")
def plain(prepared_run):
    folder = copy(prepared_run, prepared_run.with_name("plain"))
    assert work(folder).state == "finished"
    return folder


def copy(run, folder):
    folder.mkdir()
    for path in run.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    return folder


def test_a_run_whose_actor_is_killed_ends_as_one_in_this_process(prepared, plain, monkeypatch):
    """On the cluster of this machine; `benchmarks ray` does the same with smollm2 on two nodes, and loses one."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv(MARK, mark)
    with score(prepared, "--on", "ray") as job:
        kill_actor(mark.encode())
        said, _ = job.communicate()
    assert job.returncode == 0, said
    assert contents(prepared) == contents(plain)


@pytest.mark.parametrize(
    "address", ["ray://", "ray://host", "ray://host:port", "ray://host:1/x", "local", "10.0.0.1:1", ""]
)
def test_another_address_is_refused(address):
    with pytest.raises(InvalidInput, match="give ray for this machine, or ray://HOST:PORT"):
        ray_source(address)


@pytest.mark.parametrize("models", [0, -1, 65])
def test_a_number_of_models_that_no_gpu_holds_is_refused(models):
    with pytest.raises(InvalidInput, match=f"Got {models} models per GPU; give 1 to 64"):
        ray_source("ray", models_per_gpu=models)


def test_without_ray_the_command_says_what_to_install(monkeypatch):
    monkeypatch.setattr(on_ray, "find_spec", lambda _name: None)
    with pytest.raises(MissingPackage, match=r"pip install -r requirements-extra\.txt"):
        ray_source("ray")


def test_a_head_that_is_not_there_is_said_at_once(prepared):
    with pytest.raises(RunError, match=r"Nothing answers at ray://127\.0\.0\.1"):
        work(prepared, source=ray_source(f"ray://127.0.0.1:{free_port()}"))


def test_a_server_that_is_not_ray_is_said(prepared, monkeypatch):
    monkeypatch.setattr(on_ray, "_PROBE_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(RunError, match="is not Ray"):
        work(prepared, source=ray_source(f"ray://127.0.0.1:{server.getsockname()[1]}"))


@pytest.mark.parametrize(
    ("hosted", "address", "said"), [("1", "ray", "A host does not use Ray"), ("", "dask", "Got --on")]
)
def test_the_command_refuses(hosted, address, said, prepared, monkeypatch):
    monkeypatch.setenv(HOSTED_VARIABLE, hosted)
    with score(prepared, "--on", address) as job:
        assert said in job.communicate()[0]
    assert job.returncode == 2


def elsewhere(folder, **changes):
    """Let a run have been started on a machine that differs in these."""
    manifest = read_manifest(folder)
    write_manifest(folder, replace(manifest, machine=replace(manifest.machine, **changes)))


def test_another_machine_is_refused_unless_it_is_allowed_and_then_noted(plain, tmp_path):
    run = copy(plain, tmp_path / "run")
    answers_path(run, 2).unlink()
    elsewhere(run, cpu="NEON")
    with pytest.raises(RunError, match=r"with cpu NEON, not .*: sums round differently here.*--mixed"):
        work(run)
    assert about_machines(open_run(run)) == ""
    assert work(run, mixed=True).state == "finished"
    noted = [b"machine" in (pq.read_schema(answers_path(run, shard)).metadata or {}) for shard in range(SHARDS)]
    assert noted == [shard == 2 for shard in range(SHARDS)]
    note = json.loads(pq.read_schema(answers_path(run, 2)).metadata[b"machine"])
    assert note == vars(read_manifest(plain).machine)
    assert open_run(run).faults == ()
    assert "near ties may have given other tokens" in about_machines(open_run(run))


def test_a_run_keeps_the_threads_that_it_was_started_with(plain, tmp_path):
    run = copy(plain, tmp_path / "run")
    answers_path(run, 2).unlink()
    manifest = read_manifest(run)
    unsaid = replace(manifest, request=replace(manifest.request, threads=None))
    write_manifest(run, unsaid)
    before = torch.get_num_threads()
    torch.set_num_threads(before + 1)
    try:
        assert work(run).state == "finished"
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)
    assert read_manifest(run) == unsaid  # on the machine that it was started on, and not mixed
    assert answers_path(run, 2).read_bytes() == answers_path(plain, 2).read_bytes()


def test_an_older_run_says_nothing_of_its_machine_and_can_be_resumed(plain, tmp_path):
    run = copy(plain, tmp_path / "run")
    answers_path(run, 2).unlink()
    found = json.loads((run / MANIFEST).read_text())
    del found["machine"], found["mixed"], found["request"]["threads"]
    (run / MANIFEST).write_text(json.dumps(found))
    assert work(run).state == "finished"
    assert read_manifest(run).machine is None


def test_a_shard_that_comes_twice_is_written_once(prepared, plain):
    told = []

    def twice(undone):
        for found in answered_here(undone):
            again = replace(found, files=tuple(found.files))
            yield again
            yield again

    assert work(prepared, source=twice, on_progress=told.append).saved == SHARDS * SHARD
    assert contents(prepared) == contents(plain)


def test_two_drivers_do_not_work_on_one_run(prepared):
    def another(_undone):
        work(prepared, source=ray_source("ray"))
        yield None

    with pytest.raises(RunError, match="Another job is using"):
        work(prepared, source=another)


@pytest.fixture
def pool(plain):
    """A pool on a cluster with one node, of two GPUs that are declared only."""
    manifest = read_manifest(plain)
    undone = Undone(
        manifest=manifest,
        examples=(),
        shards=[2],
        own=None,
        cancel=None,
        accept=lambda _started: refuse(),
        on_done=lambda *_: None,
    )
    node = {"Alive": True, "NodeID": "n", "Resources": {"CPU": 4.0, "GPU": 2.0}}
    errors = SimpleNamespace(RayError=OSError)
    ray = SimpleNamespace(nodes=lambda: [node], kill=lambda _actor: None, exceptions=errors)
    return _Pool(ray=ray, undone=undone, threads=1, per_gpu=3, todo=deque())


def refuse():
    message = "it was started on another machine"
    raise RunError(message)


def test_a_shard_that_kills_three_actors_becomes_failed_rows(pool, plain, tmp_path):
    run, worker = copy(plain, tmp_path / "run"), _Worker(None, "n")
    given_up = [made for _ in range(3) for made in pool._lost(worker, 2, OSError("first line\nout of memory"))]
    assert list(pool.todo) == [2, 2]
    write_files(run, given_up[0].files)
    opened = open_run(run)
    assert opened.faults == ()
    assert opened.failures["number"].tolist() == list(range(2 * SHARD, 3 * SHARD))
    assert (
        opened.failures["error"][0]
        == f"3 actors died while they answered examples {2 * SHARD} to {3 * SHARD - 1}. out of memory"
    )


def test_a_shard_is_not_blamed_for_a_lost_node(pool):
    assert [made for _ in range(5) for made in pool._lost(_Worker(None, "gone"), 2, OSError("lost"))] == []


def test_a_gpu_is_shared_by_as_many_models_as_asked(pool):
    assert (pool._room(), pool._share()) == (6, {"num_gpus": 1 / 3, "num_cpus": 0})
    on_cpu = replace(pool.undone.manifest, request=replace(pool.undone.manifest.request, device="cpu"))
    pool.undone = replace(pool.undone, manifest=on_cpu)
    assert (pool._room(), pool._share()) == (4, {"num_cpus": 1})


def test_the_last_actor_that_differs_is_an_error(pool):
    loaded = Loaded(None, on_ray._writers(), "n")
    for _ in range(5):
        pool._welcome(_Worker(None), loaded)
    assert pool.idle == []
    with pytest.raises(RunError, match="another machine"):
        pool._welcome(_Worker(None), loaded)


def test_an_actor_with_another_writer_of_files_is_refused(pool):
    pool.refused = 5
    with pytest.raises(RunError, match=r"An actor has pyarrow 1, this process pyarrow"):
        pool._welcome(_Worker(None), Loaded(None, ("pyarrow 1",), "n"))


def test_an_error_of_an_actor_is_no_fault_of_ray(pool):
    failed = RuntimeError("in an actor\nno network")
    failed.cause = InvalidInput("no such model")
    assert pool._raised(failed) is failed.cause
    for cause in (ConnectionError("refused"), OSError("a RayError"), None):
        failed.cause = cause
        with pytest.raises(RunError, match=r"An actor failed \(no network\)"):
            raise pool._raised(failed)


def test_actors_that_never_load_end_the_job(pool, monkeypatch):
    monkeypatch.setattr(on_ray, "_LOADING_SECONDS", 0.0)
    pool.busy["loading"] = (_Worker(None), None)
    pool.heard -= 1.0
    with pytest.raises(RunError, match="No actor has loaded the model"):
        pool._check_loading()
    pool.busy["answering"] = (_Worker(None), 3)
    pool._check_loading()


def test_actors_that_die_while_loading_end_the_job(pool):
    lost = [(_Worker(None), None, OSError("out of memory"))] * 3
    with pytest.raises(RunError, match=r"3 actors in a row died while they loaded the model \(out of memory\)"):
        [list(pool._lost(*each)) for each in lost]
