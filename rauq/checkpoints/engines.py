"""Which engine runs a model: transformers, or llama.cpp for a GGUF file that is large once it is dequantised."""

from collections.abc import Mapping

from rauq.checkpoints.checkpoint import Checkpoint
from rauq.checkpoints.kinds import ENGINES, LLAMA, TRANSFORMERS, EngineName
from rauq.errors import InvalidInput
from rauq.llama_cpp.library import find_library, is_installed

SMALL = 10**9  # bytes of dequantised weights, up to which transformers is fast enough on a CPU


def engine_for(
    checkpoint: Checkpoint,
    asked: str | None,
    *,
    on_cpu: bool,
    dtype: str,
    num_bytes: int | None,
    others: Mapping[str, object],
) -> EngineName:
    """The engine that was asked for, or by default the one that suits the model.

    Args:
        checkpoint: The model.
        asked: The name of an engine; None: llama.cpp for a GGUF file of more than 1 GB once dequantised, where it is
            installed, the device is the CPU, and nothing is asked for that it lacks; else transformers.
        on_cpu: Whether the device is the CPU.
        dtype: The precision that was asked for.
        num_bytes: Of the weights once dequantised; None: not known.
        others: Options that only transformers has, by name; None where they are not used.

    Raises:
        InvalidInput: an unknown name, or llama.cpp for what it cannot do.
        MissingPackage: llama.cpp is asked for, and is not installed.
    """
    if asked not in (None, *ENGINES):
        message = f"Unknown engine {asked!r}; choose one of {', '.join(ENGINES)}."
        raise InvalidInput(message)
    reasons = _against_llama(checkpoint, on_cpu=on_cpu, dtype=dtype, others=others)
    if asked is None:
        is_large = num_bytes is not None and num_bytes > SMALL
        return LLAMA if is_large and not reasons and is_installed() else TRANSFORMERS
    if asked == LLAMA:
        if reasons:
            message = f"llama.cpp cannot run this: {reasons[0]} Choose the engine transformers."
            raise InvalidInput(message)
        find_library()
    return TRANSFORMERS if asked == TRANSFORMERS else LLAMA


def _against_llama(checkpoint: Checkpoint, *, on_cpu: bool, dtype: str, others: Mapping[str, object]) -> list[str]:
    """Why llama.cpp cannot run a model with these options; empty if it can."""
    used = [name for name, value in others.items() if value is not None]
    found = {
        f"{checkpoint.source} is no GGUF file.": checkpoint.plan is None,
        "it applies no adapter here.": checkpoint.adapter is not None,
        "it computes on the CPU alone here; layers on a GPU have not been tried.": not on_cpu,
        f"it computes with the weights as they are in the file, and {dtype} was asked for.": dtype != "auto",
        f"it has no {', '.join(used)}.": bool(used),
    }
    return [reason for reason, applies in found.items() if applies]
