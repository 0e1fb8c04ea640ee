"""From what was captured to a trace, or to the error that the model's logits were not finite."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rauq.errors import NonFiniteLogits
from rauq.sampling import Sampling
from rauq.thinking import PROMPT_TOKENS, thinking_span
from rauq.trace import NUM_BANDS, Alternative, StopReason, Trace

if TYPE_CHECKING:
    from rauq.capture.logits import TokenStatistics
    from rauq.context import ModelDescription
    from rauq.prompts import Prompt


def build_trace(
    model: "ModelDescription",
    prompt: "Prompt",
    answer: Sequence[int],
    statistics: "TokenStatistics",
    *,
    dtype: str,
    attention: np.ndarray,
    extras: Mapping[str, np.ndarray],
    stop_reason: StopReason,
    sampling: Sampling | None = None,
) -> Trace | NonFiniteLogits:
    """One answer's trace, from its statistics (N,), its rows of attention (L, H, n, K), n <= N + 1, and its extras."""
    undefined = (statistics.logprobs.isnan() | statistics.entropies.isnan()).nonzero()
    if len(undefined):
        message = (
            f"The model {model.name} put out logits that are not finite at answer token {int(undefined[0])}. "
            "Load it in float32 or bfloat16, or check its weights."
        )
        return NonFiniteLogits(message)
    pieces = tuple(model.tokens.piece(token) for token in answer)
    return Trace(
        prompt=prompt.text,
        model=model.name,
        revision=model.revision,
        dtype=dtype,
        quantisation=model.quantisation,
        kind=model.kind,
        chat_applied=prompt.chat_applied,
        prompt_form=prompt.form,
        messages=prompt.messages,
        template_options=prompt.template_options,
        stop_reason=stop_reason,
        layers=model.layers,
        num_layers=model.num_layers,
        vocab_size=model.vocab_size,
        prompt_ids=np.array(prompt.ids, dtype=np.int64),
        answer_ids=np.array(answer, dtype=np.int64),
        answer_tokens=model.tokens.texts(answer, silent=model.end_ids),
        pieces=pieces,
        logprobs=statistics.logprobs.numpy().copy(),
        entropies=statistics.entropies.numpy().copy(),
        alternatives=_alternatives(model, statistics),
        attention=_attention_of(attention, len(prompt.ids), len(answer)),
        thinking=thinking_span([model.tokens.piece(token) for token in prompt.ids[-PROMPT_TOKENS:]], pieces),
        sampling=sampling,
        extras={**extras, **({"focus": statistics.focus.numpy().copy()} if statistics.focus.shape[1] else {})},
    )


def _alternatives(model: "ModelDescription", statistics: "TokenStatistics") -> tuple[tuple[Alternative, ...], ...]:
    return tuple(
        tuple(
            Alternative(token, model.tokens.text([token]), logprob)
            for token, logprob in zip(ids, logprobs, strict=True)
        )
        for ids, logprobs in zip(statistics.top_ids.tolist(), statistics.top_logprobs.tolist(), strict=True)
    )


def _attention_of(rows: np.ndarray, num_prompt: int, num_answer: int) -> np.ndarray:
    """Rows (L, H, n, K) of one answer as (L, H, N + 1, K): nan where not captured, and before the sequence."""
    attention = np.full((*rows.shape[:2], num_answer + 1, NUM_BANDS), np.nan, dtype=np.float32)
    attention[:, :, : rows.shape[2]] = rows
    positions = num_prompt - 1 + np.arange(num_answer + 1)
    attention[:, :, positions[:, None] < np.arange(NUM_BANDS)] = np.nan
    return attention
