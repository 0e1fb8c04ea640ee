"""Runs in object stores, on moto's S3 server and in a folder: the lease, the order of uploads, and readers' copies."""

import shutil
import sys
import threading
from pathlib import Path

import pytest
from fsspec.core import url_to_fs
from moto.server import ThreadedMotoServer

from analysis import stores
from analysis.cli.main import main
from analysis.datasets.names import load
from analysis.runs.create import prepare, request_for
from analysis.runs.job import Status
from analysis.runs.opened import open_run
from analysis.runs.work import work
from analysis.scoring import score_run
from analysis.stores import local_copy, workspace
from rauq.checkpoints.store import PLACE_VARIABLE
from rauq.errors import InvalidInput, MissingPackage, RunError
from rauq.layout import HOSTED_VARIABLE
from tests.robustness.ray_runs import contents

SHARDS, SHARD = 3, 2


@pytest.fixture(scope="module")
def s3():
    """The environment of a user of an S3 server that has a bucket."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, "testing")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("AWS_MAX_ATTEMPTS", "1")
        url_to_fs("s3://runs")[0].mkdir("runs")
        yield "s3://runs"
    server.stop()


@pytest.fixture(params=["s3", "file"])
def address(request, s3, tmp_path):
    """A place for a run that nobody has used, of each kind of store."""
    root = s3 if request.param == "s3" else f"file://{tmp_path}/shared"
    return f"{root}/{tmp_path.name}"


@pytest.fixture(autouse=True)
def machine(tmp_path, monkeypatch):
    """Lets the test be on a machine of that name, whose cache is its own."""

    def go(name):
        monkeypatch.setenv(PLACE_VARIABLE, str(tmp_path / name))

    go("first")
    return go


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plain") / "run"
    assert worked_on(folder).state == "finished"
    return folder


def worked_on(folder, **options):
    data = load("atlas", kind="base", limit=SHARDS * SHARD)
    request = request_for(data, model="atlas", shard_size=SHARD, batch_size=SHARD, max_new_tokens=3, threads=1)
    prepare(folder, data, request, name="run")
    return work(folder, **options)


class AfterOne:
    """Stops a job that has saved a shard."""

    def __init__(self):
        self.status = Status(state="new", total=0)

    def __call__(self, status):
        self.status = status

    def is_set(self):
        return self.status.saved > 0


def same_but_created(found, expected):
    created = b'"created"'
    both = contents(found), contents(expected)
    assert both[0].keys() == both[1].keys()
    for name, content in both[0].items():
        lines = [[line for line in one.split(b"\n") if created not in line] for one in (content, both[1][name])]
        assert lines[0] == lines[1], name


def test_a_run_in_a_store_that_is_stopped_and_resumed_elsewhere_is_that_of_a_folder(address, machine, plain):
    stop = AfterOne()
    with workspace(address) as space:
        assert worked_on(space.folder, on_progress=space.reporting(stop), cancel=stop).state == "stopped"
    assert f"--out {address} --resume" in stop.status.message
    machine("second")
    assert len(open_run(local_copy(address)).answers) == SHARD
    with workspace(address) as space:
        begun = work(space.folder, on_progress=space.reporting(lambda _status: None))
        assert (begun.state, begun.saved) == ("finished", SHARDS * SHARD)
    machine("third")
    same_but_created(local_copy(address), plain)
    assert open_run(local_copy(address)).faults == ()


def test_a_table_is_uploaded_after_the_arrays_of_its_shard_and_shards_as_they_are_saved(address, monkeypatch):
    with workspace(address) as space:
        files, sent, saved = stores._place(address, Path()).files, [], []
        put = files.put_file
        monkeypatch.setattr(
            files, "put_file", lambda here, there: (sent.append(there.rpartition("/")[2]), put(here, there))
        )
        worked_on(space.folder, on_progress=space.reporting(lambda status: saved.append((status.saved, len(sent)))))
    tables = [f"answers-0000{shard}.parquet" for shard in range(SHARDS)]
    assert [name for name in sent if name in tables] == tables
    for shard, table in enumerate(tables):
        assert sent.index("examples.parquet") < sent.index(f"traces-0000{shard}.safetensors") < sent.index(table)
        assert (shard + 1) * SHARD in [number for number, count in saved if count > sent.index(table)]
        assert all(number > shard * SHARD for number, count in saved if count > sent.index(table))


def test_a_reader_downloads_what_has_changed_and_forgets_what_is_gone(address, monkeypatch, plain, machine):
    with workspace(address) as space:
        fill(space.folder, plain)
    machine("reader")
    files, got = stores._place(address, Path()).files, []
    get = files.get_file
    monkeypatch.setattr(files, "get_file", lambda there, here: (got.append(there.rpartition("/")[2]), get(there, here)))
    first = local_copy(address)
    assert sorted(got) == sorted(contents(plain).keys() | {"timings.jsonl"})
    assert (local_copy(address), len(got)) == (first, len(set(got)))
    (first / "manifest.json").write_text("damaged here")
    machine("first")
    with workspace(address) as space:
        (space.folder / "timings.jsonl").write_text("\n")
    files.rm_file(f"{stores._place(address, Path()).path}/answers-00002.parquet")
    machine("reader")
    got.clear()
    assert "answers-00002.parquet" not in contents(local_copy(address))
    assert sorted(got) == ["manifest.json", "timings.jsonl"]


def fill(folder, run):
    for path in run.iterdir():
        shutil.copyfile(path, folder / path.name)


def test_a_second_job_is_refused_and_one_after_the_other_is_not(address, machine):
    with workspace(address) as space:
        (space.folder / "timings.jsonl").write_text("mine\n")
        machine("second")
        with pytest.raises(RunError, match=r"Another job is using .*process \d+, lease renewed \d+ s ago"):
            next(iter_of(workspace(address)))
    with workspace(address) as space:
        assert (space.folder / "timings.jsonl").read_text() == "mine\n"
    assert stores._leases(stores._copy(address, "work")) == []


def iter_of(manager):
    with manager as given:
        yield given


def test_of_two_jobs_that_find_an_ended_lease_one_takes_the_next(address, monkeypatch):
    place, taken, barrier = stores._copy(address, "work"), [], threading.Barrier(2)
    assert stores._acquire(place, b"a, 1, x") == "lease-000000001"
    monkeypatch.setattr(stores, "LEASE_SECONDS", -1.0)
    age = stores._age

    def at_once(*arguments):
        found = age(*arguments)
        barrier.wait(30)
        return found

    monkeypatch.setattr(stores, "_age", at_once)

    def take(own):
        try:
            taken.append(stores._acquire(place, own))
        except RunError as error:
            taken.append(str(error))

    threads = [threading.Thread(target=take, args=(own,)) for own in (b"b, 2, y", b"c, 3, z")]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert max(taken) == "lease-000000002"
    assert min(taken).endswith("ends after -1 s.")
    assert stores._leases(place) == ["lease-000000002"]


def test_a_job_whose_lease_another_has_replaced_writes_nothing(address, machine, monkeypatch, plain):
    late = workspace(address)
    space = late.__enter__()
    monkeypatch.setattr(stores, "LEASE_SECONDS", -1.0)
    machine("second")
    with workspace(address) as other:
        fill(other.folder, plain)
    machine("first")
    (space.folder / "manifest.json").write_text("late")
    with pytest.raises(RunError, match=r"its lease replaced this job's"):
        late.__exit__(None, None, None)
    machine("third")
    same_but_created(local_copy(address), plain)


def test_a_lease_is_renewed(address, monkeypatch):
    monkeypatch.setattr(stores, "_RENEW_SECONDS", 0.01)
    place, written = stores._copy(address, "work"), threading.Event()
    pipe = place.files.pipe_file

    def seen(path, value, **options):
        pipe(path, value, **options)
        if not options:
            written.set()

    monkeypatch.setattr(place.files, "pipe_file", seen)
    with workspace(address):
        assert written.wait(30)


@pytest.mark.parametrize("address", ["http://host/run", "az://box/run", "://", "memory://run"])
def test_other_stores_are_refused(address):
    with pytest.raises(InvalidInput, match=r"begins with s3://, gs://, file://, or a folder"):
        local_copy(address)


def test_a_store_whose_package_is_missing_says_so(monkeypatch):
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(MissingPackage, match="pip install s3fs for s3://, gcsfs for gs://"):
        local_copy("gs://bucket/run")


def test_what_is_no_run_and_a_store_that_fails_are_told(s3, monkeypatch):
    with pytest.raises(RunError, match=r"is not a run: it has no manifest\.json"):
        local_copy(f"{s3}/nothing")
    with (
        pytest.raises(RunError, match=r"s3://no-bucket/run cannot be written \(FileNotFoundError"),
        workspace("s3://no-bucket/run"),
    ):
        pass
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    url_to_fs("s3://runs")[0].clear_instance_cache()
    with pytest.raises(RunError, match=r"cannot be read \(.*check the address, its permissions and the network"):
        local_copy(f"{s3}/unreachable")
    url_to_fs("s3://runs")[0].clear_instance_cache()


def test_a_call_takes_an_address(s3):
    data = load("atlas", kind="base", limit=2)
    run = score_run(f"{s3}/called", data, model="atlas", max_new_tokens=2)
    assert (run.manifest.name, len(run.answers)) == ("called", 2)
    assert contents(local_copy(f"{s3}/called")) == contents(run.folder)


def test_the_commands_take_an_address(s3, capsys, monkeypatch):
    address = f"{s3}/commands"
    data = ["--data", "atlas", "--limit", "2", "--max-new-tokens", "2"]
    asked = ["score", "--model", "atlas", *data, "--methods", "rauq", "--out", address]
    assert main(asked) == 0
    assert main(["add-methods", address, "--methods", "perplexity"]) == 0
    assert main(["check", address]) == 0
    assert "Shards: 1; missing or broken: 0." in capsys.readouterr().out
    run = open_run(local_copy(address))
    assert (run.manifest.name, run.methods) == ("commands", ("rauq", "perplexity"))
    monkeypatch.setenv(HOSTED_VARIABLE, "1")
    assert main(asked) == 2
    assert "A host writes runs into folders only" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["check", "ftp://host/run"])
    assert "begins with s3://" in capsys.readouterr().err


@pytest.fixture
def puts(address, monkeypatch):
    """The names of the files that are uploaded."""
    files, names = stores._place(address, Path()).files, []
    put = files.put_file
    monkeypatch.setattr(
        files, "put_file", lambda here, there: (names.append(there.rpartition("/")[2]), put(here, there))
    )
    return names


def test_a_run_is_kept_as_it_is_found_elsewhere_and_forgotten(address, plain, tmp_path):
    mine = shutil.copytree(plain, tmp_path / "own" / "a.b")
    assert stores.below(address) == {}
    stores.keep(mine, f"{address}/a.b")
    stores.keep(shutil.copytree(plain, tmp_path / "own" / "a"), f"{address}/a")
    found = stores.below(address)
    assert {name: one.is_run for name, one in found.items()} == {"a": True, "a.b": True}
    assert all(one.num_bytes >= sum(map(len, contents(plain).values())) for one in found.values())
    stores.fetch(f"{address}/a.b", tmp_path / "other" / "a.b")
    assert contents(tmp_path / "other" / "a.b") == contents(plain)
    assert open_run(tmp_path / "other" / "a.b").frame().equals(open_run(plain).frame())
    stores.forget(f"{address}/a.b")
    stores.forget(f"{address}/a.b")
    assert stores.below(address) == {"a": found["a"]}


def test_what_changes_in_a_kept_run_alone_is_uploaded_and_what_is_gone_is_deleted(address, plain, tmp_path, puts):
    mine = shutil.copytree(plain, tmp_path / "own")
    stores.keep(mine, address)
    (mine / "timings.jsonl").write_text("changed\n")
    (mine / "answers-00002.parquet").unlink()
    puts.clear()
    assert not stores.is_kept(mine)
    stores.keep(mine, address)
    assert puts == ["timings.jsonl"]
    assert stores.is_kept(mine)
    stores.fetch(address, tmp_path / "other")
    assert (tmp_path / "other" / "timings.jsonl").read_text() == "changed\n"
    assert not (tmp_path / "other" / "answers-00002.parquet").exists()
    stores.keep(mine, address, anew=True)
    assert len(puts) > 3


def test_a_folder_without_a_manifest_deletes_nothing_and_a_place_without_one_is_no_run(address, plain, tmp_path):
    mine = shutil.copytree(plain, tmp_path / "own")
    stores.keep(mine, address)
    for path in mine.iterdir():
        path.unlink()
    stores.keep(mine, address)
    stores.fetch(address, tmp_path / "other")
    assert contents(tmp_path / "other") == contents(plain)
    with pytest.raises(RunError, match=r"is not a run: it has no manifest\.json"):
        stores.fetch(f"{address}/nothing", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


def test_a_store_is_tried_before_a_host_keeps_runs_in_it(address):
    stores.check_writable(address)
    assert stores.below(address) == {}
    with pytest.raises(InvalidInput, match="begins with s3://"):
        stores.check_writable("ftp://somewhere")
    with pytest.raises(RunError, match="cannot be written"):
        stores.check_writable("s3://missing/runs")


def test_an_upload_that_failed_goes_on_where_it_was_and_is_no_run_before(address, plain, tmp_path, puts, monkeypatch):
    mine = shutil.copytree(plain, tmp_path / "own")
    with monkeypatch.context() as patch:
        files = stores._place(address, Path()).files
        put = files.put_file
        patch.setattr(files, "put_file", lambda here, there: 1 / 0 if len(puts) == 1 else put(here, there))
        with pytest.raises(RunError, match="cannot be written"):
            stores.keep(mine, f"{address}/mine")
    assert [one.is_run for one in stores.below(address).values()] == [False]
    assert not stores.is_kept(mine)
    first = list(puts)
    stores.keep(mine, f"{address}/mine")
    assert len(puts) == len(set(puts)) == len(first) + len(puts[len(first) :])
    assert [one.is_run for one in stores.below(address).values()] == [True]
    stores.fetch(f"{address}/mine", tmp_path / "other")
    assert contents(tmp_path / "other") == contents(plain)


def test_what_is_gone_at_both_places_is_no_error(address, plain, tmp_path):
    mine = shutil.copytree(plain, tmp_path / "own")
    stores.keep(mine, address)
    place = stores._place(address, mine)
    place.files.rm_file(place.at("timings.jsonl"))
    (mine / "timings.jsonl").unlink()
    stores.keep(mine, address)
    assert stores.is_kept(mine)
