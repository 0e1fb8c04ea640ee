"""The arguments and errors of evaluate, and how often it calls the judges."""

import dataclasses
import sys
from collections import Counter

import numpy as np
import pytest

import rauq
from rauq import METHODS, InvalidInput, Judges, Uncertainty, evaluate
from rauq.methods.method import NEEDS, missing_requirement, needs_met
from tests.rauq.methods.evidence import JUDGES, make_answer, same_letter, shared_words

TEXTS = ("Oslo is it", "Oslo", "Paris it is", "Oslo", "Paris")
SAMPLES = [make_answer(text, seed=seed) for seed, text in enumerate(TEXTS)]


def listening(judge, heard):
    def ask(firsts, seconds):
        heard.append(list(zip(firsts, seconds, strict=True)))
        return judge(firsts, seconds)

    return ask


def test_unknown_methods_raise_with_the_valid_ones():
    with pytest.raises(InvalidInput, match="Got methods 'rauqq', 'x'; give a list of some of rauq, msp, perplexity, "):
        evaluate(make_answer(), ["rauqq", "msp", "x"])
    with pytest.raises(InvalidInput, match="Got methods 'rauq'; give a list of some of rauq, "):
        evaluate(make_answer(), "rauq")


def test_samples_of_another_prompt_or_model_raise():
    trace = make_answer()
    with pytest.raises(InvalidInput, match="Sample 1 answers another prompt"):
        evaluate(trace, ["luq"], samples=[trace, dataclasses.replace(trace, prompt_ids=np.arange(1, 4))])
    with pytest.raises(InvalidInput, match="Sample 0 is of another, the answer of made-up"):
        evaluate(trace, ["luq"], samples=[dataclasses.replace(trace, model="another")])


def test_the_result_has_the_methods_that_were_asked_for_in_their_order():
    got = evaluate(make_answer(), iter(["perplexity", "rauq", "luq"]))
    assert list(got) == ["perplexity", "rauq", "luq"]
    assert all(isinstance(value, Uncertainty) for value in got.values())
    assert (got["rauq"].reason, "none were given. Draw some" in got["luq"].reason) == ("", True)


def test_the_table_cannot_be_written_to():
    with pytest.raises(TypeError):
        METHODS["mine"] = METHODS["rauq"]
    with pytest.raises(dataclasses.FrozenInstanceError):
        METHODS["rauq"].name = "mine"


def test_every_row_is_complete():
    assert all(method == row.id for method, row in METHODS.items())
    assert len({row.name for row in METHODS.values()}) == len(METHODS)
    for row in METHODS.values():
        assert (row.source, row.cost, row.direction) == (row.source.strip(), row.cost.strip(), "higher is less certain")
        assert row.source
        assert row.cost
        assert ("samples" in row.needs) == (row.family == "samples"), row.id
        assert not row.sample_extras or row.family == "samples"
        assert (row.settings is None) or row.family == "ablation" or row.id == "rauq"


def test_each_missing_need_is_reported():
    for row in METHODS.values():
        assert missing_requirement(row, NEEDS) == ""
        for need in NEEDS:
            lacking = missing_requirement(row, set(NEEDS) - {need})
            assert bool(lacking) == (need in row.needs)
            assert not lacking or lacking.endswith(".")
    everything = set(NEEDS) - {"held_out", "attribution", "written"}
    assert needs_met(JUDGES, samples=True) == everything
    assert needs_met(Judges(), samples=False) == frozenset()
    for field in ("nli", "keywords", "idf", "facts", "p_true"):
        without = dataclasses.replace(JUDGES, **{field: None})
        assert needs_met(without, samples=True) == everything - {field}
    assert needs_met(dataclasses.replace(JUDGES, detectors=()), samples=True) == everything - {"detector"}


def test_document_frequencies_are_not_needed_after_capture():
    judges = dataclasses.replace(JUDGES, idf=None)
    trace = make_answer()
    assert evaluate(trace, ["focus"], judges=judges)["focus"] == evaluate(trace, ["focus"], judges=JUDGES)["focus"]
    bare = dataclasses.replace(trace, extras={})
    assert "document frequencies" in evaluate(bare, ["focus"], judges=judges)["focus"].reason


def test_a_judge_is_asked_once_about_each_pair_of_texts_and_all_pairs_at_once():
    heard = []
    judges = Judges(nli=listening(same_letter, heard))
    methods = ["degmat", "eccentricity", "eigval_laplacian", "luq", "semantic_entropy"]
    evaluate(SAMPLES[0], methods, samples=SAMPLES, judges=judges)
    different = set(TEXTS)
    assert [Counter(pairs) for pairs in heard] == [Counter((a, b) for a in different for b in different)]


def test_the_judge_calls_of_sar_and_semantic_density():
    similar, entailed = [], []
    judges = Judges(nli=listening(same_letter, entailed), similarity=listening(shared_words, similar))
    trace = make_answer("Rome it is", prompt="Q: where? A:")
    evaluate(trace, ["sar", "semantic_density"], samples=SAMPLES[:2], judges=judges, question="where?")
    before = "Q: where? A: "
    parts = [(f"{before}Oslo is it", f"{before}{part}") for part in ("is it", "Oslo it", "Oslo is")]
    assert similar[0] == [*parts, (f"{before}Oslo", before)]
    assert len(similar) == 2
    assert entailed == [[("where? Rome it is", "where? Oslo is it"), ("where? Rome it is", "where? Oslo")]]


def test_without_a_question_the_whole_prompt_is_it():
    heard = []
    trace = make_answer("Rome", prompt="Q: where? A:")
    evaluate(trace, ["semantic_density"], samples=SAMPLES[1:2], judges=Judges(nli=listening(same_letter, heard)))
    assert heard == [[("Q: where? A: Rome", "Q: where? A: Oslo")]]


def test_cocoa_compares_the_answer_with_each_sample_both_ways():
    similar = []
    judges = Judges(similarity=listening(shared_words, similar))
    evaluate(make_answer("Rome it is"), ["cocoa_msp", "cocoa_entropy"], samples=SAMPLES[:2], judges=judges)
    (asked,) = similar
    forth = [("Rome it is", "Oslo is it"), ("Rome it is", "Oslo")]
    assert asked == [*forth, *(pair[::-1] for pair in forth)]


def test_p_true_asks_about_the_question_and_the_answer_as_it_was_generated():
    heard = []
    judges = Judges(p_true=lambda question, answer: heard.append((question, answer)) or -0.25)
    trace = make_answer("Oslo is it", prompt="Q: where? A:")
    assert evaluate(trace, ["p_true"], judges=judges, question="where?")["p_true"] == 0.25
    evaluate(trace, ["p_true"], judges=judges)
    assert heard == [("where?", " Oslo is it"), ("Q: where? A:", " Oslo is it")]


def test_a_probability_in_place_of_its_logarithm_is_refused():
    got = evaluate(make_answer(), ["p_true"], judges=Judges(p_true=lambda *_: 0.7))["p_true"]
    assert np.isnan(got)
    assert "returns a log-probability" in got.reason


def test_ccp_compares_the_chosen_token_with_the_others_stripped_and_asks_once():
    heard = []
    trace = make_answer("Oslo", ended=False)
    evaluate(trace, ["ccp"], judges=Judges(nli=listening(same_letter, heard)))
    assert heard == [[("Oslo", "x"), ("Oslo", "y"), ("x", "Oslo"), ("y", "Oslo")]]


def test_the_chosen_token_comes_first_even_where_it_is_not_the_most_probable():
    trace = make_answer("Oslo", ended=False)
    likely = ((trace.alternatives[0][1], trace.alternatives[0][0], trace.alternatives[0][2]),)
    judges = Judges(nli=same_letter)
    swapped = dataclasses.replace(trace, alternatives=likely)
    absent = dataclasses.replace(trace, alternatives=(likely[0][::2],), answer_tokens=(" Oslo",))
    expected = evaluate(trace, ["ccp"], judges=judges)["ccp"]
    assert evaluate(swapped, ["ccp"], judges=judges)["ccp"] == expected
    assert evaluate(absent, ["ccp"], judges=judges)["ccp"] == expected
    assert -1 < expected < 0


def test_ccp_is_minus_1_for_tokens_without_others_and_nan_without_alternatives():
    trace = make_answer("Oslo", ended=False)
    sure = dataclasses.replace(trace, alternatives=(trace.alternatives[0][:1],))
    unknown = dataclasses.replace(trace, alternatives=((),))
    assert evaluate(sure, ["ccp"], judges=JUDGES)["ccp"] == -1
    assert evaluate(unknown, ["ccp"], judges=JUDGES)["ccp"].reason == "a token of this answer has no alternatives"


def test_keywords_are_found_in_an_answer_that_begins_with_white_space():
    heard = []

    def first_four(text):
        heard.append(text)
        return [(0, 4)]

    trace = make_answer("a b c", answer_tokens=("  ", "Oslo", " it", "<end>"))
    focus = evaluate(trace, ["focus"], judges=Judges(keywords=first_four))["focus"]
    own = np.exp2(trace.extras["focus"][:, 1]) - np.log(trace.extras["focus"][:, 0] + 1e-5)
    assert heard == ["Oslo it"]
    share = trace.extras["max_attention"][1, 0] / (trace.extras["max_attention"][1, 0] + 1e-6)
    assert focus == pytest.approx(own[1] + 0.9 * share * own[0], rel=1e-6)


def test_samples_that_do_not_even_entail_themselves_are_groups_of_their_own():
    judges = Judges(nli=lambda firsts, _: np.tile([1.0, 0.0, 0.0], (len(firsts), 1)))
    got = evaluate(SAMPLES[0], ["degmat", "eigval_laplacian", "eccentricity"], samples=SAMPLES[:3], judges=judges)
    assert list(got.values()) == pytest.approx([1, 3, np.sqrt(2)])


def test_of_equal_samples_the_first_one_weighs_in_the_density():
    trace, unsure, sure = (
        make_answer("Paris"),
        make_answer("Oslo", logprobs=np.array([-3.0, -3.0])),
        make_answer("Oslo"),
    )
    judges, names = Judges(nli=same_letter), ["semantic_density"]
    alone = evaluate(trace, names, samples=[unsure], judges=judges)
    assert evaluate(trace, names, samples=[unsure, sure], judges=judges) == alone
    assert evaluate(trace, names, samples=[sure, unsure], judges=judges) != alone


def test_an_undefined_score_has_a_reason():
    reason = evaluate(make_answer("Oslo", ended=False), ["mean_sum"])["mean_sum"].reason
    assert reason == "update='mean_sum' needs attention between tokens, and this answer has one token"


@pytest.mark.parametrize("method", METHODS)
def test_a_method_reads_only_the_extras_that_it_names(method):
    row = METHODS[method]
    trace, *samples = (
        dataclasses.replace(one, extras={name: one.extras[name] for name in names})
        for one, names in zip(SAMPLES, [row.extras, *[row.sample_extras] * 4], strict=True)
    )
    got = evaluate(trace, [method], samples=samples, judges=JUDGES)[method]
    full = evaluate(SAMPLES[0], [method], samples=SAMPLES[1:], judges=JUDGES)[method]
    np.testing.assert_equal((float(got), got.reason), (float(full), full.reason))
    assert not got.reason or method in {"single_head", "rauq_lig", "factoscope", "surprisal"}


def test_irrelevant_tokens_give_nan_with_a_reason():
    judges = Judges(similarity=lambda firsts, _: np.ones(len(firsts)))
    got = evaluate(SAMPLES[0], ["sar"], samples=SAMPLES, judges=judges)["sar"]
    assert got.reason == "removing any token of a sample leaves its similarity at 1"


def test_hidden_states_of_different_size_are_refused():
    other = dataclasses.replace(SAMPLES[1], extras={"hidden": np.ones(3)})
    got = evaluate(SAMPLES[0], ["eigen_score"], samples=[SAMPLES[0], other])["eigen_score"]
    assert "differ in size" in got.reason


def test_words_of_one_stem_are_one_word():
    samples = [make_answer("He was running"), make_answer("he was runs")]
    assert evaluate(samples[0], ["lexical_similarity"], samples=samples)["lexical_similarity"] == -1


def test_words_in_common_may_differ_in_case():
    samples = [make_answer("He was"), make_answer("was he")]
    assert evaluate(samples[0], ["degmat_jaccard"], samples=samples)["degmat_jaccard"] == 0


def test_equal_samples_count_as_often_as_they_were_drawn_but_once_for_the_density():
    judges = Judges(nli=same_letter)
    trace, one, other = make_answer("Oslo"), make_answer("Oslo", seed=1), make_answer("Paris", seed=2)
    methods = ["semantic_density", "semantic_entropy"]
    once = evaluate(trace, methods, samples=[one, other], judges=judges)
    twice = evaluate(trace, methods, samples=[one, one, other], judges=judges)
    assert once["semantic_density"] == twice["semantic_density"]
    assert once["semantic_entropy"] > twice["semantic_entropy"]


def test_rouge_l_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "rouge_score.rouge_scorer", None)
    got = evaluate(SAMPLES[0], ["lexical_similarity", "msp"], samples=SAMPLES)
    assert got["lexical_similarity"].reason == "ROUGE-L needs rouge-score. pip install -r requirements-extra.txt"
    assert got["msp"] == evaluate(SAMPLES[0], ["msp"])["msp"]


def test_an_uncertainty_is_a_float_with_a_reason():
    assert (Uncertainty(1.5) + 1, Uncertainty(1.5).reason) == (2.5, "")
    assert (np.isnan(Uncertainty(np.nan, "why")), Uncertainty(np.nan, "why").reason) == (True, "why")
    assert set(rauq.__all__) >= {"METHODS", "evaluate", "Judges", "Method", "Uncertainty"}


def own(compute, name="mine", **options):
    return rauq.Method(id=name, name=name, compute=compute, **options)


def test_a_method_of_ones_own_stands_beside_those_of_the_table():
    trace = make_answer()
    found = evaluate(trace, ["msp", own(lambda evidence: -evidence.trace.logprobs.sum())])
    assert list(found) == ["msp", "mine"]
    assert found["mine"] == pytest.approx(found["msp"])
    assert isinstance(found["mine"], Uncertainty)


@pytest.mark.parametrize(
    ("compute", "reason"),
    [
        (lambda _: 1 / 0, "the method failed (ZeroDivisionError: division by zero)"),
        (lambda evidence: evidence.trace.nothing, "the method failed (AttributeError"),
        (lambda evidence: evidence.trace.logprobs, "the method failed (TypeError"),
        (lambda _: None, "the method failed (TypeError"),
        (lambda _: "3", "the method failed (TypeError: it returned a value of type str; one number is needed)"),
        (lambda _: True, "the method failed (TypeError: it returned a value of type bool"),
        (lambda _: np.ones(1), "the method failed (TypeError: it returned a value of type ndarray of shape (1,)"),
        (lambda _: sys.exit("so"), "the method failed (SystemExit: so)"),
        (lambda _: float("nan"), "a log-probability, an attention weight"),
    ],
)
def test_a_method_that_fails_is_undefined_with_the_reason_and_stops_no_other(compute, reason):
    found = evaluate(make_answer(), [own(compute), "msp"])
    assert np.isnan(found["mine"])
    assert found["mine"].reason.startswith(reason)
    assert not np.isnan(found["msp"])


def test_what_a_method_of_ones_own_needs_is_asked_for():
    mine, other = own(len, needs=frozenset({"samples"})), own(len, "other", extras=("lookback",))
    found = evaluate(make_answer(extras={}), [mine, other])
    assert found["mine"].reason.startswith("It compares sampled answers")
    assert found["other"].reason == "The trace lacks lookback. Capture it: extras=('lookback',)."


def test_an_id_is_one_method():
    with pytest.raises(InvalidInput, match="Got methods msp, two of which have the same id"):
        evaluate(make_answer(), [own(len, "msp")])
    with pytest.raises(InvalidInput, match="two of which have the same id"):
        evaluate(make_answer(), [own(len), own(len)])
    mine = own(lambda _: np.float32(1))
    assert evaluate(make_answer(), [mine, mine, "rauq", "rauq"])["mine"] == 1


def test_several_answers_are_evaluated_each_with_its_samples():
    traces = [make_answer(), make_answer("Paris")]
    samples = [SAMPLES, SAMPLES[:2]]
    methods = ["msp", "lexical_similarity"]
    found = rauq.evaluate_many(traces, methods, samples=samples)
    alone = [evaluate(trace, methods, samples=drawn) for trace, drawn in zip(traces, samples, strict=True)]
    assert found == alone
    with pytest.raises(InvalidInput, match="samples of 1 answers for 2 answers"):
        rauq.evaluate_many(traces, methods, samples=[SAMPLES])
