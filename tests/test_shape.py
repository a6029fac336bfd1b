"""The budgets of the code: sizes, parameters, one-way imports, who may speak SQL and who may print."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "cutaway"
MODULES = sorted(SOURCE.rglob("*.py"))

MAX_MODULE_LINES, MEDIAN_MODULE_LINES = 300, 150
MAX_FUNCTION_LINES, MAX_PARAMETERS, MAX_MODULES = 40, 6, 205

# A layer may import itself and the layers to its right. `errors` and `config` stand beside all.
LAYERS = ("faces", "evaluation", "inspector", "retrieval", "conformance", "index", "models", "notes", "model")
ANYWHERE = {"errors", "config", "__init__"}
# Where whatever happens must become an answer: everything else catches by name.
BOUNDARIES = {"faces/http/guard.py", "faces/http/runs.py", "faces/mcp/server.py"}


def layer(module: str) -> str:
    """The first name below the package: ``cutaway.index.store`` is in ``index``."""
    return [*module.split("."), "__init__"][1]


def module_name(path: Path) -> str:
    return ".".join(("cutaway", *path.relative_to(SOURCE).with_suffix("").parts))


def imports(path: Path) -> set[str]:
    """Every module of ours that a module imports, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cutaway"):
            found.add(str(node.module))
        elif isinstance(node, ast.Import):
            found.update(name.name for name in node.names if name.name.startswith("cutaway"))
    return found


def functions(path: Path) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def named(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_MODULE_LINES


def test_most_modules_are_shorter_still() -> None:
    sizes = sorted(len(path.read_text(encoding="utf-8").splitlines()) for path in MODULES)

    assert sizes[len(sizes) // 2] <= MEDIAN_MODULE_LINES
    assert len(MODULES) <= MAX_MODULES


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_function_is_short_and_takes_few_parameters(path: Path) -> None:
    for function in functions(path):
        size = (function.end_lineno or 0) - function.lineno + 1
        signature = function.args
        given = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs]
        parameters = [argument for argument in given if argument.arg not in ("self", "cls")]

        assert size <= MAX_FUNCTION_LINES, f"{function.name} has {size} lines"
        assert len(parameters) <= MAX_PARAMETERS, f"{function.name} has {len(parameters)} parameters"


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_go_one_way(path: Path) -> None:
    own = layer(module_name(path))
    for imported in imports(path):
        other = layer(imported)
        if own in LAYERS and other in LAYERS:
            assert LAYERS.index(own) <= LAYERS.index(other), f"{named(path)} imports {imported}"
        elif own in ANYWHERE:
            assert other in ANYWHERE, f"{named(path)} imports {imported}"


@pytest.mark.parametrize("path", [path for path in MODULES if "conformance" not in path.parts], ids=named)
def test_the_product_needs_no_test_library(path: Path) -> None:
    assert [] == re.findall(
        r"^\s*(?:import|from) (?:pytest|hypothesis|cutaway\.conformance)\b", path.read_text("utf-8"), re.M
    )


@pytest.mark.parametrize("path", [path for path in MODULES if "index" not in path.parts], ids=named)
def test_only_the_index_speaks_sql(path: Path) -> None:
    statements = re.findall(r"\b(?:SELECT|INSERT|UPDATE|DELETE)\b [A-Za-z*]", path.read_text(encoding="utf-8"))

    assert [] == statements


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_every_module_and_public_name_says_what_it_is(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    public = [
        node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]

    assert ast.get_docstring(tree)
    assert [] == [node.name for node in public if not ast.get_docstring(node) and len(node.body) > 6]


@pytest.mark.parametrize("path", [path for path in MODULES if named(path) not in BOUNDARIES], ids=named)
def test_exceptions_are_caught_by_name(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ExceptHandler):
            assert node.type is not None
            assert getattr(node.type, "id", "") != "Exception"


@pytest.mark.parametrize("path", [path for path in MODULES if "index" not in path.parts], ids=named)
def test_only_the_index_asks_the_database(path: Path) -> None:
    """So nothing is read beside the scope that a reader was opened for."""
    calls = (node.func for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    asking = ("execute", "executemany", "cursor", "blob_open", "pragma", "backup", "serialize")

    assert [] == [call.attr for call in calls if isinstance(call, ast.Attribute) and call.attr in asking]
