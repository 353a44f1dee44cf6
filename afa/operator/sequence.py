"""The event's field that orders events of one LE, as options of an operator name it."""

from __future__ import annotations

from typing import Any

from afa.errors import AfaError, AutomatonError, ChangeError
from afa.model.automaton import Automaton
from afa.operator.gapless import Gapless


def sequence_of(automaton: Automaton, sequence: str | None, gapless: Gapless | None, keep_payloads: bool) -> str | None:
    """Return the field that orders events of one LE; None: there is none.

    Raises
    ------
    AutomatonError
        The event has no such field.
    AfaError
        Options contradict each other.
    """
    _check_field(automaton, sequence)
    if gapless is None:
        return sequence
    if sequence not in (None, gapless.field):
        raise AfaError(f"expected the field {gapless.field!r}, which numbers the events, or none but got sequence={sequence!r}")
    if not keep_payloads:
        raise AfaError(f"expected keep_payloads=True with gapless={gapless.field!r} but got keep_payloads=False")
    return gapless.field


def _check_field(automaton: Automaton, sequence: str | None) -> None:
    if sequence is None or automaton.event_schema is None:
        return
    for field in automaton.event_schema.fields:
        if field.name == sequence:
            if field.optional or field.type not in (int, float, str):
                raise AutomatonError(f"expected an int, float or str field but got sequence={sequence!r}: {field}")
            return
    raise AutomatonError(f"expected a field of {automaton.event_schema.describe()} but got sequence={sequence!r}")


def check_number(payload: Any, sequence: str, typed: bool) -> None:
    """Check that an event has a value in that field. ``typed``: its payload has the form of a schema.

    Raises
    ------
    ChangeError
        It has none that orders.
    """
    kinds: tuple[type, ...] = (int, float, str) if typed else (int, float)
    number = getattr(payload, sequence, None)
    if type(number) not in kinds or number != number:
        names = " or ".join(kind.__name__ for kind in kinds)
        raise ChangeError(f"expected {names} but got {sequence}={number!r} in {payload!r}")
