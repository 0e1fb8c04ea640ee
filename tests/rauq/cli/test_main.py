"""The command `rauq`: every subcommand is found, a missing package is one line, and completion knows the options."""

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import rauq
from rauq.cli import app, main
from rauq.cli.commands import DONE, KNOWN_ERROR

ROOT = Path(__file__).parents[3]
OWN_HELP = [command for command in main.COMMANDS if command.name != "host"]  # whose help is that of another process


def said_by(capsys, *arguments):
    with pytest.raises(SystemExit) as ended:
        main.main(arguments)
    return ended.value.code, capsys.readouterr()


def test_help_fits_a_screen_and_names_every_command(capsys):
    code, said = said_by(capsys, "--help")
    assert code == DONE
    assert len(said.out.splitlines()) <= 24
    assert max(map(len, said.out.splitlines())) <= 80
    listed = {line.split()[0] for line in said.out.splitlines() if line.startswith("  ") and line.strip()}
    assert listed == {command.name for command in main.COMMANDS}


@pytest.mark.parametrize("command", OWN_HELP, ids=lambda command: command.name)
def test_every_command_has_help(command, capsys):
    code, said = said_by(capsys, command.name, "--help")
    assert code == DONE
    assert said.out.startswith("usage: ")
    assert command.name in said.out.splitlines()[0]


def test_commands_of_the_analysis_are_all_offered(capsys):
    with pytest.raises(SystemExit):
        import_module("analysis.cli.main").main(["--help"])
    listed = {
        line.split()[0] for line in capsys.readouterr().out.splitlines() if line[:5].strip() and line[:4] == "    "
    }
    assert listed - {"COMMAND"} <= {command.name for command in main.COMMANDS}


def test_an_unknown_command_is_invalid_input(capsys):
    code, said = said_by(capsys, "scores")
    assert code == 2
    assert "invalid choice: 'scores'" in said.err


def test_the_version_is_the_librarys(capsys):
    assert said_by(capsys, "--version")[1].out == f"rauq {rauq.__version__}\n"


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (("report", "runs/none"), "pandas", "data"),
        (("score", "--data", "atlas", "--out", "none"), "pyarrow", "data"),
        (("app",), "streamlit", "app"),
        (("host", "--names", "localhost"), "streamlit", "app"),
    ],
)
def test_a_missing_extra_is_one_line_that_says_what_to_install(arguments, package, extra, tmp_path):
    """In a fresh interpreter that finds everything but one package."""
    code = f"""
import sys
from importlib.abc import MetaPathFinder

class Missing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {package!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Missing())
from rauq.cli.main import main
sys.exit(main({list(arguments)!r}))
"""
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    line = f"rauq: {arguments[0]} needs the package {package}, which is not installed. "
    assert (run.returncode, run.stderr) == (KNOWN_ERROR, f"{line}Install it: pip install 'rauq[{extra}]'\n")


def test_a_module_of_ours_that_is_missing_is_no_missing_extra(monkeypatch):
    error = ModuleNotFoundError("No module named 'analysis.nothing'", name="analysis.nothing")

    def broken(_arguments):
        raise error

    monkeypatch.setattr("analysis.cli.main.main", broken)
    with pytest.raises(ModuleNotFoundError, match="nothing"):
        main.main(["score"])


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("app",), []),
        (("app", "--port", "9000"), ["--server.port=9000"]),
        (("app", "--server.baseUrlPath=x"), ["--server.baseUrlPath=x"]),
    ],
)
def test_the_app_takes_the_place_of_the_process(arguments, expected, monkeypatch):
    became = []
    monkeypatch.setattr(os, "execve", lambda *call: became.append(call))
    app.main(arguments)
    ((program, command, variables),) = became
    assert (program, command[:6]) == (
        sys.executable,
        [sys.executable, "-P", "-m", "streamlit", "run", str(ROOT / "app.py")],
    )
    assert command[6:] == expected
    assert variables["PYTHONPATH"].split(os.pathsep)[0] == str(ROOT)


@pytest.mark.parametrize("shell", ["bash", "fish", "zsh"])
def test_completion_knows_commands_and_options(shell, capsys):
    assert main.main(["completion", shell]) == DONE
    script = capsys.readouterr().out
    words = set(script.replace('"', " ").split())
    assert words >= {"inspect", "--template-option", "get", "add-methods", "--methods", "--clear", "bash"}


def test_bash_completes_a_command_and_its_options(capsys):
    main.main(["completion", "bash"])
    script = capsys.readouterr().out
    ask = 'COMP_WORDS=(rauq inspect --te); COMP_CWORD=2; _rauq; echo "${COMPREPLY[@]}"'
    run = subprocess.run(["bash", "-c", f"{script}\n{ask}"], capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["--template-option", "--temperature"]
