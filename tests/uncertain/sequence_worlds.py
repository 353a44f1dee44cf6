"""Random streams against the enumeration of all worlds.

Up to 7 events come late, twice, go again, wait for their insertions; promises and snapshots come in between. After every call the
net output is what enumeration finds in the events in force: confidences to 1e-9, ranges exactly.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, NamedTuple

from afa import Change, Punctuation, insert, retract
from afa.uncertain import Sequence, between, triangular, weights
from tests.uncertain.sequence_oracle import Known, Part, enumerated
from tests.worlds.kind import Worlds

SHAPES: list[tuple[Any, Any]] = [
    ("uniform", None),
    (triangular(), {2: (1, 1), 4: (1, 3, 3, 1)}),
    (weights([0.25, 0, 0.75]), {3: (1, 0, 3)}),
    (weights([0, 0.5, 0.25, 0.25]), {4: (0, 2, 1, 1)}),
    (weights([0.5, 0, 0, 0.5]), {4: (1, 0, 0, 1)}),
]


class Seen(NamedTuple):
    kind: str
    id: int
    host: int = 0
    task: int = 0
    value: int = 0


class Scenario(NamedTuple):
    """What is looked for: to the operator and to the oracle."""

    parts: list[Part]
    options: dict[str, Any]
    same_task: bool
    rising: str | None


def scenario(rng: random.Random) -> Scenario:
    n = rng.choice([1, 2, 2, 3, 3, 3, 4])
    names = "abcd"[:n]
    kinds: list[str | None] = [rng.choice([None, None, None, "set", "chain"]) for _ in names]
    kinds = [None] * n if rng.random() < 0.3 else kinds
    if sum(kind is not None for kind in kinds) > 2:
        kinds = [None, *kinds[1:]]
    where, rising = [], rng.choice([">", ">="])
    for name, kind in zip(names, kinds):
        if kind == "chain":
            where.append(f"{name}[i].value {rising} {name}[i-1].value")
    same = n > 1 and rng.random() < 0.3
    if same:
        where.append(f"{names[0]}.task == {names[-1]}.task")
    options = {
        "components": [name + ("+" if kind else "") for name, kind in zip(names, kinds)],
        "of": "kind",
        "event": Seen,
        "identity": "id",
        "strategy": rng.choice(["skip_till_any", "skip_till_next"]),
        "window": rng.choice([1, 2, 3, 4, 6, 10, 30]),
        "threshold": rng.choice([0.0, 0.0, 0.1, 0.3]),
        "where": where,
        "key": rng.choice([None, None, "host"]),
        "late": "drop",
        "shape": rng.choice(SHAPES)[0] if rng.random() < 0.3 else "uniform",
    }
    parts = [Part(name, kind) for name, kind in zip(names, kinds)]
    return Scenario(parts, options, same, rising)


def wanted(known: list[tuple[Seen, int, int, Any]], case: Scenario) -> dict[Any, Any]:
    """What enumeration finds: payload by identities and key -> what is told."""
    found = {}
    names = [part.name for part in case.parts]
    last = len(names) - 1
    for host in {event.host for event, *_ in known} if case.options["key"] else {None}:
        events = [
            Known(event.id, names.index(event.kind), low, table or (1,) * (high - low + 1), event)
            for event, low, high, table in known
            if event.kind in names and host in (None, event.host)
        ]
        told = enumerated(
            events,
            case.parts,
            case.options["window"],
            case.options["strategy"],
            lambda i, x, j, y: not (case.same_task and (i, j) == (0, last)) or x.task == y.task,
            lambda _, x, y: y.value > x.value if case.rising == ">" else y.value >= x.value,
        )
        found.update({(host, name): each for name, each in told.items() if each.confidence > case.options["threshold"]})
    return found


def check(net: Counter[Any], known: list[tuple[Seen, int, int, Any]], case: Scenario, said: str) -> int:
    """Compare the net output with enumeration. Returns how many matches there are."""
    want, got = wanted(known, case), {}
    for (payload, le, re, key), copies in net.items():
        assert copies == 1, (said, payload, copies)
        name = tuple(
            frozenset(part) if kind.kleene == "set" else part for part, kind in zip(payload[: len(case.parts)], case.parts)
        )
        assert (key, name) not in got, (said, name)
        got[key, name] = (payload, le, re)
    close = {name for name, each in want.items() if abs(each.confidence - case.options["threshold"]) < 1e-12}
    assert set(got) - close == set(want) - close, (said, set(got) ^ set(want))
    for name, (payload, le, re) in got.items():
        each = want[name]
        assert abs(payload.confidence - each.confidence) < 1e-9, (said, payload, each)
        assert (payload.first, payload.last, le, re) == (each.first, each.last, each.le, each.latest + case.options["window"]), (
            said, payload, re, each,
        )  # fmt: skip
    return len(got)


def interval(rng: random.Random, low: int) -> tuple[int, int, Any, Any]:
    """Return an interval, its distribution, and how much each instant weighs."""
    shape, tables = rng.choice(SHAPES if rng.random() < 0.4 else SHAPES[:1])
    n = rng.randint(1, 4) if tables is None else rng.choice(list(tables))
    return low, low + n - 1, shape, None if tables is None else tables[n]


def pushed(op: Sequence, items: list[Any], rng: random.Random) -> list[Change]:
    """Push items in one of the ways that there are."""
    fit = all(
        isinstance(item, Change) and item.diff == 1 and getattr(item.le, "shape", op.columns.shape) == op.columns.shape
        for item in items
    )
    if fit and items and rng.random() < 0.7:
        columns: dict[str, Any] = {name: [getattr(item.payload, name) for item in items] for name in Seen._fields}
        columns["lower"] = [getattr(item.le, "lower", item.le) for item in items]
        columns["upper"] = [getattr(item.le, "upper", item.le) for item in items]
        table = op.push_many(columns)
        rows = [list(each.tolist() if hasattr(each, "tolist") else each) for each in table.values()]
        keys = rows[-1] if op.pattern.key else [None] * len(rows[0])
        return [
            Change(op.pattern.match(*row[: len(op.pattern.match._fields)]), le, re, diff, key)
            for row, le, re, diff, key in zip(zip(*rows), table["le"], table["re"], table["diff"], keys)
        ]
    return op.push(items[0]) if len(items) == 1 and rng.random() < 0.5 else op.push_many(items)


def stream(seed: int) -> int:
    """Run one random stream. Returns how many matches were compared."""
    rng = random.Random(seed)
    case = scenario(rng)
    options = dict(case.options)
    components = options.pop("components")
    op = Sequence(components, **options)
    net: Counter[Any] = Counter()
    known: dict[int, tuple[Seen, int, int, Any]] = {}
    spans: dict[int, Any] = {}
    promised, compared, number = -(10**6), 0, 0
    waiting: list[Change] = []

    def made() -> Change:
        nonlocal number
        number += 1
        low = max(rng.randint(0, 9), promised)
        low, high, shape, table = interval(rng, low)
        event = Seen(rng.choice("abcdx"[: len(case.parts) + 1]), number, rng.randrange(2), rng.randrange(2), rng.randrange(3))
        known[number] = (event, low, high, table)
        spans[number] = between(low, high, shape) if low < high else low
        return insert(event, spans[number])

    for _ in range(rng.randint(4, 12)):
        items: list[Any] = []
        before = promised
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            free = [n for n in known if known[n][1] >= promised]
            what = rng.random()
            if what < 0.25 and free:
                n = rng.choice(free)
                items.append(retract(known[n][0], spans[n]))
                if rng.random() < 0.3:  # another time, in the place of the old one; or the other way round
                    event = known[n][0]._replace(host=known[n][0].host)
                    low, high, shape, table = interval(rng, max(rng.randint(0, 9), promised))
                    spans[n] = between(low, high, shape) if low < high else low
                    known[n] = (event, low, high, table)
                    items.insert(rng.randint(0, len(items)), insert(event, spans[n]))
                else:
                    del known[n]
            elif what < 0.35:
                promised = max(promised, rng.randint(0, 12))
                items.append(Punctuation(promised))
            elif len(known) < 7:
                change = made()
                if rng.random() < 0.1 and not waiting:
                    waiting.append(change)
                    items.append(retract(change.payload, change.le))  # it goes before it comes
                    known.pop(number)
                else:
                    items.append(change)
        if waiting and rng.random() < 0.5:
            change = waiting.pop()
            items.append(change)
        out = pushed(op, items, rng)
        order = [(change.diff, change.le, change.re) for change in out]
        assert order == sorted(order)
        assert len({change[:3] for change in out}) == len(out), (seed, out)
        for change in out:
            key = (change.payload, change.le, change.re, change.key)
            net[key] += change.diff
            if not net[key]:
                del net[key]
            assert change.le >= before, (seed, change)
        compared += check(net, list(known.values()), case, f"seed {seed}: {case}")
        if rng.random() < 0.3:
            blob = op.snapshot()
            op = Sequence.restore(components, blob, **options)
            assert op.snapshot() == blob
    if case.options["threshold"] == 0:  # to the last digit, whatever the order
        again = Sequence(components, **options)
        items = [insert(known[n][0], spans[n]) for n in known]
        rng.shuffle(items)
        told = Counter((change.payload, change.le, change.re, change.key) for change in again.push_many(items))
        assert told == net, (seed, told, net)
    return compared


WORLDS = Worlds(
    "sequence",
    lambda seed, number: int(seed) * 1_000_000 + number,
    lambda seed, engine: Counter(matches=stream(seed)),
    engines=(None,),
)
