"""Operators that keep triggering sets in place of payloads: the output is what it is with payloads, the state smaller."""

from __future__ import annotations

import copy
import re
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from afa import (
    BEGINNING,
    AfaError,
    Arc,
    Automaton,
    AutomatonError,
    Change,
    ChangeError,
    Keyed,
    LateEventError,
    Operator,
    Punctuation,
    SnapshotError,
    insert,
    retract,
    snapshot,
)
from afa.compiled import inforce
from punctuation import SideOutput
from tests import oracle
from tests.conftest import ENGINES
from tests.model import ERROR, OK, Model
from tests.strategies import Seeded, arc, automaton, lifetime, payload, width_of
from tests.text import R1, T, arc_of, automaton_of

REDUCED: dict[str, Any] = {"retractions": False, "keep_payloads": False}


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """State is thinned out however little of it has come."""
    monkeypatch.setattr("afa.interpreted.keys.ROOM", 0)


# -- worlds ------------------------------------------------------------------------------------------------------------------

OF_EVENT = [
    "e.sort == 0",
    "e.sort != 1",
    "e.sort == 2",
    "e.sort > 0",
    "e.seq < 2",
    "e.sort in (0, 2)",
    "e.sort * e.seq != 2",
    "True",
]
OF_REGISTER = [["True"], ["True", "r.x < 2", "r.x != 1"], ["True", "r.x != r.y", "(r.y < 2 or r.x == 0)"]]
TRANSFERS = [
    [None, "r"],
    [None, "R1((r.x + 1) % 3)", "R1(0)", "R1(r.x)"],
    [None, "R2((r.x + 1) % 3, r.y)", "R2(r.y, r.x)", "r._replace(y=1)"],
]
CONDITIONS = ["sort == 0", "sort != 1", "seq < 2", "sort in (1, 2)", "sort >= 0", "seq != 0"]


def splitting(choose: Seeded, spec: dict[str, Any], width: int) -> dict[str, Any]:
    """The spec of an arc that splits."""
    if spec.get("kind", "consume") != "consume":
        return spec
    parts = [choose.one(OF_EVENT), choose.one(OF_REGISTER[width])]
    found = spec | {"fence": " and ".join(parts if choose.chance(50) else parts[::-1])}
    transfer = choose.one(TRANSFERS[width])
    return found | {"transfer": transfer} if "transfer" in spec else found


class World:
    """A random stream into an operator with the option and one without."""

    def __init__(self, seed: str, engine: str, keys: bool) -> None:
        self.choose = choose = Seeded(seed)
        self.engine, self.keys = engine, keys
        spec = automaton(choose)
        self.width = width_of(spec)
        arcs = [splitting(choose, one, self.width) for one in spec["arcs"]]
        self.automaton = automaton_of(spec | {"arcs": arcs, "event": "T"})
        options: dict[str, Any] = {"window": choose.one([3, 6, 20]), "engine": engine, "late": "drop", "retractions": False}
        options["sequence"] = choose.one([None, None, "seq"])
        self.window = options["window"]
        make: Any = Keyed if keys else Operator
        more = {"key": "seq"} if keys else {}
        self.op = make(self.automaton, keep_payloads=False, **options, **more)
        self.plain = make(self.automaton, **options, **more)
        self.conditions = choose.chance(40)
        self.model = Model(self.automaton, self.window, options["sequence"], late="drop", key="seq" if keys else None)
        self.pushed: list[Arc] = []
        self.held: set[Any] = set()

    def run(self) -> None:
        choose = self.choose
        style, horizon = choose.one(["window", "mixed"]), choose.one([8, 20])
        events = [Change(T(*payload(choose)), *lifetime(choose, style, 0, horizon)) for _ in range(choose.number(3, 25))]
        events.sort(key=lambda change: change.le + choose.number(0, horizon))
        while events:
            n = 1 if choose.chance(60) else choose.number(1, 8)
            now, events = events[:n], events[n:]
            batch: list[Any] = [item for event in now for item in (*self.arcs(), event)]
            if choose.chance(40):
                batch.append(self.promise(events, horizon))
            self.push(batch)
            self.op._check()
            if choose.chance(15):
                self.restore()
            assert self.conditions or self.held == self.model.matches()

    def arcs(self) -> list[Change]:
        """Perhaps changes of arcs, from the present on."""
        choose, found = self.choose, []
        if choose.chance(12):
            name = choose.one([f"new{len(self.pushed)}", "new"])
            new = arc_of(splitting(choose, arc(choose, self.width, ("a", "b", "c"), name), self.width))
            self.pushed.append(new)
            le = choose.one([None, 30, 31])
            found.append(Change(new, le, choose.one([None, 33]) if le else None))
        if choose.chance(8):
            found.append(Change(choose.one([*self.automaton.arcs, *self.pushed]), None, None, -1))
        return found

    def promise(self, rest: list[Any], horizon: int) -> Punctuation:
        condition = self.choose.one(CONDITIONS) if self.conditions else None
        rest = [later.le for later in rest if condition is None or eval(condition, later.payload._asdict())]
        return Punctuation(max(0, min([*rest, horizon + 5]) - self.choose.one([0, 0, -2, 2])), condition)

    def push(self, batch: list[Any]) -> None:
        """The same into both, in one of the shapes that there are."""
        arcs = [item.payload for item in batch if isinstance(item, Change) and isinstance(item.payload, Arc)]
        plain = all(not isinstance(item, Punctuation) or item.where is None for item in batch)
        table = table_of(batch, arcs, self.window) if plain and self.choose.chance(50) else None
        outs = []
        for op in (self.op, self.plain):
            known = op.statistics.late
            try:
                outs.append(op.push_many(batch) if table is None else op.push_many(table, arcs=arcs))
            except ChangeError as error:  # no such arc is in force
                outs.append(str(error))
                assert op.statistics.late == known
        model = self.model.fork()
        said = [self.tell(model, item) for item in batch]
        assert isinstance(outs[0], str) is isinstance(outs[1], str) is (ERROR in said)
        if ERROR in said:
            return
        self.model = model
        if table is not None:
            outs = [changes_of(out, self.automaton, self.keys) for out in outs]
        assert sorted(map(repr, outs[0])) == sorted(map(repr, outs[1])), batch
        found = [change for change in outs[0] if isinstance(change, Change)]
        found = [change._replace(payload=(change.key, change.payload)) for change in found] if self.keys else found
        self.held = oracle.net(found, self.held)
        assert without(self.op.statistics) == without(self.plain.statistics) or self.conditions

    @staticmethod
    def tell(model: Model, item: Any) -> str:
        if isinstance(item, Punctuation) and item.where is not None:
            model._see(item.t)
            return OK
        return model.push_arc(item) if isinstance(item, Change) and isinstance(item.payload, Arc) else model.push(item)

    def restore(self) -> None:
        blob = self.op.snapshot()
        arcs = [event.arc for event in self.op._core.arcs.table.events if event.arc not in self.automaton.arcs]
        arcs += [event.arc for event in self.op._core.arcs.pending if event.arc not in self.automaton.arcs]
        more = {"key": "seq"} if self.keys else {}
        engine = self.engine if self.conditions else self.choose.one(ENGINES)
        again = type(self.op).restore(self.automaton, blob, arcs=arcs, engine=engine, **more)
        assert again.snapshot() == blob or self.conditions
        self.op = copy.deepcopy(again) if self.choose.chance(30) else again


def without(statistics: Any) -> Any:
    """Nothing that depends on how runs are kept."""
    return statistics._replace(partial_matches=0, intervals=0, state_size=0)


def table_of(batch: list[Any], arcs: list[Arc], window: int) -> Any:
    """The items as a table with a column ``kind``."""
    rows = []
    for item in batch:
        if isinstance(item, Punctuation):
            rows.append((0, 0, item.t, 0, 1, 2, 0))
        elif isinstance(item.payload, Arc):
            number = next(i for i, one in enumerate(arcs) if one is item.payload)
            end = 2**63 - 1 if item.re is None else item.re
            rows.append((0, 0, BEGINNING if item.le is None else item.le, end, item.diff, 1, number))
        else:
            rows.append((*item.payload, item.le, item.le + window if item.re is None else item.re, 1, 0, 0))
    columns = np.array(rows, np.int64).reshape(-1, 7).T
    return dict(zip(("sort", "seq", "le", "re", "diff", "kind", "arc"), columns))


def changes_of(out: dict[str, Any], built: Automaton, keys: bool) -> list[Change]:
    """A table's matches as changes."""
    names = [field.name for field in built.register_schema.fields]
    rows = zip(*(np.asarray(out[name]).tolist() for name in ("le", "re", "diff", "kind")))
    registers = zip(*(np.asarray(out[name]).tolist() for name in names)) if names else iter(lambda: (), None)
    found = []
    for register, row, key in zip(registers, rows, out["seq"] if keys else [None] * len(out["le"])):
        le, until, diff, kind = row
        if kind == 0:
            found.append(Change(built.register_schema.cls(*register), le, until, diff, None if key is None else int(key)))
    return found


@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("block", range(2))
def test_the_output_is_what_it_is_with_payloads(engine: str, keys: bool, block: int) -> None:
    for number in range(12):
        seed = f"triggers/{keys}/{block}/{number}"
        try:
            World(seed, engine, keys).run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error


@pytest.mark.stress
def test_many_worlds(engine: str) -> None:
    for number in range(1000):
        World(f"triggers/stress/{number}", engine, bool(number % 2)).run()


@pytest.mark.stress
@pytest.mark.parametrize("keys", [False, True])
def test_many_arcs_that_change_within_tables(keys: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inforce, "WARM", 0)
    monkeypatch.setattr(inforce, "LONG", 0)
    for number in range(7, 300):
        Swaps(f"swaps/{number}", keys).run()


class Swaps:
    """Tables of hundreds of rows in which arcs come and go, some rows of them behind a promise, some tables with a fault."""

    OWN = (
        Arc("a", "b", "sort == 0", "(0,)", name="ab"),
        Arc("b", "b", "sort >= 2 and r.x < 5", "(r.x + 1,)", name="bb"),
        Arc("b", "b", "seq == 1", name="stays"),
        Arc("b", "c", "sort == 1 and seq == 0", name="bc"),
    )
    POOL = (
        *OWN[1:],
        Arc("b", "c", "seq == 2 and r.x > 1", name="more"),
        Arc("b", "c", "sort == 2", name="shares", final=True),
        Arc("b", "d", "sort * 2 == 4 and 5 // (r.x - 4) < 9", name="faulty"),
        Arc("d", "c", "sort == 0", name="dc"),
        Arc("a", "b", "sort == 1 and seq == 2", "(2,)", name="also"),
    )

    def __init__(self, seed: str, keys: bool) -> None:
        self.choose = Seeded(seed)
        self.automaton = Automaton(start="a", final={"c"}, arcs=self.OWN, register=R1(0), event=T)
        options: dict[str, Any] = {"window": self.choose.one([5, 40]), "engine": "compiled", "late": "drop", "retractions": False}
        make: Any = Keyed if keys else Operator
        more = {"key": "seq"} if keys else {}
        self.ops = [make(self.automaton, keep_payloads=keep, **options, **more) for keep in (False, True)]
        for op in self.ops:
            op.push(insert(T(0, 0), 0))
        self.keys, self.at, self.faults = keys, 0, 0
        self.on: list[int] = []

    def table(self) -> Any:
        rows, on = [], list(self.on)
        late = self.choose.one([0, 3, 30])
        for _ in range(self.choose.number(1, 300)):
            if self.choose.chance(3):
                number = self.choose.number(0, len(self.POOL) - 1)
                number = 0 if self.POOL[number].name == "faulty" and self.choose.chance(80) else number
                ends = number in on
                (on.remove if ends else on.append)(number)
                rows.append((0, 0, BEGINNING, 0, -1 if ends else 1, 1, number))
            elif self.choose.chance(3):
                rows.append((0, 0, self.at - self.choose.number(0, 20), 0, 1, 2, 0))
            else:
                self.at += self.choose.number(0, 2)
                le = self.at - (self.choose.number(0, late) if self.choose.chance(20) else 0)
                rows.append((self.choose.number(0, 3), self.choose.number(0, 2), le, le + self.choose.number(1, 40), 1, 0, 0))
        columns = np.array(rows, np.int64).T.copy()
        return dict(zip(("sort", "seq", "le", "re", "diff", "kind", "arc"), columns)), on

    def run(self) -> None:
        for _ in range(8):
            table, on = self.table()
            outs = []
            for op in self.ops:
                try:
                    outs.append(sorted(map(repr, changes_of(op.push_many(table, arcs=self.POOL), self.automaton, self.keys))))
                except ZeroDivisionError as error:
                    outs.append([str(error)])
            assert outs[0] == outs[1]
            self.ops[0]._check()
            assert without(self.ops[0].statistics) == without(self.ops[1].statistics)
            arcs = [sorted(map(repr, op._core.arcs.table.events)) for op in self.ops]
            assert arcs[0] == arcs[1]
            if outs[0] and "division" in outs[0][0]:
                self.faults += 1
            else:
                self.on = on
            if self.choose.chance(20):
                self.restore()

    def restore(self) -> None:
        blob, more = self.ops[0].snapshot(), {"key": "seq"} if self.keys else {}
        self.ops[0] = type(self.ops[0]).restore(self.automaton, blob, arcs=self.POOL, engine="compiled", **more)
        assert self.ops[0].snapshot() == blob


@pytest.mark.parametrize("keys", [False, True])
def test_arcs_that_change_within_a_table(keys: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inforce, "WARM", 0)
    monkeypatch.setattr(inforce, "LONG", 0)
    faults = 0
    for number in range(7):
        world = Swaps(f"swaps/{number}", keys)
        world.run()
        faults += world.faults
    assert faults > 2


# -- what it takes -----------------------------------------------------------------------------------------------------------


class Report(NamedTuple):
    """An event of which little is asked."""

    who: str
    heat: float
    text: str = ""


class Count(NamedTuple):
    n: int = 0


def rises(*more: Arc) -> Automaton:
    """Three hot reports, none of them cold in between."""
    arcs = [
        Arc("a", "b", "heat > 9", name="first"),
        Arc("b", "b", "heat > 9 and r.n < 1", "(r.n + 1,)", name="again"),
        Arc("b", "c", lambda e, r: r.n == 1 and e.heat > 9 and e.who.startswith("N"), lambda e, r: Count(r.n + 1), name="last"),
    ]
    return Automaton(start="a", final={"c"}, arcs=[*arcs, *more], register=Count(), event=Report)


def hot(op: Any, *les: int) -> list[Any]:
    return [change for le in les for change in op.push(insert(Report("N1", 10.0, "x"), le))]


def test_what_is_held_are_sets(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    assert hot(op, 1, 2, 3) == [Change(Count(2), 3, 10, 1)]
    assert op._core.reduced is not None
    assert op._core.reduced.triggers.bits == [0, 0, 1]
    (column,) = op._core.engine.save().payloads
    assert column.values.tolist() == [3, 3, 3]


def test_a_snapshot_does_not_grow_with_what_is_not_asked(engine: str) -> None:
    sizes = {}
    for keep in (True, False):
        op = Operator(rises(), window=1000, engine=engine, retractions=False, keep_payloads=keep)
        columns = {"who": ["N1"] * 500, "heat": [float(i % 12) for i in range(500)], "text": [f"{i} " * 500 for i in range(500)]}
        op.push_many({**columns, "le": list(range(500))})
        sizes[keep] = len(op.snapshot())
    assert sizes[True] > 900_000
    assert sizes[False] < 5_000


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Arc("a", "b", "heat > 9 and heat > r.n"), "arc a -> b: fence: e.heat > r.n needs the event and the register at once"),
        (Arc("a", "b", "heat > 9 or r.n == 1"), "fence: e.heat > 9 or r.n == 1 needs the event and the register at once"),
        (Arc("a", "b", "r.n != 0 and 1 / heat > 9"), "fence: 1 / e.heat > 9 needs the event and the register at once"),
        (Arc("b", "b", "True", "(len(who),)", name="x"), "arc 'x': b -> b: transfer: (len(e.who),) reads the event"),
        (Arc("a", "b", lambda e, r: [e.heat]), "arc a -> b: fence: "),
        (Arc("a", "b", "True", lambda e, r: max([r])), "arc a -> b: transfer: "),
    ],
)
def test_what_does_not_split_is_refused(engine: str, wrong: Arc, message: str) -> None:
    text = re.escape("expected arcs that split for keep_payloads=False but got ") + ".*" + re.escape(message)
    with pytest.raises(AutomatonError, match=text):
        Operator(rises(wrong), engine=engine, **REDUCED)
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    hot(op, 1, 2)
    before = op.snapshot()
    with pytest.raises(AutomatonError, match=text):
        op.push_arc(insert(wrong))
    with pytest.raises(AutomatonError, match=text):
        op.push_many([insert(Report("N1", 10.0), 3), insert(wrong), insert(Report("N1", 10.0), 4)])
    assert op.snapshot() == before
    assert hot(op, 3) == [Change(Count(2), 3, 10, 1)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"retractions": True}, "expected retractions=False with keep_payloads=False but got retractions=True"),
        ({"arc_punctuation": True}, "expected arc_punctuation=False with keep_payloads=False but got arc_punctuation=True"),
    ],
)
def test_options_that_need_payloads_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        Operator(rises(), **REDUCED | options)
    with pytest.raises(AfaError, match=message):
        Keyed(rises(), key="who", **REDUCED | options)


def test_an_automaton_without_a_schema_is_refused() -> None:
    untyped = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e > 1)])
    with pytest.raises(AfaError, match="expected an automaton with event= for keep_payloads=False but got Automaton"):
        Operator(untyped, **REDUCED)


def test_arcs_of_the_past_are_refused(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    hot(op, 1, 2, 5)
    own, new = op.automaton.arcs[0], Arc("a", "c", "heat > 99", name="new")
    text = "expected a change of an arc from 6 on (keep_payloads=False: the payloads before it are gone) but got le="
    before = op.snapshot()
    for change, le in ((insert(new, 5), "5 for arc 'new'"), (insert(new, 2, 3), "2 for"), (retract(own, BEGINNING), "-92")):
        with pytest.raises(ChangeError, match=re.escape(text) + le):
            op.push_arc(change)
    with pytest.raises(ChangeError, match="but got le=4 for arc 'first'"):
        op._core.end_arc(own, 4)
    assert op.snapshot() == before
    op.push_arc(insert(new, 6))
    op.push_arc(retract(own))
    assert [event.arc.name for event in op._core.arcs.table.events if event.re > 6] == ["again", "last", "new"]


def test_there_are_62_bits_at_an_instant_and_those_that_ended_are_given_again(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    for i in range(70):
        arc = Arc("b", "c", f"heat == {i + 100}", name=f"new{i}")
        op.push_arc(insert(arc))
        assert len(op.push(insert(Report("N1", 10.0), 2 * i)) + op.push(insert(Report("N1", i + 100.0), 2 * i + 1))) >= 1
        op.push_arc(retract(arc))
    assert op._core.reduced is not None
    assert max(bit for bit in op._core.reduced.triggers.bits if bit is not None) == 2
    many = [Arc("b", "c", f"heat == {i + 100}", name=f"many{i}") for i in range(60)]
    for arc in many:
        op.push_arc(insert(arc, 1000))
    with pytest.raises(AutomatonError, match="more than 62 different event parts are in force at le=1000"):
        op.push_arc(insert(Arc("b", "c", "heat == 50"), 1000))
    op.push_arc(insert(Arc("b", "c", "heat == 103 and r.n == 2", name="shares"), 1000))
    op.push_arc(insert(Arc("b", "c", "heat == 50", name="before"), 999, 1000))
    assert len(op.push_many([insert(Report("N1", heat), le) for heat, le in ((10.0, 1001), (159.0, 1002))])) == 1
    again = Operator.restore(op.automaton, op.snapshot(), arcs=[e.arc for e in op._core.arcs.table.events][3:], engine=engine)
    assert again.snapshot() == op.snapshot()


def test_what_an_event_part_raises_is_told_of_the_event(engine: str) -> None:
    op = Operator(rises(Arc("b", "c", "1 / heat > 9", name="odd")), window=9, engine=engine, late="drop", **REDUCED)
    hot(op, 1)
    before = op.snapshot()
    columns = {"who": ["N1", "N2"], "heat": [1.0, 0.0], "text": ["", ""], "le": [2, 3]}
    for call in (lambda: op.push(insert(Report("N2", 0.0), 3)), lambda: op.push_many({n: np.array(c) for n, c in columns.items()})):
        with pytest.raises(ZeroDivisionError, match="division by zero") as caught:
            call()
        assert "in the fence of arc 'odd': b -> c on event Report(who='N2', heat=0.0, text='') at le=3" in str(notes(caught.value))
    assert op.snapshot() == before
    op.push(Punctuation(4))
    op.push(insert(Report("N2", 0.0), 3))
    op.push_many({n: np.array(c) for n, c in columns.items()})
    assert op.statistics.late == 3


def forged(blob: bytes, change: Any) -> bytes:
    """A blob with a right checksum and a wrong body."""
    return snapshot.seal(snapshot.MAGIC, snapshot.VERSION, snapshot.plain(change(snapshot.unplain(blob[9:]))))


def put(body: Any, place: tuple[int, int], value: Any) -> Any:
    body[place[0]][place[1]] = value
    return body


def notes(error: BaseException) -> list[str]:
    return [*getattr(error, "__notes__", []), *map(str, error.args)]


@pytest.mark.parametrize("frame", [dict, pd.DataFrame])
def test_policies_get_payloads(engine: str, frame: Any) -> None:
    side = SideOutput()
    op = Keyed(rises(), key="who", window=9, engine=engine, late=side, **REDUCED)
    op.push(Punctuation(5))
    columns = {"who": ["N1", "N2", "N1"], "heat": [10.0, -0.0, 10.0], "text": ["", "x", ""], "le": [6, 4, 7]}
    op.push_many(
        frame({name: np.array(column, object if name != "heat" and name != "le" else None) for name, column in columns.items()})
    )
    assert side.changes == [Change(Report("N2", 0.0, "x"), 4, 13, 1, "N2")]
    assert str(side.changes[0].payload.heat) == "0.0"
    strict = Operator(rises(), window=9, engine=engine, **REDUCED)
    strict.push(Punctuation(5))
    with pytest.raises(LateEventError, match=re.escape("expected le >= 5 (promised) but got le=4 for Report(who='N2', heat=0.0")):
        strict.push_many({name: np.array(column) for name, column in columns.items()})
    some = Operator(rises(), window=9, engine=engine, **REDUCED)
    some.push(Punctuation(5, "heat > 1"))
    with pytest.raises(LateEventError, match=re.escape("expected le >= 5 (promised, where e.heat > 1) but got le=4 for Report(")):
        some.push(insert(Report("N1", 2.0), 4))


def test_a_snapshot_whose_bits_do_not_fit_is_refused(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    hot(op, 1, 2)
    for bits in ([0, 1, 0], [0, 0, 62], [0, 0, -1], [0, 0], [0, 0, 1, 2], [0, 0, "1"], [None, 0, 1], [0, 0, 0], 7):
        with pytest.raises(SnapshotError, match="expected a snapshot's fields"):
            Operator.restore(op.automaton, forged(op.snapshot(), lambda body, bits=bits: put(body, (2, -1), bits)), engine=engine)
    same = Operator.restore(op.automaton, forged(op.snapshot(), lambda body: put(body, (2, -1), [7, 7, 3])), engine=engine)
    assert same._core.reduced is not None


def test_a_restore_is_under_the_option_that_was_saved(engine: str) -> None:
    op = Operator(rises(), window=9, engine=engine, **REDUCED)
    hot(op, 1, 2)
    again = Operator.restore(op.automaton, op.snapshot(), engine=engine)
    with pytest.raises(ChangeError, match="insertions only"):
        again.push(retract(Report("N1", 10.0, "x"), 1))
    assert hot(again, 3) == [Change(Count(2), 3, 10, 1)]
    mixed = [Arc("a", "b", "heat > r.n", name="first"), *op.automaton.arcs[1:]]
    other = Automaton(start="a", final={"c"}, arcs=mixed, register=Count(), event=Report)
    with pytest.raises(AutomatonError, match="expected arcs that split for keep_payloads=False but got arc 'first'"):
        Operator.restore(other, op.snapshot(), engine=engine)


def test_what_only_python_can_ask_of_an_event_is_asked_once(engine: str) -> None:
    """A field of any value, a comparison that has no machine code: the compiled engine takes them, too."""

    class Anything(NamedTuple):
        what: Any
        name: str

    arcs = [Arc("a", "b", "len(name) > 2 and name < 'q'"), Arc("b", "c", lambda e, r: e.what is not None)]
    op = Operator(Automaton(start="a", final={"c"}, arcs=arcs, event=Anything), window=9, engine=engine, **REDUCED)
    op.push(insert(Anything((1, 2), "abc"), 1))
    out = op.push_many({"what": [None, (3,)], "name": ["abcd", "x"], "le": [2, 3]})
    assert list(out["le"]) == [3]
