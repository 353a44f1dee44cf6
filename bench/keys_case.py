"""One case of `bench_keys` in a process of its own: ``python -m bench.keys_case JSON`` prints JSON.

``{"case", "variant", "engine", "keys", "folder", "options"}``: the variant is "afa", or "by hand" (`bench.by_hand`); the folder
is a checkout whose afa is taken instead of this one's, or null; options are those of `Keyed`.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import hashlib
import json
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from bench.by_hand import ByHand

Columns = dict[str, Any]
STEADY = 4
"""Rows of each key after its first."""


cpu = time.process_time
"""Seconds of this process, user and system: new memory is paid in the system's."""


class Afa:
    """The operator."""

    def __init__(self, window: int, engine: str, **options: Any) -> None:
        from afa import Keyed
        from bench.queries import q1

        self.op = Keyed(q1(), key="key", window=window, engine=engine, **options)  # type: ignore[arg-type]

    def push(self, columns: Columns) -> Any:
        return self.op.push_many(columns)

    def promise(self, t: int) -> None:
        from afa import Punctuation

        self.op.push(Punctuation(t))

    def said(self) -> int:
        """Bytes of its heap as the operator knows them; 0: it does not say."""
        store = getattr(self.op._core.engine, "store", None)
        return 0 if store is None else int(store.memory.used)

    def matches(self, out: Any) -> Columns:
        """An output as columns of numbers; of each match one row: nothing here is withdrawn."""
        found = {name: np.asarray(out[name]) for name in ("key", "le", "re", "diff")}
        assert (found["diff"] == 1).all()
        return {name: column.astype(np.int64) for name, column in found.items() if name != "diff"}


class Hand:
    """What is written by hand."""

    def __init__(self, window: int, engine: str, **options: Any) -> None:
        self.op = ByHand(window)

    def push(self, columns: Columns) -> Any:
        keys = columns["key"]
        keys = keys.to_pylist() if hasattr(keys, "to_pylist") else keys.tolist()
        return self.op.push(zip(keys, np.asarray(columns["change"]).tolist(), np.asarray(columns["le"]).tolist()))

    def promise(self, t: int) -> None:
        self.op.promise(t)

    def said(self) -> int:
        return 0

    def matches(self, out: Any) -> Columns:
        key, le, re = ([row[i] for row in out] for i in range(3))
        return dict(zip(("key", "le", "re"), (np.array(list(map(int, column)), np.int64) for column in (key, le, re))))


def digest(parts: list[Columns]) -> list[Any]:
    """How many matches, and a digest of them in order."""
    whole = {name: np.concatenate([part[name] for part in parts]) for name in ("key", "le", "re")}
    order = np.lexsort((whole["re"], whole["le"], whole["key"]))
    text = hashlib.blake2b(digest_size=8)
    for column in whole.values():
        text.update(np.ascontiguousarray(column[order]).tobytes())
    return [len(order), text.hexdigest()]


# -- streams -----------------------------------------------------------------------------------------------------------------


def rows(key: Any, le: int, seed: int) -> Columns:
    """One row for each of these keys, a tick each."""
    n = len(key)
    change = np.random.default_rng(seed).normal(0, 1, n)
    return {"key": key, "price": 100 + change, "change": change, "le": np.arange(le, le + n)}


def order_of(name: str, keys: int, n: int, number: int) -> Any:
    """The keys of the rows of a batch."""
    rng = np.random.default_rng(number)
    if name == "each":
        return rng.permutation(keys)[:n].astype(np.int64)
    if name == "grouped":
        return np.repeat(np.arange(keys, dtype=np.int64), -(-n // keys))[:n]
    if name == "turn":
        return (np.arange(number * n, (number + 1) * n, dtype=np.int64)) % keys
    weights = np.arange(1, keys + 1, dtype=np.float64) ** -1.1
    return np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(n)).clip(0, keys - 1).astype(np.int64)


def named(columns: Columns) -> Columns:
    """The same with keys of 12 characters, as Arrow has them."""
    import pyarrow as pa

    return {**columns, "key": pa.array(np.char.zfill(columns["key"].astype("U12"), 12))}


# -- cases -------------------------------------------------------------------------------------------------------------------


def pushed(make: Any, batches: list[Columns], every: bool = False) -> tuple[float, float, list[Columns]]:
    """Push batches, with a promise after each of them if ``every``: CPU seconds, wall seconds and matches."""
    used, wall, found = 0.0, 0.0, []
    for batch in batches:
        gc.collect()
        begin, clock = cpu(), time.perf_counter()
        out = make.push(batch)
        if every:
            make.promise(int(np.asarray(batch["le"])[-1]) + 1)
        used, wall = used + cpu() - begin, wall + time.perf_counter() - clock
        found.append(make.matches(out))
    return used, wall, found


def each(make: Callable[..., Any], keys: int, text: bool = False, **options: Any) -> Columns:
    """A row of each key, then `STEADY` more: rates, memory."""
    window, form = 10_000 * keys, named if text else dict
    batches: list[Columns] = [form(rows(order_of("each", keys, keys, i), i * keys, i)) for i in range(1 + STEADY)]  # type: ignore[operator]
    op = make(window, **options)
    gc.collect()
    begin = resident()
    first, _, found = pushed(op, batches[:1])
    small, said = resident() - begin, op.said()
    more, more_wall, others = pushed(op, batches[1:])
    large = resident() - begin
    return {
        "first, M rows/s": keys / first / 1e6,
        "more, M rows/s": STEADY * keys / more / 1e6,
        "more, M rows/s of wall": STEADY * keys / more_wall / 1e6,
        "1 event, bytes a key": small / keys,
        f"{1 + STEADY} events, bytes a key": large / keys,
        **({"1 event, by the operator": said / keys, f"{1 + STEADY} events, by the operator": op.said() / keys} if said else {}),
        "answer": digest([*found, *others]),
    }


def in_batches(make: Callable[..., Any], keys: int, order: str, n: int, batch: int, **options: Any) -> Columns:
    """So many rows in batches, with a promise after each; the first quarter is not timed: there the state grows."""
    batches = [rows(order_of(order, keys, batch, i), i * batch, i) for i in range(max(4, n // batch))]
    op = make(500 * keys, **options)
    _, _, before = pushed(op, batches[: len(batches) // 4], every=True)
    used, wall, found = pushed(op, batches[len(batches) // 4 :], every=True)
    timed = (len(batches) - len(batches) // 4) * batch
    return {"M rows/s": timed / used / 1e6, "M rows/s of wall": timed / wall / 1e6, "answer": digest([*before, *found])}


def promise(make: Callable[..., Any], keys: int, **options: Any) -> Columns:
    """A promise over keys of one event, of which a thousandth is concerned; on its own, and as the row behind a table."""
    some = max(1, keys // 1000)
    batch = rows(np.arange(keys, dtype=np.int64), 0, 1)
    batch["le"] = batch["le"] + np.where(batch["key"] < 2 * some, 0, 10 * keys)
    op = make(100 * keys, **options)
    op.push(batch)
    gc.collect()
    begin = cpu()
    op.promise(some)
    alone = cpu() - begin
    if not isinstance(op, Afa):
        return {"alone, ms": 1e3 * alone, "answer": []}
    row = {name: np.concatenate([column[:1], column[:1]]) for name, column in batch.items()}
    row |= {"kind": np.array([0, 2]), "le": np.array([3 * keys, 2 * some]), "change": np.array([0.0, 0.0])}
    begin = cpu()
    op.push(row)
    behind = cpu() - begin
    begin = cpu()
    op.promise(3 * some)
    none = cpu() - begin
    held = op.op.statistics
    return {
        "alone, ms": 1e3 * alone,
        "behind a table, ms": 1e3 * behind,
        "of none, ms": 1e3 * none,
        "answer": [held.events, held.keys],
    }


def saved(make: Callable[..., Any], keys: int, **options: Any) -> Columns:
    """A snapshot of keys of one event, and a restore."""
    from afa import Keyed
    from bench.queries import q1

    op = make(10_000 * keys, **options)
    op.push(rows(order_of("each", keys, keys, 0), 0, 0))
    gc.collect()
    begin = cpu()
    blob = op.op.snapshot()
    save = cpu() - begin
    begin = cpu()
    again = Keyed.restore(q1(), blob, key="key", engine=options["engine"])
    restore = cpu() - begin
    tenth = rows(np.arange(0, keys, 10, dtype=np.int64), keys, 1)
    again.push_many(tenth)
    begin = cpu()
    more = again.snapshot(incremental=True)
    some = cpu() - begin
    last = Keyed.restore(q1(), [blob, more], key="key", engine=options["engine"])
    assert last.snapshot() == again.snapshot(), "the chain is another state"
    out = last.push_many(rows(order_of("each", keys, keys, 2), 2 * keys, 2))
    answer = [len(out["le"]), *(int(out[name].sum()) for name in ("le", "key"))]
    return {"snapshot, s": save, "restore, s": restore, "incremental, s": some, "bytes a key": len(blob) / keys, "answer": answer}


def alone(make: Callable[..., Any], keys: int, late: float = 0.0, **options: Any) -> Columns:
    """One key, as many rows as there are keys elsewhere, so many of them late by up to 1,000 places."""
    from afa import Operator
    from bench.drive import batched, run
    from bench.queries import q1
    from bench.workloads import punctuated, shifted, ticks

    fed = batched(punctuated(shifted(ticks(2 * keys), late), 100_000), 100_001)
    done = run(lambda: Operator(q1(), window=500, engine=options["engine"]), fed)
    return {"M rows/s": done.rate, "answer": [done.final, done.answer]}


CASES: dict[str, Callable[..., Columns]] = {
    "each": each,
    "each, text": lambda make, keys, **o: each(make, keys, text=True, **o),
    "grouped": lambda make, keys, **o: in_batches(make, max(10, keys // 100), "grouped", 2 * keys, max(100, keys // 10), **o),
    "turn": lambda make, keys, **o: in_batches(make, max(10, keys // 100), "turn", 2 * keys, max(100, keys // 10), **o),
    "zipf": lambda make, keys, **o: in_batches(make, keys, "zipf", 4 * keys, keys, **o),
    "promise": promise,
    "saved": saved,
    "in order": alone,
    "20 % late": lambda make, keys, **o: alone(make, keys, late=0.2, **o),
}


def resident() -> float:
    """Bytes that this process holds, without what C's allocator keeps of arrays that are gone."""
    with contextlib.suppress(AttributeError, OSError):  # another C library
        ctypes.CDLL(None).malloc_trim(0)
    from bench.bench_memory import resident as mebibytes

    return mebibytes() * 2**20


def measured(said: Columns) -> Columns:
    """What one variant of a case measures."""
    options = {"engine": said["engine"], **said["options"]}
    make: Any = Hand if said["variant"] == "by hand" else Afa
    if make is Afa:  # kernels and code of arcs are there
        warm = Afa(1000, **options)
        warm.push(rows(np.arange(min(20_000, said["keys"]), dtype=np.int64) % 100, 0, 9))
        warm.promise(10_000)
        del warm
    found = CASES[said["case"]](make, said["keys"], **options)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {**found, "most, MiB": most, "from": sys.modules["afa"].__file__ if make is Afa else "by hand"}


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    if asked["folder"]:
        sys.path.insert(0, asked["folder"])
    print(json.dumps(measured(asked)))
