"""What can be wrapped: a causal language model in memory, as it is, or with adapters of PEFT."""

from typing import Any

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from rauq.errors import InvalidInput, UnsupportedModel


def causal_model(given: Any) -> PreTrainedModel:
    """The model that computes: of a PEFT model the one that holds its adapters.

    Raises:
        UnsupportedModel: not a causal language model of transformers, or adapters that are a prompt.
    """
    model = _with_adapters(given) if hasattr(given, "get_base_model") else given
    if not isinstance(model, PreTrainedModel):
        message = (
            f"Got {type(given).__name__}; give a causal language model of transformers (a PreTrainedModel), or a PEFT "
            "model of one."
        )
        raise UnsupportedModel(message)
    if model.config.is_encoder_decoder or not model.can_generate():
        message = (
            f"{type(model).__name__} is not a causal language model. Give one that generates, such as a ...ForCausalLM."
        )
        raise UnsupportedModel(message)
    return model


def check_tokenizer(given: object) -> None:
    """Check that it is a tokenizer of transformers.

    Raises:
        InvalidInput: it is not.
    """
    if not isinstance(given, PreTrainedTokenizerBase):
        message = f"Got {type(given).__name__} as tokenizer; give the model's own, AutoTokenizer.from_pretrained(...)."
        raise InvalidInput(message)


def name_of(model: PreTrainedModel) -> str:
    """Where a model was loaded from, or the name of its class."""
    return model.config.name_or_path or type(model).__name__


def _with_adapters(given: Any) -> Any:
    if any(config.is_prompt_learning for config in given.peft_config.values()):
        message = (
            "This PEFT model learns tokens that stand before the prompt, which a trace has no place for. Use adapters "
            "that change weights, such as LoRA."
        )
        raise UnsupportedModel(message)
    return given.get_base_model()
