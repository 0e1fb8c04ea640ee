"""Inverse document frequencies: how informative each token of a vocabulary is, counted over documents."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from rauq.errors import InvalidInput
from rauq.layout import ANALYSIS_COMMAND
from rauq.trace.file import write

_EMBEDDED = "atlas"
_ATLAS = Path(__file__).parents[2] / "atlas" / "idf.safetensors"
_NAME = "idf"
_LARGEST = 64 * 2**20  # bytes: eight million tokens, thirty times the largest vocabulary
_AGAIN = f"Make it with {ANALYSIS_COMMAND} idf."


def idf_of(documents: Iterable[Sequence[int]], *, vocab_size: int) -> np.ndarray:
    """log(D / (d + 1)) in nats for each of V tokens: (V,), where d of the D documents have the token.

    `documents` are the ids of each document as the tokenizer gives them, with its first special token; each counts a
    token once. A token of all documents is slightly below 0. Source: Zhang et al. (2023), Focus.

    Raises:
        InvalidInput: no document, or an id outside of the vocabulary.
    """
    counts, number = np.zeros(vocab_size, dtype=np.int64), 0
    for ids in documents:
        seen = np.unique(np.asarray(ids, dtype=np.int64))
        if len(seen) and not 0 <= seen[0] <= seen[-1] < vocab_size:
            message = (
                f"Document {number} has a token id outside of 0 to {vocab_size - 1}. Use the model's own tokenizer."
            )
            raise InvalidInput(message)
        counts[seen] += 1
        number += 1
    if not number:
        message = "There are no documents to count tokens in. Give at least one."
        raise InvalidInput(message)
    return np.log(number / (counts + 1))


def save_idf(idf: np.ndarray, path: str | os.PathLike[str]) -> None:
    """Write frequencies (V,) as a .safetensors file, whole or not at all.

    Raises:
        InvalidInput: no file can be written there.
    """
    write(Path(path), save({_NAME: np.ascontiguousarray(idf, dtype=np.float64)}))


def load_idf(name: str | os.PathLike[str] = _EMBEDDED) -> np.ndarray:
    """Frequencies (V,) in nats: those of the embedded model ("atlas"), or what `save_idf` wrote.

    Raises:
        InvalidInput: no such file, or not one of finite frequencies.

    Example:
        >>> rauq.load_idf("atlas").shape
        (6144,)
    """
    path = _ATLAS if name == _EMBEDDED else Path(name).expanduser()
    try:
        idf = load(_content(path))[_NAME]
    except (SafetensorError, KeyError, ValueError, TypeError) as error:
        message = f"{path} is not a file of document frequencies ({error}). {_AGAIN}"
        raise InvalidInput(message) from error
    if idf.ndim != 1 or not len(idf) or idf.dtype != np.float64 or not np.isfinite(idf).all():
        message = f"{path} does not hold one finite frequency (float64) a token: {idf.dtype} {idf.shape}. {_AGAIN}"
        raise InvalidInput(message)
    idf.flags.writeable = False
    return idf


def _content(path: Path) -> bytes:
    try:
        if (size := path.stat().st_size) > _LARGEST:
            message = f"{path} has {size:,} bytes, and a file of document frequencies at most {_LARGEST:,}. {_AGAIN}"
            raise InvalidInput(message)
        return path.read_bytes()
    except OSError as error:
        message = f"{path} cannot be read ({error.strerror}). {_AGAIN}"
        raise InvalidInput(message) from error
