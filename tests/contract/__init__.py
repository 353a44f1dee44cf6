"""One list of checks over everything that is used like an operator: river's `check_estimator`, for operators."""
