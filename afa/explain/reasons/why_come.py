"""Why a match was announced: whether the change of the input is one of its events, and what else it did."""

from __future__ import annotations

from typing import Any

from afa.change import Change
from afa.errors import AfaError
from afa.explain.reasons.because import Because
from afa.explain.reasons.call_items import lineage_now
from afa.explain.reasons.why_gone import WithdrawalFacts, arc_change, held_back, is_arc, lasting, same_event
from punctuation.promise import Punctuation


def why_come(asked: WithdrawalFacts, match: Change, newest: bool) -> Because:
    """Return the reason for which a match is announced; ``asked`` has the operator as it is after the change.

    ``newest``: the event is behind all before it, so that it is the last one of what it brings: then O(1), else O(lineage).
    """
    kind, text = _told(asked, match, newest)
    return Because(kind, asked.change, f"Announced: {text}.")


def why_promised(item: Punctuation, match: Change, asked: WithdrawalFacts) -> Because:
    """Return the reason of a match that a promise has brought: a time-out has fired, or a stage has let go what it held back."""
    if "Cleanse" in asked.stages:
        return held_back(Change(None, item.t, None, 0), match, asked)
    when, t = asked.words.time(match.le, match.le), asked.words.time(item.t, match.le)  # type: ignore[arg-type]
    text = f"Announced: nothing that comes can end the wait until {when} any more, as {t} was promised."
    return Because("promise", Change(None, item.t, None, 0), text)


def _told(asked: WithdrawalFacts, match: Change, newest: bool) -> tuple[str, str]:
    change, words = asked.change, asked.words
    le: Any = match.le
    if is_arc(change):
        return "arc", arc_change(change, words, le)
    event = words.event(change, le)
    went = "which was retracted" if change.diff < 0 else "which arrived late" if not newest else "which came"
    lasts = lasting(asked.out, match)
    if lasts is not None:
        now, before = words.time(match.re, le), words.time(lasts.re, le)  # type: ignore[arg-type]
        return "lifetime", f"by {event}, {went}, it lasts until {now}, in place of one until {before}"
    if change.diff < 0:
        return (
            ("choice", f"{event} was retracted, and this match is chosen")
            if "Choose" in asked.stages
            else ("cleared", f"{event}, which stood in its way, was retracted")
        )
    if change.le == le and newest:
        return "completes", f"{event} is its last event"
    late = "came" if newest else "arrived late"
    events = _events(asked, match)
    if any(same_event(each, change) for each in events):
        return (
            ("completes", f"{event} {late} and is its last event")
            if change.le == le
            else ("part", f"{event} {late} and is one of its events")
        )
    if le < change.le and asked.operator._core.arcs.table.timeouts:
        return "clock", f"{event} {late}, so that time has come to {words.time(le, le)}"
    if "Choose" in asked.stages:
        return "choice", f"{event} {late}, and this match is chosen"
    when: list[Any] = [each.le for each in events]
    if when and min(when) < change.le and change.le not in when:
        return "passed", f"{event} {late}, and it passes over this event"
    return "changed", f"{event} {late}, and the match is there with it"


def _events(asked: WithdrawalFacts, match: Change) -> list[Change]:
    """Return the events in the paths of a match in force; none, where it began before what is held."""
    try:
        found = lineage_now(asked.operator, match).events()
    except AfaError:
        return []
    return [each for events in found.values() for each in events]
