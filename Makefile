# On a machine with Python 3.11 to 3.13 and make: `make demo`, `make test`.
PYTHON ?= python3
BIN := .venv/bin
# Bytecode is kept even where the environment forbids it: a server then starts with a third less work.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: setup demo test check docs schemas stubs bench bench-peers attack audit lock

setup: .venv/ready
.venv/ready: requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14) and "Python 3.11 to 3.13 is needed: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv .venv && $(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . && touch $@

demo: setup
	@$(BIN)/python examples/travis_to_slack/demo.py

PURE := tests/composer tests/actions tests/transactions --ignore=tests/actions/runtimes
REST := --ignore=tests/composer --ignore=tests/transactions --ignore-glob='tests/actions/test_*.py'
CORES := $(shell $(PYTHON) -c 'import os; print(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count())')

test: setup  # what is pure is covered whole by its own tests; the others run without that, and one more at once: many wait for processes
	$(BIN)/pytest $(PURE) --numprocesses=auto --cov
	$(BIN)/pytest $(REST) --numprocesses=$$(($(CORES) + 1)) --dist=loadfile --no-loadscope-reorder

check: setup
	$(BIN)/ruff format --check . && $(BIN)/ruff check .
	$(BIN)/mypy && $(BIN)/lint-imports
	$(BIN)/python -m docs.site

docs: setup  # the site, with every link checked: build/site/index.html
	$(BIN)/python -m docs.site

schemas: setup  # the JSON Schemas that the package publishes, made of the rows of the combinators
	$(BIN)/xingqiao schema composition > src/xingqiao/schemas/composition.json

stubs: setup  # the types of the client's synchronous face, made of the asynchronous classes
	mkdir -p build && $(BIN)/python -m tests.kit.client.stubs > build/blocking.pyi && $(BIN)/ruff format -q build/blocking.pyi && mv build/blocking.pyi infra/client/

bench: setup
	$(BIN)/python -m benchmarks

bench-peers: setup  # beside DBOS and Restate, which are downloaded into build/peers: make bench-peers PEERS="--rounds 1"
	$(BIN)/python -m benchmarks.peers $(PEERS)

attack: setup  # the attacks of tests/attack and the simulated faults at full size, alone; their figures go to docs/reliability.md
	mkdir -p build && rm -f build/attack.jsonl
	MORE=8 ATTACK_SCALE=20 ATTACK_FIGURES=$(CURDIR)/build/attack.jsonl $(BIN)/pytest tests/attack tests/faults/test_simulation.py --timeout=1800 -p no:randomly && cat build/attack.jsonl

audit:  # asks PyPI for advisories about the packages in requirements.lock
	$(PYTHON) -m venv build/audit && build/audit/bin/pip install --quiet --disable-pip-version-check pip-audit==2.10.1
	build/audit/bin/pip-audit --requirement requirements.lock --disable-pip --strict --progress-spinner off

lock:  # needs uv
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header --extra dev --extra docs --output-file requirements.lock pyproject.toml
