"""What lies beside a match: a negation at the start, ``SEQ(~(Alarm n), Stop a, ..)``, and neighbours, ``PREV(price)``.

A match begins with an event and can't look back, nor ahead. So the stage `speculation.last_before.LastBefore` stands in front of
the operator and gives each event further fields: when the last event came before it that is absent, and fields of its neighbours.
Where nothing may come before, the match compares at its end:

    the last event's LE - the first event's field >= window, or the field is None
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa.errors import AutomatonError
from afa.expression.nodes import Binary, Compare, Const, Expr, FieldRead, IsNone, Or, walk
from afa.expression.text import text_of_expr
from afa.language.items import ItemReader
from afa.language.pattern import Component, Tree
from afa.language.payload_classes import extended
from afa.language.terms import Aggregate, Ref
from afa.language.three_values import both, either, true
from afa.schema import Instant, Schema, Time
from speculation.last_before import LastBefore


class LookingBack(NamedTuple):
    """What a negation at the start, and neighbours, ask of the stage and of a match."""

    tree: Tree
    event: Any  # the class of the operator's events: fields of the query's, then those that the stage fills
    where: dict[str, str]  # the field that says when the last absent event came, with the condition which events are absent
    ended: list[Expr]  # what a match must satisfy at its end, over terms

    @classmethod
    def of(cls, tree: Tree) -> LookingBack | None:
        """Returns the request of a tree; None: it has neither. An absent component may not read other events."""
        if not tree.before and not tree.neighbours:
            return None
        given = Schema.of(tree.event, "event")
        kinds = {f.name: Time if f.name == given.instant else f.type and given.annotation(f) for f in given.fields} | {"": Time}
        more = [(name, kinds[field], True) for name, field, _ in tree.neighbours]
        if not tree.before:
            return cls(tree, extended(tree.event, more, hidden=True), {}, [])
        taken = {*kinds, *(name for name, _, _ in more)}
        back = _free("last_" + tree.before[0].name, taken)
        at = given.instant or _free("at", taken)
        more += [(back, int, True)] if given.instant else [(at, Instant, False), (back, int, True)]
        event = extended(tree.event, more, hidden=True)
        reader = ItemReader(given, {"": frozenset()}, {})
        condition = either([_condition(component, tree, reader) for component in tree.before])
        last: Expr = Ref("", "first", back)
        ended: Expr = IsNone(last)
        if tree.window is not None:
            ended = Or((ended, Compare(">=", Binary("-", FieldRead("e", at), last), Const(tree.window))))
        return cls(tree, event, {back: text_of_expr(condition)}, [ended])

    def stage(self) -> LastBefore:
        """Make the stage, which has taken nothing yet."""
        return LastBefore(self.tree.event, filled=self.event, **self.options)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the stage but ``filled``."""
        beside = {name: (field, offset) for name, field, offset in self.tree.neighbours}
        return {"where": self.where, "neighbours": beside, "window": self.tree.window, "order_by": self.tree.order}

    def __str__(self) -> str:
        last = [f"in {field} when last: {condition}" for field, condition in self.where.items()]
        beside = [
            f"in {name} {field or 'the time'} of the {_ordinal(abs(n))}event {'before' if n < 0 else 'behind'}"
            for name, field, n in self.tree.neighbours
        ]
        offsets = [n for *_, n in self.tree.neighbours]
        sides = [(max(0, *(-n for n in offsets), 0), "behind it"), (max(0, *offsets, 0), "before it")]
        revised = " and ".join(f"up to {n} {side}" for n, side in sides if n)
        cost = f"; a late event revises {revised}" if revised else ""
        if any(n > 0 for n in offsets):
            cost += ", each new one those before it, and until it has come they are not final"
            cost += "" if self.tree.window is None else f", for {self.tree.window} ticks at most"
        return f"the stage LastBefore says {', '.join([*last, *beside])}{cost}"


def _ordinal(n: int) -> str:
    """Return which of several events, in order; nothing of the first.

    >>> [_ordinal(n) for n in (1, 2, 3, 11, 12, 23)]
    ['', '2nd ', '3rd ', '11th ', '12th ', '23rd ']
    """
    return "" if n == 1 else f"{n}{'th' if n // 10 == 1 else {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th')} "


def _condition(component: Component, tree: Tree, reader: ItemReader) -> Expr:
    """Return which events a component takes that is absent before the first event."""
    parts: list[Expr] = []
    if component.type is not None and tree.type_column is not None:
        parts.append(Compare("==", FieldRead("e", tree.type_column), Const(component.type)))
    for expr in (*component.where, *component.first):
        other = next((node for node in walk(expr) if isinstance(node, Ref | Aggregate)), None)
        beside = next((field for name, field, _ in tree.neighbours if FieldRead("e", name) in walk(expr)), None)
        if other is not None or beside is not None:
            of = f"one of {getattr(other, 'component', '') or 'another event'}: nothing comes before it"
            got = of if beside is None else f"a neighbour's {beside}: each is asked by itself"
            raise AutomatonError(
                f"expected ~{component.name} at the start to read fields of its own event only but got {got}; what "
                f"both must share is a key, [attribute] under partition_contiguity or a skip_till strategy"
            )
        parts.append(reader.read(expr))
    types = reader.types
    return true(both(parts), lambda leaf: types[leaf.name].optional if isinstance(leaf, FieldRead) else False)


def _free(name: str, taken: set[str]) -> str:
    """Return a name that no field of the event has."""
    while name in taken:
        name += "_"
    return name
