"""Vectors as JSON files beside this one; `load` reads one."""

import json
from pathlib import Path
from typing import Any


def load(name: str) -> Any:
    """The parsed content of `<name>.json` in this folder."""
    return json.loads((Path(__file__).parent / f"{name}.json").read_text(encoding="utf-8"))
