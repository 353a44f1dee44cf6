"""Load what ``afa show`` shows: an automaton, and the query that it comes from."""

from __future__ import annotations

from afa.cli.fault import CommandError
from afa.cli.load import load
from afa.cli.load_query import is_query, load_query
from afa.cli.read import open_source
from afa.cli.request import Job
from afa.language.builder import Builder
from afa.language.query import Query
from afa.model.automaton import Automaton


def loaded(pattern: str, file: str | None, type: str | None, tick: str | None) -> tuple[Automaton, Query | None]:
    """Return the automaton, and the query; ``file``: the input whose columns are the fields of the query's events.

    Raises
    ------
    CommandError
        The pattern can't be read, or needs an input.
    """
    found = None if is_query(pattern) else load(pattern)
    if isinstance(found, Automaton):
        return found, None
    if file is None and (found is None or (isinstance(found, Builder) and found.event is None)):
        raise CommandError(f"expected an input whose columns the query reads but got none; say afa show {pattern} INPUT")
    if file is None:
        query = found.query() if isinstance(found, Builder) else found
        assert query is not None
    else:
        job = Job(pattern, file, type=type, tick=tick)
        query, _ = load_query(job, open_source(file, None), found)
    return query.automaton, query
