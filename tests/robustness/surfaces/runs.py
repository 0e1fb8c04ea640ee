"""Runs that come as folders or as archives: listed, opened and scored, or refused."""

import io
from collections.abc import Mapping
from pathlib import Path
from random import Random
from shutil import rmtree
from types import MappingProxyType
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

import numpy as np

from analysis.datasets.example import DataSet, Example
from analysis.runs import library
from analysis.runs.archive import export_zip, import_zip
from analysis.runs.attention import batch, means
from analysis.runs.create import prepare, request_for
from analysis.runs.manifest import is_exported
from analysis.runs.opened import Run, open_run
from analysis.runs.timings import costs
from analysis.runs.traces import fact_masks, traces_in
from analysis.runs.work import work
from pages.ui.host.session_runs import progress_in_words
from pages.ui.runs import listing
from rauq.scoring.score import score_many
from tests.robustness.malformed import (
    Surface,
    hostile_text,
    mutated_bytes,
    mutated_json_bytes,
    mutated_parquet,
    mutated_safetensors,
)
from tests.shards import without_checksums

Files = dict[str, bytes]

_NAME = "run"


def run_folders(folder: Path) -> Surface:
    """Folders of runs: one or two files are changed, missing, or replaced by another one."""
    root = folder / "runs"
    seeds = _real_runs(folder)
    return Surface(name="run folders", seeds=seeds, mutate=_mutated, target=lambda files: _check_folder(files, root))


def run_archives(folder: Path) -> Surface:
    """Archives of runs: their bytes, their entries, or the files in them are changed."""
    root = folder / "imported"
    seeds = _real_runs(folder)
    return Surface(name="run archives", seeds=seeds, mutate=_packed, target=lambda zipped: _check_archive(zipped, root))


def _real_runs(folder: Path) -> list[Files]:
    """A small run of the embedded model, and the same without checksums, so that changed numbers are read."""
    examples = (
        Example(
            id="a", prompt="Question: Where is Oslo?\nAnswer:", references=("Norway",), facts=("Norway",), group="x"
        ),
        Example(id="b", prompt="Where is Lima?", answer=" In Peru", quality=1.0, facts=("Peru",), group="y"),
        Example(id="c", prompt="German: Hund\nEnglish:", references=("dog",)),
    )
    data = DataSet(name="three", examples=examples, quality="token_f1", max_new_tokens=4)
    made = folder / "made"
    prepare(made, data, request_for(data, model="atlas", batch_size=2, shard_size=2))
    work(made)
    files = {path.name: path.read_bytes() for path in made.iterdir()}
    bare = {name: without_checksums(content) for name, content in files.items() if name.endswith(".safetensors")}
    return [files, files | bare, files | bare, files | bare]


def _check_folder(files: Files, root: Path) -> None:
    """Read as the pages do, which changes none of its files."""
    folder = root / _NAME
    folder.mkdir(parents=True)
    try:
        for name, content in files.items():
            (folder / name).write_bytes(content)
        _check_listed(folder)
        _check_contents(open_run(folder))
        export_zip(folder).close()
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == files
    finally:
        rmtree(root)


def _check_listed(folder: Path) -> None:
    """A run that cannot be used is listed with its fault, any other with its progress."""
    listed = library._listed(folder.name, folder)  # `library.listed` would read the bundled run each time
    assert (listed.status is None) == bool(listed.fault)
    said = [listing.about_run(listed), listing.what_is_wrong(listed)]
    if listed.status and listed.manifest:
        assert listed.status.done >= 0
        said += [progress_in_words(listed.status), listing.about_request(listed.manifest)]
    "".join(said).encode()


@np.errstate(all="ignore")  # numbers that no model gives: an import checks every one, opening a run none
def _check_contents(run: Run) -> None:
    costs(run)
    fact_masks(run)
    means(run, tokens="other", offset=2)
    for shard in run.shards:
        list(traces_in(run, shard))
    scores = score_many(batch(run))
    assert (np.isnan(scores.uncertainty) == (scores.reasons != "")).all()


def _check_archive(content: bytes, root: Path) -> None:
    """It is imported completely, or not at all; what is imported can be used."""
    try:
        folder = _imported(content, root)
        _check_listed(folder)
        _check_contents(open_run(folder))
    finally:
        rmtree(root, ignore_errors=True)


def _imported(content: bytes, root: Path) -> Path:
    try:
        return import_zip(io.BytesIO(content), root, _NAME)
    finally:
        left = [path.name for path in root.iterdir()] if root.exists() else []
        assert left in ([], [_NAME]), left


def _mutated(files: Files, rng: Random) -> Files:
    mutated = dict(files)
    for name in rng.sample(sorted(files), rng.choice((1, 1, 1, 2))):
        match rng.randrange(12):
            case 0:
                del mutated[name]
            case 1:
                mutated[name] = files[rng.choice(sorted(files))]
            case _:
                mutated[name] = _mutated_file(name, files[name], rng)
    return mutated


def _mutated_file(name: str, content: bytes, rng: Random) -> bytes:
    in_its_format = _WAYS.get(Path(name).suffix)
    if in_its_format is None or not content or rng.random() < 0.2:
        return mutated_bytes(content, rng)
    return in_its_format(content, rng)


def _jsonl(content: bytes, rng: Random) -> bytes:
    return b"\n".join(mutated_json_bytes(line, rng) for line in content.splitlines())


_WAYS = MappingProxyType(
    {
        ".json": mutated_json_bytes,
        ".jsonl": _jsonl,
        ".parquet": mutated_parquet,
        ".safetensors": mutated_safetensors,
    }
)


def _packed(files: Files, rng: Random) -> bytes:
    """An archive of what is exported; rarely, of a file that is not, which has to be refused."""
    exported = {name: content for name, content in files.items() if is_exported(name) or rng.random() < 0.02}
    match rng.randrange(3):
        case 0:
            return mutated_bytes(_zipped(exported, rng), rng)
        case 1:
            return _zipped(exported, rng, strange=True)
        case _:
            return _zipped(_mutated(exported, rng), rng)


def _zipped(files: Mapping[str, bytes], rng: Random, *, strange: bool = False) -> bytes:
    content = io.BytesIO()
    with ZipFile(content, "w") as target:
        for name, data in files.items():
            entry = ZipInfo(_strange_name(name, rng) if strange and rng.random() < 0.3 else name)
            entry.compress_type = rng.choice((ZIP_STORED, ZIP_DEFLATED))
            entry.external_attr = rng.choice((0, 0, 0, 0o644 << 16, 0o120777 << 16, 0o40755 << 16)) if strange else 0
            target.writestr(entry, data)
    return content.getvalue()


def _strange_name(name: str, rng: Random) -> str:
    text = rng.choice((f"../{name}", f"/{name}", f"a/{name}", f"{name}/", name.upper(), f" {name}", hostile_text(rng)))
    return text.encode("utf-8", "replace").decode()
