# Two commands: make demo, make test. Both make .venv first; nothing else needs installing by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test lint docs bench format audit clean

INSTALL := $(BIN)/pip install --quiet --constraint constraints.txt --editable

$(VENV)/.core: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(INSTALL) ".[plot]"
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(INSTALL) ".[dev]"
	@touch $@

# The page is tested in a real browser, chromium or what FOLDWALK_CHROMIUM names; without one, not at all.
.PHONY: browser
browser:
	@sh tests/service/browser.sh

demo: $(VENV)/.core
	$(BIN)/foldwalk demo

test: $(VENV)/.dev browser
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.dev
	$(BIN)/python docs/generate.py
	$(BIN)/mkdocs build --strict

# What can be measured, or one of it: make bench NAME=speed.knn_graph ARGS="--sizes 5000"
bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks$(if $(NAME),.$(NAME) $(ARGS))

# Known weaknesses of the versions in constraints.txt. It asks PyPI; where that does not answer it fails.
audit:
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/pip install --quiet pip-audit
	$(VENV)/audit/bin/pip-audit --requirement constraints.txt --no-deps --disable-pip --strict

clean:
	rm -rf $(VENV) foldwalk-demo site .mypy_cache .ruff_cache .pytest_cache
