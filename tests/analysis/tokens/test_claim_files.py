import json
from dataclasses import replace

import pandas as pd
import pytest

from analysis.tokens.claim_files import read_claims
from rauq.errors import InvalidInput

GOOD = {"id": "a", "start": 0, "end": 4, "text": "Oslo", "correct": True}


def written(folder, *rows, name="claims.jsonl"):
    path = folder / name
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


@pytest.mark.parametrize(
    ("cell", "correct"), [(True, True), ("no", False), (0, False), ("supported", True), (None, None)]
)
def test_a_row_is_a_claim_and_other_columns_are_left_alone(tmp_path, cell, correct):
    (found,) = read_claims(written(tmp_path, GOOD | {"correct": cell, "note": [1]}))
    assert (found.id, found.answer, found.start, found.end, found.text) == ("a", "", 0, 4, "Oslo")
    assert found.correct is correct
    assert found.place == "claims.jsonl, row 1"


def test_a_csv_file_gives_the_same_claims_line_breaks_and_spaces_included(tmp_path):
    texts = ["Oslo, Norway", " A\nB ", '"é"', "- 日本"]
    rows = [{"answer": f"{text}.", "start": 0, "end": len(text), "text": text, "correct": 1} for text in texts]
    path = tmp_path / "claims.csv"
    quoted = "".join('"{answer}",{start},{end}.0,"{text}",yes\n'.format(**_doubled(row)) for row in rows)
    path.write_text(f"answer,start,end,text,correct\n{quoted}", newline="")
    found = read_claims(str(path))
    assert [one.text for one in found] == texts
    assert [one.answer for one in found] == [f"{text}." for text in texts]
    assert [(one.start, one.end, one.id) for one in found] == [(0, len(text), "") for text in texts]


def _doubled(row):
    return {name: cell.replace('"', '""') if isinstance(cell, str) else cell for name, cell in row.items()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"start": None}, "'start' is empty"),
        ({"end": 1.5}, "'end' is 1.5; give a whole number"),
        ({"end": "four"}, "'end' is 'four'; a finite number is needed"),
        ({"start": [0]}, "'start' holds a list"),
        ({"correct": "perhaps"}, "'correct' is 'perhaps'; a verdict"),
        ({"text": "\ud83d"}, "lone surrogate"),
        ({"id": ""}, "'id' is empty"),
        ({"id": None}, "'id' is empty"),
    ],
)
def test_a_cell_that_cannot_be_used_names_its_row(tmp_path, change, message):
    with pytest.raises(InvalidInput, match=rf"claims\.jsonl, row 2: .*{message}"):
        read_claims(written(tmp_path, GOOD, GOOD | change))


@pytest.mark.parametrize("lacking", ["id", "start", "end", "text", "correct"])
def test_a_missing_column_is_named_beside_those_that_are_there(tmp_path, lacking):
    row = {name: cell for name, cell in GOOD.items() if name != lacking}
    with pytest.raises(InvalidInput, match=f"has no column '{lacking}'; it has {', '.join(row)}"):
        read_claims(written(tmp_path, row))


def test_a_line_that_cannot_be_read_names_its_row(tmp_path):
    path = written(tmp_path, GOOD)
    path.write_text(f"{path.read_text()}nonsense\n")
    with pytest.raises(InvalidInput, match=r"claims\.jsonl, row 2: "):
        read_claims(path)


def test_a_data_frame_gives_the_claims_of_a_file(tmp_path):
    rows = [GOOD, GOOD | {"correct": None, "id": "b"}]
    found = read_claims(pd.DataFrame(rows))
    assert [one.place for one in found] == ["data frame, row 1", "data frame, row 2"]
    kept = [replace(one, place="") for one in found]
    assert kept == [replace(one, place="") for one in read_claims(written(tmp_path, *rows))]
    with pytest.raises(InvalidInput, match="data frame has no rows"):
        read_claims(pd.DataFrame(columns=list(GOOD)))
    with pytest.raises(InvalidInput, match="Got a list; give a pandas DataFrame"):
        read_claims(rows)
