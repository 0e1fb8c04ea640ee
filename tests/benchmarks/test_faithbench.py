"""FaithBench: which tokens are marked, and what a signal adds to controls, with a planted effect and without."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.documents.beyond import CONTROLS, with_controls
from benchmarks.documents.faithbench import (
    ABSENT,
    ALL,
    UNWANTED,
    MarkedSummary,
    read_folder,
    read_marked,
    record_of,
    rows_by_group,
)
from benchmarks.documents.ranking import BEST_HEAD, OWN, documents_of, interval
from benchmarks.documents.reading import COLLAPSE, LOGPROB, POSITION, Reading
from rauq.errors import InvalidInput
from rauq.model.loading import load_model

LENGTH, PER_DOCUMENT = 24, 3
SUMMARY = "Oslo is large. It has 9 harbours."


def label(kind, text):
    start = SUMMARY.index(text)
    return {"label": [*kind.split()], "summary_start": start, "summary_end": start + len(text)}


def sample(source, *labels):
    return {
        **{"sample_id": 0, "source": source, "summary": SUMMARY, "annotations": list(labels)},
        "metadata": {"summarizer": "m"},
    }


def test_summaries_of_a_document_stand_together_and_any_unwanted_label_counts(tmp_path):
    samples = [
        sample("Oslo is a city.", label("Unwanted", "large"), label("Benign", "9 harbours")),
        sample("Another."),
        sample("Oslo is a city.", label("Questionable", "large")),
    ]
    (tmp_path / "batch_1.json").write_text(json.dumps({"samples": samples}))
    found = read_folder(str(tmp_path))
    assert [one.document for one in found] == [0, 0, 1]
    assert [SUMMARY[start:end] for start, end in found[0].unwanted] == ["large"]
    assert [SUMMARY[start:end] for start, end in found[0].others] == ["9 harbours"]
    assert found[1].unwanted == ()


@pytest.mark.parametrize("folder", ["", "nowhere"])
def test_without_its_files_it_says_where_they_are(folder):
    with pytest.raises(InvalidInput, match="RAUQ_FAITHBENCH"):
        read_folder(folder)


def test_what_is_marked_as_another_kind_is_left_out_or_counts_too():
    start, end = (SUMMARY.index(text) for text in ("large", "9 harbours"))
    given = MarkedSummary(
        document=0,
        prompt="Summarise.\n<document>\nOslo is big. It has harbours.\n</document>",
        text=f" {SUMMARY}",
        unwanted=((start + 1, start + 6),),
        others=((end + 1, end + 11),),
    )
    unwanted, whole = read_marked(load_model("atlas"), [given])
    assert (unwanted.group, whole.group) == (UNWANTED, ALL)
    assert not (unwanted.details[0] & ~whole.details[0]).any()
    left_out = whole.counted & ~unwanted.counted
    assert left_out.any()
    np.testing.assert_array_equal(left_out, whole.counted & whole.details[0] & ~unwanted.details[0])
    assert unwanted.signals[ABSENT][unwanted.details[0]].all()  # "large" is not in the document
    assert not unwanted.signals[ABSENT][0]  # "Oslo" is


def made(*, effect, documents=40):
    """Readings in which position tells marked tokens a little, and one head more, if there is an effect."""
    rng = np.random.default_rng(0)
    for document in np.repeat(np.arange(documents), PER_DOCUMENT):
        marked = rng.random(LENGTH) < np.linspace(0.1, 0.5, LENGTH)
        marked[[0, -2]] = False, True
        heads = rng.normal(size=(2, 3, LENGTH))
        heads[1, 2, 1:] -= effect * marked[:-1]
        yield Reading(
            document=int(document),
            group=UNWANTED,
            signals={
                LOGPROB: rng.normal(size=LENGTH),
                COLLAPSE: rng.normal(size=LENGTH),
                POSITION: np.arange(LENGTH, dtype=float),
            },
            heads=heads,
            mean_share=heads.mean(axis=(0, 1)),
            details=marked[None],
            wrong=0,
            counted=np.ones(LENGTH, dtype=bool),
        )


@pytest.mark.parametrize("effect", [0, 2])
def test_a_signal_adds_to_the_controls_only_if_it_tells_something(effect):
    read = list(made(effect=effect))
    found, documents = with_controls(read), documents_of(read)
    head = interval(found[BEST_HEAD.format(OWN)].beyond, documents)
    assert (head.low > 0.1) if effect else (abs(head.value) < 0.02)
    assert abs(interval(found[LOGPROB].beyond, documents).value) < 0.02
    assert interval(found[CONTROLS].alone, documents).low > 0.55
    assert np.isnan(found[POSITION].beyond).all()


def test_the_record_has_every_signal_for_both_kinds_of_marks():
    read = list(made(effect=2, documents=10))
    rows = rows_by_group("atlas", [*read, *(replace(one, group=ALL) for one in read)])
    record = record_of([*rows, *(("other", *row[1:]) for row in rows)])
    assert {row[1] for row in record.rows} == {UNWANTED, ALL}
    assert len({row[2] for row in record.rows}) * 4 == len(record.rows)
    assert re.fullmatch(
        r".* atlas: the document's .* beyond the controls .*\. other: the document's .*", record.finding
    )
