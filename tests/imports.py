"""What a fresh interpreter has imported."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
MODELS = ("torch", "transformers", "scipy", "pydantic")


def imported_after(code, names):
    """Those of these modules that a fresh interpreter holds after the code."""
    code = f"{code}\nimport json, sys\nprint(json.dumps([name for name in {names!r} if name in sys.modules]))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True, capture_output=True, text=True)
    return json.loads(run.stdout.splitlines()[-1])
