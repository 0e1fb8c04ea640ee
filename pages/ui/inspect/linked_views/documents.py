"""The documents of a prompt as the browser draws them: their passages, and how the answer attends to each of these."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pages.ui.inspect.linked_views.encoding import as_base64
from rauq.labels import lines
from rauq.scoring.part_shares import PartShares, part_shares
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings
from rauq.scoring.shown import shown_head
from rauq.trace.prompt_parts import ANSWER_SO_FAR, FIRST_TOKEN, PromptPart, is_document
from rauq.trace.trace import Trace

_MEAN = "mean of all heads in the layers used by RAUQ"


def document_texts(trace: Trace | None) -> dict[str, Any] | None:
    """Return the passages of the documents in a prompt; None where it has none, or their texts are not known."""
    drawn = () if trace is None or not trace.part_texts else _drawn(trace.prompt_parts, trace.part_texts)
    return {"passages": drawn} if drawn else None


@lru_cache(maxsize=8)  # by text: an answer that is being generated is a new trace each time
def _drawn(parts: Sequence[PromptPart], texts: Sequence[str]) -> tuple[dict[str, str], ...]:
    found = zip(parts, texts, strict=True)
    return tuple({"of": part.name, "text": lines(text)} for part, text in found if is_document(part.name))


def document_payload(trace: Trace, score: Score) -> dict[str, Any] | None:
    """Return the same with the shares of attention, where they were captured: of the head that is shown, and means.

    The shares of a token are (3 + passages,): on the first token, on the answer so far, on the rest of the prompt, and
    on each passage.
    """
    found = document_texts(trace)
    if found is None or "part_shares" not in trace.extras:
        return found
    shares = part_shares(trace, Settings(layers=score.layers), by_passage=True)
    return found | {"head": _of_head(shares, score), "mean": _table(_MEAN, shares.mean(), shares)}


def _of_head(shares: PartShares, score: Score) -> dict[str, str]:
    shown = shown_head(score)
    if shown.head < 0:
        return _table(f"layer {shown.layer}, mean of its heads", shares.mean([shown.layer]), shares)
    return _table(f"layer {shown.layer}, head {shown.head}", shares.of_head(shown.layer, shown.head), shares)


def _table(name: str, table: np.ndarray, shares: PartShares) -> dict[str, str]:
    """Return a table (N, G) of shares with the columns that are drawn."""
    columns = np.array([is_document(name) for name in shares.names])
    rest = table[:, ~columns].sum(axis=1) - table[:, FIRST_TOKEN] - table[:, ANSWER_SO_FAR]
    drawn = np.column_stack([table[:, FIRST_TOKEN], table[:, ANSWER_SO_FAR], rest, table[:, columns]])
    return {"name": name, "shares": as_base64(drawn, "<f4")}
