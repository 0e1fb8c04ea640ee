"""Real weights for tests that random ones would pass: `make test` gets them."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
SMOLLM2 = ROOT / ".venv" / "models" / "SmolLM2-135M-Instruct.Q4_1.gguf"
