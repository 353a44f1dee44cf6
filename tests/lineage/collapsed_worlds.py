"""A driver of random worlds for collapsed lineages: ``python -m tests.lineage.collapsed_worlds --worlds 10000 --seed 1``.

Worlds are those of `tests.lineage.worlds` and `tests.lineage.query_worlds`. After *every* step the collapsed lineage of each
payload and LE must be the paths of all matches that brute force finds for them, whatever their RE; on every other world of automata
the operator has ``longest=True``, and the lineage of the match with the largest RE must be the paths of that one.
"""

from __future__ import annotations

import argparse
import pprint
import sys
import time
from typing import Any

from afa import AfaError, Change, ChangeError, Keyed, Operator
from punctuation.time import FOREVER
from tests.language.worlds import RefusedError, Side
from tests.language.worlds import numbered as query_numbered
from tests.lineage import query_worlds, worlds
from tests.lineage.brute_force import Behind, TooManyError
from tests.lineage.checks import check_lineage, refusal
from tests.lineage.worlds import Seen, World
from tests.stress import run as stress


def make(here: World, engine: str, late: Any) -> Any:
    """The operator of a world, with ``longest=True`` if it says so."""
    if not here.spec.get("longest"):
        return stress.make(here, engine, late)
    engine = engine if here.automaton.event else "interpreted"  # which alone takes any payload
    options = {name: here.options[name] for name in ("window", "order_by", "arc_punctuation")}
    if here.options["key"]:
        return Keyed(here.automaton, key=here.options["key"], engine=engine, late=late, longest=True, **options)
    return Operator(here.automaton, engine=engine, late=late, longest=True, **options)


def run(spec: dict[str, Any], engine: str) -> Seen:
    """Run a world; an AssertionError tells the first step at which a lineage is wrong."""
    here, seen = World(spec), Seen()
    side = stress.Side(here, engine, make)
    known: dict[Any, Any] = {}
    for number, op in enumerate(spec["ops"]):
        try:
            if op[0] == "save":
                side.restore(here)
            else:
                trial = here.model.fork()
                ops = op[1] if op[0] in stress.BATCHES else [op]
                items = [(here.item(each), stress.on_arcs(each)) for each in ops]
                refused = any(stress.push(trial, each, item) != stress.OK for each, (item, _) in zip(ops, items))
                stress.call(here, side.operator, op, items)
                here.model = here.model if refused else trial
            seen = seen.plus(check(here, side.operator, known))
        except TooManyError:
            return seen.plus(Seen(given_up=1))
        except Exception as error:
            raise AssertionError(f"step {number}, {op} ({engine}): {type(error).__name__}: {error}") from error
    return seen


def check(here: World, operator: Any, known: dict[Any, Any]) -> Seen:
    """Ask for every lineage."""
    seen, final, model = Seen(1), here.model.effective, here.model
    table = here.automaton.event is not None
    for key, matches in worlds.expected(here, known).items():
        for (register, le), of in by_end(matches).items():
            match = Change(register, le, None, 1, key)
            if le < final:
                assert "promise" in refusal_of(operator.collapsed, match, AfaError)
                continue
            seen = seen.plus(ask(operator.collapsed, match, merged(of), final, model.sequence, table))
            if here.spec.get("longest"):
                longest = max(of)
                seen = seen.plus(ask(operator.lineage, match._replace(re=longest), of[longest], final, model.sequence, table))
                for re in {*of, min(longest + 1, FOREVER)} - {longest}:
                    assert "near it" in refusal(operator, match._replace(re=re), ChangeError)
            assert "expected a match in force" in refusal_of(operator.collapsed, match._replace(le=10**6), ChangeError)
    return seen


def by_end(matches: dict[tuple[Any, int, int], Behind]) -> dict[tuple[Any, int], dict[int, Behind]]:
    """What stands behind matches, by payload and LE, then by RE."""
    found: dict[tuple[Any, int], dict[int, Behind]] = {}
    for (register, le, re), one in matches.items():
        found.setdefault((register, le), {})[re] = one
    return found


def merged(of: dict[int, Behind]) -> Behind:
    """What stands behind several matches."""
    return Behind(set().union(*(one.paths for one in of.values())), min(one.first for one in of.values()))


def ask(lineage: Any, match: Change, one: Behind, final: int, sequence: str | None, table: bool) -> Seen:
    """Hold a lineage against its paths; one that began before the promise must be refused."""
    if one.first < final:
        assert "before the promise" in refusal_of(lineage, match, AfaError)
        return Seen(refused=1)
    check_lineage(lineage(match), one.paths, match.key, sequence, table)
    return Seen(0, 1, len(one.paths))


def refusal_of(lineage: Any, match: Change, error: type[Exception]) -> str:
    """Why a lineage is refused, as it must be."""
    try:
        lineage(match)
    except error as refused:
        return str(refused)
    raise AssertionError(f"{match} should be refused")


def check_query(side: Side) -> Seen:
    """Ask for every collapsed lineage of a query."""
    seen, order = Seen(1), side.query.tree.order
    found: dict[tuple[Any, Any, int], dict[int, Behind]] = {}
    for (key, values, le, re), one in query_worlds.behind(side).items():
        found.setdefault((key, values, le), {})[re] = one
    for (key, values, le), of in found.items():
        match = Change(side.query.shown.cls(*values), le, None, 1, key)
        if le >= side.promised:
            seen = seen.plus(ask(side.operator.collapsed, match, merged(of), side.promised, order, True))
    return seen


def failure(spec: dict[str, Any], engine: str) -> str | None:
    """Why a world fails; None if it does not, or can't be built."""
    try:
        World(spec)
    except AfaError:
        return None
    try:
        run(spec, engine)
    except Exception as error:
        return str(error)
    return None


def report(spec: dict[str, Any], engine: str) -> str:
    """The smallest world found that fails, as text to paste."""
    small = stress.smaller(spec, lambda candidate: failure(candidate, engine) is not None)
    return f"{failure(small, engine)}\n\nrun({pprint.pformat(small, width=120, sort_dicts=False)}, {engine!r})"


def numbered(seed: str, number: int) -> dict[str, Any]:
    """The world of a number: every other one with ``longest=True``."""
    return worlds.numbered(seed, number // 2) | ({"longest": True} if number % 2 else {})


def main(arguments: list[str] | None = None) -> int:
    """Run the worlds; 1 if any failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0, help="number of the first world; with --worlds 1: just that one")
    options = parser.parse_args(arguments)
    seen, failed, begin = Seen(), 0, time.perf_counter()
    for number in range(options.first, options.first + options.worlds):
        spec = numbered(options.seed, number)
        for engine in worlds.ENGINES:
            try:
                seen = seen.plus(run(spec, engine))
                if number % 2 == 0:
                    seen = seen.plus(query_worlds.run(query_numbered(options.seed, number), engine, check_query))
            except RefusedError:
                pass
            except AssertionError as error:
                failed += 1
                of_query = failure(spec, engine) is None
                print(f"seed {options.seed}, world {number} fails: {error if of_query else report(spec, engine)}\n", flush=True)
                break
        if failed:
            break
    print(f"seed {options.seed}, failed {failed}, {seen}, {time.perf_counter() - begin:.0f} s")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
