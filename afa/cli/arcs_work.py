"""Write and list the lines of an arc log for ``afa arcs``: checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer
from rich.text import Text

from afa.arclog.about import About, about
from afa.arclog.answers import JobAnswers, answered
from afa.arclog.arc_log import ArcLog
from afa.arclog.lines import NOW
from afa.arclog.listing import Listing
from afa.cli.console import Terminal, plain_table
from afa.cli.fault import CommandError, tell
from afa.cli.follow import opened_log
from afa.cli.load import is_query
from afa.cli.pattern_run import given_pattern
from afa.explain.draw.words import fence_of, function_text, kind_of
from afa.io.file_columns import TICKS
from afa.model.arc import CONSUME, Arc
from afa.model.automaton import Automaton

WIDE = 10_000
"""The width of a table that does not go to a terminal: an arc is a line."""
Row = tuple[str, ...]
COLUMNS = ("name", "from", "until", "arc", "fence", "transfer")


def write_swap(
    folder: Path, name: str, pattern: str | None, parts: tuple[str | None, ...], at: str | None, tick: str | None
) -> None:
    """Write a line that puts another arc in the place of the one of a name; ``parts``: its fence and transfer, or a whole arc."""
    fence, transfer, arc = parts
    if (arc is None) is (fence is None and transfer is None):
        raise CommandError(f"expected --fence, --transfer or both, or --arc, but got {'none of them' if arc is None else 'both'}")
    log, when = _log(folder, pattern, tick), instant_said(at)
    new = None if arc is None else Arc.from_json(arc)
    _one(log, name, when)
    log.swap(name, new, fence=fence, transfer=transfer, at=when)
    typer.echo(f"swapped {name!r} {said_of_instant(at)}")


def write_insert(folder: Path, arc: str, pattern: str | None, at: str | None, until: str | None, tick: str | None) -> None:
    log, found = _log(folder, pattern, tick), Arc.from_json(arc)
    log.insert(found, at=instant_said(at), until=instant_said(until))
    typer.echo(f"inserted {found.name!r} {said_of_instant(at)}")


def write_end(folder: Path, name: str, pattern: str | None, at: str | None, tick: str | None) -> None:
    log, when = _log(folder, pattern, tick), instant_said(at)
    _one(log, name, when)
    log.retract(name, at=when)
    typer.echo(f"ended {name!r} {said_of_instant(at)}")


def show_list(folder: Path, pattern: str | None, tick: str | None) -> None:
    """Show the arcs, from when until when each is in force: as the jobs that run have it, else the one that ended last.

    Jobs that differ have a table each. On standard error: what is wrong with lines, and what was refused.
    """
    if not folder.is_dir():
        raise CommandError(f"{folder}: no such folder")
    known = _known(folder, pattern, tick)
    unit, automaton = (unit_said(tick), None) if known is None else (known.tick, known.automaton)
    show_listings(folder, COLUMNS, _rows, lambda tick, jobs: Listing.of(folder, automaton, tick or unit, jobs))


def show_listings(
    folder: Path,
    columns: Sequence[str],
    rows: Callable[[Listing], tuple[Row, ...]],
    listed: Callable[[str | None, Sequence[JobAnswers]], Listing],
) -> None:
    """Show what ``listed`` lists, given the tick of jobs, and these jobs, as `show_list` says."""
    jobs, wrong = answered(folder)
    running = [job for job in jobs if job.runs]
    tables = dict[Any, tuple[Listing, list[JobAnswers]]]()
    for job in running or sorted(jobs, key=lambda job: job.last)[-1:]:
        found = listed(job.tick, [job])
        tables.setdefault((rows(found), tuple(found.faults)), (found, []))[1].append(job)
    if not tables:
        tables[None] = listed(None, ()), []
    console = Terminal(width=WIDE)
    for found, which in tables.values():
        if len(tables) > 1:
            console.print(Text(f"{', '.join(job.job for job in which)}:", style="bold"))
        console.print(plain_table(columns, rows(found)))
        for raw, reason in found.faults:
            place = f"{raw.file}, line {raw.number}" if raw.number else raw.file
            tell(f"{folder}: {reason} ({place})")
    for name, reason in wrong:
        tell(f"{folder}: {reason} ({name})")
    if jobs and not running:
        tell(f"{folder}: no job runs that follows it; so it was for the last one, {which[0].job}")


def _rows(found: Listing) -> tuple[Row, ...]:
    rows = []
    for each in found.all():
        arc = each.arc
        ways = f"{arc.src} -> {arc.dst}" if arc.kind == CONSUME else f"{arc.src} -> {arc.dst} ({kind_of(arc)})"
        rows.append((str(arc.name), found.begin_of(each), found.end_of(each), ways, fence_of(arc), function_text(arc.transfer)))
    return tuple(rows)


class _Log(ArcLog):
    """The log, with the names of the job's arcs that are known by their names only."""

    code: tuple[str, ...] = ()


def _one(log: _Log, name: str, when: int | str | None) -> None:
    """Refuse a name that no arc has at an instant, or more than one."""
    if name in log.code and name not in log.listing().versions.names:
        raise CommandError(f"expected --pattern for the arc {name!r}, as it is known by its name only: its functions are Python's")
    log.listing().one(name, when)


def _known(folder: Path, pattern: str | None, tick: str | None) -> About | None:
    """Return the job's arcs: those of a pattern, else what the last job that has followed the folder said of itself."""
    if pattern is not None:
        return About(_automaton(pattern), (), unit_said(tick))
    found = about(folder)
    return found if found is None or tick is None else found._replace(tick=unit_said(tick))


def _log(folder: Path, pattern: str | None, tick: str | None) -> _Log:
    known = _known(folder, pattern, tick)
    if known is None:
        raise CommandError(f"expected --pattern file.py:name, as no `afa run --arcs {folder}` has said yet what its arcs are")
    log = opened_log(folder, lambda: _Log(folder, known.automaton, tick=known.tick))
    log.code = known.code
    return log


def _automaton(pattern: str) -> Automaton:
    """Return the automaton of ``file.py:name``; a query in a file has its columns from an input, which is not here."""
    if is_query(pattern):
        raise CommandError(f"expected --pattern file.py:name but got {pattern}: what its events are only its input says")
    found = given_pattern(pattern, "its arcs follow from where=")
    assert found is not None
    return found.automaton


def unit_said(tick: str | None) -> str | None:
    """Return the unit that --tick says."""
    if tick is not None and tick not in TICKS:
        raise CommandError(f"expected one of {', '.join(TICKS)} but got --tick {tick}")
    return tick


def instant_said(text: str | None) -> int | str | None:
    """Return a time as a line has it."""
    if text is None or text == NOW:
        return None
    return int(text) if re.fullmatch(r"-?[0-9]{1,30}", text) else text


def said_of_instant(at: str | None) -> str:
    """Return from when on a line holds, in words."""
    return "from when the job reads it on" if at in (None, NOW) else f"from {at} on"
