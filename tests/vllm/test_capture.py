"""Rows are those of their request: from batches of decoding, chunks of prompts and preempted answers, in any blocks."""

import itertools
import os
import resource
import signal
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from rauq_vllm import capture
from rauq_vllm.attention import Softmax
from rauq_vllm.capture import Layer, Step
from rauq_vllm.check import LayerStep
from rauq_vllm.kernel import RowsPlan, flash_totals, infer_totals
from rauq_vllm.plan import Asked, layers_of, part_of
from rauq_vllm.rows import append, new_folder, take

from rauq import Settings
from rauq.scoring.settings import window

HEADS, GROUPS, WIDTH, BLOCK, LAYERS, VOCABULARY = 4, 2, 8, 4, 3, 11
SOFTMAXES = (Softmax(scale=0.4), Softmax(scale=0.4, window=3))  # of the layers: the last two are computed together


@pytest.fixture
def asked(tmp_path):
    """Three requests, whose prompts have 5, 9 and 3 tokens."""

    def of(number, first):
        files = [tmp_path / f"{number}.{name}" for name in ("weights", "entropies")]
        for file in files:
            file.touch()
        return Asked(*files, first)

    return [of(number, first) for number, first in enumerate((4, 8, 2))]


class Engine:
    """Caches with blocks in disorder, and sequences of random queries, keys and values.

    `layers` are those of the plugin, which compute their weights as `softmaxes` say; `error` is that of the sums of a
    kernel that gives them, which is FlashInfer's if `infers`.
    """

    def __init__(self, lengths, softmaxes=SOFTMAXES, *, error=None, infers=False):
        self.error, self.calls, self.infers = error, 0, infers
        self.rows_plan = RowsPlan(FlashInfer(self))
        generator = torch.Generator().manual_seed(3)
        self.queries, self.keys, self.values = (
            [torch.randn(LAYERS, length, count, WIDTH, generator=generator) for length in lengths]
            for count in (HEADS, GROUPS, GROUPS)
        )
        self.layers = [Layer(number, 0, softmaxes[min(number, 1)]) for number in range(LAYERS)]
        used = [-(-length // BLOCK) for length in lengths]
        numbers = iter(torch.randperm(40, generator=generator).tolist())
        self.blocks = [[next(numbers) for _ in range(count)] for count in used]
        self.caches = torch.full((2, LAYERS, 40, GROUPS, BLOCK, WIDTH), torch.nan)  # what was there before is no key

    def run(self, step, work):
        """Compute (sequence, computed, scheduled) of each, layer by layer, as vLLM does."""
        lengths = [computed + scheduled for _, computed, scheduled in work]
        slots = [
            self.blocks[sequence][place // BLOCK] * BLOCK + place % BLOCK
            for sequence, computed, scheduled in work
            for place in range(computed, computed + scheduled)
        ]
        table = torch.zeros(len(work), 10, dtype=torch.int32)
        for row, (sequence, _, _) in enumerate(work):
            table[row, : len(self.blocks[sequence])] = torch.tensor(self.blocks[sequence])
        batch = SimpleNamespace(
            num_actual_tokens=len(slots),
            slot_mapping=torch.tensor([*slots, 0, 0]),  # padded
            query_start_loc=torch.tensor([0, *np.cumsum([scheduled for *_, scheduled in work])]),
            seq_lens=torch.tensor(lengths),
            block_table=table,
        )
        for number, layer in enumerate(self.layers):
            query, key, value = (
                torch.cat([one[sequence][number, start : start + count] for sequence, start, count in work])
                for one in (self.queries, self.keys, self.values)
            )
            for sequence, start, count in work:
                self._store(sequence, number, start + count)
            given = torch.stack(
                [self.output(sequence, number, start + one) for sequence, start, count in work for one in range(count)]
            )
            keys, values = self.caches[:, number]
            layer.note(step, LayerStep(query, key, value, keys, values, given, batch, self._totals(number)))

    def _totals(self, number):
        if self.error is None:
            return None
        window = SOFTMAXES[min(number, 1)].window
        attention = SimpleNamespace(
            scale=SOFTMAXES[0].scale,
            sliding_window=(window - 1, 0) if window else (-1, -1),
            window_left=window - 1 if window else -1,
            num_kv_heads=GROUPS,
            vllm_flash_attn_version=3,
            sinks=None,
        )
        if self.infers:
            return infer_totals(lambda: self.rows_plan, attention, lambda: self.caches[:, number], size=BLOCK)
        return flash_totals(self._flash, attention, lambda: self.caches[:, number].transpose(2, 3))

    def _flash(self, *, q, k, v, cu_seqlens_q, seqused_k, block_table, softmax_scale, window_size, **options):
        """`flash_attn_varlen_func` of sequences of one query, as vLLM documents it: the sums are (H, n)."""
        assert options["causal"]
        assert options["return_softmax_lse"]
        assert options["max_seqlen_q"] == 1
        assert options["max_seqlen_k"] >= int(seqused_k.max())
        assert cu_seqlens_q.tolist() == list(range(len(q) + 1))
        assert {one.dtype for one in (cu_seqlens_q, seqused_k, block_table)} == {torch.int32}
        assert k.shape == v.shape
        return None, self.sums(q, k, seqused_k.tolist(), block_table.long(), scale=softmax_scale, left=window_size[0]).T

    def sums(self, queries, cache, lengths, tables, *, scale, left):
        """The logarithms (n, H) of a kernel's sums, from keys (blocks, B, G, D)."""
        self.calls += 1
        found = []
        for query, length, blocks in zip(queries, lengths, tables, strict=True):
            first = 0 if left < 0 else max(0, length - 1 - left)
            keys = cache[blocks].flatten(0, 1)[first:length].repeat_interleave(HEADS // GROUPS, dim=1)
            found.append((torch.einsum("hd,thd->ht", query, keys) * scale).logsumexp(-1) + self.error)
        return torch.stack(found)

    def _store(self, sequence, number, length):
        """Keys and values of a sequence so far; those computed before may have come from a cached prefix."""
        for place in range(length):
            block = self.blocks[sequence][place // BLOCK]
            both = [one[sequence][number, place] for one in (self.keys, self.values)]
            self.caches[:, number, block, :, place % BLOCK] = torch.stack(both)

    def weights(self, sequence, number, position, head):
        """Those of a query on the keys it sees, and the first of these."""
        first = max(0, position - 2) if number else 0
        keys = self.keys[sequence][number, first : position + 1, head // (HEADS // GROUPS)]
        return (keys @ self.queries[sequence][number, position, head] * SOFTMAXES[0].scale).softmax(0), first

    def output(self, sequence, number, position):
        """What a layer gives (H * D) at a position."""
        found = []
        for head in range(HEADS):
            weights, first = self.weights(sequence, number, position, head)
            found.append(weights @ self.values[sequence][number, first : position + 1, head // (HEADS // GROUPS)])
        return torch.cat(found)

    def row(self, sequence, position):
        """The weights (L, H, 2) of a query on its own key and the one before it."""
        found = np.full((LAYERS, HEADS, 2), np.nan, np.float32)
        for number in range(LAYERS):
            for head in range(HEADS):
                found[number, head] = self.weights(sequence, number, position, head)[0][[-1, -2]]
        return found


class FlashInfer:
    """`BatchDecodeWithPagedKVCacheWrapper` in the layout HND, as FlashInfer documents it: sums are to the base 2."""

    def __init__(self, engine):
        self.engine, self.plans = engine, 0

    def plan(self, *, indptr, indices, last_page_len, page_size, **options):
        assert {one.dtype for one in (indptr, indices, last_page_len)} == {torch.int32}
        assert (options["num_qo_heads"], options["num_kv_heads"], options["head_dim"]) == (HEADS, GROUPS, WIDTH)
        assert options["q_data_type"] == options["kv_data_type"] == torch.float32
        assert int(indptr[-1]) == len(indices)
        assert ((last_page_len >= 1) & (last_page_len <= page_size)).all()
        self.tables = [indices[start:end].long() for start, end in itertools.pairwise(indptr.tolist())]
        used = [len(table) - 1 for table in self.tables]
        self.lengths = [pages * page_size + last for pages, last in zip(used, last_page_len.tolist(), strict=True)]
        self.options = options
        self.plans += 1

    def run(self, q, caches, *, return_lse):
        assert return_lse
        keys, values = caches
        assert keys.shape == values.shape
        about = {"scale": self.options["sm_scale"], "left": self.options["window_left"]}
        sums = self.engine.sums(q, keys.transpose(1, 2), self.lengths, self.tables, **about)
        return None, sums / np.log(2)


def step_of(engine, asked, work):
    """The step of a scheduler in which each (sequence, computed, scheduled) is asked for."""
    parts = [
        part_of(
            asked[sequence], computed=computed, scheduled=scheduled, blocks=[engine.blocks[sequence]], sizes=[BLOCK]
        )
        for sequence, computed, scheduled in work
        if asked[sequence] is not None
    ]
    parts = [part for part in parts if part is not None]
    rows = np.full((sum(len(part.positions) for part in parts), LAYERS, HEADS, 2), np.nan, np.float32)
    return Step(parts, rows)


def run(engine, asked, work):
    step = step_of(engine, asked, work)
    engine.run(step, work)
    step.save()
    return step


STEPS = (
    [(0, 0, 5), (1, 0, 6)],  # a whole prompt, and a part of another one
    [(0, 5, 1), (1, 6, 3), (2, 0, 3)],
    [(2, 3, 1), (0, 6, 1), (1, 9, 1)],
    [(1, 10, 1), (2, 4, 1)],
    [(0, 0, 8), (1, 11, 1)],  # 0 was preempted, and is computed again from its first token
    [(0, 8, 1)],
)


@pytest.mark.parametrize("infers", [False, True])
@pytest.mark.parametrize(("most", "error"), [(1, None), (10**6, None), (1, 0.0), (10**6, 0.0), (10**6, 0.01)])
def test_every_row_is_that_of_its_request(asked, monkeypatch, most, error, infers):
    monkeypatch.setattr(capture, "_MOST_NUMBERS", most)
    monkeypatch.setattr(capture, "_MOST_TOKENS", most)
    engine = Engine((9, 12, 5), error=error, infers=infers)
    for work in STEPS:
        run(engine, asked, work)
    assert [layer.has_totals for layer in engine.layers] == [error == 0.0] * LAYERS
    for sequence, (one, count) in enumerate(zip(asked, (5, 4, 3), strict=True)):
        found = take(one.weights, first=one.first, count=count, shape=(LAYERS, HEADS, 2))
        right = np.stack([engine.row(sequence, one.first + place) for place in range(count)])
        np.testing.assert_allclose(found, right, rtol=1e-5)
        assert not one.weights.exists()


def test_a_kernels_sums_are_compared_when_a_sequence_is_twice_as_long_and_no_longer_used_once_they_are_wrong(asked):
    engine = Engine((9, 12, 5), error=0.0)
    run(engine, asked, [(0, 0, 5)])
    assert engine.calls == 2 * LAYERS  # compared, and used
    run(engine, asked, [(0, 5, 1)])
    assert engine.calls == 3 * LAYERS
    engine.error = 0.01
    run(engine, asked, [(1, 0, 10)])
    assert not any(layer.has_totals for layer in engine.layers)
    run(engine, asked, [(1, 10, 1)])
    assert engine.calls == 4 * LAYERS
    found = take(asked[1].weights, first=8, count=3, shape=(LAYERS, HEADS, 2))
    right = np.stack([engine.row(1, 8 + place) for place in range(3)])
    np.testing.assert_allclose(found, right, rtol=1e-5)


def test_flashinfer_plans_the_rows_of_a_step_once_for_each_window(asked):
    engine = Engine((9, 12, 5), error=0.0, infers=True)
    run(engine, asked, [(0, 0, 5), (2, 0, 3)])
    wrapper = engine.rows_plan.wrapper
    before, calls = wrapper.plans, engine.calls
    run(engine, asked, [(0, 5, 1), (2, 3, 1)])
    assert (wrapper.plans - before, engine.calls - calls) == (2, LAYERS)
    run(engine, asked, [(0, 6, 1), (2, 4, 1)])
    assert (wrapper.plans - before, engine.calls - calls) == (4, 2 * LAYERS)


def test_what_a_kernel_refuses_later_is_recomputed(asked):
    engine = Engine((9, 12, 5), error=0.0)
    run(engine, asked, [(0, 0, 5)])
    engine.error = "no number"
    run(engine, asked, [(0, 5, 1)])
    assert not any(layer.has_totals for layer in engine.layers)
    found = take(asked[0].weights, first=4, count=2, shape=(LAYERS, HEADS, 2))
    np.testing.assert_allclose(found, np.stack([engine.row(0, 4), engine.row(0, 5)]), rtol=1e-5)


def test_a_request_that_did_not_ask_costs_no_row(asked):
    engine = Engine((9, 12, 5))
    step = run(engine, [None, asked[1], None], [(0, 5, 1), (1, 9, 1), (2, 3, 1)])
    assert len(step.rows) == 1
    assert not asked[0].weights.read_bytes()
    assert not asked[2].weights.read_bytes()


def test_a_row_at_another_position_than_expected_is_left_out(asked):
    engine = Engine((9, 12, 5))
    step = step_of(engine, asked, [(0, 5, 1)])
    step.parts[0].positions[:] = 6
    engine.run(step, [(0, 5, 1)])
    step.save()
    assert np.isnan(step.rows).all()


def test_a_layer_whose_output_does_not_follow_from_its_weights_is_given_up_once(asked):
    no_window = (SOFTMAXES[0], SOFTMAXES[0])  # its kernel has one in the layers 1 and 2
    engine = Engine((9, 12, 5), no_window)
    run(engine, [None, None, asked[2]], [(2, 0, 3)])  # as long as the window: nothing can be seen of it
    with pytest.raises(ValueError, match="after 9 tokens, the output of a layer differs"):
        run(engine, [None, asked[1], None], [(1, 0, 9)])
    engine.layers[2].checked = None  # `run` ended at the first of them
    step = run(engine, [None, asked[1], None], [(1, 9, 1)])
    assert np.isnan(step.rows[:, 1:]).all()
    assert not np.isnan(step.rows[:, 0]).any()


def test_outputs_are_compared_when_a_sequence_is_twice_as_long(asked, monkeypatch):
    seen = []
    monkeypatch.setattr(capture, "check", lambda computed, row, *_: seen.append(row.length))
    engine = Engine((9, 12, 5))
    for work in ([(0, 0, 5)], [(0, 5, 1)], [(0, 6, 1), (1, 0, 9)], [(1, 9, 1)], [(1, 10, 1)]):
        run(engine, asked, work)
    assert seen == [5] * LAYERS + [10] * LAYERS


def test_entropies_are_those_of_the_last_token_of_each_sequence(asked):
    engine = Engine((9, 12, 5))
    work = [(2, 3, 1), (0, 0, 8), (1, 0, 4)]  # decoding, computed again, and a prompt that goes on
    step = step_of(engine, asked, work)
    engine.run(step, work)
    logits = torch.randn(3, VOCABULARY, generator=torch.Generator().manual_seed(4))
    logits[0, 3] = -torch.inf
    step.save_entropies(logits)
    for row, sequence, position in ((0, 2, 3), (1, 0, 7)):
        found = take(asked[sequence].entropies, first=position, count=1, shape=())
        right = torch.distributions.Categorical(logits=logits[row].double()).entropy()
        np.testing.assert_allclose(found, [float(right)], rtol=1e-5)
    assert asked[1].entropies.read_bytes() == b""


def test_a_request_that_is_gone_gets_no_file(asked):
    engine = Engine((9, 12, 5))
    asked[0].weights.unlink()
    run(engine, asked, [(0, 5, 1)])
    assert not asked[0].weights.exists()


def test_what_was_not_written_is_nan_and_the_last_of_a_position_counts(tmp_path):
    path = tmp_path / "rows"
    path.touch()
    append(path, np.array([7, 9]), np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    append(path, np.array([7, 2]), np.array([[5.0, 6.0], [0.0, 0.0]], np.float32))
    path.write_bytes(path.read_bytes() + b"cut")  # a writer that was killed
    found = take(path, first=7, count=3, shape=(2,))
    np.testing.assert_array_equal(found, [[5, 6], [np.nan, np.nan], [3, 4]])


def test_a_row_that_does_not_fit_leaves_the_file_as_it_was(tmp_path):
    path = tmp_path / "rows"
    path.touch()
    append(path, np.array([3]), np.ones((1, 2), np.float32))
    size = path.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 5, limits[1]))
    try:
        with pytest.raises(OSError, match="rows"):
            append(path, np.array([4]), np.ones((1, 2), np.float32))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert path.stat().st_size == size
    np.testing.assert_array_equal(take(path, first=3, count=2, shape=(2,)), [[1, 1], [np.nan, np.nan]])
    assert np.isnan(take(path, first=3, count=2, shape=(2,))).all()  # a file that is gone


def test_folders_of_engines_that_were_killed_go_and_no_other(tmp_path):
    killed, running = new_folder(tmp_path), new_folder(tmp_path)
    (killed.path / "0.weights").touch()
    os.close(killed.lock)  # as the system does when a process ends
    assert new_folder(tmp_path).path.exists()
    assert not killed.path.exists()
    assert running.path.exists()
    running.remove()
    assert not running.path.exists()


@pytest.mark.parametrize(
    ("computed", "scheduled", "positions"),
    [(0, 4, None), (0, 5, [4]), (0, 8, [4, 5, 6, 7]), (5, 1, [5]), (3, 1, None), (3, 2, [4])],
)
def test_a_part_begins_with_the_last_token_of_the_prompt(tmp_path, computed, scheduled, positions):
    asked = Asked(tmp_path / "a", tmp_path / "b", 4)
    part = part_of(asked, computed=computed, scheduled=scheduled, blocks=[[3, 0], [1]], sizes=[4, 8])
    if positions is None:
        assert part is None
        return
    assert part.positions.tolist() == positions
    assert part.slots[0].tolist() == [(12, 0)[place // 4] + place % 4 for place in positions]
    assert part.slots[1].tolist() == [8 + place for place in positions]


@pytest.mark.parametrize("num_layers", [1, 2, 3, 12, 30, 32, 80])
def test_the_usual_layers_are_those_of_the_score(num_layers):
    own = window(Settings(), captured=range(num_layers), num_layers=num_layers)
    assert layers_of("middle", num_layers) == own
    assert layers_of("all", num_layers) == tuple(range(num_layers))
    assert layers_of([num_layers - 1, 0], num_layers) == tuple(sorted({0, num_layers - 1}))


@pytest.mark.parametrize("given", ["some", [], [30], [-1], [1.5], None, 3, ["1"], [[1]]])
def test_other_layers_are_refused(given):
    with pytest.raises(ValueError, match='give "middle", "all", or a list'):
        layers_of(given, 30)
