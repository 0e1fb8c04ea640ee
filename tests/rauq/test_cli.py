import io
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

import rauq
from rauq import cli

ROOT = Path(__file__).parents[2]
TEXT = ["Where is Oslo? In Norway.", "Where is Lima? In Peru.", "0 1 2 3 4 5 6 7 8 9"]


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    """A Llama of random weights with a byte-level tokenizer, as `save_pretrained` writes it."""
    folder = tmp_path_factory.mktemp("model")
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, special_tokens=["<s>", "</s>"])
    tokenizer.train_from_iterator(TEXT, trainer)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>").save_pretrained(folder)
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=tokenizer.get_vocab_size(),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=6,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=0,
        eos_token_id=1,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    return str(folder)


@pytest.fixture
def no_model(monkeypatch):
    def refuse(*_args, **_kwargs):
        pytest.fail("a model was loaded")

    monkeypatch.setattr("rauq.models.load_model", refuse)


def test_help_is_quick_and_loads_no_torch():
    code = """
import sys
from rauq.cli import main
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
    ],
)
def test_bad_input_is_refused_before_a_model_loads(arguments, complaint, capsys):
    assert cli.main(["inspect", *arguments]) == 2
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
        ["inspect", "x", "--alpha", "much"],
        ["inspect", "x", "--max-new-tokens", "many"],
    ],
)
def test_wrong_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(arguments)
    assert stop.value.code == 2
    assert "usage:" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["missing-folder", "empty-folder"])
def test_a_known_error_is_one_line_and_exits_with_1(name, tmp_path, capsys):
    (tmp_path / "empty-folder").mkdir()
    assert cli.main(["inspect", "x", "--model", str(tmp_path / name)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    loading, error = captured.err.splitlines()
    assert loading == f"Loading {tmp_path / name} ..."
    assert error.startswith("rauq: ")
    assert name in error


def test_ctrl_c_ends_quietly(monkeypatch, capsys):
    def interrupt(*_args, **_kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("rauq.models.load_model", interrupt)
    assert cli.main(["inspect", "x"]) == 130
    assert capsys.readouterr().err.splitlines()[-1] == "rauq: stopped."


def test_picture_of_a_generated_answer(model_folder, capsys):
    assert cli.main(["inspect", "Where is Oslo?", "--model", model_folder, "--max-new-tokens", "6"]) == 0
    captured = capsys.readouterr()
    assert f"Loading {model_folder} ..." in captured.err
    assert "Loaded a base model of 6 layers with 4 heads." in captured.err
    for words in ("Where is Oslo?", "Picked heads", "decides", "Uncertainty", "Confidence collapsed at token"):
        assert words in captured.out
    assert "\x1b" not in captured.out


def test_json_is_the_score_of_the_saved_trace(model_folder, tmp_path, capsys):
    file = tmp_path / "trace.safetensors"
    options = ["--model", model_folder, "--max-new-tokens", "6", "--alpha", "0.4", "--signal", "entropy"]
    assert cli.main(["inspect", "Where is Oslo?", *options, "--json", "--save", str(file)]) == 0
    record = json.loads(capsys.readouterr().out)
    trace = rauq.Trace.load(file)
    assert record["prompt"] == trace.prompt == "Where is Oslo?"
    assert [token["id"] for token in record["tokens"]] == trace.answer_ids.tolist()
    assert record["uncertainty"] == rauq.score(trace, rauq.Settings(alpha=0.4, signal="entropy")).uncertainty
    rauq.score(trace, rauq.Settings(alignment="own"))  # a saved trace can be scored in every way


@pytest.mark.parametrize("answer", [[], ["--answer", " In Norway."]])
def test_alignment_reaches_the_score(answer, model_folder, capsys):
    command = ["inspect", "Where is Oslo?", "--model", model_folder, "--max-new-tokens", "6", "--json", *answer]
    records = []
    for alignment in ("predicting", "own"):
        assert cli.main([*command, "--alignment", alignment]) == 0
        records.append(json.loads(capsys.readouterr().out))
    assert [record["settings"]["alignment"] for record in records] == ["predicting", "own"]
    assert records[0]["tokens"][0]["logprob"] == records[1]["tokens"][0]["logprob"]
    assert records[0]["picked_heads"] != records[1]["picked_heads"]


def test_a_given_answer_is_scored_and_not_generated(model_folder, capsys):
    assert cli.main(["inspect", "Where is Oslo?", "--model", model_folder, "--answer", " In Norway.", "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["answer"] == " In Norway."
    assert record["stop_reason"] == "given"


@pytest.mark.parametrize("prompt", ["x" * 100_000, "bad \udcff byte"])
def test_bad_prompt_is_refused_by_the_model(prompt, model_folder, capsys):
    assert cli.main(["inspect", prompt, "--model", model_folder]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith("rauq: ")
    assert "Traceback" not in captured.err


def test_a_file_that_cannot_be_written_is_bad_input(model_folder, tmp_path, capsys, monkeypatch):
    def refuse(*_args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    command = ["inspect", "x", "--model", model_folder, "--max-new-tokens", "2", "--save", str(tmp_path / "t")]
    assert cli.main(command) == 2
    assert "cannot be written (Permission denied)" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_output_survives_a_terminal_without_unicode(model_folder, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert cli.main(["inspect", "Où est Oslo ?", "--model", model_folder, "--max-new-tokens", "3"]) == 0
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
