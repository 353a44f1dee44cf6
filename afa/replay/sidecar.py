"""An index beside a file: for blocks of its rows the times from which to which they are, and bounds and sums of columns.

Where row groups are large, or have no statistics, it says what lies where; sums, which no statistics have, answer `windows`.
A file that is written anew needs its index anew; an index of the file as it was is left out, with a warning.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.errors import AfaError
from afa.replay.column_totals import block_column, chained, has_bounds, times_in, unknown_column
from afa.replay.known_blocks import Stretches, batches, units
from afa.replay.sidecar_file import Content, write_sidecar
from afa.replay.stored import Stored
from punctuation.time import as_time

BLOCK = 16_384
NONE = np.zeros(0, np.int64)


class Indexed(NamedTuple):
    """What `index` has written: the files, and how many rows and blocks they tell of, in how many bytes."""

    paths: list[str]
    rows: int
    blocks: int
    bytes: int


def index(
    source: Any,
    *,
    time: str,
    columns: Sequence[str] | None = None,
    block: int = BLOCK,
    progress: Callable[[int], None] | None = None,
) -> Indexed:
    """Write an index beside each Parquet file of a source, ``.NAME.afa-index``: what blocks of its rows hold.

    Parameters
    ----------
    source : str, Path, list of these, or pyarrow.dataset.Dataset
        A Parquet file, or a folder of them.
    time : str
        The column that says when each row happened: ints, timestamps or dates.
    columns : sequence of str, optional
        The columns whose bounds and sums are kept: ints, floats, truth, times; texts have bounds only. None: all such columns.
    block : int
        How many rows a block has at most. A block never spans row groups.
    progress : callable, optional
        Is called now and then with the number of rows that were read since.

    Returns
    -------
    Indexed

    Raises
    ------
    AfaError
        A column is missing, has another type, or misses a time; a file can't be read, is no Parquet, or changes meanwhile; the
        folder can't be written.

    Notes
    -----
    Reads these columns once. A block takes 40 to 60 bytes with one column; the index of a file is written whole or not at all.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> folder = tempfile.mkdtemp()
    >>> pq.write_table(pa.table({"at": range(100_000), "price": [1.0] * 100_000}), f"{folder}/day.parquet")
    >>> written = index(folder, time="at")
    >>> [path.rpartition("/")[2] for path in written.paths], written.rows, written.blocks
    (['.day.parquet.afa-index'], 100000, 7)
    """
    block = as_time(block, "block")
    if block < 1:
        raise AfaError(f"expected blocks of at least 1 row but got block={block}")
    stored = Stored(source)
    names = indexed_columns(stored, time, columns)
    paths, blocks, size, base = [], 0, 0, 0
    for file in stored.files:
        groups = [place for place, rows in enumerate(file.rows) if rows]
        if file.parquet is None or file.stamp is None:
            raise AfaError(f"expected Parquet files but got {file.path} in the source")
        content = _content(stored, file, range(base, base + len(groups)), (time, names, block), progress)
        base += len(groups)
        file.check_unchanged()
        paths.append(write_sidecar(file, content))
        blocks += len(content.rows)
        size += file.system.get_file_info(paths[-1]).size
    return Indexed(paths, stored.total, blocks, size)


def indexed_columns(stored: Stored, time: str, columns: Sequence[str] | None) -> list[str]:
    """Return the columns to index; refuse what has no bounds here."""
    names, schema = stored.schema.names, stored.schema
    stored.kind_of_times(time)
    parted = {name for file in stored.files for name in file.parts}
    if columns is None:
        return [
            name
            for name in names
            if name != time and name not in parted and names.count(name) == 1 and has_bounds(schema.field(name).type)
        ]
    given = [columns] if isinstance(columns, str) else list(dict.fromkeys(columns))
    for name in given:
        if not isinstance(name, str):
            raise AfaError(f"expected names of columns but got {name!r}")
        stored.check_column(name, "columns")
        if name in parted:
            raise AfaError(f"expected columns of the files but got {name!r}, which the names of folders tell already")
        if not has_bounds(schema.field(name).type):
            raise AfaError(f"expected columns of numbers, times or text but got {name!r} of {schema.field(name).type}")
    return [name for name in given if name != time]


def _content(
    stored: Stored, file: Any, groups: range, said: tuple[str, list[str], int], progress: Callable[[int], None] | None
) -> Content:
    """Return the blocks of a file."""
    time, names, block = said
    places = np.flatnonzero(file.rows)
    blocks = _blocks(stored, groups, block)
    parts: list[Any] = [(NONE, NONE, NONE, NONE, [unknown_column(stored.kind(name), 0) for name in names])]
    for numbers, table in batches(stored, blocks, units(blocks.group), [time, *names]):
        rows = blocks.rows[numbers]
        starts = np.cumsum(rows) - rows
        ticks = times_in(table, time, blocks.where(stored, numbers))
        of_time = np.minimum.reduceat(ticks, starts), np.maximum.reduceat(ticks, starts)
        number = places[blocks.group[numbers] - groups.start]
        parts.append((number, rows, *of_time, [block_column(table[name], starts, rows) for name in names]))
        if progress is not None:
            progress(len(table))
    group, rows, low, high = (np.concatenate([part[i] for part in parts]) for i in range(4))
    columns = {name: chained([part[4][i] for part in parts]) for i, name in enumerate(names)}
    return Content(block, time, str(stored.kind(time)), group, rows, low, high, columns)


def _blocks(stored: Stored, groups: range, block: int) -> Stretches:
    """Return blocks of at most so many rows of some row groups."""
    many = -(-stored.rows[groups.start : groups.stop] // block)
    group = np.repeat(np.arange(groups.start, groups.stop), many)
    first = (np.arange(len(group)) - np.repeat(np.cumsum(many) - many, many)) * block
    return Stretches(group, first, np.minimum(stored.rows[group] - first, block))
