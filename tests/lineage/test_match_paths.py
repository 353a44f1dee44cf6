"""Ways that the kernels find, over more events than brute force can do: the same as what is derived plainly from the steps."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

import pytest

from afa import AfaError, Arc, Automaton, Change, Keyed, Operator, insert, query
from afa.compiled import choices, compiled_engine, match_paths, path_table
from afa.compiled.kernel import path_layout
from afa.lineage import Lineage
from afa.lineage.match_ends import events_of
from punctuation.promise import Punctuation
from tests.automata import Count
from tests.lineage.checks import plainly
from tests.strategies import Seeded


class Ev(NamedTuple):
    kind: str
    val: int = 0
    of: str | None = None
    price: float = 0.0


@pytest.fixture(autouse=True)
def _all_arcs_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the first event on, so that steps which change nothing are passed over."""
    monkeypatch.setattr(choices, "WARM", 0)


def some(condition: str, window: int | None, strategy: str = "skip_till_any_match", returns: str = "a.val") -> Any:
    within = "" if window is None else f"WITHIN {window}"
    text = f"PATTERN SEQ(A a, B+ b[], C c) WHERE {strategy}(a, b[], c) {{ {condition} }} {within} RETURN {returns}"
    return lambda **options: query(text, event=Ev, type="kind").operator(engine="compiled", **options)


def counts(**options: Any) -> Any:
    """A count in the register: as many partial matches a start as b's."""
    return Operator(
        Automaton(
            start="0",
            final={"c"},
            register=Count(),
            event=Ev,
            arcs=[
                Arc("0", "a", "kind == 'A'"),
                Arc("a", "a", "True", name="wait"),
                Arc("a", "a", "kind == 'B'", "(r.n + val,)", select="b", name="more"),
                Arc("a", "c", "kind == 'C' and r.n > 1", "(r.n % 3,)"),
            ],
        ),
        window=40,
        engine="compiled",
        **options,
    )


def taking(**options: Any) -> Any:
    """All events are taken by an ignorable arc."""
    arcs = [Arc("0", "a", "kind == 'A'"), Arc("a", "a", "True", select="b"), Arc("a", "c", "kind == 'C'")]
    return Operator(Automaton(start="0", final={"c"}, event=Ev, arcs=arcs), window=40, engine="compiled", **options)


OPERATORS: dict[str, Callable[..., Any]] = {
    "any": some("a.val > 0", 40),
    "not falling": some("b[i].val >= b[i-1].val", 60),
    "no window": some("b[i].val >= b[i-1].val", None),
    "next": some("b[i].val >= b[i-1].val", 60, "skip_till_next_match"),
    "contiguous": some("b[i].val >= 0", 60, "strict_contiguity"),
    "with a str": some("b[i].of = a.of", 60, returns="a.of, c.price"),
    "count": counts,
    "taking": taking,
}


def told(found: Lineage) -> Any:
    events = {component: list(changes) for component, changes in found.events().items()}
    return found.count(), list(islice(found.paths(), 300)), events, found.aggregate("val")


def agree(op: Any, matches: Any) -> int:
    """Whether both say the same of each match; how many paths there are."""
    paths = 0
    assert events_of(op._core.held(), matches) == [op.lineage(match).events() for match in matches]
    for match in matches:
        found = told(op.lineage(match))
        with plainly():
            assert found == told(op.lineage(match)), match
        paths += found[0]
    return paths


def asked(op: Any, matches: Any) -> list[Any]:
    """What the kernels tell of each match."""
    found: list[Any] = []
    right = compiled_engine.match_paths

    def noted(*given: Any) -> Any:
        found.append(right(*given))
        return found[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiled_engine, "match_paths", noted)
        for match in matches:
            op.lineage(match)
    return found


def stream(choose: Seeded, n: int) -> list[Ev]:
    return [
        Ev(
            "ABBBXC"[choose.number(0, 5)],
            choose.number(1, 4),
            choose.one((None, "p", "q")),
            choose.one((0.0, -0.0, float("nan"), 1.5)),
        )
        for _ in range(n)
    ]


def in_force(op: Any, calls: Any) -> list[Change]:
    """The matches in force after calls."""
    found: dict[Any, int] = {}
    for call in calls:
        for change in op.push_many(call):
            match = change._replace(diff=1)
            found[repr(match)] = found.get(repr(match), 0) + change.diff
            found[repr(match), "it"] = match  # type: ignore[assignment]
    return [found[name, "it"] for name, n in found.items() if isinstance(name, str) and n > 0]  # type: ignore[misc, index]


@pytest.mark.parametrize("longest", [None, False, True])
@pytest.mark.parametrize("name", list(OPERATORS))
def test_kernels_find_what_is_derived(name: str, longest: bool | None) -> None:
    """In order, and out of order with ties, other lifetimes, retractions.

    Then collapsed, and under ``longest=True``, by a bound: by states and registers, whatever the starts.
    """
    choose, paths = Seeded(f"ways {name}" if longest is None else f"bounded {name}"), 0
    for ties in (False, True):
        events = stream(choose, 70)
        rows = [insert(event, choose.number(0, 40) if ties else le) for le, event in enumerate(events)]
        rows = [row._replace(re=row.le + choose.number(30, 60)) if ties and choose.chance(30) else row for row in rows]
        gone = [row._replace(diff=-1) for row in rows if ties and choose.chance(15)]
        op = OPERATORS[name](longest=bool(longest))
        matches = in_force(op, [rows, gone])[-40 if longest is None else -20 :]
        assert None not in asked(op, matches)
        paths += agree(op, matches) if longest is not False else 0
        for match in matches if longest is not None else ():
            found = told(op.collapsed(match))
            with plainly():
                assert found == told(op.collapsed(match)), match
            paths += found[0]
    assert paths > (5 if name in ("contiguous", "taking") else 100)


def test_a_promise_that_cuts_the_longest_match_off() -> None:
    """What may have come through the promise is derived plainly, and refused where it did."""
    op = OPERATORS["any"](longest=True)
    matches = in_force(op, [[insert(Ev(kind, 1), le) for le, kind in enumerate("ABXBC")]])
    assert None not in asked(op, matches)
    op.push(Punctuation(2))
    with plainly(), pytest.raises(AfaError, match="before the promise of 2"):
        op.lineage(matches[0])
    with pytest.raises(AfaError, match="before the promise of 2"):
        op.lineage(matches[0])
    (longer,) = [change for change in op.push_many([insert(Ev("A", 1), 2)]) if change.diff > 0]  # B at 3 goes with it as well
    assert agree(op, [longer]) == 1
    assert None not in asked(op, [longer])


@pytest.mark.parametrize(
    ("name", "where", "wrong"),
    [
        ("not falling", "_form", lambda right: lambda code: right(code) | path_layout.BY_EVENT),
        ("taking", "_known_arcs", lambda right: lambda *given: right(*given)._replace(takes=0)),
    ],
)
def test_a_planted_fault_is_found(name: str, where: str, wrong: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    op = OPERATORS[name]()
    matches = in_force(op, [[insert(event, le) for le, event in enumerate(stream(Seeded("fault"), 60))]])
    agree(op, matches)
    op = OPERATORS[name]()
    in_force(op, [[insert(event, le) for le, event in enumerate(stream(Seeded("fault"), 60))]])
    monkeypatch.setattr(match_paths, where, wrong(getattr(match_paths, where)))
    with pytest.raises(AssertionError):
        agree(op, matches)


@pytest.mark.parametrize("threads", [1, 2])
def test_keys_at_rest_and_grown(threads: int) -> None:
    choose = Seeded("keys")
    make = query(
        "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_any_match(a, b[], c) { [of] } WITHIN 50 RETURN a.val", event=Ev, type="kind"
    )
    op = make.operator(engine="compiled", threads=threads)
    rows = [insert(event._replace(of=f"k{choose.number(0, 9) ** 2 // 12}"), le) for le, event in enumerate(stream(choose, 500))]
    out = [change for change in op.push_many(rows) if change.diff > 0]
    op.push(Punctuation(400))
    late = [match for match in out if match.le >= 450]
    assert len({match.key for match in late}) > 2
    assert agree(op, late) > 40


def test_a_sequence_and_numbers_without_gaps() -> None:
    """Several steps of one LE; a step behind a gap begins anew."""
    choose = Seeded("sequence")
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE {}(a, b[], c) {{ a.val >= 0 }} WITHIN 30 RETURN a.val"
    for options in ({"order_by": "val"}, {"gapless": "val"}):
        pattern = query(
            text.format("skip_till_any_match"), event=Ev, type="kind", order_by="val" if "order_by" in options else None
        )
        rows = [insert(event._replace(val=n), n // 3) for n, event in enumerate(stream(choose, 90)) if n % 17]
        op = pattern.operator(engine="compiled", **({} if "order_by" in options else options))
        matches = in_force(op, [rows])
        assert agree(op, matches) > 50


def test_a_table_that_is_too_small_grows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(path_table, "COLUMNS", 8)
    monkeypatch.setattr(match_paths, "KEPT", 64)
    op = OPERATORS["not falling"]()
    matches = in_force(op, [[insert(event, le) for le, event in enumerate(stream(Seeded("small"), 60))]])
    assert agree(op, matches) > 100
    monkeypatch.setattr(match_paths, "MOST", 16)  # then it is derived plainly
    assert agree(op, matches[-5:]) > 5


def test_where_python_must_say() -> None:
    """Functions that are not compiled, time-outs, epsilon arcs; an event that machine code leaves to Python."""
    for last in (
        Arc("a", "c", lambda e, r: e.kind == "C" and len(e.kind) == 1),
        Arc("a", "c", "kind == 'C' and val * 4611686018427387904 > r.n"),
    ):
        automaton = Automaton(
            start="0", final={"c"}, register=Count(), event=Ev,
            arcs=[Arc("0", "a", "kind == 'A'"), Arc("a", "a", "True", select="b"), last],
        )  # fmt: skip
        op = Operator(automaton, window=30, engine="auto")
        matches = in_force(op, [[insert(Ev(kind, 4), le) for le, kind in enumerate("ABBBC")]])
        assert [op.lineage(match).count() for match in matches] == [1]


def test_strs_stay_what_they_were() -> None:
    """A lineage tells the texts of when it was asked for, though their numbers are given again."""
    op = Keyed(
        Automaton(start="0", final={"1"}, arcs=[Arc("0", "1", "kind == 'A'")], event=Ev), key="val", window=5, engine="compiled"
    )
    (match,) = op.push_many([insert(Ev("A", 1, "first"), 0)])
    found = op.lineage(match)
    for n in range(1, 40):
        op.push_many([insert(Ev("X", n, f"text {n} {i}"), 10 * n) for i in range(400)])
        op.push(Punctuation(10 * n))
    assert [change.payload.of for _, change in next(found.paths())] == ["first"]
