"""Find the states of an automaton that no arc reaches or leaves: such arcs are still to come, or there is a typo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from afa.errors import AutomatonError
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.model.unmatchable import states_from


class Loose(NamedTuple):
    """A state that none of the automaton's own arcs reaches, or none leaves."""

    state: str
    role: str
    reason: str

    def __str__(self) -> str:
        return f"state {self.state!r}{self.role and f' ({self.role})'}: {self.reason}"


def loose(automaton: Automaton) -> list[Loose]:
    """Return the states that only arcs to come can connect, in order.

    >>> from afa.model.arc import Arc
    >>> for found in loose(Automaton(start="a", final={"z"}, arcs=[Arc("b", "z", "True")])):
    ...     print(found)
    state 'a' (start): no arc leaves it yet
    state 'b': no arc leads to it yet
    state 'z' (final): only arc b -> z leads to it, from a state that is not reached yet
    """
    reached, left = reached_states(automaton), {arc.src for arc in automaton.arcs}
    final = automaton.final.union(arc.dst for arc in automaton.arcs if arc.final)
    found = []
    for state in automaton.states:
        role = "start" if state == automaton.start else "final" if state in final else ""
        if state not in reached:
            found.append(Loose(state, role, f"{_lead_to(state, automaton)} yet"))
        elif state not in left and state not in final:
            found.append(Loose(state, role, "no arc leaves it yet"))
    return found


def check_whole(automaton: Automaton) -> None:
    """Refuse an automaton that can never match (`AutomatonError`). For places where no arc can come any more."""
    start, known = automaton.start, ", ".join(dict.fromkeys(arc.src for arc in automaton.arcs))
    if not any(arc.src == start for arc in automaton.arcs):
        raise AutomatonError(f"expected a start state that an arc leaves but got start={start!r}; arcs leave {known}")
    reached = reached_states(automaton)
    for state in sorted(automaton.final.union(arc.dst for arc in automaton.arcs if arc.final)):
        if state not in reached:
            raise AutomatonError(f"expected final states that {start!r} reaches but got {state!r}: {_lead_to(state, automaton)}")


def reached_states(automaton: Automaton) -> set[str]:
    """Return the start state and all states to which arcs lead from it."""
    return states_from(automaton.start, automaton.arcs)


def loose_ends(automaton: Automaton, come: Sequence[Arc], arcs: Iterable[Arc]) -> list[str]:
    """Describe the loose states of new arcs: none of ``arcs`` reaches them, or leaves them and they are not final. O(arcs).

    >>> from afa.model.arc import Arc
    >>> automaton, arc = Automaton(start="a", final={"z"}, arcs=[]), Arc("a", "zz", "True", name="typo")
    >>> loose_ends(automaton, [arc], [arc])
    ["arc 'typo': a -> zz leads to no match yet: no arc leaves 'zz', and it is not final"]
    """
    arcs = list(arcs)
    reached, left = states_from(automaton.start, arcs), {arc.src for arc in arcs}
    final = automaton.final.union(arc.dst for arc in arcs if arc.final)
    found = []
    for arc in come:
        if arc.src not in reached:
            found.append(f"{arc!r} serves no event yet: no arc leads from {automaton.start!r} to {arc.src!r}")
        if arc.dst not in left and arc.dst not in final:
            found.append(f"{arc!r} leads to no match yet: no arc leaves {arc.dst!r}, and it is not final")
    return found


def _lead_to(state: str, automaton: Automaton) -> str:
    into = [repr(arc) for arc in automaton.arcs if arc.dst == state and arc.src != state]
    return f"only {into[0]} leads to it, from a state that is not reached" if into else "no arc leads to it"
