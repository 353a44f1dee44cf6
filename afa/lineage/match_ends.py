"""Where a match ends: the partial matches that stand for it, and the steps from their start on. What is refused, and why."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from afa.change import Change
from afa.engine import Engine, Picks, SoughtMatch, Step, Ways
from afa.errors import AfaError, ChangeError
from afa.lineage.aggregates import Aggregates, aggregates_of
from afa.lineage.bounded import bounded_ways, span_of
from afa.lineage.derivation import derived_ways
from afa.lineage.graph import Graph
from afa.lineage.lineage import Lineage
from afa.lineage.walked import Walked
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from afa.model.pmatch import PMatch, Rest, le_of
from afa.model.raised import Faults
from afa.model.transitions import Transitions
from afa.schema import Schema
from punctuation.progress import Progress
from punctuation.time import BEGINNING, FOREVER

NEAR = 3
"""So many matches are named in place of one that is not in force."""


class LineageSource(NamedTuple):
    """The operator's state from which a lineage is derived.

    ``table`` holds the arcs in force; with ``goes_on`` an arc does not serve where one of its functions raises. ``shown`` and
    ``event`` are the first fields of a match and of an event, all that is told of them (``event=None``: all of any payload). With
    ``longest`` only the match with the largest RE is in force of those with one payload and LE.
    """

    engine: Engine
    automaton: Automaton
    table: ArcTable
    progress: Progress
    goes_on: bool
    shown: Schema
    event: Schema | None
    longest: bool = False

    @property
    def answers(self) -> int:
        """From which LE on matches may have their lineage. One that was chosen has it for as long as it is held."""
        return self.progress.answers if self.automaton.choice is None else BEGINNING


class End(NamedTuple):
    """A partial match that ends as a match: the number of the step at which it stands, what of the match is told, and all of it."""

    step: int
    p: PMatch
    shown: tuple[Any, ...]
    payload: tuple[Any, ...]
    le: int
    re: int


def lineage_of(held: LineageSource, match: Change, only: Collection[Any] | None = None) -> Lineage:
    """Return the lineage of a match in force, in the form that `afa.schema.Schema.take` gives its payload.

    ``only``: where a stage shows several matches as this one, the whole payloads of those that are meant. Raises `ChangeError`
    where no such match is in force, `AfaError` where a promise has dropped its first events (never with ``lineage=True``).
    """
    walked = _walked(held, match, match.re, _least(held, match), only)
    if walked is not None:
        return Lineage(match, Graph(walked), held.event)
    here = _Here(held, match)
    found = [end for end in here.ends if end.re == match.re]
    if not found or (held.longest and any(end.re > match.re for end in here.ends)):  # type: ignore[operator]
        raise here.not_in_force(match)
    if only is not None:
        found = [end for end in found if end.payload in only]
        if not found:
            raise ChangeError(f"expected a match that the stage has chosen but got {_words(match)}, which it has not")
    graph = here.bounded(found, match.re) if held.longest else here.by_starts(found)  # type: ignore[arg-type]
    return Lineage(match, graph, held.event)


def events_of(held: LineageSource, matches: Sequence[Change]) -> list[dict[str, list[Change]]]:
    """Return what `Lineage.events` tells of each of some matches in force. Fast where those of one key stand side by side."""
    found: list[dict[str, list[Change]]] = []
    for key, group in groupby(matches, key=lambda match: match.key):
        some = list(group)
        picks = _picks(held, key, some)
        told = _told(held)
        changes = [Change(told(payload), le, re, 1, key) for payload, le, re in picks.events]
        for match, picked in zip(some, picks.of):
            if picked is None:
                found.append(lineage_of(held, match).events())
                continue
            events: dict[str, list[Change]] = {}
            for component, number in picked:
                events.setdefault(component, []).append(changes[number])
            found.append(events)
    return found


def _picks(held: LineageSource, key: Hashable, matches: Sequence[Change]) -> Picks:
    """Return the events behind matches of a key, as far as the engine finds them itself."""
    promised = max(held.progress.floor, held.progress.some)
    if any(match.le < held.answers for match in matches):  # type: ignore[operator]
        return Picks([None for _ in matches], [])
    soughts = [SoughtMatch(match.le, match.re, [tuple(match.payload)], promised, _least(held, match)) for match in matches]  # type: ignore[arg-type]
    return held.engine.picks(key, soughts)


def lineage_in_force(held: LineageSource, match: Change) -> Lineage | None:
    """Return the lineage of a match as `lineage_of`; None: the match is not in force. Not where only the longest match is."""
    walked = _walked(held, match, match.re, None, None)
    if walked is not None:
        return Lineage(match, Graph(walked), held.event)
    here = _Here(held, match)
    found = [end for end in here.ends if end.re == match.re]
    return Lineage(match, here.by_starts(found), held.event) if found else None


def _least(held: LineageSource, match: Change) -> int | None:
    """Return the bound of the events behind a match, where starts do not matter."""
    return match.re if held.longest else None


def _walked(held: LineageSource, match: Change, re: int | None, least: int | None, only: Collection[Any] | None) -> Walked | None:
    """Return what the engine finds itself of a match with an RE, or of all (None); None: nothing, whatever the reason."""
    sought = _sought(held, match, re, least, only)
    ways = None if sought is None else held.engine.ways(match.key, sought)
    return None if ways is None else Walked(ways, match.key, _told(held), held.table)


def _sought(
    held: LineageSource, match: Change, re: int | None, least: int | None, only: Collection[Any] | None
) -> SoughtMatch | None:
    """Return what the engine is asked for; None: nothing, as the match is final."""
    promised, payload = max(held.progress.floor, held.progress.some), tuple(match.payload)
    if match.le < held.answers:  # type: ignore[operator]
        return None
    wanted = [payload] if only is None else [whole for whole in only if whole[: len(payload)] == payload]
    return SoughtMatch(match.le, re, wanted, promised, least)  # type: ignore[arg-type]


def collapsed_of(held: LineageSource, match: Change, only: Callable[[Change], Collection[Any]] | None = None) -> Lineage:
    """Return the lineage of all matches in force that have the payload, LE and key of one, whatever their RE.

    ``only``, and what is raised: as of `lineage_of`, of each of the matches.
    """
    walked = _walked(held, match, None, match.le + 1, None) if only is None else None  # type: ignore[operator]
    if walked is not None:
        return Lineage(match, Graph(walked), held.event)
    here = _Here(held, match)
    found = here.ends
    if only is not None:
        chosen = {re: only(match._replace(re=re)) for re in {end.re for end in found}}
        found = [end for end in found if end.payload in chosen[end.re]]
    if not found:
        raise here.not_in_force(match)
    graph = here.by_starts(found) if only is not None else here.bounded(found, match.le + 1)  # type: ignore[operator]
    return Lineage(match, graph, held.event)


def aggregated(held: LineageSource, match: Change, field: str | None, component: str | None) -> tuple[int, Aggregates] | None:
    """Return the largest RE and the aggregates of all matches of a payload, LE and key, or None where no match is in force.

    As of `collapsed_of`: raises `AfaError` where one of them began before a promise.
    """
    sought = _sought(held, match, None, match.le + 1, None)  # type: ignore[operator]
    totals = None if sought is None or held.event is None else held.engine.totals(match.key, sought, field, component)
    if totals is not None and not totals.paths:
        return None
    if totals is not None:
        return totals.re, Aggregates(*totals[1:])
    walked = _walked(held, match, None, match.le + 1, None)  # type: ignore[operator]
    if walked is not None:
        return walked.re, aggregates_of(Graph(walked), field, component, held.event)
    here = _Here(held, match)
    if not here.ends:
        return None
    return _largest(here.ends), aggregates_of(here.bounded(here.ends, match.le + 1), field, component, held.event)  # type: ignore[operator]


class _Here:
    """The steps at the LE of a match, and what ends there as it."""

    def __init__(self, held: LineageSource, match: Change) -> None:
        le: Any = match.le
        if le < held.answers:
            raise ChangeError(
                f"expected a match in force with le >= {held.answers} (promised) but got {match.payload!r} at le={le}: "
                f"it is final, and forgotten"
            )
        self._held, self._match, self._le = held, match, le
        self._transitions = Transitions(held.automaton, held.table, Faults() if held.goes_on else None)
        self._transitions.key = match.key
        self._steps = held.engine.steps(match.key, le, le)
        payload = tuple(match.payload)
        self.ends = [end for end in _ends(held, self._transitions, self._steps) if (end.shown, end.le) == (payload, le)]
        self._promised = max(held.progress.floor, held.progress.some)

    def not_in_force(self, match: Change) -> ChangeError:
        """Return the error for a match that is not there. Of a scan a watermark makes some final before the output's says so."""
        if self._held.automaton.choice is not None and self._le < self._promised:
            return ChangeError(
                f"expected a match in force with le >= {self._promised} (promised) but got {_words(match)}: it is not held, be it "
                f"final, and forgotten, or none that was chosen"
            )
        return ChangeError(f"expected a match in force but got {_words(match)}; {_near(self._held, self._transitions, match)}")

    def by_starts(self, found: Sequence[End]) -> Graph:
        """Return the graph of what leads to ends, by their starts."""
        span = self._span(found)
        return self._graph(derived_ways(self._transitions, span, self._by_step(found, span), _largest(found)))

    def bounded(self, found: Sequence[End], least: int) -> Graph:
        """Return the graph of what leads to ends by computations whose events all have an RE at or above a bound."""
        held, le = self._held, self._le
        span = span_of(held.engine, self._match.key, le, least, self._promised) if held.longest else self._span(found)
        since = self._promised if held.longest else None
        return self._graph(bounded_ways(self._transitions, span, self._by_step(found, span), _largest(found), least, since))

    def _graph(self, ways: Ways | None) -> Graph:
        if ways is None:
            raise self._dropped("")
        return Graph(Walked(ways, self._match.key, _told(self._held), self._held.table))

    def _span(self, found: Sequence[End]) -> list[Step]:
        """Return the steps from the first start of ends on, with the partial matches of these starts."""
        starts = {end.p.start for end in found}
        first = min(map(le_of, starts))
        if first < self._promised:
            raise self._dropped(f" at le={first},")
        return [y for y in self._held.engine.steps(self._match.key, first, self._le, starts) if first <= y.le <= self._le]

    def _by_step(self, found: Sequence[End], span: Sequence[Step]) -> dict[int, list[PMatch]]:
        """Return what ends by the number of its step in a span up to the LE."""
        behind = sum(step.le <= self._le for step in self._steps) - len(span)
        ends: dict[int, list[PMatch]] = {}
        for end in found:
            ends.setdefault(end.step - behind, []).append(end.p)
        return ends

    def _dropped(self, at: str) -> AfaError:
        return AfaError(
            f"expected a match whose events are all held but got {_words(self._match)}, which began{at} before "
            f"the promise of {self._promised}: what came before that is dropped"
        )


def starts_of(held: LineageSource, match: Change) -> set[Any]:
    """Return the places at which the partial matches began that stand for a match in force. O(what stands at its LE)."""
    return {end.p.start for end in _Here(held, match).ends if end.re == match.re}


def matches_from(held: LineageSource, key: Hashable, low: int) -> list[Change]:
    """Return the matches of a key that are in force and not final, with an LE from ``low`` on, as insertions.

    O(steps from ``low`` on, and what stands there; all steps, where there are time-outs), unless the engine holds its matches.
    """
    low = max(low, held.progress.output)
    shown, known = len(held.shown.fields), held.engine.matches(key, low)
    if known is not None:
        match = held.automaton.match if held.automaton.choice is None else tuple  # a scan holds what is shown
        payloads = [(tuple(match(register)), le, re) for register, le, re in known]
        told = _longest(held, ((payload[:shown], le, re) for payload, le, re in payloads))
        return [Change(held.shown.cls(*payload), le, re, 1, key) for payload, le, re in told]
    transitions = Transitions(held.automaton, held.table, Faults() if held.goes_on else None)
    transitions.key = key
    steps = held.engine.steps(key, BEGINNING if held.table.timeouts else low, FOREVER - 1)
    found = _in_force(held, (end for end in _ends(held, transitions, steps) if end.le >= low))
    return [Change(held.shown.cls(*payload), le, re, 1, key) for payload, le, re in found]


def _ends(held: LineageSource, transitions: Transitions, steps: Sequence[Step]) -> Iterator[End]:
    """Yield what of the lists of some steps are matches, by events and by time-outs."""
    shown = len(held.shown.fields)
    for i, y in enumerate(steps):
        z = steps[i + 1] if i + 1 < len(steps) else None
        clock = max(y.le, held.progress.events)
        horizon = clock if z is None else z.le if z.follows else min(z.le, clock)
        for p in y.partial:
            instants = [(y.le, p)] if y.events else []
            if p.state in transitions.table.timeouts:
                instants += transitions.fired(p, Rest.behind(y.le), horizon)
            for t, q in instants:
                if transitions.final(q.state, t):
                    payload = tuple(held.automaton.match(q.register))
                    yield End(i, p, payload[:shown], payload, t, q.re)


def _in_force(held: LineageSource, ends: Iterable[End]) -> dict[tuple[Any, int, int], None]:
    """Return which matches ends make, each once."""
    return _longest(held, ((end.shown, end.le, end.re) for end in ends))


def _longest(held: LineageSource, found: Iterable[tuple[Any, int, int]]) -> dict[tuple[Any, int, int], None]:
    """Return matches each once; where only the longest one is in force, of each payload and LE that."""
    if not held.longest:
        return dict.fromkeys(found)
    largest: dict[tuple[Any, int], int] = {}
    for shown, le, re in found:
        largest[shown, le] = max(re, largest.get((shown, le), re))
    return {(shown, le, re): None for (shown, le), re in largest.items()}


def _near(held: LineageSource, transitions: Transitions, match: Change) -> str:
    """Return which matches in force are near to one that is not, in words. O(what is held of the key)."""
    payload, key = match.payload, match.key
    le: Any = match.le
    if held.automaton.choice is None:
        steps = held.engine.steps(key, BEGINNING, FOREVER - 1)
        found = _in_force(held, (end for end in _ends(held, transitions, steps) if end.le >= held.progress.answers))
    else:
        found = {(tuple(each.payload), each.le, each.re): None for each in matches_from(held, key, BEGINNING)}  # type: ignore[misc]
    if not found:
        return f"none is in force{_of(key)}"
    near = sorted(found, key=lambda end: (end[0] != payload, abs(end[1] - le), end[1], repr(end)))[:NEAR]
    return "near it: " + ", ".join(f"{held.shown.cls(*shown)!r} from {le} to {re}" for shown, le, re in near)


def _words(match: Change) -> str:
    return f"{match.payload!r} from {match.le} to {match.re}{_of(match.key)}"


def _of(key: Hashable) -> str:
    return "" if key is None else f" of key {key!r}"


def _largest(ends: Iterable[End]) -> int:
    return max(end.re for end in ends)


def _told(held: LineageSource) -> Callable[[Any], Any]:
    """Return how an event is told: without the fields that a stage has added."""
    schema, whole = held.event, held.automaton.event_schema
    if schema is None or whole is None or schema.cls is whole.cls:
        return lambda payload: payload
    size = len(schema.fields)
    return lambda payload: schema.cls(*payload[:size])
