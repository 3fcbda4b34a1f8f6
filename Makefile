# What needs the environment sets it up first, if it is missing or stale. ARGS goes to pytest
# (make test ARGS="-k ring"), SEED and SEEDS to the simulator, PYTHON to scripts/bootstrap.

.DEFAULT_GOAL := help
.PHONY: help demo test soak check sim bench wire lock clean
export PYTHON

BIN := .venv/bin
# pytest exits with 5 when a selection holds no tests, which is no failure here.
PYTEST = $(BIN)/python -m pytest $(1) $(ARGS) || [ $$? -eq 5 ]

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-6s  %s\n", $$1, $$2 }' Makefile

demo: .venv/.ready ## a cluster on this machine, at work
	@$(BIN)/remuda demo

test: .venv/.ready ## the tests: unit first, then integration
	@$(call PYTEST,-n 2 -m "not integration and not soak")
	@$(call PYTEST,-m "integration and not soak")

soak: .venv/.ready ## long runs under kills and faults, which `make test` leaves out
	@$(call PYTEST,-m soak -s)

check: .venv/.ready ## format, lint, types, and the rules of the house
	@$(BIN)/ruff format --check
	@$(BIN)/ruff check
	@$(BIN)/pyright
	@$(BIN)/python -m pytest tests/project

sim: .venv/.ready ## simulated clusters having bad days: SEEDS=2000 of them, or SEED=7 again
	@$(BIN)/python -m remuda.testing.run $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),2000))

bench: .venv/.ready ## how fast it is here
	@$(BIN)/python -m bench

wire: .venv/.ready ## src/remuda/v1 from proto/, the messages of our gRPC services
	@scripts/generate_wire

lock: ## requirements.lock from pyproject.toml; UPGRADE=1 takes newer versions
	@uv="$$(scripts/bootstrap --uv)" && "$$uv" pip compile \
		--quiet --universal --python-version 3.11 \
		--generate-hashes --group dev $(if $(UPGRADE),--upgrade) \
		--custom-compile-command "make lock" --output-file requirements.lock pyproject.toml

clean: ## back to a fresh checkout; the data of your clusters stays
	@rm -rf .venv .venv-tools .hypothesis .pytest_cache .ruff_cache dist
	@find bench src tests -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

.venv/.ready: requirements.lock pyproject.toml scripts/bootstrap
	@scripts/bootstrap
