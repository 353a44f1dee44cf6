"""Text: what names mean, what is refused and where, and that hostile text ends at once."""

from __future__ import annotations

import random
import time
from typing import Any, NamedTuple

import pytest

from afa import AutomatonError, ExpressionError
from afa.expression import AT, EPSILON_FENCE, EPSILON_TRANSFER, FENCE, TRANSFER, FunctionKind, parse, text_of_expr
from afa.expression.nodes import Expr
from afa.schema import Schema
from tests.expression.worlds import EVENT, REGISTER, SCHEMAS


class Odd(NamedTuple):
    """Fields with names that mean something else."""

    e: int
    nan: float
    min: int
    größe: int
    any: Any = None


ODD = Schema.of(Odd, "event")


@pytest.mark.parametrize(
    ("text", "kind", "read"),
    [
        ("i < 3", FENCE, "e.i < 3"),
        ("  i < 3\n", FENCE, "e.i < 3"),
        ("i<r.n", FENCE, "e.i < r.n"),
        ("e.i < 3 < r.n", FENCE, "e.i < 3 and 3 < r.n"),
        ("e[0] < r[-1]", FENCE, "e.i < r.on"),
        ("i == None", FENCE, "e.i is None"),
        ("os in {'b', 'a', 'b'}", FENCE, "e.os in ('a', 'b')"),
        ("i in [2, 1]", FENCE, "e.i in (2, 1)"),
        ("'a' in s and s.startswith(('a',))", FENCE, "'a' in e.s and e.s.startswith('a')"),
        ("x < inf and x != -inf", FENCE, "e.x < inf and e.x != -inf"),
        ("(i < 1 and b) and (x < 1)", FENCE, "e.i < 1 and e.b and e.x < 1"),
        ("-9223372036854775808 <= i", FENCE, "-9223372036854775808 <= e.i"),
        ("1e999 > x", FENCE, "inf > e.x"),
        ("max(i, 2, x) > abs(-i)", FENCE, "max(e.i, 2, e.x) > abs(-e.i)"),
        ("n < 3", EPSILON_FENCE, "r.n < 3"),
        ("r.n < 3", EPSILON_FENCE, "r.n < 3"),
        ("n + 5", AT, "r.n + 5"),
        ("r", TRANSFER, "(r.n, r.t, r.f, r.w, r.on)"),
        ("R(i)", TRANSFER, "(e.i, 0.0, False, '', None)"),
        ("R(n=i, w='x')", TRANSFER, "(e.i, 0.0, False, 'x', None)"),
        ("r._replace(n=r.n + 1)", TRANSFER, "(r.n + 1, r.t, r.f, r.w, r.on)"),
        ("r if b else r._replace(n=2)", TRANSFER, "(r.n if e.b else 2, r.t, r.f, r.w, r.on)"),
        ("(n, 0.5, f, w, None)", EPSILON_TRANSFER, "(r.n, 0.5, r.f, r.w, None)"),
    ],
)  # fmt: skip
def test_what_text_means(text: str, kind: FunctionKind, read: str) -> None:
    assert text_of_expr(parse(text, kind, EVENT if kind.sees_event else None, REGISTER)) == read


def test_fields_whose_names_mean_something_else_are_written_with_their_side() -> None:
    text = "e.e < 3 and e.nan < nan and min(e.min, größe) > 1 and e.any == 'x'"
    assert text_of_expr(parse(text, FENCE, ODD, REGISTER)) == text.replace("größe", "e.größe")


def caret(message: str) -> str:
    """The text from the caret on."""
    line, mark = message.split("\n")[1:3]
    return line[mark.index("^") :]


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("x < 1 and chnge > 2", r"chnge is no field of E; its fields: i, x, b", "chnge > 2"),
        ("i < 1 and n > 2", r"n is a field of the register; write r\.n", "n > 2"),
        ("e.x < r.y", r"y is no field of R; its fields: n, t, f, w, on", "r.y"),
        ("x <", r"no Python expression \(invalid syntax\)", ""),
        ("(x < 1", r"never closed", "(x < 1"),
        ("x < 1; x", r"invalid syntax", "; x"),
        ("x = 1", r"no Python expression", ""),
        ("", r"no Python expression", ""),
        ("größer < i + é", r"größer is no field", "größer"),
        ("i < 3 + é", r"é is no field", "é"),
        ("s == 'é' and é", r"é is no field", "é"),
        ("(y := 3) > i", r":= is used", "y := 3"),
        ("lambda: 1", r"a lambda is used", "lambda"),
        ("[q for q in e]", r"a comprehension is used", "[q"),
        ("f'{i}' == '1'", r"an f-string is used", "f'"),
        ("e.__class__", r"__class__ is no field of E", "e.__class__"),
        ("e._fields", r"_fields is no field of E", "e._fields"),
        ("r.__init__.__globals__", r"__init__ is no field of R", "r.__init__"),
        ("R.__subclasses__()", r"R is a type", ""),
        ("i.bit_length()", r"\.bit_length\(...\) of a value", "i.bit"),
        ("s.format(e)", r"\.format\(...\) of a value", "s.format"),
        ("print(i)", r"print is no field", "print"),
        ("eval('1')", r"eval is no field", "eval"),
        ("__import__('os')", r"__import__ is no field", "__import__"),
        ("abs(i)(3)", r"a value is called", "abs(i)(3)"),
        ("i < 3j", r"a constant of type complex", "3j"),
        ("s == b'a'", r"a constant of type bytes", "b'a'"),
        ("i < ...", r"a constant of type ellipsis", "..."),
        ("i < 9223372036854775808", r"an int beyond int64", "9223372036854775808"),
        ("i < " + "9" * 5000, r"an int beyond int64|no Python expression", None),
        ("i << 2", r"the operator LShift", "i <<"),
        ("i @ 2", r"the operator MatMult", "i @"),
        ("9 ** 9 ** 9 > i", r"\*\* could make a huge int", None),
        ("i ** r.n > 1", r"\*\* could make a huge int", None),
        ("(x if b else 9) ** 99999999 > 1", r"\*\* could make a huge int", None),
        ("s * 1000000000 == ''", r"\* of something that could be a str", None),
        ("'%099999999d' % i == s", r"% of something that could be a str", None),
        ("round(i, -999999999) > 1", r"round to digits that are no small constant", None),
        ("e", r"the event as a whole", None),
        ("(i, 2)", r"a tuple as a whole", None),
        ("e < 3", r"the event as a whole", "e < 3"),
        ("{'a': 1}[s]", r"a dict is used", "{'a'"),
        ("i if b", r"no Python expression", ""),
        ("x in nan", r"in, of a value that is no constant", ""),
        ("i in (1, nan)", r"in, over a NaN", "(1, nan)"),
        ("max(*e)", r"a starred value is used", "*e"),
        ("await i", r"no Python expression|an await is used", None),
        ("yield i", r"no Python expression", None),
        ("i\x00 < 3", r"no Python expression", None),
        ("s == '\ud800' and q", r"no Python expression", None),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(text: str, reason: str, place: str | None) -> None:
    with pytest.raises(ExpressionError, match=rf"^expected fence\(e, r\) as text but .*({reason})") as caught:
        parse(text, FENCE, *SCHEMAS)
    if place:
        assert caret(str(caught.value)).startswith(place)
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize(
    ("text", "kind", "reason"),
    [
        ("i < 3", FENCE, "the automaton has no event schema; give the Automaton event="),
        ("e.i < 3", FENCE, "the automaton has no event schema"),
        ("e.i < 3", EPSILON_FENCE, "e is no field of R"),
        ("r.n", TRANSFER, "returns no register on some way; return R\\(n, t, f, w, on\\)"),
        ("(1, 2)", TRANSFER, "returns no register"),
        ("R(1, m=2)", TRANSFER, "with other arguments"),
        ("r._replace(m=2)", TRANSFER, "its fields: n, t, f, w, on"),
        ("r if r.f else 3", TRANSFER, "a register on one way and something else on the other"),
        ("r", AT, "the register as a whole"),
    ],
)
def test_what_a_kind_of_function_refuses(text: str, kind: FunctionKind, reason: str) -> None:
    with pytest.raises(ExpressionError, match=reason):
        parse(text, kind, None, REGISTER)


def test_text_that_is_no_str() -> None:
    with pytest.raises(AutomatonError, match=r"as text \(str\) but got 5"):
        parse(5, FENCE, *SCHEMAS)  # type: ignore[arg-type]


def read(text: str) -> tuple[Expr | None, str]:
    """The expression, or the message."""
    try:
        return parse(text, FENCE, *SCHEMAS), ""
    except ExpressionError as error:
        return None, str(error)


HOSTILE = [
    "i" + " < i" * 5000,
    "-" * 9000 + "i",
    "not " * 2400 + "b",
    "~" * 999 + "i",
    "(" * 4000 + "i" + ")" * 4000,
    "[" * 150 + "]" * 150 + " in i",
    "i" + "+i" * 4900,
    "i" + "+i" * 900,
    "i" + "**i" * 900,
    "i if b else " * 800 + "i",
    "b and (" * 500 + "b" + ")" * 500,
    "0 < (" * 90 + "i" + " < 1)" * 90,
    "min(i, " * 90 + "i" + ")" * 90,
    "e" + ".i" * 900,
    "i" + "[0]" * 900,
    "abs" + "()" * 900,
    "i in (" + "1," * 4000 + ")",
    "r.f or " * 1400 + "b",
    "i == 1 or " * 900 + "b",
    "s == '" + "-" * 9000 + "'",
    "s == '" + "'  '" * 2000 + "'",
    "f'{" + "-" * 9000 + "i}'",
    "i # " + "(" * 9000,
    "i" + "\n" * 9000,
    "R(" * 300 + ")" * 300,
    "'" * 9001,
    "i < " + "1" * 9000,
    "i < 1e" + "9" * 9000,
    "\\" * 9000,
    "\t" * 9000 + "i",
    "'" + "\\x" * 4000 + "'",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: repr(text[:12]))
def test_hostile_text_ends_at_once(text: str) -> None:
    begin = time.process_time()
    found, message = read(text)
    assert len(message) < 700
    assert found is None or parse(text_of_expr(found), FENCE, *SCHEMAS) == found
    assert time.process_time() - begin < 2


def test_noise_is_refused_or_read() -> None:
    rng = random.Random(4)
    pieces = ["i", "x", "s", "b", "e.", "r.", "n", "(", ")", "[", "]", "'a'", "1", "-", "+", "**", "<", "==", " and ", " not "]
    pieces += [
        " in ",
        " is ",
        "None",
        " if ",
        " else ",
        ",",
        "min",
        "R",
        "_replace",
        "=",
        ":",
        "\\",
        "'",
        "\n",
        "#",
        "é",
        "\0",
        ".",
        "@",
    ]
    taken = 0
    for _ in range(4000):
        text = "".join(rng.choice(pieces) for _ in range(rng.randint(1, 8)))
        found, message = read(text)
        taken += found is not None
        assert message.startswith("expected fence(e, r) as text but") if found is None else read(text_of_expr(found))[0] == found
    assert taken > 50
