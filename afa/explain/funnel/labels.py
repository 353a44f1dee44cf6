"""Call arcs by short names: their own, without the digest of those that a query has made; else by their ends. Tell events."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from afa.errors import AfaError
from afa.model.arc import Arc
from afa.schema import Schema

DIGEST = re.compile(r" #[0-9a-f]{8}$")


def label_of(arc: Arc) -> str:
    """Return what an arc is called.

    Examples
    --------
    >>> label_of(Arc("a", "b", "True")), label_of(Arc("a", "b", "True", name="a: start -> a #77a619ee"))
    ('a -> b', 'a: start -> a')
    """
    return DIGEST.sub("", arc.name) if arc.name else f"{arc.src} -> {arc.dst}"


def event_in_words(event: Any, when: Callable[[int], str]) -> str:
    """Return an event as text; a field that is filled with its LE is told as one.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Instant
    >>> class Pay(NamedTuple):
    ...     amount: int
    ...     at: Instant | None = None
    >>> event_in_words(Pay(7, 60), lambda le: f"12:{le}")
    'Pay(amount=7, at=12:60)'
    """
    try:
        instant = Schema.of(type(event), "event").instant
    except AfaError:  # of an operator whose events have no schema
        instant = None
    le = None if instant is None else getattr(event, instant)
    if type(le) is not int:
        return repr(event)
    fields = (f"{name}={when(value) if name == instant else repr(value)}" for name, value in event._asdict().items())
    return f"{type(event).__name__}({', '.join(fields)})"
