"""The command line of answer sets, run as a module."""

import sys

from analysis.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
