"""Allen's thirteen relations between two situations, and which of them are still possible while their ends are being seen.

Source: Allen, *Maintaining Knowledge about Temporal Intervals*, CACM 26(11), 1983. A doctoral thesis (Marburg 2021) uses *finishes*
for opposite things in its Tables 5.1 and 5.2; here each name has Allen's meaning.

A set of relations is an int, a bit for each name in `NAMES`. Of a pair of situations ``a`` and ``b`` the four endpoints are seen in
the order of time, some of them at one instant. A relation is such an order, so that it stays possible as long as the endpoints are
seen in its order: `narrowed` leaves out those that are not.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable

ORDERS: dict[str, tuple[int, int, int, int]] = {
    "before": (1, 2, 3, 4),
    "meets": (1, 2, 2, 3),
    "overlaps": (1, 3, 2, 4),
    "starts": (1, 2, 1, 3),
    "during": (2, 3, 1, 4),
    "finishes": (2, 3, 1, 3),
    "equals": (1, 2, 1, 2),
    "after": (3, 4, 1, 2),
    "met_by": (2, 3, 1, 2),
    "overlapped_by": (2, 4, 1, 3),
    "started_by": (1, 3, 1, 2),
    "contains": (1, 4, 2, 3),
    "finished_by": (1, 3, 2, 3),
}
"""Where each relation of ``a`` to ``b`` has (a.ts, a.te, b.ts, b.te) in the order of time; equal numbers are one instant."""

NAMES = tuple(ORDERS)
ALL = (1 << len(NAMES)) - 1
INVERSES = {
    name: next(other for other, (s, e, start, end) in ORDERS.items() if (start, end, s, e) == order)
    for name, order in ORDERS.items()
}
"""``a before b`` says what ``b after a`` says."""


def set_of(names: Iterable[str]) -> int:
    """Return a set of relations.

    >>> names_of(set_of(["meets", "before"]))
    ('before', 'meets')
    """
    return functools.reduce(lambda found, name: found | 1 << NAMES.index(name), names, 0)


def names_of(relations: int) -> tuple[str, ...]:
    """Return the names of a set of relations, in the order of `NAMES`."""
    return tuple(name for i, name in enumerate(NAMES) if relations >> i & 1)


@functools.cache
def inverted(relations: int) -> int:
    """Return what ``b`` is to ``a``, of what ``a`` is to ``b``.

    >>> names_of(inverted(set_of(["before", "equals"])))
    ('equals', 'after')
    """
    return set_of(INVERSES[name] for name in names_of(relations))


@functools.cache
def _next(a_seen: int, b_seen: int, a_now: bool, b_now: bool) -> int:
    """Return the relations in which these, and no others, are the next endpoints behind the first ones of ``a`` and of ``b``."""
    found = []
    for name, order in ORDERS.items():
        left, right = order[a_seen:2], order[2 + b_seen :]
        soonest = min([*left, *right], default=0)
        if (left[:1] == (soonest,), right[:1] == (soonest,)) == (a_now, b_now):
            found.append(name)
    return set_of(found)


def narrowed(relations: int, a_seen: int, b_seen: int, a_now: bool, b_now: bool) -> int:
    """Return the relations that are still possible after one more instant.

    Parameters
    ----------
    relations : int
        Those that were possible before it.
    a_seen, b_seen : 0, 1 or 2
        How many endpoints of each were seen before it.
    a_now, b_now : bool
        Whether the next endpoint of each lies at the instant. All others come later.

    Examples
    --------
    >>> begun = narrowed(ALL, 0, 0, True, False)
    >>> names_of(begun)
    ('before', 'meets', 'overlaps', 'contains', 'finished_by')
    >>> names_of(narrowed(begun, 1, 0, True, True))
    ('meets',)
    """
    return relations & _next(a_seen, b_seen, a_now, b_now) if a_now or b_now else relations


@functools.cache
def composed(first: int, second: int) -> int:
    """Return what ``a`` may be to ``c``, where ``a`` is to ``b`` one of the first relations, and ``b`` to ``c`` one of the second.

    >>> names_of(composed(set_of(["before"]), set_of(["meets"])))
    ('before',)
    >>> names_of(composed(set_of(["during"]), set_of(["before"])))
    ('before',)
    >>> composed(set_of(["before"]), set_of(["after"])) == ALL
    True
    """
    table = _compositions()
    pairs = itertools.product(names_of(first), names_of(second))
    return functools.reduce(lambda found, pair: found | table[pair], pairs, 0)


@functools.cache
def _compositions() -> dict[tuple[str, str], int]:
    """Return the composition of each two relations, by going through all orders of six endpoints."""
    spans = [(start, end) for start in range(6) for end in range(start + 1, 6)]
    related = {(a, b): _relation(a, b) for a in spans for b in spans}
    found: dict[tuple[str, str], int] = {}
    for a, b, c in itertools.product(spans, repeat=3):
        pair = related[a, b], related[b, c]
        found[pair] = found.get(pair, 0) | set_of([related[a, c]])
    return found


def _relation(a: tuple[int, int], b: tuple[int, int]) -> str:
    places = sorted({*a, *b})
    order = tuple(places.index(point) + 1 for point in (*a, *b))
    return next(name for name, known in ORDERS.items() if known == order)
