"""Random automata over events with uncertain times, against each world on its own, after every step.

Events come late and are retracted, one by one, in lists and in tables, for one key or several; promises, snapshots and swapped arcs
lie between.
"""

from __future__ import annotations

import random
import warnings
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from afa import Arc, Automaton, Instant, Punctuation, insert, retract
from afa.extra.uncertain.distributions import UNIFORM
from afa.uncertain import Worlds, between, normal, triangular
from tests.uncertain.worlds_oracle import Event, confidences, passing, times
from tests.worlds.kind import Seen
from tests.worlds.kind import Worlds as RandomWorlds

SPAN = 14
DRAWN = 24


class Item(NamedTuple):
    """An event."""

    kind: int
    id: int
    v: int
    at: Instant


class Found(NamedTuple):
    """A register."""

    a: int = -1
    b: int = -1
    n: int = 0
    at: int = 0


def automaton(rng: random.Random) -> tuple[str, Automaton]:
    """A random automaton of each sort."""
    sort = rng.choice(["any", "next", "kleene", "negation", "contiguous", "timeout", "counted"])
    first = Arc("0", "1", "kind == 0", "r._replace(a=id, at=e.at)", name="first")
    second = Arc("1", "2", "kind == 1 and v > 2", "r._replace(b=e.id)", name="second")
    arcs = {
        "any": [first, Arc("1", "1", "True", name="stay"), second],
        "next": [first, Arc("1", "1", "kind != 1", name="stay"), second],
        "kleene": [
            first,
            Arc("1", "1", "kind == 2", "r._replace(n=r.n + v)", name="more"),
            Arc("1", "1", "True", name="stay"),
            second,
        ],
        "negation": [first, Arc("1", "1", "kind != 2", name="stay"), second],
        "contiguous": [first, second],
        "timeout": [first, Arc("1", "1", "kind != 1", name="stay"), Arc.timeout("1", "2", "r.at + 5", name="late")],
        "counted": [
            Arc("0", "1", "kind == 0", name="first"),
            Arc("1", "1", "v < 3", name="stay"),
            Arc("1", "2", "kind == 1", "r._replace(n=1)", name="second"),
        ],
    }[sort]
    return sort, Automaton(start="0", final={"2"}, event=Item, register=Found(), arcs=arcs)


def run(seed: int, engine: Any = "auto") -> Seen:
    """Run a world; return how many steps it had, and how many matches were checked."""
    rng = random.Random(f"possible {seed}")
    sort, given = automaton(rng)
    keyed, identity = rng.random() < 0.4, rng.choice([None, "id", ["id", "kind"]])
    window, threshold = rng.choice([3, 6, 9, 20]), rng.choice([None, None, 0.2])
    options: dict[str, Any] = {
        "worlds": DRAWN,
        "seed": rng.randrange(1000),
        "identity": identity,
        "window": window,
        "threshold": threshold,
        "engine": engine,
        **({"key": "key"} if keyed else {}),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        op = Worlds(given, **options, lower="lo", upper="hi")
    held, swaps = dict[int, Event](), list[tuple[str, int]]()
    net, promised, steps, checked, number = Counter[Any](), 0, 0, 0, 0
    final = Counter[Any]()
    for _ in range(rng.choice([8, 20])):
        step, changes = rng.random(), list[tuple[Event, int]]()
        if step < 0.75:
            for _ in range(rng.choice([1, 1, 2, 4])):
                lower = promised + rng.randrange(SPAN)
                upper = lower + rng.choice([0, 0, 1, 3, 7])
                shape = UNIFORM if upper == lower else rng.choice([UNIFORM, UNIFORM, triangular(), normal(0.3)])
                payload, key = Item(rng.choice([0, 0, 1, 1, 2]), number, rng.randrange(6), 0), rng.choice("xy") if keyed else None
                of_key = (f"str {key!r}",) if keyed else ()
                own = {None: (*payload[:3], *of_key, lower, upper), "id": (number,)}.get(  # type: ignore[call-overload]
                    identity if not isinstance(identity, list) else 0, (number, payload.kind)
                )
                held[number] = Event(payload, lower, upper, shape, own, key)
                changes.append((held[number], 1))
                number += 1
        there = [i for i, event in held.items() if event.lower >= promised and all(event is not each for each, _ in changes)]
        if there and (step >= 0.75 or rng.random() < 0.2):
            for i in rng.sample(there, min(len(there), rng.choice([1, 2]))):
                changes.append((held.pop(i), -1))
        if step < 0.1:
            op = op.restore(op.snapshot(), arcs=_in_force(op, given, swaps))
        out: list[Any] = []
        if changes and rng.random() < 0.4 and all(event.shape == UNIFORM for event, _ in changes):
            out = _of_table(op.push_many(_table(changes, keyed)), op, keyed)
        else:
            pushed = [_change(event, diff) for event, diff in changes]
            keys = [{"key": event.key} if keyed else {} for event, _ in changes]
            out = [each for change, key in zip(pushed, keys) for each in op.push(change, **key)]
        if rng.random() < 0.15 and sort in ("any", "next", "negation", "kleene", "contiguous"):
            at = max([promised, *(each[1] + 1 for each in swaps)]) + rng.randrange(SPAN)
            swaps.append((f"kind == 1 and v > {rng.randrange(4)}", at))
            out += op.swap("second", fence=swaps[-1][0], at=at)
        if rng.random() < 0.25:
            promised += rng.randint(1, 6)
            out += op.push(Punctuation(promised))
        for each in out:
            if not isinstance(each, Punctuation):
                net[each.key, tuple(each.payload), each.le, each.re] += each.diff
        net = +net
        _check(sort, given, swaps, held, options, net, final, promised)
        steps, checked = steps + 1, checked + len(net)
    for each in op.push(Punctuation(2**63 - 1)):
        if not isinstance(each, Punctuation):
            net[each.key, tuple(each.payload), each.le, each.re] += each.diff
    _check(sort, given, swaps, held, options, +net, final, 2**63 - 1)
    assert op.statistics[:2] == (0, 0)
    return Seen(steps=steps, matches=checked)


def _check(
    sort: str,
    given: Automaton,
    swaps: list[tuple[str, int]],
    held: dict[int, Event],
    options: dict[str, Any],
    net: Any,
    final: Any,
    promised: int,
) -> None:
    events = list(held.values())
    drawn = times(events, DRAWN, options["seed"])
    wanted = confidences(passing(given), events, drawn, options["window"], dated=True, swaps=swaps)
    least = 1 if options["threshold"] is None else 5  # a fifth of 24, rounded up
    found = {(key, shown[:-3]): (round(shown[-3] * DRAWN), *shown[-2:]) for key, shown, *_ in net}
    told = {name: tuple(each) for name, each in wanted.items() if each.worlds >= least}
    if sort == "timeout" and promised < 2**63 - 1:  # told once time has passed them
        assert all(name in told and each[0] <= told[name][0] for name, each in found.items())
    elif sort == "counted":
        pairs = {name: each for name, each in _pairs(events, drawn, options["window"]).items() if each >= least}
        assert {(key, le, re): round(shown[-3] * DRAWN) for key, shown, le, re in net} == pairs
    else:
        assert all(copies == 1 for copies in net.values())
        assert found == told, f"{sort}: {found} but {told}"
    for _, shown, le, re in net:
        assert sort != "timeout" or le == re - 1
        assert shown[-1] <= le < re
        assert shown[-2] <= re - options["window"]
    over = Counter({name: copies for name, copies in net.items() if name[2] < promised})
    assert not final - over, f"{sort}: {final - over} lies below a promise of {promised} and was withdrawn: {over}"
    final.clear()
    final.update(over)


def _pairs(events: list[Event], drawn: list[list[int]], window: int) -> dict[tuple[Any, int, int], int]:
    """Of matches that only say that there is one: in how many worlds one of a key and LE is, by brute force."""
    found, ends = dict[tuple[Any, int], set[int]](), dict[tuple[Any, int], int]()
    for world, row in enumerate(drawn):
        for a, at in zip(events, row):
            for b, bt in zip(events, row):
                between_ = [x.payload.v < 3 for x, xt in zip(events, row) if x.key == a.key and at < xt < bt]
                if (a.payload.kind, b.payload.kind) == (0, 1) and a.key == b.key and at < bt < at + window and all(between_):
                    name = a.key, min(b.upper, a.upper + window - 1)
                    found.setdefault(name, set()).add(world)
                    ends[name] = max(ends.get(name, 0), a.upper + window)
    return {(key, le, max(ends[key, le], le + 1)): len(worlds) for (key, le), worlds in found.items()}


def _in_force(op: Worlds, given: Automaton, swaps: list[tuple[str, int]]) -> list[Arc]:
    """The arcs of swaps that a promise has not let go yet."""
    known = {id(arc) for arc in op._bounded.automaton.arcs}
    n = sum(event.arc.name == "second" and id(event.arc) not in known for event in op._core.arcs.table.events)
    old = {arc.name: arc for arc in given.arcs}
    return [old["second"].changed(fence=fence) for fence, _ in swaps[len(swaps) - n :]]


def _change(event: Event, diff: int) -> Any:
    at = event.lower if event.lower == event.upper else between(event.lower, event.upper, event.shape)
    return (insert if diff > 0 else retract)(event.payload, at)


def _table(changes: list[tuple[Event, int]], keyed: bool) -> dict[str, Any]:
    columns: dict[str, Any] = {name: [getattr(event.payload, name) for event, _ in changes] for name in ("kind", "id", "v")}
    columns |= {"lo": [event.lower for event, _ in changes], "hi": [event.upper for event, _ in changes]}
    columns |= {"key": [event.key for event, _ in changes]} if keyed else {}
    return columns | {"diff": [diff for _, diff in changes]}


def _of_table(out: dict[str, Any], op: Worlds, keyed: bool) -> list[Any]:
    """A table of output as changes."""
    from afa import Change

    cls: Any = op._shown.cls
    columns = {name: np.asarray(column).tolist() for name, column in out.items()}
    payloads = [cls(*row) for row in zip(*(columns[name] for name in cls._fields))]
    keys = columns["key"] if keyed else [None] * len(payloads)
    return [Change(*row) for row in zip(payloads, columns["le"], columns["re"], columns["diff"], keys)]


WORLDS = RandomWorlds("possible", lambda seed, number: int(seed) + number, run)
