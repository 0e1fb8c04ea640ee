"""How a caller cancels work that takes long."""

from typing import Protocol


class Cancel(Protocol):
    """Anything that says whether the caller has cancelled, such as a `threading.Event`."""

    def is_set(self) -> bool:
        """Whether to stop."""
        ...
