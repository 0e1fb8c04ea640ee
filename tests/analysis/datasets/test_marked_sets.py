"""Sets that people marked, as small files in the form of their authors: spans are code points of the answer."""

import json

import pytest

from analysis.datasets.names import load
from analysis.datasets.public.marked_sets import MARKED_SETS, load_marked_set
from rauq.errors import DataSetNotFound, InvalidInput

ANSWER = "🦀 It has four legs, and five eyes."


def span(text, answer=ANSWER):
    return answer.index(text), answer.index(text) + len(text)


def mu_shroom(folder):
    path = folder / "splits" / "test_labeled" / "v1" / "mushroom.en-tst.v1.extra.jsonl"
    rows = [
        {
            "id": "1",
            "lang": "EN",
            "model_input": "Legs?",
            "model_output_text": ANSWER,
            "hard_labels": [span("five eyes")],
        },
        {
            "id": "2",
            "lang": "EN",
            "model_input": "Eyes?",
            "model_output_text": "Two.",
            "hard_labels": [],
            "model_id": "m",
        },
    ]
    return path, "\n".join(map(json.dumps, rows))


def mark(text, *labels):
    start, end = span(text)
    return {"label": list(labels), "summary_start": start, "summary_end": end}


def faithbench(folder):
    samples = [
        [mark("four", "Unwanted", "Unwanted.Intrinsic"), mark("five eyes", "Benign")],
        [mark("four", "Questionable")],
        [],
    ]
    rows = [
        {
            "sample_id": number,
            "source": "A crab.",
            "summary": ANSWER,
            "annotations": own,
            "metadata": {"summarizer": "m"},
        }
        for number, own in enumerate(samples)
    ]
    return folder / "data_for_release" / "batch_1.json", json.dumps({"samples": rows})


def helm(folder):
    sentences = [{"sentence": "It has ten legs.", "label": 0}, {"sentence": "It flies.", "label": 1}]
    return folder / "helm" / "data" / "opt7b" / "data.json", json.dumps(
        {"7": {"prompt": "Crabs.", "sentences": sentences}}
    )


FILES = {"mu_shroom": mu_shroom, "faithbench": faithbench, "helm": helm}


@pytest.fixture
def folder(tmp_path):
    for make in FILES.values():
        path, text = make(tmp_path)
        path.parent.mkdir(parents=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path


def test_every_set_has_a_file_here():
    assert set(FILES) == set(MARKED_SETS)


@pytest.mark.parametrize("name", FILES)
def test_a_span_is_its_text_and_an_answer_with_one_is_incorrect(name, folder):
    data = load(f"{name}={folder}", kind="base")
    assert data.is_written
    assert data.quality == "given"
    assert len({example.id for example in data.examples}) == len(data.examples)
    for example in data.examples:
        assert {example.answer[start:end] for start, end in example.wrong_spans} == set(example.wrong)
        assert (example.quality == 0) is bool(example.wrong_spans)
    assert {example.quality for example in data.examples} >= {0.0, 1.0}


def test_what_each_set_says(folder):
    first, second = load(f"mu_shroom={folder}", kind="base").examples
    assert (first.wrong, first.group, second.stratum, second.quality) == (("five eyes",), "en", "m", 1)
    wrong, unclear, right = load(f"faithbench={folder}", kind="base").examples
    assert (wrong.wrong, [wrong.answer[a:b] for a, b in wrong.unclear_spans]) == (("four",), ["five eyes"])
    assert (unclear.quality, unclear.wrong_spans, right.quality) == (None, (), 1)
    assert "<document>\nA crab.\n</document>" in right.prompt
    _, later = load(f"helm={folder}", kind="base").examples
    assert (later.prompt, later.answer, later.question, later.group) == (
        "Crabs. It has ten legs.",
        " It flies.",
        "Crabs.",
        "opt7b",
    )


@pytest.mark.parametrize("name", FILES)
def test_one_file_is_enough_and_a_limit_holds(name, folder):
    path, _ = FILES[name](folder)
    assert load(f"{name}={path}", kind="base").examples == load(f"{name}={folder}", kind="base").examples
    assert len(load(f"{name}={folder}", kind="base", limit=1).examples) == 1


def test_a_clone_of_faithbench_has_other_files_beside_its_batches_and_labels_that_name_a_kind_alone(tmp_path):
    path, text = faithbench(tmp_path)
    for file, written in ((path, text), (tmp_path / "annot" / "batch_1_annotation.json", "[]")):
        file.parent.mkdir()
        file.write_text(written.replace('"Questionable"', '"Questionable", "Unwanted.Extrinsic"'), encoding="utf-8")
    found = load(f"faithbench={tmp_path}", kind="base").examples
    assert [example.quality for example in found] == [0, 0, 1]


@pytest.mark.parametrize("name", FILES)
def test_a_copy_that_is_not_there_says_where_it_is_and_its_licence(name, tmp_path):
    marked = MARKED_SETS[name]
    for asked in (name, f"{name}={tmp_path}"):
        with pytest.raises(DataSetNotFound, match=f"licence: {marked.licence}.*{marked.address}"):
            load(asked, kind="base")


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("text", ["", "{", "[1]", '{"samples": [{}]}', '{"7": {"prompt": "Crabs."}}', '{"id": 1}'])
def test_a_file_of_another_form_is_named(name, text, folder):
    path, _ = FILES[name](folder)
    path.write_text(text, encoding="utf-8")
    with pytest.raises((InvalidInput, DataSetNotFound)):
        load(f"{name}={path}", kind="base")


def test_a_span_beyond_the_answer_is_an_error_that_names_the_row(folder):
    path, text = mu_shroom(folder)
    path.write_text(text.replace(str(span("five eyes")[1]), "99", 1), encoding="utf-8")
    with pytest.raises(InvalidInput, match="1 marks characters that its answer does not have"):
        load_marked_set(MARKED_SETS["mu_shroom"], folder)
