"""Where the parts of a model go if it is larger than one device: GPUs, main memory, and the disk for the rest.

accelerate moves a part that is on the disk to a device whenever it is computed, and transformers chooses the parts, by
what `rauq.checkpoints.memory` counts, since neither knows the limits of a container.
"""

import copy
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open

from rauq.checkpoints.checkpoint import Checkpoint
from rauq.checkpoints.loading import find_device, free_memory
from rauq.checkpoints.memory import free_main_memory
from rauq.errors import InvalidInput, MissingPackage, ModelNotFound, OutOfMemory, UnsupportedModel
from rauq.labels import size
from rauq.transformers_api import PreTrainedModel, _get_device_map

AUTO, CPU, DISK = "auto", "cpu", "disk"
DeviceMap = str | Mapping[str, str | int]

_DEPTH, _MOST_NAMED = 2, 4  # of the parts of a model, in an error
_FILLED = 0.9  # of what is free: keys, values and activations need room, too


def check_options(
    device_map: DeviceMap | None, *, device: str, quantization: str | None, offload_folder: str | PathLike[str] | None
) -> None:
    """Check the options of a placement before anything is read.

    Raises:
        InvalidInput: a device or a quantization beside the map, an unknown map, or a folder that is not used or
            cannot be written.
        MissingPackage: accelerate is not installed.
    """
    if device_map is None:
        if offload_folder is not None:
            message = f"Got offload_folder={str(offload_folder)!r} without device_map. Leave it out, or add device_map."
            raise InvalidInput(message)
        return
    if device != AUTO:
        message = f"Got device={device!r} and a device_map, which chooses the devices. Leave one of them out."
        raise InvalidInput(message)
    if quantization is not None:
        message = (
            f"Got quantization={quantization!r} and a device_map, which counts whole weights. Leave one of them out."
        )
        raise InvalidInput(message)
    if device_map != AUTO and not (isinstance(device_map, Mapping) and device_map):
        message = f"Got device_map={device_map!r}; give auto, or a mapping from names of modules to devices."
        raise InvalidInput(message)
    if find_spec("accelerate") is None:
        message = "device_map needs accelerate: pip install -r requirements.txt"
        raise MissingPackage(message)
    if offload_folder is not None:
        _check_writable(Path(offload_folder))


def placed(
    checkpoint: Checkpoint, device_map: DeviceMap, dtype: str, *, offload_folder: str | PathLike[str] | None
) -> dict[str, Any]:
    """What transformers is told about the place of each part of a model whose weights were not read yet.

    Args:
        checkpoint: The model.
        device_map: auto fills GPUs, then main memory, then the disk; or the device of each module: cpu, disk, mps, or
            the number of a GPU.
        dtype: What the weights will be held in: float32, bfloat16 or float16, or auto.
        offload_folder: Where weights are written that stay on the disk in another form than the checkpoint's.

    Raises:
        InvalidInput: an unknown device, or a map that leaves out weights.
        OutOfMemory: a device has too little memory for its part.
        UnsupportedModel: weights of a GGUF file would stay on the disk.
    """
    skeleton: Any = copy.deepcopy(checkpoint.skeleton)
    if isinstance(chosen := getattr(torch, dtype, None), torch.dtype):
        skeleton.to(chosen)
    found = _chosen(skeleton) if isinstance(device_map, str) else _checked(device_map, skeleton)
    _refuse_if_too_large(checkpoint.source, skeleton, found)
    if DISK in found.values() and checkpoint.plan is not None:
        message = (
            f"{checkpoint.source} does not fit in memory, and dequantised weights of a GGUF file cannot stay on the "
            "disk, where they are deleted to make room. Load the model's safetensors, or a smaller model."
        )
        raise UnsupportedModel(message)
    return {"device_map": found, "offload_folder": offload_folder}


def read_offloaded_unmapped(model: PreTrainedModel) -> None:
    """Let parts on the disk be read into memory of their own, as all weights are (`rauq.checkpoints.loading.reading`).

    They then give the same numbers to the last bit as in memory, and a file that shrinks ends no process.
    """
    for module in model.modules():
        weights: Any = getattr(getattr(module, "_hf_hook", None), "weights_map", None)
        if (loader := getattr(weights, "dataset", None)) is not None and getattr(loader, "index", None):
            weights.dataset = _Offloaded(loader)


class _Offloaded(Mapping[str, torch.Tensor]):
    """The weights of accelerate's loader, those on the disk read without mapping their file."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __getitem__(self, name: str) -> torch.Tensor:
        place = self.loader.index.get(name)
        if name in self.loader.state_dict or place is None:
            found: torch.Tensor = self.loader[name]
            return found
        try:
            with safe_open(place["safetensors_file"], framework="pt", backend="pread") as file:
                read: torch.Tensor = file.get_tensor(place["weight_name"])
        except (OSError, SafetensorError) as error:
            message = f"{place['safetensors_file']} can no longer be read ({error}). Load the model again."
            raise ModelNotFound(message) from error
        return read.to(self.loader.device, getattr(torch, place["dtype"]))

    def __iter__(self) -> Iterator[str]:
        return iter(self.loader)

    def __len__(self) -> int:
        return len(self.loader)


def _check_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        message = f"The folder {folder} for offloaded weights cannot be written ({error.strerror}). Give another one."
        raise InvalidInput(message) from error


def _checked(device_map: Mapping[str, str | int], skeleton: PreTrainedModel) -> dict[str, str | int]:
    """A user's map, with the numbers of GPUs in place of their names."""
    known = {name for name, _ in (*skeleton.named_modules(), *skeleton.named_parameters())}
    if unknown := [name for name in device_map if name not in known]:
        message = f"device_map names {unknown[0]!r}, which the model does not have. Its parts are {_parts(skeleton)}."
        raise InvalidInput(message)
    found: dict[str, str | int] = {}
    for name, device in device_map.items():
        place = device if device == DISK else str(find_device(f"cuda:{device}" if isinstance(device, int) else device))
        found[name] = int(place.partition(":")[2] or 0) if place.startswith("cuda") else place
    return found


def _parts(skeleton: PreTrainedModel) -> str:
    names = [name for name, _ in skeleton.named_modules() if 0 < name.count(".") + bool(name) <= _DEPTH]
    return ", ".join(names[:_MOST_NAMED])


def _chosen(skeleton: PreTrainedModel) -> dict[str, str | int]:
    limits = {device: int(_FILLED * free) for device, free in _free().items()}
    found: dict[str, str | int] = _get_device_map(skeleton, AUTO, limits or None, None)
    return found


def _free() -> dict[str | int, int]:
    """Free bytes of each device that `auto` may use, where they are known; a GPU goes by its number."""
    main = free_main_memory()
    gpus: dict[str | int, int | None] = {gpu: free_memory(f"cuda:{gpu}") for gpu in range(torch.cuda.device_count())}
    last = "mps" if find_device(AUTO).type == "mps" else CPU
    return {device: free for device, free in {**gpus, last: main}.items() if free is not None}


def _refuse_if_too_large(name: str, skeleton: PreTrainedModel, placement: Mapping[str, str | int]) -> None:
    """Refuse a placement whose weights on a device, with the largest part moved there, exceed its free memory."""
    needed, free = Counter[str | int](), _free()
    others = [device for device in placement.values() if device not in (CPU, DISK)]
    main = others[0] if others else CPU
    lent = 0
    for weights_name, weights in skeleton.named_parameters():
        device = _device_of(weights_name, placement)
        needed[device] += weights.nbytes
        if device in (CPU, DISK) and device != main:
            lent = max(lent, weights.nbytes)
    needed[main] += lent
    for device, bytes_needed in needed.items():
        if device != DISK and (there := free.get(device)) is not None and bytes_needed > there:
            message = (
                f"{name} does not fit: {size(bytes_needed)} of its weights are needed on {device}, where {size(there)} "
                "are free. Place more of it on the disk, choose a smaller model, or free memory."
            )
            raise OutOfMemory(message)


def _device_of(weights: str, placement: Mapping[str, str | int]) -> str | int:
    """The device of the innermost module that is placed and holds these weights."""
    module = weights
    while module not in placement:
        if not module:
            message = f"device_map says nothing about {weights}. Add its module, or '' for all the rest."
            raise InvalidInput(message)
        module = module.rpartition(".")[0]
    return placement[module]
