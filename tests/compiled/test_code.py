"""The code of one arc against Python's evaluation of the same expressions."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from afa.compiled.code.arc_code import arc_code, words
from afa.compiled.code.casts import NotCompilable
from afa.compiled.code.strings import Strings
from afa.expression import evaluate
from afa.expression.nodes import (
    And,
    Binary,
    Call,
    Compare,
    Const,
    Expr,
    FieldRead,
    If,
    In,
    IsNone,
    Make,
    Not,
    Or,
    Text,
    Unary,
    walk,
)
from afa.model.arc import TIMEOUT
from afa.schema import NAN, Schema
from punctuation.base_errors import AfaError
from tests.compiled.calls import NATIVE, NativeArc, compiled, function, of, to_words
from tests.compiled.expressions import REGISTER, STRS, E, R, expression, nested, record, transfer
from tests.lanes import sample

TAKE = Schema.of(R, "register").take
ALWAYS = Const(True)
SAME = Make(tuple(FieldRead("r", name) for name in R._fields))
RAISES = (ArithmeticError, AttributeError, TypeError, ValueError, AfaError)


def python(fence: Expr, made: Expr, event: E, register: R, strings: Strings) -> tuple[int, list[int] | None]:
    """What Python says: the status and the words of the register; -1 where it raises."""
    try:
        if not evaluate(fence, event, register):
            return 0, None
        return 1, to_words(REGISTER, TAKE(evaluate(made, event, register)), strings)
    except RAISES:
        return -1, None


def is_limit(expr: Expr, event: E, register: R) -> bool:
    """Whether somewhere in it is a number that native code leaves to Python: beyond 2**53, NaN, subnormal, or complex."""
    for node in walk(expr):
        try:
            value = evaluate(node, event, register)
        except RAISES:
            continue
        if isinstance(value, complex):
            return True
        if isinstance(value, (int, float)) and not (abs(value) < 2**53 and (value == 0 or abs(value) > 1e-307)):
            return True
    return False


def makes_text(expr: Expr) -> bool:
    """A str that there was not, which Python makes."""
    return any(
        (isinstance(node, Call) and node.name in ("str", "upper", "lower", "contains"))
        or (isinstance(node, Binary) and node.op == "+" and any(isinstance(x, FieldRead) and x.name[-1] == "s" for x in walk(node)))
        or (isinstance(node, Binary) and node.op == "+" and any(isinstance(x, Const) and type(x.value) is str for x in walk(node)))
        for node in walk(expr)
    )


def stores_int_as_bool(made: Expr, register: R) -> bool:
    """A choice of an int and a bool, for a bool field."""
    return any(
        isinstance(node, Make)
        and any(not isinstance(item, (FieldRead, Compare, Not, In, IsNone, Text)) for item in (node.items[2], node.items[6]))
        for node in walk(made)
    )


def parts(role: str, rng: random.Random) -> tuple[Expr, Expr]:
    """A fence and a transfer, one of them random."""
    if role == "nested":
        return nested(rng, rng.randint(1, 25)), SAME
    return (expression(rng, "b", rng.randint(1, 4)), SAME) if role == "fence" else (ALWAYS, transfer(rng, rng.randint(0, 3)))


def compare(role: str, seed: int, seen: Counter[str]) -> None:
    """One arc on 25 events, native and in Python."""
    rng = random.Random(f"{role} {seed}")
    strings = Strings(STRS)
    fence, made = parts(role, rng)
    try:
        arc = NativeArc(compiled(fence, made), strings)
    except NotCompilable:
        return
    for _ in range(25):
        event, register = record(rng, E), record(rng, R)
        wanted, wanted_words = python(fence, made, event, register, strings)
        status, found = arc(event, register)
        where = (role, seed, fence, made, event, register)
        assert status in (wanted, -1), where
        assert status < 1 or found == wanted_words, where
        asked_in_vain = status == -1 and wanted != -1
        if asked_in_vain:
            whole = And((fence, made))
            assert is_limit(whole, event, register) or stores_int_as_bool(made, register) or makes_text(whole), where
        seen["in vain" if asked_in_vain and not makes_text(And((fence, made))) else str(status)] += 1


@sample(60, 10_000)
@pytest.mark.filterwarnings("ignore:Bitwise inversion")
@pytest.mark.parametrize("role", ["fence", "transfer", "nested"])
def test_expressions_mean_what_they_mean_in_python(role: str, numbers: range) -> None:
    seen: Counter[str] = Counter()
    for seed in numbers:
        compare(role, seed, seen)
    assert seen["1"] > 5 * len(numbers), seen
    assert seen["in vain"] < sum(seen.values()) / (8 if role == "nested" else 20), seen


F, N, B, S, ON, OS = (FieldRead("r", name) for name in ("f", "i", "b", "s", "oi", "os"))
BIG = 2**63 - 1


def less(x: Expr, y: Any) -> Expr:
    return Compare("<", x, Const(y))


@pytest.mark.parametrize(
    ("fence", "register", "status"),
    [
        (less(Binary("+", N, Const(1)), 0), R(i=BIG), -1),  # no int64
        (less(Unary("-", N), 0), R(i=-BIG - 1), -1),
        (less(Call("abs", (N,)), 0), R(i=-BIG - 1), -1),
        (less(Binary("//", N, Const(0)), 0), R(i=1), -1),
        (less(Binary("//", N, Const(-1)), 0), R(i=-BIG - 1), -1),
        (Compare("==", Binary("//", N, Const(2)), Const(-4)), R(i=-7), 1),
        (Compare("==", Binary("%", N, Const(-3)), Const(-2)), R(i=7), 1),
        (Compare("==", Binary("//", F, Const(0.1)), Const(9.0)), R(f=1.0), 1),
        (less(Binary("/", N, Const(3)), 0), R(i=2**53 + 1), -1),  # now and then rounded twice
        (less(N, 0.5), R(i=2**53 + 1), -1),
        (less(N, 2**53 + 2), R(i=2**53 + 1), 1),
        (Compare("==", Call("round", (F,)), Const(2)), R(f=2.5), 1),
        (less(Call("round", (F,)), 0), R(f=NAN), -1),
        (less(Call("int", (F,)), 0), R(f=2.0**63), -1),
        (Compare("==", Call("int", (F,)), Const(-2)), R(f=-2.9), 1),
        (less(Binary("**", F, Const(0.5)), 0), R(f=-1.0), -1),  # complex
        (less(Binary("**", F, Const(-1)), 0), R(f=0.0), -1),
        (Compare("==", Binary("**", N, Const(62)), Const(2**62)), R(i=-2), 1),
        (less(Binary("**", N, Const(63)), 0), R(i=2), -1),
        (less(F, 0), R(f=NAN), 0),
        (Not(less(F, 0)), R(f=NAN), 1),
        (Compare("==", F, F), R(f=NAN), 0),
        (F, R(f=NAN), 1),
        (Compare("==", Call("max", (F, Const(0))), Const(0)), R(f=NAN), 0),  # max keeps the first
        (Compare("==", Call("max", (Const(0), F)), Const(0)), R(f=NAN), 1),
        (less(ON, 5), R(oi=None), -1),
        (Compare("==", ON, Const(0)), R(oi=None), 0),
        (Compare("==", ON, FieldRead("e", "oi")), R(oi=None), 1),
        (ON, R(oi=None), 0),
        (Or((IsNone(ON), less(ON, 5))), R(oi=None), 1),
        (And((Compare("!=", N, Const(0)), less(Binary("//", Const(9), N), 4))), R(i=0), 0),  # no further than needed
        (If(Compare("==", N, Const(0)), B, less(Binary("//", Const(9), N), 4)), R(i=0, b=True), 1),
        (In(N, (Const(1.0), Const(None), Const("a"))), R(i=1), 1),
        (In(F, (Const(1), Const(True), Const(2**60 + 1))), R(f=2.0**60), 0),
        (In(F, (Const(NAN), Const(1.0))), R(f=NAN), -1),  # by identity
        (In(OS, (Const(None), Const("a"))), R(os=None), 1),
        (In(N, tuple(map(Const, range(40)))), R(i=39), 1),
        (In(N, tuple(map(Const, range(40)))), R(i=40), 0),
        (Compare("==", S, Const("a")), R(s="a"), 1),
        (Compare("==", S, N), R(s="0"), 0),
        (S, R(s=""), 0),
        (Text("startswith", S, (Const("x"), Const("a"))), R(s="abc"), 1),
        (Text("startswith", S, (Const("a"),)), R(s="came after the table was made"), -1),
        (Text("contains", OS, (Const("a"),)), R(os=None), -1),
        (Compare("==", Call("len", (S,)), Const(3)), R(s="abc"), 1),
        (less(Call("len", (S,)), 9), R(s="came after the table was made"), -1),
        (Compare("==", Binary("&", B, Const(True)), Const(1)), R(b=True), 1),
        (Compare("==", Unary("~", B), Const(-2)), R(b=True), 1),
    ],
)
def test_python_s_meaning_at_the_edges(fence: Expr, register: R, status: int) -> None:
    assert NativeArc(compiled(fence), Strings(STRS))(E(), register)[0] == status


def stored(**fields: Expr) -> Expr:
    """A transfer that sets some fields."""
    return Make(tuple(fields.get(name, FieldRead("r", name)) for name in R._fields))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (stored(f=Unary("-", F)), R(f=0.0)),  # no -0.0
        (stored(f=Binary("-", Const(float("inf")), Const(float("inf")))), R(f=NAN)),
        (stored(f=N, i=B), R()),
        (stored(oi=Const(None), of=Const(1)), R(oi=None, of=1.0)),
        (stored(f=Const(2**53 + 1)), None),  # no float equals it
        (stored(i=ON), None),
        (stored(b=N), None),
        (stored(i=Const(None)), None),
    ],
)
def test_fields_are_stored_in_their_schema_s_form(made: Expr, expected: R | None) -> None:
    strings = Strings()
    status, found = NativeArc(compiled(ALWAYS, made), strings)(E(), R())
    assert status == (-1 if expected is None else 1)
    assert expected is None or found == to_words(REGISTER, expected, strings)


@pytest.mark.parametrize(
    ("fence", "made", "message"),
    [
        (Compare("<", S, Const("a")), SAME, "< of two str has no native form; compare str with == or startswith"),
        (Compare("<", S, N), SAME, "< of str has no native form"),
        (less(Binary("-", S, S), 0), SAME, r"- of str has no native form"),
        (less(Call("round", (F, Const(2))), 0), SAME, r"round\(\) to digits has no native form"),
        (less(Call("len", (Binary("+", S, OS),)), 3), SAME, r"len\(\) .* has no native form; keep the length in a field"),
        (less(Binary("**", N, N), 0), SAME, r"\*\* by what is not a constant int >= 0"),
        (less(Binary("%", Call("max", (F, Const(0))), Const(2)), 1), SAME, "% of what is now an int, now a float"),
        (Compare("==", If(B, S, N), Const(1)), SAME, "if .. else gives now a str, now a number"),
        (less(Call("min", (S, S)), 0), SAME, r"min\(\) of str"),
        (less(N, 2**63), SAME, "the constant 9223372036854775808 is no int64"),
        (ALWAYS, stored(i=F), r"float for the register's i: int; make it int\(..\)"),
        (ALWAYS, stored(s=N), "int for the register's s: str"),
        (ALWAYS, Make((F,)), "a transfer returns 1 fields where the register has 8"),
        (ALWAYS, F, "a transfer returns no register"),
        (FieldRead("e", "gone"), SAME, "e has no field 'gone'"),
    ],
)
def test_what_has_no_native_form_says_why(fence: Expr, made: Expr, message: str) -> None:
    with pytest.raises(NotCompilable, match=message):
        compiled(fence, made)


def test_a_truth_takes_each_end_of_a_choice_for_itself() -> None:
    fence = If(B, S, N)  # now a str, now a number
    assert [NativeArc(compiled(fence), Strings())(E(), R(b=b, i=1))[0] for b in (True, False)] == [0, 1]


@pytest.mark.parametrize("depth", [200, 100_000])
def test_deep_nesting_is_refused(depth: int) -> None:
    deep: Expr = N
    for _ in range(depth):
        deep = Unary("-", deep)
    with pytest.raises(NotCompilable, match="nested too deep"):
        compiled(less(deep, 0))


def test_arcs_that_differ_in_constants_share_their_code() -> None:
    one, other = (compiled(And((less(FieldRead("e", "f"), -x), Compare("==", S, Const(f"{x}"))))) for x in (0.25, 1.5))
    assert one.key == other.key
    assert one.params != other.params
    assert compiled(less(FieldRead("e", "f"), 1)).key != compiled(less(FieldRead("e", "of"), 1)).key
    assert compiled(less(FieldRead("e", "f"), 1)).key != compiled(less(FieldRead("e", "i"), 1)).key


def test_one_operand_is_computed_once_and_has_one_constant() -> None:
    middle = Binary("*", F, Const(2.0))
    chain = compiled(And((Compare("<", Const(0.0), middle), Compare("<", middle, Const(5.0)))))
    assert [param.value for param in chain.params] == [0.0, 2.0, 5.0]
    assert chain.ir.count("fmul") == 1


@pytest.mark.parametrize(
    ("at", "register", "due"), [(Binary("+", N, Const(5)), R(i=7), 12), (ON, R(oi=None), None), (N, R(i=3), 3)]
)
def test_a_time_out_gives_its_instant(at: Expr, register: R, due: int | None) -> None:
    code = arc_code(TIMEOUT, None, None, at, False, None, REGISTER)
    reg, out, params = of(*to_words(REGISTER, register, Strings())), of(0), of(*words(code.params, Strings()))
    call = function(NATIVE.function(code.key, lambda: code.ir), 4)
    status = call(0, reg.ctypes.data, out.ctypes.data, params.ctypes.data)
    assert (status, out[0]) == ((-1, 0) if due is None else (1, due))


def test_a_time_out_at_no_int_is_refused() -> None:
    with pytest.raises(NotCompilable, match="a time-out at float always raises; make it an int"):
        arc_code(TIMEOUT, None, None, F, False, None, REGISTER)
    with pytest.raises(NotCompilable, match=r"e\.f is read where there is no event"):
        arc_code(TIMEOUT, None, None, FieldRead("e", "f"), False, None, REGISTER)
