"""What does it cost to ask stored history, beside a full run? And to put right what came late?

33 M trades of six symbols, a window of 10 s. A large trade, then a price half a per mille higher: by the share of large ones and
the size of row groups. Two rare events in different columns: the plan that replay chooses, beside columns in a given order.
A hundred random patterns on 4 M trades, each by all orders of its columns. A thousand late rows, within an hour or spread over
all. The full run is by hand (`full_run.py`). CPU time of the process, the best of the rounds, which interleave; the matches of all
ways are the same, and the difference that `amend` finds is that of two full runs.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from afa import Arc, Automaton
from afa.operator.options import Options as Asked
from afa.replay import amend, replay
from afa.replay.question import question
from afa.replay.replaying import answers, located
from bench.full_run import Answer, History, answer, full
from bench.measure import Options, Row, best_of, spent
from bench.stored_trades import COLUMNS, ROWS, WINDOW, folder, group_of, source, thresholds, trades

GROUPS = {"1M": 1 << 20, "128K": 1 << 17, "16K": 1 << 14}
SHARES = (1e-3, 1e-4, 1e-5, 1e-6)
PAIRS = ((1e-4, 1e-4), (1e-3, 1e-5), (1e-5, 1e-3), (1e-6, 1e-4))
ORDERS = {
    "first": ("notional",),
    "second": ("noise1",),
    "both": ("notional", "noise1"),
    "back": ("noise1", "notional"),
}
PATTERNS = 100
AGAIN = 3
"""So many of the best orders of a random pattern, and the plan that was chosen, are run again."""
LATE = 1000


class Trade(NamedTuple):
    symbol: int
    price: float
    notional: float


class Noisy(NamedTuple):
    symbol: int
    notional: float
    noise1: float


class Noise(NamedTuple):
    symbol: int
    notional: float
    noise1: float
    noise2: float
    noise3: float


class Placed(NamedTuple):
    price: float = 0.0
    size: float = 0.0


class Two(NamedTuple):
    size: float = 0.0
    seen: float = 0.0


def measure(o: Options) -> list[Row]:
    rows, fewer = o.size(ROWS, 8000), o.size(4_000_000, 8000)
    with folder() as where:
        paths = {name: trades(where, rows, group_of(group, rows, o)) for name, group in GROUPS.items()}
        return [*_large(paths, o), *_pairs(paths, o), *_random(where, fewer, o), *_late(paths, o)]


def big(least: float, up: float = 1.0005) -> Automaton:
    """A trade that is so large, then a price half a per mille higher."""
    return Automaton(
        start="start",
        final={"jumped"},
        register=Placed(),
        event=Trade,
        arcs=[
            Arc("start", "placed", f"notional >= {least!r}", "r._replace(price=e.price, size=e.notional)"),
            Arc("placed", "placed", f"e.price < r.price * {up!r}"),
            Arc("placed", "jumped", f"e.price >= r.price * {up!r}"),
        ],
    )


def two(least: float, noise: float) -> Automaton:
    """A trade that is so large, and later one that is so noisy."""
    return Automaton(
        start="start",
        final={"both"},
        register=Two(),
        event=Noisy,
        arcs=[
            Arc("start", "a", f"notional >= {least!r}", "r._replace(size=e.notional)"),
            Arc("a", "a", "True"),
            Arc("a", "both", f"noise1 >= {noise!r}", "r._replace(seen=e.noise1)"),
        ],
    )


def several(asked: Sequence[tuple[str, float]]) -> Automaton:
    """Trades that reach these values of these columns, one after the other, with any between them."""
    last = len(asked)
    arcs = [Arc(str(i), str(i + 1), f"{column} >= {least!r}") for i, (column, least) in enumerate(asked)]
    return Automaton(
        start="0", final={str(last)}, event=Noise, arcs=[*arcs, *(Arc(str(i), str(i), "True") for i in range(1, last))]
    )


# -- a large trade ---------------------------------------------------------------------------------------------------------------


def _large(paths: dict[str, str], o: Options) -> Iterator[Row]:
    wanted = thresholds(paths["1M"], "notional", SHARES)
    _warm(big(wanted[-1]), paths["1M"], Trade)
    for share, least in zip(SHARES, wanted):
        for name in ("1M", "128K"):
            of, pattern = _history(paths[name], Trade), big(least)
            ways = {"full": _by_hand(pattern, of), "replay": lambda of=of, pattern=pattern: _replayed(pattern, of)}
            best, found, plan = _best(ways, ("symbol", "price", "size", "le", "re"), o)
            row: Row = {"case": "a large trade", "trades": source(), "large": share, "row groups": name, "matches": found.matches}
            row |= {"full, CPU s": best["full"], "replay, CPU s": best["replay"], "full / replay": best["full"] / best["replay"]}
            yield {**row, "replayed, rows": plan["replay"].replayed, "plan": _columns(plan["replay"])}


def _pairs(paths: dict[str, str], o: Options) -> Iterator[Row]:
    firsts, seconds = ([pair[i] for pair in PAIRS] for i in (0, 1))
    sizes, noises = thresholds(paths["1M"], "notional", firsts), thresholds(paths["1M"], "noise1", seconds)
    of = _history(paths["16K"], Noisy)
    _warm(two(sizes[-1], noises[-1]), paths["16K"], Noisy)
    for pair, least, noise in o.some(list(zip(PAIRS, sizes, noises))):
        pattern = two(least, noise)
        ways = {"full": _by_hand(pattern, of), "chosen": lambda pattern=pattern: _replayed(pattern, of)}
        ways |= {name: _in_order(pattern, of, order) for name, order in ORDERS.items()}
        best, found, plan = _best(ways, ("symbol", "size", "seen", "le", "re"), o)
        row: Row = {
            "case": "two rare events",
            "first": pair[0],
            "second": pair[1],
            "matches": found.matches,
            "full, CPU s": best["full"],
        }
        row |= {f"full / {name}": best["full"] / seconds for name, seconds in best.items() if name != "full"}
        yield {**row, "plan": _columns(plan["chosen"])}


# -- random patterns -------------------------------------------------------------------------------------------------------------


def _random(where: Path, rows: int, o: Options) -> Iterator[Row]:
    for name in o.some(("16K", "128K")):
        path = trades(where, rows, GROUPS[name] if o.scale == "full" else max(512, GROUPS[name] * rows // ROWS))
        yield from _all_orders(path, name, PATTERNS if o.scale == "full" else 2, o)


def _all_orders(path: str, name: str, many: int, o: Options) -> Iterator[Row]:
    rng = np.random.default_rng(5)
    values = {column: np.sort(pq.read_table(path, columns=[column])[column].to_numpy()) for column in COLUMNS}
    to_best, to_full, times, chosen = [], [], [], []
    for _ in range(many):
        columns = rng.permutation(COLUMNS)[: rng.integers(2, 4)].tolist()
        shares = 10 ** rng.uniform(-6, -2, len(columns))
        asked = [(column, float(np.quantile(values[column], 1 - share))) for column, share in zip(columns, shares)]
        best, plan = _one_by_all(several(asked), _history(path, Noise), columns, o)
        others = min(seconds for way, seconds in best.items() if way != "chosen")
        to_best.append(best["chosen"] / others)
        to_full.append(best["chosen"] / best["full"])
        times.append(best["full"] / best["chosen"])
        chosen.append((to_best[-1], asked, shares, best, plan))
    said: Row = {"case": "random patterns", "row groups": name, "patterns": many}
    for column, each in (("chosen / best", to_best), ("chosen / full", to_full), ("full / chosen", times)):
        said |= {f"{column}, median": statistics.median(each), f"{column}, p90": float(np.quantile(each, 0.9))}
        said |= {f"{column}, worst": min(each) if column == "full / chosen" else max(each)}
    yield {**said, "within 20 %": sum(each <= 1.2 for each in to_best) / many}
    worst, asked, shares, best, plan = max(chosen, key=lambda one: one[0])
    order = min((way for way in best if way != "chosen"), key=lambda way: best[way])
    row: Row = {
        "case": "the worst of them",
        "row groups": name,
        "pattern": ", ".join(f"{c} {s:.1g}" for (c, _), s in zip(asked, shares)),
    }
    row |= {"plan": _columns(plan), "best": order or "statistics", "chosen / best": worst}
    yield {**row, **{f"{way}, CPU s": best[key] for way, key in (("chosen", "chosen"), ("best", order), ("full", "full"))}}


def _one_by_all(pattern: Automaton, of: History, columns: Sequence[str], o: Options) -> tuple[dict[str, float], Any]:
    """Return what each order of the columns takes, the full run, and what replay chooses: the dearer ones are run once."""
    orders = [order for n in range(len(columns) + 1) for order in permutations(columns, n)]
    ways = {"chosen": lambda: _replayed(pattern, of), "full": _by_hand(pattern, of)}
    ways |= {" ".join(order): _in_order(pattern, of, order) for order in orders}
    _in_order(pattern, of, columns)()
    best, _, plan = _best(ways, ("symbol", "le", "re"), o._replace(scale="tiny"))
    first = sorted((way for way in best if way not in ("chosen", "full")), key=lambda way: best[way])[:AGAIN]
    if o.scale == "full":
        again, _, _ = _best({way: ways[way] for way in ("chosen", "full", *first)}, ("symbol", "le", "re"), o)
        best |= {way: min(best[way], seconds) for way, seconds in again.items()}
    return best, plan["chosen"]


# -- late rows -------------------------------------------------------------------------------------------------------------------


def _late(paths: dict[str, str], o: Options) -> Iterator[Row]:
    (least,), noise = thresholds(paths["1M"], "notional", [1e-3]), 0.999
    pattern, names = two(least, noise), ("symbol", "size", "seen", "le", "re")
    source_ = pq.read_table(paths["1M"], columns=["time", "symbol"])
    le, symbol = source_["time"].to_numpy(), source_["symbol"].to_numpy()
    many = LATE if o.scale == "full" else 50
    for name in ("1M", "16K"):
        of = _history(paths[name], Noisy)
        _warm(pattern, paths[name], Noisy)
        for how in ("within an hour", "spread over all"):
            at = _some(le, many, how)
            late = pa.table(
                {
                    "time": pa.array(le[at]),
                    "symbol": pa.array(symbol[at]),
                    "notional": np.full(many, 2 * least),
                    "noise1": np.full(many, 0.9999),
                }
            )
            yield {"case": "late rows", "row groups": name, "late": how, **_amended(pattern, of, late, names, o)}


def _some(le: Any, many: int, how: str) -> Any:
    """Return some rows, by time: of all, or of an hour in the midst."""
    rng = np.random.default_rng(4)
    middle = len(le) // 2
    end = len(le) if how == "spread over all" else int(np.searchsorted(le, le[middle] + 3_600_000))
    begin = 0 if how == "spread over all" else min(middle, end - many)
    return np.sort(rng.choice(np.arange(begin, end), many, replace=False))


def _amended(pattern: Automaton, of: History, late: pa.Table, names: Sequence[str], o: Options) -> Row:
    more = {"le": late["time"].to_numpy(), **{name: late[name].to_numpy() for name in of.columns}}

    def amended() -> pa.Table:
        return amend(pattern, of.path, late, key=of.key, time=of.time, window=of.window, applied=False)

    after, _ = spent(lambda: answer(full(pattern, of, more), names))
    took: dict[str, list[float]] = {"full": [], "amend": []}
    for _ in range(min(o.rounds, 3)):
        before, seconds = spent(lambda: full(pattern, of))
        took["full"].append(seconds)
        found, seconds = spent(amended)
        took["amend"].append(seconds)
        then = answer(before, names)
        change = answer([found], names)
        sum_ = Answer(then.matches + change.matches, (then.digest + change.digest) % (1 << 64))
        assert sum_ == after, f"expected the matches of a full run over all rows, {after}, but got {sum_}"
    assert found.num_rows or o.scale != "full", (
        "expected changes of matches but got none: a benchmark without output measures nothing"
    )
    row: Row = {"late rows": late.num_rows, "changes of matches": found.num_rows, "full, CPU s": min(took["full"])}
    return {**row, "amend, CPU s": min(took["amend"]), "full / amend": min(took["full"]) / min(took["amend"])}


# -- ways ------------------------------------------------------------------------------------------------------------------------


def _history(path: str, event: Any) -> History:
    return History(path, "time", "symbol", event._fields, WINDOW)


def _by_hand(pattern: Automaton, of: History) -> Callable[[], tuple[Any, Any]]:
    return lambda: (full(pattern, of), None)


def _replayed(pattern: Automaton, of: History) -> tuple[Any, Any]:
    found = replay(pattern, of.path, key=of.key, time=of.time, window=of.window)
    return [found.matches], found.plan


def _in_order(pattern: Automaton, of: History, order: Sequence[str]) -> Callable[[], tuple[Any, Any]]:
    """Return what replays with the columns in a given order; none: by statistics alone."""

    def go() -> tuple[Any, Any]:
        asking = question(pattern, of.path, Asked(key=of.key, window=of.window), (of.time, None, None, "latest"))
        found, plan = located(asking, order=[(column,) for column in order])
        return answers([asking], found, plan), plan

    return go


def _best(ways: dict[str, Callable[[], tuple[Any, Any]]], names: Sequence[str], o: Options) -> tuple[dict[str, float], Answer, Any]:
    """What each way takes at least, what all of them find, and their plans."""

    def agree(found: dict[str, Any]) -> None:
        answers = {way: answer(tables, names) for way, (tables, _) in found.items()}
        assert len(set(answers.values())) == 1, f"expected one answer but got {answers}"

    best, found = best_of(ways, min(o.rounds, 3), agree)
    return best, answer(found["full"][0], names), {way: plan for way, (_, plan) in found.items()}


def _columns(plan: Any) -> str:
    """Return which columns a plan scanned, in order."""
    if plan.full:
        return "full run"
    return ", ".join(" ".join(step.columns) for step in plan.steps) or "statistics"


def _warm(pattern: Automaton, path: str, event: Any) -> None:
    """Compile what is compiled: for a pattern of the same form, on few rows."""
    few = Path(path).with_suffix(".few")
    pq.write_table(pq.ParquetFile(path).read_row_group(0).slice(0, 100), few)
    of = _history(str(few), event)
    full(pattern, of)
    _replayed(pattern, of)
    _in_order(pattern, of, ())()
    few.unlink()
