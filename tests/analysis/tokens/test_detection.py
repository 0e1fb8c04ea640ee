"""Tokens and their marks; their signals against scikit-learn answer by answer, planted ones, and on a real run."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import integers
from sklearn.metrics import average_precision_score, roc_auc_score

import rauq
from analysis.cli import main
from analysis.datasets.example import Example
from analysis.datasets.own_files import read_table
from analysis.datasets.rows import examples_from
from analysis.datasets.understood import understand
from analysis.quality.facts import stated_facts
from analysis.quality.judgement import Thresholds, load_statements
from analysis.runs.library import bundled_folder
from analysis.runs.opened import open_run
from analysis.runs.traces import Tokens, tokens
from analysis.stats import average_precision, roc_auc
from analysis.tokens.detection import (
    LEAST,
    SIGNALS,
    Marks,
    TokenSignals,
    detect,
    marks_by_hand,
    marks_of_answer,
    marks_of_run,
    token_signals,
)
from analysis.tokens.each_answer import average_precision_of_each, roc_auc_of_each
from analysis.tokens.sentences import detection_sentence, detection_table, place_sentence, undefined_reason
from rauq.atlas.evaluation import load_examples
from rauq.scoring.settings import Settings
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
        if not np.isnan(quality[row]):
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
    columns = understand(table).columns
    assert columns.wrong == "wrong"
    data = examples_from(table, columns)
    assert [example.wrong for example in data.examples] == [("Oslo",), ()]


def test_spans_mark_one_of_two_equal_texts_and_unclear_ones_are_left_out():
    texts = (" It", " is", " Oslo", ",", " not", " Oslo", ".")
    own = Tokens(texts, np.ones(7, dtype=bool), np.zeros(7, dtype=bool))
    text = "".join(texts)
    second = text.rindex("Oslo")
    example = Example(
        id="1", prompt="?", answer=text, wrong=("Oslo",), wrong_spans=((second, second + 4),), unclear_spans=((0, 6),)
    )
    found = marks_of_answer(example, text, own, None, correct=False)
    assert found.wrong.tolist() == [False] * 5 + [True, False]
    assert found.shown.tolist() == [False, False] + [True] * 5
    assert not found.right.any()
    by_text = marks_of_answer(replace(example, wrong_spans=(), unclear_spans=()), text, own, None, correct=False)
    assert by_text.wrong.tolist() == [False, False, True, False, False, True, False]


def test_traces_marked_by_hand():
    trace = make_trace([b" a", b" b", b" ", b" c"], wrong=(1, 3))
    found = marks_by_hand(trace)
    assert found.wrong.tolist() == [False, True, False, True]
    assert found.shown.tolist() == [True, True, False, True]
    assert not found.right.any()


def test_the_command_judges_a_run_and_marked_traces(tmp_path, capsys):
    assert main.main(["tokens", str(bundled_folder()), "--out", str(tmp_path / "tokens.csv")]) == 0
    assert "ranks wrong tokens above others: ROC-AUC 0.76 [0.73, 0.78]" in capsys.readouterr().out
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


TOKENS, LAYERS, HEADS = 6, 2, 3


def made(num_answers=60, *, seed=0, right=True, **planted):
    """Answers of 6 tokens; in every second one token 2 or 3 is wrong, in the others it is a correct fact.

    `planted`: by the name of a signal, how much higher it is on (wrong, right) facts.
    """
    rng = np.random.default_rng(seed)
    answer, position = np.repeat(np.arange(num_answers), TOKENS), np.tile(np.arange(1, TOKENS + 1), num_answers)
    fact = position == np.repeat(2 + np.arange(num_answers) // 2 % 2, TOKENS)
    wrong, correct = fact & (answer % 2 == 0), fact & (answer % 2 == 1)
    signals = rng.integers(0, 5, (len(answer), 4)).astype(float)  # with ties
    heads = rng.normal(size=(len(answer), LAYERS, HEADS))
    for name, (on_wrong, on_right) in planted.items():
        column = heads[:, 1, 2] if name == "best" else signals[:, SIGNALS.index(name)]
        column += on_wrong * wrong + on_right * correct
    return TokenSignals(
        answer=answer,
        position=position,
        signals=signals,
        heads=heads,
        layers=(4, 5),
        wrong=wrong,
        right=correct & right,
        begins=wrong | (correct & right),
    )


GROUPS = ["one"] * 60


def of(found, name):
    return found.found[SIGNALS.index(name)]


def test_numbers_are_those_of_scikit_learn():
    given = made(collapse=(2, 1))
    found = detect(given, GROUPS)
    for name, values in zip(SIGNALS[:4], given.signals.T, strict=True):
        for side, marked in (("wrong", given.wrong), ("right", given.right)):
            own = np.isin(given.answer, np.unique(given.answer[marked]))
            rows = [given.answer == answer for answer in np.unique(given.answer[own])]
            ranked = getattr(of(found, name), side)
            for metric, each, pooled in (
                (roc_auc_score, ranked.auc, ranked.pooled_auc),
                (average_precision_score, ranked.precision, ranked.pooled_precision),
            ):
                assert each.value == pytest.approx(np.mean([metric(marked[row], values[row]) for row in rows]))
                assert pooled.value == pytest.approx(metric(marked[own], values[own]))
                assert each.low < each.value < each.high
                assert pooled.low < pooled.value < pooled.high
                assert (each.n, pooled.n) == (30, 180)


def test_wrong_and_correct_facts_are_compared_at_one_position_of_one_group():
    given, groups = made(probability=(3, 0)), ["one" if answer % 3 else "two" for answer in range(60)]
    values, strata = given.signals[:, SIGNALS.index("probability")], {}
    for row in np.flatnonzero(given.begins):
        strata.setdefault((groups[given.answer[row]], given.position[row]), []).append(row)
    areas, weights = [], []
    for rows in strata.values():
        wrong = given.wrong[rows]
        areas.append(roc_auc_score(wrong, values[rows]))
        weights.append(wrong.sum() * (~wrong).sum() / (len(rows) + 1))
    found = detect(given, groups)
    assert of(found, "probability").place.value == pytest.approx(np.average(areas, weights=weights))
    assert found.places == (30, 30)


def test_a_signal_of_facts_is_told_from_a_signal_of_errors():
    found = detect(made(entropy=(6, 6), collapse=(2, 0)), GROUPS)
    assert of(found, "entropy").wrong.auc.value == of(found, "entropy").right.auc.value == 1
    assert of(found, "entropy").place.low < 0.5 < of(found, "entropy").place.high
    assert of(found, "collapse").place.low > 0.5
    assert detection_sentence(found) == (
        "Entropy ranks wrong tokens above others: ROC-AUC 1.00 [0.87, 1.00]; but correct facts as high, 1.00 "
        "[0.87, 1.00]: it finds facts rather than errors."
    )
    assert "at the same place, collapse ranks the wrong ones highest" in place_sentence(found)


def test_the_best_head_is_chosen_on_other_answers():
    by_chance = detect(made(), GROUPS)
    assert detection_sentence(by_chance).startswith(
        "No signal ranks wrong tokens above others: the highest ROC-AUC is "
    )
    assert by_chance.heads.auc.max() > 0.55  # the best of six by chance
    assert of(by_chance, "best").wrong.auc.low < 0.5 < of(by_chance, "best").wrong.auc.high
    planted = detect(made(best=(4, 0)), GROUPS)
    assert planted.heads.best == (1, 2)
    assert of(planted, "best").wrong.auc.low > 0.75


def test_undefined_is_said():
    few = detect(made(2 * (LEAST - 1)), GROUPS)
    assert undefined_reason(few) == f"{LEAST - 1} answers with such tokens and others: at least {LEAST} are needed"
    assert detection_sentence(few).startswith("No signal can be judged: 9 answers")
    no_facts = detect(made(right=False, collapse=(3, 0)), GROUPS)
    assert "cannot be compared: fewer than 10" in place_sentence(no_facts)
    table = detection_table(no_facts)
    assert len(table) == len(SIGNALS) * 9
    assert (table["value"].isna() == (table["undefined"] != "")).all()
    given = made()
    given.signals[:, 3] = np.nan  # as under heads="mean"
    assert of(detect(given, GROUPS), "selected").wrong.auc.reason == ("the signal is undefined under these settings")


def test_average_precision_is_that_of_scikit_learn():
    rng = np.random.default_rng(3)
    values, found = rng.integers(0, 6, 40).astype(float), rng.random(40) < 0.3
    assert average_precision(values, found) == pytest.approx(average_precision_score(found, values))
    assert np.isnan(average_precision(values, np.zeros(40, dtype=bool)))


@given(seed=integers(0, 2**32 - 1), answers=integers(1, 6), levels=integers(1, 9))
def test_the_metrics_of_each_answer_are_those_of_its_tokens_alone(seed, answers, levels):
    rng = np.random.default_rng(seed)
    answer = rng.integers(0, answers, 30) * 3 + 2
    values, truth = rng.integers(0, levels, 30).astype(float), (rng.random(30) < rng.random()).astype(float)
    for metric, of_each in ((roc_auc, roc_auc_of_each), (average_precision, average_precision_of_each)):
        alone = [metric(values[answer == one], truth[answer == one]) for one in np.unique(answer)]
        assert of_each(values, truth, answer) == pytest.approx(np.array(alone), nan_ok=True, abs=1e-12)


def test_signals_are_those_of_each_score():
    traces = [
        make_trace([b" a"] * size, seed=seed, probabilities=np.linspace(0.9, 0.2, size))
        for seed, size in enumerate([5, 3, 7])
    ]
    marks = [
        Marks(
            np.arange(len(trace.answer_ids)) == 2,
            np.zeros(len(trace.answer_ids), bool),
            np.ones(len(trace.answer_ids), bool),
        )
        for trace in traces
    ]
    marks[2].shown[4] = False
    given = token_signals(rauq.batch(traces), marks, Settings())
    assert given.answer.tolist() == [0] * 4 + [1] * 2 + [2] * 5
    assert given.position.tolist() == [1, 2, 3, 4, 1, 2, 1, 2, 3, 5, 6]
    for row, (answer, token) in enumerate(zip(given.answer, given.position, strict=True)):
        trace, found = traces[answer], rauq.score(traces[answer])
        line = found.layers.index(found.layer)
        expected = [
            found.collapse[token],
            1 - np.exp(trace.logprobs[token]),
            trace.entropies[token],
            1 - found.attention[line, token - 1],
        ]
        np.testing.assert_allclose(given.signals[row], expected, rtol=1e-6)
        np.testing.assert_allclose(given.heads[row], 1 - trace.previous_token_attention()[:, :, token - 1], rtol=1e-6)
    assert given.wrong.tolist() == (given.position == 2).tolist()
    assert given.begins.tolist() == given.wrong.tolist()


def test_no_head_gives_the_score_of_a_mean():
    trace = make_trace([b" a"] * 4)
    marks = [Marks(*np.zeros((2, 4), bool), np.ones(4, bool))]
    given = token_signals(rauq.batch([trace]), marks, Settings(heads="mean"))
    assert np.isnan(given.signals[:, 3]).all()
    assert np.isfinite(given.signals[:, :3]).all()
