"""Changes of arcs: by the operator, which gives another table, and by the kernels, in the midst of a batch."""

from __future__ import annotations

from operator import is_

from afa.compiled.kernel import layout as k
from afa.compiled.store import Store
from afa.engine import Host
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable

Events = tuple[ArcEvent, ...]


def swap(store: Store, table: ArcTable, le: int, re: int) -> None:
    """Put a table in force that differs in ``[le, re)`` only; keys are visited only if that begins before the present."""
    store.journal.note(_back, store, store.arcs.table)
    waits = store.arcs.table.timeouts or table.timeouts
    if le == k.FOREVER and not waits:  # arcs that ended are dropped
        store.arcs.table = table
        _drop(store, store.progress.floor)
        return
    if waits or not _change_program(store, table, le):
        store.arcs.install(table)
    if waits:  # deadlines may be other than noted
        store.memory.look_at_all()
    if le < store.progress.now:
        store.call_all(k.SWAP, le, re)


def _change_program(store: Store, table: ArcTable, le: int) -> bool:
    """Change arcs in the kernels' program as it stands, if all that differs is that known arcs begin or end at ``le``.

    A new program takes O(arc events). Returns False where one is needed.
    """
    arcs = store.arcs
    changes = None if table.made is not None else _changes(arcs.table.events, table.events, le)
    for arc, what in changes or ():
        code = arcs.program.codes.get(id(arc))
        found = 0 if code is None else store.call(what, le, code)
        if not found or (found > 1 and not arcs.lacking):
            return False
    if changes is not None:
        arcs.follow(table)
    return changes is not None


def _changes(old: Events, new: Events, le: int) -> list[tuple[Arc, int]] | None:
    """Return the changes between two tables: one arc ends at ``le``, or one begins then, or both. None: they differ in more."""
    found = []
    if new and new[-1].le == le and new[-1].re == k.FOREVER:
        found, new = [(new[-1].arc, k.BEGIN_ARC)], new[:-1]
    if len(old) != len(new) or all(map(is_, old, new)):
        return found if len(old) == len(new) else None
    arc, le_of_arc, re = new[-1]
    at = next((i for i, event in enumerate(old) if event.arc is arc and event[1:] == (le_of_arc, k.FOREVER)), len(old))
    if at == len(old) or re != le or not all(map(is_, (*old[:at], *old[at + 1 :]), new[:-1])):
        return None
    return [(arc, k.END_ARC), *found]


MANY = 512
"""How many bounds of lifetimes a program may have before those of arcs that ended are dropped in the midst of a batch."""


def follow(store: Store, host: Host) -> None:
    """Bring the operator's table of arcs up to the changes that the kernels have made since `changed`."""
    store.ahead = False
    _drop(store, _over(store, store.progress.events))
    store.arcs.table = ArcTable(store.arcs.program.events())
    host.follow_arcs(store.arcs.table)


def changed(store: Store) -> None:
    """Take over arcs that the kernels have changed: drop ended ones if they are many, prepare the way back.

    The table is made when it is needed.
    """
    if not store.ahead:
        store.journal.note(_back, store, store.arcs.table)
        store.ahead = True
    store.memory.m[k.Memory.arcs] = 0
    if store.arcs.program.words[k.Program.boundcount] > MANY:
        _drop(store, _over(store, int(store.memory.m[k.Memory.events])))


def _over(store: Store, promised: int) -> int:
    """Return before which time no arc serves any more."""
    if store.progress.lags:
        return store.progress.floor
    return min(promised, store.progress.arcs) if store.progress.arc_punctuation else promised


def recover(store: Store) -> None:
    """Restore the program of the arcs in force, after a call has failed and its undo log has been played."""
    store.arcs.recover(anew=store.ahead or bool(store.memory.m[k.Memory.arcs]))
    store.ahead = False
    store.memory.m[k.Memory.arcs] = 0


def _back(store: Store, table: ArcTable) -> None:
    store.ahead = False
    store.arcs.install(table)


def _drop(store: Store, t: int) -> None:
    store.tell(k.DROP, t)
    store.directory.arcs_dropped(store.memory, t)
