"""The part of the model card that is measured: it is written by `python -m training evaluate`, never by hand."""

from pathlib import Path

from rauq.model.loading import sha256

_BEGIN, _END = "<!-- measured: begin -->", "<!-- measured: end -->"


def update(card: Path, *, weights: Path, evaluation: str) -> None:
    """Replace the measured part of the card by the evaluation of these weights."""
    before, rest = card.read_text(encoding="utf-8").split(_BEGIN)
    _, after = rest.split(_END)
    measured = f"Weights: `{weights.name}`, sha256 `{sha256(weights)}`.\n\n{evaluation}"
    card.write_text(f"{before}{_BEGIN}\n{measured}\n{_END}{after}", encoding="utf-8")
