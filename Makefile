# Two commands for a fresh machine: `make flights` runs the main job, `make test` passes the tests. Both make .venv first.
PYTHON ?= python3
BIN := .venv/bin

.PHONY: flights test lint stress clean

flights: .venv/ready
	$(BIN)/python -m examples.flights

test: .venv/ready
	$(BIN)/python -m pytest

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

stress: .venv/ready
	$(BIN)/python -m tests.stress.worlds --worlds 20000

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[flights,test]"
	touch $@

.venv/ready-dev: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[flights,dev]"
	touch $@

clean:
	rm -rf .venv out build *.egg-info
