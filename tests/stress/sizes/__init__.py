"""Random worlds of many keys whose states grow and shrink through every size.

``python -m tests.worlds sizes --worlds 20000 --seed 1``

families.py   what worlds share: an automaton, the form of its events, what makes the key
generate.py   a world as data: runs of rows, promises, arcs, snapshots, calls that fail on the way
columns.py    rows as lists and tables, their keys in columns of every width and encoding; output tables as changes
limits.py     what is made small for a world: parts of batches, arrays, samples
seen.py       what worlds have met: classes of cells that keys came to and left, collisions, what kernels asked for
run.py        the world on both engines and the oracle; smaller ones
worlds.py     the world of a number, for `tests.worlds`
"""
