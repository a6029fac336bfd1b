"""Spans for OpenTelemetry, made from an answer: its stages are what ran, so nothing is measured twice.

Attributes follow OpenInference (``retrieval.documents``, ``reranker.…``, ``embedding.…``) and the GenAI conventions
(``gen_ai.…``). Documents are numbers. What anybody wrote, whether query, title, path or passage, is left out unless
``telemetry_text`` asks for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from cutaway import __version__
from cutaway.config import Settings
from cutaway.errors import SettingsError
from cutaway.model import RowId
from cutaway.retrieval.pipeline import Answer
from cutaway.retrieval.tracing import Scored, Stage

_MOST_DOCUMENTS = 50
"""Results told of one stage; the counts are of all."""
_LEGS = ("match", "nearest", "list_rows")
_NANO = 1_000_000_000


class Span(NamedTuple):
    """A span before it is one: when, in nanoseconds since 1970, and what is said of it."""

    name: str
    start: int
    end: int
    attributes: dict[str, Any]


class Recorder:
    """Sends spans in the background. A collector that does not answer costs a search nothing."""

    def __init__(self, provider: Any, with_text: bool) -> None:
        self._provider, self._with_text = provider, with_text
        self._tracer = provider.get_tracer("cutaway", __version__)

    def record(self, answer: Answer) -> None:
        """One span for the search, and one for each thing it did."""
        from opentelemetry.trace import set_span_in_context

        parent, *steps = spans(answer, self._with_text)
        whole = self._tracer.start_span(parent.name, start_time=parent.start, attributes=parent.attributes)
        context = set_span_in_context(whole)
        for step in steps:
            span = self._tracer.start_span(step.name, context, start_time=step.start, attributes=step.attributes)
            span.end(step.end)
        whole.end(parent.end)

    def close(self) -> None:
        """Send what is left, if anybody takes it soon."""
        self._provider.shutdown()


@contextmanager
def recording(settings: Settings) -> Iterator[Recorder | None]:
    """What sends spans to the address that the settings name; None where they name none. Raises SettingsError."""
    recorder = None if settings.telemetry_url is None else _recorder(settings.telemetry_url, settings.telemetry_text)
    try:
        yield recorder
    finally:
        if recorder is not None:
            recorder.close()


def _recorder(address: str, with_text: bool) -> Recorder:
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise SettingsError("telemetry_url needs more packages. Run: pip install 'cutaway[telemetry]'") from None
    resource = Resource.create({"service.name": "cutaway", "service.version": __version__})
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    exporter = OTLPSpanExporter(address.rstrip("/") + "/v1/traces", timeout=5)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=4_096))
    return Recorder(provider, with_text)


def spans(answer: Answer, with_text: bool = False) -> list[Span]:
    """The search as a whole, then what it did, in order of time."""
    steps = [_stage(stage, answer, with_text) for stage in answer.stages]
    if embedding := answer.evidence.embedding:
        said = {
            "openinference.span.kind": "EMBEDDING",
            "gen_ai.operation.name": "embeddings",
            "embedding.model_name": answer.plan.embedding_identity or "",
            "gen_ai.request.model": answer.plan.embedding_identity or "",
        }
        if with_text:
            said["embedding.embeddings.0.embedding.text"] = answer.plan.sought
        steps.append(Span("embed", embedding.started, _end(embedding.started, embedding.seconds), said))
    steps.sort(key=lambda span: span.start)
    start, end = min(step.start for step in steps), max(step.end for step in steps)
    return [Span("search", start, end, _whole(answer, with_text)), *steps]


def _whole(answer: Answer, with_text: bool) -> dict[str, Any]:
    plan = answer.plan
    said: dict[str, Any] = {
        "openinference.span.kind": "CHAIN",
        "gen_ai.operation.name": "retrieval",
        "gen_ai.request.top_k": plan.limit,
        "cutaway.mode": plan.mode,
        "cutaway.group": plan.group,
        "cutaway.formula": answer.formula,
        "cutaway.offset": plan.offset,
        "cutaway.total": answer.total,
        "cutaway.weak": answer.weak,
        "cutaway.degraded": len(answer.degraded),
        "cutaway.projects": len(plan.projects),
        "cutaway.index_identity": plan.index_identity or "",
        **_documents("retrieval.documents", answer.page, answer, with_text),
    }
    if with_text:
        said |= {"input.value": plan.text, "cutaway.project_names": list(plan.projects)}
    return said


def _stage(stage: Stage[Any], answer: Answer, with_text: bool) -> Span:
    reasons = Counter(out.reason for out in stage.dropped)
    said: dict[str, Any] = {
        "openinference.span.kind": "CHAIN",
        "cutaway.received": stage.received,
        "cutaway.kept": len(stage.kept),
        "cutaway.dropped": len(stage.dropped),
        **{f"cutaway.dropped.{reason}": count for reason, count in reasons.items()},
        **_settings(stage.settings, with_text),
    }
    if stage.name in _LEGS:
        said |= {"openinference.span.kind": "RETRIEVER", "gen_ai.operation.name": "retrieval"}
        said |= _documents("retrieval.documents", stage.kept, answer, with_text)
    if stage.name == "rerank":
        model, depth = str(stage.settings["model"]), int(stage.settings["depth"])
        said |= {"openinference.span.kind": "RERANKER", "reranker.model_name": model, "reranker.top_k": depth}
        said |= _documents("reranker.output_documents", stage.kept, answer, with_text)
        if with_text:
            said["reranker.query"] = str(stage.settings["query"])
    if with_text and stage.remark:
        said["cutaway.remark"] = stage.remark
    return Span(stage.name, stage.started, _end(stage.started, stage.seconds), said)


def _settings(settings: Mapping[str, Any], with_text: bool) -> dict[str, Any]:
    """Numbers, and names of formulas and models; a query is neither."""
    plain = {name: value for name, value in settings.items() if name != "query" or with_text}
    return {
        f"cutaway.settings.{name}": list(value) if isinstance(value, tuple) else value
        for name, value in plain.items()
        if isinstance(value, bool | int | float | str) or (isinstance(value, tuple) and value)
    }


def _documents(prefix: str, hits: Iterable[Scored[Any]], answer: Answer, with_text: bool) -> dict[str, Any]:
    return dict(
        pair
        for place, hit in zip(range(_MOST_DOCUMENTS), hits, strict=False)
        for pair in _document(f"{prefix}.{place}.document", hit, answer, with_text)
    )


def _document(name: str, hit: Scored[Any], answer: Answer, with_text: bool) -> Iterator[tuple[str, Any]]:
    row = hit.id if isinstance(hit.id, RowId) else None
    yield f"{name}.id", f"{row.kind}:{row.number}" if row else str(hit.id)
    yield f"{name}.score", float(hit.score)
    if with_text and row is not None and row in answer.shelf.rows:
        yield f"{name}.name", answer.shelf.notes[answer.shelf.rows[row].note].path


def _end(start: int, seconds: float) -> int:
    return start + max(1, round(seconds * _NANO))
