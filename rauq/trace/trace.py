"""The record of one generation: everything that scoring needs, so that no model is needed to score again.

Rows and bands: the query at position M - 1 + r is row r, so row 0 predicts the first answer token and row N is
the query of the last one. Band k is the weight which that query puts on the key k positions back.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import itemgetter
from pathlib import Path
from sys import getsizeof
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from rauq.arguments import Sampling
from rauq.errors import InvalidInput, NotCaptured
from rauq.labels import ENGINES, EngineName, shortened
from rauq.trace import file
from rauq.trace.attribution import Attribution
from rauq.trace.file import ARRAYS
from rauq.trace.messages import ANSWERED, Message, PromptForm, TemplateOptions, checked_options
from rauq.trace.prompt_parts import PromptPart, fault
from rauq.trace.strip import html_strip, plot

NUM_BANDS = 8
"""Keys back from each query whose weights a trace holds unless another number is asked for."""

NUM_ALTERNATIVES = 10

Kind = Literal["base", "instruct"]
StopReason = Literal["eos", "stop", "length", "cancelled", "alarm", "given"]
Alignment = Literal["predicting", "own"]
Part = Literal["answer", "thinking", "all"]
Extra = Literal[
    "max_attention",
    "diagonal",
    "hidden",
    "lookback",
    "focus",
    "attention_entropy",
    "mean_logprob",
    "hidden_layers",
    "hidden_mean",
    "logit_lens",
    "part_shares",
]


class Alternative(NamedTuple):
    """One of the most probable next tokens: its id, its decoded text, its log-probability in nats.

    The id is -1 where a server gave the text alone.
    """

    id: int
    text: str
    logprob: float

    @property
    def instead(self) -> int | str:
        """What a branch with this token begins with: its id, or its text where the id is not known."""
        return self.text if self.id < 0 else self.id


@dataclass(frozen=True, eq=False, kw_only=True)
class Trace:
    """One prompt and its answer, with probabilities and attention: everything that scoring needs.

    M prompt tokens, N answer tokens (end and stop tokens included), L layers that have attention, H query heads a
    layer, K keys back. The arrays are read-only views of those that were given; nothing is copied.

    Attributes:
        prompt: The text that was answered; of `messages`, the content of the last one.
        model: Name of the model.
        revision: Its commit on the hub, or the sha256 of its file.
        kind: base or instruct.
        chat_applied: Whether the chat template was applied to the prompt.
        stop_reason: eos, stop, length, cancelled or alarm; given for an answer that was read.
        layers: Absolute indices of the L layers that have attention, ascending from 0.
        num_layers: All layers of the model, those without attention included.
        vocab_size: Width of the logits.
        prompt_ids: (M,) Token ids that the model was given.
        answer_ids: (N,) Token ids of the answer.
        answer_tokens: N texts, which joined are the answer.
        pieces: N byte strings: the bytes of each token, which may be part of a character.
        logprobs: (N,) Log-probability of each token in nats, from the raw logits.
        entropies: (N,) Entropy in nats of the distribution over the vocabulary before each token.
        alternatives: For each token, the most probable ones in its place: id (-1 if unknown), text, log-probability
            in nats.
        attention: (L, H, N + 1, K) Weights from 0 to 1. Row r is the query that predicts answer token r, the last row
            that of the last token; band k is the key k positions back. 0 where the model masks the key, nan before the
            sequence and in rows that were not captured. K is 8, or the `offsets` that were asked for.
        extras: Arrays that were asked for by name (`rauq.trace.extras`).
        wrong: Answer tokens marked as incorrect, ascending from 0.
        thinking: Start and stop (exclusive) of the tokens between the model's thinking marks, marks included; None
            where there are none.
        sampling: How the answer was sampled; None for greedy decoding, and for answers that were given.
        messages: The conversation, for a prompt of messages.
        prompt_form: How the prompt was given: text, ids, messages, or templated for a text that already contained
            its chat template.
        template_options: Variables that the chat template was given.
        prompt_parts: Named parts of the prompt: name, first token, end. Touching ones of one name are passages.
        part_texts: The text of each of these.
        dtype: Precision of the computation; empty where unknown.
        quantisation: How the weights were quantised, such as Q4_K_M; empty where they were not, or unknown.
        adapter: What was applied to the weights, such as a LoRA; empty for none.
        engine: What ran the model, with its version, such as transformers 5.23.0; empty where unknown.
        attribution: How weights were attributed that stand in place of attention (`LanguageModel.attribute`): then
            `layers` are the attributed ones, K is 1, and `extras` is empty. None: the weights are attention.
    """

    prompt: str
    model: str
    revision: str
    kind: Kind
    chat_applied: bool
    stop_reason: StopReason
    layers: tuple[int, ...]
    num_layers: int
    vocab_size: int
    prompt_ids: np.ndarray
    answer_ids: np.ndarray
    answer_tokens: tuple[str, ...]
    pieces: tuple[bytes, ...]
    logprobs: np.ndarray
    entropies: np.ndarray
    alternatives: tuple[tuple[Alternative, ...], ...]
    attention: np.ndarray
    extras: Mapping[str, np.ndarray] = field(default_factory=dict)
    wrong: tuple[int, ...] = ()
    thinking: tuple[int, int] | None = None
    sampling: Sampling | None = None
    messages: tuple[Message, ...] = ()
    prompt_form: PromptForm = "text"
    template_options: TemplateOptions = field(default_factory=dict)
    prompt_parts: tuple[PromptPart, ...] = ()
    part_texts: tuple[str, ...] = ()
    dtype: str = ""
    quantisation: str = ""
    adapter: str = ""
    engine: str = ""
    attribution: Attribution | None = None

    def __post_init__(self) -> None:
        _check(self)
        object.__setattr__(self, "template_options", MappingProxyType(checked_options(self.template_options)))
        for name in ARRAYS:
            object.__setattr__(self, name, _read_only(getattr(self, name)))
        extras = {name: _read_only(array) for name, array in self.extras.items()}
        object.__setattr__(self, "extras", MappingProxyType(extras))

    @property
    def engine_name(self) -> EngineName | None:
        """The engine that `load_model` has to be asked for; None where there is no choice, or it is not known.

        There is one for GGUF files, whose quantisation is written in capitals.
        """
        is_gguf = self.quantisation.isupper()
        return next((name for name in ENGINES if is_gguf and self.engine.startswith(name)), None)

    def __repr__(self) -> str:
        """One line: which model's answer this is, how it begins, and how large it is."""
        size = f"{len(self.prompt_ids)} + {len(self.answer_ids)} tokens, {len(self.layers)} layers"
        weights = "" if self.attribution is None else ", LIG"
        return f"Trace({self.model}, {shortened(self.answer)!r}, {size} of {self.num_heads} heads{weights})"

    def _repr_html_(self) -> str:
        """The tokens of the answer, coloured by their log-probability, for notebooks."""
        return html_strip(
            self.pieces,
            (-self.logprobs).tolist(),
            [f"probability {probability:.3g}" for probability in np.exp(self.logprobs)],
            heading=f"{self.model}: {shortened(self.prompt, longest=200)}",
            caption="Colour: the negative log-probability, up to 3 nats. Point at a token for its probability.",
        )

    def plot(self, name: str = "confidence", **options: Any) -> Any:  # noqa: ANN401 - a figure of Plotly
        """A figure of this answer's score with the paper's settings: `analysis.plot`, which lists names and options.

        Raises:
            MissingPackage: Plotly is not installed.
            InvalidInput: unknown name, or a layer, head or token that the answer does not have.
        """
        return plot(self, name, **options)

    @property
    def answer(self) -> str:
        """The whole answer as text, end and stop tokens included."""
        return "".join(self.answer_tokens)

    @property
    def num_heads(self) -> int:
        """Query heads a layer, H."""
        return int(self.attention.shape[1])

    @property
    def is_greedy(self) -> bool:
        """Whether the prompt alone reproduces this answer: each token is the most probable, and none was cut off.

        False for answers that were given or sampled, or stopped before their end.
        """
        ended = self.stop_reason in ("eos", "stop", "length")
        rows = zip(self.answer_ids.tolist(), self.alternatives, strict=True)
        return ended and all(bool(row) and row[0].id == token for token, row in rows)

    def previous_token_attention(
        self,
        alignment: Alignment = "predicting",
        offset: int = 1,
        into_prompt: bool = False,  # noqa: FBT001, FBT002 - the interface has it by position too
    ) -> np.ndarray:
        """Weight on the `offset`-th preceding token: (L, H, N - 1), column t belonging to answer token t + 1.

        `predicting` reads the query that predicts the token, `own` the token's own query.
        Columns whose key lies in the prompt are nan unless `into_prompt`.

        Raises:
            InvalidInput: unknown alignment, or an offset that the band does not reach.
            NotCaptured: `own` needs the last row, and it was not captured; attributions have no such row.
        """
        if alignment == "own" and self.attribution is not None:
            message = (
                "These weights are LIG attributions to the log-probability of the next token, so they exist for the "
                "query that predicts a token alone. Use alignment='predicting', or the trace before it was attributed."
            )
            raise NotCaptured(message)
        first_row, band = _first_row_and_band(alignment, offset, self.attention.shape[3])
        last_row = first_row + len(self.answer_ids) - 1  # exclusive
        weights = self.attention[:, :, first_row:last_row, band].copy()
        if alignment == "own" and weights.shape[2] and np.isnan(self.attention[:, :, -1, 0]).all():
            message = (
                "The attention of the last answer token was not captured, and alignment='own' needs it. "
                "Generate with last_row=True, or score the answer with lm.read."
            )
            raise NotCaptured(message)
        if not into_prompt:
            weights[:, :, : max(0, band + 1 - first_row)] = np.nan
        return weights

    def to_bytes(self) -> bytes:
        """The content of the file that `save` writes: arrays, and JSON metadata with a schema number."""
        return file.pack(vars(self))

    @classmethod
    def from_bytes(cls, content: bytes, *, name: str = "the file") -> Self:
        """Read what `to_bytes` gave, with every check: the content may come from anyone.

        Raises:
            TraceFileError: not a trace, truncated, too large, damaged, or of another schema; the message says which,
                and calls the content `name`.
        """
        file.check_upload(content, name)
        trace = file.unpack(content, cls._of_fields, name=name)
        file.check_uploaded(vars(trace), name)
        return trace

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one .safetensors file, whole or not at all.

        Raises:
            InvalidInput: no file can be written there.
        """
        file.write(Path(path), self.to_bytes())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file that `save` wrote; it may be larger than what `from_bytes` takes.

        Raises:
            TraceFileError: no such file, not a trace, truncated, or of another schema; the message says which.
        """
        return file.unpack(file.read(Path(path)), cls._of_fields, name=str(path))

    @classmethod
    def _of_fields(cls, *, alternatives: Iterable[Iterable[tuple[int, str, float]]], **fields: Any) -> Self:  # noqa: ANN401 - every field has its own type
        rows = tuple(tuple(Alternative(*entry) for entry in row) for row in alternatives)
        return cls(alternatives=rows, **fields)


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _first_row_and_band(alignment: Alignment, offset: int, num_bands: int) -> tuple[int, int]:
    """Row of the second answer token's query, and the band of the key `offset` tokens before it."""
    if alignment not in get_args(Alignment):
        message = f"Unknown alignment {alignment!r}; choose one of {', '.join(get_args(Alignment))}."
        raise InvalidInput(message)
    first_row, band = (1, offset - 1) if alignment == "predicting" else (2, offset)
    if offset < 1 or band >= num_bands:
        largest = num_bands if alignment == "predicting" else num_bands - 1
        message = f"Offset {offset} is not captured: with alignment={alignment!r} it goes from 1 to {largest}."
        if offset > 0:
            needed = band + 1
            message += f" Generate or read the answer with offsets={needed} (at most {file.MOST_BANDS})."
        raise InvalidInput(message)
    return first_row, band


def _check(trace: Trace) -> None:
    if faults := [*_wrong_shapes(trace), *_wrong_values(trace)]:
        message = f"These values do not make a valid trace: {'; '.join(faults)}."
        raise InvalidInput(message)


def _wrong_shapes(trace: Trace) -> list[str]:
    num_tokens = len(trace.answer_ids)
    num_heads, num_bands = trace.attention.shape[1:4:2] if trace.attention.ndim == 4 else (0, 0)
    expected = {
        "answer_tokens": (len(trace.answer_tokens), num_tokens),
        "pieces": (len(trace.pieces), num_tokens),
        "alternatives": (len(trace.alternatives), num_tokens),
        "prompt_ids": (trace.prompt_ids.shape, (trace.prompt_ids.size,)),
        "answer_ids": (trace.answer_ids.shape, (num_tokens,)),
        "logprobs": (trace.logprobs.shape, (num_tokens,)),
        "entropies": (trace.entropies.shape, (num_tokens,)),
        "attention": (trace.attention.shape, (len(trace.layers), num_heads, num_tokens + 1, num_bands)),
    }
    wrong = [f"{name} has shape {got}, not {wanted}" for name, (got, wanted) in expected.items() if got != wanted]
    empty = [name for name in ("prompt_ids", "answer_ids", "attention") if not getattr(trace, name).size]
    return wrong + [f"{name} is empty" for name in empty]


def _wrong_values(trace: Trace) -> list[str]:
    integers = {"prompt_ids", "answer_ids"}
    faults = [
        f"{name} holds {getattr(trace, name).dtype}"
        for name in ARRAYS
        if not np.issubdtype(getattr(trace, name).dtype, np.integer if name in integers else np.floating)
    ]
    if list(trace.layers) != sorted(set(trace.layers) & set(range(trace.num_layers))):
        faults.append(f"layers {trace.layers} are not ascending numbers below {trace.num_layers}")
    if trace.kind not in get_args(Kind):
        faults.append(f"kind is {trace.kind!r}")
    if trace.stop_reason not in get_args(StopReason):
        faults.append(f"stop_reason is {trace.stop_reason!r}")
    faults += _wrong_prompt(trace)
    faults += filter(None, [fault(trace.prompt_parts, trace.prompt_ids.size)])
    if not _are_texts_of(trace.part_texts, trace.prompt_parts):
        faults.append("part_texts is neither empty nor a tuple of a text for each of prompt_parts")
    if not _are_ascending_numbers(trace.wrong, len(trace.answer_ids)):
        faults.append(f"wrong is {trace.wrong!r}, not a tuple of ascending numbers below {len(trace.answer_ids)}")
    if not _is_attribution(trace.attribution):
        faults.append(f"attribution is {type(trace.attribution).__name__}, not Attribution")
    if trace.thinking is not None and not _is_span(trace.thinking, len(trace.answer_ids)):
        faults.append(f"thinking is {trace.thinking!r}, not a tuple of start and stop within the answer")
    return faults


def _is_attribution(value: object) -> bool:
    return value is None or isinstance(value, Attribution)


def _is_span(value: object, end: int) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and _are_ascending_numbers(value, end + 1)


def _are_texts_of(value: object, parts: object) -> bool:
    if not (isinstance(value, tuple) and all(isinstance(text, str) for text in value)):
        return False
    return not value or (isinstance(parts, tuple) and len(value) == len(parts))


def _are_messages(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(part, Message) for part in value)


def _wrong_prompt(trace: Trace) -> list[str]:
    if trace.prompt_form not in get_args(PromptForm):
        return [f"prompt_form is {trace.prompt_form!r}"]
    if not _are_messages(trace.messages):
        return [f"messages is {type(trace.messages).__name__}, not a tuple of Message"]
    if (trace.prompt_form == "messages") != bool(trace.messages):
        return [f"prompt_form is {trace.prompt_form!r} with {len(trace.messages)} messages"]
    last = trace.messages[-1] if trace.messages else None
    if last is not None and (last.role not in ANSWERED or last.content != trace.prompt):
        return ["prompt is not the last message, of the user or of a tool"]
    return []


def _are_ascending_numbers(values: object, end: int) -> bool:
    if not (isinstance(values, tuple) and all(type(value) is int and 0 <= value < end for value in values)):
        return False
    return all(first < second for first, second in pairwise(values))


# In bytes, besides texts; the first is exact, and the others are measured.
_ENTRY = sum(map(getsizeof, (Alternative(2**20, "", -1.0), 2**20, -1.0)))
_MESSAGE = 225
_REST = 4096


def memory_bytes(trace: Trace) -> int:
    """Return about how many bytes a trace holds: its arrays, its texts and its alternatives, which are objects each.

    For those who keep many: text and alternatives can take more than attention.
    """
    entries = list(chain.from_iterable(trace.alternatives))
    texts = chain(map(itemgetter(1), entries), _texts(trace))
    arrays = (*(getattr(trace, name) for name in ARRAYS), *trace.extras.values())
    rows = (trace.answer_tokens, trace.pieces, trace.alternatives, *trace.alternatives)
    return (
        sum(array.nbytes for array in arrays)
        + sum(map(getsizeof, texts))
        + sum(map(getsizeof, rows))
        + len(entries) * _ENTRY
        + len(trace.messages) * _MESSAGE
        + sum(_bytes_of_data(message.fields) for message in trace.messages)
        + _REST
    )


def _bytes_of_data(data: object) -> int:
    """Return the bytes of lists, mappings and what they hold; an empty mapping counts in `_MESSAGE`."""
    inside: Iterable[object] = ()
    if isinstance(data, Mapping):
        inside = chain(data.keys(), data.values())
    elif isinstance(data, list):
        inside = data
    return (getsizeof(data) if data else 0) + sum(map(_bytes_of_data, inside))


def _texts(trace: Trace) -> Iterator[str | bytes]:
    """Return all texts but those of the alternatives."""
    yield from (trace.prompt, trace.model, trace.revision, trace.dtype, trace.quantisation, trace.adapter, trace.engine)
    yield from trace.answer_tokens
    yield from trace.pieces
    yield from (message.content for message in trace.messages)
    yield from (part.name for part in trace.prompt_parts)
    yield from trace.part_texts
    for name, value in trace.template_options.items():
        yield from (name, str(value))
