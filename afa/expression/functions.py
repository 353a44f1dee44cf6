"""The functions of expressions beside Python's builtins: one table, for lambdas, text, SQL and both engines.

Each is a `Call` by its name, and means what its ``call`` does: it raises what that raises, on None as well. In lambdas they stand
as ``math.sqrt(e.x)``, in text as ``sqrt(x)`` or ``math.sqrt(x)``. Those of this module are SQL's, for all three notations::

    >>> like("ab_c", "a%!_c", "!"), regexp_like("N17", "[0-9]+"), substr("abcd", 2, 2)
    (True, True, 'bc')
    >>> year(19_723), month(19_723), day(19_723)
    (2024, 1, 1)
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from afa.expression.nodes import Binary, Call, Compare, Const, Expr, If

W = TypeVar("W", int, "_Whole")
NUMBER, TEXT = "a number", "a text"
CACHED = 1 << 12
"""How many answers about texts and patterns are kept."""


class Function(NamedTuple):
    """A function: what it does, what it takes and gives, and how machine code does it."""

    call: Callable[..., Any]
    result: type
    of: str = NUMBER  # the type of all arguments; of a function of a text that of the first one, all others are constants
    least: int = 1
    most: int = 1
    total: bool = False  # whether it never raises, of arguments of its type
    library: str = ""  # the C library's function, which Python calls as well
    step: str = ""  # or the operation of terms
    written: Callable[..., Expr] | None = None  # or the same in other nodes


def sql_floor(x: float) -> float:
    """Return the largest whole float that is not above ``x``; infinity and NaN as they are."""
    return math.copysign(math.floor(x), x) if math.isfinite(x) else float(x)


def sql_ceil(x: float) -> float:
    """Return the least whole float that is not below ``x``; infinity and NaN as they are."""
    return math.copysign(math.ceil(x), x) if math.isfinite(x) else float(x)


def sql_trunc(x: float) -> float:
    """Return a float without its fraction; infinity and NaN as they are."""
    return math.copysign(math.trunc(x), x) if math.isfinite(x) else float(x)


def sql_round(x: float) -> float:
    """Return the whole float next to ``x``; of two the one further from zero."""
    whole = sql_trunc(x)
    return whole + math.copysign(1.0, x) if abs(x - whole) >= 0.5 else whole


def sql_decimal(x: float, power: float) -> float:
    """Return the float next to the decimal that is next to ``x``; ``power``: 10.0 to its digits behind the point."""
    return sql_round(x * power) / power if power else math.nan


def sql_cast(x: float, power: float, limit: float) -> float:
    """Return a number as a DECIMAL, see `sql_decimal`. Raises ValueError from ``limit`` on, where its digits end."""
    found = sql_decimal(x, power)
    if abs(found) < limit:
        return found
    raise ValueError(f"expected a number below {limit:.0f} in CAST to DECIMAL but got {x!r}")


def year(days: int) -> int:
    """Return the year of a day, counted from 1970-01-01."""
    return _civil(days)[0]


def month(days: int) -> int:
    """Return the month of a day, counted from 1970-01-01: 1 to 12."""
    return _civil(days)[1]


def day(days: int) -> int:
    """Return the day of the month of a day that is counted from 1970-01-01: 1 to 31."""
    return _civil(days)[2]


def like(text: str, pattern: str, escape: str | None = None) -> bool:
    """Return SQL's ``text LIKE pattern ESCAPE escape``. O(len(text) * len(pattern))."""
    if not isinstance(text, str):
        raise TypeError(f"expected a text before LIKE but got {text!r}")
    first, *rest = _segments(pattern, escape)
    begin = first.match(text)
    if begin is None or not rest:
        return begin is not None and begin.end() == len(text)
    place = begin.end()
    for segment in rest[:-1]:  # the earliest place of each leaves the most room for those behind it
        found = segment.search(text, place)
        if found is None:
            return False
        place = found.end()
    last, width = rest[-1], _width(pattern, escape)
    return len(text) - width >= place and last.match(text, len(text) - width) is not None


@functools.lru_cache(CACHED)
def regexp_like(text: str, pattern: str) -> bool:
    """Return whether a regular expression of RE2 is found in a text; in linear time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not isinstance(text, str):
        raise TypeError(f"expected a text before REGEXP_LIKE but got {text!r}")
    return bool(pc.match_substring_regex(pa.scalar(text), pattern).as_py())


def substr(text: str, start: int, length: int | None = None) -> str:
    """Return ``length`` characters of a text (None: all), from number ``start`` on; the first is 1, the last -1."""
    begin = start - 1 if start > 0 else max(len(text) + start, 0) if start < 0 else 0
    return text[begin:] if length is None else text[begin : begin + max(length, 0)]


def unfit(name: str, items: tuple[Expr, ...]) -> str | None:
    """Return what is wrong with the constants of a function of a text; None: nothing."""
    if FUNCTIONS[name].of == NUMBER:
        return None
    values = [item.value for item in items[1:] if isinstance(item, Const)]
    kind = int if name == "substr" else str
    if len(values) < len(items) - 1 or any(type(value) is not kind for value in values):
        return f"{name} by what is no constant {kind.__name__}"
    try:
        FUNCTIONS[name].call("", *values)
    except ValueError as error:  # of the pattern
        return f"{name} by a pattern that can't be read ({error})"
    return None


@functools.lru_cache(CACHED)
def _pieces(pattern: str, escape: str | None) -> tuple[tuple[str | None, ...], ...]:
    """Returns the pieces of a pattern between its %, by character; None: any."""
    if escape is not None and len(escape) != 1:
        raise ValueError("ESCAPE is one character")
    pieces: list[list[str | None]] = [[]]
    characters = iter(pattern)
    for each in characters:
        if each == escape:
            taken = next(characters, None)
            if taken not in ("%", "_", escape):
                raise ValueError("ESCAPE stands before %, _ or itself")
            pieces[-1].append(taken)
        elif each == "%":
            pieces.append([])
        else:
            pieces[-1].append(None if each == "_" else each)
    return tuple(map(tuple, pieces))


@functools.lru_cache(CACHED)
def _segments(pattern: str, escape: str | None) -> tuple[re.Pattern[str], ...]:
    """Returns the pieces, each as an expression of one width."""
    texts = ("".join("." if each is None else re.escape(each) for each in piece) for piece in _pieces(pattern, escape))
    return tuple(re.compile(text, re.DOTALL) for text in texts)


def _width(pattern: str, escape: str | None) -> int:
    return len(_pieces(pattern, escape)[-1])


def _civil(days: W) -> tuple[W, W, W]:
    """Return year, month and day of an int or of `_Whole`. Years begin in March (H. Hinnant, chrono-compatible algorithms)."""
    if isinstance(days, float) or days is None:
        raise TypeError(f"expected a day as an int but got {days!r}")
    shifted = days + 719_468
    in_era = shifted % 146_097  # of 400 years
    of_era = (in_era - in_era // 1460 + in_era // 36_524 - in_era // 146_096) // 365
    in_year = in_era - (of_era * 365 + of_era // 4 - of_era // 100)
    from_march = (in_year * 5 + 2) // 153
    year_ = of_era + shifted // 146_097 * 400 + from_march // 10
    return year_, (from_march + 2) % 12 + 1, in_year - (from_march * 153 + 2) // 5 + 1


def _calculated(op: str) -> Callable[[_Whole, _Whole | int], _Whole]:
    return lambda left, right: _Whole(Binary(op, left.expr, right.expr if isinstance(right, _Whole) else Const(right)))


class _Whole:
    """An expression of an int, with which one calculates as with an int."""

    def __init__(self, expr: Expr) -> None:
        self.expr = expr

    __add__ = _calculated("+")
    __sub__ = _calculated("-")
    __mul__ = _calculated("*")
    __floordiv__ = _calculated("//")
    __mod__ = _calculated("%")


def _written(part: int) -> Callable[[Expr], Expr]:
    return lambda days: _civil(_Whole(days))[part].expr


def _decimal(x: Expr, power: Expr) -> Expr:
    return Binary("/", Call("sql_round", (Binary("*", x, power),)), power)


def _cast(x: Expr, power: Expr, limit: Expr) -> Expr:
    found = _decimal(x, power)
    return If(Compare("<", Call("abs", (found,)), limit), found, Binary("/", x, Const(0.0)))  # of which Python says what is wrong


def _by_library(name: str, **more: Any) -> Function:
    return Function(getattr(math, name), float, library=name, **more)


def _strip(name: str) -> Function:
    """Return a method of texts that is written as such: of what is no text Python says that it has none."""
    return Function(lambda text, characters: getattr(text, name)(characters), str, TEXT, 2, 2, True)


FUNCTIONS: dict[str, Function] = {
    **{name: _by_library(name) for name in ("sqrt", "exp", "log", "log2", "log10", "sin", "cos", "tan", "asin", "acos")},
    "atan": _by_library("atan", total=True),
    "atan2": _by_library("atan2", least=2, most=2, total=True),
    "pow": _by_library("pow", least=2, most=2),
    "degrees": Function(math.degrees, float, total=True, written=lambda x: Binary("*", x, Const(180.0 / math.pi))),
    "radians": Function(math.radians, float, total=True, written=lambda x: Binary("*", x, Const(math.pi / 180.0))),
    "floor": Function(math.floor, int, step="floor"),
    "ceil": Function(math.ceil, int, step="ceil"),
    "trunc": Function(math.trunc, int, step="trunc"),
    "sql_floor": Function(sql_floor, float, total=True, step="floor"),
    "sql_ceil": Function(sql_ceil, float, total=True, step="ceil"),
    "sql_trunc": Function(sql_trunc, float, total=True, step="trunc"),
    "sql_round": Function(sql_round, float, total=True, step="round"),
    "sql_decimal": Function(sql_decimal, float, least=2, most=2, total=True, written=_decimal),
    "sql_cast": Function(sql_cast, float, least=3, most=3, written=_cast),
    "year": Function(year, int, written=_written(0)),
    "month": Function(month, int, written=_written(1)),
    "day": Function(day, int, written=_written(2)),
    "like": Function(like, bool, TEXT, 2, 3, True),
    "regexp_like": Function(regexp_like, bool, TEXT, 2, 2, True),
    "substr": Function(substr, str, TEXT, 2, 3, True),
    **{name: _strip(name) for name in ("strip", "lstrip", "rstrip")},
}
"""Of math those that are the C library's, to the last bit: not hypot, say, which Python calculates otherwise."""
OBJECTS = {id(function.call): name for name, function in FUNCTIONS.items()}
"""The names of what lambdas call."""
