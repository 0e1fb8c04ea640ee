"""Which records this project keeps, by what they are evidence of, and the command that makes each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from analysis.evidence.record import Record


@dataclass(frozen=True, kw_only=True)
class Subject:
    """A record by its id, kept or not yet: what it is about, in a few words."""

    id: str
    name: str
    command: str


MODELS = Subject(id="models", name="Models", command="python -m tests.exactness --record")
REFERENCE = Subject(id="reference", name="Reference", command="python -m tests.agreement --record")
SPEED = (
    Subject(id="capture", name="Beside plain generation", command="python -m benchmarks.capture --record"),
    Subject(id="overhead", name="Each method", command="python -m benchmarks.overhead --record"),
    Subject(id="memory", name="Memory", command="python -m benchmarks.memory --record"),
    Subject(id="growth", name="Growth with the prompt", command="python -m benchmarks.growth --record"),
    Subject(id="peers_time", name="Peers: time", command="make bench-peers"),
    Subject(id="peers_memory", name="Peers: memory", command="make bench-peers"),
    Subject(id="peers_agreement", name="Peers: same score", command="make bench-peers"),
    Subject(id="payload", name="Bytes of a page", command="make bench-peers"),
    Subject(id="scoring", name="Scoring", command="python -m benchmarks.scoring --record"),
    Subject(id="ablations", name="Ablations", command="python -m benchmarks.ablations --record"),
    Subject(id="sampling", name="Samples", command="python -m benchmarks.sampling --record"),
    Subject(id="throughput", name="Throughput", command="python -m benchmarks.throughput --record"),
    Subject(id="runs", name="Runs on disk", command="python -m benchmarks.runs --record"),
    Subject(id="page", name="The page", command="python -m benchmarks.page --record"),
    Subject(id="tab_memory", name="An open tab", command="python -m benchmarks.tab_memory --record"),
    Subject(id="gpu", name="On a GPU", command="python -m benchmarks.gpu --record"),
)
ROBUSTNESS = (
    Subject(id="fuzz", name="Fuzzing", command="python -m tests.proof --only fuzz --record"),
    Subject(id="properties", name="Laws", command="python -m tests.proof --only properties --record"),
    Subject(id="load", name="Load", command="python -m tests.proof --only load --record"),
    Subject(id="faults", name="Faults", command="python -m tests.proof --only faults --record"),
    Subject(id="safety", name="Hostile text", command="python -m tests.proof --only safety --record"),
    Subject(id="dependencies", name="Dependencies", command="python -m benchmarks.dependencies --record"),
)
SUBJECTS = (MODELS, REFERENCE, *SPEED, *ROBUSTNESS)


def of_subjects(subjects: Sequence[Subject], kept: Mapping[str, Record]) -> tuple[Record, ...]:
    """The records of these subjects that are kept, in this order."""
    return tuple(kept[subject.id] for subject in subjects if subject.id in kept)


def missing(subjects: Sequence[Subject], kept: Mapping[str, Record]) -> tuple[Subject, ...]:
    """The subjects of which nothing was measured."""
    return tuple(subject for subject in subjects if subject.id not in kept)
