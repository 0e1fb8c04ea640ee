"""`python -m analysis score|report|convert ...`."""

import sys

from analysis.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
