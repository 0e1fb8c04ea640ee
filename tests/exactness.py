"""The captured band compared with eager attention, for every architecture of the table.

Each is a tiny random model with what makes the attention of its family special. Its band is taken while it generates,
while it reads the same answer in one pass, and in left-padded batches of both, and compared with what one eager pass
over the same tokens returns.
"""

from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
import torch
from scipy.special import entr

from analysis.evidence.record import Cell, Record
from benchmarks.support.recording import at_most, measured
from rauq.capture.cache import CachedModel
from rauq.capture.check import EXACT
from rauq.capture.recompute import band_of_matrix, eager
from rauq.capture.session import StepwiseSession
from rauq.model.language_model import LanguageModel
from rauq.trace.trace import Trace
from tests.architectures import ARCHITECTURES, Architecture, named, seeded_prompts, tiny_language_model
from tests.paper_models import SHAPES

NUM_NEW = 20
ORDINARY_SCORE = 50.0
LENGTHS = (30, 17, 25)
WAYS = ("generated", "read", "padded, generated", "padded, read")
COLUMNS = ("architecture", "captured", *WAYS, "tolerance", "of the paper's models")


def measure() -> Record:
    """Every architecture of the table."""
    return record([row(architecture) for architecture in ARCHITECTURES])


@dataclass(frozen=True, kw_only=True)
class Differences:
    """Largest absolute difference to eager attention in each way that the band is taken, in attention weight."""

    generated: float
    read: float
    padded: float
    padded_read: float

    @property
    def worst(self) -> float:
        """The largest of the four; nan if one is."""
        return float(np.max(astuple(self)))


def bound(architecture: Architecture) -> float:
    """What is tolerated of its differences: rounding grows in proportion to the scores, in eager attention too."""
    return EXACT * max(1.0, architecture.scores / ORDINARY_SCORE)


def differences(lm: LanguageModel, alone: Sequence[Trace], padded: list[Trace]) -> Differences:
    """Compare a model's band with eager attention: generated and read, alone and with left padding."""
    return Differences(
        generated=largest(lm, alone),
        read=largest(lm, [lm.read(trace.prompt_ids, trace.answer_ids) for trace in alone]),
        padded=difference(lm, padded),
        padded_read=difference(lm, list(lm.read_batch([(trace.prompt_ids, trace.answer_ids) for trace in padded]))),
    )


def answered_alone(lm: LanguageModel) -> list[Trace]:
    """The seeded prompts answered one by one."""
    options = {"max_new_tokens": NUM_NEW, "stop": (), "last_row": True}
    return [lm.generate(ids, **options) for ids in seeded_prompts(*LENGTHS)]


def largest(lm: LanguageModel, traces: Sequence[Trace]) -> float:
    """The largest difference of traces that were taken one by one."""
    return max(difference(lm, [trace]) for trace in traces)


def difference(lm: LanguageModel, traces: list[Trace]) -> float:
    """Largest absolute difference to eager attention; the nan must be the same."""
    return difference_to(eager_bands(lm, traces), traces)


def difference_to(bands: Sequence[np.ndarray], traces: Sequence[Trace]) -> float:
    """The same, where the eager bands of the traces' tokens are known."""
    worst = 0.0
    for trace, expected in zip(traces, bands, strict=True):
        np.testing.assert_array_equal(np.isnan(trace.attention), np.isnan(expected))
        worst = max(worst, float(np.nanmax(np.abs(trace.attention - expected))))
    return worst


def eager_bands(lm: LanguageModel, traces: list[Trace]) -> list[np.ndarray]:
    """Bands (L, H, N + 1, K) from one eager pass over the same left-padded batch."""
    sequences = [[*trace.prompt_ids.tolist(), *trace.answer_ids.tolist()] for trace in traces]
    length = max(map(len, sequences))
    padding = [length - len(sequence) for sequence in sequences]
    ids = torch.tensor([[0] * empty + ids for empty, ids in zip(padding, sequences, strict=True)])
    options = CachedModel(lm.model, padding)._mask_and_positions(length)
    with eager(lm.model), torch.inference_mode():
        output = lm.model(input_ids=ids, output_attentions=True, use_cache=False, **options)
    layers = [weights for weights in output.attentions if weights is not None]
    return [
        np.stack(
            [
                band_of_matrix(
                    layer[item, :, padding[item] :, padding[item] :].numpy(),
                    len(trace.prompt_ids) - 1,
                    offsets=trace.attention.shape[3],
                )
                for layer in layers
            ]
        )
        for item, trace in enumerate(traces)
    ]


def entropies(rows: np.ndarray) -> np.ndarray:
    """Shannon and Renyi-2 entropies (..., 2) of rows of weights (..., T), as shares of what is put on keys."""
    shares = rows.astype(np.float64) / rows.sum(axis=-1, keepdims=True, dtype=np.float64)
    return np.stack([entr(shares).sum(axis=-1), -np.log((shares**2).sum(axis=-1))], axis=-1)


def answered(lm: LanguageModel, ids: list[list[int]], **options) -> list[Trace]:
    return list(lm.generate_batch(ids, max_new_tokens=NUM_NEW, stop=(), last_row=True, **options))


def row(architecture: Architecture) -> tuple[Cell, ...]:
    """The architecture's row of the record."""
    lm = tiny_language_model(architecture)
    taken = "step by step" if lm.engine.session_type is StepwiseSession else "from queries and keys"
    return (
        architecture.name,
        taken,
        *astuple(differences(lm, answered_alone(lm), answered(lm, seeded_prompts(*LENGTHS)))),
        bound(architecture),
        papers(architecture),
    )


def papers(architecture: Architecture) -> str:
    """The models of the paper that are of this family; where it has several rows, they stand in its first."""
    first = next(one for one in ARCHITECTURES if one.model_type == architecture.model_type)
    own = [name for name, (model_type, *_) in SHAPES.items() if model_type == architecture.model_type]
    return ", ".join(own) if architecture is first else ""


def record(rows: Sequence[tuple[Cell, ...]]) -> Record:
    """The table of all rows, and whether every difference is within the bound."""
    ratios = [np.max(cells[2 : 2 + len(WAYS)]) / cells[2 + len(WAYS)] for cells in rows]
    ordinary = float(np.max([cells[2 : 2 + len(WAYS)] for cells in rows if cells[2 + len(WAYS)] == EXACT]))
    families = len({named(str(cells[0])).model_type for cells in rows})
    reach = (
        f"Captured attention equals the model's own in {families} architectures ({len(rows)} configurations, "
        f"{len(WAYS)} ways to capture): differences of at most {ordinary:.1e}"
    )
    return measured(
        "models",
        title="Models whose attention is captured exactly",
        about=(
            "Largest absolute difference of any captured attention weight to the model's own eager attention, on tiny "
            "random models. The same comparison runs on every model that is loaded."
        ),
        columns=COLUMNS,
        rows=rows,
        bounds=[at_most("Largest difference, as a share of what is tolerated", float(np.max(ratios)), 1)],
        notes=[
            "From queries and keys: recomputed from what its attention was called with, beside the fast kernel.",
            "Step by step: the weights that the model itself returns, where they cannot be recomputed.",
            "Tolerated: 1e-5, and more in proportion to the scores where they are raised above 50 on purpose.",
            "Of the paper's models only the families are here, made small: their weights were not at hand.",
        ],
        finding=f"{reach}, or more where attention scores of 100 to 500 leave float32 fewer digits.",
    )
