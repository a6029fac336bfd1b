"""Saved traces: a search as it was executed, in a file, with or without the texts of notes."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from cutaway.errors import UsageError
from cutaway.faces.traces import VERSION, TraceOut


def save(trace: TraceOut, file: Path, redact: bool = False) -> None:
    """Write a trace. Raises UsageError where the file cannot be written."""
    try:
        file.write_text((redacted(trace) if redact else trace).as_json() + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror or error}") from None


def load(file: Path) -> TraceOut:
    """Read a trace. Raises UsageError, naming what is wrong."""
    try:
        text = file.read_text(encoding="utf-8")
        version = json.loads(text).get("version")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    except (ValueError, AttributeError, RecursionError):
        raise UsageError(f"{file} is not a trace that `cutaway inspect query --save` wrote.") from None
    if version != VERSION:
        raise UsageError(f"{file} has version {version!r}; this version reads {VERSION!r}. Save it again.")
    try:
        return TraceOut.model_validate_json(text)
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"]))
        raise UsageError(f"{file} is a damaged trace: {where}: {fault['msg']}") from None


def redacted(trace: TraceOut) -> TraceOut:
    """The same without the texts of notes: passages and headings. Query, titles and paths stay."""
    bare = {"passage": "", "heading_path": (), "highlights": (), "terms": ()}
    return trace.model_copy(update={"redacted": True, "hits": tuple(hit.model_copy(update=bare) for hit in trace.hits)})
