"""Any stage at the input of any operator, also of one with a stage: the net is that of the operator alone, whatever the calls."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

from afa import FOREVER, AfaError, Operator, Punctuation, SnapshotError, insert, retract
from afa.operator.matching import Matching
from afa.situations import Derive, Situation, TemporalPattern
from speculation import Before, Cleanse, Consolidate, LastBefore, LookBack, stage_state
from speculation.around import MOST, Around
from tests.contract.operators import BACK, FILLED, KINDS, PAIR, PAIRS, QUERY, TICK, E, chain, worlds
from tests.contract.test_contract import net

FRONTS: dict[str, Any] = {
    "nothing waits": lambda: Cleanse(None),
    "final": lambda: Cleanse(0),
    "three ticks": lambda: Cleanse("3 s"),
    "steered": lambda: Cleanse.auto(max_delay="5 s"),
    "net of a call": lambda: Consolidate(per="call"),
    "net between promises": lambda: Consolidate(),
}
TAKES = [name for name, kind in KINDS.items() if isinstance(kind.make(), (Operator, Around)) or name == "Keyed"]
TAKES.remove("gapless")  # whose events are numbered: `test_gapless.py` has stages around it


def items(rng: random.Random, n: int) -> Iterator[list[Any]]:
    """Calls: rows that come late, go and come again, one of a time; promises in between; at the end all is final."""
    held, promised, clock = dict[int, E](), 0, 10
    while n > 0:
        call: list[Any] = []
        for _ in range(rng.choice([1, 1, 1, 4, 9])):
            n -= 1
            old = [le for le in held if le >= promised]
            if old and rng.random() < 0.3:
                le = rng.choice(old)
                call.append(retract(held.pop(le), le))
            elif free := [le for le in range(promised, clock) if le not in held]:
                le = rng.choice(free)
                held[le] = E(rng.choice("aabbx"), rng.randrange(6))
                call.append(insert(held[le], le))
            clock += rng.random() < 0.6
        if rng.random() < 0.3:
            promised = rng.randrange(promised, clock)
            call.append(Punctuation(promised))
        yield call
    yield [Punctuation(FOREVER)]


def given(op: Any, call: list[Any], way: str) -> list[Any]:
    """Push a call: item by item, as a list, as tables."""
    if way == "items":
        return [change for item in call for change in op.push(item)]
    rows = [item for item in call if not isinstance(item, Punctuation)]
    if way == "list" or not rows:
        return op.push_many(call)  # type: ignore[no-any-return]
    columns = {name: [getattr(row.payload, name) for row in rows] for name in E._fields}
    table = pa.table({**columns, "le": [row.le for row in rows], "diff": [row.diff for row in rows]})
    found: list[Any] = []
    for part in op.push_many([table, *[item for item in call if isinstance(item, Punctuation)]], net=way == "net"):
        found += [] if isinstance(part, Punctuation) else part.to_pylist()
    return found


def folded(out: list[Any], held: Counter[Any]) -> Counter[Any]:
    """Fold changes, or rows of tables, by what they show."""
    for each in out:
        if isinstance(each, dict):
            row = {name: value for name, value in each.items() if name not in ("diff", "members")}
            held[tuple(map(str, row.values()))] += each["diff"]
        elif not isinstance(each, Punctuation):
            key = [] if each.key is None else [each.key]
            held[tuple(map(str, [*key, *each.payload, each.le, each.re]))] += each.diff
    return Counter({match: n for match, n in held.items() if n})


@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("name", TAKES)
def test_the_net_is_that_of_the_operator_alone(name: str, front: str) -> None:
    kind = KINDS[name]
    ways = ["items", "list"] if name in ("members", "Keyed") else ["items", "list", "net", "each"]  # of a key the columns differ
    told = 0
    for seed in range(6):
        rng = random.Random(f"{name} {front} {seed}")
        op, alone = FRONTS[front]().before(kind.make()), kind.make()
        held, wanted = Counter[Any](), Counter[Any]()
        for call in items(rng, 60):
            held = folded(given(op, call, rng.choice(ways)), held)
            wanted = folded(alone.push_many(call), wanted)
            told += len(wanted)
            if front in ("nothing waits", "net of a call"):
                assert held == wanted
            if rng.random() < 0.1:
                op = kind.restored(op.snapshot())
        assert held == wanted
        assert min(held.values(), default=1) == 1
        assert op.stage.statistics.held == 0
    assert told


def looked_back(calls: list[list[Any]]) -> list[list[Any]]:
    """The calls of rows with the field that looks back."""
    stage = LastBefore(E, {"low": "n < 3"}, filled=FILLED.event, tick=TICK)
    return [stage.push_many(call) for call in calls]


def filled_operators() -> dict[str, Any]:
    """Operators of the events with the field that looks back: how they are made, and made of a snapshot."""
    low = {"low_known": Situation("low is not None"), "at_b": Situation("kind == 'b'")}
    back = LastBefore(E, {"low": "n < 3"}, filled=FILLED.event, tick=TICK)
    pattern = TemporalPattern(event=FILLED.event, tick=TICK, within="1 minute", where="at_b during low_known", **low)
    derived = Derive(FILLED.event, tick=TICK, **low).as_pattern()
    held = lambda: Cleanse("2 s").before(derived.operator())  # noqa: E731
    return {
        "pattern": (pattern.operator, lambda blob: pattern.restore(blob, stages=[back])),
        "derive": (derived.operator, lambda blob: Operator.restore(derived, blob, stages=[back])),
        "behind a Cleanse": (held, lambda blob: derived.restore(blob, stages=[back])),
        "operator": (
            lambda: Operator(FILLED, window="10 s", tick=TICK),
            lambda blob: Operator.restore(FILLED, blob, stages=[back]),
        ),
    }


@pytest.mark.parametrize("name", filled_operators())
def test_what_looks_back_stands_before_what_derives(name: str) -> None:
    make, restored = filled_operators()[name]
    told = 0
    for seed in range(8):
        rng = random.Random(f"{name} {seed}")
        calls = list(items(rng, 60))
        back = LastBefore(E, {"low": "n < 3"}, filled=FILLED.event, tick=TICK)
        op, alone, held, wanted = Cleanse(None).before(back.before(make())), make(), Counter[Any](), Counter[Any]()
        for call, filled in zip(calls, looked_back(calls)):
            held = folded(given(op, call, rng.choice(["items", "list", "net"])), held)
            wanted = folded(alone.push_many(filled), wanted)
            assert held == wanted
            told += len(wanted)
            if rng.random() < 0.1:
                op = restored(op.snapshot())
    assert told


@pytest.mark.parametrize("name", ["Situated", "all rows", "Query", "Operator"])
def test_speculation_of_a_pattern_with_stages_is_one_more(name: str) -> None:
    """``speculation=`` stands in front of all of them, and comes back with them."""
    patterns: dict[str, Any] = {"Query": QUERY}
    kind = KINDS[name]
    op = FRONTS["final"]().before(kind.make())
    out = op.push_many(next(items(random.Random(7), 40)))
    assert not net(out), "nothing is final"
    if name in patterns:
        said = patterns[name].operator(speculation=0)
        assert patterns[name].restore(said.snapshot(), speculation="2 s").stage.sigma == 2
        assert patterns[name].restore(said.snapshot()).snapshot() == said.snapshot()


def test_what_is_no_operator_has_no_stage() -> None:
    stages = Cleanse(0), Consolidate(), LastBefore(E, {"low": "n < 3"})
    for other in (worlds(), chain(), None, QUERY, "operator", Cleanse(0)):
        for place in (*(stage.before for stage in stages), Cleanse(0).after, Consolidate().after):
            with pytest.raises(AfaError, match="expected an Operator or a Keyed, perhaps with a stage, but got"):
                place(other)
    assert isinstance(Cleanse(0).before(KINDS["Derive"].make()), Matching)


def test_what_a_stage_holds_already_may_not_be_at_its_operator() -> None:
    """Nor may a stage stand at an operator twice, nor too many."""
    back = LastBefore(E, {"low": "n < 3"}, filled=FILLED.event, tick=TICK)
    held = Cleanse(0).before(Operator(FILLED, window="10 s", tick=TICK))
    held.push(insert(FILLED.event("b", 5, None), 7))  # type: ignore[misc]
    with pytest.raises(AfaError, match="expected an operator and a LastBefore that have taken nothing yet"):
        back.before(held)
    late, op = Consolidate(), KINDS["Operator"].make()
    late.push(insert(E("a", 1), 5))
    op.push(Punctuation(50))
    with pytest.raises(AfaError, match=r"expected a Consolidate in which nothing below 50 \(promised\) waits but got le=5"):
        late.before(op)
    twice = Cleanse(0)
    with pytest.raises(AfaError, match="expected a stage that stands nowhere at this operator"):
        twice.before(twice.before(KINDS["Operator"].make()))
    op = KINDS["Operator"].make()
    for _ in range(MOST):
        op = Cleanse(None).before(op)
    assert KINDS["Operator"].restored(op.snapshot()).snapshot() == op.snapshot()
    with pytest.raises(AfaError, match="expected at most 16 stages around an operator but got one more"):
        Cleanse(None).before(op)


@pytest.mark.parametrize("name", ["Query", "all rows", "Situated", "Derive", "Operator", "Keyed"])
@pytest.mark.parametrize("blob", [None, "abcdef", 5, [], b""])
def test_what_is_no_snapshot(name: str, blob: Any) -> None:
    with pytest.raises(SnapshotError, match="expected"):
        KINDS[name].restored(blob)


def test_incremental_snapshots_of_a_query() -> None:
    query = PAIRS.by("n").of(E).query(tick=TICK)
    op = query.operator()
    op.push(insert(E("a", 1), 5))
    whole = op.snapshot()
    op.push(insert(E("a", 2), 6))
    saved = [whole, op.snapshot(incremental=True)]  # type: ignore[call-arg]
    assert len(query.restore(saved).push_many([insert(E("b", 1), 7), insert(E("b", 2), 8)])) == 2  # type: ignore[arg-type]
    assert query.restore([whole]).snapshot() == whole  # type: ignore[arg-type]


def test_the_old_way_to_restore() -> None:
    """A function that restores the operator from its part; by position and by keyword."""
    back = LastBefore(E, {"low": "n < 3"}, filled=FILLED.event, tick=TICK)
    before, looking = Cleanse(3).before(KINDS["Operator"].make()), back.before(Operator(FILLED, tick=TICK))
    of = KINDS["Operator"].restored
    with pytest.warns(DeprecationWarning, match=r"Before.restore\(blob, function\) is now Operator.restore\(pattern, blob\)"):
        found = [Before.restore(before.snapshot(), of), Before.restore(blob=before.snapshot(), operator=of)]
    assert [each.snapshot() for each in found] == [before.snapshot()] * 2
    with pytest.warns(DeprecationWarning, match=r"LookBack.restore"):
        again = LookBack.restore(looking.snapshot(), operator=lambda blob: Operator.restore(FILLED, blob), like=back)
    assert again.snapshot() == looking.snapshot()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ["Situated", "LookBack"])
def test_the_old_way_knows_no_conditions(name: str) -> None:
    op = KINDS[name].make()
    with pytest.raises(AfaError, match=r"expected the pattern whose operator was saved, pattern.restore\(blob\), or like="):
        type(op).restore(op.snapshot(), partial(Operator.restore, op.automaton))


def test_definitions_change_behind_a_stage() -> None:
    alone = KINDS["Situated"].make()
    fronts = [Cleanse(None).before(KINDS["Situated"].make()), Consolidate(per="call").after(KINDS["Situated"].make())]
    for op in (alone, *fronts):
        op.push_many([insert(E("a", 1), 5), insert(E("b", 2), 7), insert(E("x", 5), 9)])
    wanted = alone.redefine("low", "n < 1", le=6)
    assert [net(op.redefine("low", "n < 1", le=6)) for op in fronts] == [net(wanted)] * 2
    with pytest.raises(AfaError, match="expected an operator of situations, whose definitions may change, but got"):
        Cleanse(0).before(KINDS["Operator"].make()).redefine("low", "n < 1")


def test_stages_that_are_given_are_those_that_no_snapshot_says() -> None:
    blob = Cleanse(0).before(KINDS["Operator"].make()).snapshot()
    for given in ([Cleanse(3)], [None]):
        with pytest.raises(AfaError, match="expected stages whose conditions are no data, LastBefore, but got"):
            Operator.restore(PAIR, blob, stages=given)
    with pytest.raises(AfaError, match="expected a list of stages but got stages="):
        Operator.restore(PAIR, blob, stages=BACK)


def test_a_snapshot_has_the_stages_that_are_asked_for() -> None:
    back = LastBefore(E, {"low": "n < 3"}, filled=FILLED.event, tick=TICK)
    looking, plain = back.before(Operator(FILLED, tick=TICK)), Operator(FILLED, tick=TICK)
    like = LastBefore(E, {"low": "n < 3"}, filled=FILLED.event, tick=TICK)
    with pytest.raises(SnapshotError, match=r"or of one that the pattern or stages= has, but got one of LastBefore before an"):
        Operator.restore(FILLED, looking.snapshot())
    with pytest.raises(SnapshotError, match=r"expected a snapshot of stages like \[.*LastBefore.*\] but got one of none"):
        Operator.restore(FILLED, plain.snapshot(), stages=[like])
    with pytest.raises(SnapshotError, match="expected the parameters"):
        Operator.restore(FILLED, looking.snapshot(), stages=[LastBefore(E, {"low": "n < 2"}, filled=FILLED.event, tick=TICK)])
    with pytest.raises(SnapshotError, match="expected a snapshot of Deriving before an operator but got one of none"):
        KINDS["Situated"].restored(plain.snapshot())
    blob = plain.snapshot()
    for _ in range(MOST + 1):
        blob = stage_state.seal("Cleanse", "before", Cleanse(0).numbers(), [], None, blob)
    with pytest.raises(SnapshotError, match="expected a snapshot of at most 16 stages around an operator but got one of more"):
        Operator.restore(FILLED, blob)
