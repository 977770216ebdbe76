# Two commands matter: `make up` gives a cluster, `make test` proves the project. `make help` lists the rest.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.DEFAULT_GOAL := help
.PHONY: help up down status test soak check bench clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(STAMP): pyproject.toml hatch_build.py
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "installing into $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

up: $(STAMP) ## start a cluster: etcd, apiserver, controllers, scheduler, two nodes
	@$(BIN)/minictl up $(ARGS)

down: $(STAMP) ## stop the cluster and remove all that it made
	@$(BIN)/minictl down $(ARGS)

status: $(STAMP) ## show every process of the cluster
	@$(BIN)/minictl status $(ARGS)

test: $(STAMP) ## unit, component and cluster tests
	@$(BIN)/python -m pytest tests/unit -q -n 2 $(ARGS)
	@$(BIN)/python -m pytest tests/component tests/history tests/fuzz tests/cluster -q $(ARGS)

soak: $(STAMP) ## break everything for MINUTES=20 and check what clients saw, then fuzz for as long
	@$(BIN)/python -m tests.history --minutes $(or $(MINUTES),20) $(ARGS)
	@$(BIN)/python -m tests.fuzz --minutes $(or $(MINUTES),20)

check: $(STAMP) ## format, lint, types, import contracts, unit tests
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python -m pytest tests/unit -q -n 2

bench: $(STAMP) ## measure, and print the table of docs/performance.md
	@$(BIN)/python -m bench $(ARGS)

clean: ## remove what the build made (not a running cluster: `make down` first)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist apimachinery/_schemas
	find . -name __pycache__ -prune -exec rm -rf {} +
