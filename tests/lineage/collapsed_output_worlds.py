"""A driver of random worlds for ``collapse=`` and ``having=``: ``python -m tests.lineage.collapsed_output_worlds --seed 1``.

Worlds are those of `tests.lineage.told_worlds`. Of each part of a call, brute force says which records there are before and behind
it, by going through all paths; the operator must tell exactly their difference. On every other world it has ``longest=True``, on
every third one ``having=`` in place of ``collapse=``: then it must tell the matches of which a path satisfies the condition.
All ways in; a restore may go to the other engine, and to another number of threads.
"""

from __future__ import annotations

import argparse
import pprint
import sys
import time
from collections import Counter
from itertools import pairwise
from typing import Any

from afa import AfaError, Keyed, LateEventError, Operator, Punctuation
from tests.lineage.aggregated import aggregated
from tests.lineage.test_having import said, satisfied
from tests.lineage.told_worlds import ENGINES, Seen, all_behind, numbered
from tests.oracle import one_nan
from tests.stress import run as stress
from tests.stress import tables
from tests.stress.generate import BATCHES, World, on_arcs, push


def make(here: World, engine: str, asked: Any, longest: bool) -> Any:
    """The operator of a world."""
    options = {name: here.options[name] for name in ("window", "order_by", "arc_punctuation")}
    options |= {"late": "drop" if here.options["late"] == "callback" else here.options["late"], "engine": engine}
    options |= {"having": said(asked[0])} if isinstance(asked, list) else {"collapse": asked, "longest": longest}
    if here.options["key"]:
        return Keyed(here.automaton, key=here.options["key"], **options)
    return Operator(here.automaton, **options)


def restored(here: World, operator: Any, engine: str, turn: int) -> Any:
    """The operator after a snapshot: by the other engine now and then, with other threads, or as it was pickled."""
    other = ENGINES[(ENGINES.index(engine) + turn) % 2]
    options: dict[str, Any] = {"arcs": here.pool[len(here.automaton.arcs) :], "engine": other}
    if here.options["key"]:
        options |= {"key": here.options["key"], "threads": (1, 3, 2)[turn % 3]}
    return type(operator).restore(here.automaton, operator.snapshot(), **options)


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
    parts = [out] if op[0] == "table" else out
    shown, key = operator._core.shown.cls, here.options["key"]
    return [each for part in parts for each in ([part] if isinstance(part, Punctuation) else tables.changes(part, shown, key))]


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


def run(spec: dict[str, Any], engine: str, number: int) -> Seen:
    """Run a world; an AssertionError tells the first call whose output is wrong."""
    here, seen = World(spec), Seen()
    if here.automaton.event is None:
        return seen
    names = [each.name for each in here.automaton.event_schema.fields if each.type is not str]
    forms: list[Any] = [True, *names, *(f"{each}.{name}" for name in names for each in components(here))]
    if number % 3 == 2:
        sums = [
            f"{how} {name} {compare}" for name in names for how, compare in (("sum", "> 1"), ("avg", "<= 0.5"), ("sum", "== 1"))
        ]
        forms = [[each] for each in (*sums, *(f"count {each} != 1" for each in components(here)))] or forms
    asked = forms[number // 2 % len(forms)]
    operator, known = make(here, engine, asked, bool(number % 2)), dict[Any, Any]()
    inner, saves = here.automaton.match_schema.cls, 0
    for step, op in enumerate(spec["ops"]):
        try:
            if op[0] == "save":
                operator, saves = restored(here, operator, engine, saves + number), saves + 1
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
            out, ended = call(here, operator, op, items)
            assert (ended != stress.OK) == refused, f"it ended {ended}"
            operator._check()
            if refused:
                seen = seen.plus(Seen(refused=1))
                continue
            wanted: Counter[Any] = Counter()
            for before, now in pairwise(records(model, here.automaton, asked, known) for model in models):
                wanted += Counter({("-", name): 1 for name in before - now}) + Counter({("+", name): 1 for name in now - before})
            changes = [item for item in out if not isinstance(item, Punctuation)]
            got = Counter(("-" if change.diff < 0 else "+", told(change, inner, here.options["key"])) for change in changes)
            assert got == wanted, f"too much {dict(got - wanted)}, missing {dict(wanted - got)}"
            seen = seen.plus(Seen(1, got.total(), sum(sign == "-" for sign, _ in got)))
            here.model = models[-1]
        except Exception as error:
            raise AssertionError(f"step {step}, {op} ({engine}, {asked}): {type(error).__name__}: {error}") from error
    return seen


def components(here: World) -> list[str]:
    """The components that the automaton's arcs name."""
    return sorted({arc.select for arc in here.automaton.arcs if arc.select})


def failure(spec: dict[str, Any], engine: str, number: int) -> str | None:
    """Why a world fails; None if it does not, or can't be built."""
    try:
        World(spec)
    except AfaError:
        return None
    try:
        run(spec, engine, number)
    except Exception as error:
        return str(error)
    return None


def report(spec: dict[str, Any], engine: str, number: int) -> str:
    """The smallest world found that fails, as text to paste."""
    small = stress.smaller(spec, lambda candidate: failure(candidate, engine, number) is not None)
    return f"{failure(small, engine, number)}\n\nrun({pprint.pformat(small, width=120, sort_dicts=False)}, {engine!r}, {number})"


def main(arguments: list[str] | None = None) -> int:
    """Run the worlds; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    options = parser.parse_args(arguments)
    seen, failed, begin, number = Seen(), 0, time.perf_counter(), options.first
    for number in range(options.first, options.first + options.worlds):
        spec = numbered(options.seed, number)
        for engine in ENGINES:
            try:
                seen = seen.plus(run(spec, engine, number))
            except AssertionError:
                failed += 1
                print(f"seed {options.seed}, world {number} fails: {report(spec, engine, number)}\n", flush=True)
                break
        if failed:
            break
    print(f"seed {options.seed}, worlds {number + 1 - options.first}, failed {failed}, {seen}, {time.perf_counter() - begin:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
