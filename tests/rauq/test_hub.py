"""Models of the hub, against a small hub on this machine: nothing here reaches the network."""

import errno
import hashlib
import json
import socket
import threading
from collections import Counter
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import huggingface_hub
import pytest
import transformers.utils.hub

from rauq.candidate import examine
from rauq.checkpoints.gguf import header
from rauq.checkpoints.gguf.hub import HubFile
from rauq.errors import ModelNotFound, OutOfMemory, UnsupportedModel
from rauq.judges.nli import load_nli
from rauq.load_errors import hub_failure
from rauq.models import load_model
from tests.architectures import byte_tokenizer, named, tiny_language_model, tiny_model
from tests.gguf_files import save_gguf
from tests.rauq.judges.classifiers import save_classifier
from tests.retries import refuse_retries
from tests.tiny import PROMPT, assert_close

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(BaseHTTPRequestHandler):
    """Serves folders below `root` as organisation/name, in the way of the hub; other revisions lie below them.

    `faults` are statuses and headers with which it refuses files of these names; it breaks off in those of `broken`.
    """

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
        if fault := self.server.faults.get(path.name):
            self.refuse(*fault)
            return
        content = path.read_bytes() if found else b""
        asked = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if part := found and with_content and self.server.gives_parts and asked[1]:
            content = content[int(asked[0]) : int(asked[2]) + 1]
        self.send_response((206 if part else 200) if found else 404)
        self.send_header("X-Repo-Commit", COMMIT if folder == repository else COMMIT[::-1])
        self.send_header("Content-Length", str(len(content)))
        if found:
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        else:
            missing = "Repo" if not repository.is_dir() else "Entry" if folder.is_dir() else "Revision"
            self.send_header("X-Error-Code", f"{missing}NotFound")
        self.end_headers()
        if with_content:
            self.server.sent[path.name] += len(content)
            self.wfile.write(content[:1] if path.name in self.server.broken else content)

    def refuse(self, status, headers):
        self.send_response(status)
        for name, value in (headers | {"Content-Length": "0"}).items():
            self.send_header(name, value)
        self.end_headers()

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
    server.gives_parts = True
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def point_to(monkeypatch):
    refuse_retries(monkeypatch)

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
    server.sent, server.faults, server.broken = Counter(), {}, set()
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


REFUSALS = {
    "gated": (403, {"X-Error-Code": "GatedRepo"}, r"accepted its terms \(GatedRepoError\)\. .* hf auth login"),
    "token": (401, {}, r"the hub refuses it to this user \(HTTP 401\)\. .* HF_TOKEN"),
    "disabled": (
        403,
        {"X-Error-Message": "Access to this resource is disabled."},
        r"has disabled it .* Choose another",
    ),
    "revision": (404, {"X-Error-Code": "RevisionNotFound"}, r"not in that revision \(RevisionNotFoundError\)"),
    "file": (404, {"X-Error-Code": "EntryNotFound"}, r"not that file of it \(RemoteEntryNotFoundError\)"),
    "repository": (404, {"X-Error-Code": "RepoNotFound"}, r"no model of that name .* \(RepositoryNotFoundError\)"),
    "often": (429, {}, r"too many requests from here \(HTTP 429\)\. Try again in some minutes"),
    "broken": (503, {}, r"the hub has a fault of its own \(HTTP 503\)\. Try again later"),
    "odd": (418, {}, r"the hub refuses the request \(HTTP 418\)\. .* HF_ENDPOINT"),
}


@pytest.mark.parametrize("file", ["config.json", "model.safetensors", "tiny-F32.gguf"])
@pytest.mark.parametrize(("status", "headers", "says"), REFUSALS.values(), ids=REFUSALS)
def test_why_the_hub_refuses_is_said_and_is_not_the_network(status, headers, says, file, hub):
    hub.faults[file] = status, headers
    publish(hub, "tiny/refused-why")
    name = f"tiny/refused-why{'/' + file if file.endswith('.gguf') else ''}"
    if (file, status, headers.get("X-Error-Code")) == ("model.safetensors", 404, "EntryNotFound"):
        says = r"there is no model\.safetensors or model\.safetensors\.index\.json"
    with pytest.raises(ModelNotFound, match=says) as caught:
        load_model(name)
    assert "no network" not in str(caught.value)
    assert len(str(caught.value)) < 330


def test_a_download_that_breaks_off_is_said_to(hub):
    name = published_gguf(hub, "cut")
    hub.broken.add("tiny-F32.gguf")
    with pytest.raises(
        ModelNotFound, match=rf"The header of {name} .* broke off, .* \(RemoteProtocolError\)\. Try again"
    ):
        load_model(name)


def test_a_disk_that_is_full_is_said_to_be(hub, monkeypatch):
    def fill(*_arguments, **_options):
        raise OSError(errno.ENOSPC, "No space left on device")

    name = published_gguf(hub, "large")
    monkeypatch.setattr("rauq.checkpoints.gguf.hub.hf_hub_download", fill)
    with pytest.raises(
        ModelNotFound, match=rf"The file of {name} .* the disk is full \(OSError\)\. Make room, .*HF_HOME"
    ):
        load_model(name)


def test_a_connection_that_is_not_safe_is_said_to_be_none(hub, monkeypatch):
    """The hub here speaks plain HTTP."""
    template = f"https://127.0.0.1:{hub.server_address[1]}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    with pytest.raises(ModelNotFound, match=r"no safe connection .* \(ConnectError\)\. .*SSL_CERT_FILE.*\"atlas\""):
        load_model("nobody/nothing")


def test_a_proxy_that_does_not_lead_to_the_hub_is_named(hub, monkeypatch):
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", f"http://127.0.0.1:{hub.server_address[1]}")
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{hub.server_address[1]}")
    template = "https://hub.invalid/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    huggingface_hub.close_session()
    with pytest.raises(ModelNotFound, match=r"the proxy does not lead to the hub \(ProxyError\)\. .*HTTPS_PROXY"):
        load_model("nobody/nothing")
    huggingface_hub.close_session()


def raised_from(error, cause):
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (OSError("Consistency check failed: file should be of size 3 but has size 2"), "broke off"),
        (huggingface_hub.errors.XetDownloadError("a block is missing"), "broke off"),
        (RuntimeError("I/O error: No space left on device (os error 28)"), "the disk is full"),
        (huggingface_hub.errors.LocalTokenNotFoundError("none"), "refuses it to this user"),
        (huggingface_hub.errors.FileMetadataError("no commit"), "what answers is not the hub"),
        (huggingface_hub.errors.LocalEntryNotFoundError("none"), "not in the hub's cache"),
        (raised_from(OSError("We couldn't connect"), TimeoutError("late")), "did not answer in time"),
        (raised_from(OSError("We couldn't connect"), ConnectionRefusedError("no")), "there is no network"),
        (raised_from(huggingface_hub.errors.LocalEntryNotFoundError("no"), ConnectionResetError()), "broke off"),
    ],
    ids=repr,
)
def test_what_led_to_an_error_is_what_is_said(error, says):
    assert says in hub_failure(error).what


def test_an_error_of_another_kind_is_not_laid_at_the_hubs_door(monkeypatch):
    error = ValueError("odd")

    def fail(*_arguments, **_options):
        raise error

    assert hub_failure(error) is None
    monkeypatch.setattr("rauq.whereabouts.ask_hub", fail)
    with pytest.raises(ModelNotFound, match=r"asking the hub failed \(ValueError: odd\)\. A folder works"):
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
        with pytest.raises(
            ModelNotFound, match=r"The weights of tiny/llama cannot be loaded .*the hub does not answer"
        ):
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


def published_gguf(hub, folder, **options):
    (hub.root / "tiny" / folder).mkdir(parents=True, exist_ok=True)
    save_gguf(hub.root / "tiny" / folder / "tiny-F32.gguf", **options)
    return f"tiny/{folder}/tiny-F32.gguf"


def test_a_gguf_file_of_the_hub_loads_by_its_name_and_again_without_network(hub, point_to):
    lm = load_model(name := published_gguf(hub, "gguf"))
    digest = hashlib.sha256((hub.root / name).read_bytes()).hexdigest()
    assert (lm.name, lm.revision) == (name, digest)
    assert load_model(name, revision=COMMIT).revision == digest
    with pytest.raises(
        ModelNotFound, match=r"but not that file of it \(RemoteEntryNotFoundError\)\. Check the spelling"
    ):
        load_model("tiny/gguf/other.gguf")
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        point_to(closed.getsockname())
        assert load_model(name, revision=digest).revision == digest
        with pytest.raises(ModelNotFound, match=r"there is no network .*A GGUF file on this machine works"):
            load_model("tiny/gguf/other.gguf")


def test_a_gguf_file_of_the_hub_is_described_before_it_is_fetched(hub, cache, monkeypatch):
    monkeypatch.setattr(header, "_FIRST_READ", 2**14)
    name = published_gguf(hub, "described")
    num_bytes = (hub.root / name).stat().st_size
    candidate = examine(name, device="cpu")
    assert (candidate.bytes_in_file, candidate.quantisation, candidate.num_layers) == (num_bytes, "F32", 3)
    assert hub.sent["tiny-F32.gguf"] <= num_bytes / 2
    monkeypatch.setattr("rauq.loading.free_main_memory", lambda: 1000)
    with pytest.raises(OutOfMemory, match="does not fit"):
        load_model(name, device="cpu")
    assert not list(cache.rglob("*.gguf"))


def test_a_gguf_file_of_the_hub_that_cannot_be_read_exactly_is_not_fetched(hub, cache, monkeypatch):
    monkeypatch.setattr(header, "_FIRST_READ", 2**14)
    name = published_gguf(hub, "refused", entries={"llama.something.new": 3})
    for look in (examine, load_model):
        with pytest.raises(UnsupportedModel, match=rf"{name} cannot be read exactly: 'llama\.something\.new'"):
            look(name)
    assert hub.sent["tiny-F32.gguf"] <= (hub.root / name).stat().st_size / 2
    assert not list(cache.rglob("*.gguf"))


@pytest.mark.parametrize("gives_parts", [True, False])
def test_any_part_of_a_file_of_the_hub_can_be_read(gives_parts, hub, monkeypatch):
    """Factors of a position embedding lie among the weights; a mirror may know whole files alone."""
    monkeypatch.setattr(hub, "gives_parts", gives_parts)
    name = published_gguf(hub, "parts")
    content = (hub.root / name).read_bytes()
    file = HubFile(model="tiny/parts", file="tiny-F32.gguf", revision=None, num_bytes=len(content))
    for start, length in ((0, 4), (100_000, 70), (len(content) - 3, 3)):
        assert file.read(start, length) == content[start : start + length]
    assert examine(name).bytes_in_file == len(content)
    with pytest.raises(ModelNotFound, match=r"The header of tiny/parts/none\.gguf cannot be loaded: .* not that file"):
        replace(file, file="none.gguf").read(0, 4)


@pytest.mark.usefixtures("no_hub")
def test_without_network_an_unknown_name_is_refused_at_once():
    with pytest.raises(
        ModelNotFound, match=r"Folder 'nobody/nothing' not found.*there is no network .*\"atlas\" is embedded"
    ):
        load_model("nobody/nothing")


def test_a_hub_that_does_not_answer_is_not_waited_for(point_to, monkeypatch):
    monkeypatch.setattr("rauq.whereabouts.HUB_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        point_to(silent.getsockname())
        with pytest.raises(ModelNotFound, match=r"it did not answer in time \(\w*Timeout\)") as caught:
            load_model("nobody/nothing")
    assert "no network" not in str(caught.value)


def test_offline_mode_is_obeyed(monkeypatch):
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(ModelNotFound, match="offline"):
        load_model("nobody/nothing")


@pytest.mark.usefixtures("no_hub")
@pytest.mark.parametrize("name", ["", "a/b/c", "no such name", "x" * 300, "/no/such/folder", "nul\0", "../llama"])
def test_what_is_no_name_of_a_model_is_refused(name):
    with pytest.raises(ModelNotFound, match=r"Folder .* not found"):
        load_model(name)
