"""Rules of two and three steps, some of them with a negation, over one stream: one store of shapes beside an operator a rule.

An event concerns 4 to 5 of 300 rules; 1,000 keys, batches of 10,000 rows, CPU time. Matches are compared before a rate is told.

    python -m bench.bench_rules [--rules 300] [--batches 8] [--beside]
"""

from __future__ import annotations

import argparse
import time
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

import afa

BATCH, KEYS, WINDOW = 10_000, 1_000, 50_000


class Tick(NamedTuple):
    type: str
    key: int
    x: float


def texts(n: int, types: int) -> dict[str, str]:
    """Rules, a third of each kind."""
    r = np.random.default_rng(1)
    found = {}
    for i in range(n):
        a, b, c = (f"T{t:04d}" for t in r.choice(types, 3, replace=False))
        low, high = np.round(r.uniform(0.3, 0.9, 2), 3)
        pattern = (f"{a} a, {b} b", f"{a} a, {b} b, {c} c", f"{a} a, ~({c} n), {b} b")[i % 3]
        names = ("a, b", "a, b, c", "a, b")[i % 3]
        where = f"skip_till_next_match({names}) {{ [key] and a.x > {low} and b.x > {high} }}"
        found[str(i)] = f"PATTERN SEQ({pattern}) WHERE {where} WITHIN {WINDOW} RETURN a.x AS ax, b.x AS bx"
    return found


def batches(n: int, types: int, late: float, retracted: float) -> list[pa.Table]:
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
    whole = pa.table({"type": names[kinds[rows]], "key": keys[rows], "x": x[rows], "le": rows, "diff": diff})
    whole = whole if retracted else whole.drop_columns(["diff"])
    return [whole.slice(low, BATCH) for low in range(0, len(whole), BATCH)]


def timed(work: Any, tables: list[pa.Table]) -> tuple[float, int]:
    """The best rate of the second half, and how many matches there are, net."""
    spent, net = [], 0
    for table in tables:
        begin = time.process_time()
        net += work(table)
        spent.append((time.process_time() - begin) / len(table))
    return 1 / min(spent[len(spent) // 2 :]), net


def run(n: int, many: int, late: float = 0.0, retracted: float = 0.0, beside: bool = False) -> float:
    """Print one line, and return the rate of the store."""
    types = max(100, n // 3)
    queries = {name: afa.query(text, event=Tick) for name, text in texts(n, types).items()}
    tables = batches(many, types, late, retracted)
    op: Any = afa.Operator(afa.Rules(queries, event=Tick))
    rate, net = timed(lambda table: int(np.sum(op.push_many(table).column("diff").to_numpy())), tables)
    pairs = sum(each.events for each in op.statistics.rules.values()) / sum(map(len, tables))
    line = f"{n:6} rules, {late:.0%} late, {retracted:.0%} retracted: {rate:12,.0f} events/s, {pairs:.1f} pairs an event"
    line += f", {net:,} matches"
    if beside:
        singles = [query.operator() for query in queries.values()]

        def each(table: pa.Table) -> int:
            return sum(int(np.sum(op.push_many(table).column("diff").to_numpy())) for op in singles)

        other, expected = timed(each, tables)
        assert net == expected, (net, expected)
        line += f"; an operator a rule {other:,.0f} events/s, {rate / other:.0f} x"
    print(line, flush=True)
    return rate


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rules", type=int, nargs="*", default=[10, 100, 300, 1_000, 3_000])
    parser.add_argument("--batches", type=int, default=8)
    parser.add_argument("--beside", action="store_true", help="an operator a rule, too")
    said = parser.parse_args()
    for n in said.rules:
        run(n, said.batches, beside=said.beside)
    run(300, said.batches, 0.05, 0.05, beside=said.beside)


if __name__ == "__main__":
    main()
