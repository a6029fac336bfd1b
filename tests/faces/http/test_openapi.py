"""The API's description of itself: complete, and true of whatever is asked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st
from schemathesis.checks import positive_data_acceptance

from golden import check_golden
from serving import API, running


@pytest.fixture(scope="module")
def described(client: httpx2.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("openapi.json").json()
    return found


@pytest.fixture(scope="module")
def schema(served_home: Path) -> Iterator[Any]:
    with running(served_home) as server:
        yield schemathesis.openapi.from_url(f"http://127.0.0.1:{server.port}{API}/openapi.json")


def operations(described: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, by_method in described["paths"].items():
        for method, operation in by_method.items():
            yield method, path, operation


def kind(values: dict[str, Any]) -> str:
    """A type in short."""
    if "$ref" in values:
        return str(values["$ref"].rsplit("/", 1)[1])
    if "anyOf" in values:
        return " | ".join(map(kind, values["anyOf"]))
    if values.get("type") == "array":
        return (
            f"[{kind(values.get('items', {})) if 'items' in values else ', '.join(map(kind, values['prefixItems']))}]"
        )
    return str(values.get("const") or values.get("enum") or values.get("type", "any"))


def test_the_whole_surface_is_as_somebody_last_read_it(described: dict[str, Any]) -> None:
    lines = [f"OpenAPI {described['openapi']}", ""]
    for method, path, operation in operations(described):
        body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
        query = [parameter["name"] for parameter in operation.get("parameters", ())]
        good = next(code for code in operation["responses"] if code.startswith("2"))
        (media, given) = next(iter(operation["responses"][good]["content"].items()))
        takes = kind(body) if body else f"({', '.join(query)})"
        gives = kind(given["schema"]) if "schema" in given else media
        lines.append(f"{method.upper()} {path} {takes} → {good} {gives if media == 'application/json' else media}")
    for name, model in described["components"]["schemas"].items():
        lines += ["", name]
        lines += [
            f"  {field}: {kind(values)}  {values['description']}" for field, values in model["properties"].items()
        ]
    check_golden("openapi.txt", "\n".join(lines) + "\n")


def test_everything_is_described(described: dict[str, Any]) -> None:
    for _, path, operation in operations(described):
        assert operation["description"], path
        assert {"default"} <= operation["responses"].keys()
        assert all(part.get("description") for part in operation.get("parameters", ())), path
    for name, model in described["components"]["schemas"].items():
        assert all(values.get("description") for values in model["properties"].values()), name


def test_what_comes_in_is_bounded(described: dict[str, Any]) -> None:
    """Every text has a greatest length, every list a greatest size, every number a range."""

    def unbounded(values: dict[str, Any]) -> bool:
        if "anyOf" in values:
            return any(map(unbounded, values["anyOf"]))
        limits = {"string": "maxLength", "array": "maxItems", "integer": "maximum", "number": "maximum"}
        limit = limits.get(values.get("type", ""))
        own = limit is not None and "enum" not in values and limit not in values
        return own or ("items" in values and unbounded(values["items"]))

    models = {name: held for name, held in described["components"]["schemas"].items() if name.endswith("In")}
    fields = {}
    for name, held in models.items():
        fields |= {f"{name}.{field}": values for field, values in held["properties"].items()}
    for _, path, operation in operations(described):
        fields |= {f"{path} {part['name']}": part["schema"] for part in operation.get("parameters", ())}

    assert [] == [name for name, values in fields.items() if unbounded(values)]


OPERATIONS = [
    ("POST", "/search"),
    ("GET", "/note"),
    *(("POST", f"/inspect/{view}") for view in ("query", "why", "compare", "diff", "neighbors")),
    *(("GET", f"/inspect/{view}") for view in ("chunks", "stale")),
    *(("GET", path) for path in ("/projects", "/status", "/health", "/ready", "/index/runs", "/index/runs/{run}")),
    ("POST", "/index/runs"),
    ("DELETE", "/index/runs/{run}"),
]


def test_every_operation_is_tried(described: dict[str, Any]) -> None:
    tried = {(method.lower(), f"{API}{path}") for method, path in OPERATIONS}

    assert {("get", f"{API}/index/runs/{{run}}/events")} == {
        (method, path) for method, path, _ in operations(described)
    } - tried


@pytest.mark.parametrize(("method", "path"), OPERATIONS, ids=[" ".join(operation) for operation in OPERATIONS])
def test_whatever_is_asked_the_answer_is_as_described(schema: Any, method: str, path: str) -> None:
    """No answer is a fault of the server, and each is of the shape that the document promises."""
    operation = schema[f"{API}{path}"][method]

    @settings(
        max_examples=25,
        phases=[Phase.generate],
        deadline=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
    )
    @given(case=st.one_of(operation.as_strategy(), operation.as_strategy(schemathesis.GenerationMode.NEGATIVE)))
    def tried(case: Any) -> None:
        assume(len(str(case.query)) < 4_000)  # a head of more than 64 kB is the server library's to refuse
        case.call_and_validate(timeout=60, excluded_checks=[positive_data_acceptance])  # sense is more than shape

    tried()
