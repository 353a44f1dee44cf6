"""Uncertain time: matches with a confidence, where nobody knows which came first.

interval           when an event may have happened: `between`; distributions: how likely each instant is
clock              `Clock`: clocks that are off, in a world all their events alike
draws              what is drawn for an event in a world: hashes
bounded_automaton  an automaton that knows when its match happens at the latest
uncertain_rows     events of tables and changes as columns, drawn for all worlds
relevance          which events can change anything; the others are kept once, not in each world
known_events       which events there are, by identity
confidences        how many worlds have a match, and how that changes; told_tables: as tables
drawn_events       events on their way to the operator of the worlds
worlds             `Worlds`: any automaton, in possible worlds; worlds_options: its options, checked, and on Spark

sequence                `Sequence`: exact confidences of sequences, without worlds
sequence_pattern        what it looks for: components; sequence_where: constraints between them
sequence_events         which events are there, by identity; as bytes
sequence_line           the events and matches of one key: which matches an event concerns
signatures              the matches behind one event: lists that grow by one
interval_propagation    the tightest ranges of their times
chain_confidence        their confidence, by dynamic programming; event_instants: the instants of one event
collapsed_closures      one match for all subsets of a closure
plain_signatures        the same for all matches at once, where each component is one event: as columns
plain_confidence        their confidences; instant_tables: what is known of the instants of all events of a kind
sequence_tables         tables in and out, row by row
sequence_batches        tables of plain components in and out, as columns; sequence_columns: what is held meanwhile
"""

from afa.extra.uncertain.clock import Clock
from afa.extra.uncertain.distributions import normal, triangular, weights
from afa.extra.uncertain.interval import Between, between
from afa.extra.uncertain.sequence import Sequence
from afa.extra.uncertain.worlds import Worlds

__all__ = ["Between", "Clock", "Sequence", "Worlds", "between", "normal", "triangular", "weights"]
