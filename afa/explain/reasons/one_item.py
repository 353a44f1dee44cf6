"""One item of a call, and the lineage of a match behind it: of an operator with stages around it, within a call."""

from __future__ import annotations

from typing import Any

from afa.change import Change
from afa.lineage import Lineage
from afa.model.keys import take_key
from afa.operator.call import Output
from afa.operator.match_lineage import lineage_in
from afa.operator.tables import CallInput, Item


def push_item(operator: Any, item: Item) -> Output:
    """Carry out one item, and return the minimal difference that it makes."""
    core = operator._core
    port, change, key = item
    if key is None and core.keys is not None and core.named is None and port == "event" and isinstance(change, Change):
        item = port, change, take_key(core.keys.of_change(change))
    found: Output = operator._run(CallInput(core.resolved([item])), True)
    return found


def lineage_now(operator: Any, match: Change) -> Lineage:
    """Return the lineage of a match in force. As `Operator.lineage`."""
    return lineage_in(operator._core, match, operator._chosen())
