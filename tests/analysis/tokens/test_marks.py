"""Which tokens are wrong: by the judge of facts, by a column of the file, by the verdict alone, and by hand."""

from dataclasses import replace

import pytest

from analysis.cli import main
from analysis.datasets.own_files import examples_from, guess_columns, read_table
from analysis.quality.facts import stated_facts
from analysis.quality.judgement import Thresholds, load_statements
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.runs.traces import tokens
from analysis.tokens.marks import marks_by_hand, marks_of_run
from rauq.atlas.evaluation import load_examples
from tests.traces import make_trace


@pytest.fixture(scope="module")
def run():
    return open_run(bundled_folder())


def texts(own, mask):
    return "".join(text if marked else "|" for text, marked in zip(own.texts, mask, strict=True))


def test_facts_are_marked_by_the_judge(run):
    marks, all_tokens = marks_of_run(run, Thresholds()), tokens(run)
    quality = run.answers["quality"].to_numpy()
    stated = {True: 0, False: 0}
    for row, (own, one) in enumerate(zip(all_tokens, marks, strict=True)):
        assert not (one.wrong & one.right).any()
        assert (one.wrong | one.right).tolist() == (own.fact & own.shown).tolist()
        if quality[row] == 1:
            assert not one.wrong.any(), texts(own, one.wrong)
        stated[bool(quality[row])] += one.wrong.any()
    assert stated[True] == 0 < stated[False]


def test_a_right_name_in_an_incorrect_answer_is_not_wrong(run):
    example = next(one for one in run.examples if one.group == "capitals")
    answer = f"It is {example.references[0]}, or Oslo." if example.references[0] != "Oslo" else "It is Oslo, or Rome."
    found = stated_facts(example, answer)
    assert [one.correct for one in found] == [True, False]
    assert stated_facts(replace(example, group="poems"), answer) == ()


def test_embedded_statements_are_those_of_the_exact_judge():
    prompt = load_examples("places")[0]
    from analysis.datasets.names import embedded_set

    example = next(one for one in embedded_set("atlas").examples if one.id == prompt.id)
    assert load_statements()(example, "nothing of the kind") == ()
    assert load_statements()(replace(example, id="other"), "text") == ()


def test_a_file_names_the_wrong_texts():
    content = b"question,answer,correct,wrong\nWhere?,In Oslo,no,Oslo\nWhen?,Now,yes,\n"
    table = read_table(content, "own.csv")
    columns = guess_columns(table)
    assert columns.wrong == "wrong"
    data = examples_from(table, columns)
    assert [example.wrong for example in data.examples] == [("Oslo",), ()]


def test_traces_marked_by_hand():
    trace = make_trace([b" a", b" b", b" ", b" c"], wrong=(1, 3))
    found = marks_by_hand(trace)
    assert found.wrong.tolist() == [False, True, False, True]
    assert found.shown.tolist() == [True, True, False, True]
    assert not found.right.any()


def test_the_command_judges_a_run_and_marked_traces(tmp_path, capsys):
    assert main.main(["tokens", str(bundled_folder()), "--out", str(tmp_path / "tokens.csv")]) == 0
    assert "Wrong tokens are ranked best by" in capsys.readouterr().out
    assert (tmp_path / "tokens.csv").read_text().startswith("signal,comparison,metric")
    files = []
    for seed in range(12):
        trace = make_trace([b" a", b" b", b" c", b" d"], seed=seed, wrong=(2,), probabilities=[0.9, 0.9, 0.1, 0.9])
        files.append(tmp_path / f"{seed}.safetensors")
        trace.save(files[-1])
    assert main.main(["tokens", *map(str, files)]) == 0
    assert "ROC-AUC 1.00" in capsys.readouterr().out
    make_trace().save(tmp_path / "unmarked.safetensors")
    assert main.main(["tokens", str(tmp_path / "unmarked.safetensors")]) == 2
    assert "None of 1 traces has marked tokens" in capsys.readouterr().err
    assert main.main(["tokens", str(bundled_folder()), "--out", str(tmp_path / "none" / "t.csv")]) == 1
