"""The examples of a run come back from their file as they were, and those of older runs without their later fields."""

import pyarrow.parquet as pq

from analysis.datasets.example import Example, fingerprint
from analysis.runs.files.examples import EXAMPLES, read_examples, write_examples

PLAIN = Example(id="1", prompt="Who?", answer="It was Ann.", quality=1.0)
MARKED = Example(
    id="2",
    prompt="Who?",
    conversation='[{"role": "user", "content": "Who?"}]',
    answer="It was Ann or Bo.",
    wrong=("Ann",),
    wrong_spans=((7, 10),),
    unclear_spans=((14, 16), (0, 2)),
)


def test_examples_come_back_with_their_spans(tmp_path):
    write_examples(tmp_path, (PLAIN, MARKED))
    assert read_examples(tmp_path) == (PLAIN, MARKED)


def test_an_older_file_lacks_the_later_columns(tmp_path):
    write_examples(tmp_path, (PLAIN, MARKED))
    table = pq.read_table(tmp_path / EXAMPLES)
    pq.write_table(table.drop_columns(["wrong", "conversation", "wrong_spans", "unclear_spans"]), tmp_path / EXAMPLES)
    first, second = read_examples(tmp_path)
    assert first == PLAIN
    assert (second.wrong, second.wrong_spans, second.conversation) == ((), (), "")


def test_fields_that_examples_have_had_later_change_no_fingerprint_where_they_are_empty():
    assert fingerprint([PLAIN]) == "84fb563e8a6e1fc33a86b0c134a645dd3d5184f8cdd9ed316fcea5f998da2513"
    assert fingerprint([MARKED]) != fingerprint([Example(**{**vars(MARKED), "wrong_spans": ()})])
