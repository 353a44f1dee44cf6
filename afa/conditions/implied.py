"""Infer what promises with conditions promise for all events that make a fence true ([AFA10] App. F.2: the arc punctuation)."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from afa.conditions.condition import NO_REGISTER, Condition
from afa.expression import ValueRange, evaluate, may_raise, ranges, types_of
from afa.expression.intervals import EVERYTHING, Ranges
from afa.expression.nodes import Compare, Const, Expr, FieldRead, IsNone, Not, children, conjunction, rebuilt
from afa.expression.splitting import clauses
from afa.schema import NAN, Schema
from afa.schema import Field as SchemaField
from punctuation.time import BEGINNING, FOREVER

FEW = 64
"""How many values, cases or boxes are looked at one by one."""
MANY = 16 * FEW
"""How many pairs of a box and an alternative are looked at."""
Known = Mapping[Expr, Const]
Promised = Sequence[tuple[Condition, int]]
"""Conditions, each with the instant before which no event that satisfies it arrives any more."""


def fact(name: str, value: Any) -> Expr:
    """Return the expression ``field == value`` as a known fact: ``is None`` for None, ``field != field`` for NaN.

    >>> from afa.expression import text_of_expr
    >>> [text_of_expr(fact("feed", value)) for value in (3, None, math.nan)]
    ['e.feed == 3', 'e.feed is None', 'e.feed != e.feed']
    """
    field = FieldRead("e", name)
    if value is None:
        return IsNone(field)
    return Compare("==", field, Const(value)) if value == value else Compare("!=", field, field)


def implied(fence: Expr | None, conditions: Promised, schema: Schema, facts: Sequence[Expr] = ()) -> int:
    """Returns the instant before which no event that makes a fence true arrives any more.

    This is the largest t found such that each event that makes the ``facts`` (see `fact`) and, for some register, the fence (None:
    any event) true satisfies a condition that is promised up to t or later. FOREVER if no event can make them true; BEGINNING if
    no t is found.

    Sound, not complete: ``fence and facts and not C1 and not C2 ...`` is seen to be false by the values that it leaves to each
    field (`ranges`), the conditions in the order of their promises; that of the last one needed is the answer. For that,

    - a field that can have few values only is taken value by value, and the minimum counts: ``feed in (1, 2)`` under promises for
      ``feed == 1`` and for ``feed == 2``;
    - an alternative (``or`` in the fence, ``and`` in a condition) is taken apart into boxes, a range for each field;
    - what the fence says literally is true in a condition: ``x % 2 == 0`` says nothing about the values of x;
    - a condition that could raise on such an event is skipped: it promises nothing about the events on which it raises.

    Fields annotated Any may compare as they like, so that a schema with one yields BEGINNING. O(FEW * conditions * their size).

    >>> from typing import NamedTuple
    >>> from afa.expression import FENCE, parse
    >>> class Reading(NamedTuple):
    ...     floor: int
    ...     temperature: float
    >>> schema = Schema.of(Reading, "event")
    >>> hot = parse("floor == 3 and temperature > 95", FENCE, schema, NO_REGISTER)
    >>> promised = [(Condition("floor <= 3", schema), 20), (Condition("floor > 3", schema), 7)]
    >>> implied(hot, promised, schema), implied(None, promised, schema), implied(hot, promised[1:], schema) == BEGINNING
    (20, 7, True)
    >>> implied(None, promised, schema, facts=[fact("floor", 1)])
    20
    """
    return Implication(fence, schema, facts).until(conditions)


class Implication:
    """`implied` for one fence under changing promises: what a condition leaves of each case is computed once.

    >>> from typing import NamedTuple
    >>> class Reading(NamedTuple):
    ...     floor: int
    >>> schema = Schema.of(Reading, "event")
    >>> any_event, low = Implication(None, schema), Condition("floor <= 3", schema)
    >>> [any_event.until([(low, t), (Condition("floor > 3", schema), 9)]) for t in (5, 20)]
    [5, 9]
    """

    def __init__(self, fence: Expr | None, schema: Schema, facts: Sequence[Expr] = ()) -> None:
        self._schema = schema
        self._base = conjunction([item for item in (fence, *facts) if item is not None] or [Const(True)])
        self._cases: dict[frozenset[str], list[_Case]] = {}

    def until(self, conditions: Promised) -> int:
        """Returns the instant of `implied`."""
        if not self._schema.scalar:
            return BEGINNING
        ordered = sorted(conditions, key=lambda pair: -pair[1])
        used: frozenset[str] = frozenset().union(*(condition.fields for condition, _ in ordered))
        if used not in self._cases:
            self._cases[used] = [_Case(case, self._base, self._schema) for case in _cases(self._base, used, self._schema)]
        return min((case.until(ordered) for case in self._cases[used]), default=FOREVER)


def _cases(base: Expr, used: Collection[str], schema: Schema) -> list[dict[Expr, Const]]:
    """Return the fields that can have only few values, fewest first, and each combination of their values."""
    found = ranges(base, schema)
    values = {field.name: few(found[field.name], field) for field in schema.fields if field.name in used}
    finite = [(name, options) for name, options in values.items() if options is not None]
    cases: list[dict[Expr, Const]] = [{}]
    for name, options in sorted(finite, key=lambda pair: len(pair[1])):
        if len(cases) * len(options) > FEW:
            break
        cases = [{**case, FieldRead("e", name): Const(option)} for case in cases for option in options]
    return cases


class _Case:
    """A case: the events whose fields have certain values."""

    def __init__(self, case: Known, base: Expr, schema: Schema) -> None:
        self._schema = schema
        boxes = [{field.name: EVERYTHING for field in schema.fields}]
        for clause in clauses(replaced(base, case)):
            boxes = _where(boxes, _true(clause, schema), schema)
        self._boxes = boxes
        self._known = {**_said(base, schema), **case}
        nones = {name for box in boxes for name, found in box.items() if found.none}
        fields = tuple(field._replace(optional=field.optional and field.name in nones) for field in schema.fields)
        self._narrow = schema._replace(fields=fields)
        self._without: dict[Condition, _True | None] = {}

    def until(self, ordered: Promised) -> int:
        """Return the answer for these events, by trying the latest promise first."""
        boxes = self._boxes
        if not boxes:
            return FOREVER
        if len(self._without) > 2 * len(ordered) + FEW:  # conditions that were promised once
            self._without.clear()
        for condition, t in ordered:
            if condition not in self._without:
                self._without[condition] = self._false(condition)
            without = self._without[condition]
            if without is not None:
                boxes = _where(boxes, without, self._schema)
                if not boxes:
                    return t
        return BEGINNING

    def _false(self, condition: Condition) -> _True | None:
        """Return the boxes in which a condition is false. None: it is never true, or could raise."""
        expr = replaced(condition.expr, self._known)
        never = Const(False) in clauses(expr)  # of most, where a key is known
        return None if never or may_raise(expr, self._narrow, NO_REGISTER) else _true(Not(expr), self._schema)


class _True(NamedTuple):
    """The boxes in which an expression is true: a range for each field in each alternative, and over all alternatives."""

    alternatives: list[Ranges]
    whole: Ranges


def _true(expr: Expr, schema: Schema) -> _True:
    alternatives = [ranges(Not(clause), schema) for clause in clauses(Not(expr))]  # true: one clause of its negation is false
    return _True(alternatives, ranges(expr, schema))


def _where(boxes: list[Ranges], true: _True, schema: Schema) -> list[Ranges]:
    """Return the boxes cut down to the alternatives: a box for each pair, unless these become too many."""
    if len(boxes) * len(true.alternatives) <= MANY:
        left = _met(boxes, true.alternatives, schema)
        if len(left) <= FEW:
            return left
    return _met(boxes, [true.whole], schema)


def _met(boxes: list[Ranges], others: list[Ranges], schema: Schema) -> list[Ranges]:
    """Return the intersections of boxes that are not empty. Only fields that the other boxes restrict are looked at."""
    said = [[(field, other[field.name]) for field in schema.fields if other[field.name] is not EVERYTHING] for other in others]
    met = []
    for box in boxes:
        for other in said:
            narrowed = [(field, box[field.name].meet(found)) for field, found in other]
            if all(few(found, field) != [] for field, found in narrowed):
                met.append({**box, **{field.name: found for field, found in narrowed}})
    return met


def _said(base: Expr, schema: Schema) -> dict[Expr, Const]:
    """Return the truth values of the clauses of a fence that are known where the fence is true."""
    said: dict[Expr, Const] = {}
    for clause in clauses(base):
        inner, truth = (clause.x, False) if isinstance(clause, Not) else (clause, True)
        if types_of(inner, schema, NO_REGISTER) == {bool}:  # else true may be 3
            said[inner] = Const(truth)
    return said


def replaced(expr: Expr, known: Known) -> Expr:
    """Return an expression with known facts put in, and operations on constants carried out unless they could raise.

    >>> from afa.expression.nodes import And
    >>> a, b = FieldRead("e", "a"), FieldRead("e", "b")
    >>> replaced(And((Compare("<", a, Const(3)), Compare("<", b, Const(3)))), {a: Const(5)}).items[0]
    Const(value=False)
    """
    if isinstance(expr, Const):
        return expr
    if expr in known:
        return known[expr]
    if isinstance(expr, FieldRead):
        return expr
    made = rebuilt(expr, lambda child: replaced(child, known))
    if all(isinstance(child, Const) for child in children(made)) and not may_raise(made, None, NO_REGISTER):
        return Const(evaluate(made, None, None))
    return made


def few(found: ValueRange, field: SchemaField) -> list[Any] | None:
    """Return the values of a field that a range holds, in the field's type. None: more than `FEW`, or not known to be few.

    >>> few(ValueRange(low=1, low_open=True, high=4.5), SchemaField("n", int, False))
    [2, 3, 4]
    >>> few(ValueRange(), SchemaField("b", bool, True))
    [False, True, None]
    >>> few(ValueRange(values=(1, 2.5, "a")), SchemaField("n", int, False)), few(ValueRange(), SchemaField("x", float, False))
    ([1], None)
    """
    options = _options(found, field.type)
    if options is None:
        return None
    values = [own for option in options if found.contains(option) for own in _own(option, field.type)]
    values += [NAN] if found.nan and field.type is float else []
    values += [None] if found.none and field.optional else []
    return values if len(values) <= FEW else None


def _options(found: ValueRange, kind: type | None) -> Sequence[Any] | None:
    """Return values that include all of a range but NaN and None. None: there are many."""
    if found.values is not None:
        return found.values
    if kind is bool:
        return (False, True)
    if kind is int:  # the bounds of int64 are closed, whatever is open
        low, high = max(found.low, BEGINNING), min(found.high, FOREVER)
        if low > high:
            return ()
        return range(math.ceil(low), math.floor(high) + 1) if high - low <= FEW + 1 else None
    if found.low == found.high:
        return (found.low,)
    return () if found.low > found.high else None


def _own(value: Any, kind: Any) -> list[Any]:
    """Return the value of a type that equals another value, if there is one."""
    if kind is str or isinstance(value, str):
        return [value] if kind is str and isinstance(value, str) else []
    try:
        own = kind(value)
    except OverflowError:  # infinity is no int
        return []
    return [own] if own == value else []
