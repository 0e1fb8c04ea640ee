"""The command that counts documents: what it reads, what it writes, and what it refuses."""

import json
import math
import re

import numpy as np
import pytest

from analysis.cli import main
from rauq.methods.pair_scorers.idf import load_idf
from tests.architectures import VOCABULARY, byte_tokenizer, save_tiny

DOCUMENTS = ("a tree", "Flüsse", "a man, a plan", "zzz")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return str(save_tiny(tmp_path_factory.mktemp("model")))


def write(folder, ending):
    file = folder / f"documents{ending}"
    rows = [json.dumps({"id": place, "words": text}) for place, text in enumerate((*DOCUMENTS, " "))]
    file.write_text("\n".join(rows if ending == ".jsonl" else [*DOCUMENTS[:2], "", "  ", *DOCUMENTS[2:], ""]))
    return str(file)


def counted(model, *arguments):
    return main.main(["idf", "--model", model, *arguments])


@pytest.mark.parametrize(("ending", "more"), [(".txt", ()), (".jsonl", ("--column", "words"))])
def test_documents_of_each_token_are_counted(ending, more, model, tmp_path, capsys):
    out = str(tmp_path / "idf.safetensors")
    assert counted(model, "--documents", write(tmp_path, ending), *more, "--out", out) == 0
    assert capsys.readouterr().out == f"{out}\n"
    held = [set(byte_tokenizer()(text)["input_ids"]) for text in DOCUMENTS]
    wanted = [math.log(4 / (sum(token in ids for ids in held) + 1)) for token in range(VOCABULARY)]
    np.testing.assert_allclose(load_idf(out), wanted, rtol=1e-12)
    assert len(set(wanted)) > 2


def test_the_embedded_models_tokenizer_is_the_default_and_counts_its_first_token(tmp_path):
    out = tmp_path / "idf.safetensors"
    assert main.main(["idf", "--documents", write(tmp_path, ".txt"), "--out", str(out)]) == 0
    assert load_idf(out)[1] == pytest.approx(math.log(4 / 5))


UNFIT = {
    "none.txt": (None, "cannot be read"),
    "empty.txt": (b"\n\n", "There are no documents"),
    "latin.txt": (b"Fl\xfcsse", "cannot be read .* text file in UTF-8"),
    "table.csv": (b"words\nyes\n", "has no column 'text'. It has 'words'; name one with --column"),
    "page.html": (b"<p>", "the name must end in one of"),
}


@pytest.mark.parametrize("name", UNFIT)
def test_a_file_without_documents_is_refused(name, model, tmp_path, capsys):
    content, reason = UNFIT[name]
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert counted(model, "--documents", str(tmp_path / name), "--out", str(tmp_path / "idf.safetensors")) == 2
    said = capsys.readouterr().err
    assert not (tmp_path / "idf.safetensors").exists()
    assert said.count("\n") == 1
    assert re.search(reason, said)
