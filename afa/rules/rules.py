"""`afa.Rules`: a set of rules, which makes operators of all of them."""

from __future__ import annotations

from typing import Any

from afa.rules.rule_set_operator import RuleSetOperator
from afa.rules.rule_snapshot import restored
from afa.rules.rule_texts import RuleTexts


class Rules(RuleTexts):
    """Many patterns over one stream, each with a name, which is part of its matches.

    Parameters
    ----------
    patterns : mapping of str
        By name the text of a query (SASE+, or SQL with MATCH_RECOGNIZE), or a pattern: a query, the words that build one, an
        automaton, a `TemporalPattern`.
    event : NamedTuple class, table or pyarrow.Schema
        The events of all rules.
    key : str or sequence of str, optional
        Fields of the event: the key of the rules that say none.
    tick : str, optional
        What one int of LE counts.
    type : str, optional
        The field that holds an event's type; left out: "type", if there is such a field.

    Raises
    ------
    AfaError
        A rule can't be read, or is of other events; the message begins with its name.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from afa import Operator, insert
    >>> class Pay(NamedTuple):
    ...     card: str
    ...     amount: int
    >>> rules = Rules({
    ...     "large": "PATTERN SEQ(Pay a) WHERE a.amount > 900 WITHIN 9 RETURN a.amount",
    ...     "test, then large": "PATTERN SEQ(Pay a, Pay b) WHERE skip_till_any_match(a, b) { a.amount < 5 and b.amount > 100 }"
    ...                         " WITHIN 60 RETURN b.amount",
    ... }, event=Pay, key="card")
    >>> op = Operator(rules)
    >>> op.push(insert(Pay("x", 1), le=1))
    []
    >>> [(change.rule, change.payload.b_amount) for change in op.push(insert(Pay("x", 300), le=5))]
    [('test, then large', 300)]
    """

    def operator(self, **options: Any) -> Any:
        """Make an operator of all rules: `RuleSetOperator`, which says which options there are."""
        return RuleSetOperator(self, **options)

    def restore(self, blob: bytes, **options: Any) -> Any:
        """Make the operator that ``snapshot`` saved, of these rules: `afa.rules.rule_snapshot`."""
        return restored(self, blob, options)
