"""Explanation: why. The core imports none of it; `afa.METHODS` names the methods that it gives to the core's classes.

explain_automaton  what becomes of each arc: `Automaton.explain`
draw/              pictures of automata: SVG, Mermaid, DOT
funnel/            why there is no match: what arcs were asked, where partial matches ended
reasons/           why a match came, or went: a stage around an operator
tracing/           a run as a page: events, partial matches, matches, what was withdrawn and why
"""

from afa.explain.explain_automaton import ArcExplanation, Explanation, explain

__all__ = ["ArcExplanation", "Explanation", "explain"]
