"""The compiled engine: fences and transfers as machine code, and the kernels that call it.

    arcs, automaton                                       events, by one or in columns
      -> afa.expression   expressions                       -> record_words, encode   int64 words
      -> code/            terms, LLVM IR                          |
      -> machine/         addresses                               v
      -> program          the arcs in force, as words  -> kernel/   state of all keys, undo log, output log
                                                                  |
                                                                  v
                                                            record_words      matches

compiled_engine      the protocol of `afa.engine` as acts over a store
store                the data: all of the below that lasts, and the call of the kernels; arc_swaps: changes of arcs
fit                  automata and arcs that are served, logged as running in Python, refused
memory               the arrays, and their growth; heap_trim: how the heap shrinks; reserve: address space that grows in place;
                     mapped_heap: a heap in a file; kernel_arrays: those of stages with kernels of their own
directory            the entries of keys, and which of them the last snapshot has
key_numbers          keys and their numbers; key_arrays: their table; key_parts: columns and single keys as the kernels take them;
                     key_image: as plain data
record_words         payloads and registers as words, and back
program              the arcs in force as the kernels read them; inforce: when one is made, and its code; slots: for how many arcs
linked               kernels with the automaton's own functions put in; linked_loop: loops over rows; linked_best: where only the
                     longest count
choices              when code is compiled, and which way rows go (routes); which kernel takes them there: kernel/dispatch
encode               batches as columns of words; mixed_rows: those with promises and arcs; batches: their way through the kernels
lane_program         history in lanes: an automaton's code and a frame's rows as kernel/lane_loop takes them, without a store;
                     lane_choice: of an automaton that chooses
callback             arcs that Python runs for the kernels
number_lookup        gapless numbers: which are in force
router               several stores in the place of one, for threads; workers: the threads
superfluous          state that promises with conditions let go
compiled_states      the states of keys as columns; block: one key read from Python; match_paths: the paths that lead
                     to a match, out of a path_table, and sums over them;
                     compiled_invariants: checks of a memory
scan_program         of automata that choose: ranks of arcs, and what matches show; scan_reading: what is shown of one key, read
                     from Python
image                the memory as a file, for another process
kernel/              Algorithm 1 over arrays
code/                expressions -> terms -> LLVM IR
machine/             LLVM IR -> addresses; the kernels as one function
device/              LLVM IR -> C, for OpenCL and CUDA

Python's meaning is kept by asking: where a word can't hold Python's result (an int beyond int64, a division by zero), the
code returns "ask". Then the user's own function decides that one case, with its own exception if need be.
"""
