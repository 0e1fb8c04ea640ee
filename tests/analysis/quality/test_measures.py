"""The table of measures: every row judges, the best reference counts, and missing inputs give nan with the reason."""

import math
import re

import pytest
import torch

from analysis.datasets.example import Example
from analysis.quality.convert import convert
from analysis.quality.judgement import Thresholds
from analysis.quality.learned import load_alignscore
from analysis.quality.measures import MEASURES, load_judge, measure
from rauq.atlas.evaluation import FAMILIES, judge, load_examples
from rauq.errors import InvalidInput, ModelNotFound
from tests.checkpoints import alignscore_checkpoint, comet_checkpoint, pair_tokenizer

EVERY = pytest.mark.parametrize("name", MEASURES)
PLAIN = [name for name in MEASURES if name not in {"none", "exact_truth"}]
PARIS = load_examples("places")[0]
FULL = Example(
    id=PARIS.id,
    prompt=PARIS.prompt,
    references=("no", PARIS.reference),
    source="Quelle",
    answer="x",
    quality=0.25,
    group="capitals",
)
BARE = Example(id="bare", prompt="Why?", references=(" ",))


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Folders of tiny weights, by the id of the measure."""
    place = tmp_path_factory.mktemp("weights")
    pair_tokenizer().save_pretrained(place / "tokenizer")
    torch.save(alignscore_checkpoint(), place / "a.ckpt")
    torch.save(comet_checkpoint(), place / "c.ckpt")
    align, comet = (convert(place / name, tokenizer=str(place / "tokenizer")) for name in ("a.ckpt", "c.ckpt"))
    return {"alignscore": align, "alignscore_source": align, "comet": comet}


def judge_answers(name, examples, answers, *, weights=None):
    return load_judge(name, weights=weights)(examples, answers)


@EVERY
def test_every_measure_gives_a_number_or_the_reason_in_order(name, weights):
    judgements = judge_answers(name, [FULL, BARE, FULL], [PARIS.reference, "x", ""], weights=weights.get(name))
    assert len(judgements) == 3
    for judgement in judgements:
        assert math.isnan(judgement.quality) == bool(judgement.reason)
    assert judgements[1].reason
    assert bool(judgements[0].reason) == (name == "none")
    assert judge_answers(name, [], [], weights=weights.get(name)) == []
    assert judge_answers(name, [BARE], ["x"], weights=weights.get(name))[0].reason == judgements[1].reason


@EVERY
def test_what_a_measure_does_not_need_does_not_matter(name, weights):
    needs = MEASURES[name].needs
    example = Example(
        id=PARIS.id,
        prompt="another",
        references=FULL.references if "references" in needs else (),
        source=FULL.source if "source" in needs else "",
        quality=FULL.quality if "quality" in needs else None,
        group=FULL.group if "group" in needs else "",
    )
    given = {"weights": weights.get(name)}
    less, full = (judge_answers(name, [row], [PARIS.reference], **given)[0] for row in (example, FULL))
    assert (less.quality, less.reason) == pytest.approx((full.quality, full.reason), nan_ok=True)


@pytest.mark.parametrize("name", [name for name in PLAIN if "references" in MEASURES[name].needs])
def test_the_best_reference_counts_and_blank_ones_do_not(name, weights):
    def of(*references):
        example = Example(id="", prompt="", references=references, source="s", group="capitals")
        return judge_answers(name, [example], ["It is blue.\n"], weights=weights.get(name))[0].quality

    assert of("It is red.", "", "It is blue.") == pytest.approx(max(of("It is red."), of("It is blue.")), abs=1e-6)
    assert math.isnan(of("", " \n"))


@pytest.mark.parametrize("name", ["accuracy", "exact_match", "token_f1", "rouge_l"])
def test_an_answer_ends_in_a_newline_and_an_empty_one_is_wrong(name):
    example = Example(id="", prompt="", references=("Paris",))
    assert [judgement.quality for judgement in judge_answers(name, [example] * 2, [" Paris\n", "\n"])] == [1, 0]


def test_an_empty_translation_is_undefined(weights):
    (judgement,) = judge_answers("comet", [FULL], [" \n"], weights=weights["comet"])
    assert "empty translation" in judgement.reason


def test_the_answer_is_the_context_of_references_and_the_claim_against_a_source(weights):
    scores = load_alignscore(weights["alignscore"])
    example = Example(id="", prompt="", references=("It was red.",), source="Nobody saw it")
    reference, source = (
        judge_answers(name, [example], ["It is blue"], weights=weights[name])[0].quality
        for name in ("alignscore", "alignscore_source")
    )
    assert [reference] == pytest.approx(scores([("It is blue", "It was red.")]), abs=1e-6)
    assert [source] == pytest.approx(scores([("Nobody saw it", "It is blue")]), abs=1e-6)


@pytest.mark.parametrize("quality", [None, math.nan, math.inf])
def test_a_given_quality_is_a_finite_number(quality):
    known, unknown = (Example(id="", prompt="", quality=number) for number in (-0.0, quality))
    zero, undefined = judge_answers("given", [known, unknown], ["a", "b"])
    assert (zero.quality, zero.reason) == (0, "")
    assert "gives this answer no quality" in undefined.reason


@pytest.mark.parametrize("family", FAMILIES)
def test_exact_truth_is_that_of_the_embedded_prompts(family):
    rows = load_examples(family)[::80]
    examples = [Example(id=row.id, prompt=row.prompt) for row in rows]
    answers = [row.reference + "\n" for row in rows]
    for row, answer, judgement in zip(rows, answers, judge_answers("exact_truth", examples, answers), strict=True):
        assert judgement.quality == 1
        assert judgement.facts == tuple((fact.start, fact.end) for fact in judge(row, answer).statements) != ()
    wrong = judge_answers("exact_truth", examples, ["Certainly not."] * len(rows))
    assert {judgement.quality for judgement in wrong} == {0}


def test_exact_truth_of_a_stranger_is_undefined():
    assert "no embedded prompt has the id 'bare'" in judge_answers("exact_truth", [BARE], ["x"])[0].reason


@pytest.mark.parametrize("name", ["none", "given", "exact_match"])
def test_facts_of_the_example_are_found_whatever_the_quality(name):
    example = Example(id="", prompt="", references=("x",), facts=("1912",), quality=1)
    assert judge_answers(name, [example], [" In 1912, or 1912?"])[0].facts == ((4, 8), (13, 17))


def test_models_are_loaded_once_for_many_answers(weights, monkeypatch):
    judged = load_judge("alignscore", weights=weights["alignscore"])
    monkeypatch.setattr("analysis.quality.learned.open_weights", None)
    assert judged([FULL], ["x"]) == judged([FULL], ["x"])


@pytest.mark.parametrize("name", [name for name in MEASURES if "weights" in MEASURES[name].needs])
def test_a_model_without_its_folder_says_how_to_make_it(name, tmp_path):
    for folder in (None, tmp_path / "none"):
        with pytest.raises(ModelNotFound, match="python -m analysis convert"):
            load_judge(name, weights=folder)


def test_an_unknown_measure_names_those_there_are():
    with pytest.raises(InvalidInput, match=re.escape(", ".join(MEASURES))):
        measure("bleu")


def test_the_table_is_complete_and_read_only():
    for name, row in MEASURES.items():
        assert row.id == name
        assert row.name
        assert row.source
        assert row.thresholds == (Thresholds(roc=0.85) if name == "comet" else Thresholds())
    with pytest.raises(TypeError):
        MEASURES["new"] = MEASURES["none"]
