"""Rules at random, of all notations, as plain data: ``pattern(what)`` makes what is given to a set.

A text stands for itself, a tuple for what is no text: ("tree", kind, number), ("words" | "situation" | a name of `ARCS`, ..).
Columns of one name have one type, whatever rules stand beside one another.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import afa
from afa import AfaError, Arc, Automaton
from afa.language import many, one
from afa.language.query import Query, query
from afa.language.sase_printer import sase_text
from afa.situations import Situation, TemporalPattern
from tests.language.trees import tree
from tests.language.worlds import KINDS
from tests.strategies import Choices, Seeded

What = Any
TEXTS = ("p", "q", "pq", "", "é𝛑", "it's")
WINDOWS = (2, 3, 5, 5, 9, 9, 14, 40)


class Row(NamedTuple):
    """An event."""

    type: str | None
    key: int
    x: int | None
    y: float
    s: str
    seq: int
    ok: bool
    note: str | None
    paid: afa.Time
    z: float | None
    flag: bool | None
    at: afa.Instant | None = None


class Kept(NamedTuple):
    """What automata hold, and show: their columns are called so."""

    first_y: float = 0.0
    last_x: int = 0
    times: int = 0
    since: int = 0


# -- conditions on one event -----------------------------------------------------------------------------------------------------


def of_event(choose: Choices, name: str) -> str:
    """A condition on one event in SASE+, most of which have constants."""
    n, low = choose.number(0, 3), choose.number(0, 6) / 2
    text = choose.one(TEXTS).replace("'", "\\'")
    op = choose.one(("<", "<=", ">", ">="))
    return choose.one(
        (
            f"{name}.x {op} {n}",
            f"{name}.x {op} {low}",
            f"{name}.x == {n}",
            f"{name}.y {op} {low}",
            f"{name}.y == {n}",
            f"{low} {op} {name}.y",
            f"{name}.y >= {low} and {name}.y < {low + 1}",
            f"{name}.x != {n}",
            f"{name}.s == '{text}'",
            f"{name}.s != '{text}'",
            f"{name}.s in ('p', '{text}')",
            f"{name}.x in ({n}, 2, 5)",
            f"{name}.s >= 'p' and {name}.s < 'q'",
            f"{name}.s.startswith('p')",
            f"{name}.ok",
            f"not {name}.ok",
            f"{name}.note is None",
            f"{name}.note is not None and {name}.note == 'n'",
            f"{name}.x is not None",
            f"not ({name}.x > {n})",
            f"({name}.x == {n} or {name}.y > {low})",
            f"({name}.s == 'p' or {name}.s == 'q') and ({name}.x < 2 or {name}.y {op} {low} or {name}.ok)",
            f"not ({name}.s == 'q' or {name}.x == {n})",
            f"{name}.y + {name}.y {op} {low}",
            f"{name}.x * 2 {op} {name}.seq",
            f"{name}.x {op} {2**53 + n}",
            f"{name}.y {op} {n}e308",
            f"{name}.y > -1e-300",
            f"{name}.paid {op} {n}",
            f"{name}.seq % 2 == {n % 2}",
            f"{name}.key == {n % 2}",
            f"abs({name}.y) {op} {low}",
            f"{name}.s == {name}.note",
            f"{name}.z {op} {low}",
            f"{name}.z is not None and {name}.z < 2",
            f"{name}.z is None",
            f"not ({name}.z >= {low})",
            f"{name}.flag",
            f"not {name}.flag",
            f"{name}.flag is not None",
            f"{name}.ok == {name}.flag",
            f"{name}.x {op} {choose.one((2**63 - 1, -(2**63) + 1, -(2**62), 2**62 + 1))}",
            f"{name}.x in (2.0, {n}.5, {2**53 + 1})",
            f"({name}.x in (0, {n}) or {name}.s in ('p', 'pq')) and {name}.seq < {n * 20 + 20}",
            f"({name}.note == 'n' or {name}.note is None) and ({name}.y < {low} or {name}.y >= {low + 1})",
            f"{low} < {name}.y and {name}.y < {low + 1.5} and {name}.x >= {n}",
        )
    )


def of_pair(choose: Choices, first: str, second: str) -> str:
    """A condition on two events."""
    factor, more = choose.one((0.5, 1, 1.5, 2)), choose.number(0, 3)
    op = choose.one(("<", "<=", ">", ">=", "!="))
    return choose.one(
        (
            f"{second}.y {op} {first}.y * {factor}",
            f"{second}.x {op} {first}.x + {more}",
            f"{second}.s == {first}.s",
            f"{second}.s != {first}.s",
            f"{second}.at - {first}.at > {more}",
            f"({second}.x > {first}.x or {second}.ok)",
            f"{second}.y - {first}.y {op} {more}",
            f"{second}.x == {first}.x and {second}.y > {factor}",
            f"{second}.note is None and {second}.x < {first}.x",
        )
    )


def perhaps(choose: Choices, make: Callable[..., str], *names: str) -> str:
    """A condition; now and then one that is always true."""
    return f"{names[0]}.seq >= 0" if choose.chance(55) else make(choose, *names)


# -- texts -----------------------------------------------------------------------------------------------------------------------

SHAPES = ("one", "two", "three", "same", "between", "many", "end", "start", "close", "total", "any")
"""Families of texts: those of one family that agree in their conditions differ in constants only."""


def sase(choose: Choices, family: str | None = None, of: int | None = None) -> str:
    """A text of SASE+; of one family and number all have one form, and constants of their own."""
    family = family or choose.one(SHAPES)
    form: Any = choose if of is None else Seeded(f"{family} {of}")
    key = form.one(
        (
            "[key] and ",
            "[key] and ",
            "[key] and ",
            "[key, s] and ",
            "[s] and ",
            "",
            "",
            "",
            form.one(("[note] and ", "[y] and ", "[x] and ", "[flag] and ", "[ok] and ", "[z] and ")),
        )
    )
    gap = form.one(("skip_till_next_match", "skip_till_next_match", "skip_till_any_match"))
    a, b, c = (form.one(("a", "a", "b", "b", "_", "_", "Row")) for _ in range(3))
    if any(each in "abc" for each in (a, b, c)):  # beside a type the class is one, too
        a, b, c = ("_" if each == "Row" else each for each in (a, b, c))
    window = choose.one(WINDOWS)
    within = f"WITHIN {window}" if form.chance(92) else ""
    low, high, factor = choose.number(0, 6) / 2, choose.number(0, 3), choose.one((0.5, 1.0, 1.5, 2.5))
    if of is None:
        on, pair = functools.partial(perhaps, choose, of_event), functools.partial(perhaps, choose, of_pair)
    else:
        on, pair = _conditions(form, low, high), _pairs(form, factor, high)
    if family == "one":
        pattern, names, where, shown = f"{a} p", "p", on("p"), "p.x AS c1, p.s AS c2, p.paid AS c3"
        key = "" if "," in key else key
    elif family == "two":
        pattern, names, where = f"{a} p, {b} q", "p, q", f"{on('p')} and {pair('p', 'q')}"
        shown = form.one(("p.x AS c1, q.y AS c4", "q.y AS c4", "p.y + q.y AS c5", "p.note AS c6, q.paid AS c3", "q.ok AS c7"))
    elif family == "same":
        pattern, names, where, shown = f"{a} p, {a} q", "p, q", f"{on('p')} and {pair('p', 'q')}", "p.seq AS c8, q.seq AS c9"
    elif family == "three":
        pattern, names, where = f"{a} p, {b} q, {c} r", "p, q, r", f"{on('p')} and {pair('p', 'q')} and {on('r')}"
        shown = "p.x AS c1, r.y AS c4"
    elif family == "between":
        pattern, names, where = f"{a} p, ~({c} n), {b} q", "p, q", f"{on('p')} and {on('n')} and {on('q')}"
        shown = "p.x AS c1, q.s AS c2"
    elif family == "many":
        pattern, names, where = f"{a} p, {b}+ k[], {c} q", "p, k[], q", f"{on('p')} and k[i].y > {low}"
        where += form.one(("", " and k[i].y >= k[i-1].y", " and k[i].x > p.x"))
        gap, shown = "skip_till_next_match", "p.x AS c1, k.LEN AS c10"
    elif family == "any":
        pattern, names, where = f"{a} p, {b}+ k[], {c} q", "p, k[], q", f"{on('p')} and k[i].y > {low} and q.x > {high}"
        gap, shown, within = "skip_till_any_match", "p.x AS c1, max(k[].y) AS c11", f"WITHIN {min(window, 9)}"
    elif family == "end":
        pattern, names, where, within = f"{a} p, ~({b} n)", "p", f"{on('p')} and {on('n')}", f"WITHIN {window}"
        shown = "p.x AS c1, p.seq AS c8"
    elif family == "start":
        pattern, names, where, within = f"~({b} n), {a} p", "p", f"{on('p')} and {on('n')}", f"WITHIN {window}"
        shown = "p.y AS c4"
    elif family == "close":
        gap = "partition_contiguity" if key else "strict_contiguity"
        pattern, names, where, shown = f"{a} p, {b} q", "p, q", f"{on('p')} and {pair('p', 'q')}", "p.x AS c1, q.y AS c4"
    else:
        pattern, names, where = f"{a} p, {b}+ k[]", "p, k[]", f"{on('p')} and {form.one(('sum', 'avg', 'max'))}(k[].y) > {low}"
        where += f" and k.LEN < {high + 2}"
        gap, shown = form.one(("skip_till_next_match", "skip_till_any_match")), "p.x AS c1, sum(k[].y) AS c11"
        within = f"WITHIN {min(window, 9)}"
    if form.chance(20):  # a field of the name of a key, which may be the rule's own
        name = form.one(("key", "s", "x"))
        shown += f", p.{name} AS {name}"
    return f"PATTERN SEQ({pattern}) WHERE {gap}({names}) {{ {key}{where} }} {within} RETURN {shown}"


def _conditions(form: Choices, low: float, high: int) -> Callable[[str], str]:
    kinds = ("{}.y > {low}", "{}.x <= {high}", "{}.x >= {high} and {}.y < {low}", "{}.s == 'p' and {}.y >= {low}", "{}.x == {high}")
    kind = form.one((*kinds, "({}.x == {high} or {}.y > {low})", "{}.y + {}.y > {low}", "not {}.ok and {}.x != {high}"))
    return lambda name: kind.replace("{}", name).format(low=low, high=high)


def _pairs(form: Choices, factor: float, high: int) -> Callable[[str, str], str]:
    kind = form.one(
        ("{q}.y > {p}.y * {factor}", "{q}.x < {p}.x + {high}", "{q}.s == {p}.s and {q}.x >= {high}", "{q}.y >= {factor}")
    )
    return lambda p, q: kind.format(p=p, q=q, factor=factor, high=high)


def of_sql(choose: Choices) -> str:
    """A text of SQL, with AFTER MATCH SKIP, ALL ROWS, empty matches, navigation, views."""
    pattern = choose.one(
        ("A B+", "A B", "A B* C", "(A | B) C", "A+ B", "A B?? C", "A{2,3}", "PERMUTE(A, B)", "A (B | C)+", "A+", "A*", "A B{1,2}")
    )
    n, low = choose.number(0, 2), choose.number(0, 5) / 2
    conditions = (
        "type = 'a'", "type <> 'c'", f"x > {n}", f"x <= {n}", f"y >= {low}", "y < PREV(y)", "x > PREV(x, 2)", "s LIKE 'p%'", "ok",
        "note IS NULL", "x IN (1, 2)", f"x + y > {low}", "COUNT(*) < 4", f"AVG(y) > {low}", "y > NEXT(y)", f"y BETWEEN {low} AND 2",
        f"x = {n} OR s = 'q'", f"seq * 2 > {n}", "FIRST(x) < 2", "COALESCE(x, 0) < 2", "LAST(y, 1) < 2.0",
    )  # fmt: skip
    define = ", ".join(f"{name} AS {choose.one(conditions)}" for name in "ABC" if name in pattern and choose.chance(80))
    measures = [
        "FIRST(x) AS q1", "LAST(y) AS q2", "COUNT(*) AS q3", "SUM(y) AS q4", "CLASSIFIER() AS q5", "MAX(x) AS q6", "LAST(s) AS q7",
        "MATCH_NUMBER() AS q8", "LAST(note) AS q9", "PREV(FIRST(y)) AS q10", "COUNT(DISTINCT s) AS q11",
    ]  # fmt: skip
    shown = sorted({choose.one(measures) for _ in range(choose.number(1, 3))})
    if choose.chance(75):
        shown = [each for each in shown if "MATCH_NUMBER" not in each] or measures[:1]
    rows = choose.one(("", "", "ONE ROW PER MATCH", "ALL ROWS PER MATCH"))
    skip = choose.one(("PAST LAST ROW", "PAST LAST ROW", "TO NEXT ROW", "TO LAST A" if pattern[0] != "A" else "PAST LAST ROW"))
    by = choose.one(("PARTITION BY key", "PARTITION BY key", "", "PARTITION BY s", "PARTITION BY key, s"))
    order = choose.one(("at, seq", "at, seq", "at, seq DESC", "at, seq, y"))
    window = f"WITHIN {choose.one((3, 5, 9, 14))}" if choose.chance(85) else ""
    of = choose.one(("t", "t", "t", "t", f"(SELECT * FROM t WHERE y < {low + 2})", "(SELECT * FROM t WHERE ok)"))
    return (
        f"SELECT * FROM {of} MATCH_RECOGNIZE ({by} ORDER BY {order} MEASURES {', '.join(shown)} {rows} AFTER MATCH SKIP {skip} "
        f"PATTERN ({pattern}) {window} {'DEFINE ' + define if define else ''})"
    )


# -- what is no text -------------------------------------------------------------------------------------------------------------


def _arcs(name: str, *arcs: Arc, final: str = "end") -> Automaton:
    """An automaton whose arcs are called by the rule: arcs of other constants have other names."""
    named = [each if each.name else _called(each, f"{name} {i}") for i, each in enumerate(arcs)]
    return Automaton(start="0", final={final}, arcs=named, register=Kept(), event=Row)


def _called(arc: Arc, name: str) -> Arc:
    """The arc with a name."""
    arc._fill(arc.kind, arc.src, arc.dst, arc.fence, arc.transfer, getattr(arc, "at", None), name, arc.final, arc.select)
    return arc


def _rests(name: str, low: float, factor: float) -> Automaton:
    return _arcs(
        name,
        Arc("0", "mid", f"type == 'a' and y > {low}", "r._replace(first_y=y)"),
        Arc.skip("mid", "type != 'b'"),
        Arc("mid", "end", f"type == 'b' and y > r.first_y * {factor}", "r._replace(last_x=seq)"),
    )


def _loops(name: str, low: float, factor: float) -> Automaton:
    return _arcs(
        name,
        Arc("0", "mid", f"y > {low}", "r._replace(first_y=y)"),
        Arc("mid", "mid", "type != 'c'"),
        Arc("mid", "end", f"y < r.first_y * {factor}"),
    )


def _counts(name: str, low: float, factor: float) -> Automaton:
    return _arcs(
        name,
        Arc("0", "end", f"s == 'p' and y >= {low}", "r._replace(times=1)"),
        Arc("end", "end", f"r.times < 3 and y >= {factor}", "r._replace(times=r.times + 1)"),
    )


def _waits(name: str, low: float, factor: float) -> Automaton:
    return _arcs(
        name,
        Arc("0", "mid", f"type == 'a' and y > {low}", "r._replace(since=at, first_y=y)"),
        Arc.skip("mid", "type != 'b'"),
        Arc.timeout("mid", "end", f"r.since + {int(factor * 2) + 1}"),
    )


def _steps(name: str, low: float, factor: float) -> Automaton:
    return _arcs(
        name,
        Arc("0", "mid", f"x is not None and x > {low}", "r._replace(last_x=x)"),
        Arc.epsilon("mid", "end", f"r.last_x > {factor}"),
        Arc.skip("mid", "ok"),
        Arc("mid", "end", "not ok"),
    )


def _notes(name: str, low: float, factor: float) -> Automaton:
    return _arcs(
        name,
        Arc("0", "mid", f"type == 'a' and y < {low + 2}", "r._replace(first_y=y)"),
        Arc.skip("mid", "type != 'b'", "r._replace(first_y=min(r.first_y, y))"),
        Arc("mid", "end", f"type == 'b' and y >= r.first_y * {factor}"),
    )


def _ends_twice(name: str, low: float, factor: float) -> Automaton:
    return _arcs(name, Arc("0", "end", f"y > {low}", "r._replace(first_y=y)"), Arc("0", "end", f"s == 'q' and y < {factor}"))


def _two_ways(name: str, low: float, factor: float) -> Automaton:
    return _arcs(
        name,
        Arc("0", "mid", f"type == 'a' and y > {low}", "r._replace(first_y=y)"),
        Arc("0", "other", f"type == 'b' and y > {low}", "r._replace(first_y=y)"),
        Arc.skip("mid", "type != 'b'"),
        Arc.skip("other", "type != 'a'"),
        Arc("mid", "end", f"type == 'b' and y != r.first_y + {factor}"),
        Arc("other", "end", f"type == 'a' and s in ('p', 'q') and y != r.first_y + {factor}"),
    )


def _python(name: str, low: float, factor: float) -> Automaton:
    return _arcs(
        name,
        Arc("0", "mid", lambda e, r: e.type == "a" and e.y > low, lambda e, r: r._replace(first_y=e.y)),
        Arc.skip("mid", lambda e, r: e.type != "b"),
        Arc("mid", "end", lambda e, r: e.type == "b" and e.y > r.first_y * factor),
    )


def _hidden(name: str, low: float, factor: float) -> Automaton:
    """Functions that can't be taken apart."""
    below = {"a": low}
    return _arcs(
        name,
        Arc("0", "mid", lambda e, r: below.get(e.type, 9.0) < e.y, lambda e, r: r._replace(first_y=e.y)),
        Arc.skip("mid", lambda e, r: {e.type} != {"b"}),
        Arc("mid", "end", lambda e, r: {e.type} == {"b"} and e.y > r.first_y * factor),
    )


def _raises(name: str, low: float, factor: float) -> Automaton:
    """It raises on every event of one number, whatever came before."""
    return _arcs(name, Arc("0", "end", f"12 // (seq - {int(low * 2 + factor)}) >= 0", "r._replace(first_y=y)"))


ARCS: dict[str, Callable[[str, float, float], Automaton]] = {
    "rests": _rests, "loops": _loops, "counts": _counts, "waits": _waits, "steps": _steps, "notes": _notes, "twice": _ends_twice,
    "ways": _two_ways, "python": _python, "hidden": _hidden, "raises": _raises,
}  # fmt: skip


def _words(low: float, factor: float, window: int, kind: int) -> Any:
    first = one("p", "a", lambda e: e.y > low)
    if kind == 0:
        made = first.followed_by(one("q", "b", lambda e, m: e.y > m.p.y * factor)).by("key")
    elif kind == 1:
        made = first.absent("n", "c").followed_by_any(one("q", "b"))
    elif kind == 2:
        made = first.followed_by(many("k", where=lambda e, m: e.y > m.p.y)).by("s")
        return made.within(window).returns(c1=lambda m: m.p.x, c10=lambda m: m.k.count)
    else:
        made = first.next(one("q", where=lambda e, m: e.x > m.p.x)).by("key")
    return made.within(window).returns(c1=lambda m: m.p.x, c4=lambda m: m.q.y)


def _situation(low: float, last: int, window: int, relation: str, key: str | None) -> TemporalPattern:
    return TemporalPattern(
        event=Row, within=window, lo=Situation(f"y > {low}", at_least=last or None), hi=Situation("ok"), where=f"lo {relation} hi",
        returns={"worst": "max(lo.y)"}, key=key,
    )  # fmt: skip


RELATIONS = (
    "overlaps|during",
    "before|meets",
    "during|finishes|overlapped_by",
    "overlaps|contains|finished_by|starts",
    "equals|starts",
)


def of_tree(choose: Choices, text: bool) -> What:
    """One of the queries of `tests.language.trees`, as text where it has one."""
    kind, number = choose.one(tuple(KINDS)), choose.number(0, 400)
    what = ("tree", kind, number)
    if not text:
        return what
    try:
        return sase_text(_tree(kind, number))
    except AfaError:
        return what


def _tree(kind: str, number: int) -> Any:
    made = tree(Seeded(f"rule {kind} {number}"), KINDS[kind])
    called = tuple((f"{name}_{kind}_{number}", value) for name, value in made.returns)
    return replace(made, event=Row, returns=called)


@functools.lru_cache(4096)
def pattern(what: What) -> Any:
    """What is given to a set of rules; raises `AfaError` where there is none."""
    if isinstance(what, str):
        return what
    kind, *rest = what
    if kind == "tree":
        return Query(_tree(*rest))
    if kind == "words":
        return _words(*rest)
    if kind == "situation":
        return _situation(*rest)
    return ARCS[kind](str(what), *rest)


@functools.lru_cache(4096)
def read(what: What) -> Any:
    """The same, as a pattern: a query, an automaton, a temporal pattern."""
    made = pattern(what)
    if isinstance(made, str):
        return afa.sql(made, event=Row, tick="s") if "MATCH_RECOGNIZE" in made else query(made, event=Row, tick="s")
    return query(made, event=Row, tick="s") if hasattr(made, "query") else made


def drawn(choose: Choices, family: tuple[str, int] | None, kinds: tuple[str, ...]) -> What:
    """A rule at random: of one family, or of one of some kinds."""
    if family is not None and choose.chance(50):
        return sase(choose, *family)
    kind = choose.one(kinds)
    low, factor = choose.number(0, 4) / 2, choose.one((0.5, 1.0, 1.5, 2.5))
    if kind == "sase":
        return sase(choose)
    if kind == "sql":
        return of_sql(choose)
    if kind == "tree":
        return of_tree(choose, choose.chance(60))
    if kind == "words":
        return ("words", low, factor, choose.one(WINDOWS), choose.number(0, 3))
    if kind == "situation":
        last = choose.one((0, 0, 2))
        return ("situation", low, last, choose.one((5, 12, 30)), choose.one(RELATIONS), choose.one((None, "key")))
    if kind == "arcs":
        return (choose.one(tuple(name for name in ARCS if name not in ("hidden", "raises"))), low, factor)
    return (kind, low, factor)
