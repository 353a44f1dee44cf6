"""Fields of events that are computed of each one as it comes: expressions in PARTITION BY and ORDER BY, columns of a view there.

    PARTITION BY upper(sensor) ORDER BY at, size % 10
    events   Reading(sensor, at, size)  ->  Reading(sensor, at, size, key_0, order_1)

An operator has them by the stage `speculation.computed_fields` in front of it; of a frame they are columns more.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from afa.expression.nodes import Expr, FieldRead
from afa.expression.text import text_of_expr
from afa.expression.types import types_of
from afa.language.items import of_one_type
from afa.language.pattern import Computed
from afa.language.sase_grammar import RefusedError
from afa.language.three_values import missing, nullable
from afa.schema import DECIMALS, LEFT_OUT, SCALARS, Schema, Time


def with_computed(schema: Schema, values: Mapping[str, Expr], times: Collection[str], place: int) -> tuple[type, Computed]:
    """Return the class of events with the fields of some values more, and what computes these. Raises `RefusedError`.

    ``times`` names those that are times; ``place``: where the clauses stand.
    """
    known = {field.name: field for field in schema.fields}

    def absent(leaf: Expr) -> bool:
        return isinstance(leaf, FieldRead) and known[leaf.name].optional

    fields, found = [(field.name, schema.annotation(field)) for field in schema.fields], []
    for name, value in values.items():
        kind, one = of_one_type(value, types_of(value, schema, schema))
        if kind not in SCALARS:
            wanted = "expected numbers, texts or times, of one type, in PARTITION BY and ORDER BY but got"
            raise RefusedError(f"{wanted} {text_of_expr(value)}", place)
        found.append((name, nullable(one, absent)))
        shown: Any = Time if name in times else kind
        fields.append((name, shown if missing(one, absent) is None else shown | None))
    make: Any = NamedTuple  # its fields are known at run time only
    cls = make(schema.cls.__name__, fields)
    for beside in (LEFT_OUT, DECIMALS):
        if hasattr(schema.cls, beside):
            setattr(cls, beside, getattr(schema.cls, beside))
    return cls, Computed(schema.cls, tuple(found))
