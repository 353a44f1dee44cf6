"""The engine's memory as it is, for another process of this machine: nothing is derived anew, as it is from a snapshot.

names   plain data     what the words mean: strings, states and keys by their numbers
words   m[:C_TOP]      blocks and directory hold no address, only places; the control words that do are set anew
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from afa.compiled.bounds import check_sizes, check_words
from afa.compiled.directory import NOBODY
from afa.compiled.kernel import names as k
from afa.compiled.mapped_heap import FileHeap
from afa.errors import AfaError
from afa.state.sound import wanted

if TYPE_CHECKING:
    from afa.compiled.compiled_engine import CompiledEngine


def names(engine: CompiledEngine) -> list[Any]:
    """What the words mean.

    Notes
    -----
    *Requires* that no call is under way, and that nothing has changed since a snapshot was taken.
    """
    if not engine.directory.as_saved:
        raise AfaError("expected an operator whose last call was snapshot() but got one that has changed since")
    keys = [None if name is NOBODY else name for name in engine.directory.names]
    return [
        int(engine.memory.m[k.C_TOP]),
        engine.memory.keys,
        engine.memory.sizes,
        engine.strings.numbers(),
        engine.arcs.numbers(),
        keys,
        engine.directory.since,
        engine.idle,
    ]


def words(engine: CompiledEngine) -> Any:
    """The words, an array of shape (C_TOP,): a view."""
    return engine.memory.m[: engine.memory.m[k.C_TOP]]


def take_names(engine: CompiledEngine, found: list[Any]) -> None:
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
    check_sizes(sizes, engine.memory.sizes)
    engine.strings.take_numbers(found[3])
    engine.arcs.take_numbers(found[4])


def take_words(engine: CompiledEngine, found: list[Any], file: FileHeap) -> None:
    """Let the words of a file be the memory; once the arcs are in force.

    Raises
    ------
    OSError
        The file system has no room.
    SnapshotError
        The words point beyond the memory.
    """
    top, room, sizes, _, _, keys, since, engine.idle = found
    words = engine.memory.m
    fixed = {name: int(words[name]) for name in (k.C_V, k.C_R, k.C_ORDERED, k.C_KEYED, k.C_SEQ)}
    wanted("as many words as control words at least", top >= k.CONTROL, top)
    here = file.mapped(top)
    check_words(here, top, room, len(keys), fixed)
    engine.memory.adopt(here, file, room, sizes)
    engine.directory.take([NOBODY if key is None else key for key in keys], since)
    engine.arcs.installed()
