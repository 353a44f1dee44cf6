"""Find the source text of a fence or a transfer."""

from __future__ import annotations

import ast
from typing import Any

from afa.expression.function_source import Function, nodes_of
from afa.expression.written import Written

LONG = 60
"""The most characters of a function's text; a longer ``def`` is shown by its name."""


def text_of(function: Any) -> str | None:
    """Return the body of a lambda, or of a ``def`` that is one short return, as text; any other ``def`` goes by its name.

    Parameters
    ----------
    function : callable
        Whatever stands in an `Arc`.

    Returns
    -------
    str or None
        One line in the form of ``ast.unparse``; of an arc given as text that text. None: no source, a source that does not
        compile to this function (the file was edited since), or several that do and differ in text.

    Examples
    --------
    >>> fences = [lambda e, r: e.change < 0, lambda e, r: e.change   >   0]
    >>> [text_of(fence) for fence in fences]
    ['e.change < 0', 'e.change > 0']
    >>> text_of(len) is None
    True
    """
    if isinstance(function, Written):
        return " ".join(function.text.split())
    texts = {_text(node) for node in nodes_of(function)}
    return texts.pop() if len(texts) == 1 else None


def _text(node: Function) -> str:
    if isinstance(node, ast.Lambda):
        return _one_line(node.body)
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    if len(body) == 1 and isinstance(body[0], ast.Return) and body[0].value is not None:
        text = _one_line(body[0].value)
        return text if len(text) <= LONG else node.name
    return node.name


def _one_line(node: ast.expr) -> str:
    return " ".join(ast.unparse(node).split("\n"))
