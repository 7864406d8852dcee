"""What a tool's JSON Schemas may say (data rule 13): closed objects, local references, plain defaults, known words.

A schema is untrusted text until it is admitted. It is compiled with a retriever that refuses, formats asserted,
unknown formats refused, and a regular-expression engine without backtracking.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import jsonschema_rs

from approvals.core.contract_types import Finding
from audit.core.canonical import canonical_bytes
from audit.core.jsondoor import Json
from audit.core.pointers import pointer, split_pointer
from audit.core.refusal import Refusal

MAX_BYTES = 65_536
MAX_DEPTH = 24
MAX_SUBSCHEMAS = 1_000
"""Subschemas after every reference is written out; a chain of references can double with each step."""

_ONE = ("additionalProperties", "items", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties",
        "not", "if", "then", "else")  # fmt: skip
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "$defs")
# Words whose schemas narrow a value that the schema around them has described already.
_NARROWING = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "contains", "propertyNames")
_REFUSED = {
    "$id": "it would change what references mean",
    "$anchor": "references use pointers",
    "$dynamicRef": "references use $ref",
    "$dynamicAnchor": "references use $ref",
    "$recursiveRef": "references use $ref",
    "$vocabulary": "the vocabulary is fixed",
    "unevaluatedItems": "use items",
    "unevaluatedProperties": "use additionalProperties",
    "dependencies": "use dependentRequired or dependentSchemas",
    "definitions": "use $defs",
    "additionalItems": "use items",
}
_KNOWN = frozenset(
    (*_ONE, *_MANY, *_NAMED, "$schema", "$ref", "$comment", "type", "enum", "const", "title", "description", "default",
     "examples", "deprecated", "readOnly", "writeOnly", "format", "pattern", "minLength", "maxLength", "minimum",
     "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "uniqueItems",
     "minContains", "maxContains", "required", "minProperties", "maxProperties", "dependentRequired",
     "contentEncoding", "contentMediaType")
)  # fmt: skip
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def compile_schema(schema: dict[str, Json]) -> jsonschema_rs.Draft202012Validator:
    """A validator for an admitted schema. Raises ValueError (jsonschema_rs.ValidationError is one) if it has faults."""
    return jsonschema_rs.Draft202012Validator(
        schema,
        validate_formats=True,
        ignore_unknown_formats=False,
        retriever=_refuse,
        pattern_options=jsonschema_rs.RegexOptions(size_limit=1_000_000),
    )


def _refuse(uri: str) -> Json:
    raise ValueError(f"a schema refers to {uri}; only references inside it (#/…) are followed")


def schema_findings(schema: dict[str, Json], at: str, *, closed: bool) -> list[Finding]:
    """Everything against `schema`, whose place in the contract is the pointer `at`. With `closed` (input schemas)
    every object must refuse unknown fields and defaults must be plain; output schemas may stay open."""
    walk = _Walk(schema, at, closed)
    walk.run()
    if walk.found:
        return walk.found
    try:
        compile_schema(schema)
    except ValueError as error:
        return [Finding(at, "SCHEMA_INVALID", f"The schema does not compile: {_first_line(error)}.")]
    return list(_default_findings(schema, at)) if closed else []


def _first_line(error: ValueError) -> str:
    text = getattr(error, "message", "") or str(error)
    return text.split("\n", 1)[0].rstrip(".")


@dataclass
class _Walk:
    root: dict[str, Json]
    at: str
    closed: bool
    found: list[Finding] = field(default_factory=list)
    sizes: dict[str, int] = field(default_factory=dict)
    returning: dict[str, bool] = field(default_factory=dict)

    def run(self) -> None:
        try:
            size = len(canonical_bytes(self.root))
        except Refusal as error:
            self._add("", "SCHEMA_INVALID", error.message)
            return
        if size > MAX_BYTES:
            self._add("", "SCHEMA_TOO_LARGE", f"The schema has {size:,} bytes; at most {MAX_BYTES:,}.")
            return
        if self.closed and self.root.get("type") != "object":
            self._add("", "SCHEMA_NOT_OBJECT", 'A tool\'s arguments are an object: say "type": "object" at the top.')
        self._visit(self.root, "", constrained=False, plain=True, depth=0)
        if not self.found and self._expanded("") > MAX_SUBSCHEMAS:
            self._add(
                "", "SCHEMA_TOO_LARGE", f"The schema has more than {MAX_SUBSCHEMAS:,} parts, references included."
            )

    def _add(self, path: str, code: str, message: str) -> None:
        self.found.append(Finding(self.at + path, code, message))

    def _visit(self, schema: Json, path: str, *, constrained: bool, plain: bool, depth: int) -> None:
        """`constrained`: an enclosing schema has said the type already, so this one only narrows it.
        `plain`: reached from the top by properties and items alone, so that a default here means one thing."""
        if depth > MAX_DEPTH:
            self._add(path, "SCHEMA_TOO_DEEP", f"The schema is nested more than {MAX_DEPTH} deep.")
            return
        if schema is True and self.closed and not constrained:
            self._add(path, "SCHEMA_OPEN", "This place takes anything, unknown fields included. Give it a type.")
        if isinstance(schema, bool):
            return
        if not isinstance(schema, dict):
            self._add(path, "SCHEMA_INVALID", "A schema is an object.")
            return
        self._words(schema, path)
        self._reference(schema, path)
        if self.closed:
            self._closed(schema, path, constrained)
            if "default" in schema and not plain:
                self._add(
                    path + "/default",
                    "DEFAULT_NOT_PLAIN",
                    "A default is only taken from a field under plain properties, not under a combinator, a reference "
                    "or a pattern.",
                )
        typed = constrained or "type" in schema
        for word, key, part in _parts(schema):
            below = typed if word in _NARROWING else False
            child_path = f"{path}/{_escaped(word)}" + (f"/{_escaped(key)}" if key is not None else "")
            child_constrained = below or (constrained and word not in ("$defs",))
            child_plain = plain and word in ("properties", "items")
            self._visit(part, child_path, constrained=child_constrained, plain=child_plain, depth=depth + 1)

    def _words(self, schema: dict[str, Json], path: str) -> None:
        for word in schema:
            if word in _REFUSED and not (word == "unevaluatedProperties" and not self.closed):
                self._add(f"{path}/{_escaped(word)}", "SCHEMA_WORD", f"{word} is not used here: {_REFUSED[word]}.")
            elif word not in _KNOWN:
                self._add(
                    f"{path}/{_escaped(word)}",
                    "SCHEMA_WORD",
                    f"{word} is no word of JSON Schema 2020-12; is it misspelt?",
                )
        if schema.get("$schema", _DRAFT) != _DRAFT:
            self._add(f"{path}/$schema", "SCHEMA_DRAFT", f"Schemas are of the draft {_DRAFT}.")

    def _reference(self, schema: dict[str, Json], path: str) -> None:
        target = schema.get("$ref")
        if target is None:
            return
        if not isinstance(target, str) or not target.startswith("#"):
            self._add(f"{path}/$ref", "SCHEMA_REF", "A reference points inside the same schema: #/$defs/….")
        elif self._target(target) is None:
            self._add(f"{path}/$ref", "SCHEMA_REF", f"There is nothing at {target}.")
        elif self._returns(target):
            self._add(f"{path}/$ref", "SCHEMA_REF", f"{target} refers to itself; write out the depth that is needed.")

    def _target(self, reference: str) -> Json | None:
        place: Json = self.root
        try:
            parts = split_pointer(reference[1:])
        except ValueError:
            return None
        for part in parts:
            if isinstance(place, dict) and part in place:
                place = place[part]
            elif isinstance(place, list) and part.isdecimal() and int(part) < len(place):
                place = place[int(part)]
            else:
                return None
        return place

    def _returns(self, reference: str) -> bool:
        """True if following `reference` leads back to a reference that is being followed."""
        if reference not in self.returning:
            self.returning[reference] = True  # for as long as it is being followed
            inner = [self._returns(name) for name in _references(self._target(reference))]
            self.returning[reference] = any(inner)
        return self.returning[reference]

    def _expanded(self, reference: str) -> int:
        """How many subschemas `reference` ("" for the whole) stands for once every reference is written out."""
        if reference not in self.sizes:
            target = self.root if reference == "" else self._target(reference)
            inner = sum(self._expanded(name) for name in _references(target))
            self.sizes[reference] = _count(target) + inner
        return self.sizes[reference]

    def _closed(self, schema: dict[str, Json], path: str, constrained: bool) -> None:
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        takes_objects = isinstance(kinds, list) and "object" in kinds
        if takes_objects and not constrained and schema.get("additionalProperties") is not False:
            self._add(
                path,
                "SCHEMA_OPEN",
                'This object takes unknown fields. Say "additionalProperties": false and name every field.',
            )
        if "additionalProperties" in schema and schema["additionalProperties"] is not False:
            self._add(
                path + "/additionalProperties", "SCHEMA_OPEN", "Unknown fields are refused: only false is taken here."
            )
        if isinstance(kinds, list) and "array" in kinds and not constrained and "items" not in schema:
            self._add(path, "SCHEMA_OPEN", 'This list takes anything. Say what its "items" are.')
        says_type = "type" in schema or "enum" in schema or "const" in schema or "$ref" in schema
        branches = any(word in schema for word in ("allOf", "anyOf", "oneOf"))
        if not constrained and not says_type and not branches:
            self._add(path, "SCHEMA_OPEN", "This place takes anything, unknown fields included. Give it a type.")


def _parts(schema: dict[str, Json]) -> Iterator[tuple[str, str | None, Json]]:
    """The subschemas of one schema: the word, the name or index under it if there is one, the subschema."""
    for word in _ONE:
        if word in schema:
            yield word, None, schema[word]
    for word in _MANY:
        many = schema.get(word)
        if isinstance(many, list):
            for index, item in enumerate(many):
                yield word, str(index), item
    for word in _NAMED:
        named = schema.get(word)
        if isinstance(named, dict):
            for name, item in named.items():
                yield word, name, item


def _references(schema: Json) -> Iterator[str]:
    if isinstance(schema, dict):
        target = schema.get("$ref")
        if isinstance(target, str):
            yield target
        for word, _, part in _parts(schema):
            if word != "$defs":  # a definition counts where it is used
                yield from _references(part)


def _count(schema: Json) -> int:
    if not isinstance(schema, dict):
        return 1
    return 1 + sum(_count(part) for _, _, part in _parts(schema))


def _escaped(name: str) -> str:
    return pointer([name])[1:]


def _default_findings(schema: dict[str, Json], at: str) -> Iterator[Finding]:
    """Defaults that their own schema would refuse. Only called for a schema that compiles."""
    for path, part in _plain_parts(schema, ""):
        if "default" in part:
            alone = {**part, "$defs": schema.get("$defs", {})}
            if not compile_schema(alone).is_valid(part["default"]):
                yield Finding(f"{at}{path}/default", "DEFAULT_INVALID", "Its own schema refuses this default.")


def _plain_parts(schema: Json, path: str) -> Iterator[tuple[str, dict[str, Json]]]:
    if isinstance(schema, dict):
        yield path, schema
        for word, key, part in _parts(schema):
            if word in ("properties", "items"):
                step = f"/{word}" + (f"/{_escaped(key)}" if key is not None else "")
                yield from _plain_parts(part, path + step)


def schema_at(schema: dict[str, Json], place: str) -> dict[str, Json] | None:
    """The subschema for a place in the arguments, following properties, items (`*` or an index) and references;
    None if the schema says nothing about it by plain words."""
    current: Json = schema
    for part in split_pointer(place):
        current = _resolved(schema, current)
        if not isinstance(current, dict):
            return None
        properties = current.get("properties")
        if isinstance(properties, dict) and part in properties:
            current = properties[part]
        elif "items" in current and (part == "*" or part.isdecimal()):
            current = current["items"]
        else:
            return None
    current = _resolved(schema, current)
    return current if isinstance(current, dict) else None


def _resolved(root: dict[str, Json], schema: Json) -> Json:
    """`schema` with its reference followed; words that stand beside `$ref`, such as a title, are kept."""
    hops = 0
    while isinstance(schema, dict) and isinstance(schema.get("$ref"), str) and hops < MAX_DEPTH:
        target: Json = root
        for part in split_pointer(str(schema["$ref"])[1:]):
            target = target.get(part) if isinstance(target, dict) else None
        beside = {word: value for word, value in schema.items() if word != "$ref"}
        schema = {**target, **beside} if isinstance(target, dict) else target
        hops += 1
    return schema


def always_there(schema: dict[str, Json], place: str) -> bool:
    """True if arguments that pass the schema, defaults filled in, always have `place`: every step is required or has
    a default."""
    current: Json = schema
    for part in split_pointer(place):
        current = _resolved(schema, current)
        if not isinstance(current, dict):
            return False
        properties = current.get("properties")
        if not isinstance(properties, dict) or part not in properties:
            return False
        below = properties[part]
        required = current.get("required", [])
        has_default = isinstance(below, dict) and "default" in below
        if not has_default and not (isinstance(required, list) and part in required):
            return False
        current = below
    return True
