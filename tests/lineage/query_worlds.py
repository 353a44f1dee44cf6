"""Random queries x streams: the paths of each match must be the choices that the oracle of queries picks, after every step.

Worlds are those of `tests.language.worlds`: all strategies, repetitions, negations, names at several places, AFTER MATCH SKIP,
keys, ties, disorder, retractions, promises, batches, snapshots. The paths of a match that began before the promise must be refused.
``--kind sums`` has queries of that kind only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from afa import AfaError, Change
from punctuation.time import BEGINNING, FOREVER
from tests.language import worlds
from tests.language.oracle import Event, Found, choices, chosen, payload
from tests.language.worlds import Op, Side, run
from tests.lineage.brute_force import MOST, Behind, Path
from tests.lineage.checks import check_lineage, either_way, refusal
from tests.oracle import Event as Held
from tests.worlds.kind import Seen, TooManyError


def behind(side: Side) -> dict[tuple[Any, Any, int, int], Behind]:
    """What stands behind each match ``(key, payload, le, re)``."""
    tree, window = side.query.tree, side.query.window
    found: dict[tuple[Any, Any, int, int], Behind] = {}
    events = [event for event, n in side.copies.items() if n > 0]
    for each in chosen(tree, not_too_many(choices(tree, events, side.promised))):
        match = each.key, payload(tree, each), each.le, each.re
        path = tuple((component, told(event, window)) for component, event in each.picks)
        one = found.setdefault(match, Behind(set(), FOREVER))
        found[match] = Behind(one.paths | {path}, min(one.first, each.picks[0][1].le))
    return found


def not_too_many(found: Iterable[Found]) -> Iterator[Found]:
    """The same choices, while there are no more than brute force can do."""
    for number, each in enumerate(found):
        if number == MOST:
            raise TooManyError(f"more than {MOST} choices")
        yield each


def told(event: Event, window: int | None) -> Held:
    """An event with its RE."""
    end = FOREVER if window is None else min(event.le + window, FOREVER)
    return Held(event.payload, event.le, end if event.re is None else event.re)


def check_if_told(lineage: Any, match: Change, paths: set[Path], order: str | None) -> bool:
    """Hold a lineage against its paths, unless a promise is why it is refused; whether it is told."""
    try:
        found = lineage(match)
    except AfaError as error:
        if "promise" not in str(error):
            raise
        return False
    check_lineage(found, paths, match.key, order)
    return True


def check_held(side: Side, match: Change, first: int, is_told: bool) -> None:
    """A match that was chosen has its lineage for as long as its rows are held, and no longer."""
    if side.query.tree.skip is not None:
        held = [step.le for step in side.operator._core.engine.steps(match.key, BEGINNING, FOREVER - 1)]
        assert is_told == (first in held), (match, is_told, held)


def check(side: Side) -> Seen:
    """Ask for every lineage."""
    seen, order = Seen(steps=1), side.query.tree.order
    for (key, values, le, re), (paths, first) in behind(side).items():
        match = Change(side.query.shown.cls(*values), le, re, 1, key)
        longer = side.waits or side.query.tree.skip is not None  # what these need themselves is held longer, and may answer
        if min(le, first) < side.promised and longer:
            is_told = check_if_told(side.operator.lineage, match, paths, order)
            check_held(side, match, first, is_told)
            seen["refused"] += not is_told
        elif min(le, first) < side.promised:
            assert "promise" in refusal(side.operator.lineage, match, AfaError)
            seen["refused"] += 1
        else:
            check_lineage(side.operator.lineage(match), paths, key, order)
            seen.update(matches=1, paths=len(paths))
    return seen


class LineageSide(Side):
    """A query's operator at work, asked for every lineage after every step."""

    number = 0
    look = check

    def judge(self, op: Op, out: list[Any]) -> Seen:
        return Seen()

    def step(self, op: Op) -> Seen:
        super().step(op)
        self.number += 1
        with either_way(self.number - 1):
            return self.look()


WORLDS = replace(worlds.WORLDS, name="lineage-of-queries", check=partial(run, of=LineageSide))
