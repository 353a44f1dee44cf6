# ruff: noqa: C416, F841, RET503, SIM110, SIM115  (these are the forms)
"""What can't be taken apart is refused, by a reason and a hint; never read as something else."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import linecache
import math
import operator
from typing import Any, NamedTuple

import numpy as np
import pytest

from afa.expression import AT, EPSILON_TRANSFER, FENCE, TRANSFER, Unreadable, evaluate, read
from afa.expression.functions import like, regexp_like, substr
from afa.expression.nodes import Const
from tests.expression import defs, lambdas
from tests.expression.test_reading_random import functions
from tests.expression.worlds import REGISTER, SCHEMAS, E, R
from tests.text import defined


class Colour(enum.IntEnum):
    RED = 1


class Other(NamedTuple):
    n: int = 0


class Tricky(NamedTuple):
    n: int = 0

    @property
    def double(self) -> int:
        return self.n * 2


@dataclasses.dataclass
class Box:
    high: int = 3


class Meta(type):
    @property
    def HIGH(cls) -> int:
        return 3


class WithMeta(metaclass=Meta):
    pass


LIST, DICT, SET, BOX, TRICKY, BIG = [1, 2], {"a": 1}, {1, 2}, Box(), Tricky(), 2**70
SINGLE, SMALL, HUGE, TRUE = np.float32(0.1), np.int32(3), np.float64(2.0**60), np.True_
NAN_IN = (1.0, math.nan)


def recursive(x: int) -> int:
    return 0 if x < 1 else recursive(x - 1)


def looped(e: E, r: R) -> bool:
    for i in range(3):
        if e.i == i:
            return True
    return False


def caught(e: E, r: R) -> bool:
    try:
        return e.i / r.n > 1
    except ZeroDivisionError:
        return False


def while_true(e: E, r: R) -> bool:
    while e.i > 1:
        return True
    return False


def yields(e: E, r: R) -> Any:
    yield e.i


async def waits(e: E, r: R) -> bool:
    return e.i > 0


def assigns_globally(e: E, r: R) -> bool:
    global LIST
    LIST = [e.i]
    return True


def bound_on_some_ways(e: E, r: R) -> bool:
    if e.b:
        x = 1
    return x > 0


def used_too_early(e: E, r: R) -> bool:
    if x > 0:  # noqa: F821
        return True
    x = 1
    return False


def maybe_walrus(e: E, r: R) -> bool:
    return (e.b and (y := e.i) > 0) or y > 1


def star_target(e: E, r: R) -> bool:
    n, *_ = r
    return n > 0


def shadowed(e: E, r: R) -> bool:
    min = e.i
    return min(1, 2) > 0


def no_register(e: E, r: R) -> Any:
    if e.b:
        return r


@functools.lru_cache
def cached(e: E, r: R) -> bool:
    return e.i > 0


@functools.wraps(looped)
def wrapper(*args: Any, **kwargs: Any) -> Any:
    return looped(*args, **kwargs)


DOUBLED = "".join(f"    {b} = {a} + {a}\n" for a, b in itertools.pairwise("abcdfghijk"))
doubling = defined(f"def doubling(e, r):\n    a = e.i + e.i\n{DOUBLED}    return k + k\n")["doubling"]
STEPS = "".join(f"    if e.i > {n}:\n        x += 1\n" for n in range(1, 10))
ways = defined(f"def ways(e, r):\n    x = 0\n{STEPS}    return x > 3\n")["ways"]


def empty_cell() -> Any:
    fence = lambda e, r: e.i < later  # noqa: E731
    if fence is None:
        later = 3
    return fence


def unpacks(r: Any) -> int:
    n, m = r
    return n + m


def make_closure(k: Any) -> Any:
    return lambda e, r: e.i < k


class Fence:
    def __call__(self, e: E, r: R) -> bool:
        return True

    def method(self, e: E, r: R) -> bool:
        return True


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (eval("lambda e, r: e.i < 3"), "no source"),
        (len, r"len is a builtin_function_or_method, not a function in Python"),
        (operator.attrgetter("b"), "attrgetter"),
        (Fence(), "Fence is a Fence"),
        (Fence().method, "method is a method"),
        (cached, "_lru_cache_wrapper"),
        (wrapper, r"takes \* or \*\*"),
        (lambda *args: True, r"takes \* or \*\*"),
        (lambda e, r, **kw: True, r"takes \* or \*\*"),
        (lambda e: True, "called with other arguments"),
        (lambda e, r, k: True, "called without k"),
        (looped, "a for is used"),
        (caught, "a try is used"),
        (while_true, "a while is used"),
        (defs.asserted, "an assert is used"),
        (yields, "a generator or async"),
        (waits, "a generator or async"),
        (assigns_globally, "a global is used"),
        (bound_on_some_ways, "x has no value here"),
        (used_too_early, "x has no value here"),
        (maybe_walrus, "y is bound on some ways only"),
        (star_target, "no local name"),
        (shadowed, "a value is called"),
        (doubling, "more than 2000 operations"),
        (ways, "more than 2000 (ways|operations)"),
        (empty_cell(), "later has no value yet"),
        (make_closure([1]), "k is a list, which can change"),
        (lambda e, r: recursive(e.i) > 0, "recursive calls itself"),
        (lambda e, r: undefined_name > e.i, "undefined_name is not defined"),  # type: ignore[name-defined]  # noqa: F821
        (lambda e, r: e.missing > 3, "missing is no field of E"),
        (lambda e, r: e.count(3) > 0, "count is no field of E"),
        (lambda e, r: e._replace(i=3).i > 0, "_replace is no field of E"),
        (lambda e, r: e.i.real > 0, r"\.real of a value"),
        (lambda e, r: e.s.strip() == "A", r"\.strip\(...\) of a value"),
        (lambda e, r: e.s.startswith("a", 1), r"\.startswith\(...\) of a value"),
        (lambda e, r: e.s.startswith(r.w), "startswith of something that is no constant str"),
        (lambda e, r: e.s[0] == "a", r"\[0\] of something"),
        (lambda e, r: e[r.n] == 1, "an index that is no constant int"),
        (lambda e, r: e[99] == 1, r"\[99\] of something"),
        (lambda e, r: e[0:2] == 1, "a slice is used"),
        (lambda e, r: e == r, "the event as a whole"),
        (lambda e, r: r == R(), "the register as a whole"),
        (lambda e, r: r, "the register as a whole"),
        (lambda e, r: (e.i, 1), "a tuple as a whole"),
        (lambda e, r: (e.i, 1) < (r.n, 2), "a tuple as a whole"),
        (lambda e, r: e.i in LIST, "LIST is a list, which can change"),
        (lambda e, r: e.i in SET, "SET is a set, which can change"),
        (lambda e, r: DICT[e.s] == 1, "of something that has no such item|an index that is no constant"),
        (lambda e, r: DICT.get(e.s) == 1, "DICT.get is an attribute of a dict"),
        (lambda e, r: e.i < BOX.high, "BOX.high is an attribute of a Box"),
        (lambda e, r: e.i < TRICKY.double, "TRICKY.double is an attribute of a Tricky"),
        (lambda e, r: e.i < WithMeta.HIGH, "WithMeta.HIGH is an attribute of a Meta"),
        (lambda e, r: e.i == Colour.RED, "Colour.RED is an attribute of a EnumType|EnumMeta"),
        (make_closure(Colour.RED), "k is a Colour, not a plain int"),
        (lambda e, r: e.i < BIG, "BIG is an int beyond int64"),
        (lambda e, r: e.i < 99999999999999999999, "an int beyond int64"),
        (lambda e, r: e.x < SINGLE, "SINGLE is a numpy float32, not a plain float"),
        (lambda e, r: e.i < SMALL, "SMALL is a numpy int32, not a plain int"),
        (lambda e, r: e.i < HUGE, "HUGE is a numpy float64, not a plain float"),
        (lambda e, r: e.x < lambdas.NUMPY + 1, "NUMPY is a numpy float64"),
        (lambda e, r: (e.x < lambdas.NUMPY) + 1 > 1, "NUMPY is a numpy float64"),
        (lambda e, r: (e.x < lambdas.NUMPY) is True, "NUMPY is a numpy float64"),
        (lambda e, r: e.b == TRUE, "TRUE is a numpy bool_?, not a plain bool"),
        (lambda e, r: e.x in NAN_IN, "in, over a NaN"),
        (lambda e, r: e.i in (r.n, 2), "in, over values that are no constants"),
        (lambda e, r: e.i in "abc", "in, of a value that is no constant"),
        (lambda e, r: e.i is r.n, "is, of values"),
        (lambda e, r: e.i is True, "is, of values"),
        (lambda e, r: f"{e.i}" == "1", "an f-string is used"),
        (lambda e, r: [e.i][0] == 1, "a list is used"),
        (lambda e, r: any(x > 0 for x in e), "a comprehension is used"),
        (lambda e, r: sum([x for x in (1, 2)]) > e.i, "a comprehension is used"),
        (lambda e, r: sum((e.i, 1)) > 0, r"sum\(...\) is called"),
        (lambda e, r: math.hypot(e.x, 1) > 0, r"math.hypot\(...\) is called"),
        (lambda e, r: math.sqrt(e.x, 1) > 0, "sqrt of 2 arguments or with keywords"),
        (lambda e, r: like(e.s, e.os), "like by what is no constant str"),
        (lambda e, r: like(e.s, "a!b", "!"), r"like by a pattern that can't be read \(ESCAPE stands before"),
        (lambda e, r: regexp_like(e.s, "a("), r"regexp_like by a pattern that can't be read \(.*missing \)"),
        (lambda e, r: substr(e.s, e.i) == "", "substr by what is no constant int"),
        (lambda e, r: math.isnan(e.ox), "need not be a number"),
        (lambda e, r: min((e.i, 1), 2) > 0, "a tuple as a whole"),
        (lambda e, r: min(e.i) > 0, "min of 1 arguments"),
        (lambda e, r: max(e.i, 1, key=abs) > 0, "max of 2 arguments or with keywords"),
        (lambda e, r: max(*e) > 0, r"a call with \* or \*\*"),
        (lambda e, r: int("12", 8) > e.i, "int of 2 arguments"),
        (lambda e, r: (lambda x: x)(e.i) > 0, "a lambda is used"),
        (lambda e, r: e.i << 2 > 0, "the operator LShift"),
        (lambda e, r: e.i < 3j, "a constant of type complex"),
        (lambda e, r: e.s == b"a", "a constant of type bytes"),
        (lambda e, r: print(e), r"print\(...\) is called"),
        (lambda e, r: open("x"), r"open\(...\) is called"),
        (lambda e, r: eval("e.i"), r"eval\(...\) is called"),
        (lambda e, r: __import__("os"), r"__import__\(...\) is called"),
        (lambda e, r: Other(e.i).n > 1, r"Other\(...\) is called"),
        (lambda e, r: R(e.i, m=3).n > 1, r"R\(...\) with other arguments"),
        (lambda e, r: E(1).i > 1, r"E\(...\) is called"),
        (lambda e, r: isinstance(e.i, int), r"isinstance\(...\) is called"),
        (functools.partial(print, 1), "print is a builtin"),
    ],
)
def test_fences(function: Any, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason) as caught:
        read(function, FENCE, *SCHEMAS)
    assert caught.value.hint
    assert caught.value.reason


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (no_register, "a register on one way"),
        (lambda e, r: None, "returns no register"),
        (lambda e, r: e.i, "returns no register"),
        (lambda e, r: (1, 2), "returns no register"),
        (lambda e, r: [1, 2.0, False, "", None], "a list is used"),
        (lambda e, r: R(*r), "a call with"),
        (lambda e, r: (r.n + 1, *r[1:]), "a starred value is used"),
        (lambda e, r: Other(1), r"Other\(...\) is called"),
        (lambda e, r: R, "R is a type"),
        (lambda e, r: r._replace(m=3), "no field"),
        (lambda e, r: r._make(e), "_make is no field"),
        (lambda e, r: R(R(1), 2.0), "the register as a whole"),
        (lambda e, r: r if e.b else None, "a register on one way"),
    ],
)
def test_transfers(function: Any, reason: str) -> None:
    with pytest.raises(Unreadable, match=reason):
        read(function, TRANSFER, *SCHEMAS)


def test_an_event_without_a_schema() -> None:
    with pytest.raises(Unreadable, match="no event schema") as caught:
        read(lambda e, r: e.i > 3, FENCE, None, REGISTER)
    assert caught.value.hint == "give the Automaton event="
    with pytest.raises(Unreadable, match="no event schema"):
        read(lambda e, r: e[0] > 3, FENCE, None, REGISTER)


def test_a_shadowed_builtin_is_what_it_is_bound_to() -> None:
    (fence,) = functions(["lambda e, r: abs(e.i) > 0"], abs=lambda x: x)
    assert evaluate(read(fence, FENCE, *SCHEMAS), E(-1, 0.0, True, ""), R()) is False
    (fence,) = functions(["lambda e, r: abs(e.i) > 0"], abs=math.hypot)
    with pytest.raises(Unreadable, match=r"abs\(...\) is called"):
        read(fence, FENCE, *SCHEMAS)
    (fence,) = functions(["lambda e, r: largest(e.i, 1) > 0"], largest=max)
    assert evaluate(read(fence, FENCE, *SCHEMAS), E(0, 0.0, True, ""), R()) is True


def test_a_class_that_overrides_what_a_namedtuple_brings() -> None:
    from afa.schema import Schema

    class Base(NamedTuple):
        n: int = 0

    class Made(Base):
        def __new__(cls, n: int = 0) -> Any:
            return super().__new__(cls, n + 1)

        @property
        def m(self) -> int:
            return 5

    class Hidden(Base):
        n = property(lambda self: 7)  # type: ignore[assignment]

    class Pair(NamedTuple):
        n: int = 0
        m: int = 1

        def __getitem__(self, i: Any) -> Any:
            return 5

        def __iter__(self) -> Any:
            return iter((5, 6))

    class Swapped(Pair):
        n = Pair.m  # type: ignore[assignment]

    with pytest.raises(Unreadable, match="with other arguments"):
        read(lambda r: Made(r.n), EPSILON_TRANSFER, None, Schema.of(Made, "register"))
    with pytest.raises(Unreadable, match="m is no field"):
        read(lambda r: r.m, AT, None, Schema.of(Made, "register"))
    for cls in (Hidden, Swapped):
        with pytest.raises(Unreadable, match="n is no field"):
            read(lambda r: r.n, AT, None, Schema.of(cls, "register"))
    with pytest.raises(Unreadable, match=r"\[0\] of something"):
        read(lambda r: r[0], AT, None, Schema.of(Pair, "register"))
    with pytest.raises(Unreadable, match=r"no local name"):
        read(unpacks, AT, None, Schema.of(Pair, "register"))


def test_values_are_those_of_the_moment_of_reading() -> None:
    fence = make_closure(1)
    first = read(fence, FENCE, *SCHEMAS)
    fence.__closure__[0].cell_contents = 2
    second = read(fence, FENCE, *SCHEMAS)
    assert [expr.right for expr in (first, second)] == [Const(1), Const(2)]  # type: ignore[attr-defined]


def test_a_file_edited_since_is_not_believed(tmp_path: Any) -> None:
    file = tmp_path / "edited.py"
    file.write_text("fence = lambda e, r: e.i < 1\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    file.write_text("fence = lambda e, r: e.i < 22\n")
    linecache.checkcache(str(file))
    with pytest.raises(Unreadable, match="no source that compiles to this function"):
        read(names["fence"], FENCE, *SCHEMAS)


def test_two_lambdas_of_one_line_are_told_apart() -> None:
    one, two = (lambda e, r: e.i < 1), (lambda e, r: e.i < True)
    found = [read(f, FENCE, *SCHEMAS) for f in (one, two)]
    assert [repr(expr.right) for expr in found] == ["Const(value=1)", "Const(value=True)"]  # type: ignore[attr-defined]


def test_constants_that_look_like_paths_are_told_apart() -> None:
    one, two = functions(["lambda e, r: (e.s == 'a<locals>.x', e.i)[0]", "lambda e, r: (e.s == 'b<locals>.x', e.i)[0]"])
    assert [evaluate(read(f, FENCE, *SCHEMAS), E(0, 0.0, True, "b<locals>.x"), R()) for f in (one, two)] == [False, True]


def test_many_calls_end() -> None:
    levels = ["lambda x: 1"] + [f"lambda x: f{n}(x) * f{n}(x) * 0 + 1 if f{n}(x) else f{n}(x)" for n in range(15)]
    names: dict[str, Any] = {}
    for n, function in enumerate(functions(levels)):
        function.__globals__[f"f{n}"] = names[f"f{n}"] = function
    (fence,) = functions(["lambda e, r: f15(e.i)"], **names)
    with pytest.raises(Unreadable, match="more than 2000"):
        read(fence, FENCE, *SCHEMAS)
