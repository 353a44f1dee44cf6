"""Benchmarks: one file per question, the engine and its baselines in one run, the answer compared before anything is said.

__main__    ``python -m bench``: runs them, prints tables, keeps results/*.json
page        ``python -m bench.page``: makes results/index.html, one page, of results/*.json
targets     what the compiled engine must show
plots       one picture per benchmark
bench_*     one question each; ``measure(options)`` gives rows
fresh       what can only be measured in a new process
measure     how variants are compared, and how a result is kept
drive       how a stream is given to an operator, and its answer taken
flink/      beside Flink's MATCH_RECOGNIZE; optional, ``python -m bench.flink``
by_hand     Q1 over a dict of Python objects
keys_case   one case of a million keys, in a process of its own
baselines/  restart, CAN, IPM, buffer and sort
cases       queries with the streams that belong to them
queries     Q1, Q2, Q3, head and shoulders
workloads   the paper's generator; disorder, ignorable events, keys, punctuations
swaps       Q3 while its arcs are swapped, and what must come of it
data        real streams: YHOO, Binance
"""
