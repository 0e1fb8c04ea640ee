"""What a trace from a file may hold: numbers that a model can put out, and no more of them than a page can bear."""

import codecs
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

# Above every model there is, and small enough to loop over.
MOST_LAYERS = 10_000
MOST_HEADS = 10_000
MOST_BANDS = 1_000
MOST_PROMPT_TOKENS = 2**22
MOST_ANSWER_TOKENS = 2**17
MOST_VOCABULARY = 2**31  # an id is a 32-bit number
MOST_ALTERNATIVES = 100
MOST_EXTRAS = 100
MOST_MESSAGES = 100_000
MOST_TEMPLATE_OPTIONS = 100
LONGEST_NAME = 4096  # the longest path of common systems

# Of an upload. A page draws each token several times over: for 4,096, reading, scoring and the report take 3 s.
MOST_UPLOADED_ANSWER_TOKENS = 4096
MOST_UPLOADED_PROMPT_TOKENS = 2**17  # the context of today's models
MOST_UPLOADED_MESSAGES = 1000
LARGEST_UPLOADED_EXTRAS = 16 * 2**20  # bytes

_NAMES = ("model", "revision", "dtype", "quantisation")
_WEIGHTS = ("max_attention", "diagonal", "lookback")
_ROUNDING = 1e-2  # half precision may overstep a bound by this much


def faults(fields: Mapping[str, Any]) -> Iterator[str]:
    """What is out of bounds in the fields of a trace."""
    for name, (given, lowest, highest) in (_sizes(fields) | _values(fields)).items():
        values = np.asarray(given)
        if np.any((values < lowest) | (values > highest)):  # nan is no bad value: it stays nan
            yield f"{name} must lie in [{_bound(lowest)}, {_bound(highest)}]"
    if any(math.isnan(entry[2]) for row in fields["alternatives"] for entry in row):
        yield "an alternative has a logprob of nan: what has no probability is none"
    yield from _wrong_extras(fields)
    if not _is_unicode(fields):
        yield "a text is not valid Unicode (it holds a lone surrogate)"
    if not _spell(fields["pieces"], fields["answer_tokens"]):
        yield "answer_tokens are not the text of pieces"


def excesses(fields: Mapping[str, Any]) -> Iterator[str]:
    """What the fields of an uploaded trace have too much of, and how much is taken."""
    extras = sum(array.nbytes for array in fields["extras"].values())
    for count, most, what in (
        (len(fields["answer_ids"]), MOST_UPLOADED_ANSWER_TOKENS, "answer tokens"),
        (len(fields["prompt_ids"]), MOST_UPLOADED_PROMPT_TOKENS, "prompt tokens"),
        (len(fields["messages"]), MOST_UPLOADED_MESSAGES, "messages"),
        (extras, LARGEST_UPLOADED_EXTRAS, "bytes of extras"),
    ):
        if count > most:
            yield f"{count:,} {what}, and at most {most:,} are taken"


def _sizes(fields: Mapping[str, Any]) -> dict[str, tuple[Any, float, float]]:
    """Numbers and lengths, with the lowest and the highest that is allowed."""
    shape, options = fields["attention"].shape, fields["template_options"]
    return {
        "num_layers": (fields["num_layers"], 1, MOST_LAYERS),
        "vocab_size": (fields["vocab_size"], 1, MOST_VOCABULARY),
        "the number of heads": (shape[1:2], 1, MOST_HEADS),
        "the number of bands": (shape[3:4], 1, MOST_BANDS),
        "the number of prompt tokens": (fields["prompt_ids"].size, 1, MOST_PROMPT_TOKENS),
        "the number of answer tokens": (fields["answer_ids"].size, 1, MOST_ANSWER_TOKENS),
        "the number of alternatives": ([len(row) for row in fields["alternatives"]], 0, MOST_ALTERNATIVES),
        "the number of extras": (len(fields["extras"]), 0, MOST_EXTRAS),
        "the number of messages": (len(fields["messages"]), 0, MOST_MESSAGES),
        "the number of template options": (len(options), 0, MOST_TEMPLATE_OPTIONS),
        "the length of template options": ([len(f"{name}{options[name]}") for name in options], 1, LONGEST_NAME),
        "the length of the model's name": ([len(fields[name]) for name in _NAMES], 0, LONGEST_NAME),
    }


def _values(fields: Mapping[str, Any]) -> dict[str, tuple[Any, float, float]]:
    """The values of the arrays, with the lowest and the highest that is allowed."""
    alternatives = [entry for row in fields["alternatives"] for entry in row]
    vocabulary = max(1, fields["vocab_size"])
    weights = {name: fields["extras"][name] for name in _WEIGHTS if name in fields["extras"]}
    return {
        "prompt_ids": (fields["prompt_ids"], 0, vocabulary - 1),
        "answer_ids": (fields["answer_ids"], 0, vocabulary - 1),
        "ids of alternatives": ([entry[0] for entry in alternatives], 0, vocabulary - 1),
        "logprobs": (fields["logprobs"], -np.inf, _ROUNDING),
        "logprobs of alternatives": ([entry[2] for entry in alternatives], -np.inf, _ROUNDING),
        "entropies": (fields["entropies"], -_ROUNDING, math.log(vocabulary) + _ROUNDING),
        **{name: (given, -_ROUNDING, 1 + _ROUNDING) for name, given in weights.items()},
        "attention": (fields["attention"], -_ROUNDING, 1 + _ROUNDING),
    }


def _wrong_extras(fields: Mapping[str, Any]) -> Iterator[str]:
    """The extras that methods read must be what they take them for; others are kept as they are."""
    num_prompt, num_answer = fields["prompt_ids"].size, fields["answer_ids"].size
    layers_and_heads = fields["attention"].shape[:2]
    shapes: dict[str, tuple[int, ...]] = {
        "max_attention": (num_answer, num_answer),
        "diagonal": (*layers_and_heads[1:], num_prompt + num_answer),
        "lookback": (*layers_and_heads, num_answer, 2),
        "focus": (num_answer, 2),
        "hidden": (fields["extras"].get("hidden", np.zeros(0)).size,),
    }
    for name, shape in shapes.items():
        given = fields["extras"].get(name)
        if given is not None and (given.shape != shape or given.dtype.kind != "f"):
            yield f"the extra {name} has shape {given.shape} of {given.dtype}, not {shape} of numbers"


def _bound(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _is_unicode(fields: Mapping[str, Any]) -> bool:
    listed = [entry[1] for row in fields["alternatives"] for entry in row]
    names = [fields[name] for name in ("prompt", *_NAMES)]
    try:
        "".join([*names, *fields["answer_tokens"], *listed]).encode()
    except UnicodeEncodeError:
        return False
    return True


def _spell(pieces: Sequence[bytes], texts: Sequence[str]) -> bool:
    """Whether each text is what its piece adds to the answer, or what a silent token adds, such as the end token."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
    for place, (piece, text) in enumerate(zip(pieces, texts, strict=True), start=1):
        before, is_last = decoder.getstate(), place == len(texts)
        if text != decoder.decode(piece, final=is_last):
            decoder.setstate(before)
            if text != decoder.decode(b"", final=is_last):
                return False
    return True
