"""Sentences about the control, alpha and the ablations: the numbers of the result, whichever way it came out."""

from dataclasses import replace

import numpy as np
import pytest

from analysis.methods.ablations import ALPHAS, Sweep, ablate, ablations
from analysis.methods.attention_permutation import NO_FACTS, Exchanged, GroupControl
from analysis.methods.comparison import groups_of
from analysis.methods.sentences import (
    ablation_note,
    best_alpha_sentence,
    control_caption,
    control_sentence,
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
        (0.1, "Attention matters here: PRR is 0.500 with an answer's own attention and 0.400 with another's, "),
        (-0.1, "Attention makes the ranking worse here: PRR is 0.500 with an answer's own attention and 0.600 with "),
        (0.01, "No significant effect of attention here: PRR is 0.500 with an answer's own attention and 0.490 with "),
    ],
)
def test_the_verdict_depends_on_the_interval(difference, verdict):
    assert control_sentence(control(difference, 0.0, 0.0, 0.0)).startswith(verdict)


def test_every_other_exchange_is_stated():
    words = control_sentence(control(0.1, 0.2, -0.2, 0.0))
    assert words.endswith(
        "a difference of +0.100 [+0.050, +0.150] over 1,200 answers; with a random head's attention it is higher, "
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


def swept(values):
    return Sweep(
        alignment="predicting",
        signal="probability",
        metric="roc_auc",
        alphas=ALPHAS,
        paper_alpha=0.2,
        groups=("all",),
        estimates=(tuple(around(value, reason="no quality" if np.isnan(value) else "") for value in values),),
    )


def test_the_sweep_states_the_papers_alpha_the_best_and_perplexitys():
    found = swept([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.5, 0.45])
    assert sweep_sentence(found, "all") == (
        "ROC-AUC is 0.30 [0.25, 0.35] at the paper's alpha 0.2, and 0.45 [0.40, 0.50] at 1, where attention is "
        "not used."
    )
    assert best_alpha_sentence(found, "all").startswith("It is highest at 0.8: 0.90 [0.85, 0.95].")
    nothing = swept([np.nan] * 11)
    assert sweep_sentence(nothing, "all") == "Undefined: no quality."
    assert best_alpha_sentence(nothing, "all") == ""


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
                resamples=5,
            )
        )
        for table in ablations(range(6))
        if table.id in {"heads", "layers", "single_head"}
    }
    assert notes["heads"] == ""
    assert notes["single_head"] == "Heads were selected on 10 answers, which are excluded from these numbers."
    assert "layer 0; layer 1; layer 5;" in notes["layers"]
    assert notes["layers"].endswith("Score it again with --layers all.")
