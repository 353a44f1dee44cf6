"""What comes to a set of rules: events in the form of its schema, as rows, and watermarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from afa.change import Change
from afa.errors import ChangeError
from afa.model.automaton import Automaton
from afa.operator.call import Core
from afa.operator.options import options_of
from afa.operator.table_rows import rows_of
from afa.operator.tables import CallInput, opened, shape_of
from afa.rules.event_rows import EventRows
from afa.rules.rule_texts import SET
from afa.schema import as_ticks
from afa.state.plain import Unfit
from punctuation.door import Table
from punctuation.promise import Punctuation

Part = EventRows | Punctuation


class SetInput:
    """Reads what comes, as an operator of these events would; ``core`` is one that takes nothing."""

    def __init__(self, event: type, tick: str | None) -> None:
        options = options_of({} if tick is None else {"tick": tick})
        self.core, self.tick = Core(Automaton(start="0", final={"0"}, arcs=[], event=event), options), tick
        assert self.core.taken is not None
        self.schema = self.core.taken

    def one(self, item: Any) -> Part:
        """Read one item."""
        return self._part(self.core.in_form(item))

    def call(self, batch: Any, time: str, net: bool) -> tuple[CallInput, list[list[Part]]]:
        """Read what one call brings: a table or a list. Returns it in parts, all of them together or (not ``net``) each alone."""
        come = opened(self.core, batch, (), time)
        parts = list(self._parts(come.parts))
        if net:
            return come, [parts]
        return come, [[part] for each in parts for part in ([each] if isinstance(each, Punctuation) else each.singles())]

    def _parts(self, given: Iterable[Any]) -> Iterator[Part]:
        """Yield tables, changes that follow each other together, and watermarks."""
        waiting: list[Change] = []
        for item in self._items(given):
            if isinstance(item, Change):
                waiting.append(item)
                continue
            if waiting:
                yield EventRows.of(self.schema, waiting)
                waiting = []
            yield item
        if waiting:
            yield EventRows.of(self.schema, waiting)

    def _items(self, given: Iterable[Any]) -> Iterator[Part | Change]:
        for part in given:
            items: Any = [part]
            if isinstance(part, Table):
                try:
                    yield EventRows.of_table(self.core, part)
                    continue
                except Unfit:
                    items = rows_of(self.core, part, (), shape_of(self.core, part).mixed)
            for _, item, _ in items:
                yield self._typed(item) if isinstance(item, Change) else self._part(item)

    def _part(self, item: Any) -> Part:
        if isinstance(item, Change):
            return EventRows.of(self.schema, [self._typed(item)])
        if not isinstance(item, Punctuation):
            raise ChangeError(f"expected a change of an event, a row or a Punctuation but got {item!r}")
        if item.where is not None:
            raise ChangeError(f"expected a Punctuation without a condition for {SET} but got {item!r}")
        return Punctuation(as_ticks(item.t, "t", self.tick))

    def _typed(self, item: Change) -> Change:
        """Return a change in its form, without an RE where none was given."""
        found: Change = self.core.typed(item, None)
        return found if item.re is not None else found._replace(re=None)
