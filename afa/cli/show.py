"""Load what ``afa show`` shows, an automaton and the query that it comes from, and draw it into files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from afa.cli.fault import CommandError
from afa.cli.load import load
from afa.cli.load_query import is_query, load_query
from afa.cli.request import Job
from afa.cli.write import check_output
from afa.io.files import open_source
from afa.io.whole_file import write_text
from afa.language.builder import Builder
from afa.language.query import Query
from afa.model.automaton import Automaton
from afa.serve.query_text import text_of
from afa.situations.temporal_pattern import TemporalPattern
from punctuation.durations import in_units


def loaded(pattern: str, file: str | None, type: str | None, tick: str | None) -> tuple[Automaton, Query | TemporalPattern | None]:
    """Return the automaton, and the query or temporal pattern that it comes from.

    ``file`` is the input whose columns are the fields of a query's events.

    Raises
    ------
    CommandError
        The pattern can't be read, or needs an input.
    """
    found = None if is_query(pattern) else load(pattern)
    if isinstance(found, Automaton):
        return found, None
    if isinstance(found, TemporalPattern):
        return found.automaton, found
    if file is None and (found is None or (isinstance(found, Builder) and found.event is None)):
        raise CommandError(f"expected an input whose columns the query reads but got none; say afa show {pattern} INPUT")
    if file is None:
        query = found.query() if isinstance(found, Builder) else found
        assert query is not None
    else:
        job = Job(pattern, file, type=type, tick=tick)
        query, _ = load_query(job, open_source(file, None), found)
    return query.automaton, query


def facts(automaton: Automaton, query: Query | TemporalPattern | None) -> list[tuple[str, str]]:
    """Return what an automaton takes and holds, with words for it."""
    schema = automaton.event_schema
    events = [("event", schema.describe() if schema else "any hashable payload")]
    if isinstance(query, TemporalPattern):
        events = [("reading", query.event_schema.describe()), ("instant", events[0][1])]
    if isinstance(query, TemporalPattern):
        key, within = query.key, in_units(query.window, query.tick)
    elif query is not None:
        key, within = query.tree.key, "no end" if query.window is None else in_units(query.window, query.tree.tick)
    else:
        return [*events, ("register", repr(automaton.register))]
    named = ", ".join([key] if isinstance(key, str) else key or ()) or "none: all events together"
    return [*events, ("register", repr(automaton.register)), ("key", named), ("window", within)]


def check_pictures(pattern: str, file: str | None, files: dict[str, Path], force: bool) -> None:
    """Refuse what `write_pictures` would write over what is read, over each other, or over files of another kind.

    Raises
    ------
    CommandError
        It names the file.
    """
    if len({path.resolve() for path in files.values()}) < len(files):
        raise CommandError(
            f"expected a file for each form but got {' and '.join(f'--{form} {path}' for form, path in files.items())}"
        )
    for form, path in files.items():
        check_output(str(path), form, [pattern, *([] if file is None else [file])], force, special=True)


def write_pictures(
    pattern: str, automaton: Automaton, query: Query | TemporalPattern | None, files: dict[str, Path], labels: str
) -> Iterator[Path]:
    """Draw an automaton into each of the files, by form ("svg", "html", "dot"); yield each that is written.

    Raises
    ------
    CommandError
        A file can't be written.
    """
    for form, path in files.items():
        text = _page(pattern, automaton, query, labels) if form == "html" else automaton.draw(form, labels=labels)
        try:
            write_text(path, text + "\n")
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from error
        yield path


def _page(pattern: str, automaton: Automaton, query: Query | TemporalPattern | None, labels: str) -> str:
    from afa.draw.page import page

    text = Path(pattern).read_text(encoding="utf-8") if is_query(pattern) else None
    if isinstance(query, Query) and text is None:
        text = text_of(query)
    return page(automaton, pattern, facts(automaton, query), "" if query is None else str(query.explain()), labels, text or "")
