"""What events a match must contain, from the automaton alone.

boxes       the values of an event's fields for which a fence can be true, as alternatives; and arcs with their lifetimes
register_demands  what a fence asks of registers, followed back through transfers to the events that set them
run_graph   the ways in which a run can be accepted: before its first event, between, behind its last one
min_cut     the cheapest arcs that every way passes
witnesses   cuts in the order in which a run passes them, with the distances between them
"""

from afa.replay.witness.boxes import ArcLifetime, Box
from afa.replay.witness.witnesses import Necessary, Witness, necessary

__all__ = ["ArcLifetime", "Box", "Necessary", "Witness", "necessary"]
