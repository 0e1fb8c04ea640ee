"""Follow deploy/Dockerfile without Docker: its instructions, in order, in a Debian root that debootstrap makes.

Run by `make image-check` as root, which debootstrap and mounts need. Then its command is started, its health check is
asked until it passes, and its stop signal is sent. Variables that begin with PIP_ are passed on, and paths that are
given are mounted at the same place, for packages that are kept on this machine. What Docker itself does with layers,
ports and the base image is not tested.
"""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUITE, PACKAGES = "bookworm", "python3-venv,ca-certificates"  # what python:3.11-slim-bookworm brings, from Debian
PATIENCE, POLL = 120.0, 0.5  # seconds until the health check passes, and between two checks
SYSTEM = ("/proc", "/dev", "/etc/resolv.conf", "/etc/hosts")


@dataclass
class Image:
    """The root that is built, and what the instructions so far have set."""

    root: Path
    folder: str = "/"
    user: str = "root"
    variables: dict[str, str] = field(
        default_factory=lambda: {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
    )

    def command(self, words: list[str]) -> list[str]:
        """What runs these words in the image."""
        passed = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        given = [f"{name}={value}" for name, value in (passed | {"HOME": self.home} | self.variables).items()]
        inside = ["sh", "-c", f'cd {shlex.quote(self.folder)} && exec "$@"', "sh", *words]
        return ["chroot", f"--userspec={self.user}", str(self.root), "env", "-i", *given, *inside]

    @property
    def home(self) -> str:
        """The home of its user."""
        return "/root" if self.user == "root" else f"/home/{self.user}"

    def follow(self, name: str, text: str) -> None:
        """Carry one instruction out."""
        if name == "RUN":
            subprocess.run(self.command(["sh", "-c", text]), check=True)
        elif name == "USER":
            self.user = text
        elif name == "WORKDIR":
            self.folder = text
        elif name in ("ENV", "ARG"):
            self.variables |= dict(word.split("=", 1) for word in shlex.split(text))
        elif name == "COPY":
            self.copy(shlex.split(text))

    def copy(self, words: list[str]) -> None:
        """Copy files of the repository into the current folder, for the user who is named."""
        owner = next(word.removeprefix("--chown=") for word in words if word.startswith("--chown="))
        *patterns, place = (word for word in words if not word.startswith("--"))
        target = self.root / self.folder.lstrip("/") / place
        for path in (path for pattern in patterns for path in ROOT.glob(pattern)):
            copied = Path(shutil.copy(path, target))
            subprocess.run(["chroot", str(self.root), "chown", owner, f"/{copied.relative_to(self.root)}"], check=True)


def instructions() -> list[tuple[str, str]]:
    """Name and text of each instruction, with continued lines joined."""
    text = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines if line)]


def mount(root: Path, path: str) -> None:
    """Show a path of this machine at the same place of the root."""
    target = root / path.lstrip("/")
    if Path(path).is_dir():
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    subprocess.run(["mount", "--bind", path, str(target)], check=True)


def serve(image: Image, command: list[str], check: list[str], stop: str) -> None:
    """Start the command, wait until the health check passes, and stop it: it has to end with 0."""
    image.variables["RAUQ_NAMES"] = "localhost"
    with subprocess.Popen(image.command(command)) as server:
        deadline = time.monotonic() + PATIENCE
        while subprocess.run(image.command(check), stderr=subprocess.DEVNULL, check=False).returncode != 0:
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                sys.exit("image-check: the health check does not pass")
            time.sleep(POLL)
        server.send_signal(getattr(signal, stop))
    if server.returncode != 0:
        sys.exit(f"image-check: the server ended with {server.returncode}")


def built_and_run(root: Path, mounted: list[str]) -> None:
    """Build the image in an empty folder, and run it."""
    begun = time.monotonic()
    root.chmod(0o755)  # other users look into it, too
    debootstrap = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE, str(root)]
    subprocess.run(debootstrap, check=True, stdout=subprocess.DEVNULL)
    for path in (*SYSTEM, *mounted):
        mount(root, path)
    image, asked = Image(root), instructions()
    for one in asked:
        image.follow(*one)
    last = dict(asked)
    serve(image, json.loads(last["CMD"]), json.loads(last["HEALTHCHECK"].partition("CMD ")[2]), last["STOPSIGNAL"])
    used = subprocess.run(
        ["du", "-sm", *(f"--exclude={root}{path}" for path in (*SYSTEM, *mounted)), str(root)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()[0]
    sys.stdout.write(f"image-check: passed in {time.monotonic() - begun:.0f} s; the image has {used} MB\n")


def main() -> int:
    """Check in a namespace whose mounts end with it: here, where the files are deleted, there are none."""
    if shutil.which("debootstrap") is None:
        sys.exit("image-check: debootstrap is missing. Install it: apt-get install debootstrap")
    if sys.argv[1:2] == ["--inside"]:
        built_and_run(Path(sys.argv[2]), sys.argv[3:])
        return 0
    with tempfile.TemporaryDirectory() as root:
        apart = ["unshare", "--mount", "--propagation", "private"]
        inside = [sys.executable, __file__, "--inside", root, *sys.argv[1:]]
        return subprocess.run([*apart, *inside], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
