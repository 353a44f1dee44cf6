"""The options of an operator in its snapshot, by name; which of them may be said anew when it is restored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from afa.engine.budget import LEAST_BYTES, PARTIAL_MATCHES, Budget
from afa.errors import SnapshotError
from afa.model.copies import as_plain, as_total
from afa.operator.gapless import EventNumbers, Gapless
from afa.operator.members import WHOLE
from afa.operator.options import Options
from afa.operator.postponed_output import as_postponed, is_postponed
from afa.state.sound import wanted
from punctuation.durations import ticks_of_duration, unit_of
from punctuation.time import FOREVER, as_time

FURTHER: dict[str, Callable[[Any], bool]] = {
    "having": is_postponed,
    "collapse": lambda value: isinstance(value, str) and value != "",
    "lineage": lambda value: isinstance(value, list) and len(value) == 4,
    "longest": lambda value: value is True,
    "max_bytes": lambda value: type(value) is int and LEAST_BYTES <= value <= FOREVER,
    "members": lambda value: isinstance(value, str),
    "partial_matches": lambda value: value is None or (type(value) is int and 0 < value <= FOREVER),
    "tell": lambda value: value == "lineage",
}
"""What each further option may say."""
ANEW = ("key", "engine", "late", "gapless", "tick", "threads", "partial_matches", "max_bytes", "speculation")
"""The options of a restored operator that may differ from those that it was saved with, or that are looked at elsewhere."""
TEXTS = ("members", "collapse")
BOUNDS = {"partial_matches": PARTIAL_MATCHES, "max_bytes": None}
"""Those that make the `Budget`, and what they say where a snapshot says nothing."""


class SavedOptions(NamedTuple):
    """The options as a snapshot has them, not checked yet; it leaves out those at the end that are None."""

    window: Any
    sequence: Any
    arc_punctuation: Any
    late: Any
    retractions: Any
    conditions: Any
    numbers: Any
    bits: Any
    tick: Any = None
    log: Any = None
    named: Any = None
    further: Any = None

    def plain(self) -> list[Any]:
        options = list(self)
        while options[-1] is None and len(options) > len(self._fields) - len(self._field_defaults):
            options.pop()
        return options

    @property
    def more(self) -> dict[str, Any]:
        """The further options by name, checked."""
        if self.further is None:
            return {}
        said = dict(self.further)
        wanted(
            "further options, once each, by name", self.further and sorted(said) == [name for name, _ in self.further], self.further
        )
        wanted("further options that are known", all(name in FURTHER and FURTHER[name](said[name]) for name in said), self.further)
        return said

    def ticking(self, asked: str | None) -> SavedOptions:
        """Return them with the tick that is asked for, where none was saved. Refuse another one."""
        asked = None if asked is None else unit_of(asked, SnapshotError, "tick=")
        if self.tick is None:
            return self._replace(tick=asked)
        if asked not in (None, self.tick):
            raise SnapshotError(f"expected tick={self.tick!r}, with which the operator was saved, but got tick={asked!r}")
        return self

    def options(self, said: Mapping[str, Any]) -> Options:
        """Return the options of the restored operator; the bounds of its budget are those of `budget`."""
        if self.late is None and said.get("late") is None:
            raise SnapshotError("expected late=<callable>: the operator was saved with a callback, which no snapshot holds")
        switches = self.arc_punctuation, self.retractions
        wanted("yes or no as options", all(type(switch) is bool for switch in switches), self.plain())
        more: dict[str, Any] = {
            name: True if name == "lineage" else value for name, value in self.more.items() if name not in BOUNDS
        }
        return Options(
            window=None if self.window is None else as_time(self.window, "window"),
            engine=said.get("engine", "auto"),
            order_by=self.sequence,
            late=self.late if said.get("late") is None else said["late"],
            arc_punctuation=self.arc_punctuation,
            retractions=self.retractions,
            keep_payloads=self.bits is None,
            gapless=self._gapless(said.get("gapless")),
            tick=self.tick,
            threads=said.get("threads", 1),
            **more,
        )

    def budget(self, said: Mapping[str, Any]) -> Budget:
        saved, threads = BOUNDS | self.more, said.get("threads", 1)
        if saved["max_bytes"] is not None:
            saved["max_bytes"] = max(saved["max_bytes"], LEAST_BYTES * threads)  # there may be more threads now
        most, most_bytes = (said.get(name, saved[name]) for name in BOUNDS)
        return Budget(most, most_bytes, threads)

    @property
    def counters(self) -> tuple[int, int, int]:
        gaps, missing, repeats = map(as_total, self.numbers[-1])
        return gaps, missing, repeats

    def _gapless(self, said: Gapless | Mapping[str, Any] | str | None) -> Gapless | None:
        """Return how events are numbered; ``said``: how it is said to be from now on, or only which policies are others."""
        if self.numbers is None:
            if said:
                raise SnapshotError(f"expected no gapless=, without which the operator was saved, but got {said!r}")
            return None
        field, gaps, saved, _ = self.numbers
        policies = {"repeated": said.repeated, "on_gap": said.on_gap} if isinstance(said, Gapless) else {}
        policies = dict(said) if isinstance(said, Mapping) else policies
        if saved is None and "repeated" not in policies:
            raise SnapshotError("expected repeated=<callable>: the operator was saved with a callback, which no snapshot holds")
        named = said.field if isinstance(said, Gapless) else said
        if isinstance(named, str) and (named, gaps) != (field, said.gaps if isinstance(said, Gapless) else gaps):
            raise SnapshotError(
                f"expected Gapless({field!r}, gaps={gaps!r}), with which the operator was saved, but got gapless={said!r}"
            )
        return Gapless(field, gaps=gaps, **{"repeated": saved, **policies})


def saved_numbers(gapless: EventNumbers) -> list[Any]:
    """Return as plain data how events are numbered."""
    repeated = gapless.repeated if isinstance(gapless.repeated, str) else None
    return [gapless.field, gapless.gaps, repeated, list(map(as_plain, gapless.counters))]


def further_of(core: Any) -> list[list[Any]] | None:
    """Return the further options that are on, by name. None: there are none."""
    found: list[list[Any]] = [] if core.told is None else list(core.told.options)
    if core.longest:
        found.append(["longest", True])
    if core.budget is not None:
        found += [[name, getattr(core.budget, name)] for name in BOUNDS if getattr(core.budget, name) != BOUNDS[name]]
    if core.kept is not None:
        found.append(["lineage", core.kept.saved(core)])
    return sorted(found) or None


def check_said(core: Any, said: Mapping[str, Any]) -> None:
    """Refuse an option that says otherwise than what was saved."""
    for name, value in said.items():
        if name in ANEW or (name == "lineage" and not value and core.told is not None):  # which implies it
            continue
        saved = core.kept is not None if name == "lineage" else getattr(core.options, name)
        if name in TEXTS and type(value) is bool:
            value = WHOLE if value else None
        if name == "window" and value is not None:
            value = ticks_of_duration(value, core.tick, "window")
        if name == "having" and saved is not None:
            value, saved = as_postponed(value), as_postponed(saved)
        if value != saved:
            raise SnapshotError(f"expected {name}={saved!r}, with which the operator was saved, but got {name}={value!r}")
