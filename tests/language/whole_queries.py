"""Random queries of SQL with all clauses: each as text, in the form of one of three dialects, and as what `row_matcher` matches.

What a query may have is switched by features. One is on where the library reads its `PROBES`, so that what is being built is asked
for from the day on which it is there.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from decimal import Decimal
from math import factorial
from typing import Any, NamedTuple

import pyarrow as pa

import afa
from afa import AfaError, insert
from tests.language.row_matcher import Alt, Anchor, Cat, Clauses, Hidden, Node, Permute, Rep, Var
from tests.language.row_values import OPS, OfRow, TableRow, both, either, known, label, number, over, reach
from tests.strategies import Choices, Seeded


class Row(NamedTuple):
    """A row of the table; ``n`` differs from row to row and goes with their order."""

    key: str | None
    kind: str | None
    v: int | None
    f: float | None
    d: Decimal | None
    n: int
    seq: int
    at: int | None = None


TEXT, INT = pa.string(), pa.int64()
KINDS = {"key": TEXT, "kind": TEXT, "v": INT, "f": pa.float64(), "d": pa.decimal128(9, 2), "n": INT, "seq": INT, "at": INT}
COLUMNS = pa.schema([pa.field(name, kind, nullable=name not in ("n", "seq", "at")) for name, kind in KINDS.items()])
DECIMALS = tuple(map(Decimal, ("0.10", "0.20", "0.30", "0.70", "1.10")))
"""Of which floats make other sums."""
WRITTEN = ("0.10", "0.20", "0.30", "0.70", "1.10", "0.5", "10.00", "5.", "1.0", "-0.30", "-2.00", "0.100", ".50", "0.0")
"""Literals with a point: zeros at the end count in the text of what is calculated with them."""


# -- features --------------------------------------------------------------------------------------------------------------------


def probe(measures: str = "A.v AS m0", pattern: str = "A B", define: str = "A AS v > 0", **at: str) -> str:
    """A statement; ``seq``, ``rows``, ``skip``, ``of``, ``select``, ``tail``: what stands at other places."""
    return (
        f"{at.get('head', '')} SELECT {at.get('select', '*')} FROM {at.get('of', 't')} MATCH_RECOGNIZE (PARTITION BY key "
        f"ORDER BY {at.get('order', 'at, seq')} MEASURES {measures} {at.get('rows', 'ONE ROW PER MATCH')} {at.get('skip', '')} "
        f"PATTERN ({pattern}) WITHIN {at.get('within', '5')} DEFINE {define}) {at.get('tail', '')}"
    )


PROBES = {
    "MATCH_NUMBER": probe("MATCH_NUMBER() AS m0"),
    "empty": probe(pattern="A*"),
    "()": probe(pattern="A () B"),
    "empty shown": probe(pattern="A*", rows="ALL ROWS PER MATCH SHOW EMPTY MATCHES"),
    "PREV before": probe(define="A AS v > PREV(v, 2)"),
    "NEXT": probe(define="A AS v > NEXT(v)"),
    "PREV in MEASURES": probe("PREV(A.v) AS m0"),
    "NEXT in MEASURES": probe("NEXT(A.v, 2) AS m0"),
    "nested": probe("PREV(LAST(A.v, 1), 2) AS m0"),
    "nested in DEFINE": probe(define="B AS v > PREV(FIRST(A.v), 1)"),
    "^": probe(pattern="^ A B"),
    "$": probe(pattern="A B $"),
    "LAG": probe(pattern="A B", define="B AS v > LAG(v)"),
    "FIRST k": probe("FIRST(A.v, 1) AS m0"),
    "expression in aggregates": probe("SUM(A.v * A.n) AS m0"),
    "expression in navigation": probe("LAST(A.v + 1) AS m0"),
    "CASE in aggregates": probe("SUM(CASE WHEN A.kind = 'x' THEN A.v ELSE 0 END) AS m0"),
    "COUNT(DISTINCT)": probe("COUNT(DISTINCT A.v) AS m0"),
    "ARRAY_AGG": probe("ARRAY_AGG(A.v) AS m0"),
    "LISTAGG": probe("LISTAGG(A.kind, ',') AS m0"),
    "WITHIN GROUP": probe("LISTAGG(A.kind, ',') WITHIN GROUP (ORDER BY at) AS m0"),
    "MAX_BY": probe("MAX_BY(A.v, A.n) AS m0"),
    "CLASSIFIER(U)": probe("CLASSIFIER(A) AS m0"),
    "FIRST(CLASSIFIER())": probe("FIRST(CLASSIFIER()) AS m0"),
    "LAST(CLASSIFIER(), k)": probe("LAST(CLASSIFIER(), 1) AS m0"),
    "PREV(CLASSIFIER())": probe("PREV(CLASSIFIER()) AS m0"),
    "CLASSIFIER() in DEFINE": probe(define="B AS LAST(CLASSIFIER(), 1) = 'A'"),
    "{,}": probe(pattern="A B{,}"),
    "backticks": probe("`A`.`v` AS `m0`"),
    "INTERVAL": probe(within="INTERVAL '5' SECOND"),
    "DESC": probe(order="at, seq DESC"),
    "computed": probe(order="at, seq * 2").replace("BY key", "BY UPPER(key)"),
    "qualified": probe().replace("BY key", "BY t.key"),
    "WHERE": probe(tail="WHERE m0 > 1"),
    "SELECT expressions": probe(select="m0 + 1 AS x"),
    "DISTINCT": probe(select="DISTINCT m0"),
    "inline view": probe(of="(SELECT * FROM t WHERE v < 3)"),
    "projection": probe(of="(SELECT key, kind, v + 1 AS v, f, d * 1.1 AS d, n, seq, at FROM t)"),
    "CTE": probe(of="u", head="WITH u AS (SELECT * FROM t WHERE v < 3)"),
    "IN": probe(define="A AS v IN (n, 1)"),
    "DECIMAL": probe("SUM(A.d * 0.1) AS m0", define="B AS d = A.d + 0.1"),
}


@functools.cache
def taken(text: str) -> bool:
    """Whether the library takes a statement."""
    try:
        afa.sql(text, event=COLUMNS, tick="s").operator()
    except AfaError:
        return False
    return True


ALL = {"rows": "ALL ROWS PER MATCH"}
BEHAVIOURS: dict[str, tuple[str, tuple[Any, ...], str | None, list[Any]]] = {
    "bag": (probe("B.v AS m0", "A+ B", "B AS v > 4", skip="AFTER MATCH SKIP TO NEXT ROW"), (0, 0, 5), "k", [5, 5]),
    "NULL key": (probe(), (1, 1), None, [1]),
    "arithmetic of NULL": (probe("A.n + LAST(A.v, 2) AS m0", **ALL), (1, 1), "k", [None, None]),
    "MIN of NULL": (probe("RUNNING MIN(v) AS m0", "A{2}", "A AS AVG(A.v) > 0", **ALL), (1, None), "k", [1, 1]),
    "unmatched": (probe("COUNT(*) AS m0", rows="ALL ROWS PER MATCH WITH UNMATCHED ROWS"), (0, 1, 1), "k", [None, 1, 2]),
    "FILTER": (probe("SUM(A.n) FILTER (WHERE A.v = 3) AS m0", "A{3}", "A AS n >= 0"), (None, 3, None), "k", [1]),
    "FILTER in DEFINE": (probe("A.n AS m0", "A", "A AS COUNT(*) FILTER (WHERE A.v = 3) = 1"), (1, None, 3), "k", [2]),
}
"""What the library may take and not do yet: a statement, the values ``v`` of rows of a key, what it must show."""


@functools.cache
def features() -> frozenset[str]:
    """What the library has by now: the names of `PROBES` that it takes, of `BEHAVIOURS` that it does."""
    found = {name for name, text in PROBES.items() if taken(text)}
    for name, (text, values, key, expected) in BEHAVIOURS.items():
        within = text if name != "bag" else text.replace("WITHIN 5", "")
        try:
            made = afa.sql(within, event=COLUMNS)
            rows = [insert(made.event(key, "x", v, 0.0, None, le, 0, None), le) for le, v in enumerate(values)]
            ways = [made.operator(engine=engine).push_many(rows) for engine in ("compiled", "interpreted")]
        except Exception:  # a fault of the library, too
            continue
        if all(Counter(expected) == net(out) for out in ways):
            found.add(name)
    return frozenset(found)


def net(out: list[Any]) -> Counter[Any]:
    """What changes leave in force of ``m0``."""
    found = Counter[Any]()
    for each in out:
        found[each.payload.m0] += each.diff
    return +found


# -- text of three dialects ------------------------------------------------------------------------------------------------------

DIALECTS = ("iso", "snowflake", "flink")


def written(text: str, dialect: str, has: frozenset[str]) -> str:
    """A text whose names stand in [ ], as a dialect has it: Snowflake quotes them and says LAG and LEAD, Flink has backticks."""
    if dialect == "snowflake" and "LAG" in has:
        text = text.replace("PREV(", "LAG(").replace("NEXT(", "LEAD(")
    quotes = {"iso": ("", ""), "snowflake": ('"', '"'), "flink": ("`", "`") if "backticks" in has else ("", "")}[dialect]
    return text.replace("[", quotes[0]).replace("]", quotes[1])


class Said(NamedTuple):
    """Something as text, and what it means."""

    text: str
    value: Any


@dataclass(frozen=True)
class Statement:
    """A query with what stands around it; ``keeps`` and ``made``: what happens to a row in front, ``shows`` to one behind."""

    dialect: str
    has: frozenset[str]
    clauses: Clauses
    texts: dict[str, str]
    measures: tuple[str, ...]
    define: dict[str, str]
    keeps: OfRow | None = None
    made: Callable[[Row], Row] = lambda row: row
    where: Callable[..., Any] | None = None
    select: tuple[Said, ...] | None = None
    distinct: bool = False
    names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The statement."""
        at = self.texts
        measures = ", ".join(f"{text} AS [m{i}]" for i, text in enumerate(self.measures))
        define = ", ".join(f"[{name}] AS {text}" for name, text in self.define.items())
        inner = (
            f"{at['key']} ORDER BY {at['order']} MEASURES {measures} {at['rows']} {at['skip']} PATTERN ({at['pattern']}) "
            f"{at['within']} {at['subset']} {'DEFINE ' + define if define else ''}"
        )
        whole = f"{at['head']}SELECT {at['select']} FROM {at['of']} MATCH_RECOGNIZE ({inner}) {at['tail']}"
        return written(whole, self.dialect, self.has)

    def without(self, what: Any) -> Statement:
        """The statement with one thing less: a measure's number that becomes COUNT(*), a variable's condition."""
        if isinstance(what, int):
            measures, values = list(self.measures), list(self.clauses.measures)
            measures[what], values[what] = "COUNT(*)", over("count", lambda row, name: 1)
            return replace(self, measures=tuple(measures), clauses=replace(self.clauses, measures=tuple(values)))
        define = {name: text for name, text in self.define.items() if name != what}
        clauses = replace(self.clauses, define={name: self.clauses.define[name] for name in define})
        return replace(self, define=define, clauses=clauses)

    def answer(self, table: list[TableRow], patience: int) -> Any:
        """What must be shown: each (partition, values, le, re), as often as SQL has it."""
        rows = [row for row in table if self.keeps is None or self.keeps(row.of, None) is True]
        found = self.clauses.answer([row._replace(of=self.made(row.of)) for row in rows], patience)
        shown: Any = type(found)()
        for (key, values, le, re), n in found.items():
            if self.where is None or self.where(values) is True:
                shown[key, values if self.select is None else tuple(each.value(values) for each in self.select), le, re] += n
        return type(found)(set(shown)) if self.distinct or "bag" not in self.has else shown


def of_scale(value: OfRow, scale: int, other: Decimal | int) -> OfRow:
    """A value that is an int, or a DECIMAL of a scale, or the other one: of the larger scale of both."""
    if not scale and isinstance(other, int):
        return value
    last = Decimal(1).scaleb(min(-scale, int(Decimal(other).as_tuple().exponent)))
    return known(lambda one: Decimal(one).quantize(last), value)


# -- random values ---------------------------------------------------------------------------------------------------------------

VARIABLES = ("A", "B", "C", "D")


def column(name: str) -> OfRow:
    return lambda row, took: getattr(row, name)


@dataclass
class Maker:
    """Makes one query. ``names``: the variables of its pattern, and its subsets; ``measures``: whether a value is a measure."""

    choose: Choices
    has: frozenset[str]
    names: tuple[str, ...] = VARIABLES
    subsets: dict[str, tuple[str, ...]] = field(default_factory=dict)
    measures: bool = False
    all_rows: bool = False

    def on(self, *features: str, chance: int = 100) -> bool:
        return self.has.issuperset(features) and self.choose.chance(chance)

    def variable(self) -> str:
        """One that a value is of; "" for all rows."""
        return self.choose.one(("", *self.names, *self.subsets))

    def row_value(self, of: str, what: str) -> Said:
        """An int of one row, an expression where a feature says so."""
        at = f"[{of}]." if of else ""
        name = "d" if self.on("DECIMAL", chance=25) else self.choose.one(("v", "v", "n"))
        plain = Said(f"{at}[{name}]", column(name))
        if self.on(f"expression in {what}", chance=30):
            other, op = self.choose.one(("v", "n")), self.choose.one(("+", "-", "*"))
            right = Said(f"{at}[{other}]", column(other))
            right = self.decimal() if self.on("DECIMAL", chance=30) else right
            return Said(f"{plain.text} {op} {right.text}", known(OPS[op], plain.value, right.value))
        if what == "aggregates" and self.on("CASE in aggregates", chance=15):
            kind, other = self.choose.one("xyz"), self.decimal() if self.on("DECIMAL", chance=40) else Said("0", lambda *of: 0)
            either_of = lambda row, took: plain.value(row, took) if row.kind == kind else other.value()  # noqa: E731
            value = of_scale(either_of, 2 if name == "d" else 0, other.value())
            return Said(f"CASE WHEN {at}[kind] = '{kind}' THEN {plain.text} ELSE {other.text} END", value)
        return plain

    def decimal(self) -> Said:
        """A number with a point; its value needs no row."""
        one = self.choose.one(WRITTEN)
        return Said(one, lambda *of: Decimal(one))

    def final(self) -> tuple[str, bool]:
        """FINAL or RUNNING, and whether it is the former; only measures have FINAL."""
        if not self.measures:
            return "", False
        word = self.choose.one(("", "", "RUNNING ", "FINAL "))
        return word, word == "FINAL "

    def navigation(self, texts: bool = False) -> Said:
        """FIRST, LAST, PREV, NEXT, or a column alone."""
        of, choose = self.variable(), self.choose
        at = f"[{of}]." if of else ""
        if texts:
            row = Said(f"{at}[kind]", column("kind"))
        else:
            row = self.row_value(of, "navigation") if choose.chance(40) else Said(f"{at}[v]", column("v"))
        bare = row if "[" in row.text and " " not in row.text else Said(f"{at}[v]", column("v"))
        if choose.chance(35):
            return Said(bare.text, reach(bare.value, of))
        word, final = self.final()
        if choose.chance(60):
            first, k = choose.chance(50), choose.one((0, 0, 1, 2))
            k = 0 if first and "FIRST k" not in self.has else k
            text = f"{'FIRST' if first else 'LAST'}({row.text}{f', {k}' if k else ''})"
            value = {"first": first, "k": k}
            if self.on("nested" if self.measures else "nested in DEFINE", chance=35):
                step = choose.one((-2, -1, 1, 2) if self.on("NEXT in MEASURES" if self.measures else "NEXT") else (-2, -1))
                inner = f"{word}{text}"
                text = f"{'PREV' if step < 0 else 'NEXT'}({inner}{f', {abs(step)}' if abs(step) > 1 or choose.chance(50) else ''})"
                return Said(text, reach(row.value, of, final=final, step=step, **value))
            return Said(f"{word}{text}", reach(row.value, of, final=final, **value))
        return self.beside(of, row)

    def beside(self, of: str, row: Said) -> Said:
        """PREV or NEXT."""
        before = self.on("PREV in MEASURES") if self.measures else True
        after = self.on("NEXT in MEASURES" if self.measures else "NEXT")
        ways = [-1, -1, -2, -3] * before + [1, 1, 2] * after
        if not ways or (not self.measures and of and not self.on("nested in DEFINE")):
            return Said(row.text, reach(row.value, of)) if " " not in row.text else self.navigation()
        step = self.choose.one(ways)
        word = "PREV" if step < 0 else "NEXT"
        return Said(f"{word}({row.text}{f', {abs(step)}' if abs(step) > 1 else ''})", reach(row.value, of, step=step))

    def aggregate(self) -> Said:
        """SUM, COUNT and the like."""
        of, choose = self.variable(), self.choose
        word, final = self.final()
        if choose.chance(30):
            star = choose.one(("*", f"[{of}].*")) if of else "*"
            return Said(f"{word}COUNT({star})", over("count", lambda row, took: 1, "" if star == "*" else of, final=final))
        row, kind = self.row_value(of, "aggregates"), choose.one(("sum", "min", "max", "avg", "count"))
        if kind in ("min", "max") and "MIN of NULL" not in self.has:
            kind = "avg"
        text, by, where, condition = f"{kind.upper()}({row.text})", None, None, ""
        at = f"[{of}]." if of else ""
        if self.measures and self.on("COUNT(DISTINCT)", chance=15):
            kind, text = "count distinct", f"COUNT(DISTINCT {row.text})"
        elif self.measures and self.on("MAX_BY", chance=10):
            kind, by = choose.one(("max by", "min by")), column("n")
            text = f"{kind.upper().replace(' ', '_')}({row.text}, {at}[n])"
        elif self.measures and self.on("ARRAY_AGG", chance=15):
            kind, text = "array", f"ARRAY_AGG({row.text})"
        elif self.measures and self.on("LISTAGG", chance=20):
            kind, row = "texts", self.text_value(at)
            text = f"{choose.one(('LISTAGG', 'STRING_AGG'))}({row.text}, ',')"
            text += " WITHIN GROUP (ORDER BY [at])" if self.on("WITHIN GROUP", chance=30) else ""
        if self.on(*(("FILTER",) if self.measures else ("FILTER", "FILTER in DEFINE")), chance=15):
            test = choose.one("xyz")
            where, condition = known(OPS["="], column("kind"), lambda row, took: test), f" FILTER (WHERE {at}[kind] = '{test}')"
        return Said(f"{word}{text}{condition}", over(kind, row.value, of, final=final, where=where, by=by))

    def text_value(self, at: str) -> Said:
        """A text of a row."""
        if self.on("FIRST(CLASSIFIER())", chance=30):
            return Said(f"CLASSIFIER({at[:-1]}) || {at}[kind]", known(lambda name, kind: name + kind, label, column("kind")))
        return Said(f"{at}[kind]", column("kind"))

    def number(self) -> Said:
        """A value that is a number."""
        choose = self.choose
        found = self.navigation() if choose.chance(65) else self.aggregate()
        if "_AGG" in found.text or "LISTAGG" in found.text:
            return found
        op = choose.one(("+", "-", "*"))
        if self.on("DECIMAL", chance=15):
            other = self.decimal()
            return Said(f"{found.text} {op} {other.text}", known(OPS[op], found.value, other.value))
        if not self.on("arithmetic of NULL", chance=20):
            return found
        other = self.navigation()
        return Said(f"{found.text} {op} ({other.text})", known(OPS[op], found.value, other.value))

    def classifier(self) -> Said:
        """CLASSIFIER() and of it."""
        choose, of = self.choose, self.variable()
        ways = ["()"] + ["(U)"] * self.on("CLASSIFIER(U)") + ["first"] * self.on("FIRST(CLASSIFIER())")
        ways += ["last"] * self.on("LAST(CLASSIFIER(), k)")
        ways += ["beside"] * self.on("PREV(CLASSIFIER())")
        way = choose.one(ways)
        if way == "beside":
            k, step = choose.number(0, 2), choose.one((-2, -1, -1, 1, 2))
            inner = f"LAST(CLASSIFIER(), {k})" if k or choose.chance(30) else "CLASSIFIER()"
            return Said(f"{'PREV' if step < 0 else 'NEXT'}({inner}, {abs(step)})", reach(label, k=k, step=step))
        if way == "()":
            return Said("CLASSIFIER()", reach(label))
        if way == "(U)":
            return Said(f"CLASSIFIER({f'[{of}]' if of else ''})", reach(label, of))
        k = choose.number(0, 2) if way == "last" or self.on("FIRST k") else 0
        word, final = self.final()
        of = of if self.on("CLASSIFIER(U)") else ""
        text = f"{word}{way.upper()}(CLASSIFIER({f'[{of}]' if of else ''}){f', {k}' if k else ''})"
        return Said(text, reach(label, of, first=way == "first", k=k, final=final))

    def measure(self) -> Said:
        choose = self.choose
        if self.on("MATCH_NUMBER", chance=20):
            return Said("MATCH_NUMBER()", number)
        if self.on("DECIMAL", chance=3):
            return self.decimal()
        if choose.chance(20):
            return self.classifier()
        return self.navigation(texts=True) if choose.chance(15) else self.number()

    # -- conditions

    def condition(self, deep: int = 2) -> Said:
        """A condition, true, false or unknown."""
        choose = self.choose
        if deep and choose.chance(30):
            parts, word = [self.condition(deep - 1) for _ in range(2)], choose.one(("AND", "OR"))
            text = f" {word} ".join(f"({each.text})" for each in parts)
            return Said(text, (both if word == "AND" else either)(*(each.value for each in parts)))
        if deep and choose.chance(8):
            part = self.condition(deep - 1)
            return Said(f"NOT ({part.text})", known(lambda one: not one, part.value))
        if choose.chance(30):
            return self.of_kind()
        if self.on("CLASSIFIER() in DEFINE", chance=6):
            name = choose.one(self.names)
            value = known(OPS["="], reach(label, k=1), lambda seen: name)
            return Said(f"LAST(CLASSIFIER(), 1) = '{name}'", value)
        if choose.chance(8):
            one, word = self.navigation(), choose.one(("IS NULL", "IS NOT NULL"))
            return Said(f"{one.text} {word}", lambda seen: (one.value(seen) is None) == (word == "IS NULL"))
        if self.on("IN", chance=8):
            one, other = Said("[v]", reach(column("v"))), self.navigation()
            last = self.decimal() if self.on("DECIMAL", chance=30) else Said("1", lambda seen: 1)
            value = either(known(OPS["="], one.value, other.value), known(OPS["="], one.value, last.value))
            return Said(f"[v] IN ({other.text}, {last.text})", value)
        op, left = choose.one(("<", "<=", ">", ">=", "=", "<>")), "d" if self.on("DECIMAL", chance=25) else "v"
        one = Said(f"[{left}]", reach(column(left))) if choose.chance(60) else self.number()
        constant = choose.number(0, 3)
        decimal = left == "d" or self.on("DECIMAL", chance=15)
        other = self.decimal() if decimal else Said(str(constant), lambda seen: constant)
        other = other if choose.chance(45) else self.number()
        return Said(f"{one.text} {op} {other.text}", known(OPS[op], one.value, other.value))

    def of_kind(self) -> Said:
        """A condition on the row's kind, or its value, alone."""
        choose = self.choose
        kind, op = choose.one("xyz"), choose.one(("=", "=", "<>"))
        if choose.chance(25):
            pair = choose.one(("xy", "yz"))
            value = lambda row: known(lambda one: one in pair, row)  # noqa: E731
            return Said(f"[kind] IN ('{pair[0]}', '{pair[1]}')", value(reach(column("kind"))))
        return Said(f"[kind] {op} '{kind}'", known(OPS[op], reach(column("kind")), lambda seen: kind))

    # -- patterns

    def pattern(self, deep: int = 3) -> tuple[str, Node]:
        choose = self.choose
        parts = [self.part(deep) for _ in range(choose.one((1, 2, 2, 3, 3)))]
        return " ".join(text for text, _ in parts), Cat(tuple(node for _, node in parts))

    def part(self, deep: int) -> tuple[str, Node]:
        """A part with a quantifier, or without."""
        choose = self.choose
        if self.on("()", chance=3):
            return "()", Cat(())
        text, node = self.group(deep - 1) if deep and choose.chance(30) else self.one()
        if choose.chance(50):
            word, low, high = choose.one(
                (("+", 1, None), ("*", 0, None), ("?", 0, 1), ("{2}", 2, 2), ("{1,3}", 1, 3), ("{2,}", 2, None), ("{,2}", 0, 2))
                + ((("{,}", 0, None),) if "{,}" in self.has else ())
            )
            greedy = choose.chance(70) or word == "{2}"
            return f"{text}{word}{'' if greedy else '?'}", Rep(node, low, high, greedy)
        return text, node

    def one(self) -> tuple[str, Node]:
        name = self.choose.one(VARIABLES)
        return f"[{name}]", Var(name)

    def group(self, deep: int) -> tuple[str, Node]:
        choose = self.choose
        kind = choose.one(("alt", "alt", "cat", "permute", "hidden"))
        if kind == "hidden" and self.all_rows:
            text, node = self.pattern(deep)
            return f"({{- {text} -}})", Hidden(node)
        if kind == "permute":
            some = [self.one() if choose.chance(80) else self.part(0) for _ in range(choose.number(2, 3))]
            return f"PERMUTE({', '.join(text for text, _ in some)})", Permute(tuple(node for _, node in some))
        if kind == "alt":
            some = [self.pattern(deep) for _ in range(2)]
            return f"({' | '.join(text for text, _ in some)})", Alt(tuple(node for _, node in some))
        text, node = self.pattern(deep)
        return f"({text})", node


def variables(node: Node) -> Iterator[str]:
    """The variables of a pattern."""
    if isinstance(node, Var):
        yield node.name
    for part in getattr(node, "parts", None) or [getattr(node, "part", None)]:
        if part is not None:
            yield from variables(part)


def size(node: Node) -> int:
    """How many places a pattern has once it is written out."""
    if isinstance(node, Rep):
        return size(node.part) * max(1, node.high or node.low + 1)
    if isinstance(node, Permute):
        return factorial(len(node.parts)) * sum(map(size, node.parts))
    return isinstance(node, Var) + sum(size(part) for part in getattr(node, "parts", None) or [getattr(node, "part", None)] if part)


# -- statements ------------------------------------------------------------------------------------------------------------------


def draft(choose: Choices, has: frozenset[str]) -> Statement | None:
    """A random statement; None where its pattern has no variable, or is long."""
    make = Maker(choose, has)
    ways = ["one", "one", "show", "omit"] + ["unmatched"] * make.on("unmatched")
    rows = choose.one(ways)
    make.all_rows = rows in ("show", "omit")
    text, node = make.pattern()
    if make.on("^", chance=8):
        text, node = f"^ {text}", Cat((Anchor(False), node))
    if make.on("$", chance=8):
        text, node = f"{text} $", Cat((node, Anchor(True)))
    make.names = tuple(dict.fromkeys(variables(node)))
    if not make.names or size(node) > 30:
        return None
    if len(make.names) > 1 and choose.chance(25):
        make.subsets = {"S": make.names[:2]}
    define = {name: make.condition() for name in make.names if choose.chance(75)}
    make.measures = True
    measures = [make.measure() for _ in range(choose.number(1, 4))]
    skip_text, skip = skipping(choose, (*make.names, *make.subsets))
    window = None if choose.chance(25) else choose.number(2, 16)
    dialect = choose.one(DIALECTS)
    within = f"WITHIN INTERVAL '{window}' SECOND" if "INTERVAL" in has and dialect == "flink" else f"WITHIN {window}"
    keyed, down, table = choose.chance(60), make.on("DESC", chance=20), "t." if make.on("qualified", chance=20) else ""
    clauses = Clauses(
        node,
        {name: each.value for name, each in define.items()},
        tuple(each.value for each in measures),
        partition=(lambda row: row.key) if keyed else (lambda row: None),
        order=lambda row: (row.le, -row.of.seq if down else row.of.seq),
        rows=rows,
        skip=skip,
        window=window,
        subsets=make.subsets,
    )
    sets = ", ".join(f"[{name}] = ({', '.join(f'[{each}]' for each in of)})" for name, of in make.subsets.items())
    texts = {
        "key": f"PARTITION BY {table}[key]" if keyed else "",
        "order": f"[at], [seq]{' DESC' if down else choose.one(('', ' ASC'))}",
        "rows": choose.one(ROWS[rows]), "skip": skip_text, "pattern": text, "within": "" if window is None else within,
        "subset": f"SUBSET {sets}" if sets else "", "head": "", "select": "*", "of": "t", "tail": "",
    }  # fmt: skip
    found = Statement(dialect, has, clauses, texts, tuple(each.text for each in measures), {n: e.text for n, e in define.items()})
    return computed(make, around(make, found))


ROWS = {
    "one": ("ONE ROW PER MATCH", ""),
    "show": ("ALL ROWS PER MATCH", "ALL ROWS PER MATCH SHOW EMPTY MATCHES"),
    "omit": ("ALL ROWS PER MATCH OMIT EMPTY MATCHES",),
    "unmatched": ("ALL ROWS PER MATCH WITH UNMATCHED ROWS",),
}


def skipping(choose: Choices, names: tuple[str, ...]) -> tuple[str, str | tuple[str, str]]:
    """AFTER MATCH SKIP, or nothing, which is PAST LAST ROW."""
    name, way = choose.one(names), choose.one(("", "PAST LAST ROW", "TO NEXT ROW", "TO FIRST ", "TO LAST ", "TO "))
    if not way.endswith(" "):
        return f"AFTER MATCH SKIP {way}" if way else "", "next" if way == "TO NEXT ROW" else "past"
    return f"AFTER MATCH SKIP {way}[{name}]", ("first" if way == "TO FIRST " else "last", name)


def again(row: Row) -> Row:
    """A row as the projection has it."""
    return row._replace(v=None if row.v is None else row.v + 1, d=None if row.d is None else row.d * Decimal("1.1"))


def around(make: Maker, of: Statement) -> Statement:
    """A statement with WHERE, a projection, expressions and DISTINCT around it."""
    choose, texts = make.choose, dict(of.texts)
    bound = choose.number(1, 3)
    if make.on("inline view", chance=15) or make.on("CTE", chance=10):
        inner = f"SELECT * FROM t WHERE [v] < {bound}"
        if make.on("projection", chance=40):
            inner = f"SELECT [key], [kind], [v] + 1 AS [v], [f], [d] * 1.1 AS [d], [n], [seq], [at] FROM t WHERE [v] < {bound}"
            of = replace(of, made=again)
        of, texts["key"] = replace(of, keeps=known(OPS["<"], column("v"), lambda row, took: bound)), texts["key"].replace("t.", "")
        if make.on("CTE", chance=50):
            texts.update(head=f"WITH u AS ({inner}) ", of="u")
        elif "inline view" in make.has:
            texts.update(of=f"({inner})")
        else:
            texts.update(head=f"WITH u AS ({inner}) ", of="u")
    counts = ("COUNT", "RUNNING COUNT", "FINAL COUNT", "MATCH_NUMBER")
    numbers = [i for i, text in enumerate(of.measures) if text.startswith(counts)]
    if of.clauses.rows == "one" and numbers:
        i = choose.one(numbers)
        if make.on("WHERE", chance=40):
            texts["tail"] = f"WHERE [m{i}] > {bound}"
            of = replace(of, where=known(OPS[">"], lambda values: values[i], lambda values: bound))
        if make.on("SELECT expressions", chance=40):
            texts["select"] = f"[m{i}] * 2 + 1 AS [x0]"
            of = replace(of, select=(Said("", known(lambda one: one * 2 + 1, lambda values: values[i])),), names=("x0",))
        if make.on("DISTINCT", chance=20):
            texts["select"] = f"DISTINCT {texts['select']}"
            of = replace(of, distinct=True)
    return replace(of, texts=texts)


KEYS: dict[str, Callable[[Any], Any]] = {
    "UPPER([key])": lambda row: row.key and row.key.upper(),
    "CASE WHEN [key] = 'k' THEN 'l' ELSE [key] END": lambda row: "l" if row.key == "k" else row.key,
    "[n] % 3": lambda row: row.n % 3,
    "UPPER([key]), [n] % 2": lambda row: (row.key and row.key.upper(), row.n % 2),
    "[key], [n] % 2": lambda row: (row.key, row.n % 2),
}


def computed(make: Maker, of: Statement) -> Statement:
    """The statement with expressions in PARTITION BY and ORDER BY, or without."""
    texts = dict(of.texts)
    if of.texts["key"] and make.on("computed", chance=20):
        text = make.choose.one(tuple(KEYS))
        texts["key"] = f"PARTITION BY {text}"
        of = replace(of, clauses=replace(of.clauses, partition=KEYS[text]))
    if make.on("computed", chance=10):
        texts["order"] = f"[at], {'-[seq]' if texts['order'].endswith('DESC') else '[seq] * 2 + 1'}"
    return replace(of, texts=texts)


@functools.lru_cache(maxsize=8)
def query(seed: str, family: int, has: frozenset[str], drop: tuple[Any, ...] = ()) -> tuple[Statement, Any, int]:
    """The first random statement that the library takes, what it makes of it, and how many it has refused before."""
    for i in range(40):
        made = draft(Seeded(f"whole/{seed}/{family}/{i}"), has)
        if made is None:
            continue
        for what in drop:
            made = made.without(what)
        try:
            library = afa.sql(made.text, event=COLUMNS, tick="s")
            library.operator()
        except AfaError:
            continue
        return made, library, i
    raise AfaError("the library takes none of 40 random statements")
