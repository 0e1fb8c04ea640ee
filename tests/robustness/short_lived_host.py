"""The server of the hosted mode, which lets go of what a session owned soon after it has left, and says so in its log.

python -m tests.robustness.short_lived_host [options of pages.ui.host.server]
"""

import sys
from collections.abc import Callable

from pages.ui.host import hosting, server
from pages.ui.host.session_runs import clear_left

SECONDS, LEFT = 1.0, "sessions that have left: "


def _clear_left(is_connected: Callable[[str], bool]) -> list[str]:
    if left := clear_left(is_connected):
        sys.stderr.write(f"{LEFT}{len(left)}\n")
    return left


if __name__ == "__main__":
    hosting.LEFT_SECONDS, server.LOOK_SECONDS = SECONDS, SECONDS
    server.clear_left = _clear_left
    server.main()
