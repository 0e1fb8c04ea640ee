"""How far a run is, on standard error: a bar in a terminal, lines elsewhere."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.text import Text

from analysis.runs.status import Status
from rauq.labels import running


@contextmanager
def shown(console: Console) -> Iterator[Callable[[Status], None]]:
    """A function to call with every status; it draws a bar, or writes a line for each shard that is saved."""
    if not console.is_terminal:
        yield _lines(console)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rest]}"))
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("Loading", total=None, rest="")

        def tell(status: Status) -> None:
            description = status.state.capitalize()
            progress.update(
                task, total=status.total, completed=status.done, description=description, rest=_rest(status)
            )
            if status.message:
                progress.console.print(Text(running(status.message)))

        yield tell


def _lines(console: Console) -> Callable[[Status], None]:
    last: Status | None = None

    def tell(status: Status) -> None:
        nonlocal last
        if last is None or (status.state, status.saved, status.message) != (last.state, last.saved, last.message):
            last = status
            said = (f"{status.state}: {status.done} of {status.total}", _rest(status), running(status.message))
            console.print(Text(", ".join(filter(None, said))), soft_wrap=True)

    return tell


def _rest(status: Status) -> str:
    """Speed, failures and the time left, as far as they are known."""
    speed, left = status.tokens_per_second, status.seconds_left
    said = (
        f"{speed:,.0f} tokens/s" if speed else "",
        f"{status.failed} failed" if status.failed else "",
        f"{_duration(left)} left" if left is not None else "",
    )
    return ", ".join(filter(None, said))


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
