"""The reason for which a match came or went."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from afa.change import Announced, Change
from afa.errors import ChangeError
from afa.explain.reasons.telling import plain
from afa.io.table_times import TimeType
from punctuation.door import Table
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


def with_reasons(answered: Any, out: Sequence[Any], like: Table, times: TimeType | None) -> Any:
    """Return the tables of an answer with the reasons of the changes ``out``, which they hold in this order, as a column.

    They stay tables of the library in which the input ``like`` came.
    """
    changes = iter([change for change in out if not isinstance(change, Punctuation)])
    if not isinstance(answered, list):
        return _with_column(answered, changes, like, times)
    return [part if isinstance(part, Punctuation) else _with_column(part, changes, like, times) for part in answered]


def _with_column(table: Any, changes: Iterator[Change], like: Table, times: TimeType | None) -> Any:
    rows = len(table["le"])
    reasons = [plain_reason(change) for change, _ in zip(changes, range(rows))] if rows else []
    reasons += [None] * (rows - len(reasons))  # type: ignore[list-item]  # the row of a punctuation
    le = None
    if times is not None:
        with contextlib.suppress(ChangeError):  # an event of another call may lie between what this type holds: ticks, then
            le = times.column([each and each["le"] for each in reasons], "le")
    if like.in_arrow:
        import pyarrow as pa

        column = pa.array(reasons, because_type())
        if le is not None:
            names = [field.name for field in column.type]
            parts = [le if name == "le" else part for name, part in zip(names, column.flatten())]
            column = pa.StructArray.from_arrays(parts, names, mask=column.is_null())
        plain = table if isinstance(table, pa.Table) else pa.table(table)
        return like.back(plain.append_column(BECAUSE, column))
    if le is not None:
        reasons = [each and {**each, "le": at} for each, at in zip(reasons, le)]
    return table.assign(**{BECAUSE: reasons}) if like.kind == "pandas" else {**table, BECAUSE: reasons}


class Because(NamedTuple):
    """The change of the input that announced or withdrew a match, and how.

    Parameters
    ----------
    kind : str
        Of a withdrawn match ``"between"`` (an event lies between two of its events), ``"instant"`` (it came at the instant of one),
        ``"absence"`` (it came before a time-out), ``"before"`` (before the first), ``"retracted"`` (one of its events went),
        ``"passed"`` (one that it passed over went), ``"clock"`` (time is not there any more), ``"lifetime"`` (it lasts for another
        time), ``"choice"`` (AFTER MATCH SKIP chooses another), ``"arc"``, ``"promise"`` (a stage had held it back), else
        ``"changed"``. Of an announced one ``"completes"`` (the event is its last one), ``"part"``, ``"cleared"`` (what stood in its
        way went), ``"passed"``, ``"promise"``, ``"clock"``, ``"lifetime"``, ``"choice"``, ``"arc"``, ``"changed"``.
    change : Change
        Of an event, as it came: key, LE and the sign of ``diff`` are those of the input; or of an arc. Of a promise: an event None
        with the promise as LE and a ``diff`` of 0.
    text : str
        A sentence.
    events : tuple of Change
        Events of the match that the sentence is about: those between which the change lies, the one that was retracted.
    """

    kind: str
    change: Change
    text: str
    events: tuple[Change, ...] = ()


class Explained(Announced):
    """A change of a match with its reason, which is no part of it: equal to the change without, and unpacked as that one."""

    @classmethod
    def because_of(cls, change: Change, because: Because) -> Explained:
        """Return a change with its reason, and with the members that it has."""
        made = cls._make(change)
        made.__dict__["_members"] = change.members
        made.__dict__["_because"] = because
        return made

    @property
    def because(self) -> Any:
        """The reason for which the match came or went."""
        return self.__dict__["_because"]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in zip(self._fields, self))
        return f"Change({fields}, because={self.because.text!r})"
