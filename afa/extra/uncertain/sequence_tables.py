"""Tables of events with uncertain times into a `Sequence`, and its matches as tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.extra.uncertain.distributions import UNIFORM, Distribution, shape_of
from afa.extra.uncertain.interval import Between
from afa.extra.uncertain.sequence_pattern import ONE, SequencePattern
from afa.extra.uncertain.told_tables import TIMES
from afa.io.answer import Answer, as_arrow
from afa.io.listed_columns import listed_columns
from afa.io.table_times import TimeType
from afa.schema import Field, as_ticks
from punctuation.door import Table, arrow_type

OTHERS: Mapping[str, tuple[Any, bool]] = {"confidence": (float, False), "subsets": (int, True)}
"""What a column holds that is no component and no field of the key, and whether it may be beyond int64: others hold int64."""


class IntervalColumns(NamedTuple):
    """The columns of the ends of intervals, and the distribution over each."""

    lower: str
    upper: str
    shape: Distribution


def columns_of(lower: Any, upper: Any, shape: Any) -> IntervalColumns:
    """Returns which columns hold times. AfaError: they are no names."""
    for name, given in (("lower", lower), ("upper", upper)):
        if not isinstance(given, str) or given == "diff":
            raise AfaError(f"expected the name of a column but got {name}={given!r}")
    return IntervalColumns(lower, upper, shape_of(shape))


def changes_of(pattern: SequencePattern, columns: IntervalColumns, table: Table, tick: str | None) -> Iterator[Change]:
    """Yields the rows of a table, whose times are ticks, as changes. ChangeError: a column is missing, or holds other values."""
    fields, ends = pattern.schema.fields, (columns.lower, columns.upper)
    names = [field.name for field in fields]
    found = listed_columns(table, [*names, *ends], {field.name: field for field in fields}, tick, (*ends, "diff"))
    payloads = zip(*(found[name] for name in names)) if names else itertools.repeat(())
    lower, upper = (found[name] for name in ends)
    make: Any = pattern.schema.cls
    for payload, low, high, diff in zip(payloads, lower, upper, found.get("diff", itertools.repeat(1))):
        low, high = as_ticks(low, columns.lower, tick), as_ticks(high, columns.upper, tick)
        yield Change(make(*payload), Between(low, high, columns.shape if low < high else UNIFORM), None, diff)  # type: ignore[arg-type]


def answer(pattern: SequencePattern, like: Table, columns: Mapping[str, Any], tick: str | None) -> Any:
    """Returns matches as a table of the kind of the one that came.

    ``columns``: of each component what tells its events apart, ``subsets``, ``confidence``, ``first``, ``last``, ``le``, ``re``,
    ``diff``, and the fields of the key.
    """
    known = {field.name: field for field in pattern.schema.fields}
    fields, made = [], dict(columns)
    kinds = {each.name: each.kind for each in pattern.components}
    for name in columns:
        if name in kinds:
            single = kinds[name] == ONE and pattern.single_identity
            fields.append(known[pattern.identity[0]]._replace(name=name) if single else Field(name, None, True))
            if like.in_arrow and not single:
                made[name] = _in_arrow(pattern, columns[name], kinds[name] != ONE, name)
        else:
            fields.append(known[name] if name in pattern.key else Field(name, *OTHERS.get(name, (int, False))))
    keys = {name: like.column(name) for name in pattern.key}
    times = TimeType.of(like, tick)
    return Answer(list(made.values()), fields, keys, {} if times is None else dict.fromkeys(TIMES, times)).to(like)


def columns_of_changes(pattern: SequencePattern, changes: Sequence[Change]) -> dict[str, Any]:
    """Returns changes of matches as columns, for `answer`."""
    names = [*pattern.match._fields, "le", "re", "diff"]
    rows = [(*change.payload, change.le, change.re, change.diff) for change in changes]
    columns = dict(zip(names, map(list, zip(*rows)))) if rows else {name: [] for name in names}
    for place, name in enumerate(pattern.key):
        columns.setdefault(name, [change.key if pattern.single_key else change.key[place] for change in changes])
    return columns


def _in_arrow(pattern: SequencePattern, column: Sequence[Any], several: bool, name: str) -> Any:
    """Returns what tells the events of a component apart as an Arrow array: a struct of its fields, a list of them of a closure."""
    import pyarrow as pa

    names = pattern.identity or tuple(field.name for field in pattern.schema.fields)
    fields = [field for field in pattern.schema.fields if field.name in names]
    kinds = [field.type for field in fields if field.type is not None]
    if len(kinds) < len(fields):
        raise ChangeError(f"expected an identity of int, float, bool and str for the column {name!r} but got other fields")
    kind, values = arrow_type(kinds[0]), list(column)
    if not pattern.single_identity:
        kind = pa.struct([(field.name, arrow_type(of)) for field, of in zip(fields, kinds)])
        values = [[dict(zip(names, each)) for each in of] if several else dict(zip(names, of)) for of in column]
    return as_arrow(values, pa.list_(kind) if several else kind, name)
