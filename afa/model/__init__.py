"""The program, and what it means.

automaton    states, arcs, start, final states, initial register: frozen
arc          fence, transfer, epsilon arcs, time-outs
arctable     the arcs in force, by state
transitions  the next-ID relation: what one partial match (pmatch) becomes by arcs, epsilon closure, time-outs
raised       what users' functions raised
reach        states that nothing reaches or leaves yet
keys         how the key of an event is made
copies       how many copies of an event there may be
"""
