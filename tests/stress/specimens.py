"""Snapshots of random operators, stages and sources, to be damaged: how each was made, how it is restored, what comes after it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from typing import Any, NamedTuple

from afa import AfaError, Arc, ArcLog, Automaton, Keyed, Operator, Punctuation, insert
from punctuation import BoundedDisorder, ObservedLateness, Union
from punctuation.time import FOREVER
from speculation import Cleanse, Consolidate, Ordered
from tests.arclogs import random_log
from tests.strategies import Choices, Seeded
from tests.streams import PROGRAMS, Mix, Quote, Setting, Tally, Tick, payload, setting, stream, table
from tests.stress import generate, run
from tests.stress.tables import is_arc


class Specimen(NamedTuple):
    """Something that was saved."""

    kind: str
    blobs: list[bytes]  # one; or a whole snapshot and incremental ones
    restore: Callable[[list[bytes], str], Any]  # ``restore(blobs, engine)``, engine "interpreted" or "compiled"
    more: list[Callable[[Any], Any]]  # steps for what was restored: ``step(restored)``, each of which may raise an `AfaError`


def specimen(seed: str) -> Specimen:
    """A random one."""
    choose = Seeded(seed)
    kinds = [
        worlds,
        worlds,
        longest_worlds,
        streams,
        streams,
        streams,
        conditions,
        conditions,
        sets,
        logged,
        cleansed,
        cleansed,
        ordered,
        sources,
    ]
    while (found := choose.one(kinds)(choose)) is None:
        continue
    return found


# -- operators ---------------------------------------------------------------------------------------------------------------------


def worlds(choose: Choices, longest: bool = False) -> Specimen | None:
    """An operator in a random world, somewhere on its way."""
    spec = generate.world(choose, choose.number(6, 40))
    here = generate.World(generate.as_longest(choose, spec) if longest else spec)
    if not here.automaton.event:
        return None
    operator = run.make(here, choose.one(["interpreted", "compiled"]), "drop")
    ops = [op for op in spec["ops"] if op[0] != "save" and op != ("punctuate", FOREVER)]
    cut = choose.number(len(ops) // 3, len(ops))
    for op in ops[:cut]:
        run.call(here, operator, op, here.items(op))

    def restore(blobs: list[bytes], engine: str) -> Any:
        more = {"key": here.options["key"]} if here.options["key"] else {}
        arcs = here.pool[len(here.automaton.arcs) :]
        return type(operator).restore(here.automaton, blobs[0], arcs=arcs, engine=engine, **more)

    more = [lambda op, each=each: run.call(here, op, each, here.items(each)) for each in ops[cut : cut + 8]]
    return Specimen("longest" if longest else "worlds", [operator.snapshot()], restore, more)


def longest_worlds(choose: Choices) -> Specimen | None:
    """One that tells the longest matches only."""
    return worlds(choose, longest=True)


def streams(choose: Choices) -> Specimen:
    """An operator or many keys over a long stream; perhaps with incremental snapshots."""
    program, event = choose.one(list(PROGRAMS)), Quote
    keys = choose.one([(), ("who",), ("name", "who")])
    options = {"window": choose.one([None, 6, 25]), "order_by": choose.one([None, None, "due", "name", "size"])}
    here = setting(program, event, keys, arc_punctuation=choose.chance(20), **options)
    mix = Mix(arcs=choose.one([1, 8]), promise=choose.one([0, 2, 10]), shift=5, early=choose.one([2, 10]))
    items, _ = stream(choose, here, choose.number(10, 80), mix, choose.one([1, 6]) if keys else 1)
    operator = here.make(choose.one(["interpreted", "compiled"]))
    cut = choose.number(len(items) // 2, len(items))
    blobs = []
    for item in items[:cut]:
        _give(operator, item)
        if keys and choose.chance(4) and len(blobs) < 3:
            blobs.append(operator.snapshot(incremental=True))
    blobs.append(operator.snapshot(incremental=True) if keys else operator.snapshot())
    return Specimen("streams", blobs, _restoring(here, type(operator)), _giving(items[cut : cut + 12]))


FOLDERS = tempfile.TemporaryDirectory(prefix="afa specimens ")
"""For as long as the process lives."""
LINES = [
    {"name": name, "src": src, "dst": dst, "fence": fence}
    for name, src, dst in (("ab", "a", "b"), ("bb", "b", "b"), ("bc", "b", "c"))
    for fence in ("sort != 2", "size > 0 and r.n < 3")
]


def logged(choose: Choices) -> Specimen:
    """One that follows an arc log."""
    arcs = [Arc("a", "b", "sort != 1", "(r.n + 1, 0.5, r.word, r.last)", name="ab"), Arc("b", "c", "size > 0", name="bc")]
    own, window = Automaton(start="a", final={"c"}, arcs=arcs, register=Tally(), event=Quote), choose.one([None, 9])
    log = ArcLog(tempfile.mkdtemp(dir=FOLDERS.name), own)
    lines = random_log(choose, LINES, choose.number(4, 20), 30)
    operator: Any = Operator(own, window=window, engine=choose.one(["interpreted", "compiled"]))

    def write(n: int) -> None:
        for line in lines[:n]:
            log.append(line)
        del lines[:n]

    for clock in range(choose.number(5, 30)):
        write(choose.number(0, 2))
        _give(operator, insert(payload(choose, Quote, clock, 3), clock))
        if choose.chance(20):
            _give(operator, Punctuation(clock - choose.number(0, 6)))
        if choose.chance(40):
            log.poll(operator)
    write(3)
    items = [insert(payload(choose, Quote, 31 + i, 3), 31 + i) for i in range(6)]
    more = [*_giving(items[:3]), lambda op: ArcLog(log.path, own).poll(op), *_giving(items[3:]), _giving([Punctuation(33)])[0]]

    def restore(blobs: list[bytes], engine: str) -> Any:
        return Operator.restore(own, blobs[0], engine=engine)

    return Specimen("logged", [operator.snapshot()], restore, more)


CONDITIONS = ("sort <= 1", "sort == 2", "who == 1", "size > 0", "due < 9", "name == 'ash'", "flag", "extra is None")


def conditions(choose: Choices) -> Specimen:
    """One that has been promised conditions, so that its keys were thinned out."""
    program = choose.one(list(PROGRAMS))
    keys = choose.one([(), ("who",)])
    here = setting(program, Quote, keys, retractions=False, window=choose.one([None, 10, 60]), order_by=choose.one([None, "due"]))
    operator, clock, n = here.make(choose.one(["interpreted", "compiled"])), 0, choose.number(10, 60)
    items: list[Any] = []
    for _ in range(n + 10):
        clock += choose.one([0, 1, 2])
        if choose.chance(15):
            t = clock - choose.number(0, 8)
            items.append(Punctuation(t, choose.one(CONDITIONS)) if choose.chance(85) else Punctuation(t - 5))
        items.append(insert(payload(choose, Quote, clock, 3), clock - choose.one([0, 0, 0, 4])))
    for item in items[:n]:
        _give(operator, item)
    return Specimen("conditions", [operator.snapshot()], _restoring(here, type(operator)), _giving(items[n : n + 12]))


def sets(choose: Choices) -> Specimen:
    """One that keeps triggering sets in place of payloads."""
    arcs = [
        Arc("a", "b", "sort != 2", "(r.n, 0.5, r.word, r.last)", name="ab"),
        Arc("b", "b", "sort >= 1 and r.n < 3", "r._replace(n=r.n + 1)", name="bb"),
        Arc("b", "b", "flag", name="stay"),
        Arc("b", "c", "size > 0 and r.n > 0", name="bc"),
        Arc.timeout("b", "d", "r.n + 4", name="bd"),
    ]
    own = Automaton(start="a", final={"c", "d"}, arcs=arcs, register=Tally(), event=Quote)
    extra = [Arc("c", "c", "sort == 0", name="cc"), Arc("b", "c", "who == 1", name="bc")]
    keys = choose.one([(), ("who",)])
    here = Setting(own, [*arcs, *extra], {"window": 20, "retractions": False, "keep_payloads": False}, keys)
    operator, items, clock, n = here.make(choose.one(["interpreted", "compiled"])), [], 0, choose.number(6, 40)
    for _ in range(n + 10):
        clock += choose.one([0, 1, 2])
        if choose.chance(15):
            items.append(Punctuation(clock - choose.number(0, 6), choose.one([None, *CONDITIONS[:3]])))
        if choose.chance(10):
            items.append(insert(choose.one(extra)))
        items.append(insert(payload(choose, Quote, clock, 3), clock - choose.one([0, 0, 3])))
    for item in items[:n]:
        _give(operator, item)
    return Specimen("sets", [operator.snapshot()], _restoring(here, type(operator)), _giving(items[n : n + 12]))


def _restoring(here: Setting, made: type) -> Callable[[list[bytes], str], Any]:
    arcs = here.pool[len(here.automaton.arcs) :]

    def restore(blobs: list[bytes], engine: str) -> Any:
        if made is Keyed:
            return Keyed.restore(here.automaton, blobs, key=here.key, arcs=arcs, engine=engine)  # type: ignore[arg-type]
        return Operator.restore(here.automaton, blobs[0], arcs=arcs, engine=engine)  # type: ignore[arg-type]

    return restore


def _give(operator: Any, item: Any) -> Any:
    try:
        return (operator.push_arc if is_arc(item) else operator.push)(item)
    except AfaError:
        return None


def _giving(items: list[Any]) -> list[Callable[[Any], Any]]:
    return [lambda op, item=item: (op.push_arc if is_arc(item) else op.push)(item) for item in items]


# -- stages and sources ------------------------------------------------------------------------------------------------------------


def cleansed(choose: Choices) -> Specimen:
    """A stage, alone or with an operator; perhaps one that moves its sigma itself."""
    here = setting(choose.one(["runs", "branches"]), Tick, choose.one([(), ("who",)]), window=12)
    stage: Any = choose.one([Cleanse(4), Cleanse(0), Cleanse(None), Consolidate("call"), Consolidate("punctuation")])
    if choose.chance(30):
        stage = Cleanse.auto(max_chattiness=1.5, memory=30) if choose.chance(60) else Cleanse.auto(max_delay=3, memory=30)
    alone, engine = choose.chance(30), choose.one(["interpreted", "compiled"])
    before = isinstance(stage, Cleanse) and choose.chance(50)
    made = stage if alone else (stage.before if before else stage.after)(here.make(engine))
    items, _ = stream(choose, here, choose.number(10, 60), Mix(arcs=0, promise=8, shift=5, late=0), 4)
    items = [item for item in items if not is_arc(item)]
    cut = choose.number(len(items) // 2, len(items))
    for item in items[:cut]:
        _give(made, item)
    if before and not alone and choose.chance(40):
        clock = max((item.le for item in items[:cut] if not isinstance(item, Punctuation)), default=0)
        rest = [insert(payload(choose, Tick, clock + i, 4), clock + i) for i in range(5)]
        made.push_many(table(rest, Tick, 12, "arrow")[0])

    def restore(blobs: list[bytes], engine: str) -> Any:
        if alone:
            return type(stage).restore(blobs[0], payload=Tick)
        return _restoring(here, Keyed if here.keys else Operator)(blobs, engine)

    return Specimen("stages", [made.snapshot()], restore, _giving(items[cut : cut + 12]))


def ordered(choose: Choices) -> Specimen:
    """AFA+O."""
    here = setting(choose.one(["runs", "branches"]), Tick, choose.one([(), ("who",)]))
    more = {"key": here.key} if here.keys else {}
    number, items, le = 0, [], 0
    op = Ordered(here.automaton, number="due", window=20, gaps=choose.one(["break", "join"]), late="drop", **more)
    for _ in range(choose.number(12, 50)):
        number, le = number + choose.one([1, 1, 1, 2]), le + choose.one([0, 1, 2])
        items.append(insert(payload(choose, Tick, le, 3)._replace(due=number), le))
        if choose.chance(12):
            items.append(Punctuation(le - choose.number(0, 6)))
    items = [item for i, item in sorted(enumerate(items), key=lambda pair: pair[0] + choose.number(0, 4))]
    cut = choose.number(len(items) // 2, len(items))
    for item in items[:cut]:
        _give(op, item)

    def restore(blobs: list[bytes], engine: str) -> Any:
        return Ordered.restore(here.automaton, blobs[0], engine=engine, **more)  # type: ignore[arg-type]

    return Specimen("ordered", [op.snapshot()], restore, _giving(items[cut : cut + 12]))


def sources(choose: Choices) -> Specimen:
    """A source of promises."""
    kind = choose.number(0, 2)

    def make() -> Any:
        one = [BoundedDisorder(3), ObservedLateness(0.9, memory=12, minimum=4)]
        return one[kind] if kind < 2 else Union({"a": one[0], "b": one[1]}, idle_after=choose_idle, clock=lambda: 9.0)

    choose_idle = choose.one([None, 5.0])
    source = made = make()
    les = [10 * i + choose.number(-30, 3) for i in range(choose.number(5, 40))]
    for le in les:
        made.push(*(["a" if le % 2 else "b"] if kind == 2 else []), insert("x", le))
    names = ["a", "b", "a", "b"]

    def push(source: Any, i: int) -> Any:
        return source.push(*([names[i]] if kind == 2 else []), insert("x", 500 + i))

    more = [lambda source, i=i: push(source, i) for i in range(4)]
    return Specimen("sources", [source.snapshot()], lambda blobs, engine: make().restore(blobs[0]), more)
