"""Where the other parts of the project are, and how another Python process finds them.

An installed package holds them, the repository has them beside it.
"""

import os
import sys
import sysconfig
from pathlib import Path

_PACKAGE = Path(__file__).parent
_IS_INSTALLED = (_PACKAGE / "analysis" / "__init__.py").is_file()

ROOT = _PACKAGE.parent  # the folder in which Python finds rauq
ANALYSIS = "rauq.analysis" if _IS_INSTALLED else "analysis"
APP = (_PACKAGE / "web" if _IS_INSTALLED else ROOT) / "app.py"
HOST = f"{'rauq.web.' if _IS_INSTALLED else ''}pages.ui.host.server"


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module: without -P, a file of the current folder could stand in for one of ours."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The variables of this process, with which another one finds the same project."""
    # Where pip installed it, Python finds it by itself; in PYTHONPATH that folder would come before Python's own.
    found = Path(sysconfig.get_path("purelib")) == ROOT
    paths = ("" if found else str(ROOT), os.environ.get("PYTHONPATH"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
