"""Pictures: the text of functions, Mermaid, the table."""

from __future__ import annotations

import functools
import linecache
import re
import subprocess
import sys
from typing import Any

import pytest
from rich.console import Console

from afa import Arc, Automaton
from afa.cli.show import table
from afa.explain.draw.drawing import escape, mermaid
from afa.explain.draw.words import text_of
from tests.automata import Total

LIMIT = 3


def closures(k: int) -> list[Any]:
    z = k + 1
    return [
        lambda e, r: e.x < k,
        lambda e, r: e.x < z + k,
        lambda e, r: any(x > z for x in e.xs),
        lambda e, r: (lambda q: q + k)(e),
    ]


def short(e: Any, r: Any) -> bool:
    """A docstring is not the text."""
    return e.x   <   LIMIT  # fmt: skip


def two_steps(e: Any, r: Any) -> Any:
    y = e.x
    return y < LIMIT


def wordy(e: Any, r: Any) -> bool:
    return e.first_long_name < e.second_long_name < e.third_long_name < e.fourth_long_name


@functools.lru_cache
def cached(e: Any, r: Any) -> bool:
    return e in {1, 2, 3}


multi = lambda e, r: (  # noqa: E731
    e.x < 1 and r.y == "a\nb"
)
one, real, flag = (lambda e: e * 1), (lambda e: e * 1.0), (lambda e: e * True)
zero, minus = (lambda e: e + 0.0), (lambda e: e + -0.0)
folded, product = (lambda e: 6), (lambda e: 2 * 3)
same, again = (lambda e: (e)), (lambda e:  e)  # fmt: skip
fences = {name: (lambda e, r, n=n: e.x < n) for n, name in enumerate("ab")}


@pytest.mark.parametrize(
    ("function", "text"),
    [
        *zip(closures(1), ["e.x < k", "e.x < z + k", "any((x > z for x in e.xs))", "(lambda q: q + k)(e)"]),
        (short, "e.x < LIMIT"),
        (two_steps, "two_steps"),
        (wordy, "wordy"),
        (cached.__wrapped__, "e in {1, 2, 3}"),
        (multi, "e.x < 1 and r.y == 'a\\nb'"),
        (one, "e * 1"),
        (real, "e * 1.0"),
        (flag, "e * True"),
        (zero, "e + 0.0"),
        (minus, "e + -0.0"),
        (same, "e"),
        (fences["b"], "e.x < n"),
    ],
)
def test_text(function: Any, text: str) -> None:
    assert text_of(function) == text


@pytest.mark.parametrize(
    "function",
    [folded, product, len, print, functools.partial(short, 1), eval("lambda e: e.x")],
    ids=["folded", "product", "builtin", "print", "partial", "eval"],
)
def test_no_text_rather_than_a_wrong_one(function: Any) -> None:
    assert text_of(function) is None


def test_a_file_edited_since_has_no_text(tmp_path: Any) -> None:
    file = tmp_path / "edited.py"
    file.write_text("fence = lambda e, r: e.x < 1\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert text_of(names["fence"]) == "e.x < 1"
    file.write_text("fence = lambda e, r: e.x < 22\n")
    linecache.checkcache(str(file))
    assert text_of(names["fence"]) is None
    file.write_text("fence = lambda e, r: (\n")
    linecache.checkcache(str(file))
    assert text_of(names["fence"]) is None


ALL_KINDS = Automaton(
    start="end",
    final={'q "1"'},
    register=Total(),
    arcs=[
        Arc("end", "mid", lambda e, r: e.tag == '"#1;"' and e.a | 3 > 2, name="- list"),
        Arc("mid", "mid", lambda e, r: e.x < 1, name="1. noise"),
        Arc("mid", "mid", lambda e, r: -e.x > 1, lambda e, r: Total(r.total + 1)),
        Arc.epsilon("mid", 'q "1"'),
        Arc.epsilon("mid", 'q "1"', lambda r: r.total > 2),
        Arc.timeout("mid", 'q "1"', at=lambda r: r.total + 10, name="after\nten"),
        Arc("mid", "<b>", lambda e, r: True, final=True),
        Arc("mid", "far", lambda e, r: e.aaaaaaaaaaaaaaaaaaaaa + e.bbbbbbbbbbbbbbbbbbbbbbbb + e.cccccccccccccccccc + e.ddd > 0),
    ],
)


def test_mermaid_of_all_kinds() -> None:
    assert mermaid(ALL_KINDS).splitlines() == [  # read by the parser of mermaid 11, too
        "flowchart LR",
        "    dot(( )):::dot --> s0",
        '    s0(["end"])',
        '    s1(["mid"])',
        '    s2((("q #quot;1#quot;")))',
        '    s3((("#lt;b#gt;")))',
        '    s4(["far"])',
        "    s0 -->|\"#45; list: e.tag == '#quot;#35;1#59;#quot;' and e.a #124; 3 #gt; 2\"| s1",
        '    s1 --o|"ignores 1#46; noise: e.x #lt; 1"| s1',
        '    s1 -->|"#45;e.x #gt; 1"| s1',
        '    s1 -.->|"ε"| s2',
        '    s1 -.->|"ε r.total #gt; 2"| s2',
        '    s1 ==>|"time-out after ten: at r.total + 10"| s2',
        '    s1 -->|"True"| s3',
        '    s1 -->|"e.aaaaaaaaaaaaaaaaaaaaa + e.bbbbbbbbbbbbbbbbbbbbbbbb + e.cccccccccccccccccc +..."| s4',
        "    classDef dot fill:black,stroke:black",
    ]


@pytest.mark.parametrize("text", ["".join(map(chr, range(32, 127))), "%%{init}%%", "```x```", "- a", "1) a", "+", "\n", "é∞"])
def test_no_sign_of_a_label_means_anything_to_mermaid(text: str) -> None:
    escaped = escape(text)
    bare = re.sub(r"#(\w+);", "", escaped)
    assert not set(bare) & set('"<>&#;|{}%`*\\:~$\n')
    named = {"quot": '"', "lt": "<", "gt": ">", "amp": "&"}
    back = re.sub(r"#(\w+);", lambda m: named.get(m[1]) or chr(int(m[1])), escaped)
    assert back == " ".join(text.split())


def shown(automaton: Automaton, width: int) -> list[list[str]]:
    console = Console(width=width, color_system=None)
    with console.capture() as capture:
        console.print(table(automaton))
    return [re.split(r"  +", line.strip()) for line in capture.get().splitlines()]


def test_table() -> None:
    rows = shown(ALL_KINDS, 240)
    assert rows[0] == ["name", "from", "to", "kind", "fence", "transfer", "final"]
    assert rows[1][:4] == ["- list", "end", "mid", "consume"]
    assert rows[2] == ["1. noise", "mid", "mid", "ignorable", "e.x < 1"]
    assert rows[3] == ["mid", "mid", "consume", "-e.x > 1", "Total(r.total + 1)"]
    assert rows[4] == ["mid", 'q "1"', "epsilon", "yes"]
    assert rows[6] == ["after", "mid", 'q "1"', "time-out", "at r.total + 10", "yes"]


def test_table_has_no_markup_and_no_empty_column_of_names() -> None:
    plain = Automaton(start="[red]", final={"b"}, arcs=[Arc("[red]", "b", lambda e, r: e.x[0] < 1), Arc("b", "b", print)])
    rows = shown(plain, 120)
    assert rows[0][:2] == ["from", "to"]
    assert rows[1] == ["[red]", "b", "consume", "e.x[0] < 1", "yes"]
    assert rows[2] == ["b", "b", "ignorable", "print", "yes"]


def test_import_afa_loads_no_picture_and_no_command_line() -> None:
    none = ("afa.cli", "afa.explain.draw", "typer", "rich")
    code = f"import sys, afa; print([name for name in sys.modules if name.startswith({none})])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
