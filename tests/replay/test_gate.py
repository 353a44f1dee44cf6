"""A gated operator beside an ungated one: random worlds, borders, what is refused, what opens the gate, calls that fail."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

import afa
from afa import AfaError, Arc, Automaton, Change, Keyed, LateEventError, Operator, Punctuation, insert, retract
from afa.errors import ChangeError, SnapshotError
from afa.replay import Gate
from afa.replay.gated_operator import Gated
from afa.schema import Instant
from punctuation import SideOutput
from punctuation.time import FOREVER
from speculation import Choose, Consolidate
from tests.interrupts import at_line
from tests.replay import gated_worlds as worlds


class Order(NamedTuple):
    account: str
    what: str
    size: int
    at: Instant = None  # type: ignore[assignment]


class Sum(NamedTuple):
    total: int = 0


ALARM = Automaton(
    start="0",
    final={"2"},
    event=Order,
    register=Sum(),
    arcs=[
        Arc("0", "1", "what == 'placed'", "(e.size,)", name="placed"),
        Arc("1", "1", "what == 'placed'", name="more"),
        Arc("1", "2", "what == 'cancelled' and size > 1000", "(r.total + e.size,)", name="cancelled"),
    ],
)


class Opaque:
    """A fence that can't be taken apart."""

    def __call__(self, e: Any, r: Any) -> bool:
        return bool(e.size == 3)


ALWAYS = Automaton(start="0", final={"1"}, event=Order, arcs=[Arc("0", "1", "True")])


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)


def placed(le: int, account: str = "a", size: int = 1) -> Change:
    return insert(Order(account, "placed", size), le)


def cancelled(le: int, account: str = "a", size: int = 2000) -> Change:
    return insert(Order(account, "cancelled", size), le)


def gated(window: int = 10, automaton: Automaton = ALARM, **options: Any) -> Gated:
    return Gate(automaton).before(Keyed(automaton, key="account", window=window, **options))


def les(out: Any) -> list[tuple[int, int]]:
    return [(change.le, change.diff) for change in out if isinstance(change, Change)]


# -- random worlds -----------------------------------------------------------------------------------------------------------------


MET = ("steps", "matches", "held", "dropped", "released", "passed")


@pytest.mark.parametrize("engine", ["interpreted", "compiled"])
def test_worlds(engine: str) -> None:
    """What is in force after every step is what the operator alone has: thousands of steps."""
    seen = replace(worlds.WORLDS, check=partial(worlds.check, steps=110)).run("0", range(3), engine)
    assert min(seen[name] for name in MET) > 50, seen


def test_random_automata() -> None:
    seen = worlds.RANDOM.run("0", range(60))
    assert min(seen[name] for name in MET) > 50, seen


@pytest.mark.stress
def test_many_worlds() -> None:
    worlds.WORLDS.run("1000", range(100))
    worlds.RANDOM.run("1000", range(500))


# -- borders -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["rows", "table"])
def test_exactly_a_window_is_not_needed(way: str) -> None:
    """A run is shorter than the window: an event a window before or behind its witness is not let go."""
    op = gated(window=5)
    around = [placed(le) for le in (15, 16, 20, 24, 25)]
    feed(op, way, around[:3])
    feed(op, way, [cancelled(20)])
    assert op.statistics.changes == 3, "16, 20 and the witness"
    feed(op, way, around[3:])
    counts = op.stage.statistics
    assert (op.statistics.changes, counts.held, counts.passed, counts.released) == (4, 2, 2, 2)


@pytest.mark.parametrize("way", ["rows", "table"])
def test_a_promise_drops_what_no_witness_needs(way: str) -> None:
    op = gated(window=5)
    feed(op, way, [placed(le) for le in (15, 16, 17)])
    assert op.push(Punctuation(20)) == [Punctuation(16)], "a witness at 20 needs 16"
    assert op.stage.statistics.dropped == 1
    assert op.push(Punctuation(22)) == [Punctuation(22)]
    assert op.stage.statistics.dropped == 3
    assert op.stage.statistics.held == 0
    assert op.push(Punctuation(22)) == []
    assert op.stage.statistics.stale == 1
    assert op.push(Punctuation(FOREVER)) == [Punctuation(FOREVER)]


@pytest.mark.parametrize("way", ["rows", "table"])
def test_a_span_is_open_while_an_event_can_come_into_it(way: str) -> None:
    op = gated(window=5)
    feed(op, way, [placed(9), cancelled(10)])
    assert op.push(Punctuation(14)) == [Punctuation(14)]
    feed(op, way, [placed(14), placed(15)])
    counts = op.stage.statistics
    assert (counts.passed + counts.released, counts.held, counts.spans) == (3, 1, 1)
    op.push(Punctuation(15))
    assert op.stage.statistics.spans == 0


def test_spans_of_other_keys_are_closed() -> None:
    op = gated()
    op.push_many([placed(1, "a"), placed(1, "b"), cancelled(2, "a")])
    assert op.statistics.changes == 2
    assert les(op.push(placed(1, "a", 7))) == [(2, 1)]
    assert op.push(placed(1, "b", 7)) == []


def test_a_witness_that_goes_leaves_its_span_open() -> None:
    op = gated()
    op.push(placed(1))
    assert les(op.push(cancelled(3))) == [(3, 1)]
    assert les(op.push(retract(*cancelled(3)[:2]))) == [(3, -1)]
    op.push(placed(2))
    assert op.stage.statistics.held == 0
    assert op.stage.statistics.spans == 1
    op.push(Punctuation(13))
    assert op.stage.statistics.spans == 0


def test_the_ends_of_time() -> None:
    low, high = -(2**63), FOREVER - 11
    op = gated()
    assert les(op.push_many([placed(low), cancelled(low + 1)])) == [(low + 1, 1)]
    assert les(op.push_many([placed(high - 1), cancelled(high)])) == [(high, 1)]


def feed(op: Any, way: str, changes: list[Change]) -> Any:
    if way == "rows":
        return op.push_many(changes)
    rows = [(*change.payload[:3], change.le, change.diff) for change in changes]
    names = ("account", "what", "size", "le", "diff")
    return op.push_many(pa.table({name: list(column) for name, column in zip(names, zip(*rows))}))


# -- forms of events and keys ------------------------------------------------------------------------------------------------------


def test_forms_of_events() -> None:
    """Dicts, an Instant as the witness's field, a key of two columns, one that is no field; text for a window."""
    morning = Automaton(
        start="0", final={"2"}, event=Order, arcs=[Arc("0", "1", "what == 'placed'"), Arc("1", "2", "at >= 50 and at < 52")]
    )
    op = Gate(morning, "10 ms", share=lambda box: float(box.fields[0][0] == "what")).before(
        Keyed(morning, key=("account", "desk"), window="10 ms", tick="ms")
    )
    columns = {
        "account": ["a", "a", "a"],
        "desk": [1, 2, 1],
        "what": ["placed", "placed", "x"],
        "size": [1, 1, 1],
        "le": [45, 45, 50],
    }
    assert [row["desk"] for row in op.push_many(pa.table(columns)).to_pylist()] == [1]
    assert op.stage.statistics.held == 1
    late = {"account": ["a"], "desk": [1], "what": ["placed"], "size": [7], "le": [48]}
    assert op.push_many(pa.table(late))["diff"].to_pylist() == [-1, 1]
    alone = Gate(ALARM, timedelta(milliseconds=10)).before(Operator(ALARM, window=10, tick="ms"))
    alone.push({"account": "a", "what": "placed", "size": 1, "le": 1})
    assert les(alone.push({"account": "a", "what": "cancelled", "size": 1001, "le": 2})) == [(2, 1)]
    with pytest.raises(AfaError, match="expected tick=, what one int of LE counts, beside window='10 ms'"):
        Gate(ALARM, "10 ms").before(Operator(ALARM, window=10))


def test_a_query() -> None:
    query = afa.query(
        "PATTERN SEQ(Order a, Order b) WHERE skip_till_next_match(a, b) "
        "{ [account] and a.what = 'placed' and b.what = 'odd' } WITHIN 10 RETURN a.size AS size",
        event=Order,
    )
    op = Gate(query, share=lambda box: float("placed" in repr(box))).before(query.operator())
    op.push_many([placed(1), placed(2, "b")])
    assert les(op.push(insert(Order("a", "odd", 1), 4))) == [(4, 1)]
    assert op.statistics.changes == 2


def test_behind_it_stands_another_stage() -> None:
    for make in (lambda: Choose(window=10), Consolidate):
        ways = [make().after(op) for op in (gated(), Keyed(ALARM, key="account", window=10))]
        assert les(ways[0].push_many([placed(1), placed(2, size=5), cancelled(3)])) == les(
            ways[1].push_many([placed(1), placed(2, size=5), cancelled(3)])
        )
        items = [placed(0), cancelled(5), Punctuation(FOREVER)]
        assert ways[0].push_many(items) == ways[1].push_many(items)


def test_promises_are_told_to_a_side_output() -> None:
    """Late is what comes behind the input's promise, though the operator's is lower."""
    late = SideOutput()
    op = gated(late=late)
    op.push_many([placed(15), Punctuation(20), placed(18), retract(*placed(15)[:2])])
    assert [change.le for change in late.take()] == [18, 15]
    op.push_many([retract(*placed(25)[:2]), Punctuation(26)])
    assert [(change.le, change.diff) for change in late.take()] == [(25, -1)]
    assert op.statistics.late == 3


# -- refused, open -----------------------------------------------------------------------------------------------------------------

OBSTACLES: dict[str, tuple[Callable[[], tuple[Gate, Any]], str]] = {
    "window": (lambda: (Gate(ALARM), Operator(ALARM)), "there is no window"),
    "witness": (lambda: (Gate(ALWAYS), Operator(ALWAYS, window=5)), "there is no event that each match must have"),
    "gapless": (lambda: (Gate(ALARM), Operator(ALARM, window=5, gapless="size")), "numbers are gapless"),
    "cancel": (lambda: (Gate(ALARM), Operator(ALARM, window=5, id="size")), "events are known by their ids"),
    "arcs": (lambda: (Gate(ALARM), Operator(ALARM, window=5, arc_punctuation=True)), "the arc input makes promises"),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_where_no_gate_can_stand(name: str) -> None:
    stage, operator = OBSTACLES[name][0]()
    op = stage.before(operator)
    assert OBSTACLES[name][1] in (op.stage.reason or "")
    assert op.push(placed(1) if name != "gapless" else insert(Order("a", "placed", 1), 1)) is not None
    assert op.statistics.changes == 1, "it passes"
    stage, operator = OBSTACLES[name][0]()
    stage.require = True
    with pytest.raises(
        AfaError, match=f"expected an operator before which a Gate can stand but got one where {OBSTACLES[name][1]}"
    ):
        stage.before(operator)


def test_opaque_and_impossible() -> None:
    opaque = Automaton(start="0", final={"1"}, event=Order, arcs=[Arc("0", "1", Opaque())])
    assert "can't be read" in str(Gate(opaque).before(Operator(opaque, window=3)).stage.reason)
    never = Automaton(start="0", final={"1"}, event=Order, arcs=[])
    assert Gate(never).before(Operator(never, window=3)).stage.reason == "no run is ever accepted"


def test_what_opens_a_gate() -> None:
    """It lets go what it holds, makes good its promise, and passes all that comes."""
    arc = Arc("1", "2", "what == 'sold'", "(r.total,)", name="sold")
    opening: dict[str, Any] = {
        "an arc changes": lambda op: op.push_arc(insert(arc)),
        "an event lasts longer than the window of 10": lambda op: op.push(insert(Order("a", "placed", 3), 20, 40)),
    }
    for reason, call in opening.items():
        op, plain = gated(), Keyed(ALARM, key="account", window=10)
        for each in (op, plain):
            each.push_many([placed(15), placed(16, "b"), Punctuation(17)])
        assert op._core.progress.events == 15
        assert les(call(op)) == les(call(plain))
        assert op.stage.reason is not None
        assert op.stage.reason.startswith(reason)
        assert (op._core.progress.events, op.statistics.changes, op.stage.statistics.held) == (17, plain.statistics.changes, 0)
        table = pa.table({"account": ["a", "b"], "what": ["cancelled", "sold"], "size": [2000, 1], "le": [21, 22]})
        assert op.push_many(table) == plain.push_many(table)
        assert op.push(placed(19)) == plain.push(placed(19))
        again = Gated.restore(op.snapshot(), lambda blob: Keyed.restore(ALARM, blob, key="account", arcs=[arc]))
        assert again.stage.reason == op.stage.reason
        assert again.push(cancelled(23)) == plain.push(cancelled(23))
        with pytest.raises(AfaError, match=f"expected what a Gate can hold .require=True. but got a change where {reason}"):
            call(Gate(ALARM, require=True).before(Keyed(ALARM, key="account", window=10)))


def test_a_promise_with_a_condition_opens_a_gate() -> None:
    op = gated(retractions=False)
    op.push_many([placed(15), placed(16, "b")])
    op.push(Punctuation(20, where="size < 5"))
    assert op.stage.reason == "a promise comes with a condition"
    assert op.statistics.changes == 2


def test_what_is_refused() -> None:
    operator = Keyed(ALARM, key="account", window=10)
    with pytest.raises(AfaError, match="expected an Automaton, or a query, but got 'x'"):
        Gate("x")
    with pytest.raises(AfaError, match="expected require=True or False but got require=1"):
        Gate(ALARM, require=1)  # type: ignore[arg-type]
    with pytest.raises(AfaError, match="expected a number of ticks above 0 but got window=0"):
        Gate(ALARM, 0)
    with pytest.raises(AfaError, match="expected a Gate with the operator's window=10 but got window=9"):
        Gate(ALARM, 9).before(operator)
    with pytest.raises(AfaError, match="expected a Gate with the operator's automaton but got another one"):
        Gate(ALWAYS).before(operator)
    with pytest.raises(AfaError, match="expected an Operator or a Keyed, perhaps with a stage, but got 3"):
        Gate(ALARM).before(3)
    with pytest.raises(AfaError, match="expected a Gate before an operator but got one alone"):
        Gate(ALARM, 10).push(placed(1))
    operator.push(placed(1))
    with pytest.raises(AfaError, match="expected an operator and a Gate that have taken nothing yet but got one that has"):
        Gate(ALARM).before(operator)


def test_lifetimes_of_their_own() -> None:
    """Where the operator has no window, the gate's bounds the lifetimes that events bring."""
    op, plain = Gate(ALARM, 10, require=True).before(Operator(ALARM)), Operator(ALARM)
    items = [
        insert(Order("a", "placed", 1), 1, 4),
        insert(Order("a", "placed", 1), 1, 11),
        insert(Order("a", "cancelled", 2000), 5, 15),
    ]
    assert op.push_many(items) == plain.push_many(items)
    assert op.statistics.changes == 3
    with pytest.raises(AfaError, match="an event lasts longer than the window of 10: le=1, re=12"):
        op.push(insert(Order("a", "placed", 1), 1, 12))
    with pytest.raises(AfaError, match="an event lasts longer than the window of 10: le=7"):
        op.push_many({"account": ["a"], "what": ["placed"], "size": [1], "le": [7]})


def test_the_rarest_witness_is_taken() -> None:
    both = Automaton(start="0", final={"2"}, event=Order, arcs=[Arc("0", "1", "what == 'x'"), Arc("1", "2", "size > 5")])
    op = Gate(both).before(Operator(both, window=5))
    assert op.stage.witness is not None
    assert op.stage.witness.text(both.event_schema) == "what = 'x' (0 -> 1)"
    op = Gate(both, share=lambda box: 0.5 if box.fields[0][0] == "what" else 0.01).before(Operator(both, window=5))
    assert op.stage.witness is not None
    assert op.stage.witness.text(both.event_schema) == "size > 5 (1 -> 2)"
    op.push(insert(Order("a", "x", 1), 1))
    again = Gated.restore(op.snapshot(), lambda blob: Operator.restore(both, blob))
    assert (again.stage.witness.boxes, again.stage.witness.arcs) == (op.stage.witness.boxes, op.stage.witness.arcs)
    assert les(again.push(insert(Order("a", "y", 9), 2))) == [(2, 1)]


# -- calls that fail, snapshots ----------------------------------------------------------------------------------------------------


def state(op: Gated) -> Any:
    op._check()
    return op.statistics, worlds.state(op), op._core.progress.marks(), op.snapshot()


def filled() -> Gated:
    op = gated()
    feed(op, "table", [placed(12), placed(13, "b"), placed(14), placed(15, "b")])
    op.push_many([placed(16), placed(17, "b"), retract(*placed(18, "b")[:2]), Punctuation(14), cancelled(40, "b")])
    return op


LATE_CALLS: dict[str, Any] = {
    "an event": lambda op: op.push(placed(13)),
    "in a list": lambda op: op.push_many([cancelled(15), retract(*placed(17, "b")[:2]), Punctuation(16), placed(15)]),
    "in a table": lambda op: feed(op, "table", [cancelled(15), placed(20), cancelled(19, "b"), placed(2)]),
    "a retraction that waits in vain": lambda op: op.push_many([placed(16, "c"), Punctuation(19)]),
}


@pytest.mark.parametrize("name", LATE_CALLS)
def test_a_refused_call_leaves_no_trace(name: str) -> None:
    op = filled()
    before = state(op)
    with pytest.raises(LateEventError, match="promised"):
        LATE_CALLS[name](op)
    assert state(op) == before
    with pytest.raises(ChangeError, match="expected a change"):
        op.push_many([cancelled(15), cancelled(18, "b"), Punctuation(17), 3])
    assert state(op) == before


CALLS: dict[str, Any] = {
    "held": lambda op: op.push(placed(30)),
    "let go": lambda op: op.push(cancelled(17)),
    "passed": lambda op: op.push(placed(39, "b")),
    "promised": lambda op: op.push_many([placed(18, "b"), Punctuation(27)]),
    "a table": lambda op: feed(op, "table", [cancelled(18), placed(19), placed(18, "b"), retract(*placed(15, "b")[:2])]),
    "opens": lambda op: op.push(insert(Order("a", "placed", 1), 15, 99)),
}


@pytest.mark.parametrize("name", CALLS)
def test_an_interrupted_call_is_before_or_behind(name: str) -> None:
    call, twin = CALLS[name], filled()
    before = state(twin)
    lines = at_line(lambda: call(twin), None).lines
    after = state(twin)[:3]
    assert after != before[:3]
    op = filled()
    for stop in range(1, lines, max(1, lines // 60)):
        ended = at_line(partial(call, op), stop)
        found = state(op)[:3]
        assert found in (before[:3], after), stop
        if not ended.interrupted or found == after:
            op = filled()


def test_copies_go_their_own_way() -> None:
    op = filled()
    other = copy.deepcopy(op)
    before = state(op)[:3]
    other.push(cancelled(17))
    assert state(op)[:3] == before
    assert state(other)[:3] != before


def test_damaged_snapshots() -> None:
    op = filled()
    blob = op.snapshot()
    restore = lambda automaton: Gated.restore(blob, lambda inner: Keyed.restore(automaton, inner, key="account"))  # noqa: E731
    assert state(restore(ALARM))[:3] == state(op)[:3]
    other = Automaton(
        start="0",
        final={"2"},
        event=Order,
        register=Sum(),
        arcs=[arc if arc.name != "cancelled" else Arc("1", "2", "True", "(e.size,)", name="cancelled") for arc in ALARM.arcs],
    )
    with pytest.raises(SnapshotError, match="expected an operator that has the Gate's witness"):
        restore(other)
    for place in range(len(op.stage.numbers())):
        for wrong in ("x", None, -1, [["a", 1, 0]]):
            numbers = op.stage.numbers()
            if numbers[place] == wrong or (place in (0, 2) and wrong in (None, "x")):
                continue
            numbers[place] = wrong
            try:
                Gate.of(numbers, [None, [], [], [], [], []], lambda x: x)
            except SnapshotError:
                continue
            assert place in (3, 4, 5, 6, 7), (place, wrong)
