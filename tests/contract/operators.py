"""Everything that is used like an operator, each with a few rows that it finds something in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from afa import Arc, Automaton, Chain, Keyed, Operator, Reasons, insert, sql
from afa.explain.tracing.recorder import Trace
from afa.language import one
from afa.situations import Derive, Situation, TemporalPattern
from afa.uncertain import Sequence, Worlds, between
from speculation import Choose, Cleanse, Consolidate, LastBefore, Ordered

TICK = "s"
START = 1_704_067_200
"""The LE of the first row: 2024 begins, so that ints and timestamps may say the same."""


class E(NamedTuple):
    """An event with a field called ``kind``, as any other."""

    kind: str
    n: int


class F(NamedTuple):
    """An event that a chain's first operator makes."""

    n: int = 0


ROWS = [("a", 1), ("b", 2), ("a", 3), ("x", 4), ("b", 5)]
"""In order, a second apart."""
PAIR = Automaton(
    start="0", final={"2"}, event=E, register=F(), arcs=[Arc("0", "1", "kind == 'a'", "(n,)"), Arc("1", "2", "kind == 'b'", "(n,)")]
)
SINGLE = Automaton(start="0", final={"1"}, event=E, register=F(), arcs=[Arc("0", "1", "n > 1", "(n,)")])
AGAIN = Automaton(start="0", final={"1"}, event=F, register=F(), arcs=[Arc("0", "1", "n > 1", "(n,)")])
PAIRS = one("a", lambda e: e.kind == "a").next(one("b", lambda e: e.kind == "b")).within("10 s").returns(n=lambda m: m.b.n)
CHOSEN = sql(
    "SELECT * FROM t MATCH_RECOGNIZE (ORDER BY le MEASURES b.n AS last ALL ROWS PER MATCH PATTERN (a b) WITHIN 10 "
    "DEFINE a AS kind = 'a', b AS kind = 'b')",
    event=E,
    tick=TICK,
)


def pattern() -> TemporalPattern:
    """Two situations, one during the other."""
    defined = {"low": Situation("n < 4"), "at_b": Situation("kind == 'b'")}
    return TemporalPattern(event=E, tick=TICK, within="1 minute", where="at_b during low", **defined)


class Kind(NamedTuple):
    """One way to be used like an operator.

    make      makes one that has taken nothing
    restored  makes it of a snapshot
    pickled   whether it may be pickled; else that is refused in words
    ends      whether its tables have the ends of intervals in the place of ``le``
    """

    make: Callable[[], Any]
    restored: Callable[[bytes], Any]
    pickled: bool = False
    ends: bool = False


def operator(**options: Any) -> Operator:
    return Operator(PAIR, window="10 s", tick=TICK, **options)


def plain(blob: bytes) -> Operator:
    return Operator.restore(PAIR, blob)


def keyed() -> Keyed:
    return Keyed(SINGLE, key="kind", window="10 s", tick=TICK)


def ordered() -> Ordered:
    return Ordered(SINGLE, number="n", key="kind", window="10 s", tick=TICK)


def worlds() -> Worlds:
    return Worlds(PAIR, worlds=20, window="10 s", tick=TICK, lower="lower", upper="upper")


def chain() -> Chain:
    return Chain(operator(), Operator(AGAIN, window="10 s", tick=TICK))


BACK = LastBefore(E, {"low": "n < 3"}, tick=TICK)
FILLED = Automaton(start="0", final={"1"}, event=BACK.filled, register=F(), arcs=[Arc("0", "1", "kind == 'b'", "(n,)")])


def look() -> Any:
    return LastBefore(E, {"low": "n < 3"}, filled=BACK.filled, tick=TICK).before(Operator(FILLED, window="10 s", tick=TICK))


def looked(blob: bytes) -> Any:
    return Operator.restore(FILLED, blob, stages=[BACK])


QUERY = PAIRS.of(E).query(tick=TICK)
SEQUENCE: dict[str, Any] = {"of": "kind", "event": E, "window": "10 s", "tick": TICK, "identity": "n"}
LOW = {"low": Situation("n < 4")}

KINDS: dict[str, Kind] = {
    "Operator": Kind(operator, plain, True),
    "interpreted": Kind(lambda: operator(engine="interpreted"), plain, True),
    "members": Kind(lambda: operator(members="n"), plain, True),
    "longest": Kind(lambda: operator(longest=True), plain, True),
    "collapse": Kind(lambda: operator(collapse=True), plain, True),
    "tell": Kind(lambda: operator(members="n", tell="lineage"), plain, True),
    "lineage": Kind(lambda: operator(lineage=True), plain, True),
    "gapless": Kind(lambda: operator(gapless="n"), plain, True),
    "Ordered": Kind(ordered, lambda blob: Ordered.restore(SINGLE, blob, key="kind"), True),
    "Keyed": Kind(keyed, lambda blob: Keyed.restore(SINGLE, blob, key="kind"), True),
    "Query": Kind(lambda: QUERY.operator(), QUERY.restore, True),
    "all rows": Kind(lambda: CHOSEN.operator(), CHOSEN.restore, True),
    "Before": Kind(lambda: Cleanse("2 s").before(operator()), plain),
    "After": Kind(lambda: Choose(window="10 s").after(operator()), plain),
    "Consolidate": Kind(lambda: Consolidate(per="call").after(keyed()), lambda blob: Keyed.restore(SINGLE, blob, key="kind")),
    "LookBack": Kind(look, looked),
    "Reasons": Kind(lambda: Reasons(operator()), lambda blob: Reasons(plain(blob)), True),
    "Trace": Kind(lambda: Trace(operator()), lambda blob: Trace(plain(blob))),
    "Chain": Kind(chain, lambda blob: Chain.restore([PAIR, AGAIN], blob)),
    "Derive": Kind(lambda: Derive(E, tick=TICK, **LOW), lambda blob: Derive.restore(blob, E, tick=TICK, **LOW)),
    "Situated": Kind(lambda: pattern().operator(), lambda blob: pattern().restore(blob)),
    "Worlds": Kind(worlds, lambda blob: worlds().restore(blob), ends=True),
    "Sequence": Kind(
        lambda: Sequence(["a", "b"], **SEQUENCE), lambda blob: Sequence.restore(["a", "b"], blob, **SEQUENCE), ends=True
    ),
}


def change(row: tuple[str, int], at: int, kind: Kind) -> Any:
    """The row that comes ``at`` seconds behind the first one, as a change."""
    return insert(E(*row), between(START + at, START + at) if kind.ends else START + at)


def columns(kind: Kind, times: Callable[[list[int]], Any], rows: slice = slice(None)) -> dict[str, Any]:
    """Rows as a dict of columns; ``times`` makes a column of times of LEs."""
    part = ROWS[rows]
    les = times(list(range(START, START + len(ROWS)))[rows])
    ends = {"lower": les, "upper": les} if kind.ends else {"le": les}
    return {"kind": [name for name, _ in part], "n": [n for _, n in part], **ends}
