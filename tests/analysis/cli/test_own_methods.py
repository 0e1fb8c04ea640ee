"""`--methods my_module:my_method`: imported because it is named in this command, and for no other reason."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.cli import main
from analysis.cli.own_methods import is_own, load_own, words_of
from analysis.runs.job import read_status
from analysis.runs.manifest import answers_path, read_manifest
from analysis.runs.opened import open_run
from rauq.errors import InvalidInput
from rauq.layout import HOSTED_VARIABLE
from tests.architectures import save_tiny

ROOT = Path(__file__).parents[3]
MODULE = """
import pathlib
import rauq

pathlib.Path("imported").write_text(__name__)


def length(evidence):
    return len(evidence.trace.answer_ids)


own = rauq.Method(id="length", name="Length", compute=length, source="us")
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_tiny(tmp_path_factory.mktemp("model")))


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a module and a data set, which is the current one, as of `python -m analysis`."""
    (tmp_path / "mine.py").write_text(MODULE)
    (tmp_path / "asked.csv").write_text("question,answer,right\nWhere?,Oslo,yes\nWhen?,Now,no\nWho?,She,yes\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in ("mine", "broken", "leaves", "needy", "odd", "two"):
        sys.modules.pop(name, None)


def command(model, *more):
    return ["score", "--model", model, "--data", "asked.csv", "--out", "run", "--batch-size", "1", *more]


def test_a_method_is_found_in_the_current_folder_and_ranked(here, model):
    arguments = command(model, "--methods", "default,mine:own")
    ran = subprocess.run(
        [sys.executable, "-m", "analysis", *arguments],
        cwd=here, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "Length" in ran.stdout
    run = open_run(here / "run")
    assert run.methods == ("rauq", "msp", "perplexity", "mean_token_entropy", "surprisal", "length")
    assert run.frame()["length"].tolist() == run.answers["num_tokens"].tolist()
    (note,) = run.manifest.request.own_methods
    assert (note.id, note.name, note.source, note.module) == ("length", "Length", "us", "mine:own")


@pytest.fixture
def half(here, model):
    assert main.main(command(model, "--methods", "msp", "mine:own")) == 0
    sys.modules.pop("mine")
    (here / "imported").unlink()
    manifest = read_manifest(here / "run")
    for shard in range(manifest.num_shards):
        answers_path(here / "run", shard).unlink()
    return here


def test_what_a_manifest_names_is_never_imported(half, capsys):
    assert main.main(["score", "--out", "run", "--resume"]) == 1
    said = "This run uses your own length. Add --methods mine:own, in the folder of the module, to resume it."
    assert said in capsys.readouterr().err
    assert read_status(half / "run").message == said
    open_run(half / "run")
    assert "mine" not in sys.modules
    assert not (half / "imported").exists()


def test_a_run_goes_on_when_its_methods_are_named_again(half, model, capsys):
    assert main.main(["score", "--out", "run", "--resume", "--methods", "mine:own"]) == 0
    assert open_run(half / "run").frame()["length"].notna().all()
    assert main.main(["score", "--out", "run", "--resume", "--methods", "mine:own", "msp"]) == 2
    assert "leave out --methods" in capsys.readouterr().err
    assert main.main(command(model, "--methods", "msp", "mine:own")) == 0


def test_a_changed_module_is_refused(half, model, capsys):
    (half / "mine.py").write_text(MODULE + "\n# changed\n")
    assert main.main(["score", "--out", "run", "--resume", "--methods", "mine:own"]) == 1
    assert "The method length (mine:own) is not what the run was started with" in capsys.readouterr().err
    assert main.main(command(model, "--methods", "msp", "mine:own")) == 1
    assert "not what the run was started with" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("nothing:own", "No module 'nothing' in .* or among the installed ones"),
        ("mine.deeper:own", "No module 'mine.deeper'|cannot be imported"),
        ("mine:nothing", "mine has no nothing; its methods are own"),
        ("mine:length", r"mine:length is a function, not a method\. Give rauq\.Method"),
        ("mine:pathlib", "mine:pathlib is a module, not a method"),
        ("mine:", "give module:attribute"),
        (":own", "give module:attribute"),
        ("mine.py:own", "give module:attribute"),
        ("./mine:own", "give module:attribute"),
        ("/home/mine:own", "give module:attribute"),
        (r"C:\mine:own", "give module:attribute"),
        ("mine:own:own", "give module:attribute"),
        ("mine:own()", "give module:attribute"),
        ("broken:own", r"broken cannot be imported \(ZeroDivisionError: division by zero\)"),
        ("leaves:own", r"leaves cannot be imported \(SystemExit: 3\)"),
        ("needy:own", r"needy cannot be imported \(ModuleNotFoundError: No module named 'not_there'\)"),
        ("odd:own", r"odd cannot be imported \(SyntaxError"),
        ("rauq.methods.table:_FOCUS", "focus is the id of another method"),
    ],
)
def test_a_word_that_names_no_method_is_refused(word, said, here):
    (here / "broken.py").write_text("1 / 0")
    (here / "leaves.py").write_text("raise SystemExit(3)")
    (here / "needy.py").write_text("import not_there")
    (here / "odd.py").write_text("def")
    with pytest.raises(InvalidInput, match=said):
        load_own([word])


def test_two_methods_of_one_id_are_refused(here):
    (here / "two.py").write_text(MODULE)
    with pytest.raises(InvalidInput, match="Two of your methods have the same id"):
        load_own(["mine:own", "two:own"])


def test_words_are_separated_by_commas_and_spaces_and_stand_once():
    assert words_of(["default,mine:own", "msp", "mine:own"]) == ("default", "mine:own", "msp")
    assert words_of(None) == ()
    assert [is_own(word) for word in ("mine:own", "msp", "tad=C:/file")] == [True, False, False]


def test_a_host_imports_nothing(here, monkeypatch):
    monkeypatch.setenv(HOSTED_VARIABLE, "1")
    with pytest.raises(InvalidInput, match="A host imports no methods"):
        load_own(["mine:own"])
    assert not (here / "imported").exists()
    assert load_own(["msp"]).methods == ()


def test_a_limit_is_given_in_seconds(here, model, capsys):
    (here / "mine.py").write_text(MODULE.replace("    return len", "    while True:\n        pass\n    return len"))
    assert main.main(command(model, "--methods", "msp,mine:own", "--method-seconds", "0.1")) == 0
    run = open_run(here / "run")
    assert (run.reasons["length"] == "it took more than 0.1 s").all()
    assert run.frame()["msp"].notna().all()
    assert main.main(command(model, "--methods", "mine:own", "--method-seconds", "-1")) == 2
    assert "Got a limit of -1 seconds" in capsys.readouterr().err
