"""Fields of events that are computed of each one as it comes: expressions in PARTITION BY and ORDER BY, columns of a view there.

    PARTITION BY upper(sensor) ORDER BY at, size % 10
    events   Reading(sensor, at, size)  ->  Reading(sensor, at, size, key_0, order_1)

An operator has them by the stage `speculation.row_view` in front of it; of a frame they are columns more.
"""

from __future__ import annotations

import itertools
import keyword
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from sqlglot import exp

from afa.expression.nodes import Const, Expr, FieldRead, walk
from afa.expression.text import text_of_expr
from afa.expression.types import types_of
from afa.language.items import of_one_type
from afa.language.pattern import Computed
from afa.language.payload_classes import extended
from afa.language.sase_grammar import RefusedError
from afa.language.sql_order import RANKED
from afa.language.sql_statement import RowPatternMatch, is_computed
from afa.language.sql_text import SqlText
from afa.language.sql_views import InputView
from afa.language.terms import Classifier, MatchNumber
from afa.language.three_values import missing, nullable
from afa.schema import SCALARS, Schema, Time


class ComputedKeys:
    """The values in PARTITION BY and ORDER BY that no field of the events has.

    ``value`` reads an expression over one row of a view; ``check`` refuses a column of another table.
    """

    def __init__(
        self, text: SqlText, schema: Schema, view: InputView, value: Callable[[Any], Expr], check: Callable[[Any], None]
    ) -> None:
        self._text, self._schema, self._view, self._value, self._check = text, schema, view, value, check
        self._kinds = {field.name: field.type for field in schema.fields}
        self._taken = {*(name.lower() for name in self._kinds), "le", "re", "diff"}
        self.values = dict[str, Expr]()  # by the names of fields
        self.hidden = set[str]()  # the names that no view has given
        self.called = dict[str, Expr]()  # keys that a view calls as another field is called: these have another name

    def fields_in(self, match: RowPatternMatch) -> RowPatternMatch:
        """Return the clauses with fields in the place of these values."""
        partition = tuple(self._field(node, "key") for node in match.partition)
        order = tuple(each.copy() for each in match.order)
        for i, each in enumerate(order):
            if i or each.args.get("desc") or not self._may_be_le(each.this):
                made = self._field(each.this, "order")
                each.meta[RANKED] = each.meta.get(RANKED, False) or (not i and made is not each.this)
                each.set("this", made)
        return replace(match, partition=partition, order=order)

    def _may_be_le(self, node: Any) -> bool:
        """Return whether what orders rows first is a column of the table, perhaps renamed, that is a time or an int."""
        named = self._view.named(node.name) if isinstance(node, exp.Column) else None
        if named is None or not isinstance(named[1], FieldRead):
            return False
        name, instant = named[1].name, self._schema.instant
        return name == instant if instant is not None else self._kinds.get(name, int) in (int, None)

    def _field(self, node: Any, of: str) -> Any:
        name = ""
        if isinstance(node, exp.Column):
            self._check(node)
            name, value = self._view.named(node.name) or ("", Const(None))
            if not name or (isinstance(value, FieldRead) and value.name == name):
                return node
            if name.lower() in self._taken or not name.isidentifier() or keyword.iskeyword(name) or name.startswith("_"):
                self.called |= {name: value} if of == "key" else {}
                name = ""
        elif is_computed(node):
            for column in node.find_all(exp.Column):
                self._check(column)
            value = self._value(node)
            beside = any(isinstance(each, FieldRead) and each.name not in self._kinds for each in walk(value))
            if beside or any(isinstance(each, (MatchNumber, Classifier)) for each in walk(value)):
                got = f"{self._text.quoted(node)!r} but got {'PREV or NEXT' if beside else 'what only a match has'}"
                raise RefusedError(f"expected columns of one row in {got}", self._text.place(node))
        else:
            return node
        name = name or next((known for known, one in self.values.items() if one == value), None) or self._free(of)
        self.values[name] = value
        return self._text.replaced(node, exp.column(exp.to_identifier(name, quoted=True)))

    def _free(self, of: str) -> str:
        """Return a name that no field has, and that is not in the text."""
        taken, text = {*self.values, *self._taken}, self._text.text.lower()
        name = next(n for i in itertools.count() if (n := f"{of}_{i}") not in taken and n not in text)
        self.hidden.add(name)
        return name

    def computed(self, times: Collection[str], place: int) -> tuple[type, Computed]:
        """Return the class of events with these fields more, and what computes them. Raises `RefusedError`.

        ``times`` names those that are times; ``place``: where the clauses stand.
        """
        schema = self._schema
        known = {field.name: field for field in schema.fields}

        def absent(leaf: Expr) -> bool:
            return isinstance(leaf, FieldRead) and known[leaf.name].optional

        more, found = list[tuple[str, Any, bool]](), list[tuple[str, Expr]]()
        for name, value in self.values.items():
            kind, one = of_one_type(value, types_of(value, schema, schema))
            if kind not in SCALARS:
                wanted = "expected numbers, texts or times, of one type, in PARTITION BY and ORDER BY but got"
                raise RefusedError(f"{wanted} {text_of_expr(value)}", place)
            found.append((name, nullable(one, absent)))
            more.append((name, Time if name in times else kind, missing(one, absent) is not None))
        return extended(schema.cls, more), Computed(schema.cls, tuple(found))
