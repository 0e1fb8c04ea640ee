"""What scoring jobs and the app survive, each of it again and again: nothing is lost that was reported as done."""

from analysis.evidence.record import Bound, Record
from benchmarks.recording import measured
from tests.robustness.faults_of_files import broken_shards
from tests.robustness.faults_of_jobs import full_disks, kills, vanished_models
from tests.robustness.faults_of_the_server import ended_servers

SEED = 0
COMMAND = "python -m tests.robustness --only faults"


def record() -> Record:
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
        title="Faults survived",
        about="A run of a tiny model is disturbed in every way that is listed, and compared with one that was not: "
        "what it told as saved has to be there, and after going on every byte of it has to be the same.",
        command=COMMAND,
        columns=("fault", "times", "lost or wrong", "outcome"),
        rows=[(each.fault, each.times, len(each.losses), each.outcome) for each in survived],
        bounds=[Bound(text=f"{len(losses)} losses in {times:,} faults: none allowed", met=not losses)],
        notes=losses[:20],
        packages=("torch", "transformers", "numpy", "streamlit", "pyarrow", "safetensors"),
        finding=f"Of {times:,} faults, {len(losses)} lost or changed anything that was reported as done.",
    )
