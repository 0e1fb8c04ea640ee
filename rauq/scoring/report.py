"""One scored answer as values and sentences, for tables, pages and JSON."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from rauq.labels import about_weights, amount, number, running, token_labels
from rauq.scoring.empty import ENDINGS, empty_answer
from rauq.scoring.headline import LARGEST_HOLD, compared_span, headline_token, of_question, weak_tokens
from rauq.scoring.score import Score, collapse_token
from rauq.scoring.settings import Settings
from rauq.scoring.shown import head_in_words
from rauq.trace.attribution import about_attribution, weight_name
from rauq.trace.loops import loop_start
from rauq.trace.parts import span_of
from rauq.trace.trace import Part, Trace


def why_empty(trace: Trace, part: Part = "answer") -> str:
    """A sentence or two where a part has no text besides white space and an end token; empty where it has some."""
    found = empty_answer(trace, part)
    return found.what if found else ""


# At 1 nat, confidence is 37 % of the reference's. In correct answers of the embedded model the largest dip is smaller.
# Near the start of an answer even an impossible token may dip by only 0.7, where attention carries over the previous
# token's confidence, so values between this bound and LARGEST_HOLD are called neither "collapsed" nor "holds".
SMALLEST_COLLAPSE = 1.0


@dataclass(frozen=True, kw_only=True)
class SelectedHead:
    """The head selected in one layer of the window: -1 for the mean over all, None where no head was used.

    `mean_attention` is its mean weight on the previous answer token, `margin` how far that is above the best other
    head of the layer, `layer_score` the layer's uncertainty u_l.
    """

    layer: int
    head: int | None
    mean_attention: float
    margin: float
    layer_score: float


@dataclass(frozen=True, kw_only=True)
class CollapsePoint:
    """The answer token (from 0) at which confidence collapsed, in nats; signal and attention sum to the value."""

    token: int
    value: float
    signal_share: float
    attention_share: float


def mean_weights(trace: Trace, settings: Settings) -> np.ndarray:
    """Mean weight of each head on the previous token, over the scored part of the answer: (L, H).

    nan where the part has fewer than two tokens.

    Raises:
        NotCaptured: the alignment needs attention that the trace lacks.
    """
    start, stop = span_of(trace.thinking, len(trace.answer_ids), settings.part)
    weights = trace.previous_token_attention(settings.alignment)[:, :, start : max(start, stop - 1)]
    means: np.ndarray = weights.mean(axis=2) if weights.shape[2] else np.full(weights.shape[:2], np.nan)
    return means


def selected_heads(score: Score) -> tuple[SelectedHead, ...]:
    """The selected head of each layer of the window; nan where there is no previous answer token, or no other head."""
    start, stop = score.span
    weights = score.attention[:, start : max(start, stop - 1)]
    num_weights = weights.shape[-1]
    means = weights.mean(axis=-1) if num_weights else np.full(len(score.layers), np.nan)
    columns = (score.layers, score.heads, means, score.margins, score.layer_scores)
    return tuple(
        SelectedHead(
            layer=layer,
            head=int(head) if num_weights else None,
            mean_attention=float(mean),
            margin=float(margin),
            layer_score=float(layer_score),
        )
        for layer, head, mean, margin, layer_score in zip(*columns, strict=True)
    )


def collapse(trace: Trace, score: Score) -> CollapsePoint | None:
    """Where confidence collapsed: the largest collapse of a token that shows text, of any token where none does.

    None where the collapse of no token is defined.
    """
    return _point(score, collapse_token(trace, score))


def headline_point(trace: Trace, score: Score) -> CollapsePoint | None:
    """The collapse that a headline names, at `headline_token`; None where no collapse is defined."""
    return _point(score, headline_token(trace, score))


def _point(score: Score, token: int | None) -> CollapsePoint | None:
    if token is None:
        return None
    parts = settled(np.array([score.collapse[token], *score.collapse_shares[token]]))
    value, signal_share, attention_share = parts.tolist()
    return CollapsePoint(token=token, value=value, signal_share=signal_share, attention_share=attention_share)


_NOISE = 1e-9


def settled(differences: np.ndarray) -> np.ndarray:
    """Differences of logarithms without the noise of their computation, so that what is zero reads as zero."""
    return np.where(np.abs(differences) < _NOISE, 0.0, differences)


def weak_points(trace: Trace, score: Score, *, most: int = 3) -> tuple[int, ...]:
    """The first of `weak_tokens`, by their collapse: those of the largest collapse first."""
    return tuple(islice(weak_tokens(trace, score), most))


def uncertainty_sentence(score: Score) -> str:
    """The score and its purpose; empty where it is undefined, since `sentence` then gives the reason."""
    if math.isnan(score.uncertainty):
        return ""
    return f"Uncertainty {number(score.uncertainty, places=2)} (for ranking, not a probability)."


def sentence(trace: Trace, score: Score) -> str:
    """Where confidence collapsed, the shares of signal and attention, and the layer and head that give the score."""
    return ": ".join(sentence_halves(trace, score))


def sentence_halves(trace: Trace, score: Score) -> tuple[str, str]:
    """The two halves of `sentence`: the finding, for a headline, and its numbers, for a text."""
    collapse_point = headline_point(trace, score)
    if reason := why_empty(trace, score.settings.part):
        return "The answer is empty", reason
    if score.reasons.uncertainty:
        return "The score is undefined", f"{score.reasons.uncertainty}."
    if score.by == "surprisal" and collapse_point is not None:
        return _surprise(trace, score, collapse_point.token)
    if collapse_point is None:
        return "Where confidence collapsed is undefined", f"{score.reasons.collapse}."
    weight = weight_name(trace.attribution)
    where = f"at token {collapse_point.token}, “{token_labels(trace.pieces)[collapse_point.token]}”"
    shares = _shares(collapse_point, score, weight)
    detail = (
        f"{amount(collapse_point.value, places=2)} nats below the reference (p = 1 at every token){shares}."
        f"{_small_part(collapse_point, score, weight)}{_origin(score)}"
        f"{_of_question(trace, score, collapse_point.token)}"
    )
    return f"{_opening(collapse_point, collapse_token(trace, score))} {where}", detail


def _of_question(trace: Trace, score: Score, token: int) -> str:
    """That the largest collapse is at a word of the question, and whether the headline therefore names another one."""
    largest = collapse_token(trace, score)
    if largest is None or not of_question(trace)[largest]:
        return ""
    if largest == token:
        return " This is a word of the question."
    label, value = token_labels(trace.pieces)[largest], amount(float(score.collapse[largest]), places=2)
    return f" The largest collapse, {value} nats, is at token {largest}, “{label}”, a word of the question."


def _surprise(trace: Trace, score: Score, token: int) -> tuple[str, str]:
    """The name or the word with the largest surprisal, and its value."""
    start, stop = compared_span(score, token)
    text = running("".join(trace.answer_tokens[start:stop]).strip())
    value = amount(float(score.collapse[token]), places=2)
    first = ", minus the entropy there, which is what to expect of the first token" if token == score.span[0] else ""
    detail = (
        f"Surprisal {value} nats at token {token}, −log p{first}: the largest of the names and numbers that are not in "
        "the question, or of other words where there are none. Attention is no part of this score."
    )
    return f"Most surprising: “{text}”", detail


def _opening(collapse_point: CollapsePoint, largest: int | None) -> str:
    if collapse_point.value >= SMALLEST_COLLAPSE:
        return "Confidence collapsed"
    if collapse_point.token != largest:
        return "Besides words of the question, confidence dips most"
    return "Confidence dips most" if collapse_point.value > LARGEST_HOLD else "Confidence holds; its largest dip is"


def _shares(collapse_point: CollapsePoint, score: Score, weight: str) -> str:
    if math.isnan(collapse_point.signal_share + collapse_point.attention_share):
        return ""
    by_signal, by_attention = _rounded(collapse_point)
    signal, attention = number(by_signal, places=2), number(by_attention, places=2)
    return f", {signal} from {score.settings.signal} and {attention} from {weight}"


SMALL_PART = 0.1  # of a collapse: what changes it by less hardly matters there


def _small_part(collapse_point: CollapsePoint, score: Score, weight: str) -> str:
    """That signal or attention hardly matters at the largest collapse, where its computed share is small."""
    if collapse_point.value <= 0:
        return ""
    if collapse_point.token == score.span[0] and collapse_point.attention_share == 0:
        return f" The first token has no previous one, so {weight} has no part in it."
    shares = {score.settings.signal or "signal": collapse_point.signal_share, weight: collapse_point.attention_share}
    small = [(name, abs(share) / collapse_point.value) for name, share in shares.items()]
    return "".join(
        f" {name[:1].upper()}{name[1:]} changes it by {_in_percent(share)} %."
        for name, share in small
        if share <= SMALL_PART
    )


def _in_percent(share: float) -> str:
    return "less than 1" if 0 < share < 0.01 else f"only {number(100 * share, places=0)}"


def attention_adds_little(trace: Trace, score: Score) -> bool:
    """Whether attention hardly matters at the largest collapse, and a smaller alpha would give it more weight."""
    found, settings = headline_point(trace, score), score.settings
    if found is None or why_empty(trace, settings.part) or settings.update != "rauq" or (settings.alpha or 0) <= 0.5:
        return False
    return abs(found.attention_share) <= SMALL_PART * found.value


def _rounded(collapse_point: CollapsePoint) -> tuple[float, float]:
    """The two shares to 2 decimals; the larger is the rounded value minus the smaller, so that they add up."""
    value, signal, attention = (
        round(part, 2) for part in (collapse_point.value, collapse_point.signal_share, collapse_point.attention_share)
    )
    if abs(collapse_point.signal_share) >= abs(collapse_point.attention_share):
        return value - attention, attention
    return signal, value - signal


def prompt_note(trace: Trace) -> str:
    """How the prompt was given, to follow the model's kind in a sentence; empty for plain text."""
    count = len(trace.messages)
    notes = {
        "text": "chat template applied" if trace.chat_applied else "",
        "templated": "prompt already contains the chat template, none applied",
        "ids": "prompt given as token ids",
        "messages": f"chat template applied to {count} message{'' if count == 1 else 's'}",
    }
    options = ", ".join(f"{name}={value!r}" for name, value in trace.template_options.items())
    return notes[trace.prompt_form] + (f" with {running(options)}" if options else "")


def was_given(trace: Trace) -> bool:
    """Whether somebody else than the model wrote the answer, and none of it was sampled.

    An answer that ends with the end token may also be a branch, in which the user chose one token and the model went
    on: it was given only if more than one token is not the most probable one.
    """
    if trace.stop_reason != "eos" or trace.sampling is not None:
        return trace.stop_reason == "given"
    rows = zip(trace.answer_ids.tolist(), trace.alternatives, strict=True)
    return sum(row[0].id != token for token, row in rows if row) > 1


ONE_TOKEN = "RAUQ uses attention between answer tokens. This answer has one token, so no head was selected."
BLIND_TO_TOKENS = "Entropy does not depend on which token was given; the probability signal does."


def writer_of(trace: Trace) -> str:
    """Who wrote the answer, as a phrase."""
    model = f"{running(trace.model)} ({trace.kind})"
    return f"written by another, read by {model}" if was_given(trace) else f"generated by {model}"


def cautions(trace: Trace, score: Score) -> tuple[str, ...]:
    """What limits a score, as sentences: for readers of the answer, wherever it is shown or stored."""
    start = loop_start(trace)
    repeats = "" if start is None else loop_sentence(start)
    return tuple(filter(None, (*_about_writer(trace, score), one_token_note(trace, score), repeats)))


def _about_writer(trace: Trace, score: Score) -> tuple[str, ...]:
    if not was_given(trace):
        return ()
    about = f"This answer was {writer_of(trace)}: the score is of how uncertain this model is about the text."
    is_blind = score.by == "rauq" and score.settings.signal == "entropy"
    return (about, BLIND_TO_TOKENS) if is_blind else (about,)


def one_token_note(trace: Trace, score: Score) -> str:
    """That no head was selected, where the scored part is one token; empty elsewhere."""
    is_one = score.span[1] - score.span[0] == 1 and not why_empty(trace, score.settings.part)
    return ONE_TOKEN if is_one and score.by == "rauq" else ""


def loop_sentence(start: int) -> str:
    """That an answer repeats itself from this token on, and that the score includes the repetition."""
    return f"The answer repeats itself from token {start} to its end, and the repetition counts in the score."


def ending(trace: Trace) -> str:
    """How the answer ended, and the settings of sampling if it was sampled."""
    sampling = trace.sampling
    if sampling is None:
        is_read = trace.stop_reason == "eos" and was_given(trace)
        return "ends with the end token" if is_read else ENDINGS[trace.stop_reason]
    seed = "no seed" if sampling.seed is None else f"seed {sampling.seed}"
    how = f"temperature {sampling.temperature:g}, top-p {sampling.top_p:g}, top-k {sampling.top_k}, {seed}"
    return f"{ENDINGS[trace.stop_reason]}, sampled with {how}"


def as_json(trace: Trace, score: Score) -> dict[str, object]:
    """The answer, its score and its tokens, ready for `json.dumps`.

    The keys are always the same. Numbers are finite or null, and `undefined` gives the reason for every name that
    is null somewhere. Tokens, layers and heads count from 0; logarithms and entropies are in nats.
    """
    collapse_point = collapse(trace, score)
    record: dict[str, object] = {
        "model": trace.model,
        "revision": trace.revision,
        "kind": trace.kind,
        "dtype": trace.dtype,
        "quantisation": trace.quantisation,
        "adapter": trace.adapter,
        "engine": trace.engine,
        "chat_applied": trace.chat_applied,
        "prompt": trace.prompt,
        "prompt_form": trace.prompt_form,
        "messages": [message.as_dict() for message in trace.messages],
        "template_options": dict(trace.template_options),
        "answer": trace.answer,
        "writer": writer_of(trace),
        "cautions": list(cautions(trace, score)),
        "stop_reason": trace.stop_reason,
        "sampling": asdict(trace.sampling) if trace.sampling else {},
        "thinking": list(trace.thinking or ()),
        "attribution": asdict(trace.attribution) if trace.attribution else {},
        "scored_by": score.by,
        "settings": asdict(score.settings),
        "uncertainty": score.uncertainty,
        "layer": score.layer,
        "picked_heads": [asdict(head) for head in selected_heads(score)],
        "collapse_at": asdict(collapse_point) if collapse_point else None,
        "sentence": sentence(trace, score),
        "tokens": _tokens(trace, score),
    }
    nulls = {name: value for name, value in _leaves(record | {"messages": ()}) if _is_null(value)}
    undefined = {name: _reason(name, value, score) for name, value in nulls.items()}
    return {name: _finite(value) for name, value in record.items()} | {"undefined": undefined}


def _origin(score: Score) -> str:
    """Which layer and head the numbers are of, and whether they give the score."""
    used = {row.layer: row.head for row in selected_heads(score)}
    gives = "" if score.layer is None else head_in_words(score, score.layer, used[score.layer])
    if score.shown is None:
        return f" The score comes from {gives}." if gives else ""
    shown = head_in_words(score, score.shown.layer, score.shown.head)
    which = f", which is {gives}" if gives else ""
    return f" {shown[:1].upper()}{shown[1:]}: not the one that gives the score{which}."


def _tokens(trace: Trace, score: Score) -> list[dict[str, object]]:
    columns = {
        "id": trace.answer_ids.tolist(),
        "text": trace.answer_tokens,
        "logprob": trace.logprobs.tolist(),
        "entropy": trace.entropies.tolist(),
        "collapse": score.collapse.tolist(),
        "contribution": score.contributions.tolist(),
        "wrong": [token in trace.wrong for token in range(len(trace.answer_ids))],
    }
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _leaves(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, key)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, name)
    else:
        yield name, value


_OF_RAUQ = frozenset({"layer", "layer_score"})


def _is_null(value: object) -> bool:
    return value is None or (isinstance(value, float) and not math.isfinite(value))


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if _is_null(value) else value


def _reason(name: str, value: object, score: Score) -> str:
    if isinstance(value, float) and math.isinf(value):
        return "infinite: a confidence or a probability is 0"
    if score.by == "surprisal" and name in _OF_RAUQ:
        return "the score is the largest surprisal, which has no layer and no head"
    reasons = {
        "median_error": "an answer of one token has no weights",
        "max_error": "an answer of one token has no weights",
        "seed": "the seed alone does not reproduce this answer",
        "logprob": "the trace has no value for this token",
        "entropy": "the trace has no value for this token",
        "uncertainty": score.reasons.uncertainty,
        "layer": score.reasons.uncertainty or f"no single layer gives the score: {score.settings.layer_aggregation}",
        "layer_score": score.reasons.uncertainty,
        "head": "an answer of one token uses no head",
        "mean_attention": "an answer of one token has no previous answer token",
        "margin": "the answer has one token, or the layer has one head",
        "collapse_at": score.reasons.collapse,
        "collapse": score.reasons.collapse,
        "signal_share": score.reasons.collapse_shares,
        "attention_share": score.reasons.collapse_shares,
        "contribution": score.reasons.contributions,
    }
    return reasons[name] or "this token is outside the scored part"


_LONGEST_PROMPT = 60


class Words(NamedTuple):
    """The source of an answer, the finding as a headline with its numbers, and the score, if there is one."""

    source: str
    headline: str
    detail: str
    uncertainty: str = ""


def weights_of(trace: Trace) -> str:
    """How the weights of a trace's model are stored, and what computed with them (`rauq.labels.about_weights`)."""
    return about_weights(trace.quantisation, trace.dtype, trace.adapter, trace.engine)


def words(trace: Trace, score: Score, note: str = "") -> Words:
    """Source, headline, detail and uncertainty of a scored answer; `note` follows the source."""
    headline, detail = sentence_halves(trace, score)
    weights = weights_of(trace)
    about = (weights, about_attribution(trace.attribution, trace.dtype))
    source = " ".join([f"{_source(trace)}.", *filter(None, about)])
    uncertainty = "" if why_empty(trace, score.settings.part) else uncertainty_sentence(score)
    return Words(f"{source} {note}", headline, detail, uncertainty)


def _source(trace: Trace) -> str:
    prompt = running(trace.prompt.strip())
    if len(prompt) > _LONGEST_PROMPT:
        prompt = f"…{prompt[-_LONGEST_PROMPT:].partition(' ')[2] or prompt[-_LONGEST_PROMPT:]}"
    note = prompt_note(trace)
    chat = f", {note}" if note else ""
    count = len(trace.pieces)
    counted = f"{count} token{'' if count == 1 else 's'}, {ending(trace)}"
    isolated = f"\N{FIRST STRONG ISOLATE}{prompt}\N{POP DIRECTIONAL ISOLATE}"  # a right-to-left prompt stays inside
    read = "Written by another, read by " if was_given(trace) else ""
    return f"{read}{running(trace.model)} ({trace.kind}{chat}) on “{isolated}”: {counted}"
