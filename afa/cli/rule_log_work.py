"""Write and list the lines of a log of rules for ``afa rules``: checked before anything is written."""

from __future__ import annotations

from pathlib import Path

import typer

from afa.arclog.listing import Listing
from afa.cli.arcs_work import Row, instant_said, said_of_instant, show_listings, unit_said
from afa.cli.fault import CommandError, tell
from afa.cli.follow import opened_log
from afa.cli.load import is_query
from afa.io.text_files import in_one_line
from afa.rules.rule_lines import RULE
from afa.rules.rule_log import RuleWriter, rules_of

COLUMNS = ("name", "from", "until", "rule")


def write_add(log: Path, name: str, file: Path, at: str | None, until: str | None, tick: str | None) -> None:
    _log(log, tick).add(name, _text(file), at=instant_said(at), until=instant_said(until))
    typer.echo(f"added {name!r} {said_of_instant(at)}")


def write_remove(log: Path, name: str, at: str | None, tick: str | None) -> None:
    _there(log)
    _log(log, tick).remove(name, at=instant_said(at))
    typer.echo(f"ended {name!r} {said_of_instant(at)}")


def write_replace(log: Path, name: str, file: Path, at: str | None, tick: str | None) -> None:
    _there(log)
    _log(log, tick).replace(name, _text(file), at=instant_said(at))
    typer.echo(f"replaced {name!r} {said_of_instant(at)}")


def show_rules(log: Path, tick: str | None) -> None:
    """Show the rules, from when until when each is in force in the jobs that run; on standard error what was refused."""
    _there(log)
    writer = _log(log, tick)
    show_listings(log, COLUMNS, _rows, lambda tick, jobs: writer.listing(jobs, tick))


def _rows(found: Listing) -> tuple[Row, ...]:
    return tuple((each.arc.name, found.begin_of(each), found.end_of(each), " ".join(each.arc.text.split())) for each in found.all())


def _log(log: Path, tick: str | None) -> RuleWriter:
    known = rules_of(log) if log.is_dir() else None
    unit = unit_said(tick) if tick is not None or known is None else known.tick
    found = opened_log(log, lambda: RuleWriter(log, known, unit), RULE)
    if known is None:
        tell(f"{log}: no job has said yet what its events are, so that texts are not checked against them", "rules", "info")
    return found


def _there(log: Path) -> None:
    if not log.is_dir():
        raise CommandError(f"{log}: no such folder")


def _text(file: Path) -> str:
    """Return the text of a rule. A log never takes Python: what runs in a job is the job's own."""
    if not is_query(str(file)):
        raise CommandError(f"expected the text of a rule, file.sase or file.sql, but got {file}")
    with in_one_line(str(file)):
        return file.read_text(encoding="utf-8")
