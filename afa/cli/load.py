"""Load PATTERN of the command line: ``file.py:name`` is the pattern of that name in a file, ``file.py`` its only one.

A query may also be the file QUERY.sase or QUERY.sql. Where it does not say what its events are, they have the columns of the input,
as fields of their types; the times are a field, too.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import itertools
import re
import sys
import traceback
import types
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import typer

from afa.cli.fault import CommandError, one_line
from afa.cli.request import CommandRequest
from afa.errors import AfaError
from afa.io.event_class import BESIDE, TIMES, event_class, is_field, times_among
from afa.io.file_columns import TICKS
from afa.io.text_files import FileSource, in_one_line
from afa.language.bare_numbers import check_units
from afa.language.query import TYPE, Query, over_named, query
from afa.language.sql_query import sql
from afa.model.automaton import Automaton
from afa.model.event_order import fields_in
from afa.model.option_values import names_of
from afa.operator.contract import Pattern
from afa.operator.patterns import pattern_of
from afa.schema import Schema

COUNTER = itertools.count()
PATTERNS = (Automaton, Pattern)


def load(pattern: str) -> Pattern:
    """Import the file of ``file.py:name`` under a name of its own and return its automaton or query.

    As for ``python file.py``, modules beside the file can be imported while it is.
    """
    if pattern.endswith(".py") and Path(pattern).is_file():
        return _only(pattern)
    found, file, name, known = _named(pattern)
    if not isinstance(found, PATTERNS):
        there = f"; its patterns: {', '.join(known)}" if known else ""
        hint = "; --vary calls it with values" if inspect.isfunction(found) else there
        raise CommandError(f"expected an automaton or a query but got {file}:{name}, which is {type(found).__name__}{hint}")
    return pattern_of(found)


def _only(file: str) -> Pattern:
    there = {key: value for key, value in vars(_imported(Path(file), file)).items() if isinstance(value, PATTERNS)}
    if len({id(value) for value in there.values()}) != 1:
        found = f"its patterns: {', '.join(sorted(there))}" if there else "it has no automaton and no query at all"
        raise CommandError(f"expected {file}:name, or one pattern in the file, but got {file!r}; {found}")
    return pattern_of(next(iter(there.values())))


def load_factory(pattern: str) -> Callable[..., Any]:
    """Import the file of ``file.py:make`` as `load` does and return its function, which makes patterns."""
    found, file, name, _ = _named(pattern)
    if isinstance(found, PATTERNS) or not callable(found):
        raise CommandError(
            f"expected a function that returns an automaton or a query, for --vary, but got {file}:{name}, "
            f"which is {type(found).__name__}"
        )
    make: Callable[..., Any] = found
    return make


def _named(pattern: str) -> tuple[Any, str, str, list[str]]:
    """Return the object of that name, the file, the name, and the names of the patterns in the file."""
    file, colon, name = pattern.rpartition(":")
    if not colon or not file or not name.isidentifier():
        raise typer.BadParameter(f"expected file.py:name, file.sase or file.sql but got {pattern!r}", param_hint="PATTERN")
    module = _imported(Path(file), file)
    known = sorted(key for key, value in vars(module).items() if isinstance(value, PATTERNS))
    if not hasattr(module, name):
        there = f"its patterns: {', '.join(known)}" if known else "it has no automaton and no query at all"
        raise CommandError(f"{file} has no {name!r}; {there}")
    return getattr(module, name), file, name, known


def _imported(path: Path, shown: str) -> types.ModuleType:
    if not path.is_file():
        raise CommandError(f"{shown}: {'not a file' if path.exists() else 'no such file'}")
    name = f"afa_pattern_{path.stem}_{next(COUNTER)}"
    loader = importlib.machinery.SourceFileLoader(name, str(path.resolve()))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: annotations of its schemas are resolved through it
    sys.path.insert(0, str(path.resolve().parent))
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise CommandError(f"{shown}{_line(error, loader.path)}: {one_line(error)}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _line(error: BaseException, path: str) -> str:
    """``:12`` for the last line of the file that took part."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f":{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f":{lines[-1]}" if lines else ""


SUFFIXES = (".sase", ".sql")
ORDER = re.compile(r"\bORDER\s+BY\s+[\"`]?(\w+)", re.IGNORECASE)


def is_query(pattern: str) -> bool:
    return Path(pattern).suffix.lower() in SUFFIXES


def load_query(job: CommandRequest, source: FileSource, given: Pattern | None = None) -> tuple[Query, CommandRequest]:
    """Read a query over the columns of an input; return it with the job that it asks for.

    ``given``: what ``file.py:name`` is; None: the pattern is the file of a query.
    """
    if job.window is not None or job.keys:
        said = "--key" if job.keys else "--window"
        raise CommandError(f"{said} can't be combined with {job.pattern} because the query says it itself")
    written = _text(job.pattern) if given is None else given
    kinds, asked = source.kinds(), job.tick
    le = job.time or _time(kinds, written if is_sql(job.pattern) else None)
    guesses = [kinds]
    if source.blank:  # any types do that the query can be read with
        le = le or next((name for name in ("le", *TIMES, *kinds) if name in kinds), None)
        known = {job.type or "type": pa.string(), le: pa.timestamp("ms")}
        guesses = [{name: known.get(name, kind) for name in kinds} for kind in (pa.float64(), pa.string())]
    job = job._replace(time=le, tick=job.tick or "ms")
    found, kinds = _of_some(job, written, guesses, {*fields_in(job.order_by), *source.full})
    if asked is not None and found.tree.tick not in (None, asked):
        raise CommandError(f"{job.pattern}: expected --tick {found.tree.tick}, as the query says, but got {asked}; leave it out")
    tick = found.tree.tick or job.tick
    whole = all(pa.types.is_integer(kinds[name]) for name in (job.time or "le", job.until or "re") if name in kinds)
    if tick not in TICKS and not whole:
        units = ", ".join(TICKS)
        raise CommandError(f"{job.pattern}: expected tick= as one of {units}, as times are timestamps, but got {tick!r}")
    if not whole and not source.blank:
        try:
            for link in getattr(found, "links", (found,)):
                check_units(link, asked or getattr(given, "tick", None), set(times_among(kinds)), "--tick")
        except AfaError as error:
            raise CommandError(f"{job.pattern}: {one_line(error)}") from error
    job = job._replace(keys=names_of(found.key, "key"), order_by=found.tree.order, tick=tick)
    columns = {field.name for field in Schema.of(found.event, "event").fields}
    job = job._replace(made=tuple(name for name in job.keys if name not in columns))
    return found, job.in_ticks(kinds, found.event)


def _of_some(
    job: CommandRequest, written: str | Pattern, guesses: list[dict[str, Any]], needed: set[str | None]
) -> tuple[Query, dict[str, Any]]:
    """Return the query over columns of the first types that it can be read with, and these types."""
    kinds = guesses[0]
    try:
        tree = _read(job, written, kinds, needed).tree
        if not (is_sql(job.pattern) and "NULLS" in str(written).upper()):  # an order of what may be missing costs a half more
            needed = needed | {*fields_in(tree.order)}
        return _read(job, written, kinds, needed), kinds
    except AfaError as error:
        if len(guesses) > 1:
            return _of_some(job, written, guesses[1:], needed)
        said = one_line(AfaError(str(error).splitlines()[0]))
        raise CommandError(f"{job.pattern}: {said}") from error


def _text(file: str) -> str:
    with in_one_line(file):
        return Path(file).read_text(encoding="utf-8")


def _read(job: CommandRequest, written: str | Pattern, kinds: dict[str, Any], needed: set[str | None]) -> Query:
    told: dict[str, Any] = {"tick": job.tick, "order_by": job.order_by}
    text = written if isinstance(written, str) else ""
    named = None if is_sql(job.pattern) or {job.type, "type"} & set(kinds) else TYPE.search(text)

    def read(without: Collection[str]) -> Query:
        event = _event(named[1] if named else "Event", job, kinds, needed, without)
        if not isinstance(written, str):
            found: Any = written.over(lambda: event, type=job.type, **told)
            return found  # type: ignore[no-any-return]
        made: Query = sql(text, event=event, **told) if is_sql(job.pattern) else query(text, event=event, type=job.type, **told)
        return made

    return over_named(read)


def is_sql(pattern: str) -> bool:
    return Path(pattern).suffix.lower() == ".sql"


def _time(kinds: dict[str, Any], statement: Any) -> str | None:
    """Return the column of times, where none is named: that of ORDER BY, or the only one that holds some."""
    ordered = ORDER.search(statement) if statement else None
    for name in kinds:
        if ordered and name.lower() == ordered[1].lower():
            return name
    times = times_among(kinds)
    return times[0] if len(times) == 1 and "le" not in kinds else None


def _event(name: str, job: CommandRequest, kinds: dict[str, Any], needed: set[str | None], without: Collection[str]) -> Any:
    """Return an event class with a field for each column that a query can read, and one for the times, whatever they are called."""
    beside, time = {*BESIDE, job.until, job.diff, *without}, job.time
    if time is None or time in beside or time not in kinds or not is_field(time):
        time = next((column for column in TIMES if column not in kinds), "le__")
        kinds = {**kinds, time: pa.int64()}
    return event_class(kinds, name, time, needed, beside)
