"""Models of GGUF files: the same model loads by file, folder and blob, and anything else is refused with a message."""

import os
import shutil
import threading
from types import SimpleNamespace

import gguf
import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForCausalLM

from rauq.checkpoints import checkpoint
from rauq.checkpoints.gguf.header import read_header
from rauq.checkpoints.gguf.weights import plan
from rauq.checkpoints.loading import load_weights
from rauq.checkpoints.model_info import inspect_model
from rauq.checkpoints.store import default_store
from rauq.errors import CacheError, InvalidInput, ModelNotFound, OutOfMemory, Stopped, UnsupportedModel
from rauq.model.loading import load_model
from tests.architectures import named, tiny_model
from tests.gguf_files import TINY, save_gguf
from tests.tiny import PROMPT, assert_close

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
TEMPLATE = {"tokenizer.chat_template": "[{{ messages[0].content }}]"}


@pytest.fixture
def file(tmp_path):
    save_gguf(tmp_path / "tiny.gguf")
    return tmp_path / "tiny.gguf"


@pytest.fixture
def own_place(tmp_path, monkeypatch):
    """A store of this test alone."""
    monkeypatch.setenv("RAUQ_CACHE", str(tmp_path / "store"))
    return tmp_path / "store"


@pytest.mark.parametrize("architecture", TINY)
def test_every_weight_of_every_architecture_comes_back(architecture, tmp_path):
    model = save_gguf(tmp_path / "tiny.gguf", architecture)
    lm = load_model(tmp_path / "tiny.gguf")
    weights = lm.model.state_dict()
    assert weights.keys() == model.state_dict().keys()
    for name, expected in model.state_dict().items():
        exact = name.endswith("norm.weight") and architecture.startswith("gemma")  # 1 more, and 1 less, in float32
        torch.testing.assert_close(weights[name], expected, rtol=0, atol=1e-7 if exact else 0)
    assert lm.check(PROMPT).exact


@pytest.mark.parametrize("dtype", DTYPES)
def test_quantised_weights_are_those_that_the_reference_dequantises(dtype, tmp_path):
    file, kinds = tmp_path / "tiny.gguf", (gguf.GGMLQuantizationType.Q8_0, gguf.GGMLQuantizationType.Q4_0)
    model = save_gguf(file)
    originals = {f"blk.{layer}.ffn_down.weight": layer for layer in range(2)}
    quantised = {}
    for (name, layer), kind in zip(originals.items(), kinds, strict=True):
        weights = model.state_dict()[f"model.layers.{layer}.mlp.down_proj.weight"].numpy()
        quantised[name] = (gguf.quantize(weights, kind), kind)
    write_quantised(file, quantised)
    found = load_model(file, dtype=dtype).model.state_dict()
    for (name, layer), kind in zip(originals.items(), kinds, strict=True):
        expected = torch.from_numpy(gguf.dequantize(quantised[name][0], kind)).to(DTYPES[dtype])
        assert torch.equal(found[f"model.layers.{layer}.mlp.down_proj.weight"], expected)


def test_experts_of_gpt_oss_are_read_from_the_type_that_its_files_have(tmp_path):
    file, kind = tmp_path / "tiny.gguf", gguf.GGMLQuantizationType.MXFP4
    experts = save_gguf(file, "gpt-oss").state_dict()["model.layers.1.mlp.experts.gate_up_proj"].numpy()
    parts = {f"blk.1.ffn_{name}_exps.weight": experts[..., turn::2] for turn, name in enumerate(("gate", "up"))}
    quantised = {name: (gguf.quantize(part.swapaxes(1, 2), kind), kind) for name, part in parts.items()}
    write_quantised(file, quantised, "gpt-oss")
    found = load_model(file, engine="transformers").model.state_dict()["model.layers.1.mlp.experts.gate_up_proj"]
    for turn, (data, _) in enumerate(quantised.values()):
        np.testing.assert_array_equal(found[..., turn::2].numpy(), gguf.dequantize(data, kind).swapaxes(1, 2))


def write_quantised(file, quantised, architecture="llama"):
    """The same file, with some of its tensors in these types."""
    reader = gguf.GGUFReader(file)
    writer = gguf.GGUFWriter(file.with_suffix(".new"), architecture)
    for key, field in reader.fields.items():
        if not key.startswith("GGUF.") and key != "general.architecture":
            kind, part = field.types[0], field.types[-1] if len(field.types) > 1 else None
            writer.add_key_value(key, field.contents(), kind, part)
    for tensor in reader.tensors:
        data, kind = quantised.get(tensor.name, (np.array(tensor.data), tensor.tensor_type))
        writer.add_tensor(tensor.name, data, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file.with_suffix(".new").replace(file)


def test_a_file_a_folder_and_a_blob_are_the_same_model(file, tmp_path, monkeypatch):
    first = load_model(file)
    save_gguf(tmp_path / "mmproj-tiny.gguf", "qwen2")
    blob = shutil.copy(file, tmp_path / ("sha256-" + "0" * 64))
    monkeypatch.chdir(tmp_path)
    shutil.copytree(tmp_path, tmp_path / "org" / "model", ignore=shutil.ignore_patterns("org"))
    for name in (tmp_path, str(blob), "tiny.gguf", "org/model", "org/model/tiny.gguf", "./tiny.gguf"):
        lm = load_model(name)
        assert (lm.name, lm.revision) == (str(name), first.revision)
        assert_close(lm.generate(PROMPT, max_new_tokens=3), first.generate(PROMPT, max_new_tokens=3))


def test_safetensors_of_a_folder_come_before_its_gguf_file(file, tmp_path):
    lm = load_model(file)
    lm.model.save_pretrained(tmp_path)
    lm.tokens.tokenizer.save_pretrained(tmp_path)
    assert load_model(tmp_path).revision == "local"
    (tmp_path / "model.safetensors").unlink()
    assert load_model(tmp_path).revision == lm.revision


def test_a_second_load_dequantises_nothing_and_reports_no_progress(file, own_place, monkeypatch):
    told = []
    load_model(file, on_progress=lambda done, total: told.append((done, total)))
    total = inspect_model(file).bytes_needed
    assert told[-1] == (total, total)
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    (folder,) = (own_place / "gguf").iterdir()
    assert {path.suffix for path in folder.iterdir()} == {".json", ".safetensors"}
    monkeypatch.setattr(checkpoint, "write_safetensors", lambda *_args, **_options: pytest.fail("again"))
    load_model(file, on_progress=lambda *_: pytest.fail("progress reported"))
    with pytest.raises(pytest.fail.Exception, match="again"):
        load_model(file, dtype="bfloat16")


def test_what_an_older_way_of_reading_has_written_is_not_taken(file, own_place, tmp_path, monkeypatch):
    load_model(file)
    sources = shutil.copytree(checkpoint._SOURCES, tmp_path / "sources")
    monkeypatch.setattr(checkpoint, "_SOURCES", sources)
    load_model(file)
    assert len(list((own_place / "gguf").iterdir())) == 1
    (sources / "gguf" / "tokenizer.py").write_text("another way")
    load_model(file)
    assert len(list((own_place / "gguf").iterdir())) == 2


def test_it_is_described_as_it_will_be_loaded(file):
    info, lm = inspect_model(file, device="cpu", tokens=100), load_model(file, device="cpu")
    assert (info.num_layers, info.num_heads) == (lm.num_layers, lm.num_heads)
    assert (info.architecture, info.dtype) == (type(lm.model).__name__, lm.dtype)
    assert info.bytes_needed == sum(weights.nbytes for weights in lm.model.parameters())
    assert (info.bytes_in_file, info.quantisation) == (file.stat().st_size, "F32")
    assert info.bytes_cache == 100 * lm.num_layers * 2 * 2 * 8 * 4  # keys and values, 2 heads of 8, 4 bytes


def test_a_model_that_does_not_fit_is_refused_with_the_requested_cache(file, monkeypatch):
    needed = inspect_model(file).bytes_needed
    monkeypatch.setattr("rauq.checkpoints.loading.free_main_memory", lambda: needed + 1000)
    assert inspect_model(file, device="cpu").fits
    assert not inspect_model(file, device="cpu", tokens=100).fits
    monkeypatch.setattr("rauq.checkpoints.loading.free_main_memory", lambda: needed - 1)
    with pytest.raises(OutOfMemory, match="does not fit"):
        load_model(file, device="cpu")


@pytest.mark.parametrize(
    ("entries", "kind"), [({}, "base"), (TEMPLATE | {"general.name": "Tiny Instruct"}, "instruct")], ids=["", "chat"]
)
def test_the_kind_is_read_from_the_names_in_the_file(entries, kind, tmp_path):
    save_gguf(tmp_path / "blob", entries=entries)
    assert load_model(tmp_path / "blob").kind == inspect_model(tmp_path / "blob").kind == kind


def test_end_tokens_come_from_the_file(tmp_path):
    save_gguf(tmp_path / "tiny.gguf", entries={"tokenizer.ggml.eot_token_id": 7})
    assert load_model(tmp_path / "tiny.gguf").end_ids == {2, 7}


def test_its_revision_is_its_sha256_and_can_be_asked_for(file):
    revision = load_model(file).revision
    assert load_model(file, revision=revision).revision == revision
    with pytest.raises(ModelNotFound, match=rf"not the requested file: its sha256 is {revision}"):
        load_model(file, revision="0" * 64)
    with pytest.raises(InvalidInput, match=r"is its sha256, in 64 hexadecimal digits; got 'main'"):
        load_model(file, revision="main")


def test_a_loaded_model_needs_neither_its_file_nor_the_store(file, own_place):
    lm = load_model(file)
    before = lm.generate(PROMPT, max_new_tokens=4)
    os.truncate(file, 0)
    shutil.rmtree(own_place)
    assert_close(lm.generate(PROMPT, max_new_tokens=4), before)


def test_cancelling_leaves_nothing_in_the_store(file, own_place):
    cancel = threading.Event()
    with pytest.raises(Stopped):
        load_model(file, on_progress=lambda *_: cancel.set(), cancel=cancel)
    assert default_store().entries() == []
    assert load_model(file).check().exact
    assert own_place.is_dir()


@pytest.mark.usefixtures("own_place")
def test_a_full_disk_is_reported_before_the_weights_are_read(file, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _place: SimpleNamespace(free=1000))
    with pytest.raises(CacheError, match=r"and 1\.0 kB are free"):
        load_model(file)


def replaced(file):
    save_gguf(file, "qwen2")


def truncated(file):
    os.truncate(file, file.stat().st_size - 64)


@pytest.mark.usefixtures("own_place")
@pytest.mark.parametrize("change", [replaced, os.unlink])
def test_the_revision_is_that_of_the_file_whose_weights_are_loaded(change, file, monkeypatch):
    digest = load_model(file).revision

    def loaded(*args, **options):
        change(file)
        return load_weights(*args, **options)

    monkeypatch.setattr("rauq.model.loading.load_weights", loaded)
    assert load_model(file).revision == digest


@pytest.mark.usefixtures("own_place")
@pytest.mark.parametrize("change", [replaced, truncated])
def test_a_file_that_changes_while_it_is_read_is_not_kept(change, file):
    with pytest.raises(ModelNotFound, match="changed while it was read"):
        load_model(file, on_progress=lambda done, _total: change(file) if done < 100_000 else None)
    assert default_store().entries() == []


@pytest.mark.parametrize("look", [inspect_model, load_model])
def test_missing_and_extra_tensors_are_named(look, tmp_path):
    save_gguf(tmp_path / "lacks.gguf", without=["blk.1.attn_q.weight"])
    with pytest.raises((UnsupportedModel, ModelNotFound), match=r"attn_q|q_proj"):
        look(tmp_path / "lacks.gguf")
    save_gguf(tmp_path / "more.gguf", tensors={"blk.1.attn_q.lora": np.zeros((4, 4), np.float32)})
    with pytest.raises(UnsupportedModel, match=r"blk\.1\.attn_q\.lora"):
        look(tmp_path / "more.gguf")


def made(name, **options):
    return lambda folder: save_gguf(folder / name, **options)


@pytest.mark.parametrize(
    "case",
    [
        (lambda folder: (folder / "a.gguf").mkdir(), "a.gguf", ModelNotFound, "has no config.json"),
        (lambda folder: (folder / "a.gguf").write_text("GG"), "a.gguf", ModelNotFound, "is not a GGUF file"),
        (lambda folder: (folder / "notes.txt").write_text(""), "notes.txt", ModelNotFound, "is not a GGUF file"),
        (lambda folder: [made(name)(folder) for name in ("a.gguf", "b.GGUF")], "", ModelNotFound, "holds 2 GGUF files"),
        (made("mmproj-a.gguf"), "", ModelNotFound, "has no config.json"),
        (made("a-00001-of-00002.gguf"), "a-00001-of-00002.gguf", UnsupportedModel, "one part of a split model"),
        (lambda _folder: None, "a.gguf", ModelNotFound, "File .* not found"),
        (made("a.gguf", without=["llama.block_count"]), "a.gguf", ModelNotFound, "llama.block_count"),
    ],
    ids=["folder", "magic", "text", "several", "mmproj", "split", "missing", "entry"],
)
@pytest.mark.parametrize("look", [inspect_model, load_model])
def test_an_unusable_file_is_refused_with_a_message(look, case, tmp_path):
    make, name, error, says = case
    make(tmp_path)
    with pytest.raises(error, match=says):
        look(str(tmp_path / name))


def test_a_model_that_the_file_does_not_fill_is_refused(file):
    """Beyond what the table of architectures asks: transformers' names have to cover both sides."""
    header = read_header(file)
    with torch.device("meta"):
        larger, smaller = (tiny_model(named("llama"), num_hidden_layers=layers) for layers in (4, 2))
    with pytest.raises(UnsupportedModel, match=r"lacks 9 tensors of its model, such as model\.layers\.3"):
        plan(header, larger)
    with pytest.raises(UnsupportedModel, match=r"holds 9 tensors that would be left out, such as 'blk\.2\."):
        plan(header, smaller)


def test_the_weights_of_transformers_own_reader_are_the_same(file):
    """For an architecture and a format that it reads faithfully, and slowly."""
    found = load_model(file).model.state_dict()
    theirs = AutoModelForCausalLM.from_pretrained(file.parent, gguf_file=file.name, dtype=torch.float32).state_dict()
    assert found.keys() == theirs.keys()
    assert all(torch.equal(found[name], theirs[name]) for name in theirs)
    (folder,) = [
        entry.folder for entry in default_store().entries() if entry.folder.name.startswith(load_model(file).revision)
    ]
    assert all(torch.equal(weights, found[name]) for name, weights in load_file(folder / "model.safetensors").items())
