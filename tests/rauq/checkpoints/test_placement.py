"""A model split over main memory and the disk gives the numbers of one in memory, and is refused where it cannot be."""

import shutil

import numpy as np
import pytest

from rauq.checkpoints import placement
from rauq.checkpoints.loading import bytes_held
from rauq.checkpoints.placement import check_options
from rauq.errors import InvalidInput, MissingPackage, ModelNotFound, OutOfMemory, UnsupportedModel
from rauq.model.loading import load_model
from tests.architectures import save_tiny
from tests.gguf_files import save_gguf
from tests.tiny import PROMPT

PROMPTS = [PROMPT, "Why?", "When was it, and who was there?"]
SPLIT = {
    "model.embed_tokens": "disk",
    "model.layers.0": "cpu",
    "model.layers.1": "disk",
    "model.layers.2": "disk",
    "model.norm": "cpu",
    "model.rotary_emb": "cpu",
    "lm_head": "disk",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return save_tiny(tmp_path_factory.mktemp("placement") / "model")


@pytest.fixture(scope="module")
def whole(folder):
    return load_model(folder, device="cpu")


@pytest.fixture
def free(monkeypatch):
    """Say how many bytes of main memory are free, on a machine without a GPU."""
    monkeypatch.setattr(placement.torch.cuda, "device_count", lambda: 0)
    return lambda num_bytes: monkeypatch.setattr(placement, "free_main_memory", lambda: num_bytes)


def held(lm):
    return sum(weights.nbytes for weights in lm.model.parameters())


def assert_same(one, other):
    assert one.answer_ids.tolist() == other.answer_ids.tolist()
    for name in ("attention", "logprobs", "entropies"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def assert_same_answer(lm, whole):
    assert_same(*(one.generate(PROMPT, max_new_tokens=6, last_row=True) for one in (lm, whole)))


def assert_same_batches(lm, whole):
    assert_same(*(one.read(PROMPT, " In Oslo.") for one in (lm, whole)))
    for answers in ("generate_batch", "sample_batch"):
        options = {"max_new_tokens": 4} | ({"seeds": [1, 2, 3], "k": 2} if answers == "sample_batch" else {})
        for one, other in zip(*(getattr(each, answers)(PROMPTS, **options) for each in (lm, whole)), strict=True):
            for pair in zip(*(got if isinstance(got, list) else [got] for got in (one, other)), strict=True):
                assert_same(*pair)


def test_parts_on_the_disk_give_the_same_numbers_to_the_last_bit(folder, whole):
    lm = load_model(folder, device_map=SPLIT)
    assert (lm.model.device.type, lm.device.type, lm.dtype) == ("meta", "cpu", "float32")
    assert lm.check().exact
    assert_same_answer(lm, whole)
    assert_same_batches(lm, whole)


@pytest.mark.parametrize(("share", "parts"), [(0.3, {"disk"}), (0.9, {"cpu", "disk"})])
def test_auto_leaves_on_the_disk_what_memory_has_no_room_for(share, parts, folder, whole, free):
    free(int(share * held(whole)))
    lm = load_model(folder, device_map="auto")
    assert set(lm.model.hf_device_map.values()) == parts
    assert bytes_held(lm.model, "cpu") <= share * held(whole)
    assert_same_answer(lm, whole)


def test_auto_puts_a_model_that_fits_into_memory(folder, whole, free):
    free(2 * held(whole))
    assert {weights.device.type for weights in load_model(folder, device_map="auto").model.parameters()} == {"cpu"}


def test_experts_that_are_written_in_another_form_go_to_the_offload_folder(tmp_path):
    folder, offloaded = save_tiny(tmp_path / "model", "mixtral"), tmp_path / "offloaded"
    lm = load_model(folder, device_map={"": "disk"}, offload_folder=offloaded)
    assert any("experts" in path.name for path in offloaded.iterdir())
    assert_same_answer(lm, load_model(folder, device="cpu"))
    with pytest.raises(ModelNotFound, match="offload_folder"):
        load_model(folder, device_map={"": "disk"})


def test_weights_that_vanish_from_the_disk_are_an_error_that_says_so(folder, tmp_path):
    copied = shutil.copytree(folder, tmp_path / "model")
    lm = load_model(copied, device_map=SPLIT)
    with (copied / "model.safetensors").open("r+b") as file:
        file.truncate(100)
    with pytest.raises(ModelNotFound, match=r"can no longer be read .* Load the model again"):
        lm.generate(PROMPT, max_new_tokens=2)


def test_a_part_larger_than_the_memory_is_refused_before_it_is_read(folder, whole, free):
    largest = max(weights.nbytes for weights in whole.model.parameters())
    free(largest - 1)
    for device_map in ("auto", SPLIT, {"": "cpu"}):
        with pytest.raises(OutOfMemory, match=r"does not fit: .* needed on cpu, where .* are free\. Place more"):
            load_model(folder, device_map=device_map)


def test_every_device_is_counted_for_itself(folder, whole, free):
    free(held(whole) // 2)
    with pytest.raises(OutOfMemory):
        load_model(folder, device_map=SPLIT | {"model.layers.1": "cpu", "model.layers.2": "cpu"})


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"device_map": "auto", "device": "cpu"}, r"device='cpu' and a device_map.* Leave one of them out"),
        ({"device_map": "balanced"}, r"device_map='balanced'; give auto, or a mapping"),
        ({"device_map": {}}, r"device_map=\{\}; give auto, or a mapping"),
        ({"device_map": {"": "nowhere"}}, r"Device 'nowhere' is not available"),
        ({"device_map": {"model": "cpu"}}, r"says nothing about lm_head\.weight\. Add its module"),
        ({"device_map": {"": "cpu", "model.layer": "disk"}}, r"names 'model\.layer', which .* parts are model, "),
        ({"offload_folder": "somewhere"}, r"offload_folder='somewhere' without device_map\. Leave it out"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, said, folder):
    with pytest.raises(InvalidInput, match=said):
        load_model(folder, **options)


def test_an_offload_folder_that_cannot_be_written_is_refused(folder):
    with pytest.raises(InvalidInput, match=r"config\.json/inside .* cannot be written \(Not a directory\)\. Give ano"):
        load_model(folder, device_map="auto", offload_folder=folder / "config.json" / "inside")


def test_a_quantisation_beside_a_map_is_refused():
    with pytest.raises(InvalidInput, match=r"quantization='int8' and a device_map.* Leave one of them out"):
        check_options("auto", device="auto", quantization="int8", offload_folder=None)


def test_without_accelerate_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(placement, "find_spec", lambda _name: None)
    with pytest.raises(MissingPackage, match=r"device_map needs accelerate: pip install"):
        check_options("auto", device="auto", quantization=None, offload_folder=None)


def test_a_gguf_file_is_placed_in_memory_and_not_left_on_the_disk(tmp_path):
    file = tmp_path / "tiny.gguf"
    save_gguf(file)
    assert_same_answer(*(load_model(file, **{option: "auto"}) for option in ("device_map", "device")))
    with pytest.raises(UnsupportedModel, match=r"GGUF file cannot stay on the disk.* Load the model's safetensors"):
        load_model(file, device_map={"": "disk"})
