"""Operators that keep triggering sets in place of payloads: the output is what it is with payloads, the state smaller."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from afa import BEGINNING, Arc, Automaton, Change, ChangeError, Keyed, Operator, Punctuation, insert
from tests import oracle
from tests.conftest import ENGINES
from tests.lanes import sample
from tests.model import ERROR, OK, Model
from tests.strategies import Seeded, arc, automaton, lifetime, payload, width_of
from tests.streams import as_match
from tests.stress import tables
from tests.test_promises_with_conditions import at_once as at_once  # a fixture of all tests here
from tests.text import R1, T, arc_of, automaton_of

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
    if spec.get("kind", "consume") not in ("consume", "skip"):
        return spec
    parts = [choose.one(OF_EVENT), choose.one(OF_REGISTER[width])]
    found = spec | {"fence": " and ".join(parts if choose.chance(50) else parts[::-1])}
    transfer = choose.one(TRANSFERS[width])
    return found | {"transfer": transfer} if "transfer" in spec else found


class World:
    """A random stream into an operator with the option and one without."""

    def __init__(self, seed: str, engine: str, keys: bool, longest: bool = False) -> None:
        self.choose = choose = Seeded(seed)
        self.engine, self.keys, self.longest = engine, keys, longest
        spec = automaton(choose)
        self.width = width_of(spec)
        arcs = [splitting(choose, one, self.width) for one in spec["arcs"]]
        self.automaton = automaton_of(spec | {"arcs": arcs, "event": "T"})
        options: dict[str, Any] = {"window": choose.one([3, 6, 20]), "engine": engine, "late": "drop", "retractions": False}
        options["order_by"] = choose.one([None, None, "seq"])
        options["longest"] = longest
        self.window = options["window"]
        make: Any = Keyed if keys else Operator
        more = {"key": "seq"} if keys else {}
        self.op = make(self.automaton, keep_payloads=False, **options, **more)
        self.plain = make(self.automaton, **options, **more)
        self.conditions = choose.chance(40)
        self.model = Model(
            self.automaton, self.window, options["order_by"], late="drop", key="seq" if keys else None, longest=longest
        )
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
        plain = all(not isinstance(item, Punctuation) or item.where is None for item in batch)
        table, arcs = tables.columns(batch, T, self.window) if plain and self.choose.chance(50) else (None, [])
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
            register, key = self.automaton.register_schema.cls, "seq" if self.keys else None
            outs = [tables.changes(out, register, key) for out in outs]
        assert sorted(map(repr, outs[0])) == sorted(map(repr, outs[1])), batch
        found = [change for change in outs[0] if isinstance(change, Change)]
        self.held = oracle.net([as_match(change) for change in found], self.held)
        assert without(self.op.statistics, self.longest) == without(self.plain.statistics, self.longest) or self.conditions

    @staticmethod
    def tell(model: Model, item: Any) -> str:
        if isinstance(item, Punctuation) and item.where is not None:
            model._see(item.t)
            return OK
        return model.push_arc(item) if tables.is_arc(item) else model.push(item)

    def restore(self) -> None:
        blob = self.op.snapshot()
        arcs = [event.arc for event in self.op._core.arcs.table.events if event.arc not in self.automaton.arcs]
        arcs += [event.arc for event in self.op._core.arcs.pending if event.arc not in self.automaton.arcs]
        more = {"key": "seq"} if self.keys else {}
        engine = self.engine if self.conditions else self.choose.one(ENGINES)
        again = type(self.op).restore(self.automaton, blob, arcs=arcs, engine=engine, **more)
        assert again.snapshot() == blob or self.conditions
        self.op = copy.deepcopy(again) if self.choose.chance(30) else again


def without(statistics: Any, longest: bool = False) -> Any:
    """Nothing that depends on how runs are kept, on which events of an instant differ, or on how many matches longer ones hide."""
    return statistics._replace(partial_matches=0, intervals=0, state_size=0, ties=0, matches=0 if longest else statistics.matches)


@sample(8, 500)
@pytest.mark.parametrize("keys", [False, True])
@pytest.mark.parametrize("kind", ["triggers", "longest"])
def test_the_output_is_what_it_is_with_payloads(engine: str, kind: str, keys: bool, numbers: range) -> None:
    for number in numbers:
        seed = f"{kind}/{keys}/{number}"
        try:
            World(seed, engine, keys, longest=kind == "longest").run()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}") from error


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
        late = self.choose.one([0, 0, 3, 30])  # 0: the kernels take all of it in one loop
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
                self.at += self.choose.number(0 if late else 1, 2)
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
                    out = op.push_many(table, arcs=self.POOL)
                    outs.append(sorted(map(repr, tables.changes(out, R1, "seq" if self.keys else None))))
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


@sample(7, 300)
@pytest.mark.parametrize("keys", [False, True])
def test_arcs_that_change_within_a_table(at_once: None, keys: bool, numbers: range) -> None:
    faults = 0
    for number in numbers:
        world = Swaps(f"swaps/{number}", keys)
        world.run()
        faults += world.faults
    assert faults > len(numbers) // 3
