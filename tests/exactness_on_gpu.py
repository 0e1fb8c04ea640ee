"""The self-check of the capture on a GPU: every tiny architecture, and the two models of the app, in three precisions.

`LanguageModel.check` compares the captured weights with float64 weights of the same queries and keys. For the models of
the app, the answers that the CPU gave in float32 are also read on the GPU, and their weights, log-probabilities and
uncertainties compared.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch

from analysis.evidence.record import Bound, Cell, Record
from benchmarks.support.recording import measured, tell
from rauq import LanguageModel, Trace, load_model, score
from rauq.capture.check import Check
from rauq.errors import InvalidInput
from rauq.model.loading import wrap
from tests.architectures import ARCHITECTURES, Architecture, byte_tokenizer, tiny_model

DTYPES = ("float32", "bfloat16", "float16")
APP = ("atlas", "smollm2")
COUNTRIES = ("France", "Chad", "Nepal", "Peru", "Fiji", "Iceland")
NEW_TOKENS = 16
COLUMNS = (
    *("model", "layers", *(f"{dtype}, of tolerance" for dtype in DTYPES)),
    *("from the CPU: weight", "log-probability, nats", "RAUQ"),
)
NOT_COMPARED = (float("nan"),) * 3


class Row(NamedTuple):
    """A model's checks by precision, and its largest differences in float32 from answers on the CPU."""

    model: str
    checks: Sequence[Check | None]
    differences: Sequence[float] = NOT_COMPARED

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its row of the table: of each check, the difference as a share of what is tolerated."""
        layers = next(len(check.layers) for check in self.checks if check)
        return (self.model, layers, *map(_share, self.checks), *self.differences)

    @property
    def wrong(self) -> list[str]:
        """Where it is not exact, and why."""
        pairs = zip(DTYPES, self.checks, strict=True)
        return [f"{self.model} in {dtype}: {check}" for dtype, check in pairs if check and not check.exact]


def measure() -> Record:
    """Check every model on the GPU.

    Raises:
        InvalidInput: there is no GPU.
    """
    if not torch.cuda.is_available():
        message = "There is no GPU here, so nothing was checked; run this on a machine with CUDA."
        raise InvalidInput(message)
    return record(list(rows("cuda")), torch.cuda.get_device_name())


def rows(device: str, architectures: Sequence[Architecture] = ARCHITECTURES) -> Iterator[Row]:
    """Every model in every precision, on this device."""
    for architecture in architectures:
        tell(architecture.name)
        models = (tiny_model(architecture).to(device, getattr(torch, dtype)) for dtype in DTYPES)
        yield Row(
            f"tiny: {architecture}",
            [wrap(model, byte_tokenizer(), name=architecture.name).check() for model in models],
        )
    for name in APP:
        tell(name)
        answers = answered(load_model(name, device="cpu", dtype="float32"))
        loaded = [load_model(name, device=device, dtype=dtype) for dtype in DTYPES]
        checks = [lm.check() if lm.dtype == dtype else None for lm, dtype in zip(loaded, DTYPES, strict=True)]
        yield Row(name, checks, from_answers(loaded[0], answers))


def answered(lm: LanguageModel) -> list[Trace]:
    """Answers to six questions."""
    asked = [f"What is the capital of {country}?" for country in COUNTRIES]
    return [lm.generate(prompt, max_new_tokens=NEW_TOKENS, last_row=True) for prompt in asked]


def from_answers(lm: LanguageModel, answers: Sequence[Trace]) -> tuple[float, float, float]:
    """Largest differences in attention weight, log-probability and uncertainty, where the same tokens are read here."""
    found = [lm.read(trace.prompt_ids, trace.answer_ids) for trace in answers]
    pairs = list(zip(found, answers, strict=True))
    return (
        max(float(np.nanmax(abs(own.attention - other.attention))) for own, other in pairs),
        max(float(abs(own.logprobs - other.logprobs).max()) for own, other in pairs),
        max(abs(score(own).uncertainty - score(other).uncertainty) for own, other in pairs),
    )


def record(found: Sequence[Row], gpu: str) -> Record:
    """The table, and whether every model was exact."""
    checks = sum(check is not None for row in found for check in row.checks)
    wrong = [text for row in found for text in row.wrong]
    return measured(
        "gpu_exact",
        title="Capture on a GPU",
        about="The self-check on a GPU, in three precisions: the difference of captured weights from float64 weights "
        "of the same queries and keys, as a share of what is tolerated; 1 and less is exact. For the models of the "
        "app, the largest differences in float32 from the same answers on the CPU.",
        columns=COLUMNS,
        rows=[row.cells for row in found],
        bounds=[Bound(text=f"checks that are not exact: {'; '.join(wrong) or 'none'}", met=not wrong)],
        notes=(f"Checked on one {gpu}.", "atlas is computed in float32 only."),
        finding=f"On a GPU, {checks - len(wrong)} of {checks} self-checks of the capture are exact.",
    )


def _share(check: Check | None) -> float:
    if check is None or check.worst is None:
        return float("nan")
    return check.differences[check.worst] / check.tolerances[check.worst]
