"""The arrays that the kernels work on, and how they grow; see `afa.compiled.kernel.layout`.

A larger array is made next to the old one, and takes its place in one step; or it grows where it stands, and one word says so.
Whatever ends a call in between (no more memory, an interrupt) leaves the arrays whole.
"""

from __future__ import annotations

import contextlib
from ctypes import addressof, c_char
from typing import Any

import numpy as np

from afa.compiled import choices, reserve
from afa.compiled.heap_trim import trim
from afa.compiled.kernel import layout as k
from afa.compiled.mapped_heap import FileHeap
from afa.engine.budget import Budget
from afa.errors import BudgetError

REST = k.MOST
"""The words that the record of a packed key may have."""
KEYS = 16
"""Room in a new directory."""
HEAP, RESERVED = 1 << 18, 1 << 29
"""The words of a new heap, and of its address space if that costs nothing."""
RATES = 80, 96, 8
"""Events, nodes and matches of 64 steps, until it is known: m.rate."""
AHEAD = 16
"""The factor by which the address space grows when it does not suffice, so that copying is rare."""
SIZES = {"undo": 1 << 10, "log": 16, "places": 128, "batch": 8, "rows": 32, "temp": 256}
"""Of scratch, to begin with: words of the undo log; rows of the output log; steps of a block; records of a batch; rows of a buffer;
words of matches."""
ROOMS = {"undo": 1 << 25, "log": 1 << 22, "places": 1 << 22, "batch": 1 << 22, "rows": 1 << 18, "temp": 1 << 22}
"""How far they grow in place, if address space costs nothing."""
APART = 584
"""Words between them: if each began at a multiple of a large power of two, they would fight for the same places in the cache."""
LASTING = {"undo": 1 << 19, "log": 1 << 19}
"""How much of them stays when a large call has ended."""
UNASKED, STEP, PART = 1 << 25, 1 << 20, 16
"""Words of the heap for which no budget is asked; the fewest that are claimed at once, but of a budget of max_bytes a part."""
SOONER = 8
"""The factor of their growth in place: each time the work begins anew. By 2 the first 20,000 events, of 42 matches each, took 1.5
times as long. What nobody writes to is no memory yet."""


def _larger(n: int) -> int:
    return n + n // 16 + 4096


def address(array: Any) -> int:
    """Return the address of an array; numpy alone takes five times as long, 1.3 us, and a batch has a dozen columns."""
    try:
        return addressof(c_char.from_buffer(array)) if array.flags.writeable else int(array.ctypes.data)
    except (TypeError, ValueError):  # empty, apart in memory, or of a type that is no buffer's
        return int(array.ctypes.data)


class WordArray:
    """An array of shape (rows, n) with its address."""

    __slots__ = ("at", "n", "rows", "words")

    def __init__(self, words: Any) -> None:
        self.words = words
        self.rows, self.n = words.shape
        self.at = address(words)


CHUNK = 8192
"""How many records are carried out at once: enough to put most disorder in order, few enough for the cache."""
EMPTY = WordArray(np.zeros((k.Arrivals.payload, 1), np.int64))


class EngineMemory:
    """The arrays of an engine: lasting state (``m``) and scratch (``w``). ``ordered``: see m.ordered."""

    m: Any
    m_at: int
    m_size: int
    file: FileHeap | None  # where the heap lies, if not in this process alone
    w: Any
    w_at: int
    alone = False  # whether one thread alone knows the operator, so that others may run while kernels work
    grown = False  # whether the call has claimed anything
    budget: Budget | None = None  # bytes are claimed there before they are used
    _rooms: dict[str, int]
    _allowed: int = k.FOREVER  # so many words of the heap may be used, as far as they are claimed

    def __init__(self, payload: int, register: int, ordered: int, keyed: bool) -> None:
        self.payload, self.register = payload, register
        self.row = k.NodeRow.register + register
        m = reserve.heap(HEAP, RESERVED)
        *places, top = directory_at(k.CONTROL, KEYS)
        m[: places[1]] = 0
        m[places[1] : top] = k.FOREVER
        m[k.Memory.payload_words], m[k.Memory.register_words] = payload, register
        m[k.Memory.ordered], m[k.Memory.keyed] = ordered, int(keyed)
        m[k.Memory.top], m[k.Memory.dir : k.Memory.dir + 3] = top, places
        m[k.Memory.keys], m[k.Memory.serial] = 0 if keyed else 1, 1
        m[k.Memory.packed_limit] = REST if keyed else 0
        m[k.Memory.small] = (62 - k.NODE_SMALL) // register if register else 0
        m[k.Memory.rate : k.Memory.rate + 3] = RATES
        m[k.Memory.sample], m[k.Memory.soon] = choices.SAMPLE, choices.SOON
        m[k.Memory.shards] = 1
        self._use(m=m)
        self._new_scratch(SIZES, ROOMS)

    def _use(self, file: FileHeap | None = None, **arrays: Any) -> None:
        """Replace the array ``m`` or ``w``, and all that goes with it. INVARIANT: in one step, which nothing can interrupt."""
        found: dict[str, Any] = dict(arrays)
        for name in ("m", "w"):
            if name in arrays:
                found[f"{name}_at"] = int(arrays[name].ctypes.data)
        if "m" in arrays:
            found["file"] = file
            found["m_size"] = min(len(arrays["m"]), self._allowed)
        vars(self).update(found)

    def aim(self, program: int) -> None:
        """Tell the kernels where the arrays are; compiled ones tell themselves."""
        m = self.m
        m[k.Memory.m_at], m[k.Memory.w_at], m[k.Memory.p_at], m[k.Memory.limit] = self.m_at, self.w_at, program, self.m_size

    @property
    def sizes(self) -> dict[str, int]:
        """How large each kind of scratch is."""
        return {what: int(self.w[word]) for what, word in CAPACITIES.items()}

    @property
    def keys(self) -> int:
        """For how many keys the directory has room."""
        return int(self.m[k.Memory.minima] - self.m[k.Memory.dir]) // k.KeyEntry.SIZE

    @property
    def used(self) -> int:
        """Bytes of the heap."""
        return int(self.m[k.Memory.top]) * reserve.WORD

    # -- the heap ------------------------------------------------------------------------------------------------------------

    def adopt(self, words: Any, file: FileHeap, sizes: dict[str, int]) -> None:
        """Use the words of a file, all of them in use, as the heap; with scratch of these sizes."""
        self._allowed = max(self._allowed, len(words))
        self._use(m=words, file=file, grown=True)
        self._new_scratch(sizes, self._rooms)

    def grow_heap(self) -> None:
        """Give the heap more words, or raise MemoryError or BudgetError. Words that were never used stay untouched: they take none.

        In a file, which takes its room at once, a sixteenth more: with a quarter a bucket's part of a batch of Q1 took a fifth
        longer. Where the file system has no more room, the heap leaves the file.
        """
        self.grown = True
        if self.budget is not None:
            if self.m_size == self._allowed:
                self._allowed += self._claimed(self.budget, self.m_size) // reserve.WORD
            if self._allowed <= len(self.m):
                self.m_size = self._allowed
                return
        if self.file is not None:
            try:
                self._use(m=self.file.mapped(_larger(len(self.m))), file=self.file)
                return
            except OSError:  # then it is a heap like any other
                pass
        n = len(self.m)
        more = reserve.heap(2 * n, max(AHEAD * n, RESERVED))
        top = int(self.m[k.Memory.top])
        more[:top] = self.m[:top]
        self._use(m=more)

    def _claimed(self, budget: Budget, words: int) -> int:
        """Claim as many bytes as the heap has once more, or a part of those left. Returns how many."""
        least = _part(budget, STEP)
        return budget.claim(self, max(words, least) * reserve.WORD, least * reserve.WORD)

    def bound(self, budget: Budget) -> None:
        """Set the budget from now on, and claim the bytes that are in use."""
        self._allowed = max(int(self.m[k.Memory.top]), min(_part(budget, UNASKED), len(self.m)))
        self.m_size = min(len(self.m), self._allowed)
        self.budget = budget
        self.w[k.Scratch.budget] = budget.most
        self._tell_held(budget)

    def _tell_held(self, budget: Budget) -> None:
        heap = self.m_size if budget.max_bytes is not None else max(self.m_size - UNASKED, 0)
        budget.hold(self, heap * reserve.WORD + self._scratch(self.sizes))

    def _scratch(self, sizes: dict[str, int]) -> int:
        """Return how many bytes of scratch these sizes are."""
        return _laid_out(sizes, self.row, self.payload)[1] * reserve.WORD

    def reach(self, keys: int) -> None:
        """Make room for so many keys, or raise MemoryError."""
        while keys > self.keys:
            self._grow_directory()
        if keys > self.m[k.Memory.keys]:
            self.m[k.Memory.keys] = keys

    def _grow_directory(self) -> None:
        begin = int(self.m[k.Memory.top])
        *places, top = directory_at(begin, 2 * self.keys)
        while top > self.m_size:
            self.grow_heap()
        m = self.m
        m[begin : places[1]] = 0
        m[places[1] : top] = k.FOREVER
        *old, end = directory_at(int(m[k.Memory.dir]), self.keys)
        for new, low, high in zip(places, old, [*old[1:], end]):
            m[new : new + high - low] = m[low:high]
        m[k.Memory.top] = top  # INVARIANT: from here on in an order that leaves it whole wherever it ends
        m[k.Memory.dir : k.Memory.dir + 3] = places
        pages = np.arange(-(-old[0] // k.PAGE) * k.PAGE, end - k.PAGE + 1, k.PAGE)
        if len(pages):  # the old place serves cells from now on
            m[pages + k.Page.size_class] = k.NOWHERE
            m[pages + k.Page.next] = np.append(pages[1:], m[k.Memory.pages])
            m[k.Memory.pages] = pages[0]

    def look_at_all(self) -> None:
        """Make the next punctuation concern each key. O(keys)."""
        m, keys = self.m, int(self.m[k.Memory.keys])
        entries, minima, _, end = directory_at(int(m[k.Memory.dir]), self.keys)
        m[minima + k.DeadlineRow.act : end : k.DeadlineRow.SIZE] = k.BEGINNING
        blocks = m[entries + k.KeyEntry.block : minima : k.KeyEntry.SIZE][:keys]
        m[entries + k.KeyEntry.act : minima : k.KeyEntry.SIZE][:keys] = np.where(blocks != 0, k.BEGINNING, k.FOREVER)

    # -- scratch -------------------------------------------------------------------------------------------------------------

    def provide(self, status: int) -> bool:
        """Provide the room that a status asks for, or raise MemoryError or BudgetError. Returns whether it asks for any."""
        if status == k.NEED_HEAP:
            self.grow_heap()
            return True
        what = _NEEDS.get(status)
        if what is None:
            return False
        self.grow(what)
        return True

    def grow(self, what: str, least: int = 0) -> None:
        """Make one kind of scratch at least twice as large, or raise MemoryError or BudgetError. Undo log and output log stay."""
        size = 2 * self.sizes[what]
        while size < least:
            size *= 2
        if what == "rows" and size > k.COUNT:
            raise BudgetError(f"expected at most {k.COUNT:,} partial matches of one key at one step but got more")
        sooner = SOONER * self.sizes[what] if what in LASTING else 0
        sooner = sooner if size < sooner <= self._rooms[what] else size
        self.grown = True
        if self.budget is not None:
            wanted = self._more(what, sooner)
            sooner = sooner if self.budget.claim(self, wanted, self._more(what, size)) == wanted else size
        if sooner > self._rooms[what]:
            self._new_scratch({**self.sizes, what: sooner}, {**self._rooms, what: AHEAD * sooner})
        else:
            self._resize(self.w, what, sooner)
        if self.budget is not None:
            self._tell_held(self.budget)

    def _more(self, what: str, size: int) -> int:
        """Return how many bytes more there are if one kind of scratch has this size."""
        return self._scratch({**self.sizes, what: size}) - self._scratch(self.sizes)

    def recover(self) -> None:
        """After a call that has failed: where bytes are limited, there is as much for the next one as with a new operator."""
        if self.grown and self.budget is not None and self.budget.limited:
            self._shrink(self.budget)

    def _shrink(self, budget: Budget) -> None:
        """Give back bytes that are claimed beyond the state. *Requires* an empty undo log. O(keys)."""
        size = self.m_size
        trim(self.m, directory_at(int(self.m[k.Memory.dir]), self.keys)[-1])
        self.m[k.Memory.rate : k.Memory.rate + 3] = RATES
        with contextlib.suppress(MemoryError):
            self._new_scratch(SIZES, ROOMS)
        self.bound(budget)
        if self.file is None:
            reserve.release(self.m, self.m_size, size)

    def settle(self) -> None:
        """End a call: give the memory of unusually long logs back to the system."""
        for what, words, width in (("undo", k.Scratch.undo, 1), ("log", k.Scratch.log, self.row)):
            size = self.sizes[what]
            if size > LASTING[what]:
                self._resize(self.w, what, LASTING[what])
                start = int(self.w[words])
                reserve.release(self.w, start + LASTING[what] * width, start + size * width)
        if self.budget is not None:
            self._tell_held(self.budget)
        self.grown = False

    def _new_scratch(self, sizes: dict[str, int], rooms: dict[str, int]) -> None:
        """Make scratch of these sizes, with room to grow as far as ``rooms`` says, where address space costs nothing."""
        rooms = {what: max(size, rooms[what]) for what, size in sizes.items()}
        (tight, least), (places, end) = (_laid_out(each, self.row, self.payload) for each in (sizes, rooms))
        w = reserve.words(least, end)
        if len(w) < end:
            places, rooms = tight, sizes
        w[k.Scratch.many], w[k.Scratch.budget] = choices.PARTS, k.FOREVER if self.budget is None else self.budget.most
        for word, place in places.items():
            w[word] = place
        for what, size in sizes.items():
            self._resize(w, what, size)
        for word, n in ((k.Scratch.undo, rooms["undo"]), (k.Scratch.log, rooms["log"] * self.row)):
            reserve.large_pages(w, places[word], places[word] + n)
        old = vars(self).get("w")
        if old is not None:
            for word, width, log in ((k.Scratch.undo_top, 1, k.Scratch.undo), (k.Scratch.log_top, self.row, k.Scratch.log)):
                n = int(old[word]) * width
                w[w[log] : w[log] + n] = old[old[log] : old[log] + n]
            for word in (k.Scratch.undo_top, k.Scratch.owed, k.Scratch.replaced, k.Scratch.log_top, k.Scratch.taken):
                w[word] = old[word]
        self._use(w=w, _rooms=rooms)

    def _resize(self, w: Any, what: str, size: int) -> None:
        if what == "rows":  # INVARIANT: first, as a size may only grow, and an interrupt may come in between
            w[k.Scratch.hashes] = _hashes(size)
        w[CAPACITIES[what]] = size


def directory_at(begin: int, keys: int) -> tuple[int, int, int, int]:
    """Return where the entries of a directory begin that has room for so many keys, its minima, those above, and where it ends."""
    minima = begin + keys * k.KeyEntry.SIZE
    above = minima - (-keys >> k.LEVEL) * k.DeadlineRow.SIZE
    end = above - (-keys >> 2 * k.LEVEL) * k.DeadlineRow.SIZE
    return begin, minima, above, end + (begin - end) % 16


def _part(budget: Budget, words: int) -> int:
    """Return so many words, or fewer where they are more than a part of each thread's share."""
    return words if budget.max_bytes is None else min(words, budget.max_bytes // (reserve.WORD * PART * budget.threads))


def _hashes(rows: int) -> int:
    return 1 << (2 * rows).bit_length()


def _laid_out(sizes: dict[str, int], row: int, payload: int) -> tuple[dict[int, int], int]:
    """Return where each kind of scratch begins, and how many words all of them take."""
    parts = [
        (k.Scratch.undo, sizes["undo"]),
        (k.Scratch.log, sizes["log"] * row),
        (k.Scratch.mark, sizes["places"]),
        (k.Scratch.order, sizes["places"]),
        (k.Scratch.index, sizes["batch"]),
        (k.Scratch.sort, 2 * sizes["batch"]),
        (k.Scratch.pairs, sizes["batch"]),
        (k.Scratch.touched, sizes["batch"]),
        *(
            (word, sizes["rows"] * (row + 2))
            for word in (k.Scratch.new, k.Scratch.source, k.Scratch.old, k.Scratch.other, k.Scratch.ready)
        ),
        (k.Scratch.temp, sizes["temp"]),
        (k.Scratch.hash, 3 * _hashes(sizes["rows"])),
        (k.Scratch.set, 2 * _hashes(sizes["rows"])),
        (k.Scratch.parts, k.PartRow.SIZE * sizes["rows"]),
        (k.Scratch.chains, k.StateChain.SIZE * k.STATES),
        (k.Scratch.held, k.STATES),
        (k.Scratch.loop, k.Loop.payload + payload),
        (k.Scratch.counts, 1 << k.DIGIT),
    ]
    places, at = {}, k.SCRATCH
    for word, size in parts:
        places[word] = at
        at += size + APART
    return places, at


_NEEDS = {k.NEED_UNDO: "undo", k.NEED_LOG: "log", k.NEED_PLACES: "places", k.NEED_ROWS: "rows", k.NEED_TEMP: "temp"}
CAPACITIES = {
    "undo": k.Scratch.undo_cap,
    "log": k.Scratch.log_cap,
    "places": k.Scratch.places,
    "batch": k.Scratch.batch,
    "rows": k.Scratch.rows,
    "temp": k.Scratch.temp_cap,
}
