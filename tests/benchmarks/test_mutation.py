"""Lines that are broken by chance: each mutant is Python, differs from the file in one line, and is the same again."""

import ast

import pytest

from benchmarks.mutation.found import Reached
from benchmarks.mutation.mutants import Mutant, chosen, mutants_of
from benchmarks.support.server import ROOT

BROKEN = {
    "a < b": "a <= b",
    "a == b": "a != b",
    "a is b": "a is not b",
    "a not in b": "a in b",
    "a + b": "a - b",
    "a // b": "a * b",
    "a & b": "a | b",
    "a and b": "a or b",
    "not a": "a",
    "True": "False",
    "2": "3",
    "0.5": "1.5",
    "a if b else c": "c if b else a",
}
LEFT_ALONE = ("a", "'text'", "f'{a < b}'", "int | None", "Settings | str", "a @ b", "a < b < c")


def found(code, tmp_path):
    path = tmp_path / "module.py"
    path.write_text(f"value = {code}\n")
    return [mutant.after for mutant in mutants_of(path, tmp_path)]


@pytest.mark.parametrize("code", BROKEN)
def test_what_can_be_broken_is(code, tmp_path):
    assert BROKEN[code] in found(code, tmp_path)


@pytest.mark.parametrize("code", LEFT_ALONE)
def test_what_changes_nothing_or_stands_in_a_text_is_left_alone(code, tmp_path):
    assert found(code, tmp_path) == []


def test_types_are_left_alone(tmp_path):
    path = tmp_path / "module.py"
    path.write_text("def f(a: Annotated[int, 1 < 2]) -> Literal[1]:\n    b: Literal[2] = a\n    return b\n")
    assert list(mutants_of(path, tmp_path)) == []


def test_each_mutant_of_the_library_is_python_and_differs_in_its_line_alone():
    mutants = chosen(ROOT, ("rauq/scoring",), count=50, seed=1)
    assert mutants == chosen(ROOT, ("rauq/scoring",), count=50, seed=1)
    for mutant in mutants:
        ast.parse(mutant.source)
        before = (ROOT / mutant.path).read_text(encoding="utf-8").splitlines()
        after = mutant.source.splitlines()
        assert [place for place, pair in enumerate(zip(before, after, strict=True), 1) if pair[0] != pair[1]] == [
            mutant.line
        ]


def test_tests_that_reach_the_line_run_and_for_a_line_at_import_those_of_its_file():
    reached = Reached(
        lines={("a.py", 1): frozenset(), ("a.py", 2): frozenset({"slow", "quick"}), ("b.py", 1): frozenset({"other"})},
        seconds={"slow": 2.0, "quick": 1.0},
    )
    for line in (1, 2):
        assert reached.tests(Mutant(path="a.py", line=line, before="", after="", source="")) == ["quick", "slow"]
    assert reached.tests(Mutant(path="c.py", line=1, before="", after="", source="")) == []
