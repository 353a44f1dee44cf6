"""What is wrong with a SASE+ text is said with line and column, what was expected, what came, and a way out."""

from __future__ import annotations

import re
from typing import NamedTuple

import pytest

from afa import AfaError
from afa.errors import QueryError
from afa.language.sase_reader import read_sase


class Tick(NamedTuple):
    type: str
    symbol: str
    price: float
    volume: int
    halted: bool = False
    note: str | None = None


class Bare(NamedTuple):
    price: float


SEQ = "PATTERN SEQ(A a, B+ b[], ~(N n), C c) "
GROUP = "PATTERN SEQ(S s, (A a[], B b[])+, C c) "


def refused(text: str, event: type = Tick, **options: str) -> str:
    with pytest.raises(QueryError) as caught:
        read_sase(text, event, **options)
    return str(caught.value)


FRAME = {
    "PATERN SEQ(A a)": r"line 1, column 1: expected PATTERN but got 'PATERN'; a query is: PATTERN SEQ\(",
    "": r"line 1, column 1: expected PATTERN but got the end; a query is",
    "PATTERN SEQ(A a B b)": r"column 17: expected .* but got 'B'; put commas between components, quantifiers behind the type",
    "PATTERN SEQ(A a, B b": r"column 21: expected ',', '=>' or '\)' but got the end; close the parenthesis",
    "PATTERN SEQ(A a, B b | C c)": r"column 22: expected .* but got '\|'; put the alternatives in parentheses of their own",
    "PATTERN SEQ(A, B b)": r"column 14: expected a name.* but got ','; a component is a type and a name: Type name",
    "PATTERN SEQ(A a[]+)": r"expected .* but got '\+'; put commas between components, quantifiers behind the type: Type\+ name\[\]",
    "PATTERN SEQ()": r"column 13: expected .* but got '\)'; a component is Type name, Type\+ name\[\], ~\(Type name\), or a group",
    "PATTERN A a WITHIN 3 WHERE a.price > 1": r"but got 'WHERE'; the clauses are PATTERN, WHERE, WITHIN, RETURN, in this order",
    "PATTERN A a WITHIN hours": r"column 20: expected a number but got 'hours'; a duration is a number with a unit, 12 hours",
    "PATTERN A a WHERE a.note = 'x": r"expected an expression.* but got \"'\"; end the string on the line on which it begins",
    "PATTERN A a WHERE (a.price := 3)": r"expected an expression.* but got ':'; : means nothing in conditions and values",
    "PATTERN A a WHERE": r"expected an expression but got the end; write a condition or a value",
    "PATTERN A a RETURN": r"expected an expression but got the end; write a condition or a value",
    "PATTERN SEQ(A a =>, B b)": r"column 19: expected a name but got ','; write =>next, =>any, =>strict or =>partition",
    "PATTERN A{1.} a[": r"but got '\['|expected a whole number",
    "PATTERN A{x} a[]": r"expected a number, ',' or '}' but got 'x'; a quantifier is \+, \*, \?, \{n\}",
}
PATTERN = {
    "PATTERN SEQ(A i, B b)": r"column 15: expected a name but got 'i', which means something else in conditions; choose another",
    "PATTERN SEQ(A max, B b)": r"expected a name but got 'max', which means something else",
    "PATTERN SEQ(A if, B b)": r"expected a name but got 'if', which means something else",
    "PATTERN SEQ(A _a, B b)": r"expected a name that begins with a letter but got '_a'; choose another",
    "PATTERN SEQ(A a, B a)": r"column 20: expected a name of its own for each component but got 'a' twice; choose another",
    "PATTERN SEQ(A a[], B b)": r"column 16: expected 'a' but got 'a\[\]', as it takes at most one event; write Type\+ a\[\], or a",
    "PATTERN SEQ(A? a[], B b)": r"expected 'a' but got 'a\[\]', as it takes at most one event",
    "PATTERN SEQ(A a, (~(N n), B b), C c)": r"column 18: expected a negation between two components of a sequence, or first or",
    "PATTERN SEQ(A a, (B b, ~(N n)), C c)": r"expected a negation between two components .* put it before or behind the group",
    "PATTERN SEQ(A a, (~(N n) | B b))": r"expected a negation between two components of a sequence",
    "PATTERN (A a, ~(N n))+": r"expected a component behind the absent n but got the end of the group; to forbid it between two",
    "PATTERN SEQ(~(N n))": r"expected a component that takes an event but got a negation alone; name one beside it",
    "PATTERN ~(N n)": r"expected a negation between two components",
    "PATTERN SEQ(A a =>soon B b)": r"column 19: expected next, any, strict or partition but got 'soon'; write =>next, say",
    "PATTERN SEQ(A a =>any ~(N n) =>next B b)": r"expected one strategy between two neighbours but got two; leave the arrow out",
    "PATTERN SEQ(~(N n) =>any A a)": r"expected one strategy .* but got one before the first component; leave the arrow out",
    "PATTERN SEQ(A a, B b =>any)": r"expected a component behind => but got the end of the group; an arrow at the end is for a",
    "PATTERN SEQ(A a, (B b =>any))": r"expected a component behind => but got the end of the group",
    "PATTERN SEQ(A a, (B b | C c =>any))": r"expected a component behind => but got the end of the group",
    "PATTERN A{3,2} a[]": r"expected \{n\}, \{n,\}, \{,m\} or \{n,m\} with n <= m and m > 0 but got another; write \{1,3\}",
    "PATTERN A{} a[]": r"expected \{n\}, \{n,\}, \{,m\} or \{n,m\}",
    "PATTERN A{0} a[]": r"expected \{n\}, \{n,\}, \{,m\} or \{n,m\}",
    "PATTERN A{2000} a[]": r"column 11: expected a whole number up to 1000 but got 2000; use \+ for more",
    "PATTERN A{1.5} a[]": r"expected a whole number up to 1000 but got 1.5",
    "PATTERN 'x\\ty' a": r"expected a type without \\ but got 'x\\ty'; ask for it in WHERE",
    f"PATTERN {'(' * 40}A a{')' * 40}": r"expected groups nested at most 30 deep but got more; split the query",
    f"PATTERN SEQ({', '.join(f'A a{n}' for n in range(300))})": r"expected at most 200 components but got more; split the query",
}
WHERE = {
    "skip_till_next(a, b[], c) { a.price > 1 }": r"column 45: expected a strategy but got 'skip_till_next'; strategies: strict_con",
    "anything(a, b[], c) { a.price > 1 }": r"expected a strategy but got 'anything'; strategies: strict_contiguity,",
    "skip_till_any_match(a, b[], c) a.price > 1": r"expected conditions in braces behind the strategy but got none; write",
    "skip_till_any_match(a, b[], d) { }": r"expected a component but got 'd'; the components: a, b, n, c",
    "skip_till_any_match(a, c) { }": r"expected all components in the strategy but got none for b; a strategy between two",
    "skip_till_any_match(a, 3) { }": r"expected names of components but got '3'; write skip_till_any_match\(a, b\[\]\)",
    "skip_till_any_match(a, b[], c) { a.price > 1": r"expected '}' but got the end of the conditions; close the brace",
    "skip_till_any_match { a.price > 1 } and b[1].price > 1": r"expected WITHIN, RETURN or the end behind } but got 'and'; all",
    "a.prize > 1": r"column 47: expected a condition but got prize, which is no field of Tick; its fields: type, symbol, price,",
    "b[i].prize > 1": r"column 50: expected a condition but got prize, which is no field of Tick",
    "d.price > 1": r"column 45: expected a condition but got d, which is no component; the components: a, b, n, c",
    "d[i].price > 1": r"expected a condition but got d, which is no component",
    "max(d[].price) > 1": r"expected a condition but got d, which is no component",
    "price > 1": r"expected a condition but got the field price of no component; write a.price, say",
    "whatever > 1": r"expected a condition but got whatever, which is no component",
    "[prize]": r"column 46: expected a field but got prize, which is no field of Tick; its fields: type, symbol",
    "[a.price]": r"expected fields in \[ \] but got another expression; write \[symbol\]",
    "b.price > 1": r"expected a condition but got b.price of a component that takes several events; write b\[1\].price,",
    "a[1].price > 1": r"expected a condition but got \[..\] behind a, which takes one event; write a.price",
    "max(a[].price) > 1": r"expected a condition but got max of a, which takes one event; write a.price",
    "b[i] > 1": r"expected a condition but got b\[..\] without a field; name a field behind it",
    "b[2].price > 1": r"column 47: expected a condition but got another index of b; write b\[1\], b\[i\], b\[i-1\], b\[b.LEN\]",
    "b[i+1].price > 1": r"expected a condition but got another index of b",
    "b[..i-1].price > 1": r"expected a condition but got a range of b as a value; ranges stand in aggregates: max\(b\[\].price\)",
    "b[].price > 1": r"expected a condition but got a range of b as a value",
    "max(b[2..i-1].price) > 1": r"expected a condition but got another range of b; write b\[\], b\[..i-1\] or b\[..i\]",
    "a.price > i": r"expected a condition but got i outside of brackets; i stands in a\[i\] and a\[i-1\]; count\(a\[..i-1\]\) is",
    "a > 1": r"expected a condition but got the component a where a value is meant; name a field of it",
    "avg(b[].symbol) = 'x'": r"expected a condition but got avg of symbol, which is no number; its value at one event is",
    "sum(b[..i-1].note) = 'x'": r"expected a condition but got sum of note, which is no number",
    "max(b[].symbol) = 'x'": r"expected a condition but got max of symbol, which is no number",
    "max(b[]) > 1": r"expected a condition but got max without a field; write max\(b\[\].x\), x one of type, symbol",
    "first(b[..i-1].price) > 1": r"expected a condition but got first of a part of b; write b\[1\].price, b\[i-1\].price",
    "sum(a.price) > 1": r"expected a condition but got sum of another thing than one range; write sum\(a\[\].x\),",
    "NEXT(b[i].price + 1) > 1": r"column 45: expected a condition but got next of another thing than a field of one event;",
    "prev(a.price, 65) > 1": r"got prev of another thing than .*; write prev\(a.x\) or prev\(a.x, 2\), up to 64 steps",
    "prev(a.price, True) > 1": r"got prev of another thing than a field of one event",
    "prev(avg(b[].price)) > 1": r"got prev of another thing than a field of one event",
    "prev(next(a.price)) > 1": r"got prev of another thing than a field of one event",
    "prev(b.price) > 1": r"column 50: expected a condition but got b.price of a component that takes several events",
    "prev(a.symbol) > 1": r"expected a condition but got a comparison of a text with a number",
    "lag(a.price) > 1": r"expected a condition but got lag; write prev\(a.x\) or next\(a.x, 2\), fields of the events beside it",
    "a.halted = true": r"expected a condition but got true; write True",
    "a.note = NULL": r"expected a condition but got NULL; write None",
    "a.symbol > 3": r"expected a condition but got a comparison of a text with a number; compare values of one type",
    "a.price = 'x'": r"expected a condition but got a comparison of a text with a number",
    "a.price > 1, c.price > 1": r"expected conditions joined with and but got a comma; write and between them",
    "a.price > 1 c.price > 1": r"column 57: expected an expression but got .*; a condition is a Python expression; conditions",
    "(a.price > 1": r"column 45: expected an expression but got '\(' was never closed",
    "1 < 2": r"column 45: expected a condition on a component but got one that names none; name a field of a component",
    "n.price == c.price": r"column 56: expected a condition of the absent n on c, which comes after it, by order .* but got a",
    "b[i].price < c.price": r"column 45: expected b\[i\] in a condition of b itself or of its group but got one of c; for all of",
    "n.price < b[i].price": r"expected b\[i\] in a condition of b itself or of its group but got one of n",
    "b[i].price > avg(b[].price)": r"expected b\[i\] or all of b\[\] but got both in one condition; ask it of the extreme:",
    "[x for x in (1, 2)]": r"expected an expression but got",
    "(lambda_(a.price)) > 1": r"expected a condition but got lambda_, which is no component",
    "a.price.real > 1": r"expected a condition but got .real of a value",
    "a.__class__ = 3": r"expected a condition but got __class__, which is no field of Tick",
    "open('x') = a.note": r"expected a condition but got open, which is no component",
    "a.symbol * 1000000 = 'x'": r"expected a condition but got \* of something that could be a str; calculate with",
    "a.price > 1e999999999%": r"column 55: expected a percentage that a float holds but got 1e999999999%; write a number",
    "a.volume ** 99999999 > 3": r"expected a condition but got \*\* could make a huge int",
}
GROUPS = {
    "b[1].price > a[i].price": r"expected b\[i\] beside a\[i\] but got b\[1\], which is one event; write b\[i\] and a\[i\]",
    "b[b.LEN].price > 1": r"expected a component that is repeated alone for b\[\] and b.LEN but got one of a group; ask it of a",
    "b[i].price > a[a.LEN].price": r"expected a\[i\] within the group that it repeats with but got all of its events; how many",
    "b[i].price > max(a[..i-1].price)": r"expected a\[..i\] in a condition of b but got a\[..i-1\]; a\[i\] has been taken when b",
}
CONTIGUITY = {
    "PATTERN SEQ(A a, B b) WHERE partition_contiguity(a, b) { b.price > 1 }":
        r"expected \[..\] with partition contiguity but got none; write what the partitions are: \[symbol\], or strict_contiguity",
    "PATTERN SEQ(A a =>strict B b =>partition C c) WHERE [symbol]":
        r"column 19: expected one contiguity but got strict and partition; strict means the whole stream",
    "PATTERN SEQ((A a | B b), C c) WHERE strict_contiguity(a, b, c) { [symbol] }":
        r"expected one component that takes the first event but got several; write the comparisons out, or begin with a component",
    "PATTERN SEQ(~(N n), B b, C c) WHERE strict_contiguity(b, c) { [symbol] }":
        r"expected no negation at the start with \[..\] and strict contiguity but got n; use partition_contiguity",
}  # fmt: skip
RETURN = {
    "b[i].price": r"expected a value of all of b but got b\[i\], which means one iteration; write b\[1\].x, b\[b.LEN\].x or an",
    "max(b[..i-1].price)": r"expected a value of all of b but got b\[i\]",
    "n.price": r"expected a component that takes an event but got n, which is absent; name another component",
    "a.prize": r"column 48: expected a value but got prize, which is no field of Tick",
    "a": r"expected a value but got the component a where a value is meant; name a field of it",
    "a.price, a.price": r"column 55: expected a name of its own for each value but got 'a_price' twice; tell them apart: AS name",
    "a.price AS x, c.price AS x": r"expected a name of its own for each value but got 'x' twice",
    "a.price AS _x": r"expected a name for a value but got '_x'; choose one that begins with a letter",
    "a.price AS class": r"expected a name for a value but got 'class'",
    "a.price AS 3": r"expected a name behind AS but got '3'; write AS name",
    "a.price,": r"expected a value behind ',' but got none; leave the comma out",
    ", a.price": r"expected a value but got ','; leave the comma out",
    "a.(price, 3)": r"expected fields in .\( \) but got another expression; write a.\(x, y\)",
    "_Out(a.price)": r"expected a name of what is returned but got '_Out'; choose another",
}
WITHIN = {
    "3 moons": r"column 52: expected a unit of time but got 'moons'; units: nanoseconds, microseconds, milliseconds",
    "2 months": r"expected a unit of time but got 'months'; .* months and years have no fixed length, write days",
    "1.5 ms": r"expected a whole number of ticks but got '1.5 ms' with tick='ms'; write a whole number of ticks, or give a finer",
    "0": r"expected a duration from 1 tick to an int64 but got '0'",
    "99999999999 weeks": r"expected a duration from 1 tick to an int64 but got '99999999999 weeks'",
    "1e999999999": r"expected a number but got '1e999999999'",
}


REFUSED = [
    (before + text, message)
    for before, texts in (
        *(("", texts) for texts in (FRAME, PATTERN, CONTIGUITY)),
        *((SEQ + clause, texts) for clause, texts in (("WHERE ", WHERE), ("RETURN ", RETURN), ("WITHIN     ", WITHIN))),
        (GROUP + "WHERE ", GROUPS),
    )
    for text, message in texts.items()
]


@pytest.mark.parametrize(("text", "message"), REFUSED)
def test_text_that_means_nothing(text: str, message: str) -> None:
    assert re.search(message, refused(text, tick="ms"))


def test_groups_within_groups() -> None:
    message = (
        r"expected a\[i\] in a condition of a itself or of its group but got one of b; a and b have different repetitions around"
    )
    assert re.search(message, refused("PATTERN (A a[], B+ b[])+ WHERE b[i].price > a[i].price"))


def test_units_need_a_tick() -> None:
    message = r"column 20: expected tick=, what one int of LE counts, but got '3 hours' without it; give tick=\"ms\", say, or write"
    assert re.search(message, refused("PATTERN A a WITHIN 3 hours"))
    assert re.search("expected a unit of time but got 'moon'", refused("PATTERN A a WITHIN 3 hours", tick="moon"))


def test_types_without_a_column() -> None:
    message = (
        r"column 13: expected the type Bare but got 'Shelf', as no field of Bare holds a type; write Bare and ask in WHERE, or name"
    )
    assert re.search(message, refused("PATTERN SEQ(Shelf a, Bare b)", Bare))


def test_columns_that_are_none() -> None:
    assert "expected a str field of Tick but got type='kind'; such fields: type, symbol, note" in refused("", type="kind")
    assert "expected a str field of Tick but got type='price'" in refused("", type="price")
    assert "expected a field of Tick but got order='at'; such fields: type, symbol, price" in refused("", order="at")


def test_text_is_bounded_and_unicode() -> None:
    assert "line 1, column 1: expected at most 10000 characters but got 10001; split the query" in refused("P" * 10_001)
    assert "column 9: expected text that UTF-8 holds but got '\\ud800'; leave it out" in refused("PATTERN \ud800")


def test_no_text() -> None:
    with pytest.raises(AfaError, match="expected a query as text"):
        read_sase(3, Tick)  # type: ignore[arg-type]


def test_the_place_is_shown() -> None:
    text = "PATTERN SEQ(A a, B+ b[])\nWHERE skip_till_any_match(a, b[]) {\n    [symbol]\n\tand b[i].prize > b[i-1].price\n}"
    assert refused(text) == (
        "line 4, column 11: expected a condition but got prize, which is no field of Tick; "
        "its fields: type, symbol, price, volume, halted, note; did you mean 'price'?\n"
        "     and b[i].prize > b[i-1].price\n"
        "              ^"
    )


def test_of_a_long_line_a_part_is_shown() -> None:
    text = f"PATTERN A a WHERE {' and '.join(['a.price > 1'] * 50)} and a.prize > 1"
    *_, shown, caret = refused(text).split("\n")
    assert len(shown) < 140
    assert shown[caret.index("^") :].startswith("prize")
