"""Prompts and answers of any text, from the tokenizer through the model: read, and scored."""

from pathlib import Path
from random import Random

import numpy as np

import rauq
from rauq import Trace, score
from tests.robustness.fuzz_engine import Surface
from tests.robustness.fuzz_mutators import hostile_text, spoilt_text

Asked = tuple[str, str]

_PROMPTS = ("Question: Where is Oslo?\nAnswer:", "German: Hund\nEnglish:", "?")
_ANSWERS = (" In Norway.\n", " dog", "…")


def prompts(_folder: Path) -> Surface:
    """A prompt and an answer, read by the embedded model."""
    lm = rauq.load_model("atlas")

    def read(asked: Asked) -> None:
        prompt, answer = asked
        encoded = lm.encode(prompt)
        trace = lm.read(prompt, answer)
        assert trace.prompt_ids.tolist() == list(encoded.ids)
        assert (trace.prompt, b"".join(trace.pieces).decode()) == asked
        assert Trace.from_bytes(trace.to_bytes()).to_bytes() == trace.to_bytes()
        assert np.isfinite(score(trace).uncertainty)

    seeds = [(prompt, answer) for prompt in _PROMPTS for answer in _ANSWERS]
    return Surface(name="prompts and answers", seeds=seeds, mutate=_spoilt, target=read)


def _spoilt(asked: Asked, rng: Random) -> Asked:
    prompt, answer = asked
    match rng.randrange(4):
        case 0:
            return prompt, spoilt_text(answer, rng)
        case 1:
            return spoilt_text(prompt, rng), answer
        case 2:
            return hostile_text(rng), hostile_text(rng)
        case _:
            return spoilt_text(prompt, rng), spoilt_text(answer, rng)
