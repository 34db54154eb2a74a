# Two commands do everything, set-up included: `make demo` and `make test`.
# They need make and Python 3.11 or later; everything else goes into $(VENV).

VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
PYTEST_ARGS ?=
BENCH_ARGS ?=
SMOKE_ARGS ?=

.DEFAULT_GOAL := help
.PHONY: help venv demo test chaos lint lowest packages reference bench smoke clean distclean

help:
	@echo "make demo   show turngate at work: starts its own broker, publishes turns, stops everything"
	@echo "make test   ruff, mypy and pytest on every broker this machine can run"
	@echo "make chaos  the long form of the chaos tests: who may die, on every broker this machine can run (half an hour)"
	@echo "make lint   ruff and mypy alone"
	@echo "make lowest    a quick set of tests with the lowest versions of everything that turngate needs"
	@echo "make packages  the wheel, installed with each extra into an environment of its own"
	@echo "make bench     every figure beside those of other projects, as ratios; about half an hour"
	@echo "make smoke     the working tree beside the commit before it: ratios, judged by nobody"
	@echo "make reference what is made from the code: the wire's tables, JSON Schemas and the AsyncAPI document in docs/"
	@echo "make venv   only create $(VENV) and install everything into it"
	@echo "make clean  remove caches (distclean: also $(VENV) and the fetched Kafka)"
	@echo
	@echo "PYTHON=/path/to/python3.12      the Python to build $(VENV) with"
	@echo "LANES=0                         one test after the other, in one process"
	@echo "PYTEST_ARGS='-k name -x'        more arguments for pytest"
	@echo "BENCH_ARGS='--only gate'        more arguments for the measurements: python -m bench --help"
	@echo "TURNGATE_TEST_BROKERS=embedded  only these brokers (embedded, apache, docker; comma between)"

venv: $(STAMP)

# PYTHON, when given, is used or refused; otherwise the first one that is new enough, the plain name first.
$(STAMP): pyproject.toml
	@set -e; \
	new_enough='import sys; sys.exit(sys.version_info < (3, 11))'; \
	python=''; \
	for candidate in $(or $(PYTHON),python3 python3.14 python3.13 python3.12 python3.11); do \
	  if "$$candidate" -c "$$new_enough" >/dev/null 2>&1; then python="$$candidate"; break; fi; \
	done; \
	if [ -z "$$python" ]; then \
	  echo "turngate needs Python 3.11 or later, and found none (tried: $(or $(PYTHON),python3 and python3.11 to python3.14))." >&2; \
	  echo "Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; \
	  exit 1; \
	fi; \
	if ! "$$python" -c 'import ensurepip, venv' >/dev/null 2>&1; then \
	  echo "$$python ($$("$$python" -V 2>&1)) cannot make virtual environments: its venv or ensurepip module is missing." >&2; \
	  echo "On Debian and Ubuntu: apt-get install python3-venv. Or name another: make $(MAKECMDGOALS) PYTHON=..." >&2; \
	  exit 1; \
	fi; \
	echo "Creating $(VENV) with $$("$$python" -V 2>&1) and installing turngate and its tools into it ..."; \
	"$$python" -m venv --clear "$(VENV)"; \
	"$(BIN)/python" -m pip install --quiet --disable-pip-version-check --editable '.[dev]'; \
	touch "$(STAMP)"

demo: $(STAMP)
	@$(BIN)/turngate demo

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/mypy

# The header of pytest's output names the brokers of this run, and says of each one left out why. Tests on a broker mostly
# wait, so modules are tested in several processes, each with brokers of its own.
LANES ?= 3

test: lint
	$(BIN)/pytest --numprocesses $(LANES) --dist loadscope $(PYTEST_ARGS)

# A short form of it is part of `make test`. PYTEST_ARGS='--chaos-json chaos.json' also writes the table to a file.
chaos: $(STAMP)
	$(BIN)/pytest tests/chaos --chaos=full $(PYTEST_ARGS)

# Quick, and nothing that asks for a broker of its own: what a version too old breaks is seen by what is called.
LOWEST_TESTS := tests/topics tests/processors/builtin tests/processors/test_deps.py tests/streams/gate tests/streams/models \
  tests/streams/gateway/test_keys.py tests/streams/cli/test_usage.py tests/streams/cli/test_gate_command.py \
  tests/streams/test_settings.py tests/streams/test_metrics.py tests/streams/test_status.py tests/packaging

lowest: $(STAMP)
	"$(BIN)/python" -m venv --clear "$(VENV)-lowest"
	"$(VENV)-lowest/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[test]' \
	  --constraint constraints-lowest.txt
	"$(VENV)-lowest/bin/pytest" $(LOWEST_TESTS) --brokers embedded $(PYTEST_ARGS)

packages: $(STAMP)
	$(BIN)/pytest tests/packaging --packages $(PYTEST_ARGS)

# What is measured beside turngate is heavy, and has nothing to do in the environment that one works in.
BENCH_STAMP := $(VENV)-bench/.installed

$(BENCH_STAMP): pyproject.toml | $(STAMP)
	"$(BIN)/python" -m venv --clear "$(VENV)-bench"
	"$(VENV)-bench/bin/python" -m pip install --quiet --disable-pip-version-check --editable '.[bench,builtin,embedded,fast,gateway,sealing]'
	npm install --silent --no-audit --no-fund --prefix "$(VENV)-bench/mastra" '@mastra/core@^1.71.0' \
	  || echo "npm could not install @mastra/core: Mastra's filter will be absent"
	touch "$(BENCH_STAMP)"

bench: $(BENCH_STAMP)
	"$(VENV)-bench/bin/python" -m bench $(BENCH_ARGS)

smoke: $(STAMP)
	@$(BIN)/python -m bench.smoke $(SMOKE_ARGS)

reference: $(STAMP)
	$(BIN)/python -m tests.docs.regenerate

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find topics processors streams tests -name __pycache__ -type d -prune -exec rm -rf {} +

distclean: clean
	rm -rf "$(VENV)" "$(VENV)-lowest" "$(VENV)-bench" .cache *.egg-info
