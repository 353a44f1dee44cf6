"""The lineage of a match of an operator: the match in its form, and what `afa.lineage` derives it from."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from afa.change import Change
from afa.errors import AfaError, ChangeError
from afa.lineage.lineage import Lineage
from afa.lineage.match_ends import LineageSource, collapsed_of, lineage_of
from afa.lineage.satisfying import condition_of
from afa.model.keys import take_key
from afa.schema import Schema, as_ticks

Chosen = Callable[[Change], Collection[Any]]


def held_of(core: Any, shown: Schema) -> LineageSource:
    """Return what lineages are derived from; ``shown``: of matches. Raises `AfaError` where payloads are not kept."""
    if not core.options.keep_payloads:
        raise AfaError("expected an operator that keeps payloads, for the lineage of a match, but got keep_payloads=False")
    table, faults = core.arcs.table, core.faults is not None
    return LineageSource(core.engine, core.automaton, table, core.progress, faults, shown, core.tells, core.longest)


def lineage_in(core: Any, match: Any, chosen: Chosen | None = None, collapsed: bool = False) -> Lineage:
    """Return the lineage of a match, within a call. See `Matching.lineage`, ``collapsed``: `Matching.collapsed`.

    ``chosen``: the payloads, with all that they hold, of those that are meant, where a stage shows less of them. None: itself.
    """
    held = core.held()
    if core.automaton.choice is not None and core.automaton.choice.rows is not None:
        raise AfaError(
            f"expected ONE ROW PER MATCH, without COUNT(DISTINCT ..), ARRAY_AGG and LISTAGG, for the lineage of a match but got "
            f"{match!r}, of an operator that tells rows"
        )
    match = _in_form(core, held.shown, match, collapsed)
    take = core.automaton.match_schema.take

    def meant(each: Change) -> list[Any]:
        return [tuple(take(payload)) for payload in chosen(each)]  # type: ignore[misc]

    if collapsed:
        found = collapsed_of(held, match, None if chosen is None else meant)
    else:
        only = None if chosen is None else meant(match)
        own = match if not only else match._replace(payload=held.shown.cls(*only[0][: len(match.payload)]))  # without its number
        found = lineage_of(held, own, only)
        found.match = match
    if core.automaton.having is None:
        return found
    found = found.satisfying(condition_of(core.automaton.having))
    if not found.there:
        raise ChangeError(f"expected a match in force but got {match!r}: none of its paths satisfies {core.automaton.having!r}")
    return found


def _in_form(core: Any, shown: Schema, match: Any, collapsed: bool) -> Change:
    """Return a match with its payload and its times as the operator has them."""
    if not isinstance(match, Change):
        raise ChangeError(f"expected a match, a Change as the operator announced it, but got {match!r}")
    if match.le is None or (match.re is None and not collapsed):
        raise ChangeError(f"expected a match with its le and re but got le={match.le!r}, re={match.re!r}")
    if match.key is not None and not core.keyed:
        raise ChangeError(f"expected a match without a key, of an Operator, but got key={match.key!r}")
    key = take_key(match.key) if core.keyed else None
    le = as_ticks(match.le, "le", core.tick)
    re = None if match.re is None else as_ticks(match.re, "re", core.tick)
    payload = match.payload
    if isinstance(payload, tuple) and getattr(payload, "_fields", None) == shown.cls._fields:  # type: ignore[attr-defined]
        payload = tuple(payload)  # a query makes its class anew each time
    return Change(shown.take(payload), le, re, 1, key)
