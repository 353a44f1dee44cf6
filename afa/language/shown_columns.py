"""The columns of a MATCH_RECOGNIZE in a whole statement: names that fields can have, and values that leave as they came.

    MEASURES LAST(price) AS low       of a DECIMAL: LAST(afa_row) AS low, and the answer takes the price of the row of that number
    MEASURES SUM(price) AS total      of a DECIMAL: SUM(afa_row_units_price), ints, of which the answer makes DECIMALs
    PARTITION BY ip                   of a UUID: PARTITION BY afa_row_key_0, the number of its value in the table
    PARTITION BY "the key"            PARTITION BY column_0

In a stream rows have no numbers: there values, and sums, are what afa has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from sqlglot import exp

from afa.language.engine_share import navigated, put
from afa.language.sql_statement import RowPatternMatch, Word
from afa.language.sql_text import plain

ROW = "afa_row"
"""The field that numbers rows."""
UNITS = f"{ROW}_units_"
"""Before the name of a column: the field with its DECIMALs in units of their last digit."""
BESIDE = ("le", "re", "diff", ROW)
"""What comes with each match beside its columns; a column that is called so goes by another name meanwhile."""


class ShownColumn(NamedTuple):
    """A column of an answer: its name in SQL, that in what afa answers, and whether it is one of the rows in front."""

    name: str
    field: str
    at: str | None  # the measure that is the number of the row whose value it is; None: it is a measure itself
    of_match: bool = False  # whether MEASURES have it
    scale: int | None = None  # of a SUM of DECIMALs


def shows_rows(match: RowPatternMatch) -> bool:
    return match.rows is not None and match.rows.said.upper().startswith("ALL")


def fields_of(columns: Sequence[str], measures: Sequence[str]) -> dict[str, str]:
    """Return by each name in small letters the name that it has for afa: another one, where no field is called so."""
    from afa.io.event_class import is_field  # which loads pyarrow

    found: dict[str, str] = {}
    known = {name.lower() for name in (*columns, *measures)}
    for name in (*columns, *measures):
        if is_field(name) and name.lower() not in BESIDE:
            found.setdefault(name.lower(), name)
        elif name.lower() not in found:
            found[name.lower()] = next(each for i in range(len(known) + 1) if (each := f"column_{i}") not in known)
            known.add(found[name.lower()])
    return found


def renamed_columns(match: RowPatternMatch, fields: Mapping[str, str]) -> RowPatternMatch:
    """Return a MATCH_RECOGNIZE in which columns and measures have the names that they have for afa."""
    for node, _ in match.nodes():
        for column in node.find_all(exp.Column):
            name, around = column.name.lower(), column.parent
            of_variable = isinstance(around, exp.Anonymous) and around.name.upper() == "CLASSIFIER"
            if not of_variable and isinstance(column.this, exp.Identifier) and name in fields:
                column.this.set("this", fields[name])  # as it is written there, too
    measures = [each._replace(name=Word(fields[plain(each.name.said).lower()], each.name.place)) for each in match.measures]
    return replace(match, measures=tuple(measures))


def by_rows(match: RowPatternMatch, events: Any) -> tuple[RowPatternMatch, dict[str, str]]:
    """Return a MATCH_RECOGNIZE over a whole table in which MEASURES are numbers of rows, where a field would not hold their values.

    And the columns of which these are, by their names.
    """
    from afa.io.event_class import is_as_in  # which loads pyarrow

    if ROW not in events.names:
        return match, {}
    first, found, measures = match.order[0].this.name if match.order else "", dict[str, str](), []
    known, before = {name.lower() for name in events.names}, dict[str, Any]()
    for each in match.measures:
        each = each._replace(value=put(each.value.copy(), before))
        value = _of_the_row(each.value.copy())
        column = navigated(value)
        if column is not None and column.name in events.names and not is_as_in(events, column.name, first):
            found[each.name.said] = column.name
            if each.name.said.lower() not in known:
                before[each.name.said.lower()] = exp.paren(each.value)
            column.this.replace(exp.to_identifier(ROW))
            each = each._replace(value=value)
        measures.append(each)
    return replace(match, measures=tuple(measures)), found


def with_units(match: RowPatternMatch, events: Any) -> tuple[RowPatternMatch, dict[str, int]]:
    """Return a MATCH_RECOGNIZE over a whole table with units in place of DECIMALs, where they are summed, or compared as they are.

    And the scales of the sums, by measures. In a stream all but these are as they were.
    """
    from afa.io.event_class import scale_in_units  # which loads pyarrow

    scales, measures, defines = dict[str, int](), [], []
    in_table = ROW in events.names

    def in_units(columns: Sequence[Any]) -> int | None:
        """Let columns be those of their units, if they have one scale; return that."""
        found = {None if each is None else scale_in_units(events, each.name) for each in columns}
        scale = found.pop() if len(found) == 1 else None
        for each in columns if scale is not None and in_table else ():
            each.this.set("this", f"{UNITS}{each.name}")
        return scale

    for each in match.measures:
        value = each.value.copy()
        scale = in_units([_summed(value)])
        scales |= {} if scale is None else {each.name.said: scale}
        extreme = value.unnest()
        if isinstance(extreme, exp.ArgMax | exp.ArgMin) and isinstance(extreme.expression, exp.Column):
            in_units([extreme.expression])
        measures.append(each._replace(value=value))
    for each in match.defines:
        value = each.value.copy()
        for node in value.find_all(exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Between):
            in_units([navigated(side) for side in node.iter_expressions()])
        defines.append(each._replace(value=value))
    return replace(match, measures=tuple(measures), defines=tuple(defines)), scales


def _summed(value: Any) -> Any:
    """Return the column whose SUM a value is; None: it is none."""
    node = value.unnest()
    if isinstance(node, exp.Anonymous) and str(node.this).upper() == "FINAL" and node.expressions:
        node = node.expressions[0]
    node = node.this if isinstance(node, exp.Filter) else node
    return node.this if isinstance(node, exp.Sum) and isinstance(node.this, exp.Column) else None


def _of_the_row(value: Any) -> Any:
    """Return MAX(x) as MAX_BY(x, x), the x of one row, and MIN likewise; any other value as it is."""
    node = value.unnest()
    if not isinstance(node, exp.Max | exp.Min) or not isinstance(node.this, exp.Column) or node.expressions:
        return value
    made = exp.ArgMax if isinstance(node, exp.Max) else exp.ArgMin
    return made(this=node.this, expression=node.this.copy())


def shown_columns(
    match: RowPatternMatch,
    columns: Sequence[str],
    measures: Sequence[str],
    fields: Mapping[str, str],
    of_rows: Mapping[str, str],
    scales: Mapping[str, int],
) -> tuple[ShownColumn, ...]:
    """Return the columns of an answer in SQL's order."""
    named = {fields[column.lower()].lower(): column for column in columns}
    first = [node.name.lower() for node in match.partition]
    rest: list[str] = []
    if shows_rows(match):
        first += [each.this.name.lower() for each in match.order]
        rest = list(named)
    inputs = {name: ShownColumn(named[name], fields[named[name].lower()], ROW) for name in (*first, *rest) if name in named}
    behind = [each for name, each in inputs.items() if name not in first]
    found = {name: fields[name.lower()] for name in measures}
    shown = [
        ShownColumn(name, of_rows.get(field, field), field if field in of_rows else None, True, scales.get(field))
        for name, field in found.items()
    ]
    return (*(inputs[name] for name in dict.fromkeys(first) if name in inputs), *shown, *behind)


def numbers_of(match: RowPatternMatch, events: Any) -> dict[str, str]:
    """Return by columns of PARTITION BY in a whole table whose values no field holds as they are fields for their numbers.

    These stand there in their place.
    """
    from afa.io.event_class import is_beyond_fields  # which loads pyarrow

    found: dict[str, str] = {}
    for node in match.partition if ROW in events.names else ():
        if isinstance(node, exp.Column) and node.name in events.names and is_beyond_fields(events.field(node.name).type):
            node.this.set("this", found.setdefault(node.name, f"{ROW}_key_{len(found)}"))
    return found
