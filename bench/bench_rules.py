"""A set of rules over one stream, beside an operator a rule: batches of 10,000 rows and a watermark, or one by one; CPU time.

mixed        two and three steps, some with a negation; an event concerns 4 to 5 of 300 rules; also with 5 % late, 5 % retracted
hot          30 % of the events are the last step of every rule, the first is rare
thresholds   one shape over one key column: each rule has a key's threshold
replaced     one rule of a set, by another of its shape

Matches are compared with those of an operator a rule before a rate is told: of 60 rules, or (--beside) of all.

    python -m bench.bench_rules [--rules 300] [--batches 16] [--only hot] [--beside]
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import afa

BATCH, KEYS, WINDOW = 10_000, 1_000, 50_000
LATEST = 12_000
"""No row is late by more."""


class Tick(NamedTuple):
    type: str
    key: int
    x: float


def texts(n: int, types: int, kind: str) -> dict[str, str]:
    """Rules; of mixed ones a third of each kind."""
    r = np.random.default_rng(1)
    found = {}
    for i in range(n):
        a, b, c = (f"T{t:04d}" for t in r.choice(types, 3, replace=False))
        low, high = np.round(r.uniform(0.3, 0.9, 2), 3)
        pattern = (
            (f"{a} a, {b} b", f"{a} a, {b} b, {c} c", f"{a} a, ~({c} n), {b} b")[i % 3] if kind == "mixed" else f"{a} a, HOT b"
        )
        pattern = "T0000 a, T0001 b" if kind == "thresholds" else pattern
        names = "a, b, c" if kind == "mixed" and i % 3 == 1 else "a, b"
        where = f"[key] and a.x > {low} and b.x > {high}" + (f" and a.key == {i % KEYS}" if kind == "thresholds" else "")
        shown = "RETURN a.x AS ax, b.x AS bx"
        found[str(i)] = f"PATTERN SEQ({pattern}) WHERE skip_till_next_match({names}) {{ {where} }} WITHIN {WINDOW} {shown}"
    return found


def batches(n: int, types: int, late: float = 0.0, retracted: float = 0.0, hot: float = 0.0) -> list[pa.Table]:
    """Rows, some of them late and some retracted within 5,000 rows."""
    g = np.random.default_rng(2)
    names = np.array([f"T{i:04d}" for i in range(types)])
    count = n * BATCH
    place = np.arange(count) + np.where(g.random(count) < late, g.integers(1, 5_000, count), 0)
    gone = np.flatnonzero(g.random(count) < retracted)
    rows = np.concatenate([np.arange(count), gone])
    order = np.argsort(np.concatenate([place, place[gone] + g.integers(1, 5_000, len(gone))]), kind="stable")
    rows, diff = rows[order], np.concatenate([np.ones(count, np.int64), -np.ones(len(gone), np.int64)])[order]
    kinds, keys, x = g.integers(0, types, count), g.integers(0, KEYS, count), np.round(g.random(count), 4)
    told = np.where(g.random(count) < hot, "HOT", names[kinds])
    whole = pa.table({"type": told[rows], "key": keys[rows], "x": x[rows], "le": rows, "diff": diff})
    whole = whole if retracted else whole.drop_columns(["diff"])
    return [whole.slice(low, BATCH) for low in range(0, len(whole), BATCH)]


def taken(op: Any, table: pa.Table) -> int:
    """Take a batch and its watermark; return the net number of matches."""
    final = int(np.max(table.column("le").to_numpy())) - LATEST
    found = op.push_many([table, afa.Punctuation(final)])
    return sum(int(np.sum(part.column("diff").to_numpy())) for part in found if isinstance(part, pa.Table))


def timed(work: Any, tables: list[Any]) -> tuple[float, int]:
    """The best rate of the second half, and how many matches there are, net."""
    spent, net = [], 0
    for table in tables:
        begin = time.process_time()
        net += work(table)
        spent.append((time.process_time() - begin) / len(table))
    return 1 / min(spent[len(spent) // 2 :]), net


def run(kind: str, n: int, many: int, late: float = 0.0, beside: bool = False, told: bool = True) -> float:
    """Print one line, and return the rate."""
    types = max(100, n // 3)
    queries = {name: afa.query(text, event=Tick) for name, text in texts(n, types, kind).items()}
    tables = batches(many, 2 if kind == "thresholds" else types, late, late, 0.3 if kind == "hot" else 0.0)
    op: Any = afa.Operator(afa.Rules(queries, event=Tick))
    rate, net = timed(lambda table: taken(op, table), tables)
    pairs = sum(each.events for each in op.statistics.rules.values()) / sum(map(len, tables))
    line = (
        f"{kind:10} {n:6} rules, {late:.0%} late and retracted: {rate:12,.0f} events/s, {pairs:.1f} pairs an event, {net:,} matches"
    )
    if beside:
        singles = [query.operator() for query in queries.values()]
        other, expected = timed(lambda table: sum(taken(op, table) for op in singles), tables)
        assert net == expected, (net, expected)
        line += f"; an operator a rule {other:,.0f} events/s, {rate / other:.0f} x"
    if told:
        print(line, flush=True)
    return rate


def one_by_one(n: int) -> None:
    """Print the rate of single events."""
    queries = {name: afa.query(text, event=Tick) for name, text in texts(n, 100, "mixed").items()}
    op: Any = afa.Operator(afa.Rules(queries, event=Tick))
    rows = batches(1, 100)[0].to_pylist()
    changes = [afa.insert(Tick(row["type"], row["key"], row["x"]), row["le"]) for row in rows]
    rate, _ = timed(lambda part: sum(len(op.push(change)) for change in part), [changes[i : i + 500] for i in range(0, 4_000, 500)])
    print(f"one by one {n:6} rules: {rate:12,.0f} events/s", flush=True)


def replaced(n: int) -> None:
    """Print what it takes to replace a rule: one that was read before, and one of a text."""
    old, new = (texts(n + 100, 1_000, "mixed") for _ in range(2))
    op: Any = afa.Operator(afa.Rules({name: afa.query(old[name], event=Tick) for name in list(old)[:n]}, event=Tick))
    parts = [list(new)[i : i + 10] for i in range(0, 100, 10)]
    ready = {name: afa.query(new[name], event=Tick) for part in parts for name in part}
    read, _ = timed(lambda part: sum(len(op.replace(name, ready[name])) for name in part), parts)
    told, _ = timed(lambda part: sum(len(op.replace(name, new[name])) for name in part), parts)
    print(f"replaced   {n:6} rules: {1e6 / read:.0f} us for a query, {1e6 / told:.0f} us for a text", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rules", type=int, nargs="*", default=[10, 100, 300, 1_000, 3_000])
    parser.add_argument("--batches", type=int, default=16)
    parser.add_argument("--only", choices=["mixed", "hot", "thresholds", "one", "replaced"])
    parser.add_argument("--beside", action="store_true", help="an operator a rule, too")
    said = parser.parse_args()
    for kind in ("mixed", "hot", "thresholds"):
        if said.only not in (None, kind):
            continue
        run(kind, 60, 2, 0.05, beside=True, told=False)
        for n in said.rules:
            run(kind, n, said.batches, beside=said.beside)
        if kind == "mixed":
            run(kind, 300, said.batches, 0.05, beside=said.beside)
    if said.only in (None, "one"):
        one_by_one(300)
    if said.only in (None, "replaced"):
        replaced(max(said.rules))


if __name__ == "__main__":
    main()
