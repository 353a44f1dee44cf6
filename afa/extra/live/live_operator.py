"""A job of this process, to be shown and steered: an operator, the arc log that it follows, a stage whose sigma can be moved."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from typing import Any

from afa.arclog.arc_log import ArcLog, Poll
from afa.cli.run_metrics import SHARE
from afa.errors import AfaError
from afa.extra.live.board import Board, said_of
from afa.extra.live.picture import Picture, Pictures
from afa.extra.live.steering import Steering, instant_of, ticks_or_text
from afa.extra.live.trials import Trials, constants_in
from afa.operator.statistics import statistics_of
from punctuation.durations import NANOSECONDS
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING

LONGEST = 10.0
"""The most seconds between two looks: the first one may have waited for kernels that were compiled."""
DONE = {"insert": "inserted", "retract": "ended", "swap": "swapped"}
"""What a line of the log does, in words."""
SHOWN = 50
"""The most changes of one call that are shown."""


class LiveOperator:
    """An operator that a loop drives, and that a page shows and steers. All methods may be called by any thread.

    texts  makes rows to show, plain data, of a part of the operator's output; called for the last `SHOWN` of its changes
    none   an Arrow table without events, so that output comes as one
    stage  the Cleanse whose ``sigma`` the page may move; None: there is none, and ``hints`` says why
    pace   has ``text``, how fast the input plays, which the page may set; None: as it comes
    trials try constants of the query over the rows so far; None: nothing is tried, and no rows are held for it
    times  makes the text of an instant in ticks
    told   what the page says of the job besides: title, where, hints
    """

    def __init__(
        self,
        operator: Any,
        steering: Steering,
        texts: Callable[[Any], list[dict[str, Any]]],
        none: Any,
        *,
        stage: Any = None,
        pace: Any = None,
        trials: Trials | None = None,
        tick: str | None = None,
        times: Callable[[int], str] = str,
        told: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(steering.log, ArcLog):
            raise AfaError(f"expected an afa.ArcLog, which an operator follows, but got {steering.log!r}")
        self.board, self._log = Board(), steering.log
        self.rows = self.matches = self.withdrawn = 0
        self._operator, self._steering, self._texts, self._none = operator, steering, texts, none
        self._stage, self._pace, self._tick, self._times, self._told = stage, pace, tick, times, told or {}
        self._trials = trials
        self._lock = threading.RLock()
        self._pictures = Pictures(operator.automaton, tick)
        self._looked, self._cost, self._before = 0.0, 0.0, (time.monotonic(), 0, 0, 0)
        self._held: dict[str, Any] = {}
        self._polled = False

    # -- what drives it ----------------------------------------------------------------------------------------------------

    def push(self, items: list[Any], rows: int = 0) -> None:
        """Take events and promises, and before them what the log has brought, as one call."""
        with self._lock:
            self._call([Poll(self._log), *items])
            self.rows += rows
            self._keep(items)

    def poll(self) -> None:
        """Take what the log has brought, and look at what is held if it was long ago."""
        with self._lock:
            self._call([Poll(self._log)])
            self.look()

    def _call(self, items: list[Any], own: bool = False) -> None:
        """Carry out a call, show its output, and what the log had to tell; ``own``: what it brings was written by the page."""
        out = self._operator.push_many([self._none, *items])
        for part in out:
            if not isinstance(part, Punctuation):
                diff = part["diff"].to_numpy()
                self.matches += int((diff > 0).sum())
                self.withdrawn += int((diff < 0).sum())
                self._show(part.slice(max(0, len(diff) - SHOWN)))
        for poll in [item for item in items if isinstance(item, Poll)]:
            self._log.answer(poll)
            for one in poll.told:
                self.board.note("note" if one.kind == "note" else "fault", str(one))
            if not own:
                self._tell_others(poll)

    def _tell_others(self, poll: Poll) -> None:
        """Say what was taken of what others have written: what stood there at the beginning in one sentence."""
        refused = {raw for reached in poll.reached for raw, answer in reached.answers if answer.since is None}
        answers = dict(pair for reached in poll.reached for pair in reached.answers if pair[0] not in refused)
        if answers and not self._polled:
            lines = f"{len(answers):,} line{'s' * (len(answers) != 1)}"
            self.board.note("note", f"{lines} of the arc log stood there at the beginning")
        for raw, answer in answers.items() if self._polled else ():
            since = "the beginning" if answer.since is None or answer.since == BEGINNING else self._times(answer.since)
            self.board.note("done", f"{done_of(raw.text)}; from {since} on (written by another process)")
        self._polled = True

    def _keep(self, items: list[Any]) -> None:
        """Keep rows for trials. INVARIANT: it raises nothing, as the operator has taken the call."""
        try:
            if self._trials is not None:
                self._trials.seen.take(items)
        except Exception as error:  # of tables that make no one, say
            self._trials = None
            self.board.note("note", f"Constants can't be tried from here on: {said_of(error)}")

    def _show(self, part: Any) -> None:
        """Show changes. INVARIANT: it raises nothing, as the operator has taken the call."""
        try:
            self.board.changes(self._texts(part))
        except Exception as error:  # a timestamp that no calendar has, say
            self.board.note("note", f"Changes of the output can't be shown: {said_of(error)}")

    def look(self) -> None:
        """Take a sample; unless the last one was so dear that this would take more than `SHARE` of the time."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked < min(self._cost / SHARE, LONGEST):
                return
            core = self._operator._core
            held = core.calls.call(statistics_of, core, False)
            states = self._operator.partial_matches_by_state
            self._cost, self._looked = time.monotonic() - now, now
            self.board.sample(self._numbers(now, held, states))

    def _numbers(self, now: float, held: Any, states: dict[str, int]) -> dict[str, Any]:
        then, rows, matches, withdrawn = self._before
        self._before = now, self.rows, self.matches, self.withdrawn
        passed = max(now - then, 1e-9)
        came, went = self.matches - matches, self.withdrawn - withdrawn
        return {
            "rows": self.rows,
            "rate": (self.rows - rows) / passed,
            "matches": self.matches,
            "withdrawn": self.withdrawn,
            "match_rate": came / passed,
            "withdrawn_rate": went / passed,
            "ratio": self.withdrawn / self.matches if self.matches else 0.0,
            "lag": self._lag(),
            "state": held.state_size,
            "events": held.events,
            "partial_matches": held.partial_matches,
            "keys": held.keys,
            "late": held.late,
            "waiting": None if self._stage is None else self._stage.statistics.held,
            "sigma": None if self._stage is None or self._stage.sigma is None else self._seconds(self._stage.sigma),
            "by_state": states,
        }

    @property
    def newest(self) -> int:
        """The largest LE, or watermark, so far."""
        now: int = self._operator._core.progress.now
        return max(now - 1, BEGINNING)

    def _lag(self) -> float | None:
        """Return how far the promise is behind the latest event: in seconds, or ticks where nobody knows what one is."""
        progress = self._operator._core.progress
        if progress.final == BEGINNING or progress.now == BEGINNING:
            return None
        ticks: int = max(progress.now - 1 - progress.final, 0)
        return self._seconds(ticks)

    def _seconds(self, ticks: int) -> float:
        """Return ticks in seconds; as they are where nobody knows what one is."""
        return ticks if self._tick is None else ticks * NANOSECONDS[self._tick] / 1e9

    # -- what the page asks ------------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        steering = self._steering
        text = steering.query is not None and steering.text is not None
        constants = constants_in(steering.text) if text and self._trials is not None else ()
        there = ["swap", "insert", "end", *["query"] * text, *["try"] * bool(constants)]
        there += ["sigma"] * (self._stage is not None) + ["speed"] * (self._pace is not None)
        return {
            **self._told,
            "log": str(steering.log.path),
            "query": steering.text if text else None,
            "constants": [constant._asdict() for constant in constants],
            "controls": there,
            "at": None,
            "unit": "s" if self._tick else "ticks",
            "tick": self._tick,
            "sigma": None if self._stage is None else self._stage.sigma,
            "speed": None if self._pace is None else self._pace.text,
        }

    def picture(self) -> Picture:
        with self._lock:
            core = self._operator._core
            return self._pictures.of(core.arcs.table.events, core.progress.now)

    def change(self, data: dict[str, Any]) -> str | dict[str, Any]:
        """Carry out a change of the page at once: one of arcs is written to the log, and read from there in the same breath.

        A trial ("try") changes nothing, and the input goes on beside it.
        """
        do = data.get("do")
        if do == "speed":
            return self._set_speed(data.get("value"))
        if do == "try":
            return self._try(data)
        with self._lock:
            said = self._set_sigma(data.get("value")) if do == "sigma" else self._change_arcs(data)
            self._looked = 0.0
            self.look()
        self.board.note("done", said)
        return said

    def _try(self, data: dict[str, Any]) -> dict[str, Any]:
        steering, trials = self._steering, self._trials
        if trials is None or steering.query is None or steering.text is None:
            raise AfaError("expected a job whose query is text, to try its constants, but got one without")
        with self._lock:
            query, text, rows = steering.query, steering.text, trials.seen.now()
        return trials.carry_out(query, text, rows, data)

    def _change_arcs(self, data: dict[str, Any]) -> str:
        before, at = self._operator._core.progress.now, instant_of(data)
        self._call([Poll(self._log)])  # what others have written is told apart
        query, text = self._steering.query, self._steering.text
        if data.get("do") == "query" and at is None:
            self._check_none_comes(before)
        said, how = self._steering.write(data, at), self._log.on_fault
        try:
            self._log.on_fault = "raise"
            self._call([Poll(self._log)], own=True)
        except Exception:  # late, say, or a function raises on what is held: the operator is as it was, and so is the log
            self._steering.query, self._steering.text = query, text
            self._log.take_back()
            raise
        finally:
            self._log.on_fault = how
        since = "the beginning" if before == BEGINNING else self._times(before)
        return f"{said}; from {at if at is not None else since} on"

    def _check_none_comes(self, now: int) -> None:
        """Refuse a swap of all arcs while one of them is still to come: it would come beside the new ones."""
        for arc, le, _ in self._operator._core.arcs.table.events:
            if le > now and arc.name is not None:
                raise AfaError(
                    f"expected no arc that comes into force later but got {arc.name!r} from {self._times(le)} on; "
                    f"end it from then on, or swap the query from then on"
                )

    def _set_sigma(self, value: Any) -> str:
        if self._stage is None:
            raise AfaError(
                f"expected a job with a sigma but got one without: {self._told.get('hints', {}).get('sigma', 'no stage')}"
            )
        text = value.strip() if isinstance(value, str) else value
        self._stage.sigma = None if text in ("", None) else ticks_or_text(text)
        sigma = self._stage.sigma
        return "sigma: no bound" if sigma is None else f"sigma: {sigma} ticks, from the next promise on"

    def _set_speed(self, value: Any) -> str:
        if self._pace is None:
            raise AfaError("expected a job whose input plays at a speed but got one that takes it as it comes")
        self._pace.text = value
        if self.board.status != "ended":
            self.board.status = "paused" if self._pace.paused else "playing"
        return "paused" if self._pace.paused else f"speed: {self._pace.text}"


def done_of(text: bytes) -> str:
    """Return what a line of the log does, in words.

    >>> done_of(b'{"op": "retract", "arc": {"name": "turn"}, "at": 7}')
    "ended 'turn'"
    """
    line = json.loads(text)
    name = line["name"] if line["op"] == "swap" else line["arc"]["name"]
    return f"{DONE[line['op']]} {name!r}"
