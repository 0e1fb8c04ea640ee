"""Fuzzing: each malformed input is accepted, or refused by one of our errors; anything else is a fault."""

import faulthandler
import os
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from analysis.evidence.record import Bound, Record
from benchmarks.support.recording import measured
from rauq.errors import RauqError
from tests.robustness.malformed import Surface, input_of
from tests.robustness.surfaces.files import csv_uploads, detector_files, json_uploads, parquet_uploads, trace_files
from tests.robustness.surfaces.links import links_read, pages_opened
from tests.robustness.surfaces.runs import run_archives, run_folders
from tests.robustness.surfaces.texts import answers, prompts, reports

COUNT = 10_000
SEED = 6
SLOW = 10.0  # seconds of processor time that one input may take
HANGING = 120.0  # seconds after which the process is ended, with a traceback of where it hangs

SURFACES: tuple[Callable[[Path], Surface], ...] = (
    *(prompts, answers, reports, trace_files, detector_files, csv_uploads, json_uploads, parquet_uploads),
    *(run_folders, run_archives, links_read, pages_opened),
)


@dataclass(frozen=True, kw_only=True)
class Fuzzed:
    """How many inputs a surface accepted and refused, and its faults, each with the number of its input.

    `seconds` is the duration of all, `slowest` the processor time of one input.
    """

    surface: str
    inputs: int
    accepted: int
    refused: int
    faults: tuple[str, ...]
    seconds: float
    slowest: float


def fuzz(make: Callable[[Path], Surface], *, count: int, seed: int = SEED) -> Fuzzed:
    """Fuzz a surface, made in a temporary folder."""
    with TemporaryDirectory() as folder:
        return fuzz_surface(make(Path(folder)), count=count, seed=seed)


def fuzz_surface(surface: Surface, *, count: int, seed: int) -> Fuzzed:
    """Give a surface its share of `count` inputs; a warning is a fault, and so is an input that takes too long."""
    outcomes, slowest, begun = [], 0.0, time.perf_counter()
    for number in range(max(1, round(count * surface.share))):
        given, started = input_of(surface, number, seed=seed), time.thread_time()
        faulthandler.dump_traceback_later(HANGING, exit=True, file=sys.__stderr__)
        outcome = _outcome(surface, given)
        faulthandler.cancel_dump_traceback_later()
        slowest = max(slowest, seconds := time.thread_time() - started)
        outcomes.append(f"it took {seconds:.1f} s" if seconds > SLOW else outcome)
    return Fuzzed(
        surface=surface.name,
        inputs=len(outcomes),
        accepted=outcomes.count("accepted"),
        refused=outcomes.count("refused"),
        faults=tuple(f"input {i}:\n{said}" for i, said in enumerate(outcomes) if said not in ("accepted", "refused")),
        seconds=time.perf_counter() - begun,
        slowest=slowest,
    )


def _outcome(surface: Surface, given: Any) -> str:
    """accepted, refused, or the traceback of a fault."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            surface.target(given)
    except RauqError:
        return "refused"
    except Exception:  # noqa: BLE001 - every other error is a fault
        return traceback.format_exc(limit=-6)
    return "accepted"


def measure(count: int = COUNT) -> Record:
    """All surfaces, one per core; faults go to stderr."""
    found = []
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), mp_context=get_context("spawn")) as pool:
        for one in pool.map(partial(fuzz, count=count), SURFACES):
            sys.stderr.write("\n".join([f"{one.surface}: {one.inputs:,} in {one.seconds:.0f} s", *one.faults, ""]))
            found.append(one)
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
        bounds=[Bound(text=f"{inputs:,} inputs without an unhandled exception", met=not faults)],
        finding=f"{inputs:,} malformed inputs to {len(found)} entry points caused {faults} unhandled exceptions.",
        packages=("numpy", "pandas", "pyarrow", "safetensors", "streamlit"),
    )
