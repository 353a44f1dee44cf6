"""Swap an arc by its name: the one in force ends, another one begins, as one change of the arcs in force."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from afa.errors import AutomatonError, ChangeError, LateEventError, did_you_mean
from afa.model.arc import Arc
from afa.model.arctable import ArcEvent, ArcTable
from punctuation.time import BEGINNING, FOREVER


class NamedSwap(NamedTuple):
    """What `Operator.swap` was asked for, on its way through the stages: what is in force is looked up when it gets there."""

    name: str
    arc: Arc | None
    fence: Any
    transfer: Any
    at: int | None  # ticks; None: the present

    def carried_out(self, table: ArcTable, now: int, promised: int, fitting: Callable[[Arc], Arc]) -> tuple[ArcTable, ArcEvent]:
        """Return the table after the swap, and the arc event that it has put in force.

        ``now`` is one tick past all that was seen: where a swap without an instant takes effect. ``promised`` is the promise of the
        arc input. ``fitting`` binds an arc to the operator's tick, or refuses it.
        """
        at = now if self.at is None else self.at
        if at == FOREVER:
            raise LateEventError(f"expected a swap of {self.name!r} before the end of the stream but got one after it")
        if at < promised:
            raise LateEventError(f"expected at >= {promised} (promised) but got at={at} for a swap of {self.name!r}")
        found = self._found(table, at)
        event = ArcEvent(fitting(self.replacement(found.arc)), at, FOREVER)
        table = table.ended(found, at)
        clash = [other for other in table.events if other.arc == event.arc and other.re > at]
        if clash:
            raise ChangeError(f"expected a name that no other arc has but got {event.arc!r} beside {_shown(clash[0])}")
        return table.added(event), event

    def replacement(self, old: Arc) -> Arc:
        """Return the arc that takes the place of another: it has its own name, else that one's."""
        if self.arc is None:
            return old.changed(fence=self.fence, transfer=self.transfer)
        return self.arc if self.arc.name is not None else self.arc.changed(name=self.name)

    def _found(self, table: ArcTable, at: int) -> ArcEvent:
        """Return the arc event of the name that lasts beyond an instant."""
        known = [event for event in table.events if event.re > at]
        found = [event for event in known if event.arc.name == self.name]
        if len(found) == 1 and found[0].le <= at:
            return found[0]
        if found:
            there, hint = (
                ", ".join(map(_shown, found)),
                f"; at={found[0].le} swaps it" if len(found) == 1 else "; retract the others",
            )
            raise ChangeError(f"expected one arc named {self.name!r} from {_instant(at)} on but got {there}{hint}")
        names = sorted({event.arc.name for event in known if event.arc.name is not None})
        there = ", ".join(map(repr, names)) or "none has a name"
        ended = [event.re for event in table.events if event.arc.name == self.name]
        hint = f"; it ended at {max(ended)}" if ended else did_you_mean(self.name, names)
        raise ChangeError(f"expected the name of an arc in force but got {self.name!r}{hint}; in force: {there}")


def named_swap(name: Any, arc: Any, fence: Any, transfer: Any, at: int | None) -> NamedSwap:
    """Return what was asked for, checked as far as it can be without an operator's arcs."""
    if not isinstance(name, str):
        raise ChangeError(f"expected the name of an arc (str) but got name={name!r}")
    if arc is not None and not isinstance(arc, Arc):
        hint = f"; write fence={arc!r} to give the arc in force another fence" if isinstance(arc, str) or callable(arc) else ""
        raise AutomatonError(f"expected an Arc but got {arc!r}{hint}")
    if (arc is None) is (fence is None and transfer is None):
        given = "none of them" if arc is None else "both"
        raise AutomatonError(f"expected an arc, or fence= and transfer= for the arc {name!r} in force, but got {given}")
    return NamedSwap(name, arc, fence, transfer, at)


def _shown(event: ArcEvent) -> str:
    return f"{event.arc!r} in [{_instant(event.le)}, {_instant(event.re)})"


def _instant(t: int) -> str:
    return {BEGINNING: "the beginning", FOREVER: "forever"}.get(t, str(t))
