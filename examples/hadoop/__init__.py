"""Monitoring a Hadoop cluster where times are uncertain: ``python -m examples.hadoop [TRACE.csv] [--worlds 200]``.

Q1-Q4 and Q6 of Zhang, Diao, Immerman, *On Complexity and Optimization of Expensive Queries in Complex Event Processing*, SIGMOD
2014, and Query 1 of their *Recognizing Patterns in Streams with Imprecise Timestamps*, PVLDB 2010, on 19 jobs of a cluster. Each is
asked twice: as if recorded times were right, and in possible worlds. How much of what the first run reports is certain, and what
does it miss?

trace.py       the trace that comes with the example
load.py        derived: how many attempts run on each host, every 15 s
events.py      events as tables, with their intervals
queries.py     the six queries, and what each is asked of
study.py       a query on exact times, and in possible worlds
neighbours.py  neighbouring events of a host: which came first?
report.py      what it prints

*Derived, not in the data*: Ganglia's samples, pulls of data and their sizes; `queries.py` says what stands for them. The paper's Q5
is left out: it differs from Q6 only in how imbalance is defined.

`trace.parquet` is made of `src/contrib/mumak/src/test/data/19-jobs.trace.json.gz` of Apache Hadoop MapReduce: copyright The Apache
Software Foundation, Apache License 2.0; changed: the columns that are needed here, as a table.

It prints:

    19 jobs, 13,035 attempts on 2,986 hosts within 129 minutes.
    Times of jobs and attempts may be off by 0.5 s, samples of the load by 7.5 s: these are derived, one every 15 s.
    So the papers have it. Some times here are off by more: 25 attempts end before their job starts, one of them by 249 s.
    200 possible worlds: a confidence is off by 0.035 at most, one standard error.

    Which came first? Of 23,084 pairs of neighbouring events of a host 2,391 (10 %) are of different attempts,
    at most 1 s apart. The recorded order has a confidence below 0.9
    - of 2,260 of them if each event is off on its own;
    - of 5 if all events of a host are off alike. 5 are recorded at the same millisecond.

    Q1       How long do the maps of each job take?
             of starts and ends of jobs, ends of maps
    Q2       How long do the reducers of each job take?
             of starts and ends of jobs, ends of reducers
    Q3       Which pulls of data take more than twice as long as the mean of their reducer?
             of reducers of jobs with ten maps or more; derived: a pull for each sample of the load of their host
    Q4       How much of a job is under way, after each event?
             of jobs with 300 attempts or fewer; derived: attempts in the place of megabytes, +1 at a start, -1 at an end
    Q6       While a reducer runs, how often does the imbalance of the cluster reach or pass its highest value so far?
             of reducers that take ten minutes or less; derived: the standard deviation of the load over all hosts
    Query 1  Which tasks max out the CPU of their host until they end?
             of attempts that take 15 s or less; derived: running attempts as a percentage of three slots

    reported: matches of a run on exact times
    doubtful: those of them that have a confidence below 0.9
    missed:   others, that have a confidence of 0.1 or more

                                      each event off          each host off
                                          on its own             as a whole
    query     events  reported       doubtful  missed       doubtful  missed
    Q1         9,651        19        1 (5 %)       1        1 (5 %)       1
    Q2         3,415        16        1 (6 %)       0        1 (6 %)       1
    Q3        12,532     1,273       80 (6 %)      96
    Q4         1,277     1,264   1,156 (91 %)   2,305   1,155 (91 %)   2,311
    Q6        16,303       858     684 (80 %)     742
    Query 1    6,343         0              0      33

    Q1, 0006: reported 41 attempts, 18.00 s on average, confidence 0.63
        perhaps 42 attempts, 17.80 s on average, confidence 0.37
    Q2, 0012: reported 469 attempts, 180.44 s on average, confidence 0.09
        perhaps 468 attempts, 180.38 s on average, confidence 0.07
        perhaps 467 attempts, 180.32 s on average, confidence 0.05
    Q6, 0012_r_000459_0: reported 4 highs, confidence 0.27
        perhaps 3 highs, confidence 0.57
        perhaps 2 highs, confidence 0.16

    Query 1 can't match on exact times: two samples of a host are 15 s apart, and a match takes less than 15 s. `Sequence`,
    without worlds, in tenths of a second: 101 matches, 31 of them with 0.1 or more, the likeliest with 0.195.
"""
