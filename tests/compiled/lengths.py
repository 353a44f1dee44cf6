"""How long the code of text is, and what it costs to make: every construct of the allow-list, nested in each of its operands.

    python -m tests.compiled.lengths [--pairs N] [--seed S]      all pairs of constructs: --pairs -1

Prints the longest code by the length of its text, and the dearest text. It raises where a bound is passed.
"""

from __future__ import annotations

import argparse
import itertools
import random
import time
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from afa import Arc
from afa.compiled.code.arc_code import LONGEST, ArcCode
from afa.compiled.code.native_arc import compiled_arc
from afa.compiled.code.payload_layout import Layout
from afa.compiled.code.step_function import SlotClass, step_ir, unchanged_ir
from afa.compiled.machine.native import Native
from afa.conditions.implied import implied
from afa.errors import ExpressionError
from afa.expression import FENCE, callable_of, may_raise, parse, ranges, split, text_of_expr
from afa.expression.nodes import sides
from afa.rewrite.vectors import vector_of
from afa.schema import Schema


class E(NamedTuple):
    a: int
    b: int
    x: float
    g: bool
    h: bool
    s: str
    o: int | None = None
    y: float | None = None


class R(NamedTuple):
    n: int = 0
    m: int = 0
    t: float = 0.0


SCHEMAS = Schema.of(E, "event"), Schema.of(R, "register")
EVENT, REGISTER = (Layout.of(schema) for schema in SCHEMAS)
ONCE = """
    min({}, a)   min(a, {})   min({}, x)   min(x, {})   min({}, a, b)   min(a, b, {})   max(a, {}, b)   max({}, g)
    min(a, a, {}, a)
    ({} or a)   (a or {})   ({} and a)   (a and {})   ({} or x)   ({} and x)   ({} or g)   (g or {})   ({} and g)   (g and {})
    (g and {} or h)   ({} or None)   (None or {})   (o or {})   ({} and o)
    ({} if g else a)   (a if {} else b)   (a if g else {})   ({} if g else x)   (x if g else {})   ({} if g else g)
    (g if {} else h)
    (g if g else {})   ({} if g else None)   (({} if g else 0) or a)
    (not {})   (-{})   (+{})   (~{})   abs({})   round({})   round({}, 0)   int({})   float({})   bool({})   len({})
    ({} + a)   (a + {})   ({} * x)   (a - {})   ({} // a)   (a // {})   ({} % a)   (a % {})   (x // {})   (x / {})   ({} / x)
    (a & {})   ({} | b)   (g ^ {})   ({} ** 2)   (x ** {})
    ({} < a)   (a < {})   ({} < a < b)   (a < b < {})   (0 < {} < a)   (0 < {} < x)   (a == {} == b)   ({} != a != b)   ({} == a)
    ({} is None)   ({} is not None)   ({} == None)   (None != {})   ({} == True)   (({} or 0) < 1 < a)
    (({} == True and g) or None)   ((g and ({} or None)) == True)
    ({} in (1, 2))   ({} not in (1, 2.5, None))   (0 < {} in (1, 2))   ({} in ('a', 'b'))
    ({} or s).startswith('a')   ('a' in ({} and s))
"""
"""With spaces between; each is nested in itself and in the others, which the machine code grows with."""
WRITTEN_OUT = (
    "({}, a // b)[0]",
    "(a // b, {})[1]",
    "r._replace(n={}).n",
    "r._replace(n={}).m",
    "R({}, a // b, 0.0).n",
    "((a, b // a) if {} else (b, a // b))[0]",
    "(R(a, b // a) if {} else R(b, a // b)).n",
    "(r._replace(n=a // b) if {} else r).m",
    "(({}, a // b) if g else (a, {}))[0]",
)
"""These are written out for each field of the register: bounded by that, not by the text."""
TEMPLATES = (*(template for line in ONCE.split("\n") for template in line.strip().split("   ") if template), *WRITTEN_OUT)
DEPTHS = (4, 13, 40, 95)
WIDE = (
    " and ".join(["a // b"] * 490),
    "min(" + ", ".join(["a % b"] * 99) + ")",
    " or ".join(["x ** x < 1"] * 330),
    "(" + " and ".join(["int(x)"] * 300) + ") == 1",
    " < ".join(["(a // b)"] * 240),
    " and ".join("min(" + ", ".join(["a % b"] * 90) + ")" for _ in range(5)),
    "a in (" + ", ".join(map(str, range(1500))) + ")",
    " and ".join(["a in (1, 2)"] * 400),
    "a" + " if g else a" * 95,
)
LINES, LINES_A_CHARACTER = 60, 5


class Dear(NamedTuple):
    """What text costs: lines of IR by character, seconds of CPU."""

    lines: float
    seconds: float
    text: str


def nested(templates: Sequence[str]) -> Iterator[str]:
    """Each template in the operand of the next, as deep as the text may be."""
    text, depths = "a", set(DEPTHS)
    for depth in range(1, max(DEPTHS) + 1):
        text = templates[depth % len(templates)].replace("{}", text)
        if len(text) > 10_000:
            return
        if depth in depths:
            yield text


def check(text: str, native: Native | None) -> Dear:
    """Do all that is done with the text of a fence, and compile its code; the code is as long as it may be."""
    begun = time.process_time()
    lines = 0.0
    try:
        expr = parse.__wrapped__(text, FENCE, *SCHEMAS)
    except ExpressionError:  # too deep, too large when written out, nothing that has a meaning
        return Dear(0.0, time.process_time() - begun, text)
    ranges(expr, SCHEMAS[0])
    split(expr, *SCHEMAS)
    text_of_expr(expr, SCHEMAS[1])
    may_raise(expr, *SCHEMAS)
    callable_of(expr, FENCE, SCHEMAS[1])
    if "r" not in sides(expr):
        vector_of(expr, *SCHEMAS)
        implied(expr, [], SCHEMAS[0])
    code = compiled_arc(Arc("a", "b", text), EVENT, REGISTER).code
    if code is not None:
        lines = _lines(code, text, native)
    return Dear(lines, time.process_time() - begun, text)


def _lines(code: ArcCode, text: str, native: Native | None) -> float:
    bound = LONGEST if any(piece in text for piece in ("]", ".n", ".m")) else min(LONGEST, LINES + LINES_A_CHARACTER * len(text))
    slot = [SlotClass(0, code, True)]
    step = step_ir(slot, REGISTER.width)
    assert code.lines <= bound, f"{code.lines} lines for {len(text)} characters: {text}"
    for ir in (code.test_ir, unchanged_ir(slot), step):
        assert ir.count("\n") <= 2 * bound + 200, f"{ir.count(chr(10))} lines for {len(text)} characters: {text}"
    if native is not None:
        native.function(text, lambda: step)
    return code.lines / len(text)


def run(pairs: int, seed: int) -> tuple[Dear, Dear]:
    """Check each template in itself, and pairs of them: so many, or all; the longest code, and the dearest text."""
    native = Native()
    found = [check(text, native) for text in WIDE]
    for template in TEMPLATES:
        *others, deepest = nested([template])
        found += [check(text, None) for text in others] + [check(deepest, native)]
    chosen = [pair for pair in itertools.product(TEMPLATES, TEMPLATES) if pair[0] != pair[1]]
    if pairs >= 0:
        chosen = random.Random(seed).sample(chosen, pairs)
    found += [check(text, None) for pair in chosen for text in nested(pair)]
    return max(found), max(found, key=lambda dear: dear.seconds)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=-1)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    for what, dear in zip(("longest", "dearest"), run(options.pairs, options.seed)):
        print(f"{what}: {dear.lines:.1f} lines a character, {dear.seconds:.3f} s: {dear.text[:100]}")


if __name__ == "__main__":
    main()
