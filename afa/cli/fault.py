"""Tell a line on standard error, as text or as JSON (`--log`); of a fault, one line and exit status 1."""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator
from typing import Any

import typer

from afa.cli.log import as_json, write_json
from afa.errors import AfaError, line_of


class CommandError(AfaError):
    """Bad input of the command line, as the one line that the user reads."""


def one_line(error: BaseException) -> str:
    """Return an error as `line_of` does, with options as the command line has them.

    >>> one_line(AfaError('expected tick=, what one int of LE counts, but got none; give tick="ms", say'))
    'expected --tick, what one int of LE counts, but got none; give --tick ms, say'
    """
    text = line_of(error)
    return text.replace("tick=,", "--tick,").replace('give tick="ms"', "give --tick ms") if isinstance(error, AfaError) else text


def tell(text: str, event: str = "note", level: str = "warning", **fields: Any) -> None:
    """Tell a line; ``event``, ``level`` and the fields show in JSON only."""
    if as_json():
        write_json(text, event, level, fields)
    else:
        typer.echo(f"afa: {text}", err=True)


@contextlib.contextmanager
def plain_exit() -> Iterator[None]:
    """Turn a fault into its line and status 1, and a reader that went away (``| head``) into a quiet end."""
    try:
        yield
        sys.stdout.flush()  # here, where a closed pipe is caught, not when the interpreter ends
    except BrokenPipeError:
        close_pipes()
        raise typer.Exit(0) from None
    except AfaError as error:
        raise _reported(one_line(error)) from None
    except OSError as error:  # files say themselves what is wrong with them: it is a stream of ours
        raise _reported(f"can't write standard output: {os.strerror(error.errno) if error.errno else error}") from None
    except (typer.Exit, typer.BadParameter):
        raise
    except (KeyboardInterrupt, Exception) as error:
        if not as_json():  # Python's own words, of many lines
            raise
        if isinstance(error, KeyboardInterrupt):
            raise _reported("interrupted", 130, "interrupted", "warning") from None
        raise _reported(one_line(error), traceback=traceback.format_exc()) from None


def _reported(text: str, status: int = 1, event: str = "fault", level: str = "error", **fields: Any) -> typer.Exit:
    """Say what is wrong, if anyone can hear it, and end with this status."""
    with contextlib.suppress(OSError):
        tell(text, event, level, **fields)
    close_pipes()
    return typer.Exit(status)


def close_pipes() -> None:
    """Send what is still buffered nowhere, so that the interpreter does not fail on it at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
