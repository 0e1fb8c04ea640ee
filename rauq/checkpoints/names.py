"""What a model's name means as people type or paste it: a folder, a file, or a model of the hub and its revision.

What is on this machine under the name as typed comes first. Then quotes, addresses, names of Ollama and LM Studio,
folders of the hub's cache and files inside a model's folder are understood; any other name stays as it is.
"""

import os
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from rauq.checkpoints.folders import CONFIGS, GGUF, find_installed, is_gguf, looks_like_path
from rauq.checkpoints.named import OWN_NAMES, offered_models
from rauq.checkpoints.refusals.weights_files import about_hub_file, describes_model, is_weights, why_not_this_file
from rauq.errors import InvalidInput, ModelNotFound

_QUOTES = (
    "\"'`,; \t\r\n\u00a0\u00b4\u00ab\u00bb\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2039\u203a\u300c\u300d"
)
_COMMAND = re.compile(r"(ollama +(?:run|pull)|git +clone|(?:hf|huggingface-cli) +download|lms +get) +(?=\S)")
_FLAGS = frozenset(
    "--verbose --insecure --quiet --force-download --dry-run --recursive --gguf --mlx --yes -y -q".split()
)
_REVISIONS = frozenset({"--revision", "--branch", "-b"})
_DRIVE = re.compile(r"([A-Za-z]):[\\/]")
_WSL = re.compile(r"[\\/]{2}wsl(?:\$|\.localhost)[\\/][^\\/]+", re.IGNORECASE)

_HUBS = ("huggingface.co", "hf.co", "hf-mirror.com")
_HUB_SCHEME = re.compile(r"(?:hf|hf-hub|huggingface):/*", re.IGNORECASE)
_HUB_PREFIX = re.compile(r"(?:hf|huggingface)/(?=[^/]+/[^/]+$)", re.IGNORECASE)
_HUB_NAMES = re.compile(rf"(?:https?://)?(?:{'|'.join(map(re.escape, _HUBS))})/", re.IGNORECASE)
_SSH = re.compile(r"(?:ssh://)?git@(hf\.co|huggingface\.co)[:/]")
_OLLAMA = re.compile(r"ollama(?:_chat)?[:/](?=\w)", re.IGNORECASE)
_OLLAMA_SITE = re.compile(r"(?:https?://)?(?:www\.)?(?:ollama\.com|registry\.ollama\.ai)(?=/|$)", re.IGNORECASE)
_OLLAMA_PAGES = {"", "library", "search", "models", "download", "blog", "docs", "cloud", "pricing", "signin", "public"}
_NO_MODELS = {"datasets", "spaces", "collections", "papers", "docs", "blog", "models", "learn"}
_WITH_REVISION = {"tree", "blob", "resolve", "raw", "blame", "commit", "commits"}
_OF_MODEL = {*_WITH_REVISION, "discussions", "settings"}  # what follows a model's name in an address of the hub

_ID = r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)?"
_AT_REVISION = re.compile(rf"({_ID}(?:/[^@]+\.gguf)?(?::[\w.-]+)?)@([\w./-]+)", re.IGNORECASE)
_TAGGED = re.compile(rf"({_ID}):([\w.-]+)")
_OF_CACHE = re.compile(r"models--([\w.-]+)")


@dataclass(frozen=True, kw_only=True)
class ModelName:
    """The meaning of a name.

    `source` is a folder, a GGUF file, a hub id, a GGUF file of the hub (organisation/model/file.gguf) or a short name;
    `revision` is a branch, tag or commit of the hub, None where none is asked for.
    """

    source: str
    revision: str | None = None

    def note(self, typed: str) -> str:
        """How the name that was typed is read, in a sentence; empty where it stays as it is."""
        if self.source.rstrip("/") == os.path.expanduser(typed).rstrip("/"):  # noqa: PTH111 - it may be no path
            return ""
        revision = f" in revision {self.revision}" if self.revision else ""
        return f"Read {typed} as {self.source}{revision}."


def read_name(name: str | os.PathLike[str], *, revision: str | None = None) -> ModelName:
    """The model that a name stands for, in the revision that it or `revision` says.

    The hub is asked only for a quantisation, such as organisation/model:Q4_K_M.

    Raises:
        ModelNotFound: an address of something else, a file of weights that its model is not loaded from, or a model of
            Ollama or a quantisation that is not there.
        InvalidInput: the name has a revision, and `revision` is another one.
    """
    typed = os.fspath(name)
    found = _here(typed) or _elsewhere(_bare(typed), revision)
    if found.revision is not None and revision not in (None, found.revision):
        message = f"{typed} names the revision {found.revision}, and {revision} is asked for. Leave out one of them."
        raise InvalidInput(message)
    return replace(found, revision=found.revision or revision)


def whole_name(model: str) -> str:
    """What a model's name means, with the full path of a folder or a file: a run can be resumed from any folder.

    Raises:
        ModelNotFound: the name means nothing; see `read_name`.
    """
    model_name = read_name(model)
    path = os.path.expanduser(model_name.source)  # noqa: PTH111 - a Path raises where a name is no possible path
    is_here = model_name.source not in OWN_NAMES and os.path.exists(path)  # noqa: PTH110 - the same
    if is_here or looks_like_path(path):
        return os.path.abspath(path)  # noqa: PTH100 - links stay: they have the names
    return f"{model_name.source}@{model_name.revision}" if model_name.revision else model_name.source


def hub_ids(path: str) -> tuple[str, ...]:
    """The hub ids that the folders of a path name, as the hub's cache has them: models--organisation--name."""
    found = filter(None, map(_OF_CACHE.fullmatch, re.split(r"[\\/]", path)))
    return tuple(one[1].replace("--", "/") for one in found)


def _here(typed: str) -> ModelName | None:
    """A short name, or what is on this machine, as typed or without what was pasted with it."""
    bare = _bare(typed)
    for text in (typed, bare):
        if text in OWN_NAMES or text in offered_models():
            return ModelName(source=text)
        if (path := next(filter(_exists, _paths(text)), None)) is not None:
            return _on_disk(path)
    return ModelName(source=bare.lower()) if bare.lower() in OWN_NAMES else None


def _bare(typed: str) -> str:
    """The name without quotes, white space, invisible characters and a command around it."""
    text = "".join(one for one in typed if unicodedata.category(one) != "Cf").strip(_QUOTES)
    text = text[1:-1] if text[:1] == "<" and text[-1:] == ">" else text
    command = _COMMAND.match(text)
    return text if command is None else _of_command(command[1].split()[0], text[command.end() :])


def _of_command(program: str, rest: str) -> str:
    """The model that a command gets: its first argument, with a revision, and of the hub's client also a file."""
    words = re.findall(r"[^\s\"']+", rest.replace("=", " "))
    taken = {place + 1 for place, word in enumerate(words) if word.startswith("-") and word not in _FLAGS}
    names = [at for at, word in enumerate(words) if not word.startswith("-")]
    place = next((at for at in names if at not in taken), names[0] if names else 0)
    model = words[place] if words else ""
    if program == "ollama":
        return model if _HUB_NAMES.match(model) else f"ollama/{model}"
    revision = next((f"@{value}" for option, value in pairwise(words) if option in _REVISIONS), "")
    files = list(takewhile(lambda word: not word.startswith("-"), words[place + 1 :]))
    if program not in {"hf", "huggingface-cli"} or len(files) != 1 or "/" not in model:
        return model.removesuffix(".git") + revision
    return f"{model}/{files[0]}{revision}"


def _paths(text: str) -> Iterator[str]:
    """The paths that a text can mean: as it is, as an address, and as Windows or a shell write them."""
    text = os.path.expanduser(text)  # noqa: PTH111 - a Path raises where a text is no possible path
    yield text
    if text.lower().startswith("file:"):
        yield url2pathname(re.sub(r"^file:(//(localhost(?=/))?)?", "", text, flags=re.IGNORECASE))
    if "\\" in text:
        yield text.replace("\\ ", " ")
        yield _WSL.sub("", text).replace("\\", "/")
    if drive := _DRIVE.match(text):
        yield f"/mnt/{drive[1].lower()}/{text[3:]}".replace("\\", "/")


def _on_disk(path: str) -> ModelName:
    """A folder or a GGUF file: of another file of a model its folder, and of the hub's cache the model of the hub.

    Raises:
        ModelNotFound: a file of weights from which the folder is not loaded.
    """
    place = Path(path)
    if place.is_file() and not is_gguf(place) and any((place.parent / name).is_file() for name in CONFIGS):
        if why := why_not_this_file(place):
            raise ModelNotFound(why)
        if _is_file_name(place.name):
            return _on_disk(str(place.parent))
    return _in_cache(place) or ModelName(source=path)


def _in_cache(place: Path) -> ModelName | None:
    """What a model's folder in the hub's cache is called on the hub; in a copy of the cache, the folder of a commit."""
    from huggingface_hub import constants

    top = place.parent if place.name == "snapshots" else place
    if not (_OF_CACHE.fullmatch(top.name) and (top / "snapshots").is_dir()):
        return None
    if os.path.realpath(top.parent) == os.path.realpath(constants.HF_HUB_CACHE):
        return ModelName(source=hub_ids(top.name)[0])
    return ModelName(source=str(_only_commit(top)))


def _only_commit(top: Path) -> Path:
    """The folder of the commit that a copy of the hub's cache holds of a model; of several, that of the branch main."""
    snapshots, main = top / "snapshots", top / "refs" / "main"
    found = sorted(snapshots.iterdir())
    if main.is_file() and (named := snapshots / main.read_text(encoding="utf-8").strip()) in found:
        return named
    return found[0] if len(found) == 1 else top


def _elsewhere(text: str, revision: str | None) -> ModelName:
    """An address, a model of another program, or a model of the hub."""
    if text.lower().startswith("file:"):
        return ModelName(source=list(_paths(text))[1])
    if (site := _OLLAMA_SITE.match(text)) is not None:
        return _of_ollama(_on_ollamas_site(text, text[site.end() :]))
    if (ollama := _OLLAMA.match(text)) is not None:
        return _of_ollama(text[ollama.end() :])
    if (address := _address(_SSH.sub(r"https://\1/", text))) is not None:
        return _of_program(f"{address[0]}/{address[1]}") or _of_address(text, *address)
    text = _HUB_SCHEME.sub("", text, count=1)
    if not _is_file_name(text.rpartition("/")[2]):  # huggingface is an organisation too, with files in its models
        text = _HUB_PREFIX.sub("", text, count=1)
    return _of_program(text) or _of_hub(text, revision)


def _address(text: str) -> tuple[str, str] | None:
    """Host and path of an address; None where a text is none."""
    has_scheme = re.match(r"(?:https?|hf|ftp|s3|gs|ssh|git)://", text, re.IGNORECASE)
    try:
        parts = urlsplit(text if has_scheme else f"https://{text}")
        host = (parts.hostname or "").removeprefix("www.")
    except ValueError:  # no possible host
        return (text, "") if has_scheme else None
    if parts.scheme.lower() == "hf":
        return _HUBS[0], text[len("hf://") :].removeprefix("models/")
    return (host, parts.path.strip("/")) if has_scheme or host in _HUBS else None


def _of_address(text: str, host: str, path: str) -> ModelName:
    """A model of the hub by the address of its page, or of one of its files."""
    parts = [unquote(part) for part in path.removeprefix("api/models/").split("/")]
    if host not in (*_HUBS, urlsplit(os.environ.get("HF_ENDPOINT", "")).hostname) or parts[0] in {"", *_NO_MODELS}:
        raise ModelNotFound(_about_address(text, "on the hub"))
    place = next((place for place in (1, 2) if parts[place : place + 1] and parts[place] in _OF_MODEL), 2)
    model, page, rest = "/".join(parts[:place]).removesuffix(".git"), parts[place : place + 1], parts[place + 1 :]
    if not page or page[0] not in _OF_MODEL:  # the file follows the model at once
        return _of_file(text, model, [*page, *rest], None)
    if not (rest and page[0] in _WITH_REVISION):
        return ModelName(source=model)
    revision = None if rest[0] == "main" else rest[0]
    if page[0] == "tree" and rest[1:]:
        raise ModelNotFound(_about_folder(text, model, rest[1:], revision))
    return _of_file(text, model, rest[1:], revision)


def _of_file(text: str, model: str, file: list[str], revision: str | None) -> ModelName:
    """A GGUF file of a model of the hub, or the whole model for a file that is not in a folder of it."""
    if file and _is_gguf_name(file[-1]):
        return ModelName(source="/".join((model, *file)), revision=revision)
    is_file = bool(file) and "." in file[-1]
    if len(file) > 1 or (file and not is_file):
        raise ModelNotFound(_about_folder(text, model, file[:-1] if is_file else file, revision))
    if file and (why := about_hub_file(model, file[0])):
        raise ModelNotFound(why)
    found = _of_hub(model, revision)
    return replace(found, revision=found.revision or revision)


def _about_address(text: str, where: str) -> str:
    return (
        f"{text} is not the address of a model {where}. Give a hub id, such as organisation/model, or the path of a "
        "folder or a GGUF file on this machine."
    )


def _about_folder(text: str, model: str, folder: list[str], revision: str | None) -> str:
    inside, version = "/".join(folder), f" --revision {revision}" if revision else ""
    return (
        f"{text} points into a folder of a model of the hub, which cannot be read from there. Download it with hf "
        f"download {model}{version} --include '{inside}/*' --local-dir DIR, and give the path DIR/{inside}."
    )


def _on_ollamas_site(text: str, path: str) -> str:
    """The name of the model that an address of Ollama's site is about, on whichever of its pages."""
    parts = re.split(r"[?#]", path)[0].strip("/").split("/")
    if parts[0] == "library":
        parts = parts[1:2]
    if not parts or parts[0].lower() in _OLLAMA_PAGES:
        raise ModelNotFound(_about_address(text, "of Ollama"))
    return "/".join(parts[:1] if parts[1:2] in (["tags"], ["blobs"]) else parts[:2])


def _of_ollama(name: str) -> ModelName:
    """A model that Ollama has on this machine.

    Raises:
        ModelNotFound: it has none of that name.
    """
    if (file := find_installed(name)) is not None:
        return ModelName(source=file)
    message = (
        f"Ollama has no model {name} on this machine. Get it there with: ollama pull {name}, or give a hub id, a "
        "folder or a GGUF file."
    )
    raise ModelNotFound(message)


def _of_program(text: str) -> ModelName | None:
    """A model of Ollama or LM Studio, under its name there; names that a model of the hub can have are the hub's."""
    if not (":" in text or "@" in text or text.count("/") > 1):
        return None
    file = find_installed(text)
    return None if file is None else ModelName(source=file)


def _of_hub(text: str, revision: str | None) -> ModelName:
    """A model of the hub, with what may follow its name: a revision, a quantisation, or a file."""
    text = text.strip("/") if re.fullmatch(rf"/*{_ID}/*", text) and not text.startswith("/") else text
    if (of_cache := _OF_CACHE.fullmatch(text)) is not None:
        return ModelName(source=of_cache[1].replace("--", "/"))
    if (at := _AT_REVISION.fullmatch(text)) is not None:
        return replace(_of_hub(at[1], at[2]), revision=at[2])
    if (tagged := _TAGGED.fullmatch(text)) is not None:
        return _quantised(*tagged.groups(), revision=revision)
    parts = text.split("/")
    model, file = "/".join(parts[:2]), parts[-1]
    if len(parts) != 3 or not re.fullmatch(_ID, model) or _is_gguf_name(file) or not _is_file_name(file):
        return ModelName(source=text)
    if why := about_hub_file(model, file):
        raise ModelNotFound(why)
    return ModelName(source=model)


def _quantised(model: str, tag: str, *, revision: str | None) -> ModelName:
    """The GGUF file of a model of the hub in one quantisation, as Ollama and llama.cpp name it."""
    if "/" not in model:
        return _of_ollama(f"{model}:{tag}")
    from rauq.checkpoints.hub import gguf_of_tag  # imports the hub's client

    return ModelName(source=f"{model}/{gguf_of_tag(model, tag, revision=revision)}")


def _is_file_name(name: str) -> bool:
    return describes_model(name) or is_weights(name) or _is_gguf_name(name)


def _is_gguf_name(name: str) -> bool:
    return name.lower().endswith(GGUF)


def _exists(path: str) -> bool:
    return os.path.exists(path)  # noqa: PTH110 - a Path raises where a text is no possible path
