"""What one operator may hold: partial matches of a key at one step, and bytes of state. A call that needs more is refused, whole.

    partial_matches   of one key at one step; never the sum over the steps, which grows with the window as it should
    max_bytes         the memory that holds the state of all keys and the work of a call; None: three quarters of what is free when
                      the state first grows beyond a few dozen MB. Keys and the characters of texts do not count

An engine claims memory before it uses it, and says in the end of a call how much it holds. After a refused call that is as much as
in a new operator with this state; after others it is more, by what the work and the growth of the state have left.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping
from pathlib import Path
from typing import Any

from afa.errors import AfaError, AutomatonError, BudgetError
from afa.expression.arc_functions import expression_of
from afa.expression.intervals import contradiction
from afa.expression.kinds import FENCE, Unreadable
from afa.expression.nodes import conjunction
from afa.model.arc import Arc, name_of
from afa.model.arctable import ArcTable
from afa.model.automaton import Automaton
from punctuation.time import FOREVER

PARTIAL_MATCHES = 1_000_000
LEAST_BYTES = 1_000_000
SAVED = "saved"
"""Of a restored operator: the number that its snapshot says."""
UNASKED = 1 << 26
"""So many bytes are granted without a look at the machine, where no number is given."""
SHOWN = 3
"""How many states a message names."""


class BytesError(BudgetError):
    """The bytes of an operator are used up. No single row is to blame."""


class Budget:
    """The bounds of one operator. Parameters: see `Operator` and `Keyed`."""

    def __init__(self, partial_matches: int | None = PARTIAL_MATCHES, max_bytes: int | None = None, threads: int = 1) -> None:
        self.partial_matches = _number("partial_matches", partial_matches, 1)
        self.threads = threads if type(threads) is int and threads > 1 else 1  # what is no number the operator refuses
        self.max_bytes = _number(
            "max_bytes", max_bytes, LEAST_BYTES * self.threads, f" with threads={threads}" * (self.threads > 1)
        )
        self._limit = self.max_bytes
        self._held: dict[int, int] = {}  # bytes, by the id of who holds them
        self._lock = threading.Lock()

    @property
    def most(self) -> int:
        """How many partial matches of a key may stand at one step; FOREVER: any number."""
        return FOREVER if self.partial_matches is None else self.partial_matches

    @property
    def claimed(self) -> int:
        """How many bytes are claimed."""
        return sum(self._held.values())

    @property
    def limited(self) -> bool:
        """Whether there is a limit of bytes: one was given, or it was looked at what is free."""
        return self._limit is not None

    def hold(self, owner: object, held: int) -> None:
        """Take note that an owner holds so many bytes, whatever it has claimed."""
        with self._lock:
            self._held[id(owner)] = held

    def claim(self, owner: object, wanted: int, least: int | None = None) -> int:
        """Claim ``wanted`` bytes; or up to half of what is left, but at least ``least`` (None: all of them). Returns how many.

        Raises BytesError where they would be more than the budget.
        """
        with self._lock:
            claimed = self.claimed
            granted = self._granted(claimed, wanted, least)
            self._held[id(owner)] = self._held.get(id(owner), 0) + granted
        return granted

    def _granted(self, claimed: int, wanted: int, least: int | None) -> int:
        if self._limit is None and claimed + wanted <= UNASKED:
            return wanted
        if self._limit is None:
            self._limit = claimed + free_memory() // 4 * 3
        left = self._limit - claimed
        granted = wanted if least is None else min(wanted, max(least, left // 2))  # the rest is for what others need
        if granted > left:
            said = "three quarters of what was free" if self.max_bytes is None else f"max_bytes={self.max_bytes:,}"
            raise BytesError(
                f"expected at most {self._limit:,} bytes of state ({said}) but got a call that needs {granted:,} more than the "
                f"{claimed:,} there are; a shorter window, or a condition that holds of fewer events, keeps state small, and "
                "promises (Punctuation) drop what is over"
            )
        return granted

    def crowded(
        self, automaton: Automaton, table: ArcTable, key: Hashable, le: int, count: int, states: Mapping[str, int]
    ) -> BudgetError:
        """Return the error of a step with too many partial matches.

        ``table``: the arcs in force; ``states``: how many there are in each state, as far as is known.
        """
        overlap = _overlap(automaton, [event.arc for event in table.events], states)
        where = "" if key is None else f" of key {key!r}"
        fewer = "conditions exclude each other, choose a strategy that skips less"
        if automaton.choice is not None:
            fewer = "conditions read less of what the match has taken"
        return BudgetError(
            f"expected at most {self.most:,} partial matches of one key at one step (partial_matches={self.partial_matches}) "
            f"but got {count:,} at le={le}{where}{_held(states)}{overlap}; let {fewer}, "
            "shorten the window, or say another partial_matches="
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Budget:
        memo[id(self)] = other = type(self)(self.partial_matches, self.max_bytes, self.threads)
        return other


def _number(name: str, value: Any, least: int, where: str = "") -> Any:
    if value is not None and (type(value) is not int or value < least):
        raise AfaError(f"expected {name} of at least {least:,}, or None, but got {name}={value!r}{where}")
    return value and min(value, FOREVER)


def _held(states: Mapping[str, int]) -> str:
    most = sorted(states.items(), key=lambda found: -found[1])
    return "".join(f"{', ' if i else ': '}{n:,} in state {state!r}" for i, (state, n) in enumerate(most[:SHOWN]))


def _overlap(automaton: Automaton, arcs: Iterable[Arc], states: Mapping[str, int]) -> str:
    """Return where one event may take several arcs, so that a partial match becomes several; in the fullest states first."""
    leaving: dict[str, list[Arc]] = {}
    for arc in arcs:
        if arc.reads_event:
            leaving.setdefault(arc.src, []).append(arc)
    found = []
    here = [state for state in leaving if not states or state in states or state == automaton.start]
    for mine in (leaving[state] for state in sorted(here, key=lambda state: -states.get(state, 0))):
        beside = [a for a in mine if any(a is not b and not _exclude(automaton, a, b) for b in mine)]
        ways = Counter(f"{'stays' if arc.may_stay else 'goes on'} by {name_of(arc) or f'{arc.src} -> {arc.dst}'}" for arc in beside)
        if beside:
            said = (f"{way}, {n} arcs" if n > 1 else way for way, n in ways.items())
            found.append(f"in state {mine[0].src!r} ({', '.join(said)})")
        if len(found) == SHOWN:
            break
    return f"; one event may do several things {', '.join(found)}" if found else ""


def _exclude(automaton: Automaton, *arcs: Arc) -> bool:
    """Return whether the conditions of arcs are known to exclude each other."""
    event, register = automaton.event_schema, automaton.register_schema
    try:
        fences = [expression_of(arc.fence, FENCE, event, register) for arc in arcs]
    except (Unreadable, AutomatonError):
        return False
    return event is not None and contradiction(conjunction(fences), event, "e") is not None


# -- what the machine has free -------------------------------------------------------------------------------------------------


def free_memory() -> int:
    """Return how many bytes this process may still take: of the machine, of its cgroup, of its own limit. FOREVER: not known."""
    return max(min(_machine(), *_cgroups(), _own_limit()), 0)


def _machine() -> int:
    for line in _lines("/proc/meminfo"):
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return FOREVER


def _cgroups() -> Iterable[int]:
    """Yield what each memory cgroup of this process has free, of version 2 and 1: its limit less what can't be dropped."""
    yield FOREVER
    for line in _lines("/proc/self/cgroup"):
        _, controllers, path = line.split(":", 2)
        v1 = "memory" in controllers.split(",")
        if controllers and not v1:
            continue
        root = Path("/sys/fs/cgroup/memory" if v1 else "/sys/fs/cgroup")
        names = ("memory.limit_in_bytes", "memory.usage_in_bytes") if v1 else ("memory.max", "memory.current")
        group = root / path.lstrip("/")
        for folder in (group, *group.parents):
            limit, used = ("".join(_lines(folder / name)) for name in names)
            if limit.isdecimal() and used.isdecimal():
                stat = dict(line.split() for line in _lines(folder / "memory.stat"))
                cached = int(stat.get("inactive_file", 0))
                yield int(limit) - max(int(used) - cached, 0)
            if folder == root:
                break


def _own_limit() -> int:
    try:
        import resource
    except ImportError:  # pragma: no cover (Windows)
        return FOREVER
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    size = "".join(_lines("/proc/self/statm")).split()
    return FOREVER if limit == resource.RLIM_INFINITY or not size else limit - int(size[0]) * resource.getpagesize()


def _lines(path: str | Path) -> list[str]:
    with contextlib.suppress(OSError, UnicodeDecodeError):
        return Path(path).read_text(encoding="ascii").splitlines()
    return []
