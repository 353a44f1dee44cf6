"""SQL's dates and times -> expressions over ints, in ticks since 1970-01-01 UTC; and CAST."""

from __future__ import annotations

import math
import re
from collections.abc import Set
from datetime import datetime, timezone
from typing import Any

from afa.errors import QueryError
from afa.expression.nodes import Binary, Call, Compare, Const, Expr, FieldRead, If, IsNone, Moment, Ticks, Unary
from afa.language.sql_decimals import POWERS, decimal_of
from afa.language.sql_functions import ZERO, SqlFunctions
from afa.language.sql_kinds import is_number
from afa.language.sql_values import SPARK
from afa.language.terms import Aggregate, Final, Ref
from afa.schema import DIGITS
from punctuation.durations import NANOSECONDS, UNITS, ticks

FLOATS = ("FLOAT", "DOUBLE", "REAL")
INTS = ("INT", "BIGINT", "SMALLINT", "TINYINT")
TEXTS = ("TEXT", "VARCHAR", "CHAR", "NVARCHAR")
TIMES = ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMPNTZ", "TIMESTAMPLTZ", "DATETIME")
CASTS = "INT, DOUBLE, DECIMAL(p, s), VARCHAR, DATE or TIMESTAMP"
FORMATS = ("%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f")
PARTS = ("DAY", "HOUR", "MINUTE", "SECOND")
"""The parts of an INTERVAL of several, from the left."""
ROUNDED = {"away": "snowflake oracle trino bigquery", "even": "duckdb risingwave", "cut off": "spark databricks flink"}
COUNTS = {"boundaries": "snowflake duckdb bigquery", "whole": "trino flink spark databricks"}
_FRACTION = re.compile(r"(.*?\d:\d\d:\d\d)\.(\d{1,9})(.*)", re.DOTALL)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class SqlTimes(SqlFunctions):
    """Reads literals, parts and differences of times, and CAST."""

    times: Set[str] = frozenset()
    """The fields that are instants."""

    def _alike(self, node: Any, left: Expr, right: Expr) -> tuple[Expr, Expr]:
        """Return values that can be compared: beside an interval the time between two is one, also where it is a number of days."""
        sides = [self._in_ticks(node, each) if self._is_length(other) else each for each, other in ((left, right), (right, left))]
        return super()._alike(node, *sides)

    def _in_ticks(self, node: Any, expr: Expr) -> Expr:
        """Return the time between two in ticks, where it is a number of days."""
        match expr:
            case Binary("/", Binary("-", later, earlier) as between, day) if self._is_time(later) and self._is_time(earlier):
                return between if self._dialect == "oracle" and day == Const(float(self._unit(node, "DAY"))) else expr
        return expr

    # -- literals --------------------------------------------------------------------------------------------------------------

    def _interval(self, node: Any) -> Expr:
        number = str(node.this.this) if node.this is not None else ""
        unit = node.args.get("unit")
        if type(unit).__name__ == "IntervalSpan":
            return Ticks(ticks(self._parts_of(node, number, unit), self._tick, QueryError))
        parts = number.split()
        if unit is None and len(parts) == 2:
            return Ticks(ticks([(parts[0], parts[1])], self._tick, QueryError))
        if unit is None:
            raise self._refused(node, f"expected INTERVAL 'n' UNIT but got {self._said(node)}")
        return Ticks(ticks([(number, str(unit.name))], self._tick, QueryError))

    def _parts_of(self, node: Any, said: str, span: Any) -> list[tuple[str | int | float, str | None]]:
        """Returns the parts of ``INTERVAL '3:10' MINUTE TO SECOND``."""
        first, last = str(span.this.name).upper(), str(span.expression.name).upper()
        numbers = re.split("[ :]", said.strip())
        if first not in PARTS or last not in PARTS or len(numbers) != PARTS.index(last) - PARTS.index(first) + 1:
            raise self._refused(node, f"expected INTERVAL 'd h:m:s' DAY TO SECOND, or a part of it, but got {self._said(node)}")
        return list(zip(numbers, PARTS[PARTS.index(first) :]))

    def _instant(self, node: Any, said: str) -> Expr:
        """Return a date or a timestamp, of UTC where it says no zone, in ticks."""
        fraction = _FRACTION.fullmatch(said.strip())
        text, digits = (fraction[1] + fraction[3], fraction[2].ljust(9, "0")) if fraction else (said.strip(), "0")
        try:
            found = datetime.fromisoformat(text)
        except ValueError:
            raise self._refused(node, f"expected a date or a time, '2024-01-31 10:00:00', but got {said!r}") from None
        since = found.replace(tzinfo=found.tzinfo or timezone.utc) - _EPOCH
        length = (since.days * 86_400 + since.seconds) * 10**9 + int(digits)
        if length % self._tick_length(node):
            raise self._refused(node, f"expected a whole number of ticks ({self._tick}) but got {said!r}")
        return Moment(length // self._tick_length(node))

    def _tick_length(self, node: Any) -> int:
        """Return the nanoseconds of a tick."""
        if self._tick is None:
            raise self._refused(
                node, f"expected tick= beside {self._said(node)}, a time: what one int of a time counts; say tick='ms'"
            )
        return NANOSECONDS[self._tick]

    def _unit(self, node: Any, name: str) -> int:
        """Return a unit of fixed length in ticks."""
        unit, length = UNITS.get(name.lower()), self._tick_length(node)
        if unit is None or NANOSECONDS[unit] % length:
            raise self._refused(node, f"expected a unit of whole ticks ({self._tick}) but got {name} in {self._said(node)}")
        return NANOSECONDS[unit] // length

    def _add(self, node: Any) -> Expr:
        return self._moved(node, "+")

    def _sub(self, node: Any) -> Expr:
        return self._moved(node, "-")

    def _moved(self, node: Any, op: str) -> Expr:
        """Return a sum or a difference: of ticks; in Oracle a time and a number is one of days, and so is the time between two."""
        left, right = self._numbers(node)
        times = [self._is_time(each) for each in (left, right)]
        if self._dialect != "oracle" or not any(times):
            return self._calculated(op, left, right)
        if all(times):
            return Binary("/", Binary(op, left, right), Const(float(self._unit(node, "DAY"))))
        sides = [each if found else self._from_days(node, each) for each, found in zip((left, right), times)]
        return Binary(op, *sides)

    def _from_days(self, node: Any, expr: Expr) -> Expr:
        """Return a time from one instant to another in ticks, where numbers count days."""
        between = self._in_ticks(node, expr)
        if between is not expr or self._is_length(expr):
            return between
        days = Binary("*", expr, Const(self._unit(node, "DAY")))
        return days if self._kind(expr) is int else Call("int", (Call("sql_round", (days,)),))

    def _is_time(self, expr: Expr) -> bool:
        """Return whether a value is an instant: the column of ORDER BY, and what lies a time from it."""
        match expr:
            case FieldRead(_, name) | Ref(_, _, name) | Aggregate(_, "min" | "max" | "any" | "max_by" | "min_by", name):
                return name in self.times
            case Moment():
                return True
            case Final(x):
                return self._is_time(x)
            case If(_, one, other) | Call("min" | "max", (one, other)):
                return self._is_time(one) or self._is_time(other)
            case Binary("+", left, right):
                return self._is_time(left) is not self._is_time(right)
            case Binary("-", left, right):
                return self._is_time(left) and not self._is_time(right)
        return False

    def _is_timely(self, expr: Expr) -> bool:
        return self._is_time(expr) or self._is_length(expr)

    def _is_length(self, expr: Expr) -> bool:
        """Return whether a value is an interval, or calculated of some, or the time between two instants."""
        match expr:
            case Ticks():
                return True
            case Unary(_, x) | Final(x):
                return self._is_length(x)
            case If(_, one, other) | Binary("+" | "*", one, other):
                return (self._is_length(one) or self._is_length(other)) and not self._is_time(expr)  # most are no length
            case Binary("-", left, right):
                both = self._is_time(left), self._is_time(right)
                return all(both) or (not any(both) and (self._is_length(left) or self._is_length(right)))
            case Binary("/", x, _):
                return self._dialect != "oracle" and self._is_length(x)
        return False

    def _instant_of(self, node: Any, of: Any) -> Expr:
        """Return a time."""
        found = self._number(of)
        self._check_instant(node, of, found)
        return found

    def _check_instant(self, node: Any, of: Any, found: Expr) -> None:
        """Refuse what may be the time between two, of which parts are not those of an instant."""
        plain = found if self._in_ticks(node, found) is found else None
        match plain:
            case Binary("-", _, right) if not self._is_time(found) and not isinstance(right, Const):
                plain = None
        if plain is None or self._is_length(found):
            raise self._refused(
                node,
                f"expected a time but got {self._said(of)}, the time between two; compare it with an INTERVAL, or count units by "
                f"DATEDIFF",
            )

    # -- parts and differences -------------------------------------------------------------------------------------------------

    def _days(self, node: Any, time: Expr) -> Expr:
        return Binary("//", time, Const(self._unit(node, "DAY")))

    def _extract(self, node: Any) -> Expr:
        part = str(node.this.name)
        epoch = part.upper() == "EPOCH"  # of the time between two: how long it is
        return self._part(node, part, self._number(node.expression) if epoch else self._instant_of(node, node.expression))

    def _part(self, node: Any, part: str, time: Expr) -> Expr:
        """Return a part of a time: ``EXTRACT(YEAR FROM t)``, ``YEAR(t)``."""
        part, days = part.upper().removesuffix("S").replace("DAYOFMONTH", "DAY"), self._days(node, time)
        if part in ("YEAR", "MONTH", "DAY"):
            return Call(part.lower(), (days,))
        if part == "QUARTER":
            return Binary("//", Binary("+", Call("month", (days,)), Const(2)), Const(3))
        if part in ("DOY", "DAYOFYEAR", "DAY_OF_YEAR"):
            return Binary("+", Binary("-", days, _new_year(Call("year", (days,)))), Const(1))
        if part == "EPOCH":
            second = self._unit(node, "SECOND")
            return time if second == 1 else Binary("/", time, Const(float(second)))
        around = {"HOUR": "DAY", "MINUTE": "HOUR", "SECOND": "MINUTE"}.get(part)
        if around is None:
            known = "YEAR, QUARTER, MONTH, DAY, DOY, HOUR, MINUTE, SECOND, EPOCH"
            raise self._refused(node, f"expected a part of a time, {known}, but got {part} in {self._said(node)}")
        if part == "SECOND" and self._unit(node, "SECOND") > 1:
            spark = "float" if type(node).__name__ == "Extract" else "whole"  # EXTRACT has a fraction there, SECOND has none
            ways = {"whole": "duckdb trino snowflake bigquery flink", "float": "risingwave oracle"}
            ways[spark] += " spark databricks"
            if self._way(node, ways, "in some dialects it has a fraction") == "float":
                return Binary("/", Binary("%", time, Const(self._unit(node, "MINUTE"))), Const(float(self._unit(node, "SECOND"))))
        return Binary("//", Binary("%", time, Const(self._unit(node, around))), Const(self._unit(node, part)))

    def _year(self, node: Any) -> Expr:
        """``YEAR(t)``, ``MONTH(t)``, ``DAY(t)``, ``HOUR(t)``, ``MINUTE(t)``, ``SECOND(t)``, ``QUARTER(t)``, ``DAYOFYEAR(t)``."""
        return self._part(node, type(node).__name__, self._instant_of(node, node.this))

    _month = _day = _dayofmonth = _quarter = _dayofyear = _hour = _minute = _second = _year

    def _timestamptrunc(self, node: Any) -> Expr:
        """``DATE_TRUNC('hour', t)``: the last instant at or before t at which that unit begins; a week on Monday."""
        unit, time = str(node.args["unit"].name).upper(), self._instant_of(node, node.this)
        if unit in ("YEAR", "MONTH"):
            days = self._days(node, time)
            first = _new_year(Call("year", (days,))) if unit == "YEAR" else _month_start(days)
            return Binary("*", first, Const(self._unit(node, "DAY")))
        if unit == "WEEK":
            past = Binary("%", self._since_monday(node, time), Const(self._unit(node, "WEEK")))
        else:
            past = Binary("%", time, Const(self._unit(node, unit)))
        return Binary("-", time, past)

    _datetrunc = _timestamptrunc

    def _datestrtodate(self, node: Any) -> Expr:
        return self._instant(node, self._constant(node.this, str))

    def _strtodate(self, node: Any) -> Expr:
        """``TO_DATE('2024-01-31', 'YYYY-MM-DD')``, and Oracle's TIMESTAMP '..', which sqlglot writes so."""
        if self._constant(node.args["format"], str) not in FORMATS:
            raise self._refused(node, f"expected the format YYYY-MM-DD, perhaps with HH24:MI:SS, but got {self._said(node)}")
        return self._datestrtodate(node)

    _strtotime = _strtodate

    def _datediff(self, node: Any) -> Expr:
        """``DATEDIFF('day', a, b)``: how many such units from a to b; the dialect says what counts."""
        said = node.args.get("unit")
        unit = "DAY" if said is None else str(said.name).upper()
        dates = self._dialect in SPARK and (said is None or not self._text.says(node, unit))  # DATEDIFF(b, a)
        end, start = (
            self._number(each.this if said is not None and type(each).__name__ == "TsOrDsToDate" else each)  # which sqlglot adds
            for each in (node.this, node.expression)
        )
        if unit not in ("YEAR", "MONTH") and self._unit(node, unit) == 1:
            return Binary("-", end, start)  # whatever counts
        what = "some dialects count the beginnings of units between two times, others whole units"
        whole = type(node).__name__ == "TimestampDiff"
        way = "boundaries" if dates else "whole" if whole else self._way(node, COUNTS, what)
        if unit in ("YEAR", "MONTH") and way == "boundaries":
            counted = [self._months(node, time, unit) for time in (end, start)]
            return Binary("-", *counted)
        length = Const(self._unit(node, unit))
        if unit == "WEEK" and self._dialect == "duckdb":  # whole weeks between two days, by its pull request 13637
            end, start, length, way = self._days(node, end), self._days(node, start), Const(7), "whole"
        if way == "boundaries":
            if unit == "WEEK":
                end, start = (self._since_monday(node, each) for each in (end, start))
            return Binary("-", Binary("//", end, length), Binary("//", start, length))
        past = Binary("-", end, start)
        return If(Compare("<", past, ZERO), Unary("-", Binary("//", Unary("-", past), length)), Binary("//", past, length))

    _timestampdiff = _datediff

    def _since_monday(self, node: Any, time: Expr) -> Expr:
        """Return a time since a Monday: 1970-01-01 is a Thursday."""
        return Binary("+", time, Const(3 * self._unit(node, "DAY")))

    def _months(self, node: Any, time: Expr, unit: str) -> Expr:
        days = self._days(node, time)
        year = Call("year", (days,))
        return year if unit == "YEAR" else Binary("+", Binary("*", year, Const(12)), Call("month", (days,)))

    def _dateadd(self, node: Any) -> Expr:
        time, many = self._number(node.this), self._number(node.expression)
        if type(node.expression).__name__ == "Interval":
            return Binary("+", time, many)
        return Binary("+", time, Binary("*", many, Const(self._unit(node, str(node.args["unit"].name)))))

    # -- CAST ------------------------------------------------------------------------------------------------------------------

    def _cast(self, node: Any) -> Expr:
        to = node.to.this.name if hasattr(node.to.this, "name") else str(node.to.this)
        if to in TIMES:
            self._check_digits(node)
        if (to in TIMES or to == "DATE") and type(node.this).__name__ == "Literal" and node.this.is_string:
            return self._instant(node, str(node.this.this))
        x = self.value(node.this)
        kind = self._kind(x)
        if node.to.expressions and to not in (*TIMES, "DECIMAL"):  # VARCHAR(3)
            raise self._refused(node, f"expected CAST to {CASTS} but got {self._said(node)}")
        if to in (*INTS, *FLOATS, "DECIMAL") and isinstance(x, Const) and isinstance(x.value, str):
            try:
                number: int | float = int(x.value) if to in INTS else float(x.value)
            except ValueError:
                raise self._refused(node, f"expected a number as text but got {x.value!r}") from None
            if to != "DECIMAL":
                return Const(number)
            x = decimal_of(number) if math.isfinite(number) else x
        if to == "DECIMAL":
            return self._to_decimal(node, x)
        if to in INTS and (kind in (int, str, bool) or kind is float):
            return self._to_int(node, x) if kind is float else x if kind is int else Call("int", (x,))
        if to in FLOATS or to in INTS:
            return Call("float" if to in FLOATS else "int", (x,))
        if to in TEXTS and kind in (str, int):
            return x if kind is str else Call("str", (x,))
        if to in TEXTS and kind is bool:
            return If(IsNone(x), Const(None), If(x, Const("true"), Const("false")))
        if to in TEXTS and kind is float:
            raise self._refused(
                node, f"expected an int or a text but got a float in {self._said(node)}, which dialects write each its way"
            )
        if (to in TIMES or to == "DATE") and is_number(kind):
            self._check_instant(node, node.this, x)
        if to in TIMES and is_number(kind):
            return x
        if to == "DATE" and is_number(kind):
            return self._begun(node, x, "SECOND" if self._dialect == "oracle" else "DAY")  # Oracle's dates have a time
        raise self._refused(node, f"expected CAST to {CASTS} but got {self._said(node)}")

    def _trycast(self, node: Any) -> Expr:
        """Spark's CAST; of a text that says no number it is NULL."""
        if self._kind(self.value(node.this)) is str and node.to.this.name not in TEXTS and type(node.this).__name__ != "Literal":
            raise self._refused(node, f"expected a CAST of a number but got {self._said(node)}, NULL where the text says none")
        return self._cast(node)

    def _date(self, node: Any) -> Expr:
        """``DATE(t)``: the day, as the instant at which it begins."""
        return self._begun(node, self._instant_of(node, node.this), "DAY")

    _tsordstodate = _date

    def _begun(self, node: Any, time: Expr, unit: str) -> Expr:
        """Return when the unit began in which a time lies."""
        length = self._unit(node, unit)
        return time if length == 1 else Binary("-", time, Binary("%", time, Const(length)))

    def _check_digits(self, node: Any) -> None:
        """Refuse a CAST to a time of fewer digits than a tick has."""
        said = [str(each.this) for each in node.to.expressions]
        digits = int(said[0]) if said and said[0].isdecimal() else 3 if self._dialect == "trino" else 9
        if len(said) > 1 or 10 ** max(9 - digits, 0) > self._tick_length(node):
            raise self._refused(
                node,
                f"expected as many digits of a second as a tick has ({self._tick}) but got {digits} in {self._said(node)}, and "
                f"dialects round or cut off; DATE_TRUNC says which",
            )

    def _to_decimal(self, node: Any, x: Expr) -> Expr:
        """Return a CAST to DECIMAL(p, s), which all dialects round alike; beyond its digits it raises."""
        if not is_number(self._kind(x)) or self._is_timely(x):
            raise self._refused(node, f"expected a CAST of a number to DECIMAL but got {self._said(node)}; CAST to DOUBLE first")
        said = [str(each.this) for each in node.to.expressions]
        digits, scale = (int(each) if each.isdecimal() else DIGITS + 1 for each in [*said, *["0"] * (2 - len(said))])
        if not said or self._dialect == "risingwave":
            why = (
                "in which dialects keep different digits; say DECIMAL(p, s)"
                if not said
                else "whose digits RisingWave does not read"
            )
            raise self._refused(node, f"expected DECIMAL(p, s) but got {self._said(node)}, {why}")
        if not 0 <= scale <= digits <= DIGITS:
            raise self._refused(
                node,
                f"expected DECIMAL(p, s) of at most {DIGITS} digits, which floats tell apart, but got {self._said(node)}; "
                f"say fewer, or DOUBLE",
            )
        return Call("sql_cast", (self._to_scale(x, scale), Const(POWERS[scale]), Const(10.0 ** (digits - scale))))

    def _to_int(self, node: Any, x: Expr) -> Expr:
        way = self._way(node, ROUNDED, "some dialects round, others cut off; FLOOR, CEIL, ROUND say which")
        if way == "away" or (way == "even" and self._scale(x) is not None):
            return Call("int", (Call("sql_round", (x,)),))
        return Call("round" if way == "even" else "int", (x,))


def _month_start(days: Expr) -> Expr:
    return Binary("-", days, Binary("-", Call("day", (days,)), Const(1)))


def _new_year(year: Expr) -> Expr:
    """Return the first day of a year, counted from 1970-01-01."""
    last = Binary("-", year, Const(1))
    leaps = Binary("+", Binary("-", Binary("//", last, Const(4)), Binary("//", last, Const(100))), Binary("//", last, Const(400)))
    return Binary("-", Binary("+", Binary("*", last, Const(365)), leaps), Const(719_162))
