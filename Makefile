# Two commands do everything: `make demo` and `make test`. Both set up .venv when it is needed.

PYTHON ?= $(shell for p in python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PIP := -m pip --disable-pip-version-check
TYPED := src scripts $(wildcard benchmarks)

.PHONY: help demo test proved lint docs linkcheck install install-bench smoke constraints clean

help:
	@echo "make demo           set up, then check, describe, solve, simulate and learn the cloud model, with a report"
	@echo "make test           set up, then every check and test"
	@echo "make proved         build the checker of certificates that is extracted from a Coq proof (needs OCaml; with Coq, checks the proof)"
	@echo "make docs           build the site in build/site, tutorials executed"
	@echo "make linkcheck      try every link of the site that leads to another host (needs the network)"
	@echo "make lint           the checks of make test, without the tests"
	@echo "make smoke          build the wheel and the sdist and try each in an empty environment"
	@echo "make install-bench  add the packages that benchmarks compare with"
	@echo "make constraints    pin the newest versions of all packages in constraints.txt"
	@echo "make clean          remove .venv and everything built"

demo: $(STAMP)
	@mkdir -p build/demo
	$(BIN)/recurl check cloud
	$(BIN)/recurl describe cloud
	$(BIN)/recurl solve cloud --policy build/demo/best.json --certificate build/demo/cloud.cert
	$(BIN)/recurl verify cloud build/demo/cloud.cert
	$(BIN)/recurl simulate cloud --policy build/demo/best.json
	$(BIN)/recurl reproduce cloud --seeds 3 --out build/demo/reproduced

# Python keeps its bytecode, even where it is told not to: tests start many processes. Two cores have
# work for three processes: now and then one waits for a cluster, a browser or a command.
test: lint
	PYTHONDONTWRITEBYTECODE= $(BIN)/python -m pytest -n 3 --dist worksteal -q

proved:
	$(MAKE) -C verified

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict $(TYPED)
	$(BIN)/python scripts/check_imports.py

# Warnings are errors.
docs: $(STAMP)
	$(BIN)/sphinx-build -W --keep-going -q -b html docs build/site
	@echo "the site is in build/site/index.html"

linkcheck: $(STAMP)
	$(BIN)/sphinx-build -q -b linkcheck -D nb_execution_mode=off -D site_light=1 docs build/linkcheck

install: $(STAMP)

# The stamp goes away before an install and comes back after it: without it, whatever an
# interrupted run left behind is thrown away.
$(STAMP): pyproject.toml constraints.txt src/recurl/version.py
	@test -n "$(PYTHON)" || { echo "recurl needs Python 3.11 or newer; name one: make PYTHON=..."; exit 1; }
	test -e $(STAMP) || $(PYTHON) -m venv --clear $(VENV)
	rm -f $(STAMP)
	$(BIN)/python $(PIP) install -q -c constraints.txt -e '.[deep,dev,docs,ray,tune]'
	$(BIN)/python $(PIP) install -q -c constraints.txt -e '.[storm,planning]' || \
		echo "stormpy or unified-planning cannot be installed: their tests are skipped"
	touch $(STAMP)

install-bench: $(STAMP)
	$(BIN)/python $(PIP) install -c constraints-bench.txt -e '.[bench]'

smoke: $(STAMP)
	$(BIN)/python scripts/smoke_wheel.py

# Run it on Python 3.11: newer ones resolve packages that no longer support it.
constraints:
	$(PYTHON) -m venv --clear build/constraints
	build/constraints/bin/python $(PIP) install -q -U '.[deep,dev,docs,ray,tune,storm,planning]'
	{ echo "# Made by 'make constraints' on Python 3.11, for recurl[deep,dev,docs,ray,tune,storm,planning]."; \
	  build/constraints/bin/python $(PIP) freeze --exclude recurl; } > build/constraints.txt
	! grep -n '@\|://' build/constraints.txt
	mv build/constraints.txt constraints.txt
	rm -rf build/constraints

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	find . -name __pycache__ -prune -exec rm -rf {} +  # compiled kernels
