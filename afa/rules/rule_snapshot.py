"""Restore a set of rules with the same rules or others; what becomes of each stands in SEMANTICS.md, Rules."""

from __future__ import annotations

from typing import Any

from afa.errors import AfaError, SnapshotError
from afa.model.copies import as_total
from afa.operator.plain_data import plain, reading
from afa.operator.snapshot import unseal
from afa.rules.event_rows import EventRows
from afa.rules.own_operator import OwnOperator
from afa.rules.rule_set_operator import MAGIC, VERSION, RuleSetOperator
from afa.rules.rule_texts import Rule, RuleTexts
from afa.rules.shape import Shape
from afa.rules.standing_rules import RuleInForce
from afa.state.sound import wanted
from punctuation.progress import Marks
from punctuation.time import FOREVER, as_time

PARTS = 6


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
    with reading("a snapshot of a set of rules"):
        options.setdefault("reach", as_time(parts[1], "reach"))
    op = RuleSetOperator(type(rules)({}, event=rules.event, key=rules.key, tick=rules.tick), **options)
    op._set = rules
    op._calls.call(_load, op, parts)
    if not as_saved:
        _put_in_force(op)
    op._set = rules.bare()
    return op


def _load(op: RuleSetOperator, parts: list[Any]) -> None:
    schema, reach, told, saved_rules, held, blobs = parts
    with reading("a snapshot of a set of rules"):
        if schema != [[field.name, getattr(field.type, "__name__", "any")] for field in op._schema.fields]:
            raise SnapshotError(f"expected a snapshot of a set over {op._schema.describe()} but got one over {schema}")
        if op._reach != reach:
            raise SnapshotError(f"expected reach={reach}, with which the set was saved, but got {op._reach}")
        marks, late, output, following, units = told
        op._progress.restore(Marks(*(as_time(mark, "a mark") for mark in marks)))
        op._late.count, op._output, op._standing.next = as_total(late), as_time(output, "output"), as_total(following)
        if held:
            op._held.add(EventRows.of_saved(op._schema, held))
        op._held.vain(op._progress.events)
        op._store.concerned.units.promise = op._behind_by(op._progress.events)
        op._store.concerned.units.take(units)
        shapes: dict[int, Shape] = {}
        for saved_rule in saved_rules:
            _stand(op, shapes, blobs, *saved_rule)


def _stand(
    op: RuleSetOperator,
    shapes: dict[int, Shape],
    blobs: list[Any],
    number: int,
    name: str,
    text: str | None,
    le: int,
    re: int,
    aside: str | None,
    state: list[Any],
) -> None:
    """Let a saved rule stand again: by the pattern that is given now, if it is of that, else by its text."""
    texts = type(name) is str and all(each is None or type(each) is str for each in (text, aside))
    wanted("the name and the text of a rule", texts, [name, text, aside])
    le, re = as_time(le, "le"), as_time(re, "re")
    wanted("a lifetime of a rule", le < re, [le, re])
    wanted("a number of its own", type(number) is int and 0 <= number < op._standing.next and number not in op._standing, number)
    wanted("rules of one name one after the other", all(each.re <= le or re <= each.le for each in op._standing.named(name)), name)
    given = op._set.rules.get(name)
    candidates = [given] if given is not None and (text is None or given.text in (None, text)) else []
    if text is not None and not any(each.text == text for each in candidates):
        candidates.append(op._set.saved(name, text))
    following = op._standing.next
    for rule in candidates:
        op._standing.next = number
        try:
            if len(state) == 2:
                own = OwnOperator(op._operator(rule, state[1]))
                own.promised = as_time(state[0], "promised")
                standing = op._stand(rule, le, re, own)
            else:
                _restore_group(op, rule, shapes, blobs, state)
                standing = op._stand(rule, le, re)
        except SnapshotError:
            if text is not None and rule.text == text:
                raise
            continue  # another pattern of this name
        finally:
            op._standing.next = following
        if aside is not None:
            op._put_aside(standing, aside)
        return
    why = "its pattern is not given any more, and it was not given as text"
    op._standing.dropped += (RuleInForce(name, le, re, "dropped", why),)


def _restore_group(op: RuleSetOperator, rule: Rule, shapes: dict[int, Shape], blobs: list[Any], state: list[Any]) -> None:
    """Restore the group of a rule that was saved as one of the store. Raises `SnapshotError` where it is another rule."""
    place, described, asked, told = state
    wanted("the place of a shape", type(place) is int and 0 <= place < len(blobs), place)
    if op._apart is not None:
        raise AfaError(f"expected the options with which the set was saved but got {op._apart}, too")
    parts, _ = op._parts_of(rule)
    if parts is None or plain(parts.described()) != plain(described):
        raise SnapshotError(f"rule {rule.name!r}: expected the pattern with which the set was saved but got another one")
    wanted("one shape at one place", shapes.setdefault(place, parts.shape) == parts.shape, place)
    if parts.shape not in op._store.groups:
        op._store.group(parts.shape, blobs[place])
    wanted("how many matches there are", type(told) is int, told)
    op._store.count(op._standing.next, as_total(asked), told)


def _put_in_force(op: RuleSetOperator) -> None:
    """End the rules that are not given any more, and begin those that are given anew, one tick past all that was seen."""
    try:
        op._calls.call(_end_and_begin, op, op._progress.now)
    except AfaError as error:
        raise type(error)(f"a rule that is given anew can't begin: {error}") from error


def _end_and_begin(op: RuleSetOperator, now: int) -> None:
    last = {each.rule.name: each for each in sorted(op._standing, key=lambda each: each.le) if each.re > now}
    for each in op._standing:
        given = op._set.rules.get(each.rule.name)
        if each.re > now and (given is None or not _is_of(last[each.rule.name].rule, given)):
            op._end(each, now)
    for name, rule in op._set.rules.items():
        if name not in last or not _is_of(last[name].rule, rule):
            op._add(rule, now, FOREVER)


def _is_of(rule: Rule, given: Rule) -> bool:
    return given is rule or (given.text is not None and given.text == rule.text)
