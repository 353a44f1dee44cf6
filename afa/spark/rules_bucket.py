"""Carry out the work of one bucket of a set of rules: rows and a watermark in, changes of all rules out. State is bytes.

A batch is the promise, rules that a restart has brought, lines of a log of rules, rows: as of `afa.spark.worlds_bucket`. Where keys
have moved, a bucket runs the sets of those that it has keys of, each over the keys that it had: no set is taken apart. Such a set
holds keys that are another bucket's now, until the watermark has passed them; nothing comes to them here, and what is told of them
is left out.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from typing import Any, NamedTuple

import msgpack
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from afa.arclog.lines import shown
from afa.arclog.outcome import ONE_ID
from afa.change import Change
from afa.compiled.fit import known
from afa.errors import AfaError, BudgetError, ChangeError, LateEventError, SnapshotError
from afa.model.raised import shortened, text_of
from afa.rules.rule_lines import RuleLine, RuleStep, carried_out, rule_line
from afa.rules.rule_texts import Rule
from afa.spark.hashing import bucket_numbers
from afa.spark.job import BucketAnswer, Fault
from afa.spark.packed_rows import changes_schema, moment_of
from afa.spark.recipe import check
from afa.spark.refused import take_by_halves, vain
from afa.spark.rules_said import TICK, check_later, lives_of
from afa.spark.worlds_bucket import WorldsBucket, added_up
from afa.state.sound import wanted
from punctuation.promise import Punctuation
from punctuation.time import BEGINNING, FOREVER, as_time

FORMAT = "rules 2"
ASIDE = "put aside"


class RulesOfKeys(NamedTuple):
    """A set of rules, and the keys that it has: in ``of`` the buckets that they were in, each as how many there were, and which."""

    of: tuple[tuple[int, int], ...]
    rules: Any  # `RuleSetOperator`; in a state its snapshot
    aside: set[Any]  # rules that are put aside, which was told

    def has(self, keys: Sequence[pa.ChunkedArray]) -> Any:
        """Return which of some rows have keys of it."""
        found = np.ones(len(keys[0]), bool)
        for count, number in self.of:
            found &= bucket_numbers(keys, count) == number
        return found


class RuleChanges(NamedTuple):
    """What a restart asks for: names of rules that end, those that come, by name, and rules that take the place of others."""

    gone: list[str]
    come: list[str]
    other: list[str]

    def __str__(self) -> str:
        named = ((what, names) for what, names in zip(("end", "begin", "are others"), self) if names)
        return "; ".join(f"rules that {what}: {', '.join(map(repr, names))}" for what, names in named)


class RulesBucket(WorldsBucket):
    """The sets of rules of the keys that share a bucket; one, as long as no key has moved. ``blob`` is what `save` gave."""

    def _begin(self, blob: bytes) -> None:
        job, own = self._job, self._own
        self._vain: list[Change] = []
        self._delay = self._past = job.delay
        self._ends = BEGINNING  # of the last lifetime that ends, where rows say it
        self._changes: RuleChanges | None = None
        fields = [field for field in job.schema if field.name != job.instant or field.name in job.keys]
        self._nothing = pa.schema(fields if job.retracts else [f for f in fields if f.name != "diff"]).empty_table()
        self._shown = pa.schema([field for field in changes_schema(job) if field.name not in ("kind", "reason")])
        self._options = {**own.options, "late": self._vain.append}
        self._known: dict[bytes, tuple[bytes, int]] = {}  # of lines of the log, by identity: content, since when they hold
        if not blob:
            self._parts = [RulesOfKeys((), own.made(job.automaton, **self._options), set())]
            return
        state = _unpacked(blob)
        recipe = json.loads(state.recipe)
        if state.recipe != self._recipe:
            check(recipe, job.recipe)
            self._changes = _difference(recipe["rules"], job.recipe["rules"])
        self._last, self._ends, self._promised, self._past = state.last, state.ends, state.promised, state.delay
        self._delay, self._waits = max(state.delay, job.delay), self._waits or state.waits
        self._lives = None if None in (self._lives, state.lives) else max(self._lives, state.lives)
        self._parts = [self._restored(of, snapshot) for of, snapshot in state.parts]
        self._known = {identity: (content, as_time(since, "since")) for identity, content, since in state.lines}

    def _restored(self, of: Any, snapshot: bytes) -> RulesOfKeys:
        rules = self._own.rules.content.restore(snapshot, as_saved=True, **self._options)
        for each in rules.rules:
            if each.state == "dropped":
                raise SnapshotError(f"expected the rule {each.name!r}, which is no text, as the checkpoint was made with: keep it")
        return RulesOfKeys(tuple(map(tuple, of)), rules, _aside(rules))

    @known()
    def run(self, events: pa.Table | None, arcs: Sequence[Any], promised: int) -> BucketAnswer:
        """As of `WorldsBucket`; rules that a restart or a log has brought begin behind the promise."""
        before = BucketAnswer([], [], [])
        if self._changes is not None or arcs:
            before = super().run(None, (), promised)
        if self._changes is not None:
            before = before.then(BucketAnswer([], [], [], self._restarted(self._changes, promised)))
            self._changes = None
        if arcs:
            before = before.then(self._follow(arcs))
        return before.then(super().run(events, (), promised))

    @known()
    def history(self, events: pa.Table | None, arcs: Sequence[Any], end: int | None) -> BucketAnswer:
        """As of `WorldsBucket`; all lines of the log come before the rows."""
        before = self._follow(arcs)
        return before.then(super().history(events, (), end))

    def _restarted(self, changes: RuleChanges, promised: int) -> str | None:
        """Let rules end and begin at the present, as a restart asks for; what is told of it."""
        present = max(promised, self._job.since) + 1000 * (self._past + 1)
        if self._last >= present and any(changes):
            raise SnapshotError(
                f"expected all rows so far before {present}, the watermark + lateness, from where on other rules may hold, but got "
                f"one at {self._last}: a stream of this query is behind; keep the rules until it has caught up"
            )
        for part in self._parts:
            self._change(part.rules, changes, present)
        return f"{changes}, from {moment_of(present)} on" if any(changes) else None

    def _change(self, rules: Any, changes: RuleChanges, present: int) -> None:
        """Let rules end and begin in a set; no event is there that they see."""
        given = {name: rule.text or rule.pattern for name, rule in self._own.rules.content.rules.items()}
        for name in itertools.chain(*changes):
            if rules.lasting(name, present):  # a log may have ended one that is gone, and begun one of a name that comes
                rules.remove(name, at=present)
        for name in (*changes.come, *changes.other):
            rules.add(name, given[name], le=present)

    # -- the log ---------------------------------------------------------------------------------------------------------------

    def _follow(self, lines: Sequence[Any]) -> BucketAnswer:
        """Carry out lines of a log of rules, each a call of each set. What is told of them all buckets know, and one says."""
        told, read = BucketAnswer([], [], [], notes=[]), list[tuple[RuleLine, Any]]()
        for raw in set(lines):
            try:
                read.append((rule_line(raw, TICK, None), raw))
            except AfaError as error:
                self._line_fault(told, error, raw)
        for line, raw in sorted(read, key=lambda each: (each[0].sequence, each[0].content)):
            content, _ = self._known.get(line.identity, (b"", 0))
            if content not in (b"", line.content):
                self._line_fault(told, AfaError(ONE_ID), raw)
            elif not content:
                self._known[line.identity] = line.content, line.at or 0
                told = told.then(self._carried_out(line, raw))
        return told

    def _carried_out(self, line: RuleLine, raw: Any) -> BucketAnswer:
        told = BucketAnswer([], [], [])
        for part in self._parts:
            try:
                since, steps = carried_out(line, part.rules, self._own.rules.content, self._check_later)
            except Exception as error:  # of a function of the rule, too
                self._line_fault(told, error, raw, line.name)
                if _of_line(error):  # all sets refuse it
                    break
                continue
            told.changes.extend(self._of_keys(part, self._of_step(step)) for step in steps)
            if line.text is not None:
                lives, clocked = lives_of(self._own.rules.content.rule(line.name, line.text).pattern, self._own)
                self._lives = None if None in (self._lives, lives) else max(self._lives, lives)
                self._waits = self._waits or clocked
            what = "ends" if line.text is None else "is replaced" if line.replaces else "begins"
            told = told._replace(notes=[] if self._number else [f"rule {line.name!r} {what} at {moment_of(since)}"])
        return told

    def _check_later(self, rule: Rule) -> None:
        check_later(rule, self._own, {"until": True} if self._job.lifetimes else {})

    def _line_fault(self, told: BucketAnswer, error: Exception, raw: Any, rule: str | None = None) -> None:
        """Tell why a line was refused: once, but what its rule raises on the rows of this bucket."""
        if self._number and _of_line(error):
            return
        if self._job.stop_on_fault:
            raise error
        told.faults.append(Fault(shortened(text_of(error)), shown(raw), None, None, rule))

    def _of_step(self, step: RuleStep) -> pa.Table:
        """Return changes of a rule in the columns of the job."""
        rows = []
        for change in step.changes:
            keys = change.key if len(step.form.labels) > 1 else (change.key,)
            around = {"rule": change.rule, "le": change.le, "re": change.re, "diff": change.diff}
            rows.append(change.payload._asdict() | dict(zip(step.form.labels, keys)) | around)
        return pa.Table.from_pylist(rows, self._shown)

    # -- the sets --------------------------------------------------------------------------------------------------------------

    def _promise(self, promised: int) -> list[Any]:
        if promised <= self._promised:
            return []
        self._promised = promised
        return [found for part in self._parts for found in self._told(part, [self._nothing, Punctuation(promised)])]

    def _take(self, rows: pa.Table) -> list[Any]:
        found: list[Any] = []
        keys = [rows[name] for name in self._job.keys]
        for part in self._parts:
            mine = rows.filter(pa.array(part.has(keys))) if part.of else rows
            take_by_halves(mine, lambda some, part=part: found.extend(self._told(part, [some])), self._refuse)  # type: ignore[misc]
        if len(rows):
            ends = pc.max(rows.filter(pc.less(rows["re"], FOREVER))["re"]).as_py() if self._job.lifetimes else None
            self._last = max(self._last, pc.max(rows["le"]).as_py())
            self._ends = max(self._ends, BEGINNING if ends is None else ends)
        return found

    def _told(self, part: RulesOfKeys, batch: list[Any]) -> list[pa.Table]:
        """Return the matches that a call brings. Rules that are put aside are told as faults, and so are vain retractions."""
        out = part.rules.push_many(batch)
        for name, le, why in sorted(_aside(part.rules) - part.aside):
            part.aside.add((name, le, why))
            if self._job.stop_on_fault:
                raise AfaError(f"rule {name!r}: {why}")
            self._faults.append(Fault(shortened(f"the rule is put aside: {why}"), f"bucket {self._number}", None, None, name))
        for change in self._vain:
            values = [getattr(change.payload, name) for name in self._job.keys]
            if self._has(part, [pa.chunked_array([[value]]) for value in values])[0]:
                self._in_vain(change, tuple(values), self._promised)
        self._vain.clear()
        return [self._of_keys(part, self._in_form(table)) for table in out if isinstance(table, pa.Table)]

    def _of_keys(self, part: RulesOfKeys, table: pa.Table) -> pa.Table:
        """Return changes of a set's matches, but those of keys that are another bucket's."""
        return table.filter(pa.array(self._has(part, [table[name] for name in self._job.keys]))) if part.of else table

    def _has(self, part: RulesOfKeys, keys: Sequence[pa.ChunkedArray]) -> Any:
        """Return which of some keys are those of a set in this bucket."""
        return part.has(keys) & (bucket_numbers(keys, self._job.buckets) == self._number)

    def _in_vain(self, change: Change, key: tuple[Any, ...], promised: int) -> None:
        said = vain(change, promised)
        if self._job.late == "raise":
            raise LateEventError(f"{said} of key {key[0] if len(key) == 1 else key!r}")
        if self._job.stop_on_fault:
            raise ChangeError(f"{said} of key {key[0] if len(key) == 1 else key!r}")
        self._faults.append(Fault(shortened(said), f"bucket {self._number}", key, change.le))

    def _in_form(self, table: pa.Table) -> pa.Table:
        """Return matches in the columns of the job; one that no rule of today has is null."""
        columns = [table[name] if name in table.column_names else pa.nulls(len(table)) for name in self._shown.names]
        return pa.table(columns, self._shown.names).cast(self._shown)

    def _table(self, out: Sequence[Any]) -> pa.Table:
        return pa.concat_tables([self._shown.empty_table(), *out])

    def _slices(self, events: pa.Table | None, end: int | None) -> Iterator[list[Any]]:
        """As of `WorldsBucket`; a retraction without its row, of all that there are, is told."""
        if events is not None:
            events = added_up(events)
            gone = pc.less(events["diff"], 0) if "diff" in events.column_names else None
            if gone is not None and pc.any(gone).as_py():
                vain_rows, events = events.filter(gone), events.filter(pc.invert(gone))
                for key, change in zip(self._keys(vain_rows), self._changes_of(vain_rows)):
                    self._in_vain(change, key, FOREVER)
        yield from super()._slices(events, end)

    @property
    def _end(self) -> int:
        return max(super()._end, self._ends)

    # -- state -----------------------------------------------------------------------------------------------------------------

    def numbers(self, all_keys: bool) -> dict[str, int | None]:
        """Returns what is held; partial matches only if all are to be counted."""
        return {"partial_matches": sum(part.rules.statistics.partial_matches for part in self._parts)} if all_keys else {}

    def by_rule(self) -> list[dict[str, Any]]:
        """Return the numbers of each rule that holds anything."""
        found: dict[str, dict[str, Any]] = {}
        for part in self._parts:
            for name, told in part.rules.statistics.rules.items():
                row = found.setdefault(name, {"rule": name, "partial_matches": 0, "matches": 0})
                row["partial_matches"] += told.partial_matches
                row["matches"] += told.matches
        return [row for row in found.values() if row["partial_matches"] or row["matches"]]

    def save(self, incremental: bool) -> bytes:
        """Returns the state, whole. O(state)."""
        parts = [[part.of, part.rules.snapshot()] for part in self._parts]
        told = (self._last, self._ends, self._promised, self._delay, self._waits, self._lives)
        lines = [[identity, *of] for identity, of in self._known.items() if of[1] >= self._promised]  # others would be late
        return _packed(RulesState(FORMAT, self._recipe, *told, parts, lines))

    # -- keys that move --------------------------------------------------------------------------------------------------------

    def settle(self, promised: int) -> BucketAnswer:
        """Follow the watermark, under the rules as they were; what that brings."""
        return super().run(None, (), promised)

    def join(self, others: Sequence[RulesBucket]) -> None:
        """Take the sets of buckets that have followed the same watermark."""
        for other in others:
            self._parts += other._parts
            self._known |= other._known
            self._last, self._ends = max(self._last, other._last), max(self._ends, other._ends)
            self._waits = self._waits or other._waits
            self._lives = None if None in (self._lives, other._lives) else max(self._lives, other._lives)


class RulesState(NamedTuple):
    """The parts of what `RulesBucket.save` gave."""

    version: str
    recipe: str
    last: int
    ends: int
    promised: int
    delay: int
    waits: bool
    lives: int | None
    parts: list[Any]
    lines: list[Any]


def split(blobs: Sequence[bytes], before: int, number: int, count: int) -> Iterator[bytes]:
    """Yield the state of a bucket, of so many before, in parts: for each of ``count`` buckets the sets that have keys of it."""
    state = _unpacked(b"".join(blobs))
    recipe = json.dumps({**json.loads(state.recipe), "buckets": count}, sort_keys=True)
    for new in range(count):
        parts = [[[*of, (before, number)], snapshot] for of, snapshot in state.parts]
        mine = [part for part in parts if all((number - new) % gcd(of, count) == 0 for of, number in part[0])]
        yield _packed(state._replace(recipe=recipe, parts=mine))


def _of_line(error: Exception) -> bool:
    """Return whether a line was refused for what it says, not for what its rule does with the events of some keys."""
    return isinstance(error, AfaError) and not isinstance(error, BudgetError)


def _aside(rules: Any) -> set[Any]:
    return {(each.name, each.le, each.why) for each in rules.rules if each.state == ASIDE}


def _difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> RuleChanges:
    """Return which rules are others than before. SnapshotError: one that was no text."""
    changed = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
    for name in changed:
        if name in before and not isinstance(before[name], str):
            raise SnapshotError(
                f"expected the rule {name!r}, which was not given as text, as the checkpoint was made with: keep it, or begin anew "
                f"with another checkpoint"
            )
    gone, come = ([name for name in changed if name not in other] for other in (now, before))
    return RuleChanges(gone, come, [name for name in changed if name in before and name in now])


def _packed(state: RulesState) -> bytes:
    return zlib.compress(msgpack.packb(state), 1)


def _unpacked(blob: bytes) -> RulesState:
    try:
        found = msgpack.unpackb(zlib.decompress(blob))
    except Exception as error:
        raise SnapshotError(f"expected the state of a bucket of a set of rules but got {blob[:20]!r}: {error}") from error
    sound = isinstance(found, list) and len(found) == len(RulesState._fields) and found[0] == FORMAT
    wanted(f"the state of a bucket of a set of rules in format {FORMAT!r}", sound, str(found)[:60])
    state = RulesState(*found)
    known = isinstance(state.lines, list) and all(isinstance(line, list) and len(line) == 3 for line in state.lines)
    wanted("lines of a log", known and all(type(word) is bytes for line in state.lines for word in line[:2]), state.lines)
    numbers = type(state.delay) is int and state.delay >= 0 and type(state.waits) is bool and type(state.lives) in (int, type(None))
    wanted("a recipe, a delay and sets of rules", type(state.recipe) is str and numbers and isinstance(state.parts, list), state)
    for name in ("last", "ends", "promised"):
        as_time(getattr(state, name), name)
    return state
