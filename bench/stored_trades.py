"""A day of trades, repeated: stored tables for the benchmarks of replay, and where they are kept.

Six minutes of Binance trades of six symbols (`bench.data`), or a stand-in of the same shape: 600 times one after the other, each
time at a price that has drifted and with sizes of its own, larger ones for an hour and smaller ones. Three columns of noise beside.
AFA_BENCH_CACHE names a folder in which tables are kept for the next time; without it they are made anew, and gone afterwards.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv

from bench import data
from bench.measure import Options

FOLDER = "AFA_BENCH_CACHE"
ROWS = 33_162_000
"""At full scale."""
WINDOW = 10_000
COLUMNS = ("notional", "noise1", "noise2", "noise3")
SCHEMA = pa.schema(
    [
        ("time", pa.int64()),
        ("symbol", pa.int32()),
        ("price", pa.float64()),
        ("notional", pa.float64()),
        ("buyer_is_maker", pa.bool_()),
        *((f"noise{n}", pa.float64()) for n in (1, 2, 3)),
    ]
)
Capture = tuple[Any, Any, Any, Any, Any]
"""Milliseconds, number of the symbol, price, notional, whether the buyer is the maker: by time."""


@contextlib.contextmanager
def folder() -> Iterator[Path]:
    """Where stored tables are put."""
    kept = os.environ.get(FOLDER)
    if kept is not None:
        Path(kept).mkdir(parents=True, exist_ok=True)
        yield Path(kept)
        return
    with tempfile.TemporaryDirectory() as made:
        yield Path(made)


def stored(where: Path, name: str, parts: Callable[[], Iterable[pa.Table]], group: int, dictionary: list[str] | None = None) -> str:
    """Return the path of a table with row groups of so many rows; it is written unless it is there."""
    path = where / f"{name}-{group}.parquet"
    if not path.exists():
        half = where / f"{path.name}.part"
        _write(half, parts(), group, dictionary)
        half.rename(path)
    return str(path)


def _write(path: Path, parts: Iterable[pa.Table], group: int, dictionary: list[str] | None) -> None:
    """Write tables one behind the other, in row groups of one size."""
    writer, held = None, None
    for part in parts:
        writer = writer or pq.ParquetWriter(path, part.schema, compression="zstd", use_dictionary=dictionary or False)
        held = part if held is None else pa.concat_tables([held, part])
        whole = held.num_rows // group * group
        if whole >= 1 << 20:
            writer.write_table(held.slice(0, whole).combine_chunks(), row_group_size=group)
            held = held.slice(whole)
    assert writer is not None
    assert held is not None
    if held.num_rows:
        writer.write_table(held.combine_chunks(), row_group_size=group)
    writer.close()


def source() -> str:
    """Say what trades are repeated."""
    return "a stand-in" if data.missing(data.BINANCE) else "Binance"


def trades(where: Path, rows: int, group: int) -> str:
    """Return the path of so many trades."""
    return stored(where, f"trades-{source().split()[-1]}-{rows}", lambda: _repeated(rows), group, ["symbol"])


def group_of(full: int, rows: int, o: Options) -> int:
    """Return how many rows a row group has where the full scale has so many: as many row groups, of 512 rows at least."""
    return full if o.scale == "full" else max(512, full * rows // ROWS)


def thresholds(path: str, column: str, shares: Iterable[float]) -> list[float]:
    """Return the values of a column that these shares of rows reach."""
    values = pq.read_table(path, columns=[column])[column].to_numpy()
    return [float(value) for value in np.quantile(values, [1 - share for share in shares])]


def _repeated(rows: int) -> Iterator[pa.Table]:
    ms, symbol, price, notional, maker = _capture()
    times = -(-rows // len(ms))
    rng = np.random.default_rng(7)
    drift = np.exp(np.cumsum(rng.normal(0, 0.004, max(times, 600))))
    larger = np.exp(np.repeat(rng.normal(0, 0.6, max(times, 600) // 10 + 1), 10))
    span = int(ms[-1] - ms[0]) + 1000
    for k in range(times):
        n = min(len(ms), rows - k * len(ms))
        own = np.random.default_rng(k)
        sizes = notional * larger[k] * own.lognormal(0, 0.25, len(ms))
        columns = [ms + k * span, symbol, price * drift[k], sizes, maker, *(own.random(len(ms)) for _ in range(3))]
        yield pa.table([column[:n] for column in columns], schema=SCHEMA)


def _capture() -> Capture:
    return _stand_in() if data.missing(data.BINANCE) else _binance()


def _binance() -> Capture:
    """The trades of the capture; the notional in the currency of the quote, so that one threshold speaks of all."""
    table = csv.read_csv(Path(os.environ[data.FOLDER]) / data.BINANCE)
    texts = [table[name].to_numpy(zero_copy_only=False).astype(str) for name in ("venue", "symbol")]
    names, symbol = np.unique(np.char.add(np.char.add(texts[0], ":"), texts[1]), return_inverse=True)
    ms, price, size = (table[name].to_numpy() for name in ("trade_ms", "price", "qty"))
    contract = np.array([0 if not name.startswith("cm:") else 100 if "BTC" in name else 10 for name in names])[symbol]
    notional = np.where(contract > 0, size * contract, size * price)
    order = np.argsort(ms, kind="stable")
    maker = table["buyer_is_maker"].to_numpy().astype(bool)
    return ms.astype(np.int64)[order], symbol.astype(np.int32)[order], price[order], notional[order], maker[order]


def _stand_in(rows: int = 55_270, lasts: int = 345_929) -> Capture:
    """Trades of six symbols in bursts: shares and sizes as those of the capture, prices about as restless."""
    rng = np.random.default_rng(1)
    symbol = rng.choice(6, rows, p=[0.041, 0.031, 0.177, 0.110, 0.386, 0.255]).astype(np.int32)
    gaps = rng.lognormal(0, 2, rows)
    ms = 1_723_161_256_000 + (np.cumsum(gaps) / gaps.sum() * lasts).astype(np.int64)
    price, notional = np.empty(rows), np.empty(rows)
    sizes = ((12.9, 1.75), (11.2, 2.1), (4.4, 2.58), (4.0, 2.64), (7.0, 1.87), (5.4, 2.17))
    for number, (mean, deviation) in enumerate(sizes):
        of = symbol == number
        moves = rng.normal(0, 4e-5, of.sum()) * 1.7 * (rng.random(of.sum()) > 0.64)
        price[of] = (60_000 if number % 2 == 0 else 2_600) * np.exp(np.cumsum(moves))
        notional[of] = rng.lognormal(mean, deviation, of.sum())
    return ms, symbol, price, notional, rng.random(rows) < 0.5
