"""What the kernels hand back: the output log, and what they could not end."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.compiled.memory import Batch
from afa.errors import ClosureError

if TYPE_CHECKING:
    from afa.compiled.engine import CompiledEngine


def take(engine: CompiledEngine) -> tuple[Any, list[Hashable]]:
    """The output log's net entries, ``[key, sign, T, m, register..]``, retractions first, each by T; empties the log.

    Beside them the keys of the rows, if there are keys.
    """
    w, s = engine.memory.w, engine.memory.row
    n = int(w[k.W_LOG_TOP])
    rows = w[w[k.W_LOG] : w[k.W_LOG] + n * s].reshape(n, s)
    times = rows[:, k.L_T]
    order = None if n < 2 or (times[1:] >= times[:-1]).all() else np.argsort(times, kind="stable")
    if n > 1 and w[k.W_TAKEN]:
        order = np.arange(n) if order is None else order
        engine.call(k.NET, n, engine.registers.layout.width, Batch(order.reshape(1, n)))
    rows = rows.copy() if order is None else rows[order]
    if w[k.W_TAKEN]:
        rows = np.concatenate([rows[rows[:, k.L_SIGN] < 0], rows[rows[:, k.L_SIGN] > 0]])
    w[k.W_LOG_TOP] = w[k.W_TAKEN] = 0
    return rows, [engine.directory.names[code] for code in rows[:, k.L_KEY].tolist()] if engine.keyed else []


def endless(engine: CompiledEngine) -> ClosureError:
    """Which closure goes on for ever."""
    m, w, s = engine.memory.m, engine.memory.w, engine.memory.row
    rows, n = int(m[k.C_NEED]), int(m[k.C_ARC])
    states = dict.fromkeys(engine.arcs.states[int(state)] for state in w[rows : rows + n * s].reshape(n, s)[:, k.N_STATE])
    return ClosureError(
        f"expected a closure of at most {k.CLOSURE_LIMIT} steps but got one that goes on, at le={m[k.C_PLACE]} through the "
        f"states {', '.join(states)}; let the fence of an epsilon arc end the cycle"
    )
