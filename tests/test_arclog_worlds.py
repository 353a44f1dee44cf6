"""Random arc logs on an operator: what is in force, what matches and what is late, as a slow replay and the oracle have it."""

from __future__ import annotations

import json
import logging
import os
from pathlib import Path
from typing import Any

from afa import BEGINNING, Arc, ArcLog, Automaton, Keyed, Punctuation, insert
from tests import oracle
from tests.arclogs import Pay, apart, fold, in_force, is_late, random_log
from tests.automata import Total
from tests.lanes import sample
from tests.strategies import Choices, Seeded

ARCS = [
    {"name": name, "src": src, "dst": dst, "fence": fence, "transfer": transfer}
    for name, src, dst in (("above 500", "a", "b"), ("small", "a", "a"), ("z", "b", "b"))
    for fence, transfer in (("amount > 1", None), ("amount < 3", "(r.total + 1,)"))
]
TINY = Automaton(
    start="a", final={"b"}, register=Total(), event=Pay,
    arcs=[Arc("a", "b", "amount > 2", "(r.total + 1,)", name="above 500"), Arc("a", "a", "amount < 2", name="small")],
)  # fmt: skip


def put(folder: Path, lines: list[str], choose: Choices) -> None:
    """Write lines: a file each, or at the end of another one, with or without a newline."""
    for line in lines:
        there = sorted(path for path in folder.iterdir() if path.name.startswith("grow"))
        path = folder / choose.one(["grow 1", "grow 2", f"alone {os.urandom(4).hex()}"])
        text = path.read_text() if path in there else ""
        gap = "\n" if text and not text.endswith("\n") else ""
        with path.open("a") as file:
            file.write(gap + line + choose.one(["\n", "", "\n\n"]))


def a_world(choose: Choices, engine: str, folder: Path) -> int:
    """Random lines at random polls; what is in force, and what matches, as brute force has it; how many lines were late."""
    log, op = ArcLog(folder, TINY), Keyed(TINY, key="who", window=choose.one([4, 9]), engine=engine)
    window, changes = op._core.window, list[Any]()
    lines = random_log(choose, ARCS, choose.number(3, 20), 12)
    lines.sort(key=lambda line: json.loads(line)["at"] + choose.number(0, 9))
    own: dict[str, Any] = {str(arc.name): arc for arc in TINY.arcs}
    taken, promised, held, late = list[dict[str, Any]](), BEGINNING, set[Any](), 0
    for number in range(14):
        for _ in range(choose.number(0, 2)):
            item, le = Pay(choose.one("uv"), choose.number(0, 4)), max(choose.number(0, 12), promised)
            held = fold(op.push(insert(item, le)), held)
            changes.append((item, le, le + window, 1))
        if choose.chance(40):
            promised = max(promised, choose.number(0, number + 3))
            held = fold(op.push(Punctuation(promised)), held)
        n = choose.number(0, 3)
        here, lines = lines[:n], lines[n:]
        put(folder, here, choose)
        if choose.chance(25):
            op = Keyed.restore(TINY, op.snapshot(), key="who", engine=engine)
            log = ArcLog(folder, TINY) if choose.chance(50) else log
        held = fold(log.poll(op), held)
        parts = apart(map(json.loads, here))
        behind = [part for part in parts if is_late(part, taken, own, promised)]
        told = {  # lines of one id that say different things are several
            (str(part.get("id", part)).removeprefix("swap ").strip("'"), part["at"], part.get("sequence"), part["arc"]["name"])
            for part in behind
        }
        assert sum(each.kind == "late" for each in log.told) == len(told), "of a line each name once"
        late += len(behind)
        taken += [part for part in parts if part["at"] >= promised]
        arcs = [(arc if isinstance(arc, Arc) else Arc.from_json(arc), le, re) for _, arc, le, re in in_force(taken, own)[0]]
        found = sorted((str(e.arc.name), repr(e.arc.fence), e.le, e.re) for e in op._core.arcs.table.events)
        final = op._core.progress.final
        assert found == sorted((str(arc.name), repr(arc.fence), le, re) for arc, le, re in arcs if re > final), f"step {number}"
        wanted = {
            (k, *match) for k in "uv" for match in oracle.matches(TINY, [c for c in changes if c[0].who == k], arcs, promised)
        }
        assert held == wanted, f"step {number}"
        op._check()
    return late


@sample(20, 1000)
def test_random_logs_are_what_a_slow_replay_and_the_oracle_make_of_them(engine: str, numbers: range, tmp_path: Path) -> None:
    logging.getLogger("afa.arclog").disabled = True
    try:
        late = sum(a_world(Seeded(f"logs/{number}"), engine, tmp_path / str(number)) for number in numbers)
    finally:
        logging.getLogger("afa.arclog").disabled = False
    assert late > len(numbers)
