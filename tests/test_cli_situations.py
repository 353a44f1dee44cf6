"""Temporal patterns on the command line: run, shown, replayed, varied; refused in words where an option makes no sense."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import afa
from afa.situations import TemporalPattern
from tests.cli import call, fails, write
from tests.cli import there as there  # the fixture of all tests here

SITUATIONS = """
from typing import NamedTuple
from afa.situations import Situation, TemporalPattern

class Reading(NamedTuple):
    car: str
    speed: int
    wet: bool

def make(speed=3, **more):
    return TemporalPattern(
        event=Reading, within=30, fast=Situation(f"speed > {speed}", at_least=2), rain=Situation("wet"),
        where="fast overlaps|during|contains rain", returns={"top": "max(fast.speed)"}, **more,
    )

def either(speed):
    from afa import Arc, Automaton
    return make(speed) if speed > 3 else Automaton(start="a", final={"b"}, event=Reading, arcs=[Arc("a", "b", "wet")])

driving = make(key="car")
of_any = make()
timed = TemporalPattern(
    event=Reading, within="30 s", key="car", tick="s", fast=Situation("speed > 3", at_least="2 s"), rain=Situation("wet"),
    where="fast overlaps|during|contains rain",
)
"""


def rows(n: int = 120) -> list[dict[str, Any]]:
    """Readings of two cars, some of them late by up to five."""
    rng = random.Random(24)
    found = [{"car": rng.choice("AB"), "speed": rng.randint(0, 6), "wet": rng.random() < 0.4, "le": t} for t in range(n)]
    return sorted(found, key=lambda row: row["le"] + (rng.randint(1, 5) if rng.random() < 0.3 else 0))


def lines() -> str:
    return write("cars.jsonl", "".join(json.dumps(row) + "\n" for row in rows()))


def patterns() -> str:
    return write("situations.py", SITUATIONS)


def made(speed: int = 3, **more: Any) -> TemporalPattern:
    scope: dict[str, Any] = {"__name__": "situations"}
    exec(compile(SITUATIONS, "situations.py", "exec", dont_inherit=True), scope)
    found: TemporalPattern = scope["make"](speed, **more)
    return found


def in_force(file: str) -> set[Any]:
    net: dict[Any, int] = {}
    for line in Path(file).read_text().splitlines():
        row = json.loads(line)
        diff = row.pop("diff")
        net[tuple(sorted(row.items()))] = net.get(tuple(sorted(row.items())), 0) + diff
    return {match for match, copies in net.items() if copies}


def found(pattern: TemporalPattern, **options: Any) -> set[Any]:
    table = afa.find(pattern, pa.Table.from_pylist(rows()), time="le", **options)
    return {tuple(sorted(row.items())) for row in table.to_pylist()}


@pytest.mark.parametrize("more", [(), ("--batch", "7"), ("--batch", "7", "--lateness", "6"), ("--threads", "2", "--batch", "20")])
def test_what_is_in_force_is_what_is_found(more: tuple[str, ...]) -> None:
    told = call("run", f"{patterns()}:driving", lines(), "--output", "out.jsonl", *more)
    assert in_force("out.jsonl") == found(made(key="car"))
    assert "car=A" in told.stdout


def test_a_key_that_the_pattern_does_not_say() -> None:
    call("run", f"{patterns()}:of_any", lines(), "--key", "car", "--output", "out.jsonl")
    assert in_force("out.jsonl") == found(made(key="car"))
    call("run", "situations.py:of_any", "cars.jsonl", "--output", "all.jsonl")
    assert in_force("all.jsonl") == found(made())


def test_late_readings_are_dropped_if_that_is_asked_for() -> None:
    stopped = fails("run", f"{patterns()}:driving", lines(), "--batch", "1", "--lateness", "0")
    assert "--late drop drops it" in stopped
    told = call("run", "situations.py:driving", "cars.jsonl", "--batch", "1", "--lateness", "0", "--late", "drop")
    assert "late" in told.stderr


def test_times_come_as_they_were() -> None:
    """What a match shows of its situations are times, too."""
    table = pa.Table.from_pylist(rows()).set_column(3, "at", pa.array([row["le"] for row in rows()], pa.timestamp("s")))
    pq.write_table(table, "cars.parquet")
    call("run", f"{patterns()}:timed", "cars.parquet", "--time", "at", "--output", "out.parquet", "-q")
    out = pq.read_table("out.parquet")
    assert {str(out.schema.field(name).type)[:9] for name in ("le", "fast_ts", "fast_te", "rain_ts")} == {"timestamp"}
    assert out.num_rows > 5


def test_what_is_shown() -> None:
    told = call("show", f"{patterns()}:driving", "--svg", "a.svg", "--html", "a.html", "--dot", "a.dot")
    assert "wrote a.svg" in told.stderr
    assert "decided fast contains rain: when rain ends" in Path("a.html").read_text()
    shown = call("show", "situations.py:driving").stdout
    for text in ("reading", "Reading(car: str, speed: int, wet: bool)", "Instant(fast_begins: bool", "when", "flowchart"):
        assert text in shown


def test_variants() -> None:
    told = call("run", f"{patterns()}:make", lines(), "--key", "car", "--vary", "speed=2:4", "--output", "out.jsonl")
    counts = [tuple(map(int, line.split()[:2])) for line in told.stdout.splitlines()[1:]]
    assert counts == [(speed, len(found(made(speed, key="car")))) for speed in (2, 3, 4)]


def test_stored_history_is_run_in_full() -> None:
    pq.write_table(pa.Table.from_pylist(rows()), "cars.parquet", row_group_size=20)
    told = call("replay", f"{patterns()}:driving", "cars.parquet", "--time", "le", "--output", "out.parquet")
    assert {tuple(sorted(row.items())) for row in pq.read_table("out.parquet").to_pylist()} == found(made(key="car"))
    said = "full run (a stage in front of the operator looks at what was before a match)"
    assert said in told.stderr
    assert said in call("replay", "situations.py:driving", "cars.parquet", "--time", "le", "--explain").stdout
    required = fails("replay", "situations.py:driving", "cars.parquet", "--time", "le", "--require")
    assert "expected a pattern that needs some rare event, with require=True, but got a full run" in required
    assert "--window can't be combined with" in fails("replay", "situations.py:driving", "cars.parquet", "--window", "9")


@pytest.mark.parametrize(
    ("option", "said"),
    [
        (("--window", "7"), "--window can't be combined with a temporal pattern because it says that itself (within=)"),
        (("--key", "wet"), "expected no --key beside situations.py:driving, whose key is car, but got wet"),
        (("--arcs", "log"), "--arcs can't be combined with a temporal pattern because its arcs follow from where="),
        (
            ("--reasons",),
            "--reasons can't be combined with a temporal pattern because instants stand behind its matches",
        ),
        (("--report", "a.html"), "--report can't be combined with a temporal pattern because "),
        (("--members", "speed"), "--members can't be combined with a temporal pattern because "),
        (("--collapse", "*"), "--collapse can't be combined with a temporal pattern because "),
        (("--having", "count(fast) > 1"), "--having can't be combined with a temporal pattern because "),
        (("--id", "speed"), "--id can't be combined with a temporal pattern because "),
        (("--order-by", "wet"), "expected a field of int, float or str in Reading(car: str, speed: int, wet: bool)"),
    ],
)
def test_options_that_make_no_sense(option: tuple[str, ...], said: str) -> None:
    patterns()
    assert said in fails("run", "situations.py:driving", lines(), *option)


def test_commands_that_take_none() -> None:
    patterns()
    lines()
    asked = fails("why", "situations.py:driving", "cars.jsonl")
    assert "expected an automaton or a query but got situations.py:driving, a temporal pattern: its arcs ask instants" in asked
    served = fails("serve", "situations.py:driving", "cars.jsonl")
    assert "a temporal pattern: the page steers by arcs, and its arcs follow from where=; afa run takes it" in served
    arcs = fails("arcs", "log", "end", "a: goes on", "--pattern", "situations.py:driving")
    assert "a temporal pattern: its arcs follow from where=" in arcs
    wrong = fails("run", "situations.py:timed", "cars.jsonl", "--tick", "ms")
    assert "expected --tick s, as the pattern says, but got ms; leave it out" in wrong
    either = fails("run", "situations.py:either", "cars.jsonl", "--vary", "speed=3:4")
    assert "expected temporal patterns or others but got both from situations.py:either" in either
