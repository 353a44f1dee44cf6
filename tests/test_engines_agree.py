"""Engine against engine, and each against a fresh operator that is given what is in force in order; in every shape of input.

Streams long enough that blocks grow and move, batches are brought into order, and parts of a batch (`CHUNK`) have borders in all
places. What the contract says of each is tested where brute force can follow: `tests.stress`, `test_small_worlds.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from afa import (
    BEGINNING,
    AfaError,
    Arc,
    Automaton,
    Change,
    Int64Error,
    Keyed,
    LateEventError,
    Operator,
    Punctuation,
    insert,
    retract,
)
from afa.compiled import batches, choices
from tests import oracle
from tests.conftest import ENGINES, drawn
from tests.strategies import Seeded
from tests.streams import (
    OF_LONGEST,
    PROGRAMS,
    Mix,
    Quote,
    Setting,
    Side,
    Tally,
    Tick,
    grouped,
    is_arc,
    recomputed,
    rows,
    setting,
    stream,
    table,
)

SAME = ("events", "matches", "pending", "keys", "changes", "late", "stale")
"""What does not depend on how the items come in batches."""
SHAPES = ("list", "dict", "arrow", "pandas", "parts")
MIXES = {
    "in order": Mix(retract=0, duplicate=0, early=0, arcs=1, disorder=0, late=0, long=0),
    "late": Mix(disorder=25, shift=60),
    "revised": Mix(retract=25, duplicate=8, early=6, disorder=40, shift=15),
    "swapped": Mix(arcs=12, promise=6, disorder=10),
}


def small_parts(choose: Seeded, monkeypatch: pytest.MonkeyPatch) -> str:
    """Let a run have borders and step functions in unusual places; what was chosen."""
    parts, keyed_parts, warm = choose.one([7, 64, 8192]), choose.one([7, 64, 65536]), choose.one([0, choices.WARM, 10**9])
    monkeypatch.setattr(batches, "CHUNK", parts)
    monkeypatch.setattr(batches, "KEYED_CHUNK", keyed_parts)
    monkeypatch.setattr(choices, "WARM", warm)
    monkeypatch.setattr(choices, "LONG", choices.LONG if parts == 64 else 0)
    sample = choose.one([3, 8, choices.SAMPLE])
    monkeypatch.setattr(choices, "SAMPLE", sample)
    return f"parts of {parts}, with keys of {keyed_parts}, WARM {warm}, SAMPLE {sample}"


def agree(choose: Seeded, here: Setting, items: list[Any], model: Any, sides: list[Side], largest: int, say: str) -> int:
    """Push a stream in batches to all sides, the first of which leads; how many changes it has emitted."""
    lead, at, emitted = sides[0], 0, 0
    while at < len(items):
        batch = items[at : at + choose.number(1, largest)]
        outs = {side: side.push(batch) for side in sides}
        expected = sorted(map(repr, outs[lead]))
        statistics = lead.operator.statistics
        for side in sides[1:]:
            where = f"{side}, items {at} to {at + len(batch)}, {say}"
            assert side.held == lead.held, f"{where}: missing {lead.held - side.held}, too much {side.held - lead.held}"
            assert side.operator.statistics._asdict().items() >= {(n, getattr(statistics, n)) for n in SAME}, where
            if side.shape in ("single", "parts"):
                continue
            assert sorted(map(repr, outs[side])) == expected, where
            order = [(change.diff, change.le) for change in outs[side]]
            assert order == sorted(order), f"{where}: retractions first, then insertions, each by LE"
            numbers = side.operator.statistics
            assert (numbers.outputs, numbers.retractions) == (statistics.outputs, statistics.retractions), where
        at += len(batch)
        emitted += len(outs[lead])
        if choose.chance(15):
            for side in sides:
                side.operator._check()
        if choose.chance(15):
            side = choose.one(sides[1:])
            side.switch()
            assert side.operator.statistics._asdict().items() >= {(n, getattr(statistics, n)) for n in SAME}, f"{side} now, {say}"
    for side in sides:
        side.operator._check()
    for engine in ENGINES:
        assert lead.held == recomputed(here, model, engine), f"recomputed by {engine}, {say}"
    return emitted


def one_key(number: int, n: int, monkeypatch: pytest.MonkeyPatch, ordered: bool = False, longest: bool = False) -> int:
    """A random stream without keys on some random sides."""
    choose = Seeded(f"one key/{number}")
    programs = list(OF_LONGEST if longest else PROGRAMS)
    program, mix = programs[number % len(programs)], list(MIXES)[number // len(programs) % len(MIXES)]
    event = Quote if program == "words" else Tick if ordered else choose.one([Tick, Quote])
    options: dict[str, Any] = {"window": 9 if program == "branches" else choose.one([9, 25, 60])}
    if ordered:
        options["order_by"] = "due"
    elif choose.chance(25):
        options["order_by"] = choose.one(["who", "name"] if event is Quote else ["who"])
    if longest:
        options["longest"] = True
    here = setting(program, event, **options)
    say = f"stream one key/{number}: {program}, {mix}, {event.__name__}, {options}, {small_parts(choose, monkeypatch)}"
    items, model = stream(choose, here, n, MIXES[mix]._replace(long=2 if program == "branches" else 10), choose.one([1, 3]))
    sides = [Side(here, "interpreted", "list"), Side(here, "compiled", "single"), Side(here, "compiled", choose.one(SHAPES[:1]))]
    sides += [Side(here, "compiled", shape) for shape in (choose.one(SHAPES[1:4]), choose.one(SHAPES[1:]))]
    return agree(choose, here, items, model, sides, choose.one([20, 90, 400]), say)


def many_keys(number: int, n: int, monkeypatch: pytest.MonkeyPatch, ordered: bool = False, longest: bool = False) -> int:
    """The same with hundreds of keys, most of which become empty now and then."""
    choose = Seeded(f"keys/{number}")
    keys = [("who",), ("flag", "who"), ("name",), ("name", "who")][number % 4]
    event = Quote if len(keys) > 1 or "name" in keys else choose.one([Tick, Quote])
    program = choose.one(["runs", "branches", "waits"] + ["words"] * (event is Quote) + ["anys"] * longest)
    options = {"order_by": "due"} if ordered else {"longest": True} if longest else {}
    here = setting(program, event, keys, window=choose.one([25, 60]), **options)
    say = f"stream keys/{number}: {program}, {event.__name__}, {here.options}, by {keys}, {small_parts(choose, monkeypatch)}"
    mix = Mix(promise=choose.one([1, 4]), shift=5, arcs=1, retract=choose.one([5, 25]))
    items, model = stream(choose, here, n, mix, choose.one([20, 60]))
    if choose.chance(40):
        items = grouped(items, keys)
    sides = [Side(here, "interpreted", "list"), Side(here, "compiled", "single")]
    sides += [Side(here, "compiled", shape) for shape in (choose.one(SHAPES[1:4]), choose.one(SHAPES))]
    emitted = agree(choose, here, items, model, sides, choose.one([50, 500]), say)
    assert emitted > 0, say
    return emitted


RUNS: list[tuple[Callable[..., int], range, int, dict[str, bool]]] = [
    (one_key, range(16), 260, {}),
    (one_key, range(20), 260, {"longest": True}),
    (one_key, range(16, 24), 260, {"ordered": True}),
    (many_keys, range(8), 900, {}),
    (many_keys, range(4), 400, {"longest": True}),
    (many_keys, range(8, 12), 600, {"ordered": True}),
    (one_key, range(16, 216), 1500, {}),
    (one_key, range(20, 220), 1000, {"longest": True}),
    (one_key, range(24, 124), 1500, {"ordered": True}),
    (many_keys, range(8, 108), 3000, {}),
    (many_keys, range(12, 62), 3000, {"ordered": True}),
]
"""Streams by their numbers, and of how many items. Of those of fewer than a thousand a sixth runs by default."""
STREAMS = [
    pytest.param(
        run, number, n, options, id=f"{run.__name__}-{''.join(options)}-{n}-{number}",
        marks=[] if n < 1000 and place in drawn(len(numbers)) else [pytest.mark.stress],
    )
    for run, numbers, n, options in RUNS
    for place, number in enumerate(numbers)
]  # fmt: skip


@pytest.mark.parametrize(("run", "number", "n", "options"), STREAMS)
def test_streams(run: Any, number: int, n: int, options: dict[str, bool], monkeypatch: pytest.MonkeyPatch) -> None:
    emitted = run(number, n, monkeypatch, **options)
    assert emitted or "longest" in options or ("ordered" in options and n > 1000), "the arc that leaves the start may go early"


@pytest.mark.parametrize("keys", [(), ("who",)])
def test_rows_with_a_sequence_go_through_the_loops(at_once: None, keys: tuple[str, ...]) -> None:
    here = setting("branches", Tick, keys, order_by="due")
    sides = [Side(here, "interpreted", "list"), Side(here, "compiled", "dict")]
    rising = [insert(Tick(i % 4, 0.5 - i % 3, 0, 3), 2 * i) for i in range(200)]
    between = [insert(Tick(i % 3, -1.5, 0, 2 * (i % 2) + 2), 2 * i) for i in range(150, 190)]  # before and after those of their LE
    for batch in (rising, between, [insert(Tick(0, 0.5, 0, 1), 500), insert(Tick(1, 0.5, 0, 2), 500)]):
        for side in sides:
            side.push(batch)
        assert sides[1].held == sides[0].held
        sides[1].operator._check()
    assert sides[1].operator._core.engine.store.arcs.program.loops


# -- what is refused leaves no trace, wherever it stands in a batch --------------------------------------------------------------


def dividing() -> Automaton:
    """Its fence divides by zero, its transfer passes int64, for some events."""
    return Automaton(
        start="a",
        final={"c"},
        register=Tally(),
        event=Tick,
        arcs=[
            Arc("a", "b", lambda e, r: 12 // e.sort > 2, lambda e, r: Tally(e.due, e.size), name="ab"),
            Arc("b", "b", lambda e, r: e.sort == 5, name="bb"),
            Arc("b", "c", lambda e, r: e.sort != 2, lambda e, r: Tally(r.n + e.due), name="bc"),
        ],
    )


def plain(n: int, keys: int) -> list[Any]:
    """A stream that no function of `dividing` fails on."""
    choose = Seeded(f"faults/{n}/{keys}")
    return [insert(Tick(choose.number(1, 5), choose.number(0, 3) / 2, i % keys, i % 7), i // 4) for i in range(n)]


BAD = {
    "division": (insert(Tick(0, 1.0, 0, 0), 110), ZeroDivisionError),
    "overflow": (insert(Tick(1, 1.0, 0, 2**63 - 1), 110), Int64Error),
    "late": (insert(Tick(1, 1.0, 0, 0), -5), LateEventError),
    "unknown arc": (retract(Arc("a", "c", lambda e, r: True, name="unknown")), AfaError),
    "waiting": (retract(Tick(9, 1.0, 0, 0), 90), LateEventError),
}


@pytest.mark.parametrize("what", BAD)
@pytest.mark.parametrize("keyed", [False, True], ids=["one key", "keyed"])
@pytest.mark.parametrize("chunk", [7, 8192])
def test_a_fault_in_a_large_batch_leaves_no_trace(
    engine: str, what: str, keyed: bool, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "CHUNK", chunk)
    monkeypatch.setattr(batches, "KEYED_CHUNK", chunk)
    keys = ("who",) if keyed else ()
    here = Setting(dividing(), list(dividing().arcs), {"window": 20, "late": "raise"}, keys)
    one, other = here.make(engine), here.make(engine)
    items, (bad, error) = plain(600, 8 if keyed else 1), BAD[what]
    for operator in (one, other):
        operator.push_many(table([*items[:200], Punctuation(40)], Tick, 20, "dict")[0])
    before, statistics = one.snapshot(), one.statistics
    tail = [*items[200:450], bad, *items[450:], Punctuation(100)]
    for shape in ("dict", "arrow", "pandas"):
        batch, arcs = table(tail, Tick, 20, shape)
        with pytest.raises(error) as caught:
            one.push_many(batch, arcs=arcs)
        assert what not in ("division", "overflow") or "arc " in str(caught.value) + str(getattr(caught.value, "__notes__", ""))
        assert (one.snapshot(), one.statistics) == (before, statistics), shape
        batch, arcs = table(tail[:-1], Tick, 20, shape)
        with pytest.raises(error):
            one.push_many([batch, tail[-1]], arcs=arcs)
        assert (one.snapshot(), one.statistics) == (before, statistics), f"{shape}, and a punctuation after it"
        one._check()
    again = table([*items[200:], Punctuation(100)], Tick, 20, "dict")[0]
    outs = [{name: column.tolist() for name, column in operator.push_many(again).items()} for operator in (one, other)]
    assert outs[0] == outs[1]
    assert len(outs[0]["le"]) > 50
    assert one.snapshot() == other.snapshot()


@pytest.mark.parametrize("shape", ["dict", "arrow", "pandas", "list"])
def test_late_rows_among_others(engine: str, shape: str) -> None:
    """Dropped and counted, or handed over one by one, in order of arrival."""
    items = plain(300, 5)
    late = [insert(Tick(1, 0.5, i, 7), i) for i in range(5)]
    batch = [*items[:100], Punctuation(20), *late[:3], *items[100:200], *late[3:], retract(late[0].payload, 3)]
    handed: list[Any] = []
    for keys in ((), ("who",)):
        here = Setting(dividing(), list(dividing().arcs), {"window": 20}, keys)
        held = []
        for policy in ("drop", handed.append):
            operator = here.make(engine, late=policy)
            whole = batch if shape == "list" else table(batch, Tick, 20, shape)[0]
            operator.push_many(whole)
            assert operator.statistics.late == 6
            held.append(operator.statistics)
        assert held[0] == held[1]
        expected = [(*change[:2], change.diff) for change in [*late, retract(late[0].payload, 3)]]
        assert [(*change[:2], change.diff) for change in handed] == expected
        assert [change.key for change in handed] == ([0, 1, 2, 3, 4, 0] if keys else [None] * 6)
        handed.clear()


def test_a_callback_that_raises_leaves_no_trace(engine: str) -> None:
    def refuse(change: Any) -> None:
        raise KeyError(change.le)

    operator = Operator(dividing(), window=20, engine=engine, late=refuse)
    items = plain(100, 1)
    operator.push_many([*items[:50], Punctuation(40)])
    before = operator.snapshot()
    with pytest.raises(KeyError):
        operator.push_many(table([*items[50:80], items[0], *items[80:]], Tick, 20, "dict")[0])
    assert operator.snapshot() == before
    operator._check()


def test_both_engines_save_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is saved is the state, not how an engine holds it."""
    for number, program in enumerate(PROGRAMS):
        choose = Seeded(f"bytes/{number}")
        here = setting(program, Quote, ("who",) if number % 2 else ())
        items, _ = stream(choose, here, 200, MIXES["revised"], 4)
        sides = [Side(here, engine, "list") for engine in ENGINES]
        for at in range(0, len(items), 50):
            for side in sides:
                side.push(items[at : at + 50])
            blobs = [side.operator.snapshot() for side in sides]
            assert blobs[0] == blobs[1], f"{program}, after {at + 50} items"
            sides[number % 2].switch()


@pytest.mark.parametrize("number", range(2 * len(PROGRAMS)))
def test_a_table_and_the_punctuations_after_it_are_one_call(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns on the one side, the same item by item on the other: a promise may end matches, and find retractions late."""
    choose = Seeded(f"then/{number}")
    say, program = small_parts(choose, monkeypatch), list(PROGRAMS)[number // 2]
    here = setting(program, Quote, ("who",) if number % 2 else ())
    items, _ = stream(choose, here, 300, MIXES[choose.one(["late", "revised"])], 4)
    row_by_row, columns, held = here.make("interpreted"), here.make("compiled"), list[Any]()
    for at in range(0, len(items), 60):
        part = [item for item in items[at : at + 60] if not (is_arc(item) and item.le == BEGINNING)]
        latest = max(item.le for item in part if isinstance(item, Change) and not is_arc(item))
        then = [Punctuation(latest - choose.number(0, 9)) for _ in range(choose.number(0, 2))]
        batch, arcs = table(part, Quote, here.options["window"], choose.one(["dict", "arrow", "pandas"]))
        expected = row_by_row.push_many([*part, *then])
        out, *promise = columns.push_many([batch, *then], arcs=arcs)
        changes = [change for change in expected if not isinstance(change, Punctuation)]
        assert sorted(map(repr, rows(out, here))) == sorted(map(repr, changes)), f"{program}, items from {at}, {say}"
        assert promise == expected[len(changes) :]
        one, other = columns.statistics, row_by_row.statistics
        assert all(getattr(one, name) == getattr(other, name) for name in (*SAME, "outputs", "retractions")), (one, other, say)
        columns._check()
        held += changes
    assert held


def test_keys_that_come_and_go(engine: str) -> None:
    """Numbers of keys that are gone are given to others; no state goes with them."""
    keyed = Keyed(dividing(), key=("sort", "who"), window=3, engine=engine)
    held: set[Any] = set()
    for turn in range(60):
        le = 10 * turn
        events = [insert(Tick(1 + (turn + i) % 4, 1.0, (turn * 7 + i * 3) % 50, 0), le + i % 3) for i in range(40)]
        out = keyed.push_many([*events, Punctuation(le + (10 if turn % 3 else 2))])
        held = oracle.net([c._replace(payload=(c.key, c.payload)) for c in out if not isinstance(c, Punctuation)], held)
        alone = Keyed(dividing(), key=("sort", "who"), window=3, engine="interpreted")
        fresh = alone.push_many(events)
        assert {match for match in held if match[1] >= le} == oracle.net([c._replace(payload=(c.key, c.payload)) for c in fresh])
        assert len(keyed.keys) == len(set(keyed.keys)) == keyed.statistics.keys <= 40
        keyed._check()
