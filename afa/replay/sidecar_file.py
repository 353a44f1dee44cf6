"""The file of an index: Parquet beside the file that it tells of, with what that file looked like, and checked as it is read.

    folder/trades.parquet    folder/.trades.parquet.afa-index      a name that pyarrow and Spark pass over in a folder

One row is a block: ``group``, ``rows``, ``low``, ``high`` (of the times, as ints of their unit), then of column i ``i.low``,
``i.high``, ``i.nulls``, ``i.nans`` (floats), ``i.total`` (ints, floats, truth). The metadata is JSON under ``afa-index``: version,
file, size, mtime, footer (a SHA-256 of it), block, time, time_type, columns, types, digest (a SHA-256 of all the rest).
"""

from __future__ import annotations

import hashlib
import json
import secrets
import warnings
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import types
from pyarrow.fs import FileType

from afa.errors import AfaError
from afa.replay.column_totals import BlockColumn, can_be_added, has_bounds, total_type

VERSION = 1
KEY = b"afa-index"
ABOUT = {
    "version": int, "file": str, "size": int, "mtime": int, "footer": str, "block": int, "time": str, "time_type": str,
    "columns": list, "types": list, "digest": str,
}  # fmt: skip


class Content(NamedTuple):
    """The blocks of one file; ``low`` and ``high`` are those of the times, as ints of their unit."""

    block: int
    time: str
    time_type: str
    group: np.ndarray
    rows: np.ndarray
    low: np.ndarray
    high: np.ndarray
    columns: dict[str, BlockColumn]


def sidecar_path(path: str) -> str:
    """Return the path of the index beside a file.

    >>> sidecar_path("trades/part-0.parquet")
    'trades/.part-0.parquet.afa-index'
    """
    head, slash, name = path.rpartition("/")
    return f"{head}{slash}.{name}.afa-index"


def footer_digest(file: Any) -> str:
    """Return a SHA-256 of a Parquet file's footer."""
    with file._named(), file.system.open_input_file(file.path) as opened:
        size = opened.size()
        opened.seek(max(size - 8, 0))
        length = int.from_bytes(opened.read(4), "little")
        opened.seek(max(size - 8 - length, 0))
        return hashlib.sha256(opened.read(length + 8)).hexdigest()


def write_sidecar(file: Any, content: Content) -> str:
    """Write the index of a file, all at once: it is there whole, or as it was. Returns its path."""
    size, mtime = file.stamp
    types_of = [str(column.low.type) for column in content.columns.values()]
    about = {
        "version": VERSION, "file": PurePath(file.path).name, "size": size, "mtime": mtime, "footer": footer_digest(file),
        "block": content.block, "time": content.time, "time_type": content.time_type, "columns": list(content.columns),
        "types": types_of,
    }  # fmt: skip
    table = _table(content)
    about["digest"] = _digest(about, table)
    table = table.replace_schema_metadata({KEY: json.dumps(about).encode()})
    path = sidecar_path(file.path)
    beside = f"{path}.{secrets.token_hex(6)}"
    try:
        try:
            with file.system.open_output_stream(beside) as out:
                pq.write_table(table, out, compression="zstd", use_dictionary=False, write_statistics=False)
            file.system.move(beside, path)
        except BaseException:
            if file.system.get_file_info(beside).type == FileType.File:
                file.system.delete_file(beside)
            raise
    except (OSError, pa.ArrowException) as error:
        raise AfaError(f"expected a folder in which {path} can be written: {str(error).splitlines()[0]}") from error
    return path


def read_sidecar(file: Any) -> Content | None:
    """Return the index of a file; None: there is none, or with a warning: the file has changed since.

    An index of another file, a damaged one, and one of another version are refused (`AfaError`).
    """
    path = sidecar_path(file.path)
    if file.parquet is None or file.stamp is None or file.system.get_file_info(path).type != FileType.File:
        return None
    rows = sum(file.rows)
    try:
        with file.system.open_input_file(path) as opened:
            parquet = pq.ParquetFile(opened)
            metadata = parquet.metadata
            about = json.loads((metadata.metadata or {}).get(KEY, b"null"))
            table = parquet.read(use_threads=False) if metadata.num_rows <= rows else None
    except (OSError, ValueError, TypeError, OverflowError, MemoryError, RecursionError, pa.ArrowException) as error:
        raise _damaged(path, str(error).splitlines()[0] if str(error) else type(error).__name__) from error
    if not isinstance(about, dict):
        raise _damaged(path, "it has no metadata of an index")
    if about.get("version") != VERSION:
        raise AfaError(
            f"expected an index of version {VERSION} but got version {about.get('version')!r} in {path}; run afa index again"
        )
    for name, kind in ABOUT.items():
        if type(about.get(name)) is not kind:
            raise _damaged(path, f"its metadata has {name}={about.get(name)!r}")
    digest = about.pop("digest")
    if table is None:
        raise _damaged(path, f"it has {metadata.num_rows} blocks of {rows} rows")
    if _digest(about, table) != digest:
        raise _damaged(path, "its digest is that of another content")
    if about["file"] != PurePath(file.path).name:
        raise AfaError(
            f"expected the index of {file.path} but got that of another file, {about['file']!r}, in {path}; "
            "delete it, or run afa index again"
        )
    if (about["size"], about["mtime"]) != file.stamp or about["footer"] != footer_digest(file):
        warnings.warn(f"{file.path} has changed since {path} was written, which is left out; run afa index again", stacklevel=2)
        return None
    return _checked(_content(about, table, path), file.rows, path)


def _table(content: Content) -> pa.Table:
    columns: dict[str, Any] = {
        "group": pa.array(content.group, pa.int32()), "rows": pa.array(content.rows, pa.int64()),
        "low": pa.array(content.low, pa.int64()), "high": pa.array(content.high, pa.int64()),
    }  # fmt: skip
    for i, column in enumerate(content.columns.values()):
        columns |= {f"{i}.low": column.low, f"{i}.high": column.high, f"{i}.nulls": pa.array(column.nulls, pa.int64())}
        if types.is_floating(column.low.type):
            columns[f"{i}.nans"] = pa.array(column.nans, pa.int64())
        if column.total is not None:
            columns[f"{i}.total"] = column.total
    return pa.table(columns)


def _content(about: dict[str, Any], table: pa.Table, path: str) -> Content:
    """Read the blocks from a table; refuse one whose columns are others than it should have."""
    count = len(about["columns"])
    if len(about["types"]) != count or not all(isinstance(name, str) for name in about["columns"]):
        raise _damaged(path, "its metadata tells of other columns")
    kinds = {"group": pa.int32(), "rows": pa.int64(), "low": pa.int64(), "high": pa.int64()}
    for i in range(count):
        kind = table.schema.field(f"{i}.low").type if f"{i}.low" in table.column_names else pa.null()
        kinds |= {f"{i}.low": kind, f"{i}.high": kind, f"{i}.nulls": pa.int64()}
        kinds |= {f"{i}.nans": pa.int64()} if types.is_floating(kind) else {}
        kinds |= {f"{i}.total": total_type(kind)} if can_be_added(kind) else {}
        if str(kind) != about["types"][i] or not has_bounds(kind) or types.is_dictionary(kind):
            raise _damaged(path, f"column {about['columns'][i]!r} has bounds of {kind}")
    if table.column_names != list(kinds) or any(table.schema.field(name).type != kind for name, kind in kinds.items()):
        raise _damaged(path, "its columns are others than those of an index")
    arrays = {name: _array(table[name]) for name in kinds}
    whole = [name for name in kinds if not name.endswith((".low", ".high", ".total"))]
    if any(arrays[name].null_count for name in whole):
        raise _damaged(path, "a number is missing")
    group, rows, low, high = (arrays[name].to_numpy().astype(np.int64) for name in ("group", "rows", "low", "high"))
    columns = {}
    for i, name in enumerate(about["columns"]):
        nulls = arrays[f"{i}.nulls"].to_numpy()
        nans = arrays[f"{i}.nans"].to_numpy() if f"{i}.nans" in arrays else np.zeros(len(nulls), np.int64)
        least, largest = arrays[f"{i}.low"], arrays[f"{i}.high"]
        known = least.is_valid().to_numpy(zero_copy_only=False) | (nulls + nans == rows)
        columns[name] = BlockColumn(least, largest, nulls, nans, arrays.get(f"{i}.total"), known)
    return Content(about["block"], about["time"], about["time_type"], group, rows, low, high, columns)


def _checked(content: Content, rows: list[int], path: str) -> Content:
    """Refuse blocks that are not those of a file with row groups of so many rows, or that contradict themselves."""
    group, many = content.group, content.rows
    if (many <= 0).any() or (many > content.block).any() or (np.diff(group) < 0).any():
        raise _damaged(path, f"expected blocks of 1 to {content.block} rows, in the order of the row groups")
    if len(group) and not 0 <= group[0] <= group[-1] < len(rows):
        raise _damaged(path, f"expected blocks of row groups 0 to {len(rows) - 1}")
    if not np.array_equal(np.bincount(group, many, len(rows)), np.array(rows, np.float64)):
        raise _damaged(path, "its blocks have more or fewer rows than their row groups")
    if (content.low > content.high).any():
        raise _damaged(path, "a block ends before it begins")
    for name, column in content.columns.items():
        if (column.nulls < 0).any() or (column.nans < 0).any() or (column.nulls + column.nans > many).any():
            raise _damaged(path, f"column {name!r} misses more values than there are, or fewer than none")
        there = column.low.is_valid()
        none = (column.nulls + column.nans == many) & there.to_numpy(zero_copy_only=False)
        if none.any() or not there.equals(column.high.is_valid()) or pc.all(_ordered(column.low, column.high)).as_py() is False:
            raise _damaged(path, f"the bounds of column {name!r} contradict each other")
    return content


def _ordered(low: pa.Array, high: pa.Array) -> pa.Array:
    if types.is_float16(low.type):
        low, high = low.cast(pa.float32()), high.cast(pa.float32())
    return pc.less_equal(low, high)


def _array(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _digest(about: dict[str, Any], table: pa.Table) -> str:
    """Return a SHA-256 of what an index says, whatever the form in which Parquet has it."""
    found = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name, column in zip(table.column_names, table.columns):
        array = _array(column)
        found.update(f"{name} {array.type} {len(array)} ".encode())
        found.update(array.is_valid().to_numpy(zero_copy_only=False).tobytes())
        if types.is_string(array.type) or types.is_large_string(array.type) or types.is_binary(array.type):
            texts = array.cast(pa.large_binary()).to_pylist()
            found.update(repr([len(text) for text in texts if text is not None]).encode())
            found.update(b"".join(text for text in texts if text is not None))
        elif types.is_boolean(array.type):
            found.update(array.fill_null(False).to_numpy(zero_copy_only=False).tobytes())
        elif types.is_primitive(array.type):
            same = array.view(pa.from_numpy_dtype(f"u{array.type.bit_width // 8}"))
            found.update(same.fill_null(0).to_numpy(zero_copy_only=False).tobytes())
        else:
            found.update(repr(array.to_pylist()).encode())
    return found.hexdigest()


def _damaged(path: str, reason: str) -> AfaError:
    return AfaError(f"expected an index but got a damaged one, {path}: {reason}; delete it, or run afa index again")
