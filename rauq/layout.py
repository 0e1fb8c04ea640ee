"""Where the other parts of the project are: an installed package holds them, the repository has them beside it."""

from pathlib import Path

_PACKAGE = Path(__file__).parent
_IS_INSTALLED = (_PACKAGE / "analysis" / "__init__.py").is_file()

ROOT = _PACKAGE.parent  # the folder in which Python finds rauq
ANALYSIS = "rauq.analysis" if _IS_INSTALLED else "analysis"
APP = (_PACKAGE / "web" if _IS_INSTALLED else ROOT) / "app.py"
HOST = f"{'rauq.web.' if _IS_INSTALLED else ''}pages.ui.host.server"
