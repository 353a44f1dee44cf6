"""Load what ``afa show`` shows, an automaton and the query that it comes from, and draw it into files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.table import Table

from afa.cli.console import plain_table
from afa.cli.fault import CommandError
from afa.cli.load import is_query, is_set
from afa.cli.pattern_run import PatternRun, given_pattern
from afa.cli.request import CommandRequest
from afa.cli.write import check_output
from afa.explain.draw.words import fence_of, final_states, function_text, kind_of
from afa.io.files import open_source
from afa.io.text_files import in_one_line
from afa.io.whole_file import write_text
from afa.language.query_text import text_of
from afa.model.automaton import Automaton
from afa.model.conflicts import QUERY, TEMPORAL
from afa.model.option_values import names_of
from afa.operator.contract import Pattern
from punctuation.durations import in_units


def loaded(pattern: str, file: str | None, type: str | None, tick: str | None) -> Pattern:
    """Return the pattern; ``file`` is the input whose columns are the fields of a query's events."""
    found = given_pattern(pattern)
    if found is not None and QUERY not in found.traits:
        return found
    if file is not None:
        return PatternRun.of(CommandRequest(pattern, file, type=type, tick=tick), found, open_source(file, None), "show").pattern
    if is_set(pattern):
        raise CommandError(f"expected one pattern but got {pattern}, a folder of rules")
    if found is None or found.event is None:
        raise CommandError(f"expected an input whose columns the query reads but got none; say afa show {pattern} INPUT")
    return found.with_tick(None)


def facts(pattern: Pattern) -> list[tuple[str, str]]:
    """Return facts about a pattern, each with a word for it: event, register, key, window."""
    automaton, schema = pattern.automaton, pattern.automaton.event_schema
    events = [("event", schema.describe() if schema else "any hashable payload")]
    if TEMPORAL in pattern.traits and pattern.events is not None:
        events = [("reading", pattern.events.describe()), ("instant", events[0][1])]
    if not pattern.traits:
        return [*events, ("register", repr(automaton.register))]
    named = ", ".join(names_of(pattern.key, "key")) or "none: all events together"
    within = "no end" if pattern.window is None else in_units(pattern.window, pattern.tick)
    return [*events, ("register", repr(automaton.register)), ("key", named), ("window", within)]


def check_pictures(pattern: str, file: str | None, files: dict[str, Path], force: bool) -> None:
    """Refuse what `write_pictures` would write over what is read, over each other, or over files of another kind."""
    if len({path.resolve() for path in files.values()}) < len(files):
        raise CommandError(
            f"expected a file for each form but got {' and '.join(f'--{form} {path}' for form, path in files.items())}"
        )
    for form, path in files.items():
        check_output(str(path), form, [pattern, *([] if file is None else [file])], force, special=True)


def write_pictures(name: str, pattern: Pattern, files: dict[str, Path], labels: str) -> Iterator[Path]:
    """Draw the automaton of a pattern into each of the files, by form ("svg", "html", "dot"); yield each that is written."""
    for form, path in files.items():
        text = _page(name, pattern, labels) if form == "html" else pattern.automaton.draw(form, labels=labels)
        with in_one_line(str(path)):
            write_text(path, text + "\n")
        yield path


def _page(name: str, pattern: Any, labels: str) -> str:
    from afa.explain.draw.page import page

    text = Path(name).read_text(encoding="utf-8") if is_query(name) else text_of(pattern) if QUERY in pattern.traits else None
    return page(pattern.automaton, name, facts(pattern), str(pattern.explain() or ""), labels, text or "")


def table(automaton: Automaton) -> Table:
    """List the arcs of an automaton in order: name, from, to, kind, fence, transfer, and whether they end in a final state.

    The column of names is left out where no arc has one.
    """
    finals, named = final_states(automaton), any(arc.name for arc in automaton.arcs)
    names = ["name"] * named + ["from", "to", "kind", "fence", "transfer", "final"]
    rows = []
    for arc in automaton.arcs:
        cells = [arc.src, arc.dst, kind_of(arc), fence_of(arc), function_text(arc.transfer), "yes" if arc.dst in finals else ""]
        rows.append([arc.name or ""] * named + cells)
    shown = plain_table(names, rows)
    shown.columns[-3].ratio, shown.columns[-2].ratio = 3, 2
    return shown
