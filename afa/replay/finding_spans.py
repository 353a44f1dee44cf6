"""Find the spans in which a match can lie: by statistics, then by scans, each inside what the one before has left.

row groups that may hold each witness  ->  times in which all of them may lie  ->  the column whose scan saves most, there
  ->  candidates  ->  spans  ->  the next column, in the row groups that spans touch  ->  ..

as long as a scan saves more than it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from afa.model.event_order import is_list
from afa.replay.costs import Costs
from afa.replay.holding import field_of
from afa.replay.key_spans import Candidates, Spans, all_met, joined, joined_candidates, later, spans_of, touching
from afa.replay.question import Question
from afa.replay.scan_plan import ReplayPlan, ScanStep
from afa.replay.scanning import Scan, Scanner, blocks_of
from afa.replay.seen_keys import SeenKeys
from afa.replay.witness.witnesses import Necessary, Witness

GAIN = 0.95
"""A scan is made if what it costs, and what is left then, is less than this share of what there is to do."""
TRIED = 6
"""How many columns are thought about together with a second one."""


class MatchSpans(NamedTuple):
    """Where matches can lie."""

    region: Spans  # times, of any key
    spans: Spans | None  # times of keys; None: no column was scanned
    keys: SeenKeys
    alive: Any  # bool: the row groups in which a match can lie

    @classmethod
    def nothing(cls, asking: Question) -> MatchSpans:
        """Return no span at all: there can be no match."""
        none = joined(*np.zeros((3, 0), np.int64))
        return cls(none, none, SeenKeys(asking), np.zeros(len(asking.stored), bool))

    def by_key(self, asking: Question) -> Spans:
        """Return the spans of keys; if no column was scanned, the region for each key that is there."""
        if self.spans is not None:
            return self.spans
        self.keys.see(np.flatnonzero(self.alive).tolist())
        many = len(self.keys)
        key = np.repeat(np.arange(many), len(self.region))
        return Spans(key, np.tile(self.region.low, many), np.tile(self.region.high, many))


def find_spans(
    asking: Question,
    needs: Necessary,
    costs: Costs,
    longest: int,
    plan: ReplayPlan,
    order: Sequence[tuple[str, ...]] | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> MatchSpans:
    """Find the spans of a question, and note in the plan what was done.

    ``order``: the columns to scan, whatever they cost. ``progress``: as of `afa.replay.replay`.
    """
    witnesses, keys = needs.witnesses, SeenKeys(asking)
    viable, region = by_statistics(asking, needs, longest)
    alive = touching(region, asking.extents.least, asking.extents.latest)
    plan.may_hold = int(alive.sum())
    exact = _countable(asking)
    scanner = Scanner(asking, witnesses, keys, longest, costs.share)
    kinds: list[Candidates] = []
    made: list[Scan] = []
    spans: Spans | None = None
    while alive.any() and (spans is None or len(spans)):
        scan = _next(asking, witnesses, costs, made, exact, alive, spans, len(keys), plan, order)
        if scan is None:
            break
        places = [place for block in scan.blocks for place in block.places]
        groups = alive & np.logical_or.reduce([viable[place] for place in places])
        named = None if progress is None else partial(progress, f"scan of {', '.join(scan.columns)}")
        kinds = _with(kinds, scan, scanner, np.flatnonzero(groups).tolist(), spans, named)
        made.append(scan)
        first, last = witnesses[kinds[0].place[0]].first, witnesses[kinds[-1].place[1]].last and not needs.waits
        spans = spans_of(kinds, longest, first, last, asking.strict)
        alive = alive & touching(spans, asking.extents.least, asking.extents.latest)
        fewest = min((len(kind.key) for kind in kinds if set(places) >= set(kind.place)), default=0)
        said = ", ".join(witnesses[place].text(asking.plan.events) for place in places)
        plan.steps.append(ScanStep(said, scan.columns, fewest, int(groups.sum()), len(groups)))
    plan.spans = 0 if spans is None else len(spans)
    return MatchSpans(region, spans, keys, alive)


def first_scan(asking: Question, needs: Necessary, costs: Costs, longest: int, plan: ReplayPlan) -> tuple[int, Scan | None]:
    """Return in how many row groups a match can lie, and which scan would come first there; None: none."""
    _, region = by_statistics(asking, needs, longest)
    alive = touching(region, asking.extents.least, asking.extents.latest)
    exact = _countable(asking)
    scan = _next(asking, needs.witnesses, costs, [], exact, alive, None, 1, plan, None) if alive.any() else None
    return int(alive.sum()), scan


def by_statistics(asking: Question, needs: Necessary, longest: int) -> tuple[list[Any], Spans]:
    """Return in which row groups each witness may lie, and the times in which a match may: the coarse pattern map (Sec. 3.4.3)."""
    extents, witnesses = asking.of_blocks, needs.witnesses
    viable = [extents.may_hold(witness.boxes) for witness in witnesses]
    least, latest = extents.least, extents.latest
    for one, two in [*((i, i + 1) for i in range(len(viable) - 1)), *((i, i - 1) for i in range(len(viable) - 1, 0, -1))]:
        ahead = one < two  # of the second kind what comes behind one of the first kind, or before it
        low = least[viable[one]] if ahead else later(least[viable[one]], 1 - longest)
        high = later(latest[viable[one]], longest) if ahead else later(latest[viable[one]], 1)
        near = joined(np.zeros(len(low), np.int64), low, high)
        viable[two] = viable[two] & touching(near, least, latest)
    regions = []
    for witness, may in zip(witnesses, viable):
        low = least[may] if witness.first else later(least[may], 1 - longest)
        high = later(latest[may], 1) if witness.last and not needs.waits else later(latest[may], longest)
        regions.append(joined(np.zeros(len(low), np.int64), low, high))
    groups = np.arange(len(asking.stored))
    return [np.isin(groups, asking.group_of[may]) for may in viable], all_met(regions)


def _countable(asking: Question) -> bool:
    """Return whether steps can be counted: rows have an order that columns show, and none is retracted."""
    sequence, begin, end = asking.plan.order_by, asking.extents.least[1:], asking.extents.latest[:-1]
    if asking.reading.diff is not None or not (begin >= end).all():
        return False
    if sequence is None:
        return True
    if is_list(sequence):
        return False
    field = field_of(asking.plan.events, sequence)
    plain = field.type in (int, float) and not field.optional
    return plain and bool((begin > end).all())  # an LE has several steps, which must not be spread over row groups


def _next(
    asking: Question,
    witnesses: Sequence[Witness],
    costs: Costs,
    made: Sequence[Scan],
    exact: bool,
    alive: Any,
    spans: Spans | None,
    many_keys: int,
    plan: ReplayPlan,
    order: Sequence[tuple[str, ...]] | None,
) -> Scan | None:
    """Return the scan that is worth most; None: none is worth what it costs."""
    if order is not None:
        return next((scan for columns in order if (scan := _scan(witnesses, set(columns), made, exact)).blocks), None)
    left, each = costs.left(spans, alive, many_keys)
    firsts = []
    for scan in _options(witnesses, made, exact):
        after = costs.after([scan], alive) if spans is None else costs.within(spans, each, scan)
        cost = costs.of_scan(scan, left.read, left.groups)
        firsts.append((cost + min(costs.of_replay(after), costs.total), cost, scan, after))
    firsts.sort(key=lambda one: one[0])
    best, most, then = None, min(costs.of_replay(left), costs.total) * GAIN, left
    if firsts and firsts[0][0] < most:
        most, _, best, then = firsts[0]
    for (_, cost, scan, after), (_, _, other, _) in _pairs(firsts[:TRIED]) if spans is None else ():
        both = costs.after([scan, other], alive)
        whole = cost + costs.of_scan(other, after.read, after.groups) + costs.of_replay(both)
        if whole < most * GAIN:
            best, most, then = scan, whole, both
    if best is not None:
        plan.expected = then.rows
    return best


def _pairs(items: Sequence[Any]) -> list[tuple[Any, Any]]:
    return [pair for one, two in combinations(items, 2) for pair in ((one, two), (two, one))]


def _options(witnesses: Sequence[Witness], made: Sequence[Scan], exact: bool) -> list[Scan]:
    """Return the scans that may be next, one for the columns of each witness that is not decided yet."""
    done = {place for scan in made for block in scan.blocks for place in block.places}
    sets = dict.fromkeys(witness.fields for place, witness in enumerate(witnesses) if place not in done)
    return [_scan(witnesses, set(fields), made, exact) for fields in sets]


def _scan(witnesses: Sequence[Witness], columns: set[str], made: Sequence[Scan], exact: bool) -> Scan:
    """Return the scan of some columns: of all witnesses that they decide, and of those at an exact distance that are decided."""
    done = {place for scan in made for block in scan.blocks for place in block.places}
    new = [place for place, witness in enumerate(witnesses) if place not in done and set(witness.fields) <= columns]
    near = blocks_of(witnesses, sorted({*new, *done}), exact)
    blocks = tuple(block for block in near if set(block.places) & set(new))
    fields = {name for block in blocks for place in block.places for name in witnesses[place].fields}
    return Scan(tuple(sorted(fields)), blocks)


def _with(
    kinds: Sequence[Candidates],
    scan: Scan,
    scanner: Scanner,
    groups: Sequence[int],
    spans: Spans | None,
    told: Callable[[int, int], None] | None,
) -> list[Candidates]:
    """Return all candidates with those of one more scan, in order; a block takes the place of its parts."""
    parts: list[list[Candidates]] = [[] for _ in scan.blocks]
    for done, found in scanner.candidates(scan, groups, spans):
        if told is not None:
            told(done, len(groups))
        for i, part in enumerate(found):
            if len(part.key):
                parts[i].append(part)
    new = [joined_candidates(block.place, several) for block, several in zip(scan.blocks, parts)]
    taken = {place for block in scan.blocks for place in block.places}
    kept = [kind for kind in kinds if not set(kind.place) <= taken]
    return sorted([*kept, *new], key=lambda kind: kind.place)
