import io
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import get_args

import pytest

import rauq
from rauq.cli import inspect
from rauq.cli.commands import stop_texts
from rauq.scoring.empty import EmptyAnswer, Remedy
from tests.chat_templates import CHATML
from tests.gguf_files import save_gguf

ROOT = Path(__file__).parents[3]


@pytest.fixture
def no_model(monkeypatch):
    def refuse(*_args, **_kwargs):
        pytest.fail("a model was loaded")

    monkeypatch.setattr("rauq.model.loading.load_model", refuse)


def test_help_is_quick_and_loads_no_torch():
    code = """
import sys
from rauq.cli.inspect import main
try:
    main(["inspect", "--help"])
finally:
    assert "torch" not in sys.modules
"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (run.returncode, run.stderr) == (0, "")
    assert "--save" in run.stdout
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([""], "must not be empty"),
        (["x", "--answer", ""], "must not be empty"),
        (["x", "--max-new-tokens", "0"], "--max-new-tokens is 0"),
        (["x", "--max-new-tokens", "-3"], "--max-new-tokens is -3"),
        (["x", "--alpha", "1.5"], "alpha is 1.5"),
        (["x", "--alpha", "nan"], "alpha is nan"),
        (["x", "--save", "no/such/folder/t.safetensors"], "give a file in a folder that exists"),
        (["x", "--save", "."], "give a file in a folder that exists"),
        (["x", "--system", " "], "an empty message of role system"),
        (["x", "--template-option", "tokenize=false"], "tokenize is reserved"),
        (["x", "--template-option", "=3"], "the template option ''"),
        (["x", "--template-option", "budget=Infinity"], "Got inf for the template option budget"),
        (["x", "--template-option", f"budget={'[' * 100_000}", "--end"], "--end is only for an answer given"),
        (["x", "--temperature", "0"], "Got the temperature 0.0"),
        (["x", "--top-p", "nan"], "top-p nan"),
        (["x", "--top-k", "-1"], "top-k -1"),
        (["x", "--seed", "-1"], "seed -1"),
        (["x", "--steps", "2"], "--steps is only for --attribution lig"),
        (["x", "--attribution", "lig", "--steps", "0"], "Got steps=0"),
        (["x", "--attribution", "lig", "--alignment", "own"], "Leave out --alignment own"),
        (["x", "--answer", "y", "--seed", "1"], "is not sampled; leave out --temperature"),
        (["x", "--answer", "y", "--by", "surprisal", "--alpha", "1"], "--by surprisal has no settings"),
        (["x", "--answer", "y", "--stop", "."], "leave out --stop and --no-stop"),
        (["x", "--answer", "y", "--no-stop"], "leave out --stop and --no-stop"),
        (["x", "--stop", ""], "give a text, or --no-stop for none"),
        (["x", "--question", "--system", "y"], "--question is for a base model"),
    ],
)
def test_bad_input_is_refused_before_a_model_loads(arguments, complaint, capsys):
    assert inspect.main(["inspect", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert complaint in captured.err
    assert len(captured.err.splitlines()) == 1


@pytest.mark.usefixtures("no_model")
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["inspect"],
        ["nonsense"],
        ["inspect", "x", "--signal", "luck"],
        ["inspect", "x", "--alignment", "sideways"],
        ["inspect", "x", "--part", "half"],
        ["inspect", "x", "--seed", "lucky"],
        ["inspect", "x", "--dtype", "int8"],
        ["inspect", "x", "--kind", "odd"],
        ["inspect", "x", "--alpha", "much"],
        ["inspect", "x", "--max-new-tokens", "many"],
        ["inspect", "x", "--stop", ".", "--no-stop"],
        ["inspect", "x", "--answer", "--json"],
        ["inspect", "x", "--answer", "-h"],
        ["inspect", "x", "-Tokyo"],
        ["inspect", "--Tokyo"],
        ["inspect", "-json", "x"],
    ],
)
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        inspect.main(arguments)
    assert stop.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize(
    "text", ["-Tokyo", "-5", "- 5", "-", "-s", "\N{EN DASH}", "-n=3", "-1,5 \N{DEGREE SIGN}C", "--Oslo is"]
)
def test_texts_may_begin_with_a_dash(text, monkeypatch):
    asked = []
    monkeypatch.setattr(inspect, "_inspect", lambda options: asked.append(options) or 0)
    for option in ("--answer", "--system", "--stop", "--template-option", "--model", "--ans"):
        assert inspect.main(["inspect", "--json", option, text, text]) == 0
        assert inspect.main(["inspect", text, option, text, "--json"]) == 0
        assert inspect.main(["inspect", f"{option}={text}", "--json", "--", text]) == 0
        assert {options.prompt for options in asked} == {text}
        assert all(options.json for options in asked)
        name = {"--ans": "answer"}.get(option, option.removeprefix("--").replace("-", "_"))
        given = [getattr(options, name) for options in asked[-3:]]
        assert given in ([text] * 3, [[text]] * 3)


def test_usage_says_how_to_give_a_text_that_looks_like_an_option(capsys):
    for arguments, advice in (
        (["x", "--answer", "--json"], ["x", "--answer=--json"]),
        (["x", "--zeta"], ["--", "--json"]),
    ):
        with pytest.raises(SystemExit):
            inspect.main(["inspect", *arguments])
        assert vars(inspect._parser().parse_args(["inspect", *advice]))["json"] is False
    said = capsys.readouterr().err
    assert "needs =, as in --answer=--TEXT" in said
    assert "put it last, after --" in said
    for arguments, advice in (
        (["inspect", "x", "--system", "--json"], "needs =, as in --system=--TEXT"),
        (["inspect", "x", "--model", "--json"], ""),
        (["models", "--zeta"], ""),
    ):
        with pytest.raises(SystemExit):
            inspect.main(arguments)
        said = capsys.readouterr().err
        assert advice in said
        assert ("needs =" in said, "put it last" in said) == (bool(advice), False)


@pytest.mark.parametrize("name", ["missing-folder", "empty-folder"])
def test_a_known_error_is_one_line_and_exits_with_1(name, tmp_path, capsys):
    (tmp_path / "empty-folder").mkdir()
    assert inspect.main(["inspect", "x", "--model", str(tmp_path / name)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    loading, error = captured.err.splitlines()
    assert loading == f"Loading {tmp_path / name} ..."
    assert error.startswith("rauq: ")
    assert name in error


def test_ctrl_c_ends_quietly(monkeypatch, capsys):
    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("rauq.model.loading.load_model", interrupt)
    assert inspect.main(["inspect", "x"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "rauq: stopped."


def test_output_for_a_generated_answer(model_folder, capsys):
    assert inspect.main(["inspect", "Where is Oslo?", "--model", model_folder, "--max-new-tokens", "6"]) == 0
    captured = capsys.readouterr()
    assert f"Loading {model_folder} ..." in captured.err
    assert "Loaded a base model of 6 layers with 4 heads." in captured.err
    for words in (
        "Where is Oslo?",
        "Selected heads",
        "gives the score",
        "Uncertainty",
        "Confidence collapsed at token",
    ):
        assert words in captured.out
    assert "\x1b" not in captured.out


def test_json_is_the_score_of_the_saved_trace(model_folder, tmp_path, capsys):
    file = tmp_path / "trace.safetensors"
    options = ["--model", model_folder, "--max-new-tokens", "6", "--alpha", "0.4", "--signal", "entropy"]
    assert inspect.main(["inspect", "Where is Oslo?", *options, "--json", "--save", str(file)]) == 0
    record = json.loads(capsys.readouterr().out)
    trace = rauq.Trace.load(file)
    assert record["prompt"] == trace.prompt == "Where is Oslo?"
    assert [token["id"] for token in record["tokens"]] == trace.answer_ids.tolist()
    assert record["uncertainty"] == rauq.score(trace, rauq.Settings(alpha=0.4, signal="entropy")).uncertainty
    rauq.score(trace, rauq.Settings(alignment="own"))  # a saved trace can be scored in every way


def test_attributions_are_scored_shown_and_saved_as_such(model_folder, tmp_path, capsys):
    file = tmp_path / "trace.safetensors"
    command = ["inspect", "Where is Oslo?", "--model", model_folder, "--answer", " In Norway."]
    command += ["--attribution", "lig", "--steps", "2"]
    assert inspect.main([*command, "--save", str(file)]) == 0
    shown = capsys.readouterr().out
    assert "The weights are LIG attributions, not attention (2 steps, output of the output projection)" in shown
    assert "mean LIG" in shown
    assert inspect.main([*command, "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    trace = rauq.Trace.load(file)
    assert record["attribution"] == vars(trace.attribution)
    assert record["uncertainty"] == pytest.approx(rauq.score(trace).uncertainty, abs=1e-6)
    assert trace.layers == (2, 3, 4)


@pytest.mark.parametrize("answer", [[], ["--answer", " In Norway."]])
def test_alignment_reaches_the_score(answer, model_folder, capsys):
    command = ["inspect", "Where is Oslo?", "--model", model_folder, "--max-new-tokens", "6", "--json", *answer]
    records = []
    for alignment in ("predicting", "own"):
        assert inspect.main([*command, "--alignment", alignment]) == 0
        records.append(json.loads(capsys.readouterr().out))
    assert [record["settings"]["alignment"] for record in records] == ["predicting", "own"]
    assert records[0]["tokens"][0]["logprob"] == records[1]["tokens"][0]["logprob"]
    assert records[0]["picked_heads"] != records[1]["picked_heads"]


def test_a_given_answer_is_scored_and_not_generated(model_folder, capsys):
    assert (
        inspect.main(["inspect", "Where is Oslo?", "--model", model_folder, "--answer", " In Norway.", "--json"]) == 0
    )
    record = json.loads(capsys.readouterr().out)
    assert record["answer"] == " In Norway."
    assert record["stop_reason"] == "given"


def test_an_answer_is_drawn_as_the_options_say(model_folder, capsys):
    command = ["inspect", "Where is Oslo?", "--model", model_folder, "--max-new-tokens", "5"]
    drawn = ["--temperature", "3", "--top-p", "0.95", "--seed", "7"]
    records = []
    for options in (drawn, drawn, ["--seed", "8", "--top-k", "0"], []):
        assert inspect.main([*command, *options, "--json"]) == 0
        records.append(json.loads(capsys.readouterr().out))
    assert records[0] == records[1]
    assert records[0]["sampling"] == {"temperature": 3, "top_p": 0.95, "top_k": 50, "seed": 7}
    assert records[2]["sampling"] == {"temperature": 1, "top_p": 1, "top_k": 0, "seed": 8}
    assert records[3]["sampling"] == {}
    assert inspect.main([*command, *drawn]) == 0
    assert "sampled with temperature 3, top-p 0.95, top-k 50, seed 7" in " ".join(capsys.readouterr().out.split())


def test_an_answer_ends_at_the_texts_that_are_given(model_folder, capsys):
    def answer(*options):
        asked = ["inspect", "Where is Oslo?", "--model", model_folder, "--max-new-tokens", "12", "--json", *options]
        assert inspect.main(asked) == 0
        record = json.loads(capsys.readouterr().out)
        return record["answer"], record["stop_reason"], len(record["tokens"])

    whole, reason, count = answer("--no-stop")
    assert (reason, count) == ("length", 12)
    ending = next(one for one in whole if one.isascii())  # bytes that are no whole character match no text
    found, reason, _ = answer("--stop", "nowhere", "--stop", ending)
    assert (whole.startswith(found), found.index(ending), reason) == (True, whole.index(ending), "stop")


@pytest.mark.parametrize(
    ("text", "read"), [("\\n", "\n"), ("a\\tb", "a\tb"), ("\\\\n", "\\n"), ("\\d", "\\d"), ("\\", "\\")]
)
def test_escapes_of_stop_texts_are_read(text, read):
    assert stop_texts(inspect._parser().parse_args(["inspect", "x", "--stop", text])) == (read,)


def test_an_empty_answer_is_followed_by_options_that_exist(capsys):
    remedies = [remedy for remedy in get_args(Remedy) if remedy != "template"]  # the command line applies it always
    inspect._advise(EmptyAnswer(what="", remedies=tuple(remedies)))
    said = capsys.readouterr().err
    options = re.findall(r"(--[a-z-]+(?: (?:all|base|instruct)\b)?)", said)
    assert len(options) == len(remedies)
    for option in options:
        number = ["9"] if option == "--max-new-tokens" else []
        assert inspect._parser().parse_args(["inspect", "x", *option.split(), *number])
    inspect._advise(EmptyAnswer(what="", remedies=("template",)))
    assert capsys.readouterr().err == ""


def test_a_given_answer_gets_its_end_and_is_scored_in_part(model_folder, capsys):
    command = [
        "inspect",
        "Where?",
        "--model",
        model_folder,
        "--answer",
        "<think>Hm</think>In Norway.",
        "--json",
        "--by",
        "rauq",
    ]
    records = {}
    for options in ([], ["--end"], ["--part", "thinking"], ["--part", "all"]):
        assert inspect.main([*command, *options]) == 0
        records[" ".join(options)] = json.loads(capsys.readouterr().out)
    assert [record["stop_reason"] for record in records.values()] == ["given", "eos", "given", "given"]
    assert len(records["--end"]["tokens"]) == len(records[""]["tokens"]) + 1
    assert [record["settings"]["part"] for record in records.values()] == ["answer", "answer", "thinking", "all"]
    assert len({record["uncertainty"] for record in records.values()}) == 4


def test_a_given_answer_is_scored_by_surprisal_and_rauq_is_one_option_away(model_folder, capsys):
    command = ["inspect", "Where is Oslo?", "--model", model_folder, "--answer", "It is in Norway.", "--json"]
    found = {}
    for options in ([], ["--by", "rauq"], ["--signal", "probability"], ["--end"]):
        assert inspect.main([*command, *options]) == 0
        found[" ".join(options)] = json.loads(capsys.readouterr().out)
    assert [one["scored_by"] for one in found.values()] == ["surprisal", "rauq", "rauq", "surprisal"]
    assert all(one["writer"].startswith("written by another, read by") for one in found.values())
    marked = found[""]["tokens"][found[""]["collapse_at"]["token"]]
    assert marked["collapse"] == pytest.approx(-marked["logprob"]) == found[""]["uncertainty"]
    assert found["--end"]["uncertainty"] == pytest.approx(found[""]["uncertainty"])


def test_a_generated_answer_is_scored_by_rauq(model_folder, capsys):
    assert inspect.main(["inspect", "Where?", "--model", model_folder, "--max-new-tokens", "3", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scored_by"] == "rauq"


@pytest.mark.parametrize("prompt", ["x" * 100_000, "bad \udcff byte"])
def test_bad_prompt_is_refused_by_the_model(prompt, model_folder, capsys):
    assert inspect.main(["inspect", prompt, "--model", model_folder]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith("rauq: ")
    assert "Traceback" not in captured.err


def test_a_file_that_cannot_be_written_is_bad_input(model_folder, tmp_path, capsys, monkeypatch):
    def refuse(*_args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    command = ["inspect", "x", "--model", model_folder, "--max-new-tokens", "2", "--save", str(tmp_path / "t")]
    assert inspect.main(command) == 2
    assert "cannot be written (Permission denied)" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_output_survives_a_terminal_without_unicode(model_folder, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert inspect.main(["inspect", "Où est Oslo ?", "--model", model_folder, "--max-new-tokens", "3"]) == 0
    stream.flush()
    text = stream.buffer.getvalue().decode("ascii")
    assert r"O\xf9 est Oslo ?" in text


def test_command_runs_as_a_module(model_folder):
    command = [sys.executable, "-m", "rauq", "inspect", "Where is Oslo?", "--model", model_folder, "--json"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0
    assert re.fullmatch(r"\{.*\}\n", run.stdout)
    assert json.loads(run.stdout)["model"] == model_folder


def test_a_system_prompt_and_options_reach_the_model(chat_folder, capsys, tmp_path):
    options = ["--template-option", "enable_thinking=false", "--max-new-tokens", "3", "--save", str(tmp_path / "t")]
    assert inspect.main(["inspect", "Hi", "--model", chat_folder, "--system", "Be brief.", "--json", *options]) == 0
    record = json.loads(capsys.readouterr().out)
    said = [("system", "Be brief."), ("user", "Hi")]
    assert [(message["role"], message["content"]) for message in record["messages"]] == said
    assert (record["prompt"], record["prompt_form"]) == ("Hi", "messages")
    assert record["template_options"] == {"enable_thinking": False}
    assert rauq.Trace.load(tmp_path / "t").template_options == {"enable_thinking": False}
    assert inspect.main(["inspect", "Hi", "--model", chat_folder, "--system", "Be brief.", "--answer", "Lo"]) == 0
    drawn = " ".join(capsys.readouterr().out.split())
    assert "(instruct, chat template applied to 2 messages) System Be brief. Prompt Hi Answer Lo" in drawn


def test_a_prompt_that_has_its_template_is_reported(chat_folder, capsys):
    assert inspect.main(["inspect", CHATML.plain, "--model", chat_folder, "--max-new-tokens", "3"]) == 0
    captured = capsys.readouterr()
    assert "The prompt already contains this model's chat template, so none was applied." in captured.err
    assert "prompt already contains the chat template, none applied" in " ".join(captured.out.split())
    windows = CHATML.plain.replace("\n", "\r\n")
    assert inspect.main(["inspect", windows, "--model", chat_folder, "--max-new-tokens", "3"]) == 0
    assert "so none was applied. Its line ends were changed to those of the template.\n" in capsys.readouterr().err
    assert inspect.main(["inspect", "Hi", "--model", chat_folder, "--max-new-tokens", "3"]) == 0
    assert "already contains" not in capsys.readouterr().err


def test_device_precision_and_kind_reach_the_model(chat_folder, capsys):
    command = ["inspect", "Hi", "--model", chat_folder, "--max-new-tokens", "3", "--json"]
    for options, found in (
        ([], ("float32", "instruct")),
        (["--device", "auto", "--dtype", "auto", "--kind", "auto"], ("float32", "instruct")),
        (["--device", "cpu", "--dtype", "bfloat16", "--kind", "base"], ("bfloat16", "base")),
    ):
        assert inspect.main([*command, *options]) == 0
        record = json.loads(capsys.readouterr().out)
        assert (record["dtype"], record["kind"]) == found
    assert inspect.main([*command, "--device", "abacus"]) == 2
    assert "Device 'abacus' is not available; choose auto, cpu" in capsys.readouterr().err


def test_the_option_named_in_an_out_of_memory_error_exists(model_folder, monkeypatch, capsys):
    info = rauq.inspect_model(model_folder, device="cpu")
    monkeypatch.setattr("rauq.checkpoints.loading.free_main_memory", lambda: 2 * info.parameters)
    command = ["inspect", "Where?", "--model", model_folder, "--device", "cpu", "--max-new-tokens", "2"]
    assert inspect.main(command) == 1
    advice = re.search(r"choose bfloat16 .* (--dtype \w+) in a shell", capsys.readouterr().err)
    assert inspect.main([*command, *advice[1].split()]) == 0


def test_a_system_prompt_needs_a_chat_template(model_folder, capsys):
    assert inspect.main(["inspect", "Hi", "--model", model_folder, "--system", "Be brief."]) == 2
    assert "This model has no chat template, which messages" in capsys.readouterr().err


def test_the_quantisation_of_a_gguf_file_is_printed(tmp_path, capsys):
    save_gguf(tmp_path / "tiny.gguf")
    assert inspect.main(["inspect", "Q", "--model", str(tmp_path), "--max-new-tokens", "3"]) == 0
    captured = capsys.readouterr()
    for text in (captured.err, captured.out):
        assert "The weights are stored as F32 in a GGUF file; the computation is in float32." in text
