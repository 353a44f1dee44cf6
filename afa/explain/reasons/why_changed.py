"""Why a match was withdrawn: the events of its paths before the change of the input, and where the change lies among them.

Why one was announced: whether the change is one of its events, and what else it did.
"""

from __future__ import annotations

from itertools import islice, pairwise
from typing import Any, NamedTuple

from afa.change import Change
from afa.errors import AfaError
from afa.explain.reasons.because import Because
from afa.explain.reasons.call_items import lineage_now
from afa.explain.reasons.telling import SentenceWords, arc_words
from afa.lineage import Lineage
from afa.lineage.lineage import Path
from afa.lineage.match_ends import starts_of
from afa.model.arc import Arc
from afa.model.event_order import placing
from afa.model.pmatch import Rest
from afa.model.transitions import Transitions
from afa.operator.named_swap import NamedSwap
from afa.schema import any_payload
from punctuation.promise import Punctuation


def broken_run(core: Any, match: Change, first: Change, change: Change) -> str | None:
    """Return a sentence about the partial matches of a match in force when an event comes that is not there yet.

    The core is that before the event; ``first`` is the first event of one of the match's paths; the key has no event at the instant
    of the new one. None: there is not one answer for all partial matches of this match, or it was chosen by a scan.
    """
    if core.automaton.choice is not None:
        return None
    try:
        held = core.held()
        le: Any = change.le
        end: Any = change.re
        steps = [y for y in held.engine.steps(match.key, le, le) if y.le < le]
        if not steps:
            return None
        starts = starts_of(held, match)
        begun = {start for start in starts if (start[0] if isinstance(start, tuple) else start) == first.le}
        transitions = Transitions(held.automaton, held.table)
        rows = [p for p in steps[-1].partial if p.start in (begun or starts)]
        rows = [p for p in rows if p.re >= match.re]  # no other leads to it
        if not rows or held.goes_on or any(p.state in transitions.table.timeouts for p in rows):
            return None
        rest = Rest.behind(steps[-1].le)
        led = [(p.state, *transitions.derive(p, rest, le, {(change.payload, end): 1})) for p in rows]
    except AfaError:
        return None
    states = {state for state, _, _ in led}
    if any(stays for _, _, stays in led) or len(states) > 1:
        return None
    (state,) = states
    to = {q.state for _, found, _ in led for q in found}
    if not to and not any(found for _, found, _ in led):
        return f"In state {state!r} no arc takes it: the partial match ends there."
    if len(to) == 1 and all(found for _, found, _ in led):
        (then,) = to
        return f"In state {state!r} the partial match takes it, and goes on in {then!r}."
    return None


PATHS = 16
"""So many paths of a match are looked at for one in which an event lies between two others."""


class WithdrawalFacts(NamedTuple):
    """The facts from which a reason is told."""

    operator: Any  # with the stages around it, as they were before the change
    change: Change  # of an event in its whole form, or of an arc
    out: list[Change]  # what the change has announced and withdrawn
    next: Change | None  # the change behind it in the call, if it is one of an event of the same key
    stages: frozenset[str]  # around the operator: Choose chooses (a scan, too), Cleanse holds back, LastBefore looks back
    words: SentenceWords


def why_gone(asked: WithdrawalFacts, match: Change) -> Because:
    """Return the reason for which a match, in force before the change, is withdrawn by it. O(lineage)."""
    change, near = asked.change, match.le
    if change.payload is None and not change.diff:
        return held_back(change, match, asked)
    if is_arc(change):
        return Because("arc", change, f"Withdrawn: {arc_change(change, asked.words, near)}.")  # type: ignore[arg-type]
    kind, text, events = (_retracted if change.diff < 0 else _inserted)(asked, match, _paths(asked.operator, match))
    return Because(kind, change, f"Withdrawn: {text}", events)


Told = tuple[str, str, tuple[Change, ...]]


def _paths(operator: Any, match: Change) -> list[Path]:
    """Return the first paths of a match in force; none, where it began before what is held."""
    try:
        lineage: Lineage = lineage_now(operator, match._replace(diff=1))
        return list(islice(lineage.paths(), PATHS))
    except AfaError:
        return []


def _retracted(asked: WithdrawalFacts, match: Change, paths: list[Path]) -> Told:
    change, words, near = asked.change, asked.words, match.le
    event = words.event(change, near)  # type: ignore[arg-type]
    own = [each for path in paths for _, each in path if same_event(each, change)]
    follows = asked.next
    if own:
        instead = follows is not None and follows.diff > 0
        revised = f" In its place came {words.event(follows, near)}." if instead and follows is not None else ""  # type: ignore[arg-type]
        return "retracted", f"{event}, one of its events, was retracted.{revised}", (own[0],)
    lasts = lasting(asked.out, match)
    if lasts is not None:
        return "lifetime", f"without {event}, which was retracted, {_lasts(words, match, lasts)}.", ()
    last = max((each.le for path in paths for _, each in path), default=None)  # type: ignore[type-var]
    if last is not None and last < match.le < change.le:  # type: ignore[operator]
        when = words.time(match.le, near)  # type: ignore[arg-type]
        return "clock", f"{event} was retracted, so that time has not come to {when} any more.", ()
    if "Choose" in asked.stages and paths:
        return "choice", f"since {event} was retracted, another match is chosen.", ()
    if any(_passes(path, change) for path in paths if path) and change.le <= match.le:  # type: ignore[operator]
        return "passed", f"{event}, over which it passed, was retracted.", ()
    return "changed", f"{event}, without which there is no such match, was retracted.", ()


def _inserted(asked: WithdrawalFacts, match: Change, paths: list[Path]) -> Told:
    change, words, near = asked.change, asked.words, match.le
    event = words.event(change, near)  # type: ignore[arg-type]
    late = "arrived late" if change.le <= match.le else "came"  # type: ignore[operator]
    lasts = lasting(asked.out, match)
    if lasts is not None:
        return "lifetime", f"with {event}, which {late}, {_lasts(words, match, lasts)}.", ()
    place = _placed(asked.operator._core)
    here = place(change)
    for path in paths:
        for a, b in pairwise(each for _, each in path):
            if place(a) < here < place(b):
                way = broken_run(asked.operator._core, match, path[0][1], change)
                a_b = f"{words.event(a, near)} and {words.event(b, near)}"  # type: ignore[arg-type]
                return "between", f"{event} {late} and lies between two of its events, {a_b}.{f' {way}' if way else ''}", (a, b)
    at = [each for path in paths for _, each in path if place(each) == here]
    if at:
        return "instant", f"{event} {late}, at the instant of one of its events, {words.event(at[0], near)}.", (at[0],)  # type: ignore[arg-type]
    ends = [path[-1][1] for path in paths if path]
    if ends and change.le < match.le and all(place(end) < here for end in ends):  # type: ignore[operator]
        told = f"{event} {late}, behind its last event, {words.event(ends[0], near)}, and before {words.time(match.le, near)}"  # type: ignore[arg-type]
        return "absence", f"{told}, until when there was none.", (ends[0],)
    begins = [path[0][1] for path in paths if path]
    before = bool(begins) and all(here < place(begin) for begin in begins)
    if "Choose" in asked.stages and paths and not (before and "LastBefore" in asked.stages):
        return "choice", f"with {event}, which {late}, another match is chosen.", ()
    if before:
        return "before", f"{event} {late} and lies before its first event, {words.event(begins[0], near)}.", (begins[0],)  # type: ignore[arg-type]
    return "changed", f"{event} {late}; with it there is no such match.", ()


def _passes(path: Path, change: Change) -> bool:
    """Return whether an event stands behind the first event of a path, and at the instant of none."""
    when: list[Any] = [each.le for _, each in path]
    return when[0] < change.le and change.le not in when


def _placed(core: Any) -> Any:
    """Return a function that tells where an event stands in the order."""
    if core.sequence is None:
        return lambda change: (change.le,)
    value, fill = placing(core.sequence, core.automaton.event_schema), core.filled
    return lambda change: (change.le, value(change.payload if fill is None else fill(change.payload)))


def _lasts(words: SentenceWords, match: Change, other: Change) -> str:
    now, before = words.time(other.re, match.le), words.time(match.re, match.le)  # type: ignore[arg-type]
    return f"a match that shows the same lasts until {now} in its place, which lasted until {before}"


def lasting(out: list[Change], match: Change) -> Change | None:
    """Return, of what came or went the other way beside a match, one that shows the same at the same LE for another time."""
    shown = any_payload(match.payload)
    for other in out:
        same = other.diff * match.diff < 0 and other.le == match.le and other.key == match.key
        if same and any_payload(other.payload) == shown:
            return other
    return None


def same_event(one: Change, other: Change) -> bool:
    """Return whether two changes are of one event, whatever their signs."""
    return (any_payload(one.payload), one.le, one.re) == (any_payload(other.payload), other.le, other.re)


def held_back(promise: Change, match: Change, asked: WithdrawalFacts) -> Because:
    """Return the reason of what a stage has held back until a promise."""
    done = "Announced" if match.diff > 0 else "Withdrawn"
    t = asked.words.time(promise.le, match.le)  # type: ignore[arg-type]
    return Because("promise", promise, f"{done}: what was held back until {t} was promised has gone on.")


def is_arc(change: Change) -> bool:
    """Return whether a change is one of arcs."""
    return isinstance(change.payload, (Arc, NamedSwap))


def arc_change(change: Change, words: SentenceWords, near: int) -> str:
    """Return a change of an arc in words."""
    since = "" if change.le is None else f" from {words.time(change.le, near)} on"
    until = "" if change.re is None else f", until {words.time(change.re, near)}"
    done = "put in" if change.diff > 0 else "swapped" if change.diff == 0 else "taken out"
    return f"{arc_words(change.payload)} was {done}{since}{until}"


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
