"""`Sequence`: against the enumeration of all worlds, by hand, and what it refuses."""

from __future__ import annotations

import gc
import itertools
import logging
import random
import weakref
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest

from afa import AfaError, ChangeError, LateEventError, Punctuation, SnapshotError, insert, retract
from afa.extra.uncertain import Sequence, between, event_instants, sequence_events, triangular, weights
from afa.extra.uncertain.chain_confidence import Link, confidence
from afa.extra.uncertain.distributions import UNIFORM
from afa.extra.uncertain.event_instants import Instants
from afa.operator import snapshot
from punctuation import sealed
from tests.uncertain.sequence_oracle import Known, Part, enumerated, worlds
from tests.uncertain.sequence_worlds import Seen, stream


def sequence(components: Any = ("a", "b", "c"), **options: Any) -> Sequence:
    """Make one over `Seen`, by its kinds and ids."""
    if not isinstance(components, dict):
        options.setdefault("of", "kind")
    return Sequence(components, **{"event": Seen, "identity": "id", "window": 10, **options})


def came(kind: str, ident: int, low: int, high: int, shape: Any = "uniform", **fields: Any) -> Any:
    return insert(Seen(kind, ident, **fields), between(low, high, shape) if low < high else low)


def gone(kind: str, ident: int, low: int, high: int, shape: Any = "uniform", **fields: Any) -> Any:
    return came(kind, ident, low, high, shape, **fields)._replace(diff=-1)


@pytest.mark.parametrize("block", range(10))
def test_it_equals_the_enumeration_of_all_worlds(block: int) -> None:
    """`python -m tests.worlds sequence --worlds 10000` runs more of them."""
    assert sum(stream(9_000_000 + 30 * block + seed) for seed in range(30)) > 20


@pytest.mark.parametrize(("strategy", "confidences"), [("skip_till_any", (15, 24)), ("skip_till_next", (14, 22))])
def test_the_first_figure_of_the_paper(strategy: str, confidences: tuple[int, int]) -> None:
    """Zhang, Diao, Immerman 2010, Figure 1, with the intervals of b3 and c4 as its numbers need them."""
    op = sequence(strategy=strategy, window=4)
    out = op.push_many([came("a", 1, 1, 5), came("b", 3, 3, 7), came("c", 2, 3, 5), came("c", 4, 4, 6)])
    told = {change.payload[:3]: (change.payload.confidence, change.payload.first, change.payload.last) for change in out}
    assert told == {
        (1, 3, 2): (pytest.approx(confidences[0] / 225, abs=1e-12), 1, 5),
        (1, 3, 4): (pytest.approx(confidences[1] / 225, abs=1e-12), 1, 6),
    }


def test_the_window_binds_ranges_from_below_too() -> None:
    """The paper's three passes leave [1, 10] (erratum)."""
    (found,) = sequence(["a", "b"], window=3).push_many([came("a", 1, 1, 10), came("b", 2, 9, 10)])
    assert (found.payload.first, found.payload.last, found.le, found.re) == (7, 10, 10, 9 + 3)


def test_long_chains_are_linear() -> None:
    """20 events of 21 instants have 21^20 points; the sum over the last times goes through 420."""
    chain = [Link([Instants.of(10 * i, 10 * i + 20, UNIFORM)]) for i in range(20)]
    free = confidence(chain, 1000)
    assert 0 < free < 1
    assert confidence(chain, 212) == pytest.approx(free)  # it may bind, by a hair
    assert 0 < confidence(chain, 180) < free


def test_a_threshold_cuts_lists() -> None:
    events = [came("a", 0, 0, 0), *(came("b", n, n, n + 9) for n in range(1, 9)), came("c", 99, 10, 10)]
    everything = sequence(["a", "b+", "c"], window=30).push_many(events)
    op = sequence(["a", "b+", "c"], window=30, threshold=0.3)
    assert {change.payload for change in op.push_many(events)} == {c.payload for c in everything if c.payload.confidence > 0.3}
    assert op.statistics.pruned > 0
    assert len(everything) == 2**8 - 1


def test_conditions_name_components() -> None:
    op = sequence({"low": "value < 1", "high": lambda e: e.value > 1}, key="host")
    out = op.push_many(
        [came("x", 1, 0, 0), came("x", 2, 3, 3, value=2), came("x", 3, 4, 4, value=2, host=1), came("x", 4, 4, 4, value=1)]
    )
    assert [(change.payload, change.key) for change in out] == [((1, 2, 1.0, 0, 3), 0)]
    assert op.statistics[:6] == (3, 0, 2, 1, 4, 1)


def test_promises_bound_what_is_held() -> None:
    op = sequence(strategy="skip_till_next", window=20)
    for t in range(0, 2_000, 2):
        op.push_many([came("abcx"[t // 2 % 4], t, t - 3, t + 3), Punctuation(t - 10)])
        assert op.statistics.held < 60
    op.push(Punctuation(10_000))
    assert op.statistics[:4] == (0, 0, 0, 0)
    assert op.statistics.outputs > 900


def test_a_promise_is_about_lower_ends() -> None:
    op = sequence()
    op.push_many([came("a", 1, 0, 4), Punctuation(3)])
    with pytest.raises(LateEventError, match=r"expected lower >= 3 \(promised\) but got lower=2 for Seen"):
        op.push(came("b", 2, 2, 9))
    with pytest.raises(LateEventError, match="expected lower >= 3"):
        op.push(gone("a", 1, 0, 4))
    assert op.push(came("b", 2, 3, 9)) == []
    late: list[Any] = []
    op = sequence(late=late.append)
    op.push_many([Punctuation(3), came("b", 2, 2, 9)])
    assert (len(late), op.statistics.late, op.statistics.held) == (1, 1, 0)


def test_a_retraction_may_come_first() -> None:
    op = sequence(["a", "b"])
    op.push_many([gone("a", 1, 1, 4), came("b", 2, 5, 5)])
    assert op.statistics.waiting == 1
    assert op.push(came("a", 1, 1, 4)) == []
    assert len(op.push(came("a", 1, 1, 4))) == 1
    op = sequence(["a", "b"])
    op.push(gone("a", 1, 1, 4))
    with pytest.raises(LateEventError, match="expected the insertion of what was retracted, by the promise 2"):
        op.push(Punctuation(2))
    assert op.statistics.waiting == 1


def test_one_call_is_all_or_nothing() -> None:
    op = sequence(["a", "b"])
    op.push(came("a", 1, 1, 4))
    before = op.snapshot()
    with pytest.raises(ChangeError):
        op.push_many([came("b", 2, 3, 6), came("a", 5, 3, 6), retract("nothing", 4)])
    assert op.snapshot() == before
    assert len(op.push(came("b", 2, 5, 6))) == 1


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: sequence(window=0), "expected a number of ticks above 0 but got window=0"),
    (lambda: sequence(threshold=1), "expected a number of 0 to below 1 but got threshold=1"),
    (lambda: sequence(threshold=float("nan")), "expected a number of 0 to below 1 but got threshold=nan"),
    (
        lambda: sequence(strategy="skip_till_nxt"),
        "expected skip_till_any or skip_till_next but got strategy='skip_till_nxt'; did you",
    ),
    (lambda: sequence(["a", "a"]), "expected each component once but got 'a' twice; an event fits one, or use Worlds"),
    (lambda: sequence(["a-b"]), "expected a name for the field of a match but got 'a-b'; give a mapping"),
    (lambda: sequence(["first"]), "expected a name beside subsets, confidence, first, last but got the component 'first'"),
    (lambda: sequence([]), r"expected the names of components but got components=\[\]"),
    (lambda: sequence("abc"), "expected a list of names, or a mapping of names to conditions, but got components='abc'"),
    (lambda: sequence(["a"], of=None), "expected of=, the field whose value is the name of a component, but got of=None"),
    (lambda: sequence({"a": "value > 1"}, of="kind"), "expected a list of names beside of='kind' but got a mapping"),
    (lambda: sequence({"a": "volume > 1"}), "volume is no field of Seen"),
    (lambda: sequence(identity="idd"), "expected a field of Seen.* but got identity='idd'"),
    (lambda: sequence(key="hots"), "expected a field of Seen.* but got key='hots'; did you mean 'host'"),
    (lambda: sequence(of="kid"), "expected a field of Seen.* but got of='kid'"),
    (lambda: sequence(lower=5), "expected the name of a column but got lower=5"),
    (lambda: sequence(late="ignore"), 'expected late="raise", "drop" or a callable'),
    (lambda: sequence(where="a.task == d.task"), "d is no component; components: a, b, c"),
    (lambda: sequence(where="a.tsk == c.task"), "tsk is no field of Seen"),
    (lambda: sequence(where="a == c"), "a is an event; write a.<field>"),
    (lambda: sequence(where="a.task + b.task == c.task"), "it reads the events a, b, c: a constraint is between two"),
    (lambda: sequence(where="a[i].task == c.task"), "a is one event, and has no i-th"),
    (lambda: sequence(["a", "b+"], where="b[i-1].task == 1"), r"it reads b\[i-1\] without b\[i\]"),
    (lambda: sequence(["a", "b+"], where="b[0].task == 1"), r"of a closure the events b\[i\] and b\[i-1\] can be read, not \[0\]"),
    (lambda: sequence(["a", "b+"], where="b[i-1].task == a.task"), r"it reads the events a, b\[i-1\]: a constraint is between two"),
    (lambda: sequence(where="1 == 1"), "it reads no component"),
    (lambda: sequence(where="a.task =="), "expected a constraint between components as text but invalid syntax"),
    (lambda: sequence(where=[5]), "expected a constraint as text but got where=5"),
    (lambda: sequence(where="eval(a.kind) == b.kind"), "eval is no component"),
    (
        lambda: sequence({"a": "value > 1", "b": "value > 2"}).push(came("x", 1, 1, 2, value=3)),
        "which fits a and b; .* or use Worlds",
    ),
    (lambda: sequence().push(5), "expected a change of an event, or a Punctuation, but got 5"),  # type: ignore[arg-type]
    (lambda: sequence().push(insert(Seen("a", 1), 4, 5)), "expected an event with a time, without an end or a key of its own"),
    (lambda: sequence().push(insert(Seen("a", 1), float("nan"))), "expected an int .ticks. but got lower=nan"),  # type: ignore[arg-type]
    (lambda: sequence().push(insert(("a",), 4)), "expected Seen"),
    (lambda: sequence().push(Punctuation(5, where="value > 1")), "expected a promise about all events but got where='value > 1'"),
    (
        lambda: sequence().push_many([came("a", 1, 1, 2), came("b", 1, 1, 2)]),
        "expected one event of the identity 1 but got Seen.*kind='a'.* and Seen.*kind='b'",
    ),
    (
        lambda: sequence().push_many([came("a", 1, 1, 2), came("a", 1, 1, 3)]),
        r"expected one interval of the identity 1 but got \(lower=1, upper=2, shape=uniform\) and \(lower=1, upper=3",
    ),
    (
        lambda: sequence().push_many([came("a", 1, 1, 2), gone("a", 1, 1, 3)]),
        r"expected a retraction under the interval of its insertion but got \(lower=1, upper=2, .*\) and \(lower=1, upper=3",
    ),
    (
        lambda: sequence().push_many([came("a", 1, 1, 2), gone("a", 1, 1, 2, "triangular")]),
        r"expected a retraction under the interval of its insertion but got .*shape=uniform\) and .*shape=triangular\(0\.5\)\)",
    ),
    (lambda: sequence().push_many({"kind": ["a"], "id": [1]}), "expected a column 'host' but got the columns kind, id"),
]


@pytest.mark.parametrize(("make", "said"), BAD)
def test_bad_input(make: Callable[[], Any], said: str) -> None:
    with pytest.raises(AfaError, match=said):
        make()


def test_too_many_lists_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("afa.extra.uncertain.signatures.MOST", 500)
    with pytest.raises(AfaError, match="expected at most 500 lists of events behind one but got more, behind 0; raise threshold="):
        sequence(["a+"], window=100).push_many([came("a", n, n, n) for n in range(20)])


def test_an_interval_longer_than_the_window_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    op = sequence(window=5)
    with caplog.at_level(logging.WARNING, "afa"):
        op.push_many([came("a", 1, 1, 5)])
        assert not caplog.records
        op.push_many([came("a", 2, 1, 6), came("a", 3, 1, 7)])
    assert [record.getMessage() for record in caplog.records] == ["an event has the interval (1, 6), longer than the window 5"]


def test_instants_need_no_field() -> None:
    from afa import Instant

    class Dated(NamedTuple):
        kind: str
        at: Instant

    with pytest.raises(
        AfaError, match=r"expected an event without a field for its time, which is uncertain, but got at: afa\.Instant"
    ):
        Sequence(["a"], of="kind", event=Dated, window=5)


def test_tables() -> None:
    columns = {
        "kind": ["a", "b", "c", "c"],
        "id": [1, 3, 2, 4],
        **{name: [0] * 4 for name in ("host", "task", "value")},
        "from": np.array([1, 3, 3, 4]),
        "to": np.array([5, 7, 5, 6]),
    }
    options: dict[str, Any] = {"window": 4, "lower": "from", "upper": "to", "key": "host"}
    out = sequence(**options).push_many(columns)
    want = sequence(window=4, key="host").push_many(
        [came("a", 1, 1, 5), came("b", 3, 3, 7), came("c", 2, 3, 5), came("c", 4, 4, 6)]
    )
    assert list(out) == ["a", "b", "c", "confidence", "first", "last", "le", "re", "diff", "host"]
    rows = [(*change.payload, change.le, change.re, change.diff, change.key) for change in want]
    assert [tuple(row) for row in zip(*(np.asarray(out[name]).tolist() for name in out))] == rows
    op = sequence(**options)
    arrow = op.push_many(pa.table(columns))
    assert arrow.column_names == list(out)
    assert list(zip(*(column.to_pylist() for column in arrow.columns))) == rows
    gone_again = op.push_many(pa.table({**columns, "diff": [-1] * 4}))
    assert gone_again["diff"].to_pylist() == [-1, -1]
    assert op.statistics.held == 0


def test_snapshots_are_refused_when_damaged_or_of_another_pattern() -> None:
    op = sequence(strategy="skip_till_next", window=4)
    op.push_many(
        [came("a", 1, 1, 5, triangular()), came("b", 3, 3, 5, weights([0.25, 0.25, 0.5])), gone("c", 2, 3, 5), Punctuation(1)]
    )
    blob = op.snapshot()
    assert sequence_again(blob).statistics == op.statistics
    for place in range(len(blob)):
        with pytest.raises(SnapshotError):
            sequence_again(blob[:place] + bytes([blob[place] ^ 1]) + blob[place + 1 :])
        with pytest.raises(SnapshotError):
            sequence_again(blob[:place])
    with pytest.raises(SnapshotError, match="expected a snapshot of the pattern"):
        sequence_again(blob, window=5)


def sequence_again(blob: bytes, **options: Any) -> Sequence:
    return Sequence.restore(
        ["a", "b", "c"],
        blob,
        **{"of": "kind", "event": Seen, "identity": "id", "window": 4, "strategy": "skip_till_next", **options},
    )


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda body: body[1].__setitem__(1, -1), "expected"),
        (lambda body: body[1].pop(), "expected six counts"),
        (lambda body: body[1].__setitem__(0, 9), "expected retractions that are not overdue"),
        (lambda body: body[1].__setitem__(0, 100), "expected events that are not over"),
        (lambda body: body[2][0].__setitem__(4, 0), "expected a number of copies"),
        (lambda body: body[2][0].__setitem__(4, True), "expected a number of copies"),
        (lambda body: body[2][0].__setitem__(2, 0), "expected lower <= upper"),
        (lambda body: body[2][0].__setitem__(3, ["unknown", []]), "expected the three fields of a Sequence"),
        (lambda body: body[2][0][0].__setitem__(0, "x"), "expected an event that fits a component"),
        (lambda body: body[2][0][0].__setitem__(1, "x"), "expected"),
        (lambda body: body[2].append(body[2][0]), "expected each identity once"),
        (lambda body: body[2].__setitem__(1, 5), "expected the three fields of a Sequence"),
        (lambda body: body.append(5), "expected the three fields of a Sequence"),
    ],
)
def test_sealed_snapshots_are_checked(damage: Callable[[Any], Any], said: str) -> None:
    events = [came("a", 1, 1, 5), came("b", 3, 3, 5), gone("c", 2, 3, 5), Punctuation(1)]
    op = sequence(strategy="skip_till_next", window=4)
    op.push_many(events[: 1 if said.endswith("not over") else 4])
    body = snapshot.unseal(sequence_events.MAGIC, sequence_events.VERSION, op.snapshot())
    damage(body)
    with pytest.raises(SnapshotError, match=said):
        sequence_again(sealed.seal(sequence_events.MAGIC, sequence_events.VERSION, snapshot.plain(body)))


def test_it_is_freed() -> None:
    """Its calls refer to it weakly."""
    gone_ = weakref.ref(sequence())
    gc.collect()
    assert gone_() is None


def test_tables_are_held_as_columns_and_to_the_last_digit_what_rows_are() -> None:
    """In tables, row by row, or in turns; with promises, keys, strs as identities."""

    class Named(NamedTuple):
        kind: str
        name: str
        host: str

    rng = random.Random(4)
    rows = [(rng.choice("abcx"), f"event {n}", rng.choice(["x", "y", "z"]), n + rng.randint(-9, 9)) for n in range(400)]
    spans = [(low, low + rng.choice([0, 5, 12])) for *_, low in rows]
    options: dict[str, Any] = {
        "of": "kind", "event": Named, "identity": "name", "key": "host", "window": 40, "strategy": "skip_till_next", "late": "drop",
    }  # fmt: skip
    nets = []
    for way in ("tables", "rows", "turns", "arrow"):
        op, net = Sequence(["a", "b", "c"], **options), Counter[Any]()
        for number, start in enumerate(range(0, 400, 40)):
            part = list(zip(rows[start : start + 40], spans[start : start + 40]))
            if way == "rows" or (way == "turns" and number % 2):
                for change in op.push_many(
                    [insert(Named(*row[:3]), between(*span) if span[0] < span[1] else span[0]) for row, span in part]
                ):
                    net[change[:3], change.key] += change.diff
                assert op._state is None
            else:
                names = (*Named._fields, "lower", "upper")
                table = dict(zip(names, map(list, zip(*[(*row[:3], *span) for row, span in part]))))
                out = op.push_many(pa.table(table) if way == "arrow" else table)
                assert op._state is not None
                columns = out.to_pydict() if way == "arrow" else {name: each.tolist() for name, each in out.items()}
                for *payload, le, re, diff, key in zip(*columns.values()):
                    net[(op.pattern.match(*payload), le, re), key] += diff
            assert op.push(Punctuation(start - 20)) == []
            if way == "turns" and number % 3 == 2:
                op = Sequence.restore(["a", "b", "c"], op.snapshot(), **options)
        nets.append(({name: copies for name, copies in net.items() if copies}, op.statistics[:4]))
    assert len(nets[0][0]) > 300
    assert nets[0] == nets[1] == nets[2] == nets[3]


PAIR: dict[str, Any] = {
    "kind": ["a", "b"], "id": [1, 2], "host": [0, 0], "task": [0, 0], "value": [0, 0], "lower": [1, 3], "upper": [2, 4],
}  # fmt: skip


def test_a_table_that_does_not_fit_comes_row_by_row() -> None:
    op = sequence(["a", "b"], strategy="skip_till_next")
    table = PAIR
    assert op.push_many(table)["confidence"].tolist() == [1.0]
    with pytest.raises(ChangeError, match="expected one interval of the identity 1"):
        op.push_many({**table, "lower": [0, 3]})
    with pytest.raises(AfaError, match="expected lower <= upper but got lower=5, upper=2"):
        op.push_many({**table, "id": [7, 8], "lower": [5, 3]})
    assert op._state is not None
    assert op.push_many({**table, "diff": [-1, 1]})["diff"] == [-1]
    assert op.statistics.held == 1
    op.push(Punctuation(3))
    with pytest.raises(LateEventError, match="expected lower >= 3"):
        op.push_many({**table, "id": [7, 8]})


def test_conditions_that_two_components_fit_are_refused_in_tables() -> None:
    op = sequence({"a": "value > 1", "b": "value > 2"})
    table = {"kind": ["x"], "id": [1], "host": [0], "task": [0], "value": [3], "lower": [1], "upper": [2]}
    with pytest.raises(ChangeError, match="which fits a and b"):
        op.push_many(table)


def test_a_call_that_fails_leaves_columns_as_they_were() -> None:
    op = sequence(["a", "b"])
    op.push_many(PAIR)
    state = op._state
    assert state is not None
    with pytest.raises(ChangeError):
        op.push_many([came("b", 3, 5, 6), 5])
    assert op._state is state
    assert op.statistics.held == 2
    assert [change.payload[:2] for change in op.push(came("b", 3, 5, 6))] == [(1, 3)]


@pytest.mark.parametrize("seed", range(120))
def test_a_collapsed_match_stands_for_its_subsets(seed: int) -> None:
    """Beside the operator that tells each subset, and beside enumeration: whether there is at least one."""
    rng = random.Random(seed)
    names = rng.choice([["a", "b+", "c"], ["a", "b+"], ["a", "c", "b+"], ["a", "b+", "c", "d"]])
    strategy = rng.choice(["skip_till_any", "skip_till_next"]) if names[-1] == "b+" else "skip_till_any"
    where = rng.choice([[], ["a.task == b.task"], [f"b.value >= {names[-1][0]}.value"] if names[-1] != "b+" else []])
    window = rng.choice([3, 5, 20])
    options: dict[str, Any] = {"strategy": strategy, "window": window, "where": where}
    items, known = [], []
    kinds = [name[0] for name in names]
    for number in range(6):
        kind = rng.choice([*kinds, "b"])
        low, n = rng.randint(0, 6), rng.randint(1, 4)
        items.append(came(kind, number, low, low + n - 1, task=rng.randrange(2), value=rng.randrange(2)))
        known.append(Known(number, kinds.index(kind), low, (1,) * n, items[-1].payload))
    single, op = sequence(names, **options), sequence(names, collapsed=True, **options)
    subsets = {change.payload: change for change in single.push_many(items)}
    collapsed = op.push_many(items)
    place = names.index("b+")

    def fits(i: int, x: Any, j: int, y: Any) -> bool:
        if not where:
            return True
        if "task" in where[0]:
            return bool((kinds[i], kinds[j]) != ("a", "b") or x.task == y.task)
        return bool((i, j) != (place, len(kinds) - 1) or x.value >= y.value)

    parts = [Part(name[0], "set" if name == "b+" else None) for name in names]
    some = at_least_one_of(known, parts, window, strategy, fits, place)
    assert {change.payload[:place] + change.payload[place + 1 : len(names)] for change in collapsed} == set(some)
    for change in collapsed:
        match = change.payload
        of = {each for each in subsets if all(each[i] == match[i] for i in range(len(names)) if i != place)}
        assert set(match[place]) == {each for one in of for each in one[place]}
        assert match.subsets == 2 ** len(match[place]) - 1 >= len(of)
        assert match.confidence == pytest.approx(float(some[match[:place] + match[place + 1 : len(names)]]), abs=1e-9)
        assert (match.first, match.last) == (min(each.first for each in of), max(each.last for each in of))
        assert change.le == max(subsets[each].le for each in of)
        expanded = list(op.expand(change))
        assert set(expanded) == of
        assert all(a.confidence >= b.confidence - 1e-12 for a, b in itertools.pairwise(expanded))


def at_least_one_of(known: Any, parts: Any, window: int, strategy: str, fits: Any, place: int) -> dict[Any, Any]:
    """How probable it is that any subset of the closure makes a match, by what else is in it."""
    found: dict[Any, Any] = Counter()
    times, weight = worlds(known)
    for world in range(len(weight)):
        there = [each._replace(lower=int(at[world]), weights=(1,)) for each, at in zip(known, times)]
        names = {name[:place] + name[place + 1 :] for name in enumerated(there, parts, window, strategy, fits)}
        for name in names:
            found[name] += Fraction(int(weight[world]), int(weight.sum()))
    return found


def test_a_collapsed_match_of_many_subsets_is_expanded_lazily() -> None:
    op = sequence(["a", "b+", "c"], collapsed=True, window=200)
    (found,) = op.push_many([came("a", 0, 0, 0), *(came("b", n, n, n + 80) for n in range(1, 60)), came("c", 99, 100, 120)])
    assert found.payload.subsets == 2**59 - 1
    likely = op.expand(found)
    confidences = [next(likely).confidence for _ in range(100)]
    assert all(a >= b - 1e-12 for a, b in itertools.pairwise(confidences))
    op.push(gone("c", 99, 100, 120))
    with pytest.raises(AfaError, match="expected a match whose events are held but got one with 99, which is not"):
        op.expand(found)


@pytest.mark.parametrize(
    ("names", "strategy", "said"),
    [
        (
            ["a", "b"],
            "skip_till_any",
            "expected one closure without an order, behind another component, for collapsed=True but got none",
        ),
        (["a+", "b"], "skip_till_any", "for collapsed=True but got a"),
        (["a", "b+", "c+"], "skip_till_any", "for collapsed=True but got b, c"),
        (["a", "b+", "c"], "skip_till_next", "expected strategy='skip_till_any', or a closure at the end, .* got b before another"),
    ],
)
def test_what_can_not_be_collapsed(names: list[str], strategy: str, said: str) -> None:
    with pytest.raises(AfaError, match=said):
        sequence(names, strategy=strategy, collapsed=True)
    with pytest.raises(
        AfaError, match="expected a collapsed match, of an operator with collapsed=True, but got one of an operator"
    ):
        sequence(names, strategy=strategy).expand(None)


class Named(NamedTuple):
    """An event that is all that tells it apart."""

    kind: str
    n: int


def test_an_interval_has_a_limit() -> None:
    """Work and memory don't grow with its width: it is refused, with the state as it was; in tables and snapshots, too."""
    made = {"of": "kind", "event": Named, "window": 20}
    op = Sequence(["a", "b"], **made)
    op.push(insert(Named("a", 1), between(0, 3)))
    before = op.snapshot()
    for width in (10**6, 10**8, 2**33, 2**55, 2**61):
        with pytest.raises(ChangeError, match=r"expected an interval of at most 1,000,000 instants.* but got between\(1, "):
            op.push(insert(Named("b", 2), between(1, 1 + width)))
        with pytest.raises(ChangeError, match="expected an interval of at most 1,000,000 instants"):
            op.push_many({"kind": ["b"], "n": [2], "lower": [1], "upper": [1 + width]})
    assert op.snapshot() == before
    said, numbers, events = snapshot.unseal(sequence_events.MAGIC, sequence_events.VERSION, before)
    for upper in (10**6, 2**31, 2**62):
        events[0][2] = upper
        forged = sealed.seal(sequence_events.MAGIC, sequence_events.VERSION, snapshot.plain([said, numbers, events]))
        with pytest.raises(SnapshotError, match="expected an interval of at most 1,000,000 instants"):
            Sequence.restore(["a", "b"], forged, **made)
    many = [insert(Named("b", n), between(1, 900_000 + n)) for n in range(30)]
    with pytest.raises(ChangeError, match="with 20,000,000 instants in all"):
        op.push_many(many)
    assert op.snapshot() == before


@pytest.mark.parametrize("table", [False, True])
def test_lengths_that_no_event_has_any_more_do_not_count(monkeypatch: pytest.MonkeyPatch, table: bool) -> None:
    monkeypatch.setattr("afa.extra.uncertain.instant_tables.IN_ALL", 2_000)
    op = Sequence(["a", "b"], of="kind", event=Named, window=4_000, identity="n")

    def push(*events: tuple[int, int, int]) -> None:
        given = [("b", *each) for each in events]
        columns = dict(zip(("kind", "n", "lower", "upper"), map(list, zip(*given))))
        op.push_many(columns if table else [insert(Named(kind, n), between(low, high)) for kind, n, low, high in given])

    push((0, 0, 1_000))
    held = len(event_instants._KINDS)
    with pytest.raises(ChangeError, match="expected one interval of the identity 0 but got"):
        push((1, 0, 400), (2, 0, 401), (0, 0, 7))
    with pytest.raises(ChangeError, match="expected intervals of different lengths with 2,000 instants in all"):
        push((1, 0, 400), (2, 0, 401), (3, 0, 402))
    gc.collect()
    assert len(event_instants._KINDS) <= held
    push((1, 0, 990))
    for n in range(2, 12):
        op.push(Punctuation(10_000 * n))
        push((n, 10_000 * n, 10_000 * n + 1_000 + n))
    op.push(retract(Named("b", 11), between(110_000, 111_011)))
    push((12, 110_000, 111_900))


def test_what_is_no_event_is_refused_in_words() -> None:
    op = Sequence(["a", "b"], of="kind", event=Named, window=20)
    with pytest.raises(ChangeError, match=r"expected an event with its times, insert\(event, between\(lower, upper\)\)"):
        op.push({"kind": "a", "n": 1, "lower": 1, "upper": 2})


def test_an_identity_of_several_fields_is_a_struct_in_arrow() -> None:
    op = Sequence(["a", "b+"], of="kind", event=Named, window=20)
    out = op.push_many(pa.table({"kind": ["a", "b"], "n": [1, 2], "lower": [1, 3], "upper": [1, 3]}))
    assert out["a"].to_pylist() == [{"kind": "a", "n": 1}]
    assert out["b"].to_pylist() == [[{"kind": "b", "n": 2}]]


def test_content_that_changes_counts_at_once() -> None:
    """Under one identity and one interval: what constraints ask is the new content."""
    op = sequence(["a", "b"], where="a.task == b.task")
    assert op.push_many([came("a", 1, 1, 2), came("b", 2, 3, 4, task=1)]) == []
    (found,) = op.push_many([gone("b", 2, 3, 4, task=1), came("b", 2, 3, 4, task=0)])
    assert (found.payload[:2], found.diff, op.statistics.matches) == ((1, 2), 1, 1)
    (back,) = op.push_many([gone("b", 2, 3, 4, task=0), came("b", 2, 3, 4, task=1)])
    assert back == found._replace(diff=-1)


def test_the_longest_window_finds_what_a_long_one_does() -> None:
    events = [came("a", 1, 5, 8), came("b", 2, 9, 12), came("b", 3, 6, 7)]
    told = [
        [change.payload for change in sequence(["a", "b"], window=window).push_many(events)] for window in (1_000, 2**62, 2**63 - 1)
    ]
    assert told[0] == told[1] == told[2]
    assert len(told[0]) == 2
