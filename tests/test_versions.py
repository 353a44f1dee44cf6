"""What the lines of an arc log come to, against a slow replay of all of them: whatever order and batches they come in."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest

from afa.arclog.lines import read_lines
from afa.arclog.versions import INSERT, LineVersion, LogLine, Versions
from punctuation.time import BEGINNING, FOREVER
from tests.arclogs import apart, in_force, is_late, random_log, read_line
from tests.strategies import Seeded

ARCS = [{"name": name, "src": "a", "dst": "b", "fence": fence} for name in "xyz" for fence in ("True", "False")]
OWN = LogLine(BEGINNING, BEGINNING, INSERT, b"own", b"own", "x", FOREVER, None, json.dumps({"arc": "own"}))


def shown(versions: list[LineVersion], since: int = BEGINNING) -> Counter[Any]:
    return Counter(
        (v.line.name, json.dumps(json.loads(v.line.source)["arc"], sort_keys=True), v.le, v.re) for v in versions if v.re > since
    )


def expected(lines: list[str], since: int = BEGINNING) -> tuple[Counter[Any], list[str]]:
    found, idle = in_force(list(map(json.loads, lines)), {"x": "own"})
    there = [(name, json.dumps(arc, sort_keys=True), le, re) for name, arc, le, re in found if re > since]
    return Counter(there), idle


def ended_nothing(lines: list[str]) -> list[tuple[str, int]]:
    said = map(json.loads, expected(lines)[1])
    return sorted((arc["name"], at) for _, arc, at, *_ in said)


def all_of(lines: list[str]) -> list[LogLine]:
    return [line for raw in lines for line in read_lines(raw)]


def less(some: list[LineVersion], others: list[LineVersion]) -> Counter[LineVersion]:
    return Counter(some) - Counter(others)


@pytest.mark.parametrize("number", range(150))
def test_the_outcome_is_a_function_of_the_set_of_lines(number: int) -> None:
    choose = Seeded(f"versions/{number}")
    lines = random_log(choose, ARCS, choose.number(1, 25), choose.one([3, 12]))
    lines += [choose.one(lines) for _ in range(choose.number(0, 5))]
    for _ in range(3):
        rest, versions, there = (
            sorted(lines, key=lambda line: choose.number(0, 10**6)),
            Versions([LineVersion(OWN, BEGINNING, FOREVER)]),
            Counter({LineVersion(OWN, BEGINNING, FOREVER): 1}),
        )
        while rest:
            n = choose.number(1, len(rest))
            taken = versions.take(all_of(rest[:n]))
            for name, before in taken.before.items():
                there = there - less(before, versions.of(name)) + less(versions.of(name), before)
            rest = rest[n:]
            assert there == Counter(versions.all())
        assert shown(versions.all()) == expected(lines)[0]
        idle = versions.promise(FOREVER)
        assert sorted((line.name, line.at) for line in idle) == ended_nothing(lines)


@pytest.mark.parametrize("number", range(150))
def test_a_promise_changes_nothing_but_what_is_late(number: int) -> None:
    """And what it leaves is all that is needed: it is taken out and put in again now and then."""
    choose = Seeded(f"promises/{number}")
    lines = random_log(choose, ARCS, choose.number(5, 40), choose.one([10, 40]))
    lines += [choose.one(lines) for _ in range(5)]
    lines.sort(key=lambda line: json.loads(line)["at"] + choose.number(0, 8))
    versions, promised, taken, idle, late = Versions([LineVersion(OWN, BEGINNING, FOREVER)]), BEGINNING, [], [], 0
    while lines:
        n = choose.number(1, 6)
        here, lines = lines[:n], lines[n:]
        wanted = [line for line in here if json.loads(line)["at"] >= promised]
        taken += wanted
        before = list(map(json.loads, taken))
        behind = sum(is_late(part, before, {"x": "own"}, promised) for part in apart(map(json.loads, here)))
        late += behind
        assert len(versions.take(all_of(here)).late) == behind
        promised = max(promised, json.loads(here[-1])["at"] - choose.number(0, 12))
        idle += versions.promise(promised)
        assert shown(versions.all(), promised) == expected(taken, promised)[0]
        if choose.chance(30):
            begun, waiting = versions.begun(), versions.lines()
            assert all(version.re > promised > version.le for version in begun)
            assert all(line.at >= promised for line in waiting)
            versions = Versions(begun, promised)
            versions.take(waiting)
    idle += versions.promise(FOREVER)
    assert sorted((line.name, line.at) for line in idle) == ended_nothing(taken)
    assert versions.lines() == []


def test_a_version_that_lasts_is_noted_once() -> None:
    """Each promise that another line was due for noted it anew."""
    versions = Versions()
    versions.take([line("insert", 0, until=10_000), *(line("insert", at, until=10_000) for at in range(1, 50))])
    for t in range(51):
        versions.promise(t)
    assert len(versions._due) == len(versions._noted) == 1
    assert versions._due[0][0] == 9_999


def line(op: str, at: int, name: str = "x", **more: Any) -> LogLine:
    arc = {"name": name, "src": "a", "dst": "b", "fence": "True"} if op == "insert" else {"name": name}
    return read_line(json.dumps({"op": op, "arc": arc, "at": at, **more}))


def lifetimes(versions: Versions, name: str = "x") -> list[tuple[int, int]]:
    return [(version.le, version.re) for version in versions.of(name)]


def test_a_retraction_waits_for_its_insertion() -> None:
    versions = Versions()
    versions.take([line("retract", 50)])
    assert versions.waits == 50
    versions.promise(20)
    versions.take([line("insert", 20)])
    assert lifetimes(versions) == [(20, 50)]
    assert versions.waits is None
    assert versions.promise(60) == []
    assert versions.all() == []


def test_what_is_written_twice_is_there_once() -> None:
    versions = Versions()
    twice = {"op": "insert", "arc": {"name": "x", "src": "a", "dst": "b", "fence": "True"}, "at": 0}
    versions.take(
        [read_line(json.dumps(twice)), read_line(json.dumps({**twice, "at": "1970-01-01T00:00:00", "until": None}, indent=1))]
    )
    assert lifetimes(versions) == [(0, FOREVER)]
    versions.take([line("insert", 0, id=1), line("insert", 0, id="1"), line("insert", 0, id=1)])
    assert lifetimes(versions) == [(0, FOREVER)] * 3
    versions.take([line("retract", 9), line("retract", 9), line("retract", 9, id="again")])
    assert sorted(lifetimes(versions)) == [(0, 9), (0, 9), (0, FOREVER)]


def test_of_lines_with_one_id_the_first_counts() -> None:
    first, second = line("insert", 5, id="a"), line("insert", 9, "y", id="a")
    for some in ([first, second], [second, first]):
        versions = Versions()
        clashes = [clash for one in some for clash in versions.take([one]).clashes]
        assert clashes == [second]
        assert (lifetimes(versions), lifetimes(versions, "y")) == ([(5, FOREVER)], [])
    versions.promise(7)
    assert versions.take([second]).clashes == [second], "its version lasts"
    versions.take([line("retract", 8)])
    versions.promise(9)
    assert versions.take([second]).clashes == [], "nothing is known of it any more"


def test_at_one_instant_what_comes_stays() -> None:
    versions = Versions()
    versions.take([line("insert", 0), line("insert", 10, until=30), line("retract", 10)])
    assert lifetimes(versions) == [(0, 10), (10, 30)]
    versions.take([line("retract", 10, sequence=1)])
    assert lifetimes(versions) == [(0, 10)]


def test_a_line_costs_no_more_for_those_before_it() -> None:
    """Counted, not timed: of lines that come in order none is gone through again."""
    versions, n = Versions(), 3000
    for i in range(n):
        versions.take([line("insert", 2 * i), line("retract", 2 * i + 1)])
    replay = versions._replays["x"]
    assert (len(replay._versions), replay._open) == (n, [])
    versions.promise(2 * n)
    assert (versions.begun(), versions.lines(), versions._known, versions._due) == ([], [], {}, [])
