"""What else one could do ([AFA10] Sec. 3, 6.2, 6.3); each must give the answer that the operator gives, on the streams it can take.

restart   a pattern changes: a new operator, fed with the active events again
can       the automaton embedded in the self-loop of a two-state automaton
ipm       iterative matching by joins of events, arcs and partial matches
ordered   events held back until a punctuation lets them be sorted
"""
