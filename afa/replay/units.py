"""What is told of parts of a stored table: of row groups by their footers, or, finer, of blocks by an index beside the file."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from afa.io.frame import Frame
from afa.replay.holding import Extents
from afa.replay.sidecar import Sidecar
from afa.replay.stored import Bounds, Stored
from afa.schema import Schema


class Units(NamedTuple):
    """Parts of row groups, each within one.

    Attributes
    ----------
    group : numpy.ndarray of int64
        The row group of each part.
    extents : Extents
        What is told of each part.
    """

    group: Any
    extents: Extents

    def of_groups(self, parts: Any, many: int) -> Any:
        """Return in which of so many row groups some part is marked."""
        found = np.zeros(many, bool)
        found[self.group[parts]] = True
        return found


def units_of(stored: Stored, sidecar: Sidecar | None, time: str, events: Schema, tick: str | None, groups: Extents) -> Units:
    """Return the blocks of row groups that an index tells of, and the other row groups whole."""
    if sidecar is None:
        return Units(np.arange(len(stored)), groups)
    rest = np.flatnonzero(~sidecar.covered)
    low, high = block_times(stored, sidecar, time, tick)

    def bounds(column: str) -> Bounds:
        whole, blocks = stored.bounds(column), sidecar.bounds(column)
        ends = ([values[group] for group in rest.tolist()] for values in (whole.low, whole.high))
        least, most = ends
        return Bounds([*least, *blocks.low], [*most, *blocks.high], np.append(whole.nulls[rest], blocks.nulls))

    extents = Extents(
        bounds,
        stored.schema,
        np.append(stored.rows[rest], sidecar.rows),
        events,
        tick,
        np.append(groups.least[rest], low),
        np.append(groups.latest[rest], high),
    )
    return Units(np.append(rest, sidecar.group), extents)


def block_times(stored: Stored, sidecar: Sidecar, time: str, tick: str | None) -> tuple[Any, Any]:
    """Return the least and the largest LE of each block, in ticks."""
    kind = stored.schema.field(time).type
    whole = pa.int32() if pa.types.is_date32(kind) else pa.int64()
    low, high = (
        Frame(pa.table({time: pa.array(values).cast(whole).cast(kind)})).ticks(time, tick, "time")
        for values in (sidecar.low, sidecar.high)
    )
    return low, high
