"""Images: the engine's memory as it is, for another process of this machine, which derives nothing anew.

names   plain data     what the words mean: strings, states and keys by their numbers
words   m[:m.top]      blocks and directory hold no address, only places; the control words that do are set anew

Only the user who runs the process can write an image (`afa.spark.shared`). So what is checked is not who made it but what damage
can do: whatever words are others, no offset leads beyond the memory, nothing is held twice, and chains end. What else rows say
is believed. O(keys, steps and rows of blocks).
"""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from afa.compiled.kernel import layout as k
from afa.compiled.kernel import scan_layout as y
from afa.compiled.kernel.heap import class_of, size_of
from afa.compiled.kernel.slabs import BLOCKS, RECORDS, cell_class, cell_words
from afa.compiled.kernel.unpacked import unpack_rooms
from afa.compiled.key_image import image_of
from afa.compiled.mapped_heap import FileHeap
from afa.compiled.memory import EMPTY, WordArray, directory_at
from afa.compiled.store import Store
from afa.errors import AfaError
from afa.state.sound import wanted

# Check that used and free words of a heap lie apart, and that its chains end (`afa.compiled.kernel.heap`, `slabs`).
#     heap     | control | directory | page | block of a key | page | free block | ..      no two of them share a word
#     page     | head | cell held | cell free | cell held | never used ..                  each cell is held once, or free once
#
# What was skipped between two of them is nobody's. O(words / 4) bytes, and time of the cells.
WORDS = np.array([cell_words(size) for size in range(RECORDS + BLOCKS + 1)])
CLASSES = np.array([0, *map(cell_class, range(1, k.MOST + 1))])
LEAST = 4
"""The words of the smallest cell: of so many words side by side one begins a cell at most."""


def sizes_up_to(words: int) -> Any:
    """Return the words of blocks by size class, for classes that have no more than so many."""
    return np.array([size_of(size) for size in range(min(class_of(max(words, 1)) + 1, k.CLASSES))])


def check_heap(m: Any, held: Any, room: int) -> None:
    """Check the chains of a heap, with room for so many keys. ``held``: KeyEntry.block of all keys, each within the heap.

    Raises SnapshotError.
    """
    top = int(m[k.Memory.top])
    sizes = sizes_up_to(top)
    blocks = held[held > 0]
    own = [int(m[word]) - less for word, less in ((k.Memory.unpacked, 0), (k.Memory.draft, 1), (k.Memory.shared, 0)) if m[word]]
    blocks = np.append(blocks, np.array(own, np.int64))
    kinds = m[blocks]
    wanted("classes of blocks", ((kinds >= 0) & (kinds < len(sizes))).all())
    small = kinds <= BLOCKS if m[k.Memory.keyed] else np.zeros(len(blocks), np.bool_)
    large, many = blocks[~small], sizes[kinds[~small]]
    found = _free_blocks(m, top, sizes)
    pages = np.zeros(0, np.int64)
    if m[k.Memory.keyed]:
        records = -held[held < 0]
        cells = np.concatenate([records, blocks[small]])
        pages = _check_pages(m, cells, np.concatenate([CLASSES[m[records] & k.HEAD_MASK], kinds[small] + RECORDS]), top)
    begin, *_, end = directory_at(int(m[k.Memory.dir]), room)
    begins = np.concatenate([[0, begin], large, found[0], pages])
    lengths = np.concatenate([[k.CONTROL, end - begin], many, found[1], np.full(len(pages), k.PAGE)])
    order = np.argsort(begins)
    wanted("blocks and pages apart", (begins[order] + lengths[order] <= np.append(begins[order][1:], top)).all())


def _free_blocks(m: Any, top: int, sizes: Any) -> tuple[Any, Any]:
    """Return where free blocks begin, and their words."""
    found: list[int] = []
    words: list[int] = []
    for size in np.flatnonzero(m[k.Memory.free : k.Memory.free + k.CLASSES]).tolist():
        at = int(m[k.Memory.free + size])
        while at:
            inside = size < len(sizes) and k.CONTROL <= at <= top - sizes[size] and len(found) <= top // sizes[0]
            wanted("free blocks in the memory", inside, at)
            found.append(at)
            words.append(int(sizes[size]))
            at = int(m[at])
    return np.array(found, np.int64), np.array(words, np.int64)


def _check_pages(m: Any, cells: Any, kinds: Any, top: int) -> Any:
    """Check cells in use, of these classes, with their pages and the free cells there. Returns all pages."""
    homes = cells & -k.PAGE
    wanted("pages in the memory", ((homes >= k.CONTROL) & (homes <= top - k.PAGE)).all())
    wanted("cells of their class", (m[homes + k.Page.size_class] == kinds).all())
    wanted("cells beside each other", ((cells - homes >= k.CELL) & ((cells - homes - k.CELL) % WORDS[kinds] == 0)).all())
    marks = np.zeros(top // LEAST + 1, np.bool_)
    marks[cells // LEAST] = True
    wanted("cells that one key holds", np.count_nonzero(marks) == len(cells))
    pages, used = np.unique(homes, return_counts=True)
    size, tops = m[pages + k.Page.size_class], m[pages + k.Page.top]
    words = WORDS[size]
    wanted("cells in their pages", ((tops >= k.CELL) & (tops <= k.PAGE) & ((tops - k.CELL) % words == 0)).all())
    wanted("cells that were used", (cells - homes < m[homes + k.Page.top]).all())
    wanted("cells in use", (m[pages + k.Page.used] == used).all())
    _check_free_cells(m, pages, marks, words, tops)
    with_room = (m[pages + k.Page.free] != 0) | (tops + words <= k.PAGE)
    chained = [page for of in range(len(WORDS)) for page in _chain(m, int(m[k.Memory.cells + of]), of, top)]
    wanted("pages with room in their chains", sorted(chained) == pages[with_room].tolist())
    free = _chain(m, int(m[k.Memory.pages]), k.NOWHERE, top)
    return np.append(pages, np.array(free, np.int64))


def _check_free_cells(m: Any, pages: Any, marks: Any, words: Any, tops: Any) -> None:
    """Follow the chains of free cells of all pages side by side; ``marks``: cells in use. Each cell is in use or free, once."""
    at, left = m[pages + k.Page.free], np.arange(len(pages))
    free = np.zeros(len(pages), np.int64)
    while (on := at != 0).any():
        at, left = at[on], left[on]
        offset = at - pages[left]
        inside = (offset >= k.CELL) & (offset < tops[left])
        wanted("free cells in their pages", inside.all() and ((offset - k.CELL) % words[left] == 0).all())
        wanted("free cells that are free once", not marks[at // LEAST].any())
        marks[at // LEAST] = True
        free[left] += 1
        at = m[at]
    wanted("cells held or free", ((tops - k.CELL) // words == m[pages + k.Page.used] + free).all())


def _chain(m: Any, page: int, kind: int, top: int) -> list[int]:
    """Return the pages of a chain, all of which are of one class; those that have room are linked both ways."""
    found: list[int] = []
    while page:
        said = "free pages in the memory" if kind == k.NOWHERE else "pages in the memory"
        wanted(said, k.CONTROL <= page <= top - k.PAGE and page % k.PAGE == 0 and len(found) <= top // k.PAGE, page)
        wanted("pages of a class in its chain", m[page + k.Page.size_class] == kind, page)
        wanted("pages linked both ways", kind == k.NOWHERE or m[page + k.Page.back] == (found[-1] if found else 0), page)
        found.append(page)
        page = int(m[page + k.Page.next])
    return found


SECTIONS = (k.Block.events, k.Block.nodes, k.Block.matches, k.Block.pending)
CAPS = (k.Block.event_cap, k.Block.node_cap, k.Block.match_cap, k.Block.pending_cap)
TOPS = (k.Block.event_top, k.Block.node_top, k.Block.match_top, k.Block.pending_top)
SCAN = (k.Memory.scans, k.Memory.held, k.Memory.measured, k.Memory.all_rows, k.Memory.shares)
"""Control words that say how a scan chooses."""
MOST = 1 << 40
"""A number of words, rows or keys that no memory holds."""


def names(store: Store) -> list[Any]:
    """Return the meaning of the words. *Requires* that no call is under way, and that nothing has changed since a snapshot."""
    if not store.directory.as_saved:
        raise AfaError("expected an operator whose last call was snapshot() but got one that has changed since")
    return [
        int(store.memory.m[k.Memory.top]),
        store.memory.keys,
        store.memory.sizes,
        store.strings.numbers(),
        store.arcs.numbers(),
        image_of(store.directory.keys),
        store.directory.since,
        store.idle,
    ]


def words(store: Store) -> Any:
    return store.memory.m[: store.memory.m[k.Memory.top]]


def take_names(store: Store, found: list[Any]) -> None:
    """Give strings and states the numbers that they had, before any arc is in force; those that are none raise."""
    top, room, sizes, (texts, free, bound), (states, with_runs, *_), keys, since, idle = found
    numbers = [top, room, bound, since, idle, with_runs, keys[0], *free]
    wanted("numbers", all(type(n) in (int, bool) for n in numbers) and min(top, room) >= 0, numbers)
    wanted("names of strings and states", isinstance(texts, list) and set(map(type, [*texts, *states])) <= {str}, states)
    wanted("numbers of strings", all(0 <= number < len(texts) for number in free), free)
    _check_sizes(sizes, store.memory.sizes)
    store.strings.take_numbers(found[3])
    store.arcs.take_numbers(found[4])


def take_words(store: Store, found: list[Any], file: FileHeap) -> None:
    """Use the words of a file as the memory, once the arcs are in force.

    Raises OSError (the file system has no room), SnapshotError (the words point beyond the memory).
    """
    top, room, sizes, _, _, keys, since, store.idle = found
    words = store.memory.m
    fixed = {
        name: int(words[name])
        for name in (
            k.Memory.payload_words,
            k.Memory.register_words,
            k.Memory.ordered,
            k.Memory.keyed,
            k.Memory.seq,
            k.Memory.small,
            k.Memory.shards,
            k.Memory.shard,
            *SCAN,
        )
    }
    wanted("as many words as control words at least", top >= k.CONTROL, top)
    here = file.mapped(top)
    _check_words(here, top, room, keys[0], fixed, len(store.arcs.states))
    _check_records(store, here, file, keys[0])
    store.memory.adopt(here, file, sizes)
    store.directory.take(keys, since)
    store.arcs.installed()


def _check_sizes(sizes: Any, known: dict[str, int]) -> None:
    wanted("sizes of scratch", isinstance(sizes, dict) and sizes.keys() == known.keys(), sizes)
    wanted("sizes of scratch", all(type(size) is int and 0 < size < MOST for size in sizes.values()), sizes)


def _check_words(m: Any, top: int, room: int, keys: int, fixed: dict[int, int], states: int) -> None:
    """Check the words of a heap, of which ``top`` are in use, with room for so many keys. ``fixed``: control words by number."""
    control = m[: k.CONTROL].tolist()
    directory = control[k.Memory.dir]
    wanted("as many words as are in use", control[k.Memory.top] == top, [control[k.Memory.top], top])
    wanted("a name for each key", control[k.Memory.keys] == keys <= room < MOST, [control[k.Memory.keys], keys, room])
    *places, end = directory_at(directory, room)
    wanted("a directory in the memory", directory >= k.CONTROL and end <= top, directory)
    wanted("minima behind the directory", control[k.Memory.dir : k.Memory.dir + 3] == places, places)
    for name, value in fixed.items():
        wanted(f"{value} as control word {name}", control[name] == value, control[name])
    entries = m[directory : directory + keys * k.KeyEntry.SIZE].reshape(keys, k.KeyEntry.SIZE)
    held = entries[:, k.KeyEntry.block]
    wanted("nothing held of what is no key", not m[directory + keys * k.KeyEntry.SIZE : places[1] : k.KeyEntry.SIZE].any())
    wanted(
        "rows that a step may have",
        all(0 <= n <= top << 6 for n in control[k.Memory.rate : k.Memory.rate + 3]),
        control[k.Memory.rate],
    )
    wanted("calls up to the last one", (entries[:, k.KeyEntry.changed] <= control[k.Memory.serial]).all())
    blocks = held[held > 0]
    if control[k.Memory.unpacked]:
        blocks = np.append(blocks, control[k.Memory.unpacked])
    wanted("blocks in the memory", ((blocks >= k.CONTROL) & (blocks <= top - k.HEAD)).all())
    if control[k.Memory.keyed]:
        _check_cells(m, held, top)
    scans, shared = control[k.Memory.scans], control[k.Memory.shared]
    wanted("classes that rows share in the memory", shared == 0 or (scans and k.CONTROL <= shared <= top - y.SHARED_WORDS), shared)
    wanted("blocks of all keys", not scans or (control[k.Memory.packed_limit] == 0 and (held >= 0).all()))
    check_heap(m, held, room)
    _check_headers(m, blocks, top, control[k.Memory.payload_words], control[k.Memory.register_words], bool(scans))
    wanted("calls up to the last one", (m[blocks + k.Block.born] <= control[k.Memory.serial]).all())
    if scans:
        return  # what stands in the place of partial matches is looked at with records
    wanted("no matches of a scan", not (m[blocks + k.Block.shown_first] | m[blocks + k.Block.shown_last]).any())
    n, width = m[blocks + k.Block.node_top], k.NodeRow.register + control[k.Memory.register_words]
    found = m[np.repeat(blocks + m[blocks + k.Block.nodes] + k.NodeRow.state, n) + width * _counted(n)]
    wanted("states of partial matches", ((found >= 0) & (found < states)).all())


def _check_cells(m: Any, held: Any, top: int) -> None:
    """Check that packed keys have an unpack buffer, and records that lie within ``top`` words.

    ``held``: KeyEntry.block of all keys. See `afa.compiled.kernel.packed_keys` and `unpacked`.
    """
    unpacked, draft = int(m[k.Memory.unpacked]), int(m[k.Memory.draft])
    wanted("words of a record", 0 <= m[k.Memory.packed_limit] <= k.MOST, m[k.Memory.packed_limit])
    records = -held[held < 0]
    wanted("records in the memory", ((records >= k.CONTROL) & (records < top - k.PackedStep.rest)).all())
    wanted("an unpack buffer for records", not len(records) or (unpacked and draft), [unpacked, draft])
    if unpacked:
        wanted(
            "an unpack buffer in the memory",
            k.CONTROL < unpacked <= top - k.HEAD and k.CONTROL < draft <= top - 3 * k.MOST,
            [unpacked, draft],
        )
        caps = [
            int(m[unpacked + name])
            for name in (k.Block.cap, k.Block.event_cap, k.Block.node_cap, k.Block.match_cap, k.Block.pending_cap)
        ]
        wanted(
            "an unpack buffer with room",
            all(
                n >= least for n, least in zip(caps, unpack_rooms(int(m[k.Memory.payload_words]), int(m[k.Memory.register_words])))
            ),
            caps,
        )
    words = m[records] & k.HEAD_MASK
    wanted("records of some words", ((words > 0) & (words <= k.MOST) & (words <= top - records)).all())


def _check_records(store: Store, words: Any, file: FileHeap, keys: int) -> None:
    """Check that the records of ``keys`` keys can be read, and all classes of a scan, by the kernels that read them."""
    memory = copy.copy(store.memory)
    memory._use(m=words, file=file)
    strings = len(store.strings) if store.ordered == 2 else k.FOREVER
    words[k.Memory.ranks] = store.strings.ranks().ctypes.data if store.ordered == 2 else 0
    batch = WordArray(np.stack([np.arange(keys), np.full(keys, strings)])) if keys else EMPTY
    found = store._main(memory, store.arcs.program, batch, k.SOUND, len(store.arcs.states), keys)
    wanted(f"{'records' if store.scan is None else 'classes'} that can be read", found == 0, found)


def _check_headers(m: Any, blocks: Any, top: int, v: int, r: int, scans: bool) -> None:
    """Sections follow on each other, within the memory, and are full up to their room at most.

    ``scans``: a step may point to classes that rows share, in the place of nodes.
    """
    head = {name: m[blocks + name] for name in (k.Block.cap, k.Block.first, k.Block.last, k.Block.steps, *SECTIONS, *CAPS, *TOPS)}
    cap, caps = head[k.Block.cap], [head[name] for name in CAPS]
    wanted("room in blocks", all(((size >= 0) & (size < MOST)).all() for size in (cap, *caps)))
    at = k.HEAD + (k.COLUMNS if scans else k.NO_SCAN) * cap
    for section, room, width in zip(
        SECTIONS, caps, (k.EventRow.payload + v, k.NodeRow.register + r, k.MatchRow.register + r, k.PendingRow.payload + v)
    ):
        wanted("sections of blocks beside each other", (head[section] == at).all())
        at = at + width * room
    wanted("blocks that end in the memory", (at <= top - blocks).all())
    first, last, steps = (head[name] for name in (k.Block.first, k.Block.last, k.Block.steps))
    wanted("steps of blocks", ((first >= 0) & (first <= last) & (last <= steps) & (steps <= cap)).all())
    wanted("rows of blocks", all(((head[name] >= 0) & (head[name] <= room)).all() for name, room in zip(TOPS, caps)))
    order = m[np.repeat(blocks + k.HEAD + first, last - first) + _counted(last - first)]
    wanted("steps in the order of blocks", ((order >= 0) & (order < np.repeat(steps, last - first))).all())
    at = np.repeat(blocks, last - first) + k.HEAD + order
    for column, name in (
        (k.Block.events_of, k.Block.event_top),
        (k.Block.nodes_of, k.Block.node_top),
        (k.Block.matches_of, k.Block.match_top),
    ):
        rows = m[at + np.repeat(column * cap, last - first)]
        inside = (rows >> 24) + (rows & k.COUNT) <= np.repeat(head[name], last - first)
        shared = (rows & k.COUNT == 0) & (scans and column == k.Block.nodes_of)
        wanted("rows of steps", ((rows >= 0) & (inside | shared)).all())


def _counted(lengths: Any) -> Any:
    """0, 1, .. for each of the lengths."""
    ends = np.cumsum(lengths)
    return np.arange(int(ends[-1]) if len(ends) else 0) - np.repeat(ends - lengths, lengths)
