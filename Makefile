# Each command is complete on a fresh machine: make demo, make test, make check, make bench.
BIN := .venv/bin
MODEL ?= gpt-5-mini
JOBS ?= $(shell nproc)
# Many tests wait for a sandbox or a deadline, so one worker more than processors keeps those busy.
WORKERS ?= $(shell expr $(JOBS) + 1)
# The same suites with the language model too, where there is an endpoint for one.
LLM := $(if $(OPENAI_API_KEY)$(OPENAI_BASE_URL),--agent openai:$(MODEL))

WEB_PAGES := $(addprefix miniwob/,click-button click-menu click-tab-2-hard choose-date \
	drag-sort-numbers email-inbox-forward enter-time find-midpoint login-user-popup \
	navigate-tree search-engine use-slider-2)
WEB_SITES := $(addprefix web/,drafts-for-sale gaps-in-a-draft gift-in-time next-moderator \
	not-so-many one-outage-one-thread reviewed-and-cheap supplies-by-mail)
WEB_OFFICE := $(patsubst tasks/%/solution/browser.py,%,$(wildcard tasks/tools/*/solution/browser.py))

# Many hundred processes import the package: each would compile it anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo train swe web desktop test test-full compiled collected pytest failed sound check ready lint types bench clean

help:
	@echo "make demo    set up, then evaluate the suites terminal and tools (oracle, noop, random) into runs/demo"
	@echo "make train   set up, then teach a small policy to solve tasks in sandboxes, into runs/tiny-terminal"
	@echo "make swe     set up, build the sandbox for repositories, then evaluate the suite swe into runs/swe"
	@echo "make web     set up, then evaluate MiniWoB++, shop, forum and office in a browser into runs/web and runs/web-office"
	@echo "make desktop set up, build the sandbox with a screen, then evaluate the suite desktop into runs/desktop"
	@echo "make test    set up, then lint, types, layers, sentences and all tests"
	@echo "make test-full  the same with every seed, the long soak and the tests marked full (hours)"
	@echo "make failed  run the tests that failed last again, one after the other"
	@echo "make sound   examine the tasks that changed with every seed, and note them as examined"
	@echo "make check   lint, types, layers and sentences only"
	@echo "make bench   measure resets, commands and forks, beside Docker where its daemon answers"
	@echo "make clean   remove the virtual environment and the runs"

demo:
	@scripts/setup.sh demo
	@rm -rf runs/demo
	@$(BIN)/agentgym eval terminal tools --agent oracle --agent noop --agent random $(LLM) \
		--sandbox "$$(cat .venv/.sandbox)" --jobs $(JOBS) --out runs/demo
	@echo; echo "Next: make train teaches a small policy to solve tasks like these (some minutes, no GPU)."

web:
	@scripts/setup.sh web
	@rm -rf runs/web runs/web-office
	@$(BIN)/agentgym eval $(WEB_PAGES) $(WEB_SITES) --agent oracle --agent noop --jobs $(JOBS) --out runs/web
	@$(BIN)/agentgym eval $(WEB_OFFICE) --surface browser --agent oracle --agent noop \
		--jobs $(JOBS) --out runs/web-office

train:
	@scripts/setup.sh train
	@rm -rf runs/tiny-terminal
	@$(BIN)/agentgym train examples/tiny-terminal.toml \
		--sandbox "$$(cat .venv/.sandbox)" --out runs/tiny-terminal

swe:
	@scripts/setup.sh swe
	@rm -rf runs/swe
	@suites=swe; if $(BIN)/agentgym task releases; then suites="swe swe-releases"; fi; \
		$(BIN)/agentgym eval $$suites --agent oracle --agent noop $(LLM) \
		--sandbox "$$(cat .venv/.sandbox)" --jobs $(JOBS) --out runs/swe
	@$(BIN)/agentgym grade runs/swe -g diagnosis >/dev/null
	@$(BIN)/agentgym report runs/swe >/dev/null

desktop:
	@scripts/setup.sh desktop
	@rm -rf runs/desktop
	@$(BIN)/agentgym eval desktop --agent oracle --agent noop $(LLM) \
		--sandbox "$$(cat .venv/.sandbox)" --jobs $(JOBS) --out runs/desktop
	@$(BIN)/agentgym replay runs/desktop 1 --pictures runs/desktop/pictures

check: lint types

ready:
	@scripts/setup.sh test

lint: ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/python scripts/check_words.py

types: ready
	$(BIN)/mypy

# Types take one processor for most of a minute; the tests wait for nothing of theirs.
test: compiled
	$(MAKE) --no-print-directory -j 2 types pytest

test-full: compiled
	$(MAKE) --no-print-directory -j 2 types pytest FULL="--full --note -o faulthandler_timeout=2000"

# Each worker of pytest loads all tests, at the same time: here they are compiled once, beside the lint.
compiled: ready
	$(BIN)/python -m compileall -q -j $(JOBS) agentgym
	$(MAKE) --no-print-directory -j 2 lint collected

collected: ready
	$(BIN)/pytest --collect-only -qq >/dev/null || $(BIN)/pytest --collect-only -qq

pytest: ready
	$(BIN)/pytest -n $(WORKERS) --dist worksteal --durations 10 $(FULL)

failed: ready
	$(BIN)/pytest --last-failed --last-failed-no-failures none $(FULL)

sound:
	@scripts/setup.sh test
	$(BIN)/pytest -n $(WORKERS) --dist worksteal -k it_is_sound --note tests/tasks

bench:
	@scripts/setup.sh demo
	$(BIN)/agentgym bench sandbox --json bench.json

clean:
	rm -rf .venv runs bench.json
