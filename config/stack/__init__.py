"""The launcher: everything `make up`, `make test` and `make smoke` start and stop. Knows nothing of Django."""
