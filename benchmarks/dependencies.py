"""Every pinned package, whether this version is installed, and under which licence.

Known vulnerabilities are listed by `pip-audit -r requirements.txt`, where the network reaches a service that has them.
"""

from importlib.metadata import PackageNotFoundError, metadata, version

from analysis.evidence.record import Bound, Record
from benchmarks.support.recording import measured
from benchmarks.support.server import ROOT

FILES = ("requirements.txt", "requirements-extra.txt", "requirements-dev.txt")
_LONGEST_LICENCE = 40
_HASHES = (
    "Hashes are not pinned: torch has other wheels for every platform and accelerator, and pip takes hashes for all "
    "packages or for none."
)
_AUDIT = (
    "Known vulnerabilities are not looked up: no service that lists them could be reached where this was made. "
    "pip-audit -r requirements.txt does it where one can."
)


def measure() -> Record:
    """Read the pins, and compare them with what is installed."""
    pins = [(file, *line.partition("==")[::2]) for file in FILES for line in _pinned(file)]
    named = [(file, name.partition("[")[0], pin) for file, name, pin in pins]  # without extras
    rows = [(name, pin, _installed(name), _licence(name), file) for file, name, pin in named]
    as_pinned = sum(row[1] == row[2] for row in rows)
    return measured(
        "dependencies",
        title="Dependencies",
        about="Every required package, in the version used for all numbers on this page.",
        columns=("package", "pinned", "installed", "licence", "asked for by"),
        rows=rows,
        bounds=[
            Bound(text="Every version is exact", met=all(pin for _, _, pin in pins)),
            Bound(text="What is installed is what is pinned", met=as_pinned == len(rows)),
        ],
        notes=[_HASHES, _AUDIT],
        finding=f"{as_pinned} of {len(rows)} packages are installed in the pinned version.",
        packages=(),
    )


def _pinned(file: str) -> list[str]:
    """The packages that a file of requirements asks for, a line each; what it includes is not among them."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-"))]


def _installed(name: str) -> str:
    """The version that is installed, without what it was built for; empty where there is none."""
    try:
        return version(name).partition("+")[0]
    except PackageNotFoundError:
        return ""


def _licence(name: str) -> str:
    """The licence that a package states, in short; empty where it states none."""
    try:
        stated = metadata(name)
    except PackageNotFoundError:
        return ""
    classified = [line.rpartition(" :: ")[2] for line in stated.get_all("Classifier", []) if line.startswith("License")]
    named = [*stated.get_all("License-Expression", []), ", ".join(classified), *stated.get_all("License", [])]
    return next(filter(None, named), "").partition("\n")[0][:_LONGEST_LICENCE]
