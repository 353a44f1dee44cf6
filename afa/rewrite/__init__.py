"""Rewritten automata: an engine runs arcs that were made from the user's.

Triggering sets ([AFA10] App. F.1) are the first use: where payloads are not kept, an event becomes the set of those arcs whose
event part it makes true, and each arc asks for its bit of that set.

rewritten_engine  the engine of an automaton over triggering sets, around the one that runs it
triggers          triggering sets: the arcs in force, and their bits
reduction         how an arc is taken apart for them
vectors           the event parts, of whole columns at once, and so a condition of events
"""
