"""Which models are on this machine already: in folders, in the hub's cache, and as files of other programs."""

import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

from platformdirs import user_cache_path

from rauq.labels import size

CONFIG = "config.json"
ADAPTER_CONFIG = "adapter_config.json"
CONFIGS = (CONFIG, ADAPTER_CONFIG)  # of which a folder of a model, or of an adapter, has one
GGUF = ".gguf"
MOST_MODELS = 50  # the most that are offered

_MAGIC = b"GGUF"
_DRIVE = re.compile(r"[A-Za-z]:[\\/]")  # of Windows
_PROJECTOR = "mmproj"  # of images or audio, in a file of its own
_LATER_PART = re.compile(r"-(?!00001)\d{5}-of-\d{5}\.gguf$")


def local_models(folder: str | os.PathLike[str]) -> tuple[Path, ...]:
    """The folder itself, if it holds a model, else the models in it and its subfolders, sorted; at most 50.

    A model is a folder with a config, of a model or of an adapter, or a GGUF file.

    Whatever cannot be read is left out; a text that cannot be a path names no model.

    Example:
        >>> rauq.local_models("/no/such/folder")
        ()
    """
    try:
        root = Path(os.path.expanduser(folder))  # noqa: PTH111 - a Path raises where there is no such user
    except ValueError:  # no possible name of a user
        return ()
    found = (
        [root]
        if _has_config(root)
        else [*gguf_files(root), *(one for path in _listed(root) for one in _models_in(path))]
    )
    return tuple(sorted(found)[:MOST_MODELS])


def cached_models() -> tuple[str, ...]:
    """Hub ids of the models in the local cache of the hub that have a config and safetensors, sorted.

    Example:
        >>> rauq.cached_models()  # doctest: +SKIP
        ('Qwen/Qwen2.5-0.5B',)
    """
    from huggingface_hub import CacheNotFound, constants, scan_cache_dir

    try:
        repositories = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except (CacheNotFound, OSError, ValueError):  # ValueError: the cache's place is a file
        return ()
    return tuple(
        sorted(
            repository.repo_id
            for repository in repositories
            if repository.repo_type == "model"
            and any(_is_model({file.file_name for file in revision.files}) for revision in repository.revisions)
        )
    )


def gguf_files(folder: Path) -> list[Path]:
    """The GGUF files of a folder that hold a language model, sorted."""
    return sorted(path for path in _listed(folder) if is_language_gguf(path.name) and _is_file(path))


def is_language_gguf(name: str) -> bool:
    """Whether a file of this name may hold a language model: not a projector, and not a later part of one."""
    lower = name.lower()
    return lower.endswith(GGUF) and not lower.startswith(_PROJECTOR) and not _LATER_PART.search(lower)


def is_gguf(path: Path) -> bool:
    """Whether a file begins as a GGUF file does, or is named as one."""
    if path.name.lower().endswith(GGUF):
        return True
    try:
        with path.open("rb") as file:
            return file.read(len(_MAGIC)) == _MAGIC
    except (OSError, ValueError):
        return False


def looks_like_path(name: str) -> bool:
    """Whether a name is meant as a path: hub ids are `name`, `organisation/name`, or `organisation/name/file.gguf`."""
    begins = name.startswith(("/", ".", "~")) or "\\" in name or _DRIVE.match(name)
    return bool(begins) or (name.count("/") > 1 and not name.lower().endswith(GGUF))


def is_hub_file(name: str) -> bool:
    """Whether a name is meant as a GGUF file of a model on the hub: `organisation/name/file.gguf`."""
    return name.count("/") > 1 and name.lower().endswith(GGUF) and not looks_like_path(name)


def _is_model(names: set[str]) -> bool:
    return not names.isdisjoint(CONFIGS) and any(name.endswith(".safetensors") for name in names)


def _listed(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (OSError, ValueError):  # ValueError: no possible path
        return []


def _models_in(folder: Path) -> list[Path]:
    return [folder] if _has_config(folder) else gguf_files(folder)


def _has_config(folder: Path) -> bool:
    return any(_is_file(folder / name) for name in CONFIGS)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


_OLLAMA_WEIGHTS = "application/vnd.ollama.image.model"
_OLLAMA_REGISTRY, _OLLAMA_NAMESPACE = "registry.ollama.ai", "library"
_OLLAMA_SERVICE = Path("/usr/share/ollama/.ollama/models")  # where its service runs as a user of its own
_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_LONGEST_MANIFEST = 2**20  # bytes
_DEPTH = 4  # of folders: registry/namespace/model/tag, or publisher/model/file


@dataclass(frozen=True, kw_only=True)
class Installed:
    """A model of another program: `name` is what `load_model` takes, `label` is its name in that program."""

    name: str
    label: str


def installed_models() -> tuple[Installed, ...]:
    """The models of these programs, grouped by program, at most 50 of each.

    Example:
        >>> [model.label for model in rauq.installed_models()]  # doctest: +SKIP
        ['llama3.2:1b (Ollama, 1.3 GB)']
    """
    found: dict[str, Installed] = {}
    for models in (_of_ollama(), _of_lm_studio(), _of_llama_cpp(), _of_hub()):
        for model in sorted(models, key=lambda one: one.label)[:MOST_MODELS]:
            found.setdefault(model.name, model)
    return tuple(found.values())


def find_installed(name: str) -> str | None:
    """The file of a model of Ollama or LM Studio, by its name there: llama3.2:1b, organisation/model/file, key@q4_k_m.

    Names are compared without regard to case; Ollama's may leave out the tag latest, and a file its ending.
    """
    wanted = name.lower().removesuffix(GGUF)
    for model in _of_ollama():
        if wanted in (called := _called(model), called.removesuffix(":latest")):
            return model.name
    for model in _of_lm_studio():
        called = _called(model)
        if wanted == called or _key(called.rpartition("/")[2]) == _key(wanted):
            return model.name
    return None


def _called(model: Installed) -> str:
    return model.label.rpartition(" (")[0].lower()


def _key(name: str) -> str:
    """A name as LM Studio's keys compare: every separator is a hyphen."""
    return re.sub(r"[@_.:\s-]+", "-", name)


def _of_ollama() -> Iterator[Installed]:
    given = os.environ.get("OLLAMA_MODELS")
    for root in (Path(given),) if given else (_home() / ".ollama" / "models", _OLLAMA_SERVICE):
        manifests = root / "manifests"
        for path in _files(manifests, _DEPTH):
            if (layer := _weights_layer(path)) is None:
                continue
            blob = root / "blobs" / f"sha256-{layer}"
            if (num_bytes := _size(blob)) is not None:
                label = _ollama_label(path.relative_to(manifests))
                yield _installed(blob, label, "Ollama", num_bytes)


def _ollama_label(manifest: PurePath) -> str:
    """What Ollama calls the model of a manifest: registry/namespace/model:tag, without the usual first two."""
    parts = [*manifest.parts[:-1]]
    for usual in (_OLLAMA_REGISTRY, _OLLAMA_NAMESPACE):
        if parts[:1] == [usual]:
            del parts[0]
    return f"{'/'.join(parts)}:{manifest.name}" if parts else manifest.name


def _of_lm_studio() -> Iterator[Installed]:
    home = _home()
    for root in (home / ".lmstudio" / "models", home / ".cache" / "lm-studio" / "models"):
        yield from _gguf_files(root, "LM Studio")


def _of_llama_cpp() -> Iterator[Installed]:
    given = os.environ.get("LLAMA_CACHE")
    with suppress(RuntimeError):  # a user without a home
        yield from _gguf_files(Path(given) if given else user_cache_path() / "llama.cpp", "llama.cpp")


def _of_hub() -> Iterator[Installed]:
    from huggingface_hub import CacheNotFound, constants, scan_cache_dir

    try:
        repositories = scan_cache_dir(constants.HF_HUB_CACHE).repos
    except (CacheNotFound, OSError, ValueError):  # ValueError: the cache's place is a file
        return
    for repository in repositories:
        files = {file.file_path: file for revision in repository.revisions for file in revision.files}
        for path, file in files.items():
            if repository.repo_type == "model" and is_language_gguf(path.name):
                place = f"{repository.repo_id}/{path.relative_to(_snapshot(path)).as_posix()}"
                name = place if place.count("/") > 1 else str(path)
                yield Installed(name=name, label=f"{place} (hub cache, {size(file.size_on_disk)})")


def _snapshot(path: Path) -> Path:
    """The folder of a commit that holds a file of the hub's cache: .../snapshots/<commit>."""
    return next((above for above in path.parents if above.parent.name == "snapshots"), path.parent)


def _gguf_files(root: Path, program: str) -> Iterator[Installed]:
    for path in _files(root, _DEPTH):
        if is_language_gguf(path.name) and (num_bytes := _size(path)) is not None:
            yield _installed(path, path.relative_to(root).as_posix()[: -len(GGUF)], program, num_bytes)


def _installed(path: Path, label: str, program: str, num_bytes: int) -> Installed:
    return Installed(name=str(path), label=f"{label} ({program}, {size(num_bytes)})")


def _weights_layer(path: Path) -> str | None:
    """The digest of the weights that one of Ollama's manifests names."""
    try:
        if path.stat().st_size > _LONGEST_MANIFEST:
            return None
        manifest: Any = json.loads(path.read_text(encoding="utf-8"))
        layers = [layer for layer in manifest["layers"] if layer["mediaType"] == _OLLAMA_WEIGHTS]
        found = _DIGEST.fullmatch(layers[0]["digest"])
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):  # no manifest, or of another format
        return None
    return found[1] if found else None


def _files(folder: Path, depth: int) -> Iterator[Path]:
    """The files of a folder and of those in it, sorted, down to `depth`; links to folders are not followed."""
    try:
        with os.scandir(folder) as listed:
            inside = sorted(listed, key=lambda one: one.name)
    except (OSError, ValueError):
        return
    for one in inside:
        path = Path(one.path)
        if one.is_dir(follow_symlinks=False):
            yield from _files(path, depth - 1) if depth > 1 else ()
        else:
            yield path


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:  # a user without a home
        return Path(os.devnull)
