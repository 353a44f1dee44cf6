"""Random stored histories: automata x rows x cuts into row groups and files x scans; `replay`, `sweep`, `amend` beside full runs.

Few instants and short windows, so that spans come closer to each other than a window, and values that few rows have. A world is
its number: `world(seed)`.
"""

from __future__ import annotations

import itertools
import random
import tempfile
from collections import Counter
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq

from afa import BEGINNING, FOREVER, Arc, Automaton, Change, Keyed, Operator, Punctuation, insert
from afa.errors import AutomatonError
from afa.model.arc import CONSUME
from afa.operator.options import Options
from afa.replay import scanning, seen_keys, sweeping, through_spans
from afa.replay import stored as stored_tables
from afa.replay.amending import amend
from afa.replay.question import question
from afa.replay.replaying import answers, located, replay
from afa.replay.sidecar import index
from tests.worlds.kind import Worlds


class Ev(NamedTuple):
    x: int
    y: float | None
    s: str
    no: int


class Reg(NamedTuple):
    n: int = 0
    peak: int = 0
    low: float | None = None


STATES = ("a", "b", "c", "d")
FENCES = (
    "x >= 8", "x >= 9", "x < 2", "x == 5", "x in (3, 4)", "s == 'u'", "s != 'v'", "s in ('u', 'w')", "True", "True", "x >= 4",
    "y is not None and y > 0.5", "y > 0.8 if y is not None else False", "x > 6 or s == 'w'", "not (x < 7)", "x > r.n",
    "x >= r.peak",
    "x > 3 and s == 'u'", "abs(x - 5) < 2", "y is None", "x >= 7 and x > r.n", "x >= 6 and r.n < 3", "r.peak >= 8",
    "r.peak >= 6 and x < 5",
)  # fmt: skip
TRANSFERS = (
    None, None, None, "r._replace(n=r.n + 1)", "r._replace(peak=e.x)", "r._replace(peak=max(r.peak, e.x))", "r._replace(n=e.x)",
    "r._replace(peak=e.x if e.x > 5 else r.peak)", "r._replace(low=e.y)", "r._replace(peak=min(r.peak, e.x), n=1)",
    "r._replace(peak=0)",
)  # fmt: skip


class World(NamedTuple):
    """A stored history, and what is asked of it."""

    automaton: Automaton
    rows: list[dict[str, Any]]
    keys: tuple[str, ...]
    window: int | None
    until: bool
    diff: bool
    sequence: str | None
    end: str
    arcs: list[Change]
    longest: bool
    engine: str
    files: list[list[int]]  # of each file the rows of its row groups
    statistics: bool
    block: int | None  # how many rows the blocks of an index beside each file have; None: there is none
    order: list[tuple[str, ...]] | None
    changes: list[tuple[dict[str, Any], int]]
    applied: bool
    changed_arcs: list[Change]


def automaton_of(rng: random.Random) -> Automaton:
    """Return an automaton of a few states."""
    while True:
        states = STATES[: rng.randint(2, 4)]
        final = set(rng.sample(states[1:], rng.randint(1, min(2, len(states) - 1))))
        chain = [_consuming(rng, a, b) for a, b in itertools.pairwise(states)]
        arcs = [*chain, *(_arc(rng, states) for _ in range(rng.randint(0, 4)))]
        try:
            return Automaton(start="a", final=final, arcs=arcs, register=Reg(), event=Ev)
        except Exception:
            continue


def _consuming(rng: random.Random, src: str, dst: str, **more: Any) -> Arc:
    return Arc(src, dst, rng.choice(FENCES), rng.choice(TRANSFERS), **more)


def _arc(rng: random.Random, states: tuple[str, ...], name: str | None = None) -> Arc:
    src, dst = rng.choice(states), rng.choice(states)
    kind = rng.random()
    if kind < 0.1 and src < dst:
        return Arc.epsilon(src, dst, rng.choice(["r.n < 3", "r.peak >= 7", "True"]), name=name)
    if kind < 0.2 and src != dst:
        return Arc.timeout(src, dst, rng.choice(["r.n + 20", "r.peak * 4", "r.n + 5"]), name=name)
    if kind < 0.3:
        return Arc.skip(src, rng.choice(["x < 9", "True", "s == 'v'"]), name=name)
    if kind < 0.5:
        return Arc(src, src, rng.choice(["True", "x < 8", "s != 'w'"]), name=name)  # ignorable
    if kind < 0.6:
        return _consuming(rng, src, dst, name=name, final=True) if name else _consuming(rng, src, dst, final=True)
    return _consuming(rng, src, dst, name=name)


def _row(rng: random.Random, times: int, world_keys: int, until: bool, window: int | None) -> dict[str, Any]:
    at = rng.randint(0, times)
    y = rng.choice([None, float("nan"), -0.0, 0.0, rng.random(), rng.random()])
    row = {"at": at, "x": rng.choice([0, 1, 3, 4, 5, 5, 6, 7, 8, 9]), "y": y, "s": rng.choice("uvwvv")}
    row |= {"k": rng.randint(0, world_keys), "t": rng.choice(["p", "q"]), "no": rng.randint(0, 3)}
    row["f"] = rng.choice([float("nan"), 0.0, -0.0, 1.5])
    row["to"] = at + rng.randint(1, 2 * (window or 12)) if until and (window is None or rng.random() < 0.6) else None
    return row


def world(seed: int) -> World:
    """Make the world of a number."""
    rng = random.Random(seed)
    window = rng.choice([2, 3, 5, 8, 13])
    until = rng.random() < 0.2
    window = None if until and rng.random() < 0.2 else window
    times = rng.choice([15, 40, 120, 400])
    many = rng.randint(0, rng.choice([30, 90, 90, 200]))
    diff = rng.random() < 0.1
    sequence = "no" if rng.random() < 0.2 else None
    world_keys = rng.choice([0, 2, 12])
    rows = [_row(rng, times, world_keys, until, window) for _ in range(many)]
    rare = rng.random() < 0.6
    if rare:  # long stretches in which nothing of interest is
        rows = [row if rng.random() < 0.3 else {**row, "x": 5, "s": "v"} for row in rows]
    for row in rows:
        row["d"] = 1
    if diff:
        rows += [{**row, "d": -1} for row in rng.sample(rows, min(3, len(rows)))]
    if rng.random() < 0.8:
        rows.sort(key=lambda row: row["at"])
    keys = rng.choice([(), ("k",), ("k",), ("k", "t"), ("t",), ("f",), ("f", "k")])
    automaton = automaton_of(rng)
    arcs = [_lifetime(rng, automaton, f"come{n}", rows) for n in range(rng.choice([0, 0, 1, 2]))]
    files, left = [], len(rows)
    for _ in range(rng.randint(1, 3)):
        groups = []
        for _ in range(rng.randint(1, 5)):
            size = rng.randint(0, max(1, len(rows) // 4))
            groups.append(min(size, left))
            left -= groups[-1]
        files.append(groups)
    files[-1].append(left)
    columns = rng.sample([("x",), ("s",), ("y",), ("x", "s"), ("x", "y"), ("x", "s", "y")], rng.randint(0, 3))
    changes = [(_row(rng, times + 4, world_keys, until, window), 1) for _ in range(rng.randint(0, 4))]
    changes += [(row, -1) for row in rng.sample(rows, min(len(rows), rng.randint(0, 3)))] if not diff else []
    changed_arcs = [_lifetime(rng, automaton, f"late{n}", rows) for n in range(rng.choice([0, 0, 1]))]
    if rng.random() < 0.2:  # one that served serves no more
        served = [*arcs, *(insert(arc, BEGINNING, FOREVER) for arc in automaton.arcs)]
        changed_arcs.append(rng.choice(served)._replace(diff=-1))
    return World(
        automaton, rows, keys, window, until, diff, sequence, rng.choice(["latest", "latest", "forever"]), arcs, rng.random() < 0.1,
        "compiled" if rng.random() < 0.1 else "interpreted", files, rng.random() < 0.85,
        rng.choice([None, None, None, 1, 3, 8]), columns if rng.random() < 0.9 else None, changes, rng.random() < 0.5, changed_arcs,
    )  # fmt: skip


def _lifetime(rng: random.Random, automaton: Automaton, name: str, rows: list[dict[str, Any]]) -> Change:
    """Return an arc of a while, which begins with a row, or ends with one: often one that leads past all others to the end."""
    while True:
        past = rng.random() < 0.5
        arc = _consuming(rng, "a", min(automaton.final), name=name) if past else _arc(rng, automaton.states, name)
        try:
            automaton.check_arc(arc)
        except Exception:
            continue
        first, last = sorted(rng.choice(rows)["at"] if rows else 0 for _ in range(2))
        return insert(arc, rng.choice([BEGINNING, first]), rng.choice([FOREVER, last + 1]))


SCHEMA = pa.schema(
    [("at", pa.int64()), ("x", pa.int64()), ("y", pa.float64()), ("s", pa.string()), ("k", pa.int64()), ("t", pa.string()),
     ("f", pa.float64()), ("no", pa.int64()), ("to", pa.int64()), ("d", pa.int64())]
)  # fmt: skip


def stored(found: World, rows: list[dict[str, Any]], folder: Path) -> list[str]:
    """Write rows as files of row groups."""
    paths, done = [], 0
    for n, groups in enumerate(found.files):
        path = folder / f"part{n}.parquet"
        with pq.ParquetWriter(path, SCHEMA, write_statistics=found.statistics) as file:
            for size in groups:
                part = rows[done : done + size]
                done += size
                if part or not size:
                    file.write_table(pa.Table.from_pylist(part, SCHEMA))
        paths.append(str(path))
    if done < len(rows):
        path = folder / "rest.parquet"
        pq.write_table(pa.Table.from_pylist(rows[done:], SCHEMA), path, row_group_size=7)
        paths.append(str(path))
    if found.block is not None:
        index(paths, time="at", block=found.block)
    return paths


def full_run(found: World, rows: list[dict[str, Any]], arcs: list[Change]) -> Counter[Any]:
    """Return the matches in force after all rows and a last promise: those of an operator that takes them one by one."""
    options: dict[str, Any] = {
        "window": found.window,
        "engine": "interpreted",
        "longest": found.longest,
        "order_by": found.sequence,
    }
    key = found.keys[0] if len(found.keys) == 1 else found.keys
    op: Any = Keyed(found.automaton, key=key, **options) if found.keys else Operator(found.automaton, **options)
    matches: Counter[Any] = Counter()

    def take(changes: list[Any]) -> None:
        for change in changes:
            if not isinstance(change, Punctuation):
                matches[_match(change)] += change.diff

    for change in arcs:
        take(op.push_arc(change))
    columns: dict[str, list[Any]] = {name: [row[name] for row in rows] for name in (*Ev._fields, *found.keys)}
    columns |= {"le": [row["at"] for row in rows], "diff": [row["d"] for row in rows]}
    if found.until:
        columns["re"] = [row["to"] if row["to"] is not None else row["at"] + (found.window or 0) for row in rows]
    take(_changes(op.push_many(columns), found) if rows else [])
    last = FOREVER if found.end == "forever" else max((row["at"] for row in rows), default=BEGINNING)
    take(op.push(Punctuation(last)))
    return +matches


def _changes(columns: Any, found: World) -> list[Change]:
    names = [name for name in columns if name not in ("le", "re", "diff", *found.keys)]
    made = []
    for i in range(len(columns["le"])):
        key = tuple(columns[name][i] for name in found.keys)
        payload = Reg(*(None if columns[name][i] is None else columns[name][i] for name in names))
        key_ = None if not key else key[0] if len(key) == 1 else key
        made.append(Change(payload, int(columns["le"][i]), int(columns["re"][i]), int(columns["diff"][i]), key_))
    return made


def _plain(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return "NaN" if value != value else value + 0 if isinstance(value, float) else value


def _match(change: Change) -> Any:
    key = change.key if isinstance(change.key, tuple) else () if change.key is None else (change.key,)
    return tuple(map(_plain, key)), tuple(map(_plain, change.payload)), change.le, change.re


def counted(table: pa.Table, keys: tuple[str, ...]) -> Counter[Any]:
    """Return matches as a Counter, by ``diff`` where there is one."""
    total: Counter[Any] = Counter()
    for row in table.to_pylist():
        payload = tuple(_plain(row[name]) for name in Reg._fields)
        total[tuple(_plain(row[name]) for name in keys), payload, row["le"], row["re"]] += row.get("diff", 1)
    return total


def check(seed: int) -> dict[str, int]:
    """Check a world; return what was seen in it. Every second one with sizes at which large tables are read in parts."""
    rng = random.Random(-seed)
    small = [(seen_keys, "FEW", 1), (stored_tables, "TOGETHER", 6), (through_spans, "BATCH", 4)]
    small += [
        (scanning, "DENSE", rng.choice([0.0, 0.3, 2.0])),
        (stored_tables, "OPEN", 1),
        (stored_tables, "KEPT", rng.choice([0, 500])),
    ]
    with ExitStack() as sizes:
        for room, name, size in small if seed % 2 else []:
            sizes.enter_context(patch.object(room, name, size))
        return _checked(seed)


def _checked(seed: int) -> dict[str, int]:
    found = world(seed)
    seen: Counter[str] = Counter()
    key: Any = None if not found.keys else found.keys[0] if len(found.keys) == 1 else found.keys
    with tempfile.TemporaryDirectory() as name:
        paths = stored(found, found.rows, Path(name))
        want = full_run(found, found.rows, found.arcs)
        options = Options(key=key, window=found.window, order_by=found.sequence, engine=found.engine, longest=found.longest)  # type: ignore[arg-type]
        said = "at", "to" if found.until else None, "d" if found.diff else None, found.end
        asking = question(found.automaton, paths, options, said, found.arcs)  # type: ignore[arg-type]
        where, plan = located(asking, order=found.order)
        got = counted(answers([asking], where, plan)[0], found.keys)
        assert got == want, f"world {seed}: {plan}\nmissing {want - got}\nextra {got - want}"
        seen += Counter(
            {"matches": len(want), "part": int(not plan.full and plan.replayed < len(found.rows)), "full": int(plan.full)}
        )
        if found.order is None:
            same = replay(
                found.automaton, paths, key=key, time="at", window=found.window, until=said[1], diff=said[2], end=found.end,  # type: ignore[arg-type]
                order_by=found.sequence, arcs=found.arcs, engine=found.engine, longest=found.longest,  # type: ignore[arg-type]
            )  # fmt: skip
            assert counted(same.matches, found.keys) == want
        if seed % 4 == 0:
            seen += _swept(found, seed, want, paths, key, said)
        if not found.diff:
            seen += _amended(found, want, paths, key, said[1])
    return dict(seen)


def _swept(found: World, seed: int, want: Counter[Any], paths: list[str], key: Any, said: tuple[Any, ...]) -> Counter[str]:
    """Check `sweep` for the automaton and another one of the same arcs, some with other fences; scans are those of the world."""
    rng, arcs = random.Random(seed), []
    for arc in found.automaton.arcs:
        other = rng.random() < 0.4 and arc.kind == CONSUME
        arcs.append(Arc(arc.src, arc.dst, rng.choice(FENCES), arc.transfer, final=arc.final) if other else arc)
    try:
        varied = Automaton(start="a", final=found.automaton.final, arcs=arcs, register=Reg(), event=Ev)
    except AutomatonError:
        return Counter()
    with patch.object(sweeping, "located", partial(located, order=found.order)):
        swept = sweeping.sweep(
            {"as it is": found.automaton, "varied": varied}, paths, key=key, time="at", window=found.window, until=said[1],
            diff=said[2], end=said[3], order_by=found.sequence, arcs=found.arcs, engine=found.engine, longest=found.longest,  # type: ignore[arg-type]
        )  # fmt: skip
    of_other = full_run(found._replace(automaton=varied), found.rows, found.arcs)
    for name, matches in (("as it is", want), ("varied", of_other)):
        got = counted(swept.matches[name], found.keys)
        assert got == matches, f"swept {name}: missing {matches - got}, extra {got - matches}"
    return Counter({"swept": sum(of_other.values())})


def _amended(found: World, before: Counter[Any], paths: list[str], key: Any, until: str | None) -> Counter[str]:
    rows = list(found.rows)
    for row, diff in found.changes:
        if diff > 0:
            rows.append({**row, "d": 1})
        else:
            rows.remove(row)
    # a retracted row that is there twice is still there: `amend` refuses it where the source is as it is after
    stored_ = {_event(row, found) for row in rows}
    twice = [row for row, diff in found.changes if diff < 0 and _event(row, found) in stored_]
    if found.applied and twice:
        return Counter()
    rows.sort(key=lambda row: row["at"])
    after = full_run(found, rows, [*found.arcs, *found.changed_arcs])
    want = after.copy()
    want.subtract(before)
    with tempfile.TemporaryDirectory() as name:
        source = stored(found, rows, Path(name)) if found.applied else paths
        changes: list[Change] = []
        for row, diff in found.changes:
            key_of = tuple(row[name_] for name_ in found.keys)
            at_key = None if not key_of else key_of[0] if len(key_of) == 1 else key_of
            changes.append(Change(Ev(*(row[name_] for name_ in Ev._fields)), row["at"], row["to"] if until else None, diff, at_key))
        got = counted(
            amend(
                found.automaton, source, [*changes, *found.changed_arcs], key=key, time="at", window=found.window,
                until=until, end=found.end, applied=found.applied, order_by=found.sequence, arcs=found.arcs,
                engine=found.engine, longest=found.longest,
            ),  # type: ignore[arg-type]
            found.keys,
        )  # fmt: skip
    wrong = {match: (got[match], want[match]) for match in {*got, *want} if got[match] != want[match]}
    assert not wrong, f"amended: got and wanted {wrong}"
    return Counter({"amended": sum(map(abs, want.values())), "amends": 1})


def _event(row: dict[str, Any], found: World) -> tuple[Any, ...]:
    """Return all that counts of a row."""
    end = row["to"] if found.until and row["to"] is not None else row["at"] + (found.window or 0)
    return *(_plain(row[name]) for name in ("at", *Ev._fields, *found.keys)), end


WORLDS = Worlds(
    "history", lambda seed, number: int(seed) * 1_000_000 + number, lambda seed, engine: Counter(check(seed)), engines=(None,)
)
