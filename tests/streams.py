"""Streams of hundreds of events, and operators that take them in every shape: engine against engine where brute force is too slow.

What is in force is what `tests.model` says, so that a fresh operator can be given the same events in order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from afa import Arc, Automaton, Change, Keyed, Operator, Punctuation, insert, retract
from punctuation.time import BEGINNING, FOREVER
from tests import oracle
from tests.model import OK, Model
from tests.strategies import Choices
from tests.stress.tables import is_arc

Items = list[Any]
NAN = float("nan")
SIZES = (-1.5, -0.0, 0.0, 0.5, 2.25, NAN)
NAMES = ("ash", "asp", "elm", "", "Übel")


class Tick(NamedTuple):
    """Numbers only: kernels read such columns where they stand."""

    sort: int
    size: float
    who: int
    due: int


class Quote(NamedTuple):
    """One field of every type."""

    sort: int
    size: float
    who: int
    due: int
    name: str
    extra: int | None
    flag: bool


class Tally(NamedTuple):
    """The register of all automata here."""

    n: int = 0
    total: float = 0.0
    word: str = ""
    last: int | None = None


def runs() -> tuple[list[Arc], list[Arc]]:
    """Long ignorable runs, and what ends them."""
    own = [
        Arc("a", "b", lambda e, r: e.sort == 0, lambda e, r: Tally(e.due % 3, e.size, r.word, e.who), name="ab"),
        Arc("b", "b", lambda e, r: e.sort >= 2, name="bb"),
        Arc("b", "c", lambda e, r: e.sort == 1 and e.due % 3 == r.n, name="bc"),
    ]
    more = [
        Arc("b", "b", lambda e, r: e.who == 1, name="bb"),
        Arc("c", "c", lambda e, r: e.sort == 2, name="cc"),
        Arc("b", "d", lambda e, r: e.size > 0, lambda e, r: r._replace(total=r.total + e.size), name="bd", final=True),
    ]
    return own, more


def branches() -> tuple[list[Arc], list[Arc]]:
    """Many partial matches alive, some of them equal."""
    own = [
        Arc("a", "b", lambda e, r: e.sort != 2, lambda e, r: Tally(e.who % 2, e.size), name="ab"),
        Arc("b", "b", lambda e, r: e.sort != 1, lambda e, r: r._replace(n=(r.n + e.sort) % 4), name="bb"),
        Arc("b", "d", lambda e, r: e.size <= 0, lambda e, r: Tally(r.n, min(r.total, e.size), "d"), name="bd"),
        Arc("d", "b", lambda e, r: e.sort == 3 or r.n == 1, name="db"),
        Arc("d", "c", lambda e, r: e.sort == r.n, name="dc"),
    ]
    more = [
        Arc("b", "c", lambda e, r: r.n == 3, lambda e, r: Tally(r.n, r.total + 1.0), name="bc"),
        Arc("d", "d", lambda e, r: e.sort == 0, name="dd"),
        Arc("a", "d", lambda e, r: e.sort == 2, lambda e, r: Tally(2), name="ad", final=True),
    ]
    return own, more


def waits() -> tuple[list[Arc], list[Arc]]:
    """Time-outs and epsilon arcs."""
    own = [
        Arc("a", "b", lambda e, r: e.sort == 0, lambda e, r: Tally(e.due, e.size), name="ab"),
        Arc("b", "b", lambda e, r: e.sort == 3, name="bb"),
        Arc.epsilon("b", "d", lambda r: r.total > 0, lambda r: r._replace(total=0.0), name="bd"),
        Arc.timeout("b", "c", lambda r: r.n + 2, name="bc"),
        Arc("d", "c", lambda e, r: e.sort == 1, name="dc"),
    ]
    more = [
        Arc.timeout("d", "c", lambda r: r.n + 4, name="late dc"),
        Arc.epsilon("c", "d", lambda r: r.n % 2 == 0, lambda r: r._replace(n=r.n + 1), name="cd"),
        Arc("c", "e", lambda e, r: e.sort == 2, name="ce", final=True),
    ]
    return own, more


def words() -> tuple[list[Arc], list[Arc]]:
    """Strings, bools, what may be missing, NaN."""
    own = [
        Arc("a", "b", lambda e, r: e.flag, lambda e, r: Tally(1, e.size, e.name, e.extra), name="ab"),
        Arc("b", "b", lambda e, r: e.name == r.word and not e.flag, lambda e, r: r._replace(total=e.size), name="bb"),
        Arc("b", "c", lambda e, r: e.extra is not None and e.extra != r.last, lambda e, r: r._replace(last=e.extra), name="bc"),
        Arc("b", "c", lambda e, r: e.size != e.size, lambda e, r: Tally(2, e.size, "nan", None), name="nan"),
    ]
    more = [
        Arc("b", "b", lambda e, r: e.name.startswith("as"), name="as"),
        Arc("c", "c", lambda e, r: e.extra is None, name="cc"),
        Arc("b", "d", lambda e, r: e.name in ("elm", ""), lambda e, r: Tally(3, 0.0, e.name), name="bd", final=True),
    ]
    return own, more


def anys() -> tuple[list[Arc], list[Arc]]:
    """Skips in each state: of any beginning any choice of events, by registers of which some stay and some do not."""
    own = [
        Arc("a", "b", lambda e, r: e.sort == 0, lambda e, r: Tally(e.due % 3, e.size), name="ab"),
        Arc("b", "b", lambda e, r: e.sort == 1 and e.size >= r.total, lambda e, r: r._replace(total=e.size), name="bb"),
        Arc("b", "c", lambda e, r: e.sort == 2, lambda e, r: Tally(r.n), name="bc"),
        Arc.skip("b", lambda e, r: True, name="skip b"),
    ]
    more = [
        Arc("b", "d", lambda e, r: e.sort == 3 and e.due % 3 != r.n, name="bd"),
        Arc.skip("d", lambda e, r: e.sort != 1, lambda e, r: r._replace(n=max(r.n, e.sort)), name="skip d"),
        Arc("d", "d", lambda e, r: e.size > r.total, name="dd"),
        Arc("d", "c", lambda e, r: e.size < 1, lambda e, r: Tally(e.who, r.total) if e.sort else r, name="dc"),
        Arc("a", "d", lambda e, r: e.sort == 3, name="ad", final=True),
        Arc("b", "b", lambda e, r: e.size < 0, lambda e, r: Tally(1, 0.5), name="back"),
    ]
    return own, more


PROGRAMS = {"runs": runs, "branches": branches, "waits": waits, "words": words}
OF_LONGEST = {**PROGRAMS, "anys": anys}
"""What operators with ``longest=True`` are tried on too."""


class Setting(NamedTuple):
    """What an operator is made of; the same for all that are compared."""

    automaton: Automaton
    pool: list[Arc]  # own arcs first
    options: dict[str, Any]
    keys: tuple[str, ...]  # no names: no keys

    def make(self, engine: str, **more: Any) -> Any:
        """A fresh operator."""
        options = {"late": "drop", **self.options, **more, "engine": engine}
        return Keyed(self.automaton, key=self.key, **options) if self.keys else Operator(self.automaton, **options)

    @property
    def key(self) -> Any:
        """The key as `Keyed` takes it."""
        return self.keys[0] if len(self.keys) == 1 else self.keys

    def restore(self, operator: Any, engine: str) -> Any:
        """The same operator on an engine."""
        more = {"key": self.key} if self.keys else {}
        arcs = self.pool[len(self.automaton.arcs) :]
        return type(operator).restore(self.automaton, operator.snapshot(), arcs=arcs, engine=engine, **more)

    def model(self) -> Model:
        """What an operator of this setting accepts."""
        names = ("window", "order_by", "arc_punctuation")
        return Model(self.automaton, late="drop", **{name: self.options[name] for name in names if name in self.options})


def setting(program: str, event: type, keys: tuple[str, ...] = (), **options: Any) -> Setting:
    """A setting of one of the `PROGRAMS`."""
    own, more = OF_LONGEST[program]()
    automaton = Automaton(start="a", final={"c"}, arcs=own, register=Tally(), event=event)
    return Setting(automaton, [*own, *more], {"window": 25, **options}, keys)


def payload(choose: Choices, event: type, le: int, keys: int) -> Any:
    """A random event at a time."""
    who = choose.number(0, keys - 1)
    tick = (choose.number(0, 3), choose.one(SIZES), who, le + choose.number(0, 5))
    if event is Tick:
        return Tick(*tick)
    return Quote(*tick, choose.one(NAMES), choose.one([None, 0, 1, 2]), choose.chance(50))


class Mix(NamedTuple):
    """Percent of items, and how far events come out of order."""

    retract: int = 8
    duplicate: int = 3
    early: int = 2
    arcs: int = 2
    promise: int = 3
    late: int = 1
    disorder: int = 20
    shift: int = 30
    long: int = 10  # lifetimes of their own


def stream(choose: Choices, here: Setting, n: int, mix: Mix, keys: int = 1) -> tuple[Items, Model]:
    """About ``n`` items, and the model after them."""
    event = here.automaton.event_schema.cls  # type: ignore[union-attr]
    model, items, clock, early = here.model(), [], 0, []
    held: list[Change] = []

    def take(item: Any) -> bool:
        on_arcs = is_arc(item)
        if on_arcs and model.fork().push_arc(item) != OK:
            return False
        assert (model.push_arc if on_arcs else model.push)(item) == OK
        items.append(item)
        return True

    while len(items) < n:
        low, kind = max(model.event_promise, 0), choose.number(0, 99)
        if kind < mix.arcs:
            take(arc_change(choose, here, model, clock))
        elif (kind := kind - mix.arcs) < mix.promise:
            take(Punctuation(max(low, clock - choose.number(0, mix.shift))))
        elif (kind := kind - mix.promise) < mix.retract and held:
            place = choose.number(max(0, len(held) - 40), len(held) - 1)
            if held[place].le >= low:
                take(held.pop(place)._replace(diff=-1))
        elif (kind := kind - mix.retract) < mix.duplicate and held:
            again = held[choose.number(max(0, len(held) - 20), len(held) - 1)]
            if again.le >= low and take(again._replace(diff=choose.one([1, 1, 2]))):
                held.append(again)
        elif early and choose.chance(20):
            change = early.pop()
            take(change)
        else:
            clock += choose.one([0, 1, 1, 2]) if keys == 1 else choose.chance(10)
            le = clock - (choose.number(1, mix.shift) if choose.chance(mix.disorder) else 0)
            le = le if choose.chance(mix.late) else max(le, low)
            re = le + choose.one([1, 3, 60, 400]) if choose.chance(mix.long) else None
            change = insert(payload(choose, event, le, keys), le, re)
            if choose.chance(mix.early):
                take(change._replace(diff=-1))
                early.append(change)
            elif take(change):
                held.append(change)
    for change in early:
        take(change)
    return items, model


def grouped(items: Items, keys: tuple[str, ...]) -> Items:
    """The same items with the events between two others brought together by key."""
    out, run = [], []
    for item in [*items, None]:
        if isinstance(item, Change) and not is_arc(item):
            run.append(item)
            continue
        out += sorted(run, key=lambda change: [getattr(change.payload, name) for name in keys])
        out += [item] if item is not None else []
        run = []
    return out


def arc_change(choose: Choices, here: Setting, model: Model, clock: int) -> Change:
    """A change of an arc: default mode, or a lifetime in the past or the future."""
    arc = choose.one(here.pool)
    if choose.chance(40):
        return (insert if choose.chance(50) else retract)(arc)
    low = max(model.promise_of_arcs, 0)
    entries = [entry for entry in model.arcs if entry.le >= low or (entry.le == BEGINNING == model.promise_of_arcs)]
    if entries and choose.chance(45):
        return retract(*choose.one(entries))
    le = max(low, clock + choose.number(-20, 5))
    return insert(arc, le, choose.one([FOREVER, le + 2, le + 15]))


# -- operators that are compared ---------------------------------------------------------------------------------------------------


class Side:
    """One operator, and the shape in which it takes its items.

    Shapes: "single", one by one; "list", "dict", "arrow", "pandas", a batch with all kinds of rows; "parts", columns of events, cut
    where something else comes.
    """

    def __init__(self, here: Setting, engine: str, shape: str) -> None:
        self.here, self.shape, self.operator = here, shape, here.make(engine)
        self.held: set[Any] = set()

    def __repr__(self) -> str:
        return f"{self.operator._core.engine.name} in {self.shape}"

    def push(self, items: Items) -> Items:
        """Take items; the changes emitted."""
        out = [item for item in self._push(items) if not isinstance(item, Punctuation)]
        self.held = oracle.net([as_match(change) for change in out], self.held)
        return out

    def _push(self, items: Items) -> Items:
        explicit = any(is_arc(item) and item.le == BEGINNING for item in items)  # in a table that is the default mode
        if self.shape == "list" or explicit:
            return self.operator.push_many(items)
        if self.shape == "single":
            return [out for item in items for out in (self.operator.push_arc if is_arc(item) else self.operator.push)(item)]
        if self.shape != "parts":
            return self._table(items, self.shape)
        out, run = [], []
        for item in [*items, None]:
            if isinstance(item, Change) and not is_arc(item):
                run.append(item)
                continue
            out += self._table(run, "dict") if run else []
            run = []
            if item is not None:
                out += (self.operator.push_arc if is_arc(item) else self.operator.push)(item)
        return out

    def _table(self, items: Items, shape: str) -> Items:
        event = self.here.automaton.event_schema.cls  # type: ignore[union-attr]
        batch, arcs = table(items, event, self.here.options["window"], shape)
        return rows(self.operator.push_many(batch, arcs=arcs), self.here)

    def switch(self) -> None:
        """Go on with the other engine."""
        name = self.operator._core.engine.name
        self.operator = self.here.restore(self.operator, "compiled" if name == "interpreted" else "interpreted")


def as_match(change: Change) -> Change:
    """With the key as part of the match, as the model has it."""
    return change if change.key is None else change._replace(payload=(change.key, change.payload))


def table(items: Items, event: type, window: int | None, shape: str) -> tuple[Any, list[Arc]]:
    """Items as a table of a shape, and the arcs among them."""
    arcs = [item.payload for item in items if is_arc(item)]
    filling = event(0, 0.0, 0, 0) if event is Tick else event(0, 0.0, 0, 0, "", None, False)
    records, numbers = [], iter(range(len(arcs)))
    for item in items:
        if isinstance(item, Punctuation):
            records.append((2, 0, item.t, FOREVER, 1, *filling))
        elif is_arc(item):
            le, re = (BEGINNING if item.le is None else item.le), (FOREVER if item.re is None else item.re)
            records.append((1, next(numbers), le, re, item.diff, *filling))
        else:
            re = item.re if item.re is not None else FOREVER if window is None else item.le + window
            records.append((0, 0, item.le, re, item.diff, *item.payload))
    names = ["kind", "arc", "le", "re", "diff", *event._fields]  # type: ignore[attr-defined]
    columns = {name: column(name, [record[i] for record in records]) for i, name in enumerate(names)}
    if not any(record[0] for record in records):
        del columns["kind"], columns["arc"]
        if all(item.re is None for item in items):
            del columns["re"]
        if all(item.diff == 1 for item in items):
            del columns["diff"]
    if shape == "arrow":
        return pa.table(columns), arcs
    if shape == "pandas":
        return pd.DataFrame({n: c.to_pandas(types_mapper=pd.ArrowDtype) if n == "extra" else c for n, c in columns.items()}), arcs
    return columns, arcs


def column(name: str, values: list[Any]) -> Any:
    """A column in the form in which it comes mostly."""
    if name == "extra":
        return pa.array(values, pa.int64())
    kinds = {"size": np.float64, "name": object, "flag": np.bool_}
    return np.array(values, kinds.get(name, np.int64))


def rows(out: Any, here: Setting) -> Items:
    """The changes that an output table says."""
    listed = out.to_pydict() if isinstance(out, pa.Table) else {name: out[name].tolist() for name in out}
    kinds = listed.get("kind", [0] * len(listed["le"]))
    found: Items = []
    for i, kind in enumerate(kinds):
        values = [missing(listed[name][i], name) for name in Tally._fields]
        parts = tuple(listed[name][i] for name in here.keys)
        key = parts if len(parts) > 1 else parts[0] if parts else None
        change = Change(Tally(*values), listed["le"][i], listed["re"][i], listed["diff"][i], key)
        found.append(Punctuation(listed["le"][i]) if kind == 2 else change)
    return found


def missing(value: Any, name: str) -> Any:
    """A value with None for what pandas has as missing."""
    return None if name == "last" and (value is None or value is pd.NA or value != value) else value


def recomputed(here: Setting, model: Model, engine: str) -> set[Any]:
    """The net output of a fresh operator that is given what is in force, in order."""
    operator = here.make(engine)
    out: Items = []
    for arc in here.automaton.arcs:
        operator.push_arc(retract(arc, BEGINNING, FOREVER))
    for entry in model.arcs:
        operator.push_arc(insert(*entry))
    order = sorted(model.copies.items(), key=lambda item: item[0][1])
    out += operator.push_many([Change(*event, n) for event, n in order if n > 0])
    out += operator.push(Punctuation(model.event_promise)) if model.event_promise > BEGINNING else []
    return oracle.net([as_match(change) for change in out if isinstance(change, Change)])
