"""Files of one answer are called by model and prompt, and by nothing that a file system refuses."""

import pytest

from analysis.exports.file_names import file_name
from tests.answers import random_trace

NOVEL = "smollm2-who-wrote-the-novel-the-master.tokens.csv"


@pytest.mark.parametrize(
    ("model", "prompt", "expected"),
    [
        ("smollm2", "Who wrote the novel The Master and Margarita?", NOVEL),
        (
            "org/SmolLM2-135M",
            "Q: Where is Lyon?\nA: France.\nQ: Where is Gliwice?\nA:",
            "smollm2-135m-q-where-is-gliwice",
        ),
        ("C:\\models\\a.gguf", "Уфа — где?", "a-уфа-где"),
        ("smollm2", "?", "smollm2"),
        ("", "", ""),
        ("../../etc", '<b>"/x:y|z*\0', "etc-b-x-y-z"),
    ],
)
def test_a_file_is_called_by_model_and_prompt(model, prompt, expected):
    trace = random_trace(3, model=model, prompt=prompt)
    assert file_name(trace, "tokens.csv") == (expected if expected == NOVEL else f"{expected}.tokens.csv".lstrip("."))


@pytest.mark.parametrize("prompt", ["word " * 500, "字" * 500, "a/" * 500])
def test_a_name_is_short(prompt):
    assert len(file_name(random_trace(3, model="m" * 30, prompt=prompt), "csv")) <= 64
