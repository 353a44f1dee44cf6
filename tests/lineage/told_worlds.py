"""A driver of random worlds for members and ``tell="lineage"``: ``python -m tests.lineage.told_worlds --worlds 1000 --seed 1``.

Worlds are those of `tests.lineage.worlds`. Of each call, brute force says what stands behind each match before and behind it: each
match that is announced comes with the members that it says; with ``diff`` 0 exactly those matches are told that stay while their
events, by component, change. All ways in: changes one by one, batches with and without ``net``, tables, lists of tables.
"""

from __future__ import annotations

import argparse
import pprint
import sys
import time
from collections import Counter
from itertools import pairwise
from typing import Any, NamedTuple

from afa import AfaError, Change, Keyed, LateEventError, Operator, Punctuation
from afa.change import Announced
from tests.lineage.brute_force import Behind, TooManyError, behind
from tests.lineage.worlds import ENGINES, numbered
from tests.oracle import one_nan
from tests.stress import run as stress
from tests.stress import tables
from tests.stress.generate import BATCHES, World, on_arcs, push

FORMS = (("field", None), (True, None), ("le", "lineage"), ("*", "lineage"), (None, "lineage"))
"""Members and ``tell``, in turn; "field": the first one of the event."""


class Seen(NamedTuple):
    """What runs have met."""

    calls: int = 0
    announced: int = 0
    again: int = 0
    refused: int = 0

    def plus(self, other: Seen) -> Seen:
        return Seen(*(a + b for a, b in zip(self, other)))


def make(here: World, engine: str, members: Any, tell: Any) -> Any:
    """The operator of a world."""
    options = {name: here.options[name] for name in ("window", "order_by", "arc_punctuation")}
    options |= {"late": "drop" if here.options["late"] == "callback" else here.options["late"], "engine": engine}
    if here.options["key"]:
        return Keyed(here.automaton, key=here.options["key"], members=members, tell=tell, **options)
    return Operator(here.automaton, members=members, tell=tell, **options)


def all_behind(model: Any, automaton: Any, known: dict[Any, Any]) -> dict[Any, Behind]:
    """What stands behind each match in force, by the match as the model has it."""
    changes = [(*event, n) for event, n in model.copies.items()]
    keys = [None] if model.key is None else {getattr(payload, model.key) for payload, *_ in changes}
    found = {}
    for key in keys:
        own = [change for change in changes if model.key is None or getattr(change[0], model.key) == key]
        case = frozenset(change[:3] for change in own if change[3] > 0), tuple((id(a), le, re) for a, le, re in model.arcs)
        case = (*case, model.event_promise)
        if case not in known:
            arcs = list(model.arcs)
            known[case] = arcs, behind(automaton, own, arcs, model.event_promise, model.sequence)
        for (register, le, re), each in known[case][1].items():
            found[(register if key is None else (key, register)), le, re] = each
    return found


def events_in(each: Behind) -> frozenset[Any]:
    """The events of a match, with their components."""
    return frozenset(pick for path in each.paths for pick in path)


def members_of(each: Behind, asked: Any, automaton: Any, sequence: str | None) -> Any:
    """What a match comes with, as a multiset of what is told of each event: by component, or of all of them."""
    picks, found = events_in(each), {}
    if any(arc.select for arc in automaton.arcs):
        for component, event in picks:
            found.setdefault(component, set()).add(event)
    else:
        found = {"": {event for _, event in picks}}
    return {name: [value(event, asked) for event in sorted(events, key=order(sequence))] for name, events in found.items()}


def order(sequence: str | None) -> Any:
    return lambda event: (event.le, 0 if sequence is None else getattr(event.payload, sequence))


def value(event: Any, asked: Any) -> Any:
    return event.le if asked == "le" else event if asked in (True, "*") else getattr(event.payload, asked)


def check(here: World, out: list[Any], models: list[Any], form: tuple[Any, Any], known: dict[Any, Any], held: Any) -> Seen:
    """Hold the output of one call against what brute force says of it; ``models``: before it, and behind each part of it."""
    members, tell = form
    announced: Counter[Any] = Counter()
    again: Counter[Any] = Counter()
    told: dict[Any, list[Any]] = {}
    behinds = [all_behind(model, here.automaton, known) for model in models]
    for (before, now), model in zip(pairwise(behinds), models):
        for match, each in now.items():
            if match not in before:
                announced[match] += 1
            elif tell and match[1] >= model.effective and events_in(each) != events_in(before[match]):
                again[match] += 1
            else:
                continue
            if members is not None:
                told.setdefault(match, []).append(members_of(each, members, here.automaton, here.model.sequence))
    changes = [item for item in out if not isinstance(item, Punctuation)]
    got = Counter(stress.match_of(change) for change in changes if change.diff == 0)
    assert got == again, f"told again {dict(got - again)} too much, {dict(again - got)} missing"
    come = Counter(stress.match_of(change) for change in changes if change.diff > 0)
    assert come == announced, f"announced {dict(come - announced)} too much, {dict(announced - come)} missing"
    for change in changes:
        assert isinstance(change, Change), change
        if members is None or change.diff < 0:
            assert change.members is None, change
            continue
        found = plain(change.members, members)
        named = any(arc.select for arc in here.automaton.arcs)
        assert isinstance(change.members, dict if named else tuple), change
        expected = told[stress.match_of(change)]
        fits = [each for each in expected if same(found, each, members)]
        assert fits, f"{change} with {found}, expected one of {expected}"
    return Seen(1, come.total(), got.total())


def plain(told: Any, asked: Any) -> dict[str, list[Any]]:
    """Members by component, with events as brute force has them."""
    by = told if isinstance(told, dict) else {"": told}
    if asked not in (True, "*"):
        return {name: list(each) for name, each in by.items()}
    return {name: [(one_nan(change.payload), change.le, change.re) for change in each] for name, each in by.items()}


def same(found: dict[str, list[Any]], expected: dict[str, list[Any]], asked: Any) -> bool:
    """Whether members are those expected; of events of one instant in any order."""

    def tell(by: dict[str, list[Any]]) -> Any:
        whole = asked in (True, "*")
        return {name: sorted(repr(tuple(event) if whole else event) for event in each) for name, each in by.items() if each}

    in_order = asked != "le" or all(each == sorted(each) for each in found.values())
    return in_order and tell(found) == tell(expected)


def run(spec: dict[str, Any], engine: str, form: tuple[Any, Any] = FORMS[2]) -> Seen:
    """Run a world; an AssertionError tells the first call whose output is wrong."""
    here, seen = World(spec), Seen()
    if here.automaton.event is None:
        form = ("le" if form[0] else None, form[1])
        engine = "interpreted"
    elif form[0] == "field":
        form = (here.event._fields[0], form[1])
    operator, known = make(here, engine, *form), dict[Any, Any]()
    for number, op in enumerate(spec["ops"]):
        try:
            if op[0] == "save":
                operator = stress.restored(here, operator, None, engine)
                continue
            ops = op[1] if op[0] in BATCHES else [op]
            items = [(here.item(each), on_arcs(each)) for each in ops]
            models, refused = [here.model, here.model.fork()], False
            for each, (item, _) in zip(ops, items):
                refused = push(models[-1], each, item) != stress.OK
                if refused:
                    break
                if op[0] in BATCHES and not op[2]:
                    models.append(models[-1].fork())
            if op[0] in BATCHES and not op[2] and len(models) > 2:
                models.pop()
            out, ended = call(here, operator, op, items)
            assert (ended != stress.OK) == refused, f"it ended {ended}"
            operator._check()
            if refused:
                seen = seen.plus(Seen(refused=1))
                continue
            seen = seen.plus(check(here, out, models, form, known, None))
            here.model = models[-1]
        except TooManyError:
            return seen
        except Exception as error:
            raise AssertionError(f"step {number}, {op} ({engine}, {form}): {type(error).__name__}: {error}") from error
    return seen


def call(here: World, operator: Any, op: Any, items: list[Any]) -> tuple[list[Any], str]:
    """Push an operation; what was emitted, and how it ended."""
    try:
        if op[0] in ("table", "list"):
            return pushed(here, operator, op, [item for item, _ in items]), stress.OK
        if op[0] == "batch":
            return operator.push_many([item for item, _ in items], net=op[2]), stress.OK
        ((item, arcs),) = items
        return (operator.push_arc(item) if arcs else operator.push(item)), stress.OK
    except LateEventError:
        return [], stress.LATE
    except AfaError as error:
        return [], f"{stress.ERROR} {error}"


def pushed(here: World, operator: Any, op: Any, items: list[Any]) -> list[Any]:
    """Push items as one table, or as a list of some."""
    size = max(len(items), 1) if op[0] == "table" else 2
    batch: list[Any] = []
    arcs: list[Any] = []
    for low in range(0, max(len(items), 1), size):
        table, found = tables.columns(items[low : low + size], here.event, here.options["window"], len(arcs))
        batch.append(table)
        arcs += found
    out = operator.push_many(batch[0] if op[0] == "table" else batch, net=op[2], arcs=arcs)
    found = []
    for part in [out] if op[0] == "table" else out:
        if isinstance(part, Punctuation):
            found.append(part)
            continue
        changes = tables.changes(part, here.automaton.register_schema.cls, here.options["key"])
        members = part["members"].tolist() if "members" in part else [None] * len(changes)
        found += [
            Announced.of(change, each) if isinstance(change, Change) and each is not None else change
            for change, each in zip(changes, members)
        ]
    return found


def failure(spec: dict[str, Any], engine: str, form: tuple[Any, Any]) -> str | None:
    """Why a world fails; None if it does not, or can't be built."""
    try:
        World(spec)
    except AfaError:
        return None
    try:
        run(spec, engine, form)
    except Exception as error:
        return str(error)
    return None


def report(spec: dict[str, Any], engine: str, form: tuple[Any, Any]) -> str:
    """The smallest world found that fails, as text to paste."""
    small = stress.smaller(spec, lambda candidate: failure(candidate, engine, form) is not None)
    return f"{failure(small, engine, form)}\n\nrun({pprint.pformat(small, width=120, sort_dicts=False)}, {engine!r}, {form!r})"


def main(arguments: list[str] | None = None) -> int:
    """Run the worlds; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many")
    options = parser.parse_args(arguments)
    seen, failed, begin, number = Seen(), 0, time.perf_counter(), options.first
    for number in range(options.first, options.first + options.worlds):
        spec = numbered(options.seed, number)
        form = FORMS[number % len(FORMS)]
        for engine in ENGINES:
            try:
                seen = seen.plus(run(spec, engine, form))
            except AssertionError:
                failed += 1
                print(f"seed {options.seed}, world {number} fails: {report(spec, engine, form)}\n", flush=True)
                break
        if failed >= options.failures:
            break
    print(f"seed {options.seed}, worlds {number + 1 - options.first}, failed {failed}, {seen}, {time.perf_counter() - begin:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
