"""A model that a vLLM server with the plugin rauq-vllm runs: it answers prompts, and the answers become traces."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar, Unpack

import numpy as np

from rauq.arguments import Cancel, Sampling, check_unicode
from rauq.checkpoints.kinds import KindAndReason, check_kind, kind_of
from rauq.errors import EngineStopped, Failure, InvalidInput, ModelNotFound, RauqError, UnsupportedModel
from rauq.model.batches import in_batches
from rauq.model.context import Limits, PromptLike, stop_strings
from rauq.model.http_json import checked_address, json_of
from rauq.model.options import AnswerOptions, CaptureOptions, LimitOptions, PromptOptions, parts
from rauq.model.vllm import as_chat, continued, from_vllm, last_row_of, malformed_is_invalid, request_for
from rauq.trace.messages import Message, checked_options, is_conversation, messages_of
from rauq.trace.trace import NUM_BANDS, Extra, Kind, Trace

_ENDED = ("stop", "length")  # the other reasons for the end of an answer are failures
_PART = 32  # tokens that are asked for at a time, where a stop string may end the answer
_PROBE = "A"
_GREEDY = {"temperature": 0.0}
# What a server would otherwise take from the model's own generation config.
_NEUTRAL = {
    "top_p": 1.0,
    "top_k": 0,
    "min_p": 0.0,
    "repetition_penalty": 1.0,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
}
Answer = TypeVar("Answer")


@dataclass(frozen=True, eq=False, kw_only=True)
class ServedModel:
    """A model as its server describes it; what is sent to the server, several prompts at a time, is not shared.

    `layers` are those whose attention the server returns, `offsets` keys back of each, `context_length` the most tokens
    of prompt and answer together. `engine` names vLLM and its version, `adapter` a LoRA; `why` says how its kind is
    known.
    """

    url: str
    name: str
    kind: Kind
    revision: str
    dtype: str
    quantisation: str
    engine: str
    layers: tuple[int, ...]
    num_layers: int
    num_heads: int
    vocab_size: int
    offsets: int
    context_length: int
    adapter: str = ""
    why: str = ""

    @property
    def extras(self) -> tuple[Extra, ...]:
        """None: the server returns attention on preceding tokens alone."""
        return ()

    def check_extras(self, extras: Sequence[str]) -> None:
        """Refuse extras.

        Raises:
            UnsupportedModel: there are some.
        """
        if extras:
            message = f"A vLLM server returns attention on preceding tokens, and not {', '.join(extras)}. Leave it out."
            raise UnsupportedModel(message)

    def with_prefix_cache(self) -> "ServedModel":
        """The same model: prompts share nothing, so that the numbers of an answer depend on no other."""
        return self

    def generate_batch(
        self, prompts: Sequence[PromptLike], *, batch_size: int = 8, **options: Unpack[AnswerOptions]
    ) -> Iterator[Trace | Failure]:
        """Answer prompts greedily, a batch at a time: a trace or a failure each, in order.

        Options are those of `LanguageModel.generate_batch`, but for extras.

        Raises:
            EngineStopped: the server cannot be reached, or is not able to go on.
        """
        ask = self._asking("generate_batch", options)
        return self._batches(prompts, lambda prompt: ask(prompt, None), batch_size, options.get("cancel"))

    def sample_batch(
        self,
        prompts: Sequence[PromptLike],
        *,
        seeds: Sequence[int],
        k: int = 5,
        batch_size: int = 8,
        **options: Unpack[AnswerOptions],
    ) -> Iterator[list[Trace] | Failure]:
        """Draw k answers to each prompt, with seeds that follow from its own: a list or a failure each, in order.

        Raises:
            EngineStopped: the server cannot be reached, or is not able to go on.
        """
        ask = self._asking("sample_batch", options)

        def draw(pair: tuple[PromptLike, int]) -> list[Trace]:
            prompt, seed = pair
            return [ask(prompt, Sampling(seed=drawn)) for drawn in _seeds(seed, k)]

        return self._batches(list(zip(prompts, seeds, strict=True)), draw, batch_size, options.get("cancel"))

    def read_batch(self, pairs: Sequence[object], **_options: Any) -> Iterator[Trace | Failure]:
        """Refuse to read given answers, which a server does not do.

        Raises:
            UnsupportedModel: always.
        """
        message = f"{self.name} is run by a vLLM server, which cannot read {len(pairs)} given answers."
        raise UnsupportedModel(message)

    def _batches(
        self, items: Sequence[Any], ask: Callable[[Any], Answer], size: int, cancel: Cancel | None
    ) -> Iterator[Answer | Failure]:
        """What `ask` gives for each item, all of a batch at the same time; nothing once cancelled."""

        def result(item: Any) -> Answer | RauqError:
            try:
                return ask(item)
            except EngineStopped:
                raise
            except RauqError as error:
                return error

        def run(batch: Sequence[Any]) -> list[Answer | RauqError]:
            pool = ThreadPoolExecutor(len(batch))
            try:
                return list(pool.map(result, batch))
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

        if cancel is not None and cancel.is_set():
            return iter(())
        return in_batches(items, encode=lambda item: item, run=run, size=size, cancel=cancel)

    def _asking(self, call: str, options: AnswerOptions) -> Callable[[PromptLike, Sampling | None], Trace]:
        """A function that answers one prompt, with the options of a call.

        Raises:
            InvalidInput: more offsets than the server returns.
            UnsupportedModel: extras.
        """
        asked, captured, limited = parts(call, options, PromptOptions, CaptureOptions, LimitOptions)
        self.check_extras(captured.get("extras", ()))
        offsets = captured.get("offsets", NUM_BANDS)
        if offsets > self.offsets:
            message = (
                f"The server returns the attention on {self.offsets} keys back, and {offsets} are needed. Start it "
                f'with "offsets": {offsets} in its kv_connector_extra_config.'
            )
            raise InvalidInput(message)
        limits = Limits(**limited | {"stop": stop_strings(limited.get("stop"), self.kind)})
        return lambda prompt, sampling: self._answered(prompt, limits, sampling, asked, offsets)

    def _answered(
        self, prompt: PromptLike, limits: Limits, sampling: Sampling | None, asked: Mapping[str, Any], offsets: int
    ) -> Trace:
        salt = secrets.token_hex(16)  # no keys are taken from the cache of other answers, so that sums round alike
        question = _question(prompt, self.kind, **asked)
        with malformed_is_invalid():
            found = self._generated(question, limits, sampling, salt)
        trace = from_vllm(found, messages=question.messages, kind=self.kind)
        self._check_same(trace)
        attention = trace.attention[..., :offsets]
        if limits.last_row and not _is_cancelled(limits):
            attention = attention.copy()
            attention[:, :, -1] = self._last_row(trace, salt)[..., :offsets]
        about: dict[str, Any] = {"attention": attention, "sampling": sampling, "model": self.name}
        about |= {"adapter": self.adapter, "template_options": question.template_options}
        if _is_cancelled(limits):
            about["stop_reason"] = "cancelled"
        if question.messages and not is_conversation(prompt):
            about |= {"messages": (), "prompt_form": "text"}
        return replace(trace, **about)

    def _check_same(self, trace: Trace) -> None:
        """See that the server still runs the model that it described.

        Raises:
            EngineStopped: it does not.
        """
        names = ("revision", "dtype", "quantisation", "engine", "layers", "num_layers", "num_heads", "vocab_size")
        if other := [name for name in names if getattr(trace, name) != getattr(self, name)]:
            message = f"The server at {self.url} now runs another model: {', '.join(other)} changed."
            raise EngineStopped(message)

    def _generated(
        self, question: "_Question", limits: Limits, sampling: Sampling | None, salt: str
    ) -> Mapping[str, Any]:
        """The response, in the shape of a chat completion.

        vLLM ends an answer at a stop string without returning its attention. It is therefore asked for some tokens at a
        time where there are stop strings, which are looked for here. A drawn answer is asked for as a whole: parts of
        it would need seeds of their own, and tokens that are asked for again would be drawn twice.
        """
        size = _PART if limits.stop and sampling is None else limits.max_new_tokens
        body = self._body(min(size, limits.max_new_tokens, self.context_length), sampling, salt)
        responses = [as_chat(self._post(question.path, {**body, **question.body}), question.text)]
        prompt = list(responses[0]["prompt_token_ids"])
        most = min(limits.max_new_tokens, self.context_length - len(prompt))
        while True:
            self._check_ended(responses[-1])
            ids = [token for given in responses for token in given["choices"][0]["token_ids"]]
            count = stop_at([piece for given in responses for piece in _pieces(given)], limits.stop)
            is_whole = len(ids) >= most or responses[-1]["choices"][0]["finish_reason"] != "length"
            if count or is_whole or _is_cancelled(limits):
                return continued(responses, count=count or len(ids), stopped=bool(count))
            responses[-1] = _without_a_part_of_a_character(responses[-1])
            ids = ids[: sum(len(given["choices"][0]["token_ids"]) for given in responses)]
            body = self._body(min(size, most - len(ids)), sampling, salt)
            responses.append(as_chat(self._post("completions", body | {"prompt": [*prompt, *ids]})))

    def _check_ended(self, response: Mapping[str, Any]) -> None:
        """See that the server has not cut an answer short.

        Raises:
            EngineStopped: it has.
        """
        reason = response["choices"][0]["finish_reason"]
        if reason not in _ENDED:
            message = f"The server at {self.url} ended an answer before its end ({reason})."
            raise EngineStopped(message)

    def _body(self, most: int, sampling: Sampling | None, salt: str) -> dict[str, Any]:
        body = {"model": self.name, "max_tokens": most, "cache_salt": salt, **_NEUTRAL}
        return body | (_GREEDY if sampling is None else asdict(sampling))

    def _last_row(self, trace: Trace, salt: str) -> np.ndarray:
        """The weights (L, H, K) of the last token's own query, which vLLM computes once more tokens are asked for.

        nan where the context leaves no room for one.
        """
        ids = [*trace.prompt_ids.tolist(), *trace.answer_ids.tolist()]
        if len(ids) >= self.context_length:
            return np.full_like(trace.attention[:, :, -1], np.nan)
        body = {"model": self.name, "prompt": ids, "max_tokens": 1, "cache_salt": salt, **_GREEDY}
        return last_row_of(self._post("completions", body))

    def _post(self, path: str, body: Mapping[str, Any]) -> Any:
        return json_of(f"{self.url}/v1/{path}", request_for(body))


@dataclass(frozen=True, kw_only=True)
class _Question:
    """A prompt as it is sent: where to, what its body has, and what the trace says of it."""

    path: str
    body: Mapping[str, Any]
    text: str = ""
    messages: tuple[Message, ...] = ()
    template_options: Mapping[str, Any] = field(default_factory=dict)


def _question(
    prompt: PromptLike,
    kind: Kind,
    *,
    chat: bool | None = None,
    template_options: Mapping[str, Any] | None = None,
    prompt_parts: object = None,
) -> _Question:
    """Messages for a chat, or a text that is continued.

    Raises:
        InvalidInput: token ids, or what a server cannot do.
    """
    if prompt_parts is not None:
        message = (
            "A vLLM server does not return how attention is shared among parts of a prompt. Leave prompt_parts out."
        )
        raise InvalidInput(message)
    options = checked_options(template_options)
    if is_conversation(prompt):
        is_chat = chat is not False
    elif isinstance(prompt, str):
        check_unicode(prompt)
        is_chat = kind == "instruct" if chat is None else chat
    else:
        message = f"Got a prompt of {type(prompt).__name__}; a vLLM server is given a text, or messages."
        raise InvalidInput(message)
    if not is_chat and (options or not isinstance(prompt, str)):
        message = (
            "Messages and template options need the chat template, which chat=False leaves out. Give a text alone."
        )
        raise InvalidInput(message)
    if isinstance(prompt, str) and not is_chat:
        return _Question(path="completions", body={"prompt": prompt}, text=prompt)
    messages = messages_of([{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt)
    body: dict[str, Any] = {"messages": [message.as_dict() for message in messages]}
    body |= {"chat_template_kwargs": options} if options else {}
    return _Question(path="chat/completions", body=body, messages=messages, template_options=options)


def _is_cancelled(limits: Limits) -> bool:
    return limits.cancel is not None and limits.cancel.is_set()


def _pieces(response: Mapping[str, Any]) -> list[bytes]:
    """The bytes of each token; those of a character that several share are with the last of them."""
    return [bytes(row["bytes"] or ()) for row in response["choices"][0]["logprobs"]["content"]]


def _without_a_part_of_a_character(response: Mapping[str, Any]) -> Mapping[str, Any]:
    """The response without the tokens at its end whose character is not complete: they are asked for again.

    Another request would not know of its first bytes.
    """
    pieces = _pieces(response)
    count = next((place for place in range(len(pieces), 0, -1) if pieces[place - 1]), len(pieces))
    return response if count == len(pieces) else continued([response], count=count, stopped=False)


def _seeds(seed: int, count: int) -> list[int]:
    """Seeds that vLLM takes, which are signed, and follow from one."""
    return [int(each >> np.uint64(1)) for each in np.random.SeedSequence(seed).generate_state(count, np.uint64)]


def stop_at(pieces: Sequence[bytes], stops: Sequence[str]) -> int:
    """How many tokens an answer has up to its first stop string, whose token is the last; 0 where there is none."""
    text, wanted = b"", [stop.encode() for stop in stops]
    for place, piece in enumerate(pieces):
        text += piece
        if any(stop in text for stop in wanted):
            return place + 1
    return 0


def served_model(url: str, *, name: str | None = None, kind: Kind | None = None) -> ServedModel:
    """A model that a vLLM server with the plugin rauq-vllm runs at this address, such as http://127.0.0.1:8000.

    `name`: which of the models that it serves; needed where there are several. `kind`: that of `rauq.load_model`;
    prompts of an "instruct" model are sent as messages, those of a "base" model are completed. The server is asked for
    a token or two, to see what it returns. A key that it wants is read from the environment, VLLM_API_KEY.

    Raises:
        InvalidInput: no address, or a server without the plugin.
        ModelNotFound: it does not serve a model of this name.
        EngineStopped: nothing answers there.
    """
    check_kind(kind)
    place = checked_address(url)
    with malformed_is_invalid():
        card = _card(json_of(f"{place}/v1/models")["data"], place, name)
    found = KindAndReason(kind, "as asked for") if kind else _kind(place, card)
    body = {"model": card.name, "prompt": _PROBE, "max_tokens": 1, **_GREEDY}
    probe = from_vllm(json_of(f"{place}/v1/completions", request_for(body)), prompt=_PROBE)
    return ServedModel(
        url=place,
        name=card.name,
        kind=found.kind,
        why=found.why,
        adapter=card.adapter,
        context_length=card.context_length,
        revision=probe.revision,
        dtype=probe.dtype,
        quantisation=probe.quantisation,
        engine=probe.engine,
        layers=probe.layers,
        num_layers=probe.num_layers,
        num_heads=probe.num_heads,
        vocab_size=probe.vocab_size,
        offsets=probe.attention.shape[3],
    )


@dataclass(frozen=True, kw_only=True)
class _Card:
    """What a server says of a model: its name, where it was loaded from, its context, and its LoRA, if it is one."""

    name: str
    root: str
    context_length: int
    adapter: str = ""


def _card(served: Sequence[Mapping[str, Any]], place: str, name: str | None) -> _Card:
    cards = {str(entry["id"]): entry for entry in served}
    if name is None and len(cards) == 1:
        (name,) = cards
    if name not in cards:
        got = "no name was given" if name is None else f"got {name!r}"
        message = f"The server at {place} serves {', '.join(cards) or 'no model'}; {got}. Give one of its models."
        raise ModelNotFound(message)
    card = cards[name]
    adapted = cards.get(card.get("parent") or "", card)
    return _Card(
        name=name,
        root=str(adapted.get("root") or adapted["id"]),
        context_length=int(adapted["max_model_len"]),
        adapter=str(card.get("root") or name) if card.get("parent") else "",
    )


@dataclass(frozen=True)
class _Template:
    """Whether there is a chat template, as `kind_of` asks it of a tokenizer."""

    chat_template: str | None


def _kind(place: str, card: _Card) -> KindAndReason:
    """The kind of a model, as of one that is loaded; whether it has a chat template is tried."""
    body = {"model": card.name, "messages": [{"role": "user", "content": _PROBE}], "max_tokens": 1, **_GREEDY}
    try:
        json_of(f"{place}/v1/chat/completions", body)
        template = _Template("that of the server")
    except InvalidInput:
        template = _Template(None)
    return kind_of([card.name, card.root], template)
