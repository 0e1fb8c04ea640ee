"""A language model whose attention is captured exactly: generate, read, sample, check."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from rauq import generation
from rauq.batches import Failure, in_batches
from rauq.capture.check import Check, compare_in_float32, compare_with_eager
from rauq.capture.feed import Feed, StepwiseFeed, TappedFeed
from rauq.errors import InvalidInput, NonFiniteLogits
from rauq.generation import Cancel, Limits, OnToken, Sampling, is_whole
from rauq.loading import memory_errors, running_takes_less
from rauq.prompts import Prompt, TokensOrText, encode_answer, encode_prompt, two_of
from rauq.tokens import Tokens
from rauq.trace import Kind, Trace

_CHECK_PROMPT_TOKENS = 16
_CHECK_ANSWER_TOKENS = 8
_MOST_CHECK_TOKENS = 1024


@dataclass(frozen=True, eq=False, kw_only=True)
class LanguageModel:
    """A causal language model with its tokenizer; one generation at a time, whatever thread asks for it.

    `layers` are the absolute numbers of those that have attention, `end_ids` the tokens that end an answer,
    `context_length` the most tokens of prompt and answer together (None: no limit known).
    """

    name: str
    revision: str
    kind: Kind
    model: PreTrainedModel
    tokens: Tokens
    feed_type: type[TappedFeed | StepwiseFeed]
    layers: tuple[int, ...]
    num_layers: int
    num_heads: int
    vocab_size: int
    context_length: int | None
    end_ids: frozenset[int]
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def device(self) -> torch.device:
        """Where prompts are fed."""
        weight: torch.Tensor = self.model.get_input_embeddings().get_parameter("weight")
        return weight.device

    @property
    def dtype(self) -> str:
        """Name of the dtype that the model computes in."""
        return str(self.model.dtype).removeprefix("torch.")

    def new_feed(self, padding: Sequence[int]) -> Feed:
        """A fresh cache and recorder for one batch, with so many empty places before each sequence."""
        return self.feed_type(self.model, padding)

    def encode(self, prompt: TokensOrText, *, chat: bool | None = None) -> Prompt:
        """The prompt as the model will see it: `len(lm.encode(text).ids)` tokens.

        Raises:
            InvalidInput: empty, not valid Unicode, unknown token ids, no chat template, or longer than the context.
        """
        encoded = self._encode(prompt, chat=chat)
        self._room_after(len(encoded.ids))
        return encoded

    def generate(
        self,
        prompt: TokensOrText,
        *,
        max_new_tokens: int = 128,
        stop: str | Sequence[str] | None = None,
        chat: bool | None = None,
        answer_prefix: TokensOrText | None = None,
        last_row: bool = False,
        extras: Sequence[str] = (),
        on_token: OnToken | None = None,
        cancel: Cancel | None = None,
        do_sample: bool = False,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 50,
        seed: int | None = None,
    ) -> Trace:
        """Answer a prompt token by token, greedily unless `do_sample`.

        Args:
            prompt: Text, or token ids as they are.
            max_new_tokens: Most tokens after `answer_prefix`; never more than the context leaves.
            stop: Strings that end the answer and stay in it; None: newline for a base model, none for instruct.
            chat: Whether to apply the chat template; None: for plain text to an instruct model.
            answer_prefix: Start of the answer, teacher-forced and counted as answer tokens; it may end the answer.
            last_row: Feed the last token once more, which alignment "own" needs.
            extras: Optional arrays to capture; this version has none.
            on_token: Called at once with index, id and text of each answer token.
            cancel: Asked after each token; the partial trace is returned.
            do_sample: Draw tokens, in the way that the following four say.
            temperature: Above 0; 1 leaves the distribution as it is.
            top_p: Draw from the most probable tokens that hold this much probability.
            top_k: Draw from so many tokens; 0: from all.
            seed: Same seed, same answer; None: another answer each time.

        Raises:
            InvalidInput, NonFiniteLogits, OutOfMemory.
        """
        _refuse_extras(extras)
        encoded = self.encode(prompt, chat=chat)
        prefix = () if answer_prefix is None else self._answer_ids(answer_prefix, what="answer prefix")
        sampling = Sampling(temperature=temperature, top_p=top_p, top_k=top_k, seed=seed) if do_sample else None
        limits = self._limits(max_new_tokens, stop, last_row=last_row, cancel=cancel)
        limits = self._within_context(limits, len(encoded.ids) + len(prefix))
        with self._running("generating"):
            result = generation.generate(
                self, [encoded], limits=limits, sampling=sampling, prefix=prefix, on_token=on_token
            )
        return _or_raise(result[0])

    def read(
        self, prompt: TokensOrText, answer: TokensOrText, *, chat: bool | None = None, extras: Sequence[str] = ()
    ) -> Trace:
        """Score an answer that is already there (teacher forcing), in one forward pass.

        Raises:
            InvalidInput, NonFiniteLogits, OutOfMemory.
        """
        _refuse_extras(extras)
        encoded, ids = self._pair(prompt, answer, chat=chat)
        with self._running("reading"):
            return _or_raise(generation.read(self, [encoded], [ids])[0])

    def generate_batch(
        self,
        prompts: Sequence[TokensOrText],
        *,
        batch_size: int = 8,
        max_new_tokens: int = 128,
        stop: str | Sequence[str] | None = None,
        chat: bool | None = None,
        last_row: bool = False,
        cancel: Cancel | None = None,
    ) -> Iterator[Trace | Failure]:
        """Answer prompts greedily, with left padding: a trace or a failure each, in order.

        Once `cancel` is set, the batch that runs gives partial traces, and the prompts after it give nothing.
        """
        limits = self._limits(max_new_tokens, stop, last_row=last_row, cancel=cancel)

        def run(batch: Sequence[Prompt]) -> list[Trace | NonFiniteLogits]:
            shortened = self._within_context(limits, max(len(prompt.ids) for prompt in batch))
            if len(batch) > 1 and shortened != limits:  # a long prompt must not shorten its neighbours' answers
                return [run([prompt])[0] for prompt in batch]
            with self._running("generating a batch"):
                return generation.generate(self, batch, limits=shortened)

        return in_batches(prompts, encode=partial(self.encode, chat=chat), run=run, size=batch_size, cancel=cancel)

    def read_batch(
        self,
        pairs: Sequence[tuple[TokensOrText, TokensOrText]],
        *,
        batch_size: int = 8,
        chat: bool | None = None,
    ) -> Iterator[Trace | Failure]:
        """Score pairs of prompt and answer, with left padding: a trace or a failure each, in order."""

        def run(batch: Sequence[tuple[Prompt, tuple[int, ...]]]) -> list[Trace | NonFiniteLogits]:
            prompts, answers = zip(*batch, strict=True)
            with self._running("reading a batch"):
                return generation.read(self, prompts, answers)

        return in_batches(pairs, encode=lambda pair: self._pair(*two_of(pair), chat=chat), run=run, size=batch_size)

    def sample(
        self,
        prompt: TokensOrText,
        *,
        k: int = 5,
        seed: int = 0,
        temperature: float = 1.0,
        top_p: float = 1.0,
        top_k: int = 50,
        max_new_tokens: int = 128,
        stop: str | Sequence[str] | None = None,
        chat: bool | None = None,
        last_row: bool = False,
        cancel: Cancel | None = None,
    ) -> list[Trace]:
        """Draw k answers to one prompt, which is fed once.

        Raises:
            InvalidInput, NonFiniteLogits, OutOfMemory.
        """
        if not (is_whole(k) and k >= 1):
            message = f"Got k={k!r}; it must be a whole number: draw at least one sample."
            raise InvalidInput(message)
        encoded = self.encode(prompt, chat=chat)
        limits = self._limits(max_new_tokens, stop, last_row=last_row, cancel=cancel)
        limits = self._within_context(limits, len(encoded.ids))
        sampling = Sampling(temperature=temperature, top_p=top_p, top_k=top_k, seed=seed)
        with self._running("sampling"):
            results = generation.sample(self, encoded, k=int(k), limits=limits, sampling=sampling)
        return [_or_raise(result) for result in results]

    def check(self, prompt: TokensOrText | None = None) -> Check:
        """Captured band against eager attention: largest absolute difference per layer, and whether that is exact.

        In float32 it compares a generation with an eager pass; 1e-5 is tolerated. In lower precision kernels round
        differently from layer to layer, so each attention call is compared in float32 on its own inputs, to 1e-5;
        weights that a model returns step by step are compared with an eager pass, to 2e-2.
        Without a prompt: seeded random tokens.

        Raises:
            InvalidInput: the prompt is too long for eager attention.
            UnsupportedModel: the model does not return its attention.
        """
        ids = _random_ids(self.vocab_size) if prompt is None else self.encode(prompt).ids
        if len(ids) > _MOST_CHECK_TOKENS:
            message = f"Eager attention is quadratic: check up to {_MOST_CHECK_TOKENS} tokens, not {len(ids)}."
            raise InvalidInput(message)
        with self._running("checking the capture"):
            if self.dtype != "float32" and self.feed_type is TappedFeed:
                return compare_in_float32(self.model, ids)
            trace = self.generate(ids, max_new_tokens=_CHECK_ANSWER_TOKENS, stop=(), last_row=True)
            return compare_with_eager(self.model, trace)

    def _pair(self, prompt: TokensOrText, answer: TokensOrText, *, chat: bool | None) -> tuple[Prompt, tuple[int, ...]]:
        encoded, ids = self._encode(prompt, chat=chat), self._answer_ids(answer)
        self._room_after(len(encoded.ids) + len(ids), needed=0)
        return encoded, ids

    def _encode(self, prompt: TokensOrText, *, chat: bool | None) -> Prompt:
        applied = self.kind == "instruct" if chat is None else chat
        return encode_prompt(self.tokens, prompt, chat=applied, vocab_size=self.vocab_size)

    def _answer_ids(self, answer: TokensOrText, *, what: str = "answer") -> tuple[int, ...]:
        return encode_answer(self.tokens, answer, vocab_size=self.vocab_size, what=what)

    def _room_after(self, num_tokens: int, *, needed: int = 1) -> int | None:
        """Tokens that still fit after so many: at least those needed, or an error."""
        if self.context_length is None:
            return None
        room = self.context_length - num_tokens
        if room < needed:
            message = (
                f"Got {num_tokens} tokens, and {self.name} takes {self.context_length} of prompt and answer together. "
                f"Shorten the text by {needed - room} tokens or more."
            )
            raise InvalidInput(message)
        return room

    def _limits(
        self, max_new_tokens: int, stop: str | Sequence[str] | None, *, last_row: bool, cancel: Cancel | None
    ) -> Limits:
        default = ("\n",) if self.kind == "base" else ()
        strings = default if stop is None else _listed(stop)
        return Limits(max_new_tokens=max_new_tokens, stop=strings, last_row=last_row, cancel=cancel)

    def _within_context(self, limits: Limits, num_tokens: int) -> Limits:
        room = self._room_after(num_tokens)
        return limits if room is None else replace(limits, max_new_tokens=min(limits.max_new_tokens, room))

    @contextmanager
    def _running(self, doing: str) -> Iterator[None]:
        with self.lock, torch.inference_mode(), memory_errors(doing, takes_less=running_takes_less(self.model)):
            yield


def _listed(given: Any) -> tuple[Any, ...]:
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, str | bytes) else (given,)


def _refuse_extras(extras: Sequence[str]) -> None:
    if extras:
        message = f"Unknown extras {', '.join(map(repr, extras))}; this version captures none."
        raise InvalidInput(message)


def _or_raise(result: Trace | NonFiniteLogits) -> Trace:
    if isinstance(result, NonFiniteLogits):
        raise result
    return result


def _random_ids(vocab_size: int) -> list[int]:
    ids: list[int] = np.random.default_rng(0).integers(vocab_size, size=_CHECK_PROMPT_TOKENS).tolist()
    return ids
