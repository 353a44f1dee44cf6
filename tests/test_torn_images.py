"""An image that is short, old or torn is refused in words, before the kernels follow where its words point."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from afa import Keyed, SnapshotError
from afa.compiled.kernel import names as k
from afa.spark import operator_image as image
from tests.automata import two_vees
from tests.stress import damaged_images

Change = Callable[[Any], None]


def published(path: Path, rest: int = k.MOST) -> bytes:
    """Return an image of 40 keys of one event; ``rest``: the words that a key at rest may have."""
    op = Keyed(two_vees, key="price", window=50, engine="compiled")
    op._core.engine.store.memory.m[k.C_REST] = rest  # type: ignore[attr-defined]
    op.push_many({"price": [float(i) for i in range(40)], "change": [-1.0] * 40, "le": list(range(40))})
    op.snapshot()
    image.publish(op._core, path, "note")
    found = path.read_bytes()
    path.unlink()
    return found


def taken(path: Path, found: bytes) -> Keyed:
    path.write_bytes(found)
    return Keyed._of(image.Image(path).core(two_vees), "price")


def put(place: Callable[[Any], int], value: int) -> Change:
    """Something else in the word that ``place`` finds."""

    def change(words: Any) -> None:
        words[place(words)] = value

    return change


def at(word: int, value: int) -> Change:
    return put(lambda words: word, value)


def first_of(words: Any) -> int:
    """Where the first key is: its block, or less zero its record."""
    return int(words[words[k.C_DIR] + k.D_BLOCK])


def entry(name: int, value: int) -> Change:
    """In the directory's first entry."""
    return put(lambda words: words[k.C_DIR] + name, value)


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
    return put(lambda words: first_of(words) + k.HEAD + column * words[first_of(words) + k.H_CAP], value)


def state(words: Any) -> None:
    """A state that is none, of the first block's first partial match."""
    block = words[words[k.C_DIR] + k.D_BLOCK]
    words[block + words[block + k.H_NODES] + k.N_STATE] = 99


def twice(words: Any) -> None:
    """The first two keys hold one record."""
    first = words[k.C_DIR] + k.D_BLOCK
    words[first + k.D_SIZE] = words[first]


WRONG: list[tuple[Change, str]] = [
    (at(k.C_TOP, 7), r"expected as many words as are in use but got \[7, "),
    (at(k.C_KEYS, 39), r"expected a name for each key but got \[39, 40, "),
    (at(k.C_DIR, 2**40), r"expected a directory in the memory but got 1099511627776"),
    (at(k.C_DIR, 3), r"expected a directory in the memory but got 3"),
    (at(k.C_ABOVE, 2**40), r"expected minima behind the directory but got \["),
    (at(k.C_R, 9), rf"expected 2 as control word {k.C_R} but got 9"),
    (at(k.C_FREE + 5, 2**50), r"expected free blocks in the memory"),
    (entry(k.D_BLOCK, 2**50), r"expected blocks in the memory"),
    (entry(k.D_BLOCK, -1), r"expected records in the memory"),
    (entry(k.D_BLOCK, -(2**50)), r"expected records in the memory"),
    (at(k.C_DESK, 2**50), r"expected blocks in the memory"),
    (at(k.C_DRAFT, 2**50), r"expected a desk in the memory"),
    (at(k.C_REST, 2**50), r"expected words of a record"),
    (at(k.C_PAGES, 17), r"expected free pages in the memory"),
    (at(k.C_CELLS, 17), r"expected pages in the memory"),
    (record(k.Z_HEAD, 0), r"expected records of some words"),
    (record(k.Z_HEAD, 2**62), r"expected records of some words"),
    (record(k.Z_HEAD, 9), r"expected cells of their class"),
    (record(1 + k.S_FORM, 3 | 9 << k.STEP_BITS), r"expected records that can be read"),
    (record(1 + k.S_FORM, -1), r"expected records that can be read"),
    (page(k.A_CLASS, 99), r"expected cells of their class"),
    (page(k.A_FREE, 2**40), r"expected free cells in their pages"),
    (page(k.A_TOP, 2**40), r"expected cells in their pages"),
    (page(k.A_NEXT, 2**40), r"expected pages in the memory"),
    (page(k.A_USED, 39), r"expected cells in use"),
    (page(k.A_TOP, k.CELL), r"expected cells that were used"),
    (page(k.A_BACK, k.PAGE), r"expected pages linked both ways"),
    (entry(k.D_CHANGED, 2**40), r"expected calls up to the last one"),
    (twice, r"expected cells that one key holds"),
]
BLOCKS: list[tuple[Change, str]] = [
    (header(k.H_CAP, -4), r"expected room in blocks"),
    (header(k.H_CAP, 2**30), r"expected sections of blocks beside each other"),
    (header(k.H_NODES, 5), r"expected sections of blocks beside each other"),
    (header(k.H_PENDING_CAP, 2**30), r"expected blocks that end in the memory"),
    (header(k.H_LAST, 2**30), r"expected steps of blocks"),
    (header(k.H_NODE_TOP, 2**30), r"expected rows of blocks"),
    (header(k.HEAD, 2**30), r"expected steps in the order of blocks"),
    (header(k.H_CLASS, k.CLASSES), r"expected classes of blocks"),
    (header(k.H_BORN, 2**40), r"expected calls up to the last one"),
    (rows(k.ND, 9 << 24 | 1), r"expected rows of steps"),
    (rows(k.EV, -1), r"expected rows of steps"),
    (state, r"expected states of partial matches"),
]


@pytest.mark.parametrize(
    ("change", "message", "rest"), [*((*wrong, k.MOST) for wrong in WRONG), *((*wrong, 0) for wrong in BLOCKS)]
)
def test_words_point_into_the_memory(change: Change, message: str, rest: int, tmp_path: Path) -> None:
    found = published(tmp_path / "image", rest)
    assert len(taken(tmp_path / "good", found).keys) == 40
    top, _ = image.TAIL.unpack(found[-image.TAIL.size :])
    words = np.frombuffer(bytearray(found[: 8 * top]), np.int64)
    change(words)
    with pytest.raises(SnapshotError, match=message):
        taken(tmp_path / "torn", words.tobytes() + found[8 * top :])
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
