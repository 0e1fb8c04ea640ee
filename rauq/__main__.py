"""The command `rauq`, run as a module."""

import sys

from rauq.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
