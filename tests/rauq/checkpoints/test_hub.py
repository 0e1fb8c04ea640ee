"""Models of the hub, against a small hub on this machine: nothing here reaches the network."""

import hashlib
import json
import socket
from dataclasses import replace

import huggingface_hub
import pytest

from rauq.checkpoints.gguf import header
from rauq.checkpoints.hub import HubFile
from rauq.checkpoints.model_info import inspect_model
from rauq.errors import ModelNotFound, OutOfMemory, UnsupportedModel
from rauq.methods.pair_scorers.loading import load_nli
from rauq.model.loading import load_model
from tests.architectures import named, tiny_language_model
from tests.local_hub import COMMIT, publish, published_gguf
from tests.rauq.methods.pair_scorers.classifiers import save_classifier
from tests.tiny import PROMPT, assert_close


def test_a_model_of_the_hub_names_its_commit_and_loads_again_without_network(hub, point_to):
    publish(hub, "tiny/llama")
    original = tiny_language_model(named("llama"))
    lm = load_model("tiny/llama")
    assert (lm.name, lm.revision) == ("tiny/llama", COMMIT)
    assert_close(lm.generate(PROMPT, max_new_tokens=5), original.generate(PROMPT, max_new_tokens=5))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        point_to(closed.getsockname())
        again = load_model("tiny/llama")
    assert again.revision == COMMIT


def test_a_revision_that_is_not_there_is_refused(hub):
    publish(hub, "tiny/llama")
    assert load_model("tiny/llama", revision=COMMIT).revision == COMMIT
    with pytest.raises(ModelNotFound, match=r"tiny/llama.*not in that revision \(RevisionNotFound.*Give a branch"):
        load_model("tiny/llama", revision="v9")


@pytest.mark.usefixtures("hub")
def test_a_name_that_the_hub_does_not_have_is_refused():
    with pytest.raises(ModelNotFound, match=r"no model of that name is available on the hub .*Check the spelling"):
        load_model("nobody/nothing")


def test_looking_at_a_model_of_the_hub_fetches_no_weights(hub, hub_cache):
    publish(hub, "tiny/llama")
    info = inspect_model("tiny/llama")
    assert (info.name, info.num_layers, info.architecture) == ("tiny/llama", 3, "LlamaForCausalLM")
    fetched = {path.name for path in hub_cache.rglob("*") if path.is_symlink()}
    assert "config.json" in fetched
    assert not any(name.endswith(".safetensors") for name in fetched)


def test_a_model_of_which_only_the_config_was_fetched_is_not_here_without_network(hub, point_to):
    publish(hub, "tiny/llama")
    inspect_model("tiny/llama")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        point_to(closed.getsockname())
        with pytest.raises(
            ModelNotFound, match=r"The weights of tiny/llama cannot be loaded .*the hub does not answer"
        ):
            inspect_model("tiny/llama")


def test_pickled_weights_of_the_hub_are_not_taken(hub):
    folder = publish(hub, "tiny/pickled")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    for look in (inspect_model, load_model):
        with pytest.raises(ModelNotFound, match="The weights of tiny/pickled cannot be loaded"):
            look("tiny/pickled")


def publish_judge(hub, name, *, author):
    """Its weights are pickled, and this account offers them as safetensors."""
    save_classifier(hub.root / name)
    (hub.root / name / "model.safetensors").rename(hub.root / name / "pytorch_model.bin")
    save_classifier(hub.root / name / "refs/pr/7")
    offer = {"title": "", "num": 7, "status": "open", "isPullRequest": True, "createdAt": "2024-01-01T00:00:00.000Z"}
    offer |= {"author": {"name": author}, "repo": {"name": name, "type": "model"}}
    listed = {"discussions": [offer], "count": 1, "start": 0}
    (hub.root / name / "discussions.json").write_text(json.dumps(listed))


def test_a_judge_with_pickled_weights_is_taken_as_the_hubs_own_conversion_and_again_without_network(hub, point_to):
    publish_judge(hub, "tiny/judge", author="SFconvertbot")
    wanted = load_nli(str(hub.root / "tiny/judge/refs/pr/7"))(["yes"], ["no"])
    assert (load_nli("tiny/judge")(["yes"], ["no"]) == wanted).all()
    with pytest.raises(ModelNotFound, match=r"weights of tiny/judge cannot be loaded .*model\.safetensors"):
        load_nli("tiny/judge", revision=COMMIT)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        point_to(closed.getsockname())
        assert (load_nli("tiny/judge")(["yes"], ["no"]) == wanted).all()


def test_a_conversion_by_another_account_is_not_used_for_pickled_weights(hub):
    publish_judge(hub, "tiny/offered", author="stranger")
    with pytest.raises(ModelNotFound, match="only pickled, which are never read, and offers no conversion"):
        load_nli("tiny/offered")


def test_a_gguf_file_of_the_hub_loads_by_its_name_and_again_without_network(hub, point_to):
    lm = load_model(name := published_gguf(hub, "gguf"))
    digest = hashlib.sha256((hub.root / name).read_bytes()).hexdigest()
    assert (lm.name, lm.revision) == (name, digest)
    assert load_model(name, revision=COMMIT).revision == digest
    with pytest.raises(ModelNotFound, match=r"but not that file \(RemoteEntryNotFoundError\)\. Check the spelling"):
        load_model("tiny/gguf/other.gguf")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        point_to(closed.getsockname())
        assert load_model(name, revision=digest).revision == digest
        with pytest.raises(ModelNotFound, match=r"there is no network .*A GGUF file on this machine works"):
            load_model("tiny/gguf/other.gguf")


def test_a_gguf_file_of_the_hub_is_described_before_it_is_fetched(hub, hub_cache, monkeypatch):
    monkeypatch.setattr(header, "_FIRST_READ", 2**14)
    name = published_gguf(hub, "described")
    num_bytes = (hub.root / name).stat().st_size
    info = inspect_model(name, device="cpu")
    assert (info.bytes_in_file, info.quantisation, info.num_layers) == (num_bytes, "F32", 3)
    assert hub.sent["tiny-F32.gguf"] <= num_bytes / 2
    monkeypatch.setattr("rauq.checkpoints.loading.free_main_memory", lambda: 1000)
    with pytest.raises(OutOfMemory, match="does not fit"):
        load_model(name, device="cpu")
    assert not list(hub_cache.rglob("*.gguf"))


def test_a_gguf_file_of_the_hub_that_cannot_be_read_exactly_is_not_fetched(hub, hub_cache, monkeypatch):
    monkeypatch.setattr(header, "_FIRST_READ", 2**14)
    name = published_gguf(hub, "refused", entries={"llama.something.new": 3})
    for look in (inspect_model, load_model):
        with pytest.raises(UnsupportedModel, match=rf"{name} cannot be read exactly: 'llama\.something\.new'"):
            look(name)
    assert hub.sent["tiny-F32.gguf"] <= (hub.root / name).stat().st_size / 2
    assert not list(hub_cache.rglob("*.gguf"))


@pytest.mark.parametrize("gives_parts", [True, False])
def test_any_part_of_a_file_of_the_hub_can_be_read(gives_parts, hub, monkeypatch):
    """Factors of a position embedding lie among the weights; a mirror may know whole files alone."""
    monkeypatch.setattr(hub, "gives_parts", gives_parts)
    name = published_gguf(hub, "parts")
    content = (hub.root / name).read_bytes()
    file = HubFile(model="tiny/parts", file="tiny-F32.gguf", revision=None, num_bytes=len(content))
    for start, length in ((0, 4), (100_000, 70), (len(content) - 3, 3)):
        assert file.read(start, length) == content[start : start + length]
    assert inspect_model(name).bytes_in_file == len(content)
    with pytest.raises(ModelNotFound, match=r"The header of tiny/parts/none\.gguf cannot be loaded: .* not that file"):
        replace(file, file="none.gguf").read(0, 4)


@pytest.mark.usefixtures("no_hub")
def test_without_network_an_unknown_name_is_refused_at_once():
    with pytest.raises(
        ModelNotFound, match=r"Folder 'nobody/nothing' not found.*there is no network .*\"atlas\" is embedded"
    ):
        load_model("nobody/nothing")


def test_a_hub_that_does_not_answer_is_not_waited_for(point_to, monkeypatch):
    monkeypatch.setattr("rauq.checkpoints.hub.HUB_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        point_to(silent.getsockname())
        with pytest.raises(ModelNotFound, match=r"it did not answer in time \(\w*Timeout\)") as caught:
            load_model("nobody/nothing")
    assert "no network" not in str(caught.value)


def test_a_hub_that_stops_answering_leaves_the_first_reason(hub, monkeypatch):
    publish(hub, "tiny/bare")
    (hub.root / "tiny/bare/config.json").unlink()

    def silent(*_args, **_options):
        raise TimeoutError

    monkeypatch.setattr("rauq.checkpoints.hub.HfApi.model_info", silent)
    with pytest.raises(ModelNotFound, match="but not that file"):
        load_model("tiny/bare")


@pytest.mark.usefixtures("hub_cache")
def test_offline_mode_is_respected(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelNotFound, match="HF_HUB_OFFLINE is set"):
        load_model("nobody/nothing")


@pytest.mark.usefixtures("no_hub")
@pytest.mark.parametrize("name", ["", "a/b/c", "no such name", "x" * 300, "/no/such/folder", "nul\0", "../llama"])
def test_an_invalid_model_name_is_refused(name, tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")  # beside it there is no folder of any name
    with pytest.raises(ModelNotFound, match=r"Folder .* not found"):
        load_model(name)
