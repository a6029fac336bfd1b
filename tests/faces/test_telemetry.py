"""Spans tell what a search did, once for each thing, and nothing of what anybody wrote."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import anyio
import pytest
from mcp import Client, StdioServerParameters
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from builders import HashEmbedder, LengthReranker, index_vault, write_vault
from cutaway.config import Settings
from cutaway.faces import loading
from cutaway.faces.asked import SearchIn
from cutaway.faces.engine import Engine
from cutaway.faces.telemetry import Recorder, recording
from cutaway.index.exact import ExactIndex
from cutaway.retrieval import gather

NOTES = {f"zyzzyva-{place}.md": f"# Quokka {place}\n\nAbout wombats, numbat {place}." for place in range(60)}
WRITTEN = ("zyzzyva", "uokka", "ombat", "numbat")
CASES: list[dict[str, Any]] = [
    {"mode": mode, "group": group, "limit": 3, "page": page, **({"depth": 5} if reranked else {})}
    for mode in ("hybrid", "text", "vector")
    for group in ("note", "row")
    for page in (1, 2, 9)
    for reranked in (False, True)
]


class Counted:
    """How often each thing was really asked."""

    def __init__(self) -> None:
        self.embedded = self.nearest = self.matched = self.reranked = 0


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Counted:
    counts = Counted()
    nearest, matched = ExactIndex.nearest, gather.Bm25.ranked

    class Embedder(HashEmbedder):
        def embed(self, texts: Any, query: bool = False) -> Any:
            counts.embedded += 1
            return super().embed(texts, query)

    class Reranker(LengthReranker):
        def relevance(self, query: str, documents: Any) -> Any:
            counts.reranked += 1
            return super().relevance(query, documents)

    def counting_nearest(*given: Any) -> Any:
        counts.nearest += 1
        return nearest(*given)

    def counting_match(*given: Any) -> Any:
        counts.matched += 1
        return matched(*given)

    monkeypatch.setattr(loading, "named_embedder", lambda *_, **__: Embedder())
    monkeypatch.setattr(loading, "named_cross_encoder", lambda *_, **__: Reranker())
    monkeypatch.setattr(ExactIndex, "nearest", counting_nearest)
    monkeypatch.setattr(gather.Bm25, "ranked", counting_match)
    return counts


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("told")
    index_vault(folder / "home", write_vault(folder / "vault", NOTES), HashEmbedder())
    return folder / "home"


def told(home: Path, values: dict[str, Any], with_text: bool = False) -> dict[str, list[ReadableSpan]]:
    """The spans of one search, by name."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    engine = Engine(home, Settings(window=10, rerank_cache=0), Recorder(provider, with_text).record)
    asked = SearchIn.model_validate({"query": "quokka wombats", **values})
    with engine.session(asked) as session:
        session.answer(asked)
    found: dict[str, list[ReadableSpan]] = {}
    for span in exporter.get_finished_spans():
        found.setdefault(span.name, []).append(span)
    return found


@pytest.mark.parametrize("values", CASES, ids=lambda values: "-".join(map(str, values.values())))
def test_there_is_one_span_for_each_thing_done(values: dict[str, Any], filled: Path, counted: Counted) -> None:
    """On every page, however deep: one embedding, one read of each leg, one reranking at most."""
    spans = {name: len(found) for name, found in told(filled, values).items()}
    words, meaning = values["mode"] != "vector", values["mode"] != "text"

    assert (int(meaning), int(meaning), int(words), int("depth" in values)) == (
        *(spans.get(name, 0) for name in ("embed", "nearest", "match", "rerank")),
    )
    assert (counted.embedded, counted.nearest, counted.matched, counted.reranked) == (
        *(spans.get(name, 0) for name in ("embed", "nearest", "match", "rerank")),
    )


def test_spans_are_those_of_the_trace_and_lie_inside_the_search(filled: Path, counted: Counted) -> None:  # noqa: ARG001
    spans = told(filled, {"depth": 5})
    (whole,) = spans["search"]
    assert whole.start_time
    assert whole.end_time
    for name, found in spans.items():
        for span in found:
            assert span.start_time
            assert span.end_time
            assert whole.start_time <= span.start_time < span.end_time <= whole.end_time, name
            if name != "search":
                assert span.parent
                assert whole.context.span_id == span.parent.span_id
                assert name == "embed" or {"cutaway.kept", "cutaway.dropped"} <= dict(span.attributes or {}).keys()


def test_attributes_have_their_standard_names(filled: Path, counted: Counted) -> None:  # noqa: ARG001
    spans = {name: dict(found[0].attributes or {}) for name, found in told(filled, {"depth": 5}).items()}

    assert ("CHAIN", "RETRIEVER", "RETRIEVER", "EMBEDDING", "RERANKER") == (
        *(spans[name]["openinference.span.kind"] for name in ("search", "match", "nearest", "embed", "rerank")),
    )
    assert ("retrieval", "embeddings") == (
        spans["search"]["gen_ai.operation.name"],
        spans["embed"]["gen_ai.operation.name"],
    )
    assert ("hash/32", "length", 5) == (
        spans["embed"]["embedding.model_name"],
        spans["rerank"]["reranker.model_name"],
        spans["rerank"]["reranker.top_k"],
    )
    assert str(spans["search"]["retrieval.documents.0.document.id"]).startswith("entity:")
    assert isinstance(spans["nearest"]["retrieval.documents.0.document.score"], float)


@pytest.mark.parametrize(
    "query", ["quokka wombats", 'quokka title:zyzzyva -numbat "wombats numbat"', "path:zyzzyva-1*"]
)
def test_nothing_that_was_written_is_told_unless_asked(filled: Path, counted: Counted, query: str) -> None:  # noqa: ARG001
    def exported(with_text: bool) -> str:
        spans = told(filled, {"query": query, "depth": 5}, with_text).values()
        return json.dumps([dict(span.attributes or {}) for found in spans for span in found])

    quiet, open_ = exported(False), exported(True)

    assert not [word for word in (*WRITTEN, "vault") if word in quiet]
    assert [word for word in WRITTEN if word in open_]


@pytest.fixture
def collector() -> Iterator[tuple[str, Event, list[bytes]]]:
    """A collector on loopback: its address, and what it was sent."""
    came, bodies = Event(), list[bytes]()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.path.encode() + self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.end_headers()
            came.set()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", came, bodies
    server.shutdown()
    server.server_close()


def test_spans_are_sent_where_the_settings_say(
    filled: Path, counted: Counted, collector: tuple[str, Event, list[bytes]]  # noqa: ARG001
) -> None:  # fmt: skip
    address, came, bodies = collector
    with recording(Settings(telemetry_url=address)) as recorder:
        assert recorder
        asked = SearchIn(query="quokka")
        with Engine(filled, Settings(), recorder.record).session(asked) as session:
            session.answer(asked)

    assert came.is_set()
    assert bodies[0].startswith(b"/v1/traces")


_AGENT = """
import sys
from builders import HashEmbedder
from cutaway.faces import loading
from cutaway.faces.cli.main import main
loading.named_embedder = lambda *_, **__: HashEmbedder()
sys.exit(main(["mcp", "--home", sys.argv[1]]))
"""


def test_an_agents_searches_are_told_too(filled: Path, collector: tuple[str, Event, list[bytes]]) -> None:
    """Over pipes, by a process of its own, at its end at the latest."""
    address, came, bodies = collector
    tests = Path(__file__).parents[1]
    env = {"PYTHONPATH": f"{tests}:{tests.parent / 'src'}", "CUTAWAY_TELEMETRY_URL": address}
    started = StdioServerParameters(command=sys.executable, args=["-c", _AGENT, str(filled)], env=env)

    async def search() -> None:
        async with Client(started, cache=None) as client:
            assert not (await client.call_tool("search_notes", {"query": "quokka"})).is_error

    anyio.run(search)

    assert came.wait(30)
    assert b"search" in bodies[0]


def test_nothing_is_sent_unless_asked() -> None:
    with recording(Settings()) as recorder:
        assert recorder is None


def test_a_collector_that_is_away_costs_a_search_nothing(filled: Path, counted: Counted) -> None:  # noqa: ARG001
    with recording(Settings(telemetry_url="http://127.0.0.1:1")) as recorder:
        assert recorder
        asked = SearchIn(query="quokka")
        with Engine(filled, Settings(), recorder.record).session(asked) as session:
            assert session.answer(asked).page
