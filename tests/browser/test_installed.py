"""What pip installs from the sdist's wheel, in a folder of another project: import, commands, and the app.

The package is read-only, as one of another user is: what opens a file of it for writing fails.
"""

import errno
import os
import re
import signal
import socket
import subprocess
import sys
import sysconfig
import venv
from contextlib import contextmanager
from email.parser import Parser
from pathlib import Path

import pytest
from playwright.sync_api import expect

from benchmarks.support import server
from tests.browser.typing import enter

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted((ROOT / "docs").glob("*.md"))
RUN_DOCUMENTS = ROOT / "tests" / "run_documents.py"
# Without compression, which takes most of the time and changes no file.
BUILD = """
import os, sys, tarfile, zlib
compressobj = zlib.compressobj
zlib.compressobj = lambda _level, *options: compressobj(0, *options)
from hatchling.build import build_sdist, build_wheel
place = sys.argv[1]
sdist = os.path.join(place, build_sdist(place))
with tarfile.open(sdist) as archive:
    archive.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.2 of Debian has no argument for it
    archive.extractall(place)
os.chdir(sdist.removesuffix(".tar.gz"))
print(build_wheel(place))
"""
READ_ONLY = """
import errno, os, sys

def refuse(event, arguments):
    path, flags = (arguments[0], arguments[2]) if event == "open" else (arguments[0], os.O_WRONLY)
    if isinstance(path, str) and path.startswith({site!r}) and flags & (os.O_WRONLY | os.O_RDWR):
        raise OSError(errno.EROFS, "Read-only file system", path)

sys.addaudithook(lambda event, arguments: refuse(event, arguments) if event in ("open", "os.mkdir") else None)
"""
FOREIGN = "raise SystemExit('a file of the current folder was imported')\n"
NAMES = ("analysis/__init__", "analysis/__main__", "pages/__init__", "pages/inspect", "app", "streamlit", "token")
FOREIGN_SETTINGS = '[server]\naddress = "0.0.0.0"\n[browser]\ngatherUsageStats = true\n'
PLACES = (("Kyoto", "Japan"), ("Porto", "Portugal"), ("Turin", "Italy"), ("Cusco", "Peru"), ("Izmir", "Turkey"))
ROWS = "".join(f"Q: In which country is {city}? A:,{country}\n" for city, country in PLACES)
CSV = f"prompt,reference\n{ROWS}{ROWS}"


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """Of an environment with the installed package, the packages of this one, and nothing of the repository."""
    place = tmp_path_factory.mktemp("wheel")
    built = subprocess.run([sys.executable, "-c", BUILD, place], cwd=ROOT, check=True, capture_output=True, text=True)
    options = ("--no-deps", "--no-index", "--quiet", "--disable-pip-version-check")
    wheel = place / built.stdout.splitlines()[-1]
    venv.create(place / "venv")
    python = place / "venv" / "bin" / "python"
    site = site_of(python)
    packages = ascii(sysconfig.get_path("purelib"))  # Python reads a .pth file in the encoding of the locale
    (site / "others.pth").write_text(f"import sys; sys.path.append({packages})")
    subprocess.run([python, "-m", "pip", "install", *options, wheel], check=True, env=environment())
    (site / "read_only_rauq.py").write_text(READ_ONLY.format(site=str(site / "rauq")))
    (site / "read_only_rauq.pth").write_text("import read_only_rauq")  # Debian's Python has a sitecustomize of its own
    return python


def site_of(python):
    """Where its packages are."""
    return Path(sysconfig.get_path("purelib", vars={"base": str(python.parents[1])}))


@pytest.fixture
def site(python):
    """The folder of the installed package."""
    return site_of(python)


def foreign(folder):
    """Make it the folder of another project, with modules and settings under our names."""
    for name in NAMES:
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).with_suffix(".py").write_text(FOREIGN)
    (folder / ".streamlit").mkdir()
    (folder / ".streamlit" / "config.toml").write_text(FOREIGN_SETTINGS)
    (folder / "ten.csv").write_text(CSV)
    return folder


@pytest.fixture
def folder(tmp_path):
    return foreign(tmp_path)


def environment():
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def ran(python, folder, *arguments):
    done = subprocess.run(
        [python, *arguments], cwd=folder, env=environment(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


@contextmanager
def serving(python, folder, *arguments):
    port = server.free_port()
    asked = [python, python.with_name("rauq"), *arguments, "--port", str(port)]
    with subprocess.Popen(
        asked, cwd=folder, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT
    ) as process:
        try:
            server.until_healthy(f"http://127.0.0.1:{port}/_stcore/health", process)
            yield port
        finally:
            process.send_signal(signal.SIGKILL)


def is_open(port, address):
    with socket.socket() as client:
        return client.connect_ex((address, port)) == 0


def test_the_wheel_adds_one_package_with_its_types(site):
    of_the_environment = {"read_only_rauq.py", "read_only_rauq.pth", "others.pth"}
    assert {path.name for path in site.iterdir()} - of_the_environment == {"rauq", "rauq-0.1.0.dist-info"}
    assert (site / "rauq" / "py.typed").exists()
    facts = Parser().parsestr((site / "rauq-0.1.0.dist-info" / "METADATA").read_text())
    assert (facts["Name"], facts["Requires-Python"]) == ("rauq", ">=3.11")
    assert set(facts.get_all("Provides-Extra")) == {
        "adapters",
        "app",
        "data",
        "excel",
        "judges",
        "llama",
        "ray",
        "serve",
        "stores",
    }


def test_every_import_of_the_wheel_is_in_it(site):
    modules = {".".join(path.relative_to(site).with_suffix("").parts) for path in (site / "rauq").rglob("*.py")}
    known = {name.removesuffix(".__init__") for name in modules} | {name.rpartition(".")[0] for name in modules}
    named = re.compile(r"^ *from ((?:rauq|analysis|pages)\b[\w.]*) import", re.MULTILINE)
    imported = {name for path in (site / "rauq").rglob("*.py") for name in named.findall(path.read_text())}
    assert imported - known == set()
    assert {"rauq.analysis.runs.job", "rauq.web.pages.ui.host"} <= imported


# Programs that run one after another in one process, each with names of its own: imports take longer than they do.
PROGRAMS = {
    "library": """
import sys
before = list(sys.path)
from rauq import analysis
import rauq
print(rauq.__version__, analysis.__name__, rauq.analysis is analysis, analysis.open_run.__module__, sys.path == before)
from rauq.cli.main import main
main(["inspect", "Q: What is the capital of Japan?\\nA:", "--answer", " Tokyo."])
""",
    "host": """
import streamlit as st
from streamlit import config
from rauq.web.pages.ui.host import server
st.App(server.APP)
server.set_options()
print(config.get_option("browser.gatherUsageStats"), config.get_option("server.maxUploadSize"))
""",
    "read-only": """
import pathlib, rauq
try:
    (pathlib.Path(rauq.__file__).parent / "new").write_text("")
except OSError as error:
    print(error.errno)
""",
    "commands": """
from rauq.layout import *
print(RAUQ_COMMAND, ANALYSIS_COMMAND, HOST_COMMAND, EXTRAS_COMMAND, sep="; ")
""",
    "caches": """
from rauq import analysis
from rauq.web.pages.ui.host import cache
print(cache._RUN, f"{analysis.Run.__module__}.{analysis.Run.__qualname__}")
""",
}


@pytest.fixture(scope="module")
def said(python, tmp_path_factory):
    """The words that each program prints, in the folder of another project."""
    runs = [f"print('== {name}')\nexec({code!r}, {{'__name__': '__main__'}})\n" for name, code in PROGRAMS.items()]
    parts = ran(python, foreign(tmp_path_factory.mktemp("project")), "-P", "-c", "".join(runs)).split("== ")[1:]
    return {name: words.split() for name, words in (part.split("\n", 1) for part in parts)}


def test_the_library_imports_and_leaves_pythons_path_alone_and_inspect_scores_an_answer(said):
    first, *rest = said["library"]
    assert [first, *rest[:4]] == ["0.1.0", "rauq.analysis", "True", "rauq.analysis.runs.opened", "True"]
    assert "Uncertainty" in rest


def test_the_host_reads_the_settings_of_the_package(said):
    assert said["host"] == ["False", "64"]


def test_the_package_is_read_only(said):
    assert said["read-only"] == [str(errno.EROFS)]


def test_messages_name_the_command_that_is_installed(site, said):
    named = re.compile(r"python -m (?:rauq(?!\.)|analysis|pages)\b|requirements-extra")
    naming = [path.name for path in (site / "rauq").rglob("*.py") if named.search(path.read_text())]
    assert naming == ["layout.py"]  # which messages take the command from
    assert " ".join(said["commands"]) == "rauq; rauq; rauq host; pip install 'rauq[data,judges]'"


def test_opened_runs_are_known_to_the_caches_of_the_pages(said):
    assert said["caches"] == ["rauq.analysis.runs.opened.Run"] * 2  # else whole runs are hashed, with all their tables


def test_score_answers_ten_rows(python, folder):
    options = ("--model", "atlas", "--data", "ten.csv", "--max-new-tokens", "2", "--out", "run")
    said = ran(python, folder, python.with_name("rauq"), "score", *options)
    assert "RAUQ" in said
    assert (folder / "run" / "manifest.json").exists()


def test_the_examples_of_all_documents_run(python, site, tmp_path):
    installed = sorted((site / "rauq" / "web" / "docs").glob("*.md"))  # which Help shows
    said = ran(python, tmp_path, "-P", RUN_DOCUMENTS, tmp_path, *installed)
    parts = dict(part.split("\n", 1) for part in said.split("== ")[1:])
    assert list(parts) == [path.name for path in DOCUMENTS]
    assert {"answer", "quality", "rauq", "weakest_token"} <= set(parts["own_method.md"].split())
    assert "Weakest token" in parts["own_method.md"]  # on the command line
    assert parts["data_frames.md"].startswith("2 rows; () 2 of 2 rows have a reference of at most 5 words")
    assert "own_quality" in (tmp_path / "data_frames" / "run" / "manifest.json").read_text()


def test_the_app_starts_a_job_from_its_page_and_ends_with_its_command(python, folder, page):
    with serving(python, folder, "app") as port:
        assert not is_open(port, "127.0.0.2")  # the foreign settings would open it to other hosts
        page.goto(f"http://127.0.0.1:{port}/runs?view=new")
        upload = {"name": "ten.csv", "mimeType": "text/csv", "buffer": CSV.encode()}
        page.locator("input[type=file]").set_input_files(upload)
        expect(page.get_by_text("10 rows accepted, 0 rows rejected.")).to_be_visible()
        enter(page.get_by_role("textbox", name="Name of the run"), "mine")
        page.get_by_role("textbox", name="Name of the run").press("Enter")
        page.get_by_role("button", name="Start").click()
        expect(page.locator(".st-key-run-mine").get_by_text("finished")).to_be_visible()
    assert not is_open(port, "127.0.0.1")
    assert (folder / "runs" / "mine" / "answers-00000.parquet").exists()
