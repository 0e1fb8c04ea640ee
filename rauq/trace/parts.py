"""The parts of an answer of a reasoning model: its thinking, and the answer proper, each as a trace of its own."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from rauq.trace.thinking import has_marks
from rauq.trace.trace import Part, StopReason, Trace


def tokens_in(answer_tokens: Sequence[str], spans: Iterable[tuple[int, int]]) -> np.ndarray:
    """Tokens that share a character with one of the spans, each from a first character to before a last: (N,) bool."""
    ends = np.cumsum([len(text) for text in answer_tokens])
    starts = ends - [len(text) for text in answer_tokens]
    inside = np.zeros(len(answer_tokens), dtype=bool)
    for first, last in spans:
        inside |= (starts < last) & (ends > first)
    return inside


def shows_text(trace: Trace) -> np.ndarray:
    """Which tokens of an answer show text, being neither white space alone nor the end token: (N,) bool."""
    return pieces_with_text(trace.pieces, ended=trace.stop_reason == "eos" and not trace.answer_tokens[-1])


def pieces_with_text(pieces: Sequence[bytes], *, ended: bool) -> np.ndarray:
    """Which tokens show text, by their bytes: (N,) bool. `ended`: the last is an end token, which names itself."""
    shown = np.array([bool(piece.strip()) for piece in pieces])
    if ended:
        shown[-1] = False
    return shown


NO_PART = MappingProxyType(
    {
        "answer": "the model was still thinking when the answer ended, so it has no answer part",
        "thinking": "this answer has no thinking part",
    }
)


def span_of(thinking: tuple[int, int] | None, num_tokens: int, part: Part) -> tuple[int, int]:
    """The tokens of a part of an answer, as (start, stop), stop exclusive; start equals stop where it has none.

    The answer part is what follows the thinking.
    """
    if part == "thinking":
        return thinking or (0, 0)
    return (thinking[1] if thinking and part == "answer" else 0), num_tokens


def part_of(trace: Trace, part: Part) -> Trace | None:
    """A part of an answer as if it were the whole: what comes before it becomes prompt; None where it has no token.

    `prompt` and `messages` stay those of the whole, so that no thinking is read as a question. Of the extras,
    `lookback` and `part_shares` are kept only for a part that begins the answer: they have one number for the answer so
    far, which cannot be split into tokens before the part and tokens in it. `hidden` and `hidden_mean` are kept only
    for a part that ends the answer, since `hidden` is the state of the last token alone, and `hidden_mean` of all that
    was fed; for a part of one token that follows others `hidden` is nan, since it would have to be a mean over the
    prompt. Unknown extras are dropped.
    """
    num_tokens = len(trace.answer_ids)
    start, stop = span_of(trace.thinking, num_tokens, part)
    if start == stop:
        return None
    if trace.thinking is None or part == "all":
        return trace
    reason = trace.stop_reason if stop == num_tokens else "given"
    return replace(_cut(trace, start, stop), thinking=None, stop_reason=reason)


def first_tokens(trace: Trace, count: int) -> Trace:
    """The first tokens of an answer, as if the limit of tokens had ended it there; `count` from 1 to N - 1.

    An answer that was given stays one. The extras are those that `part_of` keeps.
    """
    thinking = trace.thinking and (min(trace.thinking[0], count), min(trace.thinking[1], count))
    has_thinking = thinking is not None and thinking[0] < thinking[1]
    reason: StopReason = "given" if trace.stop_reason == "given" else "length"
    return replace(_cut(trace, 0, count), thinking=thinking if has_thinking else None, stop_reason=reason)


def _cut(trace: Trace, start: int, stop: int) -> Trace:
    """The tokens of an answer from `start` to before `stop`; what comes before becomes prompt."""
    tokens = slice(start, stop)
    return replace(
        trace,
        thinking=None,
        stop_reason="given",
        prompt_ids=np.concatenate([trace.prompt_ids, trace.answer_ids[:start]]),
        answer_ids=trace.answer_ids[tokens],
        answer_tokens=trace.answer_tokens[tokens],
        pieces=trace.pieces[tokens],
        logprobs=trace.logprobs[tokens],
        entropies=trace.entropies[tokens],
        alternatives=trace.alternatives[tokens],
        attention=trace.attention[:, :, start : stop + 1],  # row r is the query at position M - 1 + r
        extras=_extras(trace, start, stop),
        wrong=tuple(token - start for token in trace.wrong if start <= token < stop),
    )


def thinking_never_closed(trace: Trace) -> bool:
    """Whether all of a finished answer counts as thinking only because the prompt opens it, and nothing closes it.

    It may be the answer itself, pasted without its thinking: `Settings(part="all")` scores it as that.
    """
    is_finished = trace.stop_reason in ("given", "eos", "stop")
    is_all = trace.thinking == (0, len(trace.answer_ids))
    return is_finished and is_all and not has_marks(b"".join(trace.pieces))


def answer_text(trace: Trace) -> str:
    """The answer without thinking and without the text of an end token: what is judged."""
    answer = part_of(trace, "answer")
    return "" if answer is None else answer.answer


def _extras(trace: Trace, start: int, stop: int) -> dict[str, np.ndarray]:
    num_tokens, tokens = len(trace.answer_ids), slice(start, stop)
    kept = {
        "max_attention": (tokens, tokens),
        "diagonal": (slice(None), slice(len(trace.prompt_ids) + stop)),
        "focus": (tokens,),
        "hidden_layers": (slice(None), tokens),
        "logit_lens": (slice(None), tokens),
        "attention_entropy": (slice(None), slice(None), tokens),
        "mean_logprob": (tokens,),
    }
    if stop == num_tokens:
        kept |= {"hidden": (), "hidden_mean": ()}
    if start == 0:
        kept |= dict.fromkeys(("lookback", "part_shares"), (slice(None), slice(None), tokens))
    extras = {name: trace.extras[name][places] for name, places in kept.items() if name in trace.extras}
    if "hidden" in extras and stop - start == 1 < num_tokens:
        extras["hidden"] = np.full_like(extras["hidden"], np.nan)
    return extras
