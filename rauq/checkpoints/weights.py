"""What the stored weights of a model are called, and whether those of its language model are all there and all used."""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, takewhile
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open

from rauq.checkpoints.hub import is_folder
from rauq.errors import ModelNotFound, UnsupportedModel
from rauq.transformers_api import (
    SAFE_WEIGHTS_INDEX_NAME,
    SAFE_WEIGHTS_NAME,
    PreTrainedModel,
    WeightConverter,
    WeightRenaming,
    cached_file,
    get_model_conversion_mapping,
    rename_source_key,
)

# Modules that torch and DeepSpeed put around others; those of a model have other names.
_WRAPPERS = re.compile(r"(?:(?:_orig_mod|_fsdp_wrapped_module|_checkpoint_wrapped_module|_forward_module)\.)+")
# Tensors that older files have beside weights, or modules beside the blocks that predict tokens after the next one.
_WITHOUT_EFFECT = re.compile(
    r"inv_freq$|rotary_emb\.|position_ids$|masked_bias$|\.(?:attn|attention)\.bias$|_extra_state$|\.[kqv]_scale$"
    r"|_float_tensor$"
    r"|^(?:[a-z_]+\.)*(?:mtp|nextn)(?:_(?:layers|blocks?|emb_norm|hidden_norm|linear_proj))?\."
)
_DIGITS = re.compile(r"(?<=\.)\d+(?=\.)")  # of blocks and experts, whose tensors are named alike
_MOST_NAMED = 3
_UNREADABLE = (OSError, SafetensorError, ValueError, KeyError, TypeError)


@dataclass(frozen=True, kw_only=True)
class Stored:
    """The tensors in the files of a model: names, and dtypes as safetensors calls them ("" where only names are here).

    `wrappers` are parts that a training run put into all or some of the names; `prefix` what all others begin with.
    """

    dtypes: Mapping[str, str]
    wrappers: tuple[str, ...]
    prefix: str

    @property
    def renamings(self) -> dict[str, str]:
        """Patterns in the names, and what to write in their place, so that a model knows the weights."""
        most = max((len(_WRAPPERS.findall(name)) for name in self.dtypes), default=0)
        taken = {_WRAPPERS.pattern + "(?:)" * number: "" for number in range(most)}  # each pattern is applied once
        return taken | ({f"^{re.escape(self.prefix)}": ""} if self.prefix else {})

    def __str__(self) -> str:
        """What is taken out of the names, in words; "" if nothing is."""
        taken = " and ".join((*self.wrappers, *([self.prefix] if self.prefix else [])))
        return f"its weights are read without {taken} in their names" if taken else ""


def stored_file(source: str, name: str, where: Mapping[str, Any]) -> Path | None:
    """A file of a folder or of a hub model; `where` says whether it may be fetched. None: there is none."""
    place = {option: where[option] for option in ("revision", "local_files_only")}
    found = cached_file(
        source,
        name,
        _raise_exceptions_for_missing_entries=False,
        _raise_exceptions_for_connection_errors=not where["local_files_only"],
        **place,
    )
    return None if found is None else Path(found)


def refuse_weights_in_subfolders(source: str) -> None:
    """Refuse a folder without weights whose subfolders have them, as those that a training run saved on its way.

    Raises:
        ModelNotFound: it is one.
    """
    if not is_folder(source) or any(Path(source).glob("*.safetensors")):
        return
    if found := sorted({str(file.parent) for file in Path(source).glob("*/*.safetensors")}):
        message = f"The folder {source} has no weights, but its subfolders do. Give one of them: {_first(found)}."
        raise ModelNotFound(message)


def stored_weights(source: str, where: Mapping[str, Any], model: PreTrainedModel) -> Stored:
    """The weights of a folder or of a hub model, for this model; none where a file is missing or damaged.

    `where` says whether files may be fetched.

    Raises:
        UnsupportedModel: one is there twice.
    """
    try:
        dtypes = _stored_dtypes(source, where)
    except _UNREADABLE:
        dtypes = {}  # whoever reads the weights says what is wrong
    inner, target = [_WRAPPERS.sub("", name) for name in dtypes], _renamer(model)
    alike = list(dict.fromkeys(_DIGITS.sub("0", name) for name in inner))
    prefix = _prefix(alike, target)
    found = [target(name.removeprefix(prefix)) for name in alike]
    _refuse_doubled(source, inner)
    _refuse_doubled(source, [one.name for one in found if one is not None and not one.is_part])
    wrappers = {f"{part}." for name in dtypes for found in _WRAPPERS.findall(name) for part in found.split(".")[:-1]}
    return Stored(dtypes=dtypes, wrappers=tuple(sorted(wrappers)), prefix=prefix)


def check_numbers(source: str, stored: Stored, config: Any) -> None:
    """Check that weights which are not declared as quantised are not stored as whole numbers.

    Raises:
        UnsupportedModel: they are.
    """
    whole = [name for name, dtype in stored.dtypes.items() if re.fullmatch(r"[IU]\d+", dtype) and _is_weight(name)]
    if whole and getattr(config, "quantization_config", None) is None:
        message = (
            f"The weights of {source} have {len(whole)} tensors of whole numbers, such as {_first(whole)}, and its "
            "config.json has no quantization_config that says what they stand for. Get the config.json that belongs "
            "to them."
        )
        raise UnsupportedModel(message)


def _is_weight(name: str) -> bool:
    return name.endswith((".weight", ".bias"))


def _stored_dtypes(source: str, where: Mapping[str, Any]) -> dict[str, str]:
    if (weights := stored_file(source, SAFE_WEIGHTS_NAME, where)) is not None:
        return _dtypes_in(weights)
    if (index := stored_file(source, SAFE_WEIGHTS_INDEX_NAME, where)) is None:
        return {}
    files: dict[str, str] = json.loads(index.read_text(encoding="utf-8"))["weight_map"]
    there = [stored_file(source, name, {**where, "local_files_only": True}) for name in sorted(set(files.values()))]
    return dict.fromkeys(files, "") | {
        name: dtype for part in there if part for name, dtype in _dtypes_in(part).items()
    }


def _dtypes_in(file: Path) -> dict[str, str]:
    with safe_open(file, framework="pt", backend="pread") as opened:
        return {name: opened.get_slice(name).get_dtype() for name in opened.keys()}  # noqa: SIM118 - no dict


def _refuse_doubled(source: str, names: Sequence[str]) -> None:
    if doubled := [name for name, times in Counter(names).items() if times > 1]:
        message = (
            f"The weights of {source} have tensors twice, under two names, such as {_first(doubled)}. Save the model "
            "once, with save_pretrained."
        )
        raise UnsupportedModel(message)


def check_complete(source: str, model: PreTrainedModel, info: Mapping[str, Collection[Any]]) -> None:
    """Check that every weight of a loaded language model was read, and that every stored one was used.

    Raises:
        UnsupportedModel: weights would be random numbers, or have no effect.
        ValueError: they have other shapes.
    """
    _refuse_other_shapes(info["mismatched_keys"])
    missing, unused = _missing(model, info["missing_keys"]), _unused(model, info["unexpected_keys"])
    if missing:
        others = f" It has others, such as {_first(unused)}." if unused else ""
        message = (
            f"The weights of {source} lack {len(missing)} tensors, such as {_first(missing)}; without them the model's "
            f"numbers would be random.{others} Get the whole model, with the config.json that belongs to it."
        )
        raise UnsupportedModel(message)
    if unused:
        message = (
            f"The weights of {source} have {len(unused)} tensors that {type(model).__name__} does not use, such as "
            f"{_first(unused)}, so its numbers would be those of another model. Get the config.json that belongs to "
            "it; adapters that are part of the weights must be merged into them."
        )
        raise UnsupportedModel(message)


def _refuse_other_shapes(mismatched: Collection[Any]) -> None:
    if mismatched:
        name, stored, expected = min(mismatched)
        message = (
            f"{len(mismatched)} tensors have another shape than config.json says, such as {name}: {tuple(stored)}, not "
            f"{tuple(expected)}"
        )
        raise ValueError(message)


class _Target(NamedTuple):
    """The weight of a model that a stored tensor is, or is a part of, such as one expert of several."""

    name: str
    is_part: bool


_Renamer = Callable[[str], _Target | None]


def _renamer(model: PreTrainedModel) -> _Renamer:
    """From the name of a stored tensor to its target, as transformers finds it; None: the model has none."""
    mapping, weights = get_model_conversion_mapping(model), model.state_dict()
    renamings = [one for one in mapping if isinstance(one, WeightRenaming)]
    converters = [one for one in mapping if isinstance(one, WeightConverter)]

    def target(name: str) -> _Target | None:
        found, converter = rename_source_key(name, renamings, converters, model.base_model_prefix, weights)
        if found not in weights and name in weights:
            return _Target(name, is_part=False)
        return _Target(found, is_part=converter is not None) if found in weights else None

    return target


def _prefix(names: Sequence[str], target: _Renamer) -> str:
    """The beginning of all names without which most are known, and most of these as they are."""
    columns = zip(*(name.split(".") for name in names), strict=False)
    shared = [column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns)]
    prefixes = ["", *accumulate(f"{part}." for part in shared)]

    def fitting(prefix: str) -> tuple[int, int]:
        rest = [name.removeprefix(prefix) for name in names]
        known = [(name, one.name) for name in rest if (one := target(name)) is not None]
        return len(known), sum(name == weight for name, weight in known)

    return max(prefixes, key=fitting)


def _missing(model: PreTrainedModel, missing: Iterable[str]) -> list[str]:
    """The missing weights; of a composite model those of its decoder and head alone, since only text goes in."""
    parts = tuple(_places(model, model.get_decoder(), model.get_output_embeddings()))
    is_composite = model.config.get_text_config(decoder=True) is not model.config
    return sorted(name for name in missing if not is_composite or name.startswith(parts))


def _unused(model: PreTrainedModel, unexpected: Iterable[str]) -> list[str]:
    """Those of the unexpected weights that belong to the decoder or to the head."""
    decoder = model.get_decoder()
    decoders = decoder.children() if decoder is model else [decoder]
    parts = tuple(_places(model, *decoders, model.get_output_embeddings()))
    return sorted(
        name
        for name in unexpected
        if name.startswith(parts) and not (_WITHOUT_EFFECT.search(name) or _predicts_later(model, name))
    )


def _places(model: PreTrainedModel, *parts: Any) -> Iterator[str]:
    """What the names of these parts' weights begin with."""
    for name, module in model.named_modules():
        if name and any(module is part for part in parts):
            yield f"{name}."


def _predicts_later(model: PreTrainedModel, name: str) -> bool:
    """Whether it is of a block after the last, which predicts tokens after the next one."""
    config = model.config.get_text_config(decoder=True)
    last = config.num_hidden_layers + (getattr(config, "num_nextn_predict_layers", None) or 0)
    found = re.search(r"\.(\d+)\.", name)
    return found is not None and config.num_hidden_layers <= int(found[1]) < last


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED])
