"""Faults in a user's functions: the same exception reaches the caller, named, and the call leaves no trace."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, NamedTuple

import pytest

from afa import Arc, Automaton, ChangeError, ClosureError, Int64Error, Keyed, LateEventError, Operator, Punctuation, insert, retract
from tests.automata import Count


class E(NamedTuple):
    kind: int


def where(error: BaseException) -> str:
    """The exception's text with its notes (Python 3.10 has none: there the text is in the message)."""
    return " ".join([str(error), *getattr(error, "__notes__", [])])


def ratio(**options: Any) -> Automaton:
    """Divides by the event's kind."""
    return Automaton(
        start="a",
        final={"b"},
        register=Count(),
        event=E,
        arcs=[
            Arc("a", "a", lambda e, r: True),
            Arc("a", "b", lambda e, r: 10 // e.kind > 1, lambda e, r: Count(r.n + 1), name="divide"),
        ],
        **options,
    )


def operator(*arcs: Arc, final: str = "b") -> Operator:
    return Operator(Automaton(start="a", final={final}, register=Count(), event=E, arcs=arcs))


def test_the_fault_names_function_arc_and_event() -> None:
    op = Operator(ratio(), window=9)
    with pytest.raises(ZeroDivisionError) as caught:
        op.push(insert(E(0), le=3))
    assert "in the fence of arc 'divide': a -> b on event E(kind=0) at le=3 with register Count(n=0)" in where(caught.value)
    assert op.statistics.state_size == 0


def test_a_batch_with_a_fault_leaves_no_trace() -> None:
    op = Operator(ratio(), window=9)
    op.push(insert(E(2), le=1))
    before = op.snapshot()
    with pytest.raises(ZeroDivisionError):
        op.push_many({"kind": [1, 2, 0, 3], "le": [2, 3, 4, 5]})
    with pytest.raises(ZeroDivisionError):
        op.push_many([{"kind": [1], "le": [2]}, Punctuation(2), {"kind": [0], "le": [3]}])
    with pytest.raises(LateEventError):
        op.push_many([insert(E(1), le=5), retract(E(2), le=1), Punctuation(5), insert(E(1), le=4)])
    assert op.snapshot() == before
    op._check()
    assert len(op.push(insert(E(3), le=2))) == 2  # the run of both, and that of the second alone


def test_a_keyed_batch_with_a_fault_leaves_no_trace_in_any_key() -> None:
    keyed = Keyed(ratio(), key=lambda e: e.kind % 2, window=9)
    keyed.push(insert(E(2), le=1))
    before = keyed.snapshot()
    with pytest.raises(ZeroDivisionError) as caught:
        keyed.push_many({"kind": [1, 3, 0], "le": [2, 3, 4]})
    assert "of key 0" in where(caught.value)
    assert keyed.snapshot() == before
    assert keyed.keys == [0]
    keyed._check()


@pytest.mark.parametrize("seed", range(30))
def test_faults_at_random_moments_leave_no_trace(seed: int) -> None:
    """A fence that raises at its n-th call, in worlds with late events, retractions, arcs and punctuations."""
    rng = random.Random(seed)
    fuse = [10**9]

    def burn(value: bool) -> bool:
        fuse[0] -= 1
        if fuse[0] < 0:
            raise RuntimeError("burnt")
        return value

    def arcs(tag: str) -> list[Arc]:
        return [
            Arc("a", "a", lambda e, r: burn(e.kind != 1), name=f"stay{tag}"),
            Arc("a", "b", lambda e, r: burn(e.kind < 2), lambda e, r: Count((r.n + e.kind) % 3), name=f"go{tag}"),
            Arc.epsilon("b", "c", lambda r: burn(r.n == 1), name=f"eps{tag}"),
            Arc.timeout("b", "d", at=lambda r: 4 * burn(True) + r.n, name=f"wait{tag}"),
        ]

    automaton = Automaton(start="a", final={"b", "c", "d"}, register=Count(), event=E, arcs=arcs(""))
    past = arcs("-past")
    op = Operator(automaton, window=6)
    failed = 0
    held: list[tuple[E, int]] = []
    low = 0
    for _ in range(60):
        le, kind = rng.randint(low, low + 8), rng.randrange(3)
        choice = rng.random()
        if choice < 0.5:
            call = lambda: op.push(insert(E(kind), le=le))  # noqa: B023, E731
        elif choice < 0.7 and held:
            event, at = rng.choice(held)
            call = lambda: op.push(retract(event, le=at))  # noqa: B023, E731
        elif choice < 0.85:
            arc = rng.choice(past)
            call = lambda: op.push_arc(insert(arc, le, le + 3))  # noqa: B023, E731
        else:
            call = lambda: op.push(Punctuation(low + 1))  # noqa: B023, E731
        fuse[0] = rng.randint(0, 12)
        before, statistics = saved(op, past), op.statistics
        try:
            call()
        except RuntimeError as error:
            failed += "arc" in where(error)
            fuse[0] = 10**9
            assert saved(op, past) == before
            assert op.statistics == statistics
            op._check()
            if choice >= 0.85:
                continue
            call()  # and once more without a fault
        except LateEventError:
            fuse[0] = 10**9
            assert saved(op, past) == before
            continue
        fuse[0] = 10**9
        op._check()
        if choice < 0.5:
            held.append((E(kind), le))
        elif choice < 0.7 and (E(kind), le) in held:
            held.remove((E(kind), le))
        elif choice >= 0.85:
            low += 1
            held = [(event, at) for event, at in held if at >= low]
    assert failed > 5, f"seed {seed}"


def saved(op: Operator, arcs: list[Arc]) -> str:
    """The state without the order in which dictionaries hold it."""
    core = op._core
    states = core.engine.save()
    return repr([normal(states), core.progress.marks(), core.arcs.table.events, core.arcs.pending])


def normal(value: Any) -> Any:
    many = isinstance(value, Sequence) and not isinstance(value, (str, bytes))
    return sorted((normal(item) for item in value), key=repr) if many else value


def test_a_transfer_that_returns_something_else_is_named() -> None:
    op = operator(Arc("a", "b", lambda e, r: True, lambda e, r: "x", name="t"))
    with pytest.raises(
        ChangeError, match=r"expected Count\(n: int\) but got 'x', returned by the transfer of arc 't': a -> b on event E"
    ):
        op.push(insert(E(1), le=1))


def test_a_transfer_may_return_a_plain_tuple() -> None:
    op = operator(Arc("a", "b", lambda e, r: True, lambda e, r: (e.kind,)))
    assert op.push(insert(E(4), le=1))[0].payload == Count(4)


def test_int64_overflow_is_an_error_never_a_wrap() -> None:
    op = operator(Arc("a", "b", lambda e, r: True, lambda e, r: Count(e.kind + 1), name="inc"))
    with pytest.raises(OverflowError, match="int64 overflow") as caught:
        op.push(insert(E(2**63 - 1), le=1))
    assert isinstance(caught.value, Int64Error)
    assert "arc 'inc'" in where(caught.value)
    with pytest.raises(Int64Error, match=r"expected an int64 but got kind=9223372036854775808"):
        op.push(insert(E(2**63), le=1))


def test_an_endless_closure_names_its_states() -> None:
    grows = Arc.epsilon("b", "c", transfer=lambda r: Count(r.n + 1))
    op = operator(Arc("a", "b", lambda e, r: True), grows, Arc.epsilon("c", "b"), final="c")
    with pytest.raises(ClosureError, match=r"at most 10000 steps .* through the states b, c"):
        op.push(insert(E(1), le=1))
    assert op.statistics.state_size == 0


def test_a_cycle_of_epsilon_arcs_that_changes_nothing_ends() -> None:
    op = operator(Arc("a", "b", lambda e, r: True), Arc.epsilon("b", "c"), Arc.epsilon("c", "b"), final="c")
    assert len(op.push(insert(E(1), le=1))) == 1


def test_a_time_out_at_no_instant_is_named() -> None:
    op = operator(Arc("a", "b", lambda e, r: True), Arc.timeout("b", "c", at=lambda r: 1.5, name="w"), final="c")
    with pytest.raises(Exception, match="expected an int") as caught:
        op.push(insert(E(1), le=1))
    assert "arc 'w'" in where(caught.value)


def test_a_callback_that_raises_rejects_the_call() -> None:
    def refuse(change: Any) -> None:
        raise KeyError(change.le)

    op = Operator(ratio(), window=9, late=refuse)
    op.push(Punctuation(5))
    with pytest.raises(KeyError):
        op.push_many({"kind": [1, 1], "le": [7, 3]})
    assert op.statistics.events == 0
    assert op.statistics.late == 0
