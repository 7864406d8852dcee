"""The published JSON Schemas of the documents that admins write: `contract.json` and `policy.json`.

They are constants of this package, kept as files so that an editor can use them; each is read once, at import.
"""

import json
from importlib.resources import files
from typing import Any


def load(name: str) -> dict[str, Any]:
    """The schema `<name>.json` of this folder."""
    schema: dict[str, Any] = json.loads(files(__name__).joinpath(f"{name}.json").read_bytes())
    return schema
