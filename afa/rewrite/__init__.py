"""Rewritten automata: an engine runs arcs that were made from the user's.

Triggering sets ([AFA10] App. F.1) are the first use: where payloads are not kept, an event becomes the set of those arcs whose
event part it makes true, and each arc asks for its bit of that set.

reduction         how an arc is taken apart, and rewritten
triggers          the rewritten arcs in force, and the sets
vectors           the event parts, of whole columns at once
rewritten_engine  what stands between an operator and the engine of the rewritten automaton
"""
