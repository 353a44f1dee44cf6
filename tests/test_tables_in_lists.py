"""Lists that hold tables, and tables without ``net``: columns to the engine, and the output that their changes would have given."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from afa import Arc, Automaton, Keyed, LateEventError, Operator, Punctuation, insert, retract
from afa.compiled.compiled_engine import CompiledEngine
from tests.stress import tables
from tests.text import R1, T

ITEMS = 500
pattern = Automaton(
    start="a",
    final={"c"},
    register=R1(),
    event=T,
    arcs=[
        Arc("a", "b", "sort == 0", "(0,)"),
        Arc("b", "b", "sort == 1", "(r.x + 1,)"),
        Arc("b", "c", "sort == 2"),
        Arc.timeout("b", "c", at="40 + 20 * r.x"),
    ],
)
WAYS: dict[str, tuple[Any, dict[str, Any]]] = {
    "one key": (Operator, {}),
    "keys": (Keyed, {"key": "seq"}),
    "no payloads": (Operator, {"keep_payloads": False, "retractions": False}),
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """One kind of operator after the other."""
    return str(request.param)


def operator(way: str, **more: Any) -> Any:
    make, options = WAYS[way]
    return make(pattern, window=25, **{"late": "drop", "engine": "compiled", **options, **more})


def stream(way: str, seed: int = 0) -> list[Any]:
    """Events, a fifth of them late by up to 30 ticks, retractions, promises that some break, an arc that comes and goes."""
    rng = np.random.default_rng(seed)
    items: list[Any] = []
    held: list[Any] = []
    extra = Arc("a", "c", "sort == 1", name="extra")
    for i in range(ITEMS):
        chance = rng.random()
        if i in (200, 400):
            items.append((insert if i == 200 else retract)(extra))
        elif chance < 0.05:
            items.append(Punctuation(i // 2 - 25))
        elif chance < 0.15 and len(held) > 20 and way != "no payloads":
            items.append(held.pop(-int(rng.integers(1, 20)))._replace(diff=-1))
        else:
            late = int(rng.integers(0, 30)) if rng.random() < 0.2 else 0
            held.append(insert(T(int(rng.integers(0, 3)), int(rng.integers(0, 4))), max(i // 2 - late, 0)))
            items.append(held[-1])
    return items


def one_by_one(way: str, items: list[Any]) -> tuple[list[Any], Any]:
    """What the items give one by one, and the operator."""
    op = operator(way)
    return [change for item in items for change in (op.push_arc if tables.is_arc(item) else op.push)(item)], op


def flat(out: Any, way: str) -> list[Any]:
    """An output as changes and promises."""
    parts = out if isinstance(out, list) else [out]
    key = WAYS[way][1].get("key")
    return [item for part in parts for item in ([part] if isinstance(part, Punctuation) else tables.changes(part, R1, key))]


def assert_same(got: list[Any], expected: list[Any]) -> None:
    """The same changes between the same promises, each call's in its order; what ties in that may stand either way."""

    def told(items: list[Any]) -> list[Any]:
        return [item if isinstance(item, Punctuation) else (item.diff, item.le) for item in items]

    def between(items: list[Any]) -> list[Any]:
        return [Counter(part) for _, part in groupby(items, lambda item: isinstance(item, Punctuation))]

    assert len(expected) > 100
    assert told(got) == told(expected)
    assert between(got) == between(expected)


@pytest.fixture
def no_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled engine gets no events as changes."""

    def refused(self: Any, key: Any, changes: Any) -> None:
        raise AssertionError(f"row by row: {changes}")

    monkeypatch.setattr(CompiledEngine, "apply", refused)


def test_a_table_without_net_is_its_rows_one_by_one(way: str, monkeypatch: pytest.MonkeyPatch, no_rows: None) -> None:
    items = stream(way)
    batch, arcs = tables.columns(items, T, 25)
    op = operator(way)
    out = flat(op.push_many(batch, net=False, arcs=arcs), way)
    expected, single = one_by_one(way, items)
    promises = [item for item in expected if isinstance(item, Punctuation)]
    assert_same(out, [item for item in expected if not isinstance(item, Punctuation)] + promises[-1:])
    assert op.statistics == single.statistics
    assert op.statistics.late >= 2


def test_a_list_of_tables_without_net_is_their_rows_one_by_one(way: str, no_rows: None) -> None:
    items = stream(way)
    batch: list[Any] = []
    arcs: list[Any] = []
    for low in range(0, ITEMS, 50):  # the last of each fifty as it is, where it is no event
        bare = items[low + 49 : low + 50] if not tables.is_event(items[low + 49]) else []
        table, found = tables.columns(items[low : low + 50 - len(bare)], T, 25, len(arcs))
        batch += [pa.table(table), *bare]
        arcs += found
    op = operator(way)
    got = op.push_many(batch, net=False, arcs=arcs)
    columns = [
        part if isinstance(part, Punctuation) else {name: part[name].to_numpy() for name in part.column_names} for part in got
    ]
    expected, single = one_by_one(way, items)
    assert_same(flat(columns, way), expected)
    assert op.statistics == single.statistics


def test_a_list_of_tables_is_one_call(way: str, no_rows: None) -> None:
    items = stream(way)
    parts = [tables.columns(items[:180], T, 25)[0], tables.columns(items[180:200], T, 25)[0]]
    promise = Punctuation(90)
    op, one = operator(way), operator(way)
    out = op.push_many([*parts, promise])
    whole, last = one.push_many([tables.columns(items[:200], T, 25)[0], promise])
    assert isinstance(out[0], dict)
    assert (len(out), out[1]) == (2, last)
    assert_same(flat(out[0], way) * 4, flat(whole, way) * 4)
    assert op.statistics == one.statistics


def test_a_list_that_is_refused_leaves_no_trace(way: str) -> None:
    items = stream(way)
    table = tables.columns(items[:150], T, 25)[0]
    for net in (True, False):
        op = operator(way, late="raise")
        op.push_many(table, net=net)
        before, statistics = op.snapshot(), op.statistics
        with pytest.raises(LateEventError, match=r"expected le >= \d+ \(promised\) but got le="):
            op.push_many([table, Punctuation(70), table], net=net)
        assert (op.snapshot(), op.statistics) == (before, statistics)
        op._check()


def test_rows_that_must_go_one_by_one_stand_between_columns() -> None:
    odd = {"sort": [True, 2], "seq": [0, 0], "le": [3, 4]}  # bools for ints are taken, row by row
    even = {"sort": np.array([0]), "seq": np.array([0]), "le": np.array([1])}
    for net, counts in ((True, [1]), (False, [1])):
        op = Operator(pattern, window=25, engine="compiled")
        out = op.push_many([even, odd], net=net)
        assert [len(part["le"]) for part in out] == counts
        assert out[0]["x"].tolist() == [1]
        late = op.push_many([even, {**even, "diff": np.array([-1])}, odd, insert(T(2), 5), Punctuation(2)], net=net)
        assert late[-1] == Punctuation(2)
