"""What a set of rules tells, as Arrow tables: the rule, the columns of keys and matches of all rules, times as in the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from afa.change import RuleChange
from afa.cli.fault import CommandError
from afa.io.answer import Answer
from afa.io.table_times import TimeType, leaving
from afa.model.option_values import names_of
from afa.operator.contract import Pattern
from afa.rules.rule_tables import RuleForm
from afa.rules.rules import Rules
from afa.schema import Field, Schema
from punctuation.door import Table, table_of
from punctuation.timestamps import Timed, ticks_in

BESIDE = ("rule", "le", "re", "diff")


class RuleOutput:
    """The form of the output; in place of `OutputTable`, which has one pattern's.

    ``fixed``: all tables have the columns of the first rules, as the file wants where they are written; a later rule may have no
    others. Else each has those of the rules in force.
    """

    def __init__(self, operator: Any, rules: Rules, events: pa.Table, times: TimeType | None, fixed: bool) -> None:
        self._rules, self._times, self._fixed = rules, times, fixed
        none = table_of(events.slice(0, 0))
        assert none is not None
        self._like = Table("arrow", none.given, none.given)
        self.none: Table = none if times is None else Timed(none, {}, times.times)
        self.schema: pa.Schema = _plain(operator.push_many([self.none])[0]).schema

    def in_schema(self, changes: pa.Table) -> pa.Table:
        """Return changes of the operator as they are written."""
        changes = _plain(changes)
        if not self._fixed:
            return changes
        there = set(changes.column_names)
        columns = [changes[each.name] if each.name in there else pa.nulls(len(changes), each.type) for each in self.schema]
        return pa.table(columns, names=self.schema.names).cast(self.schema)

    def les(self, changes: pa.Table) -> Any:
        """Return the LEs of such a table, as ticks."""
        le, times = changes["le"], self._times
        return le.to_numpy() if times is None else ticks_in(le, times.times, times.tick, "le")

    def check(self, pattern: Pattern) -> None:
        """Refuse a rule that comes later and has a column which the file that is written has not."""
        labels = names_of(self._rules.key if pattern.key is None else pattern.key, "key")
        for field in self._fields(labels, pattern.shown) if self._fixed else ():
            if field.name not in self.schema.names:
                written = ", ".join(name for name in self.schema.names if name not in BESIDE)
                raise CommandError(f"expected columns of the file that is written, {written}, but got {field.name!r}")

    def of_changes(self, changes: Sequence[RuleChange], form: RuleForm) -> pa.Table:
        """Return changes of one rule, as a call that is no table's tells them, as the operator tells them of tables."""
        keys, shown = form.labels, form.shown
        parts: list[Any] = [change.key if len(keys) > 1 else (change.key,) for change in changes]
        columns: dict[str, Any] = {"rule": [change.rule for change in changes]}
        columns |= {name: [part[i] for part in parts] for i, name in enumerate(keys)}
        columns |= {name: [getattr(change.payload, name) for change in changes] for name in (each.name for each in shown.fields)}
        columns |= {name: [change[i] for change in changes] for i, name in enumerate(BESIDE[1:], 1)}
        fields = {each.name: each for each in self._fields(keys, shown)}
        fields |= {"rule": Field("rule", str, False)} | {name: Field(name, int, False) for name in BESIDE[1:]}
        leave = leaving(self._times, "arrow", shown, self._rules.schema, keys)
        made: pa.Table = Answer(list(columns.values()), [fields[name] for name in columns], {}, leave).to(self._like)
        return made

    def _fields(self, labels: Sequence[str], shown: Schema) -> list[Field]:
        """Return the columns of a rule's matches: its key, and what they show."""
        known = {field.name: field for field in self._rules.schema.fields}
        return [known[name] for name in labels] + [f if f.type else f._replace(type=str) for f in shown.fields]


def _plain(table: pa.Table) -> pa.Table:
    """Return a table in which what may be of any type is text."""
    for i, field in enumerate(table.schema):
        if pa.types.is_null(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.string()))
    return table
