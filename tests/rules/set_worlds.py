"""Sets of rules that come and go, beside an operator of its own for each rule, made anew by the definition after every call.

``python -m tests.worlds rules``: rules of all notations (`tests.rules.patterns`), some of one form with constants of their own,
over events late, retracted, counted and waited for, in calls of every form; rules added, replaced and removed at random, with
lifetimes in the past, the present and the future; snapshots, restored with the same rules and others, on the other engine; calls
that are refused and leave no trace; rules that raise. After every call the net output, by rule, is that of
`tests.rules.definition`, and so is the watermark; a match is never taken back before it was told.
"""

from __future__ import annotations

import datetime
import signal
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from afa import AfaError, Change, LateEventError, Operator, Punctuation
from afa.operator.snapshot import unseal
from afa.rules.rule_set_operator import MAGIC, VERSION
from afa.rules.rules import Rules
from punctuation.time import BEGINNING, FOREVER
from tests.rules.definition import Definition, Entry, Ways, columns_of, decoded, labels_of, row_of, told
from tests.rules.patterns import SHAPES, TEXTS, Row, drawn, pattern
from tests.strategies import Choices, Seeded
from tests.worlds.kind import Worlds

KINDS = (
    ("sase", "sase", "sase", "sql", "tree", "words", "arcs", "arcs"),
    ("sase",),
    ("sase",),
    ("sase", "arcs"),
    ("sase", "sql"),
    ("sase", "arcs", "words"),
    ("tree",),
    ("sql", "situation", "tree"),
    ("sase", "hidden", "raises", "arcs"),
    ("sase", "situation", "arcs"),
)
"""Which rules stand beside one another."""
NAMES = ("r0", "r1", "r2", "r3", "r4", "rule five", "Regel ß")
FORMS = ("dict", "arrow", "pandas")
MANY = 70
"""So many events at most come in one world: an operator made anew takes them all."""

# -- random worlds ---------------------------------------------------------------------------------------------------------------


class Maker:
    """One world in the making."""

    def __init__(self, choose: Choices) -> None:
        self.choose = choose
        self.kinds = choose.one(KINDS)
        self.families = [(choose.one(SHAPES), choose.number(0, 30)) for _ in range(choose.one((1, 1, 2)))]
        self.key = choose.one((None, None, "key", "key", "key", "s", ("key", "s"), choose.one(("note", "y", "flag", "z", "x"))))
        apart = choose.chance(80)
        self.ways = Ways(
            self.key,
            choose.one((None, None, 9, 20)),
            choose.one((None, None, None, "seq")),
            choose.chance(5) and "sql" not in self.kinds,
            choose.one((3, 8)) if choose.chance(4) else None,
        )
        self.ties = choose.chance(30) and not ("situation" in self.kinds and apart)
        self.ends, self.twice, self.strange = choose.chance(25), choose.chance(25), choose.chance(20)
        self.keys, self.slow = choose.one((1, 2, 2, 4)), choose.chance(30)
        self.time = self.promised = self.number = 0
        self.events: list[tuple[Any, ...]] = []
        self.used: set[int] = set()
        self.columns: dict[str, str] = {}
        self.running: set[str] = set()
        self.behind = 0  # so many events to come are mostly late: of the time of a rule that has ended
        self.forms = FORMS if choose.chance(70) else ("arrow",)  # else null and NaN are two

    def rule(self) -> Any:
        """A rule whose columns fit those of all others."""
        for _ in range(40):
            what = drawn(self.choose, self.choose.one(self.families), self.kinds)
            try:
                columns = columns_of(what, self.ways)
            except AfaError:
                continue
            if columns is not None and all(self.columns.get(name, kind) == kind for name, kind in columns.items()):
                self.columns |= columns
                return what
        return "PATTERN SEQ(_ p) WHERE p.ok WITHIN 9 RETURN p.x AS c1"

    # -- events ------------------------------------------------------------------------------------------------------------------

    def item(self) -> tuple[Any, ...]:
        """A change of an event: a new one, one that is late, or one that takes another out again."""
        choose = self.choose
        if self.events and choose.chance(18):
            values, le, re, diff = choose.one(self.events[-25:])
            return "e", values, le, re, -diff if not choose.chance(8) else -1
        if self.events and self.twice and choose.chance(20):
            return "e", *choose.one(self.events[-8:])[:3], choose.one((1, 1, 2))
        self.time += 0 if self.behind else choose.one((0, 0, 1) if self.slow else (0, 1, 1, 2, 2, 5))
        first = max(self.promised - (1 if choose.chance(15) else 0), 0)
        self.behind -= self.behind > 0
        le = (
            self.time
            if choose.chance(20 if self.behind else 70)
            else choose.number(min(max(first, self.time - 20), self.time), self.time)
        )
        if not self.ties:
            while le in self.used:
                le += 1
            self.time = max(self.time, le)
        self.used.add(le)
        self.number += 1
        re = le + choose.number(1, 12) if self.ends and choose.chance(30) else None
        event = (self.values(), le, re, choose.one((1, 2, 3)) if self.twice and choose.chance(30) else 1)
        if choose.chance(4):  # its retraction comes first
            return "e", *event[:3], -event[3]
        self.events.append(event)
        return "e", *event

    def values(self) -> tuple[Any, ...]:
        choose = self.choose
        kind = None if choose.chance(3) else choose.one(("a", "a", "b", "b", "c"))
        x = None if choose.chance(15) else choose.number(0, 3)
        y: Any = choose.number(0, 6) / 2
        s = choose.one(("p", "q", "p", "q", "pq"))
        seq = self.number if not self.ties or choose.chance(60) else choose.number(0, 3)
        note = choose.one((None, None, "n", "p"))
        if self.strange:
            y = choose.one((y, y, y, "nan", -0.0, "inf", "-inf", 1e308, 5e-324))
            x = choose.one((x, x, x, 2**53 + 1, -(2**62), 2**63 - 1, -(2**63)))
            s, note = choose.one(TEXTS), choose.one((note, *TEXTS))
        z: Any = choose.one(
            (
                None,
                None,
                0.5,
                1.0,
                2.5,
                "nan" if self.strange and self.forms == ("arrow",) else 2.0,
                "-inf" if self.strange else 3.0,
            )
        )
        key, flag = choose.number(0, self.keys - 1), choose.one((None, False, True))
        return kind, key, x, y, s, seq, choose.chance(50), note, choose.number(0, 9), z, flag

    def promise(self) -> tuple[Any, ...]:
        self.promised = max(self.promised, self.time - self.choose.one((-4, 0, 1, 3, 6, 9, 14, 20, 30)))
        if self.choose.chance(85):
            self.time = max(self.time, self.promised)
        return "t", self.promised

    def items(self, n: int) -> list[tuple[Any, ...]]:
        return [self.promise() if self.choose.chance(1 if self.behind else 4) else self.item() for _ in range(n)]

    # -- steps -------------------------------------------------------------------------------------------------------------------

    def at(self) -> int | None:
        """An instant: one tick past all (None), in the past, at the watermark, in the future; mostly one that is not final."""
        choose = self.choose
        if choose.chance(70):
            first = max(self.promised, 0) + 1
            return choose.one((None, choose.number(first, max(first, self.time)), choose.number(first, max(first, self.time + 6))))
        return choose.one((None, choose.number(0, self.time + 2), self.promised, max(self.promised - choose.number(0, 6), 0)))

    def name(self, runs: bool) -> str:
        """A name: mostly one of a rule that runs, or of none that does."""
        those = [name for name in NAMES if (name in self.running) == runs]
        return self.choose.one(those) if those and self.choose.chance(80) else self.choose.one(NAMES)

    def step(self) -> tuple[Any, ...]:
        choose, kind = self.choose, self.choose.number(0, 99)
        full = len(self.events) >= MANY
        if kind < 55:
            form = choose.one(("one", "one", "list", "list", *self.forms, "tables"))
            if full:
                return "list", [self.promise()], True
            if form == "one":
                return "one", self.items(1)[0]
            if form == "list":
                return "list", self.items(choose.one((1, 2, 4, 8, 12))), choose.chance(75)
            if form == "tables":
                parts = [[self.item() for _ in range(choose.number(1, 4))] for _ in range(choose.number(1, 3))]
                found = [(choose.one((*self.forms, "list")), part) for part in parts]
                mixed: list[Any] = []
                for each in found:
                    mixed += [each, self.promise()] if choose.chance(40) else [each]
                return "tables", mixed, choose.chance(80)
            rows = [self.item() for _ in range(choose.one((1, 3, 6, 10, 16)))]
            return form, rows, choose.chance(80), choose.chance(50)
        if kind < 58 and not self.behind:
            return "one", self.promise()
        if kind < 73:
            le = self.at()
            re = None if choose.chance(60) else (self.time if le is None else le) + choose.number(0, 14)
            name = self.name(False)
            self.running |= {name} if re is None else set()
            return "add", name, self.rule(), le, re
        if kind < 80:
            name, self.behind = self.name(True), 8
            self.running -= {name}
            return "remove", name, self.at()
        if kind < 87:
            self.behind = 8
            return "replace", self.name(True), self.rule(), self.at()
        if kind < 94:
            how = choose.one(("same", "same", "fewer", "more", "changed", "changed", "mixed"))
            return "restore", how, choose.chance(40), choose.number(0, 999), [self.rule() for _ in range(2)]
        return "bad", choose.number(0, len(WRONG) - 1)


def generate(seed: str, number: int) -> dict[str, Any]:
    make = Maker(Seeded(f"rules {seed} {number}"))
    choose = make.choose
    rules = {name: make.rule() for name in NAMES if choose.chance(65)}
    make.running |= set(rules)
    many = choose.chance(6)  # of a few forms, with constants of their own
    if many:
        rules |= {f"m{i}": make.rule() for i in range(choose.number(10, 30))}
    reach = choose.one((0, 0, 0, 4, 20, 60))
    steps = [make.step() for _ in range(choose.number(6, 10 if many else 30))]
    if choose.chance(15):
        steps.append(("one", ("t", FOREVER)))
    times = choose.chance(20)
    ways = make.ways._replace(lossy=make.forms is FORMS)
    late = choose.one(("drop", "drop", "raise", "tell", "tell", "fail"))
    return {"rules": rules, "reach": reach, "ways": tuple(ways), "late": late, "times": times, "steps": steps}


# -- calls -----------------------------------------------------------------------------------------------------------------------

EPOCH = datetime.datetime(1970, 1, 1)


def wrong_items() -> list[Any]:
    """What no set takes."""
    good = Row("a", 0, 1, 1.0, "p", 1, True, None, 0, None, None)
    return [
        [Change(good, 10**6), 7],
        [Change(good, 10**6), Change(("x",), 10**6)],
        [Change(good._replace(key="x"), 10**6)],
        [Change(good._replace(x=2**63), 10**6)],
        [Change(good, 10**6, 10**6 - 1)],
        [Change(good, FOREVER)],
        [Change(good, 10**6), Punctuation(10**6 + 1), Punctuation(3, where="x > 3")],
        {"type": ["a"], "le": [10**6]},
        {name: ["x" if name == "y" else 1] for name in (*Row._fields[:-1], "le")},
    ]


WRONG = tuple(range(13))
RULES_THAT_ARE_NONE = (
    "PATTERN SEQ(a p",
    "PATTERN SEQ(a p) WHERE p.size > 3 WITHIN 5 RETURN p.x AS c1",
    "SELECT * FROM t MATCH_RECOGNIZE (PATTERN)",
    "PATTERN SEQ(a p) WITHIN 5 RETURN p.s AS c1",
)


class Side:
    """A set at work beside its definition."""

    def __init__(self, world: dict[str, Any], engine: str) -> None:
        self.ways, self.times, self.late = Ways(*world["ways"]), world["times"], world["late"]
        self.engine, self.met = engine, Counter[str]()
        self.told_late: list[tuple[Any, int, int]] = []
        self.want = Definition(self.ways, world["reach"], world["rules"])
        self.said = {name: value for name, value in self.ways._asdict().items() if name not in ("key", "lossy") and value}
        reach, rules = world["reach"], self.rules(world["rules"])
        self.op: Any = Operator(rules, engine=self.way(engine), reach=reach, late=self.policy(), **self.said)
        self.net: dict[str, Counter[Any]] = {}
        words = repr(world["steps"])  # where there may be NaN, matches with null and with NaN look alike
        self.blurred = self.ways.lossy and ("nan'" in words or "inf'" in words)
        self.whats: dict[str, list[Any]] = {}
        self.watermark, self.steps = BEGINNING, 0

    def rules(self, given: dict[str, Any]) -> Rules:
        return Rules({name: pattern(what) for name, what in given.items()}, event=Row, key=self.ways.key, tick="s")

    def way(self, engine: str) -> str:
        """The engine: what it would have to leave to Python the compiled one refuses."""
        return "auto" if engine == "compiled" else engine

    def policy(self) -> Any:
        return self.tell if self.late == "tell" else fail if self.late == "fail" else self.late

    def tell(self, change: Any) -> None:
        values = tuple(change.payload)[:-1]
        self.told_late.append((values, change.le, change.diff))

    # -- what is pushed ----------------------------------------------------------------------------------------------------------

    def time(self, t: int) -> Any:
        return EPOCH + datetime.timedelta(seconds=t) if self.times and t < 10**6 else t

    def pushed(self, item: tuple[Any, ...]) -> Any:
        if item[0] == "t":
            return Punctuation(self.time(item[1]))
        _, values, le, re, diff = item
        return Change(decoded(values), self.time(le), None if re is None else self.time(re), diff)

    def table(self, form: str, items: list[Any], plain: bool = False) -> Any:
        """Changes as a table; ``plain``: without the columns that all of its rows could do without."""
        rows = [decoded(values) for _, values, *_ in items]
        columns: dict[str, Any] = {name: [row[i] for row in rows] for i, name in enumerate(Row._fields[:-1])}
        columns["le"] = [item[2] for item in items]
        if not plain or any(item[3] is not None for item in items):
            columns["re"] = [item[3] for item in items]
        if not plain or any(item[4] != 1 for item in items):
            columns["diff"] = [item[4] for item in items]
        if form == "list":
            return [self.pushed(item) for item in items]
        if self.times:
            columns["le"] = np.array(columns["le"], "datetime64[s]")
            if "re" in columns:
                columns["re"] = np.array(["NaT" if re is None else re for re in columns["re"]], "datetime64[s]")
        if form == "dict":
            return columns
        if form == "arrow":
            schema = {
                "type": pa.string(),
                "x": pa.int64(),
                "note": pa.string(),
                "z": pa.float64(),
                "flag": pa.bool_(),
                **({} if self.times else {"re": pa.int64()}),
            }
            return pa.table({name: pa.array(values, schema.get(name)) for name, values in columns.items()})
        frame = pd.DataFrame(
            {name: values for name, values in columns.items() if name not in ("x", "re", "z")}
        )  # NaN is null there
        frame["x"] = pd.array(columns["x"], "Int64")
        frame["z"] = columns["z"]
        if "re" in columns:
            frame["re"] = columns["re"] if self.times else pd.array(columns["re"], "Int64")
        return frame

    # -- what comes out ----------------------------------------------------------------------------------------------------------

    def take(self, out: Any, told_once: bool) -> None:
        """Take the output of a call: changes, tables, the watermark; no match goes below zero."""
        told_once = told_once and not self.blurred
        once: set[Any] = set()
        final = self.watermark
        for name, row, diff in self.changes(out):
            assert diff != 0, f"a change of {name!r} says nothing: {row}"
            assert row[1] >= final, f"{name!r} tells {row} behind the watermark {final} of the output"
            assert not told_once or (name, row) not in once, f"{name!r} tells {row} twice in one call"
            once.add((name, row))
            mine = self.net.setdefault(name, Counter())
            mine[row] += diff
            assert mine[row] >= 0 or not told_once, f"{name!r} takes back {row}, which it has not told"
            if not mine[row]:
                del mine[row]
        for name, rows in self.net.items():
            assert all(n > 0 for n in rows.values()), (name, "has taken back what it has not told", -rows)

    def changes(self, out: Any) -> Iterator[tuple[str, Any, int]]:
        for item in out if isinstance(out, list) else [out]:
            if isinstance(item, Punctuation):
                assert item.t > self.watermark, f"the watermark {item.t} comes after {self.watermark}"
                self.watermark = item.t
            elif isinstance(item, Change):
                yield item.rule, self.row(item), item.diff  # type: ignore[attr-defined]
            else:
                yield from rows_of(item, self.ways.lossy)

    def row(self, change: Any) -> Any:
        """A change as a row: the labels of its key are those of the rule of its name in whose lifetime it lies."""
        named = [each for each in self.want.entries if each.name == change.rule]
        here = [each.what for each in named if each.le <= change.le < each.re]
        whats = here + [each.what for each in named] + self.whats.get(change.rule, [])
        found = [what for what in whats if fits(what, self.ways, change)]
        assert found, f"no rule tells {change}"
        rows = [row_of(what, self.ways, change) for what in found]
        if change.diff > 0:
            return rows[0]
        return next((row for row in rows if self.net.get(change.rule, {}).get(row)), rows[0])  # a rule may have been replaced


class FailingError(Exception):
    """What a function that is told of late events raises."""


def fail(change: Any) -> None:
    raise FailingError(change)


def fits(what: Any, ways: Ways, change: Any) -> bool:
    columns, labels = columns_of(what, ways), labels_of(what, ways)
    wide = len(labels) in ((0, 1) if change.key is None else (len(change.key),) if isinstance(change.key, tuple) else (1,))
    return columns is not None and wide and set(columns) == {*change.payload._fields, *labels}


def rows_of(table: Any, lossy: bool) -> Iterator[tuple[str, Any, int]]:
    """The rows of a table of matches, whatever it is a table of."""
    if isinstance(table, pa.Table):
        rows = table.to_pylist()
    elif isinstance(table, dict):
        rows = [dict(zip(table, row)) for row in zip(*table.values())]
    else:
        rows = [dict(zip(table.columns, row)) for row in table.itertuples(index=False, name=None)]
    for row in rows:
        values = {name: plain(value) for name, value in row.items()}
        name, le, re, diff = (values.pop(each) for each in ("rule", "le", "re", "diff"))
        yield name, (told(values, lossy), le, FOREVER if re is None else re), diff


def plain(value: Any) -> Any:
    """A value of a table as Python has it, times as ticks."""
    if value is None or value is pd.NaT or value is pd.NA:
        return None
    if isinstance(value, np.datetime64):
        return None if np.isnat(value) else int(value.astype("datetime64[s]").astype(np.int64))
    if isinstance(value, datetime.datetime):
        return int((value.replace(tzinfo=None) - EPOCH).total_seconds())
    return value.item() if isinstance(value, np.generic) else value


# -- checks ----------------------------------------------------------------------------------------------------------------------


PATIENCE = 60
"""So many seconds of CPU a step takes at most."""


@contextmanager
def bounded() -> Iterator[None]:
    """A step that does not end is a fault, too."""

    def over(*_: Any) -> None:
        raise AssertionError(f"it takes more than {PATIENCE} s")

    before = signal.signal(signal.SIGVTALRM, over)
    signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def check(world: dict[str, Any], engine: str) -> Counter[str]:
    side = Side(world, engine)
    for number, step in enumerate(world["steps"]):
        try:
            with bounded():
                side.steps += 1
                STEPS[step[0]](side, step)
        except AssertionError as error:
            raise AssertionError(f"{error}\nstep {number}: {step} ({engine})") from error
    if side.op is not None:
        side.met["worlds with " + ("late rows that change ended rules" if side.met["ended rule changed"] else "none")] += 1
    return side.met


def events(side: Side, step: tuple[Any, ...]) -> None:
    """A call of events and watermarks, in whatever form; it may be refused as a whole, as the policy is."""
    kind, want, met = step[0], side.want, side.met
    net = step[2] if len(step) > 2 else True
    if kind == "one":
        items, call = [step[1]], lambda: side.op.push(side.pushed(step[1]))
    elif kind == "list":
        items, call = step[1], lambda: side.op.push_many([side.pushed(item) for item in step[1]], net=net)
    elif kind == "tables":
        items, given = [], []
        for each in step[1]:
            if each[0] == "t":
                items.append(each)
                given.append(side.pushed(each))
            else:
                items += each[1]
                made = side.table(*each)
                given += made if isinstance(made, list) else [made]
        call = lambda: side.op.push_many(given, net=net)  # noqa: E731
    else:
        items, call = step[1], lambda: side.op.push_many(side.table(kind, step[1], step[3]), net=net)
    late_before, told_before = len(want.late), len(side.told_late)
    states = _states(side)
    undo = (want.events.copy(), want.promised, want.now)
    prefixes = []
    for item in items:
        want.take(item)
        prefixes.append((want.events.copy(), want.promised, want.now))
    new_late = want.late[late_before:]
    if new_late and side.late in ("raise", "fail"):
        want.events, want.promised, want.now = undo
        del want.late[late_before:]
        refused(side, step, call, LateEventError if side.late == "raise" else FailingError)
        return
    try:
        out = call()
    except Exception as error:
        raise AssertionError(f"{type(error).__name__}: {error}, unasked") from error
    met[kind if net else f"{kind}, not net"] += 1
    met["late"] += len(new_late)
    if side.late == "tell":
        mine = Counter((_canonical(values), le, diff) for values, le, diff in new_late)
        theirs = Counter((_canonical(values), le, diff) for values, le, diff in side.told_late[told_before:])
        assert mine == theirs, f"late are {mine}, told as late {theirs}"
    assert side.op.statistics.late == len(want.late), (side.op.statistics.late, want.late)
    side.take(out, told_once=net)
    compare(side, states, prefixes if net is False else [undo], items, prefixes)
    if want.promised != undo[1]:
        hold_watermark(side)


def _canonical(values: Any) -> Any:
    return told(dict(zip(Row._fields, decoded(values))))


def _states(side: Side) -> list[tuple[Entry, Counter[Any]]]:
    return [(entry, entry.shown) for entry in side.want.entries if entry.final is None]


def compare(side: Side, before: Any, told_at: Any, items: Any, prefixes: Any) -> None:
    """Hold all rules against their definition, and the watermark."""
    want, met = side.want, side.met
    standing = {(each.name, each.le, each.re, each.state) for each in side.op.rules}
    late, gone = any(item[0] == "e" for item in items), list[tuple[Entry, str | None, bool]]()
    for entry in want.entries:
        if entry.final is not None:
            continue
        found = want.answer(entry)
        mine = {each[3] for each in standing if each[:3] == (entry.name, entry.le, entry.re)}
        over = found.raised and entry.re <= want.promised - want.reach  # then it is put aside and forgotten by one call
        is_aside = "put aside" in mine or (over and not mine)
        if found.raised or is_aside:
            gone.append((entry, found.raised, is_aside))
            continue
        if late and entry.re <= want.now and found.rows != entry.shown:
            met["ended rule changed"] += 1
        met["matches"] += sum((found.rows - entry.shown).values())
        met["withdrawn"] += sum((entry.shown - found.rows).values())
        entry.shown = found.rows
        entry.watermark = max(entry.watermark, found.watermark)
    for each in gone:  # of what is told by their name the rest is theirs
        _put_aside(side, *each, told_at, prefixes)
    hold(side)


def _put_aside(side: Side, entry: Entry, raised: str | None, is_aside: bool, told_at: Any, prefixes: Any) -> None:
    """A rule raises: what it has told stays; a rule may also raise on what comes and goes within the call."""
    want = side.want
    now = (want.events, want.promised, want.now)
    if not is_aside:
        raise AssertionError(f"{entry.name!r} is not put aside, but raises {raised}")
    if not raised:
        for want.events, want.promised, want.now in prefixes:
            raised = raised or want.answer(entry).raised
        want.events, want.promised, want.now = now
        assert raised, (
            f"{entry.name!r} is put aside, but does not raise",
            [each for each in side.op.rules if each.name == entry.name],
        )
    side.met["put aside"] += 1
    others = Counter[Any]()
    for name, rows in [(each.name, each.shown) for each in want.entries if each is not entry] + want.ended:
        if name == entry.name:
            others.update(rows)
    mine = Counter(side.net.get(entry.name, Counter()))
    mine.subtract(others)
    left = +mine
    could = [entry.shown]
    for want.events, want.promised, want.now in told_at:
        found = want.answer(entry)
        could += [] if found.raised else [found.rows]
    want.events, want.promised, want.now = now
    assert any(left == each for each in could) or len([e for e in want.entries if e.name == entry.name]) > 1, (
        f"{entry.name!r}, put aside, has told {left} in place of {entry.shown}"
    )
    entry.final = entry.shown = next((each for each in could if each == left), left)


def hold(side: Side) -> None:
    """What the set has told is what it should hold."""
    expected = {name: +rows for name, rows in side.want.rows().items() if +rows}
    found = {name: rows for name, rows in side.net.items() if rows}
    if found != expected:
        for name in sorted({*found, *expected}):
            much, little = found.get(name, Counter()), expected.get(name, Counter())
            assert much == little, f"{name!r}: too many {dict(much - little)}, missing {dict(little - much)}"
    if side.steps % 4 == 0:
        side.op._check()


def hold_watermark(side: Side) -> None:
    """Behind a call with watermarks the output's is as far as all rules are, and all that is held."""
    want = side.want
    want.watermark = max(want.watermark, want.lowest())
    side.met["watermarks"] += want.watermark > BEGINNING
    assert side.watermark == want.watermark, f"the watermark of the output is {side.watermark} in place of {want.watermark}"


def refused(side: Side, step: tuple[Any, ...], call: Any, kind: Any = Exception, why: str = "") -> None:
    """A call that is refused leaves no trace."""
    side.met["refused " + step[0]] += 1
    before, told_before, rules = side.op.snapshot(), len(side.told_late), side.op.rules
    try:
        call()
    except Exception as error:
        if not isinstance(error, kind) or isinstance(error, AssertionError):
            raise AssertionError(f"expected {kind.__name__} but got {type(error).__name__}: {error}") from error
    else:
        raise AssertionError(f"the call is not refused: {why or kind.__name__}")
    after = side.op.snapshot()
    assert after == before or content(after) == content(before), f"a refused call has left a trace: {differs(before, after)}"
    assert side.op.rules == rules, "a refused call has left a trace in the rules"
    assert len(side.told_late) == told_before, "a refused call has told what is late"
    side.op._check()


def content(blob: bytes) -> str:
    """What a snapshot holds, in whatever order."""

    def of(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return sorted((of(each) for each in value), key=repr)
        return bytes(sorted(value)) if isinstance(value, bytes) else value

    return repr(of(unseal(MAGIC, VERSION, blob)))


def differs(before: bytes, after: bytes) -> str:
    """Where two snapshots differ."""
    one, other = (unseal(MAGIC, VERSION, blob) for blob in (before, after))
    return "; ".join(f"part {i}: {a!r} and {b!r}"[:600] for i, (a, b) in enumerate(zip(one, other)) if repr(a) != repr(b))


def added(side: Side, step: tuple[Any, ...]) -> None:
    _, name, what, le, re = step
    want = side.want

    def call() -> Any:
        return side.op.add(name, pattern(what), le=le if le is None else side.time(le), re=re)

    if why := want.why_not_add(name, what, le, re):
        refused(side, step, call, why=why)
        return
    now = want.now
    out = call()
    want.add(name, what, le, re)
    side.met["add"] += 1
    side.met["added in the past"] += le is not None and le < now
    side.met["added in the past, with matches"] += bool(out)
    side.whats.setdefault(name, []).append(what)
    side.take(out, told_once=True)
    compare(side, None, [], [], [])


def removed(side: Side, step: tuple[Any, ...]) -> None:
    _, name, at = step

    def call() -> Any:
        return side.op.remove(name, at=None if at is None else side.time(at))

    if why := side.want.why_not_end(name, at):
        refused(side, step, call, AfaError, why)
        return
    out = call()
    side.want.end(name, at)
    side.met["remove"] += 1
    side.met["removed in the past, with matches"] += bool(out)
    side.take(out, told_once=True)
    compare(side, None, [], [], [])


def replaced(side: Side, step: tuple[Any, ...]) -> None:
    _, name, what, at = step
    want = side.want
    instant = want.now if at is None else at

    def call() -> Any:
        return side.op.replace(name, pattern(what), at=None if at is None else side.time(at))

    if why := want.why_not_end(name, instant):
        refused(side, step, call, why=why)
        return
    saved = [(entry, entry.re) for entry in want.entries], list(want.ended)
    want.end(name, instant)
    why = want.why_not_add(name, what, instant, None)
    if why:
        want.entries, want.ended = [entry for entry, _ in saved[0]], saved[1]
        for entry, re in saved[0]:
            entry.re = re
        refused(side, step, call, why=why)
        return
    shown = lambda: [each.form.names for each in side.op.lasting(name, instant)]  # noqa: E731
    old, out = shown(), call()
    want.add(name, what, instant, None)
    side.met["replace"] += 1
    side.whats.setdefault(name, []).append(what)
    side.take(out, told_once=old == shown())  # else matches without values may be alike
    compare(side, None, [], [], [])


def restored(side: Side, step: tuple[Any, ...]) -> None:
    """Snapshot and restore, with the same rules, fewer, more, changed ones; perhaps on the other engine."""
    _, how, turned, seed, new = step
    want, choose = side.want, Seeded(str(seed))
    running = {entry.name: entry.what for entry in want.entries if entry.re > want.now}
    given = dict(running)
    if how in ("fewer", "mixed") and given:
        del given[choose.one(sorted(given))]
    if how in ("changed", "mixed") and given:
        given[choose.one(sorted(given))] = new[0]
    if how in ("more", "mixed"):
        given[choose.one(NAMES)] = new[1]
    engine = side.engine if not turned else "interpreted" if side.way(side.engine) == "auto" else "auto"
    for name, what in given.items():
        side.whats.setdefault(name, []).append(what)
    pattern.cache_clear()  # all that is given is made anew
    made = Operator.restore(side.rules(given), side.op.snapshot(), engine=side.way(engine), late=side.policy(), **side.said)
    side.op = made
    met = want.restored(given)
    side.met["restore " + how] += 1
    side.met.update({f"restored: {name}": n for name, n in met.items()})
    compare(side, None, [], [], [])


def bad(side: Side, step: tuple[Any, ...]) -> None:
    """What no set takes is refused, and leaves no trace."""
    wrong = wrong_items()
    if step[1] < len(wrong):
        given = wrong[step[1]]
        return refused(side, step, lambda: side.op.push_many(given), AfaError)
    text = RULES_THAT_ARE_NONE[step[1] - len(wrong)]
    there = [each for each in side.want.entries if each.re > side.want.promised]  # others may be forgotten, with their columns
    if "p.s AS c1" in text and not any("c1" in (columns_of(each.what, side.ways) or ()) for each in there):
        return None
    return refused(side, step, lambda: side.op.add("new", text), AfaError)


STEPS = {
    **dict.fromkeys(("one", "list", "tables", *FORMS), events),
    "add": added, "remove": removed, "replace": replaced, "restore": restored, "bad": bad,
}  # fmt: skip


# -- smaller worlds --------------------------------------------------------------------------------------------------------------


def smaller(world: dict[str, Any]) -> Iterator[dict[str, Any]]:
    steps = world["steps"]
    for size in (8, 4, 2, 1):
        for i in range(len(steps) - size, -1, -size):
            yield world | {"steps": steps[:i] + steps[i + size :]}
    for name in world["rules"]:
        yield world | {"rules": {other: what for other, what in world["rules"].items() if other != name}}
    for i, step in enumerate(steps):
        if step[0] in ("list", *FORMS, "tables") and len(step[1]) > 1:
            for j in range(len(step[1])):
                yield world | {"steps": [*steps[:i], (step[0], step[1][:j] + step[1][j + 1 :], *step[2:]), *steps[i + 1 :]]}
    if world["times"]:
        yield world | {"times": False}
    for i, other in enumerate(Ways()[:-1]):
        if world["ways"][i] != other:
            yield world | {"ways": (*world["ways"][:i], other, *world["ways"][i + 1 :])}


WORLDS = Worlds("rules", generate=generate, check=check, smaller=smaller)
