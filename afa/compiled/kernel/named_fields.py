"""Take the names of fields out of a kernel: ``b.node_top`` becomes ``m[b + 14]``. See `afa.compiled.kernel.record` for all forms.

What is left is a kernel over words, for our translator, for numba and for Python alike: names cost nothing when it runs. A field
that a record does not have is a SyntaxError, with the line.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from afa.compiled.kernel.record import COLUMN, COUNT, NESTED, WORD, Record, Slice, WordField

AT = "at"
"""Of a view: the name is where words begin."""


class View(NamedTuple):
    """What a name stands for: a record, a slice, or AT; in which array, "" where the name is the array itself."""

    record: Any
    array: str = ""


def lowered(tree: ast.FunctionDef, meaning: Callable[[str], Any]) -> ast.FunctionDef:
    """Take all names of fields out of a kernel, and return it. ``meaning``: what a name stands for that is not the kernel's own."""
    return _Fields(tree, meaning).tree


def as_words(function: Any, scope: dict[str, Any] | None = None) -> Any:
    """Return a kernel as a Python function in which no field is named; its lines stand where they stood.

    ``scope``: where it finds all that is not its own, in place of its module.
    """
    lines, first = inspect.getsourcelines(function)
    (tree,) = ast.parse(textwrap.dedent("".join(lines))).body
    assert isinstance(tree, ast.FunctionDef)
    tree.decorator_list = []
    module = ast.increment_lineno(ast.Module([lowered(tree, function.__globals__.get)], []), first - 1)
    whole = compile(ast.fix_missing_locations(module), inspect.getsourcefile(function) or "kernel", "exec")
    (code,) = [each for each in whole.co_consts if isinstance(each, types.CodeType)]
    return types.FunctionType(code, function.__globals__ if scope is None else scope)


def _parameter(annotation: ast.expr | None) -> tuple[ast.expr | None, str]:
    """Return a parameter's kind, and the array that it names: ``row: Annotated[NodeRow, "w"]``."""
    if isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple):
        kind, array = annotation.slice.elts
        return kind, array.value  # type: ignore[attr-defined]
    return annotation, ""


def _record(node: ast.expr | None, meaning: Callable[[str], Any]) -> Any:
    found = meaning(node.id) if isinstance(node, ast.Name) else None
    return found if isinstance(found, type) and issubclass(found, (Record, Slice)) else None


class _Fields(ast.NodeTransformer):
    """Replaces the fields in a kernel; ``_views``: by name, what it stands for."""

    def __init__(self, tree: ast.FunctionDef, meaning: Callable[[str], Any]) -> None:
        self._meaning = meaning
        self._views: dict[str, View] = {}
        for parameter in tree.args.args:
            kind, array = _parameter(parameter.annotation)
            record = _record(kind, meaning)
            if record is not None:
                self._views[parameter.arg] = View(record, "" if record is Slice else array or record.OF)
                parameter.annotation = _name("int" if record is Slice or record.OF else "Any")
        self._find_views(tree)
        self.tree: ast.FunctionDef = self.generic_visit(tree)  # type: ignore[assignment]

    def _find_views(self, tree: ast.FunctionDef) -> None:
        """Find the names that are given a record, a slice, or where words begin; until no more are found."""
        pairs, known = list(_assigned(tree)), -1
        while known < len(self._views):
            known = len(self._views)
            for name, value in pairs:
                view = self._view(value)
                if view is not None and self._views.setdefault(name, view) != view:
                    raise _refused(value, f"one kind of record in {name!r}")

    def _view(self, node: ast.expr) -> View | None:
        """Return what an expression stands for; None: a word."""
        if isinstance(node, ast.Name):
            return self._views.get(node.id)
        if isinstance(node, ast.Call):
            record = _record(node.func, self._meaning)
            if record is None or record is Slice:
                return record and View(Slice)
            return View(record, ast.unparse(node.args[0]) if len(node.args) == 2 else record.OF)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            view = self._view(node.left)
            return None if view is None or view.record is Slice else view
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute):
            return View(Slice) if (found := self._field(node.value)) and found.inner is Slice else None
        if isinstance(node, ast.Attribute) and (found := self._field(node)) is not None:
            owner = self._view(node.value)
            if found.kind == NESTED:
                return View(found.inner, ast.unparse(node.value))
            is_place = owner is not None and owner.array and not isinstance(node.value, ast.Attribute)
            return View(AT, owner.array) if is_place and found.kind != WORD else None  # type: ignore[union-attr]
        return None

    def _field(self, node: ast.Attribute) -> WordField | None:
        """Return the field that an expression names; None: it names none of a record at some place, or of an array."""
        view = self._view(node.value)
        if view is None or view.record is Slice:
            return None
        if view.record is AT or node.attr not in view.record.FIELDS:
            raise _refused(node, f"a field of {getattr(view.record, '__name__', 'words')}")
        field: WordField = view.record.FIELDS[node.attr]
        return field

    def visit_Call(self, node: ast.Call) -> ast.AST:
        record = _record(node.func, self._meaning)
        if record is Slice and len(node.args) == 2:
            first, count = map(self.visit, node.args)
            return _at(ast.BinOp(ast.BinOp(first, ast.LShift(), ast.Constant(24)), ast.BitOr(), count), node)
        return self.generic_visit(node) if record is None else self.visit(node.args[-1])

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        view = self._view(node.value)
        if view is None:
            record = _record(node.value, self._meaning)
            if record is None:
                return self.generic_visit(node)
            if node.attr != "SIZE" and node.attr not in record.FIELDS:
                raise _refused(node, f"a field of {record.__name__}")
            return _at(ast.Constant(int(getattr(record, node.attr))), node)
        if view.record is Slice:
            return self._part_of_slice(node)
        field = self._field(node)
        assert field is not None
        begin = self._begin(node, field)
        return self._item(node.value, begin, node) if field.kind == WORD else _at(begin, node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        words = node.value
        view = self._view(words)
        if view is not None and view.record is AT:  # of a name, or of a field: where it begins is all that counts
            index = _sum(self.visit(words), self.visit(node.slice))
            return _at(ast.Subscript(_name(view.array), index, node.ctx), node)
        if not isinstance(words, ast.Attribute) or (field := self._field(words)) is None:
            return self.generic_visit(node)
        owner = self._view(words.value)
        if owner is not None and owner.record.BY in ("row", "column") and not owner.array:
            return self._two_indices(node, words.value, owner.record.BY == "row", field)
        if field.kind == WORD:
            raise _refused(node, f"words by number, which {words.attr} is not,")
        return self._item(words.value, _sum(ast.Constant(field.offset), self.visit(node.slice)), node)

    def _begin(self, node: ast.Attribute, field: WordField) -> ast.expr:
        """Return where a field's words begin: in its record, or in the array, where the record stands at a place of it."""
        view = self._view(node.value)
        assert view is not None
        offset = ast.Constant(field.offset)
        if not view.array or field.kind == WORD:
            return offset
        place = self.visit(node.value)
        if field.kind != COLUMN:
            return _sum(place, offset)
        head = _sum(place, ast.Constant(view.record.SIZE))
        cap = self._item(copy.deepcopy(node.value), ast.Constant(view.record.cap), node, ast.Load())
        return _sum(head, ast.BinOp(offset, ast.Mult(), cap)) if field.offset else head

    def _item(self, owner: ast.expr, offset: ast.expr, node: Any, context: ast.expr_context | None = None) -> ast.Subscript:
        """Return a word of a record, or of an array that is one."""
        view = self._view(owner)
        assert view is not None
        array, row = view.array or ast.unparse(owner), None
        if isinstance(owner, ast.Attribute):  # a row of an array
            array, row = view.array, ast.Constant(self._field(owner).offset)  # type: ignore[union-attr]
        elif view.record.BY == "one":
            row = ast.Constant(0)
        if view.array and not isinstance(owner, ast.Attribute):
            offset = _sum(self.visit(owner), offset)
        index = offset if row is None else ast.Tuple([row, offset], ast.Load())
        return _at(ast.Subscript(_name(array), index, context or node.ctx), node)

    def _two_indices(self, node: ast.Subscript, array: ast.expr, by_row: bool, field: WordField) -> ast.AST:
        number: ast.expr = ast.Constant(field.offset)
        index = node.slice
        if isinstance(index, ast.Tuple):  # words by number, each with a row or column of its own
            which, index = index.elts if by_row else index.elts[::-1]
            number = _sum(number, self.visit(which))
        both = [number, self.visit(index)]
        return _at(ast.Subscript(array, ast.Tuple(both if by_row else both[::-1], ast.Load()), node.ctx), node)

    def _part_of_slice(self, node: ast.Attribute) -> ast.AST:
        value = self.visit(node.value)
        if node.attr == "first":
            return _at(ast.BinOp(value, ast.RShift(), ast.Constant(24)), node)
        if node.attr == "count":
            return _at(ast.BinOp(value, ast.BitAnd(), ast.Constant(COUNT)), node)
        raise _refused(node, "first or count of a slice")


def _refused(node: ast.AST, wanted: str) -> SyntaxError:
    return SyntaxError(f"expected {wanted} in a kernel but got {ast.unparse(node)} (line {getattr(node, 'lineno', 0)})")


def _assigned(tree: ast.FunctionDef) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                both = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                pairs = zip(target.elts, node.value.elts) if both else [(target, node.value)]  # type: ignore[attr-defined]
                yield from ((one.id, value) for one, value in pairs if isinstance(one, ast.Name))


def _name(text: str) -> ast.Name:
    return ast.Name(text, ast.Load())


def _sum(left: ast.expr, right: ast.expr) -> ast.expr:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, ast.Constant) and one.value == 0:
            return other
    return ast.BinOp(left, ast.Add(), right)


def _at(new: Any, node: ast.AST) -> Any:
    return ast.copy_location(new, node)
