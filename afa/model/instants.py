"""The instant of a time-out, read off its expression: no function of the user's is called, so that nothing raises.

For statistics. A time-out whose ``at`` can't be taken apart has none here.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from afa.errors import AfaError
from afa.expression.arc_functions import expression_of
from afa.expression.evaluation import callable_of
from afa.expression.kinds import AT, Unreadable
from afa.model.arc import Arc
from afa.schema import Schema
from punctuation.time import BEGINNING, FOREVER

KEPT = 4096
"""How many functions' expressions are cached."""


def instant_of(arc: Arc, register: Any, schema: Schema) -> int:
    """Return the instant for which a partial match with this register waits; FOREVER: for none, or nobody can tell.

    >>> from typing import NamedTuple
    >>> class R(NamedTuple):
    ...     since: int = 0
    >>> instant_of(Arc.timeout("a", "b", "r.since + 5"), R(3), Schema.of(R, "register"))
    8
    >>> instant_of(Arc.timeout("a", "b", "1 // r.since"), R(0), Schema.of(R, "register")) == FOREVER
    True
    """
    try:
        function = _function(arc.at, schema)
        value = None if function is None else function(register)
    except Exception:
        return FOREVER
    return value if type(value) is int and BEGINNING <= value <= FOREVER else FOREVER


@functools.lru_cache(maxsize=KEPT)
def _function(at: Any, schema: Schema) -> Callable[[Any], Any] | None:
    """Return the function of an expression; None: it can't be taken apart."""
    try:
        return callable_of(expression_of(at, AT, None, schema), AT, schema)
    except (Unreadable, AfaError):
        return None
