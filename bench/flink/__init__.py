"""Flink's MATCH_RECOGNIZE beside afa on Spark: ``python -m bench.flink --flink-python PYTHON``. Optional: PyFlink is no dependency.

__main__    the question, the command line, what is kept
ticks       the same ticks as files for both
job         Flink's side: the SQL, and the process that runs it, in an environment of its own
flink       that process as seen from here
ours        afa on Spark
"""
