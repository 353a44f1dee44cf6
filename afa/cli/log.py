"""Lines on standard error as JSON, an object each, for services that collect them: ``--log json``.

What the command line itself tells comes by `afa.cli.fault.tell`; Python's warnings, and what its loggers say, come by a handler.
"""

from __future__ import annotations

import enum
import json
import logging
import math
from datetime import datetime, timezone
from typing import Any

import typer

LogForm = enum.Enum("LogForm", {"text": "text", "json": "json"})


class LogLines(logging.Handler):
    """What makes a line of each record of Python's loggers."""

    on = False
    """Whether lines are JSON now."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; its traceback, if there is one, as a field."""
        raised = {} if record.exc_info is None else {"traceback": logging.Formatter().formatException(record.exc_info)}
        write_json(record.getMessage().strip(), "log", record.levelname.lower(), {"logger": record.name, **raised})


LINES = LogLines(logging.WARNING)


def log_as(context: typer.Context, form: LogForm) -> LogForm:
    """Tell lines in this form until the command is over."""

    def text_again() -> None:
        LINES.on = False
        logging.captureWarnings(False)
        logging.getLogger().removeHandler(LINES)

    if form is LogForm.json:
        context.call_on_close(text_again)
        LINES.on = True
        logging.captureWarnings(True)
        logging.getLogger().addHandler(LINES)
    return form


def as_json() -> bool:
    return LINES.on


def write_json(text: str, event: str, level: str, fields: dict[str, Any]) -> None:
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
    told = plain({"time": now, "level": level, "event": event, "text": text, **fields})
    typer.echo(json.dumps(told, allow_nan=False), err=True)


def plain(data: Any) -> Any:
    """Return data as JSON can have it: what it has not, as text.

    >>> plain({"x": (1, float("nan"), None), 2: datetime(2024, 1, 1)})
    {'x': [1, 'nan', None], '2': '2024-01-01 00:00:00'}
    """
    if isinstance(data, dict):
        return {str(name): plain(value) for name, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [plain(value) for value in data]
    if isinstance(data, float) and not math.isfinite(data):
        return str(data)
    return data if data is None or isinstance(data, (str, int, float, bool)) else str(data)
