"""A log of rules: lines of text in the files of a folder, which a running set follows. What arcs have in `afa.arclog`, of rules.

Each line (`afa.rules.rule_lines`) is a call of the set, in the order in which they were written. What the set refuses is written
back with the reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from afa.arclog.about import class_of, fields_of, said_of_job, write_said
from afa.arclog.answers import AnswerFile, JobAnswers, LineAnswer, answered
from afa.arclog.lines import object_in
from afa.arclog.listing import Listing, sequence_of
from afa.arclog.log_folder import LogFolder, Raw
from afa.arclog.log_writer import Instant, LineWriter
from afa.arclog.outcome import ONE_ID
from afa.errors import AfaError, line_of
from afa.operator.contract import Pattern
from afa.rules.rule_lines import RULE, NamedText, RuleStep, carried_out, rule_line
from afa.rules.rule_texts import RuleTexts
from afa.rules.rules import Rules
from punctuation.time import BEGINNING

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
            self.told.append(MUTE.format(error.strerror))

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
        line = rule_line(raw.text, self._tick, BEGINNING)
        known = self._known.get(line.identity)
        if known is not None and known[0] != line.content:
            raise AfaError(ONE_ID)
        if known is not None:
            return known[1]
        since, done = carried_out(line, self._operator, self._rules, lambda rule: self._check(rule.pattern))
        steps += done
        self._lines.pop(line.name, None)
        if line.text is not None:
            self._lines[line.name], self.texts[line.name] = (raw, since), line.text
        self._known[line.identity] = line.content, since
        return since

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
            self.told.append(MUTE.format(error.strerror))


def _named(raw: Raw, why: str) -> str:
    """Return a reason that begins with the rule of its line, where the line says one."""
    given = (object_in(raw.text) or {}).get("rule")
    name = given.get("name") if isinstance(given, dict) else None
    begin = f"rule {str(name)[:80]!r}: "
    return why if name is None or why.startswith(begin) else begin + why
