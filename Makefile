# Every target that needs .venv makes it first; see tools/setup.sh. PYTHON=/path/to/python chooses the interpreter.
# Tools are called as modules of .venv, because their scripts fail in a path with spaces.

PY = .venv/bin/python
# Tests start hundreds of processes: what they import is compiled once, whatever the environment says.
TEST = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX='$(CURDIR)/.venv/bytecode' $(PY) -m pytest

.PHONY: help install demo test test-papers test-engines coverage attack mutants soak lint bench docs clean

help:
	@echo 'make install      set up .venv (Python 3.11 to 3.13)'
	@echo 'make demo         protect a made-up table and show the report'
	@echo 'make test         run the tests, without the long published figures'
	@echo 'make test-papers  reproduce the published figures, the long ones too'
	@echo 'make test-engines many tables through duckdb, PostgreSQL and Spark (installs Spark; needs Java)'
	@echo 'make coverage     run the tests and print which lines and branches they do not come by (COVERAGE=tests/rules)'
	@echo 'make attack       attack releases with programs, enumeration and forged folders, in full'
	@echo 'make mutants      weaken the checks one by one and see that tests notice (long; MUTANTS="--sample 50")'
	@echo 'make soak         kills, full disks, signals and concurrent savers in full'
	@echo 'make lint         style, types, imports, spelling'
	@echo 'make bench        run the benchmarks'
	@echo 'make docs         build the documentation into site/'
	@echo 'make clean        remove what was built and cached; .venv stays'

install:
	@sh tools/setup.sh
	@echo 'Ready: $(PY) -m discreet --help'

demo:
	@sh tools/setup.sh
	$(PY) -m discreet demo

test:
	@sh tools/setup.sh
	$(TEST) -n 2 --dist worksteal

test-papers:
	@sh tools/setup.sh
	$(TEST) tests/papers -m 'paper or not paper'

test-engines:
	@sh tools/setup.sh spark
	$(TEST) tests/engine -m engines

# Directory by directory, so that what was measured is kept where a run ends early: `coverage report` shows it.
MEASURED = $(wildcard tests/test_*.py tests/*/test_*.py tests/*/*/test_*.py)
COVERAGE = $(sort $(foreach test,$(MEASURED),tests/$(word 2,$(subst /, ,$(test)))))

coverage:
	@sh tools/setup.sh
	$(PY) -m coverage erase
	for part in $(COVERAGE); do $(TEST) -q -n 2 --dist worksteal --cov --cov-append --cov-report= "$$part" || exit; done
	$(PY) -m coverage report

attack:
	@sh tools/setup.sh
	$(PY) -m tests.attack

mutants:
	@sh tools/setup.sh
	$(PY) -m tests.mutants $(MUTANTS)

soak:
	@sh tools/setup.sh
	$(PY) -m tests.soak

lint:
	@sh tools/setup.sh
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy
	$(PY) -c 'from importlinter.cli import lint_imports_command; lint_imports_command(["--no-logo"])'
	$(PY) -m codespell_lib

bench:
	@sh tools/setup.sh bench
	$(PY) -m benchmarks

docs:
	@sh tools/setup.sh
	NO_MKDOCS_2_WARNING=1 $(PY) -m mkdocs build --strict --quiet

clean:
	rm -rf site dist build .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests -name __pycache__ -type d -exec rm -rf {} +
