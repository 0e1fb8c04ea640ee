"""Where raw rows come from: folders in every form they are brought in, the hub, and the errors of both."""

import builtins
import json

import datasets
import huggingface_hub
import pytest
from datasets import Dataset

from analysis.datasets.public.paper_set import raw_rows
from analysis.datasets.public.twelve import PAPER_SETS
from rauq.errors import DataSetNotFound, InvalidInput, MissingPackage
from tests.analysis.datasets.raw_data import COUNT, ROWS, copy_of, split_of
from tests.retries import refuse_retries

EVERY = list(PAPER_SETS.values())
SAMSUM, MMLU = PAPER_SETS["samsum"], PAPER_SETS["mmlu"]


def made_up(name, count=COUNT):
    return [ROWS[name](n) for n in range(count)]


@pytest.fixture
def no_network(monkeypatch):
    refuse_retries(monkeypatch)
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", "http://127.0.0.1:9")


@pytest.mark.parametrize("paper_set", EVERY, ids=PAPER_SETS)
def test_a_saved_copy_gives_rows_in_the_schema_of_the_hub(paper_set, tmp_path):
    assert list(raw_rows(paper_set, paper_set.split, copy_of(paper_set, tmp_path))) == made_up(paper_set.id)


def test_one_saved_split_is_enough_for_a_set_without_worked_examples(tmp_path):
    split_of("samsum").save_to_disk(str(tmp_path))
    assert list(raw_rows(SAMSUM, "test", tmp_path)) == made_up("samsum")
    with pytest.raises(DataSetNotFound, match="no dev split"):
        list(raw_rows(MMLU, "dev", tmp_path))


@pytest.mark.parametrize("ending", ["csv", "json", "parquet"])
def test_a_folder_of_files_gives_its_rows(ending, tmp_path):
    split = split_of("samsum")
    getattr(split, f"to_{ending}")(str(tmp_path / f"test.{ending}"))
    found = list(raw_rows(SAMSUM, "test", tmp_path))
    assert [(row["dialogue"], row["summary"]) for row in found] == [
        (row["dialogue"], row["summary"]) for row in made_up("samsum")
    ]
    with pytest.raises(DataSetNotFound, match="has no validation split; it has test"):
        list(raw_rows(SAMSUM, "validation", tmp_path))


def test_a_clone_of_the_hub_gives_the_rows_of_the_right_config(tmp_path):
    files = [{"split": split, "path": f"all/{split}.parquet"} for split in ("test", "dev")]
    other = {"config_name": "astronomy", "data_files": [{"split": "test", "path": "astronomy/test.parquet"}]}
    card = json.dumps({"configs": [other, {"config_name": "all", "data_files": files}]})
    (tmp_path / "README.md").write_text(f"---\n{card}\n---\n")  # JSON is YAML
    for folder, split, start in (("all", "test", 0), ("all", "dev", 50), ("astronomy", "test", 90)):
        (tmp_path / folder).mkdir(exist_ok=True)
        split_of("mmlu", start=start).to_parquet(str(tmp_path / folder / f"{split}.parquet"))
    assert list(raw_rows(MMLU, "test", tmp_path)) == made_up("mmlu")
    assert next(raw_rows(MMLU, "dev", tmp_path)) == ROWS["mmlu"](50)


@pytest.mark.usefixtures("no_network")
@pytest.mark.parametrize("paper_set", EVERY, ids=PAPER_SETS)
def test_without_network_the_error_names_the_set_and_how_to_bring_it(paper_set):
    with pytest.raises(DataSetNotFound) as caught:
        next(raw_rows(paper_set, paper_set.split, None))
    said = str(caught.value)
    assert "there is no network" in said
    for part in (paper_set.title, paper_set.hub_id, paper_set.config or "", f"{paper_set.id}=FOLDER"):
        assert part in said


def test_a_network_that_ends_midway_is_an_error_too(monkeypatch):
    def breaking(*_, **__):
        yield ROWS["xsum"](0)
        message = "connection lost"
        raise OSError(message)

    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", lambda *_, **__: None)
    monkeypatch.setattr(datasets, "load_dataset", breaking)
    with pytest.raises(DataSetNotFound, match="connection lost"):
        list(raw_rows(PAPER_SETS["xsum"], "test", None))


def test_another_schema_is_reported_by_name(tmp_path):
    Dataset.from_list([{"text": "a"}]).save_to_disk(str(tmp_path))
    with pytest.raises(InvalidInput, match="no column 'dialogue', which SamSum has; it has text"):
        list(raw_rows(SAMSUM, "test", tmp_path))


def test_a_split_without_rows_is_reported(tmp_path):
    split_of("samsum").select([]).to_parquet(str(tmp_path / "test.parquet"))
    with pytest.raises(DataSetNotFound, match="test split of SamSum has no rows"):
        list(raw_rows(SAMSUM, "test", tmp_path))


@pytest.mark.parametrize("make", [lambda _: None, lambda path: path.write_text("a file"), lambda path: path.mkdir()])
def test_a_folder_that_is_no_copy_is_reported(make, tmp_path):
    make(tmp_path / "copy")
    with pytest.raises(DataSetNotFound, match="samsum=FOLDER"):
        list(raw_rows(SAMSUM, "test", tmp_path / "copy"))


def test_a_damaged_copy_is_reported(tmp_path):
    copy_of(SAMSUM, tmp_path)
    for file in tmp_path.rglob("*.arrow"):
        file.write_bytes(b"no arrow")
    with pytest.raises(DataSetNotFound, match="cannot be read from"):
        list(raw_rows(SAMSUM, "test", tmp_path))


def test_code_in_a_folder_never_runs(tmp_path):
    (tmp_path / f"{tmp_path.name}.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(DataSetNotFound):
        list(raw_rows(SAMSUM, "test", tmp_path))
    assert not (tmp_path / "ran").exists()


def test_without_the_library_the_error_says_what_to_install(monkeypatch, tmp_path):
    imported = builtins.__import__

    def refuse(name, *args, **options):
        if name == "datasets":
            raise ImportError(name)
        return imported(name, *args, **options)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingPackage, match=r"pip install -r requirements-extra\.txt"):
        list(raw_rows(SAMSUM, "test", tmp_path))
