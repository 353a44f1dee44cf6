"""What the kernels hand back: the output log, and what they could not end."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.compiled.memory import Batch
from afa.cuts import Cuts
from afa.errors import ClosureError

if TYPE_CHECKING:
    from afa.compiled.compiled_engine import CompiledEngine


def take(engine: CompiledEngine, cuts: Cuts | None = None) -> tuple[Any, list[Hashable]]:
    """The output log's net entries, ``[key, sign, T, m, register..]``, retractions first, each by T; empties the log.

    Beside them the keys of the rows, if there are keys. With ``cuts`` the entries of each change on their own, in order of arrival.
    """
    w, s = engine.memory.w, engine.memory.row
    n, taken = int(w[k.W_LOG_TOP]), w[k.W_TAKEN]
    rows = w[w[k.W_LOG] : w[k.W_LOG] + n * s].reshape(n, s)
    times, signs = rows[:, k.L_T], rows[:, k.L_SIGN]
    changes = None if cuts is None else cuts.change_of(n)
    if n > 1 and taken:
        of = np.zeros(n, np.int64) if changes is None else changes
        order = np.lexsort((rows[:, k.L_KEY], times, of))
        engine.call(k.NET, n, engine.registers.layout.width, Batch(np.stack([order, of[order]])))
    order = _order(times, signs if taken else None, changes)
    if order is not None and taken:
        order = order[signs[order] != 0]
    if cuts is not None:
        cuts.keep(np.arange(n) if order is None else order)
    rows = rows.copy() if order is None else rows[order]
    w[k.W_LOG_TOP] = w[k.W_TAKEN] = 0
    return rows, [engine.directory.names[code] for code in rows[:, k.L_KEY].tolist()] if engine.keyed else []


def _order(times: Any, signs: Any, changes: Any) -> Any:
    """The order of entries by change, sign and T; None: as they stand. ``signs``, ``changes``: None where they are all the same."""
    if signs is None and changes is None and (times[1:] >= times[:-1]).all():
        return None
    return np.lexsort([column for column in (times, signs, changes) if column is not None])


def endless(engine: CompiledEngine) -> ClosureError:
    """Which closure goes on for ever."""
    m, w, s = engine.memory.m, engine.memory.w, engine.memory.row
    rows, n = int(m[k.C_NEED]), int(m[k.C_ARC])
    states = dict.fromkeys(engine.arcs.states[int(state)] for state in w[rows : rows + n * s].reshape(n, s)[:, k.N_STATE])
    return ClosureError(
        f"expected a closure of at most {k.CLOSURE_LIMIT} steps but got one that goes on, at le={m[k.C_PLACE]} through the "
        f"states {', '.join(states)}; let the fence of an epsilon arc end the cycle"
    )
