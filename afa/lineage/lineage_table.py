"""The graph of a match's paths as an Arrow table, one row a way: what other tools count, sum and draw.

    node        int64               the first row's is the match; a node's rows stand together
    before      int64 or null       the node from which to go on; null: the path begins here
    component   string or null      null: no event, the path goes on at `before`, or begins here
    le, re      int64 or null       of the event
    event       struct or null      its fields

A path, backward: from the first row's node choose any of its rows, then any row of the node in `before`, and so on. Each such
walk is another path, and each path is one of them.
"""

from __future__ import annotations

from typing import Any

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.lineage.graph import BEGUN, Graph
from afa.schema import ODD, Schema
from punctuation.door import arrow_type

Row = tuple[int, "int | None", "str | None", "Change | None"]


def table_of(graph: Graph, schema: Schema | None) -> Any:
    """Return the graph as an Arrow table.

    Raises `AfaError` where ``schema``, that of the events, is not all scalars; `ChangeError` on text that Arrow can't hold.
    """
    import pyarrow as pa

    if schema is None or not schema.scalar:
        got = schema and schema.describe()
        raise AfaError(f"expected events of scalar fields (event=) for a table but got {got}; .paths() tells any")
    rows = _rows(graph)
    changes = [change for _, _, _, change in rows]
    kind = pa.struct([pa.field(field.name, arrow_type(field.type or str)) for field in schema.fields])
    names = [field.name for field in schema.fields]
    events = [None if change is None else dict(zip(names, change.payload)) for change in changes]
    try:
        return pa.table(
            {
                "node": pa.array([row[0] for row in rows], pa.int64()),
                "before": pa.array([row[1] for row in rows], pa.int64()),
                "component": pa.array([row[2] for row in rows], pa.string()),
                "le": pa.array([change and change.le for change in changes], pa.int64()),
                "re": pa.array([change and change.re for change in changes], pa.int64()),
                "event": pa.array(events, kind),
            }
        )
    except (pa.ArrowException, *ODD) as error:
        raise ChangeError(f"expected events that Arrow holds but got {error}") from error


def _rows(graph: Graph) -> list[Row]:
    nodes = graph.nodes()
    numbers: dict[Any, int | None] = {node: n for n, node in enumerate(nodes)}
    numbers[BEGUN] = None
    rows: list[Row] = []
    for node in nodes:
        rows += ((numbers[node], numbers[before], *pick) for pick, before in graph.ways(node))  # type: ignore[misc]
        if node.rest is not None:
            rows.append((numbers[node], numbers[node.rest], None, None))  # type: ignore[arg-type]
    return rows
