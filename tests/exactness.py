"""The captured band beside eager attention. `python -m tests.exactness` prints the differences as a table."""

import sys

import numpy as np
import torch

from rauq.capture.check import _eager, band_of_matrix
from rauq.capture.feed import CachedModel
from rauq.language_model import LanguageModel
from rauq.trace import NUM_BANDS, Trace
from tests.architectures import ARCHITECTURES, seeded_prompts, tiny_language_model

NUM_NEW = 20


def eager_bands(lm: LanguageModel, traces: list[Trace]) -> list[np.ndarray]:
    """Bands (L, H, N + 1, K) from one eager pass over the same left-padded batch."""
    sequences = [[*trace.prompt_ids.tolist(), *trace.answer_ids.tolist()] for trace in traces]
    length = max(map(len, sequences))
    padding = [length - len(sequence) for sequence in sequences]
    ids = torch.tensor([[0] * empty + ids for empty, ids in zip(padding, sequences, strict=True)])
    options = CachedModel(lm.model, padding)._mask_and_positions(length)
    with _eager(lm.model), torch.inference_mode():
        output = lm.model(input_ids=ids, output_attentions=True, use_cache=False, **options)
    layers = [weights for weights in output.attentions if weights is not None]
    return [
        np.stack(
            [
                band_of_matrix(
                    layer[item, :, padding[item] :, padding[item] :].numpy(), len(trace.prompt_ids) - 1, NUM_BANDS
                )
                for layer in layers
            ]
        )
        for item, trace in enumerate(traces)
    ]


def difference(lm: LanguageModel, traces: list[Trace]) -> float:
    """Largest absolute difference to eager attention; the nan must be the same."""
    worst = 0.0
    for trace, expected in zip(traces, eager_bands(lm, traces), strict=True):
        np.testing.assert_array_equal(np.isnan(trace.attention), np.isnan(expected))
        worst = max(worst, float(np.nanmax(np.abs(trace.attention - expected))))
    return worst


def answered(lm: LanguageModel, ids: list[list[int]], **options) -> list[Trace]:
    return list(lm.generate_batch(ids, max_new_tokens=NUM_NEW, stop=(), last_row=True, **options))


def table() -> str:
    """Largest difference to eager attention by architecture, generated and read, alone and with left padding."""
    lines = [f"{'architecture':24}{'capture':14}{'generated':>11}{'read':>11}{'padded':>11}{'padded read':>13}"]
    for architecture in ARCHITECTURES:
        lm = tiny_language_model(architecture)
        alone = [lm.generate(ids, max_new_tokens=NUM_NEW, stop=(), last_row=True) for ids in seeded_prompts(30)]
        read = [lm.read(trace.prompt_ids, trace.answer_ids) for trace in alone]
        padded = answered(lm, seeded_prompts(30, 17, 25))
        padded_read = list(lm.read_batch([(trace.prompt_ids, trace.answer_ids) for trace in padded]))
        columns = [difference(lm, traces) for traces in (alone, read, padded, padded_read)]
        widths = (11, 11, 11, 13)
        numbers = "".join(f"{value:{width}.1e}" for value, width in zip(columns, widths, strict=True))
        lines.append(f"{architecture.name:24}{lm.feed_type.__name__:14}{numbers}")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(f"{table()}\n")
