"""Evaluate an expression over Arrow columns, with SQL's NULL: a whole column at once wherever that gives just what row by row does.

NULL of what has a NULL operand; AND and OR as Kleene has them; a choice takes its other side where its test is unknown. At once:
comparisons and arithmetic of one type, truths, choices, and what reads one column only, once for each different value. All else,
and what could raise or leave int64 there, is asked row by row.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from afa.expression.evaluation import operation_of
from afa.expression.nodes import And, Binary, Call, Compare, Const, Expr, FieldRead, If, In, IsNone, Not, Or, Unary, operands, walk
from afa.expression.types import types_of
from afa.schema import Field, Schema

COMPARE = {"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal"}
ARITHMETIC = {"+": "add_checked", "-": "subtract_checked", "*": "multiply_checked", "/": "divide"}
Ask = Callable[[Mapping[str, Any]], Any]


class _NotAtOnce(Exception):  # noqa: N818  (no error: rows are asked one by one)
    """The columns can't be taken at once: that would mean something else, or might raise where a row does not."""


class _NoRegister(NamedTuple):
    """Columns have no register."""


def values(expr: Expr, columns: Mapping[str, Any], n: int | None = None) -> Any:
    """Return the values of an expression, which reads fields of the event ("e"): an array as long as the columns.

    Parameters
    ----------
    expr : Expr
        Its fields are columns.
    columns : mapping of pyarrow.Array
        Of ints, floats, truths and texts; times as ints.
    n : int, optional
        How many rows there are, where no column is given.

    Raises
    ------
    Exception
        What the operators of an expression raise, on the first row that raises: ZeroDivisionError, ValueError ..

    Notes
    -----
    O(rows * nodes). Text results are strings; of ints and floats, floats.

    Examples
    --------
    >>> import pyarrow as pa
    >>> half = Compare("<", Binary("/", FieldRead("e", "x"), Const(2)), Const(1))
    >>> values(half, {"x": pa.array([1, None, 3])}).to_pylist()
    [True, None, False]
    """
    import pyarrow as pa

    read = {node.name for node in walk(expr) if isinstance(node, FieldRead)}
    n = len(next(iter(columns.values()))) if n is None else n
    table = _ArrowColumns({name: _plain(columns[name]) for name in sorted(read)}, n)
    try:
        found = table.at_once(expr)
    except (_NotAtOnce, pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return table.one_by_one(expr)
    kind = table.type_of(expr)
    if isinstance(found, pa.Scalar):
        found = pa.array([found.as_py()] * table.n, found.type)
    return found if kind is None or found.type == kind else found.cast(kind)


def asked(expr: Expr) -> Ask:
    """Return a function of one row, a mapping of names to values: the value of an expression, None for NULL."""
    below = [asked(child) for child in operands(expr)]
    match expr:
        case Const(value):
            return lambda row: value
        case FieldRead(_, name):
            return lambda row: row[name]
        case And() | Or():
            return _kleene(below, isinstance(expr, Or))
        case If():
            test, then, other = below
            return lambda row: then(row) if test(row) else other(row)
    operation, of_null = operation_of(expr), isinstance(expr, IsNone)

    def ask(row: Mapping[str, Any]) -> Any:
        found = [each(row) for each in below]
        return operation(*found) if of_null or None not in found else None

    return ask


def _kleene(items: list[Ask], stop: bool) -> Ask:
    """Return a truth that is ``stop`` where an item is, unknown where one is, else the other one."""

    def ask(row: Mapping[str, Any]) -> Any:
        unknown = False
        for item in items:
            found = item(row)
            if found is None:
                unknown = True
            elif bool(found) is stop:
                return stop
        return None if unknown else not stop

    return ask


def _plain(column: Any) -> Any:
    """Return a column as int64, float64, bool or string."""
    import pyarrow as pa

    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = column.type
    if pa.types.is_dictionary(kind):
        column = column.dictionary_decode()
        kind = column.type
    wanted = next((each for test, each in _kinds() if test(kind)), kind)
    return column if kind == wanted else column.cast(wanted)


def _kinds() -> list[tuple[Any, Any]]:
    import pyarrow as pa

    texts = lambda kind: pa.types.is_string(kind) or pa.types.is_large_string(kind) or str(kind) == "string_view"  # noqa: E731
    return [(pa.types.is_integer, pa.int64()), (pa.types.is_floating, pa.float64()), (texts, pa.string())]


class _ArrowColumns:
    """Columns, and how many rows they have."""

    def __init__(self, columns: dict[str, Any], n: int) -> None:
        import pyarrow as pa

        self._columns, self.n = columns, n
        self._types = {int: pa.int64(), float: pa.float64(), bool: pa.bool_(), str: pa.string()}
        types = {kind: type_ for type_, kind in self._types.items()}
        fields = tuple(Field(name, types.get(column.type), True) for name, column in columns.items())
        self._schema = Schema(_NoRegister, fields)

    def type_of(self, expr: Expr) -> Any:
        """Return the type of the answer; None: that of what comes."""
        found = types_of(expr, self._schema, Schema(_NoRegister, ())) - {type(None)}
        one = float if found == {int, float} else next(iter(found)) if len(found) == 1 else None
        return None if one is None else self._types.get(one)

    def one_by_one(self, expr: Expr) -> Any:
        import pyarrow as pa

        ask, names = asked(expr), list(self._columns)
        rows = zip(*(column.to_pylist() for column in self._columns.values())) if names else [()] * self.n
        return pa.array([ask(dict(zip(names, row))) for row in rows], self.type_of(expr))

    def at_once(self, expr: Expr) -> Any:
        """Return a column, or one value for all rows."""
        import pyarrow as pa
        import pyarrow.compute as pc

        match expr:
            case Const(value):
                return pa.scalar(value)
            case FieldRead(_, name):
                return self._columns[name]
            case IsNone(x):
                return pc.is_null(self.at_once(x))
            case Not(x):
                return pc.invert(self._truth(x))
            case And(items) | Or(items):
                join = pc.and_kleene if isinstance(expr, And) else pc.or_kleene
                return functools.reduce(join, map(self._truth, items))
            case If(test, then, other):
                return pc.if_else(pc.fill_null(self._truth(test), False), *self._two(then, other))
            case Compare(op, left, right):
                return getattr(pc, COMPARE[op])(*self._two(left, right))
            case In(x, items) if items and all(item.value is not None for item in items):
                return functools.reduce(pc.or_, [pc.equal(*self._two(x, item)) for item in items], pa.scalar(False))
            case Binary("+" | "-" | "*" | "/" as op, left, right):
                return self._calculated(op, left, right)
            case Unary("-", x) if self.at_once(x).type in (pa.int64(), pa.float64()):
                return pc.negate_checked(self.at_once(x))
            case Call("abs", (x,)) if self.at_once(x).type in (pa.int64(), pa.float64()):
                return pc.abs_checked(self.at_once(x))
        return self._by_value(expr)

    def _truth(self, expr: Expr) -> Any:
        import pyarrow as pa

        found = self.at_once(expr)
        if found.type == pa.null():
            return pa.scalar(None, pa.bool_())
        if found.type != pa.bool_():
            raise _NotAtOnce
        return found

    def _two(self, left: Expr, right: Expr) -> tuple[Any, Any]:
        """Return two operands of one type; NULL is of any."""
        import pyarrow as pa

        one, other = self.at_once(left), self.at_once(right)
        if one.type == pa.null():
            one = pa.scalar(None, other.type)
        if other.type == pa.null():
            other = pa.scalar(None, one.type)
        if one.type != other.type:
            one, other = _like(one, other), _like(other, one)
        if one.type != other.type:
            raise _NotAtOnce
        return one, other

    def _calculated(self, op: str, left: Expr, right: Expr) -> Any:
        """Return arithmetic of two ints, or with a float, as which an int is rounded; of a division neither int beyond 2**53."""
        import pyarrow as pa
        import pyarrow.compute as pc

        one, other = self.at_once(left), self.at_once(right)
        if {one.type, other.type} - {pa.int64(), pa.float64()}:
            raise _NotAtOnce
        floats = pa.float64() in (one.type, other.type)
        if op == "/" and (_any(pc.equal(other, 0)) or (not floats and any(map(_wide, (one, other))))):
            raise _NotAtOnce  # what divides by zero raises
        if floats or op == "/":
            one, other = (pc.cast(each, pa.float64(), safe=False) for each in (one, other))
        return getattr(pc, ARITHMETIC[op])(one, other)

    def _by_value(self, expr: Expr) -> Any:
        """Return what reads one column, asked once of each different value."""
        import pyarrow as pa

        read = {node.name for node in walk(expr) if isinstance(node, FieldRead)}
        if len(read) != 1:
            raise _NotAtOnce
        (name,) = read
        if self._columns[name].type == pa.float64():
            raise _NotAtOnce  # whose different values 0.0 and -0.0 count as one
        coded = self._columns[name].dictionary_encode("encode")
        ask, kind = asked(expr), self.type_of(expr)
        if len(coded.dictionary) > self.n / 2 or kind is None:
            raise _NotAtOnce
        try:
            found = pa.array([ask({name: each}) for each in coded.dictionary.to_pylist()], kind)
        except Exception as error:  # a row that is not asked may raise
            raise _NotAtOnce from error
        return found.take(coded.indices)


def _any(found: Any) -> bool:
    """Return whether a truth, or one of a column, holds."""
    import pyarrow.compute as pc

    return bool(found.as_py() if not hasattr(found, "to_pylist") else pc.any(found).as_py())


def _wide(ints: Any) -> bool:
    """Return whether an int is beyond what floats hold exactly."""
    import pyarrow.compute as pc

    return _any(pc.or_(pc.greater(ints, 2**53), pc.less(ints, -(2**53))))


def _like(one: Any, other: Any) -> Any:
    """Return a constant int or float as an equal one of the other's type; all else as it is."""
    import pyarrow as pa

    value: Any = one.as_py() if isinstance(one, pa.Scalar) else None
    if type(value) not in (int, float) or other.type not in (pa.int64(), pa.float64()):
        return one
    try:
        found = int(value) if other.type == pa.int64() else float(value)
    except (OverflowError, ValueError):
        raise _NotAtOnce from None
    return pa.scalar(found, other.type) if found == value else one
