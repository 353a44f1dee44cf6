"""Load PATTERN of the command line: ``file.py:name`` is the pattern of that name in a file, ``file.py`` its only one."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import inspect
import itertools
import sys
import traceback
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from afa.cli.fault import CommandError, one_line
from afa.model.automaton import Automaton
from afa.operator.contract import Pattern
from afa.operator.patterns import pattern_of

COUNTER = itertools.count()
PATTERNS = (Automaton, Pattern)


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
    there = {key: value for key, value in vars(_imported(Path(file), file)).items() if isinstance(value, PATTERNS)}
    if len({id(value) for value in there.values()}) != 1:
        found = f"its patterns: {', '.join(sorted(there))}" if there else "it has no automaton and no query at all"
        raise CommandError(f"expected {file}:name, or one pattern in the file, but got {file!r}; {found}")
    return pattern_of(next(iter(there.values())))


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
    module = _imported(Path(file), file)
    known = sorted(key for key, value in vars(module).items() if isinstance(value, PATTERNS))
    if not hasattr(module, name):
        there = f"its patterns: {', '.join(known)}" if known else "it has no automaton and no query at all"
        raise CommandError(f"{file} has no {name!r}; {there}")
    return getattr(module, name), file, name, known


def _imported(path: Path, shown: str) -> types.ModuleType:
    if not path.is_file():
        raise CommandError(f"{shown}: {'not a file' if path.exists() else 'no such file'}")
    name = f"afa_pattern_{path.stem}_{next(COUNTER)}"
    loader = importlib.machinery.SourceFileLoader(name, str(path.resolve()))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # before it runs: annotations of its schemas are resolved through it
    sys.path.insert(0, str(path.resolve().parent))
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise CommandError(f"{shown}{_line(error, loader.path)}: {one_line(error)}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _line(error: BaseException, path: str) -> str:
    """``:12`` for the last line of the file that took part."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f":{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f":{lines[-1]}" if lines else ""
