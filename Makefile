# Two commands: make demo, make test. Both make .venv first; nothing else needs installing by hand.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
WORKERS ?= 2

.PHONY: demo test lint docs bench format clean

$(VENV)/.core: pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable ".[plot]"
	@touch $@

$(VENV)/.dev: $(VENV)/.core
	$(BIN)/pip install --quiet --editable ".[dev]"
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

clean:
	rm -rf $(VENV) foldwalk-demo site .mypy_cache .ruff_cache .pytest_cache
