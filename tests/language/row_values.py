"""Values of MEASURES and conditions of DEFINE, each a function of what a match has `Seen`: true, false or NULL (None).

Shares nothing with the library: `tests.language.row_matcher` matches with them.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple


class Pick(NamedTuple):
    """A row that a variable has taken: which row of the partition, and whether it stands within {- -}."""

    name: str
    at: int
    hidden: bool


class TableRow(NamedTuple):
    """A row with a lifetime; ``of`` has its columns."""

    of: Any
    le: int
    re: int


@dataclass(frozen=True)
class Seen:
    """What a value is asked of: the partition, the rows taken, how many of them a running term sees, the match's number."""

    rows: list[TableRow]
    picks: tuple[Pick, ...]
    here: int
    number: int | None
    subsets: Mapping[str, tuple[str, ...]]
    window: int | None = None  # WITHIN: so far behind a row NEXT sees others

    def taken(self, name: str, final: bool) -> list[Pick]:
        """The rows of a variable, or of a subset; all for ""."""
        picks = self.picks if final else self.picks[: self.here]
        return [pick for pick in picks if not name or pick.name in self.subsets.get(name, (name,))]


Value = Callable[[Seen], Any]
OfRow = Callable[[Any, "str | None"], Any]
"""A value of one row, and of the variable that took it (None: none of those seen)."""


def reach(of: OfRow, name: str = "", *, first: bool = False, k: int = 0, final: bool = False, step: int = 0) -> Value:
    """FIRST or LAST of a variable, k of its rows on or back; from there ``step`` rows on in the partition (PREV: below 0)."""

    def value(seen: Seen) -> Any:
        picks = seen.taken(name, final)
        if len(picks) <= k:
            return None
        own = picks[k if first else -1 - k].at
        at = own + step
        if step > 0 and seen.window is not None and at < len(seen.rows) and seen.rows[at].le - seen.rows[own].le >= seen.window:
            return None
        took = {pick.at: pick.name for pick in (seen.picks if final else seen.picks[: seen.here])}
        return of(seen.rows[at].of, took.get(at)) if 0 <= at < len(seen.rows) else None

    return value


def label(of: Any, name: str | None) -> str | None:
    """CLASSIFIER() of a row."""
    return name


def number(seen: Seen) -> int | None:
    """MATCH_NUMBER()."""
    return seen.number


def over(
    kind: str, of: OfRow, name: str = "", *, final: bool = False, where: OfRow | None = None, by: OfRow | None = None
) -> Value:
    """An aggregate over the rows of a variable; ``where``: of FILTER, ``by``: of MAX_BY and MIN_BY."""

    def value(seen: Seen) -> Any:
        rows = [(seen.rows[pick.at].of, pick.name) for pick in seen.taken(name, final)]
        rows = [row for row in rows if where is None or where(*row) is True]
        every = [of(*row) for row in rows]
        there = [each for each in every if each is not None]
        if kind in ("count", "count distinct"):
            return len(there if kind == "count" else set(there))
        if kind == "array":
            return tuple(every) if every else None
        if by is not None:
            ranked = [(by(*row), of(*row)) for row in rows if by(*row) is not None]
            return (max if kind == "max by" else min)(ranked, key=lambda each: each[0])[1] if ranked else None
        return OVER[kind](there) if there else None

    return value


OVER: dict[str, Callable[[Any], Any]] = {
    "sum": sum, "min": min, "max": max, "avg": lambda some: float(sum(some) / len(some)), "any": lambda some: some[0],
    "texts": ",".join,
}  # fmt: skip
OPS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "<>": operator.ne,
    "+": operator.add, "-": operator.sub, "*": operator.mul,
}  # fmt: skip


def known(made: Callable[..., Any], *values: Callable[..., Any]) -> Callable[..., Any]:
    """A function of values, NULL where one of them is; the values are of a match, or all of a row."""

    def value(*of: Any) -> Any:
        found = [each(*of) for each in values]
        if any(isinstance(each, float) for each in found):  # beside which a DECIMAL is one
            found = [float(each) if isinstance(each, Decimal) else each for each in found]
        return None if None in found else made(*found)

    return value


def both(*values: Callable[..., Any]) -> Callable[..., Any]:
    """AND."""
    return lambda *of: decided([each(*of) for each in values], False)


def either(*values: Callable[..., Any]) -> Callable[..., Any]:
    """OR."""
    return lambda *of: decided([each(*of) for each in values], True)


def decided(values: list[Any], by: bool) -> bool | None:
    """What one of the values decides; else NULL if one is NULL."""
    return by if by in values else None if None in values else not by
