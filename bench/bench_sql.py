"""What does AFTER MATCH SKIP cost? Beside the same pattern in text, which shows all matches; by keys, long matches, and rows late.

V is a row, falls and rises, over prices that walk at random; `A B` a row and a higher one. An island is a row that begins a match
and rows that go on with it. Where conditions overlap, each row but the first of an island fits all variables but the last one,
which takes every 50th. Rows come in ten batches, each with a promise behind it unless the question says otherwise. All are timed,
the first ones, too, behind one round that does not count. Answers are those of a plain scan: of each row it knows where its match
ends, and it goes on behind that.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import afa
from afa import FOREVER
from bench import fresh
from bench.drive import Outcome, batched, run, settled
from bench.measure import Options, Row, interleaved, rates, ratio, spread
from bench.workloads import Stream, punctuated, shifted, take

Ints = NDArray[np.int64]
BATCHES, WITHIN, LATE, APART, EVERY = 10, 500, 0.05, 10, 50
"""Batches of a stream, its window, the share of rows that come late, ticks between two rows, the row that a last variable takes."""
ISLANDS = (10, 1_000, 100_000)
SHARE = 100
"""So many islands stand beside one of the same rows."""
SINGLE = 1000
"""Late rows that come one by one."""
LAST = 10_000
"""So many rows at the end are near."""
SCANNED = ("first", "n")
"""MEASURES of all queries."""


class Event(NamedTuple):
    """A row: a price, or its place in an island; whether that is one of every 50."""

    key: int
    p: float
    last: bool
    at: afa.Instant | None = None


class Knowing(NamedTuple):
    """A row that knows a price beside it."""

    key: int
    p: float
    beside: float | None
    at: afa.Instant | None = None


class Shape(NamedTuple):
    """A pattern, and the plain scan's knowledge of it."""

    pattern: str
    define: str
    ends: Callable[[Stream], Ints]
    """Of each row, by key and LE, where the match ends that begins there; -1: it begins none."""
    event: type = Event

    def query(
        self, *, within: int | None = None, keyed: bool = False, all_rows: bool = False, numbers: bool = False, least: int = 0
    ) -> afa.Query:
        """The query in SQL; ``numbers``: it shows MATCH_NUMBER; ``least``: WHERE asks for as many rows."""
        clauses = (
            "PARTITION BY key" if keyed else "",
            "ORDER BY at MEASURES FIRST(at) AS first, COUNT(*) AS n" + ", MATCH_NUMBER() AS number" * numbers,
            "ALL ROWS PER MATCH" if all_rows else "ONE ROW PER MATCH",
            f"AFTER MATCH SKIP PAST LAST ROW PATTERN ({self.pattern})",
            f"WITHIN {within}" if within else "",
            f"DEFINE {self.define}",
        )
        where = f"WHERE n >= {least}" if least else ""
        return afa.sql(f"SELECT * FROM t MATCH_RECOGNIZE ({' '.join(clauses)}) {where}", event=self.event)

    def found(self, stream: Stream, *, within: int | None = None, all_rows: bool = False, least: int = 0) -> tuple[int, str]:
        """How many matches (or rows of them) there are, and a digest of them, by a plain scan."""
        rows = by_key(stream)
        begin, end = scanned(self.ends(rows) if within is None else self._within(rows, within))
        n = end - begin + 1
        begin, end, n = (column[n >= least] for column in (begin, end, n))
        if all_rows:
            begin, of = np.repeat(begin, n), np.arange(n.sum()) - np.repeat(np.cumsum(n) - n, n)
            n, end = of + 1, begin + of
        return digest(rows, begin, n, end, within)

    def _within(self, rows: Stream, within: int) -> Ints:
        """Ends in the window, of patterns whose match may end with any of its rows from the second last one on."""
        falls = falling(rows)
        ends = np.minimum(self.ends(rows), np.searchsorted(rows["le"], rows["le"] + within) - 1)
        return np.where(ends > falls, ends, -1)


def by_key(stream: Stream) -> Stream:
    """The events of a stream in the order of a scan."""
    events = take(stream, stream["kind"] == 0) if "kind" in stream else stream
    return take(events, np.lexsort((events["le"], events["key"])))


def scanned(ends: Ints) -> tuple[Ints, Ints]:
    """First and last rows of the matches that a scan finds, each behind the one before."""
    found, row, at = [], 0, ends.tolist()
    while row < len(at):
        if at[row] < 0:
            row += 1
        else:
            found.append(row)
            row = at[row] + 1
    begin = np.array(found, np.int64)
    return begin, ends[begin]


def digest(rows: Stream, begin: Ints, n: Ints, end: Ints, within: int | None) -> tuple[int, str]:
    """The answer that these matches are."""
    first = rows["le"][begin]
    re = np.full(len(begin), FOREVER) if within is None else first + within
    return settled([{"first": first, "n": n, "le": rows["le"][end], "re": re, "diff": np.ones(len(begin), np.int64)}], SCANNED)[:2]


def runs(holds: NDArray[np.bool_]) -> Ints:
    """Of each row the last one up to which all rows behind it hold."""
    n = len(holds)
    breaks = np.minimum.accumulate(np.where(holds, n, np.arange(n))[::-1])[::-1]
    return np.append(breaks[1:], n) - 1


def steps(rows: Stream) -> NDArray[Any]:
    """The change of each row from the one before; of the first one of a key none."""
    return np.where(np.diff(rows["key"], prepend=-1) == 0, np.diff(rows["p"], prepend=0.0), 0.0)


def falling(rows: Stream) -> Ints:
    return runs(steps(rows) < 0)


def vee(rows: Stream) -> Ints:
    low, high = falling(rows), runs(steps(rows) > 0)[falling(rows)]
    return np.where((low > np.arange(len(low))) & (high > low), high, -1)


def neighbours(stream: Stream, step: int) -> NDArray[Any]:
    """Of each row the price of the one before (-1) or behind (1) of its key; None: there is none."""
    order = np.lexsort((stream["le"], stream["key"]))
    found = np.roll(stream["p"][order], -step).astype(object)
    found[np.roll(stream["key"][order], -step) != stream["key"][order]] = None
    found[0 if step < 0 else -1] = None
    back = np.empty_like(found)
    back[order] = found
    return back


def steep_vee(rows: Stream, step: int) -> Ints:
    """V, where the price beside its first row is lower by more than 1."""
    beside = neighbours(rows, step)
    known = beside != None  # noqa: E711
    return np.where(np.where(known, beside, np.inf).astype(float) < rows["p"] - 1, vee(rows), -1)


def higher(rows: Stream) -> Ints:
    at = np.arange(1, len(rows["p"]) + 1)
    return np.where(np.append(steps(rows)[1:] > 0, False), at, -1)


def island(rows: Stream) -> Ints:
    return np.where(rows["p"] == 0, runs(rows["p"] > 0), -1)


def unclosed(rows: Stream) -> Ints:
    closes = np.append(rows["p"][1:] < 0, False)
    return np.where(closes & (rows["p"] > 0), np.arange(1, len(closes) + 1), -1)


def last_within(rows: Stream, least: int) -> Ints:
    """The last row of an island that the last variable takes, with at least so many rows before it; -1: there is none."""
    at = np.arange(len(rows["p"]))
    taken = np.maximum.accumulate(np.where(rows["last"], at, -1))[runs(rows["p"] > 0)]
    return np.where((rows["p"] > 0) & (taken - at >= least), taken, -1)


def or_alone(rows: Stream) -> Ints:
    ends = last_within(rows, 1)
    return np.where((ends < 0) & (rows["p"] > 0), np.arange(len(ends)), ends)


def takes(names: str, last: str) -> str:
    """Conditions that overlap."""
    return ", ".join([*(f"{name} AS p > 0" for name in names), f"{last} AS last"])


V = Shape("a b+ c+", "b AS p < PREV(p), c AS p > PREV(p)", vee)
PAIR = Shape("a b", "b AS b.p > a.p", higher)
ISLAND = Shape("a b*", "a AS p = 0, b AS p > 0", island)
UNCLOSED = Shape("a+ b", "a AS p > 0, b AS p < 0", unclosed)
OVERLAPPING = {
    "(A | B)+ C": Shape("(A | B)+ C", takes("AB", "C"), partial(last_within, least=1)),
    "A+ B+ C+ D": Shape("A+ B+ C+ D", takes("ABC", "D"), partial(last_within, least=3)),
    "A+ A+ A+ B": Shape("A+ A+ A+ B", takes("A", "B"), partial(last_within, least=3)),
    "A (B* C)?": Shape("A (B* C)?", takes("AB", "C"), or_alone),
}


def walk(n: int, keys: int = 1) -> Stream:
    """Prices that walk at random, of keys that come at random."""
    rng = np.random.default_rng(1)
    return {**columns(rng.integers(0, keys, n), np.cumsum(rng.normal(size=n))), "last": np.zeros(n, bool)}


def islands(n: int, length: int) -> Stream:
    """Rows by their places in islands of that length."""
    return columns(np.zeros(n, np.int64), (np.arange(n) % length).astype(float))


def columns(key: Ints, p: NDArray[Any]) -> Stream:
    return {"key": key, "p": p, "last": (p > 0) & (p % EVERY == 0), "le": np.arange(len(p))}


def left_open(n: int, length: int) -> Stream:
    """The same, but for one match at the beginning, which `(a+ b)` finds: no other b comes."""
    stream = islands(n, length)
    stream["p"][2] = -1.0
    return stream


LENGTHS: dict[str, tuple[Shape, Callable[[int, int], Stream]]] = {"a b*": (ISLAND, islands), "a+ b, no b": (UNCLOSED, left_open)}


class Case(NamedTuple):
    """A stream, what makes the operator for it, and the answer that it must have."""

    go: Callable[[], Outcome]
    answer: tuple[int, str]


def case(o: Options, shape: Shape, stream: Stream, *, promises: bool = True, arrow: bool = False, **query: Any) -> Case:
    """A shape over a stream in batches; ``query``: of `Shape.query`."""
    of = shape.query(**query)
    known = {name: value for name, value in query.items() if name not in ("keyed", "numbers")}
    return timed(o, of, stream, shape.found(stream, **known), promises, arrow)


def timed(
    o: Options, query: afa.Query, stream: Stream, answer: tuple[int, str], promises: bool = True, arrow: bool = False
) -> Case:
    batch = max(1, len(stream["le"]) // BATCHES)
    fed = batched(punctuated(stream, batch) if promises else stream, batch + promises, arrow=arrow)
    make = partial(query.operator, engine=o.engine)  # type: ignore[arg-type]
    return Case(partial(run, make, fed, columns=SCANNED, grows=len(fed.batches) + 1), answer)


def beside(o: Options, question: str, cases: Mapping[str, Case]) -> Iterator[Row]:
    """Rates in turns, and relative to the first of them."""
    found = interleaved({name: each.go for name, each in cases.items()}, o.rounds, agree=False)
    base = next(iter(found.values()))
    for name, outcomes in found.items():
        got = outcomes[0].final, outcomes[0].answer
        assert got == cases[name].answer, f"expected {cases[name].answer} of {question}, {name} but got {got}"
        shown: Row = {"question": question, "case": name, "rows": outcomes[0].events, "found": got[0]}
        yield {**shown, "M rows/s": rates(outcomes), "relative to the first": ratio(outcomes, base)}


# -- questions ---------------------------------------------------------------------------------------------------------------------


def measure(o: Options) -> list[Row]:
    questions = (_text, _keys, _lengths, _overlapping, _late, _all_rows, _behind, _beside, _single, _pushed)
    return [row for question in questions for row in question(o)]


def _text(o: Options) -> Iterator[Row]:
    """V without WITHIN and with it, beside all its matches in a window by text."""
    stream = walk(o.size(1_000_000))
    text = afa.query(
        "PATTERN SEQ(Event a, Event+ b[], Event+ c[]) WHERE strict_contiguity(a, b[], c[]) { b[1].p < a.p and b[i].p < b[i-1].p "
        f"and c[1].p > b[b.LEN].p and c[i].p > c[i-1].p }} WITHIN {WITHIN} RETURN a.at AS first, b.LEN + c.LEN + 1 AS n",
        event=Event,
    )
    for promises in (True, False):
        cases = {
            "V by text, all matches": timed(o, text, stream, every_vee(stream), promises),
            "V": case(o, V, stream, promises=promises),
            f"V WITHIN {WITHIN}": case(o, V, stream, promises=promises, within=WITHIN),
        }
        yield from beside(o, f"beside text, {'a promise a batch' if promises else 'no promises'}", cases)


def _beside(o: Options) -> Iterator[Row]:
    """PREV and NEXT of the row at which a match begins, beside a field that says the same."""
    n = o.size(1_000_000)
    for keys in o.some((1, 10_000, 100_000)):
        stream = walk(n, max(1, min(keys, n // 10)))
        for call, step in (("PREV", -1), ("NEXT", 1)):
            known = {**stream, "beside": neighbours(stream, step)}
            ends = partial(steep_vee, step=step)
            define = f"a AS {{}} < p - 1, {V.define}"
            cases = {}
            for name, asked, event, of in (("a field", "beside", Knowing, known), (f"{call}(p)", f"{call}(p)", Event, stream)):
                shape = Shape(V.pattern, define.format(asked), ends, event)
                cases[f"V, {name}"] = case(o, shape, of, arrow=True, keyed=keys > 1)
            yield from beside(o, f"beside a match, {call}, {keys:,} key{'s' * (keys > 1)}", cases)


def every_vee(stream: Stream) -> tuple[int, str]:
    """All matches of V in the window: from each row that begins one, up to each row of the rise."""
    rows = by_key(stream)
    low, high = falling(rows), V._within(rows, WITHIN)
    begin = np.flatnonzero(high >= 0)
    many = (high - low)[begin]
    of = np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)
    end = np.repeat(low[begin], many) + 1 + of
    begin = np.repeat(begin, many)
    return digest(rows, begin, end - begin + 1, end, WITHIN)


def _keys(o: Options) -> Iterator[Row]:
    n = o.size(1_000_000)
    cases = {"V, one key": case(o, V, walk(n))}
    for keys in o.some((100, 100_000)):
        cases[f"V, {keys:,} keys"] = case(o, V, walk(n, max(1, min(keys, n // 10))), keyed=True)
    yield from beside(o, "keys", cases)
    n = o.size(2_000_000)
    ends = {"A B, one key": case(o, PAIR, walk(n)), "A B, keys of 100 rows": case(o, PAIR, walk(n, max(1, n // 100)), keyed=True)}
    yield from beside(o, "two rows", ends)


def _lengths(o: Options) -> Iterator[Row]:
    """Islands of more and more rows, and what is held of them."""
    n = o.size(1_000_000)
    for name, (shape, stream) in LENGTHS.items():
        lengths = o.some(ISLANDS)
        cases = {f"{name}, islands of {length:,}": case(o, shape, stream(n, min(length, n))) for length in lengths}
        for row, length in zip(beside(o, "length of islands", cases), lengths):
            yield {**row, **held(o, name, n, min(length, n))}


def held(o: Options, name: str, n: int, length: int) -> Row:
    """Bytes a row of an operator that has no promises: of a new process, where nothing made room before, and of a snapshot."""
    return fresh.start(["held", o.engine, name, str(n), str(length)], None)


def _overlapping(o: Options) -> Iterator[Row]:
    n = o.size(1_000_000)
    for name, shape in OVERLAPPING.items():
        cases = {
            f"{name}, {SHARE} islands": case(o, shape, islands(n, n // min(SHARE, n // EVERY // 2))),
            f"{name}, one island": case(o, shape, islands(n, n)),
        }
        yield from beside(o, "overlapping conditions", cases)


def _late(o: Options) -> Iterator[Row]:
    ordered = walk(o.size(1_000_000))
    for name, within in (("V", None), (f"V WITHIN {WITHIN}", WITHIN)):
        cases = {
            f"{name}, in order": case(o, V, ordered, within=within),
            f"{name}, {100 * LATE:.0f} % late": case(o, V, shifted(ordered, LATE), within=within),
        }
        yield from beside(o, "late rows", cases)


def _all_rows(o: Options) -> Iterator[Row]:
    stream = walk(o.size(1_000_000))
    yield from beside(o, "ALL ROWS", {"V, ONE ROW": case(o, V, stream), "V, ALL ROWS": case(o, V, stream, all_rows=True)})


def _behind(o: Options) -> Iterator[Row]:
    """What is made of matches behind the operator, in order: their numbers, and WHERE."""
    for name, keys, within in (("V", 1, None), (f"V WITHIN {WITHIN}", 1, WITHIN), ("V, 1,000 keys", 1000, None)):
        stream, keyed = walk(o.size(1_000_000), keys), keys > 1
        cases = {
            name: case(o, V, stream, within=within, keyed=keyed),
            f"{name}, MATCH_NUMBER": case(o, V, stream, within=within, keyed=keyed, numbers=True),
            f"{name}, WHERE n >= 4": case(o, V, stream, within=within, keyed=keyed, least=4),
        }
        yield from beside(o, "behind the operator", cases)


def _single(o: Options) -> Iterator[Row]:
    """Late rows, one by one, among many that are there, or among the last of them."""
    for name, shape, stream, last in (
        ("V", V, walk(o.size(1_000_000)), None),
        (f"V, among the last {LAST:,}", V, walk(o.size(1_000_000)), LAST),
        ("a b*, one island", ISLAND, islands(o.size(100_000), o.size(100_000)), None),
    ):
        stream["le"] = stream["le"] * APART
        rng, n = np.random.default_rng(2), len(stream["le"])
        places = rng.choice(np.arange(max(1, n - (last or n)), n), o.size(SINGLE, least=50), replace=False)
        late = {**take(stream, places), "le": stream["le"][places] - APART // 2}
        if shape is V:
            late["p"] = late["p"] + rng.normal(size=len(places))
        op = shape.query().operator(engine=o.engine)  # type: ignore[arg-type]
        before = op.push_many(stream)
        told, spent = pushed(op, late)
        both = {name: np.concatenate([stream[name], late[name]]) for name in stream}
        got, answer = settled([before, told], SCANNED)[:2], shape.found(both)
        assert got == answer, f"expected {answer} of {name} but got {got}"
        yield {"question": "single late rows", "case": name, "rows": n, "late rows": len(spent), **microseconds(spent)}


def _pushed(o: Options) -> Iterator[Row]:
    """Rows one by one, in order: V, and one island that grows, of few rows and of ten times as many."""
    n = o.size(20_000)
    tenth = 0.0
    for name, shape, stream in (
        ("V", V, walk(o.size(100_000))),
        ("a b*, one island, a tenth", ISLAND, islands(n // 10, n // 10)),
        ("a b*, one island", ISLAND, islands(n, n)),
    ):
        means = []
        for _ in range(min(o.rounds, 3)):
            told, spent = pushed(shape.query().operator(engine=o.engine), stream)  # type: ignore[arg-type]
            got, answer = settled([told], SCANNED)[:2], shape.found(stream)
            assert got == answer, f"expected {answer} of {name} but got {got}"
            means.append(statistics.fmean(spent))
        row: Row = {"question": "row by row", "case": name, "rows": len(spent), "microseconds a push": spread(means)}
        yield {**row, "relative to a tenth": statistics.median(means) / tenth if tenth else None}
        tenth = statistics.median(means) if shape is ISLAND else 0.0


def pushed(op: Any, stream: Stream) -> tuple[Stream, list[float]]:
    """The output of rows that are pushed one by one, and the microseconds of each."""
    told, spent = list[Any](), []
    rows = [afa.insert(Event(*row), le) for *row, le in zip(*(stream[name].tolist() for name in ("key", "p", "last", "le")))]
    for row in rows:
        begin = time.thread_time_ns()
        out = op.push(row)
        spent.append((time.thread_time_ns() - begin) / 1000)
        told += out
    shown: Sequence[Any] = [(each.payload.first, each.payload.n, each.le, each.re, each.diff) for each in told]
    values = np.array(shown, np.int64).reshape(-1, 5)
    return dict(zip((*SCANNED, "le", "re", "diff"), values.T)), spent


def microseconds(spent: Sequence[float]) -> Row:
    return {
        "microseconds a row": statistics.fmean(spent),
        "median": statistics.median(spent),
        "p99": float(np.quantile(spent, 0.99)),
    }
