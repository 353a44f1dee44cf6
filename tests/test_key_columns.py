"""Keys as columns: the same keys as in a list, whatever they hold."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from afa.state import canonical
from afa.state.key_columns import KeyColumn, KeyColumns, spans, texts_as, texts_between

ints = st.integers(-(2**63), 2**63 - 1)
texts = st.text(max_size=5)
floats = st.floats(width=32).map(lambda x: math.nan if x != x else x + 0.0)
scalars: list[Any] = [ints, texts, floats, st.booleans(), st.integers(), st.one_of(ints, texts, st.none(), st.tuples(ints))]
optional = st.sampled_from(scalars).flatmap(lambda one: st.lists(st.one_of(one, st.none()) | one, max_size=6))
pairs = st.tuples(st.sampled_from(scalars), st.sampled_from(scalars)).flatmap(lambda two: st.lists(st.tuples(*two), max_size=6))
lists: Any = st.one_of(st.sampled_from(scalars).flatmap(lambda one: st.lists(one, max_size=6)), optional, pairs)


def said(keys: Any) -> list[str]:
    return [repr(key) for key in keys]


@given(lists, st.data())
def test_columns_hold_what_the_list_holds(keys: list[Hashable], data: Any) -> None:
    found = KeyColumns.of(keys)
    assert said(found) == said(keys) == said(found[i] for i in range(len(found)))
    assert said(found.normal()) == said(keys)
    places = data.draw(st.lists(st.integers(0, len(keys) - 1), max_size=8)) if keys else []
    taken = found.take(np.array(places, np.int64))
    assert said(taken) == [repr(keys[i]) for i in places]
    assert said(found[1:4]) == said(keys[1:4])
    assert found.same(found).all()
    assert [bool(same) for same in found.take(np.array(places, np.int64)).same(taken)] == [True] * len(places)


@given(lists, lists)
def test_columns_stand_one_after_the_other(a: list[Hashable], b: list[Hashable]) -> None:
    joined = KeyColumns.concat([KeyColumns.of(a), KeyColumns.of(b)])
    assert said(joined) == said([*a, *b])
    whole, parts = KeyColumns.of([*a, *b]).normal(), joined.normal()
    assert [column.kind for column in whole.columns] == [column.kind for column in parts.columns]
    assert [column.present is None for column in whole.columns] == [column.present is None for column in parts.columns]
    assert whole == parts
    assert parts == [*a, *b] or any("nan" in text for text in said(parts))


@given(st.lists(st.one_of(ints, st.none())) | st.lists(texts) | st.lists(floats) | st.lists(st.booleans() | st.none()))
def test_columns_come_from_arrow_and_go_there(values: list[Any]) -> None:
    array = pa.array(values)
    column = KeyColumn.from_arrow(pa.chunked_array([array[:1], array[1:]]))
    assert said(column.tolist()) == said(values)
    assert said(column.arrow().to_pylist()) == said(values)


@pytest.mark.parametrize(
    "kind", [pa.int8(), pa.uint64(), pa.dictionary(pa.int8(), pa.int64()), pa.float32(), pa.dictionary(pa.int32(), pa.string())]
)
def test_a_key_is_one_in_whatever_width_and_encoding(kind: pa.DataType) -> None:
    values = ["a", "b", None] if "string" in str(kind) else [1, 2, None]
    found = KeyColumn.from_arrow(pa.array(values, kind))
    assert found.tolist() == values
    assert found.kind is {"s": str, "f": float}.get(str(getattr(kind, "value_type", kind))[0], int)


@given(st.lists(texts), st.integers(0, 3), st.sampled_from([pa.string(), pa.large_string(), pa.string_view()]))
def test_texts_are_the_same_in_another_type(values: list[str], low: int, kind: Any) -> None:
    array = pa.array(values, kind)[low:]
    for other in (pa.string(), pa.large_string()):
        found = texts_as(array, other)
        found.validate(full=True)
        assert found.equals(pa.array(values[low:], other))


def test_an_unsigned_int_beyond_int64_is_an_object() -> None:
    found = KeyColumn.from_arrow(pa.array([1, 2**64 - 1], pa.uint64()))
    assert (found.kind, found.values) == (None, [1, 2**64 - 1])


def test_strings_stand_side_by_side() -> None:
    texts = texts_between(np.array([0, 1, 1, 4], np.int64), np.frombuffer("aüb".encode(), np.uint8))
    assert texts.to_pylist() == ["a", "", "üb"]
    places, data = spans(texts[1:])
    assert (places.tolist(), bytes(data)) == ([1, 1, 4], "aüb".encode())
    assert spans(pa.array([], pa.large_string()))[0].tolist() == [0]


def test_a_lone_surrogate_is_an_object() -> None:
    assert KeyColumns.of(["a", "\ud800"]).columns[0].kind is None


# -- their order ---------------------------------------------------------------------------------------------------------------


columned: Any = st.sampled_from([ints, texts, floats, st.booleans(), st.tuples(texts, ints), st.tuples(floats, st.none() | texts)])
different = columned.flatmap(lambda one: st.lists(one, max_size=8, unique_by=repr))


def equal_sums(keys: KeyColumns) -> Any:
    """Sums of which all are equal."""
    return np.zeros(len(keys), np.uint64)


@pytest.mark.parametrize("collide", [False, True])
@given(keys=different, data=st.data())
def test_the_order_of_keys_is_that_of_no_arrival(collide: bool, keys: list[Hashable], data: Any) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(canonical, "sums", equal_sums)
        found = KeyColumns.of(keys).normal()
        other = KeyColumns.of(data.draw(st.permutations(keys))).normal()
        order = canonical.order_of_keys(found)
        assert sorted(order.tolist()) == list(range(len(keys)))
        assert said(found.take(order)) == said(other.take(canonical.order_of_keys(other)))
        if len(keys) and not found.has_objects:
            assert canonical.ascends(found.take(order))
            assert len(keys) < 2 or not canonical.ascends(found.take(order[::-1]))
            assert not canonical.ascends(found.take(np.append(order, order[-1])))


@pytest.mark.parametrize("collide", [False, True])
@given(parts=st.lists(st.lists(st.sampled_from(["a", "b", "c", "d", "e"]) | st.sampled_from([1, 2]), max_size=5), max_size=4))
def test_the_newest_of_several_is_the_first(collide: bool, parts: list[list[Hashable]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        if collide:
            patch.setattr(canonical, "sums", equal_sums)
        found = canonical.newest([KeyColumns.of(part) for part in parts])
    seen: set[Hashable] = set()
    for part, masks in zip(parts, found):
        for key, new in zip(part, masks.tolist()):
            assert new is (key not in seen)
            seen.add(key)


def test_long_texts_have_sums_of_their_own() -> None:
    texts = ["a" * n for n in (0, 7, 8, 9, 127, 128, 129, 1000)] + ["a" * 999 + "b", "b" + "a" * 999, "a\0", "\0a", "\0"]
    found = canonical.sums(KeyColumns.of(texts))
    assert len(set(found.tolist())) == len(texts)
    assert canonical.sums(KeyColumns.of(texts)[3:6]).tolist() == found[3:6].tolist()
