"""Which engine runs a model: transformers, or llama.cpp for a GGUF file that is large once it is dequantised."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from rauq.errors import InvalidInput
from rauq.labels import ENGINES, LLAMA, TRANSFORMERS, EngineName
from rauq.llama_cpp.library import find_library, is_installed

SMALL = 10**9  # bytes of dequantised weights, up to which transformers is fast enough on a CPU


@dataclass(frozen=True, kw_only=True)
class Conditions:
    """What decides whether llama.cpp can run a model: what it is, and with which options it is to be loaded.

    `dtype` is the precision that was asked for, `others` are options that only transformers has, None where they are
    not used.
    """

    source: str
    is_gguf: bool
    has_adapter: bool
    on_cpu: bool
    dtype: str
    others: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def against_llama(self) -> str:
        """Why llama.cpp cannot run it; empty if it can."""
        used = [name for name, value in self.others.items() if value is not None]
        reasons = {
            f"{self.source} is no GGUF file.": not self.is_gguf,
            "it applies no adapter here.": self.has_adapter,
            "it computes on the CPU alone here; layers on a GPU have not been tried.": not self.on_cpu,
            f"it computes with the weights as they are in the file, and {self.dtype} was asked for.": (
                self.dtype != "auto"
            ),
            f"it has no {', '.join(used)}.": bool(used),
        }
        return next((reason for reason, applies in reasons.items() if applies), "")


def engine_for(asked: str | None, conditions: Conditions, *, num_bytes: int | None) -> EngineName:
    """The engine that was asked for, or by default the one that suits the model.

    Args:
        asked: The name of an engine; None: llama.cpp for a GGUF file of more than 1 GB once dequantised, where it is
            installed and can run it; else transformers.
        conditions: What the model is, and how it is to be loaded.
        num_bytes: Of the weights once dequantised; None: not known.

    Raises:
        InvalidInput: an unknown name, or llama.cpp for what it cannot do.
        MissingPackage: llama.cpp is asked for, and is not installed.
    """
    if asked not in (None, *ENGINES):
        message = f"Unknown engine {asked!r}; choose one of {', '.join(ENGINES)}."
        raise InvalidInput(message)
    reason = conditions.against_llama
    if asked is None:
        is_large = num_bytes is not None and num_bytes > SMALL
        return LLAMA if is_large and not reason and is_installed() else TRANSFORMERS
    if asked == TRANSFORMERS:
        return TRANSFORMERS
    if reason:
        message = f"llama.cpp cannot run this: {reason} Choose the engine transformers."
        raise InvalidInput(message)
    find_library()
    return LLAMA
