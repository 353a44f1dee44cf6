"""What is refused when an automaton is built or an arc is pushed: each message names the culprit."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from afa import AfaError, Arc, Automaton, AutomatonError, ChangeError, Keyed, Operator, insert, retract
from tests.automata import Count


class Tick(NamedTuple):
    price: float
    change: float


class Basket(NamedTuple):
    items: list[int]


class Wrong(NamedTuple):
    n: int = "none"  # type: ignore[assignment]


def up(e: Any, r: Any) -> bool:
    return bool(e.change > 0)


def build(*arcs: Any, **options: Any) -> Automaton:
    return Automaton(**{"start": "a", "final": {"b"}, "event": Tick, "arcs": arcs or [Arc("a", "b", up)], **options})


def test_a_whole_automaton_builds() -> None:
    automaton = build(Arc("a", "b", up), Arc("a", "b", up), Arc("b", "b", up), register=Count())
    assert automaton.states == ("a", "b")
    assert [arc.ignorable for arc in automaton.arcs] == [False, False, True]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"start": ""}, r"a state name \(str\) but got start=''"),
        ({"start": None}, r"a state name \(str\) but got start=None"),
        ({"final": {"b", 7}}, r"a state name \(str\) but got final state=7"),
        ({"final": set()}, r"at least one final state"),
        ({"final": "b"}, r"a set of states but got final='b'"),
        ({"register": Count}, r"an instance.* but got the class Count; call it"),
        ({"register": 7}, r"a NamedTuple as the register but got register=7"),
        ({"register": (0, 0)}, r"a NamedTuple as the register"),
        ({"register": Wrong()}, r"fits its schema: expected n: int but got n='none' in Wrong"),
        ({"register": Count(2**63)}, r"int64"),
        ({"register": Basket([])}, r"scalar field .* but got items: list\[int\] in the register schema Basket"),
        ({"event": Basket}, r"scalar field .* but got items: list\[int\] in the event schema Basket"),
        ({"event": dict}, r"a NamedTuple as the event schema"),
    ],
)
def test_a_wrong_automaton_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(AutomatonError, match=message):
        build(**options)


@pytest.mark.parametrize(
    ("arc", "message"),
    [
        (lambda: Arc("a", "b", lambda e: True), r"expected fence\(e, r\) but got fence\(e\) in arc a -> b"),
        (lambda: Arc("a", "b", up, lambda r: r, name="drop"), r"expected transfer\(e, r\) but got .* in arc 'drop': a -> b"),
        (lambda: Arc.epsilon("a", "b", lambda e, r: True), r"expected fence\(r\) .* in arc a -> b \(epsilon\)"),
        (lambda: Arc.timeout("a", "b", at=lambda: 5), r"expected at\(r\) .* in arc a -> b \(timeout\)"),
        (lambda: Arc("a", "b", 5), r"callable fence\(e, r\) but got fence=5 in arc a -> b"),  # type: ignore[arg-type]
        (lambda: Arc("a", 5, up), r"state name \(str\) but got dst=5"),  # type: ignore[arg-type]
        (lambda: Arc.epsilon("b", "b"), r"epsilon arc that ends .* arc b -> b \(epsilon\) can never end"),
        (lambda: Arc.epsilon("b", "b", lambda r: r.n < 5), r"without a transfer it changes nothing"),
        (lambda: Arc.epsilon("b", "b", lambda r: True, lambda r: Count(r.n + 1)), r"its fence is always true"),
        (lambda: "a -> b", r"expected an Arc but got 'a -> b'"),
    ],
)
def test_a_wrong_arc_is_refused_by_name(arc: Any, message: str) -> None:
    with pytest.raises(AutomatonError, match=message):
        build(Arc("a", "b", up), arc(), register=Count())
    op = Operator(build(register=Count()), window=5)
    with pytest.raises(AfaError, match=message):
        op.push_arc(insert(arc()))


def test_two_arcs_of_one_name_are_refused() -> None:
    with pytest.raises(AutomatonError, match=r"one arc of a name but got arc 'x': a -> b beside arc 'x': a -> a"):
        build(Arc("a", "a", up, name="x"), Arc("a", "b", up, name="x"))


def test_an_epsilon_self_loop_that_can_end_builds() -> None:
    build(Arc("a", "b", up), Arc.epsilon("b", "b", lambda r: r.n < 3, lambda r: Count(r.n + 1)), register=Count())


def test_program_is_frozen() -> None:
    automaton = build()
    with pytest.raises(AttributeError, match="push an arc to a running operator"):
        automaton.start = "b"
    with pytest.raises(AttributeError, match="frozen"):
        automaton.arcs[0].src = "b"
    with pytest.raises(AttributeError, match="frozen"):
        del automaton.final
    with pytest.raises(AttributeError, match="frozen"):
        del automaton.arcs[0].src


def test_arcs_are_equal_by_name_or_identity() -> None:
    one, same, other = Arc("a", "b", up, name="x"), Arc("b", "c", up, name="x"), Arc("a", "b", up)
    assert one == same
    assert hash(one) == hash(same)
    assert other != Arc("a", "b", up)
    assert one != "x"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Operator("two_vees"), r"expected an Automaton but got 'two_vees'"),  # type: ignore[arg-type]
        (lambda: Operator(build(), window=0), r"window of at least one tick but got window=0"),
        (lambda: Operator(build(), window=1.5), r"expected an int \(ticks\) but got window=1.5"),  # type: ignore[arg-type]
        (lambda: Operator(build(), engine="fast"), r"engine=\"auto\", \"compiled\" or \"interpreted\" but got engine='fast'"),  # type: ignore[arg-type]
        (lambda: Operator(build(event=None), engine="compiled"), r"schemas of scalars for engine=\"compiled\" .* any payload"),
        (lambda: Operator(build(), order_by="seq"), r"field of Tick\(price: float, change: float\) but got order_by='seq'"),
        (lambda: Operator(build(), late="ignore"), r"late=\"raise\", \"drop\" or a callable but got late='ignore'"),
        (lambda: Keyed(build(), key=()), r"a field name, several, or a callable but got key=\(\)"),
        (lambda: Keyed(build(), key=5), r"a field name, several, or a callable but got key=5"),  # type: ignore[arg-type]
    ],
)
def test_wrong_options_are_refused(make: Any, message: str) -> None:
    with pytest.raises(AfaError, match=message):
        make()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (insert(Tick(1.0, 1.0)), r"event with a time but got le=None"),
        (insert(Tick(1.0, 1.0), le=1.5), r"int \(ticks\) but got le=1.5"),  # type: ignore[arg-type]
        (insert(Tick(1.0, 1.0), le=True), r"int \(ticks\) but got le=True"),
        (insert(Tick(1.0, 1.0), le=2**63), r"int64 \(ticks\) but got le="),
        (insert(Tick(1.0, 1.0), le=2**63 - 2), r"int64 \(ticks\) but got le \+ window="),
        (insert(Tick(1.0, 1.0), le=5, re=5), r"re > le but got le=5, re=5"),
        (insert(Tick(1.0, "up"), le=5), r"change: float but got change='up' in Tick"),  # type: ignore[arg-type]
        (insert(Tick(1.0, None), le=5), r"change: float but got change=None in Tick"),  # type: ignore[arg-type]
        (insert("tick", le=5), r"expected Tick\(price: float, change: float\) but got 'tick'"),
        (insert(Tick(1.0, 1.0), le=5)._replace(diff=0), r"diff=1 or -1 but got diff=0"),
        ("tick", r"a change \(insert, retract\) or a Punctuation but got 'tick' on the event input"),
    ],
)
def test_wrong_events_are_refused(change: Any, message: str) -> None:
    op = Operator(build(), window=5)
    with pytest.raises(AfaError, match=message):
        op.push(change)
    assert op.statistics.state_size == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (retract(Arc("a", "b", up, name="lost")), r"an arc in force but got arc 'lost': a -> b; in force: arc a -> b"),
        (insert(Arc("a", "b", up), le=5, re=4), r"re > le but got le=5, re=4 for arc a -> b"),
        (insert(Arc("a", "b", up), re=4), r"le with re .* but got re=4"),
        (insert(Arc("a", "b", up))._replace(diff=2), r"diff=1 or -1 but got diff=2"),
        ("arc", r"a change .* but got 'arc' on the arc input"),
    ],
)
def test_wrong_arc_changes_are_refused(change: Any, message: str) -> None:
    op = Operator(build(), window=5)
    with pytest.raises(AfaError, match=message):
        op.push_arc(change)


def test_any_hashable_payload_is_taken_without_a_schema() -> None:
    automaton = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e == frozenset({1}))])
    op = Operator(automaton)
    assert len(op.push(insert(frozenset({1}), le=1))) == 1
    with pytest.raises(ChangeError, match=r"a hashable payload but got \[1\]"):
        op.push(insert([1], le=1))
