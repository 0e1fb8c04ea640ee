"""`python -m benchmarks [NAME ...] [--record]`: measure, print each table with its bounds, and keep it if asked.

Several measurements run in the order of the table below, each in a process of its own; without a name, all that need
neither a GPU nor the tools of `make bench-peers`, nor test robustness or simulate statements. The exit status is 1 if a
bound was missed, and 2 if something could not be measured here.
"""

import argparse
import os
import subprocess
import sys
from importlib import import_module

os.environ["OMP_NUM_THREADS"] = "1"  # before numpy and torch are imported: times are those of one thread

from analysis.evidence.record import Record, save
from benchmarks import readme
from benchmarks.support.recording import show, tell
from rauq.errors import InvalidInput

# A module's `measure()` returns the record of that name. Those among the tests measure with the models and the inputs
# of the tests; no module of this package imports them.
BY_DEFAULT = {
    "models": "tests.exactness",
    "reference": "tests.agreement",
    "real_models": "benchmarks.real_models",
    "real_speed": "benchmarks.real_speed",
    "engine_speed": "benchmarks.engine_speed",
    "capture": "benchmarks.capture",
    "overhead": "benchmarks.overhead",
    "monitor": "benchmarks.monitor",
    "memory": "benchmarks.memory",
    "growth": "benchmarks.growth",
    "scoring": "benchmarks.scoring",
    "ablations": "benchmarks.ablations",
    "weak_points": "benchmarks.weak_points",
    "sampling": "benchmarks.sampling",
    "shared_prefix": "benchmarks.shared_prefix",
    "throughput": "benchmarks.throughput",
    "runs": "benchmarks.runs",
    "fitting": "benchmarks.fitting",
    "page": "benchmarks.page",
    "tab_memory": "benchmarks.tab_memory",
    "dependencies": "benchmarks.dependencies",
}
ON_REQUEST = {
    "coverage": "benchmarks.coverage",  # which takes long
    "written": "benchmarks.written",  # takes half an hour, and both packaged models
    "online": "benchmarks.online",  # takes ten minutes where its runs are not there yet, and a packaged model
    "alarms": "benchmarks.online.alarms",  # of the same runs, takes minutes more
    "survival": "benchmarks.survival",  # takes minutes, and one of the runs of `online`
    "marked": "benchmarks.marked",  # takes half an hour, packaged models, and data of others
    "worth": "benchmarks.worth",  # takes an hour, both packaged models, and the same data
    "lists": "benchmarks.lists",  # takes half an hour, and both packaged models
    "likeness": "benchmarks.likeness",  # takes minutes, and a packaged model
    "documents": "benchmarks.documents",  # takes ten minutes, and a packaged model
    "faithbench": "benchmarks.documents.faithbench",  # takes half an hour, a packaged model, and data of others
    "serve": "benchmarks.serving",  # takes an hour, and a packaged model
    "serve_load": "benchmarks.serving_load",  # takes twenty minutes, and a packaged model
    "engine_shapes": "benchmarks.engine_shapes",  # writes 5 GB
    "engines": "benchmarks.engines",  # takes a quarter of an hour, and both packaged models
    "vllm": "benchmarks.vllm.agreement",  # takes minutes, and an environment with vLLM
    "vllm_models": "benchmarks.vllm.models",  # takes minutes, the same, and both packaged models
    "vllm_cost": "benchmarks.vllm.cost",  # takes minutes, and an environment with vLLM
    "vllm_load": "benchmarks.vllm.load",  # takes half an hour, and the same
    "suite": "benchmarks.suite",  # runs all tests
    "mutants": "benchmarks.mutation.found",  # takes half an hour, and a packaged model
    "gpu": "benchmarks.gpu",
    "gpu_exact": "tests.exactness_on_gpu",
    "peers_agreement": "benchmarks.peers.agreement",
    "peers_time": "benchmarks.peers.times",
    "peers_memory": "benchmarks.peers.memory",
    "million": "benchmarks.million",
    "payload": "benchmarks.peers.payload",
    "properties": "tests.robustness.properties",
    "fuzz": "tests.robustness.fuzz",
    "safety": "tests.robustness.safety",
    "faults": "tests.robustness.faults",
    "load": "tests.robustness.load",
    "bombs": "tests.robustness.bombs",
    "hostile": "tests.robustness.hosted.attack",
    "flood": "tests.robustness.hosted.flood",
    "visitors": "tests.robustness.hosted.visitors",
    "visitors_hour": "tests.robustness.hosted.visitors_hour",
    "misuse": "tests.robustness.hosted.misuse",  # takes minutes, nginx, and a packaged model
    "workers": "tests.robustness.hosted.workers",  # takes minutes, nginx, and a packaged model
    "ray": "tests.robustness.ray_runs",
}
MEASUREMENTS = BY_DEFAULT | ON_REQUEST


def main() -> int:
    """Measure what is named, and return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASUREMENTS))
    parser.add_argument("--record", action="store_true", help="keep the tables for the page Evidence and the READMEs")
    given = parser.parse_args()
    if unknown := [name for name in given.names if name not in MEASUREMENTS]:
        parser.error(f"There is no measurement {', '.join(unknown)}; there are {', '.join(MEASUREMENTS)}.")
    if len(given.names) == 1:
        return run(given.names[0], keep=given.record)
    chosen = [name for name in MEASUREMENTS if name in (given.names or BY_DEFAULT)]
    return max(run_apart(name, keep=given.record) for name in chosen)


def run_apart(name: str, *, keep: bool) -> int:
    """Run one measurement in a process of its own: its exit status."""
    tell(f"\n{name}")
    options = ["--record"] if keep else []
    return abs(subprocess.run([sys.executable, "-m", "benchmarks", name, *options], check=False).returncode)


def run(name: str, *, keep: bool) -> int:
    """Run one measurement in this process: 1 if it missed a bound, 2 if it cannot be made here."""
    try:
        record = _measure(name, keep=keep)
    except InvalidInput as error:
        tell(str(error))
        return 2
    show(record)
    if keep:
        save(record)
        readme.main()
    return 0 if record.met else 1


def _measure(name: str, *, keep: bool) -> Record:
    module = import_module(MEASUREMENTS[name])
    # the run that this measures keeps its times, too
    record: Record = module.measure(keep=keep) if name == "overhead" else module.measure()
    return record


if __name__ == "__main__":
    sys.exit(main())
