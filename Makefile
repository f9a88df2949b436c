# Every command a developer needs. `make demo` and `make test` set up all they use.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin
SOURCES = $(shell find src native -name '*.py' -o -name '*.cpp' -o -name '*.hpp') CMakeLists.txt pyproject.toml

.PHONY: demo demo-reader services test test-long check format native sanitize fuzz benchmarks clean help

help: ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/ —/'

$(VENV)/pip: # an environment with a pip that knows dependency groups
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	touch $@

$(VENV)/installed: $(VENV)/pip $(SOURCES)
	$(BIN)/pip install --quiet .
	touch $@

$(VENV)/tested: $(VENV)/pip pyproject.toml
	$(BIN)/pip install --quiet --group test --group check
	touch $@

demo: $(VENV)/installed ## install, then learn, evaluate, classify and explain on the example messages
	@PATH="$(BIN):$$PATH" sh examples/demo.sh

demo-reader: $(VENV)/installed ## install, fill a reader with sample articles, and open it in the browser
	@mkdir -p build
	@$(BIN)/python examples/fill_reader.py build/demo-reader.db
	@$(BIN)/plausible reader --store build/demo-reader.db

services: ## the browser and the news server of the tests, from Debian's packages
	sh tests/web/services.sh || test "$$CI" != true
	sh tests/collecting/services.sh || test "$$CI" != true

test: $(VENV)/installed $(VENV)/tested services ## the tests
	$(BIN)/python -m pytest -m "not long"

test-long: $(VENV)/installed $(VENV)/tested services ## the tests that take long
	$(BIN)/python -m pytest -m long

check: $(VENV)/installed $(VENV)/tested ## format, lint, types, layers
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/python -m mypy --python-executable $(BIN)/python
	$(BIN)/lint-imports

format: $(VENV)/tested ## put the code in its format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

native: ## build the core in place, for work on it
	cmake -S . -B build/dev -G Ninja -DPython_EXECUTABLE="$$(command -v $(BIN)/python)" -DCMAKE_BUILD_TYPE=Release
	cmake --build build/dev
	install build/dev/_native*.so build/dev/_native.pyi src/plausible/

sanitize: $(VENV)/tested ## the tests of the core, built with the address and undefined-behaviour sanitisers
	$(BIN)/pip install --quiet cmake ninja nanobind unicodedata2==15.1.0
	PATH="$(abspath $(BIN)):$$PATH" cmake -S . -B build/sanitized -G Ninja -DPLAUSIBLE_SANITIZE=ON \
	  -DPython_EXECUTABLE="$(abspath $(BIN))/python" -DCMAKE_BUILD_TYPE=RelWithDebInfo
	PATH="$(abspath $(BIN)):$$PATH" cmake --build build/sanitized
	rm -rf build/sanitized/package && mkdir -p build/sanitized/package && cp -r src/plausible build/sanitized/package/
	cp build/sanitized/_native*.so build/sanitized/package/plausible/
	ASAN_OPTIONS=detect_leaks=0 LD_PRELOAD="$$(c++ -print-file-name=libasan.so) $$(c++ -print-file-name=libubsan.so)" \
	  PYTHONPATH=build/sanitized/package $(BIN)/python -m pytest -m "not long and not data" -p no:cacheprovider tests/core tests/networks

FUZZ ?= -seed=1 -runs=2000
fuzz: $(VENV)/installed $(VENV)/tested ## bytes that look for new ways through the tokeniser and the readers; FUZZ=-max_total_time=600 goes on for longer
	$(BIN)/pip install --quiet --group fuzz
	mkdir -p build/fuzz
	cd build/fuzz && for target in tokens mail mbox csv jsonl model network; do \
	  $(abspath $(BIN))/python ../../fuzz/fuzz.py $$target $(FUZZ) > $$target.log 2>&1 \
	    || { cat $$target.log; exit 1; }; echo "$$target: $$(tail -n 1 $$target.log)"; done

benchmarks: $(VENV)/installed $(VENV)/tested ## measure speed and quality beside the peers
	$(BIN)/pip install --quiet --group benchmarks
	for script in benchmarks/[a-z]*.py; do $(BIN)/python $$script || exit 1; done

clean: ## remove what was built
	rm -rf build $(VENV)
