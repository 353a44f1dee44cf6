"""Matches of many rules: as changes, and as one table: a column ``rule``, then those of all rules, null where one has none."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from afa.change import Change, RuleChange, put_in_order
from afa.errors import AfaError
from afa.io.answer import Answer, as_arrow
from afa.io.table_times import TimeType, leaving
from afa.operator.call import Core
from afa.operator.tables import CallInput
from afa.rules.pair_batch import MatchRows
from afa.schema import Field, Schema, any_payload
from punctuation.door import Table, arrow_type
from punctuation.promise import Punctuation

RULE, MEMBERS, AROUND = "rule", "members", ("rule", "le", "re", "diff", "members")
TIMES = tuple(Field(name, int, False) for name in ("le", "re", "diff"))


class RuleForm(NamedTuple):
    """What changes of a rule look like: its name, the fields of its key, what its matches show, whether they have members."""

    name: str
    labels: tuple[str, ...]
    shown: Schema
    has_members: bool = False

    @property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """What a match is called: the fields of its key, and its own."""
        return self.labels, tuple(field.name for field in self.shown.fields)


class OwnRows(NamedTuple):
    """Changes of matches of one rule."""

    form: RuleForm
    changes: list[Change]


class RuleColumns(NamedTuple):
    """The columns of a set: those of keys, then of matches, by name. ``times``, ``dates``: which of them are such."""

    events: Schema
    keys: Mapping[str, Field]
    fields: Mapping[str, Field]
    times: frozenset[str] = frozenset()
    dates: frozenset[str] = frozenset()
    has_members: bool = False

    @classmethod
    def of(cls, forms: Iterable[RuleForm], events: Schema) -> RuleColumns:
        """Make them of rules. Raises `AfaError` as `with_form`."""
        found = cls(events, {}, {})
        for form in forms:
            found = found.with_form(form)
        return found

    def with_form(self, form: RuleForm) -> RuleColumns:
        """Return the columns with those of one more rule. Costs the rule's columns, where they are there already.

        Raises `AfaError` where columns of one name have two types, or the name of a column beside them.
        """
        known, shown = {field.name: field for field in self.events.fields}, form.shown
        keys = {label: known[label] for label in form.labels if label in known}
        fields = {field.name: field for field in shown.fields}
        times = {*shown.times, *(name for name in keys if name in self.events.times)}
        dates = {*shown.dates, *(name for name in keys if name in self.events.dates)}
        for name, field in (*keys.items(), *fields.items()):
            there = self.keys.get(name) or self.fields.get(name) or keys.get(name) or field
            if name in AROUND:
                raise AfaError(f"rule {form.name!r}: expected a match without a field {name!r}, a column beside all matches")
            if there.type is not field.type:
                kinds = " and ".join(sorted(getattr(kind, "__name__", "any") for kind in (there.type, field.type)))
                raise AfaError(f"rule {form.name!r}: expected one type of the column {name!r} in all rules but got {kinds}")
            if (name in self.keys or name in self.fields) and (name in times) != (name in self.times):
                raise AfaError(
                    f"rule {form.name!r}: expected one type of the column {name!r} in all rules but got times and numbers"
                )
        more = self.has_members or form.has_members
        if more == self.has_members and keys.keys() <= self.keys.keys() and fields.keys() <= self.fields.keys():
            return self
        keys, fields = ({name: f._replace(optional=True) for name, f in part.items()} for part in (keys, fields))
        return self._replace(
            keys={**self.keys, **keys},
            fields={**self.fields, **fields},
            times=self.times | times,
            dates=self.dates | dates,
            has_members=more,
        )

    @property
    def all(self) -> list[Field]:
        """The columns between ``rule`` and the times."""
        return list({**self.keys, **self.fields}.values())

    @property
    def shown(self) -> Schema:
        """What leaves, with what is known of its times."""
        return self.events._replace(fields=tuple(self.all), times=tuple(self.times), dates=tuple(self.dates), instant=None)


def changes_of(found: Sequence[Any], forms: Mapping[int, RuleForm]) -> list[RuleChange]:
    """Return rows of matches as changes in the order of output; ``forms``: by the numbers of rules."""
    return [change for _, change in _with_forms(found, forms)]


def _with_forms(found: Sequence[Any], forms: Mapping[int, RuleForm]) -> list[tuple[RuleForm, RuleChange]]:
    out: list[tuple[RuleForm, RuleChange]] = []
    for rows in found:
        if isinstance(rows, OwnRows):
            out += [(rows.form, RuleChange.of(change, rows.form.name, change.members)) for change in rows.changes]
        else:
            out += _changes_of_rows(rows, forms)
    if len(out) < 2:
        return out
    out.sort(key=lambda pair: pair[0].name)
    form_of = {id(change): form for form, change in out}
    changes: list[Any] = [change for _, change in out]
    put_in_order(changes)
    return [(form_of[id(change)], change) for change in changes]


def _changes_of_rows(rows: MatchRows, forms: Mapping[int, RuleForm]) -> Iterable[tuple[RuleForm, RuleChange]]:
    fields, keys = (
        [column if isinstance(column, list) else column.to_pylist() for column in part] for part in (rows.fields, rows.keys)
    )
    n = len(rows.number)
    parts = keys[0] if len(keys) == 1 else list(zip(*keys)) if keys else [None] * n
    records = zip(*fields) if fields else [()] * n
    times = zip(*(column.tolist() for column in (rows.number, rows.le, rows.re, rows.diff)))
    for record, key, (number, le, re, diff) in zip(records, parts, times):
        form = forms[number]
        payload = any_payload(form.shown.cls._make(record))  # type: ignore[attr-defined]
        yield form, RuleChange.of(Change(payload, le, re, diff, any_payload(key)), form.name)


def table_of_rows(batches: Sequence[Any], forms: Mapping[int, RuleForm], columns: RuleColumns, like: Table, front: Core) -> Any:
    """Return rows of matches, each batch of them in the order of output, as a table of the kind of another."""
    import pyarrow as pa

    fields = [Field(RULE, str, False), *columns.all, *TIMES]
    fields += [Field(MEMBERS, None, True)] if columns.has_members else []
    leave = leaving(TimeType.of(like, front.tick), like.kind, columns.shown)
    if any(field.type is None for field in fields):  # values that Arrow may not hold
        listed = _listed([pair for found in batches for pair in _with_forms(found, forms)], [field.name for field in fields])
        return Answer(listed, fields, {}, leave).to(like)
    schema = pa.schema([(field.name, arrow_type(field.type)) for field in fields])
    parts = [schema.empty_table(), *(table for found in batches for table in _sorted_table(found, forms, schema))]
    made: list[Any] = pa.concat_tables(parts, promote_options="default").columns
    if not like.in_arrow:  # where a missing float is None, as it is without rules
        made = [column.to_pylist() if column.null_count else column for column in made]
    return Answer(made, fields, {}, leave).to(like)


def _sorted_table(found: Sequence[Any], forms: Mapping[int, RuleForm], schema: Any) -> Iterable[Any]:
    """Yield rows of one call as an Arrow table; nothing where there are none."""
    import pyarrow as pa

    parts = [part for rows in found for part in _tables(rows, forms, schema)]
    if not parts:
        return
    whole = pa.concat_tables(parts, promote_options="default")
    if len(whole) > 1:
        le, re, diff = (whole.column(name).to_numpy() for name in ("le", "re", "diff"))
        coded = whole.column(RULE).combine_chunks().dictionary_encode()
        rule = np.argsort(np.argsort(coded.dictionary.to_numpy(zero_copy_only=False)))[coded.indices.to_numpy()]
        whole = whole.take(pa.array(np.lexsort((rule, re, le, diff > 0))))
    yield whole


def _tables(rows: Any, forms: Mapping[int, RuleForm], schema: Any) -> Iterable[Any]:
    """Yield rows as Arrow tables, one for each way of naming columns."""
    import pyarrow as pa

    if isinstance(rows, OwnRows):
        if rows.changes:
            names = [RULE, *rows.form.labels, *(field.name for field in rows.form.shown.fields), *(field.name for field in TIMES)]
            wanted = [schema.field(name) for name in dict.fromkeys(names)]
            listed = _listed(_with_forms([rows], forms), [field.name for field in wanted])
            yield pa.table([as_arrow(column, field.type, field.name) for column, field in zip(listed, wanted)], pa.schema(wanted))
        return
    naming: dict[tuple[Any, ...], list[int]] = {}
    numbers, places = np.unique(rows.number, return_inverse=True)
    for place, number in enumerate(numbers.tolist()):
        form = forms[number]
        naming.setdefault((form.labels, form.shown.fields), []).append(place)
    rules = pa.array([forms[number].name for number in numbers.tolist()], pa.string())
    for (labels, shown), some in naming.items():
        given = {RULE: rules.take(pa.array(places))} | dict(zip(labels, rows.keys))
        given |= dict(zip((field.name for field in shown), rows.fields))
        given |= {"le": rows.le, "re": rows.re, "diff": rows.diff}
        table = pa.table(
            {name: as_arrow(column, None, name) if isinstance(column, list) else column for name, column in given.items()}
        )
        yield table if len(naming) == 1 else table.filter(pa.array(np.isin(places, some)))


def _listed(pairs: Sequence[tuple[RuleForm, RuleChange]], names: Sequence[str]) -> list[Any]:
    """Return changes as columns of Python's values."""
    rows = []
    for form, change in pairs:
        key = change.key if len(form.labels) > 1 else (change.key,)
        row = {RULE: form.name, "le": change.le, "re": change.re, "diff": change.diff, MEMBERS: change.members}
        rows.append(row | dict(zip(form.labels, key)) | dict(zip(change.payload._fields, change.payload)))
    return [[row.get(name) for row in rows] for name in names]


def answer(found: Sequence[Any], come: CallInput, forms: Mapping[int, RuleForm], columns: RuleColumns, front: Core) -> Any:
    """Return the output of a call with tables, batches of rows and watermarks, in the form of its input: a table; or a list."""
    like = come.like
    assert like is not None
    parts: list[Any] = [[]]
    for item in found:
        if isinstance(item, Punctuation):
            parts += [item, []]
        elif item:
            parts[-1].append(item)
    if not come.listed:
        batches = [batch for part in parts if isinstance(part, list) for batch in part]
        return table_of_rows(batches, forms, columns, like, front)
    return [
        part if isinstance(part, Punctuation) else table_of_rows(part, forms, columns, like, front)
        for i, part in enumerate(parts)
        if i == 0 or part
    ]
