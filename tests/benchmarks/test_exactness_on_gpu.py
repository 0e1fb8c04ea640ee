import pytest

from rauq.errors import InvalidInput
from tests import exactness_on_gpu
from tests.architectures import named


def test_every_check_is_a_cell_and_an_error_misses_the_bound(monkeypatch):
    monkeypatch.setattr(exactness_on_gpu, "APP", ("atlas",))
    monkeypatch.setattr(exactness_on_gpu, "COUNTRIES", ("Peru",))
    tiny, atlas = exactness_on_gpu.rows("cpu", [named("qwen2")])
    made = exactness_on_gpu.record([tiny, atlas], "none")
    assert made.column("model") == ("tiny: qwen2", "atlas")
    assert all(0 < share <= 1 for share in made.rows[0][2:5])
    assert max(atlas.differences) < 1e-4
    assert made.verdict == "met"
    assert made.finding == "On a GPU, 4 of 4 self-checks of the capture are exact."
    wrong = exactness_on_gpu.record([tiny._replace(checks=[*tiny.checks[:2], None]), _spoilt(atlas)], "none")
    assert wrong.verdict == "missed"
    assert "atlas in float32: NOT exact: 12 layers" in wrong.bounds[0].text


def test_without_a_gpu_it_says_so(monkeypatch):
    monkeypatch.setattr(exactness_on_gpu.torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidInput, match="no GPU"):
        exactness_on_gpu.measure()


def _spoilt(row):
    check = row.checks[0]
    changed = type(check)(**{**vars(check), "differences": tuple(1.0 for _ in check.differences)})
    return row._replace(checks=[changed, *row.checks[1:]])
