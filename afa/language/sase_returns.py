"""RETURN's items, as tokens: ``a.x AS n, a.(x, y)``, and ``Name( .. )`` around them."""

from __future__ import annotations

from typing import Any

from afa.language.sase_grammar import RefusedError


def is_call(tokens: list[Any]) -> bool:
    """Return whether tokens are ``name( .. )`` as a whole."""
    if len(tokens) < 3 or tokens[0].type != "NAME" or tokens[1].type != "LPAR" or tokens[-1].type != "RPAR":
        return False
    depth = 0
    for i, token in enumerate(tokens[1:], 1):
        depth += {"LPAR": 1, "RPAR": -1}.get(token.type, 0)
        if depth == 0:
            return i == len(tokens) - 1
    return False


def split(tokens: list[Any]) -> list[list[Any]]:
    """Return the items between commas that stand in no parentheses."""
    if not tokens:
        return []
    items: list[list[Any]] = [[]]
    depth = 0
    for token in tokens:
        depth += {"LPAR": 1, "LBRACKET": 1, "LBRACE": 1, "RPAR": -1, "RBRACKET": -1, "RBRACE": -1}.get(token.type, 0)
        if token.type == "COMMA" and depth == 0:
            if not items[-1]:
                raise RefusedError("expected a value but got ','; leave the comma out", token.start_pos)
            items.append([])
        else:
            items[-1].append(token)
    if not items[-1]:
        raise RefusedError("expected a value behind ',' but got none; leave the comma out", tokens[-1].start_pos)
    return items


def name_and_value(item: list[Any]) -> tuple[Any, list[Any]]:
    """Return the name behind AS or None, and the value's tokens."""
    if len(item) > 2 and item[-2].type == "NAME" and str(item[-2]).lower() == "as" and item[-3].type != "DOT":
        if item[-1].type != "NAME":
            raise RefusedError(f"expected a name behind AS but got {str(item[-1])!r}; write AS name", item[-1].start_pos)
        return item[-1], item[:-2]
    return None, item


def several(item: list[Any]) -> list[list[Any]]:
    """Return ``a.(x, y)`` as ``a.x`` and ``a.y``; all else as it is."""
    at = next((i for i in range(1, len(item)) if item[i].type == "LPAR" and item[i - 1].type == "DOT"), None)
    if at is None:
        return [item]
    names = item[at + 1 : -1]
    plain = [token for token in names if token.type == "NAME"]
    if item[-1].type != "RPAR" or [token.type for token in names] != (["NAME", "COMMA"] * len(plain))[:-1]:
        raise RefusedError("expected fields in .( ) but got another expression; write a.(x, y)", item[at].start_pos)
    return [[*item[:at], token] for token in plain]
