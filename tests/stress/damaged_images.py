"""Images with damaged words.

Each is refused with a `SnapshotError`, or taken: then the operator takes rows, promises and a snapshot, or raises an error, and its
heap holds (`afa.compiled.image`). What it says may be wrong, as its words are believed; but nothing leaves the memory,
and nothing goes on for ever. They are judged in processes of their own: one that dies, or takes long, is a finding.
"""

from __future__ import annotations

import contextlib
import tempfile
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from afa import AfaError, Keyed, Punctuation, SnapshotError, sql
from afa.compiled import choices
from afa.compiled.compiled_engine import CompiledEngine
from afa.compiled.image import check_heap
from afa.compiled.kernel import layout as k
from afa.compiled.kernel import scan_layout as y
from afa.spark import operator_image as image
from tests.language.backtracking import Row, Sql
from tests.language.sql_worlds import condition, measure, preceded
from tests.strategies import Choices, Seeded
from tests.stress.sizes.families import EVENTS, Family, payload
from tests.stress.sizes.families import family as any_family
from tests.worlds.apart import Apart
from tests.worlds.kind import Seen, Worlds

A, B, C = (("var", name) for name in "abc")
PATTERNS = (
    ("seq", [A, ("times", B, 1, None, True)]),
    ("seq", [A, ("times", ("alt", [B, C]), 0, None, False), C]),
    ("seq", [("times", A, 1, None, True), ("times", B, 1, None, True), C]),
)
"""Of queries in SQL."""
EACH = 40
"""Mutants of one image."""
VALUES = (0, 1, -1, 2, 7, 8, 127, 4096, 1 << 24, 1 << 40, -(1 << 40), 2**62, 2**63 - 1, -(2**63))


class Made:
    """An operator of some history, its image, and what comes after."""

    key = "who"

    def __init__(self, seed: str) -> None:
        choose = Seeded(seed)
        op = self.operator(choose)
        self.automaton = op.automaton
        for _ in range(choose.number(2, 6)):
            self.rows(op, choose, 40)
        op.snapshot()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "made"
            image.publish(op._core, path, None)
            self.found = path.read_bytes()
        self.top, _ = image.TAIL.unpack(self.found[-image.TAIL.size :])

    def operator(self, choose: Choices) -> Keyed:
        self.spec = any_family(choose)
        self.spec["poison"] = False
        self.event = EVENTS[self.spec["event"]]
        sequence = choose.one([None, None, "name"]) if self.spec["event"] in ("Wide", "Quote") else None
        automaton = Family.of(self.spec).automaton
        op = Keyed(automaton, key="who", window=9, late="drop", engine="compiled", order_by=sequence)
        memory = op._core.engine.store.memory  # type: ignore[attr-defined]
        memory.m[k.Memory.packed_limit] = choose.one([0, 9, 40, k.MOST, k.MOST])
        return op

    def payload(self, choose: Choices, key: int, le: int) -> Any:
        return payload(choose, self.spec["event"], key, le)

    def rows(self, op: Keyed, choose: Choices, most: int) -> None:
        """Some rows and perhaps a promise; what is refused is."""
        seen = int(op._core.progress.now)
        now = max(seen, 0)
        keys = [choose.number(0, choose.one([3, 40])) for _ in range(choose.number(1, most))]
        les = [max(now + choose.number(-3, 4), 0) for _ in keys]
        payloads = [self.payload(choose, key, le) for key, le in zip(keys, les)]
        columns = {name: [values[i] for values in payloads] for i, name in enumerate(self.event._fields)}
        with contextlib.suppress(AfaError, ZeroDivisionError):
            op.push_many({**columns, "le": np.array(les), "diff": np.array([1 if choose.chance(90) else -1 for _ in keys])})
        if choose.chance(40):
            op.push(Punctuation(now - choose.number(0, 9)))

    def mutant(self, choose: Choices) -> tuple[bytes, str]:
        """The image with some words that are others."""
        words = np.frombuffer(bytearray(self.found[: 8 * self.top]), np.int64)
        said = []
        for _ in range(choose.one([1, 1, 1, 2, 4])):
            at = self.place(words, choose)
            old = int(words[at])
            kind = choose.number(0, 4)
            if kind == 0:
                new = choose.one(VALUES)
            elif kind == 1:
                new = old + choose.one([1, -1, 8, -8, k.PAGE, -k.PAGE])
            elif kind == 2:
                new = int(np.int64(old) ^ np.int64(1 << choose.number(0, 62)))
            else:
                new = int(words[self.place(words, choose)])
            words[at] = np.clip(new, -(2**63), 2**63 - 1)
            said.append(f"{at}: {old} -> {words[at]}")
        return words.tobytes() + self.found[8 * self.top :], ", ".join(said)

    def place(self, m: Any, choose: Choices) -> int:
        """A word of the control words, the directory, the head of a page, what rows share, what a key holds, or any."""
        begin, keys, n = int(m[k.Memory.dir]), int(m[k.Memory.keys]), self.top
        of = choose.number(0, 5)
        if of == 2 and 0 < (shared := int(m[k.Memory.shared])) < n - y.SHARED_WORDS:
            rest, top = y.SharedClasses.rest, int(m[shared + y.SharedClasses.top])
            least, most = choose.one([(0, 9), (0, rest), (rest, top)])
            return min(shared + choose.number(least, max(least, most)), n - 1)
        if of == 0:
            return choose.number(0, k.CONTROL - 1)
        if of == 1 and 0 < begin < n and keys > 0:
            return min(begin + choose.number(0, keys * k.KeyEntry.SIZE), n - 1)
        if of == 2:
            return min(choose.number(1, max(n // k.PAGE, 1)) * k.PAGE + choose.number(0, k.CELL - 1), n - 1)
        if of <= 4 and 0 < begin < n - k.KeyEntry.SIZE * keys:
            held = abs(int(m[begin + choose.number(0, max(keys - 1, 0)) * k.KeyEntry.SIZE + k.KeyEntry.block]))
            return min(held + choose.number(0, choose.one([4, 24, 300, 1000])), n - 1)
        return choose.number(0, n - 1)

    def judge(self, found: bytes, choose: Choices) -> str:
        """How a mutant ends."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "mutant"
            path.write_bytes(found)
            try:
                op = Keyed._of(image.Image(path).core(self.automaton), self.key)
            except SnapshotError:
                return "refused"
        for _ in range(4):
            with contextlib.suppress(AfaError, ValueError, ArithmeticError, IndexError):
                self.rows(op, choose, 30)
        with contextlib.suppress(AfaError, ValueError, ArithmeticError, IndexError):
            op.snapshot()
        heap = op._core.engine.store.memory  # type: ignore[attr-defined]
        m = heap.m
        entries = m[m[k.Memory.dir] : m[k.Memory.dir] + m[k.Memory.keys] * k.KeyEntry.SIZE].reshape(-1, k.KeyEntry.SIZE)
        check_heap(m, entries[:, k.KeyEntry.block], heap.keys)
        return "taken"


class MadeOfSql(Made):
    """That of a query in SQL, which is a scan."""

    key, event, number = "p", Row, 0

    def operator(self, choose: Choices) -> Keyed:
        while True:
            with contextlib.suppress(AfaError):
                op = sql(self.query(choose).text, event=Row).operator(late="drop")
                if isinstance(op, Keyed) and isinstance(op._core.engine, CompiledEngine):
                    return op

    def query(self, choose: Choices) -> Sql:
        pattern, rows = choose.one(PATTERNS), choose.chance(50)
        before = dict(sorted(preceded(pattern), reverse=True))  # the fewest rows
        used = sorted(before)
        define = {name: condition(choose, used, name, before[name]) for name in used if choose.chance(80)}
        skip = choose.one(("PAST LAST ROW", "TO NEXT ROW", f"TO LAST {used[-1]}"))
        return Sql(pattern, define, (measure(choose, used, rows),), skip, choose.one((None, 6, 20)), rows, True)

    def payload(self, choose: Choices, key: int, le: int) -> Row:
        self.number += 1  # no two rows of one place
        return Row(key, choose.one("xyz"), choose.one([None, 0, 1, 2, 3]), le, self.number)


def numbered(seed: str, number: int) -> tuple[str, int]:
    """The mutant of a number; its image is made where it is judged."""
    return seed, number


@lru_cache(1)
def made(seed: str, family: int) -> Made:
    """The image that some mutants share."""
    return (MadeOfSql if family % 3 == 2 else Made)(f"images/{seed}/{family}")


def run(world: tuple[str, int], engine: None) -> Seen:
    """Judge a mutant; how it ended."""
    seed, number = world
    with mock.patch.object(choices, "WARM", 1 << 60):
        of, choose = made(seed, number // EACH), Seeded(f"damaged/{seed}/{number}")
        found, said = of.mutant(choose)
        try:
            return Seen({of.judge(found, choose): 1})
        except BaseException as error:
            raise AssertionError(f"{said}: {type(error).__name__}: {error}") from error


WORLDS = Worlds("damaged-images", numbered, run, engines=(None,), apart=Apart(seconds=10, memory=8 << 30))
