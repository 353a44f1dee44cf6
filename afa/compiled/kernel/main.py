"""The one entry: what a caller may ask of the kernels, by number, so that there is one thing to compile and to cache."""

from __future__ import annotations

from typing import Any

from afa.compiled.kernel.call import kernel
from afa.compiled.kernel.many import chunk, everyone, groups, scan
from afa.compiled.kernel.memory import commit, rollback
from afa.compiled.kernel.names import (
    ALONE,
    ARRANGE,
    C_DIR,
    C_FINAL,
    C_R,
    C_SERIAL,
    CLEAN,
    COLUMNS,
    D_BLOCK,
    DONE,
    DROP,
    EXPIRE,
    FORWARD,
    GROUPS,
    H_CAP,
    H_CLEANED,
    H_LAST,
    H_NODE_TOP,
    H_NODES,
    H_SINCE,
    H_STEPS,
    HEAD,
    LE,
    N_END,
    N_REG,
    ND,
    NET,
    PUSH,
    REACH,
    RESTORE,
    ROLLBACK,
    RUN,
    SCAN,
    SERVE,
    SIZES,
    SWAP,
    TICK,
    W_INDEX,
    W_LOG_TOP,
)
from afa.compiled.kernel.order import arrange_rows
from afa.compiled.kernel.report import net, sizes
from afa.compiled.kernel.swap import drop_arcs
from afa.compiled.kernel.unit import grow, serve


@kernel
def restore(m: Any, w: Any, p: Any, c: Any, key: int, n: int) -> int:
    """A key's first block, with a cover step of ``n`` partial matches: ``c[:, i]`` is ``[start, m, state, register..]``. A status.

    Behind them stands ``[LE, since, 0, ..]``.
    """
    b = grow(m, w, key, n, DONE)
    if b < 0:
        return b
    s, cap = 4 + m[C_R], m[b + H_CAP]
    for column in range(COLUMNS):
        m[b + HEAD + column * cap] = 0
    m[b + HEAD + LE * cap] = m[b + HEAD + REACH * cap] = c[0, n]
    m[b + H_SINCE], m[b + H_CLEANED] = c[1, n], m[C_FINAL]
    for k in range(n):
        row = b + m[b + H_NODES] + k * s
        for i in range(3):
            m[row + i] = c[i, k]
        m[row + N_END] = ALONE
        for i in range(s - N_REG):
            m[row + N_REG + i] = c[3 + i, k]
    m[b + HEAD + ND * cap] = n
    m[b + H_NODE_TOP] = n
    m[b + H_STEPS] = m[b + H_LAST] = 1
    return DONE


@kernel
def main(m: Any, w: Any, p: Any, c: Any, what: int, low: int, high: int) -> int:
    """Do one thing; see each."""
    if what == RUN:
        return chunk(m, w, p, c, low, high)
    if what == FORWARD:
        return serve(m, w, p, c, 0, high - low, FORWARD, low, high)
    if what == ARRANGE:
        return arrange_rows(m, w, c, m[m[C_DIR] + D_BLOCK], low, high)
    if what == GROUPS:
        return groups(m, w, p, c, low, high)
    if what == DROP:
        drop_arcs(p, low)
        return DONE
    if what == PUSH:
        w[w[W_INDEX]] = 0
        status = serve(m, w, p, c, low, 1, SERVE, 0, 0)
        if status < 0:
            return status
        commit(m, w)
        m[C_SERIAL] += 1
        return int(w[W_LOG_TOP])
    if what == SERVE:
        for k in range(high):
            w[w[W_INDEX] + k] = k
        return serve(m, w, p, c, low, high, SERVE, 0, 0)
    if what in (TICK, CLEAN, SWAP):
        return everyone(m, w, p, c, what, low, high)
    if what == SCAN:
        return scan(m, c, low, high)
    if what == NET:
        return net(w, c, low, high)
    if what == EXPIRE:
        return serve(m, w, p, c, low, 0, EXPIRE, high, 0)
    if what == RESTORE:
        return restore(m, w, p, c, low, high)
    if what == SIZES:
        return sizes(m, w, p)
    if what == ROLLBACK:
        rollback(m, w, 0)
    else:
        commit(m, w)
    return DONE
