"""Random keyed streams as rows of Spark's, and what a plain operator makes of them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone
from typing import Any, NamedTuple

from afa import Keyed, Punctuation, insert, retract
from tests.arclogs import arcs_of, bare
from tests.strategies import Choices
from tests.streams import Setting, setting

SECOND = 1_000_000
START = datetime(2026, 1, 1, tzinfo=timezone.utc)
ZERO = int(START.timestamp()) * SECOND
NAMES = ("ash", "asp", "elm", "", "Übel")


class Signal(NamedTuple):
    """An event of few sorts."""

    sort: int


def when(second: int) -> datetime:
    """The instant of a second of these streams."""
    return START + timedelta(seconds=second)


def micros(moment: datetime) -> int:
    """A timestamp of Spark's, in the zone of the machine."""
    return round(moment.astimezone(timezone.utc).timestamp() * SECOND)


def signals(choose: Choices, n: int, sorts: int) -> list[tuple[int, int, int, int]]:
    """Who, sort, second, diff: up to five seconds out of order, some of them taken back soon after."""
    found: list[tuple[int, tuple[int, int, int, int]]] = []
    for second in range(n):
        for who in range(3):
            row = (who, choose.number(0, sorts - 1), second)
            found.append((second + choose.number(0, 5), (*row, 1)))
            if choose.chance(20):
                found.append((found[-1][0] + 1, (*row, -1)))
    return [row for _, row in sorted(found, key=lambda item: item[0])]


def signal_lines(rows: list[tuple[int, int, int, int]], start: datetime = START) -> list[str]:
    """Signals as JSON."""
    moments = [(who, sort, (start + timedelta(seconds=at)).isoformat(), diff) for who, sort, at, diff in rows]
    return [json.dumps(dict(zip(("who", "sort", "at", "diff"), row))) for row in moments]


def rows(choose: Choices, n: int, keys: int, lifetimes: bool = False) -> list[dict[str, Any]]:
    """Insertions, and retractions of some of them, somewhat out of order; most say until when they live, if they are to."""
    found: list[dict[str, Any]] = []
    clock = 0
    while len(found) < n:
        if found and choose.chance(15):
            old = found[choose.number(max(0, len(found) - 40), len(found) - 1)]
            if old["diff"] > 0 and not any(row == {**old, "diff": -1} for row in found):
                found.append({**old, "diff": -1})
            continue
        clock += choose.chance(60)
        second = max(0, clock - (choose.number(1, 12) if choose.chance(30) else 0))
        found.append(
            {
                "sort": choose.number(0, 3),
                "size": choose.one([-1.5, 0.0, 0.5, 2.25]),
                "who": choose.number(0, keys - 1),
                "due": second + choose.number(0, 5),
                "name": choose.one(NAMES),
                "extra": choose.one([None, 0, 1, 2]),
                "flag": choose.chance(50),
                "at": when(second),
                "diff": 1,
            }
        )
        if lifetimes:
            found[-1]["until"] = None if choose.chance(20) else when(second + choose.number(1, 60))
    return found


def arc_lines(choose: Choices, here: Setting, n: int, last: int) -> list[str]:
    """Lines of an arc log: each arc of the pool comes, and some go again."""
    lines = []
    for sequence in range(n):
        arc = choose.one(here.pool)
        at = ZERO + choose.number(0, last) * SECOND
        line = {"op": "insert", "arc": arc.to_json(here.automaton), "at": at, "sequence": sequence}
        if choose.chance(40):
            line["until"] = at + choose.number(1, 30) * SECOND
        lines.append(json.dumps(line))
    return lines


def plain(here: Setting, window: int, rows: list[dict[str, Any]], lines: list[str]) -> set[Any]:
    """The matches in force after all rows and arcs, by one operator."""
    event = here.automaton.event_schema.cls  # type: ignore[union-attr]
    op = Keyed(bare(here.automaton), key=here.key, window=window * SECOND)
    out: list[Any] = []
    for arc, begin, end in arcs_of(lines, here.automaton):
        out += op.push_arc(insert(arc, begin, end))
    for row in rows:
        change = insert if row["diff"] > 0 else retract
        le = int(row["at"].timestamp()) * SECOND
        re = None if row.get("until") is None else int(row["until"].timestamp()) * SECOND
        out += op.push(change(event(**{name: row[name] for name in event._fields}), le, re))
    counts: dict[Any, int] = {}
    for change in out:
        if not isinstance(change, Punctuation):
            key = change.key if isinstance(change.key, tuple) else (change.key,)
            match = (*key, *change.payload, change.le, change.re)
            counts[match] = counts.get(match, 0) + change.diff
    assert set(counts.values()) <= {0, 1}
    return {match for match, count in counts.items() if count}


def of_program(program: str, keys: tuple[str, ...]) -> Setting:
    """A setting of `tests.streams` whose times are microseconds."""
    from tests.streams import Quote

    return setting(program, Quote, keys)
