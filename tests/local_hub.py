"""A small hub on this machine, so that nothing reaches the network."""

import hashlib
import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

import huggingface_hub

from tests.architectures import byte_tokenizer, named, tiny_model
from tests.gguf_files import save_gguf

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
        path = folder / ("discussions.json" if rest == ["discussions"] else "/".join(rest[-1:]))
        found = rest[:1] in (["resolve"], ["discussions"]) and path.is_file()
        listed = rest == [] and repository.is_dir()
        if rest[:1] == ["revision"] and (repository / unquote(rest[1])).is_dir():
            repository, listed = repository / unquote(rest[1]), True
        if fault := self.server.faults.get(path.name):
            self.refuse(*fault)
            return
        content = path.read_bytes() if found else _listing(repository) if listed else b""
        asked = self.headers.get("Range", "").removeprefix("bytes=").partition("-")
        if part := found and with_content and self.server.gives_parts and asked[1]:
            content = content[int(asked[0]) : int(asked[2]) + 1]
        self.send_response((206 if part else 200) if found or listed else 404)
        self.send_header("X-Repo-Commit", COMMIT if folder == repository else COMMIT[::-1])
        self.send_header("Content-Length", str(len(content)))
        if found:
            self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        elif not listed:
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


def _listing(repository):
    names = sorted(path.relative_to(repository).as_posix() for path in repository.rglob("*") if path.is_file())
    return json.dumps({"id": repository.name, "siblings": [{"rfilename": name} for name in names]}).encode()


@contextmanager
def serving(handler, root):
    """A server of the folders below `root`."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.root = root
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def use_cache(monkeypatch, folder):
    """Let the hub's client keep its files in a folder, and reach this machine without a proxy."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(folder))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    huggingface_hub.close_session()  # the next one reads the line above


def use_address(monkeypatch, address):
    """Let the hub's client take this address for the hub's; return it as a URL."""
    url = f"http://127.0.0.1:{address[1]}"
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", url)
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", url)
    return url


def publish(hub, name):
    folder = hub.root / name
    tiny_model(named("llama")).save_pretrained(folder)
    byte_tokenizer().save_pretrained(folder)
    return folder


def published_gguf(hub, folder, **options):
    (hub.root / "tiny" / folder).mkdir(parents=True, exist_ok=True)
    save_gguf(hub.root / "tiny" / folder / "tiny-F32.gguf", **options)
    return f"tiny/{folder}/tiny-F32.gguf"
