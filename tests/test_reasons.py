"""Reasons: which change of a call announced or withdrew a match, held against brute force after each change; and how, in words."""

from __future__ import annotations

import copy
import random
import re
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import afa
from afa import FOREVER, AfaError, Arc, Automaton, Change, Keyed, LateEventError, Operator, Punctuation, insert, retract
from afa.explain.reasons import Because, Reasons
from afa.explain.tracing.recorder import Trace
from afa.language import absent, one
from speculation import Cleanse
from tests import oracle
from tests.automata import Count
from tests.interrupts import at_line


class Log(NamedTuple):
    kind: str


W = 9
PAIR = Automaton(
    start="0",
    final={"2"},
    event=Log,
    arcs=[Arc("0", "1", "kind == 'a'", name="first"), Arc("1", "2", "kind == 'b'", name="second")],
)
SKIPS = Automaton(
    start="0",
    final={"2"},
    event=Log,
    arcs=[Arc("0", "1", "kind == 'a'"), Arc("1", "1", "kind == 'x'"), Arc("1", "2", "kind == 'b'")],
)
SILENT = Automaton(
    start="0",
    final={"2"},
    event=Log,
    register=Count(),
    arcs=[
        Arc("0", "1", "kind == 'a'"),
        Arc("1", "1", "kind == 'x'"),
        Arc.timeout("1", "2", at=lambda r: 6),
    ],
)
GROWS = Automaton(
    start="0",
    final={"1"},
    event=Log,
    register=Count(),
    arcs=[
        Arc("0", "1", "kind != 'x'", lambda e, r: Count(1)),
        Arc("1", "1", "kind == 'b' and r.n < 3", lambda e, r: Count(r.n + 1)),
        Arc.skip("1", "kind == 'x'"),
    ],
)
AUTOMATA = [PAIR, SKIPS, SILENT, GROWS]


def stream(choose: random.Random, n: int) -> list[Any]:
    """Events over few instants, a third of the changes retractions of what is in force, now and then a promise."""
    items: list[Any] = []
    there: list[Change] = []
    promised = 0
    for _ in range(n):
        if there and choose.random() < 0.35:
            gone = there.pop(choose.randrange(len(there)))
            items.append(gone._replace(diff=-1))
        else:
            le = choose.randrange(promised, 14)
            event = Change(Log(choose.choice("aabbx")), le, le + choose.choice([W, W, W, 3]))
            items.append(event)
            there.append(event)
        if choose.random() < 0.05:
            promised = max(promised, choose.randrange(8))
            items.append(Punctuation(promised))
            there = [event for event in there if event.le >= promised]
    return items


def brute(automaton: Automaton, items: list[Any]) -> set[Any]:
    """All matches in force, by the oracle."""
    changes = [(c.payload, c.le, c.re, c.diff) for c in items if isinstance(c, Change)]
    promised = max((c.t for c in items if isinstance(c, Punctuation)), default=-(2**63))
    return oracle.matches(automaton, changes, oracle.own_arcs(automaton), promised)


def name(change: Any) -> Any:
    return change.payload, change.le, change.re


@pytest.mark.parametrize("seed", range(3))
def test_the_change_that_is_told_is_the_one_with_which_the_match_came_or_went(seed: int, engine: Any) -> None:
    choose, found = random.Random(seed), 0
    for automaton in AUTOMATA:
        if engine == "compiled" and automaton is SILENT:
            automaton = PAIR
        items = stream(choose, 90)
        op = Reasons(Operator(automaton, lineage=True, engine=engine))
        plain = Operator(automaton, engine=engine)
        done = said = 0
        while done < len(items):
            size = choose.choice([1, 1, 2, 5, 9])
            call = items[done : done + size]
            states = [brute(automaton, items[: done + i]) for i in range(len(call) + 1)]
            out = op.push_many(list(call))
            assert out == plain.push_many(list(call))
            for change in out:
                if isinstance(change, Punctuation):
                    continue
                there = [name(change) in state for state in states]
                turned = max(i for i in range(len(call)) if there[i] != there[i + 1])
                check(change, call[turned], states[turned])
                if change.diff < 0 and change.because.kind == "between":
                    said += check_way(automaton, change, items[: done + turned])
            done += size
        op._check()
        found += said
    assert found


def check(change: Change, item: Any, before: set[Any]) -> None:
    """Check a reason against the item by which the match came or went."""
    because: Because = change.because
    if isinstance(item, Punctuation):
        assert (because.kind, because.change.le, change.diff) == ("promise", item.t, 1)
        return
    assert because.change == item, change
    word = "Announced: " if change.diff > 0 else "Withdrawn: "
    assert because.text.startswith(word)
    assert repr(item.payload.kind)[1:-1] in because.text
    if change.diff > 0:
        assert {"cleared": -1, "completes": 1, "part": 1, "clock": 1}.get(because.kind, item.diff) == item.diff
        assert because.kind != "completes" or item.le == change.le
        return
    assert name(change) in before
    if because.kind == "between":
        a, b = because.events
        assert item.diff == 1
        assert a.le < item.le < b.le <= change.le
    elif because.kind == "instant":
        assert item.diff == 1
        assert because.events[0].le == item.le
    elif because.kind == "retracted":
        assert item.diff == -1
        assert name(because.events[0]) == name(item)
    elif because.kind == "absence":
        assert because.events[0].le < item.le < change.le
    elif because.kind == "lifetime":
        assert "lasts until" in because.text
    else:
        assert because.kind in ("clock", "changed", "before", "passed"), because
        assert because.kind != "passed" or item.le <= change.le


def passed_on(step: list[oracle.Event], alive: set[Any], arcs: list[oracle.ArcEvent]) -> set[Any]:
    """What computations become by a step behind the first one of their run."""
    return oracle.consume(step, alive, arcs).union(*oracle.skip(step, alive, arcs))


def check_way(automaton: Automaton, match: Change, items: list[Any]) -> bool:
    """Check what is said of the partial matches of a match at an event, by all computations that led to it; whether it is said."""
    ways = re.search(r"In state '(\w+)' (?:(no arc)|the partial match takes it, and goes on in '(\w+)')", match.because.text)
    event: Any = match.because.change
    changes = [(c.payload, c.le, c.re, c.diff) for c in items if isinstance(c, Change)]
    steps = oracle.steps_of(oracle.in_force(changes), None)
    arcs = [oracle.ArcEvent(*arc) for arc in oracle.own_arcs(automaton)]
    found: set[Any] = set()
    for i in range(len(steps)):
        alive, here, ends = {oracle.Computation(automaton.start, automaton.register, FOREVER)}, None, set()
        for n, step in enumerate(steps[i:]):
            if here is None and step[0].le > event.le:
                here = alive if n else set()
            alive = passed_on(step, alive, arcs) if n else oracle.consume(step, alive, arcs)
            ends |= {(c.register, step[0].le, c.m) for c in alive if oracle.is_final(c.state, step[0].le, automaton, arcs)}
        if name(match) in ends:
            found |= {c for c in here or () if c.m >= match.re}  # type: ignore[operator]
    assert found
    led = {c: passed_on([oracle.Event(event.payload, event.le, event.re)], {c}, arcs) for c in found}
    if ways is None:
        return False
    state, none, then = ways.groups()
    assert {c.state for c in found} == {state}
    for c, after in led.items():
        assert (not after) if none else {other.state for other in after} == {then}, (c, after)
    return True


def told(op: Any, *changes: Any) -> list[str]:
    return [change.because.text for item in changes for change in op.push(item) if isinstance(change, Change)]


def test_how_it_went_in_words() -> None:
    op = Reasons(Operator(PAIR, window=W))
    assert told(op, insert(Log("a"), 1), insert(Log("b"), 5)) == ["Announced: 'b, 5' is its last event."]
    assert told(op, insert(Log("x"), 3)) == [
        "Withdrawn: 'x, 3' arrived late and lies between two of its events, 'a, 1' and 'b, 5'. "
        "In state '1' no arc takes it: the partial match ends there."
    ]
    assert told(op, retract(Log("x"), 3)) == ["Announced: 'x, 3', which stood in its way, was retracted."]
    assert told(op, retract(Log("b"), 5)) == ["Withdrawn: 'b, 5', one of its events, was retracted."]
    assert told(op, insert(Log("b"), 5)) == ["Announced: 'b, 5' arrived late and is its last event."]
    out = op.push_many([retract(Log("b"), 5), insert(Log("x"), 5)])
    assert [change.because.text for change in out] == [
        "Withdrawn: 'b, 5', one of its events, was retracted. In its place came 'x, 5'."
    ]
    assert told(op, insert(Log("b"), 7), retract(Log("x"), 5)) == ["Announced: 'x, 5', which stood in its way, was retracted."]
    assert told(op, insert(Log("b"), 4)) == [
        "Withdrawn: 'b, 4' arrived late and lies between two of its events, 'a, 1' and 'b, 7'. "
        "In state '1' the partial match takes it, and goes on in '2'.",
        "Announced: 'b, 4' arrived late and is its last event.",
    ]


def test_lifetimes_and_time_outs() -> None:
    op = Reasons(Operator(SKIPS, window=W))
    told(op, insert(Log("a"), 1), insert(Log("b"), 5))
    assert told(op, insert(Log("x"), 3, 6)) == [
        "Withdrawn: with 'x, 3', which arrived late, a match that shows the same lasts until 6 in its place, "
        "which lasted until 10.",
        "Announced: by 'x, 3', which arrived late, it lasts until 6, in place of one until 10.",
    ]
    op = Reasons(Operator(SILENT, window=W))
    assert told(op, insert(Log("a"), 1), insert(Log("b"), 8)) == ["Announced: 'b, 8' came, so that time has come to 6."]
    assert told(op, insert(Log("b"), 4)) == [
        "Withdrawn: 'b, 4' arrived late, behind its last event, 'a, 1', and before 6, until when there was none."
    ]
    assert told(op, retract(Log("b"), 4)) == ["Announced: 'b, 4', which stood in its way, was retracted."]
    assert told(op, retract(Log("b"), 8)) == ["Withdrawn: 'b, 8' was retracted, so that time has not come to 6 any more."]
    assert told(op, Punctuation(7)) == ["Announced: nothing that comes can end the wait until 6 any more, as 7 was promised."]


def test_arcs() -> None:
    op = Reasons(Operator(PAIR, window=W))
    told(op, insert(Log("a"), 1), insert(Log("b"), 5))
    (gone,) = op.swap("second", fence="kind == 'c'", at=4)
    assert (gone.because.kind, gone.because.text) == ("arc", "Withdrawn: the arc 'second' was swapped from 4 on.")
    (come,) = op.push_arc(insert(Arc("1", "2", "kind == 'b'", name="again"), le=2))
    assert come.because.text == "Announced: the arc 'again' was put in from 2 on."
    (gone,) = op.push_arc(retract(Arc("1", "2", "kind == 'b'", name="again"), le=2))
    assert gone.because.text == "Withdrawn: the arc 'again' was taken out from 2 on."


class Pay(NamedTuple):
    at: afa.Instant
    card: str
    kind: str
    id: int


DECLINED = afa.query(
    one("a", lambda e: e.kind == "declined").next(one("b", lambda e: e.kind == "declined")).by("card").within("10 minutes"),
    event=Pay,
    tick="ms",
)


def pay(kind: str, minute: int, id: int = 0) -> dict[str, Any]:
    from datetime import datetime

    return {"at": datetime(2026, 1, 1, 14, minute), "card": "c1", "kind": kind, "id": id}


def test_times_keys_and_ids() -> None:
    op = Reasons(DECLINED.operator(id="id"))
    assert told(op, pay("declined", 0, 1)) == []
    (come,) = op.push(pay("declined", 5, 2))
    assert come.because.text == "Announced: 'declined, 2, 14:05:00' is its last event."
    (gone,) = op.push({"id": 1, "diff": -1})
    assert gone.because.text == "Withdrawn: 'declined, 1, 14:00:00', one of its events, was retracted."
    assert (gone.because.change.key, gone.because.change.diff) == ("c1", -1)
    op = Reasons(DECLINED.operator(), zone="Europe/Berlin")
    table = pa.Table.from_pylist([pay("declined", 0), pay("declined", 5), pay("approved", 2)])
    told_at = op.push_many(table, net=False)["because"].to_pylist()
    assert [each["key"] for each in told_at] == ["c1", "c1"]
    assert told_at[1]["text"].startswith("Withdrawn: 'approved, 0, 15:02:00' arrived late and lies between two of its events")
    assert op.push_many(table.slice(0, 0))["because"].to_pylist() == []


def test_matches_that_are_chosen() -> None:
    text = """SELECT * FROM pays MATCH_RECOGNIZE (PARTITION BY card ORDER BY at MEASURES FIRST(a.id) AS first, LAST(a.id) AS last
      AFTER MATCH SKIP PAST LAST ROW PATTERN (a+) DEFINE a AS a.kind = 'declined')"""
    op = Reasons(afa.sql(text, event=Pay, tick="ms").operator())
    found = [
        (change.diff, change.payload.first, change.payload.last, change.because.kind)
        for row in (pay("declined", 2, 2), pay("declined", 3, 3), pay("declined", 1, 1))
        for change in op.push(row)
    ]
    assert found == [
        (1, 2, 2, "completes"),
        (-1, 2, 2, "choice"),
        (1, 2, 3, "completes"),
        (-1, 2, 3, "choice"),
        (1, 1, 3, "part"),
    ]


def test_what_stages_hold_back_and_look_at() -> None:
    for stage in (Cleanse(0).after, Cleanse(0).before):
        op = Reasons(stage(Operator(PAIR, window=W, lineage=True)))
        assert told(op, insert(Log("a"), 1), insert(Log("b"), 5)) == []
        assert told(op, Punctuation(6)) == ["Announced: what was held back until 6 was promised has gone on."]
    rows = """SELECT * FROM pays MATCH_RECOGNIZE (PARTITION BY card ORDER BY at MEASURES a.id AS first, b.id AS last
      ALL ROWS PER MATCH AFTER MATCH SKIP PAST LAST ROW PATTERN (a b) DEFINE a AS a.kind = 'declined', b AS b.kind = 'declined')"""
    op = Reasons(afa.sql(rows, event=Pay, tick="ms").operator())
    found = [change.because.text for row in (pay("declined", 1), pay("declined", 5), pay("approved", 3)) for change in op.push(row)]
    assert found[2:] == [
        "Withdrawn: 'approved, 0, 14:03:00' came; with it there is no such match.",
        "Withdrawn: 'approved, 0, 14:03:00' arrived late; with it there is no such match.",
    ]


QUERIES = {
    "past last row": afa.sql(
        """SELECT * FROM pays MATCH_RECOGNIZE (PARTITION BY card ORDER BY at MEASURES FIRST(a.id) AS first, b.id AS last
        AFTER MATCH SKIP PAST LAST ROW PATTERN (a+ b) DEFINE a AS a.kind = 'x', b AS b.kind = 'y')""",
        event=Pay,
        order_by="id",
    ),
    "negation first": afa.query(
        absent("n", where=lambda e: e.kind == "z").followed_by(one("a", lambda e: e.kind == "x")).by("card").within(6), event=Pay
    ),
    "any": afa.query(
        one("a", lambda e: e.kind == "x").followed_by_any(one("b", lambda e: e.kind == "y")).by("card").within(8), event=Pay
    ),
    "next": afa.query(
        one("a", lambda e: e.kind == "x").followed_by(one("b", lambda e: e.kind == "y")).by("card").within(8), event=Pay
    ),
}


@pytest.mark.parametrize("cancel", [False, True])
@pytest.mark.parametrize("name", QUERIES)
def test_queries_tell_the_change_with_which_each_match_came_or_went(name: str, cancel: bool) -> None:
    """Against the same changes pushed one by one into an operator without reasons."""
    choose = random.Random(repr((name, cancel)))
    options = {"id": "id"} if cancel else {}
    op, plain = Reasons(QUERIES[name].operator(**options)), QUERIES[name].operator(**options)
    there: list[Change] = []
    for number in range(60):
        call: list[Change] = []
        for i in range(choose.choice([1, 2, 4])):
            if there and choose.random() < 0.3:
                gone = there.pop(choose.randrange(len(there)))
                call.append(gone._replace(diff=-1))
            else:
                le = number // 4 + choose.randrange(6)
                call.append(insert(Pay(le, choose.choice("cd"), choose.choice("xyz"), 10 * number + i), le))
                there.append(call[-1])
        by: dict[Any, tuple[int, Change]] = {}
        for change in call:
            for told_alone in plain.push(change):
                by[(*told_alone[:3], told_alone.key)] = (told_alone.diff, change)
        for told_of in op.push_many(call):
            diff, change = by[(*told_of[:3], told_of.key)]
            because = told_of.because
            assert (told_of.diff, because.change.payload, because.change.diff) == (diff, change.payload, change.diff)
            assert because.change.key == change.payload.card == told_of.key
    assert op.snapshot() == plain.snapshot()


def test_what_must_not_come_before_the_first_event() -> None:
    quiet = (
        absent("n", where=lambda e: e.kind == "approved")
        .followed_by(one("a", lambda e: e.kind == "declined"))
        .by("card")
        .within("1 hour")
    )
    op = Reasons(afa.query(quiet.returns(id=lambda m: m.a.id), event=Pay, tick="ms").operator())
    assert told(op, pay("declined", 9, 1)) == ["Announced: 'declined, 1, 14:09:00' is its last event."]
    assert told(op, pay("approved", 3, 2)) == [
        "Withdrawn: 'approved, 2, 14:03:00' arrived late and lies before its first event, 'declined, 1, 14:09:00'."
    ]


def test_a_call_that_is_refused_leaves_both_as_they_were() -> None:
    op = Reasons(Operator(PAIR, window=W))
    op.push_many([insert(Log("a"), 1), Punctuation(1)])
    before = op.snapshot()
    with pytest.raises(LateEventError, match="expected le >= 1"):
        op.push_many([insert(Log("b"), 4), insert(Log("a"), 0)])
    assert op.snapshot() == before
    assert op._before.snapshot() == before
    column = pa.table({"kind": ["b", "b"], "le": pa.array([4, 0])})
    with pytest.raises(LateEventError, match="expected le >= 1"):
        op.push_many(column)
    assert op.snapshot() == before
    names = Automaton(
        start="0", final={"1"}, event=Log, register=Log(""), arcs=[Arc("0", "1", "True", lambda e, r: Log(chr(0xD800)))]
    )
    bad = Reasons(Operator(names, window=W))
    empty = bad.snapshot()
    with pytest.raises(AfaError):
        bad.push_many(pa.table({"kind": ["a"], "le": [1]}))
    assert bad.snapshot() == bad._before.snapshot() == empty
    twin = copy.deepcopy(op)
    assert told(op, insert(Log("b"), 4)) == told(twin, insert(Log("b"), 4)) != []
    assert op.statistics == twin.statistics
    assert op.lineage(Change(PAIR.register, 4, 1 + W)).count() == 1


def test_threads_and_snapshots() -> None:
    keyed = Keyed(PAIR, key="kind", window=W, threads=2)
    assert told(Reasons(keyed), insert(Log("a"), 1)) == []
    op = Reasons(Operator(PAIR, window=W))
    told(op, insert(Log("a"), 1), insert(Log("b"), 5))
    again = Reasons(Operator.restore(PAIR, op.snapshot()))
    assert told(again, retract(Log("b"), 5)) == ["Withdrawn: 'b, 5', one of its events, was retracted."]


def test_forms_of_tables() -> None:
    """The times of reasons leave as they came."""
    columns = {"kind": ["a", "b", "x"], "le": np.array([1, 5, 3]).astype("M8[ms]")}
    for form in (lambda c: c, pa.table, pd.DataFrame, pl.DataFrame):
        out = Reasons(Operator(PAIR, window=W, tick="ms")).push_many(form(columns), net=False)
        found = out["because"].to_pylist() if isinstance(out["because"], pa.ChunkedArray) else list(out["because"])
        assert [each["kind"] for each in found] == ["completes", "between"]
        assert [pd.Timestamp(each["le"]).value for each in found] == [5_000_000, 3_000_000]
    (out, promise) = Reasons(Operator(PAIR, window=W)).push_many([{**columns, "le": [1, 5, 3]}, Punctuation(2)])
    assert (len(out["because"]), promise) == (0, Punctuation(2))


def test_what_has_no_reasons() -> None:
    with pytest.raises(AfaError, match=r"expected the name of a zone, .* but got zone='Mars/Base'"):
        Reasons(Operator(PAIR, window=W), zone="Mars/Base")
    with pytest.raises(AfaError, match="expected an Operator or a Keyed but got 3"):
        Reasons(3)
    with pytest.raises(AfaError, match="without collapse=, having= and tell="):
        Reasons(Operator(PAIR, window=W, tell="lineage"))
    with pytest.raises(AfaError, match='expected late="raise" or "drop" beside reasons'):
        Reasons(Operator(PAIR, window=W, late=print))
    numbered = Automaton(start="0", final={"2"}, event=Pay, arcs=[Arc("0", "2", "True")])
    with pytest.raises(AfaError, match="expected an operator without gapless="):
        Reasons(Operator(numbered, window=W, gapless="id"))


def history(op: Any) -> Any:
    """All that an operator with reasons, or a trace, has to show for its calls."""
    noted = [*map(list, (op.events, op.promises, op.arcs)), op.arrived, op.changes, op.announced, op.withdrawn, op.late, op.final]
    matches = [(each.change, each.at, each.because, each.gone_at, each.gone_because, list(each.path)) for each in op.announcements]
    return op.snapshot(), op._before.snapshot(), op.statistics, noted, matches, len(op._open)


@pytest.mark.parametrize("form", ["list", "table"])
def test_a_call_is_interrupted_at_some_of_its_lines(engine: str, form: str) -> None:
    """Both copies, and what a trace has noted, are as before the call; as after it where only the return was left."""

    def make() -> Any:
        found = Trace(Operator(PAIR, window=W, lineage=True, engine=engine))
        found.push_many([insert(Log("a"), 1), insert(Log("b"), 5), insert(Log("a"), 6), Punctuation(2), insert(Log("b"), 9)])
        return found

    batch: Any = [insert(Log("x"), 3), insert(Log("x"), 7), retract(Log("x"), 3), insert(Log("b"), 8)]
    if form == "table":
        batch = {"kind": [c.payload.kind for c in batch], "le": [c.le for c in batch], "diff": [c.diff for c in batch]}
    twin = make()
    before = history(twin)
    done = at_line(lambda: twin.push_many(batch, net=False), None)
    after = history(twin)
    assert before[4] != after[4]
    op, stop, count, taken = make(), 1, 0, 0
    while (ended := at_line(partial(op.push_many, batch, net=False), stop)).interrupted:
        found = history(op)
        assert found in (before, after), ended.out
        if found == after:
            op, taken = make(), taken + 1
        stop, count = stop + 1 + done.lines // 150, count + 1
    assert count > 100
    assert taken <= count // 20
    assert str(ended.out) == str(done.out)
    assert history(op) == after
