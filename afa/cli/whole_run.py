"""``afa run q.sql --input ticks=ticks.parquet --input stocks=stocks.csv``: tables of a statement by their names.

A statement over one table is run as over INPUT; one that takes a relational engine by DuckDB, over the files.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from sqlglot import exp

from afa.cli.fault import CommandError, one_line, tell
from afa.cli.load import is_sql
from afa.cli.request import CommandRequest
from afa.cli.run import run
from afa.cli.screen import plain_text
from afa.cli.write import check_output, writing
from afa.errors import AfaError
from afa.io.column_texts import in_text
from afa.io.file_bytes import STREAM
from afa.io.files import form_of
from afa.io.text_files import in_one_line
from afa.language.engine_share import engine_share
from afa.language.sql_layers import layers_of
from afa.language.sql_reader import reading
from afa.language.sql_statement import RowPatternMatch, Statement
from afa.language.whole_statement import trees_of

TAKEN = ("format", "form", "output", "matches", "quiet", "force", "tick", "threads", "partial_matches", "max_bytes", "log")
"""What says something of a run by DuckDB."""


def run_tables(job: CommandRequest, inputs: Sequence[str]) -> None:
    """Carry out ``afa run`` over named tables."""
    if not is_sql(job.pattern):
        raise CommandError(f"expected a statement, file.sql, beside --input but got {job.pattern}; say INPUT behind it")
    if job.state is not None:
        raise CommandError("--state can't be combined with --input because it goes on in one INPUT; say that in place of it")
    pairs = [each.partition("=") for each in inputs]
    files = {name.lower(): file for name, _, file in pairs}
    if not all(name and sign and file for name, sign, file in pairs) or len(files) < len(pairs):
        raise CommandError(f"expected --input NAME=FILE, each name once, but got {' '.join(inputs)}")
    with in_one_line(job.pattern):
        text = Path(job.pattern).read_text(encoding="utf-8")
    try:
        table = reading(text, None, _table)
    except AfaError:  # in DuckDB's dialect it may be a statement
        table = None
    if table is None:
        return _by_duckdb(job, text, files)
    if table not in files:
        raise CommandError(f"{job.pattern}: expected --input {table}=FILE, the table of the statement, but got {', '.join(files)}")
    other = [name for name in files if name != table]
    if other:
        raise CommandError(
            f"{job.pattern}: expected --input of the table {table} alone, which it reads, but got {', '.join(other)}, too"
        )
    return run(job._replace(file=files[table]))


def _table(statement: Statement) -> str | None:
    """Return the table of a statement that afa reads alone; None: it takes an engine."""
    layers = layers_of(statement)
    matches = [engine_share(step, statement.text) for step in layers.steps if isinstance(step, RowPatternMatch)]
    alone = layers.relational is None and len(matches) == 1 and not (matches[0].front or matches[0].behind)
    return str(layers.table.name).lower() if alone else None


def _named(text: str, files: Mapping[str, str]) -> Collection[str]:
    """Return the names of tables in a statement, in small letters; of what is none: all."""
    try:
        trees = reading(
            text,
            "duckdb",
            lambda found: [*trees_of(found), *(node for match in found.matches.values() for node, _ in match.nodes())],
        )
    except AfaError:  # which is told where it is run
        return files
    return {str(table.name).lower() for tree in trees for table in tree.find_all(exp.Table)}  # in clauses, too


def _by_duckdb(job: CommandRequest, text: str, files: dict[str, str]) -> None:
    from afa.duckdb.con_statements import over_files

    if job.feed is not None:
        raise CommandError(f"--format {job.form} can't be combined with a statement that takes a relational engine")
    other = next((name for name in job.said if name not in TAKEN), None)
    if other is not None:
        raise CommandError(f"--{other.replace('_', '-')} can't be combined with a statement that takes a relational engine")
    unread = [name for name in files if name not in _named(text, files)]
    if unread:
        raise CommandError(f"{job.pattern}: expected --input of tables that the statement names but got {', '.join(unread)}, too")
    if STREAM in files.values():
        raise CommandError(
            "expected files for a statement that takes a relational engine but got standard input, -; write it to a file"
        )
    check_output(job.output, None, [job.pattern, *files.values()], job.force)
    forms = {name: (form_of(file, job.form), file) for name, file in files.items()}
    try:
        found = over_files(text, forms, tick=job.tick, threads=job.threads, **job.bounds)
    except AfaError as error:
        raise CommandError(f"{job.pattern}: {one_line(AfaError(str(error).splitlines()[0]))}") from error
    with writing(job.output, found.schema) as write:
        write(found)
    if job.output != STREAM:
        shown = in_text(found if job.matches < 0 else found.slice(0, job.matches)).to_pylist()
        sys.stdout.writelines(" ".join(f"{name}={plain_text(value)}" for name, value in row.items()) + "\n" for row in shown)
    if not job.quiet:
        tell(
            f"{len(found):,} row{'' if len(found) == 1 else 's'}"
            + (f" in {job.output}" if job.output not in (None, STREAM) else ""),
            "summary",
            "info",
            rows=len(found),
        )
