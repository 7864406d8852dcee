#!/bin/sh
# Writes the hashed requirement files anew from pyproject.toml. Needs `uv` (it is among the development packages).
# The files carry no addresses: whatever index the installer is set up with serves them.
set -eu
cd "$(dirname "$0")/.."
lock() {
    uv pip compile --quiet --universal --python-version 3.12 --generate-hashes --no-emit-index-url --no-header \
        pyproject.toml "$@"
}
lock --output-file requirements/run.txt
lock --extra demo --constraint requirements/run.txt --output-file requirements/demo.txt
lock --extra demo --extra dev --constraint requirements/demo.txt --output-file requirements/dev.txt
