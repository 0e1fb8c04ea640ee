"""The embedded model's folder, and its model card for these weights."""

import json
import re
from hashlib import sha256
from pathlib import Path

import pytest

import rauq

ATLAS = Path(rauq.__file__).parent / "atlas"
CARD = (ATLAS / "README.md").read_text(encoding="utf-8")


def test_the_card_names_the_weights_that_lie_beside_it():
    (named,) = re.findall(r"sha256 `([0-9a-f]{64})`", CARD)
    assert named == sha256((ATLAS / "model.safetensors").read_bytes()).hexdigest()


def test_model_and_recordings_fit_in_32_megabytes():
    """The run over its evaluation prompts has a bound of its own, in tests/analysis/runs/test_bundled.py."""
    files = [path for path in ATLAS.rglob("*") if path.is_file() and (ATLAS / "run") not in path.parents]
    assert sum(path.stat().st_size for path in files) < 32_000_000


def test_the_shape_is_that_of_the_card():
    config = json.loads((ATLAS / "config.json").read_text(encoding="utf-8"))
    assert config["model_type"] == "llama"
    assert (config["num_hidden_layers"], config["num_attention_heads"], config["vocab_size"]) == (12, 8, 6144)
    assert json.loads((ATLAS / "generation_config.json").read_text(encoding="utf-8")).keys() == {
        "bos_token_id",
        "eos_token_id",
        "pad_token_id",
    }


def test_the_card_says_what_the_model_is_not_and_where_its_facts_are_from():
    assert "no evidence for the claim of the paper" in CARD
    for source in ("GeoNames", "CC BY 4.0", "Unicode License"):
        assert source in CARD


@pytest.mark.parametrize(
    "stratum", ["never seen", "seen 31+", "myth", "false friend", "complete", "no age in the text"]
)
def test_the_card_has_the_accuracy_of_each_stratum(stratum):
    rows = [line for line in CARD.splitlines() if f"| {stratum} |" in line]
    assert rows
    assert all(re.search(r"\| [01]\.\d\d \|", row) for row in rows)
