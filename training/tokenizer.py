"""A byte-level BPE tokenizer in which names of several syllables stay several tokens, as in large models."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

VOCABULARY = 6144
CONTEXT = 256
PAD, BOS, EOS = "<pad>", "<s>", "</s>"
PAD_ID, BOS_ID, EOS_ID = 0, 1, 2  # special tokens come first
_WORD = re.compile(r"\s?\w+|\s?[^\w\s]+|\s")


def train(documents: Iterable[str], *, size: int = VOCABULARY) -> Tokenizer:
    """Return a tokenizer trained on the documents; digits are single tokens, and every text begins with `<s>`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[PAD, BOS, EOS],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(_words(documents), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(single=f"{BOS} $A", special_tokens=[(BOS, BOS_ID)])
    return tokenizer


def _words(documents: Iterable[str]) -> Iterator[str]:
    counts = Counter(word for text in documents for word in _WORD.findall(text))
    # The square root gives rare names enough weight against frequent ones.
    for word, count in sorted(counts.items()):
        yield from [word] * round(math.sqrt(count))


def encode(tokenizer: Tokenizer, documents: Sequence[str]) -> list[list[int]]:
    """Return the token ids of each document, from `<s>` to `</s>`."""
    return [[*encoding.ids, EOS_ID] for encoding in tokenizer.encode_batch(documents)]


def save(tokenizer: Tokenizer, folder: Path) -> None:
    """Write the tokenizer so that transformers loads it from the folder."""
    wrapped = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token=PAD, bos_token=BOS, eos_token=EOS, model_max_length=CONTEXT
    )
    wrapped.save_pretrained(folder)


def load(folder: Path) -> Tokenizer:
    """Return the tokenizer of a folder."""
    return Tokenizer.from_file(str(folder / "tokenizer.json"))
