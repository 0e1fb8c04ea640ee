"""A run of facts: which answers are correct, and which of their tokens carry the fact."""

from dataclasses import replace

from analysis.datasets.names import fact_set
from analysis.runs.create import prepare, request_for
from analysis.runs.opened import open_run
from analysis.runs.traces import fact_tokens, trace
from analysis.runs.work import work

ANSWERS = {"It is Canberra, of course.": 1, "It is Wellington.": 0, "Canberra or Wellington": 0, "Nobody knows.": 0}
CARRY = [["Canberra"], ["Wellington"], ["Canberra", "Wellington"], []]


def test_named_answers_are_marked_right_or_wrong(tmp_path):
    (asked,) = (example for example in fact_set("facts", kind="base").examples if example.id == "capitals-australia")
    examples = tuple(replace(asked, id=str(n), answer=f" {answer}\n") for n, answer in enumerate(ANSWERS))
    data = replace(fact_set("facts", kind="base"), examples=examples)
    prepare(tmp_path / "run", data, request_for(data, model="atlas"))
    assert work(tmp_path / "run").state == "finished"
    run = open_run(tmp_path / "run")
    assert run.answers["quality"].tolist() == list(ANSWERS.values())
    for row, names in enumerate(CARRY):
        marked = zip(trace(run, row).answer_tokens, fact_tokens(run, row), strict=True)
        carried = "".join(token if carries else "|" for token, carries in marked)
        assert [text.strip(" ,.\n") for text in carried.split("|") if text] == names
    assert (run.answers["num_fact_tokens"] > 0).tolist() == [True, True, True, False]
