"""Messages that come twice, in any order, as versions, late: an operator with ``id=`` beside one that gets each change once.

``python -m tests.worlds ids``: after each call the net output, what was told and what was counted are those of the oracle; where
nothing was told or forgotten, the net output is that of the events which the *set* of messages leaves in force, in order.
"""

from __future__ import annotations

import copy
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple
from unittest import mock

import pyarrow as pa

from afa import AfaError, Arc, Automaton, Change, Keyed, Operator, Punctuation, insert
from punctuation import SideOutput
from speculation import Cleanse, Ids, LastBefore, id_entries
from tests.ids_oracle import IdsOracle, Message, Promise, in_force
from tests.worlds.kind import Worlds


class Order(NamedTuple):
    id: int
    user: str
    amount: int


class Named(NamedTuple):
    """The same, of which an id is a text."""

    id: str
    user: str
    amount: int


class First(NamedTuple):
    first: int = 0
    total: int = 0


class FirstNamed(NamedTuple):
    first: str = ""
    total: int = 0


ARCS = [
    Arc("0", "1", "amount % 3 == 0", "(e.id, e.amount)", name="a"),
    Arc("1", "2", "amount % 3 == 1", "(r.first, r.total + e.amount)", name="b"),
    Arc.skip("1", "amount % 3 == 2", name="skip"),
]
PAIR = Automaton(start="0", final={"2"}, event=Order, register=First(), arcs=ARCS)
NAMED = Automaton(start="0", final={"2"}, event=Named, register=FirstNamed(), arcs=ARCS)
STAGE = {"alarm": "amount % 5 == 0"}
FILLED = LastBefore(Order, STAGE).filled
LOOKS = Automaton(
    start="0",
    final={"2"},
    event=FILLED,
    register=First(),
    arcs=[Arc("0", "2", "alarm is not None and amount % 3 == 1", "(e.id, e.alarm)")],
)


def looking(**more: Any) -> Any:
    stage = LastBefore(Order, STAGE, window=30, filled=FILLED)
    ids = {name: more.pop(name) for name in ("id", "on_repeat", "version", "remember") if name in more}
    made = stage.before(Operator(LOOKS, window=40, **more))
    return Ids(ids.pop("id"), **ids).before(made) if ids else made


MAKERS: dict[str, Any] = {
    "operator": lambda **more: Operator(PAIR, window=40, **more),
    "texts": lambda **more: Operator(NAMED, window=40, **more),
    "keyed": lambda **more: Keyed(PAIR, key="user", window=40, **more),
    "threads": lambda **more: Keyed(PAIR, key="user", window=40, threads=2, **more),
    "by function": lambda **more: Keyed(PAIR, key=lambda e: e.user.upper(), window=40, **more),
    "held back": lambda **more: Keyed(PAIR, key="user", window=40, speculation=10, **more),
    "after": lambda **more: Cleanse(10).after(Operator(PAIR, window=40, **more)),
    "looking": looking,
}


def restored(maker: str, blob: bytes, **more: Any) -> Any:
    """The operator of a snapshot."""
    if maker == "looking":
        return Operator.restore(LOOKS, blob, stages=[LastBefore(Order, STAGE, window=30, filled=FILLED)], **more)
    key: Any = {"by function": lambda e: e.user.upper(), "operator": None, "texts": None, "after": None}.get(maker, "user")
    return Operator.restore(NAMED if maker == "texts" else PAIR, blob, **({} if key is None else {"key": key}), **more)


# -- worlds ----------------------------------------------------------------------------------------------------------------------


def generate(seed: str, number: int) -> dict[str, Any]:
    rng = random.Random(f"{seed} {number}")
    versioned, rude = rng.random() < 0.6, rng.random() < 0.4
    maker = rng.choice(list(MAKERS))
    kind = rng.choice(["int", "float", "text"])
    beside = versioned and maker not in ("by function",) and rng.random() < 0.5
    many = rng.random() < 0.2
    n = rng.randint(60, 120) if many else rng.randint(5, 40)
    calls: list[Any] = []
    came: list[Message] = []
    promised = 0
    each = []
    for _ in range(n):
        roll = rng.random()
        if roll < 0.1:
            promised += rng.randrange(0, 15)
            each.append(Promise(promised))
        elif roll < 0.35 and came:
            each.append(rng.choice(came))  # once more
        else:
            name = rng.randrange(0, 60 if many else 12)
            version = _version(rng.randrange(0, 8), kind) if versioned else None
            le = promised + rng.randrange(-6 if rude else 0, 30)
            if rng.random() < 0.25:
                message = Message(name, version, None, rng.choice([None, None, le]))
            else:
                re = le + rng.randint(1, 50) if rng.random() < 0.2 else None
                amount = rng.choice([0, 3, 5, 10, 1, 4, 7, 2])
                message = Message(name, version, (rng.choice("uv"), amount, le, re), le)
                if not rude:  # what an id (and version) says is always the same
                    same = [m for m in came if (m.id, m.version) == (name, version)]
                    message = same[0] if same and versioned else next((m for m in same if m.content is not None), message)
            came.append(message)
            each.append(message)
    while each:
        size = rng.choice([1, 1, 3, 8])
        form = rng.choice(["single", "list", "table", "table", "pandas", "dict"])
        calls.append([form, each[:size], rng.choice(["", "", "", "restore", "copy", "fail"])])
        each = each[size:]
    remember = rng.choice([0, 0, 7, 1000])
    return {"maker": maker, "versioned": versioned, "beside": beside, "remember": remember, "calls": calls}


def _version(n: int, kind: str) -> Any:
    return n if kind == "int" else n / 4 if kind == "float" else "abcdefgh"[n]


def smaller(world: dict[str, Any]) -> Iterator[dict[str, Any]]:
    calls = world["calls"]
    for i, (form, items, then) in enumerate(calls):
        yield world | {"calls": calls[:i] + calls[i + 1 :]}
        for j in range(len(items)):
            yield world | {"calls": [*calls[:i], [form, items[:j] + items[j + 1 :], then], *calls[i + 1 :]]}
        if then:
            yield world | {"calls": [*calls[:i], [form, items, ""], *calls[i + 1 :]]}


# -- what is pushed --------------------------------------------------------------------------------------------------------------


def named(name: int, maker: str) -> Any:
    return f"order {name}" if maker == "texts" else name


def row(message: Message, maker: str) -> dict[str, Any]:
    """A message as a row of a table."""
    said: dict[str, Any] = {"id": named(message.id, maker), "lsn": message.version}
    if message.version is None:
        del said["lsn"]
    if message.content is None:
        return said | {"user": None, "amount": None, "le": message.le, "re": None, "diff": -1}
    user, amount, le, re = message.content
    return said | {"user": user, "amount": amount, "le": le, "re": re, "diff": 1}


def item(message: Message, maker: str) -> Any:
    """A message on its own."""
    found = row(message, maker)
    if message.content is not None or message.version is not None:
        return {name: value for name, value in found.items() if value is not None}
    return Change({"id": found["id"]}, message.le, None, -1)


def pushed(form: str, items: list[Any], maker: str) -> list[Any]:
    """The parts of a call."""
    found: list[Any] = []
    rows: list[dict[str, Any]] = []

    def close() -> None:
        if rows:
            kinds = {"id": pa.string() if maker == "texts" else pa.int64(), "user": pa.string(), "amount": pa.int64()}
            kinds |= {"le": pa.int64(), "re": pa.int64(), "diff": pa.int64()}
            if "lsn" in rows[0]:
                kinds["lsn"] = {int: pa.int64(), float: pa.float64(), str: pa.string()}[type(rows[0]["lsn"])]
            table = pa.Table.from_pylist(rows, pa.schema(list(kinds.items())))
            if all(each["diff"] == 1 for each in rows) and len(rows) % 2:
                table = table.drop_columns(["diff"])
            if table.column("re").null_count == len(rows):
                table = table.drop_columns(["re"])
            found.append(table.to_pandas() if form == "pandas" else table.to_pydict() if form == "dict" else table)
            rows.clear()

    for each in items:
        if isinstance(each, Promise):
            close()
            found.append(Punctuation(each.t))
        elif form in ("single", "list"):
            found.append(item(each, maker))
        else:
            rows.append(row(each, maker))
    close()
    return found


def net(out: list[Any], sums: Counter[Any]) -> None:
    """Add output of any form to the sums."""
    for part in out:
        if isinstance(part, Change):
            sums[(*part.payload, part.le, part.re)] += part.diff
        elif not isinstance(part, Punctuation):
            columns = part.to_pydict() if isinstance(part, pa.Table) else {name: list(part[name]) for name in part}
            for *values, diff in zip(*(columns[name] for name in ("first", "total", "le", "re", "diff"))):
                sums[tuple(values)] += diff


def change(message: Message, sign: int, maker: str) -> Change:
    user, amount, le, re = message.content
    event = (Named if maker == "texts" else Order)(named(message.id, maker), user, amount)
    return insert(event, le, re)._replace(diff=sign)


def check(world: dict[str, Any], engine: str) -> Counter[str]:
    with mock.patch.object(id_entries, "FEW", 8):  # so that tables of ids are made anew
        return checked(world, engine)


def checked(world: dict[str, Any], engine: str) -> Counter[str]:
    maker, seen = world["maker"], Counter(worlds=1)
    own: dict[str, Any] = {} if maker == "looking" and engine == "compiled" else {"engine": engine}
    side = SideOutput()
    options: dict[str, Any] = {"id": "id"} | ({"remember": world["remember"]} if world["remember"] else {})
    if world["versioned"]:
        options |= {"on_repeat": "update", "version": "lsn"}
    op, plain = MAKERS[maker](late=side, **options, **own), MAKERS[maker](**own)
    oracle, sums, expected = IdsOracle(world["versioned"], world["remember"]), Counter[Any](), Counter[Any]()
    messages: list[Message] = []
    for form, items, then in world["calls"]:
        parts = pushed(form, items, maker)
        if then == "fail":
            before = op.snapshot(), op.statistics._replace(id_bytes=0), len(side)
            try:
                op.push_many([*parts, "neither"])
                raise AssertionError("a call that can't be taken worked")
            except AfaError:
                pass
            assert (op.snapshot(), op.statistics._replace(id_bytes=0), len(side)) == before, "a refused call left a trace"
        out = [each for part in parts for each in op.push(part)] if form == "single" else op.push_many(parts)
        net(out, sums)
        for each in items:
            found = oracle.take(each)
            net(plain.push_many([change(*one, maker) for one in found]), expected)
            if isinstance(each, Promise):
                net(plain.push(Punctuation(each.t)), expected)
            else:
                messages.append(each)
        assert +sums == +expected, f"{+sums} but {+expected}, behind {items}"
        assert not -sums, f"withdrawn more often than told: {-sums}"
        told = [(m.payload["id"] if isinstance(m.payload, dict) else m.payload.id, m.le, m.diff) for m in side.changes]
        wanted = [(named(m.id, maker), m.le, -1 if m.content is None else 1) for m in oracle.told]
        assert sorted(told, key=repr) == sorted(wanted, key=repr), f"told {told} but {wanted}"
        numbers = op.statistics
        counted = (numbers.ids, numbers.repeats, numbers.superseded, numbers.late)
        assert counted == (len(oracle.known), oracle.repeats, oracle.superseded, len(oracle.told)), f"{counted}, {vars(oracle)}"
        op._check()
        if then == "restore":
            again = restored(maker, op.snapshot(), late=side, **own)
            one, other = op.statistics, again.statistics
            assert (one.ids, one.pending, one.repeats) == (other.ids, other.pending, other.repeats), (
                "a restored operator is another"
            )
            op = again
        elif then == "copy":
            op = copy.deepcopy(op)
            side = op._core.late.policy
    seen.update(repeats=oracle.repeats, superseded=oracle.superseded, told=len(oracle.told), matches=sum((+sums).values()))
    promised = any(isinstance(each, Promise) for _, items, _ in world["calls"] for each in items)
    if not oracle.told and (not promised or world["remember"] == 1000) and maker != "held back" and maker != "after":
        once = MAKERS[maker](**own)
        there = [change(each, 1, maker) for each in in_force(messages, world["versioned"])]
        whole = Counter[Any]()
        net(once.push_many(sorted(there, key=lambda each: (each.le, each.payload))), whole)
        assert whole == +sums, f"{+sums} but once, in order, {whole}"
        seen["by the set"] += 1
    return seen


WORLDS = Worlds("ids", generate=generate, check=check, smaller=smaller)
