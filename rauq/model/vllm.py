"""The trace of an answer that a vLLM server gave, whose plugin rauq-vllm returns the attention."""

import base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from rauq.errors import InvalidInput, NotCaptured
from rauq.trace.messages import Message, PromptForm, messages_of
from rauq.trace.thinking import PROMPT_TOKENS, thinking_span
from rauq.trace.trace import Alternative, Kind, StopReason, Trace

SCHEMA = 1  # of what rauq-vllm returns
REQUEST: Mapping[str, Any] = {
    "logprobs": True,
    "top_logprobs": 10,
    "return_token_ids": True,
    "return_prompt_text": True,
    "kv_transfer_params": {"rauq": True},
}
"""What the body of a chat completion needs besides its messages, for `from_vllm`."""
_OF_MESSAGES = ("top_logprobs", "return_prompt_text")  # what the body of a completion has no place for

_MALFORMED = (KeyError, TypeError, IndexError, AttributeError, ValueError, StopIteration)
_ENDS: Mapping[str, StopReason] = {"length": "length", "abort": "cancelled"}


def request_for(body: Mapping[str, Any]) -> dict[str, Any]:
    """The body of a request for attention: of a chat completion, or of a completion where it has a prompt."""
    if "prompt" not in body:
        return {**body, **REQUEST}
    asked = {name: value for name, value in REQUEST.items() if name not in _OF_MESSAGES}
    return {**body, **asked, "logprobs": REQUEST["top_logprobs"]}


class _Dumps(Protocol):
    """An answer as the package openai gives it."""

    def model_dump(self) -> dict[str, Any]: ...


def from_vllm(
    response: Mapping[str, Any] | _Dumps | Sequence[Mapping[str, Any] | _Dumps],
    *,
    messages: Sequence[Message | Mapping[str, Any]] = (),
    prompt: str = "",
    kind: Kind = "instruct",
) -> Trace:
    """The trace of an answer of a vLLM server that has the plugin rauq-vllm, for a request with `REQUEST`.

    `response` is the JSON of a chat completion, or the object of the package openai; for a stream, the list of its
    chunks, of a server with the plugin's middleware. `messages`: what was sent; without them, the prompt is the text
    that the server made of them. A completion continues a `prompt`; the body of its request is
    `rauq.model.vllm.request_for({"prompt": prompt})`. The last row of attention is nan, since vLLM does not compute the
    query of the last token. Alternatives other than the token itself have the id -1.

    Raises:
        InvalidInput: the response has several choices, is a stream without its end, or lacks what `REQUEST` asks for.
        NotCaptured: the server lost the attention or the entropy of a token.

    Example:
        >>> token = {"token": "Yes", "logprob": -0.5, "bytes": [89, 101, 115], "top_logprobs": []}
        >>> choice = {"token_ids": [7], "logprobs": {"content": [token]}, "finish_reason": "length"}
        >>> found = {"schema": 1, "engine": "vllm 0.32.0", "dtype": "float32", "quantisation": "", "revision": ""}
        >>> found |= {"num_layers": 1, "vocab_size": 9, "layers": [0], "entropies": [0.7]}
        >>> found |= {"shape": [1, 1, 1, 1], "attention": "AAAAPw=="}
        >>> response = {"model": "mine", "choices": [choice], "kv_transfer_params": {"rauq": found}}
        >>> rauq.from_vllm(response | {"prompt_token_ids": [3, 4], "prompt_text": "Is it?"})
        Trace(mine, 'Yes', 2 + 1 tokens, 1 layers of 1 heads)
    """
    said = messages_of(messages) if messages else ()
    with malformed_is_invalid():
        parts = [_dumped(part) for part in (response if isinstance(response, Sequence) else [response])]
        given = _joined(parts) if isinstance(response, Sequence) else parts[0]
        return _trace(as_chat(given, prompt), said, kind)


@contextmanager
def malformed_is_invalid() -> Iterator[None]:
    """While a response of a server is read: what is missing in it, or of another form, is an `InvalidInput`."""
    try:
        yield
    except InvalidInput:
        raise
    except _MALFORMED as error:
        wanted = ", ".join(f"{name}={value!r}" for name, value in REQUEST.items())
        message = (
            f"This response of vLLM lacks what a trace is made of ({type(error).__name__}: {error}). Ask for it with "
            f"{wanted}, of a server that has the plugin rauq-vllm, and for a stream its middleware."
        )
        raise InvalidInput(message) from error


def _dumped(part: Mapping[str, Any] | _Dumps) -> Mapping[str, Any]:
    return part if isinstance(part, Mapping) else part.model_dump()


def _joined(chunks: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The response that the chunks of a stream make up: the first has the prompt, the last the attention."""
    choices = [choice for chunk in chunks for choice in chunk["choices"]]
    if any(choice["index"] for choice in choices):
        message = "This stream has several choices, and the attention of one. Ask with n=1."
        raise InvalidInput(message)
    said = [choice["logprobs"] for choice in choices if choice.get("logprobs")]
    last = next(choice for choice in choices if choice.get("finish_reason"))
    whole = {
        **last,
        "token_ids": [token for choice in choices for token in choice.get("token_ids") or ()],
        "logprobs": {"content": [row for one in said for row in one["content"]]},
    }
    return {**chunks[0], "choices": [whole], "kv_transfer_params": {"rauq": last["delta"]["rauq"]}}


def as_chat(given: Mapping[str, Any], prompt: str = "") -> Mapping[str, Any]:
    """A completion of a `prompt` in the shape of a chat completion; a chat completion stays as it is."""
    if not any("text" in choice for choice in given["choices"]):
        return given
    ids, choices = given["choices"][0]["prompt_token_ids"], list(map(_choice_as_chat, given["choices"]))
    return {**given, "choices": choices, "prompt_token_ids": ids, "prompt_text": prompt, "is_completion": True}


def continued(responses: Sequence[Mapping[str, Any]], *, count: int, stopped: bool) -> Mapping[str, Any]:
    """One response of several whose prompts are the first one's with the answer so far, each in the shape of a chat's.

    It has the first `count` tokens; `stopped`: whether a stop string is why there are no more.
    """
    choices, found = [given["choices"][0] for given in responses], [_found(given) for given in responses]
    rows = np.concatenate([_rows(each) for each in found], axis=2)[:, :, :count]
    choice = {
        **choices[-1],
        "token_ids": [token for each in choices for token in each["token_ids"]][:count],
        "logprobs": {"content": [row for each in choices for row in each["logprobs"]["content"]][:count]},
    }
    choice |= {"stop_reason": "", "finish_reason": "stop"} if stopped else {}
    band = {"shape": list(rows.shape), "attention": base64.b64encode(rows.astype("<f4").tobytes()).decode()}
    band["entropies"] = [entropy for each in found for entropy in each["entropies"]][:count]
    return {**responses[0], "choices": [choice], "kv_transfer_params": {"rauq": {**found[0], **band}}}


def _choice_as_chat(choice: Mapping[str, Any]) -> Mapping[str, Any]:
    said = choice["logprobs"]
    rows = [
        {"token": token, "logprob": logprob, "bytes": token.encode(), "top_logprobs": _as_list(others)}
        for token, logprob, others in zip(said["tokens"], said["token_logprobs"], said["top_logprobs"], strict=True)
    ]
    return {name: value for name, value in choice.items() if name != "text"} | {"logprobs": {"content": rows}}


def _as_list(alternatives: Mapping[str, float] | None) -> list[dict[str, Any]]:
    ranked = sorted((alternatives or {}).items(), key=lambda entry: -entry[1])
    return [{"token": token, "logprob": logprob} for token, logprob in ranked[: REQUEST["top_logprobs"]]]


def last_row_of(response: Mapping[str, Any]) -> np.ndarray:
    """The weights (L, H, K) of the query of the last prompt token, of a completion for a request with `request_for`.

    Raises:
        InvalidInput: the response lacks them.
        NotCaptured: the server lost them.
    """
    return from_vllm(response).attention[:, :, 0]


def _trace(given: Mapping[str, Any], messages: tuple[Message, ...], kind: Kind) -> Trace:
    if len(given["choices"]) != 1:
        message = f"This response has {len(given['choices'])} choices, and the attention of one. Ask with n=1."
        raise InvalidInput(message)
    choice = given["choices"][0]
    if given["kv_transfer_params"] is None and isinstance(choice.get("stop_reason"), str):
        message = "vLLM ends an answer at a stop string without returning its attention. Ask without stop strings."
        raise InvalidInput(message)
    found = _found(given)
    rows, ids = choice["logprobs"]["content"], choice["token_ids"]
    pieces = tuple(bytes(row["bytes"] or ()) for row in rows)
    ended = _stop_reason(choice)
    return Trace(
        prompt=messages[-1].content if messages else given["prompt_text"],
        prompt_form=_form(given, messages),
        messages=messages,
        model=given["model"],
        revision=found["revision"],
        dtype=found["dtype"],
        quantisation=found["quantisation"],
        engine=found["engine"],
        kind=kind,
        chat_applied="is_completion" not in given,
        stop_reason=ended,
        layers=tuple(found["layers"]),
        num_layers=found["num_layers"],
        vocab_size=found["vocab_size"],
        prompt_ids=np.array(given["prompt_token_ids"], dtype=np.int64),
        answer_ids=np.array(ids, dtype=np.int64),
        answer_tokens=_texts(pieces, ended),
        pieces=pieces,
        logprobs=np.array([row["logprob"] for row in rows], dtype=np.float32),
        entropies=_entropies(found, len(ids)),
        alternatives=tuple(_alternatives(row, number) for row, number in zip(rows, ids, strict=True)),
        attention=_attention(found, len(ids)),
        thinking=thinking_span([given.get("prompt_text", "")[-PROMPT_TOKENS:].encode()], pieces),
    )


def _form(given: Mapping[str, Any], messages: tuple[Message, ...]) -> PromptForm:
    if "is_completion" in given:
        return "text"
    return "messages" if messages else "templated"


def _found(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the plugin returned.

    Raises:
        InvalidInput: it is of another version.
    """
    found: Mapping[str, Any] = given["kv_transfer_params"]["rauq"]
    if found["schema"] != SCHEMA:
        message = (
            f"rauq-vllm returned schema {found['schema']!r}, and this version of rauq reads {SCHEMA}. Update either."
        )
        raise InvalidInput(message)
    return found


def _stop_reason(choice: Mapping[str, Any]) -> StopReason:
    if isinstance(choice.get("stop_reason"), str):
        return "stop"
    return _ENDS.get(choice["finish_reason"], "eos")


def _texts(pieces: Sequence[bytes], ended: StopReason) -> tuple[str, ...]:
    """The text of each token; vLLM gives a character that several tokens share to the last of them."""
    texts = [piece.decode() for piece in pieces]
    return tuple([*texts[:-1], ""] if ended == "eos" else texts)


def _alternatives(row: Mapping[str, Any], chosen: int) -> tuple[Alternative, ...]:
    return tuple(
        Alternative(chosen if _is_same(entry, row) else -1, entry["token"], entry["logprob"])
        for entry in row.get("top_logprobs") or ()
    )


def _is_same(entry: Mapping[str, Any], row: Mapping[str, Any]) -> bool:
    """Whether an alternative is the token itself: several tokens can have one text, such as parts of characters."""
    return (entry["token"], entry["logprob"]) == (row["token"], row["logprob"])


def _entropies(found: Mapping[str, Any], num_tokens: int) -> np.ndarray:
    entropies = np.array(found["entropies"], dtype=np.float32)
    _check_rows("entropies", np.isnan(entropies), num_tokens)
    return entropies


def _attention(found: Mapping[str, Any], num_tokens: int) -> np.ndarray:
    """The rows (L, H, N + 1, K), the last of them nan."""
    rows = _rows(found)
    _check_rows("attention", np.isnan(rows[..., 0]).any(axis=(0, 1)), num_tokens)
    return np.concatenate([rows, np.full_like(rows[:, :, :1], np.nan)], axis=2)


def _rows(found: Mapping[str, Any]) -> np.ndarray:
    """The rows (L, H, N, K) as the server returned them."""
    return np.frombuffer(base64.b64decode(found["attention"]), "<f4").reshape(found["shape"])


def _check_rows(what: str, is_lost: Any, num_tokens: int) -> None:
    """Refuse an answer of which the server lost something, given for which tokens (N,) it did.

    Raises:
        NotCaptured: it did.
        ValueError: it says that of another number of tokens.
    """
    if len(is_lost) != num_tokens:
        message = f"{what} of {len(is_lost)} tokens for {num_tokens}"
        raise ValueError(message)
    if is_lost.any():
        message = f"The server lost the {what} of {is_lost.sum()} of {num_tokens} tokens; its log says why. Ask again."
        raise NotCaptured(message)
