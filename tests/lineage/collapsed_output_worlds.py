"""Random automata with ``collapse=`` or ``having=``: what each call tells must be the difference between brute force's records.

Worlds are those of `tests.lineage.worlds`. Of each part of a call, brute force says which records there are before and behind it,
by going through all paths. On every other world the operator has ``longest=True``, on every third one ``having=`` in place of
``collapse=``: then it must tell the matches of which a path satisfies the condition. All ways in; a restore may go to the other
engine, and to another number of threads.
"""

from __future__ import annotations

from collections import Counter
from itertools import count, pairwise
from typing import Any

from tests.lineage import worlds
from tests.lineage.aggregated import aggregated
from tests.lineage.test_having import said, satisfied
from tests.lineage.told_worlds import all_behind, judged, policy
from tests.oracle import one_nan
from tests.stress import run as stress
from tests.stress.generate import World
from tests.worlds.kind import ENGINES, Seen, Worlds


def restored(here: World, operator: Any, engine: str, turn: int) -> Any:
    """The operator after a snapshot: by the other engine now and then, with other threads, or as it was pickled."""
    other = ENGINES[(ENGINES.index(engine) + turn) % 2]
    options: dict[str, Any] = {"arcs": here.pool[len(here.automaton.arcs) :], "engine": other}
    if here.options["key"]:
        options |= {"key": here.options["key"], "threads": (1, 3, 2)[turn % 3]}
    return type(operator).restore(here.automaton, operator.snapshot(), **options)


def records(model: Any, automaton: Any, asked: Any, known: dict[Any, Any]) -> Counter[Any]:
    """The records that there are: payload and columns, LE, largest RE."""
    if isinstance(asked, list):
        behind = all_behind(model, automaton, known).items()
        told = [match for match, each in behind if any(satisfied(path, asked[0]) for path in each.paths)]
        return Counter(repr((plain(register), le, re, ())) for register, le, re in told)
    by: dict[Any, Any] = {}
    for (register, le, re), each in all_behind(model, automaton, known).items():
        one = by.setdefault((register, le), [re, set()])
        one[0] = max(one[0], re)
        one[1] |= each.paths
    found: Counter[Any] = Counter()
    for (register, le), (re, paths) in by.items():
        component, _, field = ("", "", "") if asked is True else asked.rpartition(".")
        values = aggregated(paths, field or None, component or None)
        columns = (values[0],) if asked is True else values
        found[repr((plain(register), le, re, tuple(map(float_of, columns))))] += 1
    return found


def float_of(value: Any) -> Any:
    """A number so that 1 and 1.0 are one, and NaN is NaN."""
    return None if value is None else float(value) + 0.0


def told(change: Any, inner: Any, key: Any) -> str:
    """A record as `records` has it."""
    n = len(inner._fields)
    register = one_nan(inner(*change.payload[:n]))
    register = register if key is None else (change.key, register)
    return repr((plain(register), change.le, change.re, tuple(map(float_of, change.payload[n:]))))


def plain(value: Any) -> Any:
    """A payload, so that 0 and False and 0.0 are what they are in text."""
    return tuple(map(plain, value)) if isinstance(value, tuple) else value


def run(spec: dict[str, Any], engine: str) -> Seen:
    """Run a world; an AssertionError tells the first call whose output is wrong."""
    if not spec["automaton"]["event"]:
        return Seen()
    turns, known, number = count(spec["number"]), dict[Any, Any](), spec["number"]

    def make(here: World) -> Any:
        asked = asked_of(here)
        options = {"having": said(asked[0])} if isinstance(asked, list) else {"collapse": asked, "longest": bool(number % 2)}
        return stress.make(here, engine, policy(here), **options)

    def judge(here: World, changes: list[Any], models: list[Any]) -> Seen:
        wanted: Counter[Any] = Counter()
        for before, now in pairwise(records(model, here.automaton, asked_of(here), known) for model in models):
            wanted += Counter({("-", name): 1 for name in before - now}) + Counter({("+", name): 1 for name in now - before})
        inner, key = here.automaton.match_schema.cls, here.options["key"]
        got = Counter(("-" if change.diff < 0 else "+", told(change, inner, key)) for change in changes)
        assert got == wanted, f"{asked_of(here)}: too much {dict(got - wanted)}, missing {dict(wanted - got)}"
        return Seen(calls=1, told=got.total(), withdrawn=sum(sign == "-" for sign, _ in got))

    return judged(spec, make, lambda here, operator: restored(here, operator, engine, next(turns)), judge)


def asked_of(here: World) -> Any:
    """What a world's operator collapses to; in a list the condition of its ``having=``."""
    number = here.spec["number"]
    names = [each.name for each in here.automaton.event_schema.fields if each.type is not str]
    components = sorted({arc.select for arc in here.automaton.arcs if arc.select})
    forms: list[Any] = [True, *names, *(f"{each}.{name}" for name in names for each in components)]
    if number % 3 == 2:
        sums = [
            f"{how} {name} {compare}" for name in names for how, compare in (("sum", "> 1"), ("avg", "<= 0.5"), ("sum", "== 1"))
        ]
        forms = [[each] for each in (*sums, *(f"count {each} != 1" for each in components))] or forms
    return forms[number // 2 % len(forms)]


def numbered(seed: str, number: int) -> dict[str, Any]:
    """The world of a number."""
    return worlds.numbered(seed, number) | {"number": number}


WORLDS = Worlds("collapsed-output", numbered, run, stress.smaller)
