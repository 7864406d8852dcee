"""GET /api/v1/schema/: valid, complete, with examples and every error's form."""

import json

import jsonschema_rs
import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import get_resolver
from openapi_spec_validator import validate

from tests.api.openapi import _nullable, description

METHODS = ("get", "post", "put", "patch", "delete")


def operations():
    for path, item in description()["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def api_routes() -> set[str]:
    """Every route below /api/v1/ that a DRF view answers, as the description writes it."""
    found = set()

    def walk(patterns, prefix: str) -> None:
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if hasattr(pattern, "url_patterns"):
                walk(pattern.url_patterns, route)
            elif hasattr(pattern.callback, "cls"):
                found.add("/" + route.replace("<uuid:", "{").replace("<str:", "{").replace(">", "}"))

    walk(get_resolver().url_patterns, "")
    return {route for route in found if route.startswith("/api/")}


def test_it_is_valid_openapi():
    validate(description())
    assert description()["info"]["title"] == "Clearance"


def test_it_is_made_without_a_warning(tmp_path):
    call_command("spectacular", validate=True, fail_on_warn=True, file=str(tmp_path / "schema.yml"))
    assert (tmp_path / "schema.yml").stat().st_size > 10_000


def test_it_is_open_to_everybody_and_json():
    response = Client().get("/api/v1/schema/", headers={"Accept": "text/html"})
    assert response.status_code == 200
    assert "json" in response.headers["Content-Type"]
    assert json.loads(response.content) == description()


def test_it_names_every_route_and_no_other():
    assert set(description()["paths"]) == api_routes() - {"/api/v1/schema/"}


def test_every_operation_has_a_name_a_summary_and_errors_with_examples():
    ids = []
    for path, method, operation in operations():
        where = f"{method} {path}"
        ids.append(operation["operationId"])
        assert operation["summary"], where
        assert operation["tags"], where
        failures = {status for status in operation["responses"] if status >= "400"}
        if operation.get("security") != [{}] and path != "/api/v1/token":
            assert "401" in failures, where
        if method == "post":
            assert {"413", "415", "422"} <= failures, where
        if "{" in path:
            assert "404" in failures, where
        for status in failures:
            content = operation["responses"][status]["content"]["application/json"]
            body = "CallErrorBody" if operation["operationId"] == "call_submit" else "ErrorBody"
            assert content["schema"] == {"$ref": f"#/components/schemas/{body}"}, where
            assert content["examples"], f"{where} {status} has no example"
    assert len(ids) == len(set(ids))


def test_every_body_and_every_good_answer_has_an_example():
    for path, method, operation in operations():
        for status, response in operation["responses"].items():
            if status < "300":
                for media, content in response["content"].items():
                    assert content.get("examples"), f"{method} {path} {status} {media}"
        if "requestBody" in operation:
            assert list(operation["requestBody"]["content"]) == ["application/json"], f"{method} {path}"
            assert operation["requestBody"]["content"]["application/json"].get("examples"), f"{method} {path}"


def test_every_example_keeps_to_its_schema():
    def check(content, where: str) -> None:
        schema = _nullable({**content["schema"], "components": description()["components"]})
        validator = jsonschema_rs.validator_for(schema)
        for name, example in content.get("examples", {}).items():
            problems = [f"{p.instance_path}: {p.message}" for p in validator.iter_errors(example["value"])]
            assert problems == [], f"{where}, example {name}"

    for path, method, operation in operations():
        for status, response in operation["responses"].items():
            for media, content in response["content"].items():
                check(content, f"{method} {path} {status} {media}")
        if "requestBody" in operation:
            check(operation["requestBody"]["content"]["application/json"], f"{method} {path} body")


@pytest.mark.parametrize("name", ["agent", "person"])
def test_both_ways_to_show_who_calls_are_described(name):
    assert name in description()["components"]["securitySchemes"]
