"""Interrupts in what stands beside an operator: stages, sources of promises, AFA+O, uncertain times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

import afa
from afa import Arc, Automaton, Change, Keyed, Operator, Punctuation, insert, retract
from afa.uncertain import Sequence, Worlds, between
from punctuation import BoundedDisorder, ObservedLateness, SideOutput, Union
from speculation import Choose, Cleanse, Consolidate, LastBefore, Ordered
from tests.interrupts import at_line
from tests.kinds_of_calls import PLAIN, SWAPPED, Tick, columns, history, tick
from tests.text import E


class Kind(NamedTuple):
    """How something is made, what is called, and what can be asked of it."""

    make: Callable[[str], Any]
    work: Callable[[Any], Any]
    state: Callable[[Any], Any]


def of_operator(op: Any) -> Any:
    op._check()
    return op.statistics, op.snapshot()


def of_stage(stage: Any) -> Any:
    return stage.statistics, stage.snapshot()


def of_around(op: Any) -> Any:
    op._check()
    return op.statistics, op.stage.statistics, op.snapshot()


def of_source(source: Any) -> Any:
    return source.promised, source.late, source.stale, source.snapshot()


def of_union(union: Any) -> Any:
    return union.promised, union.late, [of_source(source) for source in union.sources.values()], union._heard


def ordered(engine: str) -> Any:
    op = Ordered(PLAIN, number="seq", key="sym", window=20, engine=engine, repeated="drop", late="drop")
    for seq, le in ((1, 3), (2, 5), (5, 9), (6, 12), (9, 15)):
        op.push(tick(8 if seq % 2 else 2, le, "a", seq))
        op.push(tick(8, le, "b", seq))
    op.push(retract(*tick(1, 14, "a", 8)[:2]))
    return op


def numbered(n: int) -> dict[str, Any]:
    seq = np.arange(10, 10 + n)
    seq[n // 2 :] += 1
    return {"sym": np.array(["a", "b"])[np.arange(n) % 2], "x": np.full(n, 8), "seq": seq // 2 * 2 + 4, "le": 20 + np.arange(n)}


def fed(source: Any, n: int = 30) -> Any:
    for i in range(n):
        source.push(insert("x", (i * 7) % 23 + i))
    return source


def union(engine: str) -> Any:
    made = Union({"a": ObservedLateness(0.9, memory=20, minimum=1), "b": BoundedDisorder(3)}, idle_after=9, clock=lambda: 5.0)
    for i in range(20):
        made.push("ab"[i % 2], insert("x", i))
    return made


def around(build: Callable[[Any], Any], *, table: bool = False) -> Callable[[str], Any]:
    def make(engine: str) -> Any:
        found = build(Keyed(PLAIN, key="sym", window=20, engine=engine))
        if table:
            found.push_many(pa.table(columns(30)))
            return found
        for item in [*history(), Punctuation(4)]:
            found.push(item)
        return found

    return make


def waiting(engine: str) -> Any:
    stage = Cleanse.auto(max_chattiness=1.5, memory=20)
    stage.push_many([*(insert("x", i) for i in range(40)), Punctuation(20), *(retract("x", i) for i in range(30, 35))])
    return stage


class Looked(NamedTuple):
    sym: str
    x: int
    seq: int
    last: int | None


CALM = Automaton(start="s", final={"f"}, event=Looked, arcs=[Arc("s", "f", "x > 5 and last is None", name="calm")])


def looking() -> Any:
    return LastBefore(Tick, {"last": "x < 3"}, window=6, filled=Looked)


def looked(engine: str) -> Any:
    stage = looking()
    stage.push_many([*(change._replace(key=change.payload.sym) for change in history()), Punctuation(4)])
    return stage


def looks(engine: str) -> Any:
    op = looking().before(Keyed(CALM, key="sym", window=20, engine=engine, late="drop"))  # type: ignore[arg-type]
    op.push_many([*history(), Punctuation(4)])
    return op


LATE = [tick(1, 6, "b"), tick(9, 8, "a"), tick(1, 7, "c"), retract(*tick(4, 10, "a", 2)[:2]), Punctuation(9)]


def chosen(engine: str) -> Any:
    stage = Choose(window=9, prefer=["-seq"])
    for key in "ab":
        stage.push_many([Change(E(0, seq), le, le - seq + 9, 1, key) for le in range(4, 14) for seq in range(4)])
    stage.push(Punctuation(7))
    return stage


TOLD = """SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY sym ORDER BY at, seq MEASURES COUNT(*) AS n {}
    PATTERN (a b+) WITHIN 20 DEFINE b AS x <> PREV(x))"""


def possible(engine: str) -> Any:
    op = Worlds(PLAIN, worlds=20, key="sym", window=20, engine=engine, late="drop")  # type: ignore[arg-type]
    for item in [*history(), insert(Tick("a", 8, 30), between(5, 9)), Punctuation(4)]:
        op.push(item)
    return op


def in_a_row(engine: str) -> Any:
    op = Sequence({"a": "x > 7", "b": "x < 5"}, event=Tick, key="sym", window=20, strategy="skip_till_next", late="drop")
    for item in [*history(), insert(Tick("a", 8, 30), between(5, 9)), Punctuation(4)]:
        op.push(item)
    return op


SPREAD = [
    insert(Tick("a", 2, 40), between(6, 12)),
    retract(Tick("a", 8, 30), between(5, 9)),
    Punctuation(6),
    insert(Tick("b", 8, 1), 2),
]


def told(rows: str, **options: Any) -> Callable[[str], Any]:
    """A query in SQL that tells of the events behind chosen matches."""

    def make(engine: str) -> Any:
        op = afa.sql(TOLD.format(rows), event=Tick).operator(engine=engine, **options)  # type: ignore[arg-type]
        for le in range(1, 12):
            op.push(tick(le % 3, le, "ab"[le % 2], le))
        op.push(Punctuation(4))
        return op

    return make


EVERY, MEMBERS = told("ALL ROWS PER MATCH"), told("", members="x", tell="lineage")
REVISED = [retract(*tick(8 % 3, 8, "a", 8)[:2]), tick(7, 8, "a", 8), tick(1, 12, "a", 12), Punctuation(26)]
BEFORE, AFTER = (lambda op: Cleanse(5).before(op)), (lambda op: Cleanse(5).after(op))
CHOOSE = lambda op: Choose(window=20).after(op)  # noqa: E731
KINDS: dict[str, Kind] = {
    "ordered, next": Kind(ordered, lambda op: op.push(tick(2, 16, "a", 10)), of_operator),
    "ordered, gap closes": Kind(ordered, lambda op: op.push_many([tick(2, 6, "a", 3), tick(2, 7, "a", 4)]), of_operator),
    "ordered, promise": Kind(ordered, lambda op: op.push(Punctuation(13)), of_operator),
    "ordered, revision": Kind(
        ordered, lambda op: op.push_many([retract(*tick(8, 9, "b", 5)[:2]), tick(2, 8, "b", 5)]), of_operator
    ),
    "ordered, table": Kind(ordered, lambda op: op.push_many([numbered(40), Punctuation(22)]), of_operator),
    "cleanse": Kind(waiting, lambda stage: stage.push_many([insert("y", 60), retract("x", 36), Punctuation(33)]), of_stage),
    "cleanse, one": Kind(waiting, lambda stage: stage.push(retract("x", 39)), of_stage),
    "delay": Kind(
        lambda engine: Cleanse.auto(max_delay=3, memory=20),
        lambda stage: stage.push_many([*(insert("x", i) for i in range(40)), Punctuation(20)]),
        of_stage,
    ),
    "consolidate": Kind(
        lambda engine: Consolidate(),
        lambda stage: stage.push_many([insert("x", 5), retract("x", 5), insert("y", 4), Punctuation(4), insert("z", 6)]),
        of_stage,
    ),
    "choose": Kind(
        chosen,
        lambda stage: stage.push_many(
            [Change(E(0, 3), 9, 15, -1, "a"), Change(E(1, 3), 8, 14, 1, "a"), Change(E(1, 1), 9, 17, 1, "c"), Punctuation(12)]
        ),
        of_stage,
    ),
    "choose, after": Kind(around(CHOOSE), lambda op: op.push(tick(2, 8)), of_around),
    "choose, table": Kind(around(CHOOSE), lambda op: op.push_many([columns(30), Punctuation(12)]), of_around),
    "all rows": Kind(EVERY, lambda op: op.push_many(REVISED), of_operator),
    "all rows, one": Kind(EVERY, lambda op: op.push(tick(5, 9, "a", 9)), of_operator),
    "members of chosen matches": Kind(MEMBERS, lambda op: op.push_many(REVISED), of_operator),
    "before": Kind(around(BEFORE), lambda op: op.push(tick(2, 8)), of_around),
    "before, promise": Kind(around(BEFORE), lambda op: op.push(Punctuation(9)), of_around),
    "before, rows": Kind(around(BEFORE, table=True), lambda op: op.push_many([pa.table(columns(9)), Punctuation(28)]), of_around),
    "before, rows as items": Kind(around(BEFORE, table=True), lambda op: op.push_many([tick(2, 40), Punctuation(30)]), of_around),
    "before, feedback": Kind(
        around(lambda op: Cleanse.auto(max_chattiness=1.2).before(op)),
        lambda op: op.push_many([tick(8, 9), tick(2, 11), Punctuation(12)]),
        of_around,
    ),
    "after": Kind(around(AFTER), lambda op: op.push(tick(2, 8)), of_around),
    "after, table": Kind(around(AFTER), lambda op: op.push_many(columns(30)), of_around),
    "after, arc": Kind(around(AFTER), lambda op: op.push_arc(insert(SWAPPED, 4, 12)), of_around),
    "after, swap": Kind(around(AFTER), lambda op: op.swap("last", fence="x < 5", at=4), of_around),
    "look back, swap": Kind(looks, lambda op: op.swap("calm", fence="x > 7 and last is None", at=4), of_around),
    "last before": Kind(looked, lambda stage: stage.push_many([change for change in LATE if change not in LATE[3:4]]), of_stage),
    "look back": Kind(looks, lambda op: op.push_many(LATE), of_around),
    "look back, one": Kind(looks, lambda op: op.push(tick(1, 6, "b")), of_around),
    "look back, table": Kind(looks, lambda op: op.push_many([columns(9), Punctuation(24)]), of_around),
    "worlds": Kind(possible, lambda op: op.push(insert(Tick("a", 2, 40), between(6, 12))), of_stage),
    "worlds, list": Kind(possible, lambda op: op.push_many(SPREAD), of_stage),
    "worlds, table": Kind(possible, lambda op: op.push_many(columns(30)), of_stage),
    "worlds, swap": Kind(possible, lambda op: op.swap("last", fence="x < 5", at=4), of_stage),
    "sequence": Kind(in_a_row, lambda op: op.push(insert(Tick("a", 2, 40), between(6, 12))), of_stage),
    "sequence, list": Kind(in_a_row, lambda op: op.push_many(SPREAD), of_stage),
    "bounded": Kind(lambda engine: fed(BoundedDisorder(5)), lambda source: source.push(insert("x", 90)), of_source),
    "bounded, list": Kind(
        lambda engine: fed(BoundedDisorder(5)), lambda source: source.push_many([insert("x", 90), Punctuation(88)]), of_source
    ),
    "observed": Kind(lambda engine: fed(ObservedLateness(0.9, memory=20)), lambda source: source.push(insert("x", 90)), of_source),
    "observed, few": Kind(
        lambda engine: fed(ObservedLateness(0.9, memory=20)), lambda source: source.push_many({"le": [41, 90, 60]}), of_source
    ),
    "observed, many": Kind(
        lambda engine: fed(ObservedLateness(0.9, memory=20)),
        lambda source: source.push_many({"le": [(i * 37) % 101 for i in range(100)]}),
        of_source,
    ),
    "end": Kind(lambda engine: fed(BoundedDisorder(5)), lambda source: source.end(), of_source),
    "union": Kind(union, lambda made: made.push("a", insert("x", 90)), of_union),
    "union, list": Kind(union, lambda made: made.push_many("b", [insert("x", 90), insert("x", 3)]), of_union),
    "union, end": Kind(union, lambda made: made.end(), of_union),
}


def each_line(name: str, engine: str, times: int | None) -> int:
    """Interrupt a call at each line, or about so many times on the way; how often it was."""
    kind, count, stop = KINDS[name], 0, 1
    twin = kind.make(engine)
    before = kind.state(twin)
    done = at_line(lambda: repr(kind.work(twin)), None)
    after = kind.state(twin)
    step = 1 if times is None else 1 + done.lines // times
    found = kind.make(engine)
    while (ended := at_line(partial(kind.work, found), stop)).interrupted:
        now = kind.state(found)
        assert now in (before, after), f"{name} at {ended.out}: {now} != {before}; after: {after}"
        if now == before and count % 5 == 0:
            assert repr(kind.work(found)) == done.out, f"{name} at {ended.out}"
            assert kind.state(found) == after, f"{name} at {ended.out}"
        if kind.state(found) != before:
            found = kind.make(engine)
        count, stop = count + 1, stop + step
    return count


@pytest.mark.parametrize("name", KINDS)
def test_a_call_is_interrupted_at_some_of_its_lines(name: str) -> None:
    assert each_line(name, "interpreted" if len(name) % 2 else "compiled", times=12) > 0


@pytest.mark.stress
@pytest.mark.parametrize("name", KINDS)
def test_a_call_is_interrupted_at_each_of_its_lines(engine: str, name: str) -> None:
    assert each_line(name, engine, times=None) > 0


def test_what_a_side_output_has_got_goes_back_with_the_call() -> None:
    for stop in range(1, 250, 3):
        side = SideOutput(limit=3)
        op = Operator(PLAIN, window=20, late=side, engine="interpreted")
        op.push(Punctuation(9))
        op.push_many([tick(1, 3, seq=i) for i in range(2)])
        before = side.changes, side.count, side.lost
        ended = at_line(lambda op=op: op.push_many([tick(1, 3, seq=i) for i in range(2, 6)]), stop)  # type: ignore[misc]
        if op.statistics.late == 2:
            assert ended.interrupted
            assert (side.changes, side.count, side.lost) == before
        else:
            assert (side.count, side.lost, len(side)) == (6, 3, 3)
