"""Sets of rules that come and go, beside an operator of its own for each rule, made anew by the definition after every step.

``python -m tests.worlds rules``: events late, retracted and waited for, watermarks, rules added, replaced and removed at
random, with lifetimes in the past, snapshots, calls that are refused. The net output, by rule, is that of SEMANTICS.md, Rules.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from afa import AfaError, Change, Instant, Operator, Punctuation
from afa.change import RuleChange
from afa.rules.rules import Rules
from punctuation.time import BEGINNING, FOREVER
from tests.worlds.kind import Worlds


class Pay(NamedTuple):
    card: str
    shop: str
    amount: int
    at: Instant | None = None


KEYS = ("[card] and ", "", "[shop] and ")


def text_of(rng: random.Random, own_ends: bool, keys: Sequence[str] = KEYS, unit: int = 1) -> str:
    """A rule: one of many shapes, its constants at random; SQL refuses events with an RE of their own."""
    low, high, window = rng.randint(0, 4), rng.randint(3, 7), unit * rng.choice((3, 5, 9, 14))
    key = rng.choice(keys)
    strategy = rng.choice(("skip_till_any_match", "skip_till_next_match", "partition_contiguity" if key else "strict_contiguity"))
    two = f"{strategy}(a, b) {{ {key}a.amount > {low} and b.amount < {high} }}"
    shapes = [
        f"PATTERN SEQ(Pay a) WHERE a.amount > {high} WITHIN {window} RETURN a.amount",
        f"PATTERN SEQ(Pay a, Pay b) WHERE {two} WITHIN {window} RETURN a.amount, b.amount",
        f"PATTERN SEQ(Pay a, Pay b) WHERE {two} WITHIN {window} RETURN b.amount",
        f"PATTERN SEQ(Pay a, ~(Pay n), Pay b) WHERE skip_till_any_match(a, b) {{ {key}a.amount > {low} and n.amount = {high}"
        f" and b.amount < {high} }} WITHIN {window} RETURN a.amount, b.amount",
        f"PATTERN SEQ(Pay a, ~(Pay n)) WHERE skip_till_any_match(a) {{ {key}a.amount > {low} and n.amount < {low} }}"
        f" WITHIN {window} RETURN a.amount",
        f"PATTERN SEQ(Pay+ a[], Pay b) WHERE skip_till_next_match(a[], b) {{ {key}a[i].amount > {low} and b.amount < {low} }}"
        f" WITHIN {window} RETURN a.LEN, b.amount",
        "SELECT * FROM pays MATCH_RECOGNIZE (PARTITION BY card ORDER BY at, amount, shop MEASURES A.amount AS first, LAST(B.amount)"
        f" AS last AFTER MATCH SKIP PAST LAST ROW PATTERN (A B+) WITHIN {window} DEFINE A AS amount > {low}, B AS amount < {high})",
    ]
    return rng.choice(shapes[:-1] if own_ends else shapes)


def generate(seed: str, number: int) -> dict[str, Any]:
    rng = random.Random(f"rules {seed} {number}")
    names = ["r0", "r1", "r2", "r3"]
    steps: list[tuple[Any, ...]] = []
    events: list[tuple[Any, ...]] = []
    reach = rng.choice((0, 0, 4, 20))
    time = promised = 0
    ends = rng.random() < 0.5
    for _ in range(rng.randint(4, 18)):
        kind = rng.random()
        if kind < 0.55:
            rows = []
            for _ in range(rng.choice((1, 1, 1, 3, 6))):
                if events and rng.random() < 0.2:
                    rows.append((*rng.choice(events)[:-1], -1))
                else:
                    time = time + rng.randint(0, 2)
                    le = time if rng.random() < 0.7 else rng.randint(min(max(promised - 1, 0), time), time)
                    re = None if not ends or rng.random() < 0.7 else le + rng.randint(1, 9)
                    events.append((rng.choice("xy"), rng.choice("st"), rng.randint(0, 8), le, re, 1))
                    rows.append(events[-1])
            steps.append((rng.choice(("list", "table", "one by one")), rows))
        elif kind < 0.65:
            promised = max(promised, time - rng.choice((-3, 0, 1, 4)))
            steps.append(("promise", promised))
        elif kind < 0.78:
            le = rng.choice((None, None, rng.randint(0, time + 2)))
            re = None if le is None or rng.random() < 0.6 else le + rng.randint(0, 9)
            steps.append(("add", rng.choice(names), text_of(rng, ends), le, re))
        elif kind < 0.86:
            steps.append(("remove", rng.choice(names), rng.choice((None, None, rng.randint(0, time + 2)))))
        elif kind < 0.93:
            steps.append(("replace", rng.choice(names), text_of(rng, ends), rng.choice((None, None, rng.randint(0, time + 2)))))
        else:
            steps.append(("restore", rng.random() < 0.3, rng.choice(names), text_of(rng, ends)))
    start = {name: text_of(rng, ends) for name in names if rng.random() < 0.6}
    return {"rules": start, "reach": reach, "key": rng.choice((None, "card")), "steps": steps}


class ExpectedSet:
    """What the set should hold, by the definition: events, rules with lifetimes, the watermark."""

    def __init__(self, world: dict[str, Any], engine: str) -> None:
        self.key, self.engine = world["key"], engine
        self.rules = [(name, text, BEGINNING, FOREVER) for name, text in world["rules"].items()]
        self.events: list[Change] = []
        self.promised, self.now = BEGINNING, BEGINNING
        self.final: Counter[Any] = Counter()

    def matches(self) -> Counter[Any]:
        """The matches of each rule, each of an operator that is made anew and takes all events that it sees in order of LE."""
        found: Counter[Any] = Counter()
        for name, text, le, re in self.rules:
            op: Any = Rules({name: text}, event=Pay, key=self.key).rules[name].pattern
            options = {"key": self.key} if op.key is None and self.key else {}
            op = op.operator(engine=self.engine, late="drop", **options)
            seen = sorted((event for event in self.events if le <= event.le < re), key=lambda event: event.le)
            promise = [Punctuation(self.promised)] if self.promised > BEGINNING else []
            for item in op.push_many([*seen, *promise]):
                if isinstance(item, Change) and item.le < re:
                    found[name, item[:3], item.key] += item.diff
        return +found


def check(world: dict[str, Any], engine: str) -> Counter[str]:
    met: Counter[str] = Counter()
    rules = Rules(world["rules"], event=Pay, key=world["key"])
    op: Any = Operator(rules, engine=engine, late="drop", reach=world["reach"])
    want, net, output = ExpectedSet(world, engine), Counter[Any](), BEGINNING
    for step in world["steps"]:
        before = (op.snapshot(), net.copy())
        try:
            out, op = _carry_out(op, want, step, met)
            met[step[0]] += 1
        except AfaError:
            met["refused " + step[0]] += 1
            assert op.snapshot() == before[0], "a refused call has left a trace"
            out = []
        for item in out:
            if isinstance(item, Punctuation):
                assert item.t > output
                output = item.t
            else:
                assert step[0] not in ("list", "promise") or item.le >= output or item.diff == 0, (item, output)
                net[item.rule, item[:3], item.key] += item.diff
        assert all(each.state != "put aside" for each in op.rules), op.rules
        op._check()
        net = +net if min(net.values(), default=0) >= 0 else net
        found = want.matches()
        assert net == found, (step, "too many", net - found, "missing", found - net)
        met["matches"] += len(found)
    return met


def _carry_out(op: Any, want: ExpectedSet, step: tuple[Any, ...], met: Counter[str]) -> tuple[list[Any], Any]:
    kind = step[0]
    if kind in ("list", "table", "one by one"):
        changes = [Change(Pay(*row[:3]), row[3], row[4], row[5]) for row in step[1]]
        if kind == "table":
            columns = {name: [row[i] for row in step[1]] for i, name in enumerate(("card", "shop", "amount", "le", "re", "diff"))}
            rows = op.push_many(columns)
            out = _of_table(rows, op._standing)
        elif kind == "list":
            out = op.push_many(changes)
        else:
            out = [item for change in changes for item in op.push(change)]
        taken = [change for change in changes if change.le >= want.promised]
        met["late"] += len(changes) - len(taken)
        want.events += taken
        want.now = max([want.now, *(change.le + 1 for change in taken)])
        return out, op
    if kind == "promise":
        out = op.push(Punctuation(step[1]))
        want.promised = max(want.promised, step[1])
        want.now = max(want.now, step[1] + 1)
        return out, op
    if kind == "add":
        _, name, text, le, re = step
        out = op.add(name, text, le=le, re=re)
        want.rules.append((name, text, want.now if le is None else le, FOREVER if re is None else re))
        return out, op
    if kind == "remove":
        out = op.remove(step[1], at=step[2])
        _end(want, step[1], step[2])
        return out, op
    if kind == "replace":
        out = op.replace(step[1], step[2], at=step[3])
        at = _end(want, step[1], step[3])
        want.rules.append((step[1], step[2], at, FOREVER))
        return out, op
    _, others, name, text = step
    given = {name: text for name, text, _, re in want.rules if re > want.now}
    if others:
        given[name] = text
    made = Operator.restore(Rules(given, event=Pay, key=want.key), op.snapshot(), engine=want.engine, late="drop")
    if others:
        if any(each[0] == name and each[3] > want.now and each[1] != text for each in want.rules):
            _end(want, name, None)
        if not any(each[0] == name and each[3] > want.now for each in want.rules):
            want.rules.append((name, text, want.now, FOREVER))
    return [], made


def _end(want: ExpectedSet, name: str, at: int | None) -> int:
    at = want.now if at is None else at
    ended = [(*each[:3], at) if each[0] == name and each[3] > at else each for each in want.rules]
    want.rules = [each for each in ended if each[2] < each[3]]
    return at


def _of_table(found: dict[str, Any], standing: Any) -> list[Any]:
    """The rows of a table as changes of rules; of each row the columns count that its rule shows, and all others are null."""
    out = []
    for i in range(len(found["le"])):
        row = {name: column[i] for name, column in found.items()}
        (form,) = [each.form for each in standing if each.rule.name == row["rule"] and each.le <= row["le"] < each.re]
        labels, names = form.labels, [field.name for field in form.shown.fields]
        assert all(row[name] is None for name in row if name not in (*labels, *names, "rule", "le", "re", "diff")), row
        key = None if not labels else row[labels[0]] if len(labels) == 1 else tuple(row[name] for name in labels)
        payload = form.shown.cls._make([getattr(row[name], "item", lambda row=row, name=name: row[name])() for name in names])
        out.append(RuleChange.of(Change(payload, int(row["le"]), int(row["re"]), int(row["diff"]), key), str(row["rule"])))
    return out


def smaller(world: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for i in range(len(world["steps"])):
        yield world | {"steps": world["steps"][:i] + world["steps"][i + 1 :]}
    for name in world["rules"]:
        yield world | {"rules": {other: text for other, text in world["rules"].items() if other != name}}
    for i, step in enumerate(world["steps"]):
        if step[0] in ("list", "table", "one by one") and len(step[1]) > 1:
            for j in range(len(step[1])):
                yield world | {"steps": [*world["steps"][:i], (step[0], step[1][:j] + step[1][j + 1 :]), *world["steps"][i + 1 :]]}


WORLDS = Worlds("rules", generate=generate, check=check, smaller=smaller)
