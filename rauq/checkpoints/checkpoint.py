"""A model before its weights are read; a GGUF file is described from its header, and dequantised into the store."""

import copy
import hashlib
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, partial
from importlib.metadata import version
from pathlib import Path
from types import MappingProxyType
from typing import Any

import torch

from rauq.arguments import Cancel, OnProgress
from rauq.checkpoints.adapters import Adapter
from rauq.checkpoints.gguf.config import config_options, read_config, read_hyperparameters
from rauq.checkpoints.gguf.header import GgufHeader, header_from, read_header
from rauq.checkpoints.gguf.tokenizer import chat_template, end_ids, read_tokenizer, refuse_unknown_entries
from rauq.checkpoints.gguf.weights import Plan, changed, plan, write_safetensors
from rauq.checkpoints.hub import HubFile, cached_commit, is_digest, is_folder
from rauq.checkpoints.refusals.reasons import plain_errors
from rauq.checkpoints.store import default_store, sha256, stored
from rauq.errors import ModelNotFound
from rauq.labels import FLOATS
from rauq.transformers_api import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, PreTrainedModel

# llama.h, enum llama_ftype: what general.file_type says.
FILE_TYPES = MappingProxyType(
    {
        0: "F32",
        1: "F16",
        2: "Q4_0",
        3: "Q4_1",
        7: "Q8_0",
        8: "Q5_0",
        9: "Q5_1",
        10: "Q2_K",
        11: "Q3_K_S",
        12: "Q3_K_M",
        13: "Q3_K_L",
        14: "Q4_K_S",
        15: "Q4_K_M",
        16: "Q5_K_S",
        17: "Q5_K_M",
        18: "Q6_K",
        19: "IQ2_XXS",
        20: "IQ2_XS",
        21: "Q2_K_S",
        22: "IQ3_XS",
        23: "IQ3_XXS",
        24: "IQ1_S",
        25: "IQ4_NL",
        26: "IQ3_S",
        27: "IQ3_M",
        28: "IQ2_S",
        29: "IQ2_M",
        30: "IQ4_XS",
        31: "IQ1_M",
        32: "BF16",
        36: "TQ1_0",
        37: "TQ2_0",
        38: "MXFP4",
        39: "NVFP4",
    }
)


@dataclass(frozen=True, kw_only=True)
class GgufFacts:
    """What a GGUF file says about its model before a weight is read.

    `quantisation` is a name such as "Q4_K_M", `file_size` is in bytes. The kind of the model is read from `names`:
    general.name, basename, finetune, and the file's name, where they are there.
    """

    quantisation: str
    file_size: int
    names: tuple[str, ...]
    chat_template: str | None


def facts_of(header: GgufHeader) -> GgufFacts:
    """The facts about a GGUF file's model, without its weights.

    Raises:
        ModelNotFound: the file is damaged.
        UnsupportedModel: the model cannot be read exactly; the message names the entry.
    """
    config_options(header, read_hyperparameters(header))  # which refuses unsupported entries
    refuse_unknown_entries(header)
    stated = (header.get(f"general.{key}", str) for key in ("name", "basename", "finetune"))
    return GgufFacts(
        quantisation=_quantisation(header),
        file_size=header.file_size,
        names=tuple(name for name in (*stated, header.path.name) if name),
        chat_template=chat_template(header),
    )


def _quantisation(header: GgufHeader) -> str:
    """The file's own name for it, or the types that hold most of its weights, the largest share first."""
    stated = FILE_TYPES.get(header.get("general.file_type", int) or -1)
    if stated:
        return stated
    shares: Counter[str] = Counter()
    for tensor in header.tensors:
        shares[tensor.storage.name] += tensor.num_elements
    quantised = [name for name, _ in shares.most_common() if name not in FLOATS]
    return ", ".join(quantised or [name for name, _ in shares.most_common(1)])


_SOURCES = Path(__file__).parent
_BESIDES = 64 * 2**20  # bytes that config and tokenizer may take at most


@dataclass(frozen=True, kw_only=True, eq=False)
class Checkpoint:
    """A model whose weights were not read yet; `skeleton` has their shapes alone, and `where` says how to get them.

    `plan` and `facts` are there for a GGUF file, `remote` for one that is still on the hub and of which only the header
    was read. `read_tokenizer` is called once the tokenizer is needed. `digest` is the sha256 of the GGUF file that the
    weights were dequantised from. `adapter` is applied to the weights; `notes` say which other files are used
    differently from how they are stored.
    """

    source: str
    where: dict[str, Any]
    config: Any
    skeleton: PreTrainedModel
    chat_template: str | None
    read_tokenizer: Callable[[], Any]
    plan: Plan | None = None
    facts: GgufFacts | None = None
    remote: HubFile | None = None
    digest: str = ""
    adapter: Adapter | None = None
    notes: tuple[str, ...] = ()

    @cached_property
    def tokenizer(self) -> Any:
        """The model's tokenizer, read once."""
        return self.read_tokenizer()

    @property
    def parameters(self) -> int:
        """How many there are; what two parts of the model share counts once."""
        return sum(weights.numel() for weights in self.skeleton.parameters())

    @property
    def commit(self) -> str:
        """The commit of a hub model or of an adapter, the sha256 of a GGUF file, "local" for a folder."""
        if self.adapter is not None:
            return self.adapter.commit
        if self.digest:
            return self.digest
        if is_folder(self.source):
            return "local"
        revision: str | None = self.where["revision"]
        return cached_commit(self.source, revision) or revision or "main"


def gguf_checkpoint(source: str, file: Path | HubFile, *, revision: str | None) -> Checkpoint:
    """What a GGUF file says about its model; no weight is read, and of a file on the hub only the header is fetched.

    Raises:
        ModelNotFound: the file cannot be read, or is damaged.
        UnsupportedModel: something in it cannot be read exactly; the message names it.
    """
    remote = file if isinstance(file, HubFile) else None
    state = (0, 0) if isinstance(file, HubFile) else _state(file)
    header = _header(file)
    facts = facts_of(header)
    config = read_config(header)
    with plain_errors(source, "header"), torch.device("meta"):
        skeleton = AutoModelForCausalLM.from_config(copy.deepcopy(config), trust_remote_code=False)
    return Checkpoint(
        source=source,
        where={"revision": revision, "local_files_only": True, "trust_remote_code": False},
        config=config,
        skeleton=skeleton,
        chat_template=facts.chat_template,
        read_tokenizer=partial(read_tokenizer, header),
        plan=plan(header, skeleton, state=state),
        facts=facts,
        remote=remote,
    )


def fetched(checkpoint: Checkpoint) -> Checkpoint:
    """The same model, once its file is on this machine: one that is on the hub is downloaded.

    Raises:
        ModelNotFound, UnsupportedModel: as of `gguf_checkpoint`.
    """
    if checkpoint.remote is None:
        return checkpoint
    found = gguf_checkpoint(checkpoint.source, checkpoint.remote.download(), revision=checkpoint.where["revision"])
    return _as_adapted(found, checkpoint)


def _as_adapted(base: Checkpoint, checkpoint: Checkpoint) -> Checkpoint:
    """A model with the adapter of another description of it, and with the tokenizer that this one may bring."""
    adapter = checkpoint.adapter
    if adapter is None or not adapter.has_tokenizer:
        return replace(base, adapter=adapter)
    return replace(
        base,
        adapter=adapter,
        chat_template=checkpoint.chat_template,
        read_tokenizer=checkpoint.read_tokenizer,
    )


@contextmanager
def in_folder(
    checkpoint: Checkpoint, *, dtype: str, on_progress: OnProgress | None = None, cancel: Cancel | None = None
) -> Iterator[Checkpoint]:
    """The same model in transformers' own format: a GGUF file is dequantised into the store, if not done yet.

    Args:
        checkpoint: Any; one that is not a GGUF file stays as it is.
        dtype: float32, bfloat16 or float16.
        on_progress: Called with the bytes dequantised so far, and with those of all weights, unless done before.
        cancel: Checked before every tensor.

    Raises:
        CacheError: there is no room, or the store cannot be written.
        ModelNotFound: the file changed, or is another than the revision says.
        UnsupportedModel: something in it cannot be read exactly.
        Stopped: cancelled.
    """
    found = checkpoint.plan
    if found is None:
        yield checkpoint
        return
    store, header = default_store(), found.header
    digest = digest_of(checkpoint, found, cancel=cancel)

    def write(folder: Path) -> None:
        _write_config_and_tokenizer(checkpoint, header, folder)
        write_safetensors(found, folder / "model.safetensors", dtype=dtype, on_progress=on_progress, cancel=cancel)
        if _state(header.path) != found.state:
            raise changed(header)

    key, num_bytes = f"{digest}-{dtype}-{_reader_digest()}", found.num_bytes(dtype) + _BESIDES
    with stored(store, key, num_bytes=num_bytes, write=write, cancel=cancel) as folder:
        read = partial(AutoTokenizer.from_pretrained, folder, trust_remote_code=False)
        where = checkpoint.where | {"revision": None}
        own = replace(checkpoint, source=str(folder), where=where, read_tokenizer=read, digest=digest)
        yield _as_adapted(replace(own, plan=None, facts=None), checkpoint)


def digest_of(checkpoint: Checkpoint, plan: Plan, *, cancel: Cancel | None = None) -> str:
    """The sha256 of a GGUF file, remembered in the store.

    Raises:
        ModelNotFound: it cannot be read, or is another file than the revision says.
        Stopped: cancelled.
    """
    with plain_errors(checkpoint.source, "file"):
        digest = sha256(default_store(), plan.header.path, cancel=cancel)
    _refuse_other_revision(checkpoint, digest)
    return digest


def _reader_digest() -> str:
    """A digest of the code that reads a file: this package, and the versions of the libraries that it uses.

    A version number would have to be raised by hand with every change of this code.
    """
    digest = hashlib.sha256(f"{version('transformers')} {version('gguf')}".encode())
    for source in sorted(_SOURCES.rglob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _write_config_and_tokenizer(checkpoint: Checkpoint, header: GgufHeader, folder: Path) -> None:
    config = copy.deepcopy(checkpoint.config)
    config.save_pretrained(folder)
    read_tokenizer(header).save_pretrained(folder)
    GenerationConfig(eos_token_id=list(end_ids(header))).save_pretrained(folder)


def _refuse_other_revision(checkpoint: Checkpoint, digest: str) -> None:
    wanted: str | None = checkpoint.where["revision"]
    if is_digest(wanted) and wanted != digest:
        message = (
            f"{checkpoint.source} is not the requested file: its sha256 is {digest}, not {wanted}. "
            "Give the path of the requested file."
        )
        raise ModelNotFound(message)


def _header(file: Path | HubFile) -> GgufHeader:
    if isinstance(file, HubFile):
        return header_from(file.read, path=Path(file.name), size=file.num_bytes)
    return read_header(file)


def _state(file: Path) -> tuple[int, int]:
    """Size and time of modification, which change when the file does; zeros where there is no file."""
    try:
        found = os.stat(file)  # noqa: PTH116 - a Path raises where a name is no possible path
    except (OSError, ValueError):
        return 0, 0
    return found.st_size, found.st_mtime_ns
