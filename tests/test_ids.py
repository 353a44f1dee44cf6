"""Retractions that name an id: the event is looked up, wherever it is; beside an operator that gets whole retractions."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from afa import (
    BEGINNING,
    FOREVER,
    AfaError,
    Arc,
    Automaton,
    Change,
    ChangeError,
    Keyed,
    LateEventError,
    Operator,
    Punctuation,
    SnapshotError,
    insert,
    retract,
)  # fmt: skip
from punctuation import SideOutput
from speculation import Cleanse, LastBefore
from tests.forged import forged
from tests.stress.mutate import opened


class Order(NamedTuple):
    id: int
    user: str
    amount: int


class Sum(NamedTuple):
    first: int = 0
    total: int = 0


ARCS = [
    Arc("0", "1", "amount % 3 == 0", "(e.id, e.amount)", name="a"),
    Arc("1", "2", "amount % 3 == 1", "(r.first, r.total + e.amount)", name="b"),
]
PAIR = Automaton(start="0", final={"2"}, event=Order, register=Sum(), arcs=[*ARCS, Arc.skip("1", "amount % 3 == 2", name="skip")])
STAGE = {"alarm": "amount % 5 == 0"}


FILLED = LastBefore(Order, STAGE).filled


def looking(**more: Any) -> Any:
    stage = LastBefore(Order, STAGE, window=30, filled=FILLED)
    arcs = [Arc("0", "2", "alarm is not None and amount % 3 == 1", "(e.id, e.alarm)", name="a")]
    return stage.before(
        Operator(Automaton(start="0", final={"2"}, event=stage.filled, register=Sum(), arcs=arcs), window=40, **more)
    )


MAKERS: dict[str, Any] = {
    "operator": lambda **more: Operator(PAIR, window=40, **more),
    "interpreted": lambda **more: Operator(PAIR, window=40, engine="interpreted", **more),
    "keyed": lambda **more: Keyed(PAIR, key="user", window=40, **more),
    "by function": lambda **more: Keyed(PAIR, key=lambda e: e.user.upper(), window=40, **more),
    "before": lambda **more: Cleanse(10).before(Keyed(PAIR, key="user", window=40, **more)),
    "after": lambda **more: Cleanse(10).after(Operator(PAIR, window=40, **more)),
    "looking": looking,
}
RESTORE: dict[str, Any] = {
    "operator": lambda blob: Operator.restore(PAIR, blob),
    "interpreted": lambda blob: Operator.restore(PAIR, blob, engine="compiled"),
    "keyed": lambda blob: Keyed.restore(PAIR, blob, key="user"),
    "by function": lambda blob: Keyed.restore(PAIR, blob, key=lambda e: e.user.upper()),
    "before": lambda blob: RESTORE["keyed"](blob),
    "after": lambda blob: RESTORE["operator"](blob),
    "looking": lambda blob: Operator.restore(
        looking().automaton, blob, stages=[LastBefore(Order, STAGE, window=30, filled=FILLED)]
    ),
}


class Step(NamedTuple):
    """What is pushed, and what it means to an operator that knows no ids; nothing: the retraction waits."""

    item: Any
    plain: list[Any]


def steps(rng: random.Random, n: int, promises: bool = True) -> list[Step]:
    """Insertions, retractions by id (some before their event), promises."""
    there: dict[int, Change] = {}
    early: dict[int, int] = {}  # until when a retraction waits
    found, promised, latest = [], 0, 0
    for number in range(n):
        kind = rng.random()
        if kind < 0.55 or (not there and kind < 0.9):
            le = promised + rng.randrange(0, 30)
            name = rng.choice([number, *early, *(k for k in range(number) if k not in there)][:3])
            change = insert(
                Order(name, rng.choice("uv"), rng.choice([0, 3, 5, 10, 1, 4, 7, 2])),
                le,
                le + rng.randint(1, 50) if rng.random() < 0.2 else None,
            )
            latest = max(latest, le)
            if name in early:
                early.pop(name)
                found.append(Step(change, []))
            else:
                there[name] = change
                found.append(Step(change, [change]))
        elif kind < 0.8:
            name = rng.choice(list(there))
            whole = there.pop(name)
            forms = [{"id": name}, Order(name, None, None), {"id": name, "amount": 99}, whole.payload]  # type: ignore[arg-type]
            found.append(Step(retract(rng.choice(forms), rng.choice([None, whole.le, FOREVER - 1])), [whole._replace(diff=-1)]))
        elif kind < 0.88 or not promises:
            name = 1000 + number
            early[name] = max(latest, promised)
            found.append(Step(retract({"id": name}), []))
        else:
            promised += rng.randrange(0, 12)
            if any(until < promised for until in early.values()):
                promised = min(early.values())
            there = {k: c for k, c in there.items() if (c.le or 0) >= promised}
            found.append(Step(Punctuation(promised), [Punctuation(promised)]))
    return found


def net(out: list[Any]) -> dict[Any, int]:
    counts: dict[Any, int] = {}
    for c in out:
        if isinstance(c, Change):
            counts[(*c[:3], c.key)] = counts.get((*c[:3], c.key), 0) + c.diff
    return {match: n for match, n in counts.items() if n}


def tabled(rng: random.Random, items: list[Any]) -> list[Any]:
    """Items in which neighbouring insertions are tables of some kind."""
    found: list[Any] = []
    for whole, group in itertools.groupby(items, key=lambda item: isinstance(item, Change) and item.diff > 0):
        part = list(group)
        if not whole:
            found += part
            continue
        rows = [{**c.payload._asdict(), "le": c.le, "re": c.re} for c in part]
        kinds = {"id": pa.int64(), "user": pa.string(), "amount": pa.int64(), "le": pa.int64(), "re": pa.int64()}
        table = pa.Table.from_pylist(rows, pa.schema(kinds))
        found.append(rng.choice([table, table.to_pandas(), {name: [row[name] for row in rows] for name in kinds}]))
    return found


def rows_of(out: list[Any], keyed: bool) -> dict[Any, int]:
    """Net output of any form."""
    counts: Counter[Any] = Counter()
    for part in out:
        if isinstance(part, Change):
            counts[(*(part.key,) * keyed, *part.payload, part.le, part.re)] += part.diff
        elif not isinstance(part, Punctuation):
            columns = part.to_pydict() if isinstance(part, pa.Table) else dict(part)
            for *row, diff in zip(*(list(columns[name]) for name in columns)):
                counts[tuple(row)] += diff
    return {row: n for row, n in counts.items() if n}


@pytest.mark.parametrize("maker", MAKERS)
def test_tables_of_insertions(maker: str) -> None:
    rng = random.Random(maker)
    for _ in range(8):
        named, plain = MAKERS[maker](id="id"), MAKERS[maker]()
        outs: tuple[list[Any], list[Any]] = [], []
        world = steps(rng, 60)
        for at in range(0, len(world), 12):
            part = world[at : at + 12]
            outs[0].extend(named.push_many(tabled(rng, [step.item for step in part])))
            outs[1].extend(plain.push_many([item for step in part for item in step.plain]))
            keyed = maker in ("keyed", "by function", "before")
            assert rows_of(outs[0], keyed) == rows_of(outs[1], keyed)
            before = rng.choice([named.snapshot(), None])
            if before is not None and (there := [step.item for step in part if isinstance(step.item, Change)]):
                twice = {name: [value] * 2 for name, value in Order(5000, "u", 3)._asdict().items()}
                with pytest.raises(AfaError, match="names one event in force"):
                    named.push_many(
                        [
                            tabled(rng, [insert(Order(4000, "u", 3), 1000)])[0],
                            retract({"id": there[0].payload["id"] if isinstance(there[0].payload, dict) else there[0].payload.id}),
                            {**twice, "le": [1000, 1000]},
                        ]
                    )  # type: ignore[arg-type]
                assert named.snapshot() == before
            if rng.random() < 0.3:
                named = RESTORE[maker](named.snapshot()) if rng.random() < 0.5 else copy.deepcopy(named)
            named._check()


@pytest.mark.parametrize("maker", MAKERS)
def test_worlds(maker: str) -> None:
    rng = random.Random(maker)
    matches = 0
    for _ in range(8):
        named, plain, batch = MAKERS[maker](id="id"), MAKERS[maker](), MAKERS[maker](id="id")
        world = steps(rng, 60)
        outs: tuple[list[Any], list[Any], list[Any]] = [], [], []
        for at in range(0, len(world), 6):
            part = world[at : at + 6]
            outs[0].extend(out for step in part for out in named.push(step.item))
            outs[1].extend(out for step in part for item in step.plain for out in plain.push(item))
            outs[2].extend(batch.push_many([step.item for step in part]))
            assert net(outs[0]) == net(outs[1]) == net(outs[2])
            if rng.random() < 0.3:
                named, batch = RESTORE[maker](named.snapshot()), copy.deepcopy(batch)
            if maker in ("operator", "keyed") and rng.random() < 0.2:
                batch = pickle.loads(pickle.dumps(batch))
            for op in (named, plain, batch):
                op._check()
            assert named.statistics.events == plain.statistics.events == batch.statistics.events
            assert named.statistics.pending == batch.statistics.pending
        matches += len(net(outs[0]))
        last = [op.push(Punctuation(FOREVER)) if not op.statistics.pending or op is plain else [] for op in (named, plain)]
        assert not last[0] or net(last[0]) == net(last[1])
    assert matches > 10


FORMS: dict[str, Any] = {
    "arrow": lambda rows: pa.Table.from_pylist(rows),
    "pandas": lambda rows: pd.DataFrame(rows),
    "dict": lambda rows: {name: [row[name] for row in rows] for name in rows[0]},
    "rows": lambda rows: rows,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("maker", MAKERS)
def test_rows_of_tables_that_hold_only_the_id(form: str, maker: str) -> None:
    rng = random.Random(f"{form} {maker}")
    for _ in range(3):
        named, plain = MAKERS[maker](id="id"), MAKERS[maker]()
        world = steps(rng, 40, promises=False)
        nothing = {"id": None, "user": None, "amount": None, "le": None, "diff": -1}
        rows = []
        for step in world:
            change = step.item
            payload = change.payload if isinstance(change.payload, dict) else change.payload._asdict()
            row = {**nothing, **payload, "le": change.le, "diff": change.diff}
            rows.append(row if change.diff > 0 else {**nothing, "id": payload["id"]})
        items = FORMS[form](rows)
        bare = [{name: value for name, value in row.items() if value is not None} for row in rows]
        out = named.push_many([*(bare if form == "rows" else [items]), Punctuation(0)])
        expected = plain.push_many([c._replace(re=None) for step in world for c in step.plain] + [Punctuation(0)])
        if form == "rows":
            assert net(out) == net(expected)
        else:
            found = out[0].to_pylist() if form == "arrow" else pd.DataFrame(out[0]).to_dict("records")
            assert sorted((row["first"], row["total"], row["le"], row["re"]) for row in found) == sorted(
                (*c.payload, c.le, c.re) for c in expected[:-1]
            )
        named._check()


def test_two_in_force_are_refused_and_an_id_may_come_again(engine: str) -> None:
    op = Keyed(PAIR, key="user", window=40, id="id", engine=engine)  # type: ignore[arg-type]
    op.push(insert(Order(7, "u", 3), 5))
    before = op.snapshot()
    for call in (
        lambda: op.push(insert(Order(7, "v", 3), 6)),
        lambda: op.push_many([retract({"id": 7}), insert(Order(8, "v", 3), 6), insert(Order(8, "v", 3), 6)]),
        lambda: op.push_many({"id": [9, 7], "user": ["u", "u"], "amount": [1, 1], "le": [9, 9]}),
    ):
        with pytest.raises(
            ChangeError, match=r"expected an id that names one event in force \(id='id'\) but got id=[78] of Order\("
        ):
            call()
        assert op.snapshot() == before
    op.push_many([retract({"id": 7}), insert(Order(7, "u", 6), 5)])  # a revision
    assert net(op.push(insert(Order(8, "u", 4), 9))) == {(Sum(7, 10), 9, 45, "u"): 1}
    assert net(op.push(retract({"id": 7}))) == {(Sum(7, 10), 9, 45, "u"): -1}
    op.push(Punctuation(20))
    op.push(insert(Order(8, "u", 3), 21))  # the event at 9 can't be retracted any more, and has no claim on its id
    op._check()


def test_a_refused_call_leaves_ids_as_they_were(engine: str) -> None:
    op = Operator(PAIR, window=40, id="id", engine=engine)  # type: ignore[arg-type]
    first = {"id": [1, 2, 3], "user": ["u"] * 3, "amount": [3, 3, 3], "le": [1, 5, 9]}
    op.push_many(first)
    more = {"id": [4, 5], "user": ["u"] * 2, "amount": [3, 4], "le": [9, 10]}
    for bad in (Change("no event", 1), Punctuation(BEGINNING - 1), insert(Order(5, "u", 3), 11)):
        with pytest.raises(AfaError):
            op.push_many([retract({"id": 2}), more, retract({"id": 4}), Punctuation(8), insert(Order(1, "v", 1), 9), bad])
        op._check()
    op.push_many(more)
    for name in (1, 2, 3, 4, 5):
        op.push(retract({"id": name}))
    assert (op.statistics.events, op.statistics.pending) == (0, 0)
    op.push_many([first, more, Punctuation(6)])
    op.push_many([retract({"id": 3}), {**first, "le": [7, 8, 9]}])
    op._check()


def test_a_retraction_that_waits_is_late_in_the_end(engine: str) -> None:
    side = SideOutput()
    op = Operator(PAIR, window=40, id="id", late=side, engine=engine)  # type: ignore[arg-type]
    op.push_many([insert(Order(1, "u", 3), 50), retract({"id": 5}), retract({"id": 6}, 60), retract({"id": 6})])
    assert op.statistics.pending == 3
    assert op.push(Punctuation(50)) == [Punctuation(50)]
    assert (op.statistics.pending, side.take()) == (3, [])
    op.push(insert(Order(6, "u", 4), 55))
    assert op.statistics.pending == 2
    op.push(Punctuation(51))
    assert side.take() == [Change({"id": 5}, 50, None, -1)]
    op.push(retract({"id": 9}, 40))
    assert side.take() == [Change({"id": 9}, 40, None, -1)]
    assert op.statistics.late == 2
    strict = Operator.restore(PAIR, op.snapshot(), late="raise")
    with pytest.raises(
        LateEventError, match=r"expected an event with id=6 in force, or before 99 \(promised\), but got its retraction only"
    ):
        strict.push(Punctuation(99))
    with pytest.raises(LateEventError, match=r"expected le >= 51 \(promised\) but got le=7 for the retraction of id=9"):
        strict.push(retract({"id": 9}, 7))
    assert strict.statistics.pending == 1
    assert op.push(Punctuation(99)) == [Punctuation(99)]
    assert side.take() == [Change({"id": 6}, 60, None, -1)]


def test_what_is_refused_in_words() -> None:
    for make, text in (
        (lambda: Operator(PAIR, id="ident"), r"expected id=<a field of Order\(.*\)> but got id='ident'"),
        (
            lambda: Operator(Automaton(start="0", final={"1"}, arcs=[]), id="id"),
            r"expected id=<a field of an event schema> but got",
        ),
        (
            lambda: Operator(PAIR, id="id", retractions=False),
            r"retractions=False can't be combined with id='id' because an id names an event for its retraction",
        ),
        (
            lambda: Operator(PAIR, id="id", gapless="amount"),
            r"gapless=Gapless\('amount'\) can't be combined with id='id' because an id names events that are retracted",
        ),
    ):
        with pytest.raises(AfaError, match=text):
            make()
    op = Operator(PAIR, window=40, id="id")
    none = Automaton(start="0", final={"1"}, event=NamedTuple("Maybe", [("id", int | None)]), arcs=[])
    for item, text in (
        (retract({"ident": 7}), r"expected a retraction that names \{'id': ..\} \(id='id'\) but got \{'ident': 7\}"),
        (retract(7), r"expected a retraction that names \{'id': ..\} \(id='id'\) but got 7"),
        (retract({"id": "7"}), r"expected id: int but got id='7' in Order"),
        (Change({"id": 7}, None, None, -2), r"expected diff=-1 of a retraction that names an id \(id='id'\) but got diff=-2"),
        (Change(Order(7, "u", 1), 1, None, 2), r"expected one copy of an event that an id names \(id='id'\) but got diff=2"),
        (insert(Order(7, "u", 1)), r"expected an event with a time but got le=None"),
    ):
        with pytest.raises(ChangeError, match=text):
            op.push(item)
    with pytest.raises(ChangeError, match=r"expected an id \(id='id'\) but got id=None in Maybe\(id=None\)"):
        Operator(none, id="id").push(insert((None,), 1))
    assert op.statistics.changes == op.statistics.pending == 0


def test_a_snapshot_is_checked() -> None:
    op = Operator(PAIR, window=40, id="id")
    op.push_many([insert(Order(7, "u", 3), 5), retract({"id": 8})])
    blob = op.snapshot()
    for waiting in (
        [["id", 8]],
        [["id", [8]]],
        ["id", [[8, []]]],
        ["id", [[8, ["x"]]]],
        ["ident", []],
        ["id", [[8, [1]], [8, [2]]]],
    ):
        with pytest.raises((SnapshotError, AfaError)):
            Operator.restore(PAIR, forged(blob, (2, -1), waiting))
    twice = Operator(PAIR, window=40)
    twice.push_many([insert(Order(7, "u", 3), 5), insert(Order(7, "u", 4), 6)])
    with pytest.raises(SnapshotError, match="expected an id for each event but got"):
        Operator.restore(PAIR, forged(twice.snapshot(), (2,), opened(blob)[2]))


class Sold(NamedTuple):
    id: int
    amount: int


@pytest.mark.parametrize("unit", ["M8[ns]", "M8[s]", "M8[D]", "m8[ns]", "m8[us]"])
@pytest.mark.parametrize("make", [dict, pd.DataFrame, pa.table])
def test_instants_as_keys_of_a_table(make: Any, unit: str) -> None:
    arcs = [Arc("0", "1", "amount < 3"), Arc("1", "2", "amount > 6")]
    op = Keyed(Automaton(start="0", final={"2"}, event=Sold, arcs=arcs), key="day", window=40, id="id")
    days = np.array([19_723, 19_723], unit)
    table = make({"id": np.array([1, 2]), "amount": np.array([1, 9]), "le": np.array([1, 2]), "day": days})
    op.push_many([table])
    assert [change.diff for change in op.push(retract({"id": 2}))] == [-1]
    assert op._core.named is not None
    assert not op._core.named.pending
