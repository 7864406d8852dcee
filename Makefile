# Every command works on a fresh checkout: set-up happens when it is needed and is skipped when it is done.
.PHONY: help up test smoke screenshots check fmt setup drills bench

PY = var/venv/bin/python
SETUP = @sh config/stack/python.sh -m config.stack.setup

help:
	@echo 'make up      start everything on http://localhost:8000 (another port: make up PORT=8001)'
	@echo 'make test    the whole test suite on real servers'
	@echo 'make drills  processes and servers killed at random under many refunds (SEED=7, SCHEDULES=20, MINUTES=60)'
	@echo 'make bench   the speed of pages, lists, log, live updates and policies, one table with the bounds (SCALE=0.01 for a try)'
	@echo 'make smoke   one refund from the agent to the receipt, with the time of each step'
	@echo 'make screenshots   pictures of every page into var/screenshots, wide and narrow, light and dark'
	@echo 'make check   style, types, imports, migrations, templates, links'
	@echo 'make fmt     put the sources into shape'

up:
	$(SETUP) demo
	@$(PY) -m config.stack.up

test:
	$(SETUP) dev
	@$(PY) -m config.stack.suite $(TESTS)

smoke:
	$(SETUP) demo
	@$(PY) -m config.stack.smoke

screenshots:
	$(SETUP) dev
	@$(PY) -m config.stack.screenshots $(PAGES)

drills:
	$(SETUP) dev
	@$(PY) -m tests.drills $(if $(SEED),--seed $(SEED)) $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SCHEDULES),--schedules $(SCHEDULES)) $(ARGS)

bench:
	$(SETUP) dev
	@$(PY) -m benchmarks $(if $(SCALE),--scale $(SCALE)) $(BENCHES)

check:
	$(SETUP) dev
	@$(PY) -m config.stack.check

fmt:
	$(SETUP) dev
	@$(PY) -m ruff check --fix .
	@$(PY) -m ruff format .

setup:
	$(SETUP) dev
