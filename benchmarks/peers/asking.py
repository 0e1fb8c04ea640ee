"""Asks `worker.py`: each tool in its own environment, with the same folder and prompts."""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import distributions
from pathlib import Path
from typing import Any, Final

from analysis.evidence.record import Record
from benchmarks.peers.worker import Request
from benchmarks.support.server import ROOT
from rauq.errors import InvalidInput

ENVIRONMENT = ROOT / ".venv-peers"
PLAIN: Final = "plain"
OURS: Final = "rauq"
PEER: Final = "lm-polygraph"
RAUQ_PEERS = (PEER, "torch", "transformers", "numpy")


def ask(request: Request) -> Any:  # noqa: ANN401 - JSON, whose shape the caller knows
    """What a tool's worker found.

    Raises:
        InvalidInput: the peers are not installed.
        RuntimeError: the worker failed; its own words are in the message.
    """
    python = peers_python() if request.tool == PEER else Path(sys.executable)
    return json.loads(said(python, "benchmarks.peers.worker", typed=json.dumps(asdict(request))))


def said(python: Path, module: str, *arguments: str, typed: str = "") -> str:
    """What a module prints under an interpreter.

    Raises:
        RuntimeError: it failed; its own words are in the message.
    """
    command = [str(python), "-m", module, *arguments]
    run = subprocess.run(command, cwd=ROOT, input=typed, capture_output=True, text=True, check=False)
    if run.returncode:
        message = f"{' '.join(command)} failed:\n{run.stderr[-2000:]}"
        raise RuntimeError(message)
    return run.stdout


def peers_python() -> Path:
    """The interpreter of the peers.

    Raises:
        InvalidInput: they are not installed.
    """
    python = ENVIRONMENT / "bin" / "python"
    if not python.exists():
        message = (
            f"The peers have an environment of their own, and there is none at {ENVIRONMENT}. Run `make bench-peers`."
        )
        raise InvalidInput(message)
    return python


def with_versions(record: Record, packages: Sequence[str]) -> Record:
    """The record, with the versions of packages in the environment of the peers."""
    [place] = ENVIRONMENT.glob("lib/python*/site-packages")
    found = {package: next(iter(distributions(name=package, path=[str(place)]))).version for package in packages}
    return replace(record, versions=(*record.versions, *((f"{name} of the peers", found[name]) for name in found)))
