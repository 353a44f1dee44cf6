"""The matches of a set of rules in a whole frame: those of each rule, with a column ``rule`` in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from afa.errors import AfaError
from afa.io.answer import Answer
from afa.rules.rule_texts import Rule, RuleTexts
from afa.schema import Field
from punctuation.door import table_of


def found_rules(rules: RuleTexts, frame: Any, find: Callable[..., Any]) -> Any:
    """Return the matches in a frame as one like it. ``find`` finds those of one pattern in a frame, given its key.

    By ``le``, then ``re``, then the rule.
    """
    import pyarrow as pa

    like = table_of(frame)
    if like is None:
        raise AfaError(f"expected a frame in memory for a set of rules but got {type(frame).__name__}; read the files first")
    if not len(rules):
        raise AfaError("expected rules but got an empty set")
    found = []
    for name, rule in sorted(rules.rules.items()):
        try:
            part = table_of(find(rule.pattern, _key_of(rule, rules)))
        except AfaError as error:
            raise type(error)(f"rule {name!r}: {error}") from error
        assert part is not None
        columns = {each: pa.array(part.column(each)) if not part.in_arrow else part.column(each) for each in part.names}
        rows = len(next(iter(columns.values())))
        found.append(pa.table({"rule": pa.array([name] * rows, pa.string()), **columns}))
    try:
        table = pa.concat_tables(found, promote_options="default")
    except pa.ArrowException as error:
        raise AfaError(f"expected one type of each column in all rules but got others: {error}") from error
    ends = ["le", "re"]
    table = table.sort_by([(name, "ascending") for name in (*ends, "rule")])
    table = table.select([*(name for name in table.column_names if name not in ends), *ends])
    if like.in_arrow:
        return like.back(table)
    return Answer(table.columns, [Field(name, None, True) for name in table.column_names], {}).to(like)


def _key_of(rule: Rule, rules: RuleTexts) -> Any:
    return None if rule.pattern.key is not None else rules.key
