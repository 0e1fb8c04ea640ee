"""The runs on this machine: where they are, what they are, and how one is deleted."""

import os
import re
import shutil
import unicodedata
from dataclasses import dataclass, replace
from pathlib import Path

from analysis.runs.job import Status, is_held, only_job, read_status
from analysis.runs.manifest import Manifest, foreign, is_of_run, read_manifest, size_of
from rauq.errors import InvalidInput, RunError

BUNDLED = "smollm2-facts"
FOLDER_VARIABLE = "RAUQ_RUNS"

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A run as it is listed; where it is broken, `fault` says how, and manifest and status are None.

    `read_only`: it came with the app. `num_bytes`: what its files take.
    """

    name: str
    folder: Path
    read_only: bool
    num_bytes: int
    manifest: Manifest | None = None
    status: Status | None = None
    fault: str = ""


def runs_folder() -> Path:
    """Where runs are: the folder named by RAUQ_RUNS, else `runs` in the current one. It need not exist."""
    return Path(os.environ.get(FOLDER_VARIABLE) or "runs").expanduser().absolute()


def bundled_folder() -> Path:
    """The run that comes with the app: answers of a real model to plain questions about facts.

    Example:
        >>> analysis.open_run(analysis.bundled_folder()).manifest.request.count
        814
    """
    return Path(__file__).parent / "bundled"


def list_runs(root: Path) -> tuple[Listed, ...]:
    """The bundled run, then those under `root` by name; folders that are no run are left out."""
    own = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    runs = [path for path in own if is_name(path.name) and _looks_like_run(path)]
    bundled = [_listed(BUNDLED, bundled_folder(), read_only=True)] if bundled_folder().is_dir() else []
    return (*bundled, *(_listed(path.name, path) for path in runs))


def is_name(name: str) -> bool:
    """Whether a run can have this name."""
    return _NAME.fullmatch(name) is not None


def folder_of(name: str, root: Path) -> Path:
    """Where the run of a name is, or would be.

    Raises:
        InvalidInput: no run can have this name.
    """
    if not is_name(name):
        message = (
            f"{name!r} is not a valid name for a run; use up to 64 letters, digits, dots, dashes and underscores, "
            f"starting with a letter or a digit, such as {slug(name)!r}."
        )
        raise InvalidInput(message)
    return bundled_folder() if name == BUNDLED else root / name


def slug(text: str) -> str:
    """A name that a run can have, as near to the text as possible."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    name = re.sub(r"[^A-Za-z0-9._]+", "-", plain).strip("-._")[:64].rstrip("-._")
    return name if name not in ("", BUNDLED) else "run"


def delete_run(name: str, root: Path) -> None:
    """Delete a run and all of its files.

    Raises:
        InvalidInput: no run can have this name.
        RunError: it is not there, it is the bundled one, a job works on it, it is a link, or it holds other files too.
    """
    folder = folder_of(name, root)
    _check_deletable(name, folder)
    with only_job(folder):
        trash = folder.with_name(f".deleted-{name}-{os.getpid()}")
        try:
            folder.rename(trash)  # gone at once, whatever happens to the rest
        except OSError as error:
            message = f"{folder} cannot be deleted ({error.strerror or error}). Check its permissions."
            raise RunError(message) from error
    shutil.rmtree(trash, ignore_errors=True)


def _listed(name: str, folder: Path, *, read_only: bool = False) -> Listed:
    found = Listed(name=name, folder=folder, read_only=read_only, num_bytes=size_of(folder))
    if name == BUNDLED and not read_only:
        return replace(found, fault=f"{BUNDLED} is the name of the run that comes with the app. Rename {folder}.")
    try:
        return replace(found, manifest=read_manifest(folder), status=read_status(folder))
    except RunError as error:
        return replace(found, fault=str(error))


def _looks_like_run(folder: Path) -> bool:
    try:
        return any(is_of_run(path.name) for path in folder.iterdir())
    except OSError:
        return False


def _check_deletable(name: str, folder: Path) -> None:
    if name == BUNDLED:
        reason = "it comes with the app"
    elif folder.is_symlink():
        reason = "it is a link: delete the link and its target by hand"
    elif not folder.is_dir():
        reason = "it does not exist"
    elif is_held(folder):
        reason = "a job is running on it: stop the job first"
    elif others := foreign(folder):
        reason = f"it contains other files, such as {others[0]}: remove them first"
    else:
        return
    message = f"The run {name} cannot be deleted: {reason}."
    raise RunError(message)
