"""Arcs that raise on some events and registers, and what they mean: the same arcs, false where they raise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from afa.model.arc import Arc
from afa.model.raised import Faults
from afa.operator import call as core
from afa.operator import snapshot
from afa.operator.options import Options
from tests import oracle
from tests.strategies import Choices, Seeded
from tests.worlds.kind import Worlds

FENCES = ("6 // e.kind > 2", "e.kind != 1 or 1 // (e.kind - 1) < 9", "2 / (e.kind - 2) < 0", "'xyz'[e.kind + 1] != 'y'")
BOTH = ("e.kind // r.x < 2", "r.x // e.kind < 2", "(e.kind + r.x) % (2 - e.kind) == 0")
TRANSFERS = ("R1(r.x // e.kind)", "R1(2 ** 62 * e.kind // 2 ** 61)", "R1((e.kind + 2) % r.x)", "R1('abc'.index('xba'[e.kind]))")
WIDE = ("R2(r.x // e.kind, r.y)", "R2(r.y, e.kind // r.x)")
STILL = ("2 // r.x > 0", "5 % (r.x - 1) == 0")
AT = ("8 // r.x", "4 + 3 // (r.x - 1)", "2 ** 62 * (r.x + 1)")


def made_to_raise(choose: Choices, spec: dict[str, Any]) -> None:
    """Let most arcs of a world raise now and then."""
    width = {"R1(0)": 1, "R2(0, 1)": 2}.get(spec["automaton"]["register"], 0)
    field = "e.sort" if spec["automaton"]["event"] == "T" else "e.kind"
    for arc in [*spec["automaton"]["arcs"], *spec["extra"]]:
        if choose.chance(25):
            continue
        kind = arc.get("kind", "consume")
        if kind == "consume":
            if choose.chance(70):
                fence = choose.one([*FENCES, *(BOTH if width else ())])
                arc["fence"] = choose.one([fence, f"({arc.get('fence', 'True')}) and {fence}"]).replace("e.kind", field)
            if width and arc.get("transfer") and choose.chance(60):
                arc["transfer"] = choose.one(TRANSFERS if width == 1 else WIDE).replace("e.kind", field)
        elif width and kind == "epsilon":
            arc["fence"] = f"({arc.get('fence', 'True')}) and {choose.one(STILL)}"
        elif width:
            arc["at"] = choose.one(AT)


def that_raise(worlds: Worlds) -> Worlds:
    """The same worlds, some of whose functions raise."""

    def generate(seed: str, number: int) -> dict[str, Any]:
        spec: dict[str, Any] = worlds.generate(seed, number)
        made_to_raise(Seeded(f"{seed}/{number}"), spec)
        return spec

    return replace(worlds, generate=generate)


def tamed(arc: Arc) -> Any:
    """An arc for the oracle whose fence is false where a function of it raises; its ``at`` then is never."""

    def quiet(function: Callable[..., Any], otherwise: Any) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            try:
                return function(*values)
            except Exception:
                return otherwise

        return call

    def serves(*values: Any) -> bool:
        if not arc.fence(*values):
            return False
        if arc.transfer is not None:
            for value in arc.transfer(*values):
                assert type(value) is not int or -(2**63) <= value < 2**63, "no int64"
                assert type(value) is not str or value.encode(), "no text"
        return True

    def instant(register: Any) -> int:
        t: int = arc.at(register)
        assert -(2**63) <= t < 2**63, "no instant"
        return t

    at = quiet(instant, oracle.FOREVER) if arc.kind == "timeout" else None
    fence = None if arc.kind == "timeout" else quiet(serves, False)
    ends = {"kind": arc.kind, "src": arc.src, "dst": arc.dst, "final": arc.final, "select": arc.select}
    return SimpleNamespace(**ends, fence=fence, transfer=arc.transfer, at=at)


def matches(automaton: Any, changes: Iterable[Any], arcs: Iterable[Any], *rest: Any) -> set[Any]:
    """What the oracle says of arcs that raise."""
    known: dict[int, Any] = {}
    gentle = [(known.setdefault(id(arc), tamed(arc)), le, re) for arc, le, re in arcs]
    return BRUTE(automaton, changes, gentle, *rest)


BRUTE = oracle.matches


def go_on(monkeypatch: pytest.MonkeyPatch) -> Faults:
    """Let all operators made from now on go on where functions raise, and the model know it; what takes the faults.

    The compiled engine leaves to Python what it can't compile.
    """
    faults, init = Faults(), core.Core.__init__

    def forgiving(self: Any, automaton: Any, options: Options, **more: Any) -> None:
        engine = "auto" if options.engine == "compiled" else options.engine
        init(self, automaton, options.but(engine=engine), **{**more, "faults": faults})

    monkeypatch.setattr(core.Core, "__init__", forgiving)
    monkeypatch.setattr(snapshot, "check_engine", lambda *_: None)
    monkeypatch.setattr(oracle, "matches", matches)
    return faults
