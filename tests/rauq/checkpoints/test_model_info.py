"""What is known about a model before its weights are read still holds once they are."""

import json
import shutil
from dataclasses import replace

import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

import rauq
from rauq.checkpoints.loading import free_memory
from rauq.checkpoints.model_info import inspect_model, takes_less
from rauq.errors import InvalidInput, ModelNotFound, OutOfMemory, UnsupportedModel
from rauq.model.loading import load_model
from tests.architectures import ARCHITECTURES, byte_tokenizer, named, tiny_model
from tests.tiny import PROMPT

PARAMETERS = 44_512  # of the tiny llama: 2 * 260 * 32 + 3 * (2 * 32 * 32 + 2 * 32 * 16 + 3 * 32 * 64 + 2 * 32) + 32
TEMPLATE = "[{{ messages[0].content }}]"


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save(tmp_path_factory.mktemp("models") / "tiny", named("llama"))


@pytest.fixture
def folder(saved, tmp_path):
    """A copy that a test may change."""
    return shutil.copytree(saved, tmp_path / "model")


@pytest.fixture
def free(monkeypatch):
    """Set how much main memory there seems to be."""
    return lambda amount: monkeypatch.setattr("rauq.checkpoints.loading.free_main_memory", lambda: amount)


def save(folder, architecture, template=None):
    tiny_model(architecture).save_pretrained(folder)
    tokenizer = byte_tokenizer()
    tokenizer.chat_template = template
    tokenizer.save_pretrained(folder)
    return folder


def configure(folder, **settings):
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))


@pytest.mark.parametrize("architecture", ARCHITECTURES[::4], ids=str)
def test_the_facts_about_a_model_hold_once_it_is_loaded(tmp_path, architecture):
    folder = save(tmp_path, architecture)
    info, lm = inspect_model(folder), load_model(folder)
    assert (info.name, info.kind, info.dtype) == (lm.name, lm.kind, lm.dtype)
    assert (info.num_layers, info.num_heads) == (lm.num_layers, lm.num_heads)
    assert info.device == str(lm.device)
    assert info.architecture == type(lm.model).__name__
    weights = list(lm.model.parameters())
    assert info.parameters == sum(tensor.numel() for tensor in weights)
    assert info.bytes_needed == sum(tensor.nbytes for tensor in weights)


def test_counts_are_those_of_the_architecture(saved):
    info = rauq.inspect_model(saved, device="cpu")
    assert (info.architecture, info.parameters) == ("LlamaForCausalLM", PARAMETERS)
    assert (info.dtype, info.bytes_needed) == ("float32", 4 * PARAMETERS)
    assert rauq.inspect_model(saved, dtype="float16").bytes_needed == 2 * PARAMETERS
    assert isinstance(info, rauq.ModelInfo)


def test_the_embedded_model_is_the_default():
    info = inspect_model(device="cpu")
    assert (info.name, info.kind, info.dtype) == ("atlas", "base", "float32")
    assert inspect_model(device="cpu", dtype="bfloat16").dtype == "float32"


def test_weights_are_not_read(folder):
    """A file of the right name is enough; only loading finds out that it is empty."""
    (folder / "model.safetensors").write_bytes(b"")
    assert inspect_model(folder).parameters == PARAMETERS
    with pytest.raises(ModelNotFound, match=r"model\.safetensors is empty"):
        load_model(folder)


@pytest.mark.parametrize(
    ("name", "template", "choice", "found"),
    [
        ("tiny-Instruct", None, None, ("base", "it has no chat template")),
        ("tiny", TEMPLATE, None, ("instruct", "it has a chat template")),
        ("tiny-base", TEMPLATE, None, ("base", "its name says base")),
        ("tiny-Instruct", TEMPLATE, "base", ("base", "your choice")),
    ],
)
def test_the_kind_comes_with_its_reason(tmp_path, name, template, choice, found):
    info = inspect_model(save(tmp_path / name, named("llama"), template), kind=choice)
    assert (info.kind, info.why_kind) == found


def test_packed_weights_have_no_known_size(folder):
    configure(folder, quantization_config={"quant_method": "mxfp4"})
    info = inspect_model(folder)
    assert (info.bytes_needed, info.fits) == (None, None)


def test_it_fits_where_there_is_room(saved, free):
    needed = 4 * PARAMETERS
    for amount, fits in ((needed, True), (needed - 1, False), (None, None)):
        free(amount)
        info = inspect_model(saved, device="cpu")
        assert (info.bytes_free, info.fits) == (amount, fits)


def test_what_does_not_fit_is_refused_before_its_weights_are_read(folder, free):
    (folder / "model.safetensors").write_bytes(b"")
    free(3 * PARAMETERS)
    says = r"take 178\.0 kB in float32, and 133\.5 kB are free on cpu\. In bfloat16 they take 89\.0 kB, which fits"
    with pytest.raises(OutOfMemory, match=says):
        load_model(folder, device="cpu")
    free(PARAMETERS)
    with pytest.raises(OutOfMemory, match=r"Choose a model of at most 22,256 parameters, in bfloat16"):
        load_model(folder, device="cpu")


@pytest.mark.parametrize(
    ("dtype", "needed", "free", "says"),
    [
        ("float32", 64e9, 1.39e9, "at most 0.6 billion parameters"),
        ("float32", 64e9, 31.99e9, "at most 15.9 billion parameters"),
        ("float32", 64e9, 32e9, "In bfloat16 they take 32.0 GB, which fits"),
        ("bfloat16", 32e9, 33e9, "Its weights take 32.0 GB in bfloat16, and 33.0 GB are free on cpu. More is needed"),
        (
            "float32",
            None,
            33e9,
            "Choose a smaller model, or bfloat16 (dtype='bfloat16' in Python, --dtype bfloat16 in a shell",
        ),
    ],
)
def test_the_message_names_what_takes_less_memory_if_known(saved, dtype, needed, free, says):
    known = {"dtype": dtype, "bytes_needed": needed and int(needed), "bytes_free": int(free)}
    assert says in takes_less(replace(inspect_model(saved, device="cpu"), parameters=16 * 10**9, **known))


def test_what_would_fit_does(saved, free):
    free(2 * PARAMETERS)
    with pytest.raises(OutOfMemory, match="bfloat16"):
        load_model(saved, device="cpu")
    assert load_model(saved, device="cpu", dtype="bfloat16").generate(PROMPT, max_new_tokens=2).answer


def test_on_a_gpu_auto_has_main_memory_too(free, monkeypatch):
    free(1000)
    monkeypatch.setattr(
        "rauq.checkpoints.loading.find_device", lambda name: torch.device("cuda" if name == "auto" else name)
    )
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda _gpu: (10, 99))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda _gpu: 7)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda _gpu: 4)
    assert free_memory("auto") == 2 * (10 + 7 - 4) + 1000
    assert free_memory("cuda:1") == 10 + 7 - 4
    assert free_memory("cpu") == 1000


@pytest.mark.parametrize(
    ("spoil", "error", "says"),
    [
        (lambda folder: (folder / "config.json").unlink(), ModelNotFound, "has no config.json"),
        (lambda folder: (folder / "config.json").write_text("{"), ModelNotFound, "config.json is not valid JSON"),
        (lambda folder: (folder / "tokenizer.json").unlink(), ModelNotFound, "no vocabulary of a tokenizer"),
        (lambda folder: (folder / "model.safetensors").unlink(), ModelNotFound, "has no weights"),
        (
            lambda folder: (folder / "model.safetensors").rename(folder / "pytorch_model.bin"),
            ModelNotFound,
            "only pickled weights, which are never read",
        ),
        (
            lambda folder: configure(folder, model_type="mine", auto_map={"AutoConfig": "code.Mine"}),
            UnsupportedModel,
            "its own code, which is never run",
        ),
        (
            lambda folder: configure(folder, model_type="vit", architectures=None),
            UnsupportedModel,
            "not a causal language",
        ),
        (
            lambda folder: configure(folder, architectures=["LlamaModel"]),
            UnsupportedModel,
            "not a causal language model",
        ),
    ],
    ids=["config", "broken config", "tokenizer", "weights", "pickled", "code", "pictures", "headless"],
)
def test_what_loading_refuses_is_refused_before(folder, spoil, error, says):
    spoil(folder)
    for look in (inspect_model, load_model):
        with pytest.raises(error, match=says):
            look(folder)


def test_an_encoder_decoder_is_refused_before(tmp_path):
    sizes = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    T5ForConditionalGeneration(T5Config(vocab_size=260, **sizes)).save_pretrained(tmp_path)
    with pytest.raises(UnsupportedModel, match="is an encoder-decoder"):
        inspect_model(tmp_path)


def test_unknown_choices_are_refused(saved):
    for options in ({"device": "gpu"}, {"dtype": "int8"}, {"kind": "chat"}):
        with pytest.raises(InvalidInput, match="choose"):
            inspect_model(saved, **options)
    with pytest.raises(InvalidInput, match="one revision"):
        inspect_model("atlas", revision="main")
