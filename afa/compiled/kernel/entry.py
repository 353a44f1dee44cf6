"""The one entry of the kernels: all that a caller may ask, by number, so that there is one function to compile and keep."""

from __future__ import annotations

from afa.compiled.kernel.ends import ends
from afa.compiled.kernel.heap import commit, rollback, save_in_full
from afa.compiled.kernel.kept_parts import forget_parts
from afa.compiled.kernel.key_layout import FIRST
from afa.compiled.kernel.key_out import keys
from afa.compiled.kernel.key_states import restore_changes, restore_covers, restore_steps, save_keys
from afa.compiled.kernel.late_rows import arrange_rows
from afa.compiled.kernel.layout import *
from afa.compiled.kernel.living import living
from afa.compiled.kernel.looked_at import heads_of, mark_strings, set_heads, sound
from afa.compiled.kernel.many import forward_keys, next_waiting, scan, serve_due, serve_each, serve_records
from afa.compiled.kernel.native_call import kernel
from afa.compiled.kernel.one_key import serve
from afa.compiled.kernel.other_rows import find_others
from afa.compiled.kernel.paths import paths
from afa.compiled.kernel.prune import prune
from afa.compiled.kernel.report import by_key, by_state, net, sizes
from afa.compiled.kernel.swap import change_at, drop_arcs
from afa.compiled.kernel.unpacked import block_of_key


@kernel
def main(m: Memory, w: Scratch, p: Program, c: TableWords, what: int, low: int, high: int) -> int:
    """Do the one thing that ``what`` names. Returns what the kernel that does it returns."""
    if what >= FIRST:
        return keys(m, w, p, c, what, low, high)
    if what not in (FORWARD, GROUPS) and (what not in (RUN, SCAN) or m.scans == 0):
        m.coming = 0
    if w.owed > 0 and what not in (GROUPS, SCAN, NET, COMMIT):  # records that have grown may change otherwise
        save_in_full(m, w)
    if what not in (RUN, SERVE, PUSH, FORWARD, SCAN, ARRANGE, OTHERS, NET, COMMIT):
        forget_parts(w)  # INVARIANT: only acts that change no block otherwise than by an attempt may keep them
    if what == RUN:
        return serve_records(m, w, p, c, low, high)
    if what == FORWARD:
        return serve(m, w, p, c, 0, high - low, FORWARD, low, high)
    if what == ARRANGE:
        return arrange_rows(m, w, c, KeyEntry(m.dir).block, low, high)
    if what == GROUPS:
        return forward_keys(m, w, p, c, low, high)
    if what == OTHERS:
        return find_others(c, c.count, low, high)
    if what in (BEGIN_ARC, END_ARC):
        return change_at(m, p, high, 1 if what == BEGIN_ARC else -1, low)
    if what == DROP:
        drop_arcs(p, low)
        return DONE
    if what == PUSH:
        w[w.index] = 0
        status = serve(m, w, p, c, low, 1, SERVE, 0, 0)
        if status < 0:
            return status
        if m.tied:
            return TIED
        if w.log_top == 0:
            commit(m, w)
            m.serial += 2
        return w.log_top
    if what == SERVE:
        for k in range(high):
            w[w.index + k] = k
        return serve(m, w, p, c, low, high, SERVE, 0, 0)
    if what in (TICK, CLEAN, SWAP):
        return serve_due(m, w, p, c, what, low, high)
    if what == SCAN:
        return scan(m, c, low, high)
    if what == EACH:
        return serve_each(m, w, p, c, low, high)
    if what == NET:
        return net(w, c, low, high)
    if what == WAITS:
        return next_waiting(m, low)
    if what == EXPIRE:
        return serve(m, w, p, c, low, 0, EXPIRE, high, 0)
    if what == RESTORE:
        return restore_covers(m, w, c, high)
    if what == RESTORE_CHANGES:
        return restore_changes(m, w, p, c, high)
    if what == RESTORE_STEPS:
        return restore_steps(m, w, p, c, high)
    if what == PRUNE:
        return prune(m, w, p, c, low)
    if what == SAVE:
        return save_keys(m, c, high, low)
    if what == SIZES:
        return sizes(m, w, p, low)
    if what == BY_STATE:
        return by_state(m, c)
    if what == BY_KEY:
        return by_key(m, w, p, c, low)
    if what == LIVING:
        return living(m, w, low, high)
    if what == ENDS:
        return ends(m, w, p, c, low)
    if what == OPENED:
        return block_of_key(m, low)
    if what == HEADS_OF:
        return heads_of(m, c, high, low)
    if what == SET_HEADS:
        return set_heads(m, w, c, high, low)
    if what == STRINGS:
        return mark_strings(m, c, high)
    if what == SOUND:
        return sound(m, p, c, high, low)
    if what == PATHS_TO:
        return paths(m, w, p, c, low)
    if what == ROLLBACK:
        rollback(m, w, 0)
        w.owed = w.replaced = 0
        m.waiting = m.waited
    else:
        commit(m, w)
    m.serial += 2  # INVARIANT: in one step with the end of the call, as nobody can interrupt a kernel
    return DONE
