"""Describes services over HTTP: a document of OpenAPI 3.1, and the status of every error."""

from __future__ import annotations

from typing import Any, Final

from agentgym.records import Json
from agentgym.services.backend import ServiceSet
from agentgym.services.functions import Function
from agentgym.services.image import PATTERN

STATUS: Final = {
    "invalid": 422,
    "not_found": 404,
    "conflict": 409,
    "forbidden": 403,
    "unavailable": 503,
    "internal": 500,
}
"""HTTP status by the code of an error."""


def openapi(services: ServiceSet) -> dict[str, Json]:
    """Return the OpenAPI 3.1 description of a set of services."""
    paths: dict[str, Json] = {}
    schemas: dict[str, Json] = {"Error": _ERROR}
    for function in services.functions.values():
        paths[f"/tools/{function.spec.name}"] = {"post": _operation(function)}
        schemas |= _definitions(function.spec.parameters, function, "Arguments")
        schemas |= _definitions(function.result_schema, function, "Result")
    paths["/images/{name}"] = _IMAGE_PATH
    return {
        "openapi": "3.1.0",
        "info": {"title": "Services", "version": "1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def _operation(function: Function) -> Json:
    name = function.spec.name
    given = _placed(function.result_schema, name, "Result")
    result: Json = {"type": "object", "required": ["result"], "properties": {"result": given}}
    return {
        "operationId": name,
        "summary": function.spec.description,
        "tags": [function.service],
        "requestBody": {
            "required": True,
            "content": _json_of(_placed(function.spec.parameters, name, "Arguments")),
        },
        "responses": {
            "200": {"description": "What the tool returned.", "content": _json_of(result)},
            "default": {
                "description": "Why it failed; nothing was changed.",
                "content": _json_of({"$ref": "#/components/schemas/Error"}),
            },
        },
    }


def _definitions(schema: Any, function: Function, part: str) -> dict[str, Json]:
    name = function.spec.name
    return {
        f"{name}_{part}_{key}": _placed(inner, name, part)
        for key, inner in schema.get("$defs", {}).items()
    }


_ERROR: Final[Json] = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "field"],
            "properties": {
                "code": {"type": "string", "enum": list(STATUS)},
                "message": {"type": "string"},
                "field": {"type": ["string", "null"]},
            },
        }
    },
}

_IMAGE_PATH: Final[dict[str, Json]] = {
    "get": {
        "operationId": "image",
        "summary": "Show a picture that a tool has named.",
        "parameters": [
            {
                "name": "name",
                "in": "path",
                "required": True,
                "schema": {"type": "string", "pattern": PATTERN},
            }
        ],
        "responses": {
            "200": {"description": "The picture.", "content": {"image/*": {}}},
            "404": {"description": "No tool has named such a picture."},
        },
    }
}


def _json_of(schema: Json) -> Json:
    return {"application/json": {"schema": schema}}


def _placed(schema: Any, tool: str, part: str) -> Any:
    """Return a schema with its own definitions as components of the document."""
    if isinstance(schema, list):
        return [_placed(item, tool, part) for item in schema]
    if not isinstance(schema, dict):
        return schema
    placed = {k: _placed(v, tool, part) for k, v in schema.items() if k != "$defs"}
    if isinstance(placed.get("$ref"), str):
        placed["$ref"] = placed["$ref"].replace("#/$defs/", f"#/components/schemas/{tool}_{part}_")
    return placed
