"""What do temporal patterns cost, and how much earlier are they told than where a matcher waits for the ends?

Readings at which two to ten conditions hold at random (situations of 10 to 100 ticks, gaps of 10 to 50), as in a thesis on temporal
patterns (Marburg 2021, Sec. 5.7); rows are named by its figures. Beside the operator stands a matcher in two phases
(`two_phase.py`): situations are derived and waited for until they end, then joined by columns. Both take each batch in turn, on
process CPU time; rates are those of batches from the third on. The answer is compared first: what the two-phase matcher finds is
what the operator finds, where all situations end within the window.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from afa import Change, Punctuation
from afa.errors import AfaError
from afa.extra.situations.deriving import Deriving
from afa.extra.situations.pattern_operator import deriving, kinds_of
from afa.extra.situations.relations import NAMES
from afa.extra.situations.told_forms import instants
from afa.situations import TemporalPattern
from bench import situation_readings as made
from bench.measure import Options, Row, Spread, spread, timed
from bench.situation_readings import Column
from bench.two_phase import TwoPhase

WINDOW = 300
READINGS, BATCHES = 20_000_000, 14
LATE = 1000
KEYS, TICKS = 10_000, 900
DURATIONS = {"2:1": (5, 50), "1:1": (10, 100), "1:2": (20, 200)}
"""Of a to those of b: how long a situation of b lasts, where one of a lasts 10 to 100 ticks."""
RELATIONS = ("before", "meets", "starts", "overlaps", "during", "contains")
RARE = (4175, 4215)
"""The gaps where situations are fifty times rarer."""
DRAWN = 3
"""Patterns of random relations for each shape and size; up to two of these are before or after, whose matches multiply."""
SKIPPED = 2
"""The batches that don't count: there an operator grows to its size."""

Push = Callable[[dict[str, Column]], Any]
Table = dict[str, Column]


def measure(o: Options) -> list[Row]:
    return [
        *_rates(o),
        *_before(o),
        *_small_batches(o),
        *_keys(o),
        *_floats(o),
        *_returns(o),
        *_late(o),
        *_one_by_one(o),
        *_decided(o),
        *_shapes(o),
        *_changing(o),
    ]


# -- rates -----------------------------------------------------------------------------------------------------------------------


def _rates(o: Options) -> Iterator[Row]:
    full = o.few(READINGS, 2800)
    cases = [
        ("5.8", "aggressive drivers", made.AGGRESSIVE, 3, (WINDOW,), full // 10),
        ("5.8", "aggressive drivers", made.AGGRESSIVE, 3, (WINDOW,), full),
        ("5.8", "aggressive drivers, meets|overlaps", made.SIMPLE, 3, (WINDOW,), full),
        ("5.13", "Q1", made.Q1, 3, (5_000,), full),
        ("5.13", "Q2", made.Q2, 3, (5_000,), full),
        ("5.9", "disconnected", made.DISCONNECTED, 4, (500, 5_000, 20_000, 100_000), full),
    ]
    for figure, name, where, definitions, windows, n in o.some(cases):
        for window in o.some(windows):
            yield _beside_two_phase(figure, name, made.pattern(where, window, definitions), made.readings(n, definitions), o)


def _small_batches(o: Options) -> Iterator[Row]:
    """The fewer readings a batch has, the earlier its matches are told."""
    pattern = made.pattern(made.DISCONNECTED, 5_000, 4)
    for size in o.some([100, 1_000, 10_000, 100_000]) if o.scale != "tiny" else [200]:
        batches = made.cut(made.readings(min(100, 5_000_000 // size) * size if o.scale != "tiny" else 4 * size, 4), size)
        op, joined = pattern.operator(engine=o.engine), TwoPhase(pattern)
        seconds = timed({"afa": partial(_push, op), "two-phase": joined.push}, batches)
        yield {
            "figure": "5.12",
            "batch": size,
            "M readings/s": _rate(size, seconds["afa"][SKIPPED:]),
            "two-phase, M readings/s": _rate(size, seconds["two-phase"][SKIPPED:]),
            "rate, relative to two-phase": _relative(seconds["two-phase"], seconds["afa"]),
        }


def _before(o: Options) -> Iterator[Row]:
    n = o.few(1_000_000, 2800)
    for window in o.some([500, 1_000, 2_000]):
        yield _beside_two_phase("5.13", "Q3", made.pattern(made.Q3, window, 3), made.readings(n, 3), o)


def _beside_two_phase(figure: str, name: str, pattern: TemporalPattern, table: dict[str, Column], o: Options) -> Row:
    batches = made.cut(table, -(-len(table["le"]) // BATCHES))
    _compare(pattern, made.cut({name: column[:100_000] for name, column in table.items()}, 40_000), o)
    op, joined = pattern.operator(engine=o.engine), TwoPhase(pattern)
    seconds = timed({"afa": lambda batch: _push(op, batch), "two-phase": joined.push}, batches)
    rows, ours = len(batches[0]["le"]), seconds["afa"][SKIPPED:-1]
    third, matches = max(1, len(ours) // 3), op.statistics.outputs
    return {
        "figure": figure,
        "pattern": name,
        "window": pattern.window,
        "readings": len(table["le"]),
        "instants a reading": op.stage.statistics.told / len(table["le"]),
        "matches": matches,
        "M readings/s": _rate(rows, ours),
        "M matches/s": matches / sum(seconds["afa"]) / 1e6,
        "whole run, M readings/s": len(table["le"]) / sum(seconds["afa"]) / 1e6,
        "once, s": _once(seconds["afa"], ours),
        "last third, relative to the first": statistics.median(ours[:third]) / statistics.median(ours[-third:]),
        "two-phase, M readings/s": _rate(rows, seconds["two-phase"][SKIPPED:-1]),
        "rate, relative to two-phase": _relative(seconds["two-phase"], seconds["afa"]),
    }


def _keys(o: Options) -> Iterator[Row]:
    keys, ticks = o.few(KEYS, 5), TICKS if o.scale != "tiny" else 400
    op = made.pattern(made.AGGRESSIVE, WINDOW, 3, key="key").operator(engine=o.engine)
    batches = made.cut(made.of_keys(keys, ticks, 3), keys * 100)
    seconds = timed({"afa": lambda batch: _push(op, batch)}, batches)["afa"]
    yield {
        "pattern": "aggressive drivers, keys in turn",
        "keys": keys,
        "batch": keys * 100,
        "matches": op.statistics.outputs,
        "M readings/s": _rate(keys * 100, seconds[SKIPPED:]),
        "once, s": _once(seconds, seconds[SKIPPED:]),
    }


def _floats(o: Options) -> Iterator[Row]:
    """The same situations from columns of floats: columns of booleans are conditions too."""
    booleans, rng = made.readings(o.few(READINGS // 2, 2800), 3), np.random.default_rng(7)
    floats = {name: column + rng.random(len(column)) / 2 if name != "le" else column for name, column in booleans.items()}
    asked = made.pattern(made.AGGRESSIVE, WINDOW, 3, kind=float, text="{} > 0.75")
    yield _paired("conditions over three float columns", o, asked, floats, ("booleans", booleans), "rate")


def _returns(o: Options) -> Iterator[Row]:
    """The same pattern with and without an average over a column of floats."""
    table = made.readings(o.few(READINGS // 2, 2800), 3)
    valued = {**table, "value": np.random.default_rng(7).random(len(table["le"]))}
    asked = made.pattern(made.AGGRESSIVE, WINDOW, 3, returns={"mean": "avg(b.value)"})
    yield _paired("an average over a float column", o, asked, valued, ("without", table), "rate")


def _late(o: Options) -> Iterator[Row]:
    """A tenth of the readings up to a thousand places late, beside the same ones in order."""
    table, rng = made.readings(o.few(READINGS // 2, 2800), 3), np.random.default_rng(5)
    n = len(table["le"])
    order = np.argsort(np.arange(n) + np.where(rng.random(n) < 0.1, rng.integers(1, LATE + 1, n), 0), kind="stable")
    shuffled, asked = {name: column[order] for name, column in table.items()}, made.pattern(made.AGGRESSIVE, WINDOW, 3)
    yield _paired("10 % late by up to 1,000", o, asked, shuffled, ("in order", table), "late", LATE)


def _paired(
    name: str,
    o: Options,
    pattern: TemporalPattern,
    table: dict[str, Column],
    base: tuple[str, dict[str, Column]],
    what: str,
    late: int = 0,
) -> Row:
    """Aggressive drivers by a pattern over a table, in turns with the plain pattern over the table of the base."""
    plain, asked = (each.operator(engine=o.engine) for each in (made.pattern(made.AGGRESSIVE, WINDOW, 3), pattern))
    said, beside = base
    size = -(-len(table["le"]) // BATCHES)
    both = [{"base": a, "ours": b} for a, b in zip(made.cut(beside, size), made.cut(table, size))]
    seconds = timed({"base": lambda of: _push(plain, of["base"]), "ours": lambda of: _push(asked, of["ours"], late)}, both)
    assert late or plain.statistics.outputs == asked.statistics.outputs > 0
    return {
        "pattern": f"aggressive drivers, {name}",
        "readings": len(table["le"]),
        "M readings/s": _rate(size, seconds["ours"][SKIPPED:-1]),
        f"{said}, M readings/s": _rate(size, seconds["base"][SKIPPED:-1]),
        f"{what}, relative to {said}": _relative(seconds["base"], seconds["ours"]),
    }


def _push(op: Any, batch: dict[str, Column], late: int = 0) -> None:
    op.push_many(batch)
    op.push(Punctuation(int(batch["le"].max()) - late))


def _rate(rows: int, seconds: Sequence[float]) -> Spread:
    return spread([rows / max(each, 1e-9) / 1e6 for each in seconds])


def _once(seconds: Sequence[float], usual: Sequence[float]) -> float:
    """What a run takes more than batches do by the median: code is made for a state that has grown, memory is cleared."""
    return sum(seconds) - len(seconds) * statistics.median(usual)


def _relative(base: Sequence[float], ours: Sequence[float]) -> Spread:
    """Our rate over that of the base, batch by batch."""
    return spread([a / max(b, 1e-9) for a, b in zip(base[SKIPPED:-1], ours[SKIPPED:-1])])


def _compare(pattern: TemporalPattern, batches: Sequence[dict[str, Column]], o: Options) -> None:
    """Both find the same matches, of those in which all situations end within the window."""
    op, joined = pattern.operator(engine=o.engine), TwoPhase(pattern)
    ours, theirs, ends = list[Column](), list[Column](), {}
    for batch in batches:
        out = op.push_many(batch)
        ours.append(np.stack([np.asarray(out[f"{name}_ts"], np.int64) for name in joined.names]))
        found = joined.push(batch)
        theirs.append(np.stack([found[name] for name in joined.names]))
    table = {name: np.concatenate([batch[name] for batch in batches]) for name in joined.names}
    for name, column in table.items():
        turns = np.flatnonzero(np.diff(column, prepend=False))
        ends[name] = turns[0::2], np.append(turns[1::2], [np.iinfo(np.int64).max // 2] * (len(turns) % 2))
    starts = np.concatenate(ours, axis=1)
    last = np.max([ends[name][1][np.searchsorted(ends[name][0], ts)] for name, ts in zip(joined.names, starts)], axis=0)
    kept = starts[:, last - starts.min(axis=0) < joined.within]
    assert set(zip(*kept.tolist())) == set(zip(*np.concatenate(theirs, axis=1).tolist())), (
        "expected the same matches but got others"
    )


# -- one reading -----------------------------------------------------------------------------------------------------------------


def _one_by_one(o: Options) -> Iterator[Row]:
    """Readings that come one by one: in order, and late ones among some thousand that are held."""
    n = o.few(6_000, 400)
    pattern, table = made.pattern(made.AGGRESSIVE, WINDOW, 3), made.readings(n, 3)
    made_of = pattern.event_schema.cls
    changes = [
        Change(made_of(*values), le, None, 1) for le, *values in zip(*(table[name].tolist() for name in ("le", *made.names(3))))
    ]
    turned = [change._replace(payload=made_of(*(not value for value in change.payload))) for change in changes]
    late = set(np.random.default_rng(3).choice(np.arange(n - n // 5, n - 1), n // 20, replace=False).tolist())
    kept = [change for change in changes if change.le not in late]
    begun, of_late = n - n // 5, sorted(late, key=lambda le: le * 7919 % n)
    cases = [
        ("in order", changes[:begun], changes[begun:]),
        ("late, as random readings are", kept, [changes[le] for le in of_late]),
        ("late, each changes all situations", kept, [turned[le] for le in of_late]),
    ]
    for name, before, pushed in cases:
        took: dict[str, list[float]] = {"push": [], "stage": []}
        for _ in range(o.rounds):
            op, stage = pattern.operator(engine=o.engine), _stage(pattern)
            for way, push in (("push", op.push), ("stage", partial(_alone, stage))):
                for change in before:
                    push(change)
                push(Punctuation(n - n // 5))
                stage.call_worked()
                begin = time.process_time()
                for change in pushed:
                    push(change)
                took[way].append((time.process_time() - begin) / len(pushed) * 1e6)
        yield {
            "figure": "5.12",
            "readings one by one": name,
            "push, us": spread(took["push"]),
            "stage alone, us": spread(took["stage"]),
        }


def _alone(stage: Deriving, item: Change | Punctuation) -> None:
    """Take a reading, or a promise, and tell what it leads to, without the frame of a call, which the operator has anyway."""
    if isinstance(item, Punctuation):
        stage.changes(stage.brought(item.t))
        stage.settled(item.t)
    else:
        stage.see(item)
        stage.changes(stage.told())


def _stage(pattern: TemporalPattern) -> Deriving:
    """The stage of a pattern, without the operator behind it."""
    window: Any = pattern.window
    telling = instants(kinds_of(pattern.definitions, pattern.aggregates), pattern.instants, window)
    return deriving(pattern.event_schema, pattern.definitions, pattern.aggregates, telling, None, None)


# -- how early -------------------------------------------------------------------------------------------------------------------


def _decided(o: Options) -> Iterator[Row]:
    n = o.few(1_000_000, 8_000)
    for ratio, lasts in o.some(list(DURATIONS.items())):
        table = {"a": made.holds(n, seed=1), "b": made.holds(n, on=lasts, seed=2), "le": np.arange(n)}
        ends = {name: _ends(table[name]) for name in "ab"}
        for relation in o.some(RELATIONS):
            op = made.pattern(f"a {relation} b", 1_000, 2).operator(engine=o.engine)
            found = [op.push_many(batch) for batch in made.cut(table, 250_000)]
            a, b, le = (np.concatenate([np.asarray(out[name], np.int64) for out in found]) for name in ("a_ts", "b_ts", "le"))
            first, last = np.minimum(a, b), np.maximum(ends["a"][a], ends["b"][b])
            known = last - first <= 1_000
            yield {
                "figure": "5.11",
                "relation": relation,
                "durations a : b": ratio,
                "matches": len(le),
                "time to the decision, relative to the last end": float(
                    np.sum(le[known] - first[known]) / max(np.sum(last[known] - first[known]), 1)
                ),
            }


def _ends(column: Column) -> Column:
    """Where the situation ends that begins at a tick, by that tick; one that goes on ends beyond all windows."""
    turns = np.flatnonzero(np.diff(column, prepend=False))
    found = np.zeros(len(column), np.int64)
    found[turns[0::2]] = np.append(turns[1::2], [2**62] * (len(turns) % 2))
    return found


# -- patterns of many definitions --------------------------------------------------------------------------------------------------


def _shapes(o: Options) -> Iterator[Row]:
    drawn = random.Random(11)
    for shape in o.some(["equals", "meets", "chain", "combined", "star"]):
        for definitions in o.some([4, 6, 8, 10]) if o.scale != "tiny" else [4]:
            if shape in ("equals", "meets"):
                asked = [made.shaped("chain", [shape] * 9, definitions)]
            else:
                asked = [
                    made.shaped(shape, _drawn(drawn, definitions - 1), definitions)
                    for _ in range(DRAWN if o.scale != "tiny" else 1)
                ]
            yield _of_shape(shape, definitions, asked, o)


def _drawn(drawn: random.Random, many: int) -> list[str]:
    while True:
        relations = drawn.choices(NAMES, k=many)
        if sum(name in ("before", "after") for name in relations) <= 2:
            return relations


def _of_shape(shape: str, definitions: int, asked: Sequence[str], o: Options) -> Row:
    n = o.few(350_000, 1_400)
    batches = made.cut(made.readings(n, definitions), n // 7)
    rates, base, states = list[float](), list[float](), list[int]()
    for where in asked:
        try:
            pattern = made.pattern(where, 2_000, definitions)
        except AfaError as error:
            if "500 states" not in str(error):
                raise
            continue
        op, joined = pattern.operator(engine=o.engine), TwoPhase(pattern)
        seconds = timed({"afa": partial(_push, op), "two-phase": joined.push}, batches)
        rates.append(n / 7 / statistics.median(seconds["afa"][SKIPPED:]) / 1e6)
        base.append(n / 7 / statistics.median(seconds["two-phase"][SKIPPED:]) / 1e6)
        states.append(len(pattern.automaton.states))
    return {
        "figure": "5.10",
        "shape": shape,
        "definitions": definitions,
        "patterns": len(asked),
        "refused": len(asked) - len(rates),
        "states": max(states, default=0),
        "M readings/s": spread(rates) if rates else None,
        "two-phase, M readings/s": spread(base) if base else None,
        "rate, relative to two-phase": spread([a / b for a, b in zip(rates, base)]) if rates else None,
    }


# -- a stream that changes ---------------------------------------------------------------------------------------------------------


def _changing(o: Options) -> Iterator[Row]:
    """One operator over a stream in which one definition, then another one becomes rare."""
    n = o.few(1_500_000, 2_800)
    pattern = made.pattern(made.Q3, 1_000, 3)
    op, joined = pattern.operator(engine=o.engine), TwoPhase(pattern)
    for part, (name, rare) in enumerate({"1:1:1": "", "1:50:50": "a", "50:1:50": "b"}.items()):
        table = {each: made.holds(n, off=RARE if each in rare else made.OFF, seed=part * 3 + i) for i, each in enumerate("abc")}
        table["le"] = np.arange(part * n, (part + 1) * n)
        before = op.statistics.outputs
        seconds = timed({"afa": lambda batch: _push(op, batch), "two-phase": joined.push}, made.cut(table, -(-n // 7)))
        yield {
            "figure": "5.14",
            "occurrence a : b : c": name,
            "readings": n,
            "matches": op.statistics.outputs - before,
            "M readings/s": _rate(-(-n // 7), seconds["afa"][SKIPPED:-1]),
            "two-phase, M readings/s": _rate(-(-n // 7), seconds["two-phase"][SKIPPED:-1]),
            "rate, relative to two-phase": _relative(seconds["two-phase"], seconds["afa"]),
        }
