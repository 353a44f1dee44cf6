"""What does it cost not to know which came first? Matches with confidences: possible worlds, exact, and the ways of the papers.

The stream of PVLDB 2010, one event a tick, any of whose neighbours may have come before it: `Worlds` with its counting, beside the
matching of the same worlds alone; `Sequence`; event-based evaluation (query order, any state, selectivity order) and point-based
evaluation on the operator. Rows are named by the figures of that paper (4) and of SIGMOD 2014 (6, Kleene closures). Process CPU
time; the first quarter of the batches doesn't count. Answers are compared first: signatures and confidences of all exact ways,
to 1e-9, and those of worlds within five standard errors.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from afa import Keyed, Punctuation, insert
from afa.extra.uncertain.chain_confidence import Link, confidence
from afa.extra.uncertain.distributions import UNIFORM
from afa.extra.uncertain.event_instants import Instants
from afa.uncertain import Worlds, between
from bench import imprecise_stream as made
from bench.baselines.valid_intervals import by_points
from bench.imprecise_stream import ANY, NEXT
from bench.measure import Options, Row, Spread, spent, spread, timed
from bench.uncertain_figures import kleene_figures, sequence_figures

WINDOW = 100
HALVES, WORLDS = (1, 10, 50), (20, 100)
BATCH = 5_000
COMPARED = 200
"""So many events answers are compared on, in 400 worlds."""
EXPECTED = 8
"""A confidence is compared with the truth where so many worlds at least should have the match."""
SEQUENCE_EVENTS = {1: 100_000, 10: 100_000, 50: 2_000}
INSTANTS = 21
HELD = 10_000
"""Events before one that comes late."""

Batches = Sequence[made.Stream]


def measure(o: Options) -> list[Row]:
    _compare(o)
    return [*_rates(o), *_exact(o), *sequence_figures(o), *kleene_figures(o), *_chains(o), *_late(o)]


def _halves(o: Options) -> Sequence[int]:
    return HALVES if o.scale != "tiny" else HALVES[:2]


# -- worlds ----------------------------------------------------------------------------------------------------------------------


def _compare(o: Options) -> None:
    """Confidences of worlds are those of sequences, as far as so many worlds can tell."""
    of = made.stream(o.few(COMPARED, 60), 10)
    for strategy in (ANY, NEXT):
        worlds = 400 if o.engine == "compiled" else 40
        drawn = _worlds(strategy, worlds, o).push_many(of.table())
        exact = made.sequence(strategy, WINDOW).push_many(of.table())
        shares, truth = _confidences(drawn), _confidences(exact)
        assert shares.keys() <= truth.keys(), "expected matches of some world but got others"
        for signature, p in truth.items():
            if p * worlds >= EXPECTED:
                error = math.sqrt(p * max(1 - p, 0.0) / worlds)
                assert abs(shares.get(signature, 0.0) - p) <= 5 * error + 1e-9, f"expected {p} but got {shares.get(signature)}"


def _confidences(out: Any) -> dict[tuple[int, ...], float]:
    columns = [np.asarray(out[name]).tolist() for name in ("a", "b", "c", "confidence")]
    return {tuple(ids): share for *ids, share in zip(*columns)}


def _worlds(strategy: str, worlds: int, o: Options) -> Worlds:
    engine: Any = o.engine
    options: Any = {"lower": "lower", "upper": "upper", "identity": "id", "window": WINDOW, "engine": engine}
    return Worlds(made.automaton(strategy), worlds, **options)


def _rates(o: Options) -> Iterator[Row]:
    for worlds in WORLDS if o.scale != "tiny" else WORLDS[:1]:
        for half in _halves(o):
            yield _rate_of_worlds(worlds, half, o)


def _rate_of_worlds(worlds: int, half: int, o: Options) -> Row:
    """The whole operator beside the operator of the worlds alone: rows are drawn as columns, no world is counted."""
    n, engine = o.few(100_000, 160), o.engine
    batches = _cut(made.stream(n, half), min(BATCH, n // 4))
    options: Any = {"key": "world", "window": WINDOW, "engine": engine, "order_by": "rank"}
    op, keyed = _worlds(NEXT, worlds, o), Keyed(made.automaton(NEXT, event=made.Placed), **options)
    rng = np.random.default_rng(1)
    pushes: dict[str, Callable[[made.Stream], Any]] = {
        "whole": lambda of: _push(op, of.table(), of),
        "matching": lambda of: _push(keyed, _drawn(of, worlds, rng), of),
    }
    seconds = timed(pushes, batches)
    return {
        "figure": "rates",
        "way": f"{worlds} worlds",
        "half interval": half,
        "events": n,
        "changes told, an event": op.statistics.told / n,
        "K events/s": _rate(batches, seconds["whole"]),
        "matching alone, K events/s": _rate(batches, seconds["matching"]),
        "relative to matching alone": _relative(seconds["matching"], seconds["whole"]),
    }


def _drawn(of: made.Stream, worlds: int, rng: np.random.Generator) -> dict[str, Any]:
    """Return events in all worlds, as columns. Of one instant those of later components come first: they are in no order.

    All intervals are of one length.
    """
    n = len(of.kind)
    kind = np.tile(of.kind, worlds)
    return {
        "world": np.repeat(np.arange(worlds), n),
        "kind": kind,
        "id": np.tile(of.id, worlds),
        "rank": -kind,
        "le": (of.lower + rng.integers(0, of.upper[0] - of.lower[0] + 1, (worlds, n))).ravel(),
    }


def _push(op: Any, table: Any, of: made.Stream) -> Any:
    out = op.push_many(table)
    op.push(Punctuation(int(of.lower[-1]) + 1))
    return out


def _push_all(op: Any, of: made.Stream) -> None:
    _push(op, of.table(), of)


def _exact(o: Options) -> Iterator[Row]:
    for strategy in (NEXT, ANY):
        for half in _halves(o):
            n = o.few(SEQUENCE_EVENTS[half] // (1 if strategy == NEXT else 4), 80)
            batches = _cut(made.stream(n, half), min(BATCH, -(-n // 8)))
            op = made.sequence(strategy, WINDOW)
            seconds = timed({"sequence": partial(_push_all, op)}, batches)["sequence"]
            yield {
                "figure": "rates",
                "way": f"Sequence, {strategy}",
                "half interval": half,
                "events": n,
                "changes told, an event": op.statistics.outputs / n,
                "K events/s": _rate(batches, seconds),
                "K changes/s": op.statistics.outputs / sum(seconds) / 1e3,
            }


def _cut(of: made.Stream, size: int) -> list[made.Stream]:
    return [of.part(start, start + size) for start in range(0, len(of.kind), size)]


def _rate(batches: Batches, seconds: Sequence[float]) -> Spread:
    skipped = len(batches) // 4
    return spread([len(of.kind) / each / 1e3 for of, each in list(zip(batches, seconds))[skipped:]])


def _relative(base: Sequence[float], ours: Sequence[float]) -> Spread:
    skipped = len(base) // 4
    return spread([a / b for a, b in list(zip(base, ours))[skipped:]])


# -- one confidence --------------------------------------------------------------------------------------------------------------


def _chains(o: Options) -> Iterator[Row]:
    """A chain of events, each of which may come before its neighbours: its confidence, beside going through all instants."""
    for n in o.some([1, 2, 3, 4, 5, 10, 15, 20]):
        lows, highs = [5 * i for i in range(n)], [5 * i + INSTANTS - 1 for i in range(n)]
        links = [Link([Instants.of(*ends, UNIFORM)]) for ends in zip(lows, highs)]
        wide, tight = 10_000, 5 * n + INSTANTS // 2
        free, bound = (_microseconds(partial(confidence, links, window), o) for window in (wide, tight))
        row: Row = {"chain of": n, "instants each": INSTANTS, "us": free, "us an event": free["median"] / n}
        row |= {"the window binds, us": bound, "points": float(INSTANTS) ** n, "by points, us": None}
        if n <= (5 if o.scale != "tiny" else 2):
            for window in (wide, tight):
                share = by_points(lows, highs, window) / INSTANTS**n
                assert abs(share - confidence(links, window)) < 1e-9, f"expected {share} for a chain of {n}"
            row["by points, us"] = _microseconds(partial(by_points, lows, highs, tight), o, 3)
        yield row


def _microseconds(go: Callable[[], Any], o: Options, often: int = 200) -> Spread:
    took, many = [], often if o.scale != "tiny" else 1
    for _ in range(o.rounds):
        begin = time.process_time()
        for _ in range(many):
            go()
        took.append(max(time.process_time() - begin, 1e-9) / many * 1e6)
    return spread(took)


# -- one late event --------------------------------------------------------------------------------------------------------------


def _late(o: Options) -> Iterator[Row]:
    """One event among some thousand that are held; nothing has been promised."""
    n = o.few(HELD, 200)
    for strategy in (NEXT, ANY):
        many = (*WORLDS, 400) if strategy == NEXT and o.scale != "tiny" else WORLDS[:1]  # of any 95,000 matches are held
        ways: dict[str, Any] = {f"{worlds} worlds": _worlds(strategy, worlds, o) for worlds in many}
        ways["Sequence"] = made.sequence(strategy, WINDOW)
        for way, op in ways.items():
            yield {"figure": "late", "strategy": strategy, "way": way, **_late_pushes(op, made.stream(n, 10), o)}


def _late_pushes(op: Any, of: made.Stream, o: Options) -> Row:
    for batch in _cut(of, BATCH):
        op.push_many(batch.table())
    n, rng, took, changes = len(of.kind), np.random.default_rng(3), list[float](), 0
    for number in range(100 if o.scale != "tiny" else 3):
        t = int(rng.integers(n // 10, n - n // 10))
        late = insert(made.Reported(number % 3, n + number), between(t - 10, t + 10))
        out, seconds = spent(partial(op.push, late))
        took.append(seconds * 1e6)
        changes += len(out)
    return {
        "events held": int(np.sum(of.kind < 3)),
        "changes a push": changes / len(took),
        "late push, us": statistics.median(took),
        "of ten the slowest, us": float(np.percentile(took, 90)),
    }
