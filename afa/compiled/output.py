"""The output log, which the kernels fill."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa.compiled.kernel import names as k
from afa.compiled.memory import Batch
from afa.compiled.store import Store
from afa.cuts import Cuts


def take(store: Store, cuts: Cuts | None = None) -> Any:
    """Return the output log's net entries, ``[key, sign, T, m, register..]``, retractions first, each by T. Empties the log.

    With ``cuts`` the entries of each change on their own, in order of arrival.
    """
    w, s = store.memory.w, store.memory.row
    n, taken = int(w[k.W_LOG_TOP]), w[k.W_TAKEN]
    rows = w[w[k.W_LOG] : w[k.W_LOG] + n * s].reshape(n, s)
    times, signs = rows[:, k.L_T], rows[:, k.L_SIGN]
    if store.gaps and (gaps := np.flatnonzero(signs == k.GAP)).size:
        store.missing += ((store.key_of(key), first, last) for key, _, first, last, *_ in rows[gaps].tolist())
        signs[gaps], taken = 0, taken + 1
    changes = None if cuts is None else cuts.change_of(n)
    if n > 1 and taken:
        of = np.zeros(n, np.int64) if changes is None else changes
        order = np.lexsort((rows[:, k.L_KEY], times, of))
        store.call(k.NET, n, store.registers.layout.width, Batch(np.stack([order, of[order]])))
    order = _order(times, signs if taken else None, changes)
    if order is not None and taken:
        order = order[signs[order] != 0]
    if cuts is not None:
        cuts.keep(np.arange(n) if order is None else order)
    rows = rows.copy() if order is None else rows[order]
    w[k.W_LOG_TOP] = w[k.W_TAKEN] = 0
    return rows


def _order(times: Any, signs: Any, changes: Any) -> Any:
    """The order of entries by change, sign and T; None: as they stand. ``signs``, ``changes``: None where they are all the same."""
    if signs is None and changes is None and (times[1:] >= times[:-1]).all():
        return None
    return np.lexsort([column for column in (times, signs, changes) if column is not None])
