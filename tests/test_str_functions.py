"""Fences and transfers that make strs or look into them: as functions, as text, as JSON, on both engines."""

from __future__ import annotations

import copy
import json
import random
from collections import Counter
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from afa import Arc, Automaton, ExpressionError, Operator, insert, retract
from afa.compiled.code import strings
from afa.expression import FENCE, TRANSFER, parse, text_of_expr
from afa.schema import Schema


class Step(NamedTuple):
    page: str
    n: int
    note: str | None = None


class Path(NamedTuple):
    path: str = ""
    n: int = 0


KINDS = ("Home", "HOME", "home/a", "cart", "")
BY_TEXT = [
    ("page.upper() == 'HOME'", "(page.lower() + '/', n)"),
    ("page.lower() in ('cart', 'home/a') and n > 0", "(r.path + page + str(n), n)"),
    ("page in r.path or (r.path + '!').endswith('/!')", None),
    ("'a' in page.lower() + '-' + page", "r._replace(path=str(r.n) + page.upper(), n=n)"),
    ("str(n) + page == '1cart'", "(page, n)"),
    ("note is not None and note.upper().endswith('X')", "(r.path, r.n + 1)"),
]
BY_FUNCTION: list[tuple[Any, Any]] = [
    (lambda e, r: e.page.upper() == "HOME", lambda e, r: Path(e.page.lower() + "/", e.n)),
    (lambda e, r: e.page.lower() in ("cart", "home/a") and e.n > 0, lambda e, r: Path(r.path + e.page + str(e.n), e.n)),
    (lambda e, r: e.page in r.path or (r.path + "!").endswith("/!"), None),
    (lambda e, r: "a" in e.page.lower() + "-" + e.page, lambda e, r: r._replace(path=str(r.n) + e.page.upper(), n=e.n)),
    (lambda e, r: str(e.n) + e.page == "1cart", lambda e, r: Path(e.page, e.n)),
    (lambda e, r: e.note is not None and e.note.upper().endswith("X"), lambda e, r: Path(r.path, r.n + 1)),
]
ENDS = [("a", "b"), ("b", "b"), ("b", "b"), ("b", "c"), ("a", "c"), ("b", "c")]


def automaton(way: str) -> Automaton:
    """The same arcs in each way."""
    given = BY_FUNCTION if way == "function" else BY_TEXT
    arcs = [Arc(src, dst, fence, transfer, name=f"{i}") for i, ((src, dst), (fence, transfer)) in enumerate(zip(ENDS, given))]
    found = Automaton(start="a", final={"c"}, event=Step, register=Path(), arcs=arcs)
    if way != "json":
        return found
    wired = [Arc.from_json(json.loads(json.dumps(arc.to_json(found)))) for arc in arcs]
    return Automaton(start="a", final={"c"}, event=Step, register=Path(), arcs=wired)


def stream(seed: int, count: int) -> list[Any]:
    rng, held, out = random.Random(seed), [], []
    for i in range(count):
        if held and rng.random() < 0.2:
            out.append(retract(*held.pop(rng.randrange(len(held)))[:3]))
        else:
            page = rng.choice(KINDS) if rng.random() < 0.8 else f"home/a{i}"
            held.append(insert(Step(page, rng.randrange(3), rng.choice([None, "x", "abX", "y"])), rng.randrange(60), None))
            out.append(held[-1])
    return out


@pytest.mark.parametrize("way", ["text", "function", "json"])
def test_both_engines_say_what_python_says(way: str) -> None:
    for seed in range(2):
        plain = Operator(automaton("function" if way == "json" else way), window=8, engine="interpreted")
        fast = Operator(automaton(way), window=8, engine="compiled")
        for change in stream(seed, 60):
            assert Counter(plain.push(change)) == Counter(fast.push(change))
            plain._check()
            fast._check()
        assert plain.statistics.outputs > 5


def test_tables_and_copies() -> None:
    changes = [change for change in stream(9, 150) if change.diff > 0]
    table = pa.table(
        {
            "page": [change.payload.page for change in changes],
            "n": [change.payload.n for change in changes],
            "note": [change.payload.note for change in changes],
            "le": list(range(len(changes))),
        }
    )
    plain, fast = (Operator(automaton("text"), window=30, engine=engine) for engine in ("interpreted", "compiled"))

    def said(operator: Operator, batch: pa.Table) -> list[str]:
        return sorted(map(str, operator.push_many(batch).to_pylist()))

    first, rest = table.slice(0, 60), table.slice(60)
    assert said(plain, first) == said(fast, first)
    other = copy.deepcopy(fast)
    back = Operator.restore(automaton("text"), fast.snapshot(), engine="compiled")
    wanted = said(plain, rest)
    assert wanted
    assert wanted == said(fast, rest) == said(other, rest) == said(back, rest)


def test_a_truth_about_one_str_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python is asked once for each str, not for each event."""
    asked: list[Any] = []
    evaluate = strings.evaluate
    monkeypatch.setattr(strings, "evaluate", lambda *given: asked.append(given[1]) or evaluate(*given))
    arc = Arc("a", "b", "page.upper() == 'HOME' and n > 0")
    operator = Operator(Automaton(start="a", final={"b"}, event=Step, arcs=[arc]), window=5, engine="compiled")
    table = pa.table({"page": ["home", "x"] * 5000, "n": [1] * 10_000, "note": ["x"] * 10_000, "le": list(range(10_000))})
    assert len(operator.push_many(table)) == 5000
    assert len(asked) < 30


SCHEMAS = Schema.of(Step, "event"), Schema.of(Path, "register")


@pytest.mark.parametrize(
    "text",
    [
        "e.page.upper() == 'A'",
        "(e.page + '-').lower() in ('a', 'b')",
        "e.page in r.path",
        "str(e.n) + e.page != r.path",
        "not e.page in r.path",
    ],
)
def test_text_and_back(text: str) -> None:
    expr = parse(text, FENCE, *SCHEMAS)
    assert text_of_expr(expr) == text
    assert parse(text_of_expr(expr), FENCE, *SCHEMAS) == expr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("page + n == 'a'", r"\+ of something that could be a str; write str\(x\) of a number"),
        ("page * 3 == 'a'", r"\* of something that could be a str; calculate with int, float and bool fields only"),
        (
            "n.upper() == 'a'",
            r"\.upper\(...\) of a value; of a str only startswith\(x\), endswith\(x\), upper\(\) and lower\(\) compile",
        ),
        ("page.upper('x') == 'a'", r"\.upper\(...\) of a value"),
        ("page.strip() == 'a'", r"\.strip\(...\) of a value"),
        ("n in page", r"in, of a value that is no constant in a str; search for a str in a str, or among constants"),
        ("str(n, 2) == 'a'", r"str of 2 arguments or with keywords"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(ExpressionError, match=message):
        parse(text, FENCE, *SCHEMAS)


def test_a_str_that_doubles_is_refused(engine: Any) -> None:
    """Text may come from anywhere: what it makes stays small."""
    arcs = [Arc("a", "b", "True", "('x', 0)"), Arc("b", "b", "True", "(r.path + r.path, n)", name="twice")]
    operator = Operator(Automaton(start="a", final={"b"}, event=Step, register=Path(), arcs=arcs), engine=engine)
    changes = [insert(Step("p", 0), le) for le in range(40)]
    with pytest.raises(ValueError, match="at most 10000 characters in a register made by text but got 16384") as caught:
        operator.push_many(changes)
    assert "arc 'twice'" in str(getattr(caught.value, "__notes__", caught.value.args))
    assert len(parse("(r.path + r.path, n)", TRANSFER, *SCHEMAS).items) == 2


def test_a_str_that_is_none_raises_as_in_python() -> None:
    for fence in ("note.upper() == 'X'", lambda e, r: e.note.upper() == "X"):
        for engine in ("interpreted", "compiled"):
            operator = Operator(Automaton(start="a", final={"b"}, event=Step, arcs=[Arc("a", "b", fence)]), engine=engine)
            with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'upper'"):
                operator.push(insert(Step("p", 0), 1))
            assert len(operator.push(insert(Step("p", 0, "x"), 1))) == 1
