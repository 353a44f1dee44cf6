"""The state of one key: the index of steps with their lists, the ignorable runs, the matches in force.

    index    SortedDict      key -> Entry           the rbtree of [AFA10] Fig. 6
      Entry  events          (payload, RE) -> count   the alternatives of one step, a multi-event (Sec. 4)
             nodes           PMatch -> count          partial matches that end here, by how many ways lead to them
             rest, horizon   ticks                    time-outs of this list fire in [rest.since, horizon] (App. E)
    runs     IntervalTree    PMatch -> [begin, end)   partial matches that stay as they are (App. D)
    matches  SortedDict      LE -> (register, RE) -> count    matches in force that are not final yet
    pending  dict            (payload, LE, RE) -> count       retractions that wait for their insertion
    delta    dict            (LE, RE, register) -> count before this call
    gaps     SortedDict      where numbers are gapless: keys of the steps behind gaps that can still close
    promised                 no event of this key comes before it, by punctuations with conditions
    pruned                   the last step whose list can't be derived from the list before it, or None: see `pruning`

A step's key is its LE, or ``(LE, sequence)`` where the user gives a sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from operator import attrgetter
from typing import Any

from sortedcontainers import SortedDict

from afa.interpreted.runs import Runs
from afa.journal import Journal
from afa.model.pmatch import PMatch, Rest
from punctuation.time import BEGINNING

by_start = attrgetter("start")


class Entry:
    """One step: its events, and the list of partial matches that end with it."""

    __slots__ = ("events", "horizon", "kept", "key", "le", "nodes", "over", "rest")

    def __init__(self, key: Any, le: int, serial: int) -> None:
        self.key = key
        self.le = le
        self.events: dict[tuple[Any, int], int] = {}
        self.nodes: dict[PMatch, int] = {}
        self.rest = Rest.behind(le)  # since when the partial matches of this list rest
        self.horizon = le
        self.over = le  # of cover, where numbers are gapless: the RE that its event had
        self.kept = serial  # the call in which a copy was kept, or that made the entry

    def put_back(self, events: dict[tuple[Any, int], int], nodes: dict[PMatch, int], rest: Rest, horizon: int) -> None:
        """Undo all writes since `State.keep`."""
        self.events, self.nodes, self.rest, self.horizon = events, nodes, rest, horizon


def joined(nodes: Mapping[PMatch, Any], covered: Collection[PMatch]) -> Mapping[PMatch, Any]:
    """Return the partial matches that are stored or covered at a step, by start."""
    return dict.fromkeys(sorted({**nodes, **dict.fromkeys(covered)}, key=by_start)) if covered else nodes


class State:
    """The state of one key."""

    __slots__ = ("delta", "gaps", "index", "journal", "key", "matches", "ordered", "pending", "promised", "pruned", "runs", "size")

    def __init__(self, key: Any, journal: Journal, ordered: bool) -> None:
        self.key = key
        self.journal = journal
        self.ordered = ordered
        self.index: SortedDict = SortedDict()
        self.gaps: SortedDict = SortedDict()
        self.runs = Runs(journal, ordered)
        self.matches: SortedDict = SortedDict()
        self.pending: dict[tuple[Any, int, int], int] = {}
        self.delta: dict[tuple[int, int, Any], int] = {}
        self.promised = BEGINNING
        self.pruned: Any = None
        self.size = 0  # in steps, when it was pruned last

    # -- the index: Search< and Search> of Algorithm 1 ------------------------------------------------------------------

    def place(self, le: int) -> Any:
        """Return the place before all steps with this LE."""
        return (le,) if self.ordered else le

    def before(self, key: Any) -> Entry | None:
        """Return the step before a key, or None."""
        i = self.index.bisect_left(key)
        return self.index.peekitem(i - 1)[1] if i else None

    def after(self, key: Any) -> Entry | None:
        """Return the step after a key, or None."""
        i = self.index.bisect_right(key)
        return self.index.peekitem(i)[1] if i < len(self.index) else None

    def steps(self, start: Any, inclusive: bool = True) -> Iterator[Entry]:
        """Iterate over the steps from a key on, in order."""
        index = self.index
        return (index[key] for key in index.irange(start, inclusive=(inclusive, True)))

    def layer(self, entry: Entry) -> Mapping[PMatch, Any]:
        """Return all partial matches at a step, stored and covered, by start ([AFA10] Ordering)."""
        return joined(entry.nodes, self.runs.at(entry.key))

    # -- writes, each with its way back -------------------------------------------------------------------------------------

    def keep(self, entry: Entry) -> Entry:
        """Keep a copy of an entry before the first write of a call to it. Returns the entry."""
        if entry.kept != self.journal.serial:
            entry.kept = self.journal.serial
            self.journal.note(entry.put_back, dict(entry.events), dict(entry.nodes), entry.rest, entry.horizon)
        return entry

    def touch(self, le: int, re: int, register: Any, sign: int) -> None:
        """Count one more or one fewer computation for a match."""
        bucket = self.matches.get(le)
        if bucket is None:
            bucket = {}
            self.journal.put(self.matches, le, bucket)
        match = (register, re)
        old = bucket.get(match, 0)
        self.delta.setdefault((le, re, register), old)
        if old + sign:
            self.journal.put(bucket, match, old + sign)
        else:
            self.journal.drop(bucket, match)
            if not bucket:
                self.journal.drop(self.matches, le)

    def count(self, le: int, re: int, register: Any) -> int:
        """Return how many computations stand behind a match."""
        found: int = self.matches.get(le, {}).get((register, re), 0)
        return found

    @property
    def empty(self) -> bool:
        """Whether nothing is held, so that the key can be forgotten."""
        return not (self.index or self.matches or self.pending)

    def sizes(self, final: int, shown: Callable[[Any], Any] | None = None) -> tuple[int, ...]:
        """Return how many events, partial matches, intervals, matches, pending retractions and ties are held; of steps, events and
        partial matches how many lie before ``final``. No match that ends before it counts. ``shown``: of matches that show the same
        at one instant one is in force. O(steps)."""
        stones = sum(not (y.events or y.nodes or y.over > y.le) for y in self.index.values())  # a stone counts as one event
        events = sum(sum(y.events.values()) for y in self.index.values()) + stones
        nodes = sum(len(entry.nodes) for entry in self.index.values())
        buckets = (bucket for le, bucket in self.matches.items() if le >= final)
        matches = sum(len(bucket if shown is None else {shown(register) for register, _ in bucket}) for bucket in buckets)
        ties = sum(len(y.events) - 1 for y in self.index.values() if y.events)
        kept = [y for y in self.index.values() if y.events and y.le < final]
        more = len(kept), sum(sum(y.events.values()) for y in kept), sum(len(y.nodes) for y in kept)
        return events, nodes, len(self.runs), matches, sum(self.pending.values()), ties, *more
