"""Vectors in PostgreSQL: which way they are looked for, and what is said where that cannot be done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from builders import HashEmbedder, ask, index_vault, paths, write_vault
from builders import opened as open_index
from cutaway.config import Settings
from cutaway.errors import IndexMissing, SettingsError, VectorsUnavailable
from cutaway.index.exact import ExactIndex
from cutaway.index.homes import Opening, home
from cutaway.index.store import open_writer
from cutaway.index.vectors import Maintained, Nearest, Record, Space, Vector
from cutaway.model import ChunkId
from postgres import run

psycopg = pytest.importorskip("psycopg")
from cutaway.index.pgvector import PgVectorIndex  # noqa: E402

MODEL = 384
PROJECTS = (1, 2)


class Asked(psycopg.Cursor[Any]):
    """Keeps the plan of every search for vectors that it is given."""

    plans: list[str]

    def execute(self, query: Any, params: Any = None, **options: Any) -> Asked:
        if b"<=>" in query:
            plan = super().execute(b"EXPLAIN (COSTS OFF) " + query, params, **options).fetchall()
            type(self).plans.append(
                "\n".join(line[0] if isinstance(line[0], str) else line[0].decode() for line in plan)
            )
        super().execute(query, params, **options)
        return self


@pytest.fixture
def connection(database: str) -> Iterator[Any]:
    Asked.plans = []
    with psycopg.connect(database, autocommit=True, cursor_factory=Asked) as connection:
        yield connection


def test_indexes_of_two_schemas_share_the_extension(home: Path, vault: Path, database: str) -> None:
    """Whichever was first to need it."""
    write_vault(vault, {"a.md": "salt"})
    for name in ("one", "two"):
        settings = Settings(store=database, store_schema=name, vectors="pgvector")
        index_vault(home, vault, HashEmbedder(), settings=settings)

    assert [(1,)] == run(database, "SELECT count(*) FROM two.vectors_1")


def opened(
    connection: Any, scope: Sequence[int] = PROJECTS, dimension: int = MODEL, number: int = 1, **settings: Any
) -> PgVectorIndex:
    """The vectors of a space, as the product opens them."""
    space = Space(number, f"model/{dimension}", PgVectorIndex.identity, dimension)
    return PgVectorIndex(Opening(SimpleNamespace(connection=connection), space, scope, Settings(**settings)))


def crowd(count: int, dimension: int = MODEL) -> list[Record]:
    """Vectors around twenty centres, every tenth of them in the second project."""
    random = np.random.default_rng(3)
    centres = random.normal(size=(20, dimension))
    rows = centres[random.integers(20, size=count)] + 0.8 * random.normal(size=(count, dimension))
    return [Record(ChunkId(n), 2 if n % 10 == 0 else 1, at_half(row)) for n, row in enumerate(rows, 1)]


def at_half(row: Any) -> Vector:
    """As the manifest hands vectors over."""
    vector: Vector = (row / np.linalg.norm(row)).astype(np.float16).astype(np.float32)
    return vector


def queries(count: int, dimension: int = MODEL) -> list[Vector]:
    """Vectors like those of the crowd, at full precision."""
    random = np.random.default_rng(3)
    centres = random.normal(size=(20, dimension))
    rows = centres[:count] + 0.8 * np.random.default_rng(4).normal(size=(count, dimension))
    return [(row / np.linalg.norm(row)).astype(np.float32) for row in rows]


def by_default_home(records: Sequence[Record], folder: Path, scope: Sequence[int] = PROJECTS) -> ExactIndex:
    """The same vectors in the index file."""
    database = open_writer(folder)
    index = ExactIndex(Opening(database, Space(1, "model", ExactIndex.identity, MODEL), scope, Settings()))
    index.upsert(records)
    return index


# Which way


def test_the_scan_gives_the_very_answer_of_the_default_home(connection: Any, tmp_path: Path) -> None:
    """The same chunks, in the same order, with scores equal to the last digit."""
    held = crowd(2_000)
    default, index = by_default_home(held, tmp_path), opened(connection)
    index.upsert(held)

    for query in queries(5):
        for k, within in ((1, None), (10, None), (300, None), (50, list(range(1, 2_000, 7)))):
            assert default.nearest(query, k, within) == index.nearest(query, k, within)


def test_the_scan_tells_apart_what_half_precision_cannot(connection: Any, tmp_path: Path) -> None:
    """Two thousand vectors all around the query, as far from it as half-precision numbers can be made to be."""
    (query,) = queries(1)
    around = np.random.default_rng(6).normal(size=(2_000, MODEL))
    around -= np.outer(around @ query, query)
    around /= np.linalg.norm(around, axis=1)[:, None]
    held = [Record(ChunkId(n), 1, at_half(query + row)) for n, row in enumerate(around, 1)]
    default, index = by_default_home(held, tmp_path), opened(connection)
    index.upsert(held)

    assert default.nearest(query, 300) == index.nearest(query, 300)


def test_hnsw_finds_nearly_all_and_says_so(connection: Any, tmp_path: Path) -> None:
    """At least 95 of 100, with the scores they have anyway; the answer is not called exact, and says what was used."""
    held = crowd(2_000)
    default, index = by_default_home(held, tmp_path), opened(connection, pgvector_exact_below=0)
    index.upsert(held)
    index.settle()

    found = [index.nearest(query, 100) for query in queries(20)]
    true = [dict(default.nearest(query, 2_000).hits) for query in queries(20)]
    best = [set(list(scores)[:100]) for scores in true]
    shares = [len(names & {near.id for near in answer.hits}) / 100 for names, answer in zip(best, found, strict=True)]
    assert sum(shares) / 20 >= 0.95
    assert all(scores[near.id] == near.similarity for scores, one in zip(true, found, strict=True) for near in one.hits)
    assert {(False, "HNSW, ef_search = 200: a closer passage may have been missed")} == {one[1:] for one in found}


WAYS: dict[str, tuple[dict[str, Any], Sequence[int], list[int] | None, bool]] = {
    "few": ({"pgvector_exact_below": 2_000}, PROJECTS, None, False),
    "many": ({"pgvector_exact_below": 500}, PROJECTS, None, True),
    "a small project among many": ({"pgvector_exact_below": 500}, (2,), None, False),
    "a large project among many": ({"pgvector_exact_below": 500}, (1,), None, True),
    "a few chunks among many": ({"pgvector_exact_below": 500}, PROJECTS, list(range(1, 400)), False),
    "many chunks among many": ({"pgvector_exact_below": 500}, PROJECTS, list(range(1, 1_900)), True),
}


@pytest.mark.parametrize(("chosen", "scope", "within", "graph"), WAYS.values(), ids=WAYS)
def test_what_there_is_to_choose_from_decides_the_way(
    connection: Any, chosen: dict[str, Any], scope: Sequence[int], within: list[int] | None, graph: bool
) -> None:
    """Up to the setting all are compared, though HNSW is there; beyond it that is used, whatever seems cheaper."""
    writer = opened(connection, (), pgvector_exact_below=0)
    writer.upsert(crowd(2_000))
    writer.settle()
    connection.execute(b"ANALYZE")
    for planner in (b"RESET ALL", b"SET enable_indexscan = off", b"SET enable_seqscan = off"):
        connection.execute(planner)
        answer = opened(connection, scope, **chosen).nearest(queries(1)[0], 10, within)
        connection.execute(b"RESET ALL")

        assert graph != answer.exact
    assert {graph} == {"vectors_1_hnsw" in plan for plan in Asked.plans}


def test_a_filter_that_hnsw_cannot_reach_through_is_scanned(connection: Any) -> None:
    """Where HNSW gives up before it has found enough, all are compared, and the answer is exact."""
    far = [Record(ChunkId(n), 2, at_half(np.eye(MODEL)[0] * -1 + n / 1e5)) for n in range(30_001, 30_031)]
    near = [record._replace(id=ChunkId(n)) for n, record in enumerate(crowd(200) * 110, 1)]
    index = opened(connection, (2,), pgvector_exact_below=0)
    index.upsert([*(record._replace(project=1) for record in near), *far])
    connection.execute(b"CREATE INDEX vectors_1_hnsw ON vectors_1 USING hnsw (vector halfvec_cosine_ops) WITH (m = 4)")
    answer = index.nearest(-far[0].vector, 30)

    assert (30, True) == (len(answer.hits), answer.exact)


def test_hnsw_reads_on_until_there_is_enough_in_scope(connection: Any) -> None:
    """A tenth of all vectors in scope, and half of those are asked for: more than it looks at without."""
    index = opened(connection, (2,), pgvector_exact_below=0)
    index.upsert(crowd(2_000))
    index.settle()
    answer = index.nearest(queries(1)[0], 100)

    assert (100, False) == (len(answer.hits), answer.exact)


@pytest.mark.parametrize("graph", [False, True])
def test_a_search_leaves_the_callers_transaction_as_it_was(connection: Any, graph: bool) -> None:
    """No setting that a search makes for itself is there after it."""
    index = opened(connection, pgvector_exact_below=0 if graph else 5_000)
    index.upsert(crowd(100))
    index.settle()
    names = "('enable_sort', 'enable_seqscan', 'hnsw.ef_search', 'hnsw.iterative_scan')"
    settings = f"SELECT name, setting FROM pg_settings WHERE name IN {names}".encode()
    with connection.transaction():
        before = connection.execute(settings).fetchall()
        index.nearest(queries(1)[0], 10)

        assert before == connection.execute(settings).fetchall()


@pytest.mark.parametrize("graph", [False, True])
def test_equal_vectors_come_by_id_at_every_depth(connection: Any, graph: bool) -> None:
    """However many there are at the cut; by HNSW those it found."""
    index = opened(connection, dimension=4, pgvector_exact_below=0 if graph else 5_000)
    same = at_half(np.array([1, 2, 3, 4]))
    index.upsert([Record(ChunkId(int(n)), 1, same) for n in np.random.default_rng(3).permutation(700) + 1])
    index.settle()
    found = {k: [near.id for near in index.nearest(same, k).hits] for k in (1, 50, 51, 200, 699, 700, 701)}

    assert all(min(k, 700) == len(ids) and ids == sorted(ids) for k, ids in found.items())
    assert graph or all(list(range(1, min(k, 700) + 1)) == ids for k, ids in found.items())


# In an index


BREAD = {f"{n:02}.md": f"Bread number{n} {'salt ' * (n % 5)}{'rye ' * (n % 3)}." for n in range(30)}


@pytest.fixture
def there(database: str) -> Settings:
    """The index and its vectors in PostgreSQL."""
    return Settings(store=database, vectors="pgvector")


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
def test_an_index_in_postgres_answers_as_one_in_a_file(
    home: Path, vault: Path, embedder: HashEmbedder, there: Settings, mode: str
) -> None:
    """Hit for hit, with the same scores; after changes, too."""
    write_vault(vault, BREAD)
    for changed in ({}, {"07.md": "Rye, rye, rye.", "new.md": "Salt."}):
        write_vault(vault, changed)
        for settings in (Settings(), there):
            index_vault(home, vault, embedder, settings)
        here, found = (ask(home, "rye and salt", embedder, settings, mode=mode) for settings in (Settings(), there))

        assert paths(here) == paths(found)
        assert [hit.score for hit in here.page] == [hit.score for hit in found.page]


def test_every_ready_chunk_has_its_vector(home: Path, vault: Path, embedder: HashEmbedder, there: Settings) -> None:
    """And no vector belongs to none, after notes have gone and the index was filled under another model."""
    write_vault(vault, BREAD)
    index_vault(home, vault, embedder, there)
    (vault / "07.md").unlink()
    index_vault(home, vault, embedder, there)
    index_vault(home, vault, HashEmbedder("other", 16), there)

    with open_index(home, there) as reader:
        assert (0, 0) == reader.vector_faults()


def test_a_run_builds_hnsw_and_searches_use_it(
    home: Path, vault: Path, embedder: HashEmbedder, database: str, there: Settings
) -> None:
    """Once the limit is passed, the vector leg says so in its own words."""
    write_vault(vault, BREAD)
    many = there.model_copy(update={"pgvector_exact_below": 10})
    index_vault(home, vault, embedder, many)
    answer = ask(home, "rye", embedder, many, mode="vector")

    assert [("vectors_1_hnsw",)] == graphs(database)
    assert any("HNSW" in (stage.remark or "") for stage in answer.stages)


def test_a_rebuilt_index_forgets_the_vectors_of_the_old_one(
    home: Path, vault: Path, embedder: HashEmbedder, database: str, there: Settings
) -> None:
    """What spaces of the old schema held is not taken for what the new ones hold."""
    write_vault(vault, BREAD)
    index_vault(home, vault, embedder, there)
    run(database, "UPDATE cutaway.meta SET value = '0' WHERE key = 'schema'")
    open_writer(home, there).close()

    assert [] == run(database, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'vectors%'")


@pytest.mark.parametrize("schema", ["public", "other"])
def test_two_indexes_in_one_database_share_the_extension_and_nothing_else(
    home: Path, vault: Path, embedder: HashEmbedder, there: Settings, schema: str
) -> None:
    """Each in its schema, also where one is in the schema that the other looks for extensions in."""
    write_vault(vault, BREAD)
    first = there.model_copy(update={"store_schema": schema})
    index_vault(home, vault, embedder, first)
    with pytest.raises(IndexMissing), open_index(home, there):
        pass
    (vault / "07.md").unlink()
    index_vault(home, vault, embedder, there)
    for settings, chunks in ((first, 30), (there, 29)):
        with open_index(home, settings) as reader:
            assert (0, 0) == reader.vector_faults()
            assert chunks == reader.readiness(None).ready


# When HNSW is built


def graphs(database: str) -> list[tuple[Any, ...]]:
    return run(database, "SELECT indexname FROM pg_indexes WHERE indexdef LIKE '%hnsw%'")


@pytest.mark.parametrize(("count", "below", "built"), [(40, 40, False), (41, 40, True), (1, 0, True), (0, 0, False)])
def test_hnsw_is_built_when_there_are_more_vectors_than_are_scanned(
    connection: Any, database: str, count: int, below: int, built: bool
) -> None:
    """Settled once, it is built and says so; settled twice, nothing changes."""
    index = opened(connection, pgvector_exact_below=below)
    index.upsert(crowd(count))

    assert isinstance(index, Maintained)
    assert [] == graphs(database)
    assert (built, False) == (index.settle(), index.settle())
    assert built == bool(graphs(database))


@pytest.mark.parametrize(("left", "dropped"), [(21, False), (20, True)])
def test_hnsw_is_dropped_when_half_of_what_is_scanned_are_left(
    connection: Any, database: str, left: int, dropped: bool
) -> None:
    """Not sooner, or a vault around the limit would build it again and again."""
    index = opened(connection, pgvector_exact_below=40)
    index.upsert(crowd(41))
    index.settle()
    index.delete([ChunkId(n) for n in range(left + 1, 42)])

    assert dropped == index.settle()
    assert dropped == (not graphs(database))


# What cannot be done


def test_an_index_file_has_no_room_for_them(home: Path, vault: Path) -> None:
    """With the index in SQLite the setting is refused before anything is embedded, and what it needs is said."""
    embedder = HashEmbedder()
    write_vault(vault, {"a.md": "Words."})

    with pytest.raises(SettingsError, match="store = 'postgresql"):
        index_vault(home, vault, embedder, Settings(vectors="pgvector"))
    assert 0 == embedder.calls


@pytest.mark.parametrize(("dimension", "bytes_held"), [(384, 772), (1_024, 2_052), (1_536, 3_076), (4_000, 8_004)])
def test_large_vectors_stay_in_the_table(connection: Any, dimension: int, bytes_held: int) -> None:
    """None is moved out of its row, where a scan would have to fetch it; HNSW finds all sizes."""
    index = opened(connection, dimension=dimension, pgvector_exact_below=0)
    index.upsert(crowd(20, dimension))
    index.settle()
    outside = b"SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE relname = 'vectors_1' AND reltoastrelid <> 0"

    assert [] == [size for (size,) in connection.execute(outside).fetchall() if size]
    assert 20 == len(index.nearest(queries(1, dimension)[0], 100).hits)
    assert bytes_held <= connection.execute(b"SELECT min(pg_column_size(vector)) FROM vectors_1").fetchone()[0]


def test_more_dimensions_than_pgvector_indexes_are_refused(connection: Any) -> None:
    """The message says how many it takes."""
    with pytest.raises(SettingsError, match="at most 4,000 dimensions"):
        opened(connection, dimension=4_001).upsert(crowd(1, 4_001))


def test_a_table_left_behind_by_another_space_is_not_taken_for_ours(connection: Any) -> None:
    """Vectors of another size under the same number are not read, and are replaced."""
    opened(connection, dimension=4).upsert(crowd(3, 4))
    index = opened(connection, dimension=8)
    before = index.nearest(queries(1, 8)[0], 5)
    index.upsert(crowd(2, 8))

    assert Nearest(()) == before
    assert [1, 2] == sorted(index.stored_ids())


def test_who_may_not_install_the_extension_is_told_who_may(connection: Any, database: str) -> None:
    """An ordinary user of a database without pgvector."""
    connection.execute(b"DROP ROLE IF EXISTS cutaway_somebody")
    connection.execute(b"CREATE ROLE cutaway_somebody")
    try:
        connection.execute(b"GRANT ALL ON SCHEMA public TO cutaway_somebody")
        connection.execute(b"SET ROLE cutaway_somebody")
        with pytest.raises(SettingsError, match=r"CREATE EXTENSION vector.* as its administrator"):
            opened(connection).upsert(crowd(1))
        connection.execute(b"RESET ROLE")
        connection.execute(b"CREATE EXTENSION vector")
        connection.execute(b"SET ROLE cutaway_somebody")
        opened(connection).upsert(crowd(1))
    finally:
        connection.execute(b"RESET ROLE")
        run(database, "DROP OWNED BY cutaway_somebody CASCADE", "DROP ROLE cutaway_somebody")


def test_an_extension_that_is_out_of_sight_is_named(connection: Any) -> None:
    """Installed into a schema that is not searched."""
    connection.execute(b"CREATE SCHEMA elsewhere")
    connection.execute(b"CREATE EXTENSION vector SCHEMA elsewhere")

    with pytest.raises(SettingsError, match="search_path"):
        opened(connection).upsert(crowd(1))


def test_a_search_that_takes_too_long_leaves_the_transaction_usable(connection: Any) -> None:
    """The caller is told, and can read on: words may still answer."""
    index = opened(connection)
    index.upsert(crowd(3_000))
    with connection.transaction():
        connection.execute(b"SET LOCAL statement_timeout = 1")
        with pytest.raises(VectorsUnavailable, match="statement timeout"):
            for query in queries(20) * 50:
                index.nearest(query, 2_000)
        connection.execute(b"SET LOCAL statement_timeout = 0")

        assert (1,) == connection.execute(b"SELECT 1").fetchone()


USES = {
    "nearest": lambda index: index.nearest(queries(1)[0], 5),
    "vectors": lambda index: index.vectors([ChunkId(1)]),
    "stored_ids": lambda index: index.stored_ids(),
    "upsert": lambda index: index.upsert(crowd(2)),
    "delete": lambda index: index.delete([ChunkId(1)]),
    "settle": lambda index: index.settle(),
    "drop": lambda index: index.drop(),
}


@pytest.mark.parametrize("inside", [False, True], ids=["alone", "in a transaction"])
@pytest.mark.parametrize("use", USES.values(), ids=USES)
def test_a_lost_connection_is_said(connection: Any, database: str, use: Any, inside: bool) -> None:
    """By whatever is asked first after it, and by what is asked next."""
    index = opened(connection)
    index.upsert(crowd(3))
    if inside:
        connection.execute(b"BEGIN")
    run(database, f"SELECT pg_terminate_backend({connection.info.backend_pid})")

    for _ in range(2):
        with pytest.raises(VectorsUnavailable, match="do not answer"):
            use(index)


def test_a_space_that_is_dropped_during_a_search_is_said(
    connection: Any, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a run that moves to another model: what was just there cannot be read any more."""
    index = opened(connection)
    index.upsert(crowd(3))
    looked = PgVectorIndex._tables

    def dropped_after(self: PgVectorIndex) -> Any:
        found = looked(self)
        run(database, "DROP TABLE vectors_1")
        return found

    monkeypatch.setattr(PgVectorIndex, "_tables", dropped_after)
    with pytest.raises(VectorsUnavailable, match="vectors_1"):
        index.nearest(queries(1)[0], 5)


def test_a_change_that_is_rolled_back_never_was(connection: Any) -> None:
    """Vectors come and go with the caller's transaction, the table itself too."""
    index = opened(connection)
    with connection.transaction(force_rollback=True):
        index.upsert(crowd(3))

    assert frozenset() == index.stored_ids()


def test_a_home_that_is_not_known_lists_this_one() -> None:
    """It is one of our own."""
    assert home("pgvector") is PgVectorIndex
