"""How does the rate depend on the number of keys, and what does a key cost? Q1, k = 1.

By number of keys, a punctuation after every batch of 100,000 events: those of the keys in turn; with those of a key side by side in
each batch, and in batches of ten times as many; and keys drawn by Zipf's law (exponent 1.1).

Then a million keys, each case in a process of its own, in turns with a dict of Python objects written by hand for this pattern
(`bench.by_hand`; in order only) and with the engine of another checkout (``--before FOLDER``): rows a second of CPU time, user and
system, so that new memory counts, but without the first quarter of the batches; bytes a key by what the process holds. Answers are
compared.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

from afa import Keyed
from bench import keys_case
from bench.drive import batched, run
from bench.measure import WINDOW, Options, Row, interleaved, rates, ratio, spread
from bench.queries import q1
from bench.workloads import grouped, keyed, punctuated

KEYS = (1, 10, 100, 1_000, 10_000, 100_000)
BATCH = 100_000
MANY, ROUNDS = 1_000_000, 3


def measure(o: Options) -> list[Row]:
    return [*(number(o, keys) for keys in (o.some(KEYS) if o.scale != "tiny" else (1, 20))), *table(o)]


def number(o: Options, keys: int) -> Row:
    """One number of keys. A window is `WINDOW` events of a key; LEs run over all keys."""
    n, batch = o.size(2_000_000), o.size(BATCH)
    turns = keyed(n, keys)

    def make() -> Any:
        return Keyed(q1(), key="key", window=WINDOW * keys, engine=o.engine)  # type: ignore[arg-type]

    orders = {
        "in turn": (turns, batch),
        "grouped": (grouped(turns, batch), batch),
        "zipf": (keyed(n, keys, zipf=1.1), batch),
    }
    if keys <= 10_000:
        orders["large"] = (grouped(keyed(4 * n, keys), 10 * batch), 10 * batch)
    runs = {}
    for name, (stream, size) in orders.items():
        # A promise that splits no batch: rows of a batch and its punctuation go together.
        fed = batched(punctuated(stream, size), size + 1)
        runs[name] = partial(run, make, fed)
    columns = interleaved(runs, o.rounds, agree=False)
    assert columns["in turn"][0].answer == columns["grouped"][0].answer, "the order of keys changed the answer"
    return {
        "keys": keys,
        "events per key and batch": batch / keys,
        "in turn, M events/s": rates(columns["in turn"]),
        "grouped, M events/s": rates(columns["grouped"]),
        **({"grouped, batches of 1,000,000, M events/s": rates(columns["large"])} if "large" in columns else {}),
        "Zipf, M events/s": rates(columns["zipf"]),
        "grouped, relative to in turn": ratio(columns["grouped"], columns["in turn"]),
        "matches": columns["grouped"][0].final,
    }


# -- a million keys ------------------------------------------------------------------------------------------------------------

RATES: dict[str, tuple[str, str]] = {
    "a row of each key, all new": ("each", "first, M rows/s"),
    "a row of each key, four times more": ("each", "more, M rows/s"),
    "the same, new keys of 12 characters": ("each, text", "first, M rows/s"),
    "the same, known keys of 12 characters": ("each, text", "more, M rows/s"),
    "a hundredth of the keys, grouped": ("grouped", "M rows/s"),
    "a hundredth of the keys, in turn": ("turn", "M rows/s"),
    "Zipf 1.1": ("zipf", "M rows/s"),
    "one key, in order": ("in order", "M rows/s"),
    "one key, 20 % late": ("20 % late", "M rows/s"),
}
"""What rates are called, and which case measures them."""
OTHERS: dict[str, tuple[str, str]] = {
    "1 event, bytes a key": ("each", "1 event, bytes a key"),
    "5 events, bytes a key": ("each", "5 events, bytes a key"),
    "1 event, of these its heap": ("each", "1 event, by the operator"),
    "5 events, of these its heap": ("each", "5 events, by the operator"),
    "1 event, key of 12 characters, bytes a key": ("each, text", "1 event, bytes a key"),
    "promise that concerns a thousandth, ms": ("promise", "alone, ms"),
    "the same behind a table, ms": ("promise", "behind a table, ms"),
    "promise that concerns none, ms": ("promise", "of none, ms"),
    "snapshot, 1 event, s": ("saved", "snapshot, s"),
    "restore, 1 event, s": ("saved", "restore, s"),
    "snapshot of a tenth that has changed, s": ("saved", "incremental, s"),
}
"""The same of bytes and times."""
IN_ORDER = ("each", "each, text", "grouped", "turn", "zipf", "promise")
"""Cases that the dict by hand can do."""
THREADED = ("each", "grouped")


def table(o: Options) -> list[Row]:
    """Rates, bytes and times of a million keys, with what stands beside them."""
    found = {case: runs_of(o, case) for case in dict.fromkeys(case for case, _ in (*RATES.values(), *OTHERS.values()))}
    rows: list[Row] = [_row("case", name, *of, found, rates=True) for name, of in RATES.items()]
    rows += [_row("cost", name, *of, found, rates=False) for name, of in OTHERS.items() if _of(found[of[0]]["afa"], of[1])]
    for case in THREADED:
        if "2 threads" in found[case]:  # in wall time
            column = "more, M rows/s of wall" if case == "each" else "M rows/s of wall"
            one, two = ([each[column] for each in found[case][way]] for way in ("afa", "2 threads"))
            rows.append({"threads": case, "two threads, times one": spread([b / a for a, b in zip(one, two)])})
    if o.before is None:
        rows.append({"skipped": "expected the engine of another checkout but --before FOLDER was not given: left out"})
    return rows


def runs_of(o: Options, case: str) -> dict[str, list[Row]]:
    """What all variants of a case have measured, round by round in turns."""
    keys = o.size(MANY, least=1000)
    ways: dict[str, Any] = {"afa": {}}
    if case in THREADED and "threads" in signature(Keyed.__init__).parameters:
        ways["2 threads"] = {"options": {"threads": 2}}
    if case in IN_ORDER:
        ways["by hand"] = {"variant": "by hand"}
    if o.before is not None:
        ways["before"] = {"folder": str(Path(o.before).resolve())}
    usual = {"case": case, "variant": "afa", "engine": o.engine, "keys": keys, "folder": None, "options": {}}
    run_one = keys_case.measured if o.scale == "tiny" and o.before is None else _fresh
    rounds = [{way: run_one({**usual, **more}) for way, more in ways.items()} for _ in range(min(o.rounds, ROUNDS))]
    columns = {way: [each[way] for each in rounds] for way in ways}
    answers = {json.dumps(each["answer"]) for column in columns.values() for each in column if each["answer"]}
    assert len(answers) == 1, f"expected one answer of {case} but got {answers}"
    assert columns["afa"][0]["answer"][0], "a benchmark without output measures nothing"
    return columns


def _fresh(said: Row) -> Row:
    """One run, in a new process."""
    command = [sys.executable, "-m", "bench.keys_case", json.dumps(said)]
    done = subprocess.run(command, cwd=Path(__file__).parents[1], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    row: Row = json.loads(done.stdout)
    assert said["folder"] is None or str(row["from"]).startswith(said["folder"]), f"expected {said['folder']} but got {row['from']}"
    return row


def _row(kind: str, name: str, case: str, column: str, found: dict[str, dict[str, list[Row]]], *, rates: bool) -> Row:
    """One line of the table: ours, and how many times that of the others."""
    columns = {way: _of(each, column) for way, each in found[case].items() if way != "2 threads"}
    row: Row = {kind: name, "M rows/s" if rates else "afa": spread(columns["afa"])}
    for way in ("by hand", "before"):
        values = columns.get(way)
        row[way] = spread(values) if values else None
        ratios = [a / b for a, b in zip(columns["afa"], values) if b] if values else []
        row[f"times {way}" if rates else f"of {way}"] = spread(ratios) if ratios else None
    return row


def _of(column: Sequence[Row], name: str) -> list[float]:
    return [float(each[name]) for each in column if name in each]
