"""Settings: read once at the start from the home's config.toml and the environment, then passed on."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

import platformdirs
from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator

from cutaway.errors import SettingsError

Mode = Literal["text", "vector", "hybrid"]
Fusion = Literal["calibrated-dismax", "dismax-0.3", "rrf"]
Grouping = Literal["note", "row"]
RerankFormula = Literal["blend", "replace"]
RerankFailure = Literal["fallback", "error"]
_ADDRESS = r"^https?://[^\s@?#]+$"


class Settings(BaseModel):
    """Everything a user may choose once. What affects ranking is copied into every plan."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    embedder: str = Field(
        "bge-small-en-v1.5",
        description="Embedding model: the bundled one, one of FastEmbed's, or the endpoint's; `none`: words only.",
    )
    embedder_url: str | None = Field(
        None, pattern=_ADDRESS, description="Base address of an OpenAI-style `/embeddings` endpoint."
    )
    embedder_key: SecretStr | None = Field(None, description="Its key, sent as a bearer token.")
    embedder_timeout: float = Field(60.0, gt=0, le=600, description="Seconds the endpoint may take.")
    embedder_dimension: int | None = Field(
        None,
        ge=1,
        le=16_384,
        description="How many numbers its vectors have; unset, each command asks it once.",
    )
    embedder_tokens: int = Field(
        512, ge=32, le=100_000, description="How many tokens the endpoint's model reads; estimated."
    )
    embedder_query_prefix: str | None = Field(
        None, description="What a model reads before a query; unset, what FastEmbed's model needs, or nothing."
    )
    embedder_passage_prefix: str | None = Field(None, description="The same before a passage.")
    store: SecretStr | None = Field(None, description="Where the index is: a `postgresql://` address; else a file.")
    store_schema: str = Field("cutaway", pattern=r"^[a-z_][a-z0-9_]{0,62}$", description="The schema there.")
    vectors: str = Field("exact", description="Where vectors live.")
    pgvector_exact_below: int = Field(
        50_000, ge=0, description='With `vectors = "pgvector"`: up to so many vectors in scope are all compared.'
    )
    pgvector_ef_search: int = Field(
        200, ge=10, le=1_000, description="Beyond that: candidates HNSW keeps at once; more miss less."
    )
    milvus_uri: str | None = Field(
        None,
        pattern=r"^(https?://[^\s@]+|[^@:]+\.db)$",
        description='With `vectors = "milvus"`: a server\'s address, or a Milvus Lite file; unset, one in the home.',
    )
    milvus_token: SecretStr | None = Field(None, description="Its token: `user:password`, or an API key.")
    milvus_timeout: float = Field(10.0, gt=0, le=600, description="Seconds that one call to Milvus may take.")
    chunk_chars: int = Field(900, ge=100, le=8_000, description="Characters a passage aims at.")
    context_line: bool = Field(True, description="Embed a passage together with its title and headings.")
    mode: Mode = Field("hybrid", description="How to search when the request does not say.")
    literal: bool = Field(False, description="Read queries as words only, without operators: for questions of others.")
    group: Grouping = Field("note", description="Whether a result is a note or a single row.")
    limit: int = Field(10, ge=1, le=1_000, description="Results on a page.")
    fusion: Fusion = Field("calibrated-dismax", description="Formula that joins the two legs.")
    tie_breaker: float = Field(0.5, ge=0, le=1, description="Share of the weaker signal in calibrated-dismax.")
    saturation: float = Field(0.9, gt=0, le=10, description="Where the calibrated lexical score is half way.")
    k1: float = Field(1.2, ge=0, le=10, description="BM25: how soon more occurrences stop to matter.")
    b: float = Field(0.75, ge=0, le=1, description="BM25: how much the length of a row counts.")
    inflected: float = Field(
        0.9,
        gt=0,
        le=1,
        description="What another word of the same stem counts, or one that `word*` finds; the word is 1.",
    )
    title_weight: float = Field(2.0, ge=0, le=20, description="What a word in a title or alias counts; in the text, 1.")
    heading_weight: float = Field(1.0, ge=0, le=20, description="What a word counts once more in a heading.")
    tag_weight: float = Field(1.0, ge=0, le=20, description="What a word counts in a tag.")
    path_weight: float = Field(0.5, ge=0, le=20, description="What a word counts in a folder's name.")
    weigh: bool = Field(False, description="Multiply scores by what the frontmatter says of a note's worth.")
    weights: str = Field(
        "status=deprecated,superseded: 0.5",
        description="By how much: `CONDITION: FACTOR; …`, besides `confidence` from 0 to 1.",
    )
    min_similarity: float = Field(0.0, ge=0, le=1, description="Cosine below which the vector leg is silent for a row.")
    window: int = Field(200, ge=10, le=4_096, description="Candidates each leg contributes to page one.")
    weak_below: float = Field(0.5, ge=0, le=1.5, description="An answer whose best score is lower is called weak.")

    rerank: bool = Field(False, description="Let a cross-encoder reorder the best results.")
    reranker: str = Field(
        "ms-marco-MiniLM-L-12-v2", description="Cross-encoder: the bundled one, one of FastEmbed's, or the endpoint's."
    )
    rerank_depth: int = Field(20, ge=1, le=200, description="How many results the cross-encoder reads.")
    rerank_formula: RerankFormula = Field("blend", description="`blend` its score with the fused one, or `replace` it.")
    rerank_weight: float = Field(0.15, ge=0, le=10, description="What its best score, 1, adds in `blend`.")
    rerank_failure: RerankFailure = Field(
        "fallback", description="If it fails: the fused order (`fallback`), or `error`."
    )
    rerank_url: str | None = Field(
        None, pattern=_ADDRESS, description="Base address of a Cohere- or Jina-style `/rerank` endpoint."
    )
    rerank_key: SecretStr | None = Field(None, description="Its key, sent as a bearer token.")
    rerank_timeout: float = Field(10.0, gt=0, le=600, description="Seconds that reranking may take.")
    rerank_cache: int = Field(20_000, ge=0, le=1_000_000, description="How many of its scores are remembered.")

    telemetry_url: str | None = Field(
        None,
        pattern=_ADDRESS,
        description="Where a server's searches are told: an address that takes OTLP over HTTP.",
    )
    telemetry_text: bool = Field(False, description="Whether queries, titles and paths are told, too.")
    serve_token: SecretStr | None = Field(
        None, description="What programs must send to `cutaway serve` as a bearer token; needed beyond this machine."
    )

    @field_validator("store")
    @classmethod
    def _is_an_address(cls, store: SecretStr | None) -> SecretStr | None:
        if store is not None and not store.get_secret_value().startswith(("postgresql://", "postgres://")):
            raise ValueError("write postgresql://USER:PASSWORD@HOST:PORT/DATABASE, or leave it out for a file")
        return store


AT_INDEXING = ("chunk_chars", "context_line")
AT_SEARCH = (
    *("mode", "literal", "group", "fusion", "tie_breaker", "saturation", "k1", "b", "inflected"),
    *("title_weight", "heading_weight", "tag_weight", "path_weight", "weigh", "weights"),
    *("min_similarity", "window", "weak_below", "rerank", "rerank_depth", "rerank_formula", "rerank_weight"),
)
PER_PROJECT = (*AT_INDEXING, *AT_SEARCH)
"""What a project may set for itself: never a model, an endpoint, a key or a cache."""
HOMES_OWN = "belongs in the home's config.toml (cutaway status shows where), never to a project"


def default_home() -> Path:
    """Where the index lives unless told otherwise: CUTAWAY_HOME, else the platform's data folder."""
    return Path(os.environ.get("CUTAWAY_HOME") or platformdirs.user_data_path("cutaway", appauthor=False))


def load_settings(home: Path) -> Settings:
    """Settings of a home: defaults, then config.toml, then CUTAWAY_… variables. Raises SettingsError."""
    file = home / "config.toml"
    chosen: dict[str, Any] = {}
    if file.is_file():
        try:
            chosen = tomllib.loads(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            raise SettingsError(f"{file} cannot be read as TOML: {error}") from None
    for name in Settings.model_fields:
        if (value := os.environ.get(f"CUTAWAY_{name.upper()}")) is not None:
            chosen[name] = value
    return validated(chosen, f"{file} or the environment")


def validated(chosen: dict[str, Any], origin: str) -> Settings:
    """Settings from plain values; an error names the field and what it allows."""
    try:
        return Settings.model_validate(chosen)
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
        raise SettingsError(f"setting not accepted in {origin}: {faults}") from None


def for_project(home: Settings, chosen: Mapping[str, Any]) -> Settings:
    """The home's settings with what is set for one project over them."""
    return home.model_copy(update=dict(chosen))


def for_scope(home: Settings, scope: Iterable[Mapping[str, Any]]) -> Settings:
    """One search, one formula: a project's value where every project of the scope comes to it, else the home's."""
    each = [for_project(home, chosen) for chosen in scope]
    values = {name: {getattr(settings, name) for settings in each} for name in PER_PROJECT}
    return home.model_copy(update={name: next(iter(found)) for name, found in values.items() if len(found) == 1})


def project_value(name: str, value: object, origin: str) -> Any:
    """A value that a project may set for itself. Raises SettingsError, naming what is allowed."""
    if name in PER_PROJECT:
        return getattr(validated({name: value}, origin), name)
    if name in Settings.model_fields:
        raise SettingsError(f"{name} {HOMES_OWN}. Nothing was changed.")
    raise SettingsError(f"{name!r} is no setting. A project may set: ignore, {', '.join(PER_PROJECT)}.")
