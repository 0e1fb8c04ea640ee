"""One command makes every record: each subject of the page Evidence is measured by the row of the same name."""

import importlib.util
import inspect
import re
import sys
from importlib import import_module
from types import SimpleNamespace

import pytest

from analysis.evidence.record import SUBJECTS
from benchmarks import __main__ as runner
from rauq.errors import InvalidInput
from tests.evidence import KEPT, MISSED, make_record
from tests.test_docs import text_of


@pytest.fixture
def call(monkeypatch):
    """The exit status of the command with these words."""

    def main(*words):
        monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
        return runner.main()

    return main


@pytest.fixture
def measuring(monkeypatch):
    """Every measurement returns this record, or raises this error."""

    def set_result(result):
        def measure(**options):
            seen.append(options)
            if isinstance(result, Exception):
                raise result
            return result

        seen = []
        monkeypatch.setattr(runner, "import_module", lambda _name: SimpleNamespace(measure=measure))
        return seen

    return set_result


@pytest.fixture
def kept(monkeypatch):
    """What would be written: a record, and the READMEs."""
    found = []
    monkeypatch.setattr(runner, "save", found.append)
    monkeypatch.setattr(runner.readme, "main", lambda: found.append("READMEs"))
    return found


@pytest.fixture
def started(monkeypatch):
    """The measurements that got a process of their own, none of which is started."""
    found = []
    monkeypatch.setattr(runner, "run_apart", lambda name, *, keep: found.append((name, keep)) or 0)
    return found


def test_every_subject_is_measured_and_nothing_else():
    assert set(runner.MEASUREMENTS) == {subject.id for subject in SUBJECTS}


@pytest.mark.parametrize("name", runner.MEASUREMENTS)
def test_every_measurement_is_one_function_without_required_arguments(name):
    assert importlib.util.find_spec(runner.MEASUREMENTS[name])
    parameters = inspect.signature(import_module(runner.MEASUREMENTS[name]).measure).parameters.values()
    assert all(parameter.default is not parameter.empty for parameter in parameters)


def test_the_names_in_the_makefile_are_measurements():
    commands = re.findall(r"\$\(RUN\) benchmarks ([a-z_ ]*)--record", text_of("Makefile"))
    named = [name for words in commands for name in words.split()]
    assert sorted(named) == sorted(runner.ON_REQUEST.keys() - {"gpu", "gpu_exact"})
    assert "" in commands


def test_all_are_measured_in_the_order_of_the_table_each_in_a_process_of_its_own(call, started):
    assert call("--record") == 0
    assert started == [(name, True) for name in runner.BY_DEFAULT]
    started.clear()
    assert call("scoring", "capture") == 0
    assert started == [("capture", False), ("scoring", False)]


@pytest.mark.parametrize(("bounds", "code"), [((KEPT,), 0), ((KEPT, MISSED), 1)])
def test_a_missed_bound_is_the_exit_status_and_nothing_is_kept_unasked(call, measuring, kept, bounds, code):
    measuring(make_record(bounds=bounds))
    assert call("scoring") == code
    assert kept == []


def test_a_record_is_kept_and_the_readmes_are_made_anew_if_asked(call, measuring, kept):
    record = make_record()
    measuring(record)
    assert call("scoring", "--record") == 0
    assert kept == [record, "READMEs"]


@pytest.mark.parametrize(("words", "keep"), [((), False), (("--record",), True)])
@pytest.mark.usefixtures("kept")
def test_only_the_run_of_the_overheads_is_told_to_keep_its_times(call, measuring, words, keep):
    seen = measuring(make_record())
    call("overhead", *words)
    call("scoring", *words)
    assert seen == [{"keep": keep}, {}]


def test_what_cannot_be_measured_here_is_said(call, measuring, capsys):
    measuring(InvalidInput("There is no GPU here."))
    assert call("gpu") == 2
    assert "no GPU" in capsys.readouterr().err


def test_an_unknown_name_is_refused_with_those_that_exist(call, capsys):
    with pytest.raises(SystemExit):
        call("scorign")
    assert "no measurement scorign; there are models, reference, real_models," in capsys.readouterr().err


def test_a_process_of_its_own_measures_and_returns_its_status(capfd):
    assert runner.run_apart("dependencies", keep=False) in (0, 1)
    printed = capfd.readouterr()
    assert "dependencies" in printed.err
    assert "torch" in printed.out
