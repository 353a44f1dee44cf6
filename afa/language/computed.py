"""Fields of events that are computed of each one as it comes: expressions in PARTITION BY and ORDER BY, columns of a view there.

    PARTITION BY upper(sensor) ORDER BY at, size % 10
    events   Reading(sensor, at, size)  ->  Reading(sensor, at, size, key_0, order_1)

An operator has them by the stage `speculation.computed_fields` in front of it; of a frame they are columns more.
"""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from afa.expression.nodes import Expr, FieldRead
from afa.expression.text import text_of_expr
from afa.expression.types import types_of
from afa.language.items import of_one_type
from afa.language.pattern import Computed
from afa.language.sase_grammar import RefusedError
from afa.language.three_values import missing, nullable, true
from afa.schema import DECIMALS, HIDDEN, LEFT_OUT, SCALARS, Schema, Time


def with_computed(
    schema: Schema, values: Mapping[str, Expr], times: Collection[str], where: Expr | None, place: int
) -> tuple[type, Computed]:
    """Return the class of events with the fields of some values more, and what computes these. Raises `RefusedError`.

    ``times`` names those that are times; ``where``: of which events they are computed; ``place``: where the clauses stand.
    """
    known = {field.name: field for field in schema.fields}

    def absent(leaf: Expr) -> bool:
        return isinstance(leaf, FieldRead) and known[leaf.name].optional

    fields, found = list[tuple[str, type, bool, bool]](), list[tuple[str, Expr]]()
    for name, value in values.items():
        kind, one = of_one_type(value, types_of(value, schema, schema))
        if kind not in SCALARS:
            wanted = "expected numbers, texts or times, of one type, in PARTITION BY and ORDER BY but got"
            raise RefusedError(f"{wanted} {text_of_expr(value)}", place)
        found.append((name, nullable(one, absent)))
        fields.append((name, kind, missing(one, absent) is not None, name in times))
    return _filled(schema.cls, tuple(fields)), Computed(schema.cls, tuple(found), where and true(where, absent))


class FilledType(type):
    """The type of these classes, by which pickle knows what to do with one."""


@functools.cache
def _filled(cls: type, more: tuple[tuple[str, type, bool, bool], ...]) -> type:
    """Return a class of events with fields more: name, scalar type, whether it may be None, whether it is a time."""
    schema = Schema.of(cls, "event")
    fields = [(field.name, schema.annotation(field)) for field in schema.fields]
    for name, kind, optional, is_time in more:
        shown: Any = Time if is_time else kind
        fields.append((name, shown | None if optional else shown))
    make: Any = NamedTuple  # its fields are known at run time only
    beside = {name: getattr(cls, name) for name in (LEFT_OUT, DECIMALS, HIDDEN) if hasattr(cls, name)}
    said = {"__slots__": (), "__module__": __name__, "__annotations__": dict(fields), "_of": (cls, more)}
    return FilledType(cls.__name__, (make(cls.__name__, fields),), said | beside)


def _reduced(cls: Any) -> tuple[Any, ...]:
    return _filled, cls._of


copyreg.pickle(FilledType, _reduced)
