"""What every tool is given: folders with a model and a tokenizer, and prompts as text."""

import json
import shutil
from pathlib import Path

from analysis.datasets.names import embedded_set
from benchmarks.support.random_model import build, prompt_of, text_of, tokenizer_of
from rauq import atlas

ATLAS = Path(atlas.__file__).parent
_OF_END = ("config.json", "generation_config.json", "tokenizer_config.json")


def random_folder(folder: Path) -> Path:
    """The random model, which has no end token, with its tokenizer."""
    model = build()
    model.save_pretrained(folder)
    tokenizer_of(model, pad_token="w0").save_pretrained(folder)
    return folder


def atlas_folder(folder: Path, *, end: bool) -> Path:
    """A copy of the embedded model, with its end token or without one, so that neither side stops at it."""
    folder.mkdir()
    for path in (*ATLAS.glob("*.json"), ATLAS / "model.safetensors"):
        shutil.copy(path, folder)
    for name in () if end else _OF_END:
        path = folder / name
        found = json.loads(path.read_text(encoding="utf-8"))
        kept = {key: value for key, value in found.items() if key not in {"eos_token_id", "eos_token"}}
        path.write_text(json.dumps(kept), encoding="utf-8")
    return folder


def random_prompt(length: int) -> str:
    """A seeded prompt of so many tokens of the random model."""
    return text_of(prompt_of(length))


def atlas_prompts(count: int) -> tuple[str, ...]:
    """Prompts of the embedded set."""
    return tuple(example.prompt for example in embedded_set("atlas", limit=count).examples)
