"""Patterns of Flink's as pattern trees: word for word, and as Flink means them.

Word for word, next, followedBy and followedByAny are our ``next``, ``followed_by`` and ``followed_by_any``. `RULES` says what Flink
means beside that; each rule can be heeded or not:

    loop        The stage that waits says what may be skipped, not the one in which a match rests: followedBy(b) skips what b could
                not take, so behind a loop also what one more iteration could take. Said with ``followed_by_any``, b absent.
    optional    An optional stage that takes nothing skips nothing: what follows does not heed what it could take. Said with
                ``either``: the patterns with it and without it.
    until       Takes no event of which it holds, and skips none between two iterations. Said with a condition, ``absent_between``.
    greedy      The next stage neither takes nor skips what one more iteration could take. Said with ``absent`` and a condition.
    not in loop notFollowedBy behind a loop holds between its iterations, too. Said with ``absent_between``.
    notNext     The first event behind is none of these. Said with ``either``: it is the next stage's, or a component of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from afa.expression.nodes import Const, Expr, conjunction
from afa.language.pattern import ANY, NEXT, STRICT, Component, Either, Gap, Pattern, Repeat, Seq, Tree
from tests.language.flink import asked_again, component, exclusive, fails, query, term

Stage = dict[str, Any]
RULES = ("loop", "optional", "until", "greedy", "not in loop", "notNext")
STRATEGIES = {"strict": STRICT, "relaxed": NEXT, "any": ANY}


class UnsaidError(Exception):
    """Word for word there is no word for it."""


@dataclass(frozen=True)
class Link:
    """A stage that takes an event or more, and how it joins the one before."""

    pattern: Pattern
    begin: Component
    contiguity: str
    absent: tuple[Component, ...] = ()
    head: Expr | None = None  # of the first event behind the last one
    loops: bool = False


@dataclass(frozen=True)
class Way:
    """Stages one after the other; what the next one has to heed."""

    links: tuple[Link, ...] = ()
    absent: tuple[Component, ...] = ()
    greedy: tuple[Component, ...] = ()
    until: Expr | None = None  # of a greedy loop: behind it nothing is greedy
    head: Expr | None = None


def tree(case: dict[str, Any], rules: frozenset[str]) -> Tree:
    """A case, by some of the rules; `UnsaidError` where it has a word that means nothing without its rule."""
    found = [pattern for way in ways(case["pattern"], case, rules) for pattern in joined(way, rules)]
    last = case["pattern"][-1]
    absent = (component(last, case, absent=True),) if last["contiguity"] == "not_followed_by" else ()
    return query(case, either(found), absent)


def either(items: list[Pattern]) -> Pattern:
    """One of several."""
    return Either(tuple(items)) if len(items) > 1 else items[0]


# -- which stages take events ----------------------------------------------------------------------------------------------------


def ways(stages: list[Stage], case: dict[str, Any], rules: frozenset[str]) -> list[Way]:
    """The sequences of stages that take events, by which optional ones do."""
    found = [Way()]
    for stage in stages:
        found = [longer for way in found for longer in with_stage(way, stage, case, rules)]
    return [way for way in found if way.links]


def with_stage(way: Way, stage: Stage, case: dict[str, Any], rules: frozenset[str]) -> list[Way]:
    """One more stage: one that takes events, and if it is optional, one that takes none."""
    for word, rule in (("until", "until" in stage), ("notNext", stage["contiguity"] == "not_next")):
        if rule and word not in rules:
            raise UnsaidError(word)
    if stage["contiguity"] == "not_next":
        absent = component(stage, case, absent=True)
        return [replace(way, links=headed(way.links, absent), head=fails(whole(absent)))]
    if stage["contiguity"] == "not_followed_by":
        absent = component(stage, case, absent=True)
        links = way.links
        if "not in loop" in rules and links and isinstance(links[-1].pattern, Repeat):
            links = (*links[:-1], replace(links[-1], pattern=between(links[-1].pattern, absent)))
        return [replace(way, links=links, absent=(*way.absent, absent))]
    greedy: tuple[Component, ...] = ()
    until = None
    if stage.get("greedy") and "greedy" in rules:
        greedy = (absent_one(component(stage, case)),)
        until = term(stage["until"]) if "until" in stage else None
    found = []
    for links in taken(stage, case, rules):
        for absent, head in joins(way):
            begun = replace(links[0], absent=(*links[0].absent, *absent), head=head)
            found.append(Way((*way.links, begun, *links[1:]), greedy=greedy, until=until))
    if stage.get("optional") and "optional" in rules:
        found.append(replace(way, greedy=(*way.greedy, *greedy), until=until or way.until))
    return found


def joins(way: Way) -> list[tuple[tuple[Component, ...], Expr | None]]:
    """What may not be skipped before the next stage, and what holds of the first event."""
    if not way.links:
        return [((), None)]
    if way.until is None:
        return [((*way.absent, *way.greedy), way.head)]
    return [((*way.absent, *way.greedy), fails(way.until)), (way.absent, way.until)]


def taken(stage: Stage, case: dict[str, Any], rules: frozenset[str]) -> list[tuple[Link, ...]]:
    """The ways in which a stage takes events."""
    low, high = stage.get("times", (1, 1))
    optional = bool(stage.get("optional")) and "optional" not in rules
    if "group" in stage and not rules.isdisjoint(("loop", "optional", "until")):
        return [(replace(links[0], contiguity=stage["contiguity"]), *links[1:]) for links in rounds(stage, case, rules)]
    if "group" in stage:
        inner = [pattern for way in ways(stage["group"], case, rules) for pattern in joined(way, rules)]
        item, begin = either(inner), component(stage["group"][0], case)
    else:
        item = begin = component(stage, case)
    gap = Gap(STRATEGIES[stage["loop"]]) if high != 1 else Gap()
    if "until" in stage:
        until = term(stage["until"])
        item = asked_again(replace(item, where=(*item.where, fails(until))))
        gap = replace(gap, absent=(Component(f"until_{item.name}", where=(until,)),)) if gap.strategy != STRICT else gap
    repeats = "times" in stage
    pattern: Pattern = Repeat(item, low, high, gap, bool(stage.get("greedy"))) if repeats else item
    if optional:
        pattern = replace(pattern, low=0) if isinstance(pattern, Repeat) and low == 1 else Repeat(pattern, 0, 1)
    return [(Link(pattern, begin, stage["contiguity"], loops=repeats),)]


def rounds(stage: Stage, case: dict[str, Any], rules: frozenset[str]) -> list[tuple[Link, ...]]:
    """A group that is repeated, as so many groups, up to the number of events."""
    low, high = stage.get("times", (1, 1))
    inner = [way.links for way in ways(stage["group"], case, rules)]
    events = len(case["events"])
    found: list[tuple[Link, ...]] = []
    for count in range(low, (events if high is None else high) + 1):
        for parts in product(inner, repeat=count):
            if count > low and sum(map(len, parts)) > events:
                continue
            again = [(replace(part[0], contiguity=stage["loop"]), *part[1:]) for part in parts[1:]]
            found.append(tuple(link for part in (parts[0], *again) for link in part))
    if stage.get("optional") and "optional" not in rules:
        raise UnsaidError("a group that may be missing, by its rounds")
    if "until" not in stage:
        return found
    until = Component("until_group", where=(term(stage["until"]),))
    barred = [fails(whole(until))]
    return [tuple(replace(x, pattern=narrowed(x.pattern, barred), absent=(*x.absent, until)) for x in links) for links in found]


def between(pattern: Repeat, absent: Component) -> Repeat:
    """A loop with one more that is absent between its iterations."""
    if pattern.high == 1 or pattern.gap.strategy == STRICT:
        return pattern
    return replace(pattern, gap=replace(pattern.gap, absent=(*pattern.gap.absent, absent)))


def headed(links: tuple[Link, ...], absent: Component) -> tuple[Link, ...]:
    """The same where notNext follows: behind each iteration of a loop the first event is none of these."""
    *before, last = links
    if not last.loops or not isinstance(last.pattern, Repeat) or last.pattern.gap.strategy != NEXT:
        return links
    one = last.begin
    passed = Component("passed_in_loop", where=(fails(whole(absent)), fails(whole(one))))
    later = Either((narrowed(one, [fails(whole(absent))]), Seq((passed, one), (Gap(NEXT),))))
    return (*before, replace(last, pattern=Seq((one, Repeat(later, 0, None, Gap(STRICT))), (Gap(STRICT),))))


# -- how one follows the other ---------------------------------------------------------------------------------------------------


def joined(way: Way, rules: frozenset[str]) -> list[Pattern]:
    """The patterns of a way: one; two for each first event behind of which something is asked."""
    found: list[tuple[list[Pattern], list[Gap]]] = [([way.links[0].pattern], [])]
    for number, (before, link) in enumerate(zip(way.links, way.links[1:])):
        more = joints(before, link, number, rules)
        found = [([*items, *new], [*gaps, *joints_]) for items, gaps in found for new, joints_ in more]
    if way.head is not None:
        found = [([*items, Component("behind", where=(way.head,))], [*gaps, Gap(STRICT)]) for items, gaps in found]
    return [Seq(tuple(items), tuple(gaps)) if gaps else items[0] for items, gaps in found]


def joints(before: Link, link: Link, number: int, rules: frozenset[str]) -> list[tuple[list[Pattern], list[Gap]]]:
    """How a stage follows: the items and the gaps before them."""
    pattern = link.pattern
    barred = [fails(whole(absent)) for absent in link.absent if not exclusive(absent.where, link.begin.where)]
    if barred:
        pattern = narrowed(pattern, barred)
    if link.head is None:
        return [([pattern], [gap(before, link, rules)])]
    found: list[tuple[list[Pattern], list[Gap]]] = [([narrowed(pattern, [link.head])], [Gap(STRICT)])]
    if link.contiguity != "strict":
        others = [*link.absent, *([link.begin] if link.contiguity == "relaxed" else [])]
        passed = Component(f"passed{number}", where=(link.head, *(fails(whole(other)) for other in others)))
        found.append(([passed, pattern], [Gap(STRICT), gap(replace(link, pattern=passed), link, rules)]))
    return found


def gap(before: Link, link: Link, rules: frozenset[str]) -> Gap:
    """What may be skipped before a stage."""
    if link.contiguity != "relaxed":
        return Gap(STRATEGIES[link.contiguity], link.absent)
    of = link.pattern.item if isinstance(link.pattern, Repeat) else link.pattern
    if ("loop" in rules and not isinstance(before.pattern, Component)) or ("until" in rules and of != link.begin):
        return Gap(ANY, (*link.absent, absent_one(link.begin)))
    return Gap(NEXT, link.absent)


def narrowed(pattern: Pattern, more: list[Expr]) -> Pattern:
    """A stage with further conditions for its first event."""
    if isinstance(pattern, Component):
        return replace(pattern, where=(*pattern.where, *more))
    assert isinstance(pattern, Repeat)
    assert isinstance(pattern.item, Component)
    return replace(pattern, item=replace(pattern.item, first=(*pattern.item.first, *more)))


def absent_one(of: Component) -> Component:
    """A component as one that is absent."""
    return replace(of, name=f"not_{of.name}")


def whole(of: Component) -> Expr:
    """All that a component asks, as one condition."""
    return conjunction(list(of.where)) if of.where else Const(True)
