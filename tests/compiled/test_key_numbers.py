"""The numbers of keys, against a dictionary of Python: equal keys have one number, in whatever form they come."""

from __future__ import annotations

import contextlib
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from afa.compiled import key_arrays, key_numbers, reserve
from afa.compiled.kernel import key_layout as t
from afa.compiled.kernel.key_hash import tag_of
from afa.compiled.key_image import image_of, take_image
from afa.compiled.key_numbers import KeyNumbers
from afa.compiled.key_parts import form_of
from afa.errors import SnapshotError
from afa.model.keys import take_key
from afa.schema import Field
from afa.state.key_columns import KeyColumns
from afa.state.plain import Unfit, field_columns, keys_in, values_of
from tests.compiled.hostile_keys import columns, key
from tests.compiled.plain import plain
from tests.nojit import DISABLED

tag_of = plain(tag_of)

WORLDS = range(3) if DISABLED else range(12)
MASKS = [key_arrays.MASK, 3 << 29, 3, 0]
"""Bits of tags: all; few places and few tags; one place; one tag."""


class Slow:
    """The same by a dictionary."""

    def __init__(self) -> None:
        self.codes: dict[Any, int] = {}
        self.names: dict[int, Any] = {}

    def agree(self, name: Any, code: int) -> None:
        if name in self.codes:
            assert self.codes[name] == code, f"two numbers of {name!r}"
            return
        assert code not in self.names, f"one number of {name!r} and {self.names[code]!r}"
        self.codes[name], self.names[code] = code, name

    def forget(self, codes: list[int]) -> None:
        for code in codes:
            del self.codes[self.names.pop(code)]


def same(found: Any, name: Any) -> None:
    assert type(found) is type(name), f"expected {name!r} but got {found!r}"
    assert found == name or found is name, f"expected {name!r} but got {found!r}"
    if isinstance(name, tuple):
        for a, b in zip(found, name):
            same(a, b)


def told(numbers: KeyNumbers) -> list[int]:
    found: list[int] = np.atleast_1d(numbers.given()).tolist()
    return found


def check(numbers: KeyNumbers, slow: Slow, rng: random.Random) -> None:
    assert numbers.live().tolist() == sorted(slow.names)
    for code, name in slow.names.items():
        same(numbers.name(code), name)
    some = [code for code in slow.names if rng.random() < 0.7]
    for name, code in zip(numbers.names_of(np.array(some, np.int64)), some):
        same(name, slow.names[code])


def by_columns(numbers: KeyNumbers, slow: Slow, rng: random.Random) -> None:
    given, single = columns(rng)
    try:
        codes = numbers.numbers_of(given, single, len(given[0]))
    except Unfit:
        with pytest.raises(Unfit):
            keys_in(given, single, len(given[0]))
        return
    lists = [column.to_pylist() if hasattr(column, "to_pylist") else list(column) for column in given]
    for name, code in zip(lists[0] if single else zip(*lists), codes.tolist()):
        slow.agree(take_key(name), code)


def by_texts(numbers: KeyNumbers, slow: Slow, rng: random.Random) -> None:
    texts = list(dict.fromkeys(name for name in [key(rng) for _ in range(9)] if type(name) is str))
    if texts:
        places = [*range(len(texts)), *rng.choices(range(len(texts)), k=5)]
        for place, code in zip(places, numbers.numbers_of_texts(texts, np.array(places)).tolist()):
            slow.agree(texts[place], code)


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("seed", WORLDS)
def test_equal_keys_have_one_number(seed: int, mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_arrays, "MASK", mask)
    rng, numbers, slow, news = random.Random(seed), KeyNumbers(), Slow(), set[int]()
    for step in range(60 if DISABLED else 150):
        how = rng.random()
        if how < 0.7:
            name = take_key(key(rng))
            assert numbers.find(name) == slow.codes.get(name), name
            slow.agree(name, numbers.code(name))
        elif how < 0.8:
            gone = [code for code in slow.names if rng.random() < 0.3]
            numbers.gone(np.array(gone, np.int64))
            slow.forget(gone)
        elif how < 0.9:
            by_columns(numbers, slow, rng)
        else:
            by_texts(numbers, slow, rng)
        assert len(numbers) == len(slow.names)
        if step % 20 == 0:
            check(numbers, slow, rng)
            assert news.union(told(numbers)) >= slow.names.keys(), "a number that is not told to be new"
            news = set(slow.names)


@pytest.mark.parametrize("mask", [key_arrays.MASK, 7 << 28])
def test_many_come_and_go(mask: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many sizes, so that the arena is made anew; what is left is where it was."""
    monkeypatch.setattr(key_arrays, "MASK", mask)
    monkeypatch.setattr(key_arrays, "SMALL", 64)
    n = 60 if DISABLED else 3_000 if mask == key_arrays.MASK else 600
    numbers, slow, rng = KeyNumbers(), Slow(), random.Random(1)
    sizes = []
    for turn in range(12):
        texts = [f"{turn}-{i}" + "x" * rng.randrange(1 + 9 * turn) for i in range(n)]
        others = [(i, text) for i, text in enumerate(texts)]
        for names in (texts, others):
            for name, code in zip(names, numbers.numbers_of_keys(KeyColumns.of(names)).tolist()):
                slow.agree(name, code)
        assert len(numbers) == len(slow.names)
        gone = [code for code in slow.names if rng.random() < 0.95]
        numbers.gone(np.array(gone, np.int64))
        slow.forget(gone)
        check(numbers, slow, rng)
        sizes.append(numbers.arrays.nbytes / sum(map(len, texts)))
    assert numbers.top <= 3 * n
    assert max(sizes[6:]) < 3 * max(sizes[:3])


def test_what_a_key_takes() -> None:
    """26 bytes of an int: its value, its kind, and its slot."""
    n = 1_000 if DISABLED else 1_000_000
    numbers = KeyNumbers()
    assert numbers.numbers_of([np.arange(n) * 1_000_003], True, n).tolist() == list(range(n))
    assert DISABLED or numbers.arrays.nbytes <= 26 * n
    turned = np.arange(n)[::-1]
    assert (numbers.numbers_of([turned * 1_000_003], True, n) == turned).all()


def test_only_entries_of_a_dictionary_that_occur_are_keys() -> None:
    numbers, texts = KeyNumbers(), pa.array([f"k{i}" for i in range(100)])
    array = pa.DictionaryArray.from_arrays(pa.array([7, 3, 7], pa.int8()), texts)
    assert numbers.numbers_of([array], True, 3).tolist() == [1, 0, 1]
    assert len(numbers) == 2
    assert numbers.numbers_of([pa.array(["k7", "k3"])], True, 2).tolist() == [1, 0]


@pytest.mark.parametrize("differ", [1, 3, 40, 5000])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("blank", ["", "x"])
def test_objects_of_a_text_column(differ: int, shared: bool, blank: str) -> None:
    """Rows that share their objects, as read from a file, and rows of which each has one of its own: one answer, None or not."""
    rng = np.random.default_rng(differ)
    texts = np.array([None, blank, *(f"text {i}" for i in range(differ))], object)
    column = texts[rng.integers(0, len(texts), 6000)]
    column = np.array([text if text is None or shared else text[:1] + text[1:] for text in column.tolist()], object)
    for rows in (column, np.repeat(column[:, None], 2, axis=1)[:, 1], column[::-1][:3000]):
        (found,) = field_columns([rows], [Field("text", str, True)], len(rows))
        assert values_of(found, str) == rows.tolist()
        assert found.texts is not None
        assert len(set(found.texts)) == len(found.texts)
        places, keys = keys_in([rows], True, len(rows))
        assert [keys[place] for place in places.tolist()] == rows.tolist()
        assert len(set(keys)) == len(keys)
    with pytest.raises(Unfit):
        field_columns([column], [Field("text", str, False)], len(column))
    column[7] = 5
    with pytest.raises(Unfit):
        field_columns([column], [Field("text", str, True)], len(column))


def test_what_is_masked_is_missing_in_a_long_text_column_too() -> None:
    rows = np.ma.masked_array(np.array(["up", "down"] * 3000, object), np.arange(6000) % 3 == 0)
    (found,) = field_columns([rows], [Field("text", str, True)], len(rows))
    assert values_of(found, str) == rows.tolist()
    places, keys = keys_in([rows], True, len(rows))
    assert [keys[place] for place in places.tolist()] == rows.tolist()


def test_two_nulls_in_a_dictionary_are_taken_row_by_row() -> None:
    rows = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 3]), pa.array([None, "", None, "a"]))
    with pytest.raises(Unfit):
        field_columns([rows], [Field("text", str, True)], len(rows))


@pytest.mark.parametrize("kind", [pa.int16(), pa.uint64()])
@pytest.mark.parametrize("rows", [0, 1, 3, 2000])
def test_a_few_rows_of_a_large_dictionary(rows: int, kind: pa.DataType) -> None:
    """Few enough that it is not gone through, and many."""
    texts = [f"k{i}" for i in range(2000)]
    places = [(i * 7 + 1999) % 2000 if i % 3 else 5 for i in range(rows)]
    array = pa.DictionaryArray.from_arrays(pa.array(places, kind), pa.array(texts))
    numbers = KeyNumbers()
    assert list(numbers.names_of(numbers.numbers_of([array], True, rows))) == [texts[i] for i in places]
    assert len(numbers) == len(set(places))


def test_text_that_is_no_utf_8_is_no_key() -> None:
    offsets, data = pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff\xfe")
    numbers, array = KeyNumbers(), pa.StringArray.from_buffers(2, offsets, data)
    with pytest.raises(Unfit):
        numbers.numbers_of([array], True, 2)
    assert len(numbers) == 0


def test_texts_beyond_their_bytes_are_not_read() -> None:
    array = pa.LargeStringArray.from_buffers(2, pa.py_buffer(np.array([0, 2**40, 3])), pa.py_buffer(b"abc"))
    with pytest.raises(Unfit):
        KeyNumbers().numbers_of([array], True, 2)


def test_where_memory_is_short_no_key_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each request for memory is refused once: what is there is there, and what was given so far is told."""
    monkeypatch.setattr(key_arrays, "SMALL", 64)
    names = [*range(300), *(f"k{i}" * (1 + i % 5) for i in range(300)), *((i, str(i)) for i in range(300))]
    asked, mapped = [0], reserve.mapped

    def refusing(size: int) -> Any:
        asked[0] += 1
        if asked[0] % 2:
            raise MemoryError("expected memory but the system has no more")
        return mapped(size)

    monkeypatch.setattr(reserve, "mapped", refusing)
    monkeypatch.setattr(reserve, "roomy", lambda: False)
    numbers, known, refused = KeyNumbers(), set[int](), 0
    for part in (names[:300], names[300:600], names[600:]):
        while True:
            try:
                codes = numbers.numbers_of_keys(KeyColumns.of(part))
                break
            except MemoryError:
                refused += 1
                known.update(told(numbers))
                assert known == set(numbers.live().tolist())
        assert list(numbers.names_of(codes)) == part
        known.update(told(numbers))
    assert refused > 5
    assert numbers.live().tolist() == sorted(known) == list(range(len(names)))


def test_keys_that_python_alone_tells_apart_may_share_a_hash() -> None:
    class Odd:
        def __hash__(self) -> int:
            return 7

    keys, numbers = [Odd() for _ in range(50)], KeyNumbers()
    assert [numbers.code(each) for each in keys] == [numbers.code(each) for each in keys] == list(range(50))
    numbers.gone(np.arange(0, 50, 2))
    assert [numbers.find(each) for each in keys] == [None if i % 2 == 0 else i for i in range(50)]
    assert all(numbers.name(i) is keys[i] for i in range(1, 50, 2))


def test_numbers_may_be_taken_over() -> None:
    numbers = KeyNumbers()
    take_image(numbers, [8, [None, ["a"], None, None, ["b"], ["c"], None, None]])
    assert [numbers.find(name) for name in ["a", "b", "c"]] == [1, 4, 5]
    assert not numbers.news
    assert [numbers.code(i) for i in range(6)] == [0, 2, 3, 6, 7, 8]
    assert sorted(told(numbers)) == [0, 2, 3, 6, 7, 8]
    with pytest.raises(ValueError, match="expected keys of which none is there twice"):
        take_image(KeyNumbers(), [2, [["a"], ["a"]]])


@pytest.mark.parametrize("odd", [False, True])
@pytest.mark.parametrize("seed", range(2 if DISABLED else 12))
def test_an_image_has_the_same_keys(seed: int, odd: bool) -> None:
    numbers, slow, rng = KeyNumbers(), Slow(), random.Random(seed)
    for _ in range(rng.choice([0, 1, 300])):
        name = take_key(key(rng))
        form = form_of(name)
        if odd or (form is not None and form.kind & ~t.CLASS != t.ODD):
            slow.agree(name, numbers.code(name))
    gone = [code for code in slow.names if rng.random() < 0.3]
    numbers.gone(np.array(gone, np.int64))
    slow.forget(gone)
    found = image_of(numbers)
    assert odd or len(found) == 3
    other = KeyNumbers()
    take_image(other, found)
    check(other, slow, rng)
    assert not other.news
    assert {name: other.find(name) for name in slow.codes} == slow.codes
    free = {other.code(("new", i)) for i in range(other.top)}
    assert not free & slow.names.keys()
    assert len(found) < 3 or free >= set(range(found[0])) - slow.names.keys()


def test_a_torn_image_leads_nobody_astray() -> None:
    numbers, rng, refused = KeyNumbers(), random.Random(1), 0
    for i in range(40):
        for name in (i, str(i) * (i % 5), (i, str(i), None), i / 2):
            numbers.code(name)
    numbers.gone(np.arange(7))
    top, *parts = image_of(numbers)
    words = np.frombuffer(b"".join(parts), np.int64)
    for _ in range(30 if DISABLED else 300):
        torn = words.copy()
        torn[rng.randrange(len(torn))] ^= rng.choice([1 << rng.randrange(63), rng.randrange(1 << 62)])
        other = KeyNumbers()
        try:
            take_image(other, [top, torn[: len(parts[0]) // 8].tobytes(), torn[len(parts[0]) // 8 :].tobytes()])
        except SnapshotError:
            refused += 1
            continue
        with contextlib.suppress(ValueError, OverflowError):  # bytes of texts are believed
            list(other.names_of(other.live()))
        other.gone(other.live())
        assert len(other) == 0
    assert refused > 5
    for part in ([top, parts[0], parts[1][:-8]], [top + 8, *parts], [1, b"", parts[1]], [2, ["a"]]):
        with pytest.raises(SnapshotError, match=r"expected (keys in groups|an arena without free places|a name for each key)"):
            take_image(KeyNumbers(), part)


def test_keys_of_an_image_have_places_of_their_own() -> None:
    """Else a text that is forgotten would tell where the next one is written to."""
    numbers = KeyNumbers()
    assert numbers.numbers_of_keys(KeyColumns.of(["x" * 60, "y" * 28, (1, "z" * 150)])).tolist() == [0, 1, 2]
    top, w, p = image_of(numbers)
    take_image(KeyNumbers(), [top, w, p])
    for code, words in ((1, -4), (1, 1), (2, -1), (2, 1)):
        torn = np.frombuffer(w, np.int64).copy()
        torn[1 + code] += words << t.LENGTH
        with pytest.raises(SnapshotError, match=r"expected keys (with a place each in the arena|that are in the arena, each once)"):
            take_image(KeyNumbers(), [top, torn.tobytes(), p])


def test_tuples_of_more_parts_than_the_table_takes() -> None:
    names = [tuple(range(i, i + t.PARTS + 1)) for i in range(3)]
    numbers = KeyNumbers()
    assert numbers.numbers_of_keys(KeyColumns.of(names)).tolist() == [0, 1, 2]
    assert [numbers.find(name) for name in names] == [0, 1, 2]
    assert list(numbers.names_of(np.arange(3))) == names


def test_a_lost_number_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that ends between the kernel and Python."""
    numbers = KeyNumbers()
    numbers.code("a")
    numbers.given()
    numbers.gone(np.array([0]))
    run = numbers.run

    def interrupted(what: int, *args: Any) -> int:
        found = run(what, *args)
        if what == t.INSERT:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(numbers, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        numbers.code(object())
    monkeypatch.undo()
    assert numbers.news
    assert told(numbers) == [0]
    numbers.gone(np.array([0]))
    assert len(numbers) == 0
    assert numbers.code("b") == 0


def test_threads_look_for_parts_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_numbers, "MANY", 10)
    n = 300 if DISABLED else 30_000
    numbers, rng = KeyNumbers(), np.random.default_rng(1)
    columns = [rng.integers(0, n // 2, n), pa.array([f"k{i}" * (1 + i % 7) for i in rng.integers(0, 5, n).tolist()])]
    alone = numbers.numbers_of(columns, False, n)
    with ThreadPoolExecutor(3) as pool:
        numbers.together, numbers.threads = lambda jobs: list(pool.map(lambda job: job(), jobs)), 3
        for given, single in ((columns, False), (columns[:1], True), (columns[1:], True)):
            found = numbers.numbers_of(given, single, n)
            assert (found == numbers.numbers_of(given, single, n)).all()
            lists = [column.to_pylist() if isinstance(column, pa.Array) else column.tolist() for column in given]
            assert list(numbers.names_of(found)) == (lists[0] if single else list(zip(*lists)))
        assert (numbers.numbers_of(columns, False, n) == alone).all()


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("keys", [1, 3, 300, 100_000])
def test_rows_whose_key_a_row_before_has(keys: int, threads: int) -> None:
    """Words that were found are noted: few keys, keys side by side, a part of the rows with many others, new ones among them."""
    n, rng = 2_000 if DISABLED else 20_000, np.random.default_rng(keys)
    numbers, slow = KeyNumbers(), Slow()
    with ThreadPoolExecutor(2) as pool:
        if threads > 1:
            numbers.together, numbers.threads = lambda jobs: list(pool.map(lambda job: job(), jobs)), threads
        for turn in range(4):
            column = rng.integers(0, keys, n) << 8 * turn
            column = np.repeat(column[: n // 4], 4) if turn % 2 else column
            column[n // 2 : n // 2 + 500] = rng.integers(-(2**62), 2**62, 500)
            given = column.view(np.float64) if turn == 2 else column
            given = np.where(np.isfinite(given), given, 0.5) + 0.0 if turn == 2 else given
            for name, code in zip(given.tolist(), numbers.numbers_of([given], True, n).tolist()):
                slow.agree(name, code)
    assert len(numbers) == len(slow.names)


def test_columns_of_a_library_that_knows_no_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """The oldest pyarrow that is supported."""
    monkeypatch.delattr(pa.types, "is_string_view", raising=False)
    numbers = KeyNumbers()
    assert numbers.numbers_of([pa.array(["a", "b"])], True, 2).tolist() == [0, 1]
    assert numbers.numbers_of([pa.array([3, 4], pa.uint64())], True, 2).tolist() == [2, 3]


def test_the_tag_of_a_word_is_counted_in_ints_whatever_comes_in() -> None:
    """As Python the kernels are given numpy's ints, which warn where they wrap."""
    some = np.random.default_rng(1)
    for _ in range(200):
        m = np.zeros(64, np.int64)
        m[t.KeyTable.secret : t.KeyTable.secret + 4], m[t.KeyTable.mask] = some.integers(-(2**63), 2**63 - 1, 4), -1
        kind, word = some.integers(0, 8), some.integers(-(2**62), 2**62)
        assert tag_of(m, m, kind, word, 0) == tag_of(m, m, int(kind), int(word), 0)
