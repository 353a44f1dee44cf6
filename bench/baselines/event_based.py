"""Event-based evaluation of sequences over events with intervals (PVLDB 2010, Sec. 5 and B): query order, any state, selectivity.

Events come in the order in which none begins after one that comes later has ended, and none is longer than a bound. Runs hold the
valid intervals of their events. A confidence is computed by going through instants, once all that may compete has come; under skip
till next the next event's latest time (NELT) cuts intervals, and products over competitors stand for the worlds.
"""

from __future__ import annotations

import time
from bisect import bisect_right, insort
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from bench.baselines.valid_intervals import Known, by_points, free, narrowed

NEVER = 2**62
Answer = dict[tuple[int, ...], float]
"""The confidence of each signature, by the numbers of its events."""


class Run(NamedTuple):
    """Events chosen for some components, in the order of these, and their valid intervals."""

    events: tuple[Known, ...]
    lows: list[int]
    highs: list[int]


class Evaluation:
    """What the ways have in common.

    ``length`` is that of the pattern, in components, ``longest`` that of the longest interval; ``following``: skip till next.
    """

    def __init__(self, length: int, window: int, following: bool, longest: int) -> None:
        self.length, self.window, self.following, self.longest = length, window, following, longest
        self.answer: Answer = {}
        self.tries = 0
        self.seconds = 0.0
        """What confidences took."""
        self._seen: list[list[tuple[int, int, Known]]] = [[] for _ in range(length)]  # by lower, of each component
        self._begun = -NEVER
        self._complete: list[Run] = []

    @property
    def horizon(self) -> int:
        """No event that comes begins before it."""
        return self._begun - self.longest

    def push(self, events: Iterable[Known]) -> None:
        """Take events in their order of arrival."""
        for event in events:
            self._begun = max(self._begun, event.lower)
            if event.component < self.length:
                insort(self._seen[event.component], (event.lower, event.id, event))
                self.take(event)
            self.settle()

    def end(self) -> Answer:
        """End the stream. Returns the confidences."""
        self._begun = NEVER
        self.settle()
        self._tell()
        return self.answer

    def take(self, event: Known) -> None:
        """Take an event that fits a component."""
        raise NotImplementedError

    def settle(self) -> None:
        """Go on where the horizon has moved."""
        raise NotImplementedError

    def joined(self, run: Run, event: Known) -> Run | None:
        """Return a run with one more event; None if no world has it."""
        self.tries += 1
        events = [*run.events, event]
        if event.component < run.events[-1].component:
            events.sort(key=lambda each: each.component)
        at = events.index(event)
        lows, highs = [*run.lows[:at], event.lower, *run.lows[at:]], [*run.highs[:at], event.upper, *run.highs[at:]]
        places = [each.component for each in events]
        if self.following:
            for i in range(max(at, 1), min(at + 2, len(events))):
                if places[i] == places[i - 1] + 1:
                    highs[i] = min(highs[i], self._latest(events[i - 1]))
        valid = narrowed(places, lows, highs, self.window)
        return valid and Run(tuple(events), *valid)

    def _latest(self, event: Known) -> int:
        """Return the NELT of an event: of those that fit the next component and begin after it has ended, when the first ends."""
        seen = self._seen[event.component + 1]
        return min((each.upper for _, _, each in seen[bisect_right(seen, (event.upper, NEVER)) :]), default=NEVER)

    def complete(self, run: Run) -> None:
        """Note a run that has an event for each component."""
        self._complete.append(run)

    def tell(self, often: int = 50) -> None:
        """Compute confidences, some at a time."""
        if len(self._complete) >= often:
            self._tell()

    def _tell(self) -> None:
        ready = [run for run in self._complete if run.events[-1].upper < self.horizon]
        if not ready:
            return
        begin = time.process_time()
        for run in ready:
            confidence = self._confidence(run)
            if confidence > 0:
                self.answer[tuple(event.id for event in run.events)] = confidence
        self.seconds += time.process_time() - begin
        self._complete = [run for run in self._complete if run.events[-1].upper >= self.horizon]
        self._forget()

    def _forget(self) -> None:
        """Forget events that are between no two of a match to come."""
        bound = self.horizon - 2 * self.window - 2 * self.longest
        for events in self._seen:
            del events[: bisect_right(events, (bound, NEVER))]

    def _confidence(self, run: Run) -> float:
        chance = float(np.prod([1.0 / (event.upper - event.lower + 1) for event in run.events]))
        tables: list[Any] = []
        if self.following:
            for i in range(1, self.length):
                s, t = (np.arange(run.lows[j], run.highs[j] + 1) for j in (i - 1, i))
                first = bisect_right(self._seen[i], (run.lows[i - 1] - self.longest, -1))
                near = self._seen[i][first : bisect_right(self._seen[i], (run.highs[i], NEVER))]
                tables.append(free([each for _, _, each in near if each is not run.events[i]], s[:, None], t[None, :]))
        return by_points(run.lows, run.highs, self.window, tables) * chance


class QueryOrder(Evaluation):
    """Events wait until they can be taken in the order of components, so that a run grows at its end alone."""

    def __init__(self, length: int, window: int, following: bool, longest: int) -> None:
        super().__init__(length, window, following, longest)
        self._waiting: list[list[Known]] = [[] for _ in range(length)]
        self._runs: list[list[Run]] = [[] for _ in range(length)]  # by their length, less one

    def take(self, event: Known) -> None:
        if event.component == 0:
            self._extend(event)
        else:
            self._waiting[event.component].append(event)

    def settle(self) -> None:
        horizon, moved = self.horizon, False
        for number in range(1, self.length):
            waiting = self._waiting[number]
            while waiting and waiting[0].upper < horizon:
                if any(each.lower <= waiting[0].upper for earlier in self._waiting[1:number] for each in earlier):
                    break
                self._extend(waiting.pop(0))
                moved = True
        if moved:
            for runs in self._runs:
                runs[:] = [run for run in runs if min(run.highs) + self.window > self._oldest(horizon)]
            self.tell()

    def _oldest(self, horizon: int) -> int:
        """No event that is taken from now on begins before it."""
        return min([horizon, *(each.lower for waiting in self._waiting for each in waiting)])

    def _extend(self, event: Known) -> None:
        if event.component == 0:
            self._runs[0].append(Run((event,), [event.lower], [event.upper]))
            return
        last = event.component == self.length - 1
        for run in self._runs[event.component - 1]:
            longer = self.joined(run, event)
            if longer is None:
                continue
            if last:
                self.complete(longer)
            else:
                self._runs[event.component].append(longer)


class AnyState(Evaluation):
    """Events are taken as they come: a run begins with any component, and is cloned for each event that fits another one."""

    def __init__(self, length: int, window: int, following: bool, longest: int) -> None:
        super().__init__(length, window, following, longest)
        self._runs: list[Run] = []

    def take(self, event: Known) -> None:
        if self.length == 1:
            self.complete(Run((event,), [event.lower], [event.upper]))
            return
        new = [Run((event,), [event.lower], [event.upper])]
        for run in self._runs:
            if all(each.component != event.component for each in run.events) and (longer := self.joined(run, event)):
                if len(longer.events) == self.length:
                    self.complete(longer)
                else:
                    new.append(longer)
        self._runs += new

    def settle(self) -> None:
        oldest = self.oldest()
        self._runs = [run for run in self._runs if self._alive(run, oldest)]
        self.tell()

    def oldest(self) -> int:
        """Return a time before which no event begins that is taken from now on."""
        return self.horizon

    def _alive(self, run: Run, oldest: int) -> bool:
        """Whether an event to come may join: within the window of all, and before those whose predecessor is missing."""
        if min(run.highs) + self.window <= oldest:
            return False
        there = {event.component for event in run.events}
        return all(event.upper >= oldest or event.component == 0 or event.component - 1 in there for event in run.events)


class SelectivityOrder(AnyState):
    """As any state; but events wait until some of each component are there, and the rarest component's are taken first.

    ``order`` names the components, the rarest first.
    """

    def __init__(self, length: int, window: int, following: bool, longest: int, order: Sequence[int]) -> None:
        super().__init__(length, window, following, longest)
        self._order = order
        self._buffers: list[list[Known]] = [[] for _ in range(length)]
        self._reached = [-NEVER] * length  # the latest end of those taken

    def take(self, event: Known) -> None:
        self._buffers[event.component].append(event)
        if not all(self._buffers):
            return
        self._flush()

    def end(self) -> Answer:
        self._flush()
        return super().end()

    def _flush(self) -> None:
        for number in self._order:
            for event in self._buffers[number]:
                super().take(event)
                self._reached[number] = max(self._reached[number], event.upper)
            self._buffers[number] = []

    def settle(self) -> None:
        missing = [number for number, buffer in enumerate(self._buffers) if not buffer]
        for buffer in self._buffers:
            while buffer and self._outdated(buffer[0], missing):
                buffer.pop(0)
        super().settle()

    def _outdated(self, event: Known, missing: Sequence[int]) -> bool:
        """Whether an event has no partner of a component of which none waits: none to come, and none that has been taken."""
        if event.upper + self.window > self.horizon:
            return False
        return any(self._reached[number] + self.window <= event.lower for number in missing)

    def oldest(self) -> int:
        return min([self.horizon, *(event.lower for buffer in self._buffers for event in buffer)])


def run(evaluation: Evaluation, events: Sequence[Known]) -> Answer:
    """Evaluate a whole stream."""
    evaluation.push(events)
    return evaluation.end()
