"""One pattern with durations: equal matches as times, on every way in, under every tick; random times, zones, changes of clocks."""

from __future__ import annotations

import random
from datetime import datetime, timedelta, timezone
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import afa
from afa import Arc, Automaton, Keyed, insert
from tests.cli import call

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
CHANGES = [  # instants, in UTC, at which clocks change
    ("Europe/Berlin", "2026-03-29T01:00"), ("Europe/Berlin", "2026-10-25T01:00"), ("America/New_York", "2026-03-08T07:00"),
    ("America/New_York", "2026-11-01T06:00"), ("Australia/Lord_Howe", "2026-04-04T15:00"), ("Asia/Kathmandu", "2026-01-01T00:00"),
    ("Africa/Casablanca", "1969-12-31T23:59"),
]  # fmt: skip
MATCH = tuple[str, int, int, int]
"""Key, the first event's time, LE and RE, in nanoseconds."""


class Pay(NamedTuple):
    at: afa.Instant
    amount: int


class First(NamedTuple):
    at: int = 0


class World(NamedTuple):
    """Payments of some keys, times in ticks of the finest unit that they need, and the pattern: two within a limit."""

    zone: str
    unit: str
    times: dict[str, list[int]]
    limit: str
    window: str
    said_in_text: bool

    @property
    def scale(self) -> int:
        return 10**9 // PER_SECOND[self.unit]

    @property
    def automaton(self) -> Automaton:
        limit = afa.span(self.limit)
        last: Any = f"at - r.at < span('{self.limit}')" if self.said_in_text else (lambda e, r: e.at - r.at < limit)
        arcs = [Arc("0", "1", "True", lambda e, r: First(e.at)), Arc("1", "2", last)]
        return Automaton(start="0", final={"2"}, event=Pay, register=First(), arcs=arcs)

    @property
    def rows(self) -> list[tuple[str, int]]:
        """Keys and times in nanoseconds, in an order that is none."""
        found = [(who, t * self.scale) for who, times in self.times.items() for t in times]
        random.Random(self.limit).shuffle(found)
        return found

    def expected(self) -> set[MATCH]:
        """In plain Python: neighbours that are nearer than the limit and the window."""
        limit, window = (pd.Timedelta(text).value for text in (self.limit, self.window))
        found = set()
        for who, times in self.times.items():
            exact = [t * self.scale for t in sorted(times)]
            found |= {(who, a, b, a + window) for a, b in pairwise(exact) if b - a < min(limit, window)}
        return found


def world(seed: int) -> World:
    choose = random.Random(seed)
    zone, change = choose.choice(CHANGES)
    unit = choose.choice(list(PER_SECOND))
    of = PER_SECOND[unit]
    base = int(datetime.fromisoformat(change).replace(tzinfo=timezone.utc).timestamp()) * of
    reach = 7200 * of
    times = {who: [base + t for t in choose.sample(range(-reach, reach), choose.randint(2, 12))] for who in "ab"}
    limit = choose.choice([choose.randint(600, 5400) * of, choose.randint(600 * of, 5400 * of)])
    window = choose.choice(["1 hour", "90 min", "2h 30m", "5400 s"])
    gaps = [choose.choice([limit, pd.Timedelta(window).value * of // 10**9]) + choose.randint(-1, 1) for _ in range(8)]
    times["c"] = list(accumulate(gaps, initial=base - 4 * limit))
    text = f"{limit // of} s" if limit % of == 0 else f"{limit} {unit}"
    return World(zone, unit, times, text, window, choose.random() < 0.5)


def of_changes(out: list[Any], unit: int) -> set[MATCH]:
    return {(c.key, c.payload[0] * unit, c.le * unit, c.re * unit) for c in out if isinstance(c, afa.Change)}


def nanoseconds(column: Any) -> list[int]:
    return pd.to_datetime(pd.Series(list(column)), utc=True).astype("datetime64[ns, UTC]").astype("int64").tolist()  # type: ignore[no-any-return]


def of_table(out: Any, unit: int) -> set[MATCH]:
    """What a table of changes, all of them insertions, or of matches says; ints of a match's field are ticks."""
    frame = out if isinstance(out, pd.DataFrame) else pd.DataFrame(out) if isinstance(out, dict) else out.to_pandas()
    at = frame["at"].tolist() if pd.api.types.is_integer_dtype(frame["at"]) else nanoseconds(frame["at"])
    scale = unit if pd.api.types.is_integer_dtype(frame["at"]) else 1
    return set(zip(frame["who"].tolist(), [t * scale for t in at], nanoseconds(frame["le"]), nanoseconds(frame["re"])))


def pushed(w: World, tick: str, net: bool) -> set[MATCH]:
    """By changes with ints: one by one, or as one call."""
    op, unit = Keyed(w.automaton, key="who", window=w.window, tick=tick), 10**9 // PER_SECOND[tick]
    items = [(insert(Pay(None, 1), t // unit), who) for who, t in w.rows]  # type: ignore[arg-type]
    if net:
        return of_changes(op.push_many([change._replace(key=who) for change, who in items]), unit)
    held: set[MATCH] = set()
    for change, who in items:
        out = op.push(change, key=who)
        held -= of_changes([c for c in out if isinstance(c, afa.Change) and c.diff < 0], unit)
        held |= of_changes([c for c in out if isinstance(c, afa.Change) and c.diff > 0], unit)
    return held


def by_datetimes(w: World, tick: str) -> set[MATCH]:
    """By changes with datetimes of the zone, where Python's hold these times."""
    op = Keyed(w.automaton, key="who", window=w.window, tick=tick)
    epoch = datetime(1970, 1, 1, tzinfo=timezone.utc)
    moments = [(who, (epoch + timedelta(microseconds=t // 1000)).astimezone(ZoneInfo(w.zone))) for who, t in w.rows]
    assert all(t % 1000 == 0 for _, t in w.rows)
    return of_changes(op.push_many([insert(Pay(None, 1), t, key=who) for who, t in moments]), 10**9 // PER_SECOND[tick])


def frame_of(w: World, zone: str | None) -> pd.DataFrame:
    times = pd.to_datetime([t for _, t in w.rows], utc=True)
    moments = times.tz_localize(None) if zone is None else times.tz_convert(zone)
    return pd.DataFrame({"who": [who for who, _ in w.rows], "amount": 1, "le": pd.Series(moments).dt.as_unit(w.unit)})


def tables(w: World) -> list[Any]:
    """The same rows with a zone and without, in each kind of table."""
    frame = frame_of(w, w.zone)
    arrow = pa.Table.from_pandas(frame, preserve_index=False)
    found: list[Any] = [
        frame,
        frame_of(w, None),
        arrow,
        {name: arrow[name].to_numpy(zero_copy_only=False) for name in arrow.column_names},
    ]
    return found if w.unit == "s" else [*found, pl.from_arrow(arrow)]


@pytest.mark.parametrize("seed", range(16))
def test_ways_in(seed: int) -> None:
    w = world(seed)
    expected = w.expected()
    finer = [unit for unit in PER_SECOND if PER_SECOND[unit] >= PER_SECOND[w.unit]]
    for tick in finer:
        assert pushed(w, tick, net=False) == pushed(w, tick, net=True) == expected, (seed, tick)
        for table in tables(w):
            op = Keyed(w.automaton, key="who", window=w.window, tick=tick)
            assert of_table(op.push_many(table), 10**9 // PER_SECOND[tick]) == expected, (seed, tick, type(table))
    if w.unit != "ns":
        assert by_datetimes(w, finer[0]) == expected
    for table in tables(w):
        found = afa.find(w.automaton, table, key="who", time="le", window=w.window)
        assert of_table(found, w.scale) == expected, (seed, type(table))


def test_the_worlds_have_matches_and_none() -> None:
    """Neighbours nearer than limit and window, and others, some of them by one unit."""
    worlds = [world(seed) for seed in range(16)]
    assert sum(len(w.expected()) for w in worlds) > 60
    assert sum(len(times) - 1 for w in worlds for times in w.times.values()) > sum(len(w.expected()) for w in worlds) + 60
    assert {w.unit for w in worlds} == set(PER_SECOND)
    assert len({w.zone for w in worlds}) > 3


@pytest.mark.parametrize("seed", range(3))
def test_the_command_line(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    w = world(seed + 100)._replace(unit="s", limit="1h 10m")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("p.py").write_text(
        "from typing import NamedTuple\nimport afa\n"
        "class Pay(NamedTuple):\n    at: afa.Instant\n    amount: int\n"
        "class First(NamedTuple):\n    at: int = 0\n"
        f"LIMIT = afa.span('{w.limit}')\n"
        "arcs = [afa.Arc('0', '1', 'True', '(at,)'), afa.Arc('1', '2', lambda e, r: e.at - r.at < LIMIT)]\n"
        "pair = afa.Automaton(start='0', final={'2'}, event=Pay, register=First(), arcs=arcs)\n"
    )
    times = {who: [t // PER_SECOND[world(seed + 100).unit] for t in each] for who, each in w.times.items()}
    w = w._replace(times={who: sorted(set(each)) for who, each in times.items()})
    frame = frame_of(w, w.zone).assign(le=lambda f: [moment.isoformat() for moment in f["le"]])
    frame.to_csv("rows.csv", index=False)
    for tick in ("s", "ms", "us"):
        call("run", "p.py:pair", "rows.csv", "--key", "who", "--window", w.window, "--tick", tick, "--output", "o.parquet", "-q")
        assert of_table(pd.read_parquet("o.parquet"), 10**9 // PER_SECOND[tick]) == w.expected(), tick
