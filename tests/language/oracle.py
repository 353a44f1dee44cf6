"""The oracle of queries: every match of a pattern tree by brute force, from the page "Queries" of SEMANTICS.md; slow, and obvious.

It shares no code with the lowering: it walks the tree, picks one event after the other from the *set* in force, and asks each
predicate of what was picked (`tests/language/meaning.py`). No automaton, no register, no order of arrival.
"""

from __future__ import annotations

import math
from collections import Counter, namedtuple
from collections.abc import Iterable, Iterator
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from afa.expression.nodes import walk
from afa.language.pattern import ANY, NEXT, Component, Either, Gap, Pattern, Repeat, Seq, Tree
from afa.language.terms import Aggregate, Ref
from punctuation.time import BEGINNING, FOREVER
from tests.language.meaning import Taken, holds, value


class Event(NamedTuple):
    """An event in force; ``re`` None: as far as the query's window says."""

    payload: Any
    le: int
    re: int | None = None


class Found(NamedTuple):
    """A match as one choice: the events in order, each with the name of its component, and the lifetime."""

    key: Any  # None: the query has no key
    picks: tuple[tuple[str, Event], ...]
    le: int
    re: int


class Frame(NamedTuple):
    """Where a match stands: in item ``n`` of a Seq, in the n-th iteration of a Repeat; the gaps crossed before that iteration."""

    node: Seq | Repeat
    n: int
    gaps: tuple[Gap, ...] | None = None  # None: the iteration has taken an event
    taken: bool = False  # whether an iteration before it has


class Slot(NamedTuple):
    """A component that may take an event: where the match stands then, and the gaps crossed on the way."""

    component: Component
    frames: tuple[Frame, ...]  # the innermost first
    gaps: tuple[Gap, ...]


def matches(tree: Tree, events: Iterable[Event], punctuation: int = BEGINNING) -> set[tuple[Any, int, int]]:
    """The matches ``(payload, le, re)`` of the events in force; with a key ``((key, payload), le, re)``. Payloads are plain tuples.

    ``punctuation`` is that of the event input; only a negation at the end reads it.
    """
    return set(counted(tree, events, punctuation))


def counted(tree: Tree, events: Iterable[Event], punctuation: int = BEGINNING) -> Counter[tuple[Any, int, int]]:
    """The same, and how often: where AFTER MATCH SKIP chooses, each choice is one; else equal ones are one."""
    out = Counter[tuple[Any, int, int]]()
    for found in chosen(tree, choices(tree, events, punctuation)):
        shown = payload(tree, found)
        match = shown if found.key is None else (found.key, shown), found.le, found.re
        out[match] = 1 if tree.skip is None else out[match] + 1
    return out


def chosen(tree: Tree, found: Iterable[Found]) -> Iterator[Found]:
    """The choices that AFTER MATCH SKIP shows: of those with one first event the preferred, and the next as it says."""
    if tree.skip is None:
        yield from found
        return
    resume: dict[Any, tuple[int, int]] = {}
    started: set[tuple[Any, tuple[int, int]]] = set()
    for each in found:  # by key, by first event, by preference
        start = place(tree, each.picks[0][1])
        if (each.key, start) in started or start < resume.get(each.key, start):
            continue
        started.add((each.key, start))
        resume[each.key] = resumes(tree, each)
        yield each


def resumes(tree: Tree, found: Found) -> tuple[int, int]:
    """Where the next match may begin at the earliest, if not where this one does."""
    words = str(tree.skip).split()
    if words[0] == "to" and words[1] in ("first", "last"):
        taken = Taken(tuple(found.picks), dict(tree.subsets)).of(words[2])
        return place(tree, taken[0 if words[1] == "first" else -1]) if taken else place(tree, found.picks[0][1])
    le, order = place(tree, found.picks[-1 if words[0] == "past" else 0][1])
    return le, order + 1


def choices(tree: Tree, events: Iterable[Event], punctuation: int = BEGINNING) -> Iterator[Found]:
    """Every way to choose the events of a match: by key, by first event, the preferred first.

    Two ways with equal payload and lifetime are one match.
    """
    stream, punctuation = beside(tree, list(events), punctuation) if tree.neighbours else (list(events), punctuation)
    keyed = sorted(stream, key=lambda event: repr(key_of(tree, event)))
    for _, group in groupby(keyed, key=lambda event: repr(key_of(tree, event))):
        yield from Search(tree, stream, list(group), punctuation).run()


def beside(tree: Tree, events: list[Event], punctuation: int) -> tuple[list[Event], int]:
    """Events with fields of their neighbours, so many steps away among those of the key; and how far these are final."""
    made, final, window = [], punctuation, FOREVER if tree.window is None else tree.window
    cls: Any = namedtuple("cls", (*tree.event._fields, *(name for name, _, _ in tree.neighbours)))
    for event in events:
        own = [other for other in events if key_of(tree, other) == key_of(tree, event)]
        steps = sorted({place(tree, other) for other in own})
        at, more = steps.index(place(tree, event)), list[Any]()
        for _, field, offset in tree.neighbours:
            there = [other for other in own if steps.index(place(tree, other)) == at + offset]
            seen = len(there) == 1 and there[0].le < event.le + window
            more.append(getattr(there[0].payload, field) if seen else None)
            behind = [le for le, _ in steps[at + 1 :] if le < punctuation]
            if offset > len(behind) and event.le < punctuation < event.le + window:
                final = min(final, event.le)
        made.append(event._replace(payload=cls(*event.payload, *more)))
    return made, final


def key_of(tree: Tree, event: Event) -> Any:
    """The key of an event: a value; a tuple, where it has several fields; None, where there is no key."""
    values = tuple(getattr(event.payload, name) for name in tree.key)
    return None if not values else values[0] if len(values) == 1 else values


def payload(tree: Tree, found: Found) -> tuple[Any, ...]:
    """What a match shows: the values of RETURN, without one the fields of the components that take exactly one event."""
    taken = Taken(tuple((name, event.payload) for name, event in found.picks), dict(tree.subsets))
    if tree.returns:
        return tuple(value(expr, None, taken) for _, expr in tree.returns)
    return tuple(taken.of(name)[0][i] for name in singles(tree.pattern) for i in range(len(tree.event._fields)))


def singles(pattern: Pattern) -> list[str]:
    """The components that take exactly one event in every match."""
    return [name for name, count in counts(pattern).items() if count == (1, 1)]


def counts(pattern: Pattern) -> dict[str, tuple[float, float]]:
    """How many events each component takes at least and at most."""
    match pattern:
        case Component(name):
            return {name: (1, 1)}
        case Repeat(item, low, high):
            most = math.inf if high is None else high
            return {name: (few * low, many * most) for name, (few, many) in counts(item).items()}
    parts = [counts(item) for item in pattern.items]
    names = dict.fromkeys(name for part in parts for name in part)
    ends = {name: [part.get(name, (0, 0)) for part in parts] for name in names}
    if isinstance(pattern, Seq):
        return {name: (sum(few for few, _ in found), sum(many for _, many in found)) for name, found in ends.items()}
    return {name: (min(few for few, _ in found), max(many for _, many in found)) for name, found in ends.items()}


def place(tree: Tree, event: Event) -> tuple[int, int]:
    """Where an event stands in the order; events of one place are before nobody."""
    return event.le, getattr(event.payload, tree.order) if tree.order else 0


class Search:
    """The search in the events of one key; ``stream`` are those of all keys."""

    def __init__(self, tree: Tree, stream: list[Event], own: list[Event], punctuation: int) -> None:
        self.tree, self.stream, self.own = tree, stream, own
        self.earlier = dict(before_absent(tree.pattern, frozenset()))
        self.clock = max([event.le for event in own] + [punctuation])

    def run(self) -> Iterator[Found]:
        """Begin with each event at each component that may come first."""
        for event in sorted(self.own, key=self.place):
            for slot in enter(self.tree.pattern, (), ()):
                if slot is None and self.tree.skip is not None:  # what is preferred is an empty match, which is not shown
                    break
                if slot is not None and self.takes(slot.component, event, ()):
                    yield from self.grow(((slot, event),))

    def grow(self, picks: tuple[tuple[Slot, Event], ...]) -> Iterator[Found]:
        """End here, or go on with each later event at each component that may come next."""
        slot, last = picks[-1]
        for following in leave(slot.frames, ()):
            if following is None:
                yield from self.end(picks)
                continue
            if following.component.name != slot.component.name and not self.done(picks):
                continue
            for event in self.own:
                later = self.place(last) < self.place(event) and event.le < self.limit(picks)
                if later and self.takes(following.component, event, picks) and self.may_skip(picks, following, event):
                    yield from self.grow((*picks, (following, event)))

    def end(self, picks: tuple[tuple[Slot, Event], ...]) -> Iterator[Found]:
        """The match of these events, if nothing forbids it before its first event or after its last one."""
        first, last = picks[0][1], picks[-1][1]
        window = self.tree.window
        re = self.limit(picks)
        if not self.done(picks) or last.le >= re or not self.nothing_between(picks):
            return
        earliest = BEGINNING if window is None else last.le - window
        before = [x for x in self.own if self.place(x) < self.place(first) and (x.le > earliest or window is None)]
        if any(self.takes(absent, x, ()) for absent in self.tree.before for x in before):
            return
        le = last.le
        if self.tree.after:
            le, re = first.le + window, first.le + window + 1
            after = [x for x in self.own if self.place(x) > self.place(last) and x.le < le]
            if any(self.takes(absent, x, picks) for absent in self.tree.after for x in after) or self.clock < le:
                return
        key = key_of(self.tree, first)
        yield Found(key, tuple((slot.component.name, event) for slot, event in picks), le, re)

    def nothing_between(self, picks: tuple[tuple[Slot, Event], ...]) -> bool:
        """Whether no event between two neighbours is one that is absent there, where that depends on what comes later."""
        for i, ((_, last), (slot, event)) in enumerate(pairwise(picks), 1):
            between = [x for x in self.own if self.place(last) < self.place(x) < self.place(event)]
            absent = [each for gap in slot.gaps for each in gap.absent if self.later(each)]
            for each in absent:
                seen = picks[:i] + tuple(pick for pick in picks[i:] if pick[0].component.name in self.later(each))
                if any(self.takes(each, x, seen) for x in between):
                    return False
        return True

    def later(self, absent: Component) -> set[str]:
        """The components that conditions of an absent one name, and that can only come behind it."""
        names = {node.component for expr in absent.where for node in walk(expr) if isinstance(node, Ref | Aggregate)}
        return names & set(counts(self.tree.pattern)) - self.earlier.get(absent.name, frozenset(names))

    def limit(self, picks: tuple[tuple[Slot, Event], ...]) -> int:
        """Where the match ends to be: the window after its first event; the smallest RE of its events, if they say so."""
        window = FOREVER if self.tree.window is None else self.tree.window
        return min([picks[0][1].le + window, FOREVER] + [event.re for _, event in picks if event.re is not None])

    def place(self, event: Event) -> tuple[int, int]:
        """Where an event stands in the order; events of one place are before nobody."""
        return place(self.tree, event)

    def takes(self, component: Component, event: Event, picks: tuple[tuple[Slot, Event], ...]) -> bool:
        """Whether type and predicates of a component hold of an event that comes behind these."""
        typed = component.type is not None and self.tree.type_column is not None
        if typed and getattr(event.payload, self.tree.type_column) != component.type:
            return False
        taken = self.taken(picks)
        once = component.rest if taken.of(component.name) else component.first
        return all(holds(expr, event.payload, taken) for expr in (*component.where, *once))

    def done(self, picks: tuple[tuple[Slot, Event], ...]) -> bool:
        """Whether the last component's conditions on all of its events hold."""
        return all(holds(expr, None, self.taken(picks)) for expr in picks[-1][0].component.done)

    def taken(self, picks: tuple[tuple[Slot, Event], ...]) -> Taken:
        """What predicates see of the events picked so far."""
        return Taken(tuple((slot.component.name, event.payload) for slot, event in picks), dict(self.tree.subsets))

    def may_skip(self, picks: tuple[tuple[Slot, Event], ...], slot: Slot, event: Event) -> bool:
        """Whether all that lies between the last event and this one may be skipped: by the last gap, and by what is absent."""
        last, strategy = picks[-1][1], slot.gaps[-1].strategy
        of = self.stream if strategy == "strict" else self.own
        between = [x for x in of if self.place(last) < self.place(x) < self.place(event)]
        absent = [each for gap in slot.gaps for each in gap.absent if not self.later(each)]
        if any(self.takes(each, x, picks) for each in absent for x in between if x in self.own):
            return False
        if strategy == ANY:
            return True
        if strategy == NEXT:
            return not any(self.takes(component, x, picks) for component in awaits(picks[-1][0]) for x in between)
        return not between


def awaits(slot: Slot) -> list[Component]:
    """What a match waits for that rests in a component: one more iteration of it, if it may repeat, else all that may come next."""
    own, frames, _ = slot
    if frames and isinstance(frames[0].node, Repeat) and frames[0].node.item == own and may_repeat(frames[0]):
        return [own]
    return [slot.component for slot in leave(frames, ()) if slot is not None]


def may_repeat(frame: Frame) -> bool:
    """Whether one more iteration is allowed."""
    return frame.node.high is None or frame.n < frame.node.high


def before_absent(pattern: Pattern, before: frozenset[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """The components that can take an event before an absent one is looked for, by its name."""
    names = frozenset(counts(pattern))
    match pattern:
        case Seq(items, gaps):
            for i, item in enumerate(items):
                yield from before_absent(item, before)
                before |= frozenset(counts(item))
                yield from ((each.name, before) for each in (gaps[i].absent if i < len(gaps) else ()))
        case Either(items):
            for item in items:
                yield from before_absent(item, before)
        case Repeat(item, _, high, gap):
            before |= frozenset() if high == 1 else names
            yield from before_absent(item, before)
            yield from ((each.name, before | names) for each in gap.absent)


def enter(pattern: Pattern, frames: tuple[Frame, ...], gaps: tuple[Gap, ...]) -> Iterator[Slot | None]:
    """The components that may take the next event where a pattern begins, the preferred first; None: the match may end here.

    What may be empty is passed as well.
    """
    match pattern:
        case Component():
            taken = tuple(frame._replace(gaps=None) for frame in frames)
            yield Slot(pattern, taken, gaps)
        case Either(items):
            for item in items:
                yield from enter(item, frames, gaps)
        case Seq(items):
            yield from enter(items[0], (Frame(pattern, 0), *frames), gaps)
        case Repeat():
            yield from iterate(pattern, 0, frames, gaps, False)


def leave(frames: tuple[Frame, ...], gaps: tuple[Gap, ...]) -> Iterator[Slot | None]:
    """The same, where the innermost item or iteration is over."""
    if not frames:
        yield None
        return
    (node, n, before, taken), *rest = frames
    if isinstance(node, Repeat):
        if before is None:
            yield from iterate(node, n, tuple(rest), gaps, True)
        elif n < node.low:
            yield from iterate(node, n, tuple(rest), before, taken)
        else:  # an empty iteration: none follows it that need not be
            yield from leave(tuple(rest), before)
    elif n + 1 < len(node.items):
        yield from enter(node.items[n + 1], (Frame(node, n + 1), *rest), (*gaps, node.gaps[n]))
    else:
        yield from leave(tuple(rest), gaps)


def iterate(node: Repeat, n: int, frames: tuple[Frame, ...], gaps: tuple[Gap, ...], taken: bool) -> Iterator[Slot | None]:
    """The same, behind n iterations, of which some have taken an event or none: one more is preferred if it is greedy."""
    allowed = node.high is None or n < node.high
    crossed = (*gaps, node.gap) if taken else gaps
    more = enter(node.item, (Frame(node, n + 1, gaps, taken), *frames), crossed) if allowed else iter(())
    enough = leave(frames, gaps) if n >= node.low else iter(())
    for ways in (more, enough) if node.greedy else (enough, more):
        yield from ways
