"""Make the keys of events, and check them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.schema import DIGITS, any_payload, is_record

UNSAID: Any = object()
"""For ``key=`` of a call: the event makes the key."""


class Keys:
    """The way in which the key of an event is made: by a field, several, or a callable."""

    def __init__(self, automaton: Any, key: Any, tick: str | None = None) -> None:
        self.function = key if callable(key) else None
        names = (key,) if isinstance(key, str) else () if callable(key) else key
        if not isinstance(names, Sequence) or not (callable(key) or names) or not all(isinstance(n, str) and n for n in names):
            raise AfaError(f"expected a field name, several, or a callable but got key={key!r}")
        self.names: tuple[str, ...] = tuple(names)
        self.single = isinstance(key, str)
        self._schema = None if automaton.event_schema is None else automaton.event_schema._replace(tick=tick)
        fields = automaton.event_schema.cls._fields if automaton.event_schema else ()
        self.columns = [name for name in self.names if name not in fields and automaton.event_schema]

    @property
    def fields(self) -> tuple[str, ...]:
        """The event's fields that make the key. Empty if anything else takes part."""
        return () if self.columns else self.names

    @property
    def bare(self) -> bool:
        """Whether a key is one value, no tuple of values of columns."""
        return self.single or self.function is not None

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the key's columns in an output table."""
        return self.names or ("key",)

    def of_change(self, change: Change) -> Any:
        """Return the key of an event; the change's own key if the event lacks a field of the key; refuse one that has neither."""
        try:
            return self.of(change.payload if self._schema is None else self._schema.dated(change.payload, change.le))
        except AttributeError as error:
            if self._schema is not None and is_record(change.payload) and not self.columns:
                return self.of(self._schema.record(change.payload))
            if change.key is not None:
                return change.key
            raise ChangeError(f"expected an event with the key's fields {self.names} but got {change.payload!r}") from error

    def of(self, payload: Any) -> Any:
        """Return the key that an event makes."""
        if self.function is not None:
            return self.function(payload)
        if self.single:
            return getattr(payload, self.names[0])
        return tuple(getattr(payload, name) for name in self.names)

    def of_rows(self, columns: Mapping[str, list[Any]], payloads: list[Any]) -> list[Any]:
        """Return the key of each row. Names that are no fields of the event are columns of the table."""
        if not self.columns:
            return [self.of_change(Change(payload, None)) for payload in payloads]
        parts = [columns[name] if name in self.columns else [getattr(payload, name) for payload in payloads] for name in self.names]
        return list(parts[0]) if self.single else list(zip(*parts))

    def parts(self, key: Any) -> tuple[Any, ...]:
        """Return a key as the values of its columns."""
        return (key,) if self.bare else tuple(key)


def plain_key(key: Any) -> Any:
    """Return a key with floats for DECIMALs of which a float tells each apart, as fields have them. Beyond they are exact.

    >>> plain_key((Decimal("1.50"), "x")), plain_key(Decimal("12345678901234567.8"))
    ((1.5, 'x'), Decimal('12345678901234567.8'))
    """
    if type(key) is tuple:
        return tuple(map(plain_key, key))
    short = type(key) is Decimal and key.is_finite() and len(key.as_tuple().digits) <= DIGITS and abs(key.adjusted()) < 300
    return float(key) if short else key


def take_key(key: Any) -> Any:
    """Return a key in its normal form; refuse what is not hashable (`ChangeError`). None is one, as SQL's NULL is."""
    if key is None:
        return None
    if type(key) is Decimal or (type(key) is tuple and Decimal in map(type, key)):
        key = plain_key(key)
    try:
        return any_payload(key)
    except ChangeError as error:
        raise ChangeError(f"expected a hashable key but got key={key!r}") from error
