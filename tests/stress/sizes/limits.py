"""What is made small for a world, so that its few keys come to what else takes millions: parts of batches, arrays, samples."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from afa.compiled import batches, choices, key_arrays, key_numbers, memory, reserve, router
from afa.conditions import promised
from tests.strategies import Choices
from tests.stress.sizes.seen import NEEDS
from tests.worlds.kind import Seen

LIMITS: dict[str, tuple[Any, list[int]]] = {
    "CHUNK": (batches, [7, 64]),
    "KEYED_CHUNK": (batches, [7, 64]),
    "SAMPLE": (choices, [3, 8]),
    "REST": (memory, [0, 9, 14, 25, 60, 127, 250]),  # else the most that there may be
    "HEAP": (memory, [1 << 9]),
    "RESERVED": (memory, [1 << 10]),
    "AHEAD": (memory, [2]),
    "MASK": (key_arrays, [0, 3, 63]),  # of all keys, or many, the hash is one
    "MANY": (key_numbers, [2, 9]),
    "RECENT": (key_numbers, [1, 4]),
    "ROOM": (promised, [0, 0, 20]),
    "FEW": (router, [0, 8]),
}
"""By name: where it stands, and what it may be in place of its value."""


def chosen(choose: Choices) -> dict[str, Any]:
    """Some limits of a world."""
    found: dict[str, Any] = {name: choose.one(values) for name, (_, values) in LIMITS.items() if choose.chance(35)}
    found["scratch"] = choose.chance(25)  # small, and what a call leaves of it
    found["used"] = choose.chance(30)  # whether a new heap has words of another one
    found["roomy"] = choose.chance(60)
    found["tight"] = choose.one([0, 0, 40, 200])  # words after which the heap is said to be at its end; 0: at its end
    found["warm"] = choose.one([None] * 4 + [0])
    found["loops"] = choose.chance(80)  # of warm ones: whether loops over rows in order are compiled as well
    return found


@contextmanager
def limited(limits: dict[str, Any]) -> Iterator[None]:
    """Let these limits hold."""
    changes = [(module, name, limits[name]) for name, (module, _) in LIMITS.items() if name in limits]
    if limits["scratch"]:
        few = {what: 4 if what == "rows" else 16 for what in memory.SIZES}
        changes += [(memory, name, {what: few[what] for what in getattr(memory, name)}) for name in ("SIZES", "ROOMS", "LASTING")]
    if not limits["roomy"]:
        changes.append((reserve, "roomy", lambda: False))
    if limits["warm"] is not None:
        changes.append((choices, "WARM", limits["warm"]))
        if limits.get("loops"):
            changes.append((choices, "LONG", 0))
    if limits["used"]:
        changes.append((reserve, "heap", _used_before(reserve.heap)))
    if limits["tight"]:
        changes += _tight(limits["tight"])
    before = [(module, name, getattr(module, name)) for module, name, _ in changes]
    try:
        for module, name, value in changes:
            setattr(module, name, value)
        yield
    finally:
        for module, name, value in reversed(before):
            setattr(module, name, value)


def _used_before(heap: Any) -> Any:
    """A heap in which anything may stand."""

    def used(least: int, wanted: int) -> Any:
        array = heap(least, wanted)
        array[: 1 << 15] = -0x0123456789ABCDEF
        return array

    return used


def _tight(words: int) -> list[tuple[Any, str, Any]]:
    """Let the kernels come to the end of the heap again and again, where there are words yet.

    They get ``words`` more; twice as many each time that this was not enough for what they had asked for.
    """
    use, grow = memory.EngineMemory._use, memory.EngineMemory.grow_heap
    last: dict[str, int] = {"top": -1, "more": words}

    def used(self: memory.EngineMemory, file: Any = None, **arrays: Any) -> None:
        use(self, file, **arrays)
        if "m" in arrays:
            self.m_size = min(len(self.m), self.used // reserve.WORD + words)

    def grown(self: memory.EngineMemory) -> None:
        if self.m_size < len(self.m):
            last.update(more=2 * last["more"] if self.used == last["top"] else words, top=self.used)
            self.m_size = min(len(self.m), self.m_size + last["more"])
        else:
            grow(self)

    return [(memory.EngineMemory, "_use", used), (memory.EngineMemory, "grow_heap", grown)]


@contextmanager
def refused(number: int) -> Iterator[None]:
    """No memory for one array, by its number, of those that are made."""
    made, asked = reserve.mapped, 0

    def mapped(size: int) -> Any:
        nonlocal asked
        asked += 1
        if asked == number:
            raise MemoryError("no more, for a test")
        return made(size)

    reserve.mapped = mapped
    try:
        yield
    finally:
        reserve.mapped = made


@contextmanager
def counted(seen: Seen) -> Iterator[None]:
    """Count how often kernels ask for something."""
    provide = memory.EngineMemory.provide

    def provided(self: memory.EngineMemory, status: int) -> bool:
        seen[NEEDS.get(status, "")] += 1
        return provide(self, status)

    memory.EngineMemory.provide = provided  # type: ignore[method-assign]
    try:
        yield
    finally:
        memory.EngineMemory.provide = provide  # type: ignore[method-assign]
