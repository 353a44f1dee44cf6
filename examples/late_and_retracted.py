"""Events arrive late and are taken back: matches follow, until a watermark makes them final.

Two wrong PINs, then a right one, within 60 seconds. The second wrong one is reported after the right one; then the bank finds
that it was another card. A report from before the last watermark is refused, and leaves the operator as it was.

It prints:

    wrong at 10: nothing
    right at 30: nothing
    wrong at 20, reported late: + Alert(wrong=2) [30, 70)
    wrong at 20 was another card: - Alert(wrong=2) [30, 70)
    wrong at 25, reported late: + Alert(wrong=2) [30, 70)
    all before 40 is reported: Punctuation(t=40)
    wrong at 20 again: refused (LateEventError)
"""

from __future__ import annotations

from typing import NamedTuple

from afa import Arc, Automaton, Change, LateEventError, Operator, Punctuation, insert, retract


class Pin(NamedTuple):
    right: bool


class Alert(NamedTuple):
    wrong: int = 0


PATTERN = Automaton(
    start="start",
    final={"in"},
    register=Alert(),
    event=Pin,
    arcs=[
        Arc("start", "trying", lambda e, r: not e.right, lambda e, r: Alert(1)),
        Arc("trying", "trying", lambda e, r: not e.right, lambda e, r: Alert(r.wrong + 1)),
        Arc("trying", "in", lambda e, r: e.right and r.wrong >= 2),
    ],
)


def told(out: list[Change | Punctuation]) -> str:
    return ", ".join(map(one, out)) or "nothing"


def one(o: Change | Punctuation) -> str:
    return str(o) if isinstance(o, Punctuation) else f"{'+' if o.diff > 0 else '-'} {o.payload} [{o.le}, {o.re})"


def main() -> None:
    operator = Operator(PATTERN, window=60)
    wrong, right = Pin(False), Pin(True)
    print("wrong at 10:", told(operator.push(insert(wrong, le=10))))
    print("right at 30:", told(operator.push(insert(right, le=30))))
    print("wrong at 20, reported late:", told(operator.push(insert(wrong, le=20))))
    print("wrong at 20 was another card:", told(operator.push(retract(wrong, le=20))))
    print("wrong at 25, reported late:", told(operator.push(insert(wrong, le=25))))
    print("all before 40 is reported:", told(operator.push(Punctuation(40))))
    try:
        operator.push(insert(wrong, le=20))
    except LateEventError as error:
        print(f"wrong at 20 again: refused ({type(error).__name__})")


if __name__ == "__main__":
    main()
