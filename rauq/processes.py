"""Another Python process that runs a module of this project, and nothing of the folder in which it starts."""

import os
import sys
import sysconfig
from pathlib import Path

from rauq.layout import ROOT


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module: without -P, a file of the current folder could stand in for one of ours."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The variables of this process, with which another one finds the same project."""
    # Where pip installed it, Python finds it by itself; in PYTHONPATH that folder would come before Python's own.
    found = Path(sysconfig.get_path("purelib")) == ROOT
    paths = ("" if found else str(ROOT), os.environ.get("PYTHONPATH"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
