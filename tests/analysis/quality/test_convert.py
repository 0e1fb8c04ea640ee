"""Published checkpoints become folders that score; anything else is refused, and its code never runs."""

import os

import pytest
import torch

from analysis.quality.convert import convert
from analysis.quality.learned import load_alignscore, load_comet
from rauq.errors import InvalidInput, ModelNotFound
from tests.checkpoints import alignscore_checkpoint, comet_checkpoint, pair_tokenizer


class Bomb:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.fixture
def tokenizer(tmp_path):
    pair_tokenizer().save_pretrained(tmp_path / "tokenizer")
    return str(tmp_path / "tokenizer")


def saved(checkpoint, tmp_path):
    torch.save(checkpoint, tmp_path / "model.ckpt")
    return tmp_path / "model.ckpt"


@pytest.mark.parametrize(
    ("checkpoint", "load", "texts"),
    [(alignscore_checkpoint, load_alignscore, 2), (comet_checkpoint, load_comet, 3)],
)
def test_the_folder_holds_only_what_is_needed_and_scores(checkpoint, load, texts, tmp_path, tokenizer):
    made = convert(saved(checkpoint(), tmp_path), tokenizer=tokenizer)
    assert made == tmp_path / "model"
    assert {path.suffix for path in made.iterdir()} == {".json", ".safetensors"}
    assert {path.name for path in tmp_path.iterdir()} == {"model", "model.ckpt", "tokenizer"}
    (score,) = load(made)([("text",) * texts])
    assert score == score  # noqa: PLR0124 - not nan


def test_half_precision_is_read(tmp_path, tokenizer):
    checkpoint = comet_checkpoint()
    checkpoint["state_dict"] = {name: tensor.half() for name, tensor in checkpoint["state_dict"].items()}
    assert load_comet(convert(saved(checkpoint, tmp_path), tokenizer=tokenizer))([("a", "b", "c")])


def test_code_in_a_checkpoint_never_runs(tmp_path, tokenizer):
    file = saved({"state_dict": alignscore_checkpoint()["state_dict"], "callbacks": Bomb(tmp_path / "owned")}, tmp_path)
    with pytest.raises(InvalidInput, match=r"nothing else in it is run \(.*mkdir.*\)\.$") as caught:
        convert(file, tokenizer=tokenizer)
    assert "weights_only" not in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"model.ckpt", "tokenizer"}


@pytest.mark.parametrize("content", [b"", b"no checkpoint", b"PK\x03\x04 broken", b"\x80\x02."], ids=repr)
def test_a_file_that_is_no_checkpoint_is_refused(content, tmp_path):
    (tmp_path / "model.ckpt").write_bytes(content)
    with pytest.raises(InvalidInput, match="no checkpoint of weights alone"):
        convert(tmp_path / "model.ckpt")


def test_a_checkpoint_cut_short_is_refused(tmp_path):
    file = saved(comet_checkpoint(), tmp_path)
    file.write_bytes(file.read_bytes()[:-1000])
    with pytest.raises(InvalidInput, match="no checkpoint of weights alone"):
        convert(file)


@pytest.mark.parametrize(
    "checkpoint",
    [{}, [1], {"state_dict": 3}, {"state_dict": {"tri_layer.weight": 1}}, {"state_dict": {"a": torch.zeros(2)}}],
    ids=str,
)
def test_other_weights_are_refused(checkpoint, tmp_path):
    with pytest.raises(InvalidInput, match=r"holds neither AlignScore .* nor COMET"):
        convert(saved(checkpoint, tmp_path))


@pytest.mark.parametrize(
    "missing",
    [
        "encoder.model.encoder.layer.1.output.dense.bias",
        "layerwise_attention.scalar_parameters.1",
        "layerwise_attention.scalar_parameters.2",
        "estimator.ff.3.bias",
        "estimator.ff.6.weight",
    ],
)
def test_what_lacks_a_part_is_refused(missing, tmp_path, tokenizer):
    checkpoint = comet_checkpoint()
    del checkpoint["state_dict"][missing]
    with pytest.raises(InvalidInput, match="lacks parts of COMET"):
        convert(saved(checkpoint, tmp_path), tokenizer=tokenizer)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize(
    ("name", "value"),
    [("activations", "Sigmoid"), ("pool", "cls"), ("layer", 24), ("final_activation", "Sigmoid"), ("layer_norm", "no")],
)
def test_a_comet_that_computes_otherwise_is_refused(name, value, tmp_path, tokenizer):
    with pytest.raises(InvalidInput, match=f"a COMET with {name} {value!r}"):
        convert(saved(comet_checkpoint(**{name: value}), tmp_path), tokenizer=tokenizer)


def test_a_comet_without_references_is_refused(tmp_path, tokenizer):
    checkpoint = comet_checkpoint()
    checkpoint["state_dict"]["estimator.ff.0.weight"] = torch.zeros(20, 512)
    with pytest.raises(InvalidInput, match="do not fit"):
        convert(saved(checkpoint, tmp_path), tokenizer=tokenizer)


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "mine.txt").write_text("kept", encoding="utf-8")
    with pytest.raises(InvalidInput, match="choose another folder with --out"):
        convert(saved(comet_checkpoint(), tmp_path))
    with pytest.raises(InvalidInput, match="exists already"):
        convert(tmp_path / "model.ckpt", tmp_path / "model.ckpt")


def test_a_missing_file_and_a_wrong_tokenizer_say_what_to_do(tmp_path, tokenizer):
    with pytest.raises(InvalidInput, match="download the published checkpoint"):
        convert(tmp_path / "none.ckpt")
    file = saved(alignscore_checkpoint(), tmp_path)
    with pytest.raises(ModelNotFound, match="with --tokenizer"):
        convert(file, tokenizer=str(tmp_path / "none"))
    other = pair_tokenizer()
    other.add_tokens(["another"])
    other.save_pretrained(tokenizer)
    with pytest.raises(InvalidInput, match=r"has 261 tokens and the checkpoint 260: give the one"):
        convert(file, tokenizer=tokenizer)
