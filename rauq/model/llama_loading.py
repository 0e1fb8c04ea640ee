"""Load a GGUF file into llama.cpp, and check once that its attention is captured exactly."""

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import rauq.llama_cpp
from rauq.arguments import Cancel
from rauq.checkpoints.checkpoint import Checkpoint, digest_of
from rauq.checkpoints.gguf.tokenizer import end_ids
from rauq.checkpoints.loading import context_length
from rauq.checkpoints.model_info import ModelInfo
from rauq.checkpoints.store import default_store
from rauq.errors import UnsupportedModel
from rauq.llama_cpp.library import find_library
from rauq.model.context import known_ends
from rauq.model.engines.llama_engine import LlamaEngine, cpu_threads, random_ids
from rauq.model.language_model import LanguageModel
from rauq.model.tokens import Tokens


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What the check of a file has found: its layers with attention, and their heads."""

    layers: tuple[int, ...]
    num_heads: int


def load_llama(
    checkpoint: Checkpoint,
    info: ModelInfo,
    *,
    full_window: bool = True,
    half_cache: bool = True,
    cancel: Cancel | None = None,
) -> LanguageModel:
    """The model of a GGUF file, run by llama.cpp; options are those of `LlamaEngine`.

    The check is made once for each file and version of the library, and its result kept in the store.

    Raises:
        ModelNotFound, UnsupportedModel: it cannot be opened, or its attention cannot be captured exactly.
        OutOfMemory: it does not fit.
        Stopped: cancelled.
    """
    plan = checkpoint.plan
    assert plan is not None  # noqa: S101 - llama.cpp is chosen for GGUF files alone
    digest, path = digest_of(checkpoint, plan, cancel=cancel), plan.header.path
    engine = LlamaEngine(path, cpu_threads(), full_window=full_window, half_cache=half_cache)
    checked = _checked(engine, digest)
    tokenizer, vocab_size = checkpoint.tokenizer, engine.opened.vocab_size
    configured = known_ends(list(end_ids(plan.header)), vocab_size)
    return LanguageModel(
        engine=engine,
        name=info.name,
        revision=digest,
        kind=info.kind,
        quantisation=info.quantisation or "",
        tokens=Tokens(tokenizer),
        context_length=context_length(checkpoint.config),
        end_ids=frozenset((*configured, *known_ends(tokenizer.eos_token_id, vocab_size))),
        configured_end_ids=configured,
        layers=checked.layers,
        num_layers=info.num_layers,
        num_heads=checked.num_heads,
        vocab_size=vocab_size,
    )


def _checked(engine: LlamaEngine, digest: str) -> Checked:
    """What the check of this file has found before, or finds now.

    Raises:
        UnsupportedModel: the capture is not exact.
    """
    memo = _memo(digest, find_library())
    with suppress(OSError, ValueError, TypeError, KeyError):
        found = json.loads(memo.read_text(encoding="utf-8"))
        return Checked(layers=tuple(found["layers"]), num_heads=int(found["num_heads"]))
    check, num_heads = engine.compared(random_ids(engine.opened.vocab_size))
    if not check.exact:
        message = f"The attention check of {engine.path.name} in llama.cpp failed, so no results are shown ({check})."
        raise UnsupportedModel(message)
    checked = Checked(layers=check.layers, num_heads=num_heads)
    with suppress(OSError):  # without the memo it is checked again
        memo.parent.mkdir(parents=True, exist_ok=True)
        memo.write_text(json.dumps(asdict(checked)), encoding="utf-8")
    return checked


def _memo(digest: str, library: Path) -> Path:
    """Where the result for a file, this library and this code is kept."""
    state, code = library.stat(), hashlib.sha256(digest.encode())
    for source in sorted(Path(rauq.llama_cpp.__file__).parent.glob("*.py")):
        code.update(source.read_bytes())
    return default_store().place / "llama" / f"{code.hexdigest()[:32]}-{state.st_size}-{state.st_mtime_ns}.json"
