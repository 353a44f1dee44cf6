"""The rows of a key, and what becomes of all attempts by each.

Each row begins an attempt. An attempt is an ordered list of threads, (state, register), the preferred one first; all attempts with
equal lists are one *class*: what becomes of one becomes of all. What a row makes of a class is a *link*.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa.scan.plan import ScanPlan, Way

Threads = tuple[tuple[str, Any], ...]
NEW: Threads = ()
"""In the place of a class: the attempt that begins with the row."""


class Link(NamedTuple):
    """What a row makes of a class."""

    to: Threads | None  # None: no thread goes on
    back: tuple[int, ...]  # of each thread in ``to``, the thread that it comes from
    accept: tuple[int, Way] | None  # the thread that ends a match here, and how


class Row:
    """A row and its links, by the classes that there are before it, and NEW."""

    __slots__ = ("classes", "le", "links", "payload", "place", "re")

    def __init__(self, place: Any, le: int, re: int, payload: Any) -> None:
        self.place, self.le, self.re, self.payload = place, le, re, payload
        self.links: dict[Threads, Link] = {}
        self.classes: frozenset[Threads] = frozenset()

    def derive(self, plan: ScanPlan, before: frozenset[Threads]) -> frozenset[Threads]:
        """Derive the links from the classes there are before the row. Returns the classes that there were behind it."""
        old = self.classes
        self.links = {source: _link(plan, source or ((plan.start, plan.register),), self.payload) for source in (*before, NEW)}
        self.classes = frozenset(link.to for link in self.links.values() if link.to is not None)
        return old


def _link(plan: ScanPlan, threads: Threads, payload: Any) -> Link:
    """Let all threads of an attempt take a row, in order. What ends a match cuts off what is preferred less."""
    found: dict[tuple[str, Any], int] = {}
    for i, (state, register) in enumerate(threads):
        for way in plan.ways[state]:
            after = way.takes(payload, register)
            if after is None:
                continue
            if way.dst is None:
                return Link(tuple(found) or None, tuple(found.values()), (i, way))
            found.setdefault((way.dst, after), i)
    return Link(tuple(found) or None, tuple(found.values()), None)
