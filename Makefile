# Two commands on a fresh machine: make report, make test. The first one that needs it makes .venv from requirements.lock.
# On the command line, as NAME=value; several models, judges or concepts are separated by commas:
#   PYTHON    the interpreter to make .venv with         MODELS    the models to ask, by their names in data/models.toml
#   PROFILE   smoke, quick or full                       JUDGES    the models that judge
#   RUN       files of notebooks/runs, without .yaml     CONCEPTS  the concepts of the compression benchmark

# python3, or the first beside it that the lock holds on; where there is none, python3 is refused with the reason.
fits = import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 15))
PYTHON ?= $(or $(shell for name in python3 python3.14 python3.13 python3.12 python3.11; do \
	$$name -c '$(fits)' 2>/dev/null && echo $$name && break; done),python3)
PROFILE ?= quick
MODELS =
JUDGES =
CONCEPTS =
RUN =
UPGRADE =

.DEFAULT_GOAL := help

# Where this is set, every start of a notebook parses every library anew: seconds instead of a fraction of one.
unexport PYTHONDONTWRITEBYTECODE

# The date that figures carry, so that equal figures are equal files.
SOURCE_DATE_EPOCH ?= 1767225600
export SOURCE_DATE_EPOCH

python = .venv/bin/python
quote = '$(subst ','\'',$(1))'
option = $(if $(strip $(2)),$(1) $(call quote,$(2)))
options = --profile $(call quote,$(PROFILE)) $(call option,--models,$(MODELS)) $(call option,--judges,$(JUDGES)) \
	$(call option,--concepts,$(CONCEPTS))
code = $(wildcard cdct tests notebooks)

.PHONY: help
help: ## Show this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

# Takes a tenth of a second where there is nothing to do.
.PHONY: environment
environment:
	@$(PYTHON) -I cdct/environment.py

.PHONY: report
report: environment ## Run the profile's notebooks (PROFILE=smoke, quick or full) and write figures/report/index.html
	$(python) -m cdct.report $(options)

.PHONY: run
run: environment ## Run notebooks alone, without the report's index: RUN="one another", or all of the profile
	$(python) -m cdct.report $(options) --no-index $(if $(strip $(RUN)),--run $(foreach name,$(RUN),$(call quote,$(name))))

.PHONY: test
test: environment ## Run the whole test suite
	$(python) -m pytest

.PHONY: lint
lint: environment ## Check code and notebooks, and their format
	$(python) -m ruff check $(code)
	$(python) -m ruff format --check $(code)

.PHONY: lab
lab: environment ## Open JupyterLab in notebooks/
	$(python) -m jupyterlab --notebook-dir=notebooks $(if $(filter 0,$(shell id -u)),--allow-root)

.PHONY: model
model: environment ## Fetch the embedded model if it is missing, and verify it
	$(python) -m cdct.local fetch

.PHONY: status
status: environment ## Show what is recorded: replies, failed calls, cost
	$(python) -m cdct.store status

# Pins that still satisfy pyproject.toml are kept. The old lock stays where anything fails before the last line.
.PHONY: lock
lock: ## Resolve pyproject.toml and write requirements.lock (UPGRADE=1: the newest versions)
	@set -e; work=$$(mktemp -d); trap 'rm -rf "$$work"' EXIT; \
	$(PYTHON) -m venv "$$work/venv"; \
	"$$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check 'uv>=0.9'; \
	if [ -f requirements.lock ]; then cp requirements.lock "$$work/new"; fi; \
	"$$work/venv/bin/uv" pip compile pyproject.toml --extra local --extra dev --group model $(if $(strip $(UPGRADE)),--upgrade) \
		--universal --python-version 3.11 --fork-strategy fewest --only-binary :all: --generate-hashes \
		--no-header --no-annotate --quiet --output-file "$$work/new"; \
	sed '/^ *#/d; /^-/d; /^$$/d' "$$work/new" > "$$work/lock"; \
	test -s "$$work/lock"; \
	cp "$$work/lock" requirements.lock; \
	echo "requirements.lock: $$(grep -c == requirements.lock) packages"

.PHONY: clean
clean: ## Remove executed notebooks, the report, tables and caches; replies and .venv stay
	rm -rf notebooks/executed figures/report data/tables .pytest_cache .ruff_cache .hypothesis .benchmarks
	find $(code) -depth \( -name __pycache__ -o -name .ipynb_checkpoints \) -exec rm -rf {} +
	@echo "Kept: data/replies.sqlite, the record of every reply, and .venv. To remove these too: rm -rf .venv data/replies.sqlite*"
