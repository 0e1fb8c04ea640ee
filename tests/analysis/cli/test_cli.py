import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from analysis.cli import main
from analysis.runs.job import read_status
from analysis.runs.manifest import answers_path, read_manifest
from analysis.runs.opened import open_run
from analysis.runs.traces import trace
from analysis.runs.work import load_for
from pages.ui.runs.listing import about_request
from rauq.checkpoints import placement
from rauq.errors import ModelNotFound
from tests.architectures import save_tiny
from tests.gguf_files import save_gguf

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_tiny(tmp_path_factory.mktemp("model")))


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    file = tmp_path_factory.mktemp("data") / "asked.csv"
    rows = "question,answer,right\nO\u00f9?,Oslo,yes\nWhen?,Now\x1b[2J,no\n,Never,no\n"
    file.write_bytes(rows.encode("windows-1252"))
    return str(file)


COLUMNS = ["--columns", "prompt=question,answer=answer,correct=right"]


def test_help_is_quick_and_loads_neither_torch_nor_pandas():
    code = "import sys\nfrom analysis.cli.main import main\ntry:\n    main(['score', '--help'])\nfinally:\n"
    code += "    assert not {'torch', 'pandas', 'scipy', 'plotly', 'pydantic'} & set(sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert "--resume" in run.stdout


def test_a_file_is_scored_and_its_table_printed(model, table, tmp_path, capsys):
    out = tmp_path / "run"
    asked = ["score", "--model", model, "--data", table, *COLUMNS, "--out", str(out)]
    asked += ["--methods", "default", "eigen_score", "--samples", "2", "--seed", "7"]
    assert main.main(asked) == 0
    said = capsys.readouterr()
    assert "it was read as Windows-1252" in said.err
    assert "Row 3 is left out" in said.err
    assert "finished: 2 of 2" in said.err
    for words in ("Answers", "share", "RAUQ", "Mean Token Entropy", "EigenScore", "PRR", "ROC-AUC"):
        assert words in said.out
    assert "\x1b" not in said.out + said.err
    assert open_run(out).answers["quality"].tolist() == [1.0, 0.0]
    request = open_run(out).manifest.request
    assert (request.methods[-1], request.samples, request.seed) == ("eigen_score", 2, 7)
    assert main.main(["score", "--out", str(out), "--resume"]) == 0
    assert main.main(asked) == 0


def test_a_model_larger_than_memory_is_left_on_the_disk(model, table, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(placement.torch.cuda, "device_count", lambda: 0)
    monkeypatch.setattr(placement, "free_main_memory", lambda: 60_000)
    asked = ["score", "--model", model, "--data", table, "--max-new-tokens", "3"]
    whole, placed = tmp_path / "whole", tmp_path / "placed"
    assert main.main([*asked, "--out", str(whole)]) == 0
    assert main.main([*asked, "--out", str(placed), "--device-map", "auto"]) == 0
    assert read_manifest(placed).request.device_map == "auto"
    assert load_for(read_manifest(placed).request).device.type == "cpu"
    assert "disk" in load_for(read_manifest(placed).request).model.hf_device_map.values()
    assert answers_path(placed, 0).read_bytes() == answers_path(whole, 0).read_bytes()
    capsys.readouterr()
    assert main.main([*asked, "--out", str(tmp_path / "no"), "--device-map", "auto", "--device", "cpu"]) == 2
    assert "leave the device at auto" in capsys.readouterr().err


def test_extras_are_kept_their_size_is_told_and_methods_are_added(model, table, tmp_path, capsys):
    out = tmp_path / "run"
    asked = ["score", "--model", model, "--data", table, *COLUMNS, "--out", str(out), "--methods", "rauq"]
    asked += ["--keep", "lookback, diagonal,lookback", "--offsets", "10", "--max-new-tokens", "20"]
    assert main.main(asked) == 0
    assert "for an answer of 20 tokens." in capsys.readouterr().err
    first = trace(open_run(out), 0)
    assert (set(first.extras), first.attention.shape[3]) == ({"lookback", "diagonal"}, 10)
    assert "10 keys back, and the extras lookback, diagonal" in about_request(read_manifest(out))
    assert main.main(["add-methods", str(out), "--methods", "msp", "attention_score"]) == 0
    assert "Attention Score" in capsys.readouterr().out
    assert main.main(["add-methods", str(out), "--methods", "simple_focus"]) == 2
    assert "with --keep max_attention" in capsys.readouterr().err
    assert open_run(out).methods == ("rauq", "msp", "attention_score")


def test_facts_are_asked_in_the_wording_of_the_models_kind(model, tmp_path, capsys):
    asked = ["score", "--model", model, "--data", "facts", "--limit", "3", "--max-new-tokens", "3"]
    assert main.main([*asked, "--out", str(tmp_path / "run")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "By stratum" in printed
    assert "Brackets: 95 % interval by question. Undefined (–): " in printed
    run = open_run(tmp_path / "run")
    assert run.manifest.request.quality == "facts"
    assert set(run.answers["quality"]) <= {0, 1}
    assert {example.prompt.endswith("\nAnswer:") for example in run.examples} == {True}
    assert main.main([*asked, "--kind", "instruct", "--out", str(tmp_path / "instruct")]) == 0
    plain = {example.prompt == example.question for example in open_run(tmp_path / "instruct").examples}
    assert plain == {True}


def test_two_files_of_correct_and_incorrect_answers(model, tmp_path):
    for name in ("right", "wrong"):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps({"prompt": "Where?", "answer": name}))
    files = ["--correct", str(tmp_path / "right.jsonl"), "--incorrect", str(tmp_path / "wrong.jsonl")]
    assert main.main(["score", "--model", model, *files, "--out", str(tmp_path / "run")]) == 0
    assert open_run(tmp_path / "run").answers["quality"].tolist() == [1.0, 0.0]
    assert main.main(["score", "--model", model, *files, "--limit", "1", "--out", str(tmp_path / "less")]) == 0
    assert len(open_run(tmp_path / "less").answers) == 1


@pytest.fixture
def no_model(monkeypatch):
    monkeypatch.setattr("analysis.runs.work.load_for", lambda _request: pytest.fail("a model was loaded"))


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "Give a data set with --data"),
        (["--resume", "--model", "atlas"], "leave out --model"),
        (["--resume", "--revision", "v1"], "leave out --revision"),
        (["--data", "atlas", "--limit", "2", "--revision", "v1"], "Got the revision 'v1' of atlas"),
        (["--correct", "x.csv"], "both --correct and --incorrect"),
        (["--data", "atlas", "--correct", "x.csv"], "Give either --data"),
        (["--correct", "x.csv", "--incorrect", "x.csv", "--per-group", "3"], "Give a limit instead"),
        (["--data", "{table}", "--per-group", "3"], "Give a limit instead"),
        (["--data", "{table}", "--columns", "prompt"], "give FIELD=COLUMN"),
        (["--data", "{table}", "--columns", "answer=answer"], "prompt among them"),
        (["--data", "{table}", "--columns", "prompt=question,luck=right"], "give FIELD=COLUMN"),
        (["--data", "{table}", "--columns", "prompt=nothing"], "no column 'nothing'"),
        (["--data", "atlas", "--limit", "2", "--methods", "luck"], "Unknown method 'luck'"),
        (["--data", "atlas", "--limit", "2", "--methods", "luq"], "Add --nli microsoft/deberta-large-mnli"),
        (["--data", "atlas", "--limit", "2", "--samples", "0"], "0 samples of an answer"),
        (["--resume", "--samples", "3"], "leave out --samples"),
        (["--resume", "--dtype", "auto"], "leave out --dtype"),
        (["--data", "atlas", "--limit", "2", "--quality", "taste"], "'taste'"),
        (["--data", "atlas", "--limit", "2", "--batch-size", "0"], "0 examples in a batch"),
        (["--data", "atlas", "--limit", "2", "--keep", "hiden"], "Got hiden to keep; give some of max_attention"),
        (["--data", "atlas", "--limit", "2", "--offsets", "1"], "Got 1 offsets"),
        (["--resume", "--keep", "hidden"], "leave out --keep"),
        (["--resume", "--no-stop"], "leave out --no-stop"),
        (["--data", "{table}", "--stop", ""], "give a text, or --no-stop for none"),
    ],
)
def test_bad_input_is_one_line_before_a_model_loads(arguments, complaint, table, tmp_path, capsys):
    out = tmp_path / "run"
    assert main.main(["score", "--out", str(out), *(part.format(table=table) for part in arguments)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert complaint in said.err.splitlines()[-1]
    assert not out.exists()


@pytest.mark.usefixtures("no_model")
def test_a_dry_run_says_how_a_file_is_read_and_writes_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("question,answer,hallucination\nWhere?,Here,no\nWhen?,Now,yes\n,,no\n")
    assert main.main(["score", "--data", "a.csv", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == (
        "Read as: prompt: question, such as 'Where?'; answer to score: answer, such as 'Here'; verdict: hallucination, "
        "no = correct."
    )
    assert lines[1:3] == ["Row 3 is left out: 'question' is empty.", "2 rows accepted, 1 left out."]
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    assert main.main(["score", "--data", "a.csv"]) == 2
    assert "A run needs a folder: give --out DIR" in capsys.readouterr().err


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize("how", [["--dry-run"], ["--out", "run"]])
def test_a_file_with_two_readings_stops_the_command_with_both(how, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("prompt,response,label\nWhere?,Here,1\nWhen?,Now,0\n")
    capsys.readouterr()
    assert main.main(["score", "--data", "a.csv", *how]) == 2
    said = capsys.readouterr().err
    for side in ("correct", "incorrect"):
        assert f"If 1 means {side}, give --columns prompt=prompt,answer=response,{side}=label" in said
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    columns = "prompt=prompt,answer=response,incorrect=label"
    assert main.main(["score", "--data", "a.csv", "--columns", columns, "--dry-run"]) == 0
    assert "verdict: label, 0 = correct" in capsys.readouterr().out


def test_a_revision_is_asked_for(table, tmp_path, monkeypatch):
    def refuse(request):
        message = f"{request.model} in {request.revision}"
        raise ModelNotFound(message)

    monkeypatch.setattr("analysis.runs.work.load_for", refuse)
    asked = ["score", "--model", "org/name", "--revision", "v1", "--data", table, *COLUMNS]
    assert main.main([*asked, "--out", str(tmp_path / "run")]) == 1
    assert read_status(tmp_path / "run").message == "org/name in v1"


def test_device_precision_kind_and_stops_reach_the_run(model, table, tmp_path, capsys):
    command = ["score", "--model", f"'{model}/config.json'", "--data", table, *COLUMNS]
    chosen = ["--device", "cpu", "--dtype", "bfloat16", "--kind", "auto", "--stop", "-\\n", "--stop", "."]
    assert main.main([*command, "--out", str(tmp_path / "run"), *chosen]) == 0
    manifest = open_run(tmp_path / "run").manifest
    assert (manifest.request.device, manifest.request.dtype, manifest.request.kind) == ("cpu", "bfloat16", None)
    assert manifest.answerer.dtype == "bfloat16"
    assert (manifest.request.stop, manifest.request.model) == (("-\n", "."), model)
    assert f"Read '{model}/config.json' as {model}." in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["--resume"], ["--data", "no-such-set"]])
def test_a_known_error_exits_with_1(arguments, tmp_path, capsys):
    assert main.main(["score", "--out", str(tmp_path / "run"), *arguments]) == 1
    assert capsys.readouterr().err.startswith("analysis: ")


@pytest.fixture
def asked(model, table, tmp_path):
    return ["score", "--model", model, "--data", table, *COLUMNS, "--out", str(tmp_path / "run")]


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_between_tokens_and_prints_how_to_resume(number, code, asked, capsys, monkeypatch):
    def load_and_hear(request):
        os.kill(os.getpid(), number)
        return load_for(request)

    before = signal.getsignal(number)
    with monkeypatch.context() as patched:
        patched.setattr("analysis.runs.work.load_for", load_and_hear)
        assert main.main(asked) == code
    assert signal.getsignal(number) == before
    assert "--resume" in capsys.readouterr().err
    assert read_status(Path(asked[-1])).state == "stopped"
    assert main.main(asked) == 0


def test_a_report_is_written_into_the_run(asked, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("analysis.report.writing.write_pictures", lambda *_args: "No Chromium was found.")
    out = tmp_path / "run"
    assert main.main(asked) == 0
    capsys.readouterr()
    assert main.main(["report", str(out)]) == 0
    said = capsys.readouterr()
    assert said.out.strip() == str(out / "report" / "index.html")
    assert said.err == "No Chromium was found.\n"
    assert (out / "report" / "index.html").exists()
    assert main.main(["report", str(tmp_path / "none")]) == 1


@pytest.mark.parametrize("name", ["models", "models/tiny.gguf", "link"])
def test_a_gguf_file_is_scored_and_resumed_from_any_folder(name, table, tmp_path, monkeypatch):
    out, before = tmp_path / "run", tmp_path / "models"
    before.mkdir()
    save_gguf(before / "tiny.gguf")
    (tmp_path / "link").symlink_to(before / "tiny.gguf")
    monkeypatch.chdir(tmp_path)
    assert main.main(["score", "--model", name, "--data", table, *COLUMNS, "--out", str(out)]) == 0
    monkeypatch.chdir("/")
    scores = open_run(out).answers["rauq"].tolist()
    answers_path(out, 0).unlink()
    assert main.main(["score", "--out", str(out), "--resume"]) == 0
    run = open_run(out)
    assert run.answers["rauq"].tolist() == scores
    assert run.manifest.request.model == str(tmp_path / name)
    assert (trace(run, 0).quantisation, trace(run, 0).dtype) == ("F32", "float32")
    assert "stored as F32 in a GGUF file; the computation is in float32." in about_request(run.manifest)
