"""Images: the engine's memory as it is, for another process of this machine, which derives nothing anew.

names   plain data     what the words mean: strings, states and keys by their numbers
words   m[:C_TOP]      blocks and directory hold no address, only places; the control words that do are set anew
"""

from __future__ import annotations

from typing import Any

from afa.compiled.bounds import check_sizes, check_words
from afa.compiled.directory import NOBODY
from afa.compiled.kernel import names as k
from afa.compiled.mapped_heap import FileHeap
from afa.compiled.store import Store
from afa.errors import AfaError
from afa.state.sound import wanted


def names(store: Store) -> list[Any]:
    """Return what the words mean.

    Notes
    -----
    *Requires* that no call is under way, and that nothing has changed since a snapshot was taken.
    """
    if not store.directory.as_saved:
        raise AfaError("expected an operator whose last call was snapshot() but got one that has changed since")
    keys = [None if name is NOBODY else name for name in store.directory.names]
    return [
        int(store.memory.m[k.C_TOP]),
        store.memory.keys,
        store.memory.sizes,
        store.strings.numbers(),
        store.arcs.numbers(),
        keys,
        store.directory.since,
        store.idle,
    ]


def words(store: Store) -> Any:
    """Return the words, an array of shape (C_TOP,): a view."""
    return store.memory.m[: store.memory.m[k.C_TOP]]


def take_names(store: Store, found: list[Any]) -> None:
    """Give strings and states the numbers that they had; before any arc is in force.

    Raises
    ------
    SnapshotError, ValueError, TypeError
        They are none.
    """
    top, room, sizes, (texts, free, bound), (states, with_runs, *_), keys, since, idle = found
    numbers = [top, room, bound, since, idle, with_runs, *free]
    wanted("numbers", all(type(n) in (int, bool) for n in numbers) and min(top, room) >= 0, numbers)
    wanted("names of strings and states", isinstance(texts, list) and set(map(type, [*texts, *states])) <= {str}, states)
    wanted("numbers of strings", all(0 <= number < len(texts) for number in free) and isinstance(keys, list), free)
    check_sizes(sizes, store.memory.sizes)
    store.strings.take_numbers(found[3])
    store.arcs.take_numbers(found[4])


def take_words(store: Store, found: list[Any], file: FileHeap) -> None:
    """Let the words of a file be the memory; once the arcs are in force.

    Raises
    ------
    OSError
        The file system has no room.
    SnapshotError
        The words point beyond the memory.
    """
    top, room, sizes, _, _, keys, since, store.idle = found
    words = store.memory.m
    fixed = {name: int(words[name]) for name in (k.C_V, k.C_R, k.C_ORDERED, k.C_KEYED, k.C_SEQ)}
    wanted("as many words as control words at least", top >= k.CONTROL, top)
    here = file.mapped(top)
    check_words(here, top, room, len(keys), fixed)
    store.memory.adopt(here, file, room, sizes)
    store.directory.take([NOBODY if key is None else key for key in keys], since)
    store.arcs.installed()
