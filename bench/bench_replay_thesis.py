"""What does replay save on the synthetic stream of the thesis (Marburg 2021, Sec. 3.4), by length of patterns and by correlation?

50 M events at 1, 2, .., n, five columns A1 to A5 that follow N(i / n, sigma^2) within [0, 1): sigma 0, .001, .01, .1, 1. Patterns
of m ranges that cover 0 to 10 % of the domain, one event behind the other, with about log2(m) places at which any events may come
between; a window of 300. First all ranges are of A5 (Figures 3.9, 3.10, 3.11), then of m = 8 one is of A1, .., A5 (Figures 3.13,
3.14). Beside a full run by hand; the matches are the same. CPU time of the process, one run of each. The error is that of the rows
that were expected to be replayed; planning is all that comes before the first column is scanned.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from afa import Arc, Automaton
from afa.operator.options import Options as Asked
from afa.replay import replay
from afa.replay.costs import Costs
from afa.replay.finding_spans import first_scan
from afa.replay.question import longest_lifetime, question
from afa.replay.replaying import planned
from afa.replay.shares import Shares
from bench.full_run import History, answer, full
from bench.measure import Options, Row, spent
from bench.stored_trades import folder, stored

ROWS, GROUP, WINDOW, QUERIES = 50_000_000, 1 << 17, 300, 100
SIGMAS = {"A1": 0.0, "A2": 0.001, "A3": 0.01, "A4": 0.1, "A5": 1.0}
LENGTHS = (2, 4, 8, 16, 32)
MIDDLE = 8
PART = 1 << 20


class Asking(NamedTuple):
    """What one query took: seconds of the full run, of the replay, to plan; the matches; rows expected at first; what was done."""

    full: float
    replay: float
    planning: float
    matches: int
    expected: float | None
    plan: Any


def measure(o: Options) -> list[Row]:
    return list(rows_of(o, o.size(ROWS, 20_000), QUERIES if o.scale == "full" else 10 if o.scale == "small" else 2))


def rows_of(o: Options, rows: int, queries: int) -> Iterator[Row]:
    """Run so many queries of each kind on so many rows."""
    with folder() as where:
        path = stored(where, f"thesis-{rows}", lambda: _stream(rows), max(256, min(GROUP, rows * GROUP // ROWS * 8)))
        for m in o.some(LENGTHS):
            yield _row(path, rows, ["A5"] * m, f"m = {m}", queries, m)
        for name in o.some(list(SIGMAS)):
            yield _row(path, rows, [name] + ["A5"] * (MIDDLE - 1), f"m = {MIDDLE}, one of {name}", queries, 100 + int(name[1]))


def _stream(rows: int) -> Iterable[pa.Table]:
    rng = np.random.default_rng(1)
    for begin in range(0, rows, PART):
        at = np.arange(begin + 1, min(begin + PART, rows) + 1)
        columns = {name: _within(rng, at / rows, sigma) for name, sigma in SIGMAS.items()}
        yield pa.table({"at": at, **columns})


def _within(rng: Any, mean: Any, sigma: float) -> Any:
    """Return normal values within [0, 1), drawn again where they are not."""
    values = rng.normal(mean, sigma)
    if sigma == 0:
        return np.minimum(values, np.nextafter(1, 0))
    out = np.flatnonzero((values < 0) | (values >= 1))
    while len(out):
        values[out] = rng.normal(mean[out], sigma)
        out = out[(values[out] < 0) | (values[out] >= 1)]
    return values


def pattern(columns: Sequence[str], rng: Any) -> Automaton:
    """Return a random pattern with a range of each column: 0 to 10 % of the domain, somewhere."""
    m, arcs = len(columns), []
    for i, column in enumerate(columns):
        width = rng.uniform(0, 0.1)
        low = rng.uniform(0, 1 - width)
        arcs.append(Arc(str(i), str(i + 1), f"{column} >= {low!r} and {column} < {low + width!r}"))
    after = 0
    while after < m - 1:  # from 1 .. m - 1, then of those behind it, "until the index set is empty"
        after = int(rng.integers(after + 1, m))
        arcs.append(Arc(str(after), str(after), "True"))
    event = NamedTuple("Event", [(name, float) for name in sorted(set(columns))])  # type: ignore[misc]
    return Automaton(start="0", final={str(m)}, event=event, arcs=arcs)


def _row(path: str, rows: int, columns: list[str], case: str, queries: int, seed: int) -> Row:
    rng = np.random.default_rng(seed)
    few = f"{path}.few"
    pq.write_table(pq.ParquetFile(path).read_row_group(0).slice(0, 500), few)
    asked = [_asked(path, few, pattern([columns[i] for i in rng.permutation(len(columns))], rng)) for _ in range(queries)]
    times = [one.full / one.replay for one in asked]
    row: Row = {"case": case, "rows": rows, "queries": queries, "with matches": sum(one.matches > 0 for one in asked)}
    row |= {
        "full, CPU s": statistics.median(one.full for one in asked),
        "replay, CPU s": statistics.median(one.replay for one in asked),
    }
    row |= {"full / replay": statistics.median(times), "mean": statistics.fmean(times), "least": min(times), "most": max(times)}
    row |= {"full / replay, sums": sum(one.full for one in asked) / sum(one.replay for one in asked)}
    plans = [one.plan for one in asked]
    row |= {"full runs": sum(plan.full for plan in plans), "scans": statistics.fmean(len(plan.steps) for plan in plans)}
    row |= {"replayed, %": 100 * statistics.median(plan.replayed / plan.rows for plan in plans)}
    row |= _errors(asked)
    planning = sorted(1000 * one.planning for one in asked)
    return {**row, "planning, ms": statistics.median(planning), "planning, most ms": planning[-1]}


def _errors(asked: Sequence[Asking]) -> Row:
    """Return quantiles of the relative error of the rows that were expected before the first scan, where some were replayed."""
    some = [one for one in asked if not one.plan.full and one.plan.replayed and one.expected is not None]
    off = [abs(one.expected - one.plan.replayed) for one in some]
    errors = [far / one.plan.replayed for far, one in zip(off, some)]
    quantiles = {
        f"error, p{100 * at:g}": float(np.quantile(errors, at)) if errors else None for at in (0.05, 0.25, 0.5, 0.75, 0.95)
    }
    most = max((far / one.plan.rows for far, one in zip(off, some)), default=None)
    return {"some replayed": len(some), **quantiles, "error, most, of all rows": most}


def _asked(path: str, few: str, automaton: Automaton) -> Asking:
    names = [field.name for field in automaton.event_schema.fields]
    for warm in (few, path):
        of = History(warm, "at", None, names, WINDOW)
        by_hand, whole = spent(lambda of=of: full(automaton, of))
        wanted = answer(by_hand, ("le", "re"))
        del by_hand
        expected, planning = spent(lambda of=of: _plan(automaton, of.path))
        found, seconds = spent(lambda of=of: replay(automaton, of.path, time="at", window=WINDOW))
        got = answer([found.matches], ("le", "re"))
        assert got == wanted, f"expected {wanted} but got {got} from {found.plan} for {automaton!r}"
    return Asking(whole, seconds, planning, wanted.matches, expected, found.plan)


def _plan(automaton: Automaton, path: str) -> float | None:
    """Do all that `replay` does before it scans a column. Return how many rows it expects to be replayed."""
    asking = question(automaton, path, Asked(window=WINDOW), ("at", None, None, "latest"))
    shares = Shares(asking, asking.necessary().boxes)
    needs, lived = asking.necessary(shares.whole), longest_lifetime(asking)
    extents = asking.extents
    costs = Costs(asking.stored.rows, extents.least, extents.latest, needs.witnesses, shares, len(asking.names), lived)
    plan = planned(asking, needs)
    first_scan(asking, needs, costs, lived, plan)
    return plan.expected
