# Two commands: `make serve` and `make test`. Everything they need is installed here.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# Only when it is given: the environment wins over balcao.toml. BALCAO_HOME=x needs no help.
ifdef PORT
export BALCAO_PORT ?= $(PORT)
endif
export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Without bytecode every program that a test starts compiles the sources again, for seconds.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help serve test test-fast check format bench nightly screenshots lock dist sbom image clean install install-dev install-otel

help: ## What there is
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1|\2/p' Makefile | while IFS='|' read -r name what; do \
		printf '  make %-14s %s\n' "$$name" "$$what"; done

serve: $(VENV)/.installed ## Sets up and serves; PORT=9000 for another port
	@$(BIN)/balcao serve

test: $(VENV)/.installed-dev ## Sets up and runs all tests
	@tools/system-packages chromium postgresql nginx caddy promtool iproute2 curl jq php-cli
	$(BIN)/python -m pytest -n auto

# Decisions, readers of sources, house rules and pages: no server, no browser, no database server.
test-fast: $(VENV)/.installed-dev ## The tests that need a minute
	$(BIN)/python -m pytest -n auto -q tests/core tests/fiction tests/sefaz tests/sources \
		--ignore tests/sources/test_hostile.py tests/test_*.py

# The pictures in docs/screenshots, taken of a running service in a real browser.
screenshots: $(VENV)/.installed-dev ## Takes the pictures in docs/screenshots anew
	@tools/system-packages chromium
	$(BIN)/python -m tests.web.screenshots docs/screenshots

check: $(VENV)/.installed-dev ## Formatting, lint, types
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mdformat --check *.md docs
	$(BIN)/mypy

format: $(VENV)/.installed-dev ## Mends what a machine can mend
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .
	$(BIN)/mdformat *.md docs

bench: $(VENV)/.installed-dev ## Prints the figures, with the command for each
	$(BIN)/python -m bench

# Proofs that take too long for every change: an hour or so.
NIGHTLY_FUZZ_SECONDS ?= 3000

nightly: $(VENV)/.installed-dev ## Long proofs: kills under load, fail-overs, clients of other languages, fuzzing, large tables
	@tools/system-packages postgresql faketime
	$(BIN)/python -m pytest -n auto -m nightly
	$(BIN)/python -m bench crash
	$(BIN)/python -m bench failover
	$(BIN)/python -m bench rolling
	$(BIN)/python -m bench month_kills --kills 200
	$(BIN)/python -m bench clients
	$(BIN)/python -m bench fuzz --seconds $(NIGHTLY_FUZZ_SECONDS)

install: $(VENV)/.installed
install-dev: $(VENV)/.installed-dev

# Traces (docs/tracing.md): what the setting `otel` needs.
install-otel: $(VENV)/.installed
	$(BIN)/pip install --quiet --require-hashes --requirement requirements-otel.lock

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "O Balcão precisa do Python 3.11 ou mais novo: make PYTHON=python3.12 ...")'
	$(PYTHON) -m venv $(VENV)

# Of the libraries, only what a service loads is compiled, by the command that imports all of it.
$(VENV)/.installed: $(VENV)/bin/python requirements.lock pyproject.toml
	$(BIN)/pip install --quiet --no-compile --require-hashes --requirement requirements.lock
	$(BIN)/pip install --quiet --no-deps --no-build-isolation --editable .
	@$(BIN)/python -m compileall -q src
	@$(BIN)/balcao routes > /dev/null
	@touch $@

$(VENV)/.installed-dev: $(VENV)/.installed requirements-dev.lock
	$(BIN)/pip install --quiet --require-hashes --requirement requirements-dev.lock
	@touch $@

COMPILE := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --custom-compile-command 'make lock' pyproject.toml --group build

lock: $(VENV)/.installed-dev ## Renews the lock files
	$(COMPILE) --output-file requirements.lock
	$(COMPILE) --extra otel --constraints requirements.lock --output-file requirements-otel.lock
	$(COMPILE) --extra otel --group dev --constraints requirements-otel.lock --output-file requirements-dev.lock

# The archives of a release: equal input makes equal bytes (docs/releasing.md).
dist: $(VENV)/.installed-dev ## Builds wheel, source archive and bill of materials into dist/
	rm -rf dist
	@$(BIN)/python -m hatchling build --directory dist
	@$(MAKE) --no-print-directory sbom
	@cd dist && sha256sum balcao-* > SHA256SUMS && cat SHA256SUMS

sbom: $(VENV)/.installed-dev ## Writes the bill of materials (CycloneDX) into dist/
	@mkdir -p dist
	@$(BIN)/python -m tools.sbom dist/balcao-$$($(BIN)/python -c 'import balcao; print(balcao.__version__)').cdx.json

# With buildah, podman or docker. BASE=… for another base image, e.g. one made by tools/base-image.
image: $(VENV)/.installed ## Builds the container image balcao:VERSION
	@tools/build-image $$($(BIN)/python -c 'import balcao; print(balcao.__version__)')

clean: ## Removes the virtual environment and what was built
	rm -rf $(VENV) build dist src/*.egg-info
