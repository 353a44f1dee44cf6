# Two commands for a fresh machine: `make flights` runs the main job, `make test` passes the tests. Both make .venv first.
PYTHON ?= python3
BIN := .venv/bin
# Bytecode is kept, whatever the environment says: without it each of a hundred processes compiles all modules anew.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: flights test fast lanes held test-nojit test-spark lint stress keys bench docs release clean

flights: .venv/ready
	$(BIN)/python -m examples.flights

# Workers side by side, one for each core; pytest alone runs the same tests one after the other.
test: .venv/ready
	$(BIN)/python -m pytest -n logical

# After each edit: all that takes some milliseconds. tests/lanes.py says what that is, and measures it anew: make lanes.
fast: .venv/ready
	$(BIN)/python -m pytest -n logical -m "not slow and not spark and not stress"

lanes: .venv/ready
	$(BIN)/python -m pytest -n logical -m "not spark and not stress" --lanes

# The tests that hold one file, by the table in tests/README.md: make held F=afa/state/packed.py
held: .venv/ready
	$(BIN)/python -m tests.held $(F)

# The kernels as the Python that they are, with every index checked; a closure of 10,000 steps would take minutes.
test-nojit: .venv/ready
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest tests/test_cases.py tests/test_stress_sample.py tests/test_engines_agree.py tests/test_faults.py \
		tests/compiled/test_what_compiles.py tests/compiled/test_longest_forward.py tests/test_incremental.py tests/test_gapless.py tests/test_ordered_tables.py --deselect tests/test_faults.py::test_an_endless_closure_names_its_states

# The tests that need Spark on each PySpark, in an environment of its own; with Spark Connect, and a master and two workers. An hour.
test-spark: .venv/ready
	$(BIN)/python -m tests.spark.matrix

lint: .venv/ready-dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

stress: .venv/ready
	$(BIN)/python -m pytest -n logical -m stress
	$(BIN)/python -m tests.worlds stress --worlds 20000
	$(BIN)/python -m tests.worlds stress --worlds 20000 --engine both
	$(BIN)/python -m tests.worlds interrupts --until interrupted=10000 --set afa.compiled.choices.WARM=20
	$(BIN)/python -m tests.worlds interrupts --until interrupted=10000 --set afa.compiled.choices.WARM=20 --instants
	$(BIN)/python -m tests.worlds threads --worlds 200
	$(BIN)/python -m tests.worlds stress --mixes --worlds 20000 --engine each
	$(BIN)/python -m tests.worlds stress --mixes --worlds 20000 --engine each --seed 2 --set afa.compiled.choices.WARM=0 --set afa.compiled.choices.SAMPLE=4
	$(BIN)/python -m tests.worlds damage --worlds 50000
	$(BIN)/python -m tests.worlds sizes --worlds 20000

# A hundred million keys come and go, in flat memory.
keys: .venv/ready
	$(BIN)/python -m tests.stress.coming_and_going --keys 100000000

bench: .venv/ready-bench
	$(BIN)/python -m bench
	$(BIN)/python -m bench.page

# Wheel and sdist, built, checked, and tried in an empty environment: docs/releases.md
release:
	bash .ci/release

# The pages as one static site with the API reference, which needs no network: out/site/index.html
docs: .venv/ready-docs
	$(BIN)/python docs/site.py out/site

.venv/ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[flights,test]"
	touch $@

.venv/ready-dev: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[flights,dev]"
	touch $@

.venv/ready-bench: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	touch $@

.venv/ready-docs: .venv/ready
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[docs]"
	touch $@

clean:
	rm -rf .venv out build *.egg-info
