"""The server that tests of PostgreSQL run on."""

from __future__ import annotations

from postgres import emptied, run


def test_a_test_finds_its_database_empty(database: str) -> None:
    """Whatever was made there before is gone, an extension too."""
    made = "SELECT nspname FROM pg_namespace WHERE nspname IN ('public', 'other')"
    run(database, "CREATE EXTENSION vector", "CREATE SCHEMA other", "CREATE TABLE other.one (id int)")

    assert [("public",)] == run(emptied(database), made)
    assert [] == run(database, "SELECT 1 FROM pg_extension WHERE extname = 'vector'")


def test_pgvector_is_at_hand(database: str) -> None:
    """Half-precision vectors and iterative scans are there, so it is 0.8 or later."""
    run(database, "CREATE EXTENSION vector")

    assert [("[1,2]",)] == run(database, "SET hnsw.iterative_scan = strict_order", "SELECT '[1,2]'::halfvec(2)::text")
