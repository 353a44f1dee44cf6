"""The table of functions: what each means, in lambdas, text, JSON, SASE+ text and the builder, on both engines, to the last bit."""

from __future__ import annotations

import itertools
import json
import math
import random
import re
from datetime import date, timedelta
from typing import Any, NamedTuple

import pytest

import afa
from afa import Arc, Automaton, Operator, insert, retract
from afa.compiled.code.strings import Strings
from afa.errors import ExpressionError
from afa.expression import FENCE, evaluate, functions, parse, text_of_expr
from afa.expression.functions import FUNCTIONS, NUMBER, day, like, month, regexp_like, substr, year
from afa.expression.nodes import Call, Const, Expr, FieldRead, Make
from afa.language import many, one
from afa.language.builder_printer import builder_text
from afa.schema import NAN, Schema
from punctuation.base_errors import AfaError
from speculation import consolidate
from tests.compiled.calls import NativeArc, compiled, to_words
from tests.compiled.expressions import REGISTER, E, R
from tests.expression.worlds import SCHEMAS

FLOATS = [
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 0.49999999999999994, 1e-300, 5e-324, 1e16, 2.0**52 + 0.5, 2.0**63, 709.0,
    710.0, -745.2, 1e300, math.pi, -math.pi / 2, 1e22, math.inf, -math.inf, NAN,
]  # fmt: skip
INTS = [0, 1, -1, 2, 7, 180, -719_468, 19_723, 2**53 + 1, 2**63 - 1, -(2**63)]

TAKE = Schema.of(R, "register").take


def same(name: str, items: tuple[Any, ...]) -> int:
    """One call on both engines: equal to the last bit, or Python's error; returns how many machine code has answered."""
    made = Call(name, tuple(Const(item) for item in items))
    fields = [FieldRead("r", "f" if type(item) is float else "i") for item in items[:2]]
    wanted = "i" if FUNCTIONS[name].result is int else "f"
    read: Expr = Call(name, (*fields, *made.items[2:])) if len({type(item) for item in items[:2]}) == len(fields) else made
    register = TAKE(R(**{field.name: item for field, item in zip(fields, items)}))
    strings = Strings()
    arc = NativeArc(compiled(Const(True), Make(tuple(read if n == wanted else FieldRead("r", n) for n in R._fields))), strings)
    status, found = arc(E(), register)
    try:
        expected = TAKE(register._replace(**{wanted: evaluate(read, E(), register)}))
    except (ValueError, OverflowError, TypeError, AfaError):
        assert status == -1, (name, items)
        return 0
    if status == 1:
        assert found == to_words(REGISTER, expected, strings), (name, items)
    return int(status == 1)


@pytest.mark.parametrize("name", [name for name, function in FUNCTIONS.items() if function.of == NUMBER])
def test_machine_code_gives_python_s_bits(name: str) -> None:
    rng = random.Random(name)
    if FUNCTIONS[name].written and FUNCTIONS[name].result is int:
        answered, least = sum(same(name, (x,)) for x in [*INTS, *(rng.randint(-(10**6), 10**6) for _ in range(40))]), 40
    elif FUNCTIONS[name].most == 1:
        numbers = [*FLOATS, *(rng.uniform(-1, 1) for _ in range(40)), *(rng.uniform(0, 1e3) for _ in range(40)), *INTS]
        answered, least = sum(same(name, (x,)) for x in numbers), 40
    else:
        tuples = [(x, y, 1e6)[: FUNCTIONS[name].most] for x in FLOATS for y in INTS]
        answered, least = (
            sum(same(name, each) for each in tuples),
            100 if FUNCTIONS[name].total or not FUNCTIONS[name].written else 20,
        )
    assert answered >= least


def test_functions_of_floats_by_sql_s_rules() -> None:
    assert [functions.sql_round(x) for x in (0.5, -0.5, 2.5, 0.49999999999999994, -1.2)] == [1.0, -1.0, 3.0, 0.0, -1.0]
    assert [functions.sql_floor(-1.5), functions.sql_ceil(-1.5), functions.sql_trunc(-1.5)] == [-2.0, -1.0, -1.0]
    assert [functions.sql_floor(x) for x in (math.inf, 1e300, 3)] == [math.inf, 1e300, 3.0]
    assert math.copysign(1, functions.sql_ceil(-0.5)) == -1
    assert [functions.sql_decimal(0.1 + 0.2, 10.0), functions.sql_decimal(-1.005, 100.0), functions.sql_decimal(7, 1.0)] == [
        0.3,
        -1.0,
        7.0,
    ]
    assert math.isnan(functions.sql_decimal(1.0, 0))


def test_days_are_those_of_the_calendar() -> None:
    first = date(1970, 1, 1)
    for each in [*range(-1000, 1000), *range(-719_162, 2_932_896, 997)]:
        here = first + timedelta(days=each)
        assert (year(each), month(each), day(each)) == (here.year, here.month, here.day)


def by_hand(text: str, pattern: str, escape: str | None) -> bool:
    """SQL's LIKE by trying each way."""
    if not pattern:
        return not text
    if pattern[0] == escape:
        return text[:1] == pattern[1] and by_hand(text[1:], pattern[2:], escape)
    if pattern[0] == "%":
        return any(by_hand(text[i:], pattern[1:], escape) for i in range(len(text) + 1))
    return bool(text) and pattern[0] in ("_", text[0]) and by_hand(text[1:], pattern[1:], escape)


def test_like_is_what_trying_each_way_finds() -> None:
    rng = random.Random(3)
    seen = {True: 0, False: 0}
    for _ in range(4000):
        text = "".join(rng.choices("ab%_!\n", k=rng.randint(0, 6)))
        pattern = "".join(rng.choices(["a", "b", "%", "_", "!%", "!_", "!!", "."], k=rng.randint(0, 5)))
        found = like(text, pattern, "!")
        assert found is by_hand(text, pattern, "!"), (text, pattern)
        seen[found] += 1
        if "!" not in pattern:
            assert like(text, pattern) is found
    assert min(seen.values()) > 300
    assert not like("a" * 50_000, "%a" * 200 + "b")  # at once


def test_other_functions_of_texts() -> None:
    assert [substr("abcd", *more) for more in ((2,), (2, 2), (-2,), (9, 1), (1, 0))] == ["bcd", "bc", "cd", "", ""]
    assert [regexp_like(text, "^N[0-9]+$") for text in ("N17", "xN17")] == [True, False]
    for function in (like, regexp_like):
        with pytest.raises(TypeError, match="expected a text before"):
            function(None, "a")  # type: ignore[arg-type]


def test_text_names_them_as_python_does() -> None:
    asked = parse("math.sqrt(x) > sqrt(i) and math.log(x, 2) < atan2(x, 1) and like(s, 'a%')", FENCE, *SCHEMAS)
    text = "sqrt(e.x) > sqrt(e.i) and log(e.x) / log(2) < atan2(e.x, 1) and like(e.s, 'a%')"
    assert text_of_expr(asked) == text
    assert parse(text, FENCE, *SCHEMAS) == asked
    trimmed = parse("s.strip(' ') == 'a' and s.lower().rstrip('b') != ''", FENCE, *SCHEMAS)
    assert text_of_expr(trimmed) == "e.s.strip(' ') == 'a' and e.s.lower().rstrip('b') != ''"
    with pytest.raises(ExpressionError, match="hypot is no field"):
        parse("hypot(x, x) > 1", FENCE, *SCHEMAS)
    with pytest.raises(ExpressionError, match="sqrt of 2 arguments"):
        parse("sqrt(x, x) > 1", FENCE, *SCHEMAS)
    with pytest.raises(ExpressionError, match="pattern that can't be read"):
        parse("regexp_like(s, '[')", FENCE, *SCHEMAS)
    with pytest.raises(ExpressionError, match="huge int"):
        parse("floor(x) ** 1000 > 1", FENCE, *SCHEMAS)


class Payment(NamedTuple):
    lat: float
    lon: float
    exp: float = 0.0  # a field may have a function's name


class Place(NamedTuple):
    lat: float = 0.0
    lon: float = 0.0


def far(lat: float, lon: float, e_lat: float, e_lon: float) -> float:
    """The distance of two places on earth, in km."""
    a = math.sin(math.radians(e_lat - lat) / 2) ** 2
    b = math.cos(math.radians(lat)) * math.cos(math.radians(e_lat)) * math.sin(math.radians(e_lon - lon) / 2) ** 2
    return 12_742 * math.asin(math.sqrt(a + b))


ARCS = [
    Arc("start", "paid", "exp >= 0", lambda e, r: Place(e.lat, e.lon)),
    Arc(
        "paid", "fraud", lambda e, r: far(r.lat, r.lon, e.lat, e.lon) > 500, lambda e, r: Place(far(0.0, 0.0, e.lat, e.lon), r.lon)
    ),
]
FRAUD = Automaton(start="start", final={"fraud"}, event=Payment, register=Place(), arcs=ARCS)
OVER_WIRE = Automaton(
    start="start", final={"fraud"}, event=Payment, register=Place(),
    arcs=[Arc.from_json(json.loads(json.dumps(arc.to_json(FRAUD)))) for arc in ARCS],
)  # fmt: skip


def test_a_rule_of_distances_on_both_engines() -> None:
    rng = random.Random(7)
    made = [insert(Payment(rng.uniform(40, 50), rng.uniform(0, 15)), le) for le in range(60)]
    rng.shuffle(made)
    gone = [retract(*change[:2]) for change in rng.sample(made, 10)]
    found = []
    for pattern in (FRAUD, OVER_WIRE):
        for engine in ("compiled", "interpreted"):
            op = Operator(pattern, window=4, engine=engine)
            found.append(consolidate([out for change in [*made, *gone] for out in op.push(change)]))
    assert found.count(found[0]) == len(found)
    kept = {le: payment for payment, le, *_ in made}
    for payment, le, *_ in gone:
        assert kept.pop(le) == payment
    pairs = [(kept[a], kept[b]) for a, b in itertools.pairwise(sorted(kept)) if b < a + 4]
    assert len(found[0]) == sum(far(a.lat, a.lon, b.lat, b.lon) > 500 for a, b in pairs) > 20


@pytest.mark.parametrize("engine", ["compiled", "interpreted"])
@pytest.mark.parametrize(
    ("fence", "value", "message"),
    [
        ("sqrt(lat) > 1", -1.0, "math domain error"),
        ("exp(lat) > 1", 800.0, "math range error"),
        ("log(lat) > 1", 0.0, "math domain error"),
    ],
)
def test_what_raises_is_a_fault_on_both_engines(engine: str, fence: str, value: float, message: str) -> None:
    pattern = Automaton(start="a", final={"b"}, event=Payment, register=Place(), arcs=[Arc("a", "b", fence)])
    op = Operator(pattern, window=10, engine=engine)
    with pytest.raises((ValueError, OverflowError), match=re.escape(message)):
        op.push(insert(Payment(value, 0.0), 1))
    assert op.push(insert(Payment(9.0, 0.0), 2))


class Stop(NamedTuple):
    type: str
    x: float
    s: str


def test_queries_in_text_and_in_the_builder() -> None:
    text = (
        "PATTERN SEQ(A a, B b) WHERE sqrt(a.x) > 2 and floor(b.x) == floor(a.x) and like(b.s, '_b%') WITHIN 10 RETURN exp(a.x) AS q"
    )
    asked = afa.query(text, event=Stop)
    built = (
        one("a", "A", lambda e: math.sqrt(e.x) > 2)
        .followed_by(one("b", "B", lambda e, m: math.floor(e.x) == math.floor(m.a.x) and functions.like(e.s, "_b%")))
        .within(10)
        .returns(q=lambda m: math.exp(m.a.x))
        .of(Stop)
    )
    assert asked.tree == built.tree()
    assert builder_text(built.tree()).count("math.floor(") == 2
    assert "functions.like(e.s, '_b%')" in builder_text(built.tree())
    events = [Stop("A", 4.5, ""), Stop("B", 4.2, "abc"), Stop("B", 4.2, "bbc"), Stop("B", 5.0, "ab"), Stop("B", 4.9, "b")]
    for engine in ("compiled", "interpreted"):
        op = asked.operator(engine=engine)
        assert [out.payload.q for le, e in enumerate(events) for out in op.push(insert(e, le))] == [math.exp(4.5)]
    assert many("a", lambda e: math.pow(e.x, 2) > 4).within(3).of(Stop).operator(engine="compiled")
