"""Make the funnel of what an engine holds: its events, key by key, under the arcs in force."""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

from afa.engine import Engine, Step
from afa.errors import AfaError
from afa.explain.funnel.causes import Facts, cause_of
from afa.explain.funnel.counting import Counting
from afa.explain.funnel.fence_parts import CountedFence
from afa.explain.funnel.funnel import ArcCount, Funnel, Miss, PartCount, StateCount
from afa.explain.funnel.labels import as_date, is_dated, label_of
from afa.explain.funnel.near_misses import KEPT, events_behind
from afa.explain.funnel.negations import but_for
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch
from afa.operator.call import Core
from afa.operator.matching import Matching
from afa.operator.told_anew import ToldAnew
from afa.rewrite.rewritten_engine import RewrittenEngine
from punctuation.time import BEGINNING, FOREVER

BEFORE = "; these are the matches of the arcs, before "
MOST = 20_000_000
"""So many functions are asked at most: some ten seconds."""


class FunnelSource(NamedTuple):
    """What a funnel is counted of."""

    engine: Engine  # it holds the events
    automaton: Automaton
    table: ArcTable  # the arcs in force; the engine may have others
    clock: int  # the promise of the event input: up to there time-outs fire behind the last event of a key
    since: int = BEGINNING  # below it all was dropped
    some: int = BEGINNING  # the largest promise with a condition: it may have dropped events below, and lets no time-out fire
    longest: bool = False
    window: int | None = None
    tick: str | None = None
    keys: str = ""  # what the key is called; empty: there are no keys
    late: int = 0  # changes that were dropped as late, since the beginning
    taken: int = 0  # those that were not
    share: int = 1  # the engine holds the events of one key of so many
    cut: bool = False  # whether the engine holds the first events only
    promise: str = ""  # how a promise is made that lets time-outs fire, behind a colon


def funnel_of(source: FunnelSource, most: int | None = MOST) -> Funnel:
    """Return the funnel of what is held; after ``most`` functions asked whole keys are left out, and the funnel says so.

    O(events * arcs), where the event alone decides for what waits; else O(what stands at each step).
    """
    keys = sorted(source.engine.keys(), key=lambda key: (zlib.crc32(repr(key).encode()), repr(key)))

    def counted(table: ArcTable) -> Counting:
        counting = Counting(source.automaton, table, source.clock, source.since, source.longest, most)
        for key in keys:
            if counting.enough:
                break
            counting.take(key, _steps(source.engine, key))
        return counting

    counting, negation = counted(source.table), ""
    dated = is_dated(counting.low, counting.high, source.tick)

    def when(le: int) -> str:
        return as_date(le, str(source.tick)) if dated else str(le)

    if counting.cuts and not counting.matches:
        negation = but_for(counting, counted, source.keys, when)
    late, dropped = source.late, max(source.since, source.some)
    facts = Facts(
        counting, source.window, source.tick, source.keys, late, source.taken, source.promise, dropped > BEGINNING, negation, when
    )
    cause = cause_of(facts)
    return Funnel(
        why=cause.text + ("" if cause.kind != "matched" or source.automaton.choice is None else f"{BEFORE}AFTER MATCH SKIP"),
        cause=cause.kind,
        arcs=[_arc(asked) for asked in counting.asked.values()],
        states=[
            StateCount(
                state, c.entered, c.before, c.matched, c.went_on, c.by_match, c.by_window, c.by_no_arc, c.open
            )
            for state, c in counting.ended.items()
        ],
        misses=_misses(source, counting),
        keys=counting.keys,
        events=counting.events,
        began=counting.began,
        matches=counting.matches,
        all_keys=len(keys),
        share=source.share,
        cut=source.cut,
        late=late,
        since=None if dropped <= BEGINNING else dropped,
        until=counting.until,
        window=source.window,
        tick=source.tick,
        dated=dated,
    )  # fmt: skip


def _steps(engine: Engine, key: Hashable) -> list[Step]:
    """Return the steps of a key, numbered, which tells those of one LE apart; those without events with their partial matches."""
    steps = engine.steps(key, BEGINNING, FOREVER - 1, ())
    if not all(y.events for y in steps):
        whole = engine.steps(key, BEGINNING, max(y.le for y in steps if not y.events))
        steps = [y if y.events else y._replace(partial=[_began(p) for p in z.partial]) for y, z in zip(steps, whole)] + steps[
            len(whole) :
        ]
    return [y._replace(start=(y.le, i)) for i, y in enumerate(steps)]


def _began(p: PMatch) -> PMatch:
    """Return a partial match that began before all that is held, by its LE alone, as some engines tell no more."""
    return p._replace(start=(p.start[0] if isinstance(p.start, tuple) else p.start, -1))


def _arc(asked: CountedFence) -> ArcCount:
    arc = asked.arc
    parts = [PartCount(part.text, stopped) for part, stopped in zip(asked.parts, asked.stopped)]
    return ArcCount(
        label_of(arc), arc.src, arc.dst, arc.kind, asked.lifetimes, asked.asked, asked.true, asked.last, parts, asked.raised,
        asked.error, asked.past,
    )  # fmt: skip


def _misses(source: FunnelSource, counting: Counting) -> list[Miss]:
    """Return the nearest misses of the arcs that lead on from the furthest state that was reached."""
    reached = [state for state, c in counting.ended.items() if c.entered + c.before and state in counting.far]
    least = min((counting.far[state] for state in reached), default=None)
    front = [counting.automaton.start] if least is None else [state for state in reached if counting.far[state] == least]
    found: list[tuple[Any, CountedFence]] = []
    for asked in counting.asked.values():
        if asked.arc.src in front and not asked.true:
            found += [(missed, asked) for missed in asked.misses]
    found.sort(key=lambda item: item[0][:4])
    known: dict[Hashable, list[Step]] = {}
    misses = []
    for missed, asked in found[:KEPT]:
        counting.transitions.key = missed.key
        if missed.key not in known:
            known[missed.key] = _steps(source.engine, missed.key)
        events = events_behind(counting.transitions, known[missed.key], missed)
        misses.append(
            Miss(label_of(asked.arc), asked.parts[missed.part].text, missed.key, missed.le, missed.payload, missed.register, events)
        )
    return misses


def funnel(self: Matching, *, most: int | None = MOST) -> Funnel:
    """Return what every arc was asked, where partial matches ended, and in one sentence why there is no match.

    What is held is counted: with what the watermark has dropped it says nothing. Nothing is kept for it before. Matches are
    those of the arcs, before AFTER MATCH SKIP, ``collapse=``, ``having=`` or a stage behind the operator; `why` says so of the
    first three.

    Parameters
    ----------
    most : int or None
        So many functions are asked at most; what is left out then, whole keys, is said. None: all is counted.

    Returns
    -------
    Funnel
        To print, as an Arrow table (`table`), as plain data (`to_json`); a notebook shows it.

    Raises
    ------
    AfaError
        Payloads are not kept (``keep_payloads=False``), or the automaton has a condition on paths (``having=``), as that of a
        query with conditions that wait for the match.

    Notes
    -----
    O(events * arcs), where the event alone decides for what waits; else O(what stands at each step).

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Arc, Automaton, Operator, insert
    >>> class Pay(NamedTuple):
    ...     amount: int
    >>> two = Automaton(start="0", final={"big"}, event=Pay, arcs=[
    ...     Arc("0", "small", "amount < 10"), Arc("small", "big", "amount > 500"),
    ... ])
    >>> op = Operator(two, window=2)
    >>> _ = op.push_many([insert(Pay(1), le=1), insert(Pay(900), le=4)])
    >>> op.funnel().why.partition(" (")[0]
    '`small -> big` was never asked: the one partial match in `small` ended by the window'
    """
    return self._core.calls.call(_funnel_in, self._core, most)


def _funnel_in(core: Core, most: int | None) -> Funnel:
    """Return the funnel of an operator, within a call."""
    if most is not None and (type(most) is not int or most < 1):
        raise AfaError(f"expected a number of functions to ask, at least 1, or None but got most={most!r}")
    if isinstance(core.engine, RewrittenEngine):
        raise AfaError("expected an operator that keeps payloads, for its funnel, but got keep_payloads=False")
    if core.automaton.having is not None:
        raise AfaError(
            "expected an operator whose arcs ask all that there is to ask, for its funnel, but got one with a condition on paths, "
            "having= of its automaton; give Query.operator postpone=False"
        )
    held = core.held()
    progress, keys = held.progress, "" if core.keys is None else ", ".join(core.keys.names)
    source = FunnelSource(
        engine=held.engine,
        automaton=held.automaton,
        table=held.table,
        clock=progress.events,
        since=progress.floor,
        some=progress.some,
        longest=held.longest,
        window=core.window,
        tick=core.tick,
        keys=keys or ("its keys" if core.keyed else ""),
        late=core.late.count,
        taken=core.changes,
    )
    found = funnel_of(source, most)
    options = core.told.options if isinstance(core.told, ToldAnew) else []
    if found.cause == "matched" and options:
        found = replace(found, why=f"{found.why}{BEFORE}{' and '.join(f'{name}=' for name, _ in options)}")
    return found
