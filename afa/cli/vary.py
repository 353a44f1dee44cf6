"""Carry out ``afa run .. --vary``: a function that makes patterns, called with each value, over an input that is read once."""

from __future__ import annotations

import inspect
import itertools
import time
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import pyarrow as pa

from afa.cli.batches_in import Input
from afa.cli.console import Terminal, plain_table
from afa.cli.fault import CommandError, one_line, tell
from afa.cli.load import load_factory
from afa.cli.log import as_json
from afa.cli.opened_input import opened
from afa.cli.pattern_run import PatternRun
from afa.cli.request import CommandRequest
from afa.cli.write import check_output, reads, writing
from afa.errors import AfaError, did_you_mean
from afa.frames.frame_reading import FrameReading
from afa.io.file_bytes import STREAM
from afa.io.frame import Frame
from afa.io.table_times import as_times, leaving
from afa.io.text_files import FileSource
from afa.language.pattern_file import PATTERNS
from afa.model.conflicts import QUERY, TEMPORAL
from afa.operator.contract import Pattern
from afa.operator.options import Options
from afa.operator.patterns import pattern_of
from afa.replay.backtest import Backtest, swept

MOST = 10_000
"""How many variants there may be."""


def sweep(job: CommandRequest) -> None:
    """Find the matches of all variants; print how many each has. A `CommandError` is the one line that says what is wrong."""
    job.check()
    began = time.perf_counter()
    make = load_factory(job.pattern)
    labels = grid(job.vary)
    _check_names(make, labels, job.pattern)
    check_output(job.output, None, reads(job), job.force)
    points = [dict(zip(labels, values)) for values in zip(*labels.values())]
    source = opened(job)
    made = _bound([_made(make, point) for point in points], source, job)
    job, shown = made[0].job, made[0].pattern.shown
    options = Options(**made[0].options("key", "window", "order_by", "tick", "longest"))
    rows = Input(job, source, made[0].events)
    table = pa.concat_tables(list(rows)).unify_dictionaries()
    there = table.column_names
    reading = FrameReading("le", "re" if "re" in there else None, "diff" if "diff" in there else None, job.end)  # type: ignore[arg-type]
    try:
        found = swept(labels, [each.pattern for each in made], Frame(table), reading, options, job.batch, counts=job.output is None)
    except AfaError:
        raise
    except Exception as error:
        raise CommandError(one_line(error)) from error
    if found.matches is not None:
        matches = as_times(found.matches, leaving(rows.times, "arrow", shown, made[0].pattern.filled.events, job.keys))
        with writing(job.output, matches.schema) as write:
            write(matches)
    _show(found, job, len(table), time.perf_counter() - began)


# -- variants ----------------------------------------------------------------------------------------------------------------------


def grid(said: Sequence[str]) -> dict[str, list[Any]]:
    """Return the variants that ``name=values`` make together, at most MOST: of each name its value in each of them.

    >>> grid(["drop=0.5:1.5:0.5", "kind=a,b"])
    {'drop': [0.5, 0.5, 1.0, 1.0, 1.5, 1.5], 'kind': ['a', 'b', 'a', 'b', 'a', 'b']}
    """
    axes: dict[str, list[Any]] = {}
    for text in said:
        name, is_there, values = text.partition("=")
        if not is_there or not name.strip().isidentifier():
            raise CommandError(f"expected --vary name=low:high:step or name=a,b,c but got {text!r}")
        if name.strip() in axes:
            raise CommandError(f"expected each name once but got --vary {name.strip()} twice")
        axes[name.strip()] = values_of(values, f"--vary {text}")
    count = 1
    for axis in axes.values():
        count *= len(axis)
    if count > MOST:
        raise CommandError(f"expected at most {MOST:,} variants but got {count:,}")
    return {name: list(column) for name, column in zip(axes, zip(*itertools.product(*axes.values())))}


def values_of(text: str, said: str) -> list[Any]:
    """Return the values of ``low:high:step``, both ends among them, or of ``a,b,c``: ints, floats, true, false, texts.

    ``said``: how a message says where they stand.

    >>> values_of("0.1:0.3:0.1", ""), values_of("3:1:-1", ""), values_of("1,2.5,true,x", "")
    ([0.1, 0.2, 0.3], [3, 2, 1], [1, 2.5, True, 'x'])
    """
    words = text.split(":")
    numbers = [number for word in words if (number := _decimal(word)) is not None]
    if len(words) in (2, 3) and len(numbers) == len(words):
        low, high, step = numbers if len(numbers) == 3 else (*numbers, Decimal(1))
        if not step or (high - low) / step < 0:
            raise CommandError(f"expected a step that leads from low to high but got {said}")
        count = (high - low) // step + 1
        if count > MOST:
            raise CommandError(f"expected at most {MOST:,} variants but got {int(count):,} by {said}")
        kind = float if any("." in word for word in words) else int
        return [kind(low + i * step) for i in range(int(count))]
    values = [_value(part.strip()) for part in text.split(",")]
    if "" in values:
        raise CommandError(f"expected values between the commas but got {said}")
    return values


def _decimal(text: str) -> Decimal | None:
    """Return the number that a text is; None: it is no number, or far too long."""
    try:
        found = Decimal(text.strip())
    except InvalidOperation:
        return None
    return found if found.is_finite() and abs(found.adjusted()) < 18 else None


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


def _check_names(make: Callable[..., Any], labels: dict[str, list[Any]], pattern: str) -> None:
    """Refuse names that the function does not have, and a function that wants more than they give."""
    try:
        signature = inspect.signature(make)
    except (TypeError, ValueError):  # of what is not written in Python
        return
    known = [name for name, parameter in signature.parameters.items() if parameter.kind != parameter.POSITIONAL_ONLY]
    free = any(parameter.kind == parameter.VAR_KEYWORD for parameter in signature.parameters.values())
    for name in labels:
        if name not in known and not free:
            raise CommandError(f"expected a parameter of {pattern}{signature} but got --vary {name}{did_you_mean(name, known)}")
    try:
        signature.bind(**dict.fromkeys(labels))
    except TypeError as error:
        raise CommandError(f"expected --vary for each parameter without default of {pattern}{signature} but got {error}") from error


def _made(make: Callable[..., Any], point: dict[str, Any]) -> Pattern:
    said = ", ".join(f"{name}={value!r}" for name, value in point.items())
    try:
        found = make(**point)
    except Exception as error:
        raise CommandError(f"{said}: {one_line(error)}") from error
    if not isinstance(found, PATTERNS):
        raise CommandError(f"{said}: expected an automaton or a query but got {type(found).__name__}")
    return pattern_of(found)


def _bound(patterns: list[Pattern], source: FileSource, job: CommandRequest) -> list[PatternRun]:
    kinds = {tuple({QUERY, TEMPORAL} & set(pattern.traits)) for pattern in patterns}
    if len(kinds) > 1:
        said = "temporal patterns or others" if (TEMPORAL,) in kinds else "automata or queries"
        raise CommandError(f"expected {said} but got both from {job.pattern}")
    made = [PatternRun.of(job, pattern, source) for pattern in patterns]
    if len({(each.job, each.pattern.event if TEMPORAL in each.pattern.traits else None) for each in made}) > 1:
        raise CommandError(f"expected patterns of the same key, order, tick and readings but got several from {job.pattern}")
    return made


# -- out -----------------------------------------------------------------------------------------------------------------------


def _show(found: Backtest, job: CommandRequest, rows: int, seconds: float) -> None:
    if job.output != STREAM:
        right = [field.name for field in found.table.schema if not pa.types.is_string(field.type)]
        rows_shown = (map(str, row) for row in zip(*(column.to_pylist() for column in found.table.columns)))
        Terminal(width=10_000).print(plain_table(found.table.column_names, rows_shown, right, no_wrap=True))
    if not job.quiet:
        count = len(found.table)
        text = f"{count:,} variant{'s' if count > 1 else ''} over {rows:,} rows in {seconds:.1f} s"
        written = "" if job.output in (None, STREAM) else f"; {len(found.matches):,} matches in {job.output}"
        if as_json():
            tell(f"{text}{written}", "summary", "info", variants=count, rows=rows, seconds=seconds)
        else:
            Terminal(stderr=True).print(f"\n{text}{written}", style="dim", soft_wrap=True)
