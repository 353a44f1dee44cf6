"""Queries: three notations for one pattern tree, compiled to an `Automaton`.

pattern          the tree
terms            what predicates read of a match
"""
