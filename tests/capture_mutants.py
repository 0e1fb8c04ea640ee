"""Captures that miss a part of attention, or misplace it: the checks must detect each."""

from collections.abc import Callable
from typing import NamedTuple

import pytest

from rauq.capture import session, tap
from tests.exactness import LENGTHS

Break = Callable[[pytest.MonkeyPatch], None]


class Mutant(NamedTuple):
    """The architecture on which it shows, the lengths of the prompts that it takes, and how the capture is broken."""

    architecture: str
    lengths: tuple[int, ...]
    break_it: Break


def _without(option: str) -> Callable[[pytest.MonkeyPatch], None]:
    real = session.band

    def forgetful(pending, cache, **others):
        rest = {name: value for name, value in pending.options.items() if name != option}
        return real(pending._replace(options=rest), cache, **others)

    return lambda patch: patch.setattr(session, "band", forgetful)


def _without_masks(patch: pytest.MonkeyPatch) -> None:
    real = session._mask

    def causal(keys, rows, positions, window, cache):
        del window, cache
        return real(keys, [row._replace(mask=None, first_key=0) for row in rows], positions, None, {})

    patch.setattr(session, "_mask", causal)


def _off_by_one(patch: pytest.MonkeyPatch) -> None:
    real = session.band
    patch.setattr(session, "band", lambda pending, cache, **others: real(pending, cache, **others).roll(1, dims=-1))


def _low_precision(patch: pytest.MonkeyPatch) -> None:
    real = session.band

    def rounded(pending, cache, **others):
        return real(pending._replace(queries=pending.queries.bfloat16().float() * (1 + 2**-9)), cache, **others)

    patch.setattr(session, "band", rounded)


def _other_head(patch: pytest.MonkeyPatch) -> None:
    real = session.band
    patch.setattr(session, "band", lambda pending, cache, **others: real(pending, cache, **others).roll(1, dims=1))


def _recorder_that_drops_calls(patch: pytest.MonkeyPatch) -> None:
    """The recorder itself drops calls: a check that relies on its records would not notice."""
    real = tap.LayerRecord.__call__
    patch.setattr(
        tap.LayerRecord,
        "__call__",
        lambda record, query, key, mask, options: real(record, query, key, mask, {"scaling": options["scaling"]}),
    )


def _stale_key(patch: pytest.MonkeyPatch) -> None:
    """The last key is that of the token before, as if a buffer were overwritten."""
    real = session.band

    def stale(pending, cache, **others):
        keys = pending.keys.tensor.clone()
        keys[:, :, -1] = keys[:, :, -2]
        return real(pending._replace(keys=pending.keys._replace(tensor=keys)), cache, **others)

    patch.setattr(session, "band", stale)


MUTANTS = {
    "no softcap": Mutant("gemma2-softcap-window", (30,), _without("softcap")),
    "no sinks": Mutant("gpt-oss-sinks-window", (30,), _without("s_aux")),
    "no scaling": Mutant("granite", (30,), _without("scaling")),
    "no window": Mutant("mistral-window", (30,), _without_masks),
    "no chunks": Mutant("llama4-chunked", (30,), _without_masks),
    "no padding mask": Mutant("llama", LENGTHS, _without_masks),
    "one key off": Mutant("llama", (30,), _off_by_one),
    "another head": Mutant("llama", (30,), _other_head),
    "rounded queries": Mutant("llama", (30,), _low_precision),
    "options not recorded": Mutant("gemma2-softcap-window", (30,), _recorder_that_drops_calls),
    "a stale key": Mutant("qwen2", (30,), _stale_key),
}
