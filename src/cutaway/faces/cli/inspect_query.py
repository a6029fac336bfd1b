"""`cutaway inspect query`: a search with its casing off, now or as it was saved."""

from __future__ import annotations

import argparse
import json

from cutaway.errors import UsageError
from cutaway.faces.cli.session import messages, screen, shown, typed
from cutaway.faces.cli.trace_view import print_trace
from cutaway.faces.saved import load, save
from cutaway.faces.traces import TraceOut, traced


def run(options: argparse.Namespace) -> int:
    trace = shown(options, "inspect/query", typed(options), TraceOut, traced)
    if options.save:
        save(trace, options.save, options.redact)
        messages().print(f"saved to {options.save}", soft_wrap=True, highlight=False, markup=False)
    return _shown(trace, options)


def show(options: argparse.Namespace) -> int:
    """A saved search, as it was; or the schema of all of them."""
    if options.schema:
        screen().out(json.dumps(TraceOut.model_json_schema(by_alias=True), indent=2))
        return 0
    if options.file is None:
        raise UsageError("name the file that --save wrote, or give --schema.")
    return _shown(load(options.file), options)


def _shown(trace: TraceOut, options: argparse.Namespace) -> int:
    if options.json:
        screen().out(trace.as_json())
    else:
        print_trace(screen(), trace, options.explain, options.show_misses)
    return 0 if trace.hits else 1
