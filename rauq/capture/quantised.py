"""How the weights of a loaded model are quantised, and whether its activations are too."""

from typing import Any

from torch import nn

from rauq.transformers_api import PreTrainedModel

# Methods of transformers that compute with dequantised weights, so that activations keep their precision.
_WEIGHTS_ALONE = {
    "aqlm", "auto-round", "awq", "eetq", "gptq", "higgs", "hqq", "mxfp4", "spqr", "vptq",
}  # fmt: skip
_SEEN_IN_MODULES = {"bitsandbytes", "torchao"}


def quantises_activations(model: PreTrainedModel) -> bool:
    """Whether activations are rounded to a scale that other tokens of a pass can share; True where it is not known.

    Then the log-probabilities of a sequence depend on what else is in its pass, by nats: on the other sequences of a
    batch, and on whether its tokens are fed together or one by one.
    """
    method = _method(model)
    unknown = bool(method) and method not in _WEIGHTS_ALONE | _SEEN_IN_MODULES
    return unknown or any(map(_rounds_its_input, model.modules()))


def keep_dtype(model: PreTrainedModel) -> None:
    """Let the 4-bit layers of bitsandbytes compute in the dtype that they were given.

    On a CPU with AVX512-BF16 they would round activations to bfloat16 and pack their weights for it in the first pass:
    the log-probabilities of a sequence then differ by up to .08 nats with what else is in its pass.
    """
    layer: Any  # its own attributes are of bitsandbytes
    for layer in model.modules():
        if getattr(layer, "support_avx512bf16_for_cpu", False) and not _is_packed(layer.weight):
            layer.support_avx512bf16_for_cpu = False


def quantisation_of(model: PreTrainedModel) -> str:
    """The method, such as "bitsandbytes 4-bit" or "torchao Int8WeightOnly"; empty where the config names none."""
    config = getattr(model.config, "quantization_config", None)
    method = _method(model)
    if method == "bitsandbytes":
        return f"{method} {8 if _value(config, 'load_in_8bit') else 4}-bit"
    if method == "torchao":
        return f"{method} {type(_value(config, 'quant_type')).__name__.removesuffix('Config')}"
    return method


def _rounds_its_input(module: nn.Module) -> bool:
    kind = type(module)
    if kind.__module__.startswith("torch.ao.nn.quantized") or kind.__name__ == "Linear8bitLt":
        return True
    weight = getattr(module, "weight", None)  # a tensor of torchao, in a module like any other
    return (
        _is_packed(weight)
        or getattr(weight, "act_quant_kwargs", None) is not None
        or type(weight).__name__ == "LinearActivationQuantizedTensor"
    )


def _is_packed(weight: Any) -> bool:
    """Whether bitsandbytes has packed a weight for the kernel that computes in bfloat16, which cannot be undone."""
    return getattr(getattr(weight, "quant_state", None), "packing_format_for_cpu", False) is True


def _method(model: PreTrainedModel) -> str:
    method = _value(getattr(model.config, "quantization_config", None), "quant_method") or ""
    return str(getattr(method, "value", method))


def _value(config: Any, name: str) -> Any:
    """A field of a config, which is a dictionary until transformers has read it."""
    return config.get(name) if isinstance(config, dict) else getattr(config, name, None)
