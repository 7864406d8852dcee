"""The tool contract: a document becomes a `Contract`, or every reason against it is told at once (R10, G6).

A contract is admitted here and checked again at dispatch (A5): `parse_contract` is the same function both times.
"""

import re
from functools import lru_cache
from typing import Any

import jsonschema_rs

from approvals.core import admission
from approvals.core.arguments import ABSENT as ABSENT
from approvals.core.arguments import Absent as Absent
from approvals.core.arguments import effective_arguments as effective_arguments
from approvals.core.contract_types import (
    Breaker,
    Check,
    Compare,
    Cursor,
    Execute,
    HttpAdapter,
    LookUp,
    Money,
    Origin,
    Presentation,
    ReadState,
    Reference,
    Request,
    Retry,
)
from approvals.core.contract_types import Contract as Contract
from approvals.core.contract_types import Finding as Finding
from approvals.core.schema_rules import compile_schema, schema_findings
from approvals.core.schemas import load
from audit.core.canonical import canonical_bytes, sha256_hex
from audit.core.jsondoor import Json, open_json
from audit.core.pointers import pointer
from audit.core.refusal import Invalid

CONTRACT_SCHEMA: dict[str, Any] = load("contract")
"""The published JSON Schema of the document."""

MAX_FINDINGS = 200
_DOCUMENT = jsonschema_rs.Draft202012Validator(CONTRACT_SCHEMA, validate_formats=True)


def parse_contract(document: dict[str, Any]) -> Contract:
    """The contract that `document` describes.

    Raises `Invalid` with `detail.findings`, each with path, code and message: CONTRACT_INVALID, or
    SANDBOX_UNAVAILABLE if that is all that stands against it. The same document gives the same object again.
    """
    return _parse(canonical_bytes(document))


def contract_findings(document: Any) -> list[Finding]:
    """Everything that stands against `document`; empty if it can be admitted."""
    found = [
        Finding(pointer(list(error.instance_path)), "CONTRACT_SHAPE", _shape_message(error))
        for error in _DOCUMENT.iter_errors(document)
    ]
    if found or not isinstance(document, dict):
        return found[:MAX_FINDINGS] or [Finding("", "CONTRACT_SHAPE", "A contract is a JSON object.")]
    found.extend(schema_findings(_object(document["input_schema"]), "/input_schema", closed=True))
    found.extend(schema_findings(_object(document["output_schema"]), "/output_schema", closed=False))
    found.extend(admission.text_findings(document))
    if document["side_effect"] == "irreversible" and "settle_after_ms" not in document:
        found.append(
            Finding(
                "/settle_after_ms",
                "SETTLE_MISSING",
                "An irreversible tool says how long its effect may take to show; until then a look-up proves nothing.",
            )
        )
    if any(finding.path.startswith("/input_schema") for finding in found):
        return found[:MAX_FINDINGS]  # what follows asks the schema about places in the arguments
    found.extend(admission.contract_findings(_build(document, b"")))
    return found[:MAX_FINDINGS]


@lru_cache(maxsize=512)
def _parse(data: bytes) -> Contract:
    # Read from the bytes, so that no caller holds a reference into what is cached.
    document = open_json(data, limit=len(data) + 1)
    found = contract_findings(document)
    if found:
        only_sandbox = all(finding.code == "SANDBOX_UNAVAILABLE" for finding in found)
        raise Invalid(
            found[0].message
            if only_sandbox
            else f"The contract cannot be admitted: {len(found)} findings, the first at {found[0].path or 'the top'}: "
            f"{found[0].message} Correct all of them and submit it again.",
            code="SANDBOX_UNAVAILABLE" if only_sandbox else "CONTRACT_INVALID",
            detail={"findings": [finding.as_dict() for finding in found]},
        )
    return _build(_object(document), data)


def _shape_message(error: jsonschema_rs.ValidationError) -> str:
    text = re.sub(r"\s+", " ", str(error.message))
    return f"{text[:300]}."


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _build(document: dict[str, Any], data: bytes) -> Contract:
    """The dataclasses of a document of the right shape. Both its schemas must compile."""
    retry = document.get("retry", {"class": "never"})
    shown = document["presentation"]
    breaker = document.get("breaker", {})
    return Contract(
        name=document["name"],
        title=document["title"],
        description=document["description"],
        side_effect=document["side_effect"],
        scopes=tuple(document["scopes"]),
        approval=document["approval"],
        input_schema=document["input_schema"],
        output_schema=document["output_schema"],
        money=tuple(Money(item["amount"], item["currency"]) for item in document.get("money", [])),
        timeout_ms=document["timeout_ms"],
        settle_after_ms=document.get("settle_after_ms", 0),
        output_cap_bytes=document["output_cap_bytes"],
        retry=Retry(retry["class"], retry.get("attempts", 3), retry.get("base_ms", 1000), retry.get("factor", 2)),
        enforced_by_target=document.get("idempotency", {}).get("enforced_by_target", False),
        sandbox_profile=document.get("sandbox_profile"),
        alternatives=tuple(document.get("alternatives", [])),
        breaker=Breaker(
            breaker.get("window_s", 10),
            breaker.get("min_requests", 20),
            breaker.get("failure_percent", 50),
            breaker.get("open_s", 15),
            breaker.get("probes", 5),
        ),
        redaction=tuple(document.get("redaction", [])),
        resource=document["resource"],
        target=document["target"],
        expires_in_s=document.get("expires_in_s", 900),
        checks=tuple(
            Check(item["id"], item["when"], item["code"], item["message"]) for item in document.get("checks", [])
        ),
        presentation=Presentation(
            sentence=shown["sentence"],
            labels=shown.get("labels", {}),
            money=shown.get("money", {}),
            compare=tuple(
                Compare(row["label"], row["now"], row["after"], row.get("money", ""))
                for row in shown.get("compare", [])
            ),
            effect_note=shown.get("effect_note", ""),
        ),
        adapter=_adapter(document["adapter"]),
        origin=Origin(
            document["origin"]["kind"],
            document["origin"].get("publisher", ""),
            document["origin"].get("reviewed_by", ""),
        ),
        digest=sha256_hex(data),
        customer=document.get("customer", ""),
        input_validator=compile_schema(document["input_schema"]),
        output_validator=compile_schema(document["output_schema"]),
    )


def _adapter(given: dict[str, Any]) -> HttpAdapter:
    execute = given["execute"]
    reference = given.get("reference")
    reading = given.get("read_state")
    look_up = given.get("look_up")
    return HttpAdapter(
        base_url=given["base_url"],
        allowed_hosts=tuple(given["allowed_hosts"]),
        credential=given.get("credential") or "",
        reference=Reference(reference["table"], reference["key"], reference["as"]) if reference else None,
        read_state=ReadState(
            _request(reading["request"]), reading["state"], reading.get("also", {}), reading.get("derived", {})
        )
        if reading
        else None,
        execute=Execute(
            _request(execute["request"]), execute["result"], execute.get("reference", ""), execute.get("success", "")
        ),
        look_up=_look_up(look_up) if look_up else None,
        postcondition=given.get("postcondition") or "",
    )


def _look_up(given: dict[str, Any]) -> LookUp:
    cursor = given.get("cursor")
    return LookUp(
        request=_request(given["request"]),
        items=given["items"],
        more=given.get("more", ""),
        cursor=Cursor(cursor["param"], cursor["from"]) if cursor else None,
        match_pointer=given["match"]["pointer"],
        match_equals=given["match"]["equals"],
        result=given["result"],
        reference=given.get("reference", ""),
    )


def _request(given: dict[str, Any]) -> Request:
    return Request(given["method"], given["path"], given.get("query", {}), given.get("form"), given.get("json"))
