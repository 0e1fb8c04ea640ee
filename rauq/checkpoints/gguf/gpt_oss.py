"""How a GGUF file holds the experts of gpt-oss, which transformers' own table of tensors does not know.

There, each expert's two input matrices lie in one, column by column in turn, and all matrices are transposed.
"""

import re
from typing import Any

import numpy as np
import torch

from rauq.transformers_api import GGUFTensor, TensorProcessor

_EXPERTS = re.compile(r"model\.layers\.(\d+)\.mlp\.experts\.(gate_up|down)_proj(_bias)?")
_STORED = re.compile(r"blk\.\d+\.ffn_(gate|up|down)_exps\.(?:weight|bias)")
_OF = {"gate_up": ("gate", "up"), "down": ("down",)}
_TURN = {"gate": 0, "up": 1}


class GptOssTensors(TensorProcessor):
    """Names and lays out the tensors of experts; all others are as in the file."""

    def perform_fallback_tensor_mapping(
        self, gguf_to_hf_name_map: dict[str, str], suffix: str, qual_name: str, hf_name: str
    ) -> None:
        """Add the names of a tensor of experts; transformers calls it for each that its table lacks."""
        del suffix
        if found := _EXPERTS.fullmatch(hf_name):
            layer, what, bias = found.groups()
            for part in _OF[what]:
                stored = f"blk.{layer}.ffn_{part}_exps.{'bias' if bias else 'weight'}"
                gguf_to_hf_name_map[stored] = qual_name + hf_name

    def process(self, weights: np.ndarray, name: str, **kwargs: Any) -> Any:
        """Lay out one tensor of the file: (E, rows, columns), or (E, rows) for a bias."""
        found = _STORED.fullmatch(name)
        if found is None:
            return GGUFTensor(weights, name, {})
        turned = weights.swapaxes(1, -1)
        if found[1] == "down":
            return GGUFTensor(turned, name, {})
        filled = kwargs["parsed_parameters"]["tensors"]
        own = kwargs["tensor_key_mapping"][name]
        if own not in filled:
            filled[own] = torch.empty(*turned.shape[:-1], 2 * turned.shape[-1])
        filled[own][..., _TURN[found[1]] :: 2] = torch.from_numpy(np.ascontiguousarray(turned))
        unnamed: Any = None  # transformers' sign that the tensor is placed already
        return GGUFTensor(weights, unnamed, {})
