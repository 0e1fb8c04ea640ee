"""The paper's twelve sets: what they state against the paper's table, and what is made of copies in their schema."""

import re

import pytest
from datasets import Dataset, DatasetDict

from analysis.datasets.public.paper_set import PromptOptions, load_paper_set
from analysis.datasets.public.twelve import PAPER_SETS
from rauq.errors import DataSetNotFound, InvalidInput
from tests.analysis.datasets.raw_data import COUNT, ROWS, copy_of, split_of

EVERY = list(PAPER_SETS.values())
KINDS = ("base", "instruct")

# Title, test samples, worked examples, longest answer in tokens, split, split of the worked examples, quality: the
# paper's table of data sets, and the splits of its reference configurations.
TABLE = """
TruthfulQA    |  817 | 5   | 128 | validation |       | alignscore
SciQ          | 1000 | 0   |  20 | validation |       | alignscore
MMLU          | 2000 | 5   |   3 | test       | dev   | accuracy
TriviaQA      | 2000 | 5   |  20 | validation | train | alignscore
CoQA          | 2000 | all |  20 | validation |       | alignscore
MedQUAD       | 1000 | 5   | 128 | train      | train | alignscore
GSM8k         | 1319 | 5   | 256 | test       |       | accuracy
CNN/DailyMail | 2000 | 0   | 128 | test       |       | alignscore_source
SamSum        |  819 | 0   | 128 | test       |       | alignscore_source
XSum          | 2000 | 0   | 128 | test       |       | alignscore_source
WMT19 De-En   | 2000 | 0   | 107 | validation |       | comet
WMT14 Fr-En   | 2000 | 0   | 107 | test       |       | comet
"""


@pytest.fixture(scope="module")
def copies(tmp_path_factory):
    folder = tmp_path_factory.mktemp("copies")
    return {paper_set.id: copy_of(paper_set, folder / paper_set.id) for paper_set in EVERY}


def blocks(prompt):
    return prompt.split("\n\n")


def test_the_twelve_sets_are_asked_as_in_the_paper():
    stated = [
        (
            *(each.title, str(each.size), "all" if each.n_shot is None else str(each.n_shot)),
            *(str(each.max_new_tokens), each.split, each.few_shot_split, each.quality),
        )
        for each in EVERY
    ]
    assert stated == [tuple(cell.strip() for cell in line.split("|")) for line in TABLE.strip().splitlines()]


@pytest.mark.parametrize("paper_set", EVERY, ids=PAPER_SETS)
def test_a_set_has_a_namespace_on_the_hub_and_its_id_is_its_name(paper_set):
    assert re.fullmatch(r"[\w-]+/[\w.-]+", paper_set.hub_id)
    assert PAPER_SETS[paper_set.id] is paper_set
    assert set(paper_set.columns) <= ROWS[paper_set.id](0).keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("paper_set", EVERY, ids=PAPER_SETS)
def test_every_row_of_a_copy_is_asked(paper_set, kind, copies):
    data = load_paper_set(paper_set, kind=kind, path=copies[paper_set.id])
    rows = [ROWS[paper_set.id](n) for n in range(COUNT)]
    expected = {"medquad": COUNT // 2, "coqa": sum(len(row["questions"]) for row in rows if "questions" in row)}
    assert data.rejected == ()
    assert len(data.examples) == len({example.id for example in data.examples}) == expected.get(paper_set.id, COUNT)
    assert (data.quality, data.max_new_tokens, data.stop) == (paper_set.quality, paper_set.max_new_tokens, None)
    for example in data.examples:
        assert example.references
        assert all(reference == reference.strip() != "" for reference in example.references)
        assert example.prompt == example.prompt.strip()
        assert example.prompt.endswith(":")
        assert example.question.rpartition("\n")[2] in example.prompt
        assert example.answer is None


@pytest.mark.parametrize("paper_set", EVERY, ids=PAPER_SETS)
def test_no_prompt_contains_its_answer(paper_set, copies):
    for example in load_paper_set(paper_set, kind="base", path=copies[paper_set.id]).examples:
        asked = blocks(example.prompt)[-1]
        if paper_set.id != "mmlu":  # where the letter stands before every choice
            assert not any(reference in asked for reference in example.references)


@pytest.mark.parametrize("paper_set", EVERY, ids=PAPER_SETS)
def test_the_number_of_worked_examples_is_the_papers(paper_set, copies):
    for example in load_paper_set(paper_set, kind="base", path=copies[paper_set.id]).examples:
        context = 2 if paper_set.id == "coqa" else 1  # the first line, and the story
        before = int(example.id.rpartition("-")[2]) if paper_set.id == "coqa" else paper_set.n_shot
        assert len(blocks(example.prompt)) == context + before + 1


@pytest.mark.parametrize("paper_set", EVERY, ids=PAPER_SETS)
def test_base_and_instruct_have_different_prompts_for_the_same_rows(paper_set, copies):
    base, instruct = (load_paper_set(paper_set, kind=kind, path=copies[paper_set.id]).examples for kind in KINDS)
    for one, other in zip(base, instruct, strict=True):
        assert blocks(one.prompt)[0] != blocks(other.prompt)[0]
        assert (one.id, blocks(one.prompt)[1:]) == (other.id, blocks(other.prompt)[1:])
        assert one.references == other.references


@pytest.mark.parametrize("name", ["mmlu", "triviaqa", "medquad"])
def test_worked_examples_are_never_evaluated_and_depend_on_the_seed(name, copies):
    first, again, other = (
        load_paper_set(PAPER_SETS[name], kind="base", path=copies[name], seed=seed) for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other
    solved = {block.splitlines()[0] for example in first.examples for block in blocks(example.prompt)[1:-1]}
    assert not solved & {blocks(example.prompt)[-1].splitlines()[0] for example in first.examples}


def test_mmlu_solves_questions_of_the_same_subject(copies):
    for example in load_paper_set(PAPER_SETS["mmlu"], kind="base", path=copies["mmlu"]).examples:
        numbers = [int(block.partition("it, ")[2].partition("?")[0]) for block in blocks(example.prompt)[1:]]
        assert len({number % 2 for number in numbers}) == 1
        assert example.stratum in blocks(example.prompt)[0]


@pytest.mark.parametrize("name", ["sciq", "coqa", "medquad"])
def test_a_smaller_limit_asks_a_part_of_a_larger_one(name, copies):
    sizes = {limit: load_paper_set(PAPER_SETS[name], kind="base", path=copies[name], limit=limit) for limit in (2, 5)}
    assert [len(data.examples) for data in sizes.values()] == [2, 5]
    assert set(sizes[2].examples) < set(sizes[5].examples)


def test_a_limit_below_one_is_refused(copies):
    with pytest.raises(InvalidInput, match="limit of 0"):
        load_paper_set(PAPER_SETS["sciq"], kind="base", path=copies["sciq"], limit=0)


GOLDEN = {
    "truthfulqa": (("Nothing happens after 3", "Nothing at all"), "Health"),
    "sciq": (("cell 3",), ""),
    "mmlu": (("D",), "us history"),
    "triviaqa": (("Number 3", "No. 3"), ""),
    "medquad": (("Pain 3.\n\nAnd fever.",), "symptoms"),
    "gsm8k": (("1003",), ""),
    "cnn_dailymail": (("Point 3 .\nMore .",), ""),
    "samsum": (("They greet 3 times.",), ""),
    "xsum": (("Sum 3.",), ""),
    "wmt19_de_en": (("Sentence 3",), ""),
    "wmt14_fr_en": (("Sentence 3",), ""),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_references_and_stratum_of_a_row(name):
    example = PAPER_SETS[name].example(ROWS[name](3), PromptOptions("x", "base"))
    assert (example.references, example.stratum) == GOLDEN[name]


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("cnn_dailymail", "LONDON -- Article 3."),
        ("samsum", "Ann: Hi 3\nBob: Hello"),
        ("xsum", "The cost of 3 is assessed."),
        ("wmt19_de_en", "Satz 3"),
        ("wmt14_fr_en", "Phrase 3"),
    ],
)
def test_what_a_summary_or_a_translation_is_made_from_is_its_source(name, source):
    example = PAPER_SETS[name].example(ROWS[name](3), PromptOptions("x", "instruct"))
    assert example.source == source
    assert source in example.prompt


def test_a_prompt_of_each_task_in_full():
    assert PAPER_SETS["coqa"].example({**ROWS["coqa"](2), "turn": 1}, PromptOptions("coqa-2", "base")).prompt == (
        "Questions about the text, with short answers.\n\nText: Story 2.\nIt is short.\n\n"
        "Question: Question 2.0?\nAnswer: answer 2.0\n\nQuestion: Question 2.1?\nAnswer:"
    )
    assert PAPER_SETS["sciq"].example(ROWS["sciq"](2), PromptOptions("x", "base")).prompt == (
        "Science questions with short answers.\n\nText: Paragraph 2 on cells.\nQuestion: What is part 2?\nAnswer:"
    )
    assert PAPER_SETS["wmt19_de_en"].example(ROWS["wmt19_de_en"](2), PromptOptions("x", "instruct")).prompt == (
        "Translate the German sentence into English. Give the translation and nothing else.\n\nGerman: Satz 2\nEnglish:"
    )
    solved = [ROWS["medquad"](7)]
    assert PAPER_SETS["medquad"].example(ROWS["medquad"](2), PromptOptions("x", "base", solved)).prompt == (
        "Medical questions, answered by experts.\n\n"
        "Question: What are the symptoms of 7 ?\nAnswer: Pain 7. And fever.\n\n"
        "Question: What are the symptoms of 2 ?\nAnswer:"
    )


BROKEN = {
    "samsum": {"dialogue": None},
    "gsm8k": {"answer": "no mark"},
    "mmlu": {"choices": ["only one"]},
    "triviaqa": {"answer": None},
    "coqa": {"questions": None},
    "truthfulqa": {"correct_answers": None},
    "wmt14_fr_en": {"translation": {"fr": " ", "en": "x"}},
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_row_without_its_content_is_rejected_with_its_number_and_the_others_are_asked(name, tmp_path):
    rows = [ROWS[name](n) for n in range(12)]
    rows[4] |= BROKEN[name]
    splits = {PAPER_SETS[name].split: Dataset.from_list(rows)}
    if few_shot := PAPER_SETS[name].few_shot_split:
        splits[few_shot] = split_of(name)
    DatasetDict(splits).save_to_disk(str(tmp_path))
    data = load_paper_set(PAPER_SETS[name], kind="base", path=tmp_path)
    assert [row.row for row in data.rejected] == [4]
    assert next(iter(BROKEN[name])) in data.rejected[0].reason or "'fr'" in data.rejected[0].reason
    assert {example.id.split("-")[1] for example in data.examples} == {str(n) for n in range(12) if n != 4}


def test_a_row_without_its_content_is_never_a_worked_example(tmp_path):
    train = [ROWS["triviaqa"](n) for n in range(50, 56)]
    train[2]["answer"]["value"] = None
    splits = {"validation": split_of("triviaqa"), "train": Dataset.from_list(train)}
    DatasetDict(splits).save_to_disk(str(tmp_path))
    data = load_paper_set(PAPER_SETS["triviaqa"], kind="base", path=tmp_path)
    assert (len(data.examples), data.rejected) == (COUNT, ())


def test_too_few_worked_examples_are_reported(tmp_path):
    DatasetDict(validation=split_of("triviaqa"), train=split_of("triviaqa", 3, 50)).save_to_disk(str(tmp_path))
    data = load_paper_set(PAPER_SETS["triviaqa"], kind="base", path=tmp_path)
    assert data.examples == ()
    assert {row.reason for row in data.rejected} == {
        "5 worked examples are needed, but the train split has only 3 for them."
    }


def test_a_copy_without_the_split_of_the_worked_examples_says_so(tmp_path):
    DatasetDict(test=split_of("mmlu")).save_to_disk(str(tmp_path))
    with pytest.raises(DataSetNotFound, match="has no dev split; it has test"):
        load_paper_set(PAPER_SETS["mmlu"], kind="base", path=tmp_path)
