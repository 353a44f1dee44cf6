"""Fields of neighbours against brute force: events that come late, go, tie and become final; alone and before an operator."""

from __future__ import annotations

import copy
import random
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa import FOREVER, AfaError, Arc, Automaton, Change, Instant, Keyed, Operator, Punctuation, Query, insert, retract, sql
from afa.compiled.encode import Encoded
from afa.errors import SnapshotError
from speculation import LastBefore, last_rows
from tests import oracle
from tests.forged import forged
from tests.test_last_before import Event, Tick, World, holds, matches_before, netted

BESIDE: dict[str, tuple[str, int]] = {
    "x1": ("x", -1), "kind2": ("kind", -2), "next_x": ("x", 1), "next_kind": ("kind", 3), "next_seq": ("seq", 2)
}  # fmt: skip
BACK: dict[str, tuple[str, int]] = {"x1": ("x", -1), "kind2": ("kind", -2), "seq3": ("seq", -3)}
LAST: dict[str, Any] = {"last_a": "kind == 'a'"}
FILLED = {
    (only, both): LastBefore(Tick, LAST if both else {}, neighbours=BACK if only else BESIDE).filled
    for only in (True, False)
    for both in (True, False)
}


def brute(copies: Counter[Event], stage: LastBefore) -> Counter[Any]:
    """All events in force as they must have left."""
    there = [event for event, n in copies.items() if n > 0]

    def place(event: Event) -> tuple[int, Any]:
        return event[2], getattr(event[1], stage.order) if stage.order else 0

    found: Counter[Any] = Counter()
    for event in there:
        key, tick, le, re = event
        steps: dict[Any, list[Event]] = {}
        for other in there:
            if other[0] == key:
                steps.setdefault(place(other), []).append(other)
        order = sorted(steps)
        more: list[Any] = []
        for name in stage.conditions:
            les = [x[2] for x in there if x[0] == key and place(x) < place(event) and holds(name, x[1])]
            more.append(max([at for at in les if stage.window is None or at > le - stage.window], default=None))
        for field, offset in stage.neighbours.values():
            at = order.index(place(event)) + offset
            beside = steps[order[at]] if 0 <= at < len(order) else []
            far = offset > 0 and stage.window is not None and beside and beside[0][2] >= le + stage.window
            more.append(getattr(beside[0][1], field) if len(beside) == 1 and not far else None)
        found[key, stage.filled(*tick, *more), le, re] = copies[event]
    return found


class Beside(World):
    """One stage with neighbours under random events."""

    def __init__(self, seed: int, keyed: bool = True) -> None:
        choose = random.Random(f"beside/{seed}")
        self.kind = choose.random() < 0.4, choose.random() < 0.4
        super().__init__(seed, keyed)

    def fresh(self, window: int | None, order: str | None) -> LastBefore:  # type: ignore[override]
        only, both = self.kind
        return LastBefore(
            Tick, LAST if both else {}, neighbours=BACK if only else BESIDE, window=window, order_by=order, filled=FILLED[self.kind]
        )


def first_open(world: Beside, stage: LastBefore) -> int:
    """The first event below the promise of which a neighbour behind may still come; or the promise."""
    t, found = world.promised, [world.promised]
    most = max([offset for _, offset in stage.neighbours.values()], default=0)
    place = lambda event: (event[2], getattr(event[1], stage.order) if stage.order else 0)  # noqa: E731
    for key in world.keys:
        steps = sorted({place(event) for event, n in world.copies.items() if n > 0 and event[0] == key and event[2] < t})
        still = steps[max(0, len(steps) - most) :] if most else []
        found += [le for le, _ in still if stage.window is None or le > t - stage.window]
    return min(found)


@pytest.mark.parametrize("seed", range(8))
def test_neighbours_are_a_function_of_the_set_of_events(seed: int) -> None:
    revised = 0
    for number in range(12):
        world = Beside(100 * seed + number)
        held, told = Counter[Any](), -(10**9)
        for step in range(60):
            stage = world.stage
            if world.random.random() < 0.1:
                world.stage = LastBefore.restore(stage.snapshot(), like=world.fresh(stage.window, stage.order))
                assert world.stage.snapshot() == stage.snapshot()
            items = world.call(step)
            before = world.stage.snapshot()
            with pytest.raises(AfaError, match="expected re > le"):
                world.stage.push_many([*items, insert(Tick("a", 0, 0), 10**6, 3)])
            assert world.stage.snapshot() == before, "a call that is refused leaves no trace"
            out = world.stage.push_many(items)
            changes = [change for change in out if isinstance(change, Change)]
            assert all(change.le >= told for change in changes), "what is final never changes"
            told = max([told, *(item.t for item in out if isinstance(item, Punctuation))])
            was, held = held, netted(held, out)
            assert held == brute(world.copies, world.stage)
            if len(changes) == len(out) and not any(isinstance(item, Punctuation) for item in items):  # one part
                sizes = sum(((held - was) + (was - held)).values())
                assert sum(abs(change.diff) for change in changes) == sizes, "the minimal difference"
                signs = [change.diff > 0 for change in changes]
                assert signs == sorted(signs)
            if world.promised > -(10**9):
                assert told <= world.promised
                if isinstance(items[-1:] and items[-1], Punctuation):
                    assert told == first_open(world, world.stage)
        revised += world.stage.statistics.revised
        if not world.owed:
            assert world.stage.push(Punctuation(FOREVER))[-1:] == [Punctuation(FOREVER)]
            assert world.stage.statistics.held == 0
            assert not world.stage.keys
    assert revised > 150


def calm(event: type) -> Automaton:
    """b behind an a or a first event, then c, before which the next one is none that is known to be small."""
    arcs = [Arc("0", "1", "kind == 'b' and x1 is None"), Arc.skip("1", "kind != 'c'")]
    last = "kind == 'c' and (kind2 != 'a' or kind2 is None)"
    more = " and (next_x is None or next_x > 1)" if "next_x" in event._fields else ""  # type: ignore[attr-defined]
    return Automaton(start="0", final={"2"}, event=event, arcs=[*arcs, Arc("1", "2", last + more)])


def operator(world: Beside, engine: str) -> Any:
    options: dict[str, Any] = {"window": 9, "engine": engine, "order_by": world.stage.order}
    automaton = calm(world.stage.filled)
    return Operator(automaton, **options) if world.keys == [None] else Keyed(automaton, key="key", **options)


def expected(world: Beside, engine: str) -> set[Any]:
    """The matches of a fresh operator that gets the events as they must have left."""
    found = brute(world.copies, world.stage)
    out = operator(world, engine).push_many([Change(payload, le, re, n) for (_, payload, le, re), n in found.items()])
    return {((change.key,), change.le, change.re) for change in out}


def restored(world: Beside, engine: str, blob: bytes) -> Any:
    stage = world.stage
    key, stages = None if world.keys == [None] else "key", [world.fresh(stage.window, stage.order)]
    return Operator.restore(calm(stage.filled), blob, key=key, stages=stages, engine=engine)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_before_an_operator_matches_are_those_of_the_filled_events(engine: str, seed: int) -> None:
    seen = Counter[str]()
    for number in range(8):
        world = Beside(1000 * seed + number, keyed=number % 3 > 0)
        op, again = world.stage.before(operator(world, engine)), lambda blob, w=world: restored(w, engine, blob)
        seen += matches_before(world, op, again, lambda w=world: expected(w, engine))
    assert seen["matches"] > 100
    assert seen["retractions"] > 10


def table(changes: list[Change]) -> dict[str, list[Any]]:
    """Events as columns; with their REs, if each has one, and their copies, if not each is one."""
    columns = {name: [getattr(change.payload, name) for change in changes] for name in Tick._fields}
    more = {"le": [change.le for change in changes], "diff": [change.diff for change in changes]}
    return {**columns, **more, **({"re": [change.re for change in changes]} if all(change.re for change in changes) else {})}


@pytest.mark.parametrize("seed", range(8))
def test_tables_in_order_are_taken_by_columns(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most rows come in order, in tables of several keys: as if the kernels had taken them. The other engine takes no columns."""
    engine = "compiled"
    monkeypatch.setattr(last_rows, "MANY", 1)
    ahead, flushed = Counter[bool](), 0
    taken, flush = last_rows.LastRows.ahead, last_rows.LastRows._flush

    def counted(rows: Any, *given: Any) -> Any:
        found = taken(rows, *given)
        ahead[found is not None] += 1
        return found

    def counted_flush(rows: Any) -> None:
        nonlocal flushed
        flushed += rows._tails.any
        flush(rows)

    monkeypatch.setattr(last_rows.LastRows, "ahead", counted)
    monkeypatch.setattr(last_rows.LastRows, "_flush", counted_flush)
    for number in range(6):
        world, choose = Beside(5000 * seed + number, keyed=number % 3 > 0), random.Random(f"ahead {seed} {number}")
        world.kind = choose.random() < 0.5, False
        world.stage = world.fresh(choose.choice([None, 4]), choose.choice([None, "seq"]))
        op, held, told, at = world.stage.before(operator(world, engine)), set[Any](), -(10**9), 0
        for _ in range(30):
            if choose.random() < 0.1:
                again = restored(world, engine, op.snapshot())
                assert again.snapshot() == op.snapshot()
                op, world.stage = again, again.stage
            elif choose.random() < 0.1:
                op = copy.copy(op)
                world.stage = op.stage
            changes = []
            for _ in range(choose.randint(1, 8)):
                at += choose.random() < 0.95
                le = max(at - choose.randint(1, 4), world.promised) if choose.random() < 0.04 else at
                key = choose.choice(world.keys)
                tick = Tick(choose.choice("abbcc"), key or 0, choose.randint(0, 2), choose.choice([None, 0.5, 2.0]))
                changes.append(Change(tick, le, le + (9 if world.keys == [None] else 5), 1, key))
            there = [event for event, n in world.copies.items() if n > 0 and event[2] >= world.promised]
            if there and choose.random() < 0.1:
                key, tick, le, re = choose.choice(there)
                changes.append(Change(tick, le, re, -1, key))
            items: list[Any] = [table(changes)]
            if choose.random() < 0.3:
                items.append(Punctuation(max(world.promised, at - choose.randint(-1, 3))))
            if choose.random() < 0.2:
                before, bad = copy.copy(op).snapshot(), insert(Tick("a", 0, 0), 10**6, 3)  # a snapshot lets the kernels take all
                more: list[Any] = [Change(Tick("c", key or 0, 0), at + 1, at + 6, 1, key) for key in world.keys for _ in range(3)]
                more = [change._replace(le=at + 40 + i, re=at + 49 + i) for i, change in enumerate(more)]
                late = insert(Tick("a", world.keys[0] or 0, 0), at + 1)
                with pytest.raises(AfaError, match="expected re > le"):
                    op.push_many([*items, late, Punctuation(at + 20), table(more), bad])
                assert copy.copy(op).snapshot() == before
            for change in changes:
                world.copies[change.key, change.payload, change.le, change.re] += change.diff  # type: ignore[index]
            out = op.push_many(items, net=choose.random() < 0.9)
            for item in items[1:]:
                world.promised = at_least = item.t
                at = max(at, at_least)
            rows: list[Any] = []
            for part in out:
                if isinstance(part, dict):
                    its = part.get("key", [None] * len(part["le"]))
                    columns = zip(part["le"].tolist(), part["re"].tolist(), part["diff"].tolist(), its)
                    rows += [Change((None if key is None else int(key),), le, re, diff) for le, re, diff, key in columns]
                elif isinstance(part, Change):
                    rows.append(part._replace(payload=(part.key,)))
            assert all(change.le >= told for change in rows)
            told = max([told, *(item.t for item in out if isinstance(item, Punctuation))])
            held = oracle.net(rows, held)
            assert held == expected(world, engine)
            op._check()
    assert ahead[True] > 60
    assert ahead[False] > 10
    assert flushed > 10


class Anything(NamedTuple):
    what: Any
    text: str | None


def test_fields_of_any_type_and_texts_that_nobody_holds_any_more() -> None:
    stage = LastBefore(Anything, neighbours={"before": ("what", -1), "text_before": ("text", -1), "behind": ("what", 1)}, window=5)
    for le in range(3000):
        out = stage.push_many([insert(Anything((le,), f"text {le}" if le % 3 else None), le), Punctuation(le - 1)])
        before = f"text {le - 1}" if (le - 1) % 3 and le else None
        came = [change.payload for change in out if isinstance(change, Change) and change.le == le]
        assert [(each.before, each.text_before) for each in came] == [((le - 1,) if le else None, before)]
        assert stage.statistics.held <= 5
    assert len(stage.rows._words.strings.all) < 2500


class Text(NamedTuple):
    text: str


@pytest.mark.parametrize("by_columns", [True, False])
def test_texts_that_only_a_table_below_the_watermark_holds(by_columns: bool) -> None:
    """Numbers of texts are given anew behind a watermark: what a late row looks at keeps its own."""
    stage = LastBefore(Text, neighbours={"before": ("text", -1)})
    last = Automaton(start="0", final={"1"}, event=stage.filled, arcs=[Arc("0", "1", "text == 'late' and before == 'one 299'")])
    op = stage.before(Operator(last, window=10**6, engine="compiled"))

    def push(word: str, les: range) -> None:
        texts = [f"{word} {i}" for i in range(len(les))]
        rows = [insert(Text(text), le) for text, le in zip(texts, les)]
        op.push_many([{"text": texts, "le": list(les)}] if by_columns else rows)

    push("one", range(300))
    op.push(Punctuation(1000))
    push("two", range(2000, 7000))
    push("three", range(8000, 13000))
    assert [(change.le, change.diff) for change in op.push_many([insert(Text("late"), 1500)])] == [(1500, 1)]


def test_numbers_of_keys_that_nothing_is_held_of_are_given_again() -> None:
    stage = LastBefore(Tick, LAST, window=5)
    for le in range(8000):
        if le in (3001, 5001):
            stage = copy.copy(stage)
        key = (le // 2, "x")
        out = stage.push_many([Change(Tick("ab"[le % 2], 0, 0), le, None, 1, key), Punctuation(le - 1)])
        (came,) = [change for change in out if isinstance(change, Change)]
        assert (came.key, came.payload.last_a) == (key, le - 1 if le % 2 else None)
    assert len(stage.keys) < 500
    assert stage.rows._keys.top < 2500


def test_a_watermark_waits_for_the_next_row_of_each_key_up_to_the_window() -> None:
    for window, on in ((None, [0, 0, 0, 0]), (10, [0, 12, 12, 100])):
        stage = LastBefore(Tick, neighbours={"behind": ("x", 1)}, window=window)
        stage.push_many([Change(Tick("a", key, 0), 0, None, 1, key) for key in (0, 1)])
        found = []
        for t in (0, 12, 21, 100):
            stage.push(Change(Tick("a", 0, 0), t, None, 1, 0))
            stage.push(Punctuation(t))
            found.append(max(stage.passed, 0))
        assert found == on
        assert stage.push(Punctuation(FOREVER)) == [Punctuation(FOREVER)]


@pytest.mark.parametrize(
    ("neighbours", "message"),
    [
        ({"before": ("y", -1)}, r"expected a field of Tick.* as neighbour before but got \('y', -1\)"),
        ({"before": ("x", 0)}, "and an offset from 1 to 64, or below 0, as neighbour before but got"),
        ({"before": ("x", 65)}, "and an offset from 1 to 64"),
        ({"before": "x"}, "and an offset from 1 to 64, or below 0, as neighbour before but got 'x'"),
        ({"x": ("x", -1)}, "expected a name for a field beside those of Tick"),
        ({"before": (["x"], -1)}, "expected a field of Tick"),
        ({"before": ("x", True)}, "and an offset from 1 to 64"),
        ({1: ("x", -1)}, r"expected names of fields with their neighbours but got neighbours=\{1: "),
        ([("before", ("x", -1))], r"expected names of fields with their neighbours but got neighbours=\["),
        (None, "expected names of fields with their neighbours but got neighbours=None"),
    ],
)
def test_what_is_no_neighbour_is_refused(neighbours: Any, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        LastBefore(Tick, neighbours=neighbours)
    with pytest.raises(AfaError, match="with conditions, where=, or with neighbours, neighbours=, but got none"):
        LastBefore(Tick)
    one = LastBefore(Tick, neighbours={"before": ("x", -1)})
    with pytest.raises(AfaError, match=r"expected Tick\(.*, before: str \| None\) but got filled=Tick"):
        LastBefore(Tick, neighbours={"before": ("kind", -1)}, filled=one.filled)
    with pytest.raises(AfaError, match="expected the parameters"):
        LastBefore.restore(one.snapshot(), like=LastBefore(Tick, neighbours={"before": ("x", -2)}))


def test_a_promise_with_a_condition_is_refused() -> None:
    stage = LastBefore(Tick, neighbours={"before": ("x", -1)})
    last = Automaton(start="0", final={"1"}, event=stage.filled, arcs=[Arc("0", "1", "kind == 'a'")])
    with pytest.raises(AfaError, match="expected an operator with retractions=False for a Punctuation with a condition"):
        stage.before(Operator(last, window=9)).push(Punctuation(3, where="seq < 2"))


@pytest.mark.parametrize("passed", [2, 4, -100, "3", True])
def test_a_snapshot_says_how_far_a_promise_has_gone_on(passed: Any) -> None:
    stage = LastBefore(Tick, neighbours={"behind": ("x", 1)}, window=10)
    stage.push_many([*(insert(Tick("a", 0, 0), le) for le in range(5)), Punctuation(4)])
    assert stage.passed == 3
    assert LastBefore.restore(stage.snapshot(), like=stage).passed == 3
    with pytest.raises(SnapshotError, match="expected"):
        LastBefore.restore(forged(stage.snapshot(), (1, -1), passed), like=stage)


def test_a_retraction_that_has_waited_in_vain_is_in_no_snapshot() -> None:
    back = sql(
        "SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at, n MEASURES PREV(FIRST(p)) AS before AFTER MATCH SKIP "
        "PAST LAST ROW PATTERN (a b) WITHIN 9 DEFINE b AS p > PREV(p, 2))",
        event=Trade,
    )
    op = back.operator(late="drop")
    op.push_many([retract(Trade("x", 1.0, None, 1), 2), Punctuation(4)])
    assert op.statistics.late == 1
    other = back.restore(op.snapshot())
    rows = [insert(Trade("x", float(n), None, n), n) for n in range(5, 9)]
    assert other.push_many(rows) == op.push_many(rows) != []


class Trade(NamedTuple):
    key: str
    p: float
    s: str | None
    n: int
    at: Instant | None = None


def trades(define: str, within: str, rows: str) -> Query:
    return sql(
        f"""SELECT * FROM t MATCH_RECOGNIZE (PARTITION BY key ORDER BY at MEASURES FIRST(at) AS first, COUNT(*) AS many,
        NEXT(LAST(p)) AS behind, LAST(LEAD(s, 2)) AS text {rows} PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (a b*) {within}
        DEFINE {define})""",
        event=Trade,
    )


@pytest.mark.parametrize(("rows", "within"), [("ONE ROW", ""), ("ALL ROWS", "WITHIN 6")])
@pytest.mark.parametrize(
    "define",
    [
        "a AS NEXT(p) > p, b AS NEXT(s, 2) = 'x' OR PREV(p) < p",
        "a AS LEAD(at) < at + 4 OR NEXT(n, 3) IS NULL, b AS p < NEXT(p, 2)",
        "a AS PREV(n) IS NULL OR NEXT(s) IS NULL, b AS NEXT(p) <> p",
        "a AS n > 0, b AS b.p > LAST(a.p) AND NEXT(b.s) IS NOT NULL",
    ],
)
def test_the_last_rows_of_a_scan_look_at_the_tables_behind_them(
    define: str, within: str, rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if each row came alone, to an engine that takes no columns. Rows that are late, go or are refused come between tables."""
    monkeypatch.setattr(last_rows, "MANY", 1)
    looked, looked_at = Counter[bool](), Encoded.looked_at

    def counted(batch: Encoded) -> Any:
        found = looked_at(batch)
        looked[found is not None] += 1
        return found

    monkeypatch.setattr(Encoded, "looked_at", counted)
    choose, query = random.Random(f"{define} {within} {rows}"), trades(define, within, rows)
    for keys in ("k", "klm"):
        op, other, at, promised = query.operator(engine="compiled"), query.operator(engine="interpreted"), 0, 0
        held, expected, came, taken = Counter[Any](), Counter[Any](), list[Change](), set[Any]()
        for step in range(60):
            changes = []
            for _ in range(choose.randint(1, 7)):
                at += 1
                le = max(at - choose.randint(2, 5), promised) if choose.random() < 0.02 else at
                text, n = choose.choice(["x", "y", None]), choose.randint(0, 2)
                trade = Trade(choose.choice(keys), choose.choice([1.0, 2.0, 3.0]), text, n)
                if (trade.key, le) not in taken:
                    taken.add((trade.key, le))
                    changes.append(Change(trade, le, None, choose.choice([1, 1, 1, 2]) if step % 9 == 8 else 1))
            came += [change for change in changes if change.diff == 1]
            there = [change for change in came if change.le is not None and change.le >= promised]
            if there and choose.random() < 0.06:
                gone = choose.choice(there)
                came.remove(gone)
                changes.append(gone._replace(diff=-1))
            columns = {name: [getattr(change.payload, name) for change in changes] for name in Trade._fields[:4]}
            items: list[Any] = [{**columns, "le": [c.le for c in changes], "diff": [c.diff for c in changes]}]
            if choose.random() < 0.3:
                promised = max(promised, at - choose.randint(-1, 4))
                at = max(at, promised)
                items.append(Punctuation(promised))
            if choose.random() < 0.1:
                before = copy.copy(op).snapshot()
                with pytest.raises(AfaError, match=r"expected re > le|expected rows that last"):
                    op.push_many([*items, insert(Trade("k", 1.0, None, 0), 10**6, 3)])
                assert copy.copy(op).snapshot() == before
            if choose.random() < 0.1:
                op = query.restore(op.snapshot(), engine="compiled")
            held = netted_rows(op.push_many(items), held)
            expected = netted_rows(other.push_many([*changes, *items[1:]]), expected)
            assert held == expected
            op._check()
    assert looked[True] > 40
    assert not looked[False]


def netted_rows(out: list[Any], held: Counter[Any]) -> Counter[Any]:
    found = Counter(held)
    for part in out:
        rows = [{"key": part.key, **part.payload._asdict(), **part._asdict()}] if isinstance(part, Change) else []
        if isinstance(part, dict):
            rows = [dict(zip(part, row)) for row in zip(*(np.asarray(column).tolist() for column in part.values()))]
        for row in rows:
            found[tuple(row[name] for name in sorted(row) if name not in ("payload", "diff", "kind"))] += row["diff"]
    return Counter({row: n for row, n in found.items() if n})
