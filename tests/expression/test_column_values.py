"""Expressions over Arrow columns, with SQL's NULL: at once as row by row, and as in Python where nothing is NULL."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pyarrow as pa
import pytest

from afa.expression import evaluate, parse
from afa.expression.column_values import _ArrowColumns, _plain, asked, values
from afa.expression.kinds import CONDITION
from afa.expression.nodes import And, Binary, Call, Compare, Const, Expr, FieldRead, If, In, IsNone, Not, Or, walk
from afa.expression.types import types_of
from tests.expression.worlds import EVENT, REGISTER, SCHEMAS, E, event, expression, outcome

X, Y, S, B = (FieldRead("e", name) for name in ("x", "y", "s", "b"))
TYPES = {
    "i": pa.int64(),
    "x": pa.float64(),
    "b": pa.bool_(),
    "s": pa.string(),
    "oi": pa.int64(),
    "ox": pa.float64(),
    "os": pa.string(),
}


def columns(events: list[E]) -> dict[str, Any]:
    return {name: pa.array([getattr(each, name) for each in events], TYPES[name]) for name in E._fields}


def fits(expr: Expr) -> bool:
    """Whether it reads columns only, and SQL knows its AND and OR: of truths."""
    items = [item for node in walk(expr) if isinstance(node, And | Or) for item in node.items]
    sides = {node.side for node in walk(expr) if isinstance(node, FieldRead)}
    return "r" not in sides and all(types_of(item, *SCHEMAS) <= {bool, type(None)} for item in items)


@pytest.mark.filterwarnings("ignore:Bitwise inversion")
@pytest.mark.parametrize("seed", range(4))
def test_columns_say_what_rows_say(seed: int) -> None:
    rng = random.Random(f"columns {seed}")
    seen = dict.fromkeys(("values", "raised", "at once", "in Python"), 0)
    for _ in range(600):
        expr = expression(rng, rng.choice(["bool", "bool", "int", "float", "str"]), rng.randint(1, 4), optional=0.5)
        if not fits(expr):
            continue
        events = [event(rng) for _ in range(rng.choice((1, 5, 30)))]
        given = columns(events)
        table = _ArrowColumns({name: _plain(column) for name, column in given.items()}, len(events))
        wanted = outcome(lambda table, expr: table.one_by_one(expr).to_pylist(), table, expr)
        assert outcome(lambda expr, given: values(expr, given).to_pylist(), expr, given) == wanted, expr
        seen["raised" if isinstance(wanted, type) else "values"] += 1
        with contextlib.suppress(Exception):
            table.at_once(expr)
            seen["at once"] += 1
        for each in events:
            if None not in each:
                assert outcome(asked(expr), each._asdict()) == outcome(evaluate, expr, each, None), expr
                seen["in Python"] += 1
    assert min(seen.values()) > 10, seen


TABLE = {"x": pa.array([1, None, 3, 2**63 - 1]), "y": pa.array([2.5, 0.0, None, 1.0]), "s": pa.array(["a", None, "ab", "b"])}


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (Compare("<", X, Const(3)), [True, None, False, False]),
        (Not(Compare("<", X, Const(2.5))), [False, None, True, True]),
        (And((Compare(">", X, Const(1)), Compare("==", S, Const("ab")))), [False, None, True, False]),
        (Or((Compare("==", X, Const(1)), Compare(">", Y, Const(0)))), [True, None, None, True]),
        (If(Compare(">", X, Const(1)), Const("big"), S), ["a", None, "big", "big"]),
        (IsNone(Binary("+", X, Y)), [False, True, True, False]),
        (In(S, (Const("a"), Const("b"))), [True, None, False, True]),
        (Call("upper", (S,)), ["A", None, "AB", "B"]),
        (Call("like", (S, Const("a%"))), [True, None, True, False]),
        (Binary("/", X, Const(2)), [0.5, None, 1.5, (2**63 - 1) / 2]),
        (Binary("*", Y, Const(2)), [5.0, 0.0, None, 2.0]),
        (Const(7), [7, 7, 7, 7]),
        (Const(None), [None] * 4),
        (Compare("==", X, Const(None)), [None] * 4),
    ],
)
def test_null(expr: Expr, expected: list[Any]) -> None:
    assert values(expr, TABLE).to_pylist() == expected


def test_what_a_row_does_not_evaluate_does_not_raise() -> None:
    guarded = If(Compare("!=", Y, Const(0)), Binary("/", Const(1.0), Y), Const(0.0))
    assert values(guarded, TABLE).to_pylist() == [0.4, 0.0, 0.0, 1.0]
    with pytest.raises(ZeroDivisionError):
        values(Binary("/", Const(1.0), Y), TABLE)
    with pytest.raises(ValueError, match="math domain error"):
        values(Call("sqrt", (Binary("-", Y, Const(9)),)), TABLE)
    with pytest.raises((OverflowError, pa.ArrowInvalid)):
        values(Binary("+", X, Const(1)), TABLE)  # no int64 holds it


def test_columns_of_other_types_and_in_pieces() -> None:
    pieces = pa.chunked_array([pa.array([1, 2], pa.int32()), pa.array([3], pa.int32())])
    texts = pa.array(["a", "b", "a"]).dictionary_encode()
    found = values(parse("i > 1 and s == 'b'", CONDITION, EVENT, REGISTER), {"i": pieces, "s": texts})
    assert found.to_pylist() == [False, True, False]
    assert values(Const(1.5), {}, 2).to_pylist() == [1.5, 1.5]
    assert values(Compare("==", B, Const(True)), {"b": pa.array([True, None])}).to_pylist() == [True, None]
