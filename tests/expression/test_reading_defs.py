"""Random defs of assignments, ifs, early returns and calls of helpers: the same value as Python, and raised where Python raises."""

from __future__ import annotations

import linecache
import math
import random
from typing import Any

import pytest

from afa.expression import FENCE, TRANSFER, Unreadable, evaluate, read, text_of_expr
from tests.expression.worlds import NUMBERS, SCHEMAS, R, event, expression, outcome, register
from tests.text import defined


class Writer:
    """The text of a random def."""

    def __init__(self, rng: random.Random, helpers: list[str], returns: str) -> None:
        self.rng = rng
        self.helpers = helpers
        self.returns = returns
        self.lines: list[str] = []

    def field(self, kind: str | None = None) -> str:
        """An expression over fields."""
        return f"({text_of_expr(expression(self.rng, kind or self.rng.choice(NUMBERS), 1, optional=0.02))})"

    def value(self, names: list[str]) -> str:
        """An expression over fields, local names and helpers."""
        name, way = self.rng.choice(names) if names else "1", self.rng.randrange(8)
        if way < 3:
            return f"{name} {self.rng.choice(['+', '-', '*', '//', '/', '<', '=='])} {self.field()}"
        if way == 3:
            return f"({name} if {self.field('bool')} else {self.field()})"
        if way == 4 and self.helpers:
            return f"{self.rng.choice(self.helpers)}(e, r, {self.field()}, {name})"
        if way == 5:
            return f"({self.field('bool')} and (w := {name}) > 1)"
        return self.field()

    def result(self, names: list[str]) -> str:
        """What is returned."""
        return self.returns.format(self.value(names), self.value(names))

    def block(self, indent: str, names: list[str], depth: int) -> list[str]:
        """Write statements; returns the names bound at the end of them."""
        for _ in range(self.rng.randint(1, 3)):
            way = self.rng.randrange(8)
            if way < 4:
                name = self.rng.choice("abcd")
                self.lines.append(f"{indent}{name} = {self.value(names)}")
                names = [*names, name]
            elif way == 4 and names:
                name = self.rng.choice(names)
                self.lines.append(f"{indent}{name} {self.rng.choice(['+=', '-=', '*='])} {self.value(names)}")
            elif way == 5 and depth:
                self.lines.append(f"{indent}if {self.value(names)}:")
                then = self.block(indent + "    ", names, depth - 1)
                self.lines.append(f"{indent}else:")
                other = self.block(indent + "    ", names, depth - 1)
                names = [name for name in then if name in other]
            elif way == 6:
                self.lines.append(f"{indent}if {self.value(names)}:")
                self.lines.append(f"{indent}    return {self.result(names)}")
            else:
                self.lines.append(f"{indent}{self.value(names)}")
        return names


def functions(rng: random.Random, returns: str) -> list[Any]:
    """Three defs that call two others."""
    lines: list[str] = []
    for i in range(5):
        inner = i < 2
        writer = Writer(rng, [] if inner else ["f0", "f1"], "{}" if inner else returns)
        names = writer.block("    ", ["p", "q"] if inner else [], 2)
        lines += [f"def f{i}({'e, r, p, q' if inner else 'e, r'}):", *writer.lines, f"    return {writer.result(names)}"]
    scope = defined("\n".join(lines) + "\n", inf=math.inf, nan=math.nan, R=R)
    return [scope[f"f{i}"] for i in (2, 3, 4)]


@pytest.mark.parametrize(("kind", "returns"), [(FENCE, "{}"), (TRANSFER, "R({}, {})")], ids=str)
def test_defs(kind: Any, returns: str) -> None:
    rng = random.Random(21)
    was_read = raised = 0
    for _ in range(120):
        for function in functions(rng, returns):
            try:
                found = read(function, kind, *SCHEMAS)
            except Unreadable:
                continue
            was_read += 1
            for _ in range(8):
                e, r = event(rng), register(rng)
                python, ours = outcome(function, e, r), outcome(evaluate, found, e, r)
                raised += isinstance(python, type)
                if isinstance(python, type):
                    assert isinstance(ours, type), (linecache.getlines(function.__code__.co_filename), text_of_expr(found), e, r)
                else:
                    assert ours == python, (linecache.getlines(function.__code__.co_filename), text_of_expr(found), e, r)
    assert was_read > 100
    assert raised > 200
