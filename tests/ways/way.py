"""A way into the library: how the arrivals of a case reach an operator, and how far a case goes this way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from afa import Change, Punctuation
from punctuation.time import FOREVER
from tests.conftest import ENGINES
from tests.corpus import Arrival, Case, is_arc

PLACE = "here"
"""The key, where there has to be one."""


class Reach(NamedTuple):
    """How many arrivals of a case go a way, and why no more do; "" where all of them do."""

    arrivals: int
    why: str = ""


class Way:
    """A case's operator, and one way to push to it.

    A subclass says how the operator is made (`make`), how an arrival reaches it (`push`), and which arrivals can't go its way
    (`refuses`).
    """

    engines: tuple[str, ...] = ENGINES  # those that it can be asked of
    raises = False  # whether the library itself refuses, with an `AfaError`, what `refuses` names; else there are no words for it

    def __init__(self, case: Case, engine: str) -> None:
        self.case, self.engine = case, engine
        self.operator = self.make()

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        """Why no arrival of a case can go this way; "" if some can."""
        return ""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        """Why an arrival can't, if those before it could; ``now`` is the largest LE or promise before it."""
        return ""

    @classmethod
    def reach(cls, case: Case) -> Reach:
        """How far a case goes this way."""
        why = cls.refuses_case(case)
        if why:
            return Reach(0, why)
        for number, (arrival, now) in enumerate(zip(case.arrivals, present(case))):
            why = cls.refuses(case, arrival, now)
            if why:
                return Reach(number, why)
        return Reach(len(case.arrivals))

    def make(self) -> Any:
        """The operator."""
        return self.case.operator(self.engine)

    def push(self, arrival: Arrival) -> Iterable[Any]:
        """Push an arrival; returns the changes and the punctuation that it emits."""
        return self.operator.push_arc(*arrival.items) if arrival.on_arcs else self.operator.push_many(arrival.items)

    def check(self) -> None:
        """Assert the operator's invariants."""
        self.operator._check()

    @property
    def late(self) -> int:
        """How many changes were late."""
        return int(self.operator.statistics.late)


def present(case: Case) -> Iterator[int | None]:
    """Before each arrival of a case, the largest LE of an event and the largest promise so far; None: nothing was seen."""
    now = None
    for arrival in case.arrivals:
        yield now
        if arrival.error is None:
            seen = [item.t if isinstance(item, Punctuation) else item.le for item in arrival.items if not is_arc(item)]
            now = max(seen if now is None else [now, *seen], default=now)


def netted(out: Iterable[Any]) -> list[Any]:
    """What several calls emit, as one call would have."""
    counts: Counter[Any] = Counter()
    promised: list[Punctuation] = []
    for item in out:
        if isinstance(item, Punctuation):
            promised = [item]
        else:
            counts[item._replace(diff=1)] += item.diff
    return [change._replace(diff=n) for change, n in counts.items() if n] + promised


def lives_until(change: Change, window: int | None) -> int:
    """The RE of an event."""
    assert change.le is not None
    return change.re if change.re is not None else FOREVER if window is None else min(change.le + window, FOREVER)
