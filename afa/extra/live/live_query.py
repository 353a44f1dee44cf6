"""A running query of Spark on the live page: its progress, its arcs as its arc log has them, and changes written into that log."""

from __future__ import annotations

import os
import threading
from datetime import datetime, timedelta, timezone
from typing import Any

from afa.arclog.log_writer import LogWriter
from afa.errors import AfaError
from afa.extra.live.board import Board
from afa.extra.live.picture import Picture, Pictures
from afa.extra.live.site import Site
from afa.extra.live.steering import Steering, instant_of
from afa.language.query import Query
from afa.language.query_text import text_of
from afa.model.arctable import ArcEvent
from afa.model.automaton import Automaton
from afa.model.instant_texts import instant
from afa.spark.metrics import COUNTED, NAME, SUMMED
from afa.spark.packed_rows import STATE
from punctuation.time import BEGINNING, FOREVER

EVERY = 1.0
"""So many seconds lie between two looks at the query's progress."""
HINTS = {
    "swap": "expected a log, serve(.., arcs=log), for changes of arcs: there is none",
    "states": "partial matches by state come with match(.., metrics=True)",
    "sigma": "speculation= of match stays while a query runs",
}


class Served(Site):
    """The page of a running query, until `stop`, or until Python ends."""

    def __init__(self, live: LiveQuery, host: str, port: int) -> None:
        self._live = live
        super().__init__(live, host=host, port=port)
        live.begin()

    def stop(self) -> None:
        """End the page; the query goes on."""
        self._live.end()
        super().stop()


def serve(
    query: Any,
    pattern: Automaton | Query,
    *,
    arcs: LogWriter | None = None,
    name: str | None = None,
    text: str | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
) -> Served:
    """Show a running query on a live page, from where its arcs can be changed: `Served.url` is its address.

    Parameters
    ----------
    query : StreamingQuery
        Its `match` has a name, or is its only one. With ``match(.., metrics=True)`` partial matches are shown by state.
    pattern : Automaton or Query
        What `match` was given.
    arcs : afa.spark.arc_log, optional
        The log that `match` reads. None: the page shows, and changes no arcs.
    name : str, optional
        The name that `match` was given, where the query has several.
    text : str, optional
        Of a query its text, SASE+ or SQL, for the page. None: it is printed as SASE+.
    host, port : optional
        Where the page is served: on this machine only by default, on any port that is free.

    Returns
    -------
    Served
        ``url``, with the token that changes want; ``stop()``. Also a context manager.

    Raises
    ------
    AfaError
        The extra ``serve`` is not installed, ``pattern`` is none, or nothing can listen there.

    Notes
    -----
    A change takes effect in the batch after the one at work, and holds from the instant that it says: where it says none, from
    just behind the latest time that the last batch has seen. It costs a look at the query's progress each second.
    """
    if not isinstance(pattern, (Automaton, Query)):
        raise AfaError(f"expected an automaton or a query but got {pattern!r}")
    if arcs is not None and not isinstance(arcs, LogWriter):
        raise AfaError(f"expected an arc log, afa.spark.arc_log(path, pattern), but got arcs={arcs!r}")
    return Served(LiveQuery(query, pattern, arcs, name, text), host, port)


class LiveQuery:
    """See `serve`; what the page asks for stands in `afa.extra.live.site.Watched`."""

    def __init__(self, query: Any, pattern: Automaton | Query, log: LogWriter | None, name: str | None, text: str | None) -> None:
        self.board = Board()
        self._query, self._log = query, log
        self._name = name if name is None or name.startswith(NAME) else f"{NAME} {name}"
        self._automaton = pattern if isinstance(pattern, Automaton) else pattern.automaton
        self._states = [f"{STATE}{state}" for state in self._automaton.states]
        self._pictures = Pictures(self._automaton, "us")
        self._lock, self._over = threading.Lock(), threading.Event()
        self._known: tuple[Any, list[ArcEvent]] | None = None
        self._sums = dict.fromkeys(("rows", *COUNTED), 0)
        self._last: tuple[int, str] | None = None
        self._latest: int | None = None
        self._partial = False
        self._steering = None
        if log is not None:
            found = pattern if isinstance(pattern, Query) else None
            said = None if found is None else text or text_of(found)
            self._steering = Steering(log, found, said)

    def begin(self) -> None:
        self._thread = threading.Thread(target=self._look, name="afa-serve-query", daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join(5)

    def _look(self) -> None:
        while True:
            try:
                self.look()
            except Exception as error:  # of a session that has gone, say: the page tells it, and the query does not care
                self.board.status = "failed"
                self.board.note("fault", f"{type(error).__name__}: {error}")
                return
            if self._over.wait(EVERY):
                return

    def look(self) -> None:
        """Take a sample of each batch since the last look."""
        for progress in self._query.recentProgress:
            mark = int(progress["batchId"]), str(progress["timestamp"])
            if self._last is None or mark > self._last:
                self._sample(progress, self._last)
                self._last = mark
        failed = None if self._query.isActive else self._query.exception()
        before, self.board.status = self.board.status, "playing" if self._query.isActive else "failed" if failed else "ended"
        if failed is not None and before != "failed":
            self.board.note("fault", str(failed))

    def _sample(self, progress: Any, before: tuple[int, str] | None) -> None:
        found = self._observed(progress)
        times = progress["eventTime"] or {}
        latest, promised = _micros(times.get("max")), _micros(times.get("watermark"))
        self._latest = max(self._latest or BEGINNING, latest) if latest is not None else self._latest
        took = (progress["durationMs"] or {}).get("triggerExecution", 0) / 1000
        passed = took if before is None else max((_time(progress["timestamp"]) - _time(before[1])).total_seconds(), took, 1e-3)
        new = {name: found.get(name) or 0 for name in COUNTED}
        for name, n in [("rows", found.get("events") or 0), *new.items()]:
            self._sums[name] += n
        self._partial = self._partial or found.get("partial_matches") is not None
        lag = None if not promised or promised < 0 or self._latest is None else max(self._latest - promised, 0) / 1e6
        states = {state[len(STATE) :]: found[state] for state in self._states if found.get(state)}
        sample = {
            **self._sums,
            "rate": (found.get("events") or 0) / max(passed, 1e-3),
            "match_rate": new["matches"] / max(passed, 1e-3),
            "withdrawn_rate": new["withdrawn"] / max(passed, 1e-3),
            "ratio": self._sums["withdrawn"] / self._sums["matches"] if self._sums["matches"] else 0.0,
            "lag": lag,
            "keys": found.get("keys"),
            "memory": found.get("memory_bytes"),
            "waiting": found.get("held"),
            "batch": int(progress["batchId"]),
            "batch_s": took,
        }
        if self._partial:
            sample |= {"partial_matches": found.get("partial_matches"), "by_state": states}
        self.board.sample(sample)

    def _observed(self, progress: Any) -> dict[str, Any]:
        """Return the observed metrics of the `match`, by name."""
        rows = {name: row for name, row in (progress["observedMetrics"] or {}).items() if name.startswith(NAME)}
        row = rows.get(self._name) if self._name is not None else next(iter(rows.values()), None)
        if row is None:
            return {}
        if hasattr(row, "asDict"):
            named: dict[str, Any] = row.asDict()
            return named
        return dict(zip((*COUNTED, *SUMMED, "partial_matches", *self._states), row["values"]))  # under Connect they have no names

    # -- what the page asks ------------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        steering, hints = self._steering, {"sigma": HINTS["sigma"]}
        controls = [] if steering is None else ["swap", "insert", "end"]
        if steering is None:
            hints["swap"] = HINTS["swap"]
        elif steering.text is not None:
            controls.append("query")
        if not self._partial:
            hints["states"] = HINTS["states"]
        title = getattr(self._query, "name", None) or "a query of Spark"
        return {
            "title": title,
            "where": f"{self._query.id}",
            "log": None if steering is None else str(steering.log.path),
            "query": None if steering is None else steering.text,
            "controls": controls,
            "output": False,  # it is where the query writes it
            "at": self._at(),
            "unit": "s",
            "tick": "us",
            "sigma": None,
            "speed": None,
            "hints": hints,
        }

    def _at(self) -> str | None:
        """Return the instant just behind the latest time that the last batch has seen."""
        if self._latest is None:
            return None
        moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=self._latest + 1)
        return moment.isoformat()

    def picture(self) -> Picture:
        with self._lock:
            return self._pictures.of(self._events(), BEGINNING if self._latest is None else self._latest + 1)

    def _events(self) -> list[ArcEvent]:
        """Return the arcs with their lifetimes: the automaton's own, or as the log has them."""
        if self._log is None:
            return [ArcEvent(arc, BEGINNING, FOREVER) for arc in self._automaton.arcs]
        with os.scandir(self._log.path) as there:
            mark = sorted((entry.name, entry.stat().st_mtime_ns) for entry in there if not entry.name.startswith("."))
        if self._known is None or self._known[0] != mark:
            unnamed = [ArcEvent(arc, BEGINNING, FOREVER) for arc in self._automaton.arcs if arc.name is None]
            own = {arc.name: i for i, arc in enumerate(self._automaton.arcs)}
            named = [ArcEvent(v.line.arc, v.le, v.re) for v in self._log.listing().versions.all()]
            self._known = mark, unnamed + sorted(named, key=lambda event: own.get(event.arc.name, len(own)))
        return self._known[1]

    def change(self, data: dict[str, Any]) -> str:
        """Write a change into the log; it holds from the instant that it says, or from just behind what was seen."""
        if self._steering is None:
            raise AfaError(HINTS["swap"])
        at = instant_of(data)
        at = self._at() if at is None else at
        if at is None:
            raise AfaError("expected the time from which on the change holds but got none, and the query has seen no row yet")
        with self._lock:
            said = self._steering.write(data, instant(at, "at"))
        self.board.note("done", said := f"{said}; from {at} on, with the next batch")
        return said


def _time(text: Any) -> datetime:
    return datetime.fromisoformat(str(text).replace("Z", "+00:00"))


def _micros(text: Any) -> int | None:
    return None if not text else instant(str(text), "eventTime")
