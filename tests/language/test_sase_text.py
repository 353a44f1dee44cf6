"""What SASE+ text may look like, and that hostile text is refused, soon and without being run."""

# ruff: noqa: RUF001 (the signs that texts may have)
from __future__ import annotations

import random
import time
from typing import NamedTuple

import pytest

from afa.errors import QueryError
from afa.expression.nodes import And, Binary, Compare, Const, Expr, FieldRead, In, Not, Or
from afa.language.pattern import ANY, NEXT, PARTITION, STRICT, Component, Either, Gap, Repeat, Seq, Tree
from afa.language.sase_reader import read_sase
from afa.language.terms import Aggregate, Ref
from punctuation.durations import ticks
from tests.language.test_sase_errors import FRAME, GROUPS, PATTERN, RETURN, WHERE
from tests.language.test_sase_papers import EVERY


class Tick(NamedTuple):
    type: str
    x: float
    n: int
    from_: str
    note: str | None = None


X, N = FieldRead("e", "x"), FieldRead("e", "n")


def where(condition: str) -> Expr:
    """A condition of the one component ``a``."""
    pattern = read_sase(f"PATTERN A a WHERE {condition}", Tick).pattern
    assert isinstance(pattern, Component)
    (found,) = pattern.where
    return found


# -- signs and words -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.x = 1", Compare("==", X, Const(1))),
        ("a.x ≥ 1", Compare(">=", X, Const(1))),
        ("a.x ≤ 1", Compare("<=", X, Const(1))),
        ("a.x ≠ 1", Compare("!=", X, Const(1))),
        ("a.x <> 1", Compare("!=", X, Const(1))),
        ("a.x > 80%", Compare(">", X, Const(0.8))),
        ("a.x > 80%*a.n", Compare(">", X, Binary("*", Const(0.8), N))),
        ("a.x > 80 % * a.n", Compare(">", X, Binary("*", Const(0.8), N))),
        ("a.x > (12.5%) × a.n", Compare(">", X, Binary("*", Const(0.125), N))),
        ("a.x > 80%-a.n", Compare(">", X, Binary("-", Const(0.8), N))),
        ("a.x > 80 % a.n", Compare(">", X, Binary("%", Const(80), N))),
        ("a.x > 80%a.n", Compare(">", X, Binary("%", Const(80), N))),
        ("a.x > 80 % -a.n", Compare(">", X, Binary("%", Const(80), Compare))),
        ("a.x > a.n // 2", Compare(">", X, Binary("//", N, Const(2)))),
        ("a.x > 1_000.5e-1", Compare(">", X, Const(100.05))),
        ("NOT a.x > 1", Not(Compare(">", X, Const(1)))),
        ("a.x > 1 OR a.x < 0", Or((Compare(">", X, Const(1)), Compare("<", X, Const(0))))),
        ("a.x > 1 ∨ a.x < 0", Or((Compare(">", X, Const(1)), Compare("<", X, Const(0))))),
        ("0 < a.x < 1", And),
        ("a.n IN (1, 2)", In(N, (Const(1), Const(2)))),
        ("a.n in {1, 2}", In(N, (Const(1), Const(2)))),
        ("a.n in [1, 2]", In(N, (Const(1), Const(2)))),
        ("a.from = 'it''s'", None),
        ("a.from = 'it\\'s'", Compare("==", FieldRead("e", "from_"), Const("it's"))),
        ("a.from_ = \"# no comment /* here */\"", Compare("==", FieldRead("e", "from_"), Const("# no comment /* here */"))),
        ("a.x > MAX(a.n, 1)", None),
    ],
)  # fmt: skip
def test_conditions(text: str, expected: object) -> None:
    found = where(text)
    if text == "a.x > 80 % -a.n":
        assert str(found).startswith(
            "Compare(op='>', left=FieldRead(side='e', name='x'), right=Binary(op='%', left=Const(value=80)"
        )
    elif text == "0 < a.x < 1":
        assert found == And((Compare("<", Const(0), X), Compare("<", X, Const(1))))
    elif expected is not None:
        assert found == expected


def test_keywords_in_any_case_comments_and_clauses_on_one_line() -> None:
    small = "pattern seq(A a, ~ (N n), B+ b[ ]) where SKIP_TILL_ANY_MATCH(a, b[]) { a.x > 1 AND b[i].x > 2 } "
    small += "within 3 return b[b.len].x as X"
    text = """
        # a comment
        PATTERN SEQ(A a,        /* several
                                   lines */
                    !N n, B+ b[])
        WHERE skip_till_any_match(a, b[]) {
            a.x > 1             # one
            ∧ b[i].x > 2
        }
        WITHIN 3
        RETURN b[b.LEN].x AS X
    """
    assert read_sase(small, Tick) == read_sase(text, Tick)


def test_names_that_are_keywords() -> None:
    tree = read_sase("PATTERN SEQ(A a, B b) WHERE [from] and a.from = 'p' RETURN b.from, a.(from, x)", Tick)
    assert tree.key == ("from_",)
    assert tree.returns == (
        ("b_from_", Ref("b", "one", "from_")),
        ("a_from_", Ref("a", "one", "from_")),
        ("a_x", Ref("a", "one", "x")),
    )


def test_types() -> None:
    tree = read_sase("PATTERN SEQ('out of stock' a, Tick b, Seq c, _ d)", Tick)
    assert isinstance(tree.pattern, Seq)
    assert [item.type for item in tree.pattern.items if isinstance(item, Component)] == ["out of stock", "Tick", "Seq", None]
    assert read_sase("PATTERN A a", Tick, type="from_").type_column == "from_"


# -- patterns --------------------------------------------------------------------------------------------------------------------

a, b, c = Component("a", "A"), Component("b", "B"), Component("c", "C")
n, m = Component("n", "N"), Component("m", "M")


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("A a", a),
        ("SEQ(A a)", a),
        ("((A a))", a),
        ("A a | B b", Either((a, b))),
        ("SEQ(A a, B b) ∪ C c", Either((Seq((a, b), (Gap(),)), c))),
        ("SEQ(A a, (B b | C c))", Seq((a, Either((b, c))), (Gap(),))),
        ("SEQ(A a, (B b, C c))", Seq((a, Seq((b, c), (Gap(),))), (Gap(),))),
        ("A+ a[]", Repeat(a)),
        ("A+ a", Repeat(a)),
        ("A* a[]", Repeat(a, 0)),
        ("A? a", Repeat(a, 0, 1)),
        ("A{3} a[]", Repeat(a, 3, 3)),
        ("A{3,} a[]", Repeat(a, 3)),
        ("A{,3} a[]", Repeat(a, 0, 3)),
        ("A{2,3} a[]", Repeat(a, 2, 3)),
        ("A+? a[]", Repeat(a, greedy=False)),
        ("A?? a", Repeat(a, 0, 1, greedy=False)),
        ("(A a, B b)+", Repeat(Seq((a, b), (Gap(),)))),
        ("(A a[] | B b[])*", Repeat(Either((a, b)), 0)),
        ("SEQ(A a =>any B b =>strict C c)", Seq((a, b, c), (Gap(ANY), Gap(STRICT)))),
        ("SEQ(A a =>any, B b, C c)", Seq((a, b, c), (Gap(ANY), Gap()))),
        ("SEQ(A a, ~(N n), ~M m, B b)", Seq((a, b), (Gap(NEXT, (n, m)),))),
        ("SEQ(A a =>any ~(N n), B b)", Seq((a, b), (Gap(ANY, (n,)),))),
        ("SEQ(A a, ~(N n) =>any B b)", Seq((a, b), (Gap(ANY, (n,)),))),
        ("(A a =>any)+", Repeat(a, gap=Gap(ANY))),
        ("(A a, B b =>any ~(N n))+", Repeat(Seq((a, b), (Gap(),)), gap=Gap(ANY, (n,)))),
        ("(A a | B b =>any)+", Repeat(Either((a, b)), gap=Gap(ANY))),
    ],
)
def test_patterns(text: str, pattern: object) -> None:
    assert read_sase(f"PATTERN {text}", Tick) == Tree(pattern, Tick, "type")  # type: ignore[arg-type]


def test_negation_at_both_ends() -> None:
    tree = read_sase("PATTERN SEQ(~(N n), A a, B b, ~(M m)) WHERE n.x > 1 and m.x > a.x + b.x", Tick)
    assert tree.before == (Component("n", "N", (Compare(">", X, Const(1)),)),)
    total = Binary("+", Ref("a", "one", "x"), Ref("b", "one", "x"))
    assert tree.after == (Component("m", "M", (Compare(">", X, total),)),)
    assert tree.pattern == Seq((a, b), (Gap(),))


@pytest.mark.parametrize(
    ("word", "strategy"),
    [
        ("strict_contiguity", STRICT),
        ("partition_contiguity", PARTITION),
        ("skip_till_next_match", NEXT),
        ("skip_till_any_match", ANY),
    ],
)
def test_strategies(word: str, strategy: str) -> None:
    tree = read_sase(f"PATTERN SEQ(A a, B+ b[], C? c) WHERE {word}(a, b[], c) {{ [n] }}", Tick)
    same = Compare("==", N, Ref("a", "one", "n"))
    where = (same,) if strategy == STRICT else ()
    items = (a, Repeat(Component("b", "B", where), gap=Gap(strategy)), Repeat(Component("c", "C", where), 0, 1))
    assert tree.pattern == Seq(items, (Gap(strategy), Gap(strategy)))
    assert tree.key == (() if strategy == STRICT else ("n",))


def test_equal_fields_under_strict_contiguity_of_what_repeats() -> None:
    tree = read_sase("PATTERN SEQ(A+ a[], ~(N n), B b) WHERE strict_contiguity { [n, x] }", Tick)
    same = tuple(Compare("==", FieldRead("e", name), Ref("a", "first", name)) for name in "nx")
    items = (Repeat(Component("a", "A", rest=same), gap=Gap(STRICT)), Component("b", "B", same))
    assert tree.pattern == Seq(items, (Gap(STRICT, (Component("n", "N", same),)),))


FEW = Compare("<", Aggregate("a", "count"), Const(2))

# -- places of conditions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "slot", "expr"),
    [
        ("b[i].x > 1", "where", Compare(">", X, Const(1))),
        ("b[i].x > a.x", "where", Compare(">", X, Ref("a", "one", "x"))),
        ("b[1].x > a.x", "first", Compare(">", X, Ref("a", "one", "x"))),
        ("b[i].x > b[1].x", "rest", Compare(">", X, Ref("b", "first", "x"))),
        ("b[i].x > b[i-1].x", "rest", Compare(">", X, Ref("b", "last", "x"))),
        ("b[i-1].x > 1", "rest", Compare(">", Ref("b", "last", "x"), Const(1))),
        ("b[i].x > count(b[..i-1])", "rest", Compare(">", X, Aggregate("b", "count"))),
        ("b[i].x > count(b[..i-1].note)", "rest", Compare(">", X, Aggregate("b", "count", "note"))),
        ("b[i].x >= max(b[1..i].x)", "where", Compare(">=", X, Aggregate("b", "max", "x", now=True))),
        ("b[b.LEN].x > b[b.LEN-1].x", "done", Compare(">", Ref("b", "last", "x"), Ref("b", "last", "x", 1))),
        ("last(b[].x) > first(b[].x)", "done", Compare(">", Ref("b", "last", "x"), Ref("b", "first", "x"))),
        ("b[b.LEN].x > b[1].x", "done", Compare(">", Ref("b", "last", "x"), Ref("b", "first", "x"))),
        ("b.LEN > 2", "done", Compare(">", Aggregate("b", "count"), Const(2))),
        ("count(b[]) > count(b[].note)", "done", Compare(">", Aggregate("b", "count"), Aggregate("b", "count", "note"))),
        ("avg(b[..b.LEN].x) > a.x", "done", Compare(">", Aggregate("b", "avg", "x"), Ref("a", "one", "x"))),
    ],
)
def test_slots(text: str, slot: str, expr: Expr) -> None:
    tree = read_sase(f"PATTERN SEQ(A a, B+ b[]) WHERE {text}", Tick)
    assert tree.pattern == Seq((a, Repeat(Component("b", "B", **{slot: (expr,)}))), (Gap(),))


@pytest.mark.parametrize(
    ("text", "name", "slot", "expr"),
    [
        ("b[i].x > a[i].x", "b", "where", Compare(">", X, Ref("a", "last", "x"))),
        ("b[i].x > a[i-1].x", "b", "rest", Or((FEW, Compare(">", X, Ref("a", "last", "x", 1))))),
        ("a[i].x > b[i-1].x", "a", "rest", Compare(">", X, Ref("b", "last", "x"))),
        ("b[i].x > sum(a[..i].x)", "b", "where", Compare(">", X, Aggregate("a", "sum", "x"))),
        ("a[i].x > sum(b[..i-1].x)", "a", "rest", Compare(">", X, Aggregate("b", "sum", "x"))),
        ("b[1].x > a[1].x", "b", "first", Compare(">", X, Ref("a", "first", "x"))),
    ],
)  # fmt: skip
def test_slots_of_a_group(text: str, name: str, slot: str, expr: Expr) -> None:
    tree = read_sase(f"PATTERN (A a[], B b[])+ WHERE {text}", Tick)
    items = tuple(Component(each, each.upper(), **({slot: (expr,)} if each == name else {})) for each in "ab")
    assert tree.pattern == Repeat(Seq(items, (Gap(),)))


def test_a_later_component_reads_all_of_an_earlier_one() -> None:
    tree = read_sase("PATTERN SEQ((A a[], B b[])+, C c) WHERE c.x > a[a.LEN].x + sum(b[].x) and c.n > b.LEN", Tick)
    assert isinstance(tree.pattern, Seq)
    total = Binary("+", Ref("a", "last", "x"), Aggregate("b", "sum", "x"))
    assert tree.pattern.items[1] == Component("c", "C", (Compare(">", X, total), Compare(">", N, Aggregate("b", "count"))))


# -- durations -------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "tick", "expected"),
    [
        ("12 hours", "s", 43_200), ("1 hour 30 minutes", "min", 90), ("1.5 days", "h", 36), ("250ms", "us", 250_000),
        ("1 WEEK", "d", 7), ("0.1 s", "ms", 100), ("500", None, 500), ("5_000", "ms", 5000), ("1e3 s", "ms", 1_000_000),
    ],
)  # fmt: skip
def test_durations(text: str, tick: str | None, expected: int) -> None:
    assert read_sase(f"PATTERN A a WITHIN {text} RETURN a.x", Tick, tick=tick).window == expected


def test_durations_of_the_builder() -> None:
    assert ticks([(1, "hours"), (0.5, "minutes")], "s", QueryError) == 3630
    for number, message in [(True, "expected a number but got 'True'"), (float("nan"), "but got 'nan'")]:
        with pytest.raises(QueryError, match=message):
            ticks([(number, "hours")], "s", QueryError)
    with pytest.raises(QueryError, match="expected a duration from 1 tick"):
        ticks([(-1, None)], None, QueryError)


# -- hostile text ----------------------------------------------------------------------------------------------------------------

HOSTILE = [
    "PATTERN " + "(" * 9000,
    "PATTERN " + "(" * 4000 + "A a" + ")" * 4000,
    "PATTERN A a WHERE " + "(" * 9000,
    "PATTERN A a WHERE " + "not " * 2000 + "a.x",
    "PATTERN A a WHERE " + "-" * 9000 + "a.x > 1",
    "PATTERN A a WHERE " + "a.x+" * 2000 + "1 > 1",
    "PATTERN A a WHERE " + " and ".join(["a.x > 1"] * 900) + " and",
    "PATTERN A a WHERE a.x > " + "9" * 9000,
    "PATTERN A a WHERE a.x > " + "9" * 4000 + "%",
    "PATTERN A a WHERE a.x > 1e999999999%",
    "PATTERN A a WHERE " + "[" * 9000,
    "PATTERN A a WHERE a." + "x." * 4000,
    "PATTERN A a WHERE a" + "[a" * 4000,
    "PATTERN A a WHERE " + "/*" * 4900,
    "PATTERN A a WHERE '" + "\\" * 9000,
    "PATTERN A a WHERE " + "'" * 9001,
    "PATTERN A a WHERE a.x > 1 " + "if a.x > 1 else 2 " * 500,
    "PATTERN A a RETURN " + "a.x," * 2400,
    "PATTERN A a RETURN a.(" + "x," * 4000,
    "PATTERN A a WITHIN " + "9" * 9000,
    "PATTERN A a WITHIN " + "1 h " * 2400 + "x",
    "PATTERN A{" + "9" * 9000 + "} a[]",
    "PATTERN SEQ(" + "A a," * 2000,
    "PATTERN " + "A a|" * 2400,
    "PATTERN " + "~" * 9000,
    "PATTERN A a WHERE skip_till_any_match(" + "a," * 4000,
    "PATTERN A a WHERE __import__('os').system('true')",
    "PATTERN A a WHERE a.x.__class__.__mro__",
    "PATTERN A a WHERE a.x > 2 ** 2 ** 2 ** 2 ** 2 ** 2",
    "PATTERN A a WHERE 'x' * 10 ** 9 = a.from",
    "PATTERN A a\x00WHERE",
    "PATTERN A a WHERE a.from = '\ud800'",
    "P" * 10_001,
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: f"{text[:24]!r}..{len(text)}")
def test_hostile_text_is_refused_soon(text: str) -> None:
    began = time.process_time()
    with pytest.raises(QueryError):
        read_sase(text, Tick)
    assert time.process_time() - began < 2  # a bound of order, not of speed: the longest takes 0.2 s


def test_damaged_text_is_read_or_refused() -> None:
    """Texts with pieces left out, doubled and exchanged: nothing but QueryError comes."""
    queries, pieces = list(EVERY.values()), [*WHERE, *GROUPS, *RETURN, *(text for text in [*FRAME, *PATTERN] if len(text) < 99)]
    read = 0
    for seed in range(1000):
        rng = random.Random(seed)
        text, event, column = rng.choice(queries)
        try:
            read_sase(damaged(rng, text, [text, *pieces]), event, tick="s", type=column)
        except QueryError:
            continue
        read += 1
    assert read > 50


def damaged(rng: random.Random, text: str, pieces: list[str]) -> str:
    """A text with one to three pieces changed."""
    for _ in range(rng.randint(1, 3)):
        at, length = rng.randrange(len(text) + 1), rng.randint(0, 6)
        other = rng.choice(pieces)
        begin = rng.randrange(len(other) + 1)
        piece = rng.choice([other[begin : begin + rng.randint(0, 12)], rng.choice("()[]{}.,~!=|+*?%i'\"\\\n\0é∧"), ""])
        text = text[:at] + piece + text[at + length :]
    return text
