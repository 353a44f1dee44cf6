"""Write tables as bytes, and read them: Arrow streams."""

from __future__ import annotations

import pyarrow as pa


def stream_of(table: pa.Table) -> bytes:
    """Return a table as an Arrow stream."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    found: bytes = sink.getvalue().to_pybytes()
    return found


def table_of(blob: bytes) -> pa.Table:
    """Return the table of an Arrow stream."""
    return pa.ipc.open_stream(pa.py_buffer(blob)).read_all()
