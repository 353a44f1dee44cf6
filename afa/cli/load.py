"""Load PATTERN of the command line: ``file.py:name`` is the pattern of that name in a file, ``file.py`` its only one.

A query may also be the file QUERY.sase or QUERY.sql. Where it does not say what its events are, they have the columns of the input,
as fields of their types; the times are a field, too.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import typer

from afa.cli.fault import CommandError, one_line
from afa.cli.request import CommandRequest
from afa.errors import AfaError
from afa.io.event_class import BESIDE, TIMES, event_class, is_field, times_among
from afa.io.file_columns import TICKS
from afa.io.text_files import FileSource, in_one_line
from afa.language.bare_numbers import check_units
from afa.language.pattern_file import PATTERNS, imported, patterns_in, the_only
from afa.language.query import TYPE, Query, over_named, query, times_unread
from afa.language.sql_query import sql
from afa.model.conflicts import QUERY
from afa.model.event_order import fields_in
from afa.model.option_values import names_of
from afa.operator.contract import Pattern
from afa.operator.patterns import pattern_of
from afa.rules.rule_texts import files_of
from afa.rules.rules import Rules
from afa.schema import Schema

P = TypeVar("P")


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
    there = patterns_in(imported(Path(file), file))
    if the_only(there) is None:
        found = f"its patterns: {', '.join(sorted(there))}" if there else "it has no automaton and no query at all"
        raise CommandError(f"expected {file}:name, or one pattern in the file, but got {file!r}; {found}")
    return pattern_of(the_only(there))


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
    module = imported(Path(file), file)
    known = list(patterns_in(module))
    if not hasattr(module, name):
        there = f"its patterns: {', '.join(known)}" if known else "it has no automaton and no query at all"
        raise CommandError(f"{file} has no {name!r}; {there}")
    return getattr(module, name), file, name, known


SUFFIXES = (".sase", ".sql")
ORDER = re.compile(r"\bORDER\s+BY\s+[\"`]?(\w+)", re.IGNORECASE)


def is_query(pattern: str) -> bool:
    return Path(pattern).suffix.lower() in SUFFIXES


def is_set(pattern: str) -> bool:
    """Return whether it is a folder of rules."""
    return Path(pattern).is_dir()


def load_query(job: CommandRequest, source: FileSource, given: Pattern | None = None) -> tuple[Query, CommandRequest]:
    """Read a query over the columns of an input; return it with the job that it asks for.

    ``given``: what ``file.py:name`` is; None: the pattern is the file of a query.
    """
    if is_set(job.pattern):
        raise CommandError(f"expected one pattern but got {job.pattern}, a folder of rules; afa run and afa serve take it")
    if job.window is not None or job.keys:
        said = "--key" if job.keys else "--window"
        raise CommandError(f"{said} can't be combined with {job.pattern} because the query says it itself")
    asked, written = job.tick, _text(job.pattern) if given is None else given
    statement = written if is_sql(job.pattern) and isinstance(written, str) else None

    def read(job: CommandRequest, kinds: dict[str, Any], needed: set[str | None]) -> tuple[Query, set[str]]:
        made = _read(job, written, kinds, needed)
        return made, _orders(made, statement)

    found, job, kinds = _over_columns(job, source, [statement], read)
    if asked is not None and found.tree.tick not in (None, asked):
        raise CommandError(f"{job.pattern}: expected --tick {found.tree.tick}, as the query says, but got {asked}; leave it out")
    job = job._replace(tick=found.tree.tick or job.tick)
    own = asked or getattr(given, "tick", None)
    _check_tick(job, kinds, source, [(each, own) for each in getattr(found, "links", (found,))])
    job = job._replace(keys=names_of(found.key, "key"), order_by=found.tree.order)
    columns = {field.name for field in Schema.of(found.event, "event").fields}
    job = job._replace(made=tuple(name for name in job.keys if name not in columns))
    return found, job.in_ticks(kinds, found.event)


OF_SETS = (
    *("form", "time", "until", "diff", "insert", "retract", "key", "window", "tick", "lateness", "late", "type", "batch", "end"),
    *("output", "matches", "quiet", "rules", "partial_matches", "max_bytes", "longest", "force", "metrics", "log", "state"),
    *("state_every", "follow", "output_format", "output_id"),
)
"""Options that a folder of rules takes."""
NOT_OF_SETS = {
    **dict.fromkeys(("id", "on_repeat", "version", "remember"), "a set does not know its events by ids"),
    "order_by": "each rule says how it orders events of one time",
    "speculation": "what a set tells is not held back",
    "arcs": "its arcs are those of many patterns; --rules changes its rules while they run",
    "vary": "it calls one function, which makes patterns",
    "threads": "a set runs in one",
    **dict.fromkeys(("members", "collapse", "having", "reasons", "report"), "it is told of the matches of one pattern"),
}


def load_rules(job: CommandRequest, source: FileSource) -> tuple[Rules, CommandRequest]:
    """Read the rules of a folder over the columns of an input, or over the class of its files of Python, if they have one."""
    for name in job.said:
        if name not in OF_SETS:
            why = NOT_OF_SETS.get(name, "a set does not know it")
            raise CommandError(f"--{name.replace('_', '-')} can't be combined with {job.pattern}, a folder of rules, because {why}")
    if job.output is not None and Path(job.output).resolve().parent == Path(job.pattern).resolve():
        raise CommandError(f"can't write {job.output}: it is in {job.pattern}, where each file is a rule")
    given, asked = files_of(job.pattern, empty=job.rules is not None), job.tick
    texts = [text for text in given.values() if isinstance(text, str)]
    patterns = [pattern_of(found) for found in given.values() if not isinstance(found, str)]
    own = next((found.event for found in patterns if found.event is not None), None)

    def read(job: CommandRequest, kinds: dict[str, Any], needed: set[str | None]) -> tuple[Rules, set[str]]:
        def over(without: Collection[str]) -> Rules:
            event = own or _event(_type_among(texts, job, kinds), job, kinds, needed, without)
            return Rules(given, event=event, key=job.key, tick=job.tick, type=job.type)

        made = over(())
        each = [set(times_unread(rule.pattern)) for rule in made.rules.values() if isinstance(rule.pattern, Query)]
        unread = set.intersection(*each) if each and own is None and job.rules is None else set[str]()
        made = over(unread) if unread else made
        return made, set().union(*(_orders(rule.pattern, rule.text) for rule in made.rules.values()))

    found, job, kinds = _over_columns(job, source, texts, read)
    queries = [(rule.pattern, asked or (None if rule.text else rule.pattern.tick)) for rule in found.rules.values()]
    _check_tick(job, kinds, source, [each for each in queries if isinstance(each[0], Query)])
    read_as = [rule.pattern for rule in found.rules.values()]
    if job.window is not None and job.rules is None and all(QUERY in each.traits or each.window is not None for each in read_as):
        raise CommandError(f"--window can't be combined with {job.pattern} because each rule says it itself")
    return found, job._replace(keys=()).in_ticks(kinds, found.event)


def _type_among(texts: Sequence[str], job: CommandRequest, kinds: dict[str, Any]) -> str:
    """Return what events are called: as the first text does, where no column holds types."""
    named = next((found for text in texts if (found := TYPE.search(text))), None)
    return "Event" if named is None or {job.type, "type"} & set(kinds) else named[1]


def _orders(found: Any, text: str | None) -> set[str]:
    """Return the fields that order a query's rows, and of which no value may be missing: that would cost a half more."""
    tree = getattr(found, "tree", None)
    return set() if tree is None or "NULLS" in str(text).upper() else {*fields_in(tree.order)}


def _over_columns(
    job: CommandRequest, source: FileSource, statements: Iterable[str | None], read: Callable[..., tuple[P, set[str]]]
) -> tuple[P, CommandRequest, dict[str, Any]]:
    """Return what is read over the columns of an input, the job with its column of times and its tick, and the columns' types."""
    kinds = source.kinds()
    le = job.time or _time(kinds, statements)
    guesses = [kinds]
    if source.blank:  # any types do that the query can be read with
        le = le or next((name for name in ("le", *TIMES, *kinds) if name in kinds), None)
        known = {job.type or "type": pa.string(), le: pa.timestamp("ms")}
        guesses = [{name: known.get(name, kind) for name in kinds} for kind in (pa.float64(), pa.string())]
    job = job._replace(time=le, tick=job.tick or "ms")
    needed: set[str | None] = {*fields_in(job.order_by), *source.full}
    for kinds in guesses:
        try:
            found, orders = read(job, kinds, needed)
            if not orders <= {*needed, le}:
                found, _ = read(job, kinds, needed | orders)
            return found, job, kinds
        except AfaError as error:
            if kinds is guesses[-1]:
                said = one_line(AfaError(str(error).splitlines()[0]))
                raise CommandError(f"{job.pattern}: {said}") from error
    raise AssertionError


def _check_tick(job: CommandRequest, kinds: dict[str, Any], source: FileSource, queries: Iterable[tuple[Any, str | None]]) -> None:
    """Refuse a tick that no timestamps have, and, where times are some, bare numbers that stand for them.

    Each query comes with the tick that was said for it; None: nobody has.
    """
    whole = all(pa.types.is_integer(kinds[name]) for name in (job.time or "le", job.until or "re") if name in kinds)
    if job.tick not in TICKS and not whole:
        units = ", ".join(TICKS)
        raise CommandError(f"{job.pattern}: expected tick= as one of {units}, as times are timestamps, but got {job.tick!r}")
    if not whole and not source.blank:
        try:
            for each, asked in queries:
                check_units(each, asked, set(times_among(kinds)), "--tick")
        except AfaError as error:
            raise CommandError(f"{job.pattern}: {one_line(error)}") from error


def _text(file: str) -> str:
    with in_one_line(file):
        return Path(file).read_text(encoding="utf-8")


def _read(job: CommandRequest, written: str | Pattern, kinds: dict[str, Any], needed: set[str | None]) -> Query:
    told: dict[str, Any] = {"tick": job.tick, "order_by": job.order_by}
    text = written if isinstance(written, str) else ""
    name = _type_among([] if is_sql(job.pattern) else [text], job, kinds)

    def read(without: Collection[str]) -> Query:
        event = _event(name, job, kinds, needed, without)
        if not isinstance(written, str):
            found: Any = written.over(lambda: event, type=job.type, **told)
            return found  # type: ignore[no-any-return]
        made: Query = sql(text, event=event, **told) if is_sql(job.pattern) else query(text, event=event, type=job.type, **told)
        return made

    return over_named(read)


def is_sql(pattern: str) -> bool:
    return Path(pattern).suffix.lower() == ".sql"


def _time(kinds: dict[str, Any], statements: Iterable[str | None]) -> str | None:
    """Return the column of times, where none is named: that of the first ORDER BY, or the only one that holds some."""
    ordered = next((found for text in statements if text and (found := ORDER.search(text))), None)
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
