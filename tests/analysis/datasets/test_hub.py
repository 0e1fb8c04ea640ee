"""The paper's sets from a small hub on this machine: nothing here reaches the network."""

import hashlib
import json
from http.server import BaseHTTPRequestHandler

import datasets
import huggingface_hub
import pytest

from analysis.datasets.public.paper_set import load_paper_set, raw_rows
from analysis.datasets.public.twelve import PAPER_SETS
from rauq.errors import DataSetNotFound
from tests.analysis.datasets.raw_data import COUNT, ROWS, split_of
from tests.local_hub import serving, use_address, use_cache

COMMIT = "0123456789abcdef0123456789abcdef01234567"
MMLU = PAPER_SETS["mmlu"]


class Hub(BaseHTTPRequestHandler):
    """Serves folders below `root` as data sets called organisation/name, in the way of the hub."""

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def answer(self):
        self.server.asked.append(self.path)
        address = self.path.partition("?")[0].removeprefix("/api").removeprefix("/datasets/")
        owner, name, *rest = address.split("/")
        repository = self.server.root / owner / name
        path = repository.joinpath(*rest[2:])
        if not repository.is_dir():
            self.give(404, b"", {"X-Error-Code": "RepoNotFound"})
        elif rest[:1] == ["tree"] and path.is_dir():
            listed = path.glob("**/*" if "recursive=true" in self.path.lower() else "*")
            self.give(200, json.dumps([self.entry(each, repository) for each in listed]).encode(), {})
        elif rest[:1] == ["resolve"] and path.is_file():
            self.give_file(path)
        elif rest[:1] in ([], ["revision"]):
            self.give(200, json.dumps({"id": f"{owner}/{name}", "sha": COMMIT, "siblings": []}).encode(), {})
        else:
            self.give(404, b"", {"X-Error-Code": "EntryNotFound"})

    def entry(self, path, repository):
        kind = "directory" if path.is_dir() else "file"
        return {"type": kind, "oid": "0", "size": path.stat().st_size, "path": str(path.relative_to(repository))}

    def give_file(self, path):
        content = path.read_bytes()
        tag = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"'}
        if self.command == "GET":
            self.server.given.append(path.name)
        if not (wanted := self.headers.get("Range")):
            self.give(200, content, tag)
            return
        first, last = wanted.removeprefix("bytes=").split("-")
        part = content[int(first) : int(last or len(content)) + 1]
        span = f"bytes {first}-{int(first) + len(part) - 1}/{len(content)}"
        self.give(206, part, tag | {"Content-Range": span})

    def give(self, status, content, headers):
        self.send_response(status)
        for name, value in (headers | {"X-Repo-Commit": COMMIT, "Content-Length": str(len(content))}).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(content)

    def log_message(self, *_args):
        pass


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with serving(Hub, tmp_path_factory.mktemp("hub")) as server:
        server.given, server.asked = [], []
        yield server


@pytest.fixture
def hub(server, monkeypatch, tmp_path):
    use_cache(monkeypatch, tmp_path)
    url = use_address(monkeypatch, server.server_address)
    monkeypatch.setattr(datasets.config, "HF_ENDPOINT", url)
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)
    huggingface_hub.close_session()  # the next one reads the lines above
    server.given.clear()
    server.asked.clear()
    return server


def publish(hub):
    folder = hub.root / MMLU.hub_id
    (folder / "all").mkdir(parents=True, exist_ok=True)
    splits = ("test", "dev", "auxiliary_train")
    files = [{"split": split, "path": f"all/{split}-*"} for split in splits]
    card = json.dumps({"configs": [{"config_name": "all", "data_files": files}]})
    (folder / "README.md").write_text(f"---\n{card}\n---\n")  # JSON is YAML
    for place, split in enumerate(splits):
        split_of("mmlu", start=100 * place).to_parquet(str(folder / "all" / f"{split}-0.parquet"))


def test_only_the_needed_splits_of_a_hub_set_are_read(hub):
    publish(hub)
    data = load_paper_set(MMLU, kind="base", limit=4)
    assert len(data.examples) == 4
    assert all("first 1" in example.prompt.split("\n\n")[1] for example in data.examples)  # solved rows begin at 100
    assert set(hub.given) == {"README.md", "test-0.parquet", "dev-0.parquet"}
    assert list(raw_rows(MMLU, "test", None)) == [ROWS["mmlu"](n) for n in range(COUNT)]


def test_a_set_that_was_a_loading_script_is_read_from_its_parquet_branch(hub):
    xsum = PAPER_SETS["xsum"]
    for split in ("train", "test"):
        folder = hub.root / xsum.hub_id / "default" / split
        folder.mkdir(parents=True)
        split_of("xsum").to_parquet(str(folder / "0000.parquet"))
    assert list(raw_rows(xsum, "test", None)) == [ROWS["xsum"](n) for n in range(COUNT)]
    assert any("refs%2Fconvert%2Fparquet" in address for address in hub.asked)


def test_an_unknown_hub_name_is_reported(hub):
    with pytest.raises(
        DataSetNotFound, match=r"is openai/gsm8k: no data set of that name .*\(RepositoryNotFoundError"
    ) as caught:
        next(raw_rows(PAPER_SETS["gsm8k"], "test", None))
    assert "no network" not in str(caught.value)
    assert hub.given == []
