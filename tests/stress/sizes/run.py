"""A world on both engines and the oracle; and smaller worlds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any

from afa import AfaError, Gapless, Keyed, Punctuation
from tests import oracle
from tests.interrupts import at_line
from tests.model import OK, Model
from tests.strategies import Seeded
from tests.stress.sizes.columns import Form
from tests.stress.sizes.generate import Spec
from tests.stress.sizes.limits import counted, limited, refused
from tests.stress.sizes.seen import classes_of, collisions, level, moved
from tests.worlds.kind import RefusedError, Seen

SAME = ("events", "matches", "pending", "keys", "changes", "late", "stale", "outputs", "retractions")
"""Statistics that do not depend on the engine."""


THREADS = "threads" in signature(Keyed.__init__).parameters


class Side:
    """An operator at work, with its chain of snapshots and what is in force by its outputs."""

    def __init__(self, here: Running, engine: str, threads: int | None = None) -> None:
        self.here = here
        threads = here.spec["options"]["threads"] if threads is None else threads
        options = {name: value for name, value in here.spec["options"].items() if name not in ("key", "keys", "threads")}
        self.threads = {"threads": threads} if threads > 1 and THREADS and engine == "compiled" else {}
        gapless, gaps = options.pop("gapless"), options.pop("gaps")
        if gapless:
            options["gapless"] = self.numbers = Gapless(gapless, gaps=gaps, repeated="drop")
        self.operator = Keyed(here.form.family.automaton, key=here.form.key, engine=engine, **options, **self.threads)
        self.chain: list[bytes] = []

    def save(self, what: str) -> None:
        """Take a snapshot, and perhaps go on with what it says; with "turn" the other engine has it in between."""
        if what == "whole" or not self.chain:
            self.state()
        else:
            self.chain.append(self.operator.snapshot(incremental=True))
        own = self.operator._core.engine.name
        if what == "turn":
            self._restore({"interpreted": "compiled", "compiled": "interpreted"}[own])
            self.state()
        if what in ("again", "turn"):
            self._restore(own)

    def _restore(self, engine: Any) -> None:
        form, options = self.here.form, self.here.spec["options"]
        arcs = form.family.pool[len(form.family.automaton.arcs) :]
        more = {"gapless": self.numbers} if options["gapless"] else {}
        threads = self.threads if engine == "compiled" else {}
        self.operator = Keyed.restore(form.family.automaton, self.chain, key=form.key, arcs=arcs, engine=engine, **more, **threads)

    def state(self) -> bytes:
        """The whole state; a chain begins with it."""
        self.here.seen["snapshots"] += 1
        self.chain = [self.operator.snapshot()]
        return self.chain[0]

    def memories(self) -> list[Any]:
        """The heaps of the compiled engine."""
        engine = self.operator._core.engine
        if engine.name != "compiled":
            return []
        return [store.memory.m for store in engine.store.stores]

    def statistics(self) -> dict[str, int]:
        found = self.operator.statistics
        return {name: getattr(found, name) for name in SAME}


class Running:
    """A world that runs: the interpreted engine leads, the compiled one must do the same, and both what the oracle says."""

    def __init__(self, spec: Spec, make: Callable[[Running, str], Side] = Side) -> None:
        self.spec, self.form = spec, Form(spec)
        options = spec["options"]
        names = ("window", "order_by", "arc_punctuation", "late", "retractions")
        known = self.form.family.known
        if len(known) > 20_000:
            known.clear()
        self.model = Model(self.form.family.automaton, key="who", known=known, **{name: options[name] for name in names})
        self.same = options["retractions"]  # what promises with conditions have made superfluous goes sooner or later
        self.judged = not options["gapless"]  # the model does not say how numbers without gaps end; the engines do
        self.lead, self.side = Side(self, "interpreted"), make(self, "compiled")
        self.twin = Side(self, "compiled", threads=1) if self.side.threads else None  # whose output is the same to the order
        self.alike = True  # as long as both have had the same calls
        self.held: set[Any] = set()
        self.levels: dict[int, int] = {}
        self.seen = Seen()
        self.classes: list[Any] = []

    def run(self) -> Seen:
        """Carry out all operations; an `AssertionError` has the number of the one that fails."""
        for number, op in enumerate(self.spec["ops"]):
            try:
                getattr(self, f"_{op[0]}")(*op[1:])
            except Exception as error:
                raise AssertionError(f"operation {number}, {str(op)[:300]}: {type(error).__name__}: {str(error)[:2000]}") from error
        self._look(48)  # the states, statistics and invariants of both
        if self.side.memories():
            self._count(collisions=collisions(self.side.operator))
        return self.seen

    # -- operations ------------------------------------------------------------------------------------------------------------

    def _push(self, form: str, net: bool, items: list[Any], how: Any, way: int) -> None:
        self._count(calls=1, rows=len(items))
        if form == "single":
            for item in items:
                self._one("single", True, [item], how, way)
        else:
            self._one(form, net, items, how, way)
        self._look(way)
        self._sizes()

    def _one(self, form: str, net: bool, items: list[Any], how: Any, way: int) -> None:
        """One call on both engines: the same output, or refused by both, and then without a trace."""
        lead = "single" if form == "single" else "list"
        before = self.lead.state() if how else b""
        wanted, refusal = _ended(lambda: self.form.push(self.lead.operator, lead, net, items, Seeded(way)))
        if not refusal:
            self._model(items)
        elif refusal[0] not in ("ZeroDivisionError", "ClosureError") and self.judged:
            assert any(outcome != OK for outcome in self._outcomes(items)), f"refused, but good: {refusal}"
        looks = bool(how) or (refusal is not None and way % 2 == 0)
        ours = self._ours() if looks and not self.same else before
        twin = _ended(lambda: self.form.push(self.twin.operator, form, net, items, Seeded(way))) if self.twin else None  # type: ignore[union-attr]
        out, other = self._served(form, net, items, how, way, ours)
        assert other == refusal, f"it ended {other}, expected {refusal}"
        if twin is not None:
            assert twin[1] == refusal, f"with one thread it ended {twin[1]}, expected {refusal}"
            self.alike = self.alike and how is None and refusal is None
            assert not self.alike or out == twin[0], f"with one thread {twin[0]}, with several {out}"
        if refusal:
            self._count(refused=1)
            if looks:
                assert self._ours() == (self.lead.state() if self.same else ours), "a refused call left a trace"
            return
        if out is not None:
            missing, more = (Counter(a) - Counter(b) for a, b in ((wanted, out), (out, wanted)))
            assert not missing, f"missing {dict(missing)}, too much {dict(more)}"
            assert not more, f"too much {dict(more)}"
            order = [(change.diff, change.le) for change in out]
            assert not net or order == sorted(order), "order: retractions first, then insertions, each by LE"
        before_matches = len(self.held)
        self.held = oracle.net([change._replace(payload=(change.key, change.payload)) for change in wanted], self.held)
        self._count(matches=max(0, len(self.held) - before_matches))

    def _served(self, form: str, net: bool, items: list[Any], how: Any, way: int, before: bytes) -> Any:
        """The same call on the other engine, with what befalls it: its output, None where it was lost, and how it was refused."""

        def work() -> list[Any]:
            return self.form.push(self.side.operator, form, net, items, Seeded(way))

        if how is None:
            return _ended(work)
        what, number = how
        if what == "want":
            try:
                with refused(number):
                    return _ended(work)
            except MemoryError:
                assert self._ours() == before, "a call without memory left a trace"
                self._count(without_memory=1)
        else:
            (out, refusal), interrupted = _interrupted(work, number)
            if not interrupted:
                return out, refusal
            found = self._ours()
            if found == self.lead.state() and found != before:
                self._count(interrupted=1)
                return None, None
            assert found == before, f"torn, at {out}"
        self._count(interrupted=1)
        return _ended(work)

    def _save(self, what: str, way: int) -> None:
        if way % 16 == 0 or not self.same:  # what promises with conditions let go depends on it
            self.lead.save("again" if what == "turn" else what)
        self.side.save(what)
        if self.twin is not None:
            self.twin.save(what)
            if what in ("again", "turn"):
                self.alike = self.side.chain == self.twin.chain
        self._count(restored=int(what in ("again", "turn")))
        self.classes = self.classes if what in ("whole", "more") else []
        if what in ("again", "turn"):  # it looks at once, which cleans all keys, or goes on with what was loaded
            self._look(16 if way % 2 else 5)
        else:
            self._look(way)  # a snapshot may be another one, but not what the chain says

    def _arcs(self, t: int) -> None:
        """A promise of the arc input: what was a change is one, or final."""
        sides = [side for side in (self.lead, self.side, self.twin) if side is not None]
        ends = [_ended(lambda: self.form.changes(side.operator.push_arc(Punctuation(t)))) for side in sides]  # noqa: B023
        assert all(end == ends[0] for end in ends), f"they end otherwise: {ends}"
        outcome = self.model.push_arc(Punctuation(t))
        assert (outcome == OK) == (ends[0][1] is None), f"it ended {ends[0]}, expected {outcome}"

    def _check(self) -> None:
        """The oracle, over all that ever came."""
        if not self.judged:
            return
        self._count(asked=1)
        wanted = self.model.matches()
        assert self.held == wanted, f"oracle: missing {wanted - self.held}, too much {self.held - wanted}"

    # -- what it is held against -------------------------------------------------------------------------------------------------

    def _outcomes(self, items: list[Any]) -> Iterator[str]:
        trial = self.model.fork()
        for item in items:
            yield (trial.push_arc if item[0] == "a" else trial.push)(self.form.item(item, model=True))

    def _model(self, items: list[Any]) -> None:
        for item in items:
            outcome = (self.model.push_arc if item[0] == "a" else self.model.push)(self.form.item(item, model=True))
            assert outcome == OK or not self.judged, f"taken, but {outcome}: {item}"

    def _ours(self) -> bytes:
        """The whole state; what is asked for cleans keys, so that the twin is asked as well."""
        if self.twin is not None:
            self.twin.state()
        return self.side.state()

    def _look(self, way: int) -> None:
        """Now and then: invariants, statistics, the whole state. Each of them cleans what a promise has left."""
        if way % 24 == 0:
            for side in (self.side, self.twin, self.lead if way % 96 == 0 else None):
                if side is not None:
                    side.operator._check()
        if way % 12 == 0:
            found, wanted = self.side.statistics(), self.lead.statistics()
            alone = found if self.twin is None else self.twin.statistics()
            assert alone == found or not self.same, f"statistics with one thread {alone}, with several {found}"
            if not self.same:  # each engine has its own pace
                found |= {name: wanted[name] for name in ("events", "matches", "keys")}
            assert found == wanted, f"statistics: {found}, expected {wanted}"
        if way % 16 == 0 and self.same:
            assert self._ours() == self.lead.state(), "the states differ"
            assert self.twin is None or self.twin.chain == self.side.chain, "with one thread it is another state"

    def _sizes(self) -> None:
        """Count which keys have come to another size."""
        held: Counter[int] = Counter()
        final = self.model.effective
        for (payload, le, _), n in self.model.copies.items():
            if n > 0 and le >= final:
                held[payload.who] += 1
        levels = {key: level(n) for key, n in held.items()}
        for key in levels.keys() | self.levels.keys():
            old, new = self.levels.get(key, 0), levels.get(key, 0)
            for passed in range(old + 1, new + 1):
                self.seen["up", passed] += 1
            for passed in range(new, old):
                self.seen["down", passed] += 1
        self.levels = levels
        classes = [classes_of(m) for m in self.side.memories()]
        for before, after in zip(self.classes, classes):
            moved(self.seen, before, after)
        self.classes = classes

    def _count(self, **more: int) -> None:
        self.seen.update(more)


def _ended(work: Callable[[], list[Any]]) -> tuple[list[Any] | None, tuple[str, str] | None]:
    """What a call gives, or how it is refused: by what, and why."""
    try:
        return work(), None
    except (AfaError, ZeroDivisionError) as error:
        said = " ".join([str(error), *getattr(error, "__notes__", [])])
        return None, (type(error).__name__, said.partition(" with register ")[0])  # which of several comes first is not promised


def _interrupted(work: Callable[[], list[Any]], line: int) -> tuple[Any, bool]:
    """A call that is interrupted at a line of the library, if it comes there."""
    ended = at_line(lambda: _ended(work), line)
    return ((ended.out, None), True) if ended.interrupted else (ended.out, False)


def run(spec: Spec, make: Callable[[Running, str], Side] = Side) -> Seen:
    """Run a world under its limits; see `Running.run`. `RefusedError` where it can't be made."""
    with limited(spec["limits"]):
        try:
            here = Running(spec, make)
        except AfaError as error:
            raise RefusedError(str(error)) from None
        with counted(here.seen):
            return here.run()


# -- the least of it ---------------------------------------------------------------------------------------------------------------


def smaller(spec: Spec) -> Iterator[Spec]:
    """Worlds with less: many operations, then few; limits; parts of calls."""
    ops = spec["ops"]
    width = len(ops) // 2
    while width:
        for low in reversed(range(0, len(ops), width)):
            yield {**spec, "ops": ops[:low] + ops[low + width :]}
        width //= 2
    for name, usual in (("scratch", False), ("used", False), ("roomy", True), ("tight", 0), ("warm", None)):
        if spec["limits"][name] != usual:
            yield {**spec, "limits": {**spec["limits"], name: usual}}
    for name in spec["limits"].keys() - {"scratch", "used", "roomy", "tight", "warm"}:
        yield {**spec, "limits": {other: value for other, value in spec["limits"].items() if other != name}}
    for i, op in enumerate(ops):
        if op[0] == "push":
            for items in _parts(op[3]):
                yield {**spec, "ops": [*ops[:i], (*op[:3], items, *op[4:]), *ops[i + 1 :]]}
            for form, how in (("list", op[4]), (op[1], None)):
                if (form, how) != (op[1], op[4]):
                    yield {**spec, "ops": [*ops[:i], ("push", form, op[2], op[3], how, op[5]), *ops[i + 1 :]]}


def _parts(items: list[Any]) -> Iterator[list[Any]]:
    width = len(items) // 2
    while width:
        for low in range(0, len(items), width):
            yield items[:low] + items[low + width :]
        width //= 2
