"""Reasons as a column of a table: ``because``, a struct of kind, the change's key, le and diff, and a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from afa.change import Change
from afa.reasons.telling import plain
from punctuation.promise import Punctuation

BECAUSE = "because"
"""The name of the column."""


def plain_reason(change: Change) -> dict[str, Any]:
    """Return the reason of a match as a row of the column."""
    kind, made_by, text, _ = change.because
    key = None if made_by.key is None else plain(str(made_by.key))
    return {"kind": kind, "key": key, "le": made_by.le, "diff": made_by.diff, "text": text}


def because_type(times: Any = None) -> Any:
    """Return the Arrow type of the column; ``times``: in which LE leaves, None: as ticks."""
    import pyarrow as pa

    le = pa.int64() if times is None else times
    return pa.struct([("kind", pa.string()), ("key", pa.string()), ("le", le), ("diff", pa.int64()), ("text", pa.string())])


def with_reasons(answered: Any, out: Sequence[Any], like: Any) -> Any:
    """Return the tables of an answer with the column, of whatever library. ``out``: the changes that they hold, in order."""
    listed = isinstance(answered, list)
    changes = iter([change for change in out if not isinstance(change, Punctuation)])
    parts = answered if listed else [answered]
    found = [part if isinstance(part, Punctuation) else _with_column(part, changes, like) for part in parts]
    return found if listed else found[0]


def _with_column(table: Any, changes: Any, like: Any) -> Any:
    rows = len(table["le"])
    reasons = [plain_reason(change) for change, _ in zip(changes, range(rows))] if rows else []
    reasons += [None] * (rows - len(reasons))  # type: ignore[list-item]  # the row of a punctuation
    if like.in_arrow:
        import pyarrow as pa

        plain = table if isinstance(table, pa.Table) else pa.table(table)
        return like.back(plain.append_column(BECAUSE, pa.array(reasons, because_type())))
    if like.kind == "pandas":
        return table.assign(**{BECAUSE: reasons})
    return {**table, BECAUSE: reasons}
