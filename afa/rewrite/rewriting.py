"""What a rewriting of an automaton must supply."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from afa.conditions.promised import Tests
from afa.model.arctable import ArcEvent, ArcTable
from afa.model.automaton import Automaton
from afa.schema import Schema
from afa.state.states import Column


class Rewriting(Tests, Protocol):
    """How an automaton is rewritten, with the arcs in force: all that a rewriting must supply. A value.

    Attributes
    ----------
    automaton : Automaton
        The rewritten automaton; its own arcs are an example.
    schema : Schema
        Of the user's events: what messages speak of.
    events : sequence of ArcEvent
        The user's arcs in force.
    table : ArcTable
        The rewritten arcs in force.
    bits : list of int or None
        What a snapshot must say of each arc event, so that `restored` finds the same.
    kept : sequence of str
        The fields of the user's events that rewritten ones have too.
    """

    @property
    def automaton(self) -> Automaton: ...

    @property
    def schema(self) -> Schema: ...

    events: Sequence[ArcEvent]
    table: ArcTable
    bits: list[int | None]

    @property
    def kept(self) -> Sequence[str]: ...

    def followed_by(self, events: Sequence[ArcEvent], le: int, now: int) -> Rewriting:
        """Return the rewriting for other arcs in force, which differ from ``le`` on; all events that came have an LE below ``now``.

        Raises
        ------
        AutomatonError
            An arc can't be rewritten.
        ChangeError
            They may not differ there.
        """

    def restored(self, events: Sequence[ArcEvent], bits: Sequence[int | None]) -> Rewriting:
        """Return the rewriting of a snapshot.

        Raises
        ------
        AutomatonError, ValueError
            The bits do not fit.
        """

    def event(self, payload: Any, le: int) -> Any:
        """Return the rewritten event."""

    def blank(self, n: int) -> dict[str, Any]:
        """Return the columns, by field, that ``n`` rewritten events have beside those kept: arrays to be filled."""

    def fill(self, made: Mapping[str, Any], rows: Any, columns: Mapping[str, Column], le: Any) -> None:
        """Fill in some rows of them, from the columns and LEs of these rows' events."""
