"""afa on Spark, measured: ``python -m bench.spark``."""
