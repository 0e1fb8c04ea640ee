"""Models that classify a pair of texts, from a folder or the hub: what judges of meaning run on."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

from rauq.errors import NonFiniteLogits, UnsupportedModel
from rauq.judges.conversions import with_safetensors
from rauq.judges.judges import Texts
from rauq.load_errors import plain_errors
from rauq.loading import context_length, find_device, memory_errors, unmapped
from rauq.whereabouts import whereabouts

_BATCH = 32
_ENDING = "ForSequenceClassification"
_TAKES_LESS = "Try a smaller model, or the CPU (device='cpu' in Python, --device cpu in a shell, Device in the app)."


@dataclass(frozen=True, eq=False, kw_only=True)
class Classifier:
    """A model in memory that reads two texts at once; `longest` is how many tokens of both it reads."""

    name: str
    model: Any
    tokenizer: Any
    longest: int

    @property
    def labels(self) -> tuple[str, ...]:
        """What its outputs mean, in their order."""
        named: dict[int, str] = self.model.config.id2label
        return tuple(named[place] for place in sorted(named))


def load_classifier(name: str, *, device: str, revision: str | None) -> Classifier:
    """Load a folder or a model of the hub in float32, from safetensors alone.

    Weights that the hub has only pickled are taken as its own conversion to safetensors, where it offers one.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: it classifies no texts, or its weights are incomplete.
        OutOfMemory: it does not fit.
        InvalidInput: unknown device.
    """
    place = find_device(device)
    where = whereabouts(name, revision=revision, otherwise="A folder that save_pretrained wrote works without the hub.")
    with plain_errors(name, "config.json"):
        config = AutoConfig.from_pretrained(name, **where)
        _refuse_other_architectures(name, config.architectures or [])
    with plain_errors(name, "tokenizer"):
        tokenizer = AutoTokenizer.from_pretrained(name, **where)
    if tokenizer.pad_token is None:
        message = f"The tokenizer of {name} has no padding token, which comparing texts needs. Choose another model."
        raise UnsupportedModel(message)
    with plain_errors(name, "weights"):
        where = with_safetensors(name, where)
        with memory_errors(f"loading {name}", takes_less=_TAKES_LESS):
            model = _model(name, where).to(place)
    longest = min(tokenizer.model_max_length, _positions(model))
    return Classifier(name=name, model=model, tokenizer=tokenizer, longest=longest)


def logits(classifier: Classifier, firsts: Texts, seconds: Texts) -> np.ndarray:
    """What the model puts out for each pair of texts: (n, outputs) float64; what is too long is cut at its end.

    Equal pairs are read once, so that they get equal numbers.

    Raises:
        NonFiniteLogits: it put out nan or infinity.
        OutOfMemory: a batch does not fit.
    """
    pairs = list(zip(firsts, seconds, strict=True))
    different = list(dict.fromkeys(pairs))
    found = np.empty((len(different), len(classifier.labels)))
    for places, inputs in _batches(classifier, different):
        with memory_errors("comparing texts", takes_less="Try a smaller model."), torch.inference_mode():
            found[places] = classifier.model(**inputs).logits.double().cpu().numpy()
    if not np.isfinite(found).all():
        message = f"{classifier.name} put out numbers that are not finite, so it judges nothing. Get the model again."
        raise NonFiniteLogits(message)
    place = {pair: row for row, pair in enumerate(different)}
    return found[[place[pair] for pair in pairs]]


def _batches(classifier: Classifier, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[list[int], Any]]:
    """Pairs of similar length: their places, and what the model is fed."""
    if not pairs:
        return
    # As lists: a second text that is empty would else be taken for none.
    read = classifier.tokenizer(*map(list, zip(*pairs, strict=True)), truncation=True, max_length=classifier.longest)
    order = sorted(range(len(pairs)), key=lambda place: len(read["input_ids"][place]))
    for start in range(0, len(order), _BATCH):
        places = order[start : start + _BATCH]
        part = {name: [rows[place] for place in places] for name, rows in read.items()}
        yield places, classifier.tokenizer.pad(part, return_tensors="pt").to(classifier.model.device)


def _refuse_other_architectures(name: str, names: Sequence[str]) -> None:
    if not any(architecture.endswith(_ENDING) for architecture in names):
        message = f"{name} is {', '.join(names) or 'of no known architecture'}: a model ending in {_ENDING} is needed."
        raise UnsupportedModel(message)


def _model(source: str, where: dict[str, Any]) -> Any:  # noqa: ANN401 - models have no common type
    with unmapped():
        loaded: Any = AutoModelForSequenceClassification.from_pretrained(
            source, **where, dtype=torch.float32, use_safetensors=True, output_loading_info=True
        )
    if missing := sorted(loaded[1]["missing_keys"]):  # they would be random
        message = f"The weights of {source} lack {len(missing)} tensors, such as {missing[0]}. Get the whole model."
        raise UnsupportedModel(message)
    return loaded[0].requires_grad_(requires_grad=False).eval()


def _positions(model: Any) -> int:  # noqa: ANN401 - models have no common type
    """How many tokens it reads; models like RoBERTa count their positions from behind that of the padding."""
    table = getattr(getattr(model.base_model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return (context_length(model.config) or model.config.vocab_size) - (0 if padding is None else padding + 1)
