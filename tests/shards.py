"""Shards of a run from an untrusted source: without checksums, so that their content itself is checked."""

import pyarrow as pa
import pyarrow.parquet as pq
from safetensors.numpy import load, save

from analysis.runs.manifest import answers_path, traces_path


def without_checksums(content):
    """The file of a shard's arrays, as one that does not say what its bytes were."""
    return save(load(content))


def change_arrays(folder, shard, change):
    """Write what `change` makes of a shard's arrays, by their names."""
    path = traces_path(folder, shard)
    path.write_bytes(save(change(load(path.read_bytes()))))


def without_picks(folder, shard=0):
    """A shard as it was written before picks were stored."""
    change_arrays(folder, shard, lambda arrays: {name: own for name, own in arrays.items() if name != "picks"})


def rewrite(folder, shard, change):
    """Write what `change` makes of each row of a shard's table."""
    path, traces = answers_path(folder, shard), traces_path(folder, shard)
    table = pq.read_table(path)
    pq.write_table(pa.Table.from_pylist([change(row) for row in table.to_pylist()], schema=table.schema), path)
    traces.write_bytes(without_checksums(traces.read_bytes()))
