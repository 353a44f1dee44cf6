"""An image that is short, old or torn is refused in words, before the kernels follow where its words point."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import Automaton, Instant, Keyed, SnapshotError, sql
from afa.compiled.kernel import layout as k
from afa.compiled.kernel import scan_layout as y
from afa.language.query import Query
from afa.spark import operator_image as image
from tests.automata import two_vees
from tests.stress import damaged_images

Change = Callable[[Any], None]


def published(path: Path, rest: int = k.MOST) -> bytes:
    """Return an image of 40 keys of one event; ``rest``: the words that a key at rest may have."""
    op = Keyed(two_vees, key="price", window=50, engine="compiled")
    op._core.engine.store.memory.m[k.Memory.packed_limit] = rest  # type: ignore[attr-defined]
    op.push_many({"price": [float(i) for i in range(40)], "change": [-1.0] * 40, "le": list(range(40))})
    op.snapshot()
    image.publish(op._core, path, "note")
    found = path.read_bytes()
    path.unlink()
    return found


class Letter(NamedTuple):
    key: int
    sort: str
    at: Instant | None = None


def chosen(second: str) -> Query:
    return sql(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at, sort MEASURES COUNT(*) AS n PATTERN (a b+) WITHIN 50 "
        f"DEFINE a AS sort = 'a', b AS {second})",
        event=Letter,
    )


SHARED, OWN = chosen("sort = 'b'"), chosen("at < FIRST(a.at) + 9")
"""Queries that choose: what rows share is what becomes of their classes; classes with registers."""


def scanned(query: Query, path: Path) -> bytes:
    """Return an image of 40 keys, of each of which a match is shown."""
    op = query.operator(engine="compiled")
    op.push_many({"key": [*range(40)] * 3, "sort": ["a"] * 40 + ["b"] * 80, "le": [*range(40), *range(1, 41), *range(2, 42)]})
    op.snapshot()
    image.publish(op._core, path, "note")
    found = path.read_bytes()
    path.unlink()
    return found


def taken(path: Path, found: bytes, automaton: Automaton = two_vees) -> Keyed:
    path.write_bytes(found)
    return Keyed._of(image.Image(path).core(automaton), "price" if automaton is two_vees else "key")


def put(place: Callable[[Any], int], value: int) -> Change:
    """Something else in the word that ``place`` finds."""

    def change(words: Any) -> None:
        words[place(words)] = value

    return change


def at(word: int, value: int) -> Change:
    return put(lambda words: word, value)


def first_of(words: Any) -> int:
    """Where the first key is: its block, or less zero its record."""
    return int(words[words[k.Memory.dir] + k.KeyEntry.block])


def entry(name: int, value: int) -> Change:
    """In the directory's first entry."""
    return put(lambda words: words[k.Memory.dir] + name, value)


def record(word: int, value: int) -> Change:
    """In the first key's record."""
    return put(lambda words: word - first_of(words), value)


def page(word: int, value: int) -> Change:
    """In the page where the first key's record lies."""
    return put(lambda words: (-first_of(words) & -k.PAGE) + word, value)


def header(name: int, value: int) -> Change:
    """In the first block's header."""
    return put(lambda words: first_of(words) + name, value)


def rows(column: int, value: int) -> Change:
    """In the rows of the first block's first step."""
    return put(lambda words: first_of(words) + k.HEAD + column * words[first_of(words) + k.Block.cap], value)


def state(words: Any) -> None:
    """A state that is none, of the first block's first partial match."""
    block = words[words[k.Memory.dir] + k.KeyEntry.block]
    words[block + words[block + k.Block.nodes] + k.NodeRow.state] = 99


def twice(words: Any) -> None:
    """The first two keys hold one record."""
    first = words[k.Memory.dir] + k.KeyEntry.block
    words[first + k.KeyEntry.SIZE] = words[first]


WRONG: list[tuple[Change, str]] = [
    (at(k.Memory.top, 7), r"expected as many words as are in use but got \[7, "),
    (at(k.Memory.keys, 39), r"expected a name for each key but got \[39, 40, "),
    (at(k.Memory.dir, 2**40), r"expected a directory in the memory but got 1099511627776"),
    (at(k.Memory.dir, 3), r"expected a directory in the memory but got 3"),
    (at(k.Memory.above, 2**40), r"expected minima behind the directory but got \["),
    (at(k.Memory.register_words, 9), rf"expected 2 as control word {k.Memory.register_words} but got 9"),
    (at(k.Memory.free + 5, 2**50), r"expected free blocks in the memory"),
    (entry(k.KeyEntry.block, 2**50), r"expected blocks in the memory"),
    (entry(k.KeyEntry.block, -1), r"expected records in the memory"),
    (entry(k.KeyEntry.block, -(2**50)), r"expected records in the memory"),
    (at(k.Memory.unpacked, 2**50), r"expected blocks in the memory"),
    (at(k.Memory.draft, 2**50), r"expected an unpack buffer in the memory"),
    (at(k.Memory.packed_limit, 2**50), r"expected words of a record"),
    (at(k.Memory.pages, 17), r"expected free pages in the memory"),
    (at(k.Memory.cells, 17), r"expected pages in the memory"),
    (record(k.PackedKey.head, 0), r"expected records of some words"),
    (record(k.PackedKey.head, 2**62), r"expected records of some words"),
    (record(k.PackedKey.head, 9), r"expected cells of their class"),
    (record(1 + k.PackedStep.form, 3 | 9 << k.STEP_BITS), r"expected records that can be read"),
    (record(1 + k.PackedStep.form, -1), r"expected records that can be read"),
    (page(k.Page.size_class, 99), r"expected cells of their class"),
    (page(k.Page.free, 2**40), r"expected free cells in their pages"),
    (page(k.Page.top, 2**40), r"expected cells in their pages"),
    (page(k.Page.next, 2**40), r"expected pages in the memory"),
    (page(k.Page.used, 39), r"expected cells in use"),
    (page(k.Page.top, k.CELL), r"expected cells that were used"),
    (page(k.Page.back, k.PAGE), r"expected pages linked both ways"),
    (entry(k.KeyEntry.changed, 2**40), r"expected calls up to the last one"),
    (twice, r"expected cells that one key holds"),
]
BLOCKS: list[tuple[Change, str]] = [
    (header(k.Block.cap, -4), r"expected room in blocks"),
    (header(k.Block.cap, 2**30), r"expected sections of blocks beside each other"),
    (header(k.Block.nodes, 5), r"expected sections of blocks beside each other"),
    (header(k.Block.pending_cap, 2**30), r"expected blocks that end in the memory"),
    (header(k.Block.last, 2**30), r"expected steps of blocks"),
    (header(k.Block.node_top, 2**30), r"expected rows of blocks"),
    (header(k.HEAD, 2**30), r"expected steps in the order of blocks"),
    (header(k.Block.size_class, k.CLASSES), r"expected classes of blocks"),
    (header(k.Block.born, 2**40), r"expected calls up to the last one"),
    (rows(k.Block.nodes_of, 9 << 24 | 1), r"expected rows of steps"),
    (rows(k.Block.events_of, -1), r"expected rows of steps"),
    (state, r"expected states of partial matches"),
]


def shared(word: int, value: int) -> Change:
    """In what rows share."""
    return put(lambda words: int(words[k.Memory.shared]) + word, value)


def classes_at(words: Any, step: int) -> int:
    """Where the classes of a step of the first block stand."""
    block = first_of(words)
    rows = int(words[block + k.HEAD + k.Block.nodes_of * words[block + k.Block.cap] + step])
    width = k.NodeRow.register + int(words[k.Memory.register_words])
    own = block + int(words[block + k.Block.nodes]) + (rows >> 24) * width
    return own if rows & k.COUNT else int(words[k.Memory.shared]) + (rows >> 24)


def classes(word: int, value: int, step: int = 1) -> Change:
    """In the head of the classes of a step."""
    return put(lambda words: classes_at(words, step) + word, value)


def link_at(words: Any) -> int:
    """Where the link of the first class before the second step stands."""
    at = classes_at(words, 1)
    heads, threads = words[at + y.StepClasses.classes], words[at + y.StepClasses.threads]
    return int(at + y.StepClasses.rest + heads * y.ClassHead.SIZE + threads * (y.Thread.register + words[k.Memory.held]))


def link(word: int, value: int) -> Change:
    """In that link."""
    return put(lambda words: link_at(words) + word, value)


def took(value: int) -> Change:
    """Which thread was before that of the second step, and which place took the row."""

    def change(words: Any) -> None:
        words[classes_at(words, 1) + int(words[link_at(words) + y.ClassLink.took])] = value

    return change


def thread(words: Any) -> None:
    """A state that is none, of the first thread of the second step."""
    at = classes_at(words, 1)
    words[at + y.StepClasses.rest + words[at + y.StepClasses.classes] * y.ClassHead.SIZE + y.Thread.state] = 99


def end(word: int, value: int) -> Change:
    """In how the match ends that the first block shows."""
    return put(lambda words: first_of(words) + int(words[first_of(words) + k.Block.matches]) + word, value)


READ = r"expected classes that can be read"
SCANS: list[tuple[Change, str]] = [
    (at(k.Memory.scans, 2), rf"expected 1 as control word {k.Memory.scans} but got 2"),
    (at(k.Memory.held, 9), rf"as control word {k.Memory.held} but got 9"),
    (at(k.Memory.packed_limit, 9), r"expected blocks of all keys"),
    (at(k.Memory.shared, 2**40), r"expected classes that rows share in the memory"),
    (header(k.Block.shown_last, 2**30), READ),
    (header(k.Block.shown_first, -1), READ),
    (rows(k.Block.shown, 1), READ),
    (rows(k.Block.nodes_of, 9 << 24), READ),
    (rows(k.Block.nodes_of, -1), r"expected rows of steps"),
    (rows(k.Block.matches_of, 0), READ),
    (rows(k.Block.le, 99), READ),
    (rows(k.Block.seq, 99), READ),
    (end(k.MatchRow.register + 1, 99), READ),
    (thread, READ),
    *((classes(word, value), READ) for word in range(y.StepClasses.rest + 1) for value in (-2, 2**40)),
    *((link(word, 2**40), READ) for word in (y.ClassLink.to, y.ClassLink.thread, y.ClassLink.took)),
    *((took(value), READ) for value in (-1, 9, 9 << y.PLACE_BITS)),
]
SHARES: list[tuple[Change, str]] = [
    (shared(y.SharedClasses.size_class, 9), r"expected (cells of their class|pages in the memory|classes that can be read)"),
    (shared(y.SharedClasses.top, 2**40), READ),
]


@pytest.mark.parametrize(
    ("change", "message", "make", "automaton"),
    [
        *((*wrong, published, two_vees) for wrong in WRONG),
        *((*wrong, partial(published, rest=0), two_vees) for wrong in BLOCKS),
        *((*wrong, partial(scanned, each), each.automaton) for each in (SHARED, OWN) for wrong in SCANS),
        *((*wrong, partial(scanned, SHARED), SHARED.automaton) for wrong in SHARES),
    ],
)
def test_words_point_into_the_memory(
    change: Change, message: str, make: Callable[[Path], bytes], automaton: Automaton, tmp_path: Path
) -> None:
    found = make(tmp_path / "image")
    assert len(taken(tmp_path / "good", found, automaton).keys) == 40
    top, _ = image.TAIL.unpack(found[-image.TAIL.size :])
    words = np.frombuffer(bytearray(found[: 8 * top]), np.int64)
    change(words)
    with pytest.raises(SnapshotError, match=message):
        taken(tmp_path / "torn", words.tobytes() + found[8 * top :], automaton)
    assert not list(tmp_path.iterdir()), "it is left behind"


def test_any_word_of_an_image_may_be_damaged() -> None:
    ends = damaged_images.WORLDS.run("sample", range(150))
    assert ends.keys() == {"refused", "taken"}, ends
    assert min(ends.values()) > 30, ends


def test_an_image_is_whole(tmp_path: Path) -> None:
    found = published(tmp_path / "image")
    for torn in (b"", found[:9], found[:-1], found[8:], found[:-400] + found[-380:], b"\xff" * 60):
        with pytest.raises(SnapshotError, match=r"expected (an image but got something else|a whole image)"):
            taken(tmp_path / "torn", torn)
    for i in range(len(found) - 200, len(found) - image.TAIL.size, 3):  # in what stands behind the words
        torn = found[:i] + bytes([found[i] ^ 0xFF]) + found[i + 1 :]
        try:
            taken(tmp_path / "torn", torn)._check()
        except SnapshotError:
            continue
