"""Fences and transfers as people write them: lambdas, with helpers and constants from everywhere."""

from __future__ import annotations

import functools
import math
from math import isfinite, pi
from typing import Any, NamedTuple

import numpy as np

from tests.expression import worlds
from tests.expression.worlds import E, R

LIMIT, RATE, NAME, NOTHING, FLAG = 3, 0.5, "ab", None, True
PAIR, NAMES, KINDS = (1, 2), frozenset({"a", "ab"}), ("a", "b", None)
ENDINGS = ("a", "b")
NUMPY, COUNT = np.float64(0.5), np.int64(3)
min_of = min


class Limits(NamedTuple):
    low: int = -1
    high: float = 2.5


LIMITS = Limits()


class Config:
    HIGH = 7
    NAME = "b"

    @staticmethod
    def above(e: E) -> bool:
        return e.i > Config.HIGH

    fence = lambda e, r: e.i < LIMIT  # noqa: E731


def small(x: Any) -> bool:
    return -10 < x < 10


def scaled(x: float, by: float = 2.0, *, plus: int = 1) -> float:
    """A helper with a default and a keyword."""
    y = x * by
    return y + plus


def clamp(x: Any, low: Any, high: Any) -> Any:
    if x < low:
        return low
    return high if x > high else x


def deep(x: int) -> int:
    return clamp(scaled(x), LIMITS.low, LIMIT) + 1


def bump(r: R, by: int = 1) -> R:
    return r._replace(n=r.n + by)


def is_name(e: E) -> bool:
    return e.s in NAMES


def closures(k: int, name: str) -> list[Any]:
    z = k + 1
    inner = lambda x: x > z  # noqa: E731

    def local(e: E) -> bool:
        return e.i < k

    return [
        lambda e, r: e.i < k,
        lambda e, r: e.i < z + k,
        lambda e, r: e.s == name or r.n > z,
        lambda e, r: inner(e.i),
        lambda e, r: local(e) and inner(r.n),
    ]


FENCES: list[Any] = [
    lambda e, r: True,
    lambda e, r: False,
    lambda e, r: None,
    lambda e, r: 5,
    lambda e, r: "",
    lambda e, r: e.i,
    lambda e, r: e.s,
    lambda e, r: e.b,
    lambda e, r: not e.b,
    lambda e, r: bool(e.i),
    lambda e, r: e.i < 3,
    lambda e, r: e.i < 3,
    lambda e, r: e.x < -0.25,
    lambda e, r: e.x < -0.25,
    lambda e, r: e.x == -0.0,
    lambda e, r: e.x != e.x,
    lambda e, r: 1 < e.i < 10,
    lambda e, r: r.n <= e.i <= r.n + 5 != e.x,
    lambda e, r: 0 < e.x / r.t < 1,
    lambda e, r: e.i < 3 and r.n > 2,
    lambda e, r: e.i < 3 and r.n > 2 and e.b,
    lambda e, r: e.i < 3 or r.n > 2 or e.b,
    lambda e, r: (e.i or r.n) > 1,
    lambda e, r: (e.i and r.n) > 1,
    lambda e, r: (e.s or e.os or "none") == "none",
    lambda e, r: e.i < 3 and (r.n > 2 or not e.b),
    lambda e, r: (e.i < 3) == (r.n < 3),
    lambda e, r: (e.i < 3) + (r.n < 3) > 1,
    lambda e, r: e.b & r.f,
    lambda e, r: e.b | r.f,
    lambda e, r: e.b ^ r.f,
    lambda e, r: e.i & 1 == 1,
    lambda e, r: (e.i | 4) ^ r.n > 0,
    lambda e, r: ~e.i < 0,
    lambda e, r: +e.b > 0,
    lambda e, r: -e.b < 0,
    lambda e, r: -(e.i**2) < 0,
    lambda e, r: e.i // 3 + e.i % 3 == r.n,
    lambda e, r: e.x // r.t > e.x % 2.0,
    lambda e, r: e.i / 2 > r.t,
    lambda e, r: e.i / r.n > 1,
    lambda e, r: e.x > 2**-1,
    lambda e, r: e.x**0.5 == 1,
    lambda e, r: min(e.i, r.n) < 3,
    lambda e, r: max(e.x, r.t, 0.0) > 1,
    lambda e, r: abs(e.x - r.t) < 1.5,
    lambda e, r: round(e.x) == r.n,
    lambda e, r: round(e.x, 2) == r.t,
    lambda e, r: round(e.i, None) == r.n,
    lambda e, r: int(e.x) == r.n,
    lambda e, r: float(e.i) == r.t,
    lambda e, r: bool(e.i) is True,
    lambda e, r: bool(e.s) == r.f,
    lambda e, r: len(e.s) > 1,
    lambda e, r: len(e.s) in (0, 2),
    lambda e, r: e.i in (1, 2, 3),
    lambda e, r: e.i in [1, 2.0, True],
    lambda e, r: e.i in {1, 2, 3},
    lambda e, r: e.i not in (1, 2, 3),
    lambda e, r: e.i in (),  # noqa: RUF060
    lambda e, r: e.os in ("a", None),
    lambda e, r: e.s in NAMES,
    lambda e, r: e.os not in KINDS,
    lambda e, r: e.i in PAIR,
    lambda e, r: e.i in (PAIR[0], PAIR[1], LIMIT, -1),
    lambda e, r: "a" in e.s,
    lambda e, r: "a" not in e.s,
    lambda e, r: "b" in "abc",
    lambda e, r: NAME in e.s,
    lambda e, r: e.s.startswith("a"),
    lambda e, r: e.s.startswith(("a", "b")),
    lambda e, r: e.s.startswith(()),
    lambda e, r: e.s.endswith(NAME),
    lambda e, r: e.s.endswith(ENDINGS),
    lambda e, r: e.os.startswith("a"),
    lambda e, r: e.os is not None and e.os.startswith("a"),
    lambda e, r: e.s == "it's" or e.s == 'q"',
    lambda e, r: e.s < r.w,
    lambda e, r: e.s <= "b" <= r.w,
    lambda e, r: e.s == "é∞",
    lambda e, r: e.s + r.w == "ab",
    lambda e, r: e.oi is None,
    lambda e, r: e.oi is not None and e.oi > 3,
    lambda e, r: e.oi == None,  # noqa: E711
    lambda e, r: e.oi != None,  # noqa: E711
    lambda e, r: e.oi == None,  # noqa: E711
    lambda e, r: e.oi == NOTHING,
    lambda e, r: e.oi > 3,
    lambda e, r: e.oi == r.on,
    lambda e, r: e.oi != r.on != 3,
    lambda e, r: (e.oi or 0) > 3,
    lambda e, r: (3 if e.oi is None else e.oi) > r.n,
    lambda e, r: e.b is True,
    lambda e, r: e.b is not False,
    lambda e, r: True is (e.i < 3),
    lambda e, r: e.i == True,  # noqa: E712
    lambda e, r: 1 if e.b else r.f,
    lambda e, r: (e.i if e.b else e.x) > 0,
    lambda e, r: e.i > 0 if e.b else e.x > 0 if r.f else r.n > 0,
    lambda e, r: e[0] < 3 and e[-1] is None and r[1] > 0,
    lambda e, r: e.i < LIMIT and e.x < RATE and e.s == NAME and e.b == FLAG,
    lambda e, r: e.x < math.pi and e.x < pi and e.x > -math.inf,
    lambda e, r: e.x == -math.inf or e.x < math.nan,
    lambda e, r: math.isnan(e.x) or math.isinf(r.t),
    lambda e, r: isfinite(e.x) and not math.isnan(e.i),
    lambda e, r: LIMITS.low < e.i < LIMITS.high,
    lambda e, r: e.i < Config.HIGH and e.s != Config.NAME,
    lambda e, r: Config.above(e),
    lambda e, r: e.x < NUMPY and e.i != COUNT,
    lambda e, r: not (NUMPY <= e.x <= COUNT) or (e.i in (COUNT, 2) and r.f),
    lambda e, r: min_of(e.i, 2) == 2,
    lambda e, r: small(e.i) and small(r.t),
    lambda e, r: small(x=e.i),
    lambda e, r: scaled(e.x) > 1,
    lambda e, r: scaled(e.x, 3) > scaled(by=e.i, x=r.t, plus=r.n),
    lambda e, r: clamp(e.i, 0, 10) == r.n,
    lambda e, r: deep(e.i) > 2,
    lambda e, r: is_name(e) or is_name(e),
    lambda e, r: bump(r).n > bump(bump(r, 2)).n - e.i,
    lambda e, r: R(e.i, t=2.0).n == R(5).n + r.n,
    lambda e, r: R(e.i // r.n, 1 / r.t).n > 3,
    lambda e, r: r._replace(t=e.x / r.n).n > 2,
    lambda e, r: (e.i, 1 / e.x)[0] > 2,
    lambda e, r: type(r)(e.i).n > 1,
    lambda e, r: (y := e.i + 1) > 2 and y < 10,
    lambda e, r: ((y := e.x / 2) > 1) == (y < 5),
    lambda e, r: (y := e.i) > 0 and (y := y - 1) > 0 and y > 0,
    lambda event, register: event.i < register.n,
    lambda r, e: r.i < e.n,
    lambda _, größe: größe.n > 1,
    lambda e, r, k=4: e.i < k,
    lambda e, r, /: e.i < r.n,
    lambda e, r, *, k=2: e.i < k,
    Config.fence,
    closures(1, "a")[0],
    closures(1, "a")[1],
    *closures(5, "b"),
    *[lambda e, r, n=n: e.i < n for n in range(3)],
    *{name: (lambda e, r, name=name: e.s == name) for name in ("a", "b")}.values(),
    functools.partial(lambda k, e, r: e.i < k, 4),
    functools.partial(lambda e, r, k: e.i < k, k=5),
    (lambda e, r: e.i < 1),
    (lambda e, r: e.i < 2),
    (lambda e, r: e.i < 1.0),
    (
        lambda e, r: (
            e.i < 3  # first
            and r.n > 2
        )
    ),
]
TRANSFERS: list[Any] = [
    lambda e, r: r,
    lambda e, r: R(),
    lambda e, r: R(e.i),
    lambda e, r: R(e.i, e.x, e.b, e.s, None),
    lambda e, r: R(n=r.n + 1, w=e.s),
    lambda e, r: R(r.n, on=e.oi, t=r.t),
    lambda e, r: (e.i, e.x, True, "", None),
    lambda e, r: r._replace(n=r.n + 1),
    lambda e, r: r._replace(),
    lambda e, r: r._replace(n=1 // e.i)._replace(n=2),
    lambda e, r: R(e.i) if e.b else r,
    lambda e, r: r if e.i > 2 else r._replace(t=e.x) if e.b else R(0),
    lambda e, r: (1, 2.0, False, "x", 4) if e.b else r,
    lambda e, r: r if 1 / e.x > 1 else r._replace(),
    lambda e, r: bump(r, e.i) if small(e.i) else bump(r),
    lambda e, r: bump(bump(bump(r))),
    lambda e, r: R(min(r.n, e.i), max(r.t, e.x), r.f or e.b, r.w or e.s, r.on),
    lambda e, r: type(r)(e.i),
    lambda e, r: worlds.R(e.i),
    functools.partial(lambda by, e, r: bump(r, by), 5),
]
