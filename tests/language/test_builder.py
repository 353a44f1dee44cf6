"""Queries built in Python: the same trees as text gives, what lambdas of e and m may say, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Keyed, Operator, insert
from afa.errors import QueryError
from afa.expression.nodes import And, Binary, Compare, Const, Expr, FieldRead, If, In, IsNone, Not, Or
from afa.language import Builder, absent, either, many, one, optional, times
from afa.language.pattern import ANY, NEXT, PARTITION, STRICT, Component, Either, Gap, Repeat, Seq, Tree
from afa.language.terms import Aggregate, Ref


class Item(NamedTuple):
    type: str
    tag_id: int
    place: str


class Alert(NamedTuple):
    type: str
    site: str
    from_: str
    to: str


class Stock(NamedTuple):
    symbol: str
    price: float
    volume: int
    note: str | None = None
    open: bool = True


class Task(NamedTuple):
    type: str
    job_id: int
    period: int


class Theft(NamedTuple):
    a_place: str


class Site(NamedTuple):
    b_last_to: str


class Trend(NamedTuple):
    a_first_price: float
    a_count: int
    b_volume: int


class Job(NamedTuple):
    b_avg_period: float
    b_max_period: int


class Vee(NamedTuple):
    low: float
    top: float


SAME: list[tuple[str, str, type, Builder]] = [
    (
        "shoplifting",
        """PATTERN SEQ(Shelf a, ~(Register b), Exit c) WHERE skip_till_next_match(a, b, c) { [tag_id] }
        WITHIN 12 hours RETURN a.place""",
        Item,
        one("a", "Shelf")
        .absent("b", "Register")
        .followed_by(one("c", "Exit"))
        .by("tag_id")
        .within(hours=12)
        .returns(lambda m: Theft(m.a.place)),
    ),
    (
        "contamination",
        """PATTERN SEQ(Alert a, Shipment+ b[]) WHERE skip_till_any_match(a, b[]) { b[1].from_ = a.site and
        b[i].from_ = b[i-1].to } WITHIN 3 hours RETURN b[b.LEN].to""",
        Alert,
        one("a", "Alert")
        .followed_by_any(
            many("b", "Shipment", first=lambda e, m: e.from_ == m.a.site, where=lambda e, m: e.from_ == m.b.last.to).any()
        )
        .within(hours=3)
        .returns(lambda m: Site(m.b.last.to)),
    ),
    (
        "rising price, falling volume",
        """PATTERN SEQ(Stock+ a[], Stock b) WHERE skip_till_next_match(a[], b) { [symbol] and a[1].volume > 1000 and
        a[i].price > avg(a[..i-1].price) and b.volume < 80% * a[a.LEN].volume } WITHIN 1 hour
        RETURN a[1].price, a.LEN, b.volume""",
        Stock,
        many("a", first=lambda e: e.volume > 1000, where=lambda e, m: e.price > m.a.avg.price)
        .followed_by(one("b", lambda e, m: e.volume < 0.8 * m.a.last.volume))
        .by("symbol")
        .within(hours=1)
        .returns(lambda m: Trend(m.a.first.price, m.a.count, m.b.volume)),
    ),
    (
        "mappers of a job",
        """PATTERN SEQ(JobStart a, Mapper+ b[], JobEnd c) WHERE skip_till_next_match(a, b[], c) { [job_id] }
        WITHIN 1 day RETURN avg(b[].period), max(b[].period)""",
        Task,
        one("a", "JobStart")
        .followed_by(many("b", "Mapper"))
        .followed_by(one("c", "JobEnd"))
        .by("job_id")
        .within(days=1)
        .returns(lambda m: Job(m.b.avg.period, m.b.max.period)),
    ),
    (
        "V shape",
        """PATTERN SEQ(Stock a, Stock+ d[], Stock+ u[]) WHERE partition_contiguity(a, d[], u[]) { [symbol] and
        d[1].price < a.price and d[i].price < d[i-1].price and u[1].price > d[d.LEN].price and u[i].price > u[i-1].price }
        WITHIN 1 hour RETURN d[d.LEN].price AS low, u[u.LEN].price AS top""",
        Stock,
        one("a")
        .next(many("d", where=lambda e, m: e.price < m.prev.price))
        .next(many("u", where=lambda e, m: e.price > m.prev.price))
        .by("symbol")
        .within("1 hour")
        .returns(lambda m: Vee(m.d.last.price, m.u.last.price)),
    ),
]


@pytest.mark.parametrize(("text", "event", "built"), [pytest.param(*rest, id=name) for name, *rest in SAME])
def test_text_and_builder_give_one_tree(text: str, event: type, built: Builder) -> None:
    query = afa.query(text, event=event, tick="s")
    assert built.of(event, tick="s").tree() == query.tree
    assert built.query(event, tick="s") == query


def test_a_builder_is_a_query() -> None:
    built = SAME[2][3].of(Stock, tick="min")
    assert (built.key, built.window, built.components) == ("symbol", 60, ("a", "b"))
    op = built.operator(engine="interpreted")
    assert isinstance(op, Keyed)
    rows = [(10, 2000), (20, 1900), (20, 100)]
    out = [change for le, row in enumerate(rows) for change in op.push(insert(Stock("x", *row), le))]
    assert [(change.payload, change.le, change.re) for change in out] == [((10, 2, 100), 2, 60), ((20, 1, 100), 2, 61)]
    assert type(out[0].payload).__name__ == "Trend"
    assert built.automaton is built.automaton
    assert isinstance(one("a", Stock).within(9).operator(), Operator)
    assert repr(built) == "query of a, b"


def test_what_a_query_tells() -> None:
    def falling(share: float) -> Builder:
        return many("a").followed_by(one("b", lambda e, m: e.volume < share * m.a.last.volume)).within(9).of(Stock, tick="us")

    built, other = falling(0.8), falling(0.7)
    assert built.tree().tick == "us"
    assert str(built.explain()) == str(built.query().explain())
    changes = built.changes_to(other)
    assert [change.diff for change in changes.arcs] == [-1, 1]
    assert str(changes) == str(built.query().changes_to(other.query())) == str(built.changes_to(other.query()))


# -- trees -----------------------------------------------------------------------------------------------------------------------


def pattern(built: Builder, event: type = Stock) -> Any:
    return built.of(event).tree().pattern


def c(name: str, *where: Expr) -> Component:
    return Component(name, None, where)


def e(name: str) -> FieldRead:
    return FieldRead("e", name)


CHEAP = Compare("<", FieldRead("e", "price"), Const(3))


@pytest.mark.parametrize(
    ("built", "expected"),
    [
        (one("a").next(one("b")), Seq((c("a"), c("b")), (Gap(STRICT),))),
        (one("a").next(one("b")).by("symbol"), Seq((c("a"), c("b")), (Gap(PARTITION),))),
        (one("a").followed_by(one("b")).followed_by_any(one("d")), Seq((c("a"), c("b"), c("d")), (Gap(NEXT), Gap(ANY)))),
        (one("a").followed_by(one("b").followed_by(one("d"))), Seq((c("a"), Seq((c("b"), c("d")), (Gap(),))), (Gap(),))),
        (many("a"), Repeat(c("a"))),
        (many("a").any(), Repeat(c("a"), gap=Gap(ANY))),
        (many("a").consecutive(), Repeat(c("a"), gap=Gap(STRICT))),
        (many("a").reluctant(), Repeat(c("a"), greedy=False)),
        (one("a").next(many("b")), Seq((c("a"), Repeat(c("b"), gap=Gap(STRICT))), (Gap(STRICT),))),
        (one("a").next(many("b").relaxed()), Seq((c("a"), Repeat(c("b"))), (Gap(STRICT),))),
        (many("a").optional(), Repeat(Repeat(c("a")), 0, 1)),
        (optional("a"), Repeat(c("a"), 0, 1)),
        (optional(one("a")), Repeat(c("a"), 0, 1)),
        (one("a").times(2), Repeat(c("a"), 2, 2)),
        (many("a").times(2), Repeat(c("a"), 2, 2)),
        (many("a").consecutive().times(2, 3), Repeat(c("a"), 2, 3, Gap(STRICT))),
        (times(2, 2, many("a")), Repeat(Repeat(c("a")), 2, 2)),
        (many(many("a")), Repeat(Repeat(c("a")))),
        (times(2, None, "a"), Repeat(c("a"), 2, None)),
        (times(0, 3, one("a")), Repeat(c("a"), 0, 3)),
        (many(one("a").followed_by(one("b"))), Repeat(Seq((c("a"), c("b")), (Gap(),)))),
        (either(one("a"), many("b")), Either((c("a"), Repeat(c("b"))))),
        (one("a").next(either(one("b"), many("d"))).pattern, None),
        (one("a").absent("n").followed_by(one("b")), Seq((c("a"), c("b")), (Gap(NEXT, (c("n"),)),))),
        (one("a").followed_by(absent("n").followed_by(one("b"))), Seq((c("a"), c("b")), (Gap(NEXT, (c("n"),)),))),
        (one("a", lambda e: e.price < 3), c("a", CHEAP)),
        (one("a", where=lambda e: e.price < 3 and True), c("a", CHEAP)),
        (many("a", rest=lambda e: e.price < 3), Repeat(Component("a", rest=(CHEAP,)))),
        (
            many("a", done=lambda m: m.a.count > 2 and m.a.last.price > m.a.first.price),
            Repeat(
                Component(
                    "a",
                    done=(
                        Compare(">", Aggregate("a", "count"), Const(2)),
                        Compare(">", Ref("a", "last", "price"), Ref("a", "first", "price")),
                    ),
                )
            ),
        ),
    ],
)
def test_trees(built: Any, expected: Any) -> None:
    if expected is not None:
        assert pattern(built) == expected
    else:
        assert built.items[1].items[1].gap.strategy == STRICT


def test_what_is_absent_at_the_ends() -> None:
    tree = absent("n", lambda e: e.price < 3).followed_by(one("a")).absent("x", lambda e, m: e.price < m.a.price).of(Stock).tree()
    assert tree.before == (c("n", CHEAP),)
    assert tree.after == (c("x", Compare("<", FieldRead("e", "price"), Ref("a", "one", "price"))),)


# -- terms -----------------------------------------------------------------------------------------------------------------------

LIMIT = 7


def of_b(function: Callable[..., Any]) -> tuple[Expr, ...]:
    """The conjuncts of ``where`` of b, behind one a and many c."""
    built = one("a").followed_by(many("c")).followed_by(one("b", function)).of(Stock)
    return built.tree().pattern.items[2].where  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda e, m: e.price > m.a.price, Compare(">", e("price"), Ref("a", "one", "price"))),
        (lambda e, m: e.price > m.c.first.price, Compare(">", e("price"), Ref("c", "first", "price"))),
        (lambda e, m: e.price > m.c.last.price, Compare(">", e("price"), Ref("c", "last", "price"))),
        (lambda e, m: e.price > m.c.last(2).price, Compare(">", e("price"), Ref("c", "last", "price", 2))),
        (lambda e, m: e.price > m.c.prev(2).price, Compare(">", e("price"), Ref("c", "last", "price", 1))),
        (lambda e, m: e.price > m.prev.price, Compare(">", e("price"), Ref("c", "last", "price"))),
        (lambda e, m: e.price > m.prev(2).price, Compare(">", e("price"), Ref("", "last", "price", 1))),
        (lambda e, m: m.c.count > 1, Compare(">", Aggregate("c", "count"), Const(1))),
        (lambda e, m: m.c.count.note > 1, Compare(">", Aggregate("c", "count", "note"), Const(1))),
        (lambda e, m: m.c.sum.volume > 1, Compare(">", Aggregate("c", "sum", "volume"), Const(1))),
        (lambda e, m: m.c.min.note == "x", Compare("==", Aggregate("c", "min", "note"), Const("x"))),
        (lambda e, m: m.a.note is None, IsNone(Ref("a", "one", "note"))),
        (lambda e, m: m.a.note == None, IsNone(Ref("a", "one", "note"))),  # noqa: E711
        (lambda e, m: e.volume in (1, 2), In(e("volume"), (Const(1), Const(2)))),
        (lambda e: e.volume > LIMIT, Compare(">", e("volume"), Const(7))),
        (lambda e, limit=LIMIT: e.volume > limit, Compare(">", e("volume"), Const(7))),
        (lambda e, m: not m.a.open or e.open, Or((Not(Ref("a", "one", "open")), e("open")))),
        (
            lambda e, m: e.price > (m.a.price if m.a.open else 0),
            Compare(">", e("price"), If(Ref("a", "one", "open"), Ref("a", "one", "price"), Const(0))),
        ),
        (lambda e, m: math.isnan(m.a.price), Compare("!=", Ref("a", "one", "price"), Ref("a", "one", "price"))),
        (lambda e, m: e.price > 2 * m.a.price, Compare(">", e("price"), Binary("*", Const(2), Ref("a", "one", "price")))),
    ],
)
def test_terms(function: Callable[..., Any], expected: Expr) -> None:
    assert of_b(function) == (expected,)


def test_helpers_and_closures() -> None:
    def above(limit: float, e: Any, m: Any) -> Any:
        least = m.a.price + limit
        return e.price > least and e.open

    expected = Compare(">", e("price"), Binary("+", Ref("a", "one", "price"), Const(2.5)))
    assert of_b(partial(above, 2.5)) == (expected, e("open"))
    assert of_b(lambda e, m: above(2.5, e, m)) == (expected, e("open"))


def test_conjuncts_of_where_stand_where_text_puts_them() -> None:
    built = one("a").followed_by(many("b", where=lambda e, m: e.price > m.a.price and e.volume > m.b.last.volume and m.b.count < 3))
    b = pattern(built).items[1].item
    assert b.where == (Compare(">", e("price"), Ref("a", "one", "price")),)
    assert b.rest == (
        Compare(">", e("volume"), Ref("b", "last", "volume")),
        Compare("<", Aggregate("b", "count"), Const(3)),
    )


def test_a_conjunct_on_the_event_before_last_holds_from_the_third_event_on() -> None:
    text = "PATTERN SEQ(Stock+ a[]) WHERE skip_till_next_match(a[]) { a[i].price > a[i-2].price } WITHIN 9"
    built = many("a", where=lambda e, m: e.price > m.a.prev(2).price).within(9)
    assert built.of(Stock).tree() == afa.query(text, event=Stock).tree


def test_prev_of_the_first_component_is_asked_from_its_second_event_on() -> None:
    rising = Compare(">", e("price"), Ref("a", "last", "price"))
    assert pattern(many("a", where=lambda e, m: e.price > m.prev.price)).item == Component("a", rest=(rising,))


def test_prev_stays_where_several_components_may_come_before() -> None:
    last = Compare(">", e("price"), Ref("", "last", "price"))
    built = one("a").followed_by(optional("b")).followed_by(one("d", lambda e, m: e.price > m.prev.price))
    assert pattern(built).items[2].where == (last,)
    group = many(one("a", lambda e, m: e.price > m.prev.price).followed_by(one("b")))
    assert pattern(group).item.items[0].where == (last,)


def test_values() -> None:
    def values(function: Callable[..., Any]) -> tuple[tuple[str, Expr], ...]:
        return one("a").followed_by(many("b")).returns(function).of(Stock).tree().returns

    price, mean = Ref("a", "one", "price"), Aggregate("b", "avg", "price")
    assert values(lambda m: (m.a.price, m.b.avg.price)) == (("a_price", price), ("b_avg_price", mean))
    assert values(lambda m: m.a.price + 1) == (("value1", Binary("+", price, Const(1))),)
    assert values(lambda m: Vee(top=m.a.price, low=m.b.avg.price)) == (("low", mean), ("top", price))
    assert values(lambda m: Vee(1.0, 2.0) if m.a.open else Vee(1.0, m.a.price))[1][0] == "top"


def test_the_order_and_the_units() -> None:
    built = one("a", Stock).order_by("volume").within("1 hour 30 minutes")
    tree = built.query(tick="min").tree
    assert (tree.order, tree.window) == ("volume", 90)
    assert built.within(7).query(order_by="price").tree.order == "price"
    assert Tree(c("a"), Stock, window=7) == one("a").within(7).of(Stock).tree()


# -- refused ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda e, m: e.price > m.x.price, "m.x is no component here; components: a, c"),
        (lambda e, m: e.price > m.b.price, "m.b is the event under test; write e.price"),
        (lambda e, m: e.price > m.d.price, "m.d is not known yet; ask it of component 'd', which comes later"),
        (lambda e, m: e.price > m.a.cost, "cost is no field of Stock; its fields: symbol, price, volume, note, open"),
        (lambda e, m: e.price > m.c.price, "m.c.price is asked; c repeats: write m.c.last.price, m.c.first.price"),
        (lambda e, m: e.price > m.c.last, "m.c.last stands where a value is meant; name a field: m.c.last.price"),
        (lambda e, m: m.c, "m.c stands where a value is meant; write m.a.price"),
        (lambda e, m: e.price > m.c.avg, "m.c.avg stands where a value is meant; name a field"),
        (lambda e, m: m.c.avg.note == 1, "avg of note, which is no number; aggregate numbers"),
        (lambda e, m: e.price > m.c.prev(0).price, r"m.c.prev\(...\) of no constant int; write m.a.prev\(2\)"),
        (lambda e, m: e.price > m.c.first(2).price, r"m.c.first\(...\) of no constant int"),
        (lambda e, m: (m.a.price or 3) > 2, "or of values that are no truth values; write x if condition else y"),
        (lambda e, m: print(e), r"expected where of component 'b' as a function of fields but print\(...\) is called"),
        (lambda: True, "expected a function of e, or of e and m, but got one of 0 parameters as where of component 'b'"),
    ],
)
def test_predicates_that_are_refused(function: Callable[..., Any], message: str) -> None:
    built = one("a").followed_by(many("c")).followed_by(one("b", function)).followed_by(one("d"))
    with pytest.raises(QueryError, match=message):
        built.of(Stock).tree()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: one("a").tree(), r"expected the event class, a NamedTuple, but got none; give .of\(Tick\)"),
        (lambda: absent("a").of(Stock).tree(), "expected a pattern but got nothing that takes an event"),
        (lambda: one("a b"), r"""expected the name of a component, one\("a"\), but got 'a b'"""),
        (lambda: one("a", 3), r"expected a type, an event class or one predicate of one\('a'\) but got 3"),
        (lambda: one("a", int), "expected a NamedTuple as the event class but got <class 'int'>"),
        (lambda: one("a").of(int), "expected a NamedTuple as the event class but got <class 'int'>"),
        (lambda: one("a", Stock).followed_by(one("b", Item)), "expected one event class but got Stock and Item; a stream has one"),
        (lambda: one("a").followed_by("b"), "expected a pattern, one.* say, but got 'b' after query of a"),
        (lambda: one("a").followed_by(one("b").within(3)), r"expected within\(\) on the query as a whole but got it on its part"),
        (lambda: one("a").any(), r"expected a strategy between iterations \(any\) of a repetition"),
        (lambda: one("a").reluctant(), r"expected reluctant\(\) of a repetition"),
        (lambda: one("a").times(3, 2), "expected how often as 0 <= low <= high, high at least 1, but got 3 to 2"),
        (lambda: one("a").times(0), "expected how often as 0 <= low <= high, high at least 1, but got 0 to 0"),
        (lambda: many(one("a").absent("n")), "expected what repeats to begin and end with what it takes"),
        (lambda: either(one("a"), one("b").absent("n")), "expected an alternative to begin and end with what it takes"),
        (lambda: either(one("a")), "expected two patterns or more"),
        (lambda: many(one("a"), "type"), r"expected predicates within the pattern that many\(\) repeats but got them beside it"),
        (lambda: one("a").within(), "expected within.hours=1., within.* or ticks but got None and {}"),
        (lambda: one("a").within("hour"), "expected a duration, .* or a number of ticks, but got 'hour'"),
        (lambda: one("a").within(1.5), "expected a duration, .* or a number of ticks, but got 1.5"),
        (
            lambda: one("a").within(hours=1).of(Stock).tree(),
            "expected tick=, what one int of LE counts, but got '1 hours' without it",
        ),
        (lambda: one("a").by(3), r"expected names of fields, .by\(.symbol.\), but got \(3,\)"),
        (lambda: one("a").order_by(3), r"expected the name of a field, .order_by\(.attempt.\), but got 3"),
        (lambda: one("a").by("tag").of(Stock).tree(), "expected a field of Stock but got by 'tag'; its fields: symbol, price"),
        (lambda: one("a").order_by("at").of(Stock).tree(), "expected a field of Stock but got order 'at'"),
        (lambda: one("a").of(Stock, type="kind").tree(), "expected a field of Stock but got type 'kind'"),
        (lambda: one("a", "shelf").of(Stock).tree(), "expected a field that holds the type of events but Stock has no field type"),
        (
            lambda: one("a").followed_by(one("a")).of(Stock).tree(),
            "expected a name of its own for each component but got 'a' twice",
        ),
        (lambda: one("prev").of(Stock).tree(), "expected another name for a component but got 'prev'; m.prev is the event before"),
        (lambda: one("a", where=3).of(Stock).tree(), "expected a function, a lambda say, but got 3 as where of component 'a'"),
        (lambda: one("a", max).of(Stock).tree(), "expected a function in Python but got <built-in function max>"),
        (lambda: many("a", done=lambda: 1).of(Stock).tree(), "expected a function of m but got one of 0 parameters as done"),
        (lambda: one("a").returns(3), "expected a function of m but got 3 as returns"),
        (lambda: one("a").returns(lambda e, m: 1).of(Stock).tree(), "expected a function of m but got one of 2 parameters"),
        (lambda: one("a").returns(lambda m: m.a).of(Stock).tree(), "m.a stands where a value is meant; name a field: m.a.price"),
        (
            lambda: one("a").returns(lambda m: Vee(1)).of(Stock).tree(),
            r"Vee\(...\) with other arguments than its fields; give it low",
        ),
    ],
)
def test_what_is_refused(build: Callable[[], Any], message: str) -> None:
    with pytest.raises(AfaError, match=message):
        build()


def test_a_type_is_the_value_of_the_type_column() -> None:
    assert pattern(one("a", "shelf"), Item) == Component("a", "shelf")
    assert pattern(one("a", "Item"), Item) == Component("a")
    assert one("a", "x").of(Stock, type="symbol").tree().type_column == "symbol"


def test_and_of_truth_values_is_taken_apart() -> None:
    built = many("a", first=lambda e: e.open and e.price < 3)
    assert pattern(built).item.first == (e("open"), CHEAP)
    assert isinstance(of_b(lambda e, m: e.open or (e.open and e.price < 3))[0].items[1], And)  # type: ignore[attr-defined]
