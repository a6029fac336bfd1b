"""The API's own description: OpenAPI 3.1, with what FastAPI cannot know of it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from cutaway.faces.http.guard import OPEN
from cutaway.faces.http.problems import MEDIA_TYPE, UNEXPECTED

_PROBLEM = {"schema": {"$ref": "#/components/schemas/Problem"}, "example": UNEXPECTED.model_dump()}
_OTHER = {
    "description": "Refused before it is looked at (400, 401, 403, 405, 408, 413, 421), or a fault of ours (500).",
    "content": {MEDIA_TYPE: _PROBLEM},
}


def document(app: FastAPI) -> dict[str, Any]:
    """The document, made once."""
    if not app.openapi_schema:
        made = get_openapi(
            title=app.title, version=app.version, summary=app.summary, description=app.description, routes=app.routes
        )
        for path, operations in made["paths"].items():
            for operation in operations.values():
                _complete(operation, is_open=path == OPEN)
        schemas = made["components"]["schemas"]
        for name in ("HTTPValidationError", "ValidationError"):  # ours are problems
            schemas.pop(name, None)
        token = {"type": "http", "scheme": "bearer", "description": "`serve_token`, where the server asks for one."}
        made["components"]["securitySchemes"] = {"token": token}
        app.openapi_schema = made
    return app.openapi_schema


def _complete(operation: dict[str, Any], is_open: bool) -> None:
    operation["security"] = [{}] if is_open else [{}, {"token": []}]
    responses = operation["responses"]
    responses["default"] = _OTHER
    for response in responses.values():
        content = response.get("content", {})
        if MEDIA_TYPE in content:
            content.pop("application/json", None)
