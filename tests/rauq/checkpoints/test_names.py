"""Names of models as people type and paste them: each is understood, or the message says what to type."""

import json
import shutil
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants
from safetensors.torch import load_file, save_file

from rauq.checkpoints.model_info import inspect_model
from rauq.checkpoints.names import ModelName, hub_ids, read_name
from rauq.cli import inspect
from rauq.errors import InvalidInput, ModelNotFound
from rauq.model.loading import load_model
from tests.architectures import save_tiny
from tests.chat_templates import CHATML, chat_model
from tests.gguf_files import save_gguf
from tests.local_hub import COMMIT, publish, published_gguf

DIGEST = "ab" * 32
QUOTES = [
    '"{}"',
    "'{}'",
    "`{}`",
    "\u201c{}\u201d",
    "\u201e{}\u201c",
    "\u2018{}\u2019",
    "\u00ab {} \u00bb",
    "\u300c{}\u300d",
]
QUOTES += ["<{}>", " {}\n", "{},", "\ufeff{}\u200b", "\u00a0{}"]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    for name in ("OLLAMA_MODELS", "HF_ENDPOINT", "RAUQ_MODELS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.setattr("rauq.checkpoints.folders._OLLAMA_SERVICE", tmp_path / "service")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def folder(home):
    """A folder with a blank in its path, and the files of a model, by their names."""
    place = home / "My models" / "tiny"
    place.mkdir(parents=True)
    for name in ("config.json", "tokenizer.json", "model-00001-of-00002.safetensors", "pytorch_model.bin", "README.md"):
        (place / name).write_text("{}")
    (place / "model.safetensors.index.json").write_text('{"weight_map": {"x": "model-00001-of-00002.safetensors"}}')
    return place


@pytest.fixture
def ollama(home):
    """The file of a model that Ollama has under three names."""
    root = home / ".ollama" / "models"
    layer = {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{DIGEST}"}
    for name in (
        "registry.ollama.ai/library/llama3.2/1b",
        "registry.ollama.ai/me/tiny/latest",
        "hf.co/org/q-GGUF/Q4_0",
    ):
        path = root / "manifests" / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"layers": [layer]}))
    blob = root / "blobs" / f"sha256-{DIGEST}"
    blob.parent.mkdir()
    save_gguf(blob)
    return blob


@pytest.fixture
def lm_studio(home):
    file = home / ".lmstudio/models/lmstudio-community/Tiny-1B-it-GGUF/Tiny-1B-it-Q4_K_M.gguf"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"GGUF")
    return file


ADDRESSES = {
    "https://huggingface.co/org/tiny": ("org/tiny", None),
    "https://huggingface.co/org/tiny/": ("org/tiny", None),
    "http://www.huggingface.co/org/tiny?library=transformers#uses": ("org/tiny", None),
    "HTTPS://HuggingFace.co/org/tiny": ("org/tiny", None),
    "huggingface.co/org/tiny": ("org/tiny", None),
    "hf.co/org/tiny": ("org/tiny", None),
    "https://hf-mirror.com/org/tiny": ("org/tiny", None),
    "https://huggingface.co/gpt2": ("gpt2", None),
    "https://huggingface.co/gpt2/tree/main": ("gpt2", None),
    "https://huggingface.co/org/tiny/tree/main": ("org/tiny", None),
    "https://huggingface.co/org/tiny/tree/v1.0": ("org/tiny", "v1.0"),
    "https://huggingface.co/org/tiny/tree/refs%2Fpr%2F7": ("org/tiny", "refs/pr/7"),
    "https://huggingface.co/org/tiny/commit/0a1b": ("org/tiny", "0a1b"),
    "https://huggingface.co/org/tiny/discussions/3": ("org/tiny", None),
    "https://huggingface.co/org/tiny/blob/main/config.json": ("org/tiny", None),
    "https://huggingface.co/org/tiny/resolve/v2/model.safetensors?download=true": ("org/tiny", "v2"),
    "https://huggingface.co/org/tiny/blob/main/tiny-Q8_0.gguf": ("org/tiny/tiny-Q8_0.gguf", None),
    "https://huggingface.co/org/tiny/resolve/v2/sub/tiny.GGUF": ("org/tiny/sub/tiny.GGUF", "v2"),
    "https://huggingface.co/api/models/org/tiny": ("org/tiny", None),
    "https://huggingface.co/org/tiny.git": ("org/tiny", None),
    "git@hf.co:org/tiny.git": ("org/tiny", None),
    "git clone https://huggingface.co/org/tiny": ("org/tiny", None),
    "hf download org/tiny": ("org/tiny", None),
    "hf://org/tiny": ("org/tiny", None),
    "hf://models/org/tiny@v2": ("org/tiny", "v2"),
    "hf:org/tiny": ("org/tiny", None),
    "hf-hub:org/tiny": ("org/tiny", None),
    "huggingface/org/tiny": ("org/tiny", None),
    "org/tiny/": ("org/tiny", None),
    "org/tiny@v1.0": ("org/tiny", "v1.0"),
    "org/tiny@refs/pr/3": ("org/tiny", "refs/pr/3"),
    "org/tiny/tiny.gguf@v2": ("org/tiny/tiny.gguf", "v2"),
    "gpt2@main": ("gpt2", "main"),
    "org/tiny/model.safetensors": ("org/tiny", None),
    "org/tiny/config.json": ("org/tiny", None),
    "org/tiny/tiny.gguf": ("org/tiny/tiny.gguf", None),
    "models--org--tiny": ("org/tiny", None),
    "hf download org/tiny model.gguf": ("org/tiny/model.gguf", None),
    "hf download org/tiny sub/x.gguf --local-dir .": ("org/tiny/sub/x.gguf", None),
    "hf download org/tiny --include '*.gguf'": ("org/tiny", None),
    "huggingface-cli download --local-dir x org/tiny": ("org/tiny", None),
    "hf download --new-flag org/tiny": ("org/tiny", None),
    "hf download --quiet org/tiny a.json b.json --revision v2": ("org/tiny", "v2"),
    "git clone --depth 1 https://huggingface.co/org/tiny tiny": ("org/tiny", None),
    "git clone -b v1 https://huggingface.co/org/tiny.git": ("org/tiny", "v1"),
    "git clone git@hf.co:org/tiny --branch v1": ("org/tiny", "v1"),
    "hf download org/tiny x.gguf --revision=v2": ("org/tiny/x.gguf", "v2"),
    "ollama run hf.co/org/tiny": ("org/tiny", None),
    "huggingface/CodeBERTa-small-v1/config.json": ("huggingface/CodeBERTa-small-v1", None),
    "huggingface/tiny/x.gguf": ("huggingface/tiny/x.gguf", None),
    "Atlas": ("atlas", None),
    "SmolLM2": ("smollm2", None),
}
AS_TYPED = [
    "atlas",
    "smollm2",
    "gpt2",
    "org/tiny",
    "huggingface/tiny",
    "hf/tiny",
    "",
    "a/b/c",
    "nul\0",
    "../x",
    "C:/x/y",
    "x y",
]


@pytest.mark.parametrize(("typed", "found"), ADDRESSES.items(), ids=ADDRESSES)
def test_a_model_of_the_hub_is_found_in_what_is_pasted(typed, found):
    read = read_name(typed)
    assert (read.source, read.revision) == found
    assert bool(read.note(typed)) == (found[0] != typed.rstrip("/"))
    assert read_name(read.source, revision=read.revision) == read


@pytest.mark.parametrize("typed", AS_TYPED)
def test_any_other_name_stays_as_it_is(typed):
    assert read_name(typed, revision="v1") == ModelName(source=typed, revision="v1")
    assert read_name(typed).note(typed) == ""


@pytest.mark.parametrize("around", QUOTES)
def test_quotes_and_blanks_around_a_name_are_left_out(around, folder):
    for name in ("org/tiny", "smollm2", "https://hf.co/org/tiny", str(folder)):
        assert read_name(around.format(name)) == read_name(name)


def test_a_file_of_a_model_stands_for_its_folder(folder):
    for file in sorted(folder.iterdir()):
        if file.suffix == ".bin":
            with pytest.raises(ModelNotFound, match="is a pickled file, which is never read"):
                read_name(file)
            continue
        assert read_name(file).source == str(folder)
        assert read_name(f'"{file}"').note(f'"{file}"') == f'Read "{file}" as {folder}.'
    lonely = shutil.copy(folder / "pytorch_model.bin", folder.parent)
    assert read_name(lonely).source == lonely
    save_gguf(folder / "tiny")
    for gguf in (folder / "tiny", folder / "later.gguf"):
        gguf.touch()
        assert read_name(gguf).source == str(gguf)


def test_a_file_of_weights_is_never_replaced_by_the_others_of_its_folder(home):
    folder = save_tiny(home / "tiny")
    weights = load_file(folder / "model.safetensors")
    save_file({name: 2 * array for name, array in weights.items()}, folder / "ema.safetensors")
    save_file({"v_head.weight": torch.ones(1)}, folder / "value_head.safetensors")
    for name in ("pytorch_model.bin", "optimizer.pt", "consolidated.safetensors", "model.safetensors.index.json"):
        (folder / name).write_text("{}")
    (folder / "model-00001-of-00002.safetensors").touch()
    assert load_model(folder / "model.safetensors").name == str(folder)
    for file in folder.iterdir():
        if file.name != "model.safetensors" and file.suffix in {".safetensors", ".bin", ".pt", ".index"}:
            todo = "To use this file, copy it" if file.stem == "ema" else "To use that, give the folder"
            with pytest.raises(ModelNotFound, match=rf"{file.name} .* is loaded from model\.safetensors\. {todo}"):
                load_model(file)
    with pytest.raises(ModelNotFound, match=r"is loaded from model\.safetensors"):
        read_name(folder / "model.safetensors.index.json")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"transformers_weights": "ema.safetensors"}))
    assert read_name(folder / "ema.safetensors").source == str(folder)
    with pytest.raises(ModelNotFound, match=r"is loaded from ema\.safetensors"):
        read_name(folder / "model.safetensors")


@pytest.mark.parametrize("name", ["x.safetensors", "consolidated.safetensors", "pytorch_model.bin", "model.fp16.onnx"])
def test_a_file_of_weights_on_the_hub_is_never_replaced_by_the_others_of_its_model(name):
    address = f"https://huggingface.co/org/tiny/resolve/v2/{name}"
    for typed in (f"org/tiny/{name}", address, f"hf download org/tiny {name}"):
        with pytest.raises(ModelNotFound, match=rf"org/tiny/{name} is .* loaded from .* To use that, give org/tiny\."):
            read_name(typed)


def test_paths_are_read_as_addresses_shells_and_windows_write_them(folder):
    written = ["~/My models/tiny", "~/My\\ models/tiny", "My models\\tiny", f"file://{folder}".replace(" ", "%20")]
    written += [f"file:{folder}", f"file://localhost{folder}", "\\\\wsl$\\Ubuntu" + str(folder).replace("/", "\\")]
    for typed in written:
        assert Path(read_name(typed).source).samefile(folder)
    assert read_name("~/My models/tiny").note("~/My models/tiny") == ""
    with pytest.raises(ModelNotFound, match=r"Folder '/no/such place' not found"):
        inspect_model("file:///no/such%20place")
    for typed in ("C:\\models\\x", "D:/x"):
        with pytest.raises(ModelNotFound, match=r"Folder .* not found\. Check the path"):
            inspect_model(typed)


def test_what_is_there_under_a_name_comes_first(home):
    for typed in ("org/tiny@v1", "'org'", "hf:x", "llama3.2:1b", "Atlas"):
        (home / typed).mkdir(parents=True)
        assert read_name(typed) == ModelName(source=typed)


def test_models_of_ollama_and_lm_studio_have_their_names_there(ollama, lm_studio):
    names = ["llama3.2:1b", "LLAMA3.2:1B", "ollama run llama3.2:1b", "ollama/llama3.2:1b", "ollama:llama3.2:1b"]
    names += ["https://ollama.com/library/llama3.2:1b", "me/tiny:latest", "ollama/me/tiny", "hf.co/org/q-GGUF:Q4_0"]
    assert {read_name(name).source for name in names} == {str(ollama)}
    names = ["lmstudio-community/Tiny-1B-it-GGUF/Tiny-1B-it-Q4_K_M", "tiny-1b-it@q4_k_m"]
    assert {read_name(name).source for name in names} == {str(lm_studio)}
    assert inspect_model("llama3.2:1b").name == str(ollama)
    assert read_name("ollama run hf.co/org/q-GGUF:Q4_0").source == str(ollama)
    (Path.home() / "mistral").mkdir()
    for typed, name in {
        "llama3.2:3b": "llama3.2:3b",
        "ollama/llama3.2": "llama3.2",
        "ollama.com/library/phi4": "phi4",
        "ollama run llama3.2": "llama3.2",
        "ollama pull mistral": "mistral",
        "ollama run --verbose smollm2 'Who?'": "smollm2",
        "https://ollama.com/library/llama3.2/tags": "llama3.2",
        "https://ollama.com/library/llama3.2:7b/blobs/74701a8c35f6": "llama3.2:7b",
        "https://www.ollama.com/me/other?x=y": "me/other",
        "ollama.com/me/other/tags": "me/other",
    }.items():
        says = rf"^Ollama has no model {name} on this machine\. Get it there with: ollama pull {name}, or"
        with pytest.raises(ModelNotFound, match=says):
            read_name(typed)


@pytest.mark.parametrize(
    "typed",
    [
        *("https://github.com/org/tiny", "https://modelscope.cn/models/org/tiny", "https://example.com/x.gguf"),
        *("https://huggingface.co", "https://huggingface.co/datasets/org/x", "https://hf.co/models?search=x"),
        *("s3://bucket/x", "https://[::1/x"),
        *("https://ollama.com", "https://ollama.com/library", "ollama.com/search?q=x"),
    ],
)
def test_addresses_of_something_else_are_refused(typed):
    with pytest.raises(
        ModelNotFound, match=r"is not the address of a model (on the hub|of Ollama)\. Give a hub id, such as"
    ):
        read_name(typed)


@pytest.mark.parametrize(
    "place",
    ["tree/main/4.0bpw", "tree/v1/4.0bpw", "blob/main/4.0bpw/config.json", "resolve/v1/4.0bpw/model.onnx"],
)
def test_a_folder_inside_a_model_of_the_hub_is_downloaded_first(place):
    version = " --revision v1" if "v1" in place else ""
    says = rf"hf download org/tiny{version} --include '4\.0bpw/\*' --local-dir DIR, and .* DIR/4\.0bpw\."
    with pytest.raises(ModelNotFound, match=says):
        read_name(f"https://huggingface.co/org/tiny/{place}")


def test_two_revisions_are_one_too_many():
    assert read_name("org/tiny@v1", revision="v1").revision == "v1"
    with pytest.raises(InvalidInput, match="names the revision v1, and v2 is asked for"):
        read_name("org/tiny@v1", revision="v2")


def test_folders_of_the_hubs_cache_are_models_of_the_hub_and_of_a_copy_their_commit(home):
    for place in ("hub", "copy"):
        for commit in ("0a", "0b"):
            (home / place / "models--org--tiny" / "snapshots" / commit).mkdir(parents=True)
        main = home / place / "models--org--tiny" / "refs" / "main"
        main.parent.mkdir()
        main.write_text("0b")
    for inside in ("", "snapshots"):
        assert read_name(home / "hub/models--org--tiny" / inside).source == "org/tiny"
        copy = home / "copy/models--org--tiny"
        assert read_name(copy / inside).source == str(copy / "snapshots/0b")
    shutil.rmtree(copy / "refs")
    assert read_name(copy).source == str(copy)  # which of two commits, the folder does not say
    shutil.rmtree(copy / "snapshots/0b")
    assert read_name(copy).source == str(copy / "snapshots/0a")


def test_a_folder_of_the_hubs_cache_has_the_kind_of_its_model(home):
    """Qwen2.5's base models have a chat template."""
    model, tokenizer = chat_model(CHATML)
    kinds = {}
    for name in ("models--Qwen--Qwen2.5-7B", "models--org--tiny"):
        folder = home / "hub" / name / "snapshots" / COMMIT
        model.save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        kinds[hub_ids(str(folder))] = inspect_model(folder).kind
    assert kinds == {("Qwen/Qwen2.5-7B",): "base", ("org/tiny",): "instruct"}


def test_a_quantisation_stands_for_the_one_file_of_the_hub_that_has_it(hub):
    name = published_gguf(hub, "several")
    folder = (hub.root / name).parent
    for other in ("tiny-Q4_K_M.gguf", "tiny-Q4_K_S.gguf", "mmproj-Q8_0.gguf", "UD-Q2_K.gguf", "tiny-Q2_K.gguf"):
        shutil.copy(hub.root / name, folder / other)
    assert read_name("tiny/several:Q4_K_M").source == "tiny/several/tiny-Q4_K_M.gguf"
    assert read_name("hf.co/tiny/several:q4_k_s").source == "tiny/several/tiny-Q4_K_S.gguf"
    assert read_name("tiny/several:tiny-F32.gguf").source == name
    assert inspect_model("tiny/several:F32").quantisation == "F32"
    for tag, says in (
        ("Q8_0", "no GGUF file tagged Q8_0"),
        ("Q4_K", "no GGUF file tagged Q4_K"),
        ("4_K_M", "no GGUF file tagged 4_K_M"),
        ("Q2_K", "several GGUF files, so Q2_K is ambiguous"),
        ("latest", "several GGUF files, so latest is ambiguous"),
    ):
        with pytest.raises(ModelNotFound, match=rf"{says}.* Name a file that is there, such as tiny/several/.*\.gguf"):
            read_name(f"tiny/several:{tag}")
    with pytest.raises(ModelNotFound, match=r"tiny/several has GGUF files, and no config\.json\. Name a file that is"):
        inspect_model("tiny/several")
    publish(hub, "tiny/llama")
    with pytest.raises(ModelNotFound, match=r"no GGUF file tagged v1\. A revision is given as tiny/llama@v1\."):
        read_name("tiny/llama:v1")


def cached_files(model, revisions):
    """Files in the hub's cache, by the revision that they were fetched in."""
    place = Path(constants.HF_HUB_CACHE, f"models--{model.replace('/', '--')}")
    for number, (revision, names) in enumerate(revisions.items()):
        commit = place / "snapshots" / f"{number:040}"
        commit.mkdir(parents=True)
        (place / "refs").mkdir(exist_ok=True)
        (place / "refs" / revision).write_text(commit.name)
        for name in names:
            (commit / name).touch()


def test_the_hub_says_which_file_a_tag_means_whatever_is_in_its_cache(hub):
    folder = (hub.root / published_gguf(hub, "q")).parent
    for name in ("q-Q2_K.gguf", "q-UD-Q2_K.gguf", "v2/q-Q8_0.gguf"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).touch()
    cached_files("tiny/q", {"main": ["q-UD-Q2_K.gguf"], "v2": ["q-Q4_0.gguf"]})
    for tag in ("Q2_K", "latest"):
        with pytest.raises(ModelNotFound, match=f"several GGUF files, so {tag} is ambiguous"):
            read_name(f"tiny/q:{tag}")
    assert read_name("tiny/q:Q8_0", revision="v2") == ModelName(source="tiny/q/q-Q8_0.gguf", revision="v2")
    with pytest.raises(ModelNotFound, match="no GGUF file tagged Q4_0"):
        read_name("tiny/q:Q4_0", revision="v2")


@pytest.mark.usefixtures("no_hub")
def test_without_network_a_quantisation_is_found_in_the_hubs_cache(home, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(home / "hub"))
    cached_files("org/q-GGUF", {"main": ["tiny-Q4_0.gguf", "tiny-Q8_0.gguf"], "v2": ["tiny-Q6_K.gguf"]})
    assert read_name("org/q-GGUF:Q4_0").source == "org/q-GGUF/tiny-Q4_0.gguf"
    assert read_name("org/q-GGUF:Q4_0", revision=DIGEST).source == "org/q-GGUF/tiny-Q4_0.gguf"
    for revision in ("v2", f"{1:040}"):
        assert read_name("org/q-GGUF:Q6_K", revision=revision).source == "org/q-GGUF/tiny-Q6_K.gguf"
    (home / "x.gguf").touch()
    for typed, revision in (("Q4_0", "v2"), ("Q6_K", None), ("Q4_0", "v3"), ("latest", "v2"), ("x", str(home))):
        with pytest.raises(ModelNotFound, match="there is no network"):
            read_name(f"org/q-GGUF:{typed}", revision=revision)
    with pytest.raises(ModelNotFound, match=r"there is no network .* such as org/q-GGUF/tiny-Q4_0\.gguf, org/q-GGUF"):
        read_name("org/q-GGUF:Q5_0")
    with pytest.raises(ModelNotFound, match=r"there is no network .*A GGUF file on this machine works"):
        read_name("org/none:Q4_0")


def test_the_command_line_says_how_a_name_was_read(home, capsys):
    folder = save_tiny(home / "tiny")
    asked = ["inspect", "Where?", "--max-new-tokens", "2", "--json", "--model"]
    capsys.readouterr()
    assert inspect.main([*asked, str(folder / "config.json")]) == 0
    said = capsys.readouterr()
    assert said.err.splitlines()[:2] == [f"Read {folder / 'config.json'} as {folder}.", f"Loading {folder} ..."]
    assert json.loads(said.out)["model"] == str(folder)
    assert inspect.main([*asked, str(folder)]) == 0
    assert "Read " not in capsys.readouterr().err
