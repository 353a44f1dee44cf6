"""The recipe of a state: all that it depends on, as plain data beside it, so that a changed job can go on, or is refused.

    {"start": "a", "final": ["c"], "event": "Tick(price: float)", "register": "Falls(total: float) = (0.0,)", "arcs": [..],
     "keys": ["symbol string"], "sequence": null, "lifetimes": false, "window": 60000000, "buckets": 16, "since": 0,
     "situations": {"definitions": [["slow", 60000000, null]], ..}, "conditions": {"slow": "p99 > 0.5"},
     "before": null, "choose": {"AFTER MATCH SKIP": "past last row", ..}, "held": {"start": "7c1..", ..}}

An arc is its JSON (`afa.expression.wire`); where it can't be written as text,

    {"python": version, "src", "dst", "name", "kind", "final", "code": {"fence": digest, ..}}

The digest of a Python function covers code objects with those within them, constants, defaults, values of closures, and of the
globals that the code reads plain data and functions of the same module; of anything else its name. Of code of another version of
Python nothing is claimed.

What is carried over holds from *the present* on, which is the same for all keys: arcs that the job has no more end there, new ones
begin there, events from there on have the new window, and readings from there on are judged by the new conditions. All else is
refused.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FunctionType, MethodType
from typing import Any, NamedTuple

from afa.errors import AutomatonError, SnapshotError
from afa.expression.arc_functions import Readable, functions_of
from afa.model.arc import Arc
from afa.model.automaton import Automaton, changed
from afa.model.choice import differences
from afa.state.sound import wanted

VERSION = "{}.{}".format(*sys.version_info)
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
Recipe = Mapping[str, Any]
FIXED = {
    "before": "negation at the start (and neighbours: PREV, NEXT)",
    "where": "WHERE of an inline view",
    "situations": "situations (readings, durations, within, aggregates, order_by=)",
    "choose": "choosing (AFTER MATCH SKIP)",
    "start": "start",
    "final": "final",
    "event": "event",
    "register": "register",
    "keys": "key columns",
    "sequence": "order of ties (order_by=)",
    "lifetimes": "lifetimes (until=)",
    "since": "beginning (since=, in ticks)",
    "ids": "ids (id=, on_repeat=, version=, remember=)",
    "longest": "longest matches (longest=)",
    "members": "members of matches (members=)",
    "stack": "statement (MATCH_RECOGNIZE over one another)",
    "worlds": "possible worlds (the options of Worlds)",
    "set": "set of rules (its columns, key and options)",
}
"""The parts of a recipe that must stay, with their names for messages."""


def digest_of(function: Callable[..., Any]) -> str:
    """Return the digest of a function, or of anything that can be called.

    >>> limit = 3
    >>> digest_of(lambda e, r: e.x > 3) == digest_of(lambda e, r: e.x > 3)
    True
    >>> digest_of(lambda e, r: e.x > 3) == digest_of(lambda e, r: e.x > 4)
    False
    """
    return hashlib.blake2b(_said(function, {}).encode(), digest_size=16).hexdigest()


def _said(value: Any, seen: dict[int, int]) -> str:
    """Return a value as text that is the same in each process; ``seen`` are the values around it, and functions, each told once."""
    if type(value) in PLAIN:
        return f"{type(value).__name__} {value!r}"
    if id(value) in seen:
        return f"again {seen[id(value)]}"
    seen[id(value)] = 1 + max(seen.values(), default=0)
    try:
        return _told(value, seen)
    finally:
        if not isinstance(value, FunctionType):
            del seen[id(value)]


def _told(value: Any, seen: dict[int, int]) -> str:
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__} [{', '.join(_said(item, seen) for item in value)}]"
    if isinstance(value, (set, frozenset)):
        return f"set [{', '.join(sorted(_said(item, seen) for item in value))}]"
    if isinstance(value, dict):
        return f"dict [{', '.join(sorted(f'{_said(k, seen)}: {_said(v, seen)}' for k, v in value.items()))}]"
    if isinstance(value, CodeType):
        return _code(value, seen)
    if isinstance(value, FunctionType):
        return _function(value, seen)
    if isinstance(value, functools.partial):
        return f"partial {_said([value.func, value.args, value.keywords], seen)}"
    if isinstance(value, MethodType):
        return f"method {_said([value.__func__, value.__self__], seen)}"
    name = f"{getattr(value, '__module__', None)}.{getattr(value, '__qualname__', type(value).__qualname__)}"
    call = getattr(type(value), "__call__", None)  # noqa: B004  (the function itself)
    return f"{name} {_said(call, seen)}" if isinstance(call, FunctionType) else name


def _function(function: FunctionType, seen: dict[int, int]) -> str:
    cells = [_held(cell) for cell in function.__closure__ or ()]
    parts: list[Any] = [function.__code__, function.__defaults__, function.__kwdefaults__, cells]
    for name in sorted(set(_globals(function.__code__))):
        value = function.__globals__.get(name)
        near = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if near or isinstance(value, (*PLAIN, tuple, frozenset)):
            parts += [name, value]
    return f"function {_said(parts, seen)}"


def _held(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # it has none yet
        return "nothing"


def _code(code: CodeType, seen: dict[int, int]) -> str:
    names = [code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars]
    counts = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags]
    return f"code {_said([code.co_code, list(code.co_consts), *names, *counts], seen)}"


def _globals(code: CodeType) -> Iterator[str]:
    """Yield the globals that code reads, with that of the functions within it."""
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)


class RecipeDifference(NamedTuple):
    """What a changed job asks for: texts of arcs that go and come; both windows if they differ; conditions of definitions."""

    gone: list[str]
    new: list[str]
    window: tuple[int | None, int | None] | None = None
    conditions: Mapping[str, str] = {}  # other than before, by the names of definitions


def recipe_of(automaton: Automaton, **options: Any) -> Recipe:
    """Return the plain data of a job; ``keys`` among its options with their types."""
    assert automaton.event_schema is not None
    shown = "" if automaton.shown is None and automaton.choice is None else f", shown as {automaton.match_schema.describe()}"
    return {
        "start": automaton.start,
        "final": sorted(automaton.final),
        "event": automaton.event_schema.describe(),
        "register": f"{automaton.register_schema.describe()} = {tuple(automaton.register)!r}{shown}",
        "arcs": [_item(arc, automaton) for arc in automaton.arcs],
        **options,
    }


def _item(arc: Arc, automaton: Automaton) -> dict[str, Any]:
    """Return an arc as plain data by which it is known again."""
    try:
        found = arc.to_json(automaton)
    except AutomatonError:
        code = {kind.role: repr(f) if isinstance(f, Readable) else digest_of(f) for kind, f in functions_of(arc)}
        names = ("src", "dst", "name", "kind", "final")
        found = {"python": VERSION, "code": code, **{name: getattr(arc, name) for name in names}}
    plain: dict[str, Any] = json.loads(json.dumps(found))
    return plain


def check(before: Recipe, now: Recipe) -> None:
    """Refuse (SnapshotError) a job that can't go on from another one's state."""
    if "skip" in (before.get("choose") or ()):  # the options of a stage
        raise SnapshotError(
            "expected the checkpoint of a query that chooses while it matches (AFTER MATCH SKIP) but got one of an older version, "
            "which chose behind the operator: begin anew with another checkpoint, and feed it what WITHIN still holds"
        )
    if before.get("choose") and now.get("choose") and before["choose"] != now["choose"]:
        raise SnapshotError(
            f"expected a query that chooses and shows as that of the checkpoint but got another one "
            f"({differences(before['choose'], now['choose'])}): begin anew with another checkpoint, or keep what differs"
        )
    for what, name in FIXED.items():
        if before.get(what) != now.get(what):
            raise SnapshotError(
                f"expected the {name} that the checkpoint was made with, {before.get(what)!r}, but got {now.get(what)!r}: "
                f"begin anew with another checkpoint, or keep the {name}"
            )
    if before["buckets"] != now["buckets"]:
        raise SnapshotError(
            f"expected the buckets that the checkpoint was made with, {before['buckets']!r}, but got buckets={now['buckets']!r}: "
            f"keep them, or say where the checkpoint is, match(checkpoint=..), so that keys can move"
        )


def check_held(before: Mapping[str, str], now: Mapping[str, str]) -> None:
    """Refuse (SnapshotError) a query in which matches that have begun by another one would rest with values of that one."""
    other = sorted(state for state, held in now.items() if before.get(state, held) != held)
    if other:
        raise SnapshotError(
            f"expected states that hold the values that they held by the query of the checkpoint but got others in "
            f"{', '.join(map(repr, other))}, with which matches that have begun can't go on: give match the query "
            f"before.changes_to(query).query, where before is that of the checkpoint"
        )


def rebuilt(recipe: Recipe, now: Automaton) -> Automaton:
    """Return the automaton that a state was made with; arcs that only Python can run are those of today's code.

    Raises SnapshotError if such an arc is gone, or its code has changed.
    """
    return changed(now, arcs=[_arc(item, now) for item in recipe["arcs"]])


def _arc(item: Mapping[str, Any], now: Automaton) -> Arc:
    if not item.get("python"):
        return Arc.from_json(dict(item))
    there = [(arc, _item(arc, now)) for arc in now.arcs]
    known = [(arc, other) for arc, other in there if other.get("python") and _without_code(other) == _without_code(item)]
    if not known:
        raise SnapshotError(f"expected the arc {item['name']!r}, which only Python can run, in the code but got none: keep it")
    for arc, other in known:
        if _same(item, other):
            return arc
    roles = [role for role, digest in known[0][1]["code"].items() if item["code"].get(role) != digest]
    raise SnapshotError(
        f"expected the {' and '.join(roles) or 'functions'} of the arc {item['name']!r} as the checkpoint was made with but got "
        f"other code, which only Python can run: begin anew with another checkpoint, or go back to that code"
    )


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Return whether two arcs are one; of code of another Python nothing is claimed."""
    if not (one.get("python") and other.get("python")) or one["python"] == other["python"]:
        return one == other
    return _without_code(one) == _without_code(other)


def _without_code(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in item.items() if name not in ("python", "code")}


def difference(before: Recipe, now: Recipe) -> RecipeDifference:
    """Return what has changed since ``before``, if a job may go on from there: see `check`; new arcs must have a text."""
    check(before, now)
    check_held(before["held"] or {}, now["held"] or {})
    old, new = before["arcs"], now["arcs"]
    gone = [item for item in old if not any(_same(item, other) for other in new)]
    come = [item for item in new if not any(_same(other, item) for other in old)]
    for item in gone:
        wanted("the name of an arc", type(item.get("name")) in (str, type(None)), item)
    for item in come:
        if item.get("python"):
            raise SnapshotError(
                f"expected a new arc that can be written as text but got {item['name']!r}, which only Python can run"
            )
    windows = before["window"], now["window"]
    was, now_is = before.get("conditions", {}), now.get("conditions", {})
    conditions = {name: text for name, text in now_is.items() if was[name] != text}
    return RecipeDifference(texts_of(gone), texts_of(come), None if windows[0] == windows[1] else windows, conditions)


def texts_of(arcs: Sequence[Any]) -> list[str]:
    return [json.dumps(item, sort_keys=True) for item in arcs]


def name_of(text: str) -> str:
    """Return the name by which the arc log knows an arc of the code."""
    name: str | None = json.loads(text).get("name")
    return "code " + hashlib.blake2b(text.encode(), digest_size=6).hexdigest() if name is None else name


def arc_of(text: str, now: Automaton) -> Arc:
    """Return the arc of a text; one that only Python can run is that of today's code."""
    item = json.loads(text)
    return _arc(item if item.get("python") else {**item, "name": name_of(text)}, now)


def said(found: RecipeDifference) -> str:

    def names(items: Sequence[Any]) -> str:
        return ", ".join(repr(item.get("name") or f"{item['src']} -> {item['dst']}") for item in items) or "none"

    gone, new = list(map(json.loads, found.gone)), list(map(json.loads, found.new))
    told = f"arcs that go: {names(gone)}; arcs that come: {names(new)}"
    if found.window is not None:
        was, now = ("for ever" if ticks is None else f"{ticks} microseconds" for ticks in found.window)
        told += f"; the window was {was}, is {now}"
    told += "".join(f"; the condition of {name!r} is {text!r}" for name, text in found.conditions.items())
    return told
