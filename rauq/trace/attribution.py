"""What a trace says of weights that are attributions in place of attention: Layer Integrated Gradients (LIG).

The attributions themselves are in `rauq.capture.attribution`.
"""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from rauq.errors import InvalidInput
from rauq.labels import number

Side = Literal["output", "input"]

MOST_STEPS = 1000
LARGEST_ERROR = 0.05  # nats: SmolLM2-135M has about 0.0001 with eight steps, and up to 0.4 at some tokens with two


@dataclass(frozen=True, kw_only=True)
class Attribution:
    """How the weights of a trace were attributed, and how complete the attributions are.

    `steps`: points of the integral. `side`: output of the attention output projection, cut into equal segments, or its
    input, which has the real heads. `positive`: negative attributions count as 0, else by their size.
    `median_error` and `max_error`: the completeness error in nats, over layers and answer tokens, that is how far the
    attributions of a token sum to something else than the log-probability that the layer's attention output adds. Both
    are nan for an answer of one token, which has no previous one.

    Raises:
        InvalidInput: a value that is not allowed; the message says which, and what is allowed.
    """

    steps: int
    side: Side = "output"
    positive: bool = False
    median_error: float = math.nan
    max_error: float = math.nan

    def __post_init__(self) -> None:
        if type(self.steps) is not int or not 1 <= self.steps <= MOST_STEPS:
            message = f"Got steps={self.steps!r}; it must be a whole number from 1 to {MOST_STEPS:,}."
            raise InvalidInput(message)
        if self.side not in get_args(Side) or type(self.positive) is not bool:
            message = (
                f"Got side={self.side!r} and positive={self.positive!r}; allowed are {' and '.join(get_args(Side))}, "
                "and True and False."
            )
            raise InvalidInput(message)
        errors = (self.median_error, self.max_error)
        if not all(isinstance(error, float) for error in errors) or not _are_errors(*errors):
            message = f"Got errors of {errors}; they must be a median and a maximum of at least 0, or both nan."
            raise InvalidInput(message)

    @property
    def method(self) -> tuple[int, Side, bool]:
        """What two answers must share to be compared: steps, side, and whether only positive attributions count."""
        return self.steps, self.side, self.positive

    @property
    def errors(self) -> tuple[float, float]:
        """Median and maximum of the completeness error, in nats."""
        return self.median_error, self.max_error

    @property
    def is_complete(self) -> bool:
        """Whether no completeness error is above 0.05 nats."""
        return not self.max_error > LARGEST_ERROR


def _are_errors(median: float, largest: float) -> bool:
    return 0 <= median <= largest or (math.isnan(median) and math.isnan(largest))


def weight_name(found: Attribution | None) -> str:
    """What the weights of a trace are called: attention, or LIG."""
    return "attention" if found is None else "LIG"


def about_attribution(found: Attribution | None, dtype: str) -> str:
    """That the weights are attributions, how they were made, and how complete they are; "" for attention.

    `dtype` is that of the computation: in half precision, rounding leaves errors that more steps do not remove.
    """
    if found is None:
        return ""
    kept = ", positive part" if found.positive else ""
    steps = "1 step" if found.steps == 1 else f"{found.steps} steps"
    said = f"The weights are LIG attributions, not attention ({steps}, {found.side} of the output projection{kept})."
    if math.isnan(found.max_error):
        return said
    median, largest = number(found.median_error, places=4), number(found.max_error, places=4)
    error = f"Completeness error: median {median}, largest {largest} nats"
    todo = "" if found.is_complete else f", above {LARGEST_ERROR:g}: {_todo(dtype)}"
    return f"{said} {error}{todo}."


def _todo(dtype: str) -> str:
    if dtype in ("bfloat16", "float16"):
        return f"rounding in {dtype} alone leaves about 0.1, so attribute the answer again in float32"
    return "attribute the answer again with more steps"
