"""One name for each idea: an old one goes on working, and warns once a place, naming the new one; options travel as one object."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import afa
from afa import AfaError, Chain, Gapless, Keyed, Operator, Options, Punctuation, SnapshotError, insert
from afa.model.conflicts import CONFLICTS, NEEDS, PATTERNS
from afa.operator.options import DEFAULTS, NAMES, FrameOptions, OperatorOptions, SparkOptions
from afa.situations import Derive, Situation
from afa.uncertain import Sequence, Worlds
from speculation import Cleanse, LastBefore
from tests.contract.operators import AGAIN, PAIR, QUERY, SEQUENCE, SINGLE, E, chain, worlds

ROWS = {"kind": ["a", "b"], "n": [1, 2], "le": [1, 2]}
AT = {"kind": ["a", "b"], "n": [1, 2], "at": [1, 2]}
TEXT = "PATTERN SEQ(E x, E y) WHERE skip_till_any_match(x, y) { x.kind = 'a' and y.kind = 'b' } WITHIN 9"

SOME = Sequence(["a", "b"], **SEQUENCE)

OLD: dict[str, tuple[str, Callable[[], Any]]] = {
    "Operator(sequence=)": ("order_by=", lambda: Operator(PAIR, sequence="n")),  # type: ignore[call-arg]
    "Keyed(cancel=)": ("id=", lambda: Keyed(SINGLE, key="kind", cancel="n")),  # type: ignore[call-arg]
    "find(sequence=)": ("order_by=", lambda: afa.find(PAIR, ROWS, sequence="n")),  # type: ignore[call-arg]
    "find(workers=)": ("threads=", lambda: afa.find(PAIR, ROWS, workers=1)),  # type: ignore[call-arg]
    "backtest(workers=)": ("threads=", lambda: afa.backtest({"x": PAIR}, ROWS, workers=1)),  # type: ignore[call-arg]
    "query(order=)": ("order_by=", lambda: afa.query(TEXT, event=E, type="kind", order="n")),  # type: ignore[call-arg]
    "push_many(le=)": ("time=", lambda: Operator(PAIR).push_many(AT, le="at")),
    "Keyed.push_many(le=)": ("time=", lambda: Keyed(SINGLE, key="kind").push_many(AT, le="at")),
    "trace(le=)": ("time=", lambda: afa.trace(PAIR, AT, le="at", window=9)),
    "Worlds(sequence=)": ("order_by=", lambda: Worlds(PAIR, sequence="n")),  # type: ignore[call-arg]
    "Worlds.resumed": ("restore(..)", lambda: worlds().resumed(worlds().snapshot())),
    "Sequence.restore(blob, ..)": (
        "Sequence.restore(components, blob)",
        lambda: Sequence.restore(SOME.snapshot(), ["a", "b"], **SEQUENCE),
    ),
    "Chain.restore(blob, ..)": (
        "Chain.restore(links, blob)",
        lambda: Chain.restore(chain().snapshot(), *(functools.partial(Operator.restore, of) for of in (PAIR, AGAIN))),
    ),
    "Derive(sequence=)": ("order_by=", lambda: Derive(E, sequence="n", low=Situation("n < 5"))),
    "LastBefore(order=)": ("order_by=", lambda: LastBefore(E, {"seen": "kind == 'a'"}, order="n")),  # type: ignore[call-arg]
    "restore(sequence=)": ("order_by=", lambda: Operator.restore(PAIR, Operator(PAIR, order_by="n").snapshot(), sequence="n")),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("said", OLD)
def test_an_old_name_goes_on_working_and_names_the_new_one(said: str) -> None:
    new, call = OLD[said]
    with pytest.warns(DeprecationWarning, match="the old name goes on working") as told:
        call()
    (warning,) = told
    assert f"is now {new}" in str(warning.message)
    assert warning.filename == __file__, "the line that says it"


def test_it_warns_once_a_place() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")
        for _ in range(3):
            OLD["push_many(le=)"][1]()
    assert len(told) == 1


def test_both_names_at_once_are_refused() -> None:
    with pytest.raises(AfaError, match="sequence= can't be combined with order_by= because it is the same option"):
        Operator(PAIR, sequence="n", order_by="n")  # type: ignore[call-arg]


def test_an_unknown_option_is_named_with_the_nearest() -> None:
    with pytest.raises(TypeError, match=r"Operator\(\) got an unexpected keyword argument 'windw'; did you mean window=\?"):
        Operator(PAIR, windw=9)  # type: ignore[call-arg]
    with pytest.raises(AfaError, match=r"expected options of find, .* but got late='drop'"):
        afa.find(PAIR, ROWS, late="drop")  # type: ignore[call-arg]


def test_the_options_are_listed_alike() -> None:
    """As fields of `Options`, with their defaults, and as keyword arguments for type checkers."""
    assert set(OperatorOptions.__annotations__) == {*NAMES, "options"}
    assert set(FrameOptions.__annotations__) | set(SparkOptions.__annotations__) < {*NAMES, "options"}
    shown = inspect.signature(Operator).parameters
    assert [name for name in shown if name != "automaton"] == list(NAMES)
    assert {name: shown[name].default for name in NAMES} == DEFAULTS


def test_options_are_one_object_at_every_door() -> None:
    options = Options(window=9, longest=True)
    assert options.said == {"window": 9, "longest": True}
    assert dataclasses.replace(options, window=3).said == {"window": 3, "longest": True}
    for made in (Operator(PAIR, options=options), Keyed(SINGLE, key="kind", options=options)):
        assert (made._core.window, made._core.longest) == (9, True)
    assert Operator(PAIR, options=options, window=4)._core.window == 4
    assert QUERY.operator(options=Options(longest=True))._core.longest
    restored = Operator.restore(PAIR, Operator(PAIR, options=options).snapshot(), options=options)
    assert restored._core.window == 9
    assert afa.find(PAIR, ROWS, options=options)["le"].tolist() == afa.find(PAIR, ROWS, window=9, longest=True)["le"].tolist()
    with pytest.raises(AfaError, match=r"expected an afa\.Options but got options=9"):
        Operator(PAIR, options=9)  # type: ignore[arg-type]
    for name, odd in (
        ("engine", "fast"),
        ("late", "report"),
        ("partial_matches", 0),
        ("max_bytes", 1),
        ("threads", 0),
        ("tick", "moon"),
    ):
        with pytest.raises(AfaError, match=f"{name}={odd!r}"):
            Options(**{name: odd})
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.window = 3  # type: ignore[misc]


VALUES: dict[str, Any] = {
    "key": "kind", "window": 5, "order_by": "n", "id": "n", "gapless": "n", "tick": "s", "longest": True, "members": "n",
    "tell": "lineage", "collapse": True, "having": "count(x) > 1", "lineage": True, "retractions": False, "keep_payloads": False,
    "arc_punctuation": True,
}  # fmt: skip


@pytest.mark.parametrize(
    "rule", [rule for rule in CONFLICTS if {rule.one, rule.other} <= set(NAMES)], ids=lambda r: f"{r.one} {r.other}"
)
def test_a_conflict_is_refused_with_its_reason(rule: Any) -> None:
    said = {rule.one: VALUES[rule.one], rule.other: VALUES[rule.other]}
    if "keep_payloads" in said:
        said["retractions"] = False
    with pytest.raises(AfaError, match=r"can't be combined with .* because "):
        Operator(PAIR, **said)
    with pytest.raises(AfaError, match=r"can't be combined with .* because "):
        Options(**said)


def test_each_rule_stands_once_and_speaks_of_what_there_is() -> None:
    of_commands = {"vary", "lateness", "arcs", "reasons", "report", "metrics", "state", "state_every", "follow", "output", "force"}
    of_commands |= {"insert", "retract", "diff", "until", "checkpoint", "postpone", "rules"}
    for rule in (*CONFLICTS, *NEEDS):
        assert {rule.one, rule.other} <= {*NAMES, *PATTERNS, *of_commands}, rule
        assert rule.why
        assert not rule.why.endswith(".")
    pairs = [frozenset((rule.one, rule.other)) for rule in CONFLICTS]
    assert len(set(pairs)) == len(pairs)


def test_what_a_snapshot_says_is_not_said_otherwise() -> None:
    op = Operator(PAIR, window=9, members="n", longest=True)
    same = Operator.restore(PAIR, op.snapshot(), window=9, members="n", longest=True, late="drop")
    assert same._core.late.policy == "drop"
    for name, value in (("window", 8), ("order_by", "n"), ("members", True), ("retractions", False), ("gapless", "n")):
        with pytest.raises((SnapshotError, AfaError), match=r"saved, but got|can't be combined"):
            Operator.restore(PAIR, op.snapshot(), **{name: value})
    timed = Operator(PAIR, window="9 s", tick="s")
    assert Operator.restore(PAIR, timed.snapshot(), window="9 s", tick="s")._core.window == 9


@pytest.mark.parametrize("sigma", [0, 2, "3 s"])
def test_speculation_holds_back_as_a_cleanse_in_front_does(sigma: Any) -> None:
    items = [insert(E("b", 2), 4), insert(E("a", 1), 3), Punctuation(4), insert(E("b", 3), 9), Punctuation(12)]
    for pattern in (PAIR, QUERY):
        own = {"window": 9, "tick": "s"} if pattern is PAIR else {}
        said, by_hand = Operator(pattern, speculation=sigma, **own), Cleanse(sigma).before(Operator(pattern, **own))
        for n, item in enumerate(items):
            if n == 3:
                said = Operator.restore(pattern, said.snapshot())
            assert said.push(item) == by_hand.push(item)
        assert said.stage.sigma == by_hand.stage.sigma
        assert Operator.restore(pattern, said.snapshot(), speculation=7).stage.sigma == 7


def test_speculation_is_refused_where_it_is_none() -> None:
    with pytest.raises(AfaError, match="speculation=-1"):
        Operator(PAIR, speculation=-1)
    with pytest.raises(SnapshotError, match="expected a snapshot of an operator with speculation= but got one without"):
        Operator.restore(PAIR, Operator(PAIR).snapshot(), speculation=3)


def test_gapless_is_a_name_or_a_gapless() -> None:
    assert Operator(PAIR, gapless="n")._core.options == Operator(PAIR, gapless=Gapless("n"))._core.options
    assert repr(Gapless("n", gaps="join")) == "Gapless('n', gaps='join')"
