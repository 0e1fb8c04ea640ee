"""A scoring job killed with SIGKILL at random moments, and gone on with each time: does it end as if never killed?

One run of the embedded model is left alone. Copies of it are begun, killed after a random time up to what the first
one took, and gone on with, until so many kills fell while a job was at work; each copy that comes to its end is
compared with the first, byte by byte: manifest, examples, answers and attention. Fails where a byte differs.

    python -m benchmarks.kills [--kills 20] [--seed 0]
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from analysis.datasets.embedded import embedded_set
from analysis.runs.files import is_of_run
from analysis.runs.preparing import prepare, request_for
from analysis.runs.status import read_status

EXAMPLES, SHARD, BATCH = 64, 8, 4
ROOT = Path(__file__).resolve().parents[1]


def begin(folder: Path) -> subprocess.Popen[bytes]:
    """A job that works on the run, in a process of its own."""
    command = [sys.executable, "-m", "analysis", "score", "--out", str(folder), "--resume"]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, cwd=ROOT, stdout=quiet, stderr=quiet, env={**os.environ, "OMP_NUM_THREADS": "1"})


def contents(folder: Path) -> dict[str, bytes]:
    """Everything that a run is: its times and its status are not."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if is_of_run(path.name)}


def killed(folder: Path, seconds: float) -> bool:
    """Work on the run, and kill the job after so many seconds; False if it came to its end before."""
    process = begin(folder)
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return True
    if process.returncode:
        message = f"The job ended by itself with {process.returncode}: {read_status(folder).message}"
        raise RuntimeError(message)
    return False


def main() -> int:
    """Print what each kill found; 1 if a run that was killed ends otherwise than one that was not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    random = np.random.default_rng(options.seed)
    with tempfile.TemporaryDirectory() as root:
        prepared, whole, run = (Path(root) / name for name in ("prepared", "whole", "run"))
        data = embedded_set("atlas", limit=EXAMPLES)
        prepare(prepared, data, request_for(data, model="atlas", shard_size=SHARD, batch_size=BATCH))
        shutil.copytree(prepared, whole)
        started = time.monotonic()
        killed(whole, float("inf"))
        longest = time.monotonic() - started
        print(f"uninterrupted: {longest:.1f} s, {len(contents(whole))} files", flush=True)
        kills = ends = different = 0
        shutil.copytree(prepared, run)
        while kills < options.kills or not _finished(run):
            after = random.uniform(0, longest) if kills < options.kills else float("inf")
            if killed(run, after):
                kills += 1
                status = read_status(run)
                print(f"  kill {kills:2} after {after:5.1f} s: {status.state}, {status.saved} saved", flush=True)
                continue
            ends += 1
            different += contents(run) != contents(whole)
            print(f"  end {ends}: {'DIFFERENT' if different else 'identical'}", flush=True)
            if kills < options.kills:
                shutil.rmtree(run)
                shutil.copytree(prepared, run)
    print(f"{kills} kills, {ends} runs gone on with to their end, {different} different from the one never killed")
    return int(different > 0)


def _finished(folder: Path) -> bool:
    return read_status(folder).state == "finished"


if __name__ == "__main__":
    sys.exit(main())
