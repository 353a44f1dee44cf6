"""A set of rules of this process, to be shown and steered: its operator, and the log of rules that it follows.

    {"do": "rule", "op": "add", "name": "large", "text": "PATTERN SEQ(..) ..", "at": null}     or "replace"; "remove" without text

A change is a line of the log, written and read in the same breath; what the set refuses is taken back, and told.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from afa.cli.rule_output import RuleOutput
from afa.cli.run_metrics import SHARE
from afa.errors import AfaError, did_you_mean
from afa.extra.live.board import Board, said_of
from afa.extra.live.live_operator import LONGEST, SHOWN
from afa.extra.live.picture import Picture
from afa.extra.live.steering import instant_of
from afa.rules.rule_log import RuleLog
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER

OPS = ("add", "replace", "remove")
LISTED = 500
"""So many rules are listed on the page."""
DONE = {"add": "added", "replace": "replaced", "remove": "removed"}


class LiveRules:
    """The operator of a set that a loop drives, and that a page shows and steers. All methods may be called by any thread.

    form   makes tables of what the operator tells; ``texts`` makes rows to show, plain data, of such a table
    pace   has ``text``, how fast the input plays, which the page may set
    times  makes the text of an instant in ticks
    told   what the page says of the job besides: title, where
    """

    def __init__(
        self,
        operator: Any,
        log: RuleLog,
        form: RuleOutput,
        texts: Callable[[Any], list[dict[str, Any]]],
        *,
        pace: Any,
        tick: str | None = None,
        times: Callable[[int], str] = str,
        told: dict[str, Any] | None = None,
    ) -> None:
        self.board = Board()
        self.rows = self.matches = self.withdrawn = 0
        self._operator, self._log, self._form, self._texts = operator, log, form, texts
        self._pace, self._tick, self._times, self._told = pace, tick, times, told or {}
        self._lock = threading.RLock()
        self._came, self._went = Counter[str](), Counter[str]()  # matches by rule
        self._before: tuple[float, int, int, int, Counter[str]] = time.monotonic(), 0, 0, 0, Counter()
        self._rules: list[dict[str, Any]] = []
        self._looked = self._cost = 0.0

    # -- what drives it ----------------------------------------------------------------------------------------------------

    def push(self, items: list[Any], rows: int = 0) -> None:
        """Take what the log has brought, then events and promises, as one call."""
        with self._lock:
            self._poll()
            for part in self._operator.push_many([self._form.none, *items]):
                if not isinstance(part, Punctuation):
                    self._tell(self._form.in_schema(part))
            self.rows += rows

    def poll(self) -> None:
        """Take what the log has brought, and look at what is held if it was long ago."""
        with self._lock:
            self._poll()
            self.look()

    def _poll(self) -> None:
        steps = self._log.poll()
        while self._log.told:
            self.board.note("fault", self._log.told.pop(0))
        for step in steps:
            if step.changes:
                self._tell(self._form.in_schema(self._form.of_changes(*step)))

    def _tell(self, part: Any) -> None:
        """Count and show changes. INVARIANT: it raises nothing, as the operator has taken the call."""
        for (rule, diff), n in Counter(zip(part["rule"].to_pylist(), part["diff"].to_pylist())).items():
            to = self._came if diff > 0 else self._went
            to[rule] += n * abs(diff)
        self.matches, self.withdrawn = self._came.total(), self._went.total()
        try:
            self.board.changes(self._texts(part.slice(max(0, len(part) - SHOWN))))
        except Exception as error:  # a timestamp that no calendar has, say
            self.board.note("note", f"Changes of the output can't be shown: {said_of(error)}")

    def look(self) -> None:
        """Take a sample; unless the last one was so dear that this would take more than `SHARE` of the time."""
        with self._lock:
            now = time.monotonic()
            if now - self._looked < min(self._cost / SHARE, LONGEST):
                return
            held, standing = self._operator.statistics, self._operator.rules
            then, rows, came, went, by_rule = self._before
            passed = max(now - then, 1e-9)
            self._before = now, self.rows, self.matches, self.withdrawn, self._came.copy()
            seconds = sum(each.seconds for each in held.rules.values()) or 1.0
            texts = self._log.texts
            self._rules = [
                {
                    "name": each.name,
                    "state": each.state,
                    "why": each.why,
                    "from": "the beginning" if each.le == BEGINNING else self._times(each.le),
                    "until": None if each.re == FOREVER else self._times(each.re),
                    "matches": self._came[each.name] - self._went[each.name],
                    "rate": (self._came[each.name] - by_rule[each.name]) / passed,
                    "partial_matches": held.rules[each.name].partial_matches if each.name in held.rules else None,
                    "cost": held.rules[each.name].seconds / seconds if each.name in held.rules else None,
                    "text": texts.get(each.name),
                }
                for each in standing
            ]
            self.board.sample(
                {
                    "rows": self.rows,
                    "rate": (self.rows - rows) / passed,
                    "matches": self.matches,
                    "withdrawn": self.withdrawn,
                    "match_rate": (self.matches - came) / passed,
                    "withdrawn_rate": (self.withdrawn - went) / passed,
                    "ratio": self.withdrawn / self.matches if self.matches else 0.0,
                    "events": held.held,
                    "partial_matches": held.partial_matches,
                    "late": held.late,
                }
            )
            self._cost, self._looked = time.monotonic() - now, now

    @property
    def newest(self) -> int:
        """The largest LE, or watermark, so far."""
        now: int = self._operator.now
        return max(now - 1, BEGINNING)

    # -- what the page asks ------------------------------------------------------------------------------------------------

    def about(self) -> dict[str, Any]:
        return {
            **self._told,
            "log": str(self._log.writer.path),
            "query": None,
            "controls": ["rules", "speed"],
            "rules": self._rules[:LISTED],
            "hints": {"rules": f"the first {LISTED} of {len(self._rules):,} are listed"} if len(self._rules) > LISTED else {},
            "at": None,
            "unit": "s" if self._tick else "ticks",
            "tick": self._tick,
            "sigma": None,
            "speed": self._pace.text,
        }

    def picture(self) -> Picture:
        return Picture("rules", "", [])

    def change(self, data: dict[str, Any]) -> str:
        """Carry out a change of the page at once; refused (`AfaError`), nothing has changed."""
        do = data.get("do")
        if do == "speed":
            self._pace.text = data.get("value")
            if self.board.status != "ended":
                self.board.status = "paused" if self._pace.paused else "playing"
            return "paused" if self._pace.paused else f"speed: {self._pace.text}"
        if do != "rule":
            raise AfaError(f"expected a change of a set of rules, rule or speed, but got do={do!r}")
        with self._lock:
            said = self._change_rule(data)
            self._looked = 0.0
            self.look()
        self.board.note("done", said)
        return said

    def _change_rule(self, data: dict[str, Any]) -> str:
        op, name, text, at = data.get("op"), data.get("name"), data.get("text"), instant_of(data)
        if op not in OPS:
            raise AfaError(f"expected one of {', '.join(OPS)} but got op={op!r}{did_you_mean(str(op), OPS)}")
        if not isinstance(name, str) or not name.strip():
            raise AfaError(f"expected the name of a rule but got name={name!r}")
        if op != "remove" and not (isinstance(text, str) and text.strip()):
            raise AfaError(f"expected the text of a rule but got text={text!r}")
        self._poll()  # what others have written is told apart
        now, writer = self._operator.now, self._log.writer
        write: Callable[..., None] = getattr(writer, op)
        write(name, *(() if op == "remove" else (text,)), at=at)
        self._poll()
        why = self._log.refused.get(writer.file)
        if why is not None:  # the set is as it was, and so is the log
            writer.take_back()
            raise AfaError(why)
        since = "the beginning" if now == BEGINNING else self._times(now)
        return f"{DONE[op]} {name!r}; from {since if at is None else at} on"
