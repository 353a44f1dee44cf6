"""The compiled engine: expressions as machine code, and the kernels that call it.

    arcs, automaton                                  events, by one or in columns
      -> afa.expression   expressions                  -> records, columns   int64 words
      -> types, casts     terms, with Python's meaning        |
      -> code             shape and constants                 v
      -> steps            the automaton in one function -> kernel/  state of all keys, undo log, output log
      -> emit .. native   machine code                        |
      -> program          arcs in force, as words             v
                                                       records, columns      matches

layout       how payloads and registers stand in memory
engine       what the protocol of `afa.engine` asks for
choice       which automata and arcs are served, what is said of the others, what is refused
arcs         an arc taken apart, or the reason why Python runs it
types        expression -> terms; casts: from one kind to another; term: what a term is
code         an arc: its shape (what its machine code depends on) and its constants
steps        all arcs of an automaton in one function; ahead: in one loop over the rows of a batch
emit         terms -> LLVM IR; writer: as text; arithmetic: what overflows or divides by zero *asks*
native       LLVM IR -> addresses; folder: machine code on disk
program      the arcs in force as the kernels read them; inforce: when one is made, and code for it
memory       the arrays, and their growth; directory: keys and their numbers
records      payloads and registers as words, and back; strings: as numbers; inuse: which of them may be forgotten
columns      batches without a Python object a row; plain: a column, however it came; batches: how they go through the kernels
reduced      columns where payloads are not kept; plan: changes of arcs in them, foreseen
callback     arcs that Python runs for the kernels
output       the output log
saved        the states of keys as columns; block: one read from Python; check: its invariants
kernel/      what runs: Algorithm 1 over arrays

Python's meaning is kept by asking: where a word can't hold what Python would give (an int beyond int64, a division by zero), the
code returns "ask", and the user's own function decides that one case, with its own exception if need be.
"""
