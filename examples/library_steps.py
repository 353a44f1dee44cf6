"""Stream cleaning ([AFA10] App. A): a book goes from its shelf over the desk out of the door, and a reader may miss it.

The automaton knows the way without the step at the desk, and its matches fill that in: a row of the same stream, in the middle
between the two readings. Where the reading comes late, the row that was filled in goes again.

It prints:

    book 1, desk at 200 and door at 300: nothing to fill in
    book 2, shelf at 120 and door at 320: + filled in: desk at 220
    book 3, shelf at 130 and door at 330: + filled in: desk at 230
    the desk has seen book 2 at 250, and says so late: - filled in: desk at 220
    cleaned: shelf 100, shelf 120, shelf 130, desk 200, desk 230 (filled in), desk 250, door 300, door 320, door 330
"""

from __future__ import annotations

from typing import Any, NamedTuple

from afa import Arc, Automaton, Keyed, insert


class Seen(NamedTuple):
    book: int
    place: str
    at: int


class Missing(NamedTuple):
    desk: int = 0
    shelf: int = 0


PATTERN = Automaton(
    start="start",
    final={"desk missed"},
    register=Missing(),
    event=Seen,
    arcs=[
        Arc("start", "taken", "place == 'shelf'", "r._replace(shelf=e.at)", name="from the shelf"),
        Arc("taken", "desk missed", "place == 'door'", "((r.shelf + e.at) // 2, 0)", name="through the door"),
    ],
)


def told(out: list[Any]) -> str:
    return ", ".join(f"{'+' if o.diff > 0 else '-'} filled in: desk at {o.payload.desk}" for o in out) or "nothing to fill in"


def main() -> None:
    op = Keyed(PATTERN, key="book", window=1000)
    seen: list[Seen] = []
    filled: dict[tuple[int, int], int] = {}

    def push(*readings: Seen) -> str:
        seen.extend(readings)
        out = op.push_many([insert(one, one.at) for one in readings])
        for o in out:
            filled[o.key, o.payload.desk] = filled.get((o.key, o.payload.desk), 0) + o.diff
        return told(out)

    book = [Seen(1, "shelf", 100), Seen(1, "desk", 200), Seen(1, "door", 300)]
    print("book 1, desk at 200 and door at 300:", push(*book))
    for number in (2, 3):
        shelf, door = Seen(number, "shelf", 100 + 10 * number), Seen(number, "door", 300 + 10 * number)
        print(f"book {number}, shelf at {shelf.at} and door at {door.at}:", push(shelf, door))
    print("the desk has seen book 2 at 250, and says so late:", push(Seen(2, "desk", 250)))
    rows = [(one.place, one.at, "") for one in seen] + [("desk", at, " (filled in)") for (_, at), n in filled.items() if n]
    print("cleaned:", ", ".join(f"{place} {at}{how}" for place, at, how in sorted(rows, key=lambda row: row[1])))


if __name__ == "__main__":
    main()
