"""Answers as OpenAI's clients read them: whole, or as the chunks of a stream."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from serve.job import Ended, Ending
from serve.numbers import Scored, token_numbers
from serve.requests import Kind

_FINISH: Mapping[Ending, str] = {
    "eos": "stop",
    "stop": "stop",
    "alarm": "stop",
    "cancelled": "stop",
    "length": "length",
    "time": "length",
}
_OBJECTS: Mapping[tuple[Kind, bool], str] = {
    ("chat", False): "chat.completion",
    ("chat", True): "chat.completion.chunk",
    ("text", False): "text_completion",
    ("text", True): "text_completion",
}
_LEAST_LOGPROB = -9999.0  # for a probability of 0, as OpenAI has it: JSON knows no infinity


@dataclass(frozen=True, kw_only=True)
class Head:
    """What all chunks of a response have in common."""

    kind: Kind
    id: str
    model: str
    fingerprint: str
    created: int = field(default_factory=lambda: int(time.time()))

    def response(self, choices: Sequence[Mapping[str, Any]], *, chunk: bool, usage: object = None) -> dict[str, Any]:
        """A response, or a chunk of one, with these choices; a chunk has `usage` only where it was wanted."""
        return {
            "id": self.id,
            "object": _OBJECTS[self.kind, chunk],
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.fingerprint,
            "choices": list(choices),
            **({} if usage is None else {"usage": usage}),
        }

    def first(self, index: int) -> list[dict[str, Any]]:
        """The first chunk of a streamed chat, which has the role."""
        if self.kind == "text":
            return []
        delta = {"role": "assistant", "content": ""}
        return [{"index": index, "delta": delta, "logprobs": None, "finish_reason": None}]

    def piece(self, index: int, text: str, logprobs: object, numbers: object = None) -> dict[str, Any]:
        """A choice of a chunk: more text; `numbers` are those of the whole answer, in the last one with text."""
        own = {} if numbers is None else {"rauq": numbers}
        if self.kind == "text":
            return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": None, **own}
        return {"index": index, "delta": {"content": text, **own}, "logprobs": logprobs, "finish_reason": None}

    def last(self, index: int, ended: Ended) -> dict[str, Any]:
        """The choice of the chunk that says how an answer has ended."""
        body: dict[str, Any] = {"text": ""} if self.kind == "text" else {"delta": {}}
        return {"index": index, **body, "logprobs": None, "finish_reason": _FINISH[ended.ending]}

    def whole(self, index: int, ended: Ended, logprobs: object, numbers: object = None) -> dict[str, Any]:
        """The choice of a response that is not streamed."""
        own = {} if numbers is None else {"rauq": numbers}
        end = {"logprobs": logprobs, "finish_reason": _FINISH[ended.ending]}
        if self.kind == "text":
            return {"index": index, "text": ended.text, **end, **own}
        message = {"role": "assistant", "content": ended.text, "refusal": None, **own}
        return {"index": index, "message": message, **end}


def usage(num_prompt: int, ended: Sequence[Ended], numbers: object = None) -> dict[str, Any]:
    """The numbers of tokens, end tokens and those of a stop text among them."""
    count = sum(len(one.trace.answer_ids) for one in ended)
    own = {} if numbers is None else {"rauq": numbers}
    return {"prompt_tokens": num_prompt, "completion_tokens": count, "total_tokens": num_prompt + count, **own}


def logprobs_of(kind: Kind, found: Scored, *, first: int, alternatives: int) -> dict[str, Any]:
    """Log-probabilities of the tokens from a first one on, with as many alternatives as are wanted."""
    return _of_chat(found, first, alternatives) if kind == "chat" else _of_text(found, first, alternatives)


def _of_chat(found: Scored, first: int, alternatives: int) -> dict[str, Any]:
    content = [
        {
            "token": text,
            "logprob": _logprob(found.trace.logprobs[token]),
            "bytes": list(_bytes(found, token)),
            "top_logprobs": [
                {"token": one.text, "logprob": _logprob(one.logprob), "bytes": list(one.text.encode())}
                for one in found.trace.alternatives[token][:alternatives]
            ],
            "rauq": token_numbers(found, token),
        }
        for token, text in list(enumerate(found.texts))[first:]
    ]
    return {"content": content, "refusal": None}


def _bytes(found: Scored, token: int) -> bytes:
    """The bytes of a token; of one that a stop text cut, those of the rest."""
    text = found.texts[token]
    is_cut = text != found.trace.answer_tokens[token]
    return text.encode() if is_cut else found.trace.pieces[token]


def _of_text(found: Scored, first: int, alternatives: int) -> dict[str, Any]:
    tokens = range(first, len(found.texts))
    rows = [token_numbers(found, token) for token in tokens]
    most = [found.trace.alternatives[token][:alternatives] for token in tokens]
    return {
        "tokens": list(found.texts[first:]),
        "token_logprobs": [_logprob(found.trace.logprobs[token]) for token in tokens],
        "top_logprobs": [{one.text: _logprob(one.logprob) for one in row} for row in most] if alternatives else None,
        "text_offset": found.starts[first:],
        "rauq": {name: [row[name] for row in rows] for name in ("confidence", "collapse", "entropy")},
    }


def _logprob(value: float) -> float:
    return max(float(value), _LEAST_LOGPROB)
