"""Runs that a host keeps in a store: their browser finds them in any process, nobody else does, and none is lost."""

import shutil
import threading

import pytest

from analysis import stores
from analysis.runs.job import STOP, only_job
from analysis.runs.library import delete_run
from pages.ui.host import hosting, session_runs, stored_runs
from pages.ui.host.hosting import Busy
from pages.ui.host.store import Session, store
from pages.ui.host.stored_runs import AllStored
from rauq.errors import InvalidInput, RunError
from tests.pages.reading import interpreted
from tests.pages.runs_page import captions, open_runs, said
from tests.pages.sets import make
from tests.robustness.ray_runs import contents

MINE, OTHER, ADDRESS = "m" * 22, "o" * 22, "address 203.0.113.5"


def names_at(address):
    return tuple(sorted(stores.below(address)))


@pytest.fixture
def place(host, tmp_path, monkeypatch):
    """The address of the store of a host."""
    del host
    address = f"file://{tmp_path}/shared/runs"
    monkeypatch.setenv(hosting.RUNS_VARIABLE, address)
    return address


@pytest.fixture
def process(place, tmp_path, monkeypatch):
    """Lets what follows be in a process of that name."""
    del place

    def go(name):
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        monkeypatch.setattr(session_runs, "private_folder", lambda: folder)
        monkeypatch.setattr(store(), "stored_runs", AllStored())
        monkeypatch.setattr(store(), "sessions", {})

    go("first process")
    return go


@pytest.fixture
def tab(monkeypatch):
    """Lets what follows be in a tab of that browser."""

    def go(owner, name="a tab"):
        session = store().sessions.setdefault(f"{name} of {owner}", Session(owner=owner, visitor="203.0.113.5"))
        monkeypatch.setattr(session_runs, "session", lambda: session)

    go(MINE)
    return go


def fetched():
    """The runs of this browser, once all are here."""
    kept = session_runs.stored()
    assert kept.fetched.wait(60)
    return kept


def leave():
    """All tabs are closed, and some minutes pass."""
    for session in store().sessions.values():
        session.connected -= 2 * hosting.LEFT_SECONDS
    left = session_runs.clear_left(lambda _name: False)
    session_runs.keep_runs()
    return left


@pytest.fixture
def run(process, tab):
    """A run of the browser, which is in the store too."""
    del process, tab
    fetched()
    folder = make(session_runs.runs_folder(), "mine").folder
    (folder / "timings.jsonl").write_text("made\n")
    session_runs.keep_runs()
    return folder


def test_a_browser_finds_its_runs_in_another_process_and_nobody_else_does(run, process, tab):
    process("second process")
    tab(MINE)
    kept = fetched()
    assert (kept.folder, kept.fault) != (run.parent, "")
    assert contents(kept.folder / "mine") == contents(run)
    assert "mine" in said(open_runs())
    assert "The host keeps them" in captions(open_runs())
    for other in (OTHER, ADDRESS):
        tab(other)
        page = open_runs(run="mine")
        assert "There is no run of that name here." in interpreted(page)
        assert not [path for path in session_runs.runs_folder().glob("*") if path.is_dir()]
    assert session_runs.stored() is None  # of an address
    assert "only while this page is open" in captions(page)


def test_the_store_names_neither_cookie_nor_visitor(run, place):
    names = [str(path) for path in run.parents[1].joinpath("..", "shared").rglob("*")]
    assert names
    assert not [name for name in names if MINE in name or "203.0.113" in name]
    assert names_at(place) == (stored_runs.name_of(MINE),)


def test_without_a_store_or_a_host_nothing_is_kept(host, tab, monkeypatch):
    del host, tab
    assert session_runs.stored() is None
    monkeypatch.setenv(hosting.RUNS_VARIABLE, "file:///nowhere")
    monkeypatch.setenv(hosting.HOSTED_VARIABLE, "")
    assert stored_runs.name_of(MINE) == hosting.runs_address() == ""


def test_the_folder_goes_with_the_last_tab_of_the_browser(run, place, tab, process):
    tab(MINE, "another tab")
    assert session_runs.runs_folder() == run.parent
    first, second = store().sessions.values()
    first.connected -= 2 * hosting.LEFT_SECONDS
    assert len(session_runs.clear_left(lambda _name: False)) == 1
    assert run.exists()
    (run / "timings.jsonl").write_text("written late\n")
    assert len(leave()) == 1
    assert not run.parent.exists()
    assert not store().stored_runs.browsers
    process("second process")
    tab(MINE)
    assert (fetched().folder / "mine" / "timings.jsonl").read_text() == "written late\n"
    assert names_at(f"{place}/{stored_runs.name_of(MINE)}") == ("mine",)
    assert second.folder == first.folder


def test_a_browser_that_comes_back_in_time_finds_its_folder_and_one_that_left_is_not_written_to(run, tab):
    before = store().stored_runs.browsers[run.parent.name]
    tab(MINE, "another tab")
    assert session_runs.runs_folder() == run.parent
    for session in store().sessions.values():
        session.connected -= 2 * hosting.LEFT_SECONDS
    session_runs.clear_left(lambda _name: False)
    tab(MINE, "a third tab")
    assert session_runs.runs_folder() == run.parent
    session_runs.keep_runs()
    assert run.exists()
    session_runs._let_go(store().stored_runs, before)  # it came back just before
    assert run.exists()
    leave()
    assert not run.exists()
    stores.keep(make(run.parents[2], "later").folder, f"{before.address}/later")
    stored_runs.synchronise(store().stored_runs, before)
    assert not run.parent.exists()
    assert not [path for path in run.parents[1].iterdir() if path.name.startswith(".left")]


def test_a_browser_is_not_let_go_while_its_runs_are_uploaded(run):
    with store().stored_runs.browsers[run.parent.name].lock:
        store().sessions.clear()
        session_runs._let_go(store().stored_runs, store().stored_runs.browsers[run.parent.name])
        assert run.exists()
    session_runs.keep_runs()
    assert not run.exists()


def test_a_run_at_work_is_kept_as_far_as_it_is_and_stays_until_its_job_has_ended(run):
    with only_job(run):
        assert leave()
        assert run.exists()
        assert (run / STOP).exists()
    session_runs.keep_runs()
    assert not run.exists()


def test_a_tab_that_is_closed_stops_no_job_that_another_one_watches(run, tab):
    tab(MINE, "another tab")
    assert session_runs.runs_folder() == run.parent
    store().sessions[f"a tab of {MINE}"].connected -= 2 * hosting.LEFT_SECONDS
    with only_job(run):
        assert len(session_runs.clear_left(lambda _name: False)) == 1
        session_runs.keep_runs()
        assert not (run / STOP).exists()
    assert run.exists()


def test_a_deleted_run_is_gone_in_the_store_too(run, place, process, tab):
    delete_run("mine", run.parent)
    session_runs.forget_run("mine")
    session_runs.keep_runs()
    assert names_at(f"{place}/{run.parent.name}") == ()
    process("second process")
    tab(MINE)
    assert not (fetched().folder / "mine").exists()


def test_a_store_that_cannot_be_reached_is_told_and_nothing_is_lost(run, place, monkeypatch):
    def fail(*_arguments):
        message = "the network is down"
        raise RunError(message)

    with monkeypatch.context() as patch:
        patch.setattr(stores, "below", fail)
        make(run.parent, "late")
        session_runs.keep_runs()
        assert "cannot keep runs at the moment" in open_runs().warning[0].value
        assert leave()
        assert run.parent.exists()
    session_runs.keep_runs()
    assert not run.parent.exists()
    assert names_at(f"{place}/{run.parent.name}") == ("late", "mine")


def test_a_run_of_the_same_name_from_elsewhere_is_not_mixed_with_it(run, place):
    name = run.parent.name
    elsewhere = make(run.parents[2] / "elsewhere", "another").folder
    stores.keep(elsewhere, f"{place}/{name}/another")
    mine = make(run.parent, "another", quality=(1.0, 0.0, 1.0)).folder
    session_runs.keep_runs()
    assert "another run named another" in open_runs().warning[0].value
    assert contents(mine) != contents(elsewhere)
    stores.fetch(f"{place}/{name}/another", run.parents[2] / "fetched")
    assert contents(run.parents[2] / "fetched") == contents(elsewhere)
    delete_run("another", run.parent)
    session_runs.forget_run("another")
    assert names_at(f"{place}/{name}") == ("another", "mine")
    session_runs.keep_runs()
    session_runs.keep_runs()
    assert contents(run.parent / "another") == contents(elsewhere)  # the one that was kept
    assert fetched().fault == ""


@pytest.mark.parametrize("limit", ["stored", "stored_by_one"])
def test_a_full_store_is_told_and_what_is_in_it_is_still_kept(run, place, monkeypatch, limit):
    stored = sum(one.num_bytes for one in stores.below(place).values())
    own = {"stored": stored, "stored_by_one": store().stored_runs.added["203.0.113.5"]}
    assert min(own.values()) > 0
    monkeypatch.setattr(hosting, "HOST", hosting.replace(hosting.HOST, **{limit: own[limit]}))
    make(run.parent, "late")
    (run / "timings.jsonl").write_text("\n")
    session_runs.keep_runs()
    assert "is full" in open_runs().warning[0].value
    assert names_at(f"{place}/{run.parent.name}") == ("mine",)
    stores.fetch(f"{place}/{run.parent.name}/mine", run.parents[2] / "fetched")
    assert (run.parents[2] / "fetched" / "timings.jsonl").read_text() == "\n"
    leave()
    assert not run.parent.exists()  # it was told


def test_the_growth_of_a_run_counts_too(run, monkeypatch):
    every, added = store().stored_runs, store().stored_runs.added["203.0.113.5"]
    monkeypatch.setattr(hosting, "HOST", hosting.replace(hosting.HOST, stored_by_one=added + 100))
    for size, says in ((50, ""), (150, "is full")):
        (run / "timings.jsonl").write_text("x" * ((run / "timings.jsonl").stat().st_size + size))
        session_runs.keep_runs()
        assert says in fetched().fault
        assert added <= every.added["203.0.113.5"] <= added + 100


def test_more_kept_runs_than_a_visitor_may_have_here_are_told(run, process, tab, monkeypatch):
    make(run.parent, "other")
    session_runs.keep_runs()
    one = max(found.num_bytes for found in stores.below(fetched().address).values())
    monkeypatch.setattr(hosting, "HOST", hosting.replace(hosting.HOST, bytes_each=one))
    process("second process")
    tab(MINE)
    kept = fetched()
    assert len([path for path in kept.folder.iterdir() if path.is_dir()]) == 1
    assert "Delete some to see the others" in kept.fault


def test_a_folder_without_a_manifest_is_left_alone_and_the_others_are_fetched(run, place, process, tab):
    there = f"{place}/{run.parent.name}"
    damaged = make(run.parents[2], "damaged").folder
    stores.keep(damaged, f"{there}/damaged")
    files = stores._place(f"{there}/damaged", damaged)
    files.files.rm_file(files.at("manifest.json"))
    process("second process")
    tab(MINE)
    kept = fetched()
    assert [path.name for path in kept.folder.iterdir() if path.is_dir()] == ["mine"]
    assert kept.fault == ""


def test_a_first_upload_that_failed_goes_on_and_the_run_is_the_browsers_own(run, monkeypatch, place):
    def half(folder, address, *, anew):
        del anew
        there = stores._place(address, folder)
        there.files.put_file(str(folder / "manifest.json"), there.at("manifest.json"))
        message = "the network is down"
        raise RunError(message)

    with monkeypatch.context() as patch:
        patch.setattr(stores, "keep", half)
        late = make(run.parent, "late").folder
        session_runs.keep_runs()
    assert "cannot keep" in fetched().fault
    session_runs.keep_runs()
    assert fetched().fault == ""
    stores.fetch(f"{place}/{run.parent.name}/late", run.parents[2] / "fetched")
    assert contents(run.parents[2] / "fetched") == contents(late)


def test_runs_that_are_deleted_while_the_store_is_asked_do_not_come_back(run, place, monkeypatch):
    make(run.parent, "other")
    session_runs.keep_runs()
    real = stores.forget

    def forget(address):
        delete_run("other", run.parent)  # before it is marked as unwanted
        real(address)

    with monkeypatch.context() as patch:
        patch.setattr(stores, "forget", forget)
        delete_run("mine", run.parent)
        fetched().unwanted.add("mine")
        session_runs.keep_runs()
    assert [path.name for path in run.parent.iterdir() if path.is_dir()] == []
    stored_runs.synchronise(store().stored_runs, fetched())  # between the deletion here and its mark
    assert [path.name for path in run.parent.iterdir() if path.is_dir()] == []
    session_runs.forget_run("other")
    session_runs.keep_runs()
    assert names_at(f"{place}/{run.parent.name}") == ()


def test_nothing_is_asked_of_the_store_while_nothing_changes(run, monkeypatch):
    monkeypatch.setattr(stores, "below", lambda _address: 1 / 0)
    session_runs.keep_runs()
    assert fetched().fault == ""
    (run / "timings.jsonl").write_text("changed\n")
    session_runs.keep_runs()
    assert "cannot keep" in fetched().fault


def test_no_run_is_made_while_others_are_on_their_way_and_the_page_says_so(run, process, tab, monkeypatch):
    del run
    process("second process")
    tab(MINE)
    go_on, real = threading.Event(), stores.fetch
    monkeypatch.setattr(stores, "fetch", lambda *arguments: (go_on.wait(60), real(*arguments)))
    monkeypatch.setattr(stored_runs, "FETCH_SECONDS", 0.01)
    assert "still being fetched" in captions(open_runs())
    with pytest.raises(Busy, match="still being fetched"):
        session_runs.make_room()
    go_on.set()
    fetched()
    session_runs.make_room()
    assert "mine" in said(open_runs())


@pytest.mark.parametrize("name", ["..", ".hidden", "a b", "x" * 65])
def test_what_is_no_name_of_a_run_is_left_in_the_store(run, name, monkeypatch):
    real = stores.below
    monkeypatch.setattr(stores, "below", lambda address: real(address) | {name: stores.Below(9, is_run=True)})
    stored_runs.synchronise(store().stored_runs, fetched())
    assert fetched().fault == ""
    assert {path.name for path in run.parent.iterdir() if path.is_dir()} == {"mine"}


def test_a_run_that_was_deleted_in_the_store_is_kept_again_once_it_changes(run, place):
    there = f"{place}/{run.parent.name}/mine"
    stores.forget(there)
    stored_runs.synchronise(store().stored_runs, fetched())
    assert names_at(f"{place}/{run.parent.name}") == ()
    assert run.exists()
    (run / "timings.jsonl").write_text("changed\n")
    session_runs.keep_runs()
    stores.fetch(there, run.parents[2] / "fetched")
    assert contents(run.parents[2] / "fetched") == contents(run)


def test_a_host_starts_only_with_a_store_that_it_can_write(place, tmp_path):
    stored_runs.check_store(place)
    (tmp_path / "file").write_text("")
    for wrong in ("ftp://somewhere", f"file://{tmp_path}/file/runs"):
        with pytest.raises(InvalidInput, match="Runs cannot be kept at"):
            stored_runs.check_store(wrong)
    shutil.rmtree(tmp_path / "shared")
