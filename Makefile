# `make serve` and `make test` do everything from a bare checkout: environment, model, run.
PYTHON ?= python3.11
VENV ?= .venv
BIN := $(VENV)/bin
PIP_QUIET := --quiet --disable-pip-version-check
COMPILE := $(BIN)/pip-compile --quiet --strip-extras --no-header --no-annotate \
	--no-emit-index-url --no-emit-find-links --no-emit-trusted-host

.PHONY: venv dev serve test lint lock docs clean

venv: $(VENV)/.serve
dev: $(VENV)/.dev

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.serve: requirements/serve.txt pyproject.toml | $(BIN)/python
	$(BIN)/pip install $(PIP_QUIET) -r requirements/serve.txt
	$(BIN)/pip install $(PIP_QUIET) --no-deps -e .
	touch $@

$(VENV)/.dev: requirements/dev.txt $(VENV)/.serve
	$(BIN)/pip install $(PIP_QUIET) -r requirements/dev.txt
	touch $@

serve: venv
	$(BIN)/codex-cli serve

test: dev lint
	$(BIN)/python -m pytest

lint: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Regenerates the pinned requirements from pyproject.toml.
lock: dev
	$(BIN)/pip install $(PIP_QUIET) pip-tools
	$(COMPILE) -o requirements/serve.txt pyproject.toml
	$(COMPILE) --extra evals --extra dev -c requirements/serve.txt -o requirements/dev.txt pyproject.toml

# Regenerates what stands in docs/ and README.md from the code: docs/cli.md and the settings table.
docs: dev
	$(BIN)/python -m codex.cli.reference

clean:
	rm -rf $(VENV) build dist
