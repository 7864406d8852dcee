#!/bin/sh
# Runs a Python of 3.12 or newer with the arguments given, or says what to install. Used before there is a
# virtual environment. `PYTHON=/path/to/python make up` chooses another one.
for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.14}; do
    # A pyenv shim exists for versions that are not active here; only running it tells.
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 12))' >/dev/null 2>&1; then
        exec "$candidate" "$@"
    fi
done
if [ -n "$PYTHON" ]; then
    echo "PYTHON=$PYTHON is not a Python of version 3.12 or newer. Name another one, or leave PYTHON unset." >&2
    exit 1
fi
found=$(python3 -c 'import platform; print("found " + platform.python_version())' 2>/dev/null || echo "found none")
echo "Clearance needs Python 3.12 or newer ($found)." >&2
echo "Debian 13, Ubuntu 24.04: sudo apt-get install python3 python3-venv. macOS: brew install python@3.13." >&2
echo "Elsewhere: https://www.python.org/downloads/, then PYTHON=/path/to/python3.13 make up." >&2
exit 1
