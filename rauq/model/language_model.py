"""A language model whose attention is captured exactly: generate, read, sample, check, judge answers by P(True)."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Unpack

import torch
from numpy.typing import ArrayLike

from rauq.arguments import Cancel, Sampling, is_whole
from rauq.capture.check import Check
from rauq.checkpoints.kinds import check_kind
from rauq.errors import Failure, InvalidInput, NonFiniteLogits
from rauq.model import generation
from rauq.model.attribution import OnPasses, attributed
from rauq.model.batches import in_batches, refuse_monitors, watched
from rauq.model.context import (
    Limits,
    ModelDescription,
    Prompt,
    PromptLike,
    TokensOrText,
    encode,
    encode_pair,
    encode_prefix,
    limits_of,
    within_context,
)
from rauq.model.engines.engine import Engine, Prefixes
from rauq.model.options import (
    AnswerOptions,
    CaptureOptions,
    DrawOptions,
    LimitOptions,
    PromptOptions,
    ReadOptions,
    SampleOptions,
    parts,
)
from rauq.scoring.watch import AnswerMonitor, OnProgress, OnToken, Watch
from rauq.trace.attribution import Attribution, Side
from rauq.trace.extras import Wanted, available_names, wanted
from rauq.trace.messages import option_names
from rauq.trace.trace import NUM_BANDS, Extra, Kind, Trace
from rauq.transformers_api import PreTrainedModel

_ANSWERED = (PromptOptions, CaptureOptions, LimitOptions)
_SAMPLED = (*_ANSWERED, DrawOptions)


@dataclass(frozen=True, eq=False, kw_only=True)
class LanguageModel(ModelDescription):
    """A causal language model with its tokenizer; one call at a time, in any thread, except in `together`.

    What the prompts of a call share at their beginning is fed once; `prefixes` keeps it from one call to the next.
    `engine` runs it: transformers, or llama.cpp in a process of its own.
    """

    engine: Engine
    lock: AbstractContextManager[object] = field(default_factory=threading.RLock, repr=False)
    prefixes: Prefixes | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        """One line: the model, its kind, its size, and what it computes in and where."""
        size = f"{len(self.layers)} layers of {self.num_heads} heads"
        adapter = f"adapter {self.adapter}" if self.adapter else ""
        weights = "".join(f", {about}" for about in (self.quantisation, adapter) if about)
        return f"LanguageModel({self.name}, {self.kind}, {size}, {self.dtype} on {self.device}{weights})"

    @property
    def model(self) -> PreTrainedModel:
        """The model of transformers.

        Raises:
            UnsupportedModel: another engine runs it.
        """
        return self.engine.model

    @property
    def device(self) -> torch.device:
        """The device of the model's inputs."""
        return self.engine.device

    @property
    def dtype(self) -> str:
        """Name of the dtype that the model computes in."""
        return self.engine.dtype

    @property
    def runs_alone(self) -> bool:
        """Whether batches are run one sequence at a time, and nothing is shared between prompts.

        So it is with quantised activations (`rauq.capture.quantised`); `read` then differs from `generate`, which feeds
        an answer token by token.
        """
        return self.engine.runs_alone

    @property
    def most_together(self) -> int:
        """How many answers are generated at once of which each may begin while others are: see `together`."""
        return self.engine.most_together

    @property
    def extras(self) -> tuple[Extra, ...]:
        """The extras of a trace that can be captured of this model (`rauq.trace.extras`)."""
        return self.engine.extras(self.layers, self.num_layers)

    def check_extras(self, extras: Sequence[str]) -> None:
        """Refuse extras that this model cannot capture.

        Raises:
            InvalidInput: unknown extras.
            UnsupportedModel: this model has no such extra; the message says why.
        """
        available_names(
            extras, available=self.extras, name=self.name, num_layers=self.num_layers, lacking=self.engine.lacking
        )

    @property
    def template_options(self) -> tuple[str, ...]:
        """Names of the options that its chat template takes, in alphabetical order."""
        return option_names(self.tokens.tokenizer.chat_template)

    def with_kind(self, kind: Kind | None) -> "LanguageModel":
        """The same weights and the same lock, treated as a model of this kind; None leaves it as it is.

        Raises:
            InvalidInput: unknown kind.
        """
        check_kind(kind)
        return self if kind in (None, self.kind) else replace(self, kind=kind)

    def with_prefix_cache(self) -> "LanguageModel":
        """The same weights and the same lock; what a prompt shares with the one of the call before is not fed again."""
        return replace(self, prefixes=self.engine.new_prefixes())

    @contextmanager
    def together(self, tokens: int) -> Iterator["LanguageModel"]:
        """The same weights for answers that are generated at once, each by a call in a thread of its own.

        The next tokens of all are computed as one batch, which an answer joins at its first token and leaves at its
        end. Their prompts and answers may have `tokens` tokens in all: whoever begins them counts those of each prompt,
        `max_new_tokens`, and one more.

        Raises:
            UnsupportedModel: `most_together` is 0.
        """
        with self.lock, self.engine.together(tokens):
            yield replace(self, lock=nullcontext())

    def encode(self, prompt: PromptLike, **options: Unpack[PromptOptions]) -> Prompt:
        """The prompt as the model will see it: `len(lm.encode(text).ids)` tokens; `generate` explains the prompt.

        Raises:
            InvalidInput: empty, not valid Unicode, unknown token ids, unusable messages, no chat template, or longer
                than the context.
        """
        (asked,) = parts("encode", options, PromptOptions)
        return encode(self, prompt, **asked)

    def generate(
        self,
        prompt: PromptLike,
        *,
        answer_prefix: TokensOrText | None = None,
        on_token: OnToken | None = None,
        on_progress: OnProgress | None = None,
        monitor: AnswerMonitor | None = None,
        do_sample: bool = False,
        seed: int | None = None,
        **options: Unpack[SampleOptions],
    ) -> Trace:
        """Answer a prompt token by token, greedily unless `do_sample`.

        Args:
            prompt: Text, token ids as they are, or messages: a list of {"role": ..., "content": ...} or `rauq.Message`
                with the roles system (at most the first), developer, user, assistant and tool; the last is the user's
                or a tool's. A content is a text or a list of text parts. Other fields, such as "tool_calls" and
                "tool_call_id", are for the chat template, and one that it does not write is an error.
            answer_prefix: Start of the answer, teacher-forced and counted as answer tokens; it may end the answer.
            on_token: Called at once with index, id and text of each answer token.
            on_progress: Called after each token but the last with a function that returns the trace so far, as if the
                answer had been cancelled there. Not calling that function costs nothing; a call takes milliseconds.
            monitor: A `rauq.Monitor` of this model, which scores the answer after each token, before `on_token` is
                called. Where it stops the answer, `stop_reason` is "alarm".
            do_sample: Draw tokens, from what temperature, top_p and top_k of the options leave.
            seed: Same seed, same answer; None: another answer each time.
            options: `PromptOptions`, `CaptureOptions`, `LimitOptions` and `DrawOptions` of `rauq.model.options`.

        Raises:
            InvalidInput, UnsupportedModel, NonFiniteLogits, OutOfMemory.
        """
        asked, captured, limited, drawn = parts("generate", options, *_SAMPLED)
        request, encoded = self._wanted(**captured), self.encode(prompt, **asked)
        prefix = () if answer_prefix is None else encode_prefix(self, answer_prefix)
        sampling = Sampling(seed=seed, **drawn) if do_sample else None
        limits = limits_of(self, **limited)
        limits = within_context(self, limits, len(encoded.ids) + len(prefix))
        watch = Watch(on_token=on_token, on_progress=on_progress, monitor=monitor)
        refuse_monitors(self, [watch])
        with self._running("generating"):
            result = generation.generate(
                self._decoder,
                [encoded],
                limits=limits,
                wanted=request,
                sampling=[sampling],
                prefix=prefix,
                watches=[watch],
            )
        return generation.or_raise(result[0])

    def read(
        self,
        prompt: PromptLike,
        answer: TokensOrText,
        *,
        end: bool = False,
        **options: Unpack[ReadOptions],
    ) -> Trace:
        """Score an answer that is already there (teacher forcing), in one forward pass.

        Only the tokens of `answer` are scored. A text has no end token, and `generate` scores one, so the two scores
        differ: `end` appends the model's end token, unless `answer` ends with one.

        Raises:
            InvalidInput, UnsupportedModel, NonFiniteLogits, OutOfMemory.
        """
        asked, captured = parts("read", options, PromptOptions, CaptureOptions)
        request = self._wanted(**captured)
        encoded, ids = encode_pair(self, (prompt, answer), end=end, **asked)
        with self._running("reading"):
            return generation.or_raise(generation.read(self._decoder, [encoded], [ids], wanted=request)[0])

    def generate_batch(
        self,
        prompts: Sequence[PromptLike],
        *,
        batch_size: int = 8,
        watches: Sequence[Watch] | None = None,
        sampling: Sequence[Sampling | None] | None = None,
        **options: Unpack[AnswerOptions],
    ) -> Iterator[Trace | Failure]:
        """Answer prompts with left padding: a trace or a failure each, in order.

        What prompts of a batch share at their beginning is fed once, unless the model keeps more than keys and values
        of it, or `extras` has "diagonal" or "hidden", which need all tokens of the prompt.
        Once `cancel` is set, the batch that runs gives partial traces, and the prompts after it give nothing.
        `watches`: what happens while each answer grows, one `rauq.Watch` for each prompt.
        `sampling`: how each answer is drawn, one for each prompt, as by `generate` with these values; None: greedily.
        """
        asked, captured, limited = parts("generate_batch", options, *_ANSWERED)
        request, limits, decoder = self._wanted(**captured), limits_of(self, **limited), self._decoder

        def encode(item: tuple[PromptLike, Watch, Sampling | None]) -> tuple[Prompt, Watch, Sampling | None]:
            return self.encode(item[0], **asked), item[1], item[2]

        def run(batch: Sequence[tuple[Prompt, Watch, Sampling | None]]) -> list[Trace | NonFiniteLogits]:
            encoded, own, drawn = zip(*batch, strict=True)
            shortened = within_context(self, limits, max(len(prompt.ids) for prompt in encoded))
            if len(batch) > 1 and shortened != limits:  # a long prompt must not shorten the other answers of the batch
                return [run([item])[0] for item in batch]
            with self._running("generating a batch"):
                return generation.generate(
                    decoder, encoded, limits=shortened, wanted=request, sampling=drawn, watches=own
                )

        size, items = self._size(batch_size), watched(self, prompts, watches, sampling)
        return in_batches(items, encode=encode, run=run, size=size, cancel=limits.cancel)

    def read_batch(
        self,
        pairs: Sequence[tuple[PromptLike, TokensOrText]],
        *,
        batch_size: int = 8,
        end: bool = False,
        **options: Unpack[ReadOptions],
    ) -> Iterator[Trace | Failure]:
        """Score pairs of prompt and answer, with left padding: a trace or a failure each, in order.

        `end` is that of `read`; what pairs share at their beginning is fed once, as in `generate_batch`.
        """
        asked, captured = parts("read_batch", options, PromptOptions, CaptureOptions)
        request, decoder = self._wanted(**captured), self._decoder

        def run(batch: Sequence[tuple[Prompt, tuple[int, ...]]]) -> list[Trace | NonFiniteLogits]:
            prompts, answers = zip(*batch, strict=True)
            with self._running("reading a batch"):
                return generation.read(decoder, prompts, answers, wanted=request)

        encode = partial(encode_pair, self, end=end, **asked)
        return in_batches(pairs, encode=encode, run=run, size=self._size(batch_size))

    def sample(
        self,
        prompt: PromptLike,
        *,
        k: int = 5,
        seed: int = 0,
        **options: Unpack[SampleOptions],
    ) -> list[Trace]:
        """Draw k answers to one prompt, whose prefill is run once; with more of them, the first ones stay the same.

        The first is what `generate` draws with the same seed.

        Raises:
            InvalidInput, UnsupportedModel, NonFiniteLogits, OutOfMemory.
        """
        asked, captured, limited, drawn = parts("sample", options, *_SAMPLED)
        k, request, encoded = _number_of_samples(k), self._wanted(**captured), self.encode(prompt, **asked)
        limits = within_context(self, limits_of(self, **limited), len(encoded.ids))
        sampling = Sampling(seed=seed, **drawn)
        with self._running("sampling"):
            results = self._sampled(self._decoder, [encoded], k=k, limits=limits, wanted=request, sampling=[sampling])
        return [generation.or_raise(result) for result in results[0]]

    def sample_batch(
        self,
        prompts: Sequence[PromptLike],
        *,
        seeds: Sequence[int],
        k: int = 5,
        batch_size: int = 8,
        **options: Unpack[AnswerOptions],
    ) -> Iterator[list[Trace] | Failure]:
        """Draw k answers to each prompt, each with its own seed, as `sample` does: a list or a failure each, in order.

        A batch has k times `batch_size` rows. Weights may differ in the last bits of float32 from those of `sample`.

        Raises:
            InvalidInput: `k` or `batch_size` is not a whole number of at least 1, or the numbers of seeds and prompts
                differ.
        """
        asked, captured, limited = parts("sample_batch", options, *_ANSWERED)
        request, limits = self._wanted(**captured), limits_of(self, **limited)
        k, decoder = _number_of_samples(k), self._decoder
        if len(seeds) != len(prompts):
            message = f"Got {len(seeds)} seeds for {len(prompts)} prompts. Give one seed for each prompt."
            raise InvalidInput(message)

        def encode(drawn: tuple[PromptLike, int]) -> tuple[Prompt, Sampling]:
            return self.encode(drawn[0], **asked), Sampling(seed=drawn[1])

        def run(batch: Sequence[tuple[Prompt, Sampling]]) -> list[list[Trace] | NonFiniteLogits]:
            prompts, sampling = zip(*batch, strict=True)
            shortened = within_context(self, limits, max(len(prompt.ids) for prompt in prompts))
            if len(batch) > 1 and shortened != limits:  # a long prompt must not shorten the other answers of the batch
                return [run([drawn])[0] for drawn in batch]
            with self._running("sampling a batch"):
                found = self._sampled(decoder, prompts, k=k, limits=shortened, wanted=request, sampling=sampling)
            return [generation.all_or_error(results) for results in found]

        pairs = list(zip(prompts, seeds, strict=True))
        size = self._size(batch_size)
        return in_batches(pairs, encode=encode, run=run, size=size, cancel=limits.cancel)

    def attribute(
        self,
        trace: Trace,
        *,
        layers: Sequence[int] | None = None,
        steps: int = 8,
        side: Side = "output",
        positive: bool = False,
        on_progress: OnPasses | None = None,
        cancel: Cancel | None = None,
    ) -> Trace:
        """The trace with Layer Integrated Gradients (LIG) as previous-token weights in place of attention.

        `rauq.score` then gives RAUQ (LIG) (paper, Table 20). The paper says too little to reproduce that table;
        `rauq.capture.attribution` says what is chosen here. The result has the attributed layers alone, and no extras:
        layers with attention beside them would be scored together with these.

        Its `attribution` has the completeness errors. On SmolLM2-135M in float32, two steps leave a median error of
        0.001 nats, and up to 0.4 at single tokens, eight about 0.0001; in bfloat16 rounding alone leaves 0.1.
        Every answer token but the first costs, for each layer and step, a backward pass through the blocks above.

        Args:
            trace: An answer of this model; of its attention nothing is read.
            layers: Absolute indices; None: the middle ones without the last block, in which all weights would be 1.
            steps: Points of the integral, by Gauss-Legendre.
            side: Of the attention output projection: its output in equal segments, or its input, with the real heads.
            positive: Count negative attributions as 0, as in the paper's code, not by their size.
            on_progress: Called with the backward passes that are done, and with all.
            cancel: Asked before each of them.

        Raises:
            InvalidInput: layers or options that are not allowed, or a trace of another model.
            UnsupportedModel: the structure of a block is unknown, or the model gives no gradients.
            Stopped: cancelled.
            OutOfMemory: it does not fit.
        """
        how = Attribution(steps=steps, side=side, positive=positive)
        with self._running("attributing"), torch.inference_mode(mode=False), torch.enable_grad():
            return attributed(
                self,
                self.model,
                trace,
                layers=layers,
                how=how,
                device=self.device,
                on_progress=on_progress,
                cancel=cancel,
            )

    def check(self, prompt: PromptLike | None = None) -> Check:
        """Captured band against float64 weights of the same queries and keys, layer by layer, and whether it is exact.

        What is tolerated follows from the size of the scores and the precision of float32
        (`rauq.capture.recompute.recomputed`); models that run step by step have their own rule. Where incremental and
        full passes of the model differ by themselves, as with dynamic quantisation, each call is compared with itself
        alone, and the difference between passes is shown and decides nothing.
        Without a prompt: seeded random tokens.

        Raises:
            InvalidInput: the prompt is too long for eager attention.
            UnsupportedModel: the model does not return its attention.
        """
        with self._running("checking the capture"):
            return self.engine.check(
                None if prompt is None else self.encode(prompt).ids,
                generate=replace(self, prefixes=None).generate,  # every call of attention is compared
                vocab_size=self.vocab_size,
            )

    def _sampled(
        self,
        decoder: generation.Decoder,
        prompts: Sequence[Prompt],
        *,
        k: int,
        limits: Limits,
        wanted: Wanted,
        sampling: Sequence[Sampling],
    ) -> list[list[Trace | NonFiniteLogits]]:
        """K answers to each prompt: in one batch, or one at a time if the model runs alone."""
        if not self.runs_alone:
            return generation.sample(decoder, prompts, k=k, limits=limits, wanted=wanted, sampling=sampling)
        draw = partial(generation.sample, decoder, k=1, limits=limits, wanted=wanted)
        return [
            [draw([prompt], sampling=[own], first=row)[0][0] for row in range(k)]
            for prompt, own in zip(prompts, sampling, strict=True)
        ]

    def _size(self, batch_size: int) -> int:
        """How many sequences are run together; what is no size at all is refused later."""
        return min(batch_size, 1) if self.runs_alone and is_whole(batch_size) else batch_size

    def _wanted(self, *, extras: Sequence[str] = (), idf: ArrayLike | None = None, offsets: int = NUM_BANDS) -> Wanted:
        return wanted(
            extras,
            idf,
            offsets=offsets,
            available=self.extras,
            name=self.name,
            num_layers=self.num_layers,
            vocab_size=self.vocab_size,
            lacking=self.engine.lacking,
        )

    @property
    def _decoder(self) -> generation.Decoder:
        return generation.Decoder(
            described=self,
            engine=self.engine,
            prefixes=self.prefixes or self.engine.new_prefixes(),
        )

    @contextmanager
    def _running(self, doing: str) -> Iterator[None]:
        with self.lock, torch.inference_mode(), self.engine.running(doing):
            yield


def _number_of_samples(k: object) -> int:
    if isinstance(k, int) and is_whole(k) and k >= 1:
        return int(k)
    message = f"Got k={k!r}; it must be a whole number: draw at least one sample."
    raise InvalidInput(message)
