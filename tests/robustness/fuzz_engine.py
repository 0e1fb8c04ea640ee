"""Many inputs through one place where a stranger's data comes in: it is taken, or refused by an error of ours."""

import faulthandler
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from rauq.errors import RauqError

SLOW = 10.0  # seconds of processor time that one input may take
HANGING = 120.0  # seconds after which the process is ended, and says where it hung


@dataclass(frozen=True, kw_only=True)
class Surface:
    """A place where data comes in: valid inputs, how they are spoilt, what is done with them, and what may come out.

    `target` also raises, by an assertion, where what was taken is not what it should be. `share` of the inputs are put
    where one takes long.
    """

    name: str
    seeds: Sequence[Any]
    mutate: Callable[[Any, Random], Any]
    target: Callable[[Any], object]
    allowed: tuple[type[Exception], ...] = (RauqError,)
    share: float = 1.0


class Fault(NamedTuple):
    """An input by its number, and what came out of it."""

    number: int
    said: str


@dataclass(frozen=True, kw_only=True)
class Fuzzed:
    """How many inputs were accepted, how many refused by an error of ours, and what else came out.

    `seconds` are those of all, `slowest` those of one input, of processor time.
    """

    surface: str
    accepted: int
    refused: int
    faults: tuple[Fault, ...]
    seconds: float
    slowest: float

    @property
    def inputs(self) -> int:
        """How many there were."""
        return self.accepted + self.refused + len(self.faults)


def fuzz_surface(surface: Surface, *, count: int, seed: int) -> Fuzzed:
    """Put `count` inputs, or its share, to a surface; a warning is a fault, and so is an input that takes too long."""
    count = max(1, round(count * surface.share))
    accepted, faults, slowest, begun = 0, [], 0.0, time.perf_counter()
    for number in range(count):
        given, started = input_of(surface, number, seed=seed), time.thread_time()
        faulthandler.dump_traceback_later(HANGING, exit=True, file=sys.__stderr__)
        outcome = _outcome(surface, given)
        faulthandler.cancel_dump_traceback_later()
        slowest = max(slowest, seconds := time.thread_time() - started)
        if seconds > SLOW:
            outcome = f"it took {seconds:.1f} s"
        if isinstance(outcome, str):
            faults.append(Fault(number, outcome))
        accepted += outcome is True
    return Fuzzed(
        surface=surface.name,
        accepted=accepted,
        refused=count - accepted - len(faults),
        faults=tuple(faults),
        seconds=time.perf_counter() - begun,
        slowest=slowest,
    )


def input_of(surface: Surface, number: int, *, seed: int) -> Any:
    """The input of that number: the same whatever came before it."""
    rng = Random(f"{seed} {surface.name} {number}")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # whoever spoils may be warned, and whoever takes it may not
        return surface.mutate(rng.choice(surface.seeds), rng)


def _outcome(surface: Surface, given: Any) -> bool | str:
    """Whether it was accepted, or what came out that should not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            surface.target(given)
    except surface.allowed:
        return False
    except Exception:  # noqa: BLE001 - whatever else comes out is what is looked for
        return traceback.format_exc(limit=-6)
    return True
