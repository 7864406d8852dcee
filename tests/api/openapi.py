"""The API's own description, for tests: is it valid, and do real answers keep to it?"""

from functools import cache
from typing import Any

import jsonschema_rs
from django.test import Client


@cache
def description() -> dict[str, Any]:
    """The description as a client gets it."""
    response = Client().get("/api/v1/schema/")
    assert response.status_code == 200
    return dict(response.json())


def assert_described(response: Any, method: str, path: str) -> None:
    """The response has a status that the description names for this operation, and a body of the form it gives."""
    operation = description()["paths"][path][method]
    status = str(response.status_code)
    assert status in operation["responses"], f"{method} {path} answered {status}, which its description leaves out"
    content = operation["responses"][status]["content"]["application/json"]
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", **content["schema"]}
    schema["components"] = description()["components"]
    validator = jsonschema_rs.validator_for(_nullable(schema))
    problems = [f"{problem.instance_path}: {problem.message}" for problem in validator.iter_errors(response.json())]
    assert problems == []


def _nullable(schema: Any) -> Any:
    """OpenAPI 3.0 writes `nullable: true` where JSON Schema writes a second type."""
    if isinstance(schema, list):
        return [_nullable(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    changed = {key: _nullable(item) for key, item in schema.items() if key != "nullable"}
    return {"anyOf": [changed, {"type": "null"}]} if schema.get("nullable") is True else changed
