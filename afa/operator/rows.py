"""Items as people have them: changes whose times are datetimes, events as dicts or dataclass instances, rows on their own.

A *row* is a dict, or an instance of a dataclass, that says all of a change as a row of a table does: the event's fields, ``le``,
perhaps ``re`` and ``diff``, the columns of the key. Where the event has a field for its LE (`afa.Instant`), that may stand for
``le``, and an event of the class itself is a row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from afa.change import Change
from afa.errors import ChangeError
from afa.model.arc import Arc
from afa.model.keys import Keys
from afa.schema import Schema, as_ticks, is_record
from punctuation.promise import Punctuation
from punctuation.timestamps import is_time


def in_form(core: Any, item: Any, le: str = "le") -> Any:
    """Return an item of the event or the arc input as a change or a punctuation whose times are ticks. What is none stays as it is.

    ``le`` is the name under which rows have their LE. Raises `ChangeError` where a time is none, or no whole number of ticks; or
    where a row has no LE, or does not fit the events.
    """
    schema, keys, tick = core.taken, core.keys, core.tick
    if isinstance(item, Punctuation):
        return item._replace(t=as_ticks(item.t, "t", tick)) if is_time(item.t) else item
    if isinstance(item, Change):
        change = item
    elif schema is not None and _is_row(item, schema):
        change = _change_of(item, schema, le)
    else:
        return item
    if is_time(change.le) or is_time(change.re):
        start, end = (as_ticks(t, name, tick) if is_time(t) else t for t, name in ((change.le, "le"), (change.re, "re")))
        change = change._replace(le=start, re=end)
    return _with_key(change, keys) if keys is not None and isinstance(change.payload, Mapping) else change


def _is_row(item: Any, schema: Schema) -> bool:
    if isinstance(item, schema.cls):
        return schema.instant is not None
    return is_record(item) and not isinstance(item, Arc)


def _change_of(row: Any, schema: Schema, le: str) -> Change:
    given = _pairs(row)
    names = {field.name for field in schema.fields}
    source = le if le in given or schema.instant is None else schema.instant
    diff = given.get("diff", 1)
    if given.get(source) is None and not (type(diff) is int and diff < 0):  # a retraction may name an id alone
        raise ChangeError(f"expected a row with a time under {source!r} but got {row!r}")
    times = {"le": given.get(source), "re": given.get("re"), "diff": diff}
    for name in {source, "le", "re", "diff"} - names:
        given.pop(name, None)
    return Change(given, times["le"], times["re"], times["diff"])


def _pairs(row: Any) -> dict[str, Any]:
    if dataclasses.is_dataclass(row):
        return {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    return dict(row if isinstance(row, Mapping) else row._asdict())


def _with_key(change: Change, keys: Keys) -> Change:
    """Return the change of an event that is a dict, of which the columns of the key that are no fields are taken out."""
    payload = change.payload
    if not keys.columns or not all(name in payload for name in keys.columns):
        return change
    parts = tuple(payload[name] for name in keys.names)
    left = {name: value for name, value in payload.items() if name not in keys.columns}
    return change._replace(payload=left, key=parts[0] if keys.single else parts)
