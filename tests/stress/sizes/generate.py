"""A random world as data: how the states of its keys grow and shrink, call by call.

    ("push", form, net, items, how, way)    one call; ``form``: a list, a kind of table, or "single": a call for each item;
                                            ``how``: None, or what befalls it; ``way``: a number that chooses encodings
    ("save", what, way)                     "whole", "more" (of what has changed), "again" (restored from the chain), "turn" (by
                                            the other engine)
    ("arcs", t)                             a promise of the arc input
    ("check",)                              the oracle is asked

Items are ``("e", key number, payload, le, re, diff)``, ``("p", t, condition)`` and ``("a", sign, index in the pool, le, re)``.

What befalls a call: ``("line", n)``: an interrupt after n lines of the library, ``("want", n)``: no memory for its n-th array; then
it is done again. A call whose last item raises, or is late, or makes late what waits, is refused by itself.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from punctuation.time import FOREVER
from tests.strategies import Choices
from tests.stress.sizes import families, limits
from tests.stress.sizes.families import KEYS, POISON

Spec = dict[str, Any]


def world(choose: Choices, shared: Choices | None = None) -> Spec:
    """The spec of a random world; the automaton and what goes with it are what ``shared`` chooses."""
    shared = shared or choose
    family = families.family(shared)
    spec: Spec = {"family": family, "options": options(shared, family), "limits": limits.chosen(choose), "ops": []}
    if not spec["options"]["retractions"] and choose.chance(60):
        spec["limits"]["ROOM"] = 0  # what promises with conditions make superfluous goes at once
    spec["options"]["key"] = choose.one(KEYS)
    spec["options"]["keys"] = choose.one([2, 5, 12, 12, 24, 40, 120] * 5 + [600])
    maker = Maker(choose, spec)
    for _ in range(choose.number(3, 7)):
        maker.phase()
    if choose.chance(20):
        maker.push([("p", FOREVER, None)])
    maker.op(("check",))
    return scaled(spec, choose.one(UNITS))


UNITS = (1, 1, 1, 1000, 1024, 10**9, 60 * 10**9)


def scaled(spec: Spec, unit: int) -> Spec:
    """The world with so many ticks for each of its ticks: milliseconds, nanoseconds."""

    def of(t: int | None) -> int | None:
        return t if t is None or t == FOREVER else t * unit

    def item(found: Any) -> Any:
        if found[0] == "p":
            return ("p", of(found[1]), found[2])
        return (*found[:3], of(found[3]), of(found[4]), *found[5:])

    ops = [(*op[:3], list(map(item, op[3])), *op[4:]) if op[0] == "push" else op for op in spec["ops"]]
    ops = [("arcs", of(op[1])) if op[0] == "arcs" else op for op in ops]
    return {**spec, "ops": ops, "options": {**spec["options"], "window": of(spec["options"]["window"])}}


def options(choose: Choices, family: Spec) -> Spec:
    """The options of an operator."""
    windows = {"runs": [25, 60], "branches": [4, 9], "waits": [9, 25], "words": [9, 25]}
    field = "seq" if "automaton" in family else "due"
    if family["event"] == "Thin":
        field = "who"
    about = choose.one(["plain"] * 12 + ["ordered"] * 2 + ["only"] * 4 + ["gapless"] * 2)
    gapless = about == "gapless" and family["event"] in ("Mid", "Wide")
    return {
        "window": choose.one(windows[family["program"]] if "program" in family else [2, 4, 9]),
        "order_by": field if about == "ordered" else None,
        "late": choose.one(["raise", "drop", "drop"]),
        "arc_punctuation": choose.chance(8) and about != "only",
        "retractions": about != "only",
        "gapless": "seq" if gapless else None,
        "threads": choose.one([1] * 6 + [2, 3]),
        "gaps": choose.one(["break", "join"]) if gapless else None,
    }


class Maker:
    """Makes the operations of a world, and keeps what they leave in force."""

    def __init__(self, choose: Choices, spec: Spec) -> None:
        self.choose, self.spec = choose, spec
        self.options, self.event = spec["options"], spec["family"]["event"]
        self.clock, self.promised, self.arcs_promised = 0, 0, 0
        self.held: dict[int, list[Any]] = {}  # of each key, events that could be retracted
        self.awaited: list[Any] = []  # insertions whose retraction is there
        self.next: Counter[int] = Counter()  # where numbers have no gaps: of each key
        self.arcs = len(families.Family.of(spec["family"]).pool)

    def op(self, op: Any) -> None:
        self.spec["ops"].append(op)

    def push(self, items: list[Any], how: Any = None) -> None:
        """One call with these items."""
        choose = self.choose
        if not items:
            return
        events = all(item[0] == "e" for item in items)
        forms = ["list", "dict", "list", "dict", "arrow", "arrow", "tables", "pandas"] if events else ["list", "list", "kinds"]
        if any(item[0] == "p" and item[2] for item in items):
            forms = ["list"]
        if len(items) <= 12 and how is None:
            forms.append("single")
        net = choose.chance(88)
        if how is None and choose.chance(11):
            how = choose.one([("line", choose.number(1, choose.one([10, 60, 300]))), ("want", choose.number(1, 6))])
            how = how if self.options["retractions"] else None
        form = choose.one(forms)
        self.op(("push", form, net, items, None if form == "single" else how, choose.number(0, 999)))
        if choose.chance(13):
            self.op(("save", choose.one(["whole", "more", "again", "again", "again", "turn"]), choose.number(0, 999)))
        if choose.chance(3):
            self.op(("check",))

    # -- what happens ----------------------------------------------------------------------------------------------------------

    def phase(self) -> None:
        """Something that goes on for some calls."""
        kinds = ["spread"] * 3 + ["hot"] * 3 + ["mixed"] * 3 + ["promise"] * 3 + ["arc", "fail", "fail", "fail", "fail", "rise"]
        kinds += ["rise"] * 8 if self.spec["limits"]["warm"] == 0 else []  # records go on where loops are compiled
        revised = self.options["retractions"]
        kinds += ["thin", "thin", "border", "border", "border", "border"] if revised else ["promise"] * 3 + ["some"] * 6
        getattr(self, f"_{self.choose.one(kinds)}")()

    def _spread(self) -> None:
        """One row of each key, or of most of them."""
        n = self.options["keys"]
        keys = sorted(range(n), key=lambda _: self.choose.number(0, 9999))
        self.push([self.event_of(key) for key in keys[: self.choose.number(1, n)]])

    def _hot(self) -> None:
        """Many rows of a few keys, and perhaps some of others among them."""
        choose, hot = self.choose, [self.key() for _ in range(self.choose.one([1, 1, 1, 3]))]
        hot = [self.largest()] if choose.chance(40) else hot
        for _ in range(choose.number(1, 2)):
            n = choose.one([4, 9, 20, 50, 50, 150])
            self.push([self.event_of(choose.one(hot) if choose.chance(90) else self.key()) for _ in range(n)])

    def _mixed(self) -> None:
        """Rows of any keys, with promises and arcs among them."""
        choose, items = self.choose, []
        few = [self.key() for _ in range(choose.number(1, 12))]
        for _ in range(choose.one([4, 12, 40])):
            kind = choose.number(0, 99)
            if kind < 4:
                items.append(self.promise())
            elif kind < 8:
                items.append(self.arc())
            elif kind < 20 and self.options["retractions"]:
                items += self.retraction(choose.one(few))
            elif kind < 23 and self.options["retractions"] and not self.options["gapless"]:
                items += self.early()
            else:
                items.append(self.event_of(choose.one(few)))
        self.push(items)

    def _thin(self) -> None:
        """Most events of a key, or of several, are retracted: the latest, the oldest, or any."""
        choose, items = self.choose, []
        for key in {self.largest(), *(self.key() for _ in range(choose.one([1, 4, 12])))}:
            for _ in range(choose.number(1, 1 + len(self.held.get(key, ())))):
                items += self.retraction(key, choose.one(["last", "last", "first", "any"]))
        at = 0
        while at < len(items):
            n = choose.one([8, 25, 200])
            self.push(items[at : at + n])
            at += n

    def _border(self) -> None:
        """Keys go to and fro about their sizes."""
        choose, keys = self.choose, {self.key() for _ in range(self.choose.one([2, 6, 15]))}
        for _ in range(choose.number(2, 4)):
            items: list[Any] = []
            for key in keys:
                n = choose.one([1, 1, 2, 3, 8])
                if choose.chance(50):
                    items += [self.event_of(key) for _ in range(n)]
                else:
                    items += [item for _ in range(n) for item in self.retraction(key, "last")]
            self.push(items)

    def _promise(self) -> None:
        """A promise, and perhaps what comes behind it in the same call."""
        choose = self.choose
        self.push([self.promise(), *(self.event_of(self.key()) for _ in range(choose.one([0, 0, 1, 5])))])
        if self.options["arc_punctuation"]:
            self.arcs_promised = max(self.arcs_promised, self.promised - choose.one([0, 0, 5]))
            self.op(("arcs", self.arcs_promised))

    def _some(self) -> None:
        """Promises about some events, others that come late, and at last a promise about all events that ends among them."""
        choose = self.choose
        keys = [self.key() for _ in range(choose.one([1, 3, 9]))]
        self.push([self.event_of(choose.one(keys)) for _ in range(choose.one([4, 12, 30]))])
        low = self.promised
        for _ in range(choose.number(1, 2)):
            self.push([("p", max(self.clock - choose.one([0, 1, 3, 9]), low), self.condition())])
            self.push([self.event_of(choose.one(keys), choose.one([0, 4, 12])) for _ in range(choose.number(0, 8))])
        if choose.chance(70):
            self.promised = max(low, self.clock - choose.number(0, 15))
            self.push([("p", self.promised, None)])
        if choose.chance(40):
            self.op(("save", choose.one(["again", "turn"]), choose.number(0, 999)))

    def _arc(self) -> None:
        self.push([self.arc() for _ in range(self.choose.number(1, 3))])

    def _fail(self) -> None:
        """A call that ends with something that is refused, and then without it; or it does not come again."""
        choose = self.choose
        kept = self.clock, {key: list(events) for key, events in self.held.items()}, Counter(self.next)
        keys = [self.key() for _ in range(choose.number(1, 5))]
        items = [self.event_of(choose.one(keys)) for _ in range(choose.one([1, 5, 30]))]
        if self.options["retractions"]:
            if choose.chance(40):  # revisions alone: a record of the same size takes the place of the old one
                items = []
            revised = choose.chance(60)
            for key in [self.largest(), *(self.key() for _ in range(choose.number(0, 4)))]:
                items += self.retraction(key, "any", 100 if revised else 15)
            items = items or [self.event_of(keys[0])]
        last = self.refused(choose.one(keys))
        if self.options["late"] == "raise":
            items.append(("p", self.promised, None))  # BEGINNING may be all that is promised
        if last is None and choose.chance(50):
            last = ("a", -1, 0, None, None)  # of an arc that may not be in force any more
        if last is not None:
            at = choose.number(len(items) // 2, len(items))
            self.op(("push", "list", True, [*items[:at], last, *items[at:]], None, choose.number(0, 999)))
        if last is not None and choose.chance(30):
            self.clock, self.held, self.next = kept
        else:
            self.push(items)

    def _rise(self) -> None:
        """Tables of rows in order of most keys, one of which is refused at its end."""
        choose, n = self.choose, self.options["keys"]
        falls = choose.number(1, 3)
        for turn in range(choose.number(2, 4)):
            keys = [key for key in range(n) if choose.chance(80)][:: choose.one([1, -1])] * choose.one([1, 1, 1, 2, 4]) or [0]
            kept = self.clock, Counter(self.next)
            items = [self.in_order(key) for key in keys]
            last = self.refused(keys[-1]) if turn == falls else None
            form = choose.one(["dict", "dict", "arrow", "list"])
            if last is not None:
                self.push([("p", self.promised, None)])  # BEGINNING may be all that is promised
                self.op(("push", form, True, [*items, last], None, choose.number(0, 999)))
                if choose.chance(50):
                    self.clock, self.next = kept
                    continue
            for item in items:
                self.held.setdefault(item[1], []).append(item)
            self.op(("push", form, choose.chance(80), items, None, choose.number(0, 999)))

    # -- items -----------------------------------------------------------------------------------------------------------------

    def in_order(self, key: int) -> Any:
        """An event of a key later than all before."""
        self.clock, number = max(self.clock + 1, self.promised), None
        if self.options["gapless"]:
            number = self.next[key]
            self.next[key] += 1
        return ("e", key, families.payload(self.choose, self.event, key, self.clock, number), self.clock, None, 1)

    def refused(self, key: int) -> Any:
        """An event that makes a call fail; None: there is none. *Requires* a promise."""
        choose = self.choose
        if self.spec["family"]["poison"] and choose.chance(70):
            le = max(self.clock, self.promised)
            number = max(self.next.values(), default=0) + 100 if self.options["gapless"] else None
            return ("e", key, families.payload(choose, self.event, key, le, number, POISON), le, None, 1)
        if self.options["late"] == "raise":
            return ("e", key, families.payload(choose, self.event, key, self.promised), self.promised - 1, None, 1)
        return None

    def key(self) -> int:
        """A key; small numbers more often."""
        n = self.options["keys"]
        return self.choose.number(0, self.choose.number(0, n - 1))

    def largest(self) -> int:
        return max(self.held, key=lambda key: len(self.held[key]), default=0)

    def event_of(self, key: int, late: int = 0) -> Any:
        """An event of a key, mostly at the clock or somewhat before; ``late``: by how much at most."""
        choose = self.choose
        if self.options["gapless"]:
            return self.numbered(key)
        if self.awaited and choose.chance(10):
            item = self.awaited.pop()
            if item[3] >= self.promised:
                return item
        self.clock += choose.one([0, 0, 1, 1, 2])
        le = self.clock - (choose.number(1, choose.one([3, 20])) if choose.chance(25) else 0)
        le -= choose.number(0, late)
        if late or not choose.chance(1):
            le = max(le, self.promised)
        re = le + choose.one([1, 2, 5, 20]) if choose.chance(10) else FOREVER if choose.chance(1) else None
        diff = choose.one([2, 3]) if choose.chance(3) else 1
        item = ("e", key, families.payload(choose, self.event, key, le), le, re, diff)
        if self.held.get(key) and choose.chance(3):  # once more
            item = choose.one(self.held[key])
        if item[3] >= self.promised:
            self.held.setdefault(key, []).append((*item[:5], 1))
        return item

    def numbered(self, key: int) -> Any:
        """An event with the next number of its key, or one that was passed over."""
        choose = self.choose
        late = [item for item in self.awaited if item[1] == key and item[3] >= self.promised]
        if late and choose.chance(30):
            self.awaited.remove(late[0])
            self.held.setdefault(key, []).append(late[0])
            return late[0]
        item: Any = None
        for _ in range(1 + choose.chance(15)):
            if item is not None:
                self.awaited.append(item)
            self.clock += choose.one([0, 1, 1, 2])
            le = max(self.clock, self.promised)
            item = ("e", key, families.payload(choose, self.event, key, le, self.next[key]), le, None, 1)
            self.next[key] += 1
        self.held.setdefault(key, []).append(item)
        return item

    def retraction(self, key: int, which: str = "any", revised: int = 15) -> list[Any]:
        """The retraction of an event that a key holds, if there is one; perhaps with another version of it."""
        choose, held = self.choose, [item for item in self.held.get(key, ()) if item[3] >= self.promised]
        self.held[key] = held
        if not held:
            return []
        item = held.pop({"last": -1, "first": 0, "any": choose.number(0, len(held) - 1)}[which])
        items = [(*item[:5], -1)]
        if choose.chance(revised) and not self.options["gapless"]:
            new = ("e", key, families.payload(choose, self.event, key, item[3]), item[3], item[4], 1)
            held.append(new)
            items.append(new)
        return items

    def early(self) -> list[Any]:
        """A retraction whose insertion comes later."""
        key, le = self.key(), max(self.clock, self.promised)
        item = ("e", key, families.payload(self.choose, self.event, key, le), le, None, 1)
        self.awaited.append(item)
        return [(*item[:5], -1)]

    def promise(self) -> Any:
        """A promise, some way behind the clock."""
        choose = self.choose
        t = max(self.clock - choose.one([0, 1, 3, 10, 30, 60]), self.promised if choose.chance(95) else 0)
        if not self.options["retractions"] and choose.chance(75):
            return ("p", t, self.condition())
        self.promised = max(self.promised, t)
        if choose.chance(20):
            self.clock = max(self.clock, t + choose.one([5, 40]))  # a pause: keys become empty
        return ("p", t, None)

    def condition(self) -> str:
        """A condition of a promise."""
        field = "sort" if "program" in self.spec["family"] else "kind"
        where = self.choose.one(["{} == 0", "{} != 1", "{} > 0", "{} == 2", "{} < 2", "{} >= 0", "{} == 1"])
        return where.format(f"e.{field}")

    def arc(self) -> Any:
        """A change of an arc."""
        choose, index = self.choose, self.choose.number(0, self.arcs - 1)
        if choose.chance(50):
            return ("a", choose.one([1, -1]), index, None, None)
        low = self.arcs_promised if self.options["arc_punctuation"] else self.promised
        le = max(low, self.clock + choose.number(-20, 5))
        return ("a", 1, index, le, choose.one([FOREVER, le + 2, le + 15]))
