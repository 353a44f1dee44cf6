"""The live page: a job that runs, seen in a browser, and steered from there; with the package's extra `serve`.

site           the server: starlette on uvicorn, in a thread of its own, and what a job has to offer to be shown (`Watched`);
               page/: the page, which loads nothing from elsewhere
gate           who may ask, and who may change something: Host, Origin, token
board          what is shown of a job: samples of its numbers, changes of its output, what was said
picture        its automaton with the arcs in force, as SVG and as a list
steering       a change, as the page sends it, into lines of the arc log that the job reads
trials         what other values of a constant of the query would find in the rows so far
live_operator  a job of this process: an operator, the log that it follows, a stage whose sigma can be moved
live_rules     a set of rules of this process, and the log of rules that it follows
live_query     a running query of Spark: `afa.spark.serve`
serve_command  the command ``afa serve``; serve_run: an input that plays (pace), and the live page of it, before its first rows, too

browser -> site -> gate -> Watched.change -> steering -> arc log -> the job's next poll -> board -> browser
"""
