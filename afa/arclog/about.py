"""What a job says of itself in the folder of its arc log, so that lines can be checked by those who do not have its pattern.

    {"start": "any", "final": ["large"], "event": ["Pay", [["amount", "int", false, false]]], "register": ["Paid", [..]],
     "arcs": [..], "code": ["odd"], "tick": "ms"}

A field has a name, a type (null: any value), whether it may be None, and whether it holds the event's LE, or else "time" or "date"
where it holds these. ``code`` are the names of arcs that can't be written as text. Reading it runs nothing; it is only asked
whether a line fits.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from afa.errors import AfaError, AutomatonError
from afa.io.whole_file import write_text
from afa.model.arc import Arc
from afa.model.automaton import Automaton
from afa.schema import SCALARS, Date, Instant, Schema, Time
from punctuation.durations import NANOSECONDS

S = TypeVar("S")
FILE = ".about.json"
LONGEST = 10_000_000
"""The most bytes of the file."""
FIELDS = 1_000
"""The most fields of a schema: the time to make a class goes with their square."""
_TYPES: Mapping[str, type] = {kind.__name__: kind for kind in SCALARS}
MARKS: Mapping[Any, Any] = {"time": Time, "date": Date}
_VALUES: Mapping[Any, Any] = {int: 0, float: 0.0, bool: False, str: ""}


class About(NamedTuple):
    """What is known of a job; its automaton has the arcs that can be written as text."""

    automaton: Automaton
    code: tuple[str, ...]
    tick: str | None


def put_about(folder: Path, automaton: Automaton, tick: str | None) -> None:
    """Write what others may know of a job. Nothing is written without an event schema, if one has more fields
    than `about` reads, if the folder can't be written, or has a file of this name that no job has written."""
    if automaton.event_schema is None or max(len(automaton.event_schema.fields), len(automaton.register_schema.fields)) > FIELDS:
        return
    arcs, code = [], []
    for arc in automaton.arcs:
        try:
            arcs.append(arc.to_json(automaton))
        except AutomatonError:
            code += [] if arc.name is None else [arc.name]
    event, register = fields_of(automaton.event_schema), fields_of(automaton.register_schema)
    data = {"start": automaton.start, "final": sorted(automaton.final), "event": event, "register": register, "arcs": arcs}
    write_said(folder, {**data, "code": code, "tick": tick}, {"start", "final", "event", "arcs"})


def write_said(folder: Path, data: dict[str, Any], known: set[str]) -> None:
    """Write what a job says of itself; ``known``: the keys by which a file is one that a job has written."""
    if (folder / FILE).exists() and not _is_ours(folder / FILE, known):
        return
    with contextlib.suppress(OSError):
        write_text(folder / FILE, json.dumps(data))


def about(folder: Path) -> About | None:
    """Return what the last job has said of itself in a folder, or None. Raises `AfaError` where the file says something else."""
    return said_of_job(folder, _about)


def said_of_job(folder: Path, read: Callable[[Any], S]) -> S | None:
    """Return what is read of what the last job has said of itself, as `about`."""
    path = folder / FILE
    try:
        if path.stat().st_size > LONGEST:
            raise AfaError(f"expected at most {LONGEST} bytes but got more in {path}")
        data = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise AfaError(f"expected what a job says of itself but got {path}: {error}") from None
    try:
        return read(data)
    except Exception as error:  # what is none of ours may be wrong in any way
        raise AfaError(f"expected what a job says of itself but got something else in {path}: {error}") from None


def _is_ours(path: Path, known: set[str]) -> bool:
    """Return whether a job of some version has written a file; one that gets its name when it is whole."""
    try:
        return known <= set(json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError, RecursionError):
        return False


def _about(data: Any) -> About:
    register = class_of(*data["register"])
    zero = register(*(None if optional else _VALUES.get(_TYPES.get(kind)) for _, kind, optional, _ in data["register"][1]))
    arcs = [Arc.from_json(arc) for arc in data["arcs"]]
    automaton = Automaton(start=data["start"], final=data["final"], arcs=arcs, register=zero, event=class_of(*data["event"]))
    code, tick = tuple(map(str, data["code"])), data["tick"]
    if not (tick is None or tick in NANOSECONDS):
        raise AfaError(f"expected a unit of time but got {tick!r}")
    return About(automaton, code, tick)


def fields_of(schema: Schema) -> list[Any]:
    """Return a schema as plain data, of which `class_of` makes a class."""
    marks = dict.fromkeys(schema.times, "time") | dict.fromkeys(schema.dates, "date") | {schema.instant: True}
    fields = [
        [name, None if kind is None else kind.__name__, optional, marks.get(name, False)] for name, kind, optional in schema.fields
    ]
    return [schema.cls.__name__, fields]


def class_of(name: str, fields: list[list[Any]]) -> Any:
    if len(fields) > FIELDS:
        raise AfaError(f"expected at most {FIELDS} fields but got {len(fields)} of {name[:80]!r}")
    make: Any = NamedTuple  # its fields are known at run time only
    kinds: list[tuple[str, Any]] = []
    for field, kind, optional, mark in fields:
        found: Any = Any if kind is None else MARKS.get(mark, _TYPES[kind])
        kinds.append((field, Instant if mark is True else found | None if optional and kind is not None else found))
    return make(name, kinds)
