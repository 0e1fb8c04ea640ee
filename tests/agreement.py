"""Our numbers compared with those of the reference implementation, lm-polygraph 0.7.0 and the authors' own code.

They gave the golden numbers of `tests/golden` for synthetic answers; here ours are computed from the same arrays.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

import rauq
from analysis.evidence.record import Bound, Cell, Record
from benchmarks.support.recording import measured
from tests import golden_rauq
from tests.golden_methods import (
    DIFFERENT,
    FROM_SAMPLES,
    ONE,
    ONE_GENERATION,
    SAMPLES,
    TOKENS,
    Pair,
    ccp,
    from_samples,
    one_generation,
    sar,
)
from tests.golden_rauq import CASES, EXACT, META, UPDATES

COLUMNS = (
    "method",
    "numbers compared",
    "undefined in both",
    "largest relative difference",
    "tolerance",
)
NOTES = (
    "Relative differences beyond 1e-15 for RAUQ, and 1e-12 for others. Undefined: nan or infinite, and so in both.",
    "On purpose: no constant. The reference adds 1 to RAUQ's score, which changes no order; the paper does not.",
    "On purpose: what is undefined stays so. The reference ranks nan as the most certain of all.",
    "On purpose: every item of a batch has its own attention. The reference reads that of the first for all.",
    "On purpose: any attention kernel, any window. The reference needs eager attention, and raises beyond a window.",
    "On purpose: the end token keeps its probability. The reference floors it in the first two steps.",
    "On purpose: an unknown name raises. The reference scores an unknown ablation 0.",
    "On purpose: PRR averages ties over their orders, and is undefined for constant quality. The reference says 0.5.",
    "On purpose: Focus counts every keyword. The reference sees one at most with transformers 5.",
)


def measure() -> Record:
    """Every number that the reference gave."""
    return record(agreements())


@dataclass(frozen=True, eq=False, kw_only=True)
class Agreement:
    """The numbers (n,) of a method over all golden cases, ours and the reference's, and what is tolerated."""

    method: str
    ours: np.ndarray
    reference: np.ndarray
    rtol: float
    atol: float

    @property
    def largest(self) -> float:
        """Largest relative difference beyond `atol`; infinite where one number is undefined and the other is not."""
        ours, reference = self.ours, self.reference
        same = (ours == reference) | (np.isnan(ours) & np.isnan(reference))
        both = np.isfinite(ours) & np.isfinite(reference)
        beyond = np.abs(np.subtract(ours, reference, where=both, out=np.zeros(len(both)))) - self.atol
        relative = beyond.clip(0) / np.maximum(np.abs(reference), np.finfo(float).tiny)
        return float(np.where(same, 0.0, np.where(both, relative, np.inf)).max())

    @property
    def undefined(self) -> int:
        """How many are undefined or infinite in both."""
        return int((~np.isfinite(self.ours) & ~np.isfinite(self.reference)).sum())


def agreements() -> list[Agreement]:
    """Every method that the reference gave numbers for, RAUQ first, under each of its update rules."""
    golden = golden_rauq.arrays()
    single = [one_generation(golden, case) for case in META["focus_cases"]]
    sampled = list(map(from_samples, DIFFERENT))
    return [
        *of_rauq(golden, CASES),
        *(of_pairs(method, [pairs[method] for pairs in single], ONE) for method in ONE_GENERATION),
        *(of_pairs(method, [pairs[method] for pairs in sampled], SAMPLES) for method in FROM_SAMPLES),
        of_pairs("ccp", [ccp(case) for case in META["ccp_cases"]], TOKENS),
        of_pairs("sar", [sar(case) for case in META["estimator_cases"]], SAMPLES),
    ]


def of_rauq(golden: Mapping[str, np.ndarray], cases: Sequence[Mapping[str, object]]) -> list[Agreement]:
    """RAUQ by update rule, over every alpha, aggregation, signal and choice of heads."""
    found = [golden_rauq.compare(golden, case) for case in cases]
    rules = np.array([cell[3] for one in found for cell in one.cells])
    ours, reference = (np.concatenate([getattr(one, side) for one in found]) for side in ("ours", "reference"))
    return [
        Agreement(method=called(update), ours=ours[rules == rule], reference=reference[rules == rule], **EXACT)
        for rule, update in enumerate(UPDATES)
    ]


def of_pairs(method: str, pairs: Sequence[Pair], tolerance: Mapping[str, float]) -> Agreement:
    """A method by its id, one number a case."""
    ours, reference = np.array(pairs, dtype=float).T
    return Agreement(method=rauq.METHODS[method].name, ours=ours, reference=reference, **tolerance)


def called(update: str) -> str:
    """RAUQ with an update rule."""
    return "RAUQ" if update == "rauq" else f"RAUQ, {update.replace('_', ' ')}"


def row(found: Agreement) -> tuple[Cell, ...]:
    """The method's row of the record."""
    return found.method, len(found.ours), found.undefined, found.largest, found.rtol


def record(found: Sequence[Agreement]) -> Record:
    """The table of all methods, and whether each is within its tolerance."""
    count = sum(len(one.ours) for one in found)
    off = [one.method for one in found if not one.largest <= one.rtol]
    reach = f"All {count:,} numbers of {len(found)} methods and variants equal the authors' code, within its precision"
    return measured(
        "reference",
        title="Agreement with the reference implementation",
        about=(
            "Scores of synthetic answers beside those that lm-polygraph 0.7.0 and the authors' code gave for the same "
            "arrays. RAUQ is compared in float64; methods over samples in the float32 that the reference computes in."
        ),
        columns=COLUMNS,
        rows=[row(one) for one in found],
        bounds=[Bound(text=f"Methods off by more than their tolerance: {', '.join(off) or 'none'}", met=not off)],
        notes=NOTES,
        finding=f"{reach}." if not off else f"Off the reference: {', '.join(off)}.",
        packages=("numpy",),
    )
