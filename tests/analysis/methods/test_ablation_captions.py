"""Sentences about the control, alpha and the ablations: the numbers of the result, whichever way it came out."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.methods.ablations import ablate, ablations
from analysis.methods.attention_permutation import ALPHAS, NO_FACTS, REPLACED, Exchanged, GroupControl, Sweep
from analysis.methods.comparison import WITHIN, groups_of
from analysis.methods.sentences import (
    ablation_note,
    attention_sentences,
    control_caption,
    control_sentence,
    control_sentences,
    paired_sentence,
    sweep_sentence,
)
from analysis.quality.judgement import Thresholds
from analysis.stats import Estimate
from tests.analysis.methods.batches import informative_batch


def around(value, *, reason=""):
    return Estimate(value, value - 0.05, value + 0.05, 1200, 3, reason)


def control(*differences, tokens="all", reason=""):
    """A control with a real value of 0.5."""
    names = ("shuffled", "constant", "random head", "mean of heads")
    exchanged = tuple(
        Exchanged(exchange=name, estimate=around(0.5 - value), difference=around(value, reason=reason))
        for name, value in zip(names, differences, strict=True)
    )
    return GroupControl(
        group="$x$", alignment="own", metric="prr", tokens=tokens, real=around(0.5), exchanged=exchanged
    )


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (
            0.1,
            "Attention matters here: +0.100 [+0.050, +0.150] of PRR, 0.500 with an answer's own attention and 0.400 ",
        ),
        (-0.1, "Attention makes the ranking worse here: −0.100 [−0.150, −0.050] of PRR, 0.500 with "),
        (0.01, "No significant effect of attention here: +0.010 [−0.040, +0.060] of PRR, 0.500 with "),
    ],
)
def test_the_verdict_depends_on_the_interval(difference, verdict):
    assert control_sentence(control(difference, 0.0, 0.0, 0.0)).startswith(verdict)


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_below_a_hundredth_is_never_a_claim(sign):
    slight, claim = (
        Estimate(sign * size, sign * size - 0.001, sign * size + 0.001, 9000, 0) for size in (0.0099, 0.01)
    )
    one = control(0.1, 0, 0, 0)
    one = replace(one, exchanged=(replace(one.exchanged[0], difference=slight), *one.exchanged[1:]))
    assert control_sentence(one).startswith(f"Attention has a negligible effect here: {'+−'[sign < 0]}0.010 [")
    said = paired_sentence([slight, claim], "rauq")
    assert f"better than {int(sign > 0)} of 2 methods, worse than {int(sign < 0)}." in said
    assert said.endswith(" 1 further significant difference is below 0.01 and not counted.")
    assert " 2 further significant differences are below 0.01 and not" in paired_sentence([slight, slight], "rauq")


@pytest.mark.parametrize(("sign", "side"), [(1, "better"), (-1, "worse")])
def test_a_difference_below_a_hundredth_is_called_negligible_wherever_it_stands(sign, side):
    slight = Estimate(sign * 0.005, sign * 0.005 - 0.001, sign * 0.005 + 0.001, 9000, 0)
    one = control(0.1, 0, 0, 0)
    one = replace(one, exchanged=(one.exchanged[0], replace(one.exchanged[1], difference=slight), *one.exchanged[2:]))
    assert "attention it is negligibly different" in control_sentence(one)
    found = swept(VALUES)
    cells = [[replace(cell, difference=slight) for cell in group] for group in found.exchanged["shuffled"]]
    found = replace(found, exchanged={**found.exchanged, "shuffled": cells})
    assert f"real attention ranks negligibly {side} than shuffled ({'+−'[sign < 0]}0.005 [" in sweep_sentence(found)


def test_every_other_exchange_is_stated():
    words = control_sentence(control(0.1, 0.2, -0.2, 0.0))
    assert words.endswith(
        " with another's, over 1,200 answers; with a random head's attention it is higher, "
        "with constant attention it is lower, with the heads' mean attention it is not significantly "
        "different."
    )
    assert "constant or a random head's" in control_sentence(control(0.1, 0.2, 0.2, -0.2))


def test_the_tokens_of_the_fact_are_named():
    assert " on the fact tokens: " in control_sentence(control(0.1, 0, 0, 0, tokens="fact"))
    assert "score of the fact tokens" in control_caption((control(0.1, 0, 0, 0, tokens="fact"),))
    assert "Up to 3 answers" in control_caption((control(0.1, 0, 0, 0),))


def test_an_undefined_control_says_why():
    found = control(*[np.nan] * 4, reason=NO_FACTS)
    assert control_sentence(found) == f"Whether attention matters is undefined: {NO_FACTS}."


def test_the_control_is_stated_for_all_answers_and_within_groups_and_a_turn_is_said():
    pooled = replace(control(0.1, 0, 0, 0), group="all")
    same, turned = (replace(control(value, 0, 0, 0), group=WITHIN) for value in (0.01, -0.1))
    words = control_sentences((pooled, same))
    assert words[0].startswith("Attention matters over all answers: +0.100 [+0.050, +0.150] of PRR, 0.500 ")
    assert words[1].startswith(
        "No significant effect of attention within groups: +0.010 [−0.040, +0.060] of mean PRR, 0.500 "
    )
    assert len(words) == 2
    assert control_sentences((pooled, turned))[2].startswith("The difference has the opposite sign within groups")
    assert control_sentences((pooled,)) == (control_sentence(pooled),)


def swept(values, differences=None, *, groups=("all",)):
    """A sweep with these values (11,) in every group, and real attention above each other by `differences`."""
    reasons = ["no quality" if np.isnan(value) else "" for value in values]
    differences = differences or dict.fromkeys(REPLACED, 0.0)
    return Sweep(
        alignment="predicting",
        signal="probability",
        metric="roc_auc",
        alphas=ALPHAS,
        paper_alpha=0.2,
        groups=groups,
        real=(tuple(map(lambda value, reason: around(value, reason=reason), values, reasons)),) * len(groups),
        exchanged={
            name: (
                tuple(
                    Exchanged(
                        exchange=name,
                        estimate=around(value - by, reason=reason),
                        difference=around(by, reason=reason),
                    )
                    for value, reason in zip(values, reasons, strict=True)
                ),
            )
            * len(groups)
            for name, by in differences.items()
        },
    )


VALUES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.5, 0.45]


@pytest.mark.parametrize(
    ("difference", "verdict"),
    [
        (0.1, "better than shuffled (+0.100 [+0.050, +0.150])"),
        (0.0, "no better than shuffled (0.000 [−0.050, +0.050])"),
        (-0.1, "worse than shuffled (−0.100 [−0.150, −0.050])"),
    ],
)
def test_the_sweep_states_whether_real_attention_ranks_better_than_shuffled(difference, verdict):
    found = swept(VALUES, {"shuffled": difference, "constant": 0.0, "none": 0.0})
    assert sweep_sentence(found) == f"At the paper's alpha 0.2 real attention ranks {verdict}."
    (words,) = attention_sentences(found)
    assert words.count(verdict.split(" than")[0] + " than") >= 2  # at the paper's alpha and at the best


def test_every_other_attention_is_stated_with_its_interval_at_the_papers_and_the_best_alpha():
    (words,) = attention_sentences(swept(VALUES, {"shuffled": 0.1, "constant": 0.0, "none": -0.1}))
    against = (
        "better than shuffled (+0.100 [+0.050, +0.150]), no better than constant (0.000 [−0.050, +0.050]), "
        "worse than none (−0.100 [−0.150, −0.050])"
    )
    assert words == (
        "All answers: at alpha 0.2 (the paper's for probability; ROC-AUC 0.30 [0.25, 0.35]) real attention ranks "
        f"{against}; "
        f"at alpha 0.8 (the best, chosen by the labels; 0.90 [0.85, 0.95]) it ranks {against}."
    )


def test_where_the_papers_alpha_is_the_best_or_the_best_uses_no_attention_that_is_said_once():
    highest = [0.1, 0.1, 0.9, *[0.2] * 8]
    (words,) = attention_sentences(swept(highest))
    assert "at alpha 0.2 (the paper's for probability and the best; ROC-AUC 0.90" in words
    assert words.count("ranks") == 1
    (words,) = attention_sentences(swept(sorted(VALUES)))
    assert words.endswith("at alpha 1 (the best, chosen by the labels; 0.90 [0.85, 0.95]) attention is not used.")


def test_the_sweep_is_stated_for_all_answers_and_within_groups():
    found = swept(VALUES, groups=("all", WITHIN, "a", "b"))
    assert sweep_sentence(found) == (
        "At the paper's alpha 0.2 real attention ranks no better than shuffled over all answers "
        "(0.000 [−0.050, +0.050]) and within groups (0.000 [−0.050, +0.050])."
    )
    assert [words.partition(":")[0] for words in attention_sentences(found)] == ["All answers", "Mean within groups"]


def test_a_sweep_without_values_says_why():
    nothing = swept([np.nan] * 11)
    assert sweep_sentence(nothing) == "Undefined: no quality."
    assert attention_sentences(nothing) == ()


def test_a_note_names_what_a_table_leaves_out():
    batch, quality = informative_batch(30, strength=0.2)
    names = ["a"] * 30
    kept = replace(batch, attention=batch.attention[:, 2:5], layers=(2, 3, 4))
    notes = {
        table.id: ablation_note(
            ablate(
                table,
                kept,
                quality,
                names,
                groups_of(names),
                layers=range(6),
                metric="prr",
                thresholds=Thresholds(),
            )
        )
        for table in ablations(range(6))
        if table.id in {"heads", "layers", "single_head"}
    }
    assert notes["heads"] == ""
    assert notes["single_head"] == "Heads were selected on 10 answers, which are excluded from these numbers."
    assert "layer 0; layer 1; layer 5;" in notes["layers"]
    assert notes["layers"].endswith("Score it again with --layers all.")
