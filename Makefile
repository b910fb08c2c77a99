# Two commands: `make serve` and `make test`. Everything they need is installed here.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Only when it is given: the environment wins over balcao.toml. BALCAO_HOME=x needs no help.
ifdef PORT
export BALCAO_PORT ?= $(PORT)
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: serve test check format bench nightly screenshots lock clean install install-dev install-otel

serve: $(VENV)/.installed
	@$(BIN)/balcao serve

test: $(VENV)/.installed-dev
	@tools/system-packages chromium postgresql nginx caddy promtool iproute2
	$(BIN)/python -m pytest -n auto

# The pictures in docs/screenshots, taken of a running service in a real browser.
screenshots: $(VENV)/.installed-dev
	@tools/system-packages chromium
	$(BIN)/python -m tests.web.screenshots docs/screenshots

check: $(VENV)/.installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(VENV)/.installed-dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(VENV)/.installed-dev
	$(BIN)/python -m bench

# Proofs that take too long for every change: an hour or so.
NIGHTLY_FUZZ_SECONDS ?= 3000

nightly: $(VENV)/.installed-dev
	$(BIN)/python -m bench crash
	$(BIN)/python -m bench fuzz --seconds $(NIGHTLY_FUZZ_SECONDS)

install: $(VENV)/.installed
install-dev: $(VENV)/.installed-dev

# Traces (docs/tracing.md): what the setting `otel` needs.
install-otel: $(VENV)/.installed
	$(BIN)/pip install --quiet --require-hashes --requirement requirements-otel.lock

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "O Balcão precisa do Python 3.11 ou mais novo: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: $(VENV)/bin/python requirements.lock pyproject.toml
	$(BIN)/pip install --quiet --require-hashes --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	$(BIN)/pip install --quiet --require-hashes --requirement requirements-dev.lock
	@touch $@

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command 'make lock' pyproject.toml --group build

lock: $(VENV)/.installed-dev
	$(COMPILE) --output-file requirements.lock
	$(COMPILE) --extra otel --constraints requirements.lock --output-file requirements-otel.lock
	$(COMPILE) --extra otel --group dev --constraints requirements-otel.lock --output-file requirements-dev.lock

clean:
	rm -rf $(VENV) build dist src/*.egg-info
