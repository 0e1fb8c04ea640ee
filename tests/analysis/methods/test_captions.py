"""Sentences about methods: the numbers of the result, whichever way it came out."""

import numpy as np

from analysis.methods import sentences
from analysis.methods.agreement import disagreement, method_agreement
from analysis.methods.agreement_sentences import agreement_sentence, disagreement_sentence
from analysis.methods.comparison import WITHIN, compare, groups_of, rejections
from analysis.methods.errors import error_analysis
from analysis.quality.judgement import Thresholds
from analysis.runs.timings import Alone, Cost
from analysis.stats import Estimate, in_words
from tests.analysis.methods.made_up import SKILL, made_up


def estimates(*values):
    return [
        Estimate(value, value - 0.1, value + 0.1, 9, 0, "no quality" if np.isnan(value) else "") for value in values
    ]


def test_the_rank_of_rauq_is_stated():
    methods = ("rauq", "msp", "perplexity")
    best = sentences.comparison_sentence(methods, estimates(0.5, 0.25, 0.1), metric="prr")
    assert best == "RAUQ is first of 3 methods by PRR, 0.50 [0.40, 0.60]."
    second = sentences.comparison_sentence(methods, estimates(0.25, 0.5, 0.1), metric="prr")
    assert second == "MSP is first of 3 methods by PRR, 0.50 [0.40, 0.60]; RAUQ is 2nd, 0.25 [0.15, 0.35]."
    undefined = sentences.comparison_sentence(methods, estimates(np.nan, 0.5, np.nan), metric="roc_auc")
    assert undefined == "MSP is first of 1 methods by ROC-AUC, 0.50 [0.40, 0.60]."
    assert sentences.comparison_sentence(methods, estimates(*[np.nan] * 3), metric="prr").endswith("PRR: no quality.")
    assert sentences.comparison_sentence((), (), metric="prr") == "No method has a PRR: no method is selected."
    assert sentences.undefined_sentence(methods, estimates(np.nan, 0.5, 0.1)).endswith("ranked: RAUQ: no quality.")
    assert sentences.undefined_sentence(methods, estimates(np.nan, 0.5, np.nan)).endswith(
        "RAUQ, Perplexity: no quality."
    )
    for values in ((0, 0.5, 0.1), [np.nan] * 3):  # where there is no ranking the headline says why
        assert sentences.undefined_sentence(methods, estimates(*values)) == ""


def test_the_overhead_of_rauq_is_given_with_that_of_sampling_methods_if_both_are_known():
    rauq, luq, sar = Cost("rauq", 0.01, 0.014), Cost("luq", 2.0, 7.89), Cost("sar", 2.0, 7.951)
    unknown = Cost("luq", np.nan, np.nan, "no times")
    assert sentences.costs_sentence([rauq, luq, sar, Cost("msp", 0, 0)]) == (
        "Overhead in batches, not comparable with the paper's numbers: RAUQ 1.4 %, methods that compare samples "
        "789 to 795 %."
    )
    assert sentences.costs_sentence([rauq, luq]).endswith("samples 789 %.")
    assert sentences.costs_sentence([rauq, unknown]) == sentences.costs_sentence([luq]) == ""


def alone(method, overhead):
    return Cost(method, 0.01, 0.5, alone=Alone(overhead=overhead, low=overhead - 0.01, high=overhead + 0.01, pairs=30))


def test_the_overhead_one_prompt_at_a_time_comes_first_and_each_says_what_it_includes():
    costs = [alone("rauq", 0.031), alone("luq", 1.67), alone("sar", 2.03), alone("msp", 0.0)]
    assert sentences.costs_sentence(costs) == (
        "Overhead relative to plain generation, one prompt at a time: RAUQ 3.1 %, methods that compare samples "
        "167 to 203 %."
    )
    both = sentences.charges_note(costs)
    assert "median of 30 prompts; it includes the capture, the samples and the computation of the method." in both
    assert "in batches: without the capture, which is part of the generation" in both
    assert sentences.charges_note([Cost("rauq", 0.01, 0.014)]).startswith("Overhead in batches")
    assert sentences.charges_note([Cost("rauq", np.nan, np.nan, "no times")]) == ""


def test_a_judge_in_place_of_the_papers_is_named():
    assert "instead of the paper's NLI model" in sentences.judges_note(["rauq", "luq_facts"])
    assert sentences.judges_note(["rauq", "luq", "layer_3"]) == ""


def compared(answers):
    groups = groups_of(list(answers["group"]))
    return compare(answers, list(SKILL), groups, metric="prr", thresholds=Thresholds())


def test_the_mean_within_groups_is_stated_beside_all_answers_and_what_it_leaves_out():
    answers = made_up(80)
    found = compared(answers.assign(group=["alone", *["few"] * 39, *["many"] * 40]))
    pooled, within = sentences.comparison_sentences(found)
    assert pooled.startswith("RAUQ is first of 4 methods by PRR over all answers, ")
    assert within.startswith("RAUQ is first of 4 methods by mean PRR within groups, ")
    assert within.endswith(f"{in_words(found.of_group(WITHIN)[0])}.")
    note = sentences.within_note(found)
    assert "over 2 of 3 groups" in note
    assert "Left out: 1, with correct or incorrect answers to fewer than 5 questions" in note
    assert "Left out" not in sentences.within_note(compared(answers))
    better = sentences.paired_sentences(found.paired)
    assert " of 3 methods over all answers, worse than" in better[0]
    assert " of 3 methods within groups, worse than" in better[1]


def test_a_run_of_one_group_has_no_mean_within_groups():
    found = compared(made_up(40, groups=("a",)))
    (words,) = sentences.comparison_sentences(found)
    assert words.startswith("RAUQ is first of 4 methods by PRR, ")
    assert sentences.within_note(found) == ""
    assert len(sentences.paired_sentences(found.paired)) == 1


def simpsons(num_answers=200):
    """A method that ranks well within each group, and the groups themselves in the wrong order; RAUQ the other way."""
    rng = np.random.default_rng(0)
    group, answers = np.arange(num_answers) % 2, made_up(num_answers, groups=("a", "b"))
    answers["quality"] = (rng.uniform(size=num_answers) < np.where(group, 0.9, 0.1)).astype(float)
    answers["rauq"] = -3.0 * group + rng.normal(size=num_answers)
    answers["msp"] = 3.0 * group - 2 * answers["quality"] + 0.1 * rng.normal(size=num_answers)
    return answers


def test_a_difference_that_turns_round_within_groups_is_said_to():
    found = compared(simpsons())
    place = found.paired.methods.index("msp")
    assert found.paired.of_group("all")[place].low > 0
    assert found.paired.of_group(WITHIN)[place].high < 0
    words = sentences.reversal_sentence(found.paired)
    assert words.startswith("The difference has the opposite sign within groups, both beyond noise: MSP (+")
    assert words in sentences.paired_sentences(found.paired)
    assert sentences.reversal_sentence(compared(made_up(200)).paired) == ""


def test_places_are_ordinals():
    many = [f"method {place}" for place in range(22)]
    for place, words in ((10, "11th"), (20, "21st"), (21, "22nd"), (2, "3rd")):
        methods = [*many[:place], "rauq", *many[place:]]
        assert f"RAUQ is {words}" in sentences.comparison_sentence(methods, estimates(*range(23, 0, -1)), metric="prr")


def test_a_difference_is_significant_only_if_its_interval_excludes_zero():
    found = estimates(0.2, 0.05, -0.05, -0.2, -0.3, np.nan)
    words = sentences.paired_sentence(found, "rauq")
    assert words.startswith(
        "RAUQ ranks significantly better than 1 of 5 methods, worse than 2. Not significantly different from 2"
    )
    nothing = sentences.paired_sentence(estimates(np.nan), "rauq")
    assert nothing == "RAUQ cannot be compared with other methods: no quality."
    assert sentences.paired_sentence(estimates(0.2), "rauq").endswith("than 1 of 1 methods, worse than 0.")


def test_the_other_sentences_have_the_numbers_of_their_results():
    answers = made_up(100)
    uncertainties = {method: answers[method].to_numpy() for method in SKILL}
    quality = answers["quality"].to_numpy()
    curves = rejections(uncertainties, quality)
    words = sentences.rejections_caption(curves)
    assert words.startswith("Mean quality after rejecting the 20 % most uncertain of 100 answers")
    assert f"RAUQ {curves.curves[0].kept_quality[20]:.2f}" in words
    one = rejections({method: values[:1] for method, values in uncertainties.items()}, quality[:1])
    assert sentences.rejections_caption(one).startswith("Rejection is undefined: only 1 answer has")
    found = method_agreement(uncertainties)
    agreed = agreement_sentence(found)
    assert f"({found.correlations[0, 1]:.2f})" in agreed
    assert agreement_sentence(method_agreement({"rauq": quality})) == "No correlation is defined."
    assert "not among" in agreement_sentence(method_agreement({"msp": quality}))
    sides = disagreement(uncertainties["rauq"], uncertainties["msp"], most=7)
    low = quality[sides.first_more_uncertain.rows].mean()
    assert f"{low:.2f} for the 7 that RAUQ ranks more uncertain" in (
        disagreement_sentence(sides, quality, "rauq", "msp")
    )
    same = disagreement(quality, quality)
    assert disagreement_sentence(same, quality, "rauq", "msp").endswith("rank all 100 answers identically.")
    unknown = disagreement_sentence(sides, np.full(100, np.nan), "rauq", "msp")
    assert unknown.endswith("is undefined: no answer has a quality.")


def test_erroneous_shares_are_stated_with_their_counts():
    quality = np.array([1.0, 1, 0, 0, np.nan])
    found = error_analysis(np.arange(5.0), quality, [""] * 5, thresholds=Thresholds(), most=2)
    assert sentences.errors_sentence(found, "rauq") == (
        "Erroneous, ordered by RAUQ: 2 of 2 (100 %) of the most uncertain, 0 of 2 (0 %) of the least uncertain, "
        "2 of 4 (50 %) in all."
    )
    assert sentences.errors_note(found) == "1 answer is left out: no quality or no uncertainty."
    few = error_analysis(np.arange(5.0), quality, [""] * 5, thresholds=Thresholds())
    assert sentences.errors_note(few).startswith("Fewer at each end than the paper's 20: 4 answers with an")
    nothing = error_analysis(np.full(2, np.nan), np.ones(2), ["", ""], thresholds=Thresholds())
    assert sentences.errors_sentence(nothing, "rauq").startswith("Nothing to compare: 0 answers")
    assert sentences.errors_note(nothing) == ""


def test_captions_say_what_a_metric_means():
    answers = made_up(40)
    groups = groups_of(list(answers["group"]))
    by_prr, by_auc = (
        compare(answers, tuple(SKILL), groups, metric=metric, thresholds=Thresholds()) for metric in ("prr", "roc_auc")
    )
    assert "0 a random one" in sentences.intervals_caption(by_prr)
    assert sentences.intervals_caption(by_prr).endswith(f"; n = {by_prr.answers}.")
    twice = groups_of(list(answers["group"]), clusters=np.arange(len(answers)) // 2)
    caption = sentences.intervals_caption(compare(answers, tuple(SKILL), twice, metric="prr", thresholds=Thresholds()))
    assert caption.endswith(f"n = {by_prr.answers} answers to {by_prr.answers // 2} questions.")
    assert "0.5 is a random ranking" in sentences.intervals_caption(by_auc)
    assert sentences.paired_caption(by_prr.paired).startswith("RAUQ minus the other")


def test_published_numbers_are_called_so():
    overheads = sentences.published_overheads()
    assert overheads.startswith("Published overhead, Llama-3.1 8B: RAUQ 0.3 %, Lexical Similarity ROUGE-L 425 %, ")
    assert overheads.endswith(", SAR 820 %.")
    assert sentences.published_shares().startswith(
        "Published, Llama-3.1 8B on TruthfulQA: 95 % of the answers with the 20 highest"
    )
