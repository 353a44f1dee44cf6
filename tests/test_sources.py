"""Sources of promises: what they promise, against a slow version; that an operator takes it; snapshots; what they refuse."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afa import BEGINNING, FOREVER, AfaError, Arc, LateEventError, Operator, Punctuation, insert, retract
from punctuation import BoundedDisorder, ObservedLateness, Union
from punctuation.source import MAGIC, VERSION, pack
from tests.sources import (
    KINDS,
    TABLES,
    TICKS,
    Tick,
    as_item,
    cut,
    items,
    les,
    operator,
    promises,
    slow,
    tick,
)

# -- one source ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@given(stream=items)
def test_a_promise_is_the_larger_of_its_own_and_the_input_s_and_never_goes_back(kind: str, stream: list[Any]) -> None:
    source, promised, late, stale, seen = KINDS[kind](), BEGINNING, 0, 0, list[int]()
    for item in stream:
        out = source.push(as_item(item))
        before = promised
        if isinstance(item, Punctuation):
            stale += item.t <= promised
            promised = max(promised, item.t)
        else:
            late += item < promised
            seen.append(item)
            promised = max(promised, slow(source, seen))
        own = [] if isinstance(item, Punctuation) else [tick(item)]
        assert out == own + ([Punctuation(promised)] if promised > before else [])
        assert (source.promised, source.late, source.stale) == (promised, late, stale)


@pytest.mark.parametrize("kind", KINDS)
@given(stream=items)
def test_an_operator_finds_late_what_the_source_counts(kind: str, stream: list[Any]) -> None:
    source, op = KINDS[kind](), operator("drop")
    for item in source(map(as_item, stream)):
        op.push(item)
    assert op.statistics.late == source.late
    assert op.statistics.stale == 0


@given(
    d=st.integers(0, 9),
    steps=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=30),
    sizes=st.lists(st.integers(0, 9)),
)
def test_where_disorder_has_the_bound_nothing_is_late(d: int, steps: list[tuple[int, int]], sizes: list[int]) -> None:
    largest, stream = 0, []
    for forward, back in steps:
        stream.append(tick(max(largest + forward - min(back, d), 0)))
        largest = max(largest, stream[-1].le or 0)
    one, source = operator(), BoundedDisorder(d)
    for item in source(stream):
        one.push(item)
    many, batched = operator(), BoundedDisorder(d)
    for batch in cut(stream, sizes):
        many.push_many(batched.push_many(batch))
    many.push_many(batched.end())
    assert source.late == batched.late == 0
    assert one.statistics.outputs == many.statistics.outputs


def test_an_event_as_far_behind_as_the_bound_is_not_late_and_one_tick_more_is() -> None:
    source, op = BoundedDisorder(5), operator()
    for item in [*source.push(tick(12)), *source.push(tick(7))]:
        op.push(item)
    assert source.late == 0
    with pytest.raises(LateEventError, match=r"expected le >= 7 \(promised\) but got le=6"):
        op.push_many(source.push(tick(6)))
    assert source.late == 1


@pytest.mark.parametrize("kind", KINDS)
@given(stream=les, sizes=st.lists(st.integers(0, 12), max_size=6), data=st.data())
def test_a_batch_promises_in_the_end_what_its_items_do(kind: str, stream: list[int], sizes: list[int], data: Any) -> None:
    one, many = KINDS[kind](), KINDS[kind]()
    for batch in cut(stream, sizes):
        before, last = many.promised, BEGINNING
        for le in batch:
            last = max([last, *promises(one.push(tick(le)))])
        late = many.late + sum(le < before for le in batch)
        table = TABLES[data.draw(st.sampled_from(sorted(TABLES)))](batch)
        out = many.push_many(table)
        assert promises(out) == ([last] if last > BEGINNING else [])
        assert many.promised == one.promised
        assert many.late == late
        assert all(item is table for item in out[:1] if not isinstance(table, list))
    assert many.restore(many.snapshot())._state() == one._state()


@given(
    seed=st.integers(0, 2**32),
    memory=st.integers(1, 150),
    percentile=st.sampled_from([0.01, 0.5, 0.9, 1.0]),
    floor=st.sampled_from([0, 40]),
    begin=st.sampled_from([BEGINNING, 0, FOREVER - 1000]),
)
def test_a_large_batch_promises_what_its_items_do(seed: int, memory: int, percentile: float, floor: int, begin: int) -> None:
    random = np.random.default_rng(seed)
    one, many = (ObservedLateness(percentile, floor, memory, minimum=1 + memory // 2) for _ in range(2))
    for _ in range(2):
        n = int(random.integers(60, 200))
        back = random.choice([0, 0, 3, 50, 10**19], n, p=[0.4, 0.2, 0.2, 0.19, 0.01])
        le = [min(max(begin + 2 * i - int(b), BEGINNING), FOREVER) for i, b in enumerate(back)]
        for t in le:
            one.push(tick(t))
        many.push_many({"le": np.array(le, np.int64)})
        assert many.promised == one.promised
        assert many._state() == one._state()


@pytest.mark.parametrize("table", [name for name in TABLES if name != "list"])
def test_an_operator_takes_what_push_many_gives(table: str) -> None:
    source, op = BoundedDisorder(2), operator()
    for le in ([3, 5, 4], [], [6, 4]):
        op.push_many(source.push_many(TABLES[table](le)))
    assert op.statistics.changes == 5
    assert source.promised == 4
    assert source.push_many(TABLES[table]([]))[1:] == []


MIXED: dict[str, Callable[[dict[str, list[int]]], Any]] = {
    "arrow": pa.table,
    "pandas": pd.DataFrame,
    "columns": dict,
    "arrays": lambda columns: {name: np.array(column) for name, column in columns.items()},
}


@pytest.mark.parametrize("table", MIXED)
@given(rows=st.lists(st.tuples(st.sampled_from([0, 0, 0, 1, 2]), st.integers(0, 45)), max_size=25), ahead=st.booleans())
def test_a_table_says_of_each_row_what_it_is(table: str, rows: list[tuple[int, int]], ahead: bool) -> None:
    """It promises what the same rows in a list do, and stands whole where they stood."""
    arc = TICKS.arcs[0]
    one, many = (BoundedDisorder(4, kinds=True) for _ in range(2))
    first = [tick(30)] if ahead else []
    items = [[tick(le), insert(arc, le), Punctuation(le)][kind] for kind, le in rows]
    batch = MIXED[table]({"kind": [kind for kind, _ in rows], "le": [le for _, le in rows], "n": [0] * len(rows)})
    found, _ = many.push_many([*first, batch]), one.push_many([*first, *items])
    assert found[len(first)] is batch
    own = one.promised > max([BEGINNING, *promises(items)])
    assert found[: len(first)] + found[len(first) + 1 :] == [*first, *([Punctuation(one.promised)] if own else [])]
    assert (many.promised, many.late, many.stale, many.snapshot()) == (one.promised, one.late, one.stale, one.snapshot())


def test_an_operator_takes_a_table_of_kinds_and_the_promise_after_it(engine: str) -> None:
    source, op = BoundedDisorder(2, kinds=True), Operator(TICKS, window=5, engine=engine)
    batch = {"kind": [0, 2, 0, 1, 0], "le": [5, 4, 9, 90, 8], "n": [0] * 5, "arc": [0] * 5}
    out = source.push_many(batch)
    assert out == [batch, Punctuation(7)]
    assert op.push_many(out, arcs=[Arc("1", "0", "n == 9", name="back")])[-1] == Punctuation(7)
    assert (op.statistics.late, op._core.progress.events) == (0, 7)


def test_a_column_kind_may_be_a_field_of_the_event() -> None:
    either = {"kind": [0, 1, 2], "le": [9, 90, 50]}
    for table in MIXED.values():
        with pytest.raises(AfaError, match=r"expected kinds=True \(.*\) or kinds=False \(.*\) for a source .* but got kinds=None"):
            BoundedDisorder(0).push_many([tick(3), table(either)])
        assert BoundedDisorder(0, kinds=False).push_many([table(either)])[1:] == [Punctuation(90)]
        assert BoundedDisorder(0, kinds=True).push_many([table(either)])[1:] == []
    fields: list[Any] = [["a", "b", "c"], [0.0, 1.0, 2.0], [True, False, True], [0, 1, 3], [0, 0, 0], [0, 1, None], [-1, 1, 2]]
    for kind in fields:
        for table in ({"kind": kind, "le": [9, 90, 50]}, pa.table({"kind": kind, "le": [9, 90, 50]})):
            assert BoundedDisorder(0).push_many(table)[1:] == [Punctuation(90)]
    assert BoundedDisorder(0, kinds=True).push_many({"le": [9]})[1:] == [Punctuation(9)]
    members = Union({"a": BoundedDisorder(0, kinds=True)})
    assert members.push_many("a", {"kind": [1, 0], "le": [90, 9]})[1:] == [Punctuation(9)]


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ([0, 3], r"expected kind 0 \(event\), 1 \(arc\) or 2 \(punctuation\) but got kind=3 in row 1"),
        ([-1, 0], r"but got kind=-1 in row 0"),
        (["0", "1"], r"expected an int \(ticks\) but got kind='0' in row 0 of column 'kind'"),
        ([0], r"expected columns of one length but got 1 in 'kind', 2 in 'le'"),
    ],
)
def test_kinds_that_are_none_are_refused(kind: list[Any], text: str) -> None:
    source = BoundedDisorder(1, kinds=True)
    with pytest.raises(AfaError, match=text):
        source.push_many([tick(50), {"kind": kind, "le": [1, 2]}])
    assert source.snapshot() == BoundedDisorder(1).snapshot()


@pytest.mark.parametrize("kinds", [True, None])
def test_two_columns_of_kinds_are_refused(kinds: bool | None) -> None:
    batch = pa.table([pa.array([1]), pa.array(["a"]), pa.array([0])], names=["le", "kind", "kind"])
    with pytest.raises(AfaError, match=r"expected one column 'kind' but got the columns le, kind, kind"):
        BoundedDisorder(0, kinds=kinds).push_many(batch)
    assert BoundedDisorder(0, kinds=False).push_many(batch)[1:] == [Punctuation(1)]


def test_a_row_that_goes_backwards_is_refused_too() -> None:
    strict = BoundedDisorder(0, backwards="raise", kinds=True)
    with pytest.raises(AfaError, match=r"expected a punctuation of at least 8 \(told before\) but got t=7"):
        strict.push_many({"kind": [0, 2, 2], "le": [20, 8, 7]})
    assert (strict.promised, strict.stale) == (BEGINNING, 0)


def test_a_list_may_hold_tables_punctuations_and_arcs() -> None:
    arc = insert(Arc("1", "0", lambda e, r: True, name="back"), le=99)
    source = BoundedDisorder(2)
    batch = [tick(3), TABLES["arrow"]([9, 8]), Punctuation(6), arc, tick(4), insert(arc.payload)]
    out = source.push_many([*batch, Punctuation(5)])
    assert out == [*batch, Punctuation(7)]
    assert (source.promised, source.stale, source.late) == (7, 1, 1)
    assert source.push(arc) == [arc]
    op = operator("drop")
    op.push_arc(insert(arc.payload, le=0))
    assert op.push_many(out)[-1] == Punctuation(7)
    assert op.statistics.late == 1


def test_a_stream_may_hold_tables() -> None:
    table = TABLES["arrow"]([4, 9])
    assert list(BoundedDisorder(1)([table, tick(10)])) == [table, Punctuation(8), tick(10), Punctuation(9), Punctuation(FOREVER)]


def test_the_end_is_promised_once() -> None:
    source = BoundedDisorder(0)
    assert list(source([tick(3), Punctuation(FOREVER)])) == [tick(3), Punctuation(3), Punctuation(FOREVER)]
    assert source.end() == []
    assert (source.push(tick(4)), source.late) == ([tick(4)], 1)


def test_a_retraction_is_an_item_too() -> None:
    source = BoundedDisorder(1)
    assert source.push(retract(Tick(), le=5))[1:] == [Punctuation(4)]


def test_observed_lateness_waits_for_a_hundred_items_or_its_memory() -> None:
    assert ObservedLateness(0.5).minimum == 100
    assert ObservedLateness(0.5, memory=9).minimum == 9
    source = ObservedLateness(0.5)
    assert [promises(source.push(tick(le))) for le in range(101)] == [[]] * 99 + [[99], [100]]


def test_a_percentile_is_taken_as_it_is_written() -> None:
    source = ObservedLateness(0.07, memory=100)
    source.push_many({"le": [1000, *[1000 - n for n in range(1, 100)]]})  # lateness 0 to 99
    assert source.promised == 1000 - 6
    assert math.ceil(0.07 * 100) == 8


@pytest.mark.parametrize("kind", KINDS)
def test_a_punctuation_that_goes_backwards_is_counted_or_refused(kind: str) -> None:
    source = KINDS[kind]()
    assert [source.push(Punctuation(t)) for t in (5, 4, 5, 6)] == [[Punctuation(5)], [], [], [Punctuation(6)]]
    assert source.stale == 2
    strict = BoundedDisorder(0, backwards="raise")
    for item in (Punctuation(5), tick(9), Punctuation(6)):
        strict.push(item)
    assert (strict.promised, strict.stale) == (9, 1), "smaller than the source's own promise is not backwards"
    for give in (lambda: strict.push(Punctuation(5)), lambda: strict.push_many([tick(20), Punctuation(8), Punctuation(7)])):
        with pytest.raises(AfaError, match=r"expected a punctuation of at least [68] \(told before\) but got t=[57]"):
            give()
        assert (strict.promised, strict.stale, strict.late) == (9, 1, 0)


@pytest.mark.parametrize("kind", KINDS)
@given(stream=items, at=st.integers(0, 40))
def test_a_snapshot_in_the_middle_changes_nothing(kind: str, stream: list[Any], at: int) -> None:
    whole, first = KINDS[kind](), KINDS[kind]()
    out = [whole.push(as_item(item)) for item in stream]
    again = [first.push(as_item(item)) for item in stream[:at]]
    second = KINDS[kind]().restore(first.snapshot())
    assert again + [second.push(as_item(item)) for item in stream[at:]] == out
    assert second.snapshot() == whole.snapshot()
    assert (second.late, second.stale) == (whole.late, whole.stale)


# -- what is refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: BoundedDisorder(-1), r"expected lateness of at least 0 but got lateness=-1"),
        (lambda: BoundedDisorder(1.5), r"expected an int \(ticks\) but got lateness=1.5"),  # type: ignore[arg-type]
        (lambda: BoundedDisorder(1, backwards="drop"), r"expected backwards=\"count\" or \"raise\" but got backwards='drop'"),
        (lambda: BoundedDisorder(1, kinds=1), r"expected kinds=True, False or None but got kinds=1"),  # type: ignore[arg-type]
        (lambda: ObservedLateness(0), r"expected a percentile in \(0, 1\] but got percentile=0"),
        (lambda: ObservedLateness(1.01), r"expected a percentile in \(0, 1\] but got percentile=1.01"),
        (lambda: ObservedLateness(math.nan), r"expected a percentile in \(0, 1\] but got percentile=nan"),
        (lambda: ObservedLateness(True), r"expected a percentile in \(0, 1\] but got percentile=True"),
        (lambda: ObservedLateness("0.9"), r"expected a percentile in \(0, 1\] but got percentile='0.9'"),  # type: ignore[arg-type]
        (lambda: ObservedLateness(0.9, floor=-1), r"expected floor of at least 0 but got floor=-1"),
        (lambda: ObservedLateness(0.9, memory=0), r"expected memory of at least 1 but got memory=0"),
        (lambda: ObservedLateness(0.9, minimum=0), r"expected minimum of at least 1 but got minimum=0"),
        (lambda: ObservedLateness(0.9, memory=5, minimum=6), r"expected a minimum of at most memory=5 items but got minimum=6"),
        (lambda: Union({}), r"expected a mapping of names to sources, at least one, but got sources=\{\}"),
        (lambda: Union([BoundedDisorder(1)]), r"expected a mapping of names to sources"),  # type: ignore[arg-type]
        (lambda: Union({"a": 5}), r"expected a source of promises but got 5 as the member 'a'"),  # type: ignore[dict-item]
        (lambda: Union(dict.fromkeys("ab", BoundedDisorder(1))), r"expected a source of its own for each member but got one twice"),
        (lambda: Union({"a": BoundedDisorder(1)}, 0), r"expected idle_after > 0 in units of the clock .* but got idle_after=0"),
        (lambda: Union({"a": BoundedDisorder(1)}, math.nan), r"expected idle_after > 0 .* but got idle_after=nan"),
        (lambda: Union({"a": BoundedDisorder(1)}, clock=5), r"expected a clock\(\) -> number but got clock=5"),  # type: ignore[arg-type]
    ],
)
def test_a_source_made_wrongly_is_refused(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(AfaError, match=text):
        make()


BAD: list[tuple[Any, str]] = [
    ({"n": [1]}, r"expected one column 'le' but got the columns n"),
    ({}, r"expected one column 'le' but got the columns none"),
    (pa.table([pa.array([1]), pa.array([2])], names=["le", "le"]), r"expected one column 'le' but got the columns le, le"),
    ({"le": [1, 2.5]}, r"expected an int \(ticks\) but got le=2.5 in row 1 of column 'le'"),
    ({"le": np.array([1.0, 2.5])}, r"but got le=1.0 in row 0 of column 'le'"),
    ({"le": [1, True]}, r"but got le=True in row 1"),
    ({"le": [1, 2**63]}, r"expected an int64 \(ticks\) but got le=9223372036854775808 in row 1"),
    ({"le": np.array([1, 2**63], np.uint64)}, r"expected an int64 \(ticks\) but got le=9223372036854775808 in row 1"),
    ({"le": np.array([1], "M8[s]")}, r"expected int ticks in column 'le' but got a column of datetime64\[s\]"),
    ({"le": np.array([[1]])}, r"expected int ticks in column 'le' but got a column of int64, shape \(1, 1\)"),
    ({"le": "abc"}, r"expected a column of values but got le='abc'"),
    ({"le": 5}, r"expected a column of values but got le=5"),
    (pa.table({"le": pa.array([1, None], pa.int64())}), r"but got le=None in row 1"),
    (
        pa.table({"le": pa.array([1], pa.timestamp("us"))}),
        r"expected int ticks in column 'le' but got a column of datetime64\[us\]",
    ),
    (pd.DataFrame({"le": [1, None]}), r"but got le=1.0 in row 0"),
    (pd.DataFrame({"le": pd.array([1, None], dtype="Int64")}), r"but got le=<NA> in row 1"),
    ([tick(50), "a tick"], r"expected an item with a time \(le\) but got 'a tick'"),
    ([tick(50), insert(Tick())], r"expected an item with a time \(le\) but got Change\("),
    ([tick(50), insert(Tick(), le=2.5)], r"expected an int \(ticks\) but got le=2.5"),  # type: ignore[arg-type]
    ([tick(50), {"n": [1]}], r"expected one column 'le' but got the columns n"),
    ([tick(50), Punctuation(2.5)], r"expected an int \(ticks\) but got t=2.5"),  # type: ignore[arg-type]
    (tick(3), r"expected an Arrow table, a pandas frame, a dict of columns or a list but got"),
    (5, r"expected an Arrow table, a pandas frame, a dict of columns or a list but got"),
]


@pytest.mark.parametrize(("batch", "text"), BAD, ids=range(len(BAD)))
def test_a_bad_batch_is_refused_and_nothing_of_it_taken(batch: Any, text: str) -> None:
    source, members = BoundedDisorder(1), Union({"a": BoundedDisorder(1)})
    with pytest.raises(AfaError, match=text):
        source.push_many(batch)
    with pytest.raises(AfaError, match=text):
        members.push_many("a", batch)
    assert source.snapshot() == members.sources["a"].snapshot() == BoundedDisorder(1).snapshot()


def test_unsigned_ticks_are_ticks() -> None:
    assert BoundedDisorder(1).push_many({"le": np.array([3, 9], np.uint64)})[1:] == [Punctuation(8)]


@pytest.mark.parametrize("item", ["a tick", insert(Tick()), None])
def test_an_item_without_a_time_is_refused(item: Any) -> None:
    for give in (BoundedDisorder(1).push, lambda item: Union({"a": BoundedDisorder(1)}).push("a", item)):
        with pytest.raises(AfaError, match=r"expected an item with a time \(le\) but got"):
            give(item)


def test_a_wrong_snapshot_is_refused_and_the_source_is_as_it_was() -> None:
    source = ObservedLateness(0.5, memory=3)
    source.push_many([tick(4), tick(9), tick(7)])
    blob, others = source.snapshot(), ObservedLateness(0.5, memory=4)
    for wrong, text in (
        ("text", r"expected the bytes of a source's snapshot but got str"),
        (b"AFAS and more", r"expected a source's snapshot \(it begins with b'AFAP'\) but got b'AFAS and'"),
        (blob[:4] + b"\x07" + blob[5:], r"expected a source's snapshot of version 1 but got version 7"),
        (blob[:-1], r"expected a whole snapshot but got a damaged one"),
        (others.snapshot(), r"expected a snapshot of ObservedLateness with the options .* but got one of ObservedLateness with"),
        (BoundedDisorder(1).snapshot(), r"expected a snapshot of ObservedLateness .* but got one of BoundedDisorder"),
    ):
        with pytest.raises(AfaError, match=text):
            source.restore(wrong)  # type: ignore[arg-type]
        assert source.snapshot() == blob


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ([[4, 2, 3, 1, 5], [6]], r"expected no state of its own for a BoundedDisorder but got \[6\]"),
        ([[1, 2, 3, 4], []], r"expected a source's state but got something else: not enough values"),
        (
            [[1, 2, 3, 4, 5], []],
            r"something else: expected counts, and a promise of at least 4 \(told before\), but got \[1, 2, 3, 4, 5\]",
        ),
        ([[4, -2, 3, 4, 5], []], r"something else: expected counts, and a promise of at least 4"),
        ([[1, 2, 3, 4, None], []], r"expected a source's state but .* expected an int \(ticks\) but got number=None"),
        ([1], r"expected a source's state but got something else: not enough values"),
        (7, r"expected a snapshot of BoundedDisorder with the options \[1, 'count'\] but got one of"),
    ],
)
def test_a_snapshot_with_another_state_is_refused(state: Any, text: str) -> None:
    source = BoundedDisorder(1)
    with pytest.raises(AfaError, match=text):
        source.restore(pack("BoundedDisorder", [1, "count"], state))
    assert source.snapshot() == BoundedDisorder(1).snapshot()


@pytest.mark.parametrize("memory", [[1, 2, 3, 4], [1, -2], [None], [[1], [2]]])
def test_a_memory_that_is_none_is_refused(memory: list[Any]) -> None:
    source = ObservedLateness(0.5, memory=3)
    before = source.snapshot()
    with pytest.raises(AfaError, match="expected a source's state but got something else"):
        source.restore(pack("ObservedLateness", [0.5, 0, 3, 3, "count"], [[0, 0, 0, 0, 0], memory]))
    assert source.snapshot() == before


def test_what_is_no_msgpack_is_refused() -> None:
    packed = b"\xc1"
    blob = MAGIC + bytes([VERSION]) + zlib.crc32(packed).to_bytes(4, "big") + packed
    with pytest.raises(AfaError, match="expected msgpack but got something else"):
        BoundedDisorder(1).restore(blob)
