"""Captions of the figures that compare two answers."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from types import MappingProxyType

from analysis.two_answers.comparison import SAID_FIRST, same_confidence
from rauq.scoring import report
from rauq.scoring.report import shown_layer
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings

Scores = tuple[Score, Score]
_SEVERAL_HEADS: Mapping[object, str] = MappingProxyType(
    {"mean": ", mean of its heads", "top5": ", mean of its top five heads"}
)


def layer_and_head(score: Score) -> str:
    """The layer that is drawn, and which of its heads, such as "layer 5 head 3"."""
    layer = shown_layer(score)
    (head,) = (row.head for row in report.selected_heads(score) if row.layer == layer)
    if head is None:
        return f"layer {layer}"
    return f"layer {layer}{_SEVERAL_HEADS.get(score.settings.heads, f' head {head}')}"


def about_scales(scales: Sequence[str]) -> str:
    """Why two scores cannot be compared; `scales` are what `different_scales` found."""
    return (
        f"The two scores are not comparable: their {_listed(scales)} differ. The colours, the collapse and the table "
        "below still compare each answer with a fully confident model of its own kind."
    )


def about_curves(scores: Scores, scales: Sequence[str], *, common: int) -> str:
    """What the curves are, and why they may differ over the first `common` tokens, which both answers share."""
    return (
        f"Above: confidence c{_of_which_layer(scores)} Dotted: r, the same recurrence for a fully confident model. "
        "Logarithmic scale: the gap from r down to c is the collapse, drawn below."
        f"{_over_the_beginning(scores, scales, common) if common else ''}"
    )


def about_heads(scores: Scores) -> str:
    """What the colours and the rings of the difference map are."""
    averaged = [name for name, score in zip("AB", scores, strict=True) if score.settings.heads == "mean"]
    none = f" No head is selected in {' and '.join(averaged)}: the mean over heads is used." if averaged else ""
    return (
        "Mean over each answer. Teal: more previous-token attention in A; violet: more in B. Circles: selected heads "
        "of A; diamonds: of B. Where they differ, RAUQ selected different heads."
        f"{none}"
    )


def settings_in_words(settings: Settings) -> str:
    """Signal, alpha and alignment, and every other setting that differs from its default."""
    usual = Settings(signal=settings.signal, alpha=settings.alpha, alignment=settings.alignment)
    names = [field.name for field in fields(Settings) if field.name not in SAID_FIRST]
    others = [f"{name} {getattr(settings, name)}" for name in names if getattr(settings, name) != getattr(usual, name)]
    return ", ".join([f"{settings.signal}, alpha {settings.alpha:g}, {settings.alignment}", *others])


def _of_which_layer(scores: Scores) -> str:
    looks = "solid for A and dashed for B."
    undecided = [name for name, score in zip("AB", scores, strict=True) if score.layer is None]
    if not undecided:
        return f" of the layer that gives the score, {looks}"
    return f", {looks} No single layer gives the score of {' and '.join(undecided)}: the first layer used is drawn."


def _over_the_beginning(scores: Scores, scales: Sequence[str], common: int) -> str:
    if same_confidence(*scores, common):
        return " Up to the first difference both have the same c."
    of_a, of_b = map(layer_and_head, scores)
    if of_a != of_b:
        why = f" A's curve is of {of_a} and B's of {of_b}"
    elif scales:
        why = f" The two differ in their {_listed(scales)}"
    else:
        return ""
    return f"{why}: so the curves may differ even before the tokens do."


def _listed(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
