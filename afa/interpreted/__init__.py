"""The interpreted engine: Algorithm 1 of [AFA10], readable, for any Python payload and function.

interpreted_engine  the protocol of `afa.engine`, over the files below
algorithm           InsertEvent, deletion, propagation, arcs, output: Algorithm 1 and App. C
state               all that changes for one key: index, lists, matches
runs                ignorable runs as intervals: App. D
longest             lists of one partial match for each state and register
key_reading         steps, beginnings that are over: what a key tells
cleanup             cover, final matches, deadlines: App. C.1
pruning             what punctuations with conditions have made superfluous: App. F.2
interpreted_states  state as columns
invariants          what always holds, by recomputation
"""
