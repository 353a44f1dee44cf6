"""What of a statement in SQL is read: a white list. Every other node of sqlglot's tree, every other argument is refused by name.

A place in the statement has a name. The table says which nodes may stand there, and which arguments each may have, with the place
that an argument is; one without a place is a word, a flag or a number. What sqlglot learns, or calls by another name, is refused.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from afa.language.sase_grammar import RefusedError
from afa.language.sql_text import SqlText

FUNCTIONS = (
    "functions: SUM AVG MIN MAX COUNT COUNT_IF ARRAY_AGG LISTAGG ANY_VALUE MAX_BY MIN_BY FIRST LAST PREV NEXT CLASSIFIER ABS MOD "
    "COALESCE LIKE CASE CAST ROUND FLOOR CEIL SQRT POWER EXP LN LOG SIGN SIN COS TAN ASIN ACOS ATAN ATAN2 GREATEST LEAST NULLIF IF "
    "LOWER UPPER LENGTH SUBSTR TRIM CONCAT REGEXP_LIKE EXTRACT DATE_TRUNC DATEDIFF; afa.duckdb.sql(con, text), or "
    "afa.spark.sql(spark, text), takes other functions of a row, too"
)
ROWS = ("Sum", "Avg", "Min", "Max", "Count", "First", "Last")
TWO = "this:value expression:value"
READ = {
    "view": {"Select": "expressions:projected where:filter"},
    "projected": {"Star": "", "Column": "this:starred table:name", "Alias": "this:value alias:name"},
    "statement": {"Select": "expressions:list from_:from where:filter distinct:distinct order:output"},
    "list": {"Star": "", "Column": "this:starred table:name", "Alias": "this:value alias:name"},
    "distinct": {"Distinct": ""},
    "starred": {"Identifier": "this quoted", "Star": ""},
    "name": {"Identifier": "this quoted"},
    "from": {"From": "this:from", "Table": "this:name alias:alias"},
    "relation": {"Table": "this:name db:name catalog:name alias:alias"},
    "alias": {"TableAlias": "this:name"},
    "word": {"Var": "this", "Literal": "this is_string", "IntervalSpan": "this:word expression:word"},
    "column": {"Column": "this:name table:name"},
    "order": {"Ordered": "this:column desc nulls_first"},
    "ranked": {"Ordered": "this:value desc nulls_first"},
    "output": {"Order": "expressions:output", "Ordered": "this:sorted desc nulls_first"},
    "sorted": {"Column": "this:name table:name", "Literal": "this"},
    "filter": {"Where": "this:value"},
    "any": {"AnyValue": "this:value", "IgnoreNulls": "this:any", "ArrayAgg": "this:value nulls_excluded"},
    "branch": {"If": "this:value true:value"},
    "type": {"DataType": "this expressions:size"},
    "size": {"DataTypeParam": "this:size", "Literal": "this"},
    "offset": {"Literal": "this"},
    "length": {"Literal": "this is_string"},
    "value": {
        **dict.fromkeys(("EQ", "NEQ", "LT", "LTE", "GT", "GTE", "Add", "Sub", "Mul", "And", "Or", "Is"), TWO),
        **dict.fromkeys(("Pow", "Atan2", "Log", "IntDiv", "Nullif", "NullSafeEQ", "NullSafeNEQ", "Escape"), TWO),
        **dict.fromkeys(("Like", "ILike"), f"{TWO} negate"),
        "Div": f"{TWO} typed safe",
        "Mod": f"{TWO} safe",
        **dict.fromkeys(("StartsWith", "EndsWith", "Contains"), TWO),
        **dict.fromkeys(("Paren", "Neg", "Not", "Abs", "Sqrt", "Exp", "Ln", "Sin", "Cos", "Tan", "Asin", "Acos"), "this:value"),
        **dict.fromkeys(("Atan", "Degrees", "Radians", "Sign", "Floor", "Ceil", "Lower", "Upper", "Date"), "this:value"),
        **dict.fromkeys(("Year", "Quarter", "Month", "Day", "DayOfMonth", "DayOfYear", "Hour", "Minute", "Second"), "this:value"),
        "TsOrDsToDate": "this:value",
        **dict.fromkeys(("Greatest", "Least"), "this:value expressions:value ignore_nulls"),
        "TimestampTrunc": "this:value unit:word input_type_preserved",
        "DateTrunc": "this:value unit:word",
        "DateStrToDate": "this:value",
        **dict.fromkeys(("StrToDate", "StrToTime"), "this:value format:value"),
        "DateDiff": f"{TWO} unit:word date_part_boundary",
        "TimestampDiff": f"{TWO} unit:word",
        "DateAdd": f"{TWO} unit:word",
        "Pi": "",
        "Round": "this:value decimals:value casts_non_integer_decimals",
        "Trunc": "this:value fractions_supported",
        "If": "this:value true:value false:value",
        "Nvl2": "this:value true:value false:value",
        "Length": "this:value binary",
        "Substring": "this:value start:value length:value zero_start",
        "Trim": "this:value expression:value position",
        "DPipe": f"{TWO} safe",
        "Concat": "expressions:value safe coalesce",
        "RegexpLike": f"{TWO} flag:value full_match",
        "Extract": "this:word expression:value",
        **dict.fromkeys(("Sum", "Avg", "Min", "Max", "AnyValue"), "this:value"),
        **dict.fromkeys(("First", "Last"), "this:value expression:offset"),
        **dict.fromkeys(("Lag", "Lead"), "this:value offset:offset"),
        **dict.fromkeys(("ArgMax", "ArgMin"), TWO),
        "IgnoreNulls": "this:any",
        "Filter": "this:value expression:filter",
        "CountIf": "this:value zero_on_all_null",
        "Count": "this:value big_int",
        "ArrayAgg": "this:value nulls_excluded",
        "GroupConcat": "this:value separator:value",
        "WithinGroup": TWO,
        "Distinct": "expressions:value",
        "Order": "this:value expressions:order",
        "Star": "",
        "Column": "this:starred table:name",
        "Literal": "this is_string",
        "Boolean": "this",
        "Null": "",
        "Between": "this:value low:value high:value symmetric",
        "In": "this:value expressions:value",
        "Coalesce": "this:value expressions:value is_nvl",
        "Case": "this:value ifs:branch default:value",
        **dict.fromkeys(("Cast", "TryCast"), "this:value to:type"),
        "Interval": "this:length unit:word",
        "Anonymous": "this expressions:value",
    },
}  # fmt: skip
WANTED = {
    "statement": "one SELECT .. FROM .. MATCH_RECOGNIZE (..)", "column": "a column",
    **dict.fromkeys(("from", "relation"), "the name of a table in FROM"),
    "projected": "* or value AS name in an inline view",
    "list": "* or names of MEASURES in SELECT", **dict.fromkeys(("order", "ranked"), "columns in ORDER BY"),
    "sorted": "columns in ORDER BY", "starred": "a column", "offset": "an offset from 0 to 64",
    "length": "a number in INTERVAL",
    "filter": "(WHERE condition) in FILTER",
    "any": "ANY_VALUE(x) or ARRAY_AGG(x) before IGNORE NULLS", "value": "an expression over rows",
}  # fmt: skip
ALONE = {
    "Select": "SELECT .. FROM name MATCH_RECOGNIZE (..)", "Star": "*", "Table": "the name of a table", "TableAlias": "a name",
    **{kind: f"one column in {kind.upper()}" for kind in ROWS},
}  # fmt: skip
CALLED = {
    "joins": "JOIN", "group": "GROUP BY", "except_": "EXCLUDE", "sample": "TABLESAMPLE", "when": "AT", "pivots": "PIVOT",
    "cluster": "CLUSTER BY", "sort": "SORT BY", "distribute": "DISTRIBUTE BY", "TableFromRows": "TABLE (..)",
}  # fmt: skip
BEFORE = "filter rows before they come, or matches when they leave"
SUMMED = "add a field to the event for it"
HINTS = {
    "Select": BEFORE, "Star": "name the columns of MEASURES", "relation": BEFORE, "Table": BEFORE, "value": FUNCTIONS,
    "from": "write the SELECT with MATCH_RECOGNIZE alone, and select from what it answers",
    "list": "give an expression a name, AS name", "column": SUMMED,
    "Lag": "COALESCE says what stands for a row that is not there",
    "Lead": "COALESCE says what stands for a row that is not there",
    "TableAlias": "its columns have the names of the event's fields, or of MEASURES",
}  # fmt: skip


@functools.cache
def read_of(place: str) -> dict[str, dict[str, str]]:
    """Returns the classes of nodes that may stand at a place, and of each its arguments, each with the place that it is.

    >>> read_of("from")["From"], read_of("filter")
    ({'this': 'from'}, {'Where': {'this': 'value'}})
    """
    return {
        kind: {name: at for name, _, at in (each.partition(":") for each in args.split())} for kind, args in READ[place].items()
    }


def check(node: Any, text: SqlText, place: str = "statement") -> None:
    """Refuse what is not read, the first in the order of the tree. Raises `RefusedError`."""
    waiting = [(node, place)]
    while waiting:
        each, at = waiting.pop()
        waiting += reversed(list(below(each, at, text)))


def below(node: Any, place: str, text: SqlText) -> Iterator[tuple[Any, str]]:
    """Yields the nodes directly below one, each with its place."""
    kind = type(node).__name__
    known = read_of(place).get(kind)
    if known is None:
        raise _unread(node, place, text)
    for name, value in node.args.items():
        parts = [
            each
            for each in (value if isinstance(value, list) else [value])
            if each is not None and each is not False and each != ""
        ]
        if not parts:
            continue
        if name not in known or any(hasattr(each, "iter_expressions") != bool(known[name]) for each in parts):
            raise _beside(node, name, parts, text)
        yield from ((each, known[name]) for each in parts if known[name])


def _unread(node: Any, place: str, text: SqlText) -> RefusedError:
    from sqlglot import exp

    wanted = WANTED.get(place, f"a {place}")
    hint = HINTS.get(type(node).__name__ if place not in ("from", "relation") else "", HINTS.get(place, ""))
    if isinstance(node.parent, exp.AggFunc) and place == "column":
        wanted = f"a column in {type(node.parent).__name__.upper()}"
    return RefusedError(f"expected {wanted} but got {text.quoted(node)!r}{'; ' * bool(hint)}{hint}", text.place(node))


def _beside(node: Any, name: str, values: list[Any], text: SqlText) -> RefusedError:
    kind = type(node).__name__
    if kind == "DataType":
        cast = node.parent or node
        wanted = "CAST to INT, DOUBLE, DECIMAL(p, s), VARCHAR, DATE or TIMESTAMP"
        return RefusedError(f"expected {wanted} but got {text.quoted(cast)!r}", text.place(cast))
    wanted, called, said = ALONE.get(kind, kind.upper()), CALLED.get(name, name.strip("_").upper()), text.quoted(node)
    hint = HINTS.get(kind)
    way = f"; {hint}" if hint else ""
    places = [text.place(each) for each in values if hasattr(each, "iter_expressions")]
    if kind == "Select":
        return RefusedError(f"expected {wanted} alone but got {called} beside it{way}", min(places, default=0))
    if name == "expressions" or kind == "Ordered":
        return RefusedError(f"expected {wanted} but got {said!r}{way}", text.place(node))
    called = name if name == "columns" else called
    return RefusedError(f"expected {wanted} alone but got {called} beside it: {said!r}{way}", text.place(node))
