"""Tree -> SASE+ text, which reads back as an equal tree."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from afa.errors import QueryError
from afa.expression.nodes import Compare, Const, Expr, FieldRead, If, Or, changed, walk
from afa.expression.text import text_of_expr
from afa.language.conjuncts import SLOTS, AggregateTerm, FieldTerm, MisplacedError, PatternPlace, SlotPredicate, place, places
from afa.language.neighbours import as_call, with_terms
from afa.language.pattern import ANY, NEXT, PARTITION, STRICT, Component, Either, Gap, Pattern, Repeat, Seq, Tree, gaps_of, named_in
from afa.language.return_names import default_name
from afa.language.sase_pattern import ANY_EVENT
from afa.language.sase_reader import read_sase
from afa.language.terms import Aggregate, Beside, Classifier, Ref

STRATEGIES = {
    STRICT: "strict_contiguity", PARTITION: "partition_contiguity", NEXT: "skip_till_next_match", ANY: "skip_till_any_match",
}  # fmt: skip
SIGNS = {(1, None): "+", (0, None): "*", (0, 1): "?"}


def sase_text(tree: Tree) -> str:
    """Returns a query as SASE+ text, its window in ticks.

    Raises QueryError where the tree says something that the text can't: so of SQL, whose matches are chosen, and a bag.

    >>> from typing import NamedTuple
    >>> class Stock(NamedTuple):
    ...     price: float
    >>> text = "pattern seq(Stock+ a[], Stock b) where a[i].price>a[i-1].price and b.price<80%*a[a.len].price"
    >>> print(sase_text(read_sase(text, Stock)))
    PATTERN SEQ(Stock+ a[], Stock b)
    WHERE skip_till_next_match(a[], b) {
        a[i].price > a[i-1].price
        and b.price < 0.8 * a[a.LEN].price
    }
    """
    text = _SasePrinter(tree).text()
    try:
        back = read_sase(text, tree.event, type=tree.type_column, order=tree.order)
    except QueryError as error:
        raise _unsaid(f"what does not read back: {error}") from None
    if replace(back, type_column=tree.type_column) != tree:
        raise _unsaid(f"another one, which reads back differently:\n{text}")
    return text


def _unsaid(what: str) -> QueryError:
    return QueryError(f"expected a query that SASE+ text can say but got {what}")


@dataclass(frozen=True)
class _Said(Expr):
    """A term as text, in the place of a term."""

    text: str

    def __str__(self) -> str:
        return self.text


class _SasePrinter:
    """One printing of one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree = with_terms(tree)
        self.places = places(tree.pattern, tree.before, tree.after)
        self.typed = any(each.type is not None for each in named_in((*tree.before, tree.pattern, *tree.after)))
        used = Counter(gap.strategy for gap in gaps_of(tree.pattern))
        self.default = max((NEXT, ANY, PARTITION, STRICT), key=lambda strategy: used[strategy])

    def text(self) -> str:
        """Return the clauses, one a line."""
        tree = self.tree
        conditions = [f"[{', '.join(tree.key)}]"] if tree.key else []
        conditions += [self.condition(each) for each in _predicates(tree)]
        lines = [f"PATTERN SEQ({self.whole()})"]
        if conditions or self.default != NEXT:
            names = ", ".join(f"{name}[]" if place.many else name for name, place in self.places.items())
            inner = "\n    and ".join(conditions)
            lines.append(f"WHERE {STRATEGIES[self.default]}({names}) {{" + (f"\n    {inner}\n}}" if inner else " }"))
        if tree.window is not None:
            lines.append(f"WITHIN {tree.window}")
        if tree.returns:
            values = ", ".join(self.value(name, expr) for name, expr in tree.returns)
            lines.append(f"RETURN {values}" if tree.payload == "Match" else f"RETURN {tree.payload}({values})")
        return "\n".join(lines)

    # -- PATTERN -------------------------------------------------------------------------------------------------------------

    def whole(self) -> str:
        """Returns the text within SEQ( .. )."""
        pattern = self.tree.pattern
        inner = self.sequence(pattern) if isinstance(pattern, Seq) else self.element(pattern)
        return ", ".join([*map(self.negation, self.tree.before), inner, *map(self.negation, self.tree.after)])

    def sequence(self, pattern: Seq) -> str:
        """Return items and what stands between them."""
        text = self.element(pattern.items[0])
        for gap, item in zip(pattern.gaps, pattern.items[1:]):
            text += self.separator(gap) + self.element(item)
        return text

    def separator(self, gap: Gap) -> str:
        """Return a comma or an arrow, with what is absent."""
        sign = ", " if gap.strategy == self.default else f" =>{gap.strategy} "
        return sign + "".join(f"{self.negation(each)}, " for each in gap.absent)

    def element(self, pattern: Pattern) -> str:
        """Return a component or a group in parentheses."""
        match pattern:
            case Component():
                return self.component(pattern)
            case Repeat(item, low, high, gap, greedy):
                sign = SIGNS.get((low, high), f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}")
                sign += "" if greedy else "?"
                plain = gap == Gap(self.default) or high == 1
                if isinstance(item, Component) and plain:
                    return self.component(item, sign)
                tail = "" if plain else f" =>{gap.strategy}" + ",".join(f" {self.negation(each)}" for each in gap.absent)
                return f"({self.sequence(item) if isinstance(item, Seq) else self.element(item)}{tail}){sign}"
            case Seq():
                return f"({self.sequence(pattern)})"
            case Either(items):
                return f"({' | '.join(self.element(item) for item in items)})"
        raise AssertionError(pattern)

    def component(self, component: Component, sign: str = "") -> str:
        """Return ``Type+ name[]``."""
        brackets = "[]" if self.places[component.name].many else ""
        return f"{self.type(component)}{sign} {component.name}{brackets}"

    def negation(self, component: Component) -> str:
        """Return ``~(Type name)``."""
        return f"~({self.type(component)} {component.name})"

    def type(self, component: Component) -> str:
        """Return the type's name, in quotes if it is no name."""
        if component.type is None:
            return ANY_EVENT if self.typed else self.tree.event.__name__
        return component.type if re.fullmatch(r"(?!_$)[^\W\d]\w*", component.type) else repr(component.type)

    # -- WHERE and RETURN ----------------------------------------------------------------------------------------------------

    def condition(self, placed: SlotPredicate) -> str:
        """Return a predicate as a conjunct that is placed where the predicate stands."""
        for expr in _unguarded(placed.expr):
            said = changed(expr, lambda node: _said(node, placed, self.places))
            if any(isinstance(node, Ref | Aggregate | Classifier) for node in walk(said)):
                break
            try:
                same = place(said, self.places) == placed
            except (MisplacedError, KeyError):
                same = False
            if same:
                text = self.expression(said)
                return f"({text})" if isinstance(expr, (Or, If)) else text
        raise _unsaid(f"a condition of {placed.component}.{placed.slot}: {placed.expr}")

    def value(self, name: str, expr: Expr) -> str:
        """Return an item of RETURN."""
        said = changed(expr, _said_of_match)
        if any(
            isinstance(node, Classifier) or (isinstance(node, FieldTerm | AggregateTerm) and not node.component)
            for node in walk(said)
        ):
            raise _unsaid(f"a value of RETURN: {expr}")
        text = self.expression(said)
        return text if name == default_name(expr) else f"{text} AS {name}"

    def expression(self, expr: Expr) -> str:
        """Return an expression of terms as written."""
        return text_of_expr(changed(expr, _written))


def _predicates(tree: Tree) -> Iterator[SlotPredicate]:
    """Yield the predicates of all components, absent ones among them."""
    for component in named_in((*tree.before, tree.pattern, *tree.after)):
        for slot in SLOTS:
            yield from (SlotPredicate(component.name, slot, expr) for expr in getattr(component, slot))


def _unguarded(expr: Expr) -> Iterator[Expr]:
    """Yield an expression with and without ``count < k or`` before it, which stands for a[i-k] by itself."""
    match expr:
        case Or((Compare("<", Aggregate(_, "count", None, False), Const()), *rest)) if rest:
            yield from _unguarded(rest[0] if len(rest) == 1 else Or(tuple(rest)))
    yield expr


def _said(node: Expr, placed: SlotPredicate, where: Mapping[str, PatternPlace]) -> Expr | None:
    """Return a term of a predicate as a notation says it."""
    name, slot, _ = placed
    many = where[name].many
    if isinstance(node, FieldRead):
        return FieldTerm(name, "one" if not many else "first" if slot == "first" else "this", node.name)
    if not isinstance(node, Ref | Aggregate) or node.component not in where:
        return None
    other = where[node.component]
    inside = bool(set(other.loops) & set(where[name].loops)) and slot != "done"
    if not inside or (isinstance(node, Ref) and node.which != "last"):
        return _said_of_match(node)
    taken = other.order < where[name].order  # in this iteration already
    if isinstance(node, Aggregate):
        return AggregateTerm(node.component, node.function, node.field, "now" if node.now or taken else "before")
    if taken and node.back == 0:
        return FieldTerm(node.component, "this", node.field)
    return FieldTerm(node.component, "before", node.field, node.back - 1 if taken else node.back)


def _said_of_match(node: Expr) -> Expr | None:
    """Return a term over all events of a match as a notation says it."""
    if isinstance(node, Aggregate):
        return AggregateTerm(node.component, node.function, node.field, "all")
    return FieldTerm(node.component, node.which, node.field, node.back) if isinstance(node, Ref) else None


def _written(node: Expr) -> Expr | None:
    """Return a term as its text."""
    if isinstance(node, Beside):
        return as_call(node, "next", _written)
    return _Said(_term(node)) if isinstance(node, FieldTerm | AggregateTerm) else None


def _term(term: FieldTerm | AggregateTerm) -> str:
    """Return a term as text."""
    name = term.component
    if isinstance(term, AggregateTerm):
        if term.span == "all" and term.function == "count" and term.field is None:
            return f"{name}.LEN"
        span = {"all": "", "before": "..i-1", "now": "..i"}[term.span]
        return f"{term.function}({name}[{span}]{'' if term.field is None else '.' + term.field})"
    back = f"-{term.back}" if term.back else ""
    index = {"one": "", "first": "[1]", "this": "[i]", "before": f"[i-{term.back + 1}]", "last": f"[{name}.LEN{back}]"}[term.which]
    return f"{name}{index}.{term.field}"
