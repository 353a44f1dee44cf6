"""Ways of calls: changes one by one, lists of them, operators that are restored, keyed, without payloads, behind a stage."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from afa import AfaError, Change
from speculation import Cleanse, Ordered
from tests.conftest import ENGINES
from tests.corpus import Arrival, Case, is_arc, is_event
from tests.ways.way import PLACE, Way, netted


class Push(Way):
    """Each change and promise is a call of its own."""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        return "a batch is refused as a whole" if arrival.error and len(arrival.items) > 1 else ""

    def push(self, arrival: Arrival) -> Iterable[Any]:
        outs = [self.push_one(item, arrival.on_arcs or is_arc(item)) for item in arrival.items]
        return outs[0] if len(outs) == 1 else netted(change for out in outs for change in out)

    def push_one(self, item: Any, on_arcs: bool) -> list[Any]:
        """Push one item."""
        found: list[Any] = self.operator.push_arc(item) if on_arcs else self.operator.push(item)
        return found


class Listed(Way):
    """Each arrival is a list."""


class Called(Push):
    """An arrival of one change or promise is pushed, one of several is a list."""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        return ""

    def push(self, arrival: Arrival) -> Iterable[Any]:
        if len(arrival.items) > 1:
            return self.operator.push_many(arrival.items)
        return super().push(arrival)


class Restored(Listed):
    """The operator goes through a snapshot after every arrival."""

    def push(self, arrival: Arrival) -> Iterable[Any]:
        out = super().push(arrival)
        before = self.operator.snapshot()
        self.operator = self.case.restored(self.operator, self.next_engine())
        if self.same_engine:
            assert self.operator.snapshot() == before
        return out

    same_engine = True

    def next_engine(self) -> str:
        """The engine to go on with."""
        return self.engine


class Moved(Restored):
    """The same, and goes on with the other engine each time."""

    same_engine = False

    def next_engine(self) -> str:
        self.engine = ENGINES[1 - ENGINES.index(self.engine)]
        return self.engine


class OneKey(Called):
    """All events are of one key, which is no field of theirs."""

    def make(self) -> Any:
        return self.case.operator(self.engine, key=lambda event: PLACE)

    def push(self, arrival: Arrival) -> Iterable[Any]:
        out = list(super().push(arrival))
        assert {item.key for item in out if isinstance(item, Change)} <= {PLACE}
        return out


class PayloadFree(Listed):
    """Of an event that has come only its triggering set is kept."""

    raises = True

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        if "gapless" in case.options:
            return "AFA+O keeps payloads"
        if case.options.get("arc_punctuation"):
            return "arcs make promises of their own"
        try:
            case.operator(ENGINES[0], retractions=False, keep_payloads=False)
        except AfaError:
            return "an arc does not split"
        return ""

    @classmethod
    def refuses(cls, case: Case, arrival: Arrival, now: int | None) -> str:
        if arrival.error:
            return ""
        for item in arrival.items:
            if is_event(item) and item.diff < 0:
                return "an event is retracted"
            if is_arc(item) and item.le is not None and now is not None and item.le <= now:
                return "an arc changes before the present"
        return ""

    def make(self) -> Any:
        return self.case.operator(self.engine, retractions=False, keep_payloads=False)


class CleanseBefore(Called):
    """A `Cleanse` that holds nothing back stands before the operator."""

    place = "before"

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        return "it has a stage" if case.stage else ""

    def make(self) -> Any:
        return getattr(Cleanse(None), self.place)(self.case.operator(self.engine))


class CleanseAfter(CleanseBefore):
    """A `Cleanse` that holds nothing back stands after the operator."""

    place = "after"


class Numbered(Called):
    """Events that are numbered without gaps go into an `Ordered`."""

    @classmethod
    def refuses_case(cls, case: Case) -> str:
        return "" if "gapless" in case.options else "events have no numbers"

    def make(self) -> Any:
        options = dict(self.case.options)
        return Ordered(self.case.automaton, number=options.pop("gapless"), engine=self.engine, **options)
