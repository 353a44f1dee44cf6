"""What a whole statement of SQL answers over a table: each MATCH_RECOGNIZE by `row_matcher`, all around it by DuckDB.

The statement's own text is read here, in any of the dialects, by little more than regular expressions; values of rows by sqlglot.
"""

from __future__ import annotations

import datetime as dt
import re
from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from tests.language.row_matcher import Alt, Anchor, Cat, Clauses, Hidden, Node, Permute, Rep, Var
from tests.language.row_values import OPS, TableRow, both, either, known, label, number, over, reach

FOREVER = 2**62
WORD = r"[A-Za-z_]\w*"
UNITS = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": 10**6, "MINUTE": 60 * 10**6, "HOUR": 3600 * 10**6, "DAY": 86400 * 10**6}


@cache
def _database() -> Any:
    return duckdb.connect()


def connection() -> Any:
    """A connection with views of its own, to the one database of the process: a database of its own takes 22 ms, this takes 1."""
    return _database().cursor()


def answered(text: str, tables: dict[str, list[dict[str, Any]]]) -> tuple[list[str], Counter[Any]]:
    """The columns and the rows of a statement, each as often as it has it."""
    text = re.sub(r"--[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).replace("`", '"').strip().rstrip(";")
    con = connection()
    for name, rows in tables.items():
        con.register(name, pa.Table.from_pylist(rows))
    for i in range(9):
        found = re.search(r"\bMATCH_RECOGNIZE\b", text, re.IGNORECASE)
        if found is None:
            break
        start, relation = before(text, found.start())
        end = closing(text, text.index("(", found.end()))
        columns, rows = table_of(con, f"{withs(text, start)} SELECT * FROM {relation}")
        shown = matched(unquoted(text[text.index("(", found.end()) + 1 : end]), columns, rows)
        con.register(f"matches{i}", shown)
        text = f"{text[:start]} matches{i} {text[end + 1 :]}"
    columns, rows = table_of(con, text)
    return columns, Counter(tuple(plain(row[name]) for name in columns) for row in rows)


def table_of(con: Any, text: str) -> tuple[list[str], list[dict[str, Any]]]:
    """What DuckDB answers."""
    found = con.execute(text)
    names = [each[0].lower() for each in found.description]
    return names, [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def plain(value: Any) -> Any:
    """A value that can be counted, and is equal to what another engine gives."""
    if isinstance(value, list | tuple):
        return tuple(map(plain, value))
    if isinstance(value, dt.date):
        return str(value).removesuffix(" 00:00:00")
    return round(float(value), 9) if hasattr(value, "as_integer_ratio") and not isinstance(value, int) else value


# -- the text --------------------------------------------------------------------------------------------------------------------


def closing(text: str, at: int) -> int:
    """Where a parenthesis is closed."""
    deep, quote = 0, ""
    for i in range(at, len(text)):
        if quote or text[i] in "'\"":
            quote = (quote if text[i] != quote else "") if quote else text[i]
        deep += 0 if quote else (text[i] == "(") - (text[i] == ")")
        if deep == 0:
            return i
    raise ValueError(f"expected ) behind {text[at:]!r}")


def before(text: str, at: int) -> tuple[int, str]:
    """Where the relation in front of a place begins, and its text."""
    spans = [(i, closing(text, i)) for i, each in enumerate(text[:at]) if each == "(" and closing(text, i) < at]
    for tail in ("", rf"\s*(?:\bAS\b)?\s*\b(?!FROM\b){WORD}"):
        for start, end in spans:
            if re.fullmatch(rf"{tail}\s*", text[end + 1 : at], re.IGNORECASE):
                return start, text[start:at]
    found = re.search(rf"\b(?:FROM|JOIN)\s+([\w.\"]+(?:\s+(?:AS\s+)?{WORD})?)\s*$", text[:at], re.IGNORECASE)
    if found is None:
        raise ValueError(f"expected a relation before {text[at:]!r}")
    return found.start(1), found[1]


def withs(text: str, at: int) -> str:
    """WITH and the tables that it names before a place."""
    found, i = [], re.match(r"\s*WITH\b", text, re.IGNORECASE)
    here = i.end() if i else at
    while (each := re.match(rf"\s*,?\s*{WORD}\s+AS\s*\(", text[here:], re.IGNORECASE)) and here < at:
        end = closing(text, here + each.end() - 1)
        if end < at:
            found.append(text[here : end + 1].strip(" ,\n"))
        here = end + 1
    return f"WITH {', '.join(found)}" if found else ""


def unquoted(text: str) -> str:
    """Names without their quotes."""
    return re.sub(r'"(\w+)"', r"\1", text)


CLAUSES = re.compile(
    r"\b(PARTITION\s+BY|ORDER\s+BY|MEASURES|ONE\s+ROW\s+PER\s+MATCH|ALL\s+ROWS\s+PER\s+MATCH|AFTER\s+MATCH\s+SKIP|PATTERN|WITHIN|SUBSET|DEFINE)\b",
    re.IGNORECASE,
)


def clauses_of(text: str) -> dict[str, str]:
    """The clauses by their names."""
    flat = list(text)
    for i, each in enumerate(text):
        if each == "(" and flat[i] == "(":
            end = closing(text, i)
            flat[i + 1 : end] = " " * (end - i - 1)
    places = [*CLAUSES.finditer("".join(flat))]
    ends = [*(each.start() for each in places[1:]), len(text)]
    return {" ".join(each[0].upper().split()): text[each.end() : end].strip() for each, end in zip(places, ends, strict=True)}


def split(text: str) -> list[str]:
    """What stands between commas."""
    found, here = [""], 0
    while here < len(text):
        end = closing(text, here) + 1 if text[here] == "(" else text.index("'", here + 1) + 1 if text[here] == "'" else here + 1
        if text[here] == ",":
            found.append("")
        else:
            found[-1] += text[here:end]
        here = end
    return [each.strip() for each in found if each.strip()]


# -- patterns --------------------------------------------------------------------------------------------------------------------

TOKENS = re.compile(rf"\s*({WORD}|\{{-|-\}}|\{{[\d, ]*\}}\??|[*+?]\??|.)", re.DOTALL)


def pattern_of(text: str) -> Node:
    """A pattern."""
    tokens = [each[1] for each in TOKENS.finditer(text.strip())]

    def either_of() -> Node:
        parts = [row()]
        while tokens and tokens[0] == "|":
            tokens.pop(0)
            parts.append(row())
        return Alt(tuple(parts)) if len(parts) > 1 else parts[0]

    def row() -> Node:
        parts: list[Node] = []
        while tokens and tokens[0] not in ("|", ")", "-}", ","):
            parts.append(repeated(tokens.pop(0)))
        return Cat(tuple(parts))

    def repeated(token: str) -> Node:
        part = one(token)
        while tokens and (tokens[0][0] in "*+?" or re.match(r"\{[^-]", tokens[0])):
            word = tokens.pop(0)
            greedy = len(word) == 1 or not word.endswith("?")
            low, _, high = word.rstrip("?").strip("{} ").partition(",") if word[0] == "{" else ("", "", "")
            counts = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(word[0])
            if counts is None:
                counts = (int(low or 0), (int(high) if high.strip() else None) if "," in word else int(low))
            part = Rep(part, counts[0], counts[1], greedy)
        return part

    def one(token: str) -> Node:
        if token in ("^", "$"):
            return Anchor(token == "$")
        if token == "(" or token == "{-":
            inner = either_of()
            tokens.pop(0)
            return Hidden(inner) if token == "{-" else inner
        if token.upper() == "PERMUTE":
            tokens.pop(0)
            parts = [either_of()]
            while tokens.pop(0) == ",":
                parts.append(either_of())
            return Permute(tuple(parts))
        return Var(token.upper())

    return either_of()


# -- values ----------------------------------------------------------------------------------------------------------------------

ROWS = "FIRST|LAST|PREV|NEXT|LAG|LEAD|SUM|COUNT|AVG|MIN|MAX|ARRAY_AGG|MAX_BY|MIN_BY|ARBITRARY|ANY_VALUE|STRING_AGG|LISTAGG"
CALLED = {
    "ARRAY_AGG": "array",
    "MAX_BY": "max by",
    "MIN_BY": "min by",
    "STRING_AGG": "texts",
    "ARBITRARY": "any",
    "ANY_VALUE": "any",
}
BINARY = {
    exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.Add: "+", exp.Sub: "-", exp.Mul: "*",
}  # fmt: skip


def expression(text: str) -> Any:
    """An expression as sqlglot reads it, whose functions over rows are names that it does not know."""
    text = re.sub(
        rf"\b(?:(FINAL|RUNNING)\s+)?({ROWS}|CLASSIFIER|MATCH_NUMBER)\s*\(",
        lambda m: f"{m[1] or 'PLAIN'}__{m[2]}(",
        text,
        flags=re.I,
    )
    return sqlglot.parse_one(text)


class Values:
    """Reads values: of a match (``row`` False), or of one row."""

    def __init__(self, earlier: dict[str, Callable[..., Any]]) -> None:
        self.earlier = earlier

    def of(self, node: Any, row: bool = False) -> Callable[..., Any]:
        """A value."""
        if isinstance(node, exp.Column):
            name, table = node.name.lower(), node.table.upper()
            if not row and not table and name in self.earlier:
                return self.earlier[name]
            column = lambda each, took: each[name]  # noqa: E731
            return column if row else reach(column, table)
        if isinstance(node, exp.Filter):
            return self.over_rows(node.this, node.expression.this)
        if isinstance(node, exp.Anonymous) and node.name.upper() == "MATCH_SEQUENCE_NUMBER":
            return over("count", lambda row, name: 1)
        if isinstance(node, exp.Anonymous) and "__" in node.name:
            return self.over_rows(node, row=row)
        return self.scalar(node, row)

    def scalar(self, node: Any, row: bool) -> Callable[..., Any]:
        """What is of values alone."""
        of = lambda each: self.of(each, row)  # noqa: E731
        if isinstance(node, exp.Paren):
            return of(node.this)
        if isinstance(node, exp.Literal):
            constant = node.this if node.is_string else float(node.this) if "." in node.this else int(node.this)
            return lambda *rest: constant
        if isinstance(node, exp.Boolean | exp.Null):
            truth = node.this if isinstance(node, exp.Boolean) else None
            return lambda *rest: truth
        if isinstance(node, exp.Interval):
            span = dt.timedelta(microseconds=int(node.this.name) * UNITS[node.unit.name.upper().rstrip("S")])
            return lambda *rest: span
        if isinstance(node, exp.And | exp.Or):
            return (both if isinstance(node, exp.And) else either)(of(node.this), of(node.expression))
        if isinstance(node, exp.Not):
            return known(lambda one: not one, of(node.this))
        if isinstance(node, exp.Neg):
            return known(lambda one: -one, of(node.this))
        if isinstance(node, exp.Div):
            return known(lambda x, y: x / y, of(node.this), of(node.expression))
        if isinstance(node, exp.Is):
            one, other = of(node.this), of(node.expression)
            return lambda *rest: one(*rest) is other(*rest)
        if isinstance(node, exp.Between):
            return known(lambda x, low, high: low <= x <= high, of(node.this), of(node.args["low"]), of(node.args["high"]))
        if isinstance(node, exp.In):
            return either(*(known(OPS["="], of(node.this), of(each)) for each in node.expressions))
        if isinstance(node, exp.Like):
            like = re.compile(re.escape(node.expression.name).replace("%", ".*").replace("_", "."), re.DOTALL)
            return known(lambda one: like.fullmatch(one) is not None, of(node.this))
        if isinstance(node, exp.Case):
            return self.case(node, row)
        if isinstance(node, exp.Coalesce):
            some = [of(each) for each in (node.this, *node.expressions)]
            return lambda *rest: next((found for each in some if (found := each(*rest)) is not None), None)
        if isinstance(node, exp.Abs | exp.Upper | exp.Lower | exp.Length):
            made = {"Abs": abs, "Upper": str.upper, "Lower": str.lower, "Length": len}[type(node).__name__]
            return known(made, of(node.this))
        if isinstance(node, exp.Cast) and node.to.is_type("timestamp", "date"):
            made = dt.date.fromisoformat if node.to.is_type("date") else dt.datetime.fromisoformat
            return known(lambda one: made(one) if isinstance(one, str) else one, of(node.this))
        return known(OPS[BINARY[type(node)]], of(node.this), of(node.expression))

    def case(self, node: Any, row: bool) -> Callable[..., Any]:
        ways = [(self.of(each.this, row), self.of(each.args["true"], row)) for each in node.args["ifs"]]
        other = self.of(node.args["default"], row) if node.args.get("default") else lambda *rest: None
        return lambda *rest: (
            next((then(*rest) for when, then in ways if when(*rest) is True), None)
            if any(when(*rest) is True for when, _ in ways)
            else other(*rest)
        )

    def over_rows(self, node: Any, where: Any = None, row: bool = False) -> Callable[..., Any]:
        """FIRST, PREV, SUM, CLASSIFIER .."""
        word, _, kind = node.name.upper().partition("__")
        final, args = word == "FINAL", node.expressions
        if kind == "MATCH_NUMBER":
            return number
        if kind == "CLASSIFIER":
            return label if row else reach(label, args[0].name.upper() if args else "")
        step, first, k, of = 0, False, 0, args[0] if args else exp.Star()
        if kind in ("PREV", "NEXT", "LAG", "LEAD"):
            step = (int(args[1].name) if len(args) > 1 else 1) * (-1 if kind in ("PREV", "LAG") else 1)
            if isinstance(of, exp.Anonymous) and of.name.upper().endswith(("__FIRST", "__LAST")):
                word, _, kind = of.name.upper().partition("__")
                final, args, of = word == "FINAL", of.expressions, of.expressions[0]
            else:
                kind, args = "LAST", args[:1]
        name = variable_of(of)
        if kind in ("FIRST", "LAST"):
            first, k = kind == "FIRST", int(args[1].name) if len(args) > 1 else 0
            return reach(self.of(of, True), name, first=first, k=k, final=final, step=step)
        return self.aggregate(kind, of, args, name, final, where)

    def aggregate(self, kind: str, of: Any, args: list[Any], name: str, final: bool, where: Any) -> Callable[..., Any]:
        filtered = None if where is None else self.of(where, True)
        if isinstance(of, exp.Star) or isinstance(of.this, exp.Star):
            return over("count", lambda each, took: 1, name, final=final, where=filtered)
        if isinstance(of, exp.Distinct):
            return over(
                "count distinct", self.of(of.expressions[0], True), variable_of(of.expressions[0]), final=final, where=filtered
            )
        by = self.of(args[1], True) if kind in ("MAX_BY", "MIN_BY") else None
        called = CALLED.get(kind, kind.lower())
        return over(called, self.of(of, True), name, final=final, where=filtered, by=by)


def variable_of(node: Any) -> str:
    """Which variable a value of rows is of; "" for all."""
    names = [each.table.upper() for each in node.find_all(exp.Column) if each.table]
    classifiers = [each for each in node.find_all(exp.Anonymous) if each.name.upper().endswith("__CLASSIFIER") and each.expressions]
    return names[0] if names else classifiers[0].expressions[0].name.upper() if classifiers else ""


# -- one MATCH_RECOGNIZE ---------------------------------------------------------------------------------------------------------


def matched(text: str, columns: list[str], rows: list[dict[str, Any]]) -> Any:
    """The table that it makes of rows."""
    at = clauses_of(text)
    names, values = list[str](), dict[str, Callable[..., Any]]()
    for each in split(at.get("MEASURES", "")):
        said = re.fullmatch(rf"(.*?)\s+AS\s+({WORD})", each, re.IGNORECASE | re.DOTALL)
        assert said is not None, each
        values[said[2].lower()] = Values(values).of(expression(said[1]))
        names.append(said[2].lower())
    define = {}
    for each in split(at.get("DEFINE", "")):
        name, condition = re.split(r"\s+AS\s+", each, maxsplit=1, flags=re.IGNORECASE)
        define[name.upper()] = Values({}).of(expression(condition))
    key = [expression(each) for each in split(at.get("PARTITION BY", ""))]
    keys = [Values({}).of(each, True) for each in key]
    ordered = [TableRow(Columns(row), le, FOREVER) for le, row in in_order(at.get("ORDER BY", ""), rows)]
    every = at.get("ALL ROWS PER MATCH")
    clauses = Clauses(
        pattern_of(at["PATTERN"][1:-1]),
        define,
        tuple(values.values()),
        partition=lambda row: tuple(each(row, None) for each in keys),
        order=lambda row: 0,
        rows="one" if every is None else ways_of(every),
        skip=skip_of(at.get("AFTER MATCH SKIP", "")),
        window=window_of(at.get("WITHIN")),
        subsets={
            each.split("=")[0].strip().upper(): tuple(name.strip().upper() for name in each.split("=")[1].strip(" ()").split(","))
            for each in split(at.get("SUBSET", ""))
        },
    )
    shown = list[dict[str, Any]]()
    for (part, found, _, _), n in clauses.answer(ordered).items():
        of, measured = (dict(zip(map(named, key), part, strict=True)), found) if every is None else found
        shown += [{**of, **dict(zip(names, measured, strict=True))}] * n
    kept = [*map(named, key)] if every is None else columns
    return pa.table({name: pa.array([row[name] for row in shown]) for name in dict.fromkeys([*kept, *names])})


def named(node: Any) -> str:
    """The name of a column of PARTITION BY, or its text."""
    return str(node.name if isinstance(node, exp.Column) else node.sql()).lower()


class Columns(dict[str, Any]):
    """A row that can be counted."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(tuple(self.items()))


def ways_of(every: str) -> str:
    words = every.upper().split()
    return {"SHOW": "show", "OMIT": "omit", "WITH": "unmatched"}[words[0]] if words else "show"


def skip_of(text: str) -> Any:
    words = text.upper().split()
    if not words or words[0] == "PAST":
        return "past"
    return "next" if words[1:] == ["NEXT", "ROW"] else ("first" if words[1] == "FIRST" and len(words) > 2 else "last", words[-1])


def window_of(text: str | None) -> int | None:
    if text is None:
        return None
    found = re.fullmatch(r"INTERVAL\s*'(\d+)'\s*(\w+)", text, re.IGNORECASE)
    return int(found[1]) * UNITS[found[2].upper().rstrip("S")] if found else int(text)


def in_order(text: str, rows: list[dict[str, Any]]) -> list[tuple[int, dict[str, Any]]]:
    """Rows in the order of ORDER BY, each with its time, as ticks."""
    found, first = list(rows), ""
    for each in reversed(split(text)):
        name, *words = each.upper().split()
        first = name = name.rpartition(".")[2].lower()
        nulls = [row for row in found if row[name] is None]
        there = sorted((row for row in found if row[name] is not None), key=lambda row: row[name], reverse="DESC" in words)
        found = nulls + there if words[-1:] == ["FIRST"] else there + nulls
    return [(ticks(row.get(first), i), row) for i, row in enumerate(found)]


def ticks(value: Any, i: int) -> int:
    if isinstance(value, dt.date):
        whole = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
        return (whole - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    return value if isinstance(value, int) else i
