# Every command a developer needs. `make demo` and `make test` set up all they use.
VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin

.PHONY: native

native: ## build the core in place, for work on it
	cmake -S . -B build/dev -G Ninja -DPython_EXECUTABLE="$$(command -v $(BIN)/python)" -DCMAKE_BUILD_TYPE=Release
	cmake --build build/dev
	cp build/dev/_native*.so build/dev/_native.pyi src/plausible/
