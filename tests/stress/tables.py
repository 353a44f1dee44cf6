"""A batch of a random world as columns, and its output as changes again."""

from __future__ import annotations

from typing import Any

import numpy as np

from afa import Arc, Change, Punctuation
from afa.change import Announced
from punctuation.time import BEGINNING, FOREVER
from tests.stress.generate import World

EVENT, ARC, PROMISE = 0, 1, 2


def columns(items: list[Any], event: type, window: int | None, others: int = 0) -> tuple[dict[str, Any], list[Arc]]:
    """Items as the columns that `Operator.push_many` describes, and the arcs among them; ``kind`` only where one is no event.

    Items are changes of events and of arcs, and punctuations, in order of arrival. With the operator's ``window`` a column ``re``
    has no gaps, unless all of it is left out. ``others``: arcs of other tables, which are numbered before.
    """
    arcs = [item.payload for item in items if is_arc(item)]
    fields: dict[str, list[Any]] = {name: [] for name in event._fields}  # type: ignore[attr-defined]
    rows = []
    for item in items:
        if isinstance(item, Punctuation):
            kind, arc, le, re, diff = PROMISE, 0, item.t, FOREVER, 1
        elif is_arc(item):
            kind, arc, le = ARC, others + sum(row[0] == ARC for row in rows), BEGINNING if item.le is None else item.le
            re, diff = FOREVER if item.re is None else item.re, item.diff
        else:
            kind, arc, le, diff = EVENT, 0, item.le, item.diff
            re = item.re if item.re is not None else FOREVER if window is None else le + window
        rows.append((kind, arc, le, re, diff))
        for name, value in zip(fields, item.payload if kind == EVENT else [0] * len(fields)):
            fields[name].append(value)
    batch = dict(zip(("kind", "arc", "le", "re", "diff"), np.array(rows, np.int64).reshape(-1, 5).T.copy()))
    if not batch["kind"].any():
        del batch["kind"], batch["arc"]
        if all(item.re is None for item in items):
            del batch["re"]
    assert not batch.keys() & fields.keys(), "a field of the event has the name of a column"
    batch |= {name: np.array(values, np.int64) for name, values in fields.items()}
    return batch, arcs


def is_arc(item: Any) -> bool:
    """Whether an item is a change of an arc."""
    return isinstance(item, Change) and isinstance(item.payload, Arc)


def is_event(item: Any) -> bool:
    """Whether an item is a change of an event."""
    return isinstance(item, Change) and not is_arc(item)


def changes(out: dict[str, Any], register: type, key: str | None) -> list[Any]:
    """The changes and the punctuation that an output table says; with columns beside those of the register plain tuples match."""
    kinds = out["kind"].tolist() if "kind" in out else [EVENT] * len(out["le"])
    names = [name for name in out if name not in ("kind", "arc", "le", "re", "diff", "members", key)]
    fields = [out[name].tolist() for name in names]
    keys = out[key].tolist() if key else [None] * len(kinds)
    members = out["members"].tolist() if "members" in out else [None] * len(kinds)
    found: list[Any] = []
    for i, (kind, le, re, diff) in enumerate(zip(kinds, out["le"].tolist(), out["re"].tolist(), out["diff"].tolist())):
        row = tuple(field[i] for field in fields)
        match = register(*row) if len(row) == len(register._fields) else row  # type: ignore[attr-defined]
        change = Change(match, le, re, diff, keys[i])
        found.append(Punctuation(le) if kind == PROMISE else change if members[i] is None else Announced.of(change, members[i]))
    return found


def push(here: World, operator: Any, items: list[Any], net: bool) -> list[Any]:
    """Push the items of a world as one table."""
    batch, arcs = columns(items, here.event, here.options["window"])
    out = operator.push_many(batch, net=net, arcs=arcs)
    return changes(out, here.automaton.match_schema.cls, here.options["key"])


def push_list(here: World, operator: Any, items: list[Any], net: bool) -> list[Any]:
    """Push the items of a world as one list: of each three, two as a table, and one as it is."""
    batch: list[Any] = []
    arcs: list[Arc] = []
    for low in range(0, max(len(items), 1), 3):
        table, found = columns(items[low : low + 2], here.event, here.options["window"], len(arcs))
        batch += [table, *items[low + 2 : low + 3]]
        arcs += found
    register, key = here.automaton.match_schema.cls, here.options["key"]
    out = operator.push_many(batch, net=net, arcs=arcs)
    assert not net or isinstance(out[0], dict), f"a net output begins with a table: {out}"
    return [change for part in out for change in ([part] if isinstance(part, Punctuation) else changes(part, register, key))]
