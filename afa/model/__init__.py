"""The program: automata and arcs, and the transitions that they define.

automaton    states, arcs, start, final states, initial register: frozen
arc          fence, transfer, epsilon arcs, time-outs; frozen: what both are
choice       which matches a scan chooses, and what they show: AFTER MATCH SKIP
binding      durations in arcs as ticks, by an operator's tick
arctable     the arcs in force, by state
transitions  the next-ID relation: what one partial match (pmatch) becomes by arcs, epsilon closure, time-outs
raised       faults: what users' functions raised
unmatchable  arcs that can serve no event are refused
instant_texts  an instant as text or int, in ticks
instants     the instant of a time-out, without the user's function; waits: time-outs that the window cuts off are warned of
reach        states that no arc reaches or leaves yet
keys         the keys of events; event_order: which of one LE comes first
option_values  values of options that several doors take, refused in one wording; conflicts: which options don't go together, one
               table; renamed: old names of options
copies       copies of an event, counted within int64
"""
