# Set-up and the daily jobs. Needs Python 3.11 or later, make and a C compiler; everything else goes into .venv.
#   make demo    install what bondloop needs, derive a model's equations, rehearse a hybrid test; figures in out/
#   make test    install the development tools too, run every test and doctest; make test-quick leaves out the long ones
#   make test-fresh  the tests that draw, with a new seed, printed: 15 minutes at most; SEED=123 draws the same again
#   make nightly  what finds more the longer it runs: test-nightly, test-fresh, test-hostile, stops, mutants
#   make mutants  small faults in the safety layer, each of which a test must find; make coverage-c counts branches of the C
#   make test-hostile  races, packets, files changed at random, processes killed and frozen: some five minutes
#   make opensees  OpenSeesPy, for the tests that couple to it, in .opensees
#   make lint    formatting, lint, types, the import rules between rooms, spelling
#   make docs    the site, in build/site; every warning is an error
#   make release-check  build wheel and sdist, look at them, try the wheel in a bare environment (PYTHONS='python3.11 ...')
#   make pages   the pages of public names and of the check's rules, the picture of the rooms, after a change of any
#   make browser  Debian's Chromium and a compiler for WebAssembly, for the tests of pages, where they are missing and we are root
#   make page    fetch what the operator's page takes from npm: uPlot, as pinned by its lock file

PYTHON ?= python3
# Two more than the cores of a small machine: tests of the loop on its clock wait most of the time.
WORKERS ?= 4
# Seconds after which no further test of test-fresh begins: what then still runs ends within the rest of 15 minutes.
FRESH ?= 720
# Seconds for each of the hunts that have no end of their own.
HUNT ?= 75

VENV := .venv
BIN := $(VENV)/bin
RUNTIME := $(VENV)/.installed-runtime
DEV := $(VENV)/.installed-dev
OPENSEES_VENV := .opensees
OPENSEES := $(OPENSEES_VENV)/.installed

# What the caller's shell has set for other Pythons must not leak into this one.
unexport PYTHONPATH
unexport PYTHONHOME
unexport VIRTUAL_ENV
unexport PYTHONDONTWRITEBYTECODE
export PYTHONNOUSERSITE := 1
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export MPLBACKEND := Agg

.PHONY: demo page browser opensees test test-quick test-nightly test-fresh test-hostile hunts stops nightly mutants mutants-engine coverage-c lint format pages docs release-check clean distclean
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
test test-quick test-nightly test-fresh test-hostile hunts: export OPENBLAS_NUM_THREADS = 1
# Half the time in the C compiler; tests of the compiler itself, and what is measured, build as users do.
test test-quick test-nightly test-fresh test-hostile hunts: export BONDLOOP_CFLAGS = -O1

test: $(DEV)
	@$(BIN)/python -m compileall -q src  # many tests start a process of their own, which imports all of it
	@# What a file makes for its tests is made once; the longest files come first (tests/conftest.py).
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

# Two workers: each must first find all the tests, which is half of the work.
test-quick: WORKERS = 2
test-quick: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile quick \
	  -m 'not slow and not realtime and not long' --ignore=tests/hostile tests $(ARGS)

# The tests marked as nightly, which make test leaves out; test-hostile has its own.
test-nightly: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) -m nightly --ignore=tests/hostile tests $(ARGS)

# Fixed draws find a fault once and never again: these are new each time, or those of SEED, whose failures are shrunk.
test-fresh: $(DEV)
	$(BIN)/python -m pytest -p tests.fresh -m drawn -n $(WORKERS) --dist worksteal --fresh-seconds=$(FRESH) \
	  --fresh-seed=$(or $(SEED),$$(od -An -N3 -tu4 /dev/urandom | tr -d ' ')) $(if $(SEED),--fresh-shrink) $(or $(ARGS),tests)

nightly:  # all of it, whatever fails
	@$(MAKE) --no-print-directory --keep-going test-nightly test-fresh test-hostile stops mutants

# How soon a stop is heard while the operator's page is busy, blocked, frozen or dead; needs a browser, and a quiet machine.
stops: $(DEV)
	$(BIN)/python tests/hostile/stops.py

# OpenSeesPy in an environment of its own, for the tests that couple to it; they say so where there is none. It is
# linked with Debian's libblas3, liblapack3 and libgfortran5, which are installed where that is allowed.
opensees: $(OPENSEES)

$(OPENSEES): | $(BIN)/python
	@[ -x $(OPENSEES_VENV)/bin/python ] || $(BIN)/python -m venv $(OPENSEES_VENV)
	@$(OPENSEES_VENV)/bin/python -m pip install --quiet openseespy || true
	@$(OPENSEES_VENV)/bin/python -c 'import openseespy.opensees' >/dev/null 2>&1 || \
	  { [ "$$(id -u)" = 0 ] && apt-get update -qq && apt-get install -y -qq libblas3 liblapack3 libgfortran5 >/dev/null 2>&1; } || true
	@if $(OPENSEES_VENV)/bin/python -c 'import openseespy.opensees' >/dev/null 2>&1; then touch $@; else \
	  echo 'OpenSeesPy cannot be imported here (it needs libblas3, liblapack3, libgfortran5); its tests are skipped'; fi

test-hostile: $(DEV)
	$(BIN)/python -m pytest -n $(WORKERS) -m 'nightly or not nightly' tests/hostile
	@$(MAKE) --no-print-directory hunts

# The part of test-hostile that is no test of pytest's.
hunts: $(DEV)
	@echo 'packets, files changed at random, and processes killed and frozen:'  # side by side: most of it is waiting
	@$(BIN)/python tests/hostile/mutated_files.py --bytes 1000000 --seconds $(HUNT) & files=$$!; failed=0; \
	trap 'kill $$files' INT TERM; \
	$(BIN)/python tests/hostile/packets.py --packets 200000 || failed=1; \
	$(BIN)/python tests/hostile/kills.py --runs 15 --seconds $(HUNT) || failed=1; \
	wait $$files || failed=1; exit $$failed

# Interpreters on which a release is tried; --oldest is with the oldest versions of what it needs.
PYTHONS ?= $(PYTHON)

release-check: $(DEV)
	rm -rf dist
	$(BIN)/python tests/release/check.py --keep dist --oldest $(PYTHONS)

# Small faults in what guards people, each of which a test must find: some fifteen minutes. ARGS='--only guard.c'
# for one file, ARGS=--resume to try again those that no test found.
mutants: $(DEV)
	$(BIN)/python tests/mutation/mutants.py $(ARGS)

# A hundred small faults in the engine, drawn before it was rebuilt, and found again by the code around them.
mutants-engine: $(DEV)
	$(BIN)/python tests/mutation/engine_mutants.py $(ARGS)

# Branches of guard.c and executive.c that tests take, by gcov: 95 % at least.
coverage-c: $(DEV)
	$(BIN)/python tests/mutation/c_coverage.py

lint: $(DEV)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python tests/front_door.py
	$(BIN)/codespell

format: $(DEV)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

pages: $(DEV)
	$(BIN)/python docs/reference.py
	$(BIN)/python docs/device_parameters.py
	$(BIN)/python docs/check_rules.py
	$(BIN)/python paper/bibliography.py
	$(BIN)/python docs/figures/rooms.py

page: | $(BIN)/python
	$(BIN)/python hatch_build.py

FOR_BROWSERS := chromium clang lld wasi-libc libclang-rt-14-dev-wasm32
browser:
	@{ command -v chromium && command -v wasm-ld; } >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get update -qq && \
	  apt-get install -y -qq --no-install-recommends $(FOR_BROWSERS) >/dev/null; } || \
	  echo 'no chromium or no compiler for it, and they cannot be installed: the tests in a browser are skipped'

docs: $(DEV)
	$(BIN)/python -m sphinx --builder html --fail-on-warning --keep-going --quiet -d build/site-cache docs build/site
	@echo 'The site is build/site/index.html'

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
	rm -rf out build dist docs/generated .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find src tests docs examples benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

distclean: clean
	rm -rf $(VENV) $(OPENSEES_VENV)
