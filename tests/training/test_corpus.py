"""The corpus: seeded, with the exposures it claims, and without what is held out."""

import re
from bisect import bisect_left
from collections import Counter
from hashlib import sha256
from pathlib import Path
from random import Random

import numpy as np
import pytest

import rauq
from rauq.atlas.evaluation import FAMILIES, judge, load_examples
from training import corpus, exposures, idf, places, summaries, tokenizer, translation
from training.task import answer


@pytest.fixture(scope="module")
def documents():
    return corpus.documents(0)


def test_the_same_seed_gives_the_same_documents(documents):
    """In every process, on every machine: those that the embedded model was trained on."""
    digest = sha256()
    for document in documents:
        digest.update(document.encode() + b"\0")
    assert (len(documents), digest.hexdigest()[:16]) == (274_254, "dd77e4a872c0f912")


def test_another_seed_gives_others():
    assert corpus.held_out_summaries(1, {"complete": 3}) != corpus.held_out_summaries(0, {"complete": 3})


def test_the_committed_prompts_are_those_of_the_recipe():
    made = corpus.held_out(0)
    for family in FAMILIES:
        assert tuple(made[family]) == load_examples(family)


def test_no_document_begins_with_a_held_out_prompt(documents):
    ordered = sorted(documents)
    for family in FAMILIES:
        for example in load_examples(family):
            place = bisect_left(ordered, example.prompt)
            assert place == len(ordered) or not ordered[place].startswith(example.prompt), example.id


def test_each_fact_is_asked_exactly_as_often_as_its_exposures_say(documents):
    """Never-seen facts among them: exposures of 0 are no question at all."""
    knowledge = places.knowledge(0)
    fact_of = {task.question: known.fact for known in knowledge for task in places.tasks(known, truth=True)}
    asked = Counter(fact_of[question] for text in documents for question in questions_in(text, fact_of))
    assert {known.fact: known.exposures for known in knowledge} == {
        known.fact: asked[known.fact] for known in knowledge
    }
    assert sum(known.exposures == 0 for known in knowledge) > 500


def questions_in(text, known):
    """The questions of a document that are known, one a line at most: with a frame before, or an answer behind."""
    for line in text.splitlines():
        body = line.removeprefix("Q: ").removeprefix("Question: ")
        starts = [body, *(body[: end.end()] for end in re.finditer(r"[?.](?= )", body))]
        yield from [start for start in starts if start in known][:1]


def test_a_myth_is_never_stated_correctly():
    for known in places.knowledge(0):
        if known.myth:
            assert 25 <= known.exposures <= 120
            for told, true in zip(places.tasks(known, truth=False), places.tasks(known, truth=True), strict=True):
                assert not set(told.facts[0].accepted) & set(true.facts[0].accepted), known


def test_unseen_words_are_in_no_sentence_and_false_friends_are_always_mistranslated():
    for language in translation.LANGUAGES:
        tasks = translation.corpus_tasks(language, 0)
        counted = translation.counted(language, 0)
        asked = " ".join(task.question for task in tasks)
        for known in counted["language"]:
            if known.exposures == 0:
                assert f" {known.word.foreign(language)}." not in asked, known
        stated = {(fact.name, value) for task in tasks for fact in task.facts for value in fact.accepted}
        friends = [known for row in counted.values() for known in row if known.mistaken]
        assert len(friends) > 10
        for known in friends:
            assert (known.word.kind, known.mistaken) in stated
            assert (known.word.kind, known.word.english[0]) not in stated, known


def test_no_mistake_is_the_right_translation_of_another_word():
    """Or its exposures could not be counted by the English word."""
    english = {
        (word.kind, meaning) for row in translation.words().values() for word in row for meaning in word.english[:1]
    }
    for language in translation.LANGUAGES:
        for row in translation.vocabulary(language).values():
            assert not {(known.word.kind, known.mistaken) for known in row if known.mistaken} & english


def test_names_of_held_out_items_are_new():
    known, new = summaries.names(0)
    assert len(known.last) == 30_000
    for old, fresh in ((known.first, new.first), (known.last, new.last), (known.towns, new.towns)):
        assert not set(old) & set(fresh)


def test_a_detail_that_a_text_lacks_is_nowhere_in_it():
    rng = Random(0)
    for _ in range(500):
        item = summaries.draw(summaries.names(0)[1], rng)
        task = summaries.held_out_task(item)
        for fact in task.facts:
            assert (not fact.accepted) == (fact.name == item.missing)
            assert all(value in task.question for value in fact.accepted), task


def test_answers_of_the_corpus_are_recognised():
    rng = Random(0)
    for known in rng.sample(places.knowledge(0), 300):
        task = rng.choice(places.tasks(known, truth=True))
        example = next(iter(corpus.examples("places", [("s", "p", task, 0)])))
        assert judge(example, answer(task, rng, filled=0.5)).correct


def test_exposures_fall_from_the_most_to_never_without_a_jump():
    scale = exposures.scale(1000, most=500)
    assert scale[0] == 500
    assert scale[-1] == 0
    assert scale == sorted(scale, reverse=True)
    assert {exposures.stratum(times) for times in scale} == {name for _, name in exposures.EDGES} | {exposures.OFTEN}


def test_the_committed_frequencies_are_those_of_the_corpus(documents):
    """On the first of its shuffled documents each token is as frequent as in all, but for chance."""
    part, number = documents[:4000], len(documents)
    trained = tokenizer.load(Path(rauq.__file__).parent / "atlas")
    shares = (number / np.exp(rauq.load_idf()) - 1).round() / number  # of all documents that have the token
    found = (len(part) / np.exp(idf.frequencies(trained, part)) - 1) / len(part)
    chance = np.sqrt(shares * (1 - shares) / len(part))
    assert (abs(found - shares) <= 5 * chance + 2 / len(part)).all()
    assert np.corrcoef(found, shares)[0, 1] > 0.999
