"""Other embedders from end to end: projects under two models, an endpoint that fails, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from builders import Cutaway, HashEmbedder, write_vault
from cutaway.config import PER_PROJECT, Settings
from cutaway.faces import indexing, loading
from cutaway.models.embedder import Embedder, named_embedder
from endpoints import Server, answering, embed_with

KEY = "sk-not-to-be-seen"
ENDPOINT = "endpoint:theirs/48/no-prefix"
THEIRS = HashEmbedder("theirs", 48)


@pytest.fixture
def local(cutaway: Cutaway, monkeypatch: pytest.MonkeyPatch) -> HashEmbedder:
    """The model that is used where no address is set; everything else is as it is."""
    assert cutaway
    model = HashEmbedder()

    def named(settings: Settings, *_: object, **__: object) -> Embedder | None:
        return named_embedder(settings) if settings.embedder_url else model

    for module in (indexing, loading):
        monkeypatch.setattr(module, "named_embedder", named)
    return model


def chosen(monkeypatch: pytest.MonkeyPatch, server: Server | None, **settings: Any) -> None:
    """Set the environment to an endpoint, or to none."""
    values = {"embedder": "theirs", "embedder_url": server.address, "embedder_key": KEY} if server else {}
    for name in Settings.model_fields:
        monkeypatch.delenv(f"CUTAWAY_{name.upper()}", raising=False)
    for name, value in {**values, **settings}.items():
        monkeypatch.setenv(f"CUTAWAY_{name.upper()}", str(value))


@pytest.fixture
def two(
    cutaway: Cutaway, local: HashEmbedder, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Cutaway:
    """Two projects of the same words: `ours` embedded here, `theirs` by an endpoint, which is in use."""
    embed_with(server, THEIRS)
    cutaway("index", str(write_vault(tmp_path / "ours", {"a.md": "red sun", "b.md": "green sea"})))
    chosen(monkeypatch, server)
    cutaway("index", str(write_vault(tmp_path / "theirs", {"c.md": "red sun", "d.md": "blue sea"})))
    local.embedded.clear()
    server.requests.clear()
    return cutaway


def searched(cutaway: Cutaway, *arguments: str) -> tuple[set[str], list[str]]:
    """What is found, and what is said to be degraded."""
    answer = json.loads(cutaway("search", "red", "--all-projects", "--json", *arguments).out)
    return {hit["path"] for hit in answer["hits"]}, [part["reason"] for part in answer["degraded"]]


def sent(server: Server) -> list[str]:
    """Every text that an endpoint was given."""
    return [text for _, _, body in server.requests for text in body["input"]]


# Two models


def test_a_project_under_another_model_is_found_by_its_words(two: Cutaway, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under either, and the answer says of which, and what to do."""
    theirs = searched(two)
    chosen(monkeypatch, None)
    ours = searched(two)

    said = (
        "{} is embedded as {} in exact-f16/v1, not {} in exact-f16/v1: only its words were searched. Run: cutaway index"
    )
    assert ({"a.md", "c.md"}, [said.format("ours", "hash/32", ENDPOINT)]) == (theirs[0] - {"d.md"}, theirs[1])
    assert ({"a.md", "c.md"}, [said.format("theirs", ENDPOINT, "hash/32")]) == (ours[0] - {"b.md"}, ours[1])


def test_indexing_again_brings_it_over(two: Cutaway, server: Server) -> None:
    """Only what the endpoint has not seen is sent there, after the question for its dimension."""
    two("index")

    assert ["text", "green sea"] == sent(server)
    assert [] == searched(two)[1]


def test_going_back_embeds_nothing(
    two: Cutaway, local: HashEmbedder, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does going forth again: what was embedded is kept by model."""
    two("index")
    chosen(monkeypatch, None)
    two("index")
    local.embedded.clear()
    server.requests.clear()
    for where in (server, None, server):
        chosen(monkeypatch, where)
        assert 0 == json.loads(two("index", "--json").out)["embedded"]

    assert ([], {"text"}) == (local.embedded, set(sent(server)))


# Queries and passages


def test_each_text_is_sent_as_what_it_is(
    two: Cutaway, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passages when indexing and when a passage is embedded anew, queries everywhere else."""
    chosen(monkeypatch, server, embedder_query_prefix="Q: ", embedder_passage_prefix="P: ", embedder_dimension=48)
    told = {}
    for command in (
        ("index", str(tmp_path / "theirs")),
        ("search", "red", "-p", "theirs"),
        ("inspect", "neighbors", "--text", "red", "-p", "theirs"),
        ("inspect", "neighbors", "c.md", "--by-text", "-p", "theirs"),
    ):
        server.requests.clear()
        assert 0 == two(*command).code
        told[command[:3]] = sent(server)

    assert [{"P: red sun", "P: blue sea"}, {"Q: red"}, {"Q: red"}, {"P: red sun"}] == [
        set(texts) for texts in told.values()
    ]


@pytest.mark.parametrize("settings", [{"mode": "text"}, {"embedder": "none"}], ids=["words only", "no embedder"])
def test_nothing_is_sent_that_need_not_be(
    two: Cutaway, server: Server, monkeypatch: pytest.MonkeyPatch, settings: dict[str, str]
) -> None:
    chosen(monkeypatch, server, **settings)
    two("search", "red")

    assert [] == server.requests


@pytest.mark.parametrize(
    ("command", "fetches"),
    [(("index",), True), (("search", "red", "--all-projects"), False), (("status", "--all-projects"), False)],
    ids=lambda value: value[0] if isinstance(value, tuple) else None,
)
def test_only_indexing_may_download_a_model(
    two: Cutaway, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], fetches: bool
) -> None:
    """A search that began to fetch gigabytes would seem to hang."""
    asked: list[bool] = []

    def named(_: Settings, at_once: bool = False, fetch: bool = False) -> Embedder:  # noqa: ARG001
        asked.append(fetch)
        return HashEmbedder()

    for module in (indexing, loading):
        monkeypatch.setattr(module, "named_embedder", named)
    two(*command)

    assert {fetches} == set(asked)


@pytest.mark.parametrize("setting", [name for name in Settings.model_fields if name.startswith("embedder")])
def test_no_project_decides_where_its_texts_go(two: Cutaway, setting: str) -> None:
    """Nor its folder: an address is the home's alone."""
    ran = two("project", "set", "ours", f"{setting}=http://elsewhere.example")

    assert 2 == ran.code
    assert f"{setting} belongs in the home's config.toml" in ran.err
    assert setting not in PER_PROJECT


def test_another_limit_reads_the_notes_again_and_embeds_what_changes(
    two: Cutaway, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Passages that stay as they are keep their vectors."""
    write_vault(tmp_path / "theirs", {"long.md": "One plain sentence here. " * 9})
    two("index", "-p", "theirs")
    server.requests.clear()
    chosen(monkeypatch, server, embedder_tokens=40, embedder_dimension=48)
    two("index", "-p", "theirs")

    assert len(sent(server)) > 1
    assert all("One plain sentence" in text for text in sent(server))


# Failures


def test_a_text_that_is_refused_is_called_failed_and_the_rest_goes_on(
    two: Cutaway, server: Server, tmp_path: Path
) -> None:
    """With the reason, by note; its words are found."""
    embed_with(
        server, THEIRS, refused=lambda texts: "too many tokens" if any("huge" in text for text in texts) else None
    )
    write_vault(tmp_path / "theirs", {"bad.md": "red huge", "e.md": "yellow", "f.md": "violet"})
    report = json.loads(two("index", "-p", "theirs", "--json").out)
    doctor = two("doctor", "-p", "theirs")

    assert (2, 1, 0, None) == (report["embedded"], report["failed"], report["pending"], report["error"])
    assert "bad.md  1 chunks failed: " in doctor.out
    assert "too many tokens" in doctor.out
    assert "huge" not in doctor.out
    assert "bad.md" in searched(two)[0]


@pytest.mark.parametrize(
    ("settings", "code"), [({}, 0), ({"embedder_dimension": 48}, 2)], ids=["asked for its dimension", "embedding"]
)
def test_without_the_endpoint_words_are_indexed_and_found(
    two: Cutaway, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], code: int
) -> None:
    """What waits is said, and so is the address that does not answer; the key is not."""
    chosen(monkeypatch, server, **settings)
    server.respond = answering({"error": f"no luck, {KEY}"}, 401)
    write_vault(tmp_path / "theirs", {"new.md": "red and new"})
    ran = two("index", "-p", "theirs", "--json")
    report = json.loads(ran.out)
    said = report["notice"] or report["error"]
    found, degraded = searched(two)

    assert (code, 1) == (ran.code, report["pending"])
    assert f"{server.address}/embeddings answered with status 401 (check embedder_key)" in said
    assert "new.md" in found
    assert any(server.address in reason for reason in degraded)
    assert KEY not in f"{said} {degraded}"


def test_once_it_is_back_what_waited_is_embedded(
    two: Cutaway, server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen(monkeypatch, server, embedder_dimension=48)
    server.respond = answering({}, 500)
    write_vault(tmp_path / "theirs", {"new.md": "red and new"})
    two("index", "-p", "theirs")
    embed_with(server, THEIRS)

    assert 1 == json.loads(two("index", "-p", "theirs", "--json").out)["embedded"]


def test_a_model_of_another_size_than_set_stores_nothing(
    two: Cutaway, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen(monkeypatch, server, embedder_dimension=64)
    report = json.loads(two("index", "-p", "theirs", "--json").out)

    assert (0, 2) == (report["embedded"], report["pending"])
    assert "theirs gives 48 numbers for a text; expected 64" in report["error"]


# What is said


def test_the_status_shows_the_model_and_where_texts_go(two: Cutaway, server: Server) -> None:
    status = json.loads(two("status", "--all-projects", "--json").out)

    assert (ENDPOINT, server.address) == (status["in_use"], status["sent_to"])
    assert f"model     {ENDPOINT}" in two("status", "--all-projects").out
    assert f"sent to   {server.address}" in two("status", "--all-projects").out


def test_the_doctor_asks_whether_it_answers(two: Cutaway, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error where it does not."""
    chosen(monkeypatch, server, embedder_dimension=48)
    well = two("doctor", "--all-projects")
    server.respond = answering({"error": "no luck"}, 500)
    ill = two("doctor", "--all-projects")

    assert f"passages and queries are sent to {server.address}, which answers" in well.out
    assert (0, 1) == (well.code, ill.code)
    assert "status 500" in ill.out
