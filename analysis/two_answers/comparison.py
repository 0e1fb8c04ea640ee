"""Two scored answers side by side, A and B: how their tokens are aligned, what can be compared, and the captions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile, zip_longest
from types import MappingProxyType

import numpy as np

import rauq
from rauq.errors import InvalidInput
from rauq.labels import listed, number
from rauq.recorded.scores import WRITTEN, scores_of
from rauq.scoring.declaration import declared
from rauq.scoring.report import mean_weights, selected_heads, was_given
from rauq.scoring.score import Score
from rauq.scoring.settings import Settings, resolve
from rauq.scoring.shown import shown_layer
from rauq.scoring.surprisal import score_surprisal
from rauq.trace.trace import Trace

Columns = tuple[tuple[int | None, int | None], ...]
"""A common grid: for each column the token of A and that of B, None where an answer has none there."""

_MOST_PAIRS = 2**21  # of tokens, to look for equal ones among: some hundredths of a second

_SAID_FIRST = frozenset({"signal", "alpha", "alignment"})  # settings that a sentence names one by one


@dataclass(frozen=True, eq=False, kw_only=True)
class PairScores:
    """Both answers scored under the same settings, instead of their own, or both by their largest surprisal."""

    settings: Settings
    a: Score
    b: Score

    @property
    def in_words(self) -> str:
        """What both are scored by."""
        return "largest surprisal" if self.a.by == "surprisal" else settings_in_words(self.settings)

    @property
    def difference(self) -> float:
        """Uncertainty of A minus that of B."""
        return self.a.uncertainty - self.b.uncertainty


def same_prompt(a: Trace, b: Trace) -> bool:
    """Whether two answers follow the same text, and the same messages before it."""
    return (a.prompt, a.messages) == (b.prompt, b.messages)


def aligned(pieces_a: Sequence[bytes], pieces_b: Sequence[bytes], *, same_prompt: bool = False) -> Columns:
    """Columns of the grid that puts as many equal tokens of two answers side by side as their order allows.

    Their common beginning stays together; in stretches that differ, tokens are paired by position. With
    `same_prompt`, the first tokens that differ are paired as well: both continue the same text.
    """
    start = _common_beginning(pieces_a, pieces_b)
    both_go_on = start < min(len(pieces_a), len(pieces_b))
    if same_prompt and both_go_on:
        start += 1
    equal = [(start + a, start + b) for a, b in _equal_tokens(pieces_a[start:], pieces_b[start:])]
    columns: list[tuple[int | None, int | None]] = [(token, token) for token in range(start)]
    for (a, b), (next_a, next_b) in pairwise([(start - 1, start - 1), *equal, (len(pieces_a), len(pieces_b))]):
        columns += [*zip_longest(range(a + 1, next_a), range(b + 1, next_b)), (next_a, next_b)]
    return tuple(columns[:-1])


def aligned_answers(a: Trace, b: Trace) -> Columns:
    """Columns of the grid of two answers: their thinking is aligned with thinking alone, and what follows likewise."""
    start_a, start_b = (trace.thinking[1] if trace.thinking else 0 for trace in (a, b))
    same = same_prompt(a, b)
    before = aligned(a.pieces[:start_a], b.pieces[:start_b], same_prompt=same)
    after = aligned(a.pieces[start_a:], b.pieces[start_b:], same_prompt=same)
    return (*before, *((_moved(own, start_a), _moved(other, start_b)) for own, other in after))


def _moved(token: int | None, start: int) -> int | None:
    return None if token is None else start + token


def by_position(num_a: int, num_b: int) -> Columns:
    """Columns that pair the tokens of two answers by position alone: what stands stays where it is as B grows."""
    return tuple(zip_longest(range(num_a), range(num_b)))


def find_first_difference(columns: Columns, pieces_a: Sequence[bytes], pieces_b: Sequence[bytes]) -> int | None:
    """The first column whose tokens are not the same; None where the answers are equal."""
    for column, (a, b) in enumerate(columns):
        if a is None or b is None or pieces_a[a] != pieces_b[b]:
            return column
    return None


def score_each_setting(a: Trace, b: Trace, settings: Sequence[Settings]) -> tuple[PairScores, ...]:
    """Both answers under each of the settings, each setting once.

    Raises:
        RauqError: a setting that does not suit one of the two.
    """
    return tuple(
        PairScores(settings=setting, a=rauq.score(a, setting), b=rauq.score(b, setting))
        for setting in dict.fromkeys(settings)
    )


def score_by_surprisal(a: Trace, b: Trace) -> tuple[PairScores, ...]:
    """Both answers by their largest surprisal, where the model wrote neither; else nothing."""
    if not (was_given(a) and was_given(b)):
        return ()
    of_a, of_b = score_surprisal(a), score_surprisal(b)
    return (PairScores(settings=of_a.settings, a=of_a, b=of_b),)


def different_scales(a: Trace, b: Trace, score_a: Score, score_b: Score) -> tuple[str, ...]:
    """What keeps two scores from being compared, such as "signals"; empty where they are on one scale."""
    settings_a, settings_b = score_a.settings, score_b.settings
    pairs = {
        "models": ((a.model, a.revision), (b.model, b.revision)),
        "kinds of model": (a.kind, b.kind),
        "weights": (_method(a), _method(b)),
        "measures": (score_a.by, score_b.by),
        "signals": (settings_a.signal, settings_b.signal),
        "alphas": (settings_a.alpha, settings_b.alpha),
        "alignments": (settings_a.alignment, settings_b.alignment),
        "ways to score": (_the_rest(settings_a), _the_rest(settings_b)),
    }
    return tuple(name for name, (one, other) in pairs.items() if one != other)


APART = 0.1
"""The share of a reference's answers that have to lie between two scores before one is said to be higher."""


def reference_of(trace: Trace, score: Score) -> tuple[float, ...]:
    """The uncertainties of other answers of the model, as the app brings them; none for other settings than these.

    Of answers that the model did not write: those of written answers, by their largest surprisal.
    """
    if was_given(trace):
        written = scores_of(trace, WRITTEN) if score.by == "surprisal" else None
        return written.uncertainties if written else ()
    found = scores_of(trace)
    is_comparable = found is not None and resolve(score.settings, trace.kind) == resolve(Settings(), trace.kind)
    return found.uncertainties if found is not None and is_comparable else ()


def verdict(score_a: Score, score_b: Score, scales: Sequence[str], reference: Sequence[float] = ()) -> str:
    """Which answer is more uncertain, in numbers; `scales` are what `different_scales` found.

    That is said only where a tenth of the answers of the `reference`, or more, lie between the two scores; without one
    the numbers stand alone.
    """
    a, b = score_a.uncertainty, score_b.uncertainty
    if math.isnan(a) or math.isnan(b):
        return f"No comparison: the score of {'A' if math.isnan(a) else 'B'} is undefined"
    one, other = (number(value, places=2) for value in (a, b))
    if scales:
        return f"A scores {one} and B {other}, on different scales"
    if not len(reference):
        return f"A scores {one} and B {other}; without a reference, the difference cannot be judged"
    between = ((np.array(reference) > min(a, b)) & (np.array(reference) < max(a, b))).mean()
    numbers = (
        f"{one} and {other}; {number(100 * between, places=0)} % of {len(reference):,} other answers score between"
    )
    if between < APART:
        return f"A and B have similar uncertainty ({numbers})"
    return f"{'A is more uncertain than B' if a > b else 'B is more uncertain than A'} ({numbers})"


def same_confidence(score_a: Score, score_b: Score, num_tokens: int) -> bool:
    """Whether c of both front layers is the same over the first tokens, to the thousandth that a picture can show.

    Undefined numbers are not the same.
    """
    of_a, of_b = (score.confidence[score.layers.index(shown_layer(score))] for score in (score_a, score_b))
    return np.allclose(of_a[:num_tokens], of_b[:num_tokens], rtol=1e-3, atol=0)


def why_no_difference(a: Trace, b: Trace) -> str:
    """Why the maps of two answers cannot be subtracted, as a sentence; empty where they can."""
    if _method(a) != _method(b):
        return "The weights of A and B are of different kinds: attention and LIG, or LIG of different steps or sides."
    if (a.layers, a.num_heads) != (b.layers, b.num_heads):
        return (
            f"A's model has {len(a.layers)} layers with attention of {a.num_heads} heads and B's has {len(b.layers)} "
            f"of {b.num_heads}, or their layers are numbered differently: the heads do not correspond."
        )
    if min(len(a.pieces), len(b.pieces)) < 2:
        return "An answer of one token has no previous answer token, so there is no attention to compare."
    return ""


def attention_difference(a: Trace, b: Trace, settings_a: Settings, settings_b: Settings) -> np.ndarray:
    """Mean previous-token attention of A's heads minus that of B's, (L, H).

    Raises:
        InvalidInput: the two cannot be subtracted; `why_no_difference` is the message.
        NotCaptured: an alignment needs attention that the trace lacks.
    """
    if reason := why_no_difference(a, b):
        raise InvalidInput(reason)
    return mean_weights(a, settings_a) - mean_weights(b, settings_b)


def _common_beginning(pieces_a: Sequence[bytes], pieces_b: Sequence[bytes]) -> int:
    pairs = zip(pieces_a, pieces_b, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _equal_tokens(pieces_a: Sequence[bytes], pieces_b: Sequence[bytes]) -> list[tuple[int, int]]:
    """Pairs of equal tokens, ascending: a longest common subsequence, of which the common end is a part.

    What is left between a common end and the start is too much to search beyond _MOST_PAIRS: it has no pairs.
    """
    end = _common_beginning(pieces_a[::-1], pieces_b[::-1])
    num_a, num_b = len(pieces_a) - end, len(pieces_b) - end
    middle = [] if num_a * num_b > _MOST_PAIRS else _longest_common(pieces_a[:num_a], pieces_b[:num_b])
    return [*middle, *((num_a + token, num_b + token) for token in range(end))]


def _longest_common(pieces_a: Sequence[bytes], pieces_b: Sequence[bytes]) -> list[tuple[int, int]]:
    # Written here, because difflib pairs the longest runs first, which leaves fewer equal tokens side by side.
    numbers = {piece: number for number, piece in enumerate(dict.fromkeys([*pieces_a, *pieces_b]))}
    of_a, of_b = (np.array([numbers[piece] for piece in pieces], dtype=np.int32) for pieces in (pieces_a, pieces_b))
    lengths = np.zeros((len(of_a) + 1, len(of_b) + 1), dtype=np.int32)  # of what the first a and b tokens share
    for a, piece in enumerate(of_a):
        np.maximum.accumulate(np.maximum(lengths[a, 1:], lengths[a, :-1] + (of_b == piece)), out=lengths[a + 1, 1:])
    a, b = len(of_a), len(of_b)
    pairs = []
    while lengths[a, b]:
        if of_a[a - 1] == of_b[b - 1]:
            a, b = a - 1, b - 1
            pairs.append((a, b))
        elif lengths[a - 1, b] == lengths[a, b]:
            a -= 1
        else:
            b -= 1
    return pairs[::-1]


def _method(trace: Trace) -> tuple[object, ...] | None:
    """How the weights were attributed; None for attention."""
    return trace.attribution.method if trace.attribution else None


def _the_rest(settings: Settings) -> tuple[object, ...]:
    """All settings but those that `scales` names one by one."""
    return tuple(getattr(settings, name) for name in declared(type(settings)) if name not in _SAID_FIRST)


Scores = tuple[Score, Score]
_SEVERAL_HEADS: Mapping[object, str] = MappingProxyType(
    {"mean": ", mean of its heads", "top5": ", mean of its top five heads"}
)


def layer_and_head(score: Score) -> str:
    """The layer that is drawn, and which of its heads, such as "layer 5 head 3"."""
    layer = shown_layer(score)
    (head,) = (row.head for row in selected_heads(score) if row.layer == layer)
    if head is None:
        return f"layer {layer}"
    return f"layer {layer}{_SEVERAL_HEADS.get(score.settings.heads, f' head {head}')}"


def about_scales(scales: Sequence[str]) -> str:
    """Why two scores cannot be compared; `scales` are what `different_scales` found."""
    return (
        f"The two scores are not comparable: their {listed(scales)} differ. The colours, the collapse and the table "
        "below still compare each answer with a fully confident model of its own kind."
    )


def about_curves(scores: Scores, scales: Sequence[str], *, common: int) -> str:
    """What the curves are, and why they may differ over the first `common` tokens, which both answers share."""
    if scores[0].by == scores[1].by == "surprisal":
        return (
            "Above: the probability of each token, solid for A and dashed for B, log scale. Below: the surprisal of "
            "names and numbers that are not in the question, −log p; of the first token minus the entropy there."
        )
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
        "Mean over each answer. In the colour of A: more previous-token attention in A; in that of B: more in B. "
        "Circles: selected heads of A; diamonds: of B. Where they differ, RAUQ selected different heads."
        f"{none}"
    )


def settings_in_words(settings: Settings) -> str:
    """Signal, alpha and alignment, and every other setting that differs from its default."""
    usual = type(settings)()
    given = {name: getattr(settings, name) for name in declared(type(settings)) if name not in _SAID_FIRST}
    others = [f"{name} {value}" for name, value in given.items() if value != getattr(usual, name)]
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
        why = f" The two differ in their {listed(scales)}"
    else:
        return ""
    return f"{why}: so the curves may differ even before the tokens do."
