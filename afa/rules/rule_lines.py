"""A line of a log of rules: what it says, and what it does to a set, as one call.

    {"op": "insert", "rule": {"name": "large", "text": "PATTERN SEQ(Pay a) .."}, "at": "now", "until": 90}
    {"op": "retract", "rule": {"name": "large"}, "at": "2026-01-01T00:00:00+00:00"}
    {"op": "swap", "name": "large", "rule": {"name": "large", "text": ".."}, "at": 70}

All else of a line is as of an arc log (`afa.arclog.lines`). A text is SASE+ or SQL, never Python. It is a call of the set: `add`,
`remove` or `replace`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from afa.arclog.lines import NOW, LineKind, read_lines
from afa.arclog.versions import INSERT
from afa.change import RuleChange
from afa.errors import AfaError, AutomatonError
from afa.expression.wire import LONGEST_NAME
from afa.language.sase_grammar import LONGEST
from afa.rules.rule_tables import RuleForm
from afa.rules.rule_texts import Rule, RuleTexts


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


class RuleLine(NamedTuple):
    """What a line says.

    name      of the rule that it is about
    text      of a rule that comes; None: the rule ends
    replaces  whether one that comes takes the place of another one of its name
    at        from when on; None: from when it is read
    until     of a rule that comes: where it ends
    identity  what the line is known by; ``content``: what lines of one identity must share
    """

    name: str
    text: str | None
    replaces: bool
    at: int | None
    until: int
    sequence: int
    identity: bytes
    content: bytes


def rule_line(raw: str | bytes | None, tick: str | None, present: int | None) -> RuleLine:
    """Read a line. Raises `AfaError`. ``present``: as of `afa.arclog.lines.read_lines`."""
    lines = read_lines(raw, tick, present, RULE)
    assert raw is not None
    line, text = lines[-1], lines[-1].arc.text if lines[-1].op == INSERT else None
    if lines[0].name != line.name:
        raise AfaError(f"expected a rule of the name that it replaces, {lines[0].name!r}, but got {line.name!r}")
    at = None if json.loads(raw)["at"] == NOW else line.at
    return RuleLine(line.name, text, len(lines) > 1, at, line.until, line.sequence, line.identity, line.content)


class RuleStep(NamedTuple):
    """The changes that a line of a log has brought, all of one rule, and what they look like."""

    changes: list[RuleChange]
    form: RuleForm


def carried_out(line: RuleLine, operator: Any, rules: RuleTexts, check: Callable[[Rule], None]) -> tuple[int, list[RuleStep]]:
    """Do what a line says to the operator of a set. Returns from when on it holds, and what that brings.

    ``check`` refuses a rule that comes (`AfaError`). All or nothing, as it is one call of the set.
    """
    name, since = line.name, operator.now if line.at is None else line.at
    if line.text is None:
        old = _the_one(operator, name, since)
        return since, [RuleStep(operator.remove(name, line.at), old)]
    gone = [_the_one(operator, name, since)] if line.replaces else []
    rule = rules.rule(name, line.text)
    check(rule)
    out = operator.replace(name, rule, line.at) if gone else operator.add(name, rule, line.at, line.until)
    (new,) = (each.form for each in operator.lasting(name, since) if each.le == since)
    come = [change for change in out if not gone or (change.diff > 0 and change.le >= since)]
    return since, [*(RuleStep([change for change in out if change not in come], old) for old in gone), RuleStep(come, new)]


def _the_one(operator: Any, name: str, at: int) -> RuleForm:
    """Return the form of the only rule of a name that is in force at an instant or later, and is there."""
    lasting = operator.lasting(name, at)
    if len(lasting) != 1 or lasting[0].le > at:
        there = ", ".join(f"one in [{each.le}, {each.re})" for each in lasting) or "none"
        raise AfaError(f"expected one rule {name!r} in force at {at} and beyond but got {there}")
    form: RuleForm = lasting[0].form
    return form
