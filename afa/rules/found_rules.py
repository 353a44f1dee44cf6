"""The matches of a set of rules in a whole frame: those of each rule, with a column ``rule`` in front."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from afa.errors import AfaError
from afa.io.answer import Answer
from afa.io.frame import Frame
from afa.rules.rule_texts import RuleTexts
from afa.schema import Field
from punctuation.door import Table, table_of


class RuleTables(NamedTuple):
    """What is found of rules, each part of all rules as one table; ``by_operator`` as of `afa.Backtest`."""

    table: Any
    matches: Any
    by_operator: dict[Any, str]


def found_rules(rules: RuleTexts, frame: Any, find: Callable[..., Any], options: Mapping[str, Any]) -> Any:
    """Return the matches in a frame as one like it. ``find(pattern, options)`` finds those of one pattern.

    By ``le``, then ``re``, then the rule.
    """
    like = _like(rules, frame)
    return _in_order(_of_each(rules, find, options), like)


def backtested_rules(rules: RuleTexts, frame: Frame, backtest: Callable[..., Any], options: Mapping[str, Any]) -> RuleTables:
    """Return what ``backtest(patterns, options)`` tells of each rule by itself: its numbers, and its matches, as one table each."""
    like = _like(rules, frame.given)
    found = _of_each(rules, lambda pattern, said: backtest({"": pattern}, said), options)
    numbers = _one({name: each.table for name, each in found.items()}, ["variant"])
    counted = any(each.matches is None for each in found.values())
    matches = None if counted else _in_order({name: each.matches for name, each in found.items()}, like, ["variant"])
    why = {name: reason for name, each in found.items() for reason in (each.by_operator or {}).values()}
    return RuleTables(_back(numbers, like), matches, why)


def _like(rules: RuleTexts, frame: Any) -> Table:
    like = table_of(frame)
    if like is None:
        raise AfaError(f"expected a frame in memory for a set of rules but got {type(frame).__name__}; read the files first")
    if not len(rules):
        raise AfaError("expected rules but got an empty set")
    return like


def _of_each(rules: RuleTexts, work: Callable[..., Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is done for each pattern, with these options: its own key wins, else the one said, else the set's."""
    found = {}
    for name, rule in sorted(rules.rules.items()):
        said = {"key": rules.key, **options}
        if rule.pattern.key is not None or said["key"] is None:
            said.pop("key")
        try:
            found[name] = work(rule.pattern, said)
        except AfaError as error:
            why = str(error).removeprefix("variant '': ")  # the name that `backtested_rules` gives
            raise type(error)(f"rule {name!r}: {why}") from error
    return found


def _one(parts: Mapping[str, Any], without: Collection[str] = ()) -> Any:
    """Return tables by rule as one of Arrow, with the rule in front."""
    import pyarrow as pa

    found = []
    for name, given in parts.items():
        part = table_of(given)
        assert part is not None
        names = [each for each in part.names if each not in without]
        columns = {each: pa.array(part.column(each)) if not part.in_arrow else part.column(each) for each in names}
        rows = len(next(iter(columns.values())))
        found.append(pa.table({"rule": pa.array([name] * rows, pa.string()), **columns}))
    try:
        return pa.concat_tables(found, promote_options="default")
    except pa.ArrowException as error:
        raise AfaError(f"expected one type of each column in all rules but got others: {error}") from error


def _in_order(parts: Mapping[str, Any], like: Table, without: Collection[str] = ()) -> Any:
    ends: Sequence[str] = ("le", "re")
    table = _one(parts, without)
    table = table.sort_by([(name, "ascending") for name in (*ends, "rule")])
    return _back(table.select([*(name for name in table.column_names if name not in ends), *ends]), like)


def _back(table: Any, like: Table) -> Any:
    """Return an Arrow table as one like another."""
    if like.in_arrow:
        return like.back(table)
    return Answer(table.columns, [Field(name, None, True) for name in table.column_names], {}).to(like)
