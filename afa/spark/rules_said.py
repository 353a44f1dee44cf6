"""What a set of rules says to `match`: the key by which rows are dealt, the columns of its matches, what a restart may change.

Each bucket makes a set of its own (`afa.spark.rules_bucket`), over the events of its keys. That is one set over all keys as long as
the key of each rule holds the columns by which rows are dealt.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa

from afa.errors import AfaError
from afa.model.arc import TIMEOUT, Arc
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, SPARK_RULES, TEMPORAL, check
from afa.model.option_values import names_of
from afa.operator.contract import Pattern, PatternInParts
from afa.rules.rule_texts import Rule
from afa.rules.rules import Rules
from afa.schema import Schema, Time
from afa.spark.recipe import recipe_of
from afa.spark.shipped import Once
from punctuation.durations import ticks_of_duration

TICK, RULE = "us", "rule"
OPTIONS = ("window", "order_by", "longest", "partial_matches")
"""Options of `match` that rules get which do not say them."""
LEFT_OUT = (RULE, "le", "re", "diff")
TYPES = {pa.int64(): int, pa.float64(): float, pa.bool_(): bool, pa.string(): str}


def _made(rules: Once, automaton: Automaton, **options: Any) -> Any:
    """Make an operator of a set, whatever the automaton in its place."""
    return rules.content.operator(**options)


def rules_in_parts(rules: Rules, said: Mapping[str, Any]) -> PatternInParts:
    """Return what makes operators of a set for parts of the keys; ``said``: what is said beside it.

    AfaError: an option that a set does not take; no key that all rules have; a rule with other columns than ``columns=``.
    """
    check({**said, SPARK_RULES: True})
    if rules.tick != TICK:
        raise AfaError(f"expected Rules(.., tick='us'), as times are microseconds on Spark, but got tick={rules.tick!r}")
    if not rules.schema.scalar:
        raise AfaError(f"expected events with scalar fields (Spark's columns have types) but got {rules.schema.describe()}")
    default = said.get("key") if rules.key is None else rules.key
    keys = {name: _key_of(rule, default) for name, rule in rules.rules.items()}
    dealt = _dealt_by(said.get("key"), default, keys)
    for rule in rules.rules.values():
        _check_rule(rule, dealt, said)
    options = {name: said[name] for name in OPTIONS if name in said} | ({} if rules.key is not None else {"key": default})
    shown = _shown(rules, options, dealt, said.get("columns"))
    windows = [_window(rule.pattern, said.get("window")) for rule in rules.rules.values()]
    sent = Once(rules)
    of_set = {"key": list(names_of(default, "key")), **{name: str(said[name]) for name in OPTIONS[:3] if name in said}}
    of_set["columns"] = sorted(f"{field.name}: {field.type.__name__}" for field in Schema.of(shown, "match").fields if field.type)
    return PatternInParts(
        made=functools.partial(_made, sent),
        options={"tick": TICK, **options},
        recipe={"set": of_set, "rules": {name: _said(rule) for name, rule in sorted(rules.rules.items())}},
        key=dealt,
        order_by=None,
        shown=shown,
        lives=None if None in windows else max((window or 0 for window in windows), default=0),
        name="",
        ahead=any(_may_change(rule) for rule in rules.rules.values()),
        null_keys=True,
        event=rules.event,
        automaton=Automaton(start="0", final={"rules"}, arcs=[Arc("0", "rules", "True")], event=rules.event),
        clocked=any(arc.kind == TIMEOUT for rule in rules.rules.values() for arc in rule.pattern.automaton.arcs),
        rules=sent,
    )


def _key_of(rule: Rule, default: Any) -> tuple[str, ...]:
    key = default if rule.pattern.key is None else rule.pattern.key
    return tuple(names_of(key, "key"))


def _dealt_by(said: Any, default: Any, keys: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the columns by which rows are dealt: those that were said, else those that the keys of all rules share."""
    first: tuple[str, ...] = next(iter(keys.values()), tuple(names_of(default, "key")))
    dealt = tuple(names_of(said, "key")) or tuple(name for name in first if all(name in key for key in keys.values()))
    for name, key in keys.items():
        if not dealt or not set(dealt) <= set(key):
            other = ", ".join(dealt) or " or ".join(sorted({", ".join(each) or "none" for each in keys.values()}))
            raise AfaError(
                f"rule {name!r}: expected a key that holds the columns by which Spark deals out rows to all rules, {other}, but "
                f"got {', '.join(key) or 'none'}: the events of a key must come to one place; give the rule a match of its own"
            )
    if not dealt:
        raise AfaError("expected rules with a key, or key=, by which a stream is cut on Spark, but got none")
    return dealt


def _check_rule(rule: Rule, dealt: tuple[str, ...], said: Mapping[str, Any]) -> None:
    pattern = rule.pattern
    if TEMPORAL in pattern.traits:
        raise AfaError(f"rule {rule.name!r}: a temporal pattern is not supported in a set on Spark; give it a match of its own")
    if pattern.automaton.having is not None:
        raise AfaError(f"rule {rule.name!r}: expected an automaton without having= on Spark but got {pattern.automaton.having!r}")
    if pattern.tick not in (None, TICK):
        raise AfaError(f"rule {rule.name!r}: expected tick='us' but got tick={pattern.tick!r}: times are microseconds on Spark")
    named = [field.name for field in pattern.shown.fields if field.name in dealt]
    if named:
        raise AfaError(f"rule {rule.name!r}: expected a match without a field {named[0]!r}, a column of the key: rename it")
    if "until" in said and pattern.automaton.choice is not None and pattern.window is not None:
        raise AfaError(
            f"rule {rule.name!r}: expected no until= beside AFTER MATCH SKIP and WITHIN, which says how long each row lives, but "
            f"got one: leave it out, or say no WITHIN"
        )


def _window(pattern: Pattern, said: Any) -> int | None:
    window = pattern.window if pattern.window is not None or QUERY in pattern.traits else said
    return None if window is None else ticks_of_duration(window, TICK, "window")


def _may_change(rule: Rule) -> bool:
    """Return whether matches may change behind the watermark: those that are chosen, and where rows wait for those behind them."""
    tree = getattr(rule.pattern, "tree", None)
    return rule.pattern.automaton.choice is not None or any(offset > 0 for *_, offset in getattr(tree, "neighbours", ()))


def _said(rule: Rule) -> str | list[str]:
    """Return a rule as plain data: its text, or a digest of a pattern that is none."""
    if rule.text is not None:
        return rule.text
    pattern = rule.pattern
    more = {name: getattr(pattern, name, None) for name in ("window", "key", "ordered_by", "shown_as", "where", "computed")}
    told = json.dumps([recipe_of(pattern.automaton.bound(TICK)), more], sort_keys=True, default=str)
    return [hashlib.blake2b(told.encode(), digest_size=16).hexdigest()]


def _shown(rules: Rules, options: Mapping[str, Any], dealt: tuple[str, ...], columns: Any) -> Any:
    """Return the class of matches: the rule, then the columns of all, but those by which rows are dealt."""
    found = _columns(rules, options, dealt)
    if columns is not None:
        given = Schema.of(columns, "columns")
        asked = _annotations(given)
        wrong = next((name for name in found if found[name] != asked.get(name)), None)
        if wrong is not None or set(asked) & {*LEFT_OUT, *dealt}:
            raise AfaError(
                f"expected columns={given.describe()} with the columns of all rules, {', '.join(found)}, and none of a key, but "
                f"got {wrong or 'one of a key'!r}"
            )
        found = asked
    return NamedTuple("Match", [(RULE, str), *found.items()])


def _columns(rules: Rules, options: Mapping[str, Any], dealt: tuple[str, ...]) -> dict[str, Any]:
    """Return the columns of the matches of all rules, but those by which rows are dealt."""
    fields = [pa.field(field.name, next(kind for kind, of in TYPES.items() if of is field.type)) for field in rules.schema.fields]
    like = pa.schema([*(field for field in fields if field.name != rules.schema.instant), ("le", pa.timestamp(TICK))])
    found: dict[str, Any] = {}
    for field in rules.operator(**{"tick": TICK, **options}).push_many(like.empty_table()).schema:
        if field.name not in (*LEFT_OUT, *dealt):
            kind = Time if pa.types.is_timestamp(field.type) else TYPES.get(field.type)
            if kind is None:
                raise AfaError(f"expected matches with scalar fields but got a column {field.name!r} of {field.type} in {rules!r}")
            found[field.name] = kind | None
    return found


def _annotations(schema: Schema) -> dict[str, Any]:
    return {field.name: schema.annotation(field._replace(optional=True)) for field in schema.fields}


def check_later(rule: Rule, own: PatternInParts, said: Mapping[str, Any]) -> None:
    """Refuse a rule that comes while the job of a set runs, and does not fit it; ``said``: as of `rules_in_parts`."""
    rules: Rules = own.rules.content
    default = own.options.get("key", rules.key)
    _dealt_by(own.key, default, {rule.name: _key_of(rule, default)})
    _check_rule(rule, own.key, said)
    if _may_change(rule) and not own.ahead:
        raise AfaError(
            f"rule {rule.name!r}: expected a rule whose matches stay behind the watermark, as all of the set do that the job was "
            f"started with, but got one that chooses among matches or looks ahead; start the job again with it"
        )
    alone = Rules({rule.name: rule.pattern}, event=rules.event, key=rules.key, tick=TICK, type=rules.type)
    there = {name: kind for name, kind in _annotations(Schema.of(own.shown, "match")).items() if name != RULE}
    for name, kind in _columns(alone, own.options, own.key).items():
        if there.get(name) != kind:
            raise AfaError(
                f"rule {rule.name!r}: expected the columns that the job was started with, {', '.join(there)}, but got {name!r}"
                f"{' of another type' if name in there else ''}: say columns= of match"
            )


def lives_of(pattern: Pattern, own: PatternInParts) -> tuple[int | None, bool]:
    """Return for how long events live for a rule (None: for ever), and whether it has time-outs."""
    return _window(pattern, own.options.get("window")), any(arc.kind == TIMEOUT for arc in pattern.automaton.arcs)
