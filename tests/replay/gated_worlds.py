"""Random streams through a gated operator and an ungated one side by side: what they have in force after every step."""

from __future__ import annotations

from collections import Counter
from typing import Any, NamedTuple

from afa import Arc, Automaton, Change, Keyed, Operator, Punctuation, insert, retract
from afa.replay import Gate
from afa.replay.gated_operator import Gated
from afa.schema import Instant
from punctuation.time import FOREVER
from tests import oracle, strategies
from tests.strategies import Choices, Seeded
from tests.text import E, automaton_of
from tests.worlds.kind import Seen, Worlds


class Ev(NamedTuple):
    """An event that knows when it is."""

    sort: int
    x: int
    key: int
    at: Instant = None  # type: ignore[assignment]


class Reg(NamedTuple):
    """What a computation carries."""

    n: int = 0
    since: int = 0


def _make(final: str, *arcs: Arc, start: str = "a") -> Automaton:
    return Automaton(start=start, final=set(final), register=Reg(), event=Ev, arcs=list(arcs))


AUTOMATA: dict[str, Automaton] = {
    "chain that skips": _make(
        "c",
        Arc("a", "b", "sort == 0", "(e.x, e.at)"),
        Arc.skip("b", "sort != 1"),
        Arc("b", "c", "sort == 1 and e.x >= r.n", "(e.x, r.since)"),
    ),
    "contiguous": _make("d", Arc("a", "b", "sort == 0"), Arc("b", "c", "sort == 1"), Arc("c", "d", "x > 1", "(e.x, 0)")),
    "passes noise": _make("c", Arc("a", "b", "sort == 2 and x == 0"), Arc("b", "b", "sort == 0"), Arc("b", "c", "sort == 1")),
    "repetition": _make(
        "c",
        Arc("a", "b", "sort == 0", "(1, e.at)"),
        Arc("b", "b", "sort == 0 and r.n < 3", "(r.n + 1, r.since)"),
        Arc("b", "c", "sort == 1 and e.x == 2", "(r.n, 0)"),
    ),
    "register": _make(
        "f",
        Arc("a", "b", "sort != 2", "(e.x, 0)"),
        Arc("b", "b", "sort != 1", "(max(r.n, e.x), 0)"),
        Arc.epsilon("b", "f", "r.n >= 3"),
    ),
    "ways": _make(
        "cd",
        Arc("a", "b", "sort == 0"),
        Arc("a", "b", "sort == 1 and x == 1"),
        Arc.epsilon("b", "e", "r.n == 0"),
        Arc("e", "c", "sort == 1 and x == 0", "(e.x, 0)"),
        Arc("e", "d", "sort == 2 and x == 2"),
        Arc("e", "e", "True"),
    ),
    "silence": _make(
        "c",
        Arc("a", "b", "sort == 1 and x == 2", "(e.x, e.at)"),
        Arc("b", "b", "sort == 2"),
        Arc.timeout("b", "c", "r.since + 2"),
    ),
    "waits, then goes on": _make(
        "d",
        Arc("a", "b", "sort == 0", "(e.x, e.at)"),
        Arc.skip("b", "sort == 2"),
        Arc.timeout("b", "c", "r.since + 2"),
        Arc("c", "d", "sort == 1 and x > 1", "(e.x, r.since)"),
    ),
    "waits behind": _make(
        "d",
        Arc("a", "b", "x == 3", "(e.x, e.at)"),
        Arc("b", "c", "sort == 0", "(r.n, e.at)"),
        Arc("c", "c", "sort != 1"),
        Arc.timeout("c", "d", "r.since + 3"),
    ),
}


OPENS = 150
"""In one of so many steps something comes that opens the gate."""


class World:
    """A gated operator and an ungated one, and what they have in force."""

    def __init__(self, choose: Choices, automaton: Automaton, engine: str) -> None:
        self.choose, self.automaton, self.engine = choose, automaton, engine
        self.typed = automaton.event is Ev
        self.window = choose.one([2, 3, 3, 5, 8, 13])
        self.key = choose.one([None, "key" if self.typed else "seq"])
        self.far = choose.one([0, self.window, 3 * self.window])  # how far behind the present events come
        self.pace = choose.one([4, 30, 60])  # in how many percent of the events time goes on
        self.rare = choose.one([1, 3, 9, 20])
        self.promises = choose.one([3, 10, 30])
        self.handed: list[Any] = []
        self.late = choose.one(["drop", None])
        self.longest, self.lineage = choose.chance(15), choose.chance(15)
        self.plain = self.operator()
        self.gated = Gate(automaton).before(self.operator(self.handed))
        self.handed_plain: list[Any] = self.plain_handed
        self.now = self.promised = 0
        self.known: list[Change] = []
        self.mine: set[Any] = set()
        self.other: set[Any] = set()
        self.waits = any(arc.kind == "timeout" for arc in automaton.arcs)
        self.arcs: list[Arc] = []

    def options(self, handed: list[Any]) -> dict[str, Any]:
        return {"late": handed.append if self.late is None else self.late, "engine": self.engine}

    def operator(self, handed: list[Any] | None = None) -> Any:
        if handed is None:
            self.plain_handed = handed = []
        options = {"window": self.window, "longest": self.longest, "lineage": self.lineage, **self.options(handed)}
        return Keyed(self.automaton, key=self.key, **options) if self.key else Operator(self.automaton, **options)

    # -- what comes ----------------------------------------------------------------------------------------------------------------

    def payload(self) -> Any:
        choose = self.choose
        kind = choose.number(0, 2) if choose.chance(100 // self.rare) else 0
        x = choose.number(0, 3) if choose.chance(100 // self.rare) else 0
        return Ev(kind, x, choose.number(0, 2)) if self.typed else E(kind, choose.number(0, 2))

    def event(self) -> Change:
        choose = self.choose
        if self.known and choose.chance(25):  # retractions, also of what was retracted, and copies
            change = choose.one(self.known)
            if change.le >= self.promised or choose.chance(20):  # type: ignore[operator]
                return change._replace(diff=choose.one([-1, -1, -1, 1]))
        self.now += choose.chance(self.pace)
        le = max(self.now - choose.number(0, self.far), self.promised - choose.chance(5))
        re = le + choose.number(1, self.window) if choose.chance(20) else None
        change = (retract if choose.chance(4) else insert)(self.payload(), le, re)
        if len(self.known) > 40:
            self.known.pop(0)
        self.known.append(change)
        return change

    def promise(self) -> Punctuation:
        self.promised = max(self.promised, self.now - self.choose.number(0, 2 * self.far + 2))
        return Punctuation(self.promised)

    def item(self) -> Any:
        return self.promise() if self.choose.chance(100 // self.promises) else self.event()

    def table(self) -> dict[str, Any]:
        """A table of events that come in one call."""
        events = [self.event() for _ in range(self.choose.number(1, 12))]
        if self.choose.chance(60):
            events = [event for event in events if event.diff > 0] or events
        names = [name for name in type(events[0].payload)._fields if name != "at"]
        found: dict[str, Any] = {name: [getattr(event.payload, name) for event in events] for name in names}
        found |= {"le": [event.le for event in events], "diff": [event.diff for event in events]}
        found["re"] = [event.le + self.window if event.re is None else event.re for event in events]  # type: ignore[operator]
        import pyarrow as pa

        return pa.table({name: pa.array(column, pa.int64()) for name, column in found.items()})

    # -- steps ---------------------------------------------------------------------------------------------------------------------

    def step(self) -> int:
        """Take one step, and compare. Returns how many items there were."""
        choose = self.choose
        if self.typed and choose.number(1, OPENS) == 1:
            self.open()
            return 1
        kind = choose.number(0, 9) if self.typed else choose.number(0, 7)
        if kind < 6:
            item = self.item()
            self.take(lambda op: op.push(item))
            return 1
        if kind < 8:
            items, net = [self.item() for _ in range(choose.number(1, 6))], choose.chance(50)
            self.take(lambda op: op.push_many(items, net=net))
            return len(items)
        tables = [self.promise() if n == 1 else self.table() for n in range(choose.one([1, 1, 2, 3]))]
        net = choose.chance(80)
        self.take(lambda op: op.push_many(tables, net=net))
        return sum(table.num_rows for table in tables[::2])  # type: ignore[attr-defined]

    def open(self) -> None:
        """Let something come that opens the gate."""
        choose = self.choose
        le = choose.one([None, max(self.promised, self.now - choose.number(0, 5)), self.promised - 1])
        if choose.chance(30):
            change = insert(self.payload(), self.now, self.now + self.window + choose.number(1, 3))
            self.take(lambda op: op.push(change))
        elif choose.chance(50):
            self.arcs.append(
                Arc(choose.one("ab"), choose.one("bcd"), choose.one(["sort == 0", "x == 0"]), name=f"x{len(self.arcs)}")
            )
            self.take(lambda op: op.push_arc(insert(self.arcs[-1], le)))
        else:
            arc = choose.one([*self.automaton.arcs, *self.arcs])
            if any(event.arc == arc and event.re == FOREVER for event in self.plain._core.arcs.table.events):
                self.take(lambda op: op.push_arc(retract(arc)))

    def take(self, call: Any) -> None:
        mine, other = call(self.gated), call(self.plain)
        promised = max((item.t for item in items_in(mine) if isinstance(item, Punctuation)), default=None)
        self.mine, self.other = net(mine, self.mine), net(other, self.other)
        self.compare()
        if promised is not None:
            assert promised <= self.promised or promised == FOREVER
        if self.waits or promised is not None or not isinstance(mine, list) or self.gated.stage.reason is not None:
            return
        changes = [Counter(x for x in items_in(out) if isinstance(x, Change)) for out in (mine, other)]
        assert changes[0] == changes[1], "of one call both say the same"

    def compare(self) -> None:
        gated = self.gated
        gated._check()
        told = gated._core.progress.events
        self.waits &= gated.stage.reason is None
        assert self.promised - self.window < told or self.promised == 0, "a promise is at most a window late"
        if not self.waits:
            assert self.mine == self.other, f"missing {self.other - self.mine}, too much {self.mine - self.other}"
            return
        assert self.mine <= self.other, f"too much {self.mine - self.other}"
        missing = {match for match in self.other - self.mine if match[1] < told}
        assert not missing, f"promised {told}, missing {missing}"

    def end(self) -> Seen:
        self.promised = FOREVER
        self.take(lambda op: op.push(Punctuation(FOREVER)))
        assert self.mine == self.other, f"missing {self.other - self.mine}, too much {self.mine - self.other}"
        assert self.gated.stage.statistics.held == 0
        late = [Counter(handed) for handed in (self.handed, self.plain_handed)]
        assert late[0] == late[1], "what was late"
        assert self.gated.statistics.late == self.plain.statistics.late
        counts = self.gated.stage.statistics
        return Seen(
            matches=len(self.mine),
            held=counts.peak_held,
            dropped=counts.dropped,
            released=counts.released,
            passed=counts.passed,
        )

    def restore(self) -> None:
        """Go on with what a snapshot of the gated operator says."""

        def operator(blob: bytes) -> Any:
            kind: Any = Keyed if self.key else Operator
            more = {"key": self.key} if self.key else {}
            return kind.restore(self.automaton, blob, arcs=self.arcs, **more, **self.options(self.handed))

        before = state(self.gated)
        self.gated = Gated.restore(self.gated.snapshot(), operator)
        assert state(self.gated) == before


def state(gated: Gated) -> Any:
    """What a gate holds, and its numbers."""
    window, require, reason, boxes, names, spans, *counts = gated.stage.numbers()
    return window, require, reason, boxes, names, Counter(map(tuple, spans)), counts, Counter(gated.stage.waiting())


def items_in(out: Any) -> list[Any]:
    """What a call has returned, tables as changes."""
    found: list[Any] = []
    for part in out if isinstance(out, list) else [out]:
        if isinstance(part, (Change, Punctuation)):
            found.append(part)
            continue
        rows = part.to_pylist()
        for row in rows:
            le, re, diff, key = row.pop("le"), row.pop("re"), row.pop("diff"), row.pop("key", None)
            found.append(Change(Reg(**row), le, re, diff, key))
    return found


def net(out: Any, before: set[Any]) -> set[Any]:
    """The matches in force with their keys, after what a call has returned."""
    keyed = [x._replace(payload=(x.key, tuple(x.payload))) for x in items_in(out) if isinstance(x, Change)]
    return oracle.net(keyed, before)


def run(seed: str, automaton: Automaton, engine: str, steps: int, save: int = 30) -> Seen:
    """Run a world. Returns what it has met."""
    world, taken = World(Seeded(seed), automaton, engine), 0
    if world.gated.stage.reason is not None:
        return Seen()
    while taken < steps:
        taken += world.step()
        if world.choose.number(1, save) == 1:
            world.restore()
    return world.end() + Seen(steps=taken)


def random_automaton(seed: str) -> Automaton:
    """A random automaton with an event schema."""
    choose = Seeded(seed)
    spec: Any = None
    while spec is None or spec["event"] is None:
        spec = strategies.automaton(choose, waits=choose.chance(20))
    return automaton_of(spec)


def check(seed: str, engine: str, steps: int = 120) -> Seen:
    """Run the worlds of a seed, one of each automaton of this file."""
    return sum((run(f"{seed} {name}", automaton, engine, steps) for name, automaton in AUTOMATA.items()), Seen())


def check_random(seed: str, engine: str) -> Seen:
    """Run a world of a random automaton."""
    return run(f"random {seed}", random_automaton(f"automaton {seed}"), engine, 60)


WORLDS = Worlds("gated", lambda seed, number: str(int(seed) + number), check)
RANDOM = Worlds("gated-random", WORLDS.generate, check_random, engines=("interpreted",))
