"""The way from one query to another in a running operator: arcs that go and come, and what becomes of the matches that have begun.

States and arcs are named by what they are, so that the difference of two queries is one of two sets of names. A match that has
begun goes on if its state stays, which it does where both queries hold the same values there. A state that holds others gets
another name, so that nothing goes on without a value that it needs, or with one that nobody resets. In a scan (AFTER MATCH SKIP)
values that nobody reads any more tell no matches apart, so that there a match goes on where it holds all that it needs.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

from afa.change import Change, insert, retract
from afa.errors import AfaError
from afa.language.items import Item
from afa.language.lowering import Lowered
from afa.language.match_states import MatchState
from afa.language.registers import RegisterField


class QueryChanges(NamedTuple):
    """What leads from one query to another.

    Parameters
    ----------
    arcs : tuple of Change
        Retractions, then insertions, for `push_arc`, or for one `push_many` of them all: they act from the present on.
    stays : tuple of str
        States of both queries: matches that rest there go on, by the other query from now on.
    goes : tuple of str
        States of the one query only: matches that rest there never end any more.
    comes : tuple of str
        States of the other query only.
    query : Query
        The other query as it then runs: its states have the names that they have in the operator. The next change begins with it.
    """

    arcs: tuple[Change, ...]
    stays: tuple[str, ...]
    goes: tuple[str, ...]
    comes: tuple[str, ...]
    query: Any = None

    def __str__(self) -> str:
        signs = {1: "+", -1: "-"}
        lines = [f"{signs[change.diff]} {change.payload.name}" for change in self.arcs]
        told = (("go on", self.stays), ("end", self.goes), ("begin", self.comes))
        return "\n".join([*lines, *(f"partial matches {what} in: {', '.join(names)}" for what, names in told if names)])


def renamed(now: Lowered, then: Lowered) -> frozenset[str]:
    """Returns the names that no state of the other query may have: there the two queries hold other values.

    Refuses queries that differ in what an operator can't change while it runs: events, key, order, window, register.
    """
    _check(now, then)
    there = {name: state for state, name in now.names.items()}
    return frozenset(name for state, name in then.names.items() if name in there and not _goes_on(now, there[name], then, state))


def _goes_on(now: Lowered, there: MatchState, then: Lowered, here: MatchState) -> bool:
    held, needed = _held(now, there), _held(then, here)
    if now.automaton.choice is None:
        return held == needed
    return held >= needed and there.seen & then.conditions.told == here.seen


def held_for(now: Lowered, then: Lowered) -> tuple[RegisterField, ...]:
    """Return the register that a running scan holds, if it is enough for conditions in the place of its own (`AfaError`)."""
    held = now.registers.slots
    lacking = [slot for slot in then.registers.slots if slot not in held]
    if lacking:
        here, there = (", ".join(f"{s.item}{' or None' * s.optional}" for s in slots) for slots in (held, lacking))
        raise AfaError(
            f"expected conditions that read no more of a match than a running operator holds for them ({here or 'nothing'}) but "
            f"got one that reads {there}: make a new operator of the query, and feed it what the window still holds"
        )
    return tuple(held)


def changes(now: Lowered, then: Lowered) -> QueryChanges:
    """Returns the way from one query to another, whose states of one name hold the same."""
    old, new = ({str(arc.name): arc for arc in lowered.automaton.arcs} for lowered in (now, then))
    gone = [retract(arc) for name, arc in old.items() if name not in new]
    come = [insert(arc) for name, arc in new.items() if name not in old]
    before, after = (set(lowered.automaton.states) - lowered.automaton.final for lowered in (now, then))
    before, after = before - {now.automaton.start}, after - {then.automaton.start}
    parts = (before & after, before - after, after - before)
    return QueryChanges((*gone, *come), *(tuple(sorted(part)) for part in parts))


def digests(lowered: Lowered) -> dict[str, str]:
    """Return for each state a digest of what it holds, the same in every process."""
    found = {}
    for state, name in lowered.names.items():
        held = sorted(
            f"{field}: {i.component} {i.kind} {i.field} {i.back} {i.now} {i.noted!r}" for field, i in _held(lowered, state)
        )
        found[name] = hashlib.blake2b(repr(held).encode(), digest_size=6).hexdigest()
    return found


def _held(lowered: Lowered, state: MatchState) -> set[tuple[str, Item]]:
    """Returns the items that a state holds, each with its field."""
    registers = lowered.registers
    return {(registers.fields[item].name, item) for item in registers.live[state]}


def _check(now: Lowered, then: Lowered) -> None:
    registers = [lowered.automaton.register_schema.describe() for lowered in (now, then)]
    for what, one, other in (
        ("event class", now.tree.event, then.tree.event),
        ("key", now.tree.key, then.tree.key),
        ("order", now.tree.order, then.tree.order),
        ("negation at the start", now.tree.before, then.tree.before),
        ("window", (now.tree.window, bool(now.tree.after)), (then.tree.window, bool(then.tree.after))),
        ("register", registers[0], registers[1]),
        ("RETURN", now.automaton.match_schema.describe(), then.automaton.match_schema.describe()),
    ):
        if one != other:
            raise AfaError(
                f"expected a query with the same {what} for a running operator, {one!r}, but got {other!r}: "
                f"make a new operator of it, and feed it what the window still holds"
            )
