"""Models of the hub, against a small hub on this machine: nothing here reaches the network."""

import hashlib
import json
import socket
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import huggingface_hub
import pytest
import transformers.utils.hub

from rauq.candidate import examine
from rauq.errors import ModelNotFound
from rauq.judges.nli import load_nli
from rauq.models import load_model
from tests.architectures import byte_tokenizer, named, tiny_language_model, tiny_model
from tests.rauq.judges.classifiers import save_classifier
from tests.tiny import PROMPT, assert_close

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Serves folders below `root` as organisation/name, in the way of the hub; other revisions lie below them."""

    def do_HEAD(self):
        self.answer(with_content=False)

    def do_GET(self):
        self.answer(with_content=True)

    def answer(self, *, with_content):
        owner, name, *rest = self.path.split("?")[0].removeprefix("/api/models").strip("/").split("/")
        repository = self.server.root / owner / name
        revision = unquote(rest[1]) if rest[:1] == ["resolve"] else "main"
        folder = repository if revision in {"main", COMMIT} else repository / revision
        path = folder / ("discussions.json" if rest == ["discussions"] else rest[-1])
        found = rest[:1] in (["resolve"], ["discussions"]) and path.is_file()
        content = path.read_bytes() if found else b""
        self.send_response(200 if found else 404)
        self.send_header("X-Repo-Commit", COMMIT if folder == repository else COMMIT[::-1])
        self.send_header("Content-Length", str(len(content)))
        if found:
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        else:
            missing = "Repo" if not repository.is_dir() else "Entry" if folder.is_dir() else "Revision"
            self.send_header("X-Error-Code", f"{missing}NotFound")
        self.end_headers()
        if with_content:
            self.wfile.write(content)

    def log_message(self, *_args):
        pass


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    huggingface_hub.close_session()  # the next one reads the line above
    return tmp_path / "cache"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)  # one for all tests: clients remember where it is
    server.root = tmp_path_factory.mktemp("hub")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def point_to(monkeypatch):
    def point(address):
        url = f"http://127.0.0.1:{address[1]}"
        template = url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", url)
        monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", url)
        monkeypatch.setattr(transformers.utils.hub, "_hf_api", None)  # made once, of the endpoint at that time

    return point


@pytest.fixture
def hub(server, point_to):
    point_to(server.server_address)
    return server


@pytest.fixture
def no_hub(point_to):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        point_to(closed.getsockname())
        yield


def publish(hub, name):
    folder = hub.root / name
    tiny_model(named("llama")).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


def test_a_model_of_the_hub_names_its_commit_and_loads_again_without_network(hub, point_to):
    publish(hub, "tiny/llama")
    original = tiny_language_model(named("llama"))
    lm = load_model("tiny/llama")
    assert (lm.name, lm.revision) == ("tiny/llama", COMMIT)
    assert_close(lm.generate(PROMPT, max_new_tokens=5), original.generate(PROMPT, max_new_tokens=5))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        point_to(closed.getsockname())
        began = time.monotonic()
        again = load_model("tiny/llama")
        assert time.monotonic() - began < 10  # the hub's own client goes on for over 20
    assert again.revision == COMMIT


def test_a_revision_that_is_not_there_is_refused(hub):
    publish(hub, "tiny/llama")
    assert load_model("tiny/llama", revision=COMMIT).revision == COMMIT
    with pytest.raises(ModelNotFound, match=r"tiny/llama.*RevisionNotFound"):
        load_model("tiny/llama", revision="v9")


@pytest.mark.usefixtures("hub")
def test_a_name_that_the_hub_does_not_have_is_refused():
    with pytest.raises(ModelNotFound, match=r"the hub gives no model of that name .*Check the spelling"):
        load_model("nobody/nothing")


def test_looking_at_a_model_of_the_hub_fetches_no_weights(hub, cache):
    publish(hub, "tiny/llama")
    candidate = examine("tiny/llama")
    assert (candidate.name, candidate.num_layers, candidate.architecture) == ("tiny/llama", 3, "LlamaForCausalLM")
    fetched = {path.name for path in cache.rglob("*") if path.is_symlink()}
    assert "config.json" in fetched
    assert not any(name.endswith(".safetensors") for name in fetched)


def test_a_model_of_which_only_the_config_was_fetched_is_not_here_without_network(hub, point_to):
    publish(hub, "tiny/llama")
    examine("tiny/llama")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        point_to(closed.getsockname())
        with pytest.raises(ModelNotFound, match="The weights of tiny/llama cannot be loaded"):
            examine("tiny/llama")


def test_pickled_weights_of_the_hub_are_not_taken(hub):
    folder = publish(hub, "tiny/pickled")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    for look in (examine, load_model):
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


def test_what_a_stranger_offers_in_place_of_pickled_weights_is_not_taken(hub):
    publish_judge(hub, "tiny/offered", author="stranger")
    with pytest.raises(ModelNotFound, match="only pickled, which are never read, and offers no conversion"):
        load_nli("tiny/offered")


@pytest.mark.usefixtures("no_hub")
def test_without_network_an_unknown_name_is_refused_at_once():
    began = time.monotonic()
    with pytest.raises(
        ModelNotFound, match=r"'nobody/nothing' is no folder here.*there is no network .*\"atlas\" is embedded"
    ):
        load_model("nobody/nothing")
    assert time.monotonic() - began < 10  # the hub's own client goes on for over 20


def test_a_hub_that_does_not_answer_is_not_waited_for(point_to, monkeypatch):
    monkeypatch.setattr("rauq.loading._HUB_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        point_to(silent.getsockname())
        began = time.monotonic()
        with pytest.raises(ModelNotFound, match="Timeout"):
            load_model("nobody/nothing")
        assert time.monotonic() - began < 10  # the hub's own client goes on for over 20


def test_offline_mode_is_obeyed(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelNotFound, match="offline"):
        load_model("nobody/nothing")


@pytest.mark.usefixtures("no_hub")
@pytest.mark.parametrize("name", ["", "a/b/c", "no such name", "x" * 300, "/no/such/folder", "nul\0", "../llama"])
def test_what_is_no_name_of_a_model_is_refused(name):
    with pytest.raises(ModelNotFound, match="is no folder here"):
        load_model(name)
