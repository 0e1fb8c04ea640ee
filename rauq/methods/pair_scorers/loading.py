"""Judges that are models, each loaded by its name: entailment and similarity of texts, keywords by spaCy."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from huggingface_hub import constants, get_repo_discussions, try_to_load_from_cache
from huggingface_hub.file_download import repo_folder_name

from rauq.checkpoints.hub import require_safetensors, source_arguments
from rauq.checkpoints.loading import context_length, find_device, memory_errors, reading
from rauq.checkpoints.names import read_name
from rauq.checkpoints.refusals.reasons import plain_errors
from rauq.errors import MissingPackage, ModelNotFound, NonFiniteLogits, UnsupportedModel
from rauq.layout import EXTRAS_COMMAND
from rauq.methods.pair_scorers.idf import load_idf
from rauq.methods.pair_scorers.judges import Entailment, Judges, Keywords, Similarity, Texts
from rauq.transformers_api import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer

_CONVERTER = "SFconvertbot"  # the hub's own account, which offers conversions as pull requests
_WEIGHTS = "model.safetensors"


def with_safetensors(source: str, where: dict[str, Any]) -> dict[str, Any]:
    """Where to load a model from as safetensors, given the arguments of `rauq.checkpoints.hub.source_arguments`.

    Raises:
        ModelNotFound: the hub has them only pickled.
        FileNotFoundError: the folder, the cache or the revision that was asked for has none.
    """
    try:
        require_safetensors(source, where)
    except FileNotFoundError:
        found = None if where["revision"] else _cached(source) if where["local_files_only"] else _offered(source)
        if found is None:
            raise
        return {**where, "revision": found}
    return where


def _offered(source: str) -> str:
    for offer in get_repo_discussions(source, author=_CONVERTER, discussion_type="pull_request"):
        if offer.author == _CONVERTER:
            return f"refs/pr/{offer.num}"
    message = (
        f"The hub has the weights of {source} only pickled, which are never read, and offers no conversion of them. "
        "Save the model as safetensors with save_pretrained, and give that folder."
    )
    raise ModelNotFound(message)


def _cached(source: str) -> str | None:
    """The conversion that was loaded when there was a network; a folder has none."""
    requests = Path(constants.HF_HUB_CACHE, repo_folder_name(repo_id=source, repo_type="model"), "refs/refs/pr")
    revisions = [f"refs/pr/{request.name}" for request in sorted(requests.glob("*"))]
    return next((name for name in revisions if try_to_load_from_cache(source, _WEIGHTS, revision=name)), None)


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
    understood = read_name(name, revision=revision)
    name, revision = understood.source, understood.revision
    where = source_arguments(
        name, revision=revision, otherwise="A folder that save_pretrained wrote works without the hub."
    )
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
    """The model's outputs for each pair of texts: (n, outputs) float64; what is too long is cut at its end.

    Equal pairs are read once, so that they get equal numbers.

    Raises:
        NonFiniteLogits: an output is nan or infinite.
        OutOfMemory: a batch does not fit.
    """
    pairs = list(zip(firsts, seconds, strict=True))
    different = list(dict.fromkeys(pairs))
    found = np.empty((len(different), len(classifier.labels)))
    for places, inputs in _batches(classifier, different):
        with memory_errors("comparing texts", takes_less="Try a smaller model."), torch.inference_mode():
            found[places] = classifier.model(**inputs).logits.double().cpu().numpy()
    if not np.isfinite(found).all():
        message = f"{classifier.name} produced NaN or infinite outputs, so it cannot be used. Get the model again."
        raise NonFiniteLogits(message)
    place = {pair: row for row, pair in enumerate(different)}
    return found[[place[pair] for pair in pairs]]


def _batches(classifier: Classifier, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[list[int], Any]]:
    """Pairs of similar length: their places, and the model's inputs."""
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
    with reading():
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


NLI = "microsoft/deberta-large-mnli"
_LABELS = ("contradiction", "neutral", "entailment")


def load_nli(name: str = NLI, *, device: str = "auto", revision: str | None = None) -> Entailment:
    """Load an entailment model from a folder or the hub; the paper's is the default.

    It gives probabilities (n, 3) of contradiction, neutral and entailment, in this order whatever the model's own is.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: not a model for natural-language inference with these three labels, or an incomplete one.
        OutOfMemory: it does not fit.
        InvalidInput: unknown device.

    Example:
        >>> nli = rauq.load_nli("microsoft/deberta-large-mnli")  # doctest: +SKIP
        >>> rauq.evaluate(trace, ["semantic_entropy"], samples=samples, judges=rauq.Judges(nli=nli))  # doctest: +SKIP
    """
    classifier = load_classifier(name, device=device, revision=revision)
    return partial(_probabilities, classifier, _order(classifier))


def _order(classifier: Classifier) -> list[int]:
    """Where among the model's outputs each of the three labels stands."""
    found = [label.strip().lower() for label in classifier.labels]
    if sorted(found) != sorted(_LABELS):
        message = (
            f"{classifier.name} has the labels {', '.join(classifier.labels)}. A model for natural-language inference "
            f"is needed, with {', '.join(_LABELS)} in its config's id2label, such as {NLI}."
        )
        raise UnsupportedModel(message)
    return [found.index(label) for label in _LABELS]


def _probabilities(classifier: Classifier, order: list[int], premises: Texts, hypotheses: Texts) -> np.ndarray:
    ordered = logits(classifier, premises, hypotheses)[:, order]
    likelihoods = np.exp(ordered - ordered.max(axis=1, keepdims=True))
    return likelihoods / likelihoods.sum(axis=1, keepdims=True)


SIMILARITY = "cross-encoder/stsb-roberta-large"


def load_similarity(name: str = SIMILARITY, *, device: str = "auto", revision: str | None = None) -> Similarity:
    """Load a similarity model from a folder or the hub; the paper's is the default.

    It gives the sigmoid (n,) of the model's one output, 0 to 1, as the library of cross-encoders does. The order of
    the two texts counts.

    Raises:
        ModelNotFound: nothing usable is there, or the network is missing.
        UnsupportedModel: not one output that a sigmoid follows, or an incomplete model.
        OutOfMemory: it does not fit.
        InvalidInput: unknown device.

    Example:
        >>> similarity = rauq.load_similarity("cross-encoder/stsb-roberta-large")  # doctest: +SKIP
        >>> similarity([("a cat", "a small cat")])  # doctest: +SKIP
    """
    classifier = load_classifier(name, device=device, revision=revision)
    _check(classifier)
    return partial(_similarities, classifier)


def _check(classifier: Classifier) -> None:
    if len(classifier.labels) != 1:
        message = (
            f"{classifier.name} has {len(classifier.labels)} outputs, {', '.join(classifier.labels)}. A cross-encoder "
            f"of similarity has one; choose such a model, for example {SIMILARITY}."
        )
        raise UnsupportedModel(message)
    if (follows := _activation(classifier)) not in ("", "Sigmoid"):
        message = (
            f"The output of {classifier.name} goes through {follows}, so it is not a similarity from 0 to 1. "
            f"Choose a model with a sigmoid, for example {SIMILARITY}."
        )
        raise UnsupportedModel(message)


def _activation(classifier: Classifier) -> str:
    """The activation of the output in its config; empty if it names none, which means a sigmoid."""
    config = classifier.model.config
    newer = (getattr(config, "sentence_transformers", None) or {}).get("activation_fn")
    older = getattr(config, "sbert_ce_default_activation_function", None)
    return (newer or older or "").rpartition(".")[2]


def _similarities(classifier: Classifier, firsts: Texts, seconds: Texts) -> np.ndarray:
    return 1 / (1 + np.exp(-logits(classifier, firsts, seconds)[:, 0]))


if TYPE_CHECKING:
    from spacy.language import Language


TAGGER = "en_core_web_sm"
ENTITIES = frozenset(
    "CARDINAL DATE EVENT FAC GPE LANGUAGE LAW LOC MONEY NORP ORDINAL ORG PERCENT PERSON PRODUCT QUANTITY TIME "
    "WORK_OF_ART".split()
)
"""The types of OntoNotes."""

_PARTS = frozenset(("NOUN", "NUM", "PROPN"))
_UNUSED = ("parser", "lemmatizer")


def load_tagger(name: str = TAGGER) -> Keywords:
    """Keywords of an answer by a spaCy model, installed or in a folder.

    A word is a keyword if it belongs to an entity of OntoNotes, or is a noun, a number or a proper name; it is given
    by its characters, from the first to before the last, and `rauq.trace.parts` finds its tokens. The reference
    walks over words and decoded tokens in step instead, and with transformers 5 that walk sees one keyword at most.

    Raises:
        MissingPackage: spaCy is not installed.
        ModelNotFound: no such model is installed, and no folder of that name can be read.
        UnsupportedModel: it assigns no tags.

    Example:
        >>> keywords = rauq.load_tagger("en_core_web_sm")  # doctest: +SKIP
        >>> keywords("Kyoto is in Japan.")  # doctest: +SKIP
        ((0, 5), (12, 17))
    """
    language = _language(name)
    if not language.pipe_names:
        message = (
            f"The spaCy model {name} assigns no tags. Choose one with parts of speech and entities, such as {TAGGER}."
        )
        raise UnsupportedModel(message)
    return partial(_keywords, language)


def _language(name: str) -> "Language":
    try:
        import spacy
        from spacy.util import get_installed_models
    except ImportError as error:
        message = f"Keywords need spaCy. {EXTRAS_COMMAND}"
        raise MissingPackage(message) from error
    folder = Path(name).expanduser()
    if name not in get_installed_models() and not folder.is_dir():  # spaCy would import any package of that name
        message = f"{name!r} is neither an installed spaCy model nor a folder. python -m spacy download {TAGGER}"
        raise ModelNotFound(message)
    try:
        return spacy.load(folder if folder.is_dir() else name, exclude=_UNUSED)
    except Exception as error:  # foreign files can raise any exception
        reason = str(error).strip().partition("\n")[0]
        message = f"The spaCy model {name} cannot be read ({reason}). Save it again with to_disk, or install it again."
        raise ModelNotFound(message) from error


def _keywords(language: "Language", text: str) -> tuple[tuple[int, int], ...]:
    return tuple(
        (word.idx, word.idx + len(word))
        for word in language(text)
        if (word.ent_type_ in ENTITIES or word.pos_ in _PARTS) and word.text not in ENTITIES
    )


def load_judges(
    *, nli: str = "", similarity: str = "", tagger: str = "", idf: str = "", device: str = "auto"
) -> Judges:
    """Load each judge that is named: a model or a folder, for `idf` a file or "atlas"; without a name it is None.

    Facts are known of a prompt, not by name: `replace(judges, facts=rauq.atlas.evaluation.facts_for_prompt(prompt))`.

    Raises:
        ModelNotFound, UnsupportedModel, OutOfMemory, MissingPackage, InvalidInput: as the loader of each judge says.

    Example:
        >>> judges = rauq.load_judges(idf="atlas")
        >>> judges.idf.shape, judges.nli
        ((6144,), None)
    """
    return Judges(
        nli=load_nli(nli, device=device) if nli else None,
        similarity=load_similarity(similarity, device=device) if similarity else None,
        keywords=load_tagger(tagger) if tagger else None,
        idf=load_idf(idf) if idf else None,
    )
