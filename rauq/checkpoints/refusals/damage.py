"""What is wrong with the files of a model: links to nothing, pointers, web pages, and unfinished downloads."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rauq.checkpoints.folders import CONFIG

INDEX = "model.safetensors.index.json"

_FILES = {
    CONFIG: (CONFIG,),
    "tokenizer": ("tokenizer*", "vocab*", "merges.txt", "special_tokens_map.json", "added_tokens.json", "*.model"),
    "weights": ("*.safetensors", "*.safetensors.index.json"),
    "adapter": ("adapter_*",),
}
_UNFINISHED = ("*.incomplete", "*.part", "*.partial", "*.crdownload", "*.download", "*.aria2", "*.!ut")
_OF_HUB_CLIENT = ".cache/huggingface/download/**/*.incomplete"  # where `hf download --local-dir` writes first
_POINTER = b"version https://git-lfs"
_PAGE = re.compile(rb"\s*<(?:!doctype|html|\?xml|head|body)", re.IGNORECASE)
_NUMBERED = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")
_HEAD = 512  # bytes, of which a pointer or the beginning of a page takes fewer
_LENGTH = 8  # bytes that hold the length of the header of a safetensors file
_AGAIN = "The download was not finished: get this file again."
_MOST_NAMED = 3


def damage(folder: Path, part: str) -> str:
    """What is wrong with the files of a part, and what to do; empty where nothing is found."""
    found = (why for file in _files(folder, part) if (why := _of_file(file)))
    return next(found, "") or (_of_weights(folder) if part == "weights" else "")


def _files(folder: Path, part: str) -> Iterator[Path]:
    for pattern in _FILES.get(part, ()):
        yield from sorted(folder.glob(pattern))


def _of_file(file: Path) -> str:
    if file.is_symlink() and not file.exists():
        return f"{file} is a link to a file that is not there. Copy the file itself, or get it again."
    if not file.is_file():
        return ""
    return not_its_content(file) or _of_content(file)


def not_its_content(file: Path) -> str:
    """What a file has in place of its content, and what to do; empty where nothing is found."""
    with file.open("rb") as opened:
        head = opened.read(_HEAD)
    if not head.strip():
        return f"{file} is empty. {_AGAIN}"
    if head.startswith(_POINTER):
        return f"{file} is a pointer of Git LFS, without the content of the file. {_how_to_pull(file.parent)}"
    if _PAGE.match(head):
        return f"{file} is a web page that was saved in place of the file. Get the file itself, by its download link."
    return ""


def _of_content(file: Path) -> str:
    if file.suffix == ".json":
        return _of_json(file)
    return _of_safetensors(file) if file.suffix == ".safetensors" else ""


def _how_to_pull(folder: Path) -> str:
    if any((above / ".git").exists() for above in (folder, *folder.absolute().parents)):
        return "Get the content: run git lfs pull in that folder (once git lfs install, if Git does not know lfs)."
    return "Get the file itself, by its download link."


def _of_json(file: Path) -> str:
    try:
        json.loads(file.read_bytes())
    except json.JSONDecodeError as error:
        return f"{file} is not valid JSON (line {error.lineno}, column {error.colno}). Get this file again."
    except (ValueError, RecursionError):
        return f"{file} is not valid JSON. Get this file again."
    return ""


def _of_safetensors(file: Path) -> str:
    size = file.stat().st_size
    with file.open("rb") as opened:
        length = int.from_bytes(opened.read(_LENGTH), "little")
        begins = opened.read(1)
        if size < _LENGTH or begins != b"{":
            return f"{file} is no safetensors file: it does not begin as one does. Get this file again."
        if _LENGTH + length > size:
            return f"{file} has {size:,} bytes, and its header alone takes {_LENGTH + length:,}. {_AGAIN}"
        opened.seek(_LENGTH)
        whole = _LENGTH + length + _end(opened.read(length))
    return f"{file} has {size:,} of its {whole:,} bytes. {_AGAIN}" if size < whole else ""


def _end(header: bytes) -> int:
    """Where the last tensor ends after the header, in bytes; 0 where the header cannot be read."""
    try:
        tensors: Any = json.loads(header)
        ends = [fields["data_offsets"][1] for name, fields in tensors.items() if name != "__metadata__"]
        return max(map(int, ends), default=0)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
        return 0


def _of_weights(folder: Path) -> str:
    """What is missing of weights in several files, or what a browser or a client left of a download."""
    there = {file.name for file in folder.glob("*.safetensors")}
    if (folder / INDEX).is_file() and not named_in(folder / INDEX):
        return f"{folder / INDEX} names no files. Get this file again."
    if missing := sorted(_expected(folder, there) - there):
        names = ", ".join(missing[:_MOST_NAMED])
        return (
            f"The folder {folder} lacks {len(missing)} of the files with its weights: {names}. The download was not "
            "finished: get what is missing."
        )
    if any(map(_NUMBERED.fullmatch, there)) and not (folder / INDEX).is_file() and "model.safetensors" not in there:
        return f"The folder {folder} has no {INDEX}, which says where each tensor is. Get this file too."
    left = next((file for pattern in (*_UNFINISHED, _OF_HUB_CLIENT) for file in folder.glob(pattern)), None)
    if left is not None and not there:
        return f"{left} is of a download that was not finished. Start the download again."
    return ""


def _expected(folder: Path, there: set[str]) -> set[str]:
    """The files that the weights are in, by their index, or else by the numbers in their names."""
    if (folder / INDEX).is_file():
        return named_in(folder / INDEX)
    if "model.safetensors" in there:
        return set()
    numbered = filter(None, map(_NUMBERED.fullmatch, there))
    return {f"{one[1]}-{number:05}-of-{one[3]}.safetensors" for one in numbered for number in range(1, int(one[3]) + 1)}


def named_in(index: Path) -> set[str]:
    """The files that an index of weights names; empty where it cannot be read."""
    try:
        named: Any = json.loads(index.read_bytes())["weight_map"]
        return {str(name) for name in named.values()}
    except (ValueError, KeyError, TypeError, AttributeError):
        return set()
