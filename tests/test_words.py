"""Refusals that name the reason and the way out: arguments of another kind, calls on a class, packages that load when asked for."""

from __future__ import annotations

import subprocess
import sys
from math import hypot
from typing import Any, NamedTuple

import pytest

import afa
from afa import AfaError, Arc, Automaton, AutomatonError, ChangeError, Keyed, Operator, QueryError, SnapshotError, insert
from afa.language import one
from punctuation import BoundedDisorder, ObservedLateness, Union
from speculation import Cleanse, LastBefore


class Line(NamedTuple):
    host: str
    n: int
    seq: int | None = None
    other: bool = False


AUTOMATON = Automaton(start="0", final={"1"}, event=Line, arcs=[Arc("0", "1", "n > 0")])
QUERY = afa.query("PATTERN SEQ(Line a, Line b) WHERE { [host] } WITHIN 9", event=Line)


def test_alternatives_beside_a_key() -> None:
    said = (
        r"expected \[host\] joined with and to all other conditions .*; put alternatives in parentheses: \[host\] and \(.. or ..\)"
    )
    for where in ("[host] and a.n = 1 or a.n = 2", "a.n = 1 or [host]", "a.n > 0 and (a.n = 2 or [host] and a.n = 1)"):
        with pytest.raises(QueryError, match=said):
            afa.query(f"PATTERN SEQ(Line a) WHERE {{ {where} }} WITHIN 9", event=Line)
    assert afa.query("PATTERN SEQ(Line a) WHERE { [host] and (a.n = 1 or a.n = 2) } WITHIN 9", event=Line).key == "host"


def test_a_sequence_that_may_be_none() -> None:
    said = r"expected a field that is never None, .* but got order_by='seq' of Line\(.*\); annotate it"
    with pytest.raises(AutomatonError, match=said):
        Operator(AUTOMATON, window=9, order_by="seq")
    with pytest.raises(AutomatonError, match=said):
        afa.query("PATTERN SEQ(Line a, Line b) WITHIN 9", event=Line, order_by="seq").operator()
    with pytest.raises(AutomatonError, match="expected an int, float or str field but got order_by='other', which is bool"):
        Operator(AUTOMATON, window=9, order_by="other")


def test_an_event_of_another_class_of_the_same_name() -> None:
    first, second = (LastBefore(Line, {"x": "n > 1"}) for _ in range(2))
    op = Operator(Automaton(start="0", final={"1"}, event=first.filled, arcs=[Arc("0", "1", "n > 0")]), window=5)
    with pytest.raises(
        ChangeError, match=r"expected Line\(.*\) but got Line\(.*\), of another class of the same name: make it of the one"
    ):
        op.push_many(second.push_many([insert(Line("h", 1), 1)]))
    with pytest.raises(ChangeError, match=r"but got Other\(n=1\)$"):
        op.push(insert(NamedTuple("Other", [("n", int)])(1), 1))


def far(a: float, b: float) -> float:
    return hypot(a, b)


def test_a_helper_that_calls_another_function() -> None:
    said = r"hypot\(...\) is called; call only min, .* and helper functions in Python that call no others; .*: Arc\(src, dst"
    with pytest.raises(QueryError, match=said):
        one("a", lambda e: far(e.n, 1) > 0).within(9).of(Line).query()


@pytest.mark.parametrize("made", [QUERY, one("a").within(9).of(Line)], ids=["text", "builder"])
def test_operators_of_queries(made: Any) -> None:
    assert type(Operator(made)) is (Operator if made.key is None else Keyed)
    assert type(Keyed(made, key="host")) is Keyed
    with pytest.raises(SnapshotError, match="expected"):
        Operator.restore(made, b"")
    with pytest.raises(AfaError, match=r"expected an Automaton but got <speculation.before_after.After object at \w+>$"):
        Operator(Cleanse(0).after(Operator(AUTOMATON, window=9)))  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["lineage", "longest", "retractions", "keep_payloads"])
@pytest.mark.parametrize("value", [1, 0, None, "yes"])
def test_what_is_yes_or_no(name: str, value: Any) -> None:
    for make in (
        lambda **said: Operator(AUTOMATON, window=9, **said),
        lambda **said: Keyed(AUTOMATON, key="host", window=9, **said),
    ):
        with pytest.raises(AfaError, match=f"expected {name}=True or False but got {name}={value!r}"):
            make(**{name: value})


@pytest.mark.parametrize("name", ["members", "collapse"])
def test_no_is_none(name: str) -> None:
    said, plain = Operator(AUTOMATON, window=9, **{name: False}), Operator(AUTOMATON, window=9)  # type: ignore[arg-type]
    assert said.push(insert(Line("h", 1), 1)) == plain.push(insert(Line("h", 1), 1)) != []


def test_a_method_of_an_object_called_on_its_class() -> None:
    source = BoundedDisorder(3)
    source.push(insert(Line("h", 1), 9))
    for cls in (BoundedDisorder, ObservedLateness):
        with pytest.raises(
            AfaError, match=r"expected Source.restore of an object but got it of the class, with b'.*: make one first, with the"
        ):
            cls.restore(source.snapshot())  # type: ignore[arg-type]
    with pytest.raises(AfaError, match=r"expected Union.restore of an object .* and call its restore\(..\)"):
        Union.restore(b"")  # type: ignore[arg-type]
    assert BoundedDisorder(3).restore(source.snapshot()).promised == source.promised


def test_packages_that_load_when_asked_for() -> None:
    asked = "assert afa.replay.replay and afa.situations.Derive and afa.uncertain.Worlds and afa.language.one"
    heavy = "{'pandas', 'pyarrow', 'pyspark', 'lark', 'sqlglot', 'afa.replay', 'afa.language.query'} & set(sys.modules)"
    code = f"import sys, afa; assert not {heavy}; {asked}; afa.nothing"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert found.stderr.splitlines()[-1] == "AttributeError: module 'afa' has no attribute 'nothing'"


def test_spark_loads_when_asked_for() -> None:
    pytest.importorskip("pyspark")
    assert callable(afa.spark.match)
