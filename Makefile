# Two commands set everything up on a machine with Python 3.11 or newer.
#   make demo   see it work on the bundled example vault
#   make test   everything CI checks: format, lint, types, tests

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_HOME := $(CURDIR)/$(VENV)/demo-home

.DEFAULT_GOAL := help
.PHONY: help demo test check format lint types tests bench clean

help:
	@echo "make demo   index the example vault, search it, look inside"
	@echo "make test   set up and run everything CI checks"
	@echo "make format rewrite the code in the project's format"
	@echo "make bench  print speed and memory figures"

$(VENV)/demo.done: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check --editable ".[local]"
	@touch $@

$(VENV)/dev.done: $(VENV)/demo.done
	$(BIN)/pip install --quiet --disable-pip-version-check "pip>=25.1"
	$(BIN)/pip install --quiet --disable-pip-version-check --group dev
	@touch $@

demo: $(VENV)/demo.done
	@CUTAWAY_HOME=$(DEMO_HOME) PATH="$(CURDIR)/$(BIN):$$PATH" sh examples/demo.sh

test: $(VENV)/dev.done lint types tests

check: lint types
	$(BIN)/pytest -n 2 -m "not slow"

format: $(VENV)/dev.done
	$(BIN)/ruff format
	$(BIN)/ruff check --fix

lint:
	$(BIN)/ruff format --check
	$(BIN)/ruff check

types:
	$(BIN)/mypy

tests:
	$(BIN)/pytest -n 2

bench: $(VENV)/dev.done
	$(BIN)/python benchmarks/speed.py

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
