"""Why there is no match: what arcs were asked, where partial matches ended, the nearest misses, and one sentence.

funnel           the object that says so; labels: what arcs and durations are called
counted          the method `funnel` of operators: what an engine holds
counting         the events of each key in order, forward: what is asked, what ends; tally: the counts, the values of a field
standing         the partial matches of a key, by state and register
fence_parts      a fence as its conjuncts, each with its counts
near_misses      the events that came closest, and those before them
negations        whether there would be a match but for a negation
causes           the sentence
"""
