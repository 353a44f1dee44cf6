"""Negation at the start, ``SEQ(~(Alarm n), Stop a, ..)``: no event n before a within the window that ends with the match.

A match begins with an event and can't look back. So the stage `speculation.last_before.LastBefore` stands in front of the operator
and gives each event one more field: when the last event came before it that is absent. The match compares at its end:

    the last event's LE - the first event's field >= window, or the field is None
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa.errors import AutomatonError
from afa.expression.nodes import Binary, Compare, Const, Expr, FieldRead, IsNone, Or, walk
from afa.expression.text import text_of_expr
from afa.language.items import ItemReader
from afa.language.pattern import Component, Tree
from afa.language.payload_classes import made
from afa.language.terms import Aggregate, Ref
from afa.language.three_values import both, either, true
from afa.schema import Instant, Schema
from speculation.last_before import LastBefore


class LookingBack(NamedTuple):
    """What a negation at the start asks of the stage and of a match."""

    tree: Tree
    event: Any  # the class of the operator's events: fields of the query's, then those that the stage fills
    field: str  # which field says when the last absent event came
    condition: str  # which events are absent
    ended: Expr  # what a match must satisfy at its end, over terms

    @classmethod
    def of(cls, tree: Tree) -> LookingBack | None:
        """Returns the request of a tree; None: it has no negation at the start. An absent component may not read other events."""
        if not tree.before:
            return None
        given = Schema.of(tree.event, "event")
        taken = {field.name for field in given.fields}
        back = _free("last_" + tree.before[0].name, taken)
        at = given.instant or _free("at", taken)
        hidden = [(back, int, True)] if given.instant else [(at, Instant, False), (back, int, True)]
        fields = [(f.name, Instant if f.name == given.instant else f.type, f.optional) for f in given.fields]
        event = made(tree.event.__name__, (*fields, *hidden))
        reader = ItemReader(given, {"": frozenset()}, {})
        condition = either([_condition(component, tree, reader) for component in tree.before])
        last: Expr = Ref("", "first", back)
        ended: Expr = IsNone(last)
        if tree.window is not None:
            ended = Or((ended, Compare(">=", Binary("-", FieldRead("e", at), last), Const(tree.window))))
        return cls(tree, event, back, text_of_expr(condition), ended)

    def stage(self) -> LastBefore:
        """Make the stage, which has taken nothing yet."""
        return LastBefore(self.tree.event, filled=self.event, **self.options)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the stage but ``filled``."""
        return {"where": {self.field: self.condition}, "window": self.tree.window, "order_by": self.tree.order}


def _condition(component: Component, tree: Tree, reader: ItemReader) -> Expr:
    """Return which events a component takes that is absent before the first event."""
    parts: list[Expr] = []
    if component.type is not None and tree.type_column is not None:
        parts.append(Compare("==", FieldRead("e", tree.type_column), Const(component.type)))
    for expr in (*component.where, *component.first):
        other = next((node for node in walk(expr) if isinstance(node, Ref | Aggregate)), None)
        if other is not None:
            raise AutomatonError(
                f"expected ~{component.name} at the start to read fields of its own event only but got one of "
                f"{other.component or 'another event'}: nothing comes before it; what both must share is a key, [attribute] under "
                f"partition_contiguity or a skip_till strategy"
            )
        parts.append(reader.read(expr))
    types = reader.types
    return true(both(parts), lambda leaf: types[leaf.name].optional if isinstance(leaf, FieldRead) else False)


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no field of the event has."""
    while name in taken:
        name += "_"
    return name
