"""Arcs as JSON: one object an arc, its functions as text.

    {"src": "fall", "dst": "fall", "kind": "consume",
     "fence": "e.change < -0.25 and r.patterns < 2", "transfer": "r._replace(balance=r.balance + 1)",
     "name": "noise", "final": false}

    key       value                                      left out
    src, dst  str, not empty, at most 1,000 characters   an error
    kind      "consume", "skip", "epsilon", "timeout"    "consume"
    fence     str, text of a truth value                 an error; "True" of an epsilon arc; not of a time-out
    transfer  str, text of a register                    the register stays; not of a time-out
    at        str, text of an instant                    of a time-out an error; else not allowed
    name      str or null, at most 1,000 characters      no name
    final     true or false                              false
    select    str or null, at most 1,000 characters      as of Arc; of "consume" only

The text is Python's, within `afa.expression.from_text`: at most 10,000 characters, fields and constants only; nothing in it is run.
What `json_of` writes says ``e.`` and ``r.``, and a register without its class's name: it fits any automaton with these fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from afa.errors import AutomatonError, ExpressionError
from afa.expression.arc_functions import KINDS, ArcLike, Derived, Schemas, expression_of, functions_of
from afa.expression.from_text import LONGEST, parse
from afa.expression.kinds import Unreadable
from afa.expression.nodes import Const
from afa.expression.text import text_of_expr

KEYS = ("src", "dst", "kind", "fence", "transfer", "at", "name", "final", "select")
LONGEST_NAME = 1_000
LONGEST_JSON = 10 * LONGEST
"""How many characters a whole object may have."""


def fields_of(data: Any) -> tuple[Any, ...]:
    """Returns the fields of the arc that a JSON object describes: kind, src, dst, fence, transfer, at, name, final, select.

    Raises AutomatonError: the data is no JSON or no object; a key is unknown, doubled, missing or out of place; a value has another
    type.
    """
    given = _object(data)
    unknown = [key for key in given if key not in KEYS]
    if unknown:
        raise AutomatonError(f"expected the keys {', '.join(KEYS)} but got {_short(unknown[0])} in the JSON of an arc")
    kind = given.get("kind", "consume")
    if not isinstance(kind, str) or kind not in KINDS:
        raise AutomatonError(f"expected one of {', '.join(KINDS)} but got kind={_short(kind)} in the JSON of an arc")
    roles = {function.role for function in KINDS[kind]}
    needed = {"consume": ["fence"], "skip": ["fence"], "timeout": ["at"]}.get(kind, [])
    for key in ("fence", "transfer", "at"):
        if key in given and key not in roles:
            wanted = " and ".join(sorted(roles))
            raise AutomatonError(
                f"expected {wanted} only but got {key}={_short(given[key])} in the JSON of an arc of kind {kind!r}"
            )
    for key in ("src", "dst", *needed):
        if key not in given:
            raise AutomatonError(f"expected {key} but got none in the JSON of an arc of kind {kind!r}")
    for key in given.keys() - {"kind", "final"}:
        _check_text(key, given[key])
    if type(given.get("final", False)) is not bool:
        raise AutomatonError(f"expected true or false but got final={_short(given['final'])} in the JSON of an arc")
    if kind != "consume" and given.get("select") is not None:
        raise AutomatonError(f"expected no select but got {_short(given['select'])} in the JSON of an arc of kind {kind!r}")
    if kind == "skip" and (given["src"] != given["dst"] or given.get("final", False)):
        raise AutomatonError("expected dst equal to src, and not final, but got another one in the JSON of an arc of kind 'skip'")
    fence = given.get("fence", "True" if kind == "epsilon" else None)
    fence, transfer, at = (None if text is None else Derived(text) for text in (fence, given.get("transfer"), given.get("at")))
    return kind, given["src"], given["dst"], fence, transfer, at, given.get("name"), given.get("final", False), given.get("select")


def json_of(arc: ArcLike, automaton: Schemas) -> dict[str, Any]:
    """Returns an arc as a JSON object.

    Raises AutomatonError where a function can't be taken apart, with the reason and how to write it, or its text is beyond the
    limits.
    """
    found: dict[str, Any] = {"src": arc.src, "dst": arc.dst, "kind": arc.kind}
    for kind, function in functions_of(arc):
        try:
            expr = expression_of(function, kind, automaton.event_schema, automaton.register_schema)
        except Unreadable as error:
            message = f"expected a {kind.role} that can be written as text but {error.reason} in {arc!r}; {error.hint}"
            raise AutomatonError(message) from None
        text = text_of_expr(expr, automaton.register_schema)
        try:
            parse(text, kind, automaton.event_schema, automaton.register_schema)  # its limits are tighter than those of functions
        except ExpressionError as error:
            raise ExpressionError(f"{error}\nin {arc!r}") from None
        if not (arc.kind == "epsilon" and expr == Const(True)):
            found[kind.role] = text
    if arc.name is not None:
        found["name"] = arc.name
    if arc.final:
        found["final"] = True
    if arc.select is not None:
        found["select"] = arc.select
    return found


def _object(data: Any) -> Mapping[str, Any]:
    if isinstance(data, str):
        if len(data) > LONGEST_JSON:
            raise AutomatonError(f"expected at most {LONGEST_JSON} characters but got {len(data)} in the JSON of an arc")
        try:
            data = json.loads(data, object_pairs_hook=once)
        except (ValueError, RecursionError) as error:
            raise AutomatonError(f"expected the JSON of an arc but got {_short(data)}: {error}") from None
    if not isinstance(data, Mapping):
        raise AutomatonError(f"expected a JSON object for an arc but got {_short(data)}")
    return data


def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return pairs as an object; refuse a name that occurs twice, with a `ValueError`."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"expected each name once but got {_short(max(names, key=names.count))} twice")
    return found


def _check_text(key: str, value: Any) -> None:
    if value is None and key in ("name", "transfer", "select"):
        return
    most = LONGEST_NAME if key in ("src", "dst", "name", "select") else LONGEST
    if not isinstance(value, str) or len(value) > most or (key in ("src", "dst") and not value):
        raise AutomatonError(f"expected a str of at most {most} characters but got {key}={_short(value)} in the JSON of an arc")


def _short(value: Any) -> str:
    """Return a value as text of limited length."""
    text = repr(value[:80]) if isinstance(value, str) else repr(value)
    return text if len(text) <= 100 else f"{text[:100]}..."
