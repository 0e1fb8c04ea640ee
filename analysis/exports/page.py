"""What the HTML pages that we write share: their template, and a policy under which only their own scripts run."""

import base64
import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

_HERE = Path(__file__).parent
_SCRIPT = re.compile(r"<script[^>]*>(.*?)</script>", re.DOTALL)


def template(path: Path) -> Template:
    """A template that escapes every text, and has no names that are not given to it."""
    environment = Environment(
        loader=FileSystemLoader([path.parent, _HERE]),  # a part that pages share lies here
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(path.name)


def own(name: str) -> str:
    """The text of a style sheet or a script that lies beside this file."""
    return (_HERE / name).read_text(encoding="utf-8")


def policy(pieces: Iterable[str]) -> str:
    """A content policy under which the scripts of these pieces of HTML run, and no other.

    Plotly writes styles into the page, and saves pictures by way of images that are data or blobs.
    """
    scripts = [script for piece in pieces for script in _SCRIPT.findall(piece)]
    digests = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )
