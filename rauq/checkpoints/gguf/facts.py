"""What is known of the model in a GGUF file from its header alone, and whether it can be read exactly."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from rauq.checkpoints.gguf.config import config_options
from rauq.checkpoints.gguf.header import GgufHeader, read_header
from rauq.checkpoints.gguf.hyperparameters import read_hyperparameters
from rauq.checkpoints.gguf.tokens import refuse_unknown_entries
from rauq.checkpoints.gguf.types import FILE_TYPES
from rauq.labels import FLOATS


@dataclass(frozen=True, kw_only=True)
class GgufFacts:
    """What a GGUF file says of its model before a weight is read.

    `quantisation` is a name such as "Q4_K_M", `file_size` is in bytes. The kind of the model is read from `names`:
    general.name, basename, finetune, and the file's name, where they are there.
    """

    quantisation: str
    file_size: int
    names: tuple[str, ...]
    chat_template: str | None


def read_facts(path: str | Path) -> GgufFacts:
    """What is known of a GGUF file's model without its weights, in under a second.

    Raises:
        ModelNotFound: there is no such file, or it is damaged.
        UnsupportedModel: the model cannot be read exactly; the message names the entry.
    """
    return facts_of(read_header(path))


def facts_of(header: GgufHeader) -> GgufFacts:
    """What is known from a header that was read already; errors as in `read_facts`."""
    config_options(header, read_hyperparameters(header))  # which refuses what cannot be honoured
    refuse_unknown_entries(header)
    stated = (header.get(f"general.{key}", str) for key in ("name", "basename", "finetune"))
    return GgufFacts(
        quantisation=_quantisation(header),
        file_size=header.file_size,
        names=tuple(name for name in (*stated, header.path.name) if name),
        chat_template=header.get("tokenizer.chat_template", str),
    )


def _quantisation(header: GgufHeader) -> str:
    """What the file calls it, or the types that hold most of its weights, the largest share first."""
    stated = FILE_TYPES.get(header.get("general.file_type", int) or -1)
    if stated:
        return stated
    shares: Counter[str] = Counter()
    for tensor in header.tensors:
        shares[tensor.storage.name] += tensor.num_elements
    quantised = [name for name, _ in shares.most_common() if name not in FLOATS]
    return ", ".join(quantised or [name for name, _ in shares.most_common(1)])
