"""The aggregates over all paths of a match, as the kernels sum them up: `afa.engine.Engine.totals` of one key."""

from __future__ import annotations

import math
import struct
from typing import Any

from afa.compiled.code.payload_layout import FieldSlot
from afa.compiled.kernel import layout as k
from afa.compiled.kernel import path_layout as y
from afa.compiled.kernel.path_sums import BITS, MAGNITUDE
from afa.compiled.match_paths import find_paths, known_arcs
from afa.compiled.store import Store
from afa.engine import PathTotals, SoughtMatch

_TO_BITS, _FROM_BITS = struct.Struct("<q"), struct.Struct("<d")


def match_totals(store: Store, code: int, sought: SoughtMatch, field: str | None, component: str | None) -> PathTotals | None:
    """Return aggregates over all paths of a match of a key that holds something; see `afa.engine.Engine.totals`."""
    slot = None if field is None else store.payloads.layout.slot(field)
    components, table = known_arcs(store).components, store.path_table
    assert table is not None
    if component is not None and component not in components:
        return None
    kind = y.PATHS if slot is None else y.FLOATS if slot.field.type is float else y.WORDS
    found = find_paths(
        store,
        code,
        sought,
        {
            y.PathQuestion.sum: kind,
            y.PathQuestion.field: 0 if slot is None else slot.value,
            y.PathQuestion.known: slot.offset if slot is not None and slot.width == 2 else k.NOWHERE,
            y.PathQuestion.only: k.NOWHERE if component is None else components.index(component),
            y.PathQuestion.limbs: table.limbs,
        },
    )
    if found is None:
        return None
    words, told, _ = found
    if told[y.PathQuestion.told] != y.FOUND:
        return PathTotals(0, 0, 0, None, None, None) if told[y.PathQuestion.told] == y.NO_MATCH else None
    n = table.limbs = told[y.PathQuestion.limbs]
    limbs: list[int] = words[y.PathRows.limbs, : 3 * n].tolist()
    paths, count, total = (sum(limb << BITS * i for i, limb in enumerate(limbs[at : at + n])) for at in (0, n, 2 * n))
    if slot is None or not count:
        return PathTotals(told[y.PathQuestion.re], paths, count, None, None, None)
    ranks = words[y.PathRows.least, y.BEGUN_ANEW], words[y.PathRows.most, y.BEGUN_ANEW]
    least, most = (_value(int(rank), slot) for rank in ranks)
    return PathTotals(
        told[y.PathQuestion.re], paths, count, total if kind == y.WORDS else _scaled(total, told[y.PathQuestion.scale]), least, most
    )


def _scaled(total: int, scale: int) -> float:
    """Return ``total * 2 ** scale``, correctly rounded; infinite, where it is beyond all floats.

    >>> _scaled(3, -1), _scaled(-1, 5000), _scaled(1 << 2000, -2001)
    (1.5, -inf, 0.5)
    """
    try:
        return total / (1 << -scale) if scale < 0 else float(total << scale)
    except OverflowError:
        return math.inf if total > 0 else -math.inf


def _value(rank: int, slot: FieldSlot) -> Any:
    """Return the value of a field that the kernels order by a number."""
    if slot.field.type is float:
        return _FROM_BITS.unpack(_TO_BITS.pack(rank if rank >= 0 else -rank - MAGNITUDE - 1))[0]
    return bool(rank) if slot.field.type is bool else rank
