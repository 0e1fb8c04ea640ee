"""Process many items in batches; an item that fails does not affect the others."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, repeat
from typing import TypeVar

from rauq.arguments import Cancel, Sampling, is_whole
from rauq.errors import Failure, InvalidInput, OutOfMemory, RauqError
from rauq.model.context import ModelDescription, PromptLike
from rauq.scoring.watch import UNWATCHED, Watch

Item = TypeVar("Item")
Encoded = TypeVar("Encoded")
Outcome = TypeVar("Outcome")


def in_batches(
    items: Iterable[Item],
    *,
    encode: Callable[[Item], Encoded],
    run: Callable[[Sequence[Encoded]], Sequence[Outcome | RauqError]],
    size: int,
    cancel: Cancel | None = None,
) -> Iterator[Outcome | Failure]:
    """An outcome or a failure for each item, in order; a batch that does not fit is run one by one.

    Once `cancel` is set no further batch is run, and its items are not yielded.

    Raises:
        InvalidInput: `size` is not a whole number or below 1, or `items` is one text or not iterable.
    """
    refuse_one(items)
    if not (is_whole(size) and size >= 1):
        message = f"Got batch_size={size!r}; it must be a whole number, at least 1."
        raise InvalidInput(message)
    return _outcomes(iter(items), encode, run, int(size), cancel)


def refuse_one(items: object) -> None:
    """Check that these are several items.

    Raises:
        InvalidInput: one text, or something that is not iterable.
    """
    if isinstance(items, str | bytes) or not isinstance(items, Iterable):
        message = f"Got one {type(items).__name__} where a sequence of items was expected. Put it in a list."
        raise InvalidInput(message)


def _outcomes(
    items: Iterator[Item],
    encode: Callable[[Item], Encoded],
    run: Callable[[Sequence[Encoded]], Sequence[Outcome | RauqError]],
    size: int,
    cancel: Cancel | None,
) -> Iterator[Outcome | Failure]:
    index = 0
    while batch := list(islice(items, size)):
        encoded = [_or_error(encode, item) for item in batch]
        good = [item for item in encoded if not isinstance(item, RauqError)]
        results = iter(_run(run, good))
        for item in encoded:
            outcome = item if isinstance(item, RauqError) else next(results)
            yield Failure(index, outcome) if isinstance(outcome, RauqError) else outcome
            index += 1
        if cancel is not None and cancel.is_set():
            return


def _run(
    run: Callable[[Sequence[Encoded]], Sequence[Outcome | RauqError]], batch: Sequence[Encoded]
) -> Sequence[Outcome | RauqError]:
    if not batch:
        return []
    try:
        return run(batch)
    except OutOfMemory as error:
        # The traceback keeps the tensors of the failed run, so a retry inside this block would lack their memory.
        without_traceback = OutOfMemory(*error.args)
    return [without_traceback] if len(batch) == 1 else [_run(run, [item])[0] for item in batch]


def _or_error(encode: Callable[[Item], Encoded], item: Item) -> Encoded | RauqError:
    try:
        return encode(item)
    except RauqError as error:
        return error


def watched(
    described: ModelDescription,
    prompts: Sequence[PromptLike],
    watches: Sequence[Watch] | None,
    sampling: Sequence[Sampling | None] | None = None,
) -> Iterator[tuple[PromptLike, Watch, Sampling | None]]:
    """Prompts with their watches and how each is drawn, if these are given, taken as they are needed.

    Raises:
        InvalidInput: one prompt in place of several, another number of watches or of ways to draw, or monitors that do
            not fit.
    """
    refuse_one(prompts)
    _refuse_another_number(prompts, watches, "watches")
    _refuse_another_number(prompts, sampling, "ways to draw")
    refuse_monitors(described, watches or ())
    own, drawn = repeat(UNWATCHED) if watches is None else watches, repeat(None) if sampling is None else sampling
    return zip(prompts, own, drawn, strict=False)


def _refuse_another_number(prompts: Sequence[PromptLike], given: Sequence[object] | None, what: str) -> None:
    if given is not None and len(prompts) != len(given):
        message = f"Got {len(given)} {what} for {len(prompts)} prompts. Give one for each prompt, or none."
        raise InvalidInput(message)


def refuse_monitors(described: ModelDescription, watches: Sequence[Watch]) -> None:
    """Check that the monitors of these watches are of this model, and that no answer shares one with another.

    Raises:
        InvalidInput: it is not so.
    """
    monitors = [watch.monitor for watch in watches if watch.monitor is not None]
    if len({id(monitor) for monitor in monitors}) < len(monitors):
        message = "One monitor is given for several answers. It scores one: make a monitor for each."
        raise InvalidInput(message)
    own = described.name, described.kind
    if others := [monitor for monitor in monitors if (monitor.watched.model, monitor.watched.kind) != own]:
        of = others[0].watched
        message = (
            f"Got a monitor of {of.model} ({of.kind}) for an answer of {described.name} ({described.kind}). Make it "
            "with the model that generates."
        )
        raise InvalidInput(message)
