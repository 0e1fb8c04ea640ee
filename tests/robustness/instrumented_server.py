"""The app's server, which also logs every model that it loads, and collects garbage on SIGUSR1.

python -m tests.robustness.instrumented_server run app.py [options of streamlit]
"""

import gc
import signal
import sys
from typing import TYPE_CHECKING, Any

from streamlit.web import cli

import rauq

if TYPE_CHECKING:
    from rauq.model.language_model import LanguageModel

LOADED = "model loaded: "


def _load(name: str, **options: Any) -> "LanguageModel":
    from rauq.model.loading import load_model

    sys.stderr.write(f"{LOADED}{name}\n")
    return load_model(name, **options)


if __name__ == "__main__":
    signal.signal(signal.SIGUSR1, lambda *_: gc.collect())
    rauq.load_model = _load
    cli.main()
