"""Pictures of automata.

mermaid     Mermaid text
terminal    a rich table of arcs
words       what both say about an arc
arc_source  the source text of a function, proven to be its own
"""
