"""All robustness tests in full: laws, malformed inputs, hostile text, faults and load, a table each.

    python -m tests.robustness [--only fuzz|properties|safety|load|faults] [--record]

Each is a module here whose `record()` runs it and returns its table. The exit code is 1 where a bound was missed.
"""

import sys
from importlib import import_module

from benchmarks.recording import finish, parser

PARTS = ("properties", "fuzz", "safety", "faults", "load")


def main() -> int:
    options = parser(__doc__)
    options.add_argument("--only", choices=PARTS, help="one part of them")
    chosen = options.parse_args()
    parts = (chosen.only,) if chosen.only else PARTS
    codes = [finish(import_module(f"tests.robustness.{part}").record(), keep=chosen.record) for part in parts]
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
