"""Arcs in the form that kernels use: machine code and constants, or the reason why Python runs them."""

from __future__ import annotations

import contextlib
import functools
from typing import Any, NamedTuple

from afa.compiled.code.arc_code import ArcCode, arc_code
from afa.compiled.code.casts import NotCompilable
from afa.compiled.code.payload_layout import Layout
from afa.expression import Unreadable
from afa.expression.arc_functions import WrittenFunction, expression_of, functions_of
from afa.expression.from_text import KEPT, parse
from afa.expression.kinds import FunctionKind
from afa.model.arc import CONSUME, SKIP, TIMEOUT, Arc

ROLES = ("fence", "transfer", "at")


class CompiledArc(NamedTuple):
    """An arc and its code; or which function, its ``role``, has no native form, why, and how to write it (or none)."""

    arc: Arc
    code: ArcCode | None  # None: Python runs its functions for each partial match
    role: str = ""
    reason: str = ""
    hint: str = ""

    @property
    def why(self) -> str:
        return f"{self.reason}; {self.hint}" if self.hint else self.reason


def compiled_arc(arc: Arc, event: Layout, register: Layout) -> CompiledArc:
    """Take an arc's functions apart. O(nodes).

    >>> from afa.schema import Schema
    >>> class Count(NamedTuple):
    ...     n: int = 0
    >>> count = Layout.of(Schema.of(Count, "register"))
    >>> compiled_arc(Arc("a", "b", "e.n > 0", "(e.n,)"), count, count).code.shape
    '(gt e0int int) (make e0int ((0, 1),)) -'
    >>> found = compiled_arc(Arc("a", "b", "e.n > 0", lambda e, r: Count(sum([e.n, r.n]))), count, count)
    >>> found.role, found.code
    ('transfer', None)
    """
    functions = functions_of(arc)
    if functions and all(isinstance(function, WrittenFunction) for _, function in functions):
        with contextlib.suppress(Unreadable, NotCompilable):  # which is told below
            texts = tuple((kind, function.text) for kind, function in functions)
            return CompiledArc(arc, _code_of_texts(arc.kind, texts, arc.ignorable, event, register))
    found: dict[str, Any] = dict.fromkeys(ROLES)
    role = ""
    try:
        for kind, function in functions:
            role = kind.role
            found[role] = expression_of(function, kind, event.schema if arc.reads_event else None, register.schema)
        role = ""
        code = _code(arc, found, event, register)
    except (Unreadable, NotCompilable) as error:
        return CompiledArc(arc, None, role or _at_fault(arc, found, event, register), error.reason, error.hint)
    assert arc.kind != TIMEOUT or code.at is not None
    return CompiledArc(arc, code)


@functools.lru_cache(maxsize=KEPT)
def _code_of_texts(
    kind: str, texts: tuple[tuple[FunctionKind, str], ...], ignorable: bool, event: Layout, register: Layout
) -> ArcCode:
    """Return the code of an arc that was given as text: the operators of a worker have the same few."""
    seen = event if kind in (CONSUME, SKIP) else None
    found = {role.role: parse(text, role, seen.schema if seen else None, register.schema) for role, text in texts}
    return arc_code(kind, found.get("fence"), found.get("transfer"), found.get("at"), ignorable, seen, register)


def _code(arc: Arc, found: dict[str, Any], event: Layout, register: Layout) -> ArcCode:
    seen = event if arc.reads_event else None
    return arc_code(arc.kind, found["fence"], found["transfer"], found["at"], arc.ignorable, seen, register)


def _at_fault(arc: Arc, found: dict[str, Any], event: Layout, register: Layout) -> str:
    """Return the function that has no native form, by trying each alone."""
    *others, last = (kind.role for kind, _ in functions_of(arc))
    for role in others:
        try:
            _code(arc, {**dict.fromkeys(ROLES), role: found[role]}, event, register)
        except NotCompilable:
            return role
    return last
