"""Where this process runs: where the other parts are, how another process finds them, what a user types, and for whom.

An installed package holds them and comes with a command; the repository has them beside it, and its modules are run.
"""

import os
import sys
import sysconfig
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, ModuleType

_PACKAGE = Path(__file__).parent
_IS_INSTALLED = (_PACKAGE / "analysis" / "__init__.py").is_file()

ROOT = _PACKAGE.parent  # the folder in which Python finds rauq
ANALYSIS = "rauq.analysis" if _IS_INSTALLED else "analysis"
SERVE = "rauq.serve" if _IS_INSTALLED else "serve"
APP = (_PACKAGE / "web" if _IS_INSTALLED else ROOT) / "app.py"
DOCUMENTS = APP.parent / "docs"
HOST = f"{'rauq.web.' if _IS_INSTALLED else ''}pages.ui.host.server"
SERVED = f"{'rauq.web.' if _IS_INSTALLED else ''}pages.ui.served"

# Variables of the app's process. As `make app` sets them: every run of a page is a thread, and waiting threads of torch
# sleep soon.
APP_SETTINGS = MappingProxyType({"MALLOC_ARENA_MAX": "2", "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "1000"})

# What messages say that a user can type in a shell.
RAUQ_COMMAND = "rauq" if _IS_INSTALLED else "python -m rauq"
ANALYSIS_COMMAND = "rauq" if _IS_INSTALLED else "python -m analysis"
HOST_COMMAND = "rauq host" if _IS_INSTALLED else f"python -m {HOST}"
EXTRAS_COMMAND = "pip install 'rauq[data,judges]'" if _IS_INSTALLED else "pip install -r requirements-extra.txt"


HOSTED_VARIABLE = "RAUQ_HOSTED"


def is_hosted() -> bool:
    """Whether this process belongs to an app that strangers use."""
    return os.environ.get(HOSTED_VARIABLE, "") not in ("", "0")


def analysis() -> ModuleType:
    """The package of answer sets, which stands on rauq and is therefore loaded only where a user asks for it.

    Raises:
        ImportError: a folder of the user's has its name.
    """
    found = import_module(ANALYSIS)
    if ROOT.resolve() not in Path(found.__file__ or "").resolve().parents:
        message = f"{found.__file__ or ANALYSIS} is no part of rauq. Run Python in a folder without {ANALYSIS}."
        raise ImportError(message)
    return found


def command(module: str, *arguments: str) -> list[str]:
    """The command that runs a module: without -P, a file of the current folder could stand in for one of ours."""
    return [sys.executable, "-P", "-m", module, *arguments]


def environment() -> dict[str, str]:
    """The variables of this process, with which another one finds the same project."""
    # Where pip installed it, Python finds it by itself; in PYTHONPATH that folder would come before Python's own.
    found = Path(sysconfig.get_path("purelib")) == ROOT
    paths = ("" if found else str(ROOT), os.environ.get("PYTHONPATH"))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
