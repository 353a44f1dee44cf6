"""Collapsed lineages, and lineages under ``longest=True``: by hand, a sample of random worlds, faults that they find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from afa import AfaError, Arc, Automaton, Change, ChangeError, Keyed, Operator, Punctuation, insert
from afa.lineage import match_ends
from speculation import Choose, Cleanse
from tests.lineage import brute_force, query_worlds
from tests.lineage import collapsed_worlds as worlds
from tests.lineage.test_lineage import MANY, Ev, paths, pushed


def test_one_lineage_of_several_matches(engine: Any) -> None:
    op = Operator(MANY, window=60, engine=engine)
    out = pushed(op, "a1 a2 b3 c4")
    assert [(match.le, match.re) for match in out] == [(4, 61), (4, 62)]
    for match in (*out, Change((), 4, None), Change((), 4, 99)):
        assert paths(op.collapsed(match)) == ["a2 b3 c4", "a1 b3 c4"]
    assert op.collapsed(out[0]).count() == 2
    assert op.collapsed(out[0]).aggregate(component="a") == (2, 2, None, None, None)
    assert [change.le for change in op.collapsed(out[0]).events()["a"]] == [1, 2]
    with pytest.raises(ChangeError, match=r"in force but got NoRegister\(\) from 5 to None; near it: NoRegister\(\) from 4 to 61"):
        op.collapsed(Change((), 5, None))


def test_what_a_promise_has_dropped(engine: Any) -> None:
    """One of the matches began before the promise, one behind it: the collapsed lineage is not told in part."""
    op = Operator(MANY, window=60, engine=engine)
    pushed(op, "a1")
    op.push(Punctuation(2))
    out = pushed(op, "a2 b3 c4")
    assert paths(op.lineage(out[1])) == ["a2 b3 c4"]
    with pytest.raises(AfaError, match="which began at le=1, before the promise of 2"):
        op.collapsed(out[1])


def test_keys_and_stages(engine: Any) -> None:
    op = Cleanse(0).after(Keyed(MANY, key="val", window=60, engine=engine))
    op.push_many([insert(Ev(kind, key), le) for le, kind in enumerate("aabc", 1) for key in (1, 2)])
    for key in (1, 2):
        found = op.collapsed(Change((), 4, None, key=key))
        assert found.aggregate("val") == (2, 6, 6 * key, key, key)


def test_behind_a_choice_of_matches(engine: Any) -> None:
    """Of the two matches one is chosen: what began first."""
    op = Choose(window=60).after(Operator(MANY, window=60, engine=engine))
    (match,) = pushed(op, "a1 a2 b3 c4")
    assert paths(op.collapsed(match)) == ["a1 b3 c4"]


def test_the_longest(engine: Any) -> None:
    """The lineage of the longest match has the paths that last as long; the collapsed one those of all that it stands for."""
    op = Operator(MANY, window=60, engine=engine, longest=True)
    (match,) = pushed(op, "a1 a2 b3 c4")
    assert match.re == 62
    assert paths(op.lineage(match)) == ["a2 b3 c4"]
    assert paths(op.collapsed(match)) == ["a2 b3 c4", "a1 b3 c4"]
    with pytest.raises(ChangeError, match=r"from 4 to 61; near it: NoRegister\(\) from 4 to 62"):
        op.lineage(match._replace(re=61))


def test_the_longest_behind_a_promise() -> None:
    """What began before the promise has not lasted as long: the lineage of the match is told, the collapsed one is not."""
    op = Operator(MANY, window=60, longest=True)
    pushed(op, "a1 b2")
    op.push(Punctuation(3))
    (match,) = pushed(op, "c4")
    with pytest.raises(AfaError, match="which began before the promise of 3"):
        op.lineage(match)
    (match,) = (each for each in pushed(op, "a5 b6 c7") if each.re == 65)
    assert paths(op.lineage(match)) == ["a5 b6 c7"]
    with pytest.raises(AfaError, match="which began before the promise of 3"):
        op.collapsed(match)


def test_a_long_life_far_back() -> None:
    """Lifetimes that are given may reach from anywhere; what does not live as long as the match is in none of its paths."""
    skips = [Arc.skip("a", "True"), Arc.skip("b", "True")]
    arcs = [Arc("0", "a", "kind == 'a'"), Arc("a", "b", "kind == 'b'"), Arc("b", "b", "kind == 'b'", select="b"), *skips]
    skipping = Automaton(start="0", final={"c"}, arcs=[*arcs, Arc("b", "c", "kind == 'c'")], event=Ev)
    op = Operator(skipping, window=60, longest=True)
    events = [insert(Ev("a"), 1, 900), insert(Ev("b"), 2, 900), insert(Ev("a"), 300, 900), insert(Ev("b"), 301)]
    (match,) = op.push_many([*events, insert(Ev("x"), 310, 950), insert(Ev("c"), 320, 900)])
    assert match.re == 900
    assert paths(op.lineage(match)) == ["a1 b2 c320"]
    assert paths(op.collapsed(match)) == ["a300 b301 c320", "a1 b2 b301 c320", "a1 b301 c320", "a1 b2 c320"]


def test_worlds() -> None:
    seen = worlds.WORLDS.run("suite", [4, 8, 14, 18, 22])
    assert min(seen[name] for name in ("steps", "matches", "paths", "refused")) > 17, seen


def test_worlds_that_are_too_much_for_brute_force(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are given up from that step on; what was seen before counts."""
    before = [each.run("suite", [6], "compiled") for each in (worlds.WORLDS, worlds.QUERIES)]
    assert [whole["given_up"] for whole in before] == [0, 0]
    monkeypatch.setattr(brute_force, "MOST", 3)
    monkeypatch.setattr(query_worlds, "MOST", 0)
    for each, whole in zip((worlds.WORLDS, worlds.QUERIES), before):
        found = each.run("suite", [6], "compiled")
        assert (found["given_up"], found["steps"] < whole["steps"]) == (1, True)


def test_worlds_of_queries() -> None:
    seen = worlds.QUERIES.run("suite", range(8))
    assert min(seen[name] for name in ("steps", "matches", "paths", "refused")) > 20, seen


def _too_late(real: Callable[..., Any]) -> Callable[..., Any]:
    return lambda engine, key, le, least, promised: real(engine, key, le, least, promised)[1:]


PLANTED: dict[str, tuple[int, Any, str, Callable[..., Any]]] = {
    "a step missing at the start": (5, match_ends, "span_of", _too_late),
    "a bound that nobody asks": (4, match_ends, "bounded_ways", lambda real: lambda *said: real(*said[:4], -(10**9), said[5])),
    "what lies before the promise": (23, match_ends, "bounded_ways", lambda real: lambda *said: real(*said[:5], None)),
}
"""Faults, each with the number of the world that shows it."""


@pytest.mark.parametrize("fault", list(PLANTED))
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    number, owner, name, wrong = PLANTED[fault]
    spec = worlds.numbered("suite", number)
    assert not worlds.WORLDS.failure(spec, "interpreted")
    monkeypatch.setattr(owner, name, wrong(getattr(owner, name)))
    assert worlds.WORLDS.failure(spec, "interpreted"), fault
