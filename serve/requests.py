"""What a client asks for: every field is honoured, without effect on the text, or refused by its name."""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from rauq.arguments import Sampling
from rauq.trace.trace import NUM_ALTERNATIVES
from serve.refusals import Refusal

MOST_CHOICES = 8  # answers to one request
_MOST_STOPS = 16
_LONGEST_STOP = 256  # characters: so much text may be held back

WITHOUT_EFFECT = frozenset(
    "user metadata store service_tier safety_identifier prompt_cache_key prompt_cache_retention".split()
)
# Neutral values, with which a field changes nothing. So does null.
NEUTRAL: Mapping[str, object] = MappingProxyType(
    {
        "frequency_penalty": 0,
        "presence_penalty": 0,
        "logit_bias": {},
        "tools": [],
        "tool_choice": "none",
        "functions": [],
        "function_call": "none",
        "response_format": {"type": "text"},
        "modalities": ["text"],
        "best_of": 1,
        "echo": False,
        "suffix": "",
    }
)

Whole = Annotated[int, Field(ge=1)]
Stop = Annotated[str, Field(min_length=1, max_length=_LONGEST_STOP)]
Ids = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=1)]


class StreamOptions(BaseModel):
    """Options of a stream."""

    model_config = ConfigDict(extra="forbid", strict=True)

    include_usage: bool = False


class Request(BaseModel):
    """What requests of both kinds have in common.

    `rauq`: whether the client wants RAUQ's numbers; so it does where it asks for log-probabilities.
    """

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)

    model: str
    stream: bool = False
    stream_options: StreamOptions | None = None
    max_tokens: Whole | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    n: Annotated[int, Field(ge=1, le=MOST_CHOICES)] = 1
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = None
    stop: Stop | Annotated[list[Stop], Field(max_length=_MOST_STOPS)] = []
    rauq: bool = False

    @property
    def stops(self) -> tuple[str, ...]:
        """The texts that end an answer."""
        return (self.stop,) if isinstance(self.stop, str) else tuple(self.stop)

    @property
    def include_usage(self) -> bool:
        """Whether a last chunk of the stream has the numbers of tokens."""
        return self.stream_options is not None and self.stream_options.include_usage

    def sampling(self, seed: int) -> Sampling | None:
        """How an answer is drawn; None: greedily, as everywhere in RAUQ where nothing asks for anything else."""
        drawn = self.n > 1 or self.top_p is not None
        temperature = float(drawn) if self.temperature is None else self.temperature
        top_p = 1.0 if self.top_p is None else self.top_p
        return Sampling(temperature=temperature, top_p=top_p, top_k=0, seed=seed) if temperature and top_p else None


class ChatRequest(Request):
    """A request to `/v1/chat/completions`."""

    messages: Annotated[list[dict[str, Any]], Field(min_length=1)]
    max_completion_tokens: Whole | None = None
    logprobs: bool = False
    top_logprobs: Annotated[int, Field(ge=0, le=NUM_ALTERNATIVES)] | None = None

    @property
    def prompts(self) -> list[list[dict[str, Any]]]:
        """The one conversation, without what an earlier answer of this server has beside its text."""
        return [[{k: v for k, v in one.items() if v is not None and k != "rauq"} for one in self.messages]]

    @property
    def most_tokens(self) -> int | None:
        """The most tokens of an answer; None where the client leaves that to the server."""
        return self.max_tokens if self.max_completion_tokens is None else self.max_completion_tokens

    @property
    def alternatives(self) -> int | None:
        """How many of the most probable tokens it wants in each place; None: no log-probabilities at all."""
        return (self.top_logprobs or 0) if self.logprobs else None


class CompletionRequest(Request):
    """A request to `/v1/completions`."""

    prompt: str | Ids | Annotated[list[str] | list[Ids], Field(min_length=1, max_length=MOST_CHOICES)]
    logprobs: Annotated[int, Field(ge=0, le=NUM_ALTERNATIVES)] | None = None

    @property
    def prompts(self) -> list[str | list[int]]:
        """The prompts, each with `n` answers."""
        one = isinstance(self.prompt, str) or isinstance(self.prompt[0], int)
        prompts: Any = [self.prompt] if one else self.prompt
        return list(prompts)

    @property
    def most_tokens(self) -> int:
        """The most tokens of an answer: 16 where the client does not say, as OpenAI has it."""
        return 16 if self.max_tokens is None else self.max_tokens

    @property
    def alternatives(self) -> int | None:
        """How many of the most probable tokens it wants in each place; None: no log-probabilities at all."""
        return self.logprobs


Kind = Literal["chat", "text"]
AnyRequest = ChatRequest | CompletionRequest


def read_request(body: bytes, kind: Kind) -> AnyRequest:
    """The request in a body.

    Raises:
        Refusal: no JSON object, or a field that is not understood; the message names it.
    """
    try:
        given = from_json(body)
    except ValueError as error:
        message = f"The body is not JSON ({error})."
        raise Refusal(400, message) from error
    if not isinstance(given, dict):
        message = f"The body is {type(given).__name__}; send a JSON object."
        raise Refusal(400, message)
    asked = {name: value for name, value in given.items() if not _is_neutral(name, value)}
    try:
        request = (ChatRequest if kind == "chat" else CompletionRequest).model_validate(asked)
    except ValidationError as error:
        raise _refused(error) from error
    _check_together(request)
    return request


def _is_neutral(name: str, value: object) -> bool:
    return value is None or name in WITHOUT_EFFECT or (name in NEUTRAL and value == NEUTRAL[name])


def _refused(error: ValidationError) -> Refusal:
    first = error.errors(include_url=False, include_context=False)[0]
    name = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        got = json.dumps(first["input"], default=str)[:60]
        neutral = f" Leave it out, or send {json.dumps(NEUTRAL[name])}." if name in NEUTRAL else " Leave it out."
        return Refusal(400, f"{name[:60]} is not supported here; got {got}.{neutral}", param=name[:60])
    where = ".".join(str(part) for part in first["loc"] if isinstance(part, int) or part == name)
    return Refusal(400, f"{where}: {first['msg']}.", param=name)


def _check_together(request: AnyRequest) -> None:
    """Refuse fields that do not fit each other."""
    if request.stream_options is not None and not request.stream:
        message = "stream_options is only for stream: true. Leave it out."
        raise Refusal(400, message, param="stream_options")
    if isinstance(request, ChatRequest):
        if request.top_logprobs is not None and not request.logprobs:
            message = "top_logprobs needs logprobs: true."
            raise Refusal(400, message, param="top_logprobs")
        both = request.max_tokens, request.max_completion_tokens
        if None not in both and both[0] != both[1]:
            message = f"max_tokens and max_completion_tokens differ: {both[0]} and {both[1]}. Leave one out."
            raise Refusal(400, message, param="max_tokens")
    elif len(request.prompts) * request.n > MOST_CHOICES:
        message = f"Got {len(request.prompts)} prompts with n={request.n}: at most {MOST_CHOICES} answers are given."
        raise Refusal(400, message, param="n")
