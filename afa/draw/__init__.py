"""Pictures of automata.

mermaid  Mermaid text
table    a rich table of arcs
words    what both say about an arc
source   the source text of a function, proven to be its own
"""
