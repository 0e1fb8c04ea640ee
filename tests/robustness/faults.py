"""Fault injection for scoring jobs and the app, many times each: no saved result is lost."""

from analysis.evidence.record import Bound, Record
from benchmarks.recording import measured
from tests.robustness.faults_of_files import broken_shards
from tests.robustness.faults_of_jobs import full_disks, kills, vanished_models
from tests.robustness.faults_of_the_server import ended_servers

SEED = 0


def measure() -> Record:
    """Every fault in full."""
    survived = (
        kills(count=20, seed=SEED),
        full_disks(count=20, seed=SEED),
        vanished_models(count=20, seed=SEED),
        broken_shards(count=500, seed=SEED),
        ended_servers(count=5, seed=SEED),
    )
    losses = [f"{each.fault}: {loss}" for each in survived for loss in each.losses]
    times = sum(each.times for each in survived)
    return measured(
        "faults",
        title="Fault injection",
        about="A run of a tiny model is disturbed in each listed way and compared with an undisturbed one: saved "
        "answers must be there, and the resumed run must be identical byte for byte.",
        columns=("fault", "times", "lost or wrong", "outcome"),
        rows=[(each.fault, each.times, len(each.losses), each.outcome) for each in survived],
        bounds=[Bound(text=f"{len(losses)} losses in {times:,} faults, at most 0", met=not losses)],
        notes=losses[:20],
        packages=("torch", "transformers", "numpy", "streamlit", "pyarrow", "safetensors"),
        finding=f"Of {times:,} injected faults, {len(losses)} lost or changed saved results.",
    )
