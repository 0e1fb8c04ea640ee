"""Malformed inputs by the ten thousand to every place that takes data from users, and their outcome."""

import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

from analysis.evidence.record import Bound, Record
from benchmarks.recording import measured
from tests.robustness.fuzz_engine import Fuzzed, Surface, fuzz_surface
from tests.robustness.surfaces_answers import answers, reports
from tests.robustness.surfaces_links import links_read, pages_opened
from tests.robustness.surfaces_prompts import prompts
from tests.robustness.surfaces_runs import run_archives, run_folders
from tests.robustness.surfaces_traces import trace_files
from tests.robustness.surfaces_uploads import csv_uploads, json_uploads, parquet_uploads

COUNT = 10_000
SEED = 6

SURFACES: tuple[Callable[[Path], Surface], ...] = (
    *(prompts, answers, reports, trace_files, csv_uploads, json_uploads, parquet_uploads),
    *(run_folders, run_archives, links_read, pages_opened),
)


def fuzz(make: Callable[[Path], Surface], *, count: int, seed: int = SEED) -> Fuzzed:
    """Put inputs to a surface that is given a folder of its own."""
    with TemporaryDirectory() as folder:
        return fuzz_surface(make(Path(folder)), count=count, seed=seed)


def measure(count: int = COUNT) -> Record:
    """All surfaces, one a core; what should not have come out goes to stderr, with the input's number."""
    cores = len(os.sched_getaffinity(0))
    with ProcessPoolExecutor(cores, mp_context=get_context("spawn")) as pool:
        found = [_told(one) for one in pool.map(partial(fuzz, count=count), SURFACES)]
    inputs, faults = sum(one.inputs for one in found), sum(len(one.faults) for one in found)
    return measured(
        "fuzz",
        title="Malformed inputs",
        about=(
            "Each place that takes text or files from users is given malformed inputs, made from valid ones: bytes, "
            "characters, types, shapes, names, nesting, encodings. Accepted inputs are processed as the pages do; "
            "others must be refused by an error that says why. Anything else is a fault: another error, a warning, "
            "a file left half-written, an input that takes more than 10 s. Pages, and whole reports, take long: they "
            "get fewer inputs, of the same kinds as the texts and the links above them."
        ),
        columns=("surface", "inputs", "accepted", "refused", "faults", "seconds", "slowest, s"),
        rows=[
            (one.surface, one.inputs, one.accepted, one.refused, len(one.faults), one.seconds, one.slowest)
            for one in found
        ],
        bounds=[
            Bound(
                text=f"{inputs:,} inputs without an unhandled exception",
                met=not faults,
            )
        ],
        finding=f"Of {inputs:,} malformed inputs to {len(found)} surfaces caused {faults} unhandled exceptions.",
        packages=("numpy", "pandas", "pyarrow", "safetensors", "streamlit"),
    )


def _told(found: Fuzzed) -> Fuzzed:
    faults = [f"input {fault.number}:\n{fault.said}\n" for fault in found.faults]
    sys.stderr.writelines([f"{found.surface}: {found.inputs:,} in {found.seconds:.0f} s\n", *faults])
    return found
