"""As many a as b as c, in a row: no regular expression says so, and no context-free grammar; two counters do ([AFA10] App. B).

The words are read off a stream of letters, in whatever order the letters arrive.

It prints:

    aab, cc: + abc ends at 40
    the b at 30 comes late: - the one that ends at 40, + aabbcc ends at 50
    one b more, at 25: - the one that ends at 50
    one a more, at 5: nothing
    one c more, at 60: + aaabbbccc ends at 60
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton, Operator, insert


class Letter(NamedTuple):
    sign: str


class Counts(NamedTuple):
    b: int = 0  # how many b are still to come
    c: int = 0


PATTERN = Automaton(
    start="start",
    final={"done"},
    register=Counts(),
    event=Letter,
    arcs=[
        Arc("start", "a", "sign == 'a'", "(1, 1)", name="first a"),
        Arc("a", "a", "sign == 'a'", "(r.b + 1, r.c + 1)", name="one a more"),
        Arc("a", "b", "sign == 'b'", "r._replace(b=r.b - 1)", name="first b"),
        Arc("b", "b", "sign == 'b' and r.b > 0", "r._replace(b=r.b - 1)", name="one b more"),
        Arc("b", "c", "sign == 'c' and r.b == 0", "r._replace(c=r.c - 1)", name="first c"),
        Arc("c", "c", "sign == 'c' and r.c > 0", "r._replace(c=r.c - 1)", name="one c more"),
        Arc.epsilon("c", "done", "r.c == 0", name="all there"),
    ],
)


def told(op: Operator, out: list[Any]) -> str:
    return ", ".join(f"{'+' if o.diff > 0 else '-'} {word(op, o)} ends at {o.le}" for o in out) or "nothing"


def word(op: Operator, change: Any) -> str:
    """The letters of a match in force: its lineage."""
    return "".join(letter.payload.sign for _, letter in next(op.lineage(change).paths())) if change.diff > 0 else "the one that"


def main() -> None:
    op = Operator(PATTERN, window=1000)
    print("aab, cc:", told(op, op.push_many([insert(Letter(sign), at) for sign, at in zip("aabcc", (0, 10, 20, 40, 50))])))
    print("the b at 30 comes late:", told(op, op.push(insert(Letter("b"), 30))))
    print("one b more, at 25:", told(op, op.push(insert(Letter("b"), 25))))
    print("one a more, at 5:", told(op, op.push(insert(Letter("a"), 5))))
    print("one c more, at 60:", told(op, op.push(insert(Letter("c"), 60))))


if __name__ == "__main__":
    main()
