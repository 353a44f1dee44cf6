"""The window of a temporal pattern: within it a match is decided, so that it is to be longer than what must last before."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from afa.errors import QueryError
from afa.extra.situations.consistency import network_of
from afa.extra.situations.relations import set_of
from afa.extra.situations.situation import Definition, length
from afa.extra.situations.where_text import RelationConstraint
from punctuation.durations import Duration, has_unit, nanoseconds_of, ticks_of_duration

FOLLOWS = set_of(["before", "meets"])
"""The relations in which one situation ends before the other begins, or as it begins."""


def window_of(within: Duration, tick: str | None) -> Duration:
    """Return a window in ticks, or as it is where it waits for a tick.

    Raises
    ------
    AfaError
        It is no duration, or no whole number of ticks, or below one.
    """
    if tick is None and has_unit(within):
        found: Duration = within if nanoseconds_of(within, "within") > 0 else 0
    else:
        found = ticks_of_duration(within, tick, "within")
    if not has_unit(found) and length(found, "within") < 1:
        raise QueryError(f"expected within= of at least one tick but got within={within!r}")
    return found


def check_window(window: Duration, definitions: Sequence[Definition], constraints: Sequence[RelationConstraint]) -> None:
    """Refuse a window in which no match can be decided, as situations that follow one another last longer.

    Raises
    ------
    QueryError
    """
    lasting = {each.name: each.at_least for each in definitions if each.at_least is not None}
    if not lasting or len({has_unit(value) for value in [window, *lasting.values()]}) > 1:
        return
    lengths = {name: length(value, "at_least") for name, value in lasting.items()}
    chain = _longest([each.name for each in definitions], constraints, lengths)
    if length(window, "within") <= sum(lengths[name] for name in chain):
        said = " + ".join(str(lasting[name]) for name in chain)
        follow = f"{', '.join(chain)} follow one another and last" if len(chain) > 1 else f"{chain[0]} lasts"
        raise QueryError(f"expected within= above {said} but got within={window!r}: {follow} at least so long")


def _longest(names: Sequence[str], constraints: Sequence[RelationConstraint], lengths: Mapping[str, Any]) -> list[str]:
    """Return the definitions that must follow one another and together last longest, of those with ``at_least``."""
    network = network_of(names, constraints)
    follow = {name: [other for other in lengths if other != name and not network[name, other] & ~FOLLOWS] for name in lengths}

    @functools.cache
    def best(name: str) -> tuple[Any, tuple[str, ...]]:
        total, chain = max((best(other) for other in follow[name]), default=(0, ()))
        return lengths[name] + total, (name, *chain)

    return list(max(best(name) for name in lengths)[1])
