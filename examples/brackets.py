"""Brackets that close in order: a stack in the register makes an automaton a pushdown automaton ([AFA10] App. B).

Spans that open and close in a log: each has to end before the one around it. The stack is a number, of which each digit in base 4
is an open bracket; the last digit is on top. So 31 may be open at once; one more is an error, never a wrong answer.

It prints:

    ( at 10, [ at 20, ] at 30: + [] ends at 30
    ) at 40: + ([]) ends at 40
    { at 15 comes late: - what ends at 40
    } at 17, too: + {} ends at 17, + ({}[]) ends at 40
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton, Operator, insert


class Sign(NamedTuple):
    text: str
    pair: int  # 1 (), 2 [], 3 {}
    opens: bool


class Stack(NamedTuple):
    open: int = 0


PATTERN = Automaton(
    start="start",
    final={"closed"},
    register=Stack(),
    event=Sign,
    arcs=[
        Arc("start", "open", "opens", "(pair,)", name="opens"),
        Arc("open", "open", "opens and r.open > 0", "(r.open * 4 + pair,)", name="opens within"),
        Arc("open", "open", "not opens and r.open % 4 == pair", "(r.open // 4,)", name="closes the last one"),
        Arc.epsilon("open", "closed", "r.open == 0", name="all are closed"),
    ],
)


def sign(text: str, at: int) -> Any:
    place = "([{)]}".index(text)
    return insert(Sign(text, place % 3 + 1, place < 3), at)


def told(op: Operator, out: list[Any]) -> str:
    return ", ".join(f"{'+' if o.diff > 0 else '-'} {brackets(op, o)} ends at {o.le}" for o in out) or "nothing"


def brackets(op: Operator, change: Any) -> str:
    """The brackets of a match in force: its lineage."""
    return "".join(event.payload.text for _, event in next(op.lineage(change).paths())) if change.diff > 0 else "what"


def main() -> None:
    op = Operator(PATTERN, window=1000)
    print("( at 10, [ at 20, ] at 30:", told(op, op.push_many([sign("(", 10), sign("[", 20), sign("]", 30)])))
    print(") at 40:", told(op, op.push(sign(")", 40))))
    print("{ at 15 comes late:", told(op, op.push(sign("{", 15))))
    print("} at 17, too:", told(op, op.push(sign("}", 17))))


if __name__ == "__main__":
    main()
