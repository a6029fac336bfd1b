"""What a page shows is what its address says: search, scope, settings, place."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

from pydantic import ValidationError

from cutaway.errors import UsageError
from cutaway.faces.asked import In, SearchIn, faults

T = TypeVar("T", bound=In)
EVERY = "*"
"""The value of `project` that means all of them."""
SEARCH = ("q", "project", "mode", "by", "rerank", "sim", "depth", "limit", "page", "where", "set", "tie")
"""What belongs to a search, and goes with it from page to page."""


class State:
    """The values of an address, each a list, and addresses that differ from it."""

    def __init__(self, values: Mapping[str, list[str]]) -> None:
        self._values = {name: [value for value in held if value] for name, held in values.items()}

    def __getitem__(self, name: str) -> str:
        """The last value of a name; empty where there is none."""
        return next(reversed(self._values.get(name, [])), "")

    def all(self, name: str) -> list[str]:
        """Every value of a name."""
        return self._values.get(name, [])

    def link(self, path: str, keep: Iterable[str] = SEARCH, **changed: object) -> str:
        """Another page, or this one with other values; what is None goes."""
        values = {name: self._values[name] for name in keep if self._values.get(name)}
        values |= {name: [str(value)] for name, value in changed.items() if value not in (None, "")}
        kept = {name: held for name, held in values.items() if name not in changed or changed[name] not in (None, "")}
        asked = urlencode(kept, doseq=True, quote_via=quote)
        return f"{path}?{asked}" if asked else path

    def scope(self) -> dict[str, Any]:
        """The parameters that say which projects."""
        chosen = [name for name in self.all("project") if name != EVERY]
        return {"projects": tuple(chosen), "all_projects": self["project"] == EVERY}

    def search(self) -> SearchIn:
        """The search. Raises UsageError, naming what is not accepted."""
        values = {
            **self.scope(),
            "query": self["q"],
            "where": tuple(self.all("where")),
            "mode": self["mode"] or None,
            "group": self["by"] or None,
            "rerank": {"on": True, "off": False}.get(self["rerank"]),
            "min_similarity": self["sim"] or None,
            "depth": self["depth"] or None,
            "limit": self["limit"] or None,
            "page": self["page"] or 1,
        }
        return parsed(SearchIn, values)


def parsed(kind: type[T], values: Mapping[str, Any]) -> T:
    """Parameters from plain values. Raises UsageError."""
    try:
        return kind.model_validate(dict(values))
    except ValidationError as error:
        said = faults(({**fault} for fault in error.errors()), kind.model_fields)
        raise UsageError("; ".join(f"{name}: {message}" for name, message in said)) from None
