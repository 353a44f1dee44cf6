"""Send functions and processors to workers, so that a worker which lacks a module says so in one line.

Spark pickles it, with references to modules that the worker imports. Before the first of them a small function runs there, which
goes by value and so needs no module but Python's own: whoever then looks in vain for a module of ours or of the user's gets its
words.
Modules of the user's own that hold the automaton's classes or functions go by value, too, where Python can do that: then a worker
need not have them.
"""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pyspark.cloudpickle

from afa.model.arc import Arc
from afa.model.automaton import Automaton

cloudpickle: Any = pyspark.cloudpickle  # which has no types
OURS = ("afa", "punctuation", "speculation")
STANDARD = Path(sysconfig.get_path("stdlib")).parent
PACKAGES = (*OURS, "msgpack", "numba", "numpy", "pandas", "pyarrow", "sortedcontainers", "intervaltree")


class Parcel:
    """A parcel, which pickled and unpickled is its content; of its arcs the driver has told which run in Python."""

    def __init__(self, content: Any, arcs: Iterable[Arc] = ()) -> None:
        self._content, self._arcs = content, list(arcs)
        self._by_value = sorted(cloudpickle.list_registry_pickle_by_value())

    def __reduce__(self) -> Any:
        """Spark Connect pickles when the plan is run, so that what goes by value now must do so then."""
        modules = [sys.modules[name] for name in self._by_value if name not in cloudpickle.list_registry_pickle_by_value()]
        for module in modules:
            cloudpickle.register_pickle_by_value(module)
        try:
            cloudpickle.dumps((self._content, self._arcs))  # what can't be pickled is told before the turn to by-value, which stays
        finally:
            _forget(modules)
        begin, end = _Turn(cloudpickle.register_pickle_by_value, modules), _Turn(cloudpickle.unregister_pickle_by_value, modules)
        return _opener(), (_Watch(), begin, self._content, self._arcs, end)  # which are pickled and unpickled in this order


class Once:
    """What each worker reads once, however many tasks it comes with: 300 queries take it a second."""

    def __init__(self, content: Any) -> None:
        self.content = content

    def __reduce__(self) -> Any:
        return _once, (cloudpickle.dumps(self.content),)


@lru_cache(4)
def _once(blob: bytes) -> Once:
    return Once(cloudpickle.loads(blob))


class _Turn:
    """An instruction in a pickle: it does something with modules when it is pickled, and comes out as an empty text."""

    def __init__(self, turn: Callable[[ModuleType], None], modules: Sequence[ModuleType]) -> None:
        self._turn, self._modules = turn, modules

    def __reduce__(self) -> Any:
        for module in self._modules:
            self._turn(module)
        return str, ()


class _Watch:
    """A finder of modules, once it is unpickled: it is asked for those that no other has found."""

    def __reduce__(self) -> Any:
        own = {name.partition(".")[0] for name, module in list(sys.modules.items()) if _is_own(module)}
        return _watcher(), (PACKAGES, sorted(own - {"__main__"}))


def shipped(function: Callable[[Any], Any], arcs: Iterable[Arc] = ()) -> Callable[[Any], Any]:
    """Return the same function, for workers."""
    content: Any = Parcel(function, arcs)

    def call(given: Any) -> Any:
        return content(given)

    return call


def _opener() -> Callable[..., Any]:
    """Return a function that goes to workers by value, since it has no place in a module."""

    def opened(watch: Any, _begin: str, content: Any, arcs: list[Any], _end: str) -> Any:
        import sys

        from afa.compiled.fit import know

        if watch in sys.meta_path:
            sys.meta_path.remove(watch)
        know(arcs)
        return content

    return opened


def _watcher() -> Callable[..., Any]:
    """Return a function, sent by value too, that begins to look out for modules that are missing."""

    def watching(packages: Iterable[str], own: Iterable[str]) -> Any:
        import os
        import socket
        import sys

        class Watch:
            def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
                top = name.partition(".")[0]
                if name != top or top not in (*packages, *own):
                    return
                os.environ["SPARK_HIDE_TRACEBACK"] = "1"  # the worker ends
                hint = 'pip install ".[spark]" there, in the folder of afa, or name a Python that has it, by PYSPARK_PYTHON here'
                if top not in packages:
                    hint = f'ship it, spark.addArtifacts("{top}.py", pyfile=True) or spark-submit --py-files, or install it there'
                there = f"{socket.gethostname()} ({sys.executable})"
                raise ModuleNotFoundError(f"expected the module {top!r} on each worker but {there} has none: {hint}", name=top)

        watch = Watch()
        sys.meta_path.append(watch)
        return watch

    return watching


@contextmanager
def by_value(*parts: Any) -> Iterator[None]:
    """Let the user's own modules that hold these classes, or classes or functions of these automata, be pickled by value."""
    known = cloudpickle.list_registry_pickle_by_value()
    ours = [module for module in _modules(parts) if module.__name__ not in known]
    for module in ours:
        cloudpickle.register_pickle_by_value(module)
    try:
        cloudpickle.dumps(parts)
    except Exception:  # a global that can't be pickled: so the worker must have the module
        _forget(ours)
        ours = []
    try:
        yield
    finally:
        _forget(ours)


def _forget(modules: Iterable[ModuleType]) -> None:
    for module in modules:
        cloudpickle.unregister_pickle_by_value(module)


def _modules(parts: Iterable[Any]) -> list[ModuleType]:
    named: list[Any] = []
    for part in parts:
        named += [part] if not isinstance(part, Automaton) else _of(part)
    found = {getattr(thing, "__module__", None) for thing in named} - {"__main__"}
    return [sys.modules[name] for name in found if name in sys.modules and _is_own(sys.modules[name])]


def _of(automaton: Automaton) -> Iterator[Any]:
    """Yield the classes and functions of an automaton; of one without a schema none, for it is refused."""
    if automaton.event_schema is not None:
        yield from (automaton.event_schema.cls, type(automaton.register))
        yield from (part for arc in automaton.arcs for part in (arc.fence, arc.transfer, arc.at) if callable(part))


def _is_own(module: ModuleType) -> bool:
    file = getattr(module, "__file__", None)
    if not isinstance(file, str) or getattr(module, "__name__", "").partition(".")[0] in OURS:
        return False
    return not _comes_with_python(file)


@cache
def _comes_with_python(file: str) -> bool:
    """`is_installed` of a module's file: whatever is sent asks for every module that is there."""
    return is_installed(Path(file))


def is_installed(path: Path) -> bool:
    """Return whether a file or folder came with Python, or as a package: so that a worker with the same packages has it."""
    return bool({"site-packages", "dist-packages"} & {*path.parts}) or path.is_relative_to(STANDARD)
