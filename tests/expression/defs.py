# ruff: noqa: RET503  (to fall off the end is a form)
"""Fences and transfers as people write them: defs."""

from __future__ import annotations

from typing import Any

from tests.expression.worlds import E, R

FENCES: list[Any] = []
TRANSFERS: list[Any] = []


def fence(function: Any) -> Any:
    FENCES.append(function)
    return function


def transfer(function: Any) -> Any:
    TRANSFERS.append(function)
    return function


@fence
def plain(e: E, r: R) -> bool:
    """A docstring."""
    return e.i < 3


@fence
def falls_off(e: E, r: R) -> Any:
    if e.i < 3:
        return r.n < 5


@fence
def returns_nothing(e: E, r: R) -> Any:
    if e.b:
        return None
    pass
    return e.i


@fence
def empty(e: E, r: R) -> None:
    """Only a docstring."""


@fence
def early(e: E, r: R) -> bool:
    if e.oi is None:
        return False
    if e.oi > 3:
        return True
    if e.b:
        return r.f
    x = e.oi + 1
    return x < r.n


@fence
def steps(e: E, r: R) -> bool:
    low, high = r.n - 1, r.n + 1
    inside: bool = low < e.i < high
    total = 0
    total += e.i
    total *= 2
    return inside or total > 10


@fence
def rebound(e: E, r: R) -> bool:
    x = e.i
    if e.b:
        x = x + 1
        if r.f:
            x -= 3
    elif r.f:
        x = 2
    x = x * 2
    return x > r.n


@fence
def unused_that_raises(e: E, r: R) -> bool:
    gain = e.x / r.n
    if r.f:
        return False
    return gain > 1


@fence
def never_used(e: E, r: R) -> Any:
    _ = 1 // e.i
    return e.x


@fence
def thrown_away(e: E, r: R) -> bool:
    e.x / r.t
    return r.f


@fence
def raises_in_one_branch(e: E, r: R) -> bool:
    x = 0.0
    if e.b:
        x = 1 / r.t
        y = 2 / e.x
        x = y if r.f else x
    return e.i > x


@fence
def tuple_swap(e: E, r: R) -> bool:
    a, b = e.i, r.n
    a, b = b, a
    return a - b > 0


@fence
def unpacked(e: E, r: R) -> bool:
    n, t, f, w, on = r
    return n > t or f or w == e.s or on is None


@fence
def helper_raises_unused(e: E, r: R) -> bool:
    return first(e.i, 1 // r.n) > 2


def first(a: Any, b: Any) -> Any:
    return a


@fence
def both_events(e: E, r: R) -> bool:
    x = e if r.f else e  # noqa: RUF034
    return x.i > 2


@transfer
def by_cases(e: E, r: R) -> R:
    n = r.n
    if e.b:
        n += 1
    if e.s == "a":
        return R(n, e.x)
    return r._replace(n=n)


@transfer
def kept_division(e: E, r: R) -> R:
    share = e.x / r.t
    if r.f:
        return r
    return r._replace(t=share)


@transfer
def tuples(e: E, r: R) -> Any:
    new = (e.i, r.t, r.f, r.w, r.on)
    return new if e.b else r


def asserted(e: E, r: R) -> bool:
    assert e.i > 0
    return True
