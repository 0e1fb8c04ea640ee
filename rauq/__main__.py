"""`python -m rauq`, which is the command `rauq`."""

import sys

from rauq.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
