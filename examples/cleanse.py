"""How far ahead of the last watermark: as early as can be, or never withdrawn; Cleanse decides, before or after the operator.

A door that opens while the alarm is on, with nothing in between, is a break-in. The keypad's message comes late: the alarm was off.
Without Cleanse the police is called at once, and called off. With sigma = 0 before the operator nothing is computed until it is
final; after the operator all is computed, and only what is final leaves.

It prints:

    as early as can be
      door at 20: + Breakin(door='back') [20, 70)
      off at 15, late: - Breakin(door='back') [20, 70)
      door at 45: + Breakin(door='front') [45, 100)
      all before 60 has come: Punctuation(t=60)
      2 computed, 1 withdrawn
    sigma = 0, before the operator
      all before 60 has come: + Breakin(door='front') [45, 100), Punctuation(t=60)
      1 computed, 0 withdrawn
    sigma = 0, after the operator
      all before 60 has come: + Breakin(door='front') [45, 100), Punctuation(t=60)
      2 computed, 1 withdrawn
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton, Change, Operator, Punctuation, insert
from speculation import Cleanse


class Message(NamedTuple):
    what: str
    door: str = ""


class Breakin(NamedTuple):
    door: str = ""


PATTERN = Automaton(
    start="start",
    final={"broken"},
    register=Breakin(),
    event=Message,
    arcs=[
        Arc("start", "on", lambda e, r: e.what == "alarm"),
        Arc("on", "broken", lambda e, r: e.what == "door", lambda e, r: Breakin(e.door)),
    ],
)
STREAM = [
    ("alarm at 10", insert(Message("alarm"), le=10)),
    ("door at 20", insert(Message("door", "back"), le=20)),
    ("off at 15, late", insert(Message("off"), le=15)),
    ("alarm at 40", insert(Message("alarm"), le=40)),
    ("door at 45", insert(Message("door", "front"), le=45)),
    ("all before 60 has come", Punctuation(60)),
]


def one(o: Change | Punctuation) -> str:
    return str(o) if isinstance(o, Punctuation) else f"{'+' if o.diff > 0 else '-'} {o.payload} [{o.le}, {o.re})"


def tell(title: str, operator: Any) -> None:
    print(title)
    for what, item in STREAM:
        if out := operator.push(item):
            print(f"  {what}: {', '.join(map(one, out))}")
    print(f"  {operator.statistics.outputs} computed, {operator.statistics.retractions} withdrawn")


def main() -> None:
    tell("as early as can be", Operator(PATTERN, window=60))
    tell("sigma = 0, before the operator", Cleanse(0).before(Operator(PATTERN, window=60)))
    tell("sigma = 0, after the operator", Cleanse(0).after(Operator(PATTERN, window=60)))


if __name__ == "__main__":
    main()
