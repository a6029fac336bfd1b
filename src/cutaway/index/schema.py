"""The tables: lasting ones, and derived ones that any schema change rebuilds from the files."""

from __future__ import annotations

SCHEMA_VERSION = 4
"""Raise it with any change to DERIVED: an older index then rebuilds, and embeds nothing twice."""

FIELD_COLUMNS = ("title", "aliases", "headings", "tags", "body", "path")

# What a rebuild cannot bring back cheaply: which folders are indexed, and paid-for embeddings.
LASTING = """
CREATE TABLE IF NOT EXISTS projects (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    root TEXT NOT NULL,
    added_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS identities (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS embeddings (
    id INTEGER PRIMARY KEY,
    identity_id INTEGER NOT NULL,
    text_hash BLOB NOT NULL,
    vector BLOB NOT NULL,
    UNIQUE (identity_id, text_hash)
);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
"""
LASTING_TABLES = ("projects", "identities", "embeddings", "meta")
# Lasting tables are never made anew, so what they gained since their first version is added to those that lack it.
PROJECT_COLUMNS = {
    "settings": "TEXT NOT NULL DEFAULT '{}'",
    "own_file": "TEXT NOT NULL DEFAULT ''",
    "trusted": "TEXT",
}

COUNT_CHANGE = (
    "INSERT INTO meta (key, value) VALUES ('generation', '1') ON CONFLICT (key)"
    " DO UPDATE SET value = CAST(CAST(meta.value AS BIGINT) + 1 AS TEXT)"
)
"""Makes the index's generation the next one."""

OCCURRENCES = "CREATE VIRTUAL TABLE temp.occurrences USING fts5vocab (main, lexical, instance)"
"""Every place of every term, as a reader sees the lexical index. Belongs to the connection, not to the file."""

DERIVED_TABLES = (
    *("notes", "properties", "rows", "lexical", "words", "chunks", "spaces", "sums", "segments", "problems"),
)

# A note's source is compressed; its `form` is what its rows and chunks were made with: when it changes,
# the note is read again.
# A property is one value of a note's frontmatter, tags or dates: as folded text and, if it is one, a number.
# The lexical index holds terms, already analysed; every ASCII sign a term may hold is a token sign.
# `words` leads from a stem to the terms of a project that have it, but for the one that is the stem itself. (By
# project, as the stems of a term are those of the languages its notes are in: another project's must not count.)
# A space is what vectors of one model in one home share: only those may be compared. A chunk's space is the one it
# is ready in, or failed in. `sums` has the exact sum of a project's vectors in a space, for their mean.
DERIVED = f"""
CREATE TABLE notes (
    id INTEGER PRIMARY KEY,
    project_id INTEGER NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    aliases TEXT NOT NULL,
    permalink TEXT,
    type TEXT,
    tags TEXT NOT NULL,
    metadata TEXT NOT NULL,
    language TEXT,
    source BLOB NOT NULL,
    size INTEGER NOT NULL,
    hash BLOB NOT NULL,
    form TEXT NOT NULL,
    skips TEXT NOT NULL,
    problem TEXT,
    indexed_at TEXT NOT NULL,
    UNIQUE (project_id, path)
);
CREATE TABLE properties (
    note_id INTEGER NOT NULL,
    key TEXT NOT NULL,
    text TEXT NOT NULL,
    number REAL,
    PRIMARY KEY (key, text, note_id)
) WITHOUT ROWID;
CREATE INDEX properties_note ON properties (note_id);
CREATE TABLE rows (
    id INTEGER PRIMARY KEY,
    number INTEGER NOT NULL UNIQUE,
    note_id INTEGER NOT NULL,
    project_id INTEGER NOT NULL,
    kind TEXT NOT NULL,
    category TEXT,
    ordinal INTEGER NOT NULL,
    title TEXT NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    length INTEGER NOT NULL,
    chunks INTEGER NOT NULL
);
CREATE INDEX rows_note ON rows (note_id);
CREATE VIRTUAL TABLE lexical USING fts5 (
    {", ".join(FIELD_COLUMNS)}, content='', contentless_delete=1, tokenize="ascii tokenchars '+#.-_''@'"
);
CREATE TABLE words (
    stem TEXT NOT NULL,
    term TEXT NOT NULL,
    project_id INTEGER NOT NULL,
    PRIMARY KEY (stem, term, project_id)
) WITHOUT ROWID;
CREATE TABLE chunks (
    id INTEGER PRIMARY KEY,
    note_id INTEGER NOT NULL,
    project_id INTEGER NOT NULL,
    row_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    end INTEGER NOT NULL,
    first_line INTEGER NOT NULL,
    last_line INTEGER NOT NULL,
    heading_path TEXT NOT NULL,
    context TEXT NOT NULL,
    tokens INTEGER,
    text_hash BLOB NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'ready', 'failed')),
    error TEXT,
    space_id INTEGER,
    updated_at TEXT NOT NULL
);
CREATE INDEX chunks_note ON chunks (note_id);
CREATE INDEX chunks_row ON chunks (row_id);
CREATE INDEX chunks_pending ON chunks (text_hash) WHERE state = 'pending';
CREATE INDEX chunks_standing ON chunks (project_id, state, space_id);
CREATE TABLE spaces (
    id INTEGER PRIMARY KEY,
    embedding TEXT NOT NULL,
    home TEXT NOT NULL,
    dimension INTEGER NOT NULL,
    UNIQUE (embedding, home)
);
CREATE TABLE sums (
    project_id INTEGER NOT NULL,
    space_id INTEGER NOT NULL,
    vectors INTEGER NOT NULL,
    total BLOB NOT NULL,
    PRIMARY KEY (project_id, space_id)
) WITHOUT ROWID;
CREATE TABLE segments (
    id INTEGER PRIMARY KEY,
    space_id INTEGER NOT NULL,
    ids BLOB NOT NULL,
    projects BLOB NOT NULL,
    vectors BLOB NOT NULL
);
CREATE TABLE problems (
    project_id INTEGER NOT NULL,
    path TEXT NOT NULL,
    kind TEXT NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (project_id, path, kind)
) WITHOUT ROWID;
"""
