"""Pictures of automata.

mermaid     Mermaid text
terminal    a rich table of arcs
words       what both say about an arc: its kind, and the source text of its functions
"""
