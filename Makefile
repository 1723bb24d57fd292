# Set-up and the daily jobs. Needs Python 3.11 or later, make and a C compiler; everything else goes into .venv.
#   make demo    install what bondloop needs, derive a model's equations, rehearse a hybrid test; figures in out/
#   make test    install the development tools too, run every test and doctest; make test-quick leaves out the long ones
#   make test-hostile  races, packets, files changed at random, processes killed and frozen: some five minutes
#   make lint    formatting, lint, types, the import rules between rooms
#   make pages   the page of all public names and the picture of the rooms, after a change of either

PYTHON ?= python3
WORKERS ?= 2
# Seconds for each of the hunts of test-hostile that have no end of their own.
HUNT ?= 75

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.installed-runtime
DEV := $(VENV)/.installed-dev

# What the caller's shell has set for other Pythons must not leak into this one.
unexport PYTHONPATH
unexport PYTHONHOME
unexport VIRTUAL_ENV
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export MPLBACKEND := Agg

.PHONY: demo test test-quick test-hostile lint format pages clean distclean
.DELETE_ON_ERROR:

demo: $(RUNTIME)
	@mkdir -p out
	@$(BIN)/python examples/three_mass.py out
	@echo
	@echo 'Now as a hybrid test: masses 1 and 2 in the computer, mass 3 on an emulated rig (bondloop run gawthrop-three-mass --set spring=hardening)'
	@$(BIN)/bondloop run gawthrop-three-mass --set spring=hardening --out out/gawthrop-three-mass
	@echo
	@echo 'The drawing is out/three_mass.svg; the figures and the run file are in out/gawthrop-three-mass/'

# Two workers, each with as many threads of linear algebra as there are cores, wait for each other.
test test-quick test-hostile: export OPENBLAS_NUM_THREADS = 1

test: $(DEV)
	@$(BIN)/python -m compileall -q src  # many tests start a process of their own, which imports all of it
	$(BIN)/python -m pytest -n $(WORKERS) $(ARGS)

test-quick: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile quick \
	  -m 'not slow and not realtime and not long' tests $(ARGS)

test-hostile: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) tests/hostile
	$(BIN)/python tests/hostile/packets.py --packets 200000
	$(BIN)/python tests/hostile/mutated_files.py --bytes 1000000 --seconds $(HUNT)
	$(BIN)/python tests/hostile/kills.py --runs 15 --seconds $(HUNT)

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pages: $(DEV)
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/device_parameters.py
	$(BIN)/python docs/figures/rooms.py

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "bondloop needs Python 3.11 or later; $(PYTHON) is older: make PYTHON=/path/to/python3.11"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(RUNTIME): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(DEV): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $(RUNTIME) $@

clean:
	rm -rf out build dist .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests docs examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf $(VENV)
