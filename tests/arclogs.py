"""What an arc log means, line by line as SEMANTICS.md has it: slow, and sharing no code with the library; and random logs."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from afa import Arc, Automaton, Change, insert
from afa.arclog.lines import read_lines
from afa.arclog.versions import LogLine
from punctuation.time import BEGINNING, FOREVER
from tests.automata import Total
from tests.strategies import Choices

Lifetimes = list[tuple[str, Any, int, int]]
"""Of each version its name, its arc's JSON (or the automaton's own arc), and its lifetime."""


class Pay(NamedTuple):
    """Who pays how much."""

    who: str
    amount: int


def big(limit: int, name: str | None = None) -> Arc:
    """A payment above a limit."""
    return Arc("a", "b", f"amount > {limit}", "(r.total + e.amount,)", name=name)


SMALL = Arc("a", "a", "amount < 10", name="small")
PAYMENTS = Automaton(
    start="a",
    final={"b"},
    register=Total(),
    event=Pay,
    arcs=[big(500, "above 500"), SMALL],
)


def pay(amount: int, le: int) -> Change:
    """One payment."""
    return insert(Pay("x", amount), le)


def shown(out: Any) -> list[tuple[int, int, int]]:
    """Totals that an output tells, each with its LE and its diff."""
    return [(change.payload.total, change.le, change.diff) for change in out if isinstance(change, Change)]


def fold(out: Any, held: set[Any]) -> set[Any]:
    """The matches in force behind an output, with their keys."""
    for change in out:
        if isinstance(change, Change):
            match = change.key, change.payload, change.le, change.re
            (held.remove if change.diff < 0 else held.add)(match)
    return held


def read_line(raw: str) -> LogLine:
    """The only line that a text says, or the last one."""
    return read_lines(raw)[-1]


def ticks(value: Any) -> int:
    if isinstance(value, str):
        moment = datetime.fromisoformat(value) - datetime.fromisoformat("1970-01-01T00:00:00+00:00")
        return (moment.days * 86_400 + moment.seconds) * 1_000_000 + moment.microseconds
    return int(value)


def said(line: dict[str, Any]) -> str:
    """What a line says: equal texts say the same."""
    arc = line["arc"] if line["op"] == "insert" else {"name": line["arc"]["name"]}
    until = ticks(line["until"]) if line.get("until") is not None else None
    return json.dumps([line["op"], arc, ticks(line["at"]), until, line.get("sequence", 0)], sort_keys=True)


def place(line: dict[str, Any]) -> tuple[Any, ...]:
    """Where a line comes; which of two comes first that tie up to their identities is the library's choice."""
    return ticks(line["at"]), line.get("sequence", 0), line["op"] == "insert", read_line(json.dumps(line)).identity


def apart(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Lines, each swap (which has an id here) as its retraction and its insertion."""
    found = []
    for line in lines:
        if line["op"] == "swap":
            more = {name: line[name] for name in ("at", "sequence") if name in line}
            found.append({"op": "retract", "arc": {"name": line["name"]}, **more, "id": f"swap {line['id']!r}"})
            line = {name: value for name, value in line.items() if name != "name"} | {"op": "insert"}
        found.append(line)
    return found


def counted(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each line once. Lines of one id that say different things never tie in these logs."""
    found: dict[Any, dict[str, Any]] = {}
    for line in lines:
        known = line["id"] if "id" in line else said(line)
        if known not in found or place(line) < place(found[known]):
            found[known] = line
    return list(found.values())


def in_force(lines: list[dict[str, Any]], own: dict[str, Any]) -> tuple[Lifetimes, list[str]]:
    """What a set of lines leaves in force, and of the automaton's own arcs, by name; and the retractions that end nothing."""
    begun, idle = versions(lines, own)
    return [(v["name"], v["arc"], v["le"], v["re"]) for v in begun if v["le"] < v["re"]], idle


def is_late(line: dict[str, Any], lines: list[dict[str, Any]], own: dict[str, Any], promised: int) -> bool:
    """Whether a line, taken apart, is late: behind the promise, and not one of these whose version lasts."""
    if ticks(line["at"]) >= promised:
        return False
    begun, _ = versions([each for each in lines if ticks(each["at"]) < promised], own)
    lasting = [v["line"] for v in begun if v["line"] is not None and v["le"] < v["re"] > promised]
    return not any(said(each) == said(line) and each.get("id") == line.get("id") for each in lasting)


def versions(lines: list[dict[str, Any]], own: dict[str, Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """All versions that lines begin, each with its line, and the retractions that end nothing."""
    begun, idle = [{"name": name, "arc": arc, "le": BEGINNING, "re": FOREVER, "line": None} for name, arc in own.items()], []
    for line in sorted(counted(apart(lines)), key=place):
        name, at = line["arc"]["name"], ticks(line["at"])
        if line["op"] == "insert":
            until = FOREVER if line.get("until") is None else ticks(line["until"])
            begun.append({"name": name, "arc": line["arc"], "le": at, "re": until, "line": line})
            continue
        there = [version for version in begun if version["name"] == name and version["le"] <= at < version["re"]]
        if there:
            there[-1]["re"] = at
        else:
            idle.append(said(line))
    return begun, idle


def bare(automaton: Automaton) -> Automaton:
    """The same without its arcs, which are then given with their lifetimes."""
    return Automaton(start=automaton.start, final=automaton.final, arcs=[], register=automaton.register, event=automaton.event)


def arcs_of(lines: list[str], automaton: Automaton) -> list[tuple[Arc, int, int]]:
    """The arcs that a log leaves in force, the automaton's own among them."""
    own: dict[str, Any] = {arc.name or f"own {i}": arc for i, arc in enumerate(automaton.arcs)}
    found, _ = in_force(list(map(json.loads, lines)), own)
    return [(arc if isinstance(arc, Arc) else Arc.from_json(arc), le, re) for _, arc, le, re in found]


def random_log(choose: Choices, arcs: list[dict[str, Any]], n: int, last: int, unit: int = 1, zero: int = 0) -> list[str]:
    """Lines about a few arcs at few instants: copies, retractions of what never comes, ids, lifetimes, swaps."""
    lines: list[dict[str, Any]] = []
    for number in range(n):
        arc, at = choose.one(arcs), zero + choose.number(0, last) * unit
        line: dict[str, Any] = {"op": "insert", "arc": arc, "at": at}
        if choose.chance(45):
            line = {"op": "retract", "arc": choose.one([{"name": arc["name"]}, arc]), "at": at}
        elif choose.chance(40):
            line["until"] = at + choose.number(1, last) * unit
        if choose.chance(50):
            line["sequence"] = choose.number(0, 2)
        if choose.chance(30):
            line["id"] = choose.one([f"line {number}", number])
        if line["op"] == "insert" and "id" in line and choose.chance(40):
            line |= {"op": "swap", "name": choose.one(arcs)["name"]}
        lines.append(line)
        if choose.chance(20) and "id" in line:
            lines.append({**line, "sequence": 10 + number})  # its producer writes it anew
    return [json.dumps(line, sort_keys=choose.chance(50)) for line in lines]
