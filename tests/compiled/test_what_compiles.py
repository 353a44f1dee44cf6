"""The ladder: arcs that compile, arcs that Python runs for each partial match, automata that only the interpreted engine serves."""

from __future__ import annotations

import gc
import logging
import random
from collections import Counter
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from afa import AfaError, Arc, Automaton, AutomatonError, Int64Error, Keyed, Operator, Punctuation, SnapshotError, insert, retract


class E(NamedTuple):
    n: int
    tag: str = ""


class R(NamedTuple):
    n: int = 0
    tag: str = ""


class Open(NamedTuple):
    n: Any


def odd_one(e: Any, r: Any) -> bool:
    return sum(x for x in (e.n, r.n)) % 2 == 1


def longer(e: Any, r: Any) -> Any:
    return R(r.n + 10 // e.n, r.tag * 2)


def python_arc(**options: Any) -> Arc:
    return Arc("b", "c", odd_one, name="odd", **options)


def mixed(*more: Arc) -> Automaton:
    """An arc that compiles, and those given, from b to c."""
    arcs = more or (python_arc(),)
    return Automaton(start="a", final={"c"}, event=E, register=R(), arcs=[Arc("a", "b", "n > 0", "(n, tag)"), *arcs])


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the logger "afa" said at WARNING, but for what is compiled once."""
    found = [record for record in caplog.records if record.name == "afa" and record.levelno == logging.WARNING]
    return [record.getMessage() for record in found if "kernels" not in record.getMessage()]


# -- "auto" says so, once ----------------------------------------------------------------------------------------------------


def test_an_arc_that_python_runs_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    program = mixed()
    assert Operator(program)._core.engine.name == "compiled"
    Operator(program)
    Keyed(program, key="tag")
    Operator.restore(program, Operator(program).snapshot())
    assert said(caplog) == [
        "arc 'odd': b -> c runs in Python, once for each partial match: "
        "fence: a comprehension is used; write the items out with and / or"
    ]


def test_it_is_logged_for_each_arc_though_they_are_equal(caplog: pytest.LogCaptureFixture) -> None:
    Operator(mixed())
    gc.collect()
    Operator(mixed())
    assert len(said(caplog)) == 2


def test_a_pushed_arc_is_logged_too(caplog: pytest.LogCaptureFixture) -> None:
    op = Operator(mixed(Arc("b", "c", "n > 3")))
    assert said(caplog) == []
    late = Arc("b", "c", "n > 5", longer)
    op.push_arc(insert(late))
    op.push_arc(retract(late))
    op.push_arc(insert(late))
    op.push_many(pa.table({"n": [0], "tag": [""], "le": [9], "kind": [1], "arc": [0]}), arcs=[late])
    assert said(caplog) == ["arc b -> c runs in Python, once for each partial match: transfer: * of str has no native form"]


def test_nothing_is_said_where_all_compiles_or_another_engine_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    Operator(mixed(Arc("b", "c", lambda e, r: e.n > r.n and e.tag.startswith("x"))))
    Operator(mixed(), engine="interpreted")
    Operator(Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", odd_one)]))
    assert said(caplog) == []


def test_room_that_was_short_hardly_calls_an_arc_in_python_again() -> None:
    """What lacks room is carried out again: in one call on a new operator it is little, however many rows come."""
    calls = Counter[str]()
    n = 2_000

    def run(engine: str) -> Any:
        def odd(e: Any, r: Any) -> bool:
            calls[engine] += 1
            return odd_one(e, r)

        arcs = [Arc("a", "b", "n % 4 == 0", "(n, tag)"), Arc("b", "b", "True"), Arc("b", "c", odd)]
        op = Operator(Automaton(start="a", final={"c"}, event=E, register=R(), arcs=arcs), window=40, engine=engine)
        return op.push_many(pa.table({"n": range(n), "tag": ["x"] * n, "le": range(n)})).num_rows

    assert run("auto") == run("interpreted")
    assert calls["interpreted"] <= calls["auto"] < 2 * calls["interpreted"]  # was 2.9


# -- "compiled" refuses ------------------------------------------------------------------------------------------------------

REFUSED = (
    r'expected arcs that compile for engine="compiled" but got arc \'odd\': b -> c: fence: a comprehension is used; '
    r"write the items out with and / or"
)


@pytest.mark.parametrize(
    ("arc", "message"),
    [
        (python_arc(), REFUSED),
        (Arc("b", "c", "n > 3", longer), r"got arc b -> c: transfer: \* of str has no native form"),
        (Arc("b", "c", lambda e, r: e.tag < r.tag), r"fence: < of two str has no native form; compare str with == or startswith"),
        (Arc("b", "c", "True", lambda e, r: R(e.n / 2)), r"transfer: float for the register's n: int; make it int\(\.\.\)"),
        (Arc.timeout("b", "c", lambda r: r.n / 2 if r.n else "x"), r"\(timeout\): at: "),
        (Arc.epsilon("b", "c", lambda r: r.tag.strip() == "X"), r"\(epsilon\): fence: \.strip\(\.\.\.\)"),
    ],
)
def test_the_compiled_engine_refuses_an_arc_by_name(arc: Arc, message: str) -> None:
    with pytest.raises(AutomatonError, match=message):
        Operator(mixed(arc), engine="compiled")
    with pytest.raises(AutomatonError, match=message):
        Keyed(mixed(arc), key="tag", engine="compiled")
    Operator(mixed(arc), engine="auto")


def test_a_refused_arc_leaves_the_operator_as_it_was(caplog: pytest.LogCaptureFixture) -> None:
    op = Operator(mixed(Arc("b", "c", "n > 3")), window=9, engine="compiled")
    op.push(insert(E(1), 1))
    before = op.snapshot()
    with pytest.raises(AutomatonError, match=REFUSED):
        op.push_arc(insert(python_arc()))
    with pytest.raises(AutomatonError, match=REFUSED):
        op.push_many([insert(E(2), 2), insert(python_arc(), 0, 5)])
    with pytest.raises(AutomatonError, match=REFUSED):
        op.push_many(pa.table({"n": [4, 0], "tag": ["", ""], "le": [2, 3], "kind": [0, 1], "arc": [0, 0]}), arcs=[python_arc()])
    assert op.snapshot() == before
    op._check()
    assert op.push(insert(E(4), 2)) == [insert(R(1), 2, 10)]
    op.push_arc(insert(Arc("b", "c", "n > 7")))
    assert said(caplog) == []


def test_a_restore_refuses_what_the_engine_does() -> None:
    program = mixed()
    blob = Operator(program).snapshot()
    assert Operator.restore(program, blob)._core.engine.name == "compiled"
    with pytest.raises(AutomatonError, match=REFUSED):
        Operator.restore(program, blob, engine="compiled")
    op = Operator(mixed(Arc("b", "c", "n > 3", name="over")), engine="compiled")
    with pytest.raises(AutomatonError, match=REFUSED):
        Operator.restore(op.automaton, op.snapshot(), arcs=[python_arc()], engine="compiled")
    with pytest.raises(AfaError, match=r'expected engine="auto", "compiled" or "interpreted" but got engine="?\'fast\'') as caught:
        Operator.restore(program, blob, engine="fast")  # type: ignore[arg-type]
    assert not isinstance(caught.value, SnapshotError)


def test_a_restore_refuses_an_arc_that_means_nothing() -> None:
    op = Operator(mixed())
    op.push_arc(insert(Arc("b", "c", "n > 7", name="late")))
    with pytest.raises(AutomatonError, match=r"(?s)no_field.*in arc 'late': b -> c"):
        Operator.restore(op.automaton, op.snapshot(), arcs=[Arc("b", "c", "no_field > 7", name="late")])
    with pytest.raises(AutomatonError, match=r"expected an Arc but got 'late'"):
        Operator.restore(op.automaton, op.snapshot(), arcs=["late"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, r"an automaton without event= takes any payload; give it event="),
        ({"event": Open}, r"the field Open\.n holds any value; annotate it int, float, bool or str"),
        ({"event": E, "register": Open(None)}, r"the field Open\.n holds any value"),
    ],
)
def test_schemas_that_only_the_interpreted_engine_serves(options: dict[str, Any], reason: str) -> None:
    program = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: True)], **options)
    with pytest.raises(AfaError, match=rf'(?s)expected schemas of scalars for engine="compiled" but got Automaton.*: {reason}'):
        Operator(program, engine="compiled")
    op = Operator(program)
    assert op._core.engine.name == "interpreted"
    with pytest.raises(AfaError, match=reason):
        Operator.restore(program, op.snapshot(), engine="compiled")
    (found,) = program.explain()
    assert found.rung.rung == "interpreted engine"


# -- explain -----------------------------------------------------------------------------------------------------------------


def test_explain_shows_the_rung_that_the_engine_takes() -> None:
    found = mixed(python_arc(), Arc("b", "c", "n > 5", longer), Arc("b", "c", lambda e, r: e.tag < "x")).explain()
    assert str(found).splitlines() == [
        "arc a -> b: compiled",
        "    fence     e.n > 0",
        "    transfer  (e.n, e.tag)",
        "    n         > 0",
        "arc 'odd': b -> c: Python per partial match",
        "    fence     odd_one",
        "    because   a comprehension is used",
        "    hint      write the items out with and / or",
        "arc b -> c: Python per partial match",
        "    fence     e.n > 5",
        "    transfer  (r.n + 10 // e.n, r.tag * 2)",
        "    n         > 5",
        "    because   transfer: * of str has no native form",
        "arc b -> c: Python per partial match",
        "    fence     e.tag < 'x'",
        "    because   < of two str has no native form",
        "    hint      compare str with == or startswith",
        "every match has, in this order:",
        "    n > 0 (a -> b)",
    ]


def test_explain_says_why_the_interpreted_engine_serves() -> None:
    program = Automaton(start="a", final={"b"}, arcs=[Arc("a", "b", lambda e, r: e.n > 3)])
    assert str(program.explain()).splitlines() == [
        "arc a -> b: interpreted engine",
        "    fence     <lambda>",
        "    because   an automaton without event= takes any payload",
        "    hint      give it event=, a NamedTuple of int, float, bool and str",
    ]


# -- what an arc in Python means ---------------------------------------------------------------------------------------------


def ladder() -> Automaton:
    """Arcs of both rungs, of each kind."""
    return Automaton(
        start="a",
        final={"c", "d"},
        event=E,
        register=R(),
        arcs=[
            Arc("a", "b", odd_one, lambda e, r: R(e.n, e.tag)),
            Arc("b", "b", lambda e, r: e.n != r.n and sum(x for x in e[:1]) < 5),
            Arc("b", "b", lambda e, r: e.n == 4, longer),
            Arc("b", "c", lambda e, r: e.n > r.n),
            Arc.epsilon("c", "d", lambda r: r.tag.strip() == "X", lambda r: R(-r.n, r.tag.title())),
            Arc.timeout("b", "d", lambda r: [3, 7, 11][r.n % 3]),
        ],
    )


@pytest.mark.parametrize("seed", range(6))
def test_python_arcs_give_what_the_interpreted_engine_gives(seed: int) -> None:
    rng = random.Random(seed)
    auto, interpreted = (Operator(ladder(), window=6, engine=engine) for engine in ("auto", "interpreted"))
    assert auto._core.engine.name == "compiled"
    held: list[Any] = []
    for i in range(60):
        if held and rng.random() < 0.2:
            item: Any = held.pop(rng.randrange(len(held)))
            item = retract(*item[:3])
        elif rng.random() < 0.1:
            item = Punctuation(i // 2)
            held = [change for change in held if change.le >= i // 2]
        else:
            item = insert(E(rng.randrange(1, 7), rng.choice("xXy")), rng.randrange(i // 2, i + 3))
            held.append(item)
        assert auto.push(item) == interpreted.push(item), (seed, i)
    auto._check()
    assert auto.snapshot() == interpreted.snapshot()


# -- faults ------------------------------------------------------------------------------------------------------------------


def where(error: BaseException) -> str:
    """The exception's text with its notes (Python 3.10 has none: there the text is in the message)."""
    return " ".join([str(error), *getattr(error, "__notes__", [])])


def faulty(fence: Any, transfer: Any = None) -> Automaton:
    return Automaton(
        start="a",
        final={"c"},
        event=E,
        register=R(),
        arcs=[Arc("a", "b", lambda e, r: e.n >= 0, lambda e, r: R(e.n)), Arc("b", "c", fence, transfer, name="risky")],
    )


DIVIDES = (lambda e, r: 10 // (e.n - 4) > 1), None
"""Compiles; so does the next."""
GROWS = (lambda e, r: e.n > 0), (lambda e, r: R(r.n * e.n * e.n))
RAISES = (lambda e, r: [1, 2, 3][e.n] > 1), None
"""Runs in Python."""


@pytest.mark.parametrize(
    "push",
    [
        lambda op, bad: op.push(insert(E(bad), 3)),
        lambda op, bad: op.push_many([insert(E(1), 2), insert(E(bad), 3)]),
        lambda op, bad: op.push_many(pa.table({"n": [1, bad, 1], "tag": [""] * 3, "le": [2, 3, 4]})),
    ],
    ids=["one", "list", "table"],
)
@pytest.mark.parametrize(
    ("functions", "engine", "bad", "fault", "note"),
    [
        (DIVIDES, "compiled", 4, ZeroDivisionError, "in the fence of arc 'risky': b -> c on event E(n=4, tag='') at le=3"),
        (GROWS, "compiled", 2**62, Int64Error, "on event E(n=4611686018427387904, tag='') at le=3"),
        (RAISES, "auto", 7, IndexError, "in the fence of arc 'risky': b -> c on event E(n=7, tag='') at le=3"),
    ],
)
def test_a_fault_is_python_s_own_and_leaves_no_trace(
    functions: Any, engine: Any, bad: int, fault: type[Exception], note: str, push: Any
) -> None:
    op, interpreted = (
        Operator(faulty(*functions), window=9, engine=engine),
        Operator(faulty(*functions), window=9, engine="interpreted"),
    )
    assert op._core.engine.name == "compiled"
    for each in (op, interpreted):
        each.push(insert(E(1), 1))
    before = op.snapshot()
    texts = []
    for each in (interpreted, op):
        with pytest.raises(fault) as caught:
            push(each, bad)
        assert note in where(caught.value)
        assert type(caught.value) is fault
        texts.append(where(caught.value))
    assert texts[0] == texts[1]
    assert op.snapshot() == before
    op._check()
    assert op.push(insert(E(2), 3)) == interpreted.push(insert(E(2), 3))


def test_a_huge_intermediate_that_fits_at_the_end_is_right() -> None:
    program = faulty(lambda e, r: r.n * e.n * e.n // e.n > 0, lambda e, r: R((r.n * 2**40 * 2**40) // 2**79 + e.n))
    for each in (Operator(program, engine="compiled"), Operator(program, engine="interpreted")):
        each.push(insert(E(2**40), 1))
        assert [change.payload for change in each.push(insert(E(2**22), 2))] == [R(2**41 + 2**22)]
    assert program.explain()[1].rung.rung == "compiled"
