"""Whether there would be a match but for a negation: the pattern is counted once more without it.

What a negation forbids ends a partial match as any event does that no arc takes. Only a count without the negation tells whether it
was that which kept the pattern from matching, and not the order, the window or a value.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from afa.explain.funnel.counting import Counting
from afa.explain.funnel.fence_parts import CountedFence
from afa.explain.funnel.labels import event_in_words
from afa.explain.funnel.tally import NegationCount
from afa.expression.arc_functions import SkipText
from afa.model.arc import SKIP, TIMEOUT, Arc
from afa.model.arctable import ArcEvent, ArcTable

TRIED = 4
"""So many negations are left out one by one, before all that end anything are left out together."""


def but_for(counting: Counting, again: Callable[[ArcTable], Counting], keys: str, when: Callable[[int], str]) -> str:
    """Return which negation keeps a pattern from matching, in words; empty: none does.

    ``again`` counts the same events under other arcs; ``keys`` is what the key is called, empty where there are no keys.
    """
    cuts = sorted(counting.cuts.values(), key=lambda cut: (counting.far.get(cut.state, 1 << 30), -cut.ended, cut.negation))
    together = list(dict.fromkeys(cut.negation for cut in cuts))
    for negation in together[:TRIED]:
        if matches := again(_without(counting, [negation])).matches:
            return _in_words([negation], [cut for cut in cuts if cut.negation == negation], matches, counting, keys, when)
    while True:  # what goes on without them may be ended by others
        found = again(_without(counting, together))
        more = [negation for _, negation in found.cuts if negation not in together]
        if found.matches or not more:
            break
        together += dict.fromkeys(more)
    return _in_words(together, cuts, found.matches, counting, keys, when) if found.matches else ""


def cut_in_words(cut: NegationCount, counting: Counting, keys: str, when: Callable[[int], str]) -> str:
    """Say which event a negation forbids that came, and how many partial matches it has ended with such."""
    of = f" (key {cut.key!r})" if keys else ""
    at_end = any(asked.arc.kind == TIMEOUT and asked.arc.src == cut.state for asked in counting.asked.values())
    came = f"{event_in_words(cut.payload, when)} at {when(cut.le)} came {'before the end' if at_end else 'between'}{of}"
    total = counting.ended[cut.state].entered + counting.ended[cut.state].before
    ended = f"ended {cut.ended:,} of {total:,} partial matches" if total > 1 else "ended the one partial match"
    return f"{came}; `{cut.negation}` {ended} in `{cut.state}`"


def _without(counting: Counting, negations: Collection[str]) -> ArcTable:
    """Return the arcs as they were without these negations."""
    asked = counting.asked
    return ArcTable(ArcEvent(_passing(asked[id(arc)], negations), le, re) for arc, le, re in counting.table.events)


def _passing(asked: CountedFence, negations: Collection[str]) -> Arc:
    if asked.arc.kind != SKIP or not any(words in negations for words in asked.bars.values()):
        return asked.arc
    left = [(part.text, asked.bars.get(i)) for i, part in enumerate(asked.parts) if asked.bars.get(i) not in negations]
    bars = tuple((text, words) for text, words in left if words is not None)
    return asked.arc.changed(fence=SkipText(" and ".join(f"({text})" for text, _ in left) or "True", bars))


def _in_words(
    negations: list[str], cuts: list[NegationCount], matches: int, counting: Counting, keys: str, when: Callable[[int], str]
) -> str:
    names = " and ".join(f"`{name}`" for name in negations)
    without = f"without {'it' if len(negations) == 1 else 'them'} there would be {matches:,} match{'es' * (matches != 1)}"
    return f"{names}: {cut_in_words(cuts[0], counting, keys, when)}, {without}"
