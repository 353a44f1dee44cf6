"""Durations in fences and transfers: ``afa.span("10 minutes")``, in text ``span('10 minutes')``; ints once a tick is known."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from afa.errors import AutomatonError
from afa.expression.nodes import Expr, Span, Ticks, Unary, minus, rebuilt
from punctuation.base_errors import AfaError
from punctuation.durations import NANOSECONDS, nanoseconds_of, unit_of
from punctuation.time import FOREVER

DEEP = 4
"""How many functions, modules and classes a function is followed through, to see whether it reads a span."""


def span(duration: str | timedelta) -> Any:
    """Return a duration that a fence, a transfer, an ``at`` or a condition may read; in text ``span('10 minutes')``.

    It stands for an int: for the number of ticks that it lasts. These are known once an operator has the automaton, as its ``tick``
    says what an int of LE counts (`Automaton.bound`). So one automaton means the same over milliseconds and over microseconds.

    Parameters
    ----------
    duration : str or timedelta
        ``"10 minutes"``, ``"1h 30m"``, ``timedelta(hours=1)``; of whole nanoseconds.

    Raises
    ------
    AfaError
        It is no duration.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> import afa
    >>> class Pay(NamedTuple):
    ...     at: afa.Instant
    >>> class First(NamedTuple):
    ...     at: int = 0
    >>> LIMIT = afa.span("10 minutes")
    >>> quick = afa.Automaton(
    ...     start="0", final={"2"}, event=Pay, register=First(),
    ...     arcs=[
    ...         afa.Arc("0", "1", lambda e, r: True, lambda e, r: First(e.at)),
    ...         afa.Arc("1", "2", lambda e, r: e.at - r.at < LIMIT),
    ...     ],
    ... )
    >>> print(quick.bound("ms").explain()[1].texts["fence"])
    e.at - r.at < 600000
    >>> op = afa.Operator(quick, tick="s")
    >>> [len(op.push(afa.insert(Pay(None), le))) for le in (1000, 1599)]
    [0, 1]
    """
    if not isinstance(duration, (str, timedelta)):
        raise AfaError(f'expected a duration such as "10 minutes" or a timedelta but got span({duration!r})')
    nanoseconds = nanoseconds_of(duration, "span")
    if nanoseconds.denominator != 1 or not 0 <= nanoseconds <= FOREVER * NANOSECONDS["w"]:
        raise AfaError(f"expected a duration of whole nanoseconds, not negative, but got span({duration!r})")
    return Span(int(nanoseconds))


def in_ticks(expr: Expr, tick: str | None, where: str, error: type[AfaError] = AutomatonError) -> Expr:
    """Returns an expression with the ticks of each span in its place; the very same one if there are none.

    Raises ``error`` where there is no ``tick``, or a span is no whole number of ticks; ``where`` says whose.

    >>> in_ticks(Span(3_000_000), "us", "a fence")
    Const(value=3000)
    """
    if isinstance(expr, Span):
        return Ticks(_ticks(expr, tick, where, error))
    made = rebuilt(expr, lambda child: in_ticks(child, tick, where, error))
    return minus(made.x) if made is not expr and isinstance(made, Unary) and made.op == "-" else made


def _ticks(span: Span, tick: str | None, where: str, error: type[AfaError]) -> int:
    if tick is None:
        raise error(
            f'expected tick=, what one int of LE counts, for {span} in {where} but got none; give tick="ms", say, or write an int'
        )
    ticks, rest = divmod(span.nanoseconds, NANOSECONDS[unit_of(tick, error, "tick=")])
    if rest or ticks > FOREVER:
        raise error(
            f"expected a whole number of ticks (int64) but got {span} with tick={tick!r} in {where}; "
            f"give a finer tick, that LE counts in, too, or another duration"
        )
    return ticks


def mentions_span(function: Any) -> bool:
    """Return whether a function, or text, could read a span, by what it finds outside itself; none of its code is run.

    What can be taken apart finds a span by names, cells, defaults, fields of constants, attributes of modules and classes; all of
    these are looked at. O(names), some microseconds.

    >>> limit, other = span("1 s"), 1
    >>> [mentions_span(f) for f in (lambda e, r: e.at < limit, lambda e, r: e.at < other, lambda e, r: e.at < span("1 s"))]
    [True, False, True]
    """
    if isinstance(function, str):
        return "span" in function
    return _mentions(function, frozenset(), DEEP)


def _mentions(value: Any, names: frozenset[str], deep: int) -> bool:
    """Return whether a value is a span, or leads to one; ``names``: the attributes that a function asks for."""
    if isinstance(value, Span) or value is span:
        return True
    if not deep:
        return False
    if isinstance(value, types.FunctionType):
        return any(_mentions(found, asked, deep - 1) for found, asked in _outside(value))
    if isinstance(value, functools.partial):
        return any(_mentions(found, names, deep - 1) for found in (value.func, *value.args, *value.keywords.values()))
    if isinstance(value, tuple):
        return any(_mentions(item, names, deep - 1) for item in value)
    if isinstance(value, (types.ModuleType, type)):
        spaces = [vars(value)] if isinstance(value, types.ModuleType) else [vars(base) for base in value.__mro__]
        return any(_mentions(space[name], names, deep - 1) for space in spaces for name in names if name in space)
    return False


def _outside(function: types.FunctionType) -> Iterator[tuple[Any, frozenset[str]]]:
    """Yields the objects that a function finds outside itself, each with the attributes that it asks for."""
    codes, names = [function.__code__], set[str]()
    for code in codes:  # which grows
        codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        names |= set(code.co_names)
    asked = frozenset(names)
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents, asked
        except ValueError:  # it has no value yet
            continue
    for value in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
        yield value, asked
    for name in names:
        if name in function.__globals__:
            yield function.__globals__[name], asked
