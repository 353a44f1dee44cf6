"""Restore a set of rules with the same rules or others; what becomes of each stands in SEMANTICS.md, Rules."""

from __future__ import annotations

from typing import Any

from afa.change import Change
from afa.errors import AfaError, SnapshotError
from afa.model.copies import as_total
from afa.operator.plain_data import reading
from afa.operator.snapshot import unseal
from afa.rules.own_operator import OwnOperator
from afa.rules.rule_set_operator import MAGIC, VERSION, RuleInForce, RuleSetOperator, StandingRule
from afa.rules.rule_tables import RuleColumns
from afa.rules.rule_texts import Rule, RuleTexts
from afa.state.sound import wanted
from punctuation.progress import Marks
from punctuation.time import FOREVER, as_time

PARTS = 7


def restored(rules: RuleTexts, blob: bytes, options: dict[str, Any]) -> RuleSetOperator:
    """Make the operator of rules that its ``snapshot`` saved, with the options that it was made with.

    ``as_saved=True``: no rule begins or ends, whichever are given; these are where rules that are no text are looked for.

    Raises
    ------
    SnapshotError
        The blob is no snapshot of a set of rules of these events, is damaged, or of another ``reach=``.
    """
    parts = unseal(MAGIC, VERSION, blob)
    if not isinstance(parts, list) or len(parts) != PARTS:
        raise SnapshotError(f"expected a snapshot of a set of rules but got {str(parts)[:60]}")
    as_saved = options.get("as_saved", False)
    options = {name: value for name, value in options.items() if name not in ("arcs", "stages", "as_saved")}
    schema, reach, marks, late, output, saved_rules, held = parts
    with reading("a snapshot of a set of rules"):
        reach = as_time(reach, "reach")
    options.setdefault("reach", reach)
    op = RuleSetOperator(type(rules)({}, event=rules.event, key=rules.key, tick=rules.tick), **options)
    with reading("a snapshot of a set of rules"):
        if schema != [[field.name, getattr(field.type, "__name__", "any")] for field in rules.schema.fields]:
            raise SnapshotError(f"expected a snapshot of a set over {rules.schema.describe()} but got one over {schema}")
        if op._reach != reach:
            raise SnapshotError(f"expected reach={reach}, with which the set was saved, but got {op._reach}")
        op._set = rules
        op._progress.restore(Marks(*(as_time(mark, "a mark") for mark in marks)))
        op._late.count, op._output = as_total(late), as_time(output, "output")
        for payload, le, re, count in held:
            times = as_time(le, "le"), None if re is None else as_time(re, "re")
            wanted("copies of an event", type(count) is int and count != 0, count)
            op._held.add(Change(rules.schema.take(rules.schema.cls._make(payload)), *times, count))  # type: ignore[attr-defined]
        op._held.keep()
        for saved_rule in saved_rules:
            _stand(op, *saved_rule)
    if not as_saved:
        _put_in_force(op)
    op._columns = RuleColumns.of(op._standing, op._set.schema)
    return op


def _stand(
    op: RuleSetOperator, name: str, text: str | None, le: int, re: int, aside: str | None, promised: int, blob: bytes
) -> None:
    """Let a saved rule stand again: by the pattern that is given now, if it is of that, else by its text."""
    texts = type(name) is str and all(each is None or type(each) is str for each in (text, aside))
    wanted("the name and the text of a rule", texts, [name, text, aside])
    le, re, promised = as_time(le, "le"), as_time(re, "re"), as_time(promised, "promised")
    wanted("a lifetime of a rule", le < re, [le, re])
    given = op._set.rules.get(name)
    candidates = [given] if given is not None and (text is None or given.text in (None, text)) else []
    if text is not None and not candidates:
        candidates = [op._set.rule(name, text)]
    for rule in candidates:
        try:
            group = OwnOperator(rule.pattern.restore(blob, **_options(op, rule)))
        except SnapshotError:
            continue
        group.promised = promised
        op._standing += (StandingRule(rule, le, re, group, aside),)
        return
    op._dropped += (RuleInForce(name, le, re, "dropped", "its pattern is not given any more, and it was not given as text"),)


def _options(op: RuleSetOperator, rule: Rule) -> dict[str, Any]:
    found: dict[str, Any] = {"late": "drop"}
    if rule.pattern.key is None and op._key is not None:
        found["key"] = op._key
    for name in ("engine", "partial_matches", "max_bytes"):
        if name in op._options.said:
            found[name] = op._options.said[name]
    return found


def _put_in_force(op: RuleSetOperator) -> None:
    """End the rules that are not given any more, and begin those that are given anew, one tick past all that was seen."""
    now = op._progress.now
    for each in op._standing:
        given = op._set.rules.get(each.rule.name)
        if each.re > now and (given is None or (given is not each.rule and given.text != each.rule.text)):
            op._put(each, each._replace(re=now) if each.le < now else None)
    there = {each.rule.name for each in op._standing if each.re > now}
    new = [rule for name, rule in op._set.rules.items() if name not in there]
    try:
        op._calls.call(lambda: [op._add(rule, now, FOREVER) for rule in new])
    except AfaError as error:
        raise type(error)(f"a rule that is given anew can't begin: {error}") from error
