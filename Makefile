# Every target sets up what it needs; `make` alone lists them.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup demo test test-core soak lint types fmt fuzz bench docs clean

BIN := .venv/bin
READY := .venv/.ready
BENCH_READY := .venv/.ready-bench
INPUTS := pyproject.toml constraints.txt scripts/setup.sh
ARGS ?=
# One worker has the Spark session and all tests that share it; two do the rest, which often waits.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadgroup --no-loadscope-reorder

help:  ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

setup: $(READY)  ## Make .venv with Weft and its tools; find or install Java; compile the kernels

$(READY): $(INPUTS)
	@scripts/setup.sh
	@touch $@

$(BENCH_READY): $(READY)
	@scripts/setup.sh bench
	@touch $@

demo: $(READY)  ## Find fraud in a million events of a bank, with twenty queries
	@$(BIN)/weft demo $(ARGS)

# Types are checked beside the tests; a mistake there is told at the end.
test: lint  ## Check style, imports and types, and run every test
	@$(BIN)/mypy > .types.log 2>&1 & types=$$!; \
	$(PYTEST) $(ARGS); tests=$$?; \
	wait $$types; types=$$?; cat .types.log; rm -f .types.log; exit $$((tests || types))

test-core: $(READY)  ## Run the tests that need no Java
	@$(PYTEST) -m "not spark" $(ARGS)

soak: $(READY)  ## Run the long tests: many kills, thousands of random cases; says at the end how many
	@$(PYTEST) --soak $(ARGS)

lint: $(READY)  ## Check style, spelling and the import rules
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check --quiet .
	@$(BIN)/codespell
	@$(BIN)/lint-imports --no-logo

types: $(READY)  ## Check the types of src/
	@$(BIN)/mypy

fmt: $(READY)  ## Format the code
	@$(BIN)/ruff check --fix-only --quiet .
	@$(BIN)/ruff format .

fuzz: $(READY)  ## Compare random queries, streams, sites and trends with the reference until stopped
	@$(BIN)/python -m tests.fuzz $(ARGS)

bench: $(BENCH_READY)  ## Measure the speed as ratios in one run
	@$(BIN)/python benchmarks/run.py $(ARGS)

docs: $(READY)  ## Write docs/api.md, the reference of the public names
	@$(BIN)/python scripts/api_page.py

# Compiled kernels are among the caches, and set-up compiles them again.
clean:  ## Remove caches and build products; keep .venv
	@rm -rf $(READY) build dist .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis spark-warehouse
	@find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
