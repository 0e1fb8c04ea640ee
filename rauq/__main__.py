"""`python -m rauq inspect "PROMPT"`."""

import sys

from rauq.cli.inspect import main

if __name__ == "__main__":
    sys.exit(main())
