"""A rule, taken apart: its shape, which rules share, and what is its own: conditions on single events, constants, window, names.

    fences    e.type == 'B' and e.x > r.ax * 1.1 and e.who == 'me'
    shape     e.b & 2 != 0 and e.x > r.r0 * e.c0           an automaton over pairs of an event and a rule
    own       bit 1: e.type == 'B' and e.who == 'me'       whoever makes the pair asks this
              c0 = 1.1

A bit says of an event whether a condition on it alone is true. Nothing may begin by an event of which no bit is set, else the rule
has no shape. Where such an event leaves each partial match as it is (no arc takes it, each skip passes it), the rule need not see
it. Else it is *whole*: from where a match may have begun on it sees all events of its key (contiguity, time-outs).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from afa.errors import AutomatonError
from afa.expression.arc_functions import expression_of
from afa.expression.kinds import AT, FENCE, TRANSFER, Unreadable
from afa.expression.nodes import (
    And,
    Binary,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    IsNone,
    Not,
    Or,
    conjunction,
    disjunction,
    rebuilt,
    renamed,
    sides,
    walk,
)
from afa.expression.text import text_of_expr
from afa.expression.types import may_raise
from afa.language.query import Query
from afa.model.arc import CONSUME, SKIP, TIMEOUT, Arc
from afa.model.automaton import Automaton
from afa.operator.patterns import AutomatonPattern, pattern_of
from afa.schema import Field, Schema
from punctuation.durations import ticks_of_duration
from punctuation.time import BEGINNING, FOREVER

BITS = 62
"""How many conditions on single events a rule has at most."""
TRUE, FALSE = Const(True), Const(False)


class ShapeArc(NamedTuple):
    """An arc between numbered states; of the event it reads bits, values and constants of the rule."""

    kind: str
    src: int
    dst: int
    fence: Expr
    transfer: Expr | None
    at: Expr | None = None  # of a time-out


class Shape(NamedTuple):
    """What rules share. State 0 is the start; registers, values, constants and bits have numbers in place of names."""

    arcs: tuple[ShapeArc, ...]
    final: frozenset[int]
    register: tuple[Field, ...]  # r0, r1 ..
    initial: tuple[Const, ...]
    shown: int  # how many fields of the register a match shows
    values: tuple[Field, ...]  # the event's fields that arcs read, by their own names
    constants: tuple[type, ...]
    key: tuple[str, ...]
    bits: int
    begins: int  # the bits without which nothing begins
    whole: bool

    @property
    def clock(self) -> bool:
        """Whether there are time-outs, which each event of the key may set off."""
        return any(arc.at is not None for arc in self.arcs)


class RuleParts(NamedTuple):
    """A rule, taken apart. ``bits``: of each bit the condition on the event; ``shown``: what a match shows."""

    shape: Shape
    bits: tuple[Expr, ...]
    constants: tuple[int | float, ...]
    window: int | None
    shown: Schema

    def described(self) -> list[Any]:
        """Return the rule in plain data: equal for equal rules."""
        arcs = [
            [arc.kind, arc.src, arc.dst, text_of_expr(arc.fence), *(each and text_of_expr(each) for each in (arc.transfer, arc.at))]
            for arc in self.shape.arcs
        ]
        names = [[field.name, field.type.__name__ if field.type else "any"] for field in self.shown.fields]
        bits = list(map(text_of_expr, self.bits))
        return [arcs, sorted(self.shape.final), bits, list(self.constants), self.window, names, list(self.shape.key)]


class NoShape(Exception):  # noqa: N818  (no error: such a rule is an operator of its own)
    """A rule has no shape; the text says why."""


def parts_of(pattern: Any, key: Any = None, window: Any = None, tick: str | None = None) -> RuleParts:
    """Returns the parts of a rule.

    Parameters
    ----------
    pattern : Query, Automaton, or whatever a `Pattern` is made of
    key, window, tick
        As of its operator; a query says its own.

    Raises
    ------
    NoShape
        It needs an operator of its own; the text says why.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa.expression.text import text_of_expr
    >>> from afa.language.query import query
    >>> class Event(NamedTuple):
    ...     type: str
    ...     x: float
    >>> def parts(low, factor):
    ...     where = f"skip_till_next_match(a, b) {{ a.x > {low} and b.x > a.x * {factor} }}"
    ...     return parts_of(query(f"PATTERN SEQ(A a, B b) WHERE {where} WITHIN 9 RETURN a.x AS ax", event=Event))
    >>> parts(1.5, 2.5).shape == parts(3.0, 4.5).shape, parts(1.5, 2.5).constants
    (True, (2.5,))
    >>> [text_of_expr(condition) for condition in parts(1.5, 2.5).bits]
    ["e.type == 'A' and e.x > 1.5", "e.type == 'B'"]
    """
    pattern = pattern_of(pattern)
    if not isinstance(pattern, (Query, AutomatonPattern)):
        raise NoShape("it is no query and no automaton")
    automaton = pattern.automaton
    if isinstance(pattern, Query):
        _check_query(pattern)
        key, window, tick = pattern.key or key, pattern.window, pattern.tick or tick
        automaton = pattern._served(None, {}).automaton
    return _ShapeReader(automaton.bound(tick), _names(key), window, tick).parts()


def _check_query(query: Query) -> None:
    if query.ordered_by is not None:
        raise NoShape(f"events of one time stand in the order of {query.ordered_by}")
    if query.stages():
        raise NoShape(f"a stage stands around its operator: {', '.join(layer.name for layer in query.stages())}")
    if query.ranked is not None:
        raise NoShape("its rows are ranked as a whole")


def _names(key: Any) -> tuple[str, ...]:
    if key is None or isinstance(key, str):
        return () if key is None else (key,)
    if callable(key):
        raise NoShape("its key is a function")
    return tuple(key)


class _ShapeReader:
    """Reads one automaton."""

    def __init__(self, automaton: Automaton, key: tuple[str, ...], window: Any, tick: str | None) -> None:
        event = automaton.event_schema
        for wrong, why in (
            (event is None or not event.scalar, "an event has a field that is no scalar"),
            (not automaton.register_schema.scalar, "a register has a field that is no scalar"),
            (automaton.choice is not None, "it chooses among matches (AFTER MATCH SKIP)"),
            (automaton.having is not None, "a condition waits for the match (having)"),
            (not automaton.ties, "events of one time are refused"),
        ):
            if wrong:
                raise NoShape(why)
        assert event is not None
        known = {field.name for field in event.fields}
        if missing := [name for name in key if name not in known]:
            raise NoShape(f"its key is no field of the event: {', '.join(missing)}")
        self._automaton, self._event, self._register = automaton, event, automaton.register_schema
        self._key, self._window = key, None if window is None else ticks_of_duration(window, tick, "window")
        self._slots = {field.name: f"r{i}" for i, field in enumerate(self._register.fields)}
        self._bits: dict[Expr, int] = {}
        self._leaves: dict[Expr, Expr] = {}
        self._constants: list[int | float] = []
        self._values: dict[str, Field] = {}
        self._whole = False

    def parts(self) -> RuleParts:
        automaton, register = self._automaton, self._register
        states = {state: i for i, state in enumerate(automaton.states)}
        final = frozenset(states[name] for name in automaton.final.union(arc.dst for arc in automaton.arcs if arc.final))
        arcs = tuple(self._arc(arc, states) for arc in automaton.arcs)
        rests = {arc.src for arc in arcs if arc.kind == SKIP}
        self._whole |= any(arc.kind == SKIP and arc.dst in final for arc in arcs)  # a match that has ended ends again
        self._whole |= bool({arc.dst for arc in arcs} & {arc.src for arc in arcs} - rests)  # contiguity
        if 0 in final:
            raise NoShape("its start is final")
        begins = 0
        for arc in arcs:
            begins |= _bits_in(arc.fence) if arc.kind == CONSUME and arc.src == 0 else 0
        if len(self._bits) > BITS:
            raise NoShape(f"it has {len(self._bits)} conditions on single events, more than {BITS}")
        shape = Shape(
            arcs,
            final,
            tuple(Field(self._slots[field.name], field.type, field.optional) for field in register.fields),
            tuple(map(Const, automaton.register)),
            len(automaton.match_schema.fields),
            tuple(self._values.values()),
            tuple(map(type, self._constants)),
            self._key,
            len(self._bits),
            begins,
            self._whole,
        )
        return RuleParts(shape, tuple(self._bits), tuple(self._constants), self._window, automaton.match_schema)

    def _arc(self, arc: Arc, states: dict[str, int]) -> ShapeArc:
        if arc.kind not in (CONSUME, SKIP, TIMEOUT) or (arc.kind == TIMEOUT and states[arc.src] == 0):
            raise NoShape(f"{arc!r} takes no event")
        try:
            if arc.kind == TIMEOUT:
                self._whole = True
                at = self._of_pair(expression_of(arc.at, AT, None, self._register))
                return ShapeArc(arc.kind, states[arc.src], states[arc.dst], TRUE, None, at)
            fence = expression_of(arc.fence, FENCE, self._event, self._register)
            transfer = None if arc.transfer is None else expression_of(arc.transfer, TRANSFER, self._event, self._register)
        except (Unreadable, AutomatonError) as error:
            raise NoShape(f"{arc!r} is a function that can't be taken apart: {error}") from None
        found = self._truth(fence, frozenset())
        at_rest = _without_bits(found)
        if arc.kind == CONSUME and states[arc.src] == 0 and at_rest != FALSE:
            raise NoShape(f"{arc!r} may begin by an event of which no condition on it alone is true")
        self._whole |= at_rest != (FALSE if arc.kind == CONSUME else TRUE) or (arc.kind == SKIP and transfer is not None)
        made = None if transfer is None else self._of_pair(self._lifted(transfer))
        return ShapeArc(arc.kind, states[arc.src], states[arc.dst], found, made)

    # -- fences ----------------------------------------------------------------------------------------------------------------

    def _truth(self, expr: Expr, present: frozenset[Expr]) -> Expr:
        """Returns the truth of an expression over pairs; ``present``: fields that are known not to be None where it is asked."""
        match expr:
            case Const():
                return Const(bool(expr.value))
            case Not(x):
                return Not(self._truth(x, present))
            case And(items) | Or(items):
                return self._joined(items, isinstance(expr, And), present)
            case Compare("!=", left, right) if sides(expr) == {"e"}:
                return Not(self._truth(Compare("==", left, right), present))
        if sides(expr) == {"e"}:
            return self._bit(expr, present)
        return self._leaf(expr)

    def _joined(self, items: tuple[Expr, ...], both: bool, present: frozenset[Expr]) -> Expr:
        """Returns ``a and b ..`` or ``a or b ..``: what is asked of the event alone as one bit, where it stands first.

        Nothing moves across what may raise: behind it begins another bit, of all that was asked before, too. Where nothing is
        asked but negations, each is one of a bit of its own.
        """
        join = conjunction if both else disjunction
        found: list[Expr] = []
        asked: list[Expr] = []  # of the event alone, in order
        groups: list[tuple[int, list[Expr]]] = []  # of bits: where each stands in ``found``, and what is asked of the event
        guards, open_ = present, False
        alone = [sides(item) == {"e"} for item in items]
        positive = any(one and not _is_negation(item) for one, item in zip(alone, items))
        for one, item in zip(alone, items):
            if one and positive and (both or not _is_negation(item)):
                if not open_:
                    groups.append((len(found), list(asked)))
                    found.append(TRUE)
                    open_ = True
                asked.append(item)
                groups[-1][1].append(item)
            else:
                found.append(self._truth(item, guards))
                if not one and not _total(item, guards, self._event, self._register):
                    open_, asked = False, asked if both else []
            guards |= _guarded(item, both)
        for place, conditions in groups:
            found[place] = self._bit(join(conditions), present)
        return join(found)

    def _bit(self, expr: Expr, present: frozenset[Expr]) -> Expr:
        if not _total(expr, present, self._event, self._register):
            raise NoShape(f"a condition on an event may raise: {expr!r}")
        number = self._bits.setdefault(expr, len(self._bits))
        return Compare("!=", Binary("&", FieldRead("e", "b"), Const(1 << number)), Const(0))

    # -- what reads the register -----------------------------------------------------------------------------------------------

    def _leaf(self, expr: Expr) -> Expr:
        """Returns a condition on the register, with the rule's numbers as columns; an equal one gets the same columns."""
        if expr not in self._leaves:
            self._leaves[expr] = self._of_pair(self._lifted(expr))
        return self._leaves[expr]

    def _lifted(self, expr: Expr) -> Expr:
        """Returns an expression with the numbers that it calculates or compares with as constants of the rule."""
        if not isinstance(expr, Compare) and not (isinstance(expr, Binary) and expr.op in "+-*"):
            return rebuilt(expr, self._lifted)
        usual = (0, 1) if isinstance(expr, Binary) else ()
        return rebuilt(expr, lambda child: self._constant(child) if _is_number(child, usual) else self._lifted(child))

    def _constant(self, const: Expr) -> Expr:
        assert isinstance(const, Const)
        self._constants.append(const.value)  # type: ignore[arg-type]
        return FieldRead("e", f"c{len(self._constants) - 1}")

    def _of_pair(self, expr: Expr) -> Expr:
        """Returns an expression over the register's slots and the event's values."""

        def named(field: FieldRead) -> FieldRead:
            if field.side == "r":
                return FieldRead("r", self._slots[field.name])
            known = {each.name: each for each in self._event.fields}
            if field.name in known:
                self._values[field.name] = known[field.name]
                return FieldRead("e", value_name(field.name))
            return field

        return renamed(expr, named)


def value_name(field: str) -> str:
    """Returns the name that a field of the event has in a pair."""
    return f"v_{field}"


def _is_negation(expr: Expr) -> bool:
    return isinstance(expr, Not) or (isinstance(expr, Compare) and expr.op == "!=")


def _is_number(expr: Expr, usual: tuple[int, ...]) -> bool:
    if not isinstance(expr, Const) or type(expr.value) not in (int, float) or expr.value in usual:
        return False
    return type(expr.value) is float or BEGINNING <= expr.value <= FOREVER  # type: ignore[operator]


def _guarded(item: Expr, both: bool) -> frozenset[Expr]:
    """Returns the fields that are not None behind an operand of an And, or of an Or."""
    found = set()
    for part in _parts(item, both):
        match part:
            case Not(IsNone(FieldRead() as field)) if both:
                found.add(field)
            case IsNone(FieldRead() as field) if not both:
                found.add(field)
    return frozenset(found)


def _parts(expr: Expr, both: bool) -> Iterator[Expr]:
    """Yields the operands that are all true (``both``) where an expression is true; else those all false where it is false."""
    if isinstance(expr, And if both else Or):
        for item in expr.items:
            yield from _parts(item, both)
    elif isinstance(expr, Not) and isinstance(expr.x, Or if both else And):
        yield from (Not(item) for item in expr.x.items)
    else:
        yield expr


def _total(expr: Expr, present: frozenset[Expr], event: Schema, register: Schema) -> bool:
    """Returns whether an expression never raises, where some fields are known not to be None."""
    match expr:
        case Not(x):
            return _total(x, present, event, register)
        case And(items) | Or(items):
            for item in items:
                if not _total(item, present, event, register):
                    return False
                present |= _guarded(item, isinstance(expr, And))
            return True
        case If(test, then, other):
            here, there = (present | _guarded(test, truth) for truth in (True, False))
            return _total(test, present, event, register) and all(
                _total(each, known, event, register) for each, known in ((then, here), (other, there))
            )
    return not may_raise(expr, _known(event, "e", present), _known(register, "r", present))


def _known(schema: Schema, side: str, present: frozenset[Expr]) -> Schema:
    """Returns a schema in which the fields that are present are not optional."""
    if not present:
        return schema
    fields = (field._replace(optional=field.optional and FieldRead(side, field.name) not in present) for field in schema.fields)
    return schema._replace(fields=tuple(fields))


def _bits_in(expr: Expr) -> int:
    """Return the bits that a fence asks for."""
    found = 0
    for node in walk(expr):
        match node:
            case Binary("&", FieldRead("e", "b"), Const(int() as bit)):
                found |= bit
    return found


def _without_bits(expr: Expr) -> Expr | None:
    """Returns whether a fence is true where no bit is set: TRUE, FALSE, or None, where it depends on more."""
    match expr:
        case Const():
            return expr
        case Not(x):
            inner = _without_bits(x)
            return None if inner is None else FALSE if inner == TRUE else TRUE
        case And(items) | Or(items):
            ends = FALSE if isinstance(expr, And) else TRUE
            found = [_without_bits(item) for item in items]
            return ends if ends in found else None if None in found else found[0]
        case Compare("!=", Binary("&", FieldRead("e", "b"), _), Const(0)):
            return FALSE
    return None
