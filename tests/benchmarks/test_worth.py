"""What RAUQ's attention is worth: lines of lists are scored and exchanged as answers are; the table and its words."""

import numpy as np

import rauq
from analysis.evidence.record import find_record
from analysis.evidence.worth import SHUFFLED, worth
from analysis.stats import Estimate
from analysis.survival.beyond import Beyond
from benchmarks.lists.questions import list_questions
from benchmarks.survival import simulated_answers
from benchmarks.worth import COLUMNS, Compared, compared, finding_of, lists, record_of
from benchmarks.worth.cases import Case
from benchmarks.worth.lists import judged
from benchmarks.worth.units import Units
from tests.traces import trace_of_text


def answered(group, count, *, lines):
    """Questions of a family, each with an answer of so many lines; the first line of every second answer is right."""
    questions = [one for one in list_questions() if one.group == group][:count]
    traces = []
    for number, question in enumerate(questions):
        stated = [fact.accepted[0] if number % 2 == 0 else "Lisboa" for fact in question.facts[:lines]]
        pairs = zip(question.facts, stated, strict=False)
        text = "\n".join(f"{fact.subject}: {name}" for fact, name in pairs)
        traces.append(trace_of_text(text, seed=number, probabilities=None))
    return questions, traces


def test_a_line_that_is_the_whole_answer_has_its_score():
    questions, traces = answered("capitals", 6, lines=1)
    found = judged(questions, traces)
    np.testing.assert_allclose(found.rauq, [rauq.score(trace).uncertainty for trace in traces])
    np.testing.assert_allclose(found.msp, [-trace.logprobs.sum() for trace in traces])
    assert found.given.incorrect.tolist() == [False, True] * 3
    assert not np.isclose(found.shuffled, found.rauq).any()


def test_lines_of_one_answer_never_swap_their_attention(monkeypatch):
    seen, control = [], lists.control_of_groups

    def watched(answers, *rest, **options):
        seen.append([weights.tobytes() for weights in answers.attention])
        return control(answers, *rest, **options)

    monkeypatch.setattr(lists, "control_of_groups", watched)
    questions, traces = answered("capitals", 4, lines=3)
    found = judged([*questions, questions[0]], [*traces, None])
    assert len(found.rauq) == sum(map(len, seen)) == 12
    assert all(len(set(own)) == len(own) for own in seen)
    lines = found.given.clusters.tolist()
    assert lines == sorted(lines)
    assert np.isfinite(found.rauq).all()


def units(count=60, *, effect):
    """Answers whose RAUQ tells by `effect` which are incorrect, and whose other scores do not."""
    rng = np.random.default_rng(5)
    given, _ = simulated_answers(rng, count)
    noise = rng.normal(size=(5, count))
    return Units(
        given=given,
        rauq=noise[0] + effect * given.incorrect,
        shuffled=noise[1:3],
        msp=noise[3],
        entropy=np.where(np.arange(count) < 5, np.nan, noise[4]),
        heads=None,
    )


def test_scores_are_compared_where_all_of_them_are_known():
    found = compared(Case("facts", "atlas", "transformers", units(effect=3.0)))
    assert found.units == 55
    assert found.areas[3] is found.heads is None
    assert found.areas[0].value > 0.9
    assert found.shuffled.low > 0
    assert all(one.low > 0 for one in found.minus)
    assert found.beyond.estimate.value > 0


def test_a_row_has_every_column_and_the_words_count_what_is_beyond_noise():
    better, none, worse = (Estimate(value, value - 0.02, value + 0.02, 60, 0) for value in (0.1, 0.0, -0.1))
    case = Case("facts", "atlas", "transformers", units(effect=0.0))
    about = {
        "units": 60,
        "incorrect": 30,
        "areas": (better,) * 4,
        "heads": None,
        "beyond": Beyond(estimate=none, p=0.5, is_reversed=False),
    }
    found = [
        Compared(case=case, shuffled=better, minus=(none, worse), **about),
        Compared(case=case._replace(data="lists"), shuffled=none, minus=(none, better), **about),
    ]
    record = record_of(found)
    assert record.columns == COLUMNS
    assert {len(row) for row in record.rows} == {len(COLUMNS)}
    counted = "with shuffled attention in 1 (worse in 0), than MSP in 0 (worse in 0), than entropy in 1 (worse in 1)"
    assert counted in record.finding
    assert "+0.100 [+0.080, +0.120] (facts, atlas, transformers)" in record.finding


def test_the_kept_record_is_what_learn_ends_on():
    kept, found = find_record("worth"), worth()
    assert kept.columns == COLUMNS
    assert found.comparisons == len(kept.rows)
    assert found.attention in kept.column(SHUFFLED)
    assert found.largest in kept.finding
    assert kept.finding == finding_of(kept.rows)
    first = dict(zip(kept.columns, kept.rows[0], strict=True))
    assert [first[name] for name in ("data", "model", "engine")] == ["facts", "smollm2", "transformers"]
