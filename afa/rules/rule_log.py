"""A log of rules: lines of text in the files of a folder, which a running set follows. What arcs have in `afa.arclog`, of rules.

    {"op": "insert", "rule": {"name": "large", "text": "PATTERN SEQ(Pay a) .."}, "at": "now", "until": 90}
    {"op": "retract", "rule": {"name": "large"}, "at": "2026-01-01T00:00:00+00:00"}
    {"op": "swap", "name": "large", "rule": {"name": "large", "text": ".."}, "at": 70}

All else of a line is as of an arc log (`afa.arclog.lines`). A text is SASE+ or SQL, never Python. Each line is a call of the set,
in the order in which they were written: `add`, `remove`, `replace`. What the set refuses is written back with the reason.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from afa.arclog.about import class_of, fields_of, said_of_job, write_said
from afa.arclog.answers import AnswerFile, JobAnswers, LineAnswer, answered
from afa.arclog.lines import NOW, LineKind, object_in, read_lines
from afa.arclog.listing import Listing, sequence_of
from afa.arclog.log_folder import LogFolder, Raw
from afa.arclog.log_writer import Instant, LineWriter
from afa.arclog.outcome import ONE_ID
from afa.arclog.versions import INSERT
from afa.change import RuleChange
from afa.errors import AfaError, AutomatonError, line_of
from afa.expression.wire import LONGEST_NAME
from afa.language.sase_grammar import LONGEST
from afa.operator.contract import Pattern
from afa.rules.rule_texts import RuleTexts
from afa.rules.rules import Rules
from punctuation.time import BEGINNING


class NamedText(NamedTuple):
    """What a line brings: a rule's name, and its text."""

    name: str
    text: str


def _read(given: Any) -> NamedText:
    """Read a rule of a line. Raises `AutomatonError`."""
    if not isinstance(given, Mapping) or set(given) != {"name", "text"}:
        raise AutomatonError(f'expected a rule, {{"name": .., "text": ..}}, but got {str(given)[:200]}')
    for word, most in (("name", LONGEST_NAME), ("text", LONGEST)):
        value = given[word]
        if not isinstance(value, str) or not value.strip() or len(value) > most:
            said = f"{len(value)} characters" if isinstance(value, str) else repr(value)[:80]
            raise AutomatonError(f"expected the {word} of a rule in 1 to {most} characters but got {said}")
    return NamedText(given["name"], given["text"])


RULE = LineKind("rule", "a log of rules", _read)


MUTE = "what becomes of each line can't be written there: {}; `afa rules LOG list` does not tell it"


class RuleAbout(NamedTuple):
    """What is known of a job: its rules, their texts (None: those of Python), and what one int of its LE counts."""

    rules: RuleTexts
    own: dict[str, str | None]
    tick: str | None


def put_rules(folder: Path, rules: RuleTexts, tick: str | None) -> None:
    """Write what others may know of a job: the fields of its events, and its rules."""
    own = {name: rule.text for name, rule in rules.rules.items()}
    data = {"event": fields_of(rules.schema), "rules": own, "tick": tick, "key": rules.key, "type": rules.type}
    write_said(folder, data, {"event", "rules"})


def rules_of(folder: Path) -> RuleAbout | None:
    """Return what the last job has said of itself, or None. Raises `AfaError` where the file says something else."""
    return said_of_job(folder, _about)


def _about(data: Any) -> RuleAbout:
    rules = Rules({}, event=class_of(*data["event"]), key=data["key"], tick=data["tick"], type=data["type"])
    return RuleAbout(rules, dict(data["rules"]), data["tick"])


class RuleWriter(LineWriter):
    """A log of rules in a folder, to be written. ``rules``: those of the job, of whose events a text must be; None: not known.

    ``tick``: what an int is in the lines; None: what one int of LE counts for the set that reads it.
    """

    _kind = RULE

    def __init__(self, path: str | Path, about: RuleAbout | None = None, tick: str | None = None) -> None:
        super().__init__(path)
        self._about, self._unit = about, tick

    def add(self, name: str, text: str, *, at: Instant = None, until: Instant = None) -> None:
        """Write a line that puts a rule in force; ``at``: from when on, None: from when it is read."""
        self._write({"op": "insert", "rule": {"name": name, "text": text}}, at, until, None)

    def remove(self, name: str, *, at: int | str | None = None) -> None:
        """Write a line that ends the rule of a name, if there is one at that instant."""
        self.listing().one(name, at)
        self._write({"op": "retract", "rule": {"name": name}}, at, None, None)

    def replace(self, name: str, text: str, *, at: int | str | None = None) -> None:
        """Write a line that puts another rule in the place of the one of a name."""
        self.listing().one(name, at)
        self._write({"op": "swap", "name": name, "rule": {"name": name, "text": text}}, at, None, None)

    def listing(self, jobs: Sequence[JobAnswers] | None = None, tick: str | None = None) -> Listing:
        """Return what the lines come to; ``jobs``: those whose answers count, None: those that run."""
        jobs = [job for job in answered(self.path)[0] if job.runs] if jobs is None else jobs
        own = [] if self._about is None else [(name, NamedText(name, text or "(Python)")) for name, text in self._about.own.items()]
        return Listing.of_kind(self.path, RULE, own, None, self._unit if tick is None else tick, jobs)

    def _check_brought(self, brought: NamedText) -> None:
        if self._about is not None:
            self._about.rules.rule(brought.name, brought.text)


class RuleStep(NamedTuple):
    """The changes that a line of a log has brought, all of one pattern."""

    changes: list[RuleChange]
    pattern: Pattern


class RuleLog:
    """A log of rules that the operator of a set follows by polls.

    Parameters
    ----------
    path : str or Path
        A folder; it is made if it does not exist.
    rules : RuleTexts
        The set, whose rules' names stand in the log, too.
    operator : RuleSetOperator
    tick : str, optional
        What one int of LE counts.
    job : str
        How `afa rules LOG list` calls the job.
    check : callable, optional
        Refuses the pattern of a rule that comes later (`AfaError`).
    """

    def __init__(
        self,
        path: str | Path,
        rules: RuleTexts,
        operator: Any,
        *,
        tick: str | None = None,
        job: str = "",
        check: Callable[[Pattern], None] = lambda pattern: None,
    ) -> None:
        self.writer = RuleWriter(path, RuleAbout(rules, {name: rule.text for name, rule in rules.rules.items()}, tick), tick)
        self.folder = LogFolder(self.writer.path)
        self._operator, self._rules, self._tick, self._check = operator, rules, tick, check
        self._patterns = {name: rule.pattern for name, rule in rules.rules.items()}
        self._marks: dict[str, Any] = {}
        self._known: dict[bytes, tuple[bytes, int]] = {}  # of lines that were taken, by identity: content, since when they hold
        self._lines: dict[str, tuple[Raw, int]] = {}  # by name: the line of the rule in force, since when, unless it was put aside
        self.told: list[str] = []
        self.refused: dict[str, str] = {}  # by file: why a line of the last poll was refused
        self.texts = {name: rule.text for name, rule in rules.rules.items()}  # of the last rule of each name; None: of Python
        put_rules(self.writer.path, rules, tick)
        self._answers: AnswerFile | None = None
        try:
            self._answers = AnswerFile(self.writer.path, job, tick, {})
        except OSError as error:
            self.told.append(
                f"what becomes of each line can't be written there: {error.strerror}; `afa rules .. list` does not tell it"
            )

    def poll(self) -> list[RuleStep]:
        """Carry out what the folder has brought, line by line; ``told`` says what was refused, each with its place."""
        try:
            reading = self.folder.read(self._marks)
        except OSError as error:
            raise AfaError(f"expected the folder of a log of rules but got {self.writer.path}: {error.strerror}") from error
        self._marks = reading.marks
        self.told += [f"{reason} ({name})" for name, reason in reading.faults]
        steps, answers = list[RuleStep](), list[tuple[Raw, LineAnswer]]()
        self.refused.clear()
        for raw in sorted(reading.lines, key=sequence_of):
            try:
                answers.append((raw, LineAnswer(self._take(raw, steps))))
            except Exception as error:  # what a rule raises on what is held, too
                why = _named(raw, line_of(error))
                answers.append((raw, LineAnswer(None, why)))
                self.told.append(f"{why} ({raw.file}, line {raw.number})")
                self.refused[raw.file] = why
        answers += self._put_aside()
        self._answer(answers)
        return steps

    def _take(self, raw: Raw, steps: list[RuleStep]) -> int:
        """Carry out a line; return since when it holds. All or nothing, as it is one call of the set."""
        *_, line = lines = read_lines(raw.text, self._tick, BEGINNING, RULE)
        known = self._known.get(line.identity)
        if known is not None and known[0] != line.content:
            raise AfaError(ONE_ID)
        if known is not None:
            return known[1]
        now, name = self._operator.now, line.name
        at = None if json.loads(raw.text)["at"] == NOW else line.at
        since: int = now if at is None else at
        if line.op == INSERT and lines[0].name != name:
            raise AfaError(f"expected a rule of the name that it replaces, {lines[0].name!r}, but got {name!r}")
        old = None if len(lines) == 1 and line.op == INSERT else self._one(name, since)
        if line.op != INSERT:
            assert old is not None
            steps.append(RuleStep(self._operator.remove(name, at), old))
            self._lines.pop(name, None)
        else:
            new = self._rules.rule(name, line.arc.text).pattern
            self._check(new)
            if old is None:
                steps.append(RuleStep(self._operator.add(name, new, at, line.until), new))
            else:
                out = self._operator.replace(name, new, at)
                come = [change for change in out if change.diff > 0 and change.le >= since]
                steps += [RuleStep([change for change in out if change not in come], old), RuleStep(come, new)]
            self._patterns[name], self._lines[name], self.texts[name] = new, (raw, since), line.arc.text
        self._known[line.identity] = line.content, since
        return since

    def _one(self, name: str, at: int) -> Pattern:
        """Return the pattern of the only rule of a name that is in force at an instant or later, and is there."""
        lasting = [each for each in self._operator.rules if each.name == name and each.re > at and each.state != "dropped"]
        if len(lasting) != 1 or lasting[0].le > at:
            there = ", ".join(f"one in [{each.le}, {each.re})" for each in lasting) or "none"
            raise AfaError(f"expected one rule {name!r} in force at {at} and beyond but got {there}")
        return self._patterns[name]

    def _put_aside(self) -> list[tuple[Raw, LineAnswer]]:
        """Return what is answered to lines whose rules were put aside since."""
        told = []
        for each in self._operator.rules if self._lines else ():
            raw, since = self._lines.get(each.name, (None, 0))
            if raw is not None and each.state == "put aside" and each.le == since:
                del self._lines[each.name]
                told.append((raw, LineAnswer(None, f"rule {each.name!r} is put aside: {each.why}")))
        return told

    def _answer(self, answers: Sequence[tuple[Raw, LineAnswer]]) -> None:
        try:
            if self._answers is not None:
                self._answers.put(answers)
        except OSError as error:
            self._answers = None
            self.told.append(
                f"what becomes of each line can't be written there: {error.strerror}; `afa rules .. list` does not tell it"
            )


def _named(raw: Raw, why: str) -> str:
    """Return a reason that begins with the rule of its line, where the line says one."""
    given = (object_in(raw.text) or {}).get("rule")
    name = given.get("name") if isinstance(given, dict) else None
    begin = f"rule {str(name)[:80]!r}: "
    return why if name is None or why.startswith(begin) else begin + why
