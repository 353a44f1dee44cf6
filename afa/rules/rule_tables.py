"""Matches of many rules as one table: a column ``rule``, and the columns of all rules, null where a rule has none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change
from afa.errors import AfaError
from afa.io.answer import Answer
from afa.io.table_times import TimeType, leaving
from afa.operator.call import Core
from afa.operator.tables import CallInput
from afa.schema import Field, Schema
from punctuation.door import Table
from punctuation.promise import Punctuation

RULE, AROUND = "rule", ("rule", "le", "re", "diff", "members")


class RuleColumns(NamedTuple):
    """The columns of a set: those of keys, then of matches, by name.

    ``keys``: by rule the labels of its key, with the lifetime in which it has this key: rules of one name may have others.
    """

    fields: dict[str, Field]
    keys: dict[str, list[tuple[int, int, Sequence[str]]]]
    shown: Schema
    has_members: bool = False

    @classmethod
    def of(cls, standing: Iterable[Any], events: Schema) -> RuleColumns:
        """Make them of rules. Raises `AfaError` where columns of one name have two types, or the name of a column beside them."""
        fields: dict[str, Field] = {}
        keys: dict[str, list[tuple[int, int, Sequence[str]]]] = {}
        times: set[str] = set()
        dates: set[str] = set()
        plain: set[str] = set()
        members = False
        known = {field.name: field for field in events.fields}
        for each in sorted(standing, key=lambda each: (each.group.operator._core.keys is None, each.rule.name)):
            core, name = each.group.operator._core, each.rule.name
            labels = core.keys.labels if core.keys else ()
            keys.setdefault(name, []).append((each.le, each.re, labels))
            members = members or core.members is not None
            of_rule = [known[label] for label in labels if label in known] + list(core.shown.fields)
            for field in of_rule:
                there = fields.setdefault(field.name, field._replace(optional=True))
                if there.type is not field.type:
                    kinds = " and ".join(sorted(getattr(kind, "__name__", "any") for kind in (there.type, field.type)))
                    raise AfaError(f"rule {name!r}: expected one type of the column {field.name!r} in all rules but got {kinds}")
                if field.name in AROUND:
                    raise AfaError(f"rule {name!r}: expected a match without a field {field.name!r}, a column beside all matches")
            timed = {*core.shown.times, *(label for label in labels if label in events.times)}
            times |= timed
            plain |= {field.name for field in of_rule} - timed
            dates |= {*core.shown.dates, *(label for label in labels if label in events.dates)}
        mixed = sorted(times & plain)
        if mixed:
            raise AfaError(f"expected one type of the column {mixed[0]!r} in all rules but got times and numbers")
        shown = events._replace(fields=tuple(fields.values()), times=tuple(times), dates=tuple(dates), instant=None)
        return cls(fields, keys, shown, members)

    def labels_of(self, change: Any) -> Sequence[str]:
        """Return the labels of the key of a change's rule: that of its name in whose lifetime the match lies."""
        return next((labels for le, re, labels in self.keys.get(change.rule, ()) if le <= change.le < re), ())


def table_of_changes(changes: Sequence[Any], like: Table, columns: RuleColumns, front: Core) -> Any:
    """Return changes of rules as a table of the kind of another."""
    rows = []
    for change in changes:
        labels = columns.labels_of(change)
        parts = change.key if len(labels) > 1 else (change.key,)
        rows.append(dict(zip(labels, parts)) | dict(zip(change.payload._fields, change.payload)))
    made: list[Any] = [[change.rule for change in changes], *([row.get(name) for row in rows] for name in columns.fields)]
    made += [np.array([change[i] for change in changes], np.int64) for i in (1, 2, 3)]
    fields = [Field(RULE, str, False), *columns.fields.values(), *(Field(name, int, False) for name in ("le", "re", "diff"))]
    if columns.has_members:
        made.append([change.members for change in changes])
        fields.append(Field("members", None, True))
    leave = leaving(TimeType.of(like, front.tick), like.kind, columns.shown)
    return Answer(made, fields, {}, leave).to(like)


def answer(out: Sequence[Any], come: CallInput, columns: RuleColumns, front: Core) -> Any:
    """Return the output of a call with tables in the form of its input: a table; or a list that begins with one."""
    like = come.like
    assert like is not None
    changes = [item for item in out if isinstance(item, Change)]
    if not come.listed:
        return table_of_changes(changes, like, columns, front)
    found: list[Any] = []
    held: list[Any] = []
    for item in (*out, None):
        if isinstance(item, Change):
            held.append(item)
            continue
        if held or not found:
            found.append(table_of_changes(held, like, columns, front))
            held = []
        if isinstance(item, Punctuation):
            found.append(item)
    return found
