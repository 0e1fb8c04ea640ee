"""Runs that a host keeps in a store: their browser finds them in any process, nobody else does, and none is lost."""

import shutil
import threading

import pytest

from analysis import stores
from analysis.runs.job import only_job
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
    return session_runs.clear_left(lambda _name: False)


@pytest.fixture
def run(process, tab):
    """A run of the browser, which is in the store too."""
    del process, tab
    fetched()
    folder = make(session_runs.runs_folder(), "mine").folder
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
    assert stores.names_at(place) == (stored_runs.name_of(MINE),)


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
    assert stores.names_at(f"{place}/{stored_runs.name_of(MINE)}") == ("mine",)
    assert second.folder == first.folder


def test_a_run_at_work_is_kept_as_far_as_it_is_and_stays_until_its_job_has_ended(run):
    with only_job(run):
        assert leave()
        assert run.exists()
    assert leave()
    assert not run.exists()


def test_a_deleted_run_is_gone_in_the_store_too(run, place, process, tab):
    delete_run("mine", run.parent)
    session_runs.forget_run("mine")
    session_runs.keep_runs()
    assert stores.names_at(f"{place}/{run.parent.name}") == ()
    process("second process")
    tab(MINE)
    assert not (fetched().folder / "mine").exists()


def test_a_store_that_cannot_be_reached_is_told_and_nothing_is_lost(run, place, monkeypatch):
    def fail(*_arguments):
        message = "the network is down"
        raise RunError(message)

    with monkeypatch.context() as patch:
        patch.setattr(stores, "names_at", fail)
        make(run.parent, "late")
        session_runs.keep_runs()
        assert "cannot reach the store" in open_runs().warning[0].value
        assert leave()
        assert run.parent.exists()
    assert leave()
    assert not run.parent.exists()
    assert stores.names_at(f"{place}/{run.parent.name}") == ("late", "mine")


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


@pytest.mark.parametrize("limit", ["stored", "stored_by_one"])
def test_a_full_store_is_told_and_what_is_in_it_is_still_kept(run, place, monkeypatch, limit):
    own = {"stored": stores.bytes_at(place), "stored_by_one": store().stored_runs.added["203.0.113.5"]}
    assert min(own.values()) > 0
    monkeypatch.setattr(hosting, "HOST", hosting.replace(hosting.HOST, **{limit: own[limit]}))
    make(run.parent, "late")
    (run / "timings.jsonl").write_text("changed\n")
    session_runs.keep_runs()
    assert "is full" in open_runs().warning[0].value
    assert stores.names_at(f"{place}/{run.parent.name}") == ("mine",)
    stores.fetch(f"{place}/{run.parent.name}/mine", run.parents[2] / "fetched")
    assert (run.parents[2] / "fetched" / "timings.jsonl").read_text() == "changed\n"


def test_no_run_is_made_while_others_are_on_their_way_and_the_page_says_so(run, process, tab, monkeypatch):
    del run
    process("second process")
    tab(MINE)
    go_on, real = threading.Event(), stores.fetch
    monkeypatch.setattr(stores, "fetch", lambda *arguments: (go_on.wait(60), real(*arguments)))
    monkeypatch.setattr(stored_runs, "FETCH_SECONDS", 0.01)
    assert "on their way" in captions(open_runs())
    with pytest.raises(Busy, match="still being fetched"):
        session_runs.make_room()
    go_on.set()
    fetched()
    session_runs.make_room()
    assert "mine" in said(open_runs())


@pytest.mark.parametrize("name", ["..", ".hidden", "a b", "x" * 65])
def test_what_is_no_name_of_a_run_is_left_in_the_store(run, place, name, monkeypatch):
    real = stores.names_at
    monkeypatch.setattr(stores, "names_at", lambda address: (*real(address), name))
    session_runs.keep_runs()
    assert fetched().fault == ""
    assert {path.name for path in run.parent.iterdir() if path.is_dir()} == {"mine"}
    assert stores.names_at(f"{place}/{run.parent.name}") == ("mine", name)


def test_a_run_that_the_stores_own_rules_deleted_is_kept_anew(run, place):
    there = f"{place}/{run.parent.name}/mine"
    stores.forget(there)
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
