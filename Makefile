# Everything that people do with this tree. `make` alone tells.
PYTHON ?= python3
VENV   ?= .venv
PORT   ?= 8765
WORKERS ?= 3
RUN     = $(VENV)/bin/python -m
STAMP   = $(VENV)/.installed
DEV     = $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help demo init run test lint bench cases wheel lock clean

help: ## this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo 'Python 3.11 or newer is needed; say which: make PYTHON=python3.12 ...'; exit 1; }
	$(PYTHON) -m venv $(VENV)

# The command, without building anything: it runs this tree.
$(VENV)/bin/discreet: | $(VENV)/bin/python
	@printf '#!/bin/sh\nPYTHONPATH="%s" exec "%s" -m bot "$$@"\n' '$(CURDIR)' '$(abspath $(VENV))/bin/python' > $@
	@chmod +x $@

$(STAMP): requirements.lock | $(VENV)/bin/discreet
	@echo 'Installing what it needs into $(VENV): once, a minute or less.'
	$(VENV)/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements.lock
	@touch $@

$(DEV): requirements-dev.lock | $(VENV)/bin/discreet
	$(VENV)/bin/pip install -q --disable-pip-version-check --require-hashes -r requirements-dev.lock
	@touch $@ $(STAMP)

demo: $(STAMP) ## the whole gateway on this machine, with a built-in chat and a scripted agent (PORT=8765)
	@$(RUN) bot demo --port $(PORT)

init: $(STAMP) ## config.yaml and policy.yaml for a bot of yours, on Telegram or Matrix
	@$(RUN) bot init

run: $(STAMP) ## the gateway with these files
	@$(RUN) bot run --config config.yaml

test: $(DEV) ## all tests; installs what they need where it can
	@tests/setup.sh
	$(RUN) pytest -q tests/unit/policy tests/unit/forms --cov=policy --cov=forms --cov-branch --cov-fail-under=100
	$(RUN) pytest -q -n $(WORKERS) --durations=25 --ignore=tests/unit/policy --ignore=tests/unit/forms
	$(RUN) tests.cases tests/cases/cases.jsonl
	@tests/wheel.sh $(VENV)/bin/python

cases: $(DEV) ## the cases made from public bug reports: make cases FILE=...
	$(RUN) tests.cases $(or $(FILE),tests/cases/cases.jsonl)

lint: $(DEV) ## ruff, mypy, import-linter
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/ruff check .
	$(RUN) mypy
	$(VENV)/bin/lint-imports

bench: $(DEV) ## the gateway beside its peers, medians and ratios
	$(RUN) bench

wheel: $(DEV) ## dist/*.whl
	$(RUN) build --wheel

lock: $(DEV) ## pin versions anew, with hashes and without addresses
	$(VENV)/bin/uv pip compile -q -U --generate-hashes --no-emit-index-url --no-annotate --no-header --universal --python-version 3.11 --extra dev pyproject.toml -o requirements-dev.lock
	$(VENV)/bin/uv pip compile -q -U --generate-hashes --no-emit-index-url --no-annotate --no-header --universal --python-version 3.11 -c requirements-dev.lock pyproject.toml -o requirements.lock

clean: ## what was built, the venv too
	rm -rf $(VENV) dist .cache .mypy_cache .ruff_cache .hypothesis .coverage
