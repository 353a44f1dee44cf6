"""Random automata and queries: the collapsed lineage of each payload and LE must be the paths of all its matches.

It is asked for after every step. Worlds are those of `tests.lineage.worlds` and `tests.lineage.query_worlds`. On every other world
of automata the operator has ``longest=True``, and the lineage of the match with the largest RE must be the paths of that one.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from afa import AfaError, Change, ChangeError
from punctuation.time import FOREVER
from tests.lineage import query_worlds, worlds
from tests.lineage.brute_force import Behind
from tests.lineage.checks import check_lineage, refusal
from tests.stress import run as stress
from tests.stress.generate import World
from tests.worlds.kind import Seen, Worlds


def run(spec: dict[str, Any], engine: str) -> Seen:
    """Run a world; an AssertionError tells the first step at which a lineage is wrong."""
    known: dict[Any, Any] = {}
    make = partial(stress.make, longest=True) if spec.get("longest") else stress.make
    return stress.followed(spec, engine, lambda here, operator, number, final: check(here, operator, known), make)


def check(here: World, operator: Any, known: dict[Any, Any]) -> Seen:
    """Ask for every lineage."""
    seen, final, model = Seen(steps=1), here.model.effective, here.model
    table = here.automaton.event is not None
    for key, matches in worlds.expected(model, here.automaton, known).items():
        for (register, le), of in by_end(matches).items():
            match = Change(register, le, None, 1, key)
            if le < final:
                assert "promise" in refusal(operator.collapsed, match, AfaError)
                continue
            seen.update(ask(operator.collapsed, match, merged(of), final, model.sequence, table))
            if here.spec.get("longest"):
                longest = max(of)
                seen.update(ask(operator.lineage, match._replace(re=longest), of[longest], final, model.sequence, table))
                for re in {*of, min(longest + 1, FOREVER)} - {longest}:
                    assert "near it" in refusal(operator.lineage, match._replace(re=re), ChangeError)
            assert "expected a match in force" in refusal(operator.collapsed, match._replace(le=10**6), ChangeError)
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
        assert "before the promise" in refusal(lineage, match, AfaError)
        return Seen(refused=1)
    check_lineage(lineage(match), one.paths, match.key, sequence, table)
    return Seen(matches=1, paths=len(one.paths))


def check_query(side: query_worlds.LineageSide) -> Seen:
    """Ask for every collapsed lineage of a query."""
    seen, order = Seen(steps=1), side.query.tree.order
    longer = side.waits or side.query.tree.skip is not None
    found: dict[tuple[Any, Any, int], dict[int, Behind]] = {}
    for (key, values, le, re), one in query_worlds.behind(side).items():
        found.setdefault((key, values, le), {})[re] = one
    for (key, values, le), of in found.items():
        match = Change(side.query.shown.cls(*values), le, None, 1, key)
        if longer and min(one.first for one in of.values()) < side.promised <= le:
            is_told = query_worlds.check_if_told(side.operator.collapsed, match, merged(of).paths, order)
            query_worlds.check_held(side, match, merged(of).first, is_told)
            seen["refused"] += not is_told
        elif le >= side.promised:
            seen.update(ask(side.operator.collapsed, match, merged(of), side.promised, order, True))
    return seen


def numbered(seed: str, number: int) -> dict[str, Any]:
    """The world of a number: every other one with ``longest=True``."""
    return worlds.numbered(seed, number // 2) | ({"longest": True} if number % 2 else {})


class CollapsedSide(query_worlds.LineageSide):
    """A query's operator at work, asked for every collapsed lineage after every step."""

    look = check_query


WORLDS = Worlds("collapsed", numbered, run, stress.smaller)
QUERIES = replace(query_worlds.WORLDS, name="collapsed-of-queries", check=partial(query_worlds.run, of=CollapsedSide))
