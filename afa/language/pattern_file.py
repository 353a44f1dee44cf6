"""Run a file of Python that holds patterns: the one reader of such files."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import itertools
import sys
import traceback
import types
from pathlib import Path
from typing import Any

from afa.errors import AfaError, line_of
from afa.model.automaton import Automaton
from afa.operator.contract import Pattern

COUNTER = itertools.count()
PATTERNS = (Automaton, Pattern)


def imported(path: Path, shown: str) -> types.ModuleType:
    """Run a file under a name of its own; modules beside it can be imported meanwhile, as for ``python file.py``.

    Raises `AfaError`, which begins with ``shown``, and the line, where the file is none or raises.
    """
    if not path.is_file():
        raise AfaError(f"{shown}: {'not a file' if path.exists() else 'no such file'}")
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
        raise AfaError(f"{shown}{_line(error, loader.path)}: {line_of(error)}") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _line(error: BaseException, path: str) -> str:
    """``:12`` for the last line of the file that took part."""
    if isinstance(error, SyntaxError) and error.filename == path:
        return f":{error.lineno}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return f":{lines[-1]}" if lines else ""


def patterns_in(module: types.ModuleType) -> dict[str, Any]:
    """Return the patterns of a module, by name."""
    return {name: value for name, value in sorted(vars(module).items()) if isinstance(value, PATTERNS)}


def the_only(found: dict[str, Any]) -> Any:
    """Return the one pattern that all names stand for; None: there is none, or there are several."""
    return next(iter(found.values())) if len({id(value) for value in found.values()}) == 1 else None
